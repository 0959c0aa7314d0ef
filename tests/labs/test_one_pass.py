"""*One pass*: attention in blocks is attention, and its memory is counted right.

The lab's own cells hold what it does way back and with a cache against the plain layer, and the memory it takes.
"""

import lab_code
import pytest
import torch
from torch.nn import functional as F

from shared.language_model import LanguageModel
from shared.measure import peak_bytes

LAB = lab_code.taught(lab_code.find("one_pass"), "plain_attention", "attention_in_blocks", "cached_step")


@pytest.mark.parametrize(
    ("batch", "tokens", "width", "block"), [(1, 1, 1, 1), (2, 7, 3, 3), (3, 40, 9, 50), (2, 40, 4, 8), (1, 33, 5, 32)]
)
def test_blocks_give_what_the_plain_layer_and_pytorch_give_with_any_mask(batch, tokens, width, block):
    torch.manual_seed(tokens)
    qkv = torch.randn(3, batch, tokens, width, dtype=torch.float64)
    mask = (torch.rand(batch, tokens, tokens) > 0.5) | torch.eye(tokens, dtype=torch.bool)
    ours = LAB["attention_in_blocks"](*qkv, mask, block)
    for attention in (LAB["plain_attention"], F.scaled_dot_product_attention):
        torch.testing.assert_close(ours, attention(*qkv, mask), rtol=1e-10, atol=1e-10)


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


@pytest.mark.parametrize(
    ("block", "numbers"), [(8, 84 + 2 * 8), (24, 84 + 2 * 24), (64, 36 + 4 * 64), (256, 36 + 4 * 256)]
)
def test_the_peak_of_the_blocks_is_what_the_lab_says(block, numbers):
    inputs = torch.randn(3, 1024, 16).unbind()
    assert peak_bytes(LAB["attention_in_blocks"], *inputs, block=block) == 4 * 1024 * numbers
