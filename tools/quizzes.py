"""Reads the predictions and the questions out of a lab's text, and refuses what is not whole.

The rule for both is in labs/README.md. A question below `## Questions` is *chosen* (a bullet list, and a fold with one
sentence for each bullet), *typed* (a fold that begins with the accepted answers in bold) or *open* (any other fold).
"""

import re
from dataclasses import dataclass
from pathlib import Path

import exercises
import notebooks
from markdown_it import MarkdownIt

NUMBERED = re.compile(r"\*\*\d+\.\*\* ")
ACCEPTED = re.compile(r"\*\*[^*\n]+\*\*(?: or \*\*[^*\n]+\*\*)*(?=[.:,;]\s)")
ANY_SPELLING = re.compile(r"\*\*Predict\b|\bPredict[:.,] ")


@dataclass(frozen=True)
class Prediction:
    """A prediction that a lab asks for, its choices (none: it is typed), and what follows in the same text."""

    text: str
    choices: list[str]
    rest: str
    where: str


@dataclass(frozen=True)
class Quiz:
    """A question: chosen (pairs of a choice and its reason), typed (the answers that are accepted), or open."""

    number: int
    text: str
    choices: list[tuple[str, str]]
    accepted: list[str]
    answer: str

    @property
    def right(self) -> int:
        """The place of the right choice."""
        return next(place for place, (_, why) in enumerate(self.choices) if why.startswith("Right."))


def predictions(lab: Path) -> list[Prediction]:
    """Return the predictions of a lab in their order.

    Raises ValueError with a sentence that names file and line where one is spelt in another way than the rule says.
    """
    cells, found = notebooks.generate(lab).cells, []
    for cell, below in zip(cells, [*cells[1:], None], strict=True):
        if cell.cell_type == "code":
            continue
        if not notebooks.PREDICT.match(cell.source):
            if slip := ANY_SPELLING.search(re.sub(r"(?s)<details>.*?</details>", "", cell.source)):
                raise ValueError(
                    f"{notebooks.line_of(lab, cell.source, slip.start())}: a prediction is a paragraph of its own "
                    "that begins `**Predict.**`, full stop and all."
                )
            continue
        text, choices, _ = parts(cell.source, "bullet_list")
        rest = below.source if below is not None and below.cell_type == "markdown" else ""
        found.append(Prediction(text, choices, rest, notebooks.line_of(lab, cell.source)))
    return found


def quizzes(lab: Path) -> list[Quiz]:
    """Return the questions at a lab's end. Raises ValueError with a sentence for one that is not whole."""
    found = []
    for question in exercises.questions(lab):
        if question.section != "Questions":
            continue
        where = notebooks.line_of(lab, question.text)
        text, choices, below = parts(question.text, "bullet_list")
        if not NUMBERED.match(text) or int(text[2 : text.index(".")]) != len(found) + 1:
            raise ValueError(f"{where}: this question has to begin with its number, `**{len(found) + 1}.** `.")
        if below:
            raise ValueError(f"{where}: text stands between the choices and the fold; move it above the choices.")
        before, reasons, more = parts(question.answer, "ordered_list")
        accepted = ACCEPTED.match(question.answer)
        quiz = Quiz(len(found) + 1, NUMBERED.sub("", text, count=1), [], [], question.answer)
        if choices:
            right = [reason for reason in reasons if reason.startswith("Right.")]
            if before or not 2 <= len(choices) == len(reasons) <= 4 or len(right) != 1:
                raise ValueError(
                    f"{where}: {len(choices)} choices, {len(reasons)} reasons, {len(right)} of them right. Two to four "
                    "choices need a fold that begins with a numbered list, one reason for each in the same order; one "
                    "reason begins with `Right.`"
                )
            quiz = Quiz(quiz.number, quiz.text, list(zip(choices, reasons, strict=True)), [], more)
        elif accepted:
            quiz = Quiz(quiz.number, quiz.text, [], accepted[0].strip("*").split("** or **"), question.answer)
        found.append(quiz)
    return found


def parts(markdown: str, kind: str) -> tuple[str, list[str], str]:
    """Return a text in three: what stands before its last list of a kind, the list's items, and what stands behind."""
    lines, tokens = markdown.split("\n"), MarkdownIt("commonmark").parse(markdown)
    lists = [token for token in tokens if token.type == f"{kind}_open" and token.level == 0]
    if not lists:
        return markdown.strip(), [], ""
    start, end = lists[-1].map
    inside = [t.map for t in tokens if t.type == "list_item_open" and t.level == 1 and start <= t.map[0] < end]
    items = []
    for first, last in inside:
        indent = len(re.match(r"(?:[-*+]|\d+[.)])\s+", lines[first])[0])
        items.append("\n".join(line[indent:] for line in lines[first:last]).strip())
    return "\n".join(lines[:start]).strip(), items, "\n".join(lines[end:]).strip()
