"""Executes every cell of every lab again and compares what it gives with the stored output.

The rule: nbval compares all cells but those tagged nbval-ignore-output, in the environment in which `make labs`
executes them; compare_numbers.py says which numbers may differ by rounding, and what to run where more differs. The
last labs come first: they take longest, and the short ones fill the gaps.
"""

import subprocess
import sys
from pathlib import Path

import compare_numbers
import make_labs
import notebooks
import safe_files

ROOT = Path(__file__).resolve().parents[1]


def main(root: Path) -> int:
    """Compare all labs below `root` and return nbval's exit status."""
    files = [f"labs/{lab.stem}.ipynb" for lab in reversed(notebooks.labs(root))]
    # --dist loadfile keeps the cells of a lab together and in order, in one kernel.
    side_by_side = [f"-n{min(make_labs.worker_count(), len(files))}", "--dist=loadfile", "--no-loadscope-reorder"]
    options = ["-q", "--nbval", "--nbval-current-env", *side_by_side, "-p", "no:cacheprovider"]
    command = [sys.executable, compare_numbers.__file__, *options, *files]
    return subprocess.run(command, cwd=root, env=notebooks.kernel_environment(root)).returncode


if __name__ == "__main__":
    safe_files.run(main, ROOT)
