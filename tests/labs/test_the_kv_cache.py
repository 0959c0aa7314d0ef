"""*The KV cache*: shared keys are what they are said to be, and absent friends get right answers."""

import pytest
import torch

from labs.the_kv_cache import absent_friends
from labs.the_kv_cache.grouped_queries import GroupedQueryAttention
from labs.the_kv_cache.operations import operations
from shared.cost import multiplications
from shared.model import MultiHeadSelfAttention, SelfAttention, causal_mask


@pytest.mark.parametrize("num_key_heads", [4, 2, 1])
def test_heads_of_a_group_share_keys_and_values(num_key_heads):
    torch.manual_seed(0)
    grouped, full, x = GroupedQueryAttention(12, 4, num_key_heads), MultiHeadSelfAttention(12, 4), torch.randn(2, 5, 12)
    weights = grouped.state_dict()
    for name in ("W_key.weight", "W_key.bias", "W_value.weight", "W_value.bias"):
        heads = weights[name].unflatten(0, (num_key_heads, 3))  # (key heads, head_dim, ...)
        weights[name] = heads.repeat_interleave(4 // num_key_heads, dim=0).flatten(0, 1)
    full.load_state_dict(weights)
    masks = {"attention_mask": causal_mask(5), "mask": torch.arange(5) < torch.tensor([[5], [3]])}
    torch.testing.assert_close(grouped(x, **masks), full(x, **masks))


def test_half_of_the_friends_are_away_and_the_answers_are_right():
    cafes = absent_friends.draw_cafes(500, seed=0)
    assert abs(cafes.away.float().mean().item() - 0.5) < 0.03
    for names, friends, drinks, answers in zip(
        *(part.tolist() for part in (cafes.names, cafes.friends, cafes.drinks, cafes.answers)), strict=True
    ):
        drink_of = dict(zip(names, drinks, strict=True))
        assert [drink_of.get(friend, absent_friends.NOBODY) for friend in friends] == answers
        assert all(name != friend for name, friend in zip(names, friends, strict=True))


def test_a_gate_multiplies_each_output_by_what_its_token_says_and_leaves_the_weights():
    torch.manual_seed(0)
    layer, x = SelfAttention(6, 4, 6), torch.randn(2, 5, 6)
    gated = absent_friends.Gated(layer, 6)
    output, weights = layer(x)
    found, same = gated(x)
    torch.testing.assert_close(same, weights)
    for cafe in range(2):
        for guest in range(5):
            gate = torch.special.expit(gated.W_gate.weight @ x[cafe, guest] + gated.W_gate.bias)  # (6,)
            torch.testing.assert_close(found[cafe, guest], gate * output[cafe, guest])


def test_operations_are_counted_one_by_one():
    x = torch.ones(2, 3)
    for count in range(4):
        assert operations(lambda count=count: [x.add(1) for _ in range(count)]) == count
    assert operations(lambda: x.t().contiguous().relu_()) == 3


def test_multiplications_are_those_of_the_matrix_products():
    x, y = torch.ones(2, 3, 4), torch.ones(2, 4, 5)
    by_loops = sum(1 for text in range(2) for i in range(3) for j in range(5) for k in range(4))
    assert multiplications(lambda: (x @ y).softmax(dim=2) + 1) == by_loops
    assert multiplications(torch.nn.Linear(7, 6), torch.ones(5, 7)) == 5 * 7 * 6


def test_of_two_layers_the_second_attends_to_what_the_first_returns_and_to_the_start_token():
    torch.manual_seed(0)
    first, second, x = SelfAttention(6, 4, 6), SelfAttention(6, 4, 6), torch.randn(2, 5, 6)
    both = absent_friends.WithStartToken(absent_friends.TwoLayers(first, second), 6)
    whole = torch.stack([torch.cat([both.start[None], cafe]) for cafe in x])  # (2, 6, 6)
    right, weights = second(whole + first(whole)[0])
    output, found = both(x)
    torch.testing.assert_close(output, right[:, 1:])
    torch.testing.assert_close(found, weights[:, 1:])
