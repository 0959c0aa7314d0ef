"""Counts how long a lab takes, by the rule in labs/README.md, and prints the line that states it.

Reading takes a minute for 150 words, and six seconds for each visible line of code; an exercise to build takes 12
minutes, one to debug 15, any other 12; the questions of a lab take 5. Folded text, hidden cells and checks take no
time. A lab states the range from 0.85 to 1.25 times the sum, rounded to five minutes.
"""

import re
import sys
from pathlib import Path

from tools import exercises
from tools.lab import Lab, chosen, course

ROOT = Path(__file__).resolve().parents[1]
WORDS_A_MINUTE, MINUTES_A_LINE, MINUTES_FOR_QUESTIONS = 150, 0.1, 5
MINUTES_AN_EXERCISE = {"build": 12, "debug": 15, "experiment": 12, "": 12}
HIDDEN = {"generated", "hide-input", "hide-cell", "remove-input", "remove-cell"}
RANGE = 0.85, 1.25
FURTHER, QUESTIONS = "## Going further", "## Questions"


def count(lab: Lab) -> dict[str, dict[str, float]]:
    """Return the minutes of a lab's main part and of *Going further*: to read, and for exercises and questions."""
    kinds = {exercise.start_id: exercise.kind for exercise in lab.exercises}
    counted = {part: {"read": 0.0, "solve": 0.0} for part in ("main", "further")}
    part = "main"
    for cell in lab.notebook().cells:
        if cell.id in kinds:
            counted[part]["solve"] += MINUTES_AN_EXERCISE[kinds[cell.id]]
        elif exercises.is_check(cell) or HIDDEN & {*cell.metadata.get("tags", [])}:
            continue
        elif cell.cell_type == "code":
            counted[part]["read"] += MINUTES_A_LINE * sum(bool(line.strip()) for line in cell.source.split("\n"))
        else:
            for section in re.split(r"(?m)^(?=## )", exercises.FOLDED.sub("", cell.source)):
                if section.startswith("## "):
                    part = "further" if section.startswith(FURTHER) else "main"
                counted[part]["solve"] += MINUTES_FOR_QUESTIONS * section.startswith(QUESTIONS)
                counted[part]["read"] += len(re.findall(r"\w[\w'’-]*", section)) / WORDS_A_MINUTE
    return counted


def stated(counted: dict[str, float]) -> tuple[int, int]:
    """Return the range that a lab states for one of its parts."""
    low, high = (5 * round(factor * sum(counted.values()) / 5) for factor in RANGE)
    return low, max(high, low + 5)


def main(names: list[str]) -> int:
    """Print the time of the labs that are named, or of all; return the exit status."""
    for lab in chosen(course(ROOT), names):
        counted = count(lab)
        (low, high), (least, most) = map(stated, counted.values())
        more = f" *Going further* is optional and takes {least} to {most} more." if counted["further"]["read"] else ""
        print(f"{lab.name:<28}**Time:** about {low} to {high} minutes.{more}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
