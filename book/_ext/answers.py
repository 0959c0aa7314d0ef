"""Marks predictions and questions on the labs' pages, so that answers.js can ask them. labs/README.md has the rule.

What answers a prediction is what cells print and the text from there to the next heading or prediction.
"""

import hashlib
import html
import itertools
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from tools import ordering

SOLUTION = "<details><summary>Solution</summary>"


def begins(node: nodes.Node, bold: str) -> bool:
    """Say whether a node is a paragraph that begins with these words (a regular expression) in bold."""
    filled = (child for child in node if child.astext()) if isinstance(node, nodes.paragraph) else iter(())
    first = next(filled, None)
    return isinstance(first, nodes.strong) and re.fullmatch(bold, first.astext()) is not None


def predicts(node: nodes.Node) -> bool:
    """Say whether a node asks for a prediction."""
    return begins(node, r"Predict\.")


def box(parts: list[nodes.Node], classes: list[str], name: str = "") -> nodes.container:
    """Put siblings into a box, where they are."""
    made = nodes.container(classes=classes, ids=[name] if name else [])
    parts[0].parent.insert(parts[0].parent.index(parts[0]), made)
    for part in parts:
        part.parent.remove(part)
        made += part
    return made


def name_of(kind: str, parts: list[nodes.Node]) -> str:
    """A name made from the question's text. The browser stores answers by it, so a changed question has none yet."""
    asked = " ".join(part.astext() for part in parts)
    return f"{kind}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"


class Predictions(SphinxTransform):
    default_priority = 500

    def apply(self, **kwargs) -> None:
        for question in [*filter(predicts, self.document.findall(nodes.paragraph))]:
            behind = question.parent[question.parent.index(question) + 1 :]
            size = int(bool(behind) and isinstance(behind[0], nodes.bullet_list | nodes.enumerated_list))
            name = name_of("predict", [question, *behind[:size]])
            cell = next((node for node in behind[size:] if isinstance(node, nodes.container)), {})
            right = cell.get("cell_metadata", {}).get("right")  # the number of the right choice, for answers.js
            box([question, *behind[:size]], ["predict", *([f"right-{right}"] if right else [])], name)
            answer = itertools.takewhile(lambda n: not (isinstance(n, nodes.section) or predicts(n)), behind[size:])
            covered = []
            in_sight = True  # the code of the first cells; that of later ones would be read without the text around it
            for is_cell, run in itertools.groupby([*answer], lambda node: "cell" in node.get("classes", [])):
                if is_cell:
                    cells = [*run]
                    covered += (
                        [part for cell in cells for part in cell if "cell_output" in part["classes"]]
                        if in_sight
                        else cells
                    )
                    in_sight = False
                else:
                    covered.append(box([*run], ["prose"]))
            for place, part in enumerate(covered):  # the first says for all of them that they are covered
                part["classes"] += ["answer", f"to-{name}", *(["cover"] if place == 0 else [])]


def lines_to_order(cell: nodes.container) -> list[nodes.raw]:
    """The line-ordering versions of an exercise to build; only ordering.js shows them."""
    source = next(cell.findall(nodes.literal_block)).astext()
    problems = ordering.problems(source, cell["cell_metadata"].get("blank"))
    given = html.escape(json.dumps(problems))
    fold = (
        f'<details class="ordering" data-problems="{given}" open hidden>'
        "<summary>Put the lines in order</summary></details>"
    )
    return [nodes.raw("", fold, format="html")] if problems else []


class ExercisesToDo(SphinxTransform):
    """A sentence takes the place of a check that nothing has passed on this page: it leads to the exercise itself."""

    default_priority = 490  # before its cell moves

    def apply(self, **kwargs) -> None:
        for cell in [
            cell for cell in self.document.findall(nodes.container) if "exercise" in cell.get("cell_metadata", {})
        ]:
            below = cell.parent[cell.parent.index(cell) + 1 :]
            check = next((node for node in below if isinstance(node, nodes.container)), None)
            if check is not None and re.search("Not done yet:|Correct in all ", check.astext()):
                check.replace_self(nodes.raw("", f"<p>{self.where(cell)}</p>", format="html"))

    def where(self, cell: nodes.container) -> str:
        """Where a reader does the exercise: its cell in Colab, or anywhere else."""
        guide = "../" * self.env.docname.count("/") + "book/how_to_use.html#do-the-exercises"
        here, address = "This page can’t run Python.", self.config.course_address
        if not address:
            return f'{here} Do the exercise <a href="{guide}">where Python runs</a>.'
        notebook = json.loads(Path(self.document["source"]).read_text("utf-8"))
        place = f"{self.env.docname}_student.ipynb#scrollTo={notebook['cells'][cell['cell_index']]['id']}"
        colab = f'<a href="{address["colab_student"]}/{place}">in Colab</a>'
        return f'{here} Do the exercise {colab}, or <a href="{guide}">elsewhere</a>.'


class BuiltAnswers(SphinxTransform):
    """The complete cell of an exercise to build moves to the top of its folded solution."""

    default_priority = 500

    def apply(self, **kwargs) -> None:
        cells = [cell for cell in self.document.findall(nodes.container) if "exercise" in cell.get("cell_metadata", {})]
        for cell in [cell for cell in cells if "(build)" in cell.parent[0].astext()]:
            below = [*cell.parent[cell.parent.index(cell) :]]
            folds = [node for node in below if isinstance(node, nodes.raw) and "details>" in node.astext()]
            folds[0].replace_self([*lines_to_order(cell), folds[0]])
            hint_end, solution = folds[1], folds[2:3]  # each fold is two pieces of HTML around what it holds
            cell.parent.remove(cell)
            if solution and "<summary>Solution" in solution[0].astext():
                solution[0].replace_self([solution[0], cell])
            else:
                ends = [nodes.raw("", end, format="html") for end in (SOLUTION, "</details>")]
                hint_end.replace_self([hint_end, ends[0], cell, ends[1]])


class Questions(SphinxTransform):
    default_priority = 500

    def apply(self, **kwargs) -> None:
        for section in [s for s in self.document.findall(nodes.section) if s[0].astext() == "Questions"]:
            starts = [place for place, node in enumerate(section) if begins(node, r"\d+\.")]
            for parts in [section[start:end] for start, end in itertools.pairwise([*starts, len(section)])]:
                asked = itertools.takewhile(lambda node: not node.astext().startswith("<details"), parts)
                box(parts, ["quiz"], name_of("quiz", [*asked]))


def setup(app: Sphinx) -> None:
    app.add_transform(Predictions)
    app.add_transform(Questions)
    app.add_transform(ExercisesToDo)
    app.add_transform(BuiltAnswers)
