"""*Induction heads*: nine heads can play the game, and the lab's own claims hold what it measures."""

import lab_code
import pytest
import torch


@pytest.fixture(scope="module")
def names() -> dict:
    """What the lab defines up to its first training."""
    return lab_code.begun(lab_code.find("induction_heads"), "train")


def test_training_never_shows_a_pair_that_was_set_aside_and_tests_ask_for_one(names):
    train, _ = names["draw_pairs"](500, torch.Generator().manual_seed(3))
    pairs = train.view(500, -1, 2)
    assert not names["set_aside"][pairs[..., 0], pairs[..., 1]].any()
    assert names["never_seen"].any(dim=1).all()
    assert 0.03 < names["set_aside"].float().mean() < 0.07


def test_each_pair_is_asked_once_in_an_order_of_its_own(names):
    ids, order = names["draw_pairs"](200, torch.Generator().manual_seed(4))
    shown, asked = ids.view(200, 2, names["num_pairs"], 2).unbind(1)
    assert torch.equal(asked, shown.gather(1, order[:, :, None].expand(-1, -1, 2)))
    assert (order.sort(dim=1).values == torch.arange(names["num_pairs"])).all()
    assert len({tuple(row) for row in order.tolist()}) > 190
    assert (shown[..., 0].sort(dim=1).values.diff(dim=1) > 0).all(), "first letters are all different"
    assert torch.equal(ids[:, names["asking"]], asked[..., 0])


def test_one_layer_of_nine_heads_written_by_hand_answers_everything(names):
    width = 53  # of a head: one feature for each letter, one for the place
    net = names["AttentionOnly"](1, d_model=9 * width, num_heads=9)
    layer = net.layers[0]
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
        net.letters.weight[:, :52] = net.output.weight[:, :52] = torch.eye(52)
        net.places[:, 52:84] = torch.eye(32)
        net.output.weight[:, 84:136] = torch.eye(52)  # what the heads bring back
        for head in range(9):
            own, place = slice(width * head, width * head + 52), width * head + 52
            layer.W_key.weight[own, :52] = layer.W_value.weight[own, :52] = torch.eye(52)
            layer.W_query.bias[place] = width**0.5
            likes = torch.full((32,), -300.0)
            if head < 8:  # "not this second letter", unless the first of the pair is the one that asks
                layer.W_query.weight[own, :52] = 30 * width**0.5 * torch.eye(52)
                likes[2 * head : 2 * head + 2] = torch.tensor([0.0, 15.0])
            else:  # "one of these": all second letters
                likes[1:16:2] = 0
            layer.W_key.weight[place, 52:84] = likes
            layer.W_output.weight[84:136, own] = torch.eye(52) * (-1 if head < 8 else 8)
        said = net(names["test_ids"])[0][:, names["asking"]].argmax(dim=2)
    assert torch.equal(said, names["answers"])
