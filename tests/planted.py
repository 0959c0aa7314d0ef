"""Student editions with somebody's code in their cells, which counts how often the cells below its check call it."""

import json
from pathlib import Path

import exercises
import nbformat
import notebooks
import student

COUNTING = """
import functools as _functools

_calls = globals().setdefault("_calls", {{}})


def _counted(function):
    @_functools.wraps(function)
    def count(*args, **kwargs):
        _calls["{name}"] = _calls.get("{name}", 0) + 1
        return function(*args, **kwargs)

    return count


if isinstance({thing}, type):
    {thing}.forward = _counted({thing}.forward)
else:
    {thing} = _counted({thing})
"""


def edition(lab: Path, written: dict[str, str | None]) -> nbformat.NotebookNode:
    """Return the student edition of a lab with code in the cells of these exercises; None is the solution."""
    notebook = student.edition(lab)
    cells = [nbformat.v4.new_code_cell('import os\n\nos.environ["COURSE_LANGUAGE"] = "en"')]  # whatever a fork speaks
    found = exercises.read(lab)
    for cell in notebook.cells:
        cells.append(cell)
        for exercise in found:
            if exercise.name in written and cell.id == exercise.start_id:
                thing = exercise.verdict.partition("(")[2].rstrip(")")
                cell.source = (written[exercise.name] or exercise.solution) + COUNTING.format(
                    name=exercise.name, thing=thing
                )
            if exercise.name in written and cell.id == exercise.check_id:  # what the check called does not count
                cells.append(nbformat.v4.new_code_cell(f'_calls["{exercise.name}"] = 0'))
    cells.append(nbformat.v4.new_code_cell('import json\n\nprint(json.dumps(globals().get("_calls", {})))'))
    notebook.cells = cells
    return notebook


def said(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Return what the cells of an executed notebook show as text, by their ids."""
    outputs = {cell.id: [output.get("data", {}) for output in cell.outputs] for cell in notebooks.code_cells(notebook)}
    return {id: "".join(data.get("text/plain", "") for data in found) for id, found in outputs.items()}


def calls(notebook: nbformat.NotebookNode) -> dict[str, int]:
    """Return how often what was planted was called, by exercise."""
    return json.loads(notebooks.code_cells(notebook)[-1].outputs[0].text)
