"""*Induction heads*: nine heads can play the game, and the lab's own claims hold what it measures."""

import lab_code
import pytest
import torch

from shared import pairs


@pytest.fixture(scope="module")
def names() -> dict:
    """What the lab defines up to its first training."""
    return lab_code.begun(lab_code.find("induction_heads"), "train")


def test_training_never_shows_a_held_out_pair_and_tests_ask_for_one(names):
    train, _ = pairs.draw_pairs(500, torch.Generator().manual_seed(3))
    shown = train.view(500, -1, 2)
    assert not pairs.HELD_OUT[shown[..., 0], shown[..., 1]].any()
    assert names["held_out"].any(dim=1).all()
    assert 0.03 < pairs.HELD_OUT.float().mean() < 0.07


def test_each_pair_is_asked_once_in_an_order_of_its_own():
    ids, order = pairs.draw_pairs(200, torch.Generator().manual_seed(4))
    shown, asked = ids.view(200, 2, pairs.NUM_PAIRS, 2).unbind(1)
    assert torch.equal(asked, shown.gather(1, order[:, :, None].expand(-1, -1, 2)))
    assert (order.sort(dim=1).values == torch.arange(pairs.NUM_PAIRS)).all()
    assert len({tuple(row) for row in order.tolist()}) > 190
    assert (shown[..., 0].sort(dim=1).values.diff(dim=1) > 0).all(), "first letters are all different"
    assert torch.equal(ids[:, pairs.ASKING], asked[..., 0])
    assert torch.equal(ids.gather(1, pairs.positions_of_answers(order)), ids[:, pairs.ASKING + 1])


def test_one_layer_of_nine_heads_written_by_hand_answers_everything(names):
    width = 53  # of a head: one column for each letter, one for the position
    net = names["AttentionOnly"](1, d_model=9 * width, num_heads=9)
    layer = net.layers[0]
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
        net.letters.weight[:, :52] = net.output.weight[:, :52] = torch.eye(52)
        net.positions[:, 52:84] = torch.eye(32)
        net.output.weight[:, 84:136] = torch.eye(52)  # what the heads add
        for head in range(9):
            own, position = slice(width * head, width * head + 52), width * head + 52
            layer.W_key.weight[own, :52] = layer.W_value.weight[own, :52] = torch.eye(52)
            layer.W_query.bias[position] = width**0.5
            likes = torch.full((32,), -300.0)
            if head < 8:  # "not this second letter", unless the first of the pair is the one that asks
                layer.W_query.weight[own, :52] = 30 * width**0.5 * torch.eye(52)
                likes[2 * head : 2 * head + 2] = torch.tensor([0.0, 15.0])
            else:  # "one of these": all second letters
                likes[1:16:2] = 0
            layer.W_key.weight[position, 52:84] = likes
            layer.W_output.weight[84:136, own] = torch.eye(52) * (-1 if head < 8 else 8)
        predictions = net(names["test_ids"])[0][:, pairs.ASKING].argmax(dim=2)
    assert torch.equal(predictions, names["targets"])
