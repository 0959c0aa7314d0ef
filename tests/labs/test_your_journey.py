"""*Your journey*: every number of the published example comes out of a cell that is compared."""

import json
import re
from pathlib import Path

import lab_code
import numpy as np
import pytest

from tools.lab import code_of

REFERENCE = json.loads(Path(__file__).with_name("your_journey.json").read_text("utf-8"))
AFTER = REFERENCE.pop("linear_after_parameter_version_seed_123")
GIVEN = {"sentence", "tokens", "inputs", "d_in", "d_out", "seed", "note"}  # all else is drawn or computed
FIGURES = [(name, figure) for part in (REFERENCE, AFTER) for name, figure in part.items() if name not in GIVEN]


@pytest.fixture(scope="module")
def printed() -> list[list[float]]:
    """The numbers that each cell prints, in their order; of a cell that is exempt from comparison, none."""
    lab = lab_code.find("your_journey")
    cells = code_of(lab.stored(lab.notebook_file).cells)
    compared = [cell for cell in cells if "nbval-ignore-output" not in cell.metadata.get("tags", [])]
    texts = ["".join(output.get("text", "") for output in cell.outputs) for cell in compared]
    return [[float(number) for number in re.findall(r"-?\d+\.\d+", text)] for text in texts]


@pytest.mark.parametrize(("name", "figure"), FIGURES)
def test_the_lab_prints_each_figure_of_the_published_example(printed, name, figure):
    wanted = np.ravel(figure).tolist()
    found = [numbers[i : i + len(wanted)] for numbers in printed for i in range(len(numbers))]
    assert wanted in found, f"no cell of the lab prints {name}: {wanted}"
