"""*The KV cache*: a cached step gives what the whole text gives, and shared keys are what they are said to be."""

import lab_code
import pytest
import torch

from shared import absent_friends
from shared.grouped_queries import GroupedQueryAttention
from shared.language_model import LanguageModel
from shared.model import MultiHeadSelfAttention, causal_mask

LAB = lab_code.taught(lab_code.find("the_kv_cache"), "sinks_and_window")


def test_the_language_model_does_not_see_what_comes():
    torch.manual_seed(0)
    model, ids = LanguageModel(30), torch.randint(1, 30, (1, 9))
    other = ids.clone()
    other[0, 6:] = 0
    assert torch.equal(model(ids)[0, :6], model(other)[0, :6])
    assert not torch.equal(LanguageModel(30, causal=False)(ids)[0, :6], LanguageModel(30, causal=False)(other)[0, :6])


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
    with pytest.raises(ValueError, match="4 query heads cannot share 3"):
        GroupedQueryAttention(12, 4, 3)


def test_half_of_the_friends_are_away_and_the_answers_are_right():
    cafes = absent_friends.draw_cafes(500, seed=0)
    assert abs(cafes.away.float().mean().item() - 0.5) < 0.03
    for names, friends, drinks, away, answers in zip(
        *(part.tolist() for part in (cafes.names, cafes.friends, cafes.drinks, cafes.away, cafes.answers)), strict=True
    ):
        drink_of = dict(zip(names, drinks, strict=True))
        assert [drink_of.get(friend, absent_friends.NOBODY) for friend in friends] == answers
        assert [friend not in drink_of for friend in friends] == away
        assert all(name != friend for name, friend in zip(names, friends, strict=True))


def test_the_window_keeps_the_first_tokens():
    seen = LAB["sinks_and_window"](6, window=2, sinks=[0]).int().tolist()
    assert seen[:3] == causal_mask(6).int().tolist()[:3] and seen[4:] == [[1, 0, 0, 1, 1, 0], [1, 0, 0, 0, 1, 1]]
