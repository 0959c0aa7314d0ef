"""Executes every cell of every lab again and compares what it gives with the stored output.

The rule: nbval compares all cells but those tagged nbval-ignore-output, in the environment in which
`make labs` executes them; compare_numbers.py says which numbers may differ by rounding, and what to
run where more differs. The last labs come first: they take longest, and the short ones fill the
gaps.
"""

import subprocess
import sys
from pathlib import Path

from tools.lab import course, is_changed, kernel_environment, parsed, text_of
from tools.labs import worker_count

ROOT = Path(__file__).resolve().parents[1]


def main(root: Path) -> int:
    """Compare all labs below `root` and return nbval's exit status."""
    labs = course(root)[::-1]
    changed = [
        lab for lab in labs if (found := parsed(text_of(lab.notebook_file))) and is_changed(found)
    ]
    if changed:
        print(
            "Left out, because you changed their notebooks: "
            f"{', '.join(lab.name for lab in changed)}."
        )
    names = [str(lab.notebook_file.relative_to(root)) for lab in labs if lab not in changed]
    # --dist loadfile keeps the cells of a lab together and in order, in one kernel.
    side_by_side = [
        f"-n{min(worker_count(), len(names))}",
        "--dist=loadfile",
        "--no-loadscope-reorder",
    ]
    options = ["-q", "--nbval", "--nbval-current-env", *side_by_side, "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "tools.compare_numbers", *options, *names]
    return subprocess.run(command, cwd=root, env=kernel_environment(root)).returncode


if __name__ == "__main__":
    sys.exit(main(ROOT))
