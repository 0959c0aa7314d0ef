"""Reads the questions out of a lab's text, refuses what is not whole, and puts all of them into one
table.

The rule is in labs/README.md. A question below `## Questions` is *chosen* (a bullet list, and a
fold with one sentence for each bullet), *typed* (a fold that begins with the accepted answers in
bold) or *open* (any other fold).
"""

import csv
import io
import re
from dataclasses import dataclass

from markdown_it import MarkdownIt

from tools import identity

ACCEPTED = re.compile(r"\*\*[^*\n]+\*\*(?: or \*\*[^*\n]+\*\*)*(?=[.:,;]\s)")


@dataclass(frozen=True)
class Quiz:
    """A question: chosen (pairs of a choice and its reason), typed (the answers that are accepted),
    or open.
    """

    number: int
    text: str
    choices: list[tuple[str, str]]
    accepted: list[str]
    answer: str

    @property
    def right(self) -> int:
        """The place of the right choice."""
        return next(
            place for place, (_, why) in enumerate(self.choices) if why.startswith("Right.")
        )


def read(page) -> list[Quiz]:
    """Return the questions at a lab's end. Raises ValueError with a sentence for one that is not
    whole.
    """
    found = []
    for question in page.questions:
        if question.section != "Questions":
            continue
        number = len(found) + 1
        text, choices, below = parts(question.text, "bullet_list")
        before, reasons, more = parts(question.answer, "ordered_list")
        right = [reason for reason in reasons if reason.startswith("Right.")]
        whole = not choices or (
            2 <= len(choices) == len(reasons) <= 4 and len(right) == 1 and not before
        )
        if not text.startswith(f"**{number}.** ") or below or not whole:
            raise ValueError(
                f"{page.line_of(question.text)}: a question begins with its number, here "
                f"`**{number}.** `, and two to four choices may follow, right above a fold that "
                "begins with a numbered list, one reason for each in the same order; one reason "
                "begins with `Right.`"
            )
        text = text.removeprefix(f"**{number}.** ")
        if choices:
            found.append(Quiz(number, text, list(zip(choices, reasons, strict=True)), [], more))
        else:
            accepted = ACCEPTED.match(question.answer)
            spellings = accepted[0].strip("*").split("** or **") if accepted else []
            found.append(Quiz(number, text, [], spellings, question.answer))
    return found


def parts(markdown: str, kind: str) -> tuple[str, list[str], str]:
    """Return a text in three: what is above its last list of a kind, the list's items, and what is
    below.
    """
    lines, tokens = markdown.split("\n"), MarkdownIt("commonmark").parse(markdown)
    lists = [token for token in tokens if token.type == f"{kind}_open" and token.level == 0]
    if not lists:
        return markdown.strip(), [], ""
    start, end = lists[-1].map
    inside = [
        t.map
        for t in tokens
        if t.type == "list_item_open" and t.level == 1 and start <= t.map[0] < end
    ]
    items = []
    for first, last in inside:
        indent = len(re.match(r"(?:[-*+]|\d+[.)])\s+", lines[first])[0])
        items.append("\n".join(line[indent:] for line in lines[first:last]).strip())
    return "\n".join(lines[:start]).strip(), items, "\n".join(lines[end:]).strip()


# The table, and the questions for Canvas


def on_its_own(markdown: str, site: str) -> str:
    """Return a piece of a lab with whole addresses, and with formulas without colors."""
    return re.sub(r"\\textcolor\{[^}]*\}", "", identity.with_addresses(markdown, site))


def plain(markdown: str, site: str) -> str:
    """Return a piece of a lab as Anki draws it: its TeX stands between brackets."""
    text = on_its_own(markdown, site)
    text = re.sub(r"\$\$(.+?)\$\$", r"\\[\1\\]", text, flags=re.DOTALL)
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", text)


def row(lab: str, quiz: Quiz, site: str) -> list[str]:
    """Return a question as one line of the table. The reasons of all choices stand in one cell, in
    their order.
    """
    choices = [" ".join(choice.split()) for choice, _ in quiz.choices]
    answer = choices[quiz.right] if choices else " or ".join(quiz.accepted)
    reasons = [
        f"{choice} → {reason}" for choice, (_, reason) in zip(choices, quiz.choices, strict=True)
    ]
    cells = [
        quiz.text,
        "\n".join(choices),
        answer,
        "\n".join(filter(None, [*reasons, quiz.answer])),
    ]
    return [f"{lab}, question {quiz.number}", *(plain(cell, site) for cell in cells)]


def table(pages: list, site: str) -> str:
    """Return the questions of pages as a table of comma-separated values.

    A line has question, choices, answer and reason. People read it in a spreadsheet, and Anki
    imports it as cards. Formulas are TeX as Anki draws it.
    """
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerow(["number", "question", "choices", "answer", "reason"])
    writer.writerows(row(page.title, quiz, site) for page in pages for quiz in page.quizzes)
    return "\ufeff" + lines.getvalue()  # marked as UTF-8


def for_text2qti(pages: list, site: str, title: str) -> str:
    """Return the questions in the format of text2qti, which makes of it what Canvas imports."""
    blocks = [f"Quiz title: {title}"]

    def part(mark: str, markdown: str) -> str:
        return f"{mark:<4}" + on_its_own(markdown, site).replace("\n", "\n    ")

    for quiz in (quiz for page in pages for quiz in page.quizzes):
        lines = [part("1.", quiz.text)]
        if quiz.answer:
            lines.append(part("...", quiz.answer))
        for place, (choice, reason) in enumerate(quiz.choices):
            mark = "abcd"[place] + ")"
            lines += [
                part("*" + mark if place == quiz.right else mark, choice),
                part("...", reason),
            ]
        lines += [part("*", accepted) for accepted in quiz.accepted]
        blocks.append("\n".join(lines if quiz.choices or quiz.accepted else [*lines, "____"]))
    return "\n\n".join(blocks) + "\n"
