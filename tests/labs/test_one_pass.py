"""*Attention in one pass*: a mask may hide whole blocks, and the costs are counted right.

The lab's own cells compare its outputs with those of PyTorch, and its gradient with the plain layer's.
"""

import lab_code
import torch

from shared.measure import peak_bytes

LAB = lab_code.taught(
    lab_code.find("one_pass"), "plain_attention", "merge", "one_block", "running_softmax", "attention_in_blocks",
    "gradients_in_blocks",
)  # fmt: skip


def test_a_block_that_the_mask_hides_from_a_query_changes_nothing():
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 6, 4, dtype=torch.float64)
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[:, :2] = mask[1, 2:4] = False  # the first block of two from all queries, the second from one
    blocks = LAB["attention_in_blocks"](queries, keys, values, mask, block=2)
    torch.testing.assert_close(blocks, LAB["plain_attention"](queries, keys, values, mask))


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
