"""Writes the questions of all labs, and of *Mistakes from the wild*, into one table, `_build/questions.csv`.

A line has question, choices, answer and reason. People read it in a spreadsheet, and Anki imports it as cards.
Formulas are TeX as Anki draws it.
"""

import csv
import io
import re
from pathlib import Path

import identity
import notebooks
import quizzes
import safe_files

ROOT = Path(__file__).resolve().parents[1]


def plain(markdown: str, site: str) -> str:
    """Return a piece of a lab with whole addresses and with formulas as TeX without colours."""
    text = re.sub(r"\]\(\.\./book/(\w+)\.md", rf"]({site}/book/\1.html", markdown)
    text = re.sub(r"\]\((\d\w+)\.ipynb", rf"]({site}/labs/\1.html", text)
    text = re.sub(r"\\textcolor\{[^}]*\}", "", text)
    text = re.sub(r"\$\$(.+?)\$\$", r"\\[\1\\]", text, flags=re.DOTALL)
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", text)


def row(lab: str, quiz: quizzes.Quiz, site: str) -> list[str]:
    """Return a question as one line of the table. The reasons of all choices stand in one cell, in their order."""
    choices = [" ".join(choice.split()) for choice, _ in quiz.choices]
    answer = choices[quiz.right] if choices else " or ".join(quiz.accepted)
    reasons = [f"{choice} → {reason}" for choice, (_, reason) in zip(choices, quiz.choices, strict=True)]
    cells = [quiz.text, "\n".join(choices), answer, "\n".join(filter(None, [*reasons, quiz.answer]))]
    return [f"{lab}, question {quiz.number}", *(plain(cell, site) for cell in cells)]


def main(root: Path) -> int:
    """Write the table and return the exit status."""
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerow(["number", "question", "choices", "answer", "reason"])
    try:
        site = identity.read(root)["site"]
        for page in [*notebooks.labs(root), *root.glob("book/wild_mistakes.md")]:
            title = notebooks.generate(page).cells[0].source.lstrip("# ")
            writer.writerows(row(title, quiz, site) for quiz in quizzes.quizzes(page))
    except ValueError as error:
        print(error)
        return 1
    safe_files.write_whole(root / "_build/questions.csv", "\ufeff" + lines.getvalue())  # marked as UTF-8
    print("The questions are in _build/questions.csv.")
    return 0


if __name__ == "__main__":
    safe_files.run(main, ROOT)
