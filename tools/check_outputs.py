"""Executes every cell of every lab again and compares what it gives with the stored output.

The rule: nbval compares all cells but those tagged nbval-ignore-output, in the environment in which `make labs`
executes them. A lab of which not every code cell was compared counts as a failure. The last labs come first: they
take longest, and the short ones fill the gaps.
"""

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import machine
import notebooks

ROOT = Path(__file__).resolve().parents[1]


def main(root: Path) -> int:
    """Compare all labs below `root`, say what to run for each that differs, and return the exit status."""
    labs = notebooks.labs(root)
    files = [f"labs/{lab.stem}.ipynb" for lab in reversed(labs)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        # --dist loadfile keeps the cells of a lab together and in order, in one kernel.
        side_by_side = [f"-n{min(machine.processes(), len(labs))}", "--dist=loadfile", "--no-loadscope-reorder"]
        options = ["-q", "--nbval", "--nbval-current-env", *side_by_side, "-p", "no:cacheprovider"]
        status = subprocess.run(
            [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", *files],
            cwd=root,
            env=notebooks.kernel_environment(root),
        ).returncode
        cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    for lab in labs:
        own = [case for case in cases if case.get("classname", "").replace("/", ".").endswith(f"{lab.stem}.ipynb")]
        failed = [case for case in own if len(case)]
        expected = len(notebooks.code_cells(notebooks.read(lab) or notebooks.generate(lab)))
        if failed:
            stale = notebooks.why_stale(lab)
            again = "" if stale else " AGAIN=1"
            print(f"{lab.stem}: {len(failed)} cells give something else than is stored. If that is meant, or the lab")
            print(f"    is stale, run `make labs LAB={lab.name[:2]}{again}` and look at the difference.")
        elif len(own) != expected or not expected:
            print(f"{lab.stem}: {len(own)} of {expected} code cells were compared: its notebook hides some.")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(ROOT))
