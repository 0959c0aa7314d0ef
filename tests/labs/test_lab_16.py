"""Lab 16: attention in blocks and with a cache is attention, forward and back, and its memory is counted right."""

import math

import lab_code
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from shared.language_model import LanguageModel
from shared.measure import peak_bytes

FUNCTIONS = ("plain_attention", "attention_in_blocks", "one_more", "cached_step", "read_one", "empty_cache")
LAB = lab_code.taught(lab_code.find(16), *FUNCTIONS)
SIZES = {
    "batch": st.integers(1, 3),
    "tokens": st.integers(1, 40),
    "width": st.integers(1, 9),
    "block": st.integers(1, 50),
}


def by_loops(queries, keys, values, mask):
    """Attention of one text, number by number."""
    rows = []
    for query, may in zip(queries.tolist(), mask.tolist(), strict=True):
        scores = [sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query)) for key in keys.tolist()]
        shares = [math.exp(score - max(scores)) if ok else 0.0 for score, ok in zip(scores, may, strict=True)]
        columns = zip(*values.tolist(), strict=True)
        rows.append([sum(s * v for s, v in zip(shares, column, strict=True)) / sum(shares) for column in columns])
    return torch.tensor(rows, dtype=queries.dtype)


@settings(max_examples=40, deadline=None)
@given(**SIZES, seed=st.integers(0, 99), double=st.booleans())
def test_blocks_give_what_loops_and_pytorch_give_with_any_mask(batch, tokens, width, block, seed, double):
    torch.manual_seed(seed)
    dtype, tolerance = (torch.float64, 1e-10) if double else (torch.float32, 1e-5)
    queries, keys, values = torch.randn(3, batch, tokens, width, dtype=dtype)
    mask = (torch.rand(batch, tokens, tokens) > 0.5) | torch.eye(tokens, dtype=torch.bool)
    ours = LAB["attention_in_blocks"](queries, keys, values, mask, block)
    for theirs in (
        LAB["plain_attention"](queries, keys, values, mask),
        F.scaled_dot_product_attention(queries, keys, values, mask),
        torch.stack([by_loops(*text) for text in zip(queries, keys, values, mask, strict=True)]),
    ):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@settings(max_examples=20, deadline=None)
@given(**SIZES, seed=st.integers(0, 99))
def test_one_pass_has_the_output_and_the_gradients_of_the_plain_layer(batch, tokens, width, block, seed):
    torch.manual_seed(seed)
    inputs = [torch.randn(batch, tokens, width, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    from_above = torch.randn(batch, tokens, width, dtype=torch.float64)
    results = []
    for layer in (lambda *qkv: LAB["OnePass"].apply(*qkv, block), LAB["plain_attention"]):
        output = layer(*inputs)
        results.append([output, *torch.autograd.grad(output, inputs, from_above)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_blocks_and_cache_make_no_tensor_on_the_default_device():
    """Without a GPU, `meta` stands for the device that a function forgot to name."""
    queries, keys, values = inputs = [torch.randn(2, 9, 4, requires_grad=True) for _ in range(3)]
    mask = torch.ones(9, 9, dtype=torch.bool).tril()
    kept = keys[:, :0], values[:, :0]  # nothing was read yet
    with torch.device("meta"):
        results = [LAB["OnePass"].apply(*inputs, 4), LAB["attention_in_blocks"](*inputs, mask, 4)]
        results.append(LAB["cached_step"](queries[:, :1], keys[:, :1], values[:, :1], *kept)[0])
        sum(result.sum() for result in results).backward()
    assert all(result.device.type == "cpu" for result in [*results, *(part.grad for part in inputs)])


@pytest.mark.parametrize("height", [-1e4, 0, 1e4])
def test_the_running_softmax_is_exact_whatever_the_height_of_the_scores(height):
    torch.manual_seed(0)
    scores, values = torch.randn(30, dtype=torch.float64) + height, torch.randn(30, dtype=torch.float64)
    kept = (torch.tensor(-math.inf), torch.tensor(0.0), torch.tensor(0.0))
    for score, value in zip(scores, values, strict=True):
        kept = LAB["one_more"](*kept, score, value)
    torch.testing.assert_close(kept[2] / kept[1], scores.softmax(0) @ values, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("blocks", "heads"), [(1, 1), (3, 4)])
def test_reading_word_by_word_with_a_cache_gives_the_scores_of_reading_it_whole(blocks, heads):
    torch.manual_seed(0)
    model = LanguageModel(30, dim=16, num_heads=heads, num_blocks=blocks).double()
    ids, cache, scores = torch.randint(30, (12,)), LAB["empty_cache"](model), []
    cache = [tuple(part.double() for part in pair) for pair in cache]
    for word in ids:
        one, cache = LAB["read_one"](model, word, cache)
        scores.append(one)
    torch.testing.assert_close(torch.stack(scores), model(ids[None])[0], rtol=1e-10, atol=1e-10)


def test_the_language_model_does_not_see_what_comes():
    torch.manual_seed(0)
    model, ids = LanguageModel(30), torch.randint(1, 30, (1, 9))
    other = ids.clone()
    other[0, 6:] = 0
    assert torch.equal(model(ids)[0, :6], model(other)[0, :6])
    assert not torch.equal(LanguageModel(30, causal=False)(ids)[0, :6], LanguageModel(30, causal=False)(other)[0, :6])


def test_the_peak_counts_each_living_tensor_once_and_lets_go_of_the_dead():
    made_before = torch.zeros(1000)

    def three_of_which_two_live_together():
        first = torch.zeros(100)  # 400 bytes
        first.view(10, 10).add_(1)  # no new bytes
        second = first + made_before[:100]  # 400 more
        del first
        return second * 2  # 400 more, in place of the first

    assert peak_bytes(three_of_which_two_live_together) == 800
    assert peak_bytes(lambda: made_before.view(10, 100)) == 0


def test_only_the_plain_layer_and_the_blocks_with_gradient_hold_the_table():
    torch.manual_seed(0)
    inputs = [torch.randn(512, 16, requires_grad=True) for _ in range(3)]
    table = 4 * 512 * 512
    assert peak_bytes(lambda: LAB["plain_attention"](*inputs).sum().backward()) > table
    assert peak_bytes(lambda: LAB["attention_in_blocks"](*inputs).sum().backward()) > table
    assert peak_bytes(lambda: LAB["OnePass"].apply(*inputs, 64).sum().backward()) < table
    with torch.no_grad():
        assert peak_bytes(lambda: LAB["attention_in_blocks"](*inputs)) < table


@pytest.mark.parametrize(
    ("block", "numbers"), [(8, 84 + 2 * 8), (24, 84 + 2 * 24), (64, 36 + 4 * 64), (256, 36 + 4 * 256)]
)
def test_the_peak_of_the_blocks_is_what_the_solution_of_12_4_says(block, numbers):
    inputs = torch.randn(3, 1024, 16).unbind()
    assert peak_bytes(LAB["attention_in_blocks"], *inputs, block=block) == 4 * 1024 * numbers
