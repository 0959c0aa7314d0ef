"""Student editions with solutions in their cells, which count how often the cells below their check call them."""

import json
from pathlib import Path

import exercises
import nbformat
import notebooks
import student

BEFORE = """import collections, functools, json

calls = collections.Counter()


def counted(name, thing):
    function = thing.forward if isinstance(thing, type) else thing

    @functools.wraps(function)
    def count(*args, **kwargs):
        calls[name] += 1
        return function(*args, **kwargs)

    if not isinstance(thing, type):
        return count
    thing.forward = count
    return thing"""


def edition(lab: Path, written: list[str]) -> nbformat.NotebookNode:
    """Return the student edition of a lab with the solutions of these exercises in their cells."""
    notebook = student.edition(lab)
    cells = [nbformat.v4.new_code_cell(BEFORE)]
    found = [exercise for exercise in exercises.read(lab) if exercise.name in written]
    for cell in notebook.cells:
        cells.append(cell)
        for exercise in found:
            if cell.id == exercise.start_id:
                thing = exercise.verdict.partition("(")[2].rstrip(")")
                cell.source = f'{exercise.solution}\n\n\n{thing} = counted("{exercise.name}", {thing})'
            if cell.id == exercise.check_id:  # what the check called does not count
                cells.append(nbformat.v4.new_code_cell(f'calls["{exercise.name}"] = 0'))
    notebook.cells = [*cells, nbformat.v4.new_code_cell("print(json.dumps(calls))")]
    return notebook


def shown(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Return what the cells of an executed notebook show as text, by their ids."""
    outputs = {cell.id: [output.get("data", {}) for output in cell.outputs] for cell in notebooks.code_cells(notebook)}
    return {id: "".join(data.get("text/plain", "") for data in found) for id, found in outputs.items()}


def calls(notebook: nbformat.NotebookNode) -> dict[str, int]:
    """Return how often what the reader wrote was called, by exercise."""
    return json.loads(notebooks.code_cells(notebook)[-1].outputs[0].text)
