"""Executes every cell of every lab again and compares what it gives with the stored output.

The rule: nbval compares all cells but those tagged nbval-ignore-output, in the environment in which `make labs`
executes them; compare_numbers.py says which numbers may differ by rounding. A lab of which not every code cell was
compared counts as a failure. The last labs come first: they take longest, and the short ones fill the gaps.
"""

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import compare_numbers
import make_labs
import notebooks
import safe_files

ROOT = Path(__file__).resolve().parents[1]


def run(root: Path, labs: list[Path], environment: dict[str, str]) -> tuple[int, dict[str, list[str]]]:
    """Run labs of the course at `root` and compare their outputs.

    Returns nbval's exit status, and for each lab one word a cell: "" or "red".
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        # --dist loadfile keeps the cells of a lab together and in order, in one kernel.
        processes = min(make_labs.worker_count(), len(labs))
        side_by_side = [f"-n{processes}", "--dist=loadfile", "--no-loadscope-reorder"]
        options = ["-q", "--nbval", "--nbval-current-env", *side_by_side, "-p", "no:cacheprovider"]
        files = [f"labs/{lab.stem}.ipynb" for lab in reversed(labs)]
        status = subprocess.run(
            [sys.executable, compare_numbers.__file__, *options, f"--junitxml={report}", *files],
            cwd=root,
            env=environment,
        ).returncode
        cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    cells = {lab.stem: [] for lab in labs}
    for case in cases:
        name = case.get("classname", "").replace("/", ".").removesuffix(".ipynb").rpartition(".")[2]
        cells.setdefault(name, []).append("red" if len(case) else "")
    return status, cells


def main(root: Path) -> int:
    """Compare all labs below `root`, say what to run for each that differs, and return the exit status."""
    labs = notebooks.labs(root)
    status, cells = run(root, labs, notebooks.kernel_environment(root))
    for lab in labs:
        own, failed = cells[lab.stem], cells[lab.stem].count("red")
        expected = len(notebooks.code_cells(notebooks.read(lab) or notebooks.generate(lab)))
        if failed:
            stale = notebooks.why_stale(lab)
            prefix, again = lab.stem.partition("_")[0], "" if stale else " AGAIN=1"
            print(f"{lab.stem}: {failed} cells give something else than is stored. If that is meant, or the lab")
            print(f"    is stale, run `make labs LAB={prefix}{again}` and look at the difference.")
        elif len(own) != expected or not expected:
            print(f"{lab.stem}: {len(own)} of {expected} code cells were compared: its notebook hides some.")
            status = 1
    return status


if __name__ == "__main__":
    safe_files.run(main, ROOT)
