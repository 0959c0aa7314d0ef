"""The classes that labs 7 and 8 write down are those of `shared.model`: equal outputs from equal weights."""

import ast
import math
from pathlib import Path

import jupytext
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from shared import model

LABS = Path(__file__).resolve().parents[1] / "labs"


def written_in(lab: str, *names: str) -> dict:
    """The classes and functions of these names, as the lab's code cells define them."""
    cells = jupytext.read(LABS / f"{lab}.md", fmt="md:myst").cells
    trees = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"]
    defined = {node.name: node for tree in trees for node in tree.body if hasattr(node, "name")}
    missing = [name for name in names if name not in defined]
    assert not missing, f"labs/{lab}.md no longer writes {missing} down"
    imported = {name: value for name, value in vars(model).items() if not name.startswith("_")}
    namespace = imported | {"torch": torch, "nn": nn, "F": F, "math": math}
    for name in names:
        exec(compile(ast.Module([defined[name]], []), f"labs/{lab}.md", "exec"), namespace)
    return namespace


MASKS = {
    "no mask": (None, None),
    "padding": (torch.arange(6) < torch.tensor([[6], [4]]), None),
    "padding and causal": (torch.arange(6) < torch.tensor([[6], [4]]), model.causal_mask(6)),
}


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("num_heads", [1, 3, 9])
def test_the_layer_of_lab_7_is_the_shared_one(num_heads, masks):
    torch.manual_seed(0)
    labs = written_in("07_many_heads", "MultiHeadSelfAttention")["MultiHeadSelfAttention"](9, num_heads)
    shared = model.MultiHeadSelfAttention(9, num_heads)
    shared.load_state_dict(labs.state_dict())
    features = torch.randn(2, 6, 9)
    for ours, theirs in zip(labs(features, *masks), shared(features, *masks), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("num_heads", [2, 0])
def test_lab_7_refuses_heads_with_the_sentence_of_the_shared_layer(num_heads):
    sentences = []
    for layer in (
        written_in("07_many_heads", "MultiHeadSelfAttention")["MultiHeadSelfAttention"],
        model.MultiHeadSelfAttention,
    ):
        with pytest.raises(ValueError) as error:
            layer(9, num_heads)
        sentences.append(str(error.value))
    assert sentences[0] == sentences[1]


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
def test_the_block_of_lab_8_is_the_shared_one_that_normalises_first(masks):
    torch.manual_seed(0)
    labs = written_in("08_towards_the_transformer", "TransformerBlock")["TransformerBlock"](8, 2, 12).eval()
    shared = model.TransformerBlock(8, 2, 12, norm_first=True).eval()
    shared.load_state_dict(labs.state_dict())
    nn.init.normal_(labs.attention_norm.weight)
    shared.attention_norm.load_state_dict(labs.attention_norm.state_dict())
    features = torch.randn(2, 6, 8)
    for ours, theirs in zip(labs(features, *masks), shared(features, *masks), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_encoder_of_lab_8_is_the_shared_one():
    torch.manual_seed(0)
    names = written_in("08_towards_the_transformer", "TransformerBlock", "EncoderClassifier")
    labs = names["EncoderClassifier"](40).eval()
    shared = model.EncoderClassifier(40, num_heads=2, hidden_dim=32, num_blocks=2).eval()
    shared.load_state_dict(labs.state_dict())
    ids, mask = torch.randint(2, 40, (2, 6)), MASKS["padding"][0]
    for ours, theirs in zip(labs(ids, mask), shared(ids, mask), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_causal_mask_of_lab_8_is_the_shared_one():
    causal_mask = written_in("08_towards_the_transformer", "causal_mask")["causal_mask"]
    assert torch.equal(causal_mask(5), model.causal_mask(5))


@pytest.mark.parametrize("part", ["residual", "norm", "feed-forward"])
def test_what_lab_8_takes_away_is_gone_and_the_rest_stays(part):
    names = written_in(
        "08_towards_the_transformer",
        "TransformerBlock",
        "EncoderClassifier",
        "WithoutResidual",
        "Nothing",
        "make_encoder",
    )
    names["data"] = type("Data", (), {"vocabulary": range(40)})
    torch.manual_seed(0)
    block = names["make_encoder"](part).eval().blocks[0]
    features = torch.randn(2, 6, 16)

    normed = [features if part == "norm" else block.attention_norm(features)]
    after = block.attention(*normed)[0] + (0 if part == "residual" else features)
    thought = block.feed_forward(after if part == "norm" else block.feed_forward_norm(after))
    expected = {"residual": thought, "norm": after + thought, "feed-forward": after}[part]
    torch.testing.assert_close(block(features)[0], expected)
