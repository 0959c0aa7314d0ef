"""Makes the student edition of a lab, keys_student.ipynb: the same notebook without solutions and
answers.

The rule: the cell of an exercise to build loses the bodies of its functions. Each folded solution,
and each folded answer below `## Questions`, becomes a cell to write in. Comments mark it for
otter-grader, from the heading of the exercise, or from the question, to behind that cell. What the
text says after the cell that answers a prediction is folded. No cell has an output. All other cells
stay as they are, with their ids, checks and hints too. The button leads to where the student
edition is published (`student_edition` in _config.yml), links to labs to their student editions,
and nothing to the site's page of the lab.
"""

import re
import sys
from pathlib import Path

import nbformat

from tools import exercises, identity, lab
from tools.lab import PREDICT, Lab

ROOT = Path(__file__).resolve().parents[1]
BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({student_in_colab})"
TOLD = (
    "Write your answers into the cells below, and keep the other cells: the exercises are found by "
    "them."
)
WHY = "*Why is your answer right? Write a sentence or two here.*"
ANSWER = "*Your answer:*"
CAME_OUT = "<details><summary>What came out, and why</summary>\n\n{}\n\n</details>"
# By these comments otter-grader finds what a person marks. They stand in cells that nobody writes
# in.
BEGIN, END = "<!-- BEGIN QUESTION -->", "<!-- END QUESTION -->"


def marked(text: str, place: int) -> str:
    """Return a text in which what otter-grader prints begins at a place."""
    return f"{text[:place].strip()}\n\n{BEGIN}\n\n{text[place:].strip()}".strip()


def folded(text: str) -> str:
    """Return a text, which follows the cell that answers a prediction, folded up to its first
    heading, fold or stop.
    """
    end = re.search(r"(?m)^(?:#|<details>|<!--|\*\*A good place to stop)|\Z", text).start()
    return (
        f"{CAME_OUT.format(text[:end].strip())}\n\n{text[end:]}".strip()
        if text[:end].strip()
        else text
    )


def edition(lab: Lab) -> nbformat.NotebookNode:
    """Return the student edition of a lab. Raises ValueError when an exercise is malformed."""
    starts = {exercise.start_id: exercise for exercise in lab.exercises}
    notebook = lab.notebook()
    cells, section, after_check, predicted, answered = [], "", False, False, False
    for cell in notebook.cells:
        if cell.id == "badge":
            cell.source = f"{BADGE.format(**lab.addresses)}\n\n{TOLD}"
        if cell.cell_type == "code":
            if exercise := starts.get(cell.id):
                cell.source = exercise.start
                if exercise.kind != "build" or exercise.why:  # its solution is folded
                    cells[-1].source = marked(
                        cells[-1].source, exercises.headings(cells[-1].source)[-1].start()
                    )
            cells.append(cell)
            after_check = exercises.is_check(cell)
            predicted, answered = False, answered or predicted
            continue
        # Pages of the book are beside the labs, and not where a class has the student edition
        # alone.
        cell.source = re.sub(
            r"\]\(\.\./\.\./book/(\w+)\.md", rf"]({lab.addresses['site']}/book/\1.html", cell.source
        )
        cell.source = re.sub(r"\]\(\.\./(\w+)/\1\.ipynb", r"](../\1/\1_student.ipynb", cell.source)
        if answered and not PREDICT.match(cell.source):
            cell.source = folded(cell.source)
        predicted, answered = bool(PREDICT.match(cell.source)), False
        pieces, remainder = [], ""
        for above, fold, heading in exercises.folds(cell.source, section):
            section = heading
            solution = after_check and fold and fold["summary"] == "Solution"
            if solution or (fold and section == "Questions"):
                asked = (remainder + above).strip()
                if not solution:
                    asked = marked(asked, exercises.end_of_headings(asked))
                pieces += [asked, WHY if solution else ANSWER, END]
                remainder = ""
            else:
                remainder += above + (fold[0] if fold else "")
        pieces = [piece.strip() for piece in [*pieces, remainder]]
        for number, text in enumerate(filter(None, pieces), start=1):
            part = nbformat.v4.new_markdown_cell(text, metadata=cell.metadata)
            part.id = cell.id if number == 1 else f"{cell.id}-part-{number}"
            cells.append(part)
        after_check = False
    notebook.cells = cells
    notebook.metadata["student_edition_of"] = lab.name
    return notebook


def text_of(each: Lab) -> str:
    """Return the text of its file. Raises ValueError as `edition` does."""
    return lab.signed(edition(each), {})


def main(root: Path) -> int:
    """Write the student edition of every lab that _toc.yml names and return the exit status."""
    course = lab.course(root)
    texts = {each: text_of(each) for each in course}
    left_alone = {each: each.write(each.student_file, text) for each, text in texts.items()}
    print(
        f"{len(course)} labs with {sum(len(each.exercises) for each in course)} exercises have a "
        "student edition."
    )
    print(f"Their buttons lead to {identity.read(root)['student']}: publish them there.")
    print(
        end=lab.about_those_left_alone(
            {each.student_file: new for each, new in left_alone.items()}, root
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(ROOT))
