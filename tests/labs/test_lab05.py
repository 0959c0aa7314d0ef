"""Lab 5: every number of the published example comes out of a cell, and its last class is the one of `shared`."""

import json
import re
from pathlib import Path

import pytest
import torch

from shared.model import SelfAttention

HERE = Path(__file__).parent
NOTEBOOK = HERE.parents[1] / "labs" / "05_your_journey.ipynb"
REFERENCE = json.loads((HERE / "your_journey.json").read_text(encoding="utf-8"))
NUMBER = re.compile(r"-?\d+\.\d+")

GIVEN = {"sentence", "tokens", "inputs", "d_in", "d_out", "seed", "note"}
AFTER = "linear_after_parameter_version_seed_123"

# name -> numbers, of everything in the reference that is drawn or computed
FIGURES = {name: figure for name, figure in REFERENCE.items() if name not in GIVEN | {AFTER}}
FIGURES |= {f"{AFTER}, {name}": figure for name, figure in REFERENCE[AFTER].items() if name != "note"}


def flat(figure) -> list[float]:
    return [number for part in figure for number in flat(part)] if isinstance(figure, list) else [figure]


@pytest.fixture(scope="module")
def cells() -> list[dict]:
    return [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.fixture(scope="module")
def printed(cells) -> list[list[float]]:
    """The numbers that each cell prints, in their order."""
    texts = ["".join("".join(out.get("text", "")) for out in cell["outputs"]) for cell in cells]
    return [[float(number) for number in NUMBER.findall(text)] for text in texts]


def holds(numbers: list[float], wanted: list[float]) -> bool:
    return any(numbers[i : i + len(wanted)] == wanted for i in range(len(numbers)))


@pytest.mark.parametrize("name", FIGURES)
def test_the_lab_prints_each_figure_of_the_published_example(printed, name):
    wanted = flat(FIGURES[name])
    assert any(holds(numbers, wanted) for numbers in printed), f"no cell of lab 5 prints {name}: {wanted}"


def test_no_cell_of_the_lab_is_exempt_from_comparison(cells):
    tags = {tag for cell in cells for tag in cell["metadata"].get("tags", []) if "generated" not in tag}
    assert not {tag for tag in tags if tag.startswith("nbval")}


@pytest.fixture(scope="module")
def taught(cells) -> dict:
    """The classes as the lab defines them."""
    names = {"torch": torch, "nn": torch.nn}
    for cell in cells:
        source = "".join(cell["source"])
        if source.startswith(("class ", "def treats_sentences_alone")):
            exec(source, names)
    return names


@pytest.mark.parametrize("shape", [(2, 6, 3), (1, 1, 4), (5, 9, 7), (6, 6, 6)])
@pytest.mark.parametrize("bias", [False, True])
def test_the_class_of_the_lab_and_the_one_in_shared_give_equal_outputs_and_gradients(taught, shape, bias):
    torch.manual_seed(0)
    own = taught["SelfAttention"](shape[-1], shape[-1], qkv_bias=bias)
    ours = SelfAttention(shape[-1], shape[-1], shape[-1], bias=bias)
    ours.load_state_dict(own.state_dict())
    x = torch.randn(shape)
    result = ours(x)[0]
    torch.testing.assert_close(own(x), result, atol=1e-6, rtol=1e-5)
    own(x).square().sum().backward()
    result.square().sum().backward()
    for mine, theirs in zip(own.parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
@pytest.mark.parametrize("shape", [(3, 6, 3), (6, 5, 6), (6, 6, 6)])
def test_the_check_of_the_lab_tells_a_broken_layer_from_a_sound_one_also_where_nothing_crashes(taught, shape):
    torch.manual_seed(0)
    x = torch.rand(shape)
    assert taught["treats_sentences_alone"](taught["SelfAttention"](shape[-1], shape[-1]), x) is True
    assert taught["treats_sentences_alone"](taught["SelfAttentionFromLayers"](shape[-1], shape[-1]), x) is not True
