"""*Induction heads*: the game is what its rules say, and nine heads in one layer can play it."""

import lab_code
import pytest
import torch

from labs.induction_heads import letter_pairs as pairs


@pytest.mark.parametrize("held_out", [False, True])
def test_each_shown_pair_is_asked_once_and_held_out_pairs_occur_in_tests_alone(held_out):
    ids, order = pairs.draw_pairs(200, torch.Generator().manual_seed(4), held_out)
    for text, places in zip(ids.view(200, -1, 2).tolist(), order.tolist(), strict=True):
        shown, asked = text[: pairs.NUM_PAIRS], text[pairs.NUM_PAIRS :]
        assert asked == [shown[place] for place in places] and sorted(places) == [*range(pairs.NUM_PAIRS)]
        assert len({first for first, _ in shown}) == pairs.NUM_PAIRS, "first letters are all different"
        assert any(pairs.HELD_OUT[first, second] for first, second in shown) == held_out


def test_one_layer_of_nine_heads_written_by_hand_answers_everything():
    names = lab_code.begun(lab_code.find("induction_heads"), "train")  # what the lab defines up to its first training
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
