"""Writes the student edition of every lab to `student/`: the same notebooks without solutions and answers.

The rule: the cell of an exercise to build loses the bodies of its functions. Each folded solution, and each folded
answer below `## Questions`, becomes a cell to write in. Comments mark it for otter-grader, from the heading of the
exercise, or from the question, to behind that cell. No cell has an output. All other cells stay as they are, with
their ids, checks and hints too. The button leads to where the student edition is published (`student_edition` in
_config.yml), and nothing in it to the site's page of the lab. A notebook that somebody worked in is kept in yours/.
"""

import re
from pathlib import Path

import exercises
import identity
import nbformat
import notebooks
import safe_files

ROOT = Path(__file__).resolve().parents[1]
BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab_student}/{lab}.ipynb)"
TOLD = "Write your answers into the cells below, and keep the other cells: the exercises are found by them."
WHY = "*Why is your answer right? Write a sentence or two here.*"
ANSWER = "*Your answer:*"
# By these comments otter-grader finds what a person marks. They stand in cells that nobody writes in.
BEGIN, END = "<!-- BEGIN QUESTION -->", "<!-- END QUESTION -->"


def marked(text: str, place: int) -> str:
    """Return a text in which what otter-grader prints begins at a place."""
    return f"{text[:place].strip()}\n\n{BEGIN}\n\n{text[place:].strip()}".strip()


def edition(lab: Path) -> nbformat.NotebookNode:
    """Return the student edition of a lab. Raises ValueError when an exercise is malformed."""
    starts = {exercise.start_id: exercise for exercise in exercises.read(lab)}
    names = identity.read(lab.parent.parent) | {"lab": lab.stem}
    notebook = notebooks.generate(lab)
    cells, section, after_check = [], "", False
    for cell in notebook.cells:
        if cell.id == "badge":
            cell.source = f"{BADGE.format(**names)}\n\n{TOLD}"
        if cell.cell_type == "code":
            if exercise := starts.get(cell.id):
                cell.source = exercise.start
                if exercise.kind != "build" or exercise.why:  # its solution is folded
                    cells[-1].source = marked(cells[-1].source, exercises.headings(cells[-1].source)[-1].start())
            cells.append(cell)
            after_check = exercises.is_check(cell)
            continue
        # Pages of the book are beside the labs, and not beside the student edition.
        cell.source = re.sub(r"\]\(\.\./book/(\w+)\.md", rf"]({names['site']}/book/\1.html", cell.source)
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
    notebook.metadata["student_edition_of"] = lab.stem
    return notebook


def file_of(lab: Path) -> Path:
    """Return where the student edition of a lab lies."""
    return lab.parent.parent / "student" / f"{lab.stem}.ipynb"


def text_of(lab: Path) -> str:
    """Return the text of that file. Raises ValueError as `edition` does."""
    return notebooks.sign(edition(lab), {})


def write(lab: Path, text: str) -> str:
    """Write that file, and return the name under which one that somebody worked in is stored, or the empty text."""
    copy = notebooks.keep(file_of(lab))
    safe_files.write_whole(file_of(lab), text)
    return copy


def tidy(root: Path) -> None:
    """Remove the student edition of labs that the course does not have, or leaves out, and say so."""
    taught = set(map(file_of, notebooks.taught(root)))
    for left in (path for path in notebooks.files_of_labs(root / "student", ".ipynb") if path not in taught):
        copy = notebooks.keep(left)
        left.unlink()
        print(f"student/{left.name} is removed: _toc.yml names no such lab{copy and f'. It is stored as {copy}'}.")


def main(root: Path) -> int:
    """Write the student edition of every lab that _toc.yml names and return the exit status."""
    course = exercises.read_all(root)
    texts = {lab: text_of(lab) for lab in course}
    for lab, text in texts.items():
        if copy := write(lab, text):
            print(f"student/{lab.stem}.ipynb was worked in, and is stored as {copy}.")
    tidy(root)
    print(f"{len(course)} labs with {sum(map(len, course.values()))} exercises are in student/.")
    print(f"Their buttons lead to {identity.read(root)['student']}: publish them there.")
    return 0


if __name__ == "__main__":
    safe_files.run(main, ROOT)
