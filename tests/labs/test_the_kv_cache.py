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


def test_with_as_many_key_heads_as_query_heads_it_is_multi_head_attention():
    torch.manual_seed(0)
    ours, x = GroupedQueryAttention(12, 4, 4), torch.randn(2, 5, 12)
    theirs = MultiHeadSelfAttention(12, 4)
    theirs.load_state_dict(ours.state_dict())
    for masks in ({}, {"attention_mask": causal_mask(5), "mask": torch.arange(5) < torch.tensor([[5], [3]])}):
        torch.testing.assert_close(ours(x, **masks), theirs(x, **masks))


def test_heads_of_a_group_share_keys_and_values():
    torch.manual_seed(0)
    shared_keys, full, x = GroupedQueryAttention(12, 4, 2), MultiHeadSelfAttention(12, 4), torch.randn(2, 5, 12)
    weights = shared_keys.state_dict()
    for name in ("W_key.weight", "W_key.bias", "W_value.weight", "W_value.bias"):
        heads = weights[name].unflatten(0, (2, 3))  # (key heads, head_dim, ...)
        weights[name] = heads.repeat_interleave(2, dim=0).flatten(0, 1)
    full.load_state_dict(weights)
    torch.testing.assert_close(shared_keys(x, attention_mask=causal_mask(5)), full(x, attention_mask=causal_mask(5)))
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
    assert LAB["sinks_and_window"](6, window=2, sinks=[0]).int().tolist() == [
        [1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 0, 1, 1, 0, 0], [1, 0, 0, 1, 1, 0],
        [1, 0, 0, 0, 1, 1],
    ]  # fmt: skip
