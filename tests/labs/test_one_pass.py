"""*Attention in one pass*: attention in blocks is attention, and its costs are counted right.

The lab's own cells compare its gradient with the plain layer's.
"""

import lab_code
import pytest
import torch
from torch.nn import functional as F

from shared.measure import multiplications, operations, peak_bytes

LAB = lab_code.taught(
    lab_code.find("one_pass"), "plain_attention", "merge", "one_block", "running_softmax", "attention_in_blocks",
    "gradients_in_blocks",
)  # fmt: skip


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


def test_a_block_that_the_mask_hides_from_a_query_changes_nothing():
    queries, keys, values = torch.randn(3, 6, 4, dtype=torch.float64)
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[:, :2] = mask[1, 2:4] = False  # the first block of two from all queries, the second from one
    ours, plain = (LAB[name](queries, keys, values, mask) for name in ("attention_in_blocks", "plain_attention"))
    torch.testing.assert_close(LAB["attention_in_blocks"](queries, keys, values, mask, block=2), plain)
    torch.testing.assert_close(ours, plain)


def test_the_peak_counts_each_tensor_once_and_subtracts_what_is_freed():
    older = torch.zeros(1000)

    def three_of_which_two_exist_together():
        first = torch.zeros(100)  # 400 bytes
        first.view(10, 10).add_(1)  # no new bytes
        second = first + older[:100]  # 400 more
        del first
        return second * 2  # 400 more, in place of the first

    assert peak_bytes(three_of_which_two_exist_together) == 800
    assert peak_bytes(lambda: older.view(10, 100)) == 0


def test_multiplications_and_operations_are_counted():
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    assert multiplications(lambda: a @ b + 1) == 3 * 4 * 5
    assert operations(lambda: a @ b + 1) == 2
