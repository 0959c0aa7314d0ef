"""*Longer texts*: each reader attends with its positions and its bias, and the stored runs are whole."""

import json
import math

import lab_code
import pytest
import torch
from torch.nn import functional as F

from experiments.claims import longer_texts

MARK, SEPARATOR = 3, 2
PLACES = ("in_order", "shifted", "second_later", "squeezed")
LAB = lab_code.taught(lab_code.find("longer_texts"), "rotate", *PLACES)
LAB |= {"mark": MARK, "separator": SEPARATOR}


def texts(batch: int, tokens: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids with a mark in each text, and a mask that pads all texts but the first."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(MARK + 1, 20, (batch, tokens), generator=random)
    real = torch.randint(1, tokens + 1, (batch, 1), generator=random)
    real[0] = tokens
    ids.scatter_(1, (torch.rand(batch, 1, generator=random) * real).long(), MARK)
    mask = torch.arange(tokens) < real  # (batch, tokens)
    return ids * mask, mask


def reader(way: str, seed: int):
    torch.manual_seed(seed)
    net = LAB["Reader"](20, way, d_model=6, d_k=4).eval().double()
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return net


def attention_by_pytorch(net, ids, mask):
    """The marker query by PyTorch's function, with the bias as its attention mask."""
    x = net.embedding(ids)  # (batch, tokens, d_model)
    tokens = torch.arange(ids.shape[1])
    if net.way == "sines":
        x = x + LAB["rotate"](torch.tensor([1.0, 0.0] * 3).to(x), tokens, 1000)
    if net.way == "learned":
        x = x + net.table[tokens]
    place = (ids == MARK).int().argmax(dim=1)  # (batch,)
    queries = net.W_query(x[torch.arange(len(ids)), place])[:, None]  # (batch, 1, d_k)
    keys, values = net.W_key(x), net.W_value(x)
    if net.way == "rotary":
        queries, keys = LAB["rotate"](queries, place[:, None]), LAB["rotate"](keys, tokens)
    bias = torch.zeros(mask.shape, dtype=x.dtype)
    if net.slopes is not None:
        distance = tokens - place[:, None]  # (batch, tokens), negative before the mark
        bias = -distance.abs() * torch.where(distance < 0, net.slopes[0], net.slopes[-1])
    bias = bias.masked_fill(~mask, -math.inf)[:, None]  # (batch, 1, tokens)
    return net.output(F.scaled_dot_product_attention(queries, keys, values, bias)[:, 0]).squeeze(1)


@pytest.mark.parametrize("way", longer_texts.WAYS)
@pytest.mark.parametrize(("batch", "tokens", "seed"), [(1, 1, 0), (2, 5, 1), (3, 9, 2), (4, 15, 3)])
def test_each_reader_is_pytorch_s_attention_with_its_positions_and_its_bias(way, batch, tokens, seed):
    (ids, mask), net = texts(batch, tokens, seed), reader(way, seed)
    torch.testing.assert_close(net(ids, mask)[0], attention_by_pytorch(net, ids, mask), rtol=1e-10, atol=1e-10)


def test_the_ways_to_count_say_what_their_names_do():
    ids = torch.tensor([[MARK, 9, 9, SEPARATOR, 9], [SEPARATOR, 9, MARK, 9, 0]])
    assert LAB["in_order"](ids).tolist() == [[0, 1, 2, 3, 4]] * 2
    assert LAB["shifted"](ids).tolist() == [[384, 385, 386, 387, 388]] * 2
    assert LAB["squeezed"](ids).tolist() == [[0, 0.25, 0.5, 0.75, 1]] * 2
    assert LAB["second_later"](10)(ids).tolist() == [[0, 1, 2, 13, 14], [0, 1, 12, 13, 14]]


# --- the stored runs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", longer_texts.WAYS)
def test_the_reader_of_the_script_is_that_of_the_lab(way):
    (ids, mask), theirs = texts(4, 9, 0), reader(way, 0)
    ours = longer_texts.Reader(20, way, MARK, SEPARATOR, d_model=6, d_k=4).eval().double()
    ours.load_state_dict(theirs.state_dict())
    for ways in ((longer_texts.in_order, LAB["in_order"]), (longer_texts.second_later(7), LAB["second_later"](7))):
        ours.positions, theirs.places = ways
        torch.testing.assert_close(ours(ids, mask), theirs(ids, mask))


def test_the_stored_table_has_every_run_once():
    runs = json.loads(longer_texts.TABLE.read_text())["runs"]
    assert [(run["way"], run["variant"], run["seed"]) for run in runs] == longer_texts.RUNS
    for run in runs:
        if run["way"] == "none":
            halves = [(run["first"][test] + run["second"][test]) / 2 for test in run["first"]]
            assert halves == pytest.approx([0.5] * len(halves), abs=1e-4), (
                "one answer to both marks is right once of two"
            )
