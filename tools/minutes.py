"""Counts how long a lab takes, by the rule in labs/README.md, and prints the sentence that states
it.

Reading takes a minute for 150 words and six seconds for each visible line of code; an exercise
takes the minutes that its starting cell states, and the questions take 5. Folded text, hidden cells
and checks take no time. A paragraph `**A good place to stop.**` divides a lab into sittings; each
is rounded to five minutes. Nobody was timed.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tools import exercises
from tools.lab import Lab, chosen, course

ROOT = Path(__file__).resolve().parents[1]
WORDS_A_MINUTE, MINUTES_A_LINE, MINUTES_FOR_QUESTIONS = 150, 0.1, 5
HIDDEN = {"generated", "hide-input", "hide-cell", "remove-input", "remove-cell"}
STOP, FURTHER, QUESTIONS = "**A good place to stop.**", "## Going further", "## Questions"
PARTS = re.compile(rf"(?m)^(?=## |{re.escape(STOP)})")


@dataclass
class Part:
    """What a sitting, or *Going further*, asks of its reader: words of the text and of the
    questions, the lines of each visible cell, and the minutes for exercises and questions.
    """

    words: int = 0
    words_of_questions: int = 0
    lines: list[int] = field(default_factory=list)
    solving: float = 0.0

    @property
    def minutes(self) -> float:
        """How long the part takes."""
        words = self.words + self.words_of_questions
        return words / WORDS_A_MINUTE + sum(self.lines) * MINUTES_A_LINE + self.solving


def count(lab: Lab) -> tuple[list[Part], Part]:
    """Return the sittings of a lab and its *Going further*. Raises ValueError for an exercise
    without minutes.
    """
    given = {exercise.start_id: exercise.minutes for exercise in lab.exercises}
    sittings, further = [Part()], Part()
    part, in_questions = sittings[0], False
    for cell in lab.notebook().cells:
        if cell.id in given:
            part.solving += given[cell.id]
        elif exercises.is_check(cell) or HIDDEN & {*cell.metadata.get("tags", [])}:
            continue
        elif cell.cell_type == "code":
            part.lines.append(sum(bool(line.strip()) for line in cell.source.split("\n")))
        else:
            for section in PARTS.split(exercises.FOLDED.sub("", cell.source)):
                if section.startswith(STOP):
                    sittings.append(Part())
                    part = sittings[-1]
                elif section.startswith("## "):
                    in_questions = section.startswith(QUESTIONS)
                    part = further if section.startswith(FURTHER) else sittings[-1]
                    part.solving += MINUTES_FOR_QUESTIONS * in_questions
                words = len(re.findall(r"\w[\w'’-]*", section))
                if in_questions:
                    part.words_of_questions += words
                else:
                    part.words += words
    return sittings, further


def rounded(minutes: float) -> int:
    """Return minutes as a lab states them: a multiple of five."""
    return max(5, 5 * round(minutes / 5))


def stated(lab: Lab) -> str:
    """Return the sentence at the top of a lab. Raises ValueError as `count` does."""
    sittings, further = count(lab)
    first, *later = [str(rounded(part.minutes)) for part in sittings]
    stops = "".join(f", a place to stop, then {minutes}" for minutes in later)
    more = f"; *Going further* takes {rounded(further.minutes)} more" if further.words else ""
    return f"**Time:** about {first} minutes{stops}{more}."


def main(names: list[str]) -> int:
    """Print the time of the labs that are named, or of all; return the exit status."""
    for lab in chosen(course(ROOT), names):
        print(f"{lab.name:<28}{stated(lab)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
