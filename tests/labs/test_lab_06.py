"""Lab 6: every number of the published example comes out of a cell, and its check tells a broken layer."""

import json
import re
from pathlib import Path

import lab_code
import notebooks
import pytest
import torch

LAB = lab_code.find(6)
REFERENCE = json.loads(Path(__file__).with_name("your_journey.json").read_text(encoding="utf-8"))
NUMBER = re.compile(r"-?\d+\.\d+")

GIVEN = {"sentence", "tokens", "inputs", "d_in", "d_out", "seed", "note"}
AFTER = "linear_after_parameter_version_seed_123"

# name -> numbers, of everything in the reference that is drawn or computed
FIGURES = {name: figure for name, figure in REFERENCE.items() if name not in GIVEN | {AFTER}}
FIGURES |= {f"{AFTER}, {name}": figure for name, figure in REFERENCE[AFTER].items() if name != "note"}


def flat(figure) -> list[float]:
    return [number for part in figure for number in flat(part)] if isinstance(figure, list) else [figure]


@pytest.fixture(scope="module")
def cells() -> list:
    return notebooks.code_cells(notebooks.read(LAB))


@pytest.fixture(scope="module")
def printed(cells) -> list[list[float]]:
    """The numbers that each cell prints, in their order."""
    texts = ["".join(output.get("text", "") for output in cell.outputs) for cell in cells]
    return [[float(number) for number in NUMBER.findall(text)] for text in texts]


def holds(numbers: list[float], wanted: list[float]) -> bool:
    return any(numbers[i : i + len(wanted)] == wanted for i in range(len(numbers)))


@pytest.mark.parametrize("name", FIGURES)
def test_the_lab_prints_each_figure_of_the_published_example(printed, name):
    wanted = flat(FIGURES[name])
    assert any(holds(numbers, wanted) for numbers in printed), f"no cell of lab 6 prints {name}: {wanted}"


def test_no_cell_of_the_lab_is_exempt_from_comparison(cells):
    assert not [cell for cell in cells if any(tag.startswith("nbval") for tag in cell.metadata.get("tags", []))]


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
@pytest.mark.parametrize("shape", [(3, 6, 3), (6, 5, 6), (6, 6, 6)])
def test_the_check_of_the_lab_tells_a_broken_layer_from_a_sound_one_also_where_nothing_crashes(shape):
    taught = lab_code.taught(LAB, "treats_sentences_alone")
    torch.manual_seed(0)
    x, width = torch.rand(shape), shape[-1]
    assert taught["treats_sentences_alone"](taught["SelfAttention"](width, width, width), x) is True
    assert taught["treats_sentences_alone"](taught["WithT"](width, width), x) is not True
