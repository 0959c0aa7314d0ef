"""*Two sequences*: its streets, dates and drawings by a second way; odd styles are right, mistakes have a name."""

import calendar
import collections
import datetime
import itertools
import math
import re

import lab_code
import pytest
import torch
import torch.nn.functional as F
from matplotlib.patches import Rectangle
from torch import nn

import checks
from checks import engine
from labs.two_sequences import dates, exercises, two_cafes
from labs.two_sequences.decoder import as_pytorch_s
from labs.two_sequences.pictures import COLOURS, Families, Patches, alignment
from shared.cafe import DRINKS, NAMES
from shared.cost import multiplications
from shared.model import TransformerBlock, causal_mask, masked_softmax

engine.SECONDS = 120.0  # the machine that runs the tests may be busy


# --- the street -----------------------------------------------------------------------------------------------------


def test_a_friend_sits_over_there_and_its_drink_is_the_answer():
    streets = two_cafes.draw_streets(200, seed=3)
    answers, popular = streets.friends_drink(), streets.most_popular_drink()
    for street in range(200):
        taken = streets.mask[street].tolist()
        there = {
            name: drink
            for name, drink, here in zip(
                streets.other_names[street].tolist(), streets.other_drinks[street].tolist(), taken, strict=True
            )
            if here
        }
        assert 2 <= len(there) == sum(taken) <= 5 and not there.keys() & set(streets.names[street].tolist())
        assert [there[friend] for friend in streets.friends[street].tolist()] == answers[street].tolist()
        drinks = list(there.values())
        assert drinks.count(popular[street].item()) == max(map(drinks.count, drinks))
    assert (streets.other_names[~streets.mask] == 0).all() and (streets.other_drinks[~streets.mask] == 0).all()


def test_naming_the_most_popular_drink_is_right_as_often_as_all_menus_say():
    """The friend sits on any taken chair, so it is right for the largest fraction of equal drinks."""
    expected = 0.0
    for taken in (2, 3, 4, 5):
        menus = list(itertools.product(range(len(DRINKS)), repeat=taken))
        expected += sum(max(collections.Counter(menu).values()) / taken for menu in menus) / len(menus) / 4
    test = two_cafes.TEST
    measured = (test.most_popular_drink() == test.friends_drink()).float().mean().item()
    assert abs(measured - expected) < 3 * math.sqrt(expected * (1 - expected) / 2000)


def test_a_cross_attention_set_by_hand_answers_every_guest_right():
    """Names, friends and drinks in axes of their own: whatever a layer needs for 1.00 is in x and y."""
    layer = exercises.CrossAttention(32, 8, 6)
    model = two_cafes.StreetModel(layer)
    model.read_out = nn.Identity()
    axes = torch.eye(32)
    with torch.no_grad():
        for table, rows in ((model.name, axes[:8]), (model.friend, axes[8:16]), (model.drink, axes[16:22])):
            table.weight.copy_(rows)
        for part, rows in ((layer.W_query, 100 * axes[8:16]), (layer.W_key, axes[:8]), (layer.W_value, axes[16:22])):
            part.weight.copy_(rows)
    assert two_cafes.accuracy(model) == 1


def test_a_cache_saves_the_multiplications_that_its_formula_says():
    """20 guests and 50 chairs: a query, its scores and its output for each guest, keys and values once or 20 times."""
    names = {"layer": exercises.CrossAttention(32, 16, 32), "x": torch.randn(1, 20, 32), "y": torch.randn(1, 50, 32)}
    code = lab_code.taught(lab_code.find("two_sequences"), "step", "one_by_one", "computed_again", names=names)
    for name, times in (("one_by_one", 1), ("computed_again", 20)):
        expected = 20 * (32 * 16 + 50 * 16 + 50 * 32) + times * 50 * 32 * (16 + 32)
        assert multiplications(code[name]) == expected


def test_the_street_that_is_drawn_is_the_example():
    street, chart = two_cafes.drawn_street(), two_cafes.Street()
    friends = {(arrow.source, arrow.target) for arrow in chart.arrows}
    for place, friend in enumerate(street.friends[0].tolist()):
        assert (place, 3 + two_cafes.NAMES_THERE.index(NAMES[friend])) in friends
    answers = [DRINKS[drink] for drink in street.friends_drink()[0].tolist()]
    assert answers == [chart.guests[target].drink for _, target in sorted(friends)]
    assert [guest.drink is not None for guest in chart.guests[3:]] == street.mask[0].tolist()


def test_an_arrow_is_drawn_for_each_weight_that_is_large_enough():
    weights = torch.tensor([[0.9, 0.06, 0.04, 0, 0], [0.2, 0.8, 0, 0, 0], [1.0, 0, 0, 0, 0]])
    chart = two_cafes.Street(weights, "Ada")
    assert [(a.target, round(a.weight, 2)) for a in chart.arrows if a.kind == "attention"] == [(3, 0.9), (4, 0.06)]
    assert "Ada attends to Dan .90." in chart.alt and "Ben attends" not in chart.alt
    assert [a.source for a in chart.arrows if a.kind == "friend"] == [1, 2], "Ada's friend is in the picture before"
    assert chart.guests[0].y == chart.guests[3].y, "both columns begin at the top"
    chart.figure()


# --- the dates ------------------------------------------------------------------------------------------------------


def number(words):
    """What a year or a part of it says, read by another rule than it was written."""
    small = (
        "oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    )
    value = {word: place for place, word in enumerate(small.split())} | {"eighteen": 18, "nineteen": 19}
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
    value |= {word: 10 * place for place, word in enumerate(tens, start=2)}
    return sum(value[word] for word in words)


@pytest.mark.parametrize("order", range(3))
def test_a_date_in_words_says_its_digits_and_each_digit_has_its_word(order):
    months = [name.lower() for name in calendar.month_name]
    for date in dates.dates(held_out=True)[::7]:
        words, source = dates.in_words(date, order)
        month = next(place for place, word in enumerate(words) if word in months)
        day = next(k for k, word in enumerate(words) if k != month and re.search("(st|nd|rd|th)$", word))
        year = [place for place, word in enumerate(words) if place not in (month, day) and word not in ("the", "of")]
        century, rest = words[year[0]], [words[place] for place in year[1:]]
        assert date.year == 100 * number([century]) + number(rest) and date.month == months.index(words[month])
        assert source == [year[0], year[0], year[1], year[-1], month, month, day, day]
        assert dates.ORDINALS.index(words[day]) + 1 == date.day


def test_what_is_encoded_can_be_read_again_and_held_out_dates_are_not_trained_on():
    words, digits, source = dates.draw_dates(300, seed=5)
    assert not set(dates.dates(True)) & set(dates.dates(False))
    for row in range(300):
        spoken = [dates.WORDS[word] for word in words[row].tolist() if word]
        date = datetime.date.fromisoformat("".join(map(str, digits[row].tolist())))
        assert (spoken, source[row].tolist()) in [dates.in_words(date, order) for order in range(3)]
    assert len(set(dates.WORDS)) == len(dates.WORDS)


def test_a_model_is_trained_on_dates_that_the_test_does_not_have(monkeypatch):
    seen, encode = [], dates.encode
    monkeypatch.setattr(dates, "encode", lambda examples: seen.extend(examples) or encode(examples))
    dates.train(lab_code.taught(lab_code.find("two_sequences"))["DecoderBlock"](32, 1, 64), steps=2)
    assert len({date for date, _ in seen}) > 100 and not {date for date, _ in seen} & set(dates.dates(held_out=True))
    assert {order for _, order in seen} == {0, 1, 2}


@torch.no_grad()
def test_a_short_date_is_read_beside_a_long_one_as_it_is_read_alone():
    torch.manual_seed(0)
    block = lab_code.taught(lab_code.find("two_sequences"))["DecoderBlock"]
    model = dates.DateWriter(block(32, 1, 64), TransformerBlock(32, 1, 64, dropout=0.0, norm_first=True))
    words, digits, _ = dates.encode([(datetime.date(1984, 3, 15), 1), (datetime.date(1930, 3, 15), 2)])
    count = int((words[1] > 0).sum())
    assert (words[0] > 0).all() and count < words.shape[1]
    together, alone = model(words, digits), model(words[1:, :count], digits[1:])
    torch.testing.assert_close(together[0][1:], alone[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(together[1][1:, ..., :count], alone[1], rtol=1e-4, atol=1e-5)


def test_the_decoder_writes_without_seeing_what_comes_after():
    block = lab_code.taught(lab_code.find("two_sequences"))["DecoderBlock"]
    torch.manual_seed(0)
    model = dates.train(block(32, 1, 64), steps=0)
    words, digits, _ = dates.draw_dates(4, seed=1)
    changed = digits.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % 10
    torch.testing.assert_close(model(words, digits)[0][:, :6], model(words, changed)[0][:, :6])
    written, weights = dates.write(model, words)
    torch.testing.assert_close(model(words, written)[0].argmax(dim=2), written)
    torch.testing.assert_close(model(words, written)[1].mean(dim=1), weights)


# --- what is drawn and compared -------------------------------------------------------------------------------------


def test_the_families_are_drawn_as_their_masks_say():
    chart = Families(4, 3)
    reading, writing, both = (panel.int() for panel in chart.panels.values())
    assert (reading == 0).all() and torch.equal(writing == 0, causal_mask(4))
    for query in range(7):
        for key in range(7):
            kind = 0 if query < 4 and key < 4 else 1 if query >= 4 > key else 0 if 4 <= key <= query else -1
            assert both[query, key] == kind
    (axes,) = chart.figure().axes
    from matplotlib.colors import to_hex

    drawn = [p for p in axes.patches if isinstance(p, Rectangle) and p.get_facecolor()[3] > 0]
    filled = [to_hex(p.get_facecolor()) for p in drawn if p.get_gid() != "part:key"]
    assert filled.count(COLOURS[1]) == 12 and filled.count(COLOURS[0]) == 16 + 10 + 16 + 6
    # names are above the columns and beside the rows of the last square, and the key names both colors
    across = [p for p in drawn if to_hex(p.get_facecolor()) == COLOURS[1] and p.get_gid() != "part:key"]
    (read, written), words = (min(p.get_x() for p in across), max(p.get_y() for p in across)), axes.texts
    places = {(text.get_text(), bool(text.get_rotation())): text.get_position() for text in words}
    assert places["read", False][0] > read and places["written", False][0] > max(p.get_x() for p in across)
    assert min(p.get_y() for p in across) < places["written", True][1] < written + 12
    assert places["read", True][1] < min(p.get_y() for p in across) and places["read", True][0] < read
    keys = {to_hex(p.get_facecolor()): p.get_y() for p in drawn if p.get_gid() == "part:key"}
    assert list(keys) == list(COLOURS) and {"self-attention", "cross-attention"} <= {text.get_text() for text in words}


def test_a_ring_is_at_the_word_that_each_digit_comes_from():
    weights, source = torch.rand(8, 3), [2, 2, 2, 2, 1, 1, 0, 0]
    chart = alignment(weights, torch.tensor([1, 9, 8, 4, 0, 3, 1, 5]), ["a", "b", "c"], torch.tensor(source))
    assert list(chart.rings) == list(enumerate(source)) and chart.column_labels == ["a", "b", "c"]
    assert chart.row_labels == ["year 1", "9", "8", "4", "month 0", "3", "day 1", "5"] and chart.figure().axes


def test_a_patch_has_its_weight_as_a_number_and_as_a_frame_inside_it():
    pixels, weights = torch.zeros(6, 6), torch.full((3, 3), 0.05)
    weights[1, 2], pixels[3, 5] = 0.6, 1.0
    chart = Patches(pixels, weights, "A dot")
    (axes,) = chart.figure().axes
    frames = [p for p in axes.patches if p.get_gid() == "part:of-patch"]
    cells = [p for p in axes.patches if p.get_gid() != "part:of-patch"]
    assert [text.get_text() for text in axes.texts] == [
        "A dot",
        *[f".{round(100 * w):02}" for w in weights.flatten().tolist()],
    ]
    thick = max(frames, key=lambda frame: frame.get_linewidth())
    (dark,) = [cell for cell in cells if cell.get_alpha()]
    inside = thick.get_x() < dark.get_x() + dark.get_width() / 2 < thick.get_x() + thick.get_width()
    assert inside and thick.get_y() < dark.get_y() < thick.get_y() + thick.get_height() and frames.index(thick) == 5
    for frame, number in zip(frames, axes.texts[1:], strict=True):  # apart, each with its number in its upper left part
        x, y = number.get_position()
        assert frame.get_x() < x < frame.get_x() + frame.get_width() / 2
        assert frame.get_y() < y < frame.get_y() + frame.get_height() / 2
    edges = [(frame.get_x() - frame.get_linewidth() / 2, frame.get_width() + frame.get_linewidth()) for frame in frames]
    assert all(x + width < after for (x, width), (after, _) in zip(edges[:2], edges[1:3], strict=True))
    assert thick.get_linewidth() > 5 * min(frame.get_linewidth() for frame in frames)
    assert ".05, .05, .60;" in chart.alt


@torch.no_grad()
def test_a_decoder_block_is_pytorch_s():
    block = lab_code.taught(lab_code.find("two_sequences"))["DecoderBlock"]
    torch.manual_seed(0)
    for heads, n, m in ((1, 3, 5), (2, 6, 2), (4, 1, 4)):
        ours, x, y = block(8, heads, 12), torch.randn(3, n, 8), torch.randn(3, m, 8)
        for parameter in ours.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        mask = torch.rand(3, m) < 0.6
        mask[:, -1] = True
        theirs = as_pytorch_s(ours)(x, y, tgt_mask=~causal_mask(n), memory_key_padding_mask=~mask)
        torch.testing.assert_close(ours(x, y, mask)[0], theirs, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_cross_attention_with_several_heads_is_pytorch_s():
    several = lab_code.taught(lab_code.find("two_sequences"))["MultiHeadCrossAttention"]
    torch.manual_seed(0)
    for heads, n, m in ((1, 3, 5), (2, 6, 2), (4, 1, 4), (8, 4, 4)):
        ours, x, y = several(8, heads), torch.randn(3, n, 8), torch.randn(3, m, 8)
        for parameter in ours.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        mask = torch.rand(3, m) < 0.6
        mask[:, 0] = True
        theirs = nn.MultiheadAttention(8, heads, batch_first=True)
        projections = ours.W_query, ours.W_key, ours.W_value
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in projections]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in projections]))
        theirs.out_proj.load_state_dict(ours.W_output.state_dict())
        expected = theirs(x, y, y, key_padding_mask=~mask, average_attn_weights=False)
        torch.testing.assert_close(ours(x, y, mask), expected, rtol=1e-4, atol=1e-5)


# --- cross-attention by a second and a third way --------------------------------------------------------------------


def by_loops(layer, x, y, mask):
    output = torch.zeros(*x.shape[:2], layer.W_value.out_features)
    weights = torch.zeros(*x.shape[:2], y.shape[1])
    for text in range(len(x)):
        keys = [key for key in range(y.shape[1]) if mask[text, key]]
        for query in range(x.shape[1]):
            q = layer.W_query(x[text, query])
            powers = [math.exp(q @ layer.W_key(y[text, key]) / math.sqrt(len(q))) for key in keys]
            for key, power in zip(keys, powers, strict=True):
                weights[text, query, key] = power / sum(powers)
                output[text, query] += power / sum(powers) * layer.W_value(y[text, key])
    return output, weights


@torch.no_grad()
@pytest.mark.parametrize("of", ["the lab", "the check"])
def test_cross_attention_is_what_loops_and_pytorch_s_layer_compute(of):
    lab = lab_code.taught(lab_code.find("two_sequences"))["CrossAttention"]
    torch.manual_seed(0)
    for n, m in ((3, 5), (4, 4), (6, 2), (1, 3)):
        layer = (lab if of == "the lab" else exercises.CrossAttention)(8, 8, 8)
        x, y, mask = torch.randn(3, n, 8), torch.randn(3, m, 8), torch.rand(3, m) < 0.6
        mask[0], mask[1, 0] = False, True
        output, weights = layer(x, y, mask)
        torch.testing.assert_close((output, weights), by_loops(layer, x, y, mask), rtol=1e-4, atol=1e-5)
        parts = [getattr(layer, name) for name in ("W_query", "W_key", "W_value")]
        right = exercises.cross_by_pytorch(x, y, mask, *parts)
        torch.testing.assert_close((output, weights), right, rtol=1e-4, atol=1e-5)
        pytorchs = nn.MultiheadAttention(8, 1, bias=False, batch_first=True)
        pytorchs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        pytorchs.out_proj.weight.copy_(torch.eye(8))
        theirs = pytorchs(x[1:], y[1:], y[1:], key_padding_mask=~mask[1:])
        there = mask[1:].any(dim=1)
        torch.testing.assert_close((output[1:][there], weights[1:][there]), tuple(part[there] for part in theirs),
                                   rtol=1e-4, atol=1e-5)  # fmt: skip


# --- right in an odd style ------------------------------------------------------------------------------------------


class Layer(nn.Module):
    """Three projections; a style says what is done with them."""

    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.W_query = nn.Linear(d_model, d_k, bias=False)
        self.W_key = nn.Linear(d_model, d_k, bias=False)
        self.W_value = nn.Linear(d_model, d_v, bias=False)


def style(forward):
    """A layer with this `forward`."""
    return type(forward.__name__, (Layer,), {"forward": forward, "__module__": __name__})


def minus_infinity_and_nan_to_num(self, x, y, mask):
    q, k, v = self.W_query(x), self.W_key(y), self.W_value(y)
    scores = torch.bmm(q, k.permute(0, 2, 1)).div(k.size(-1) ** 0.5)
    weights = torch.softmax(scores.masked_fill(mask[:, None] == 0, float("-inf")), dim=-1).nan_to_num(0.0)
    return torch.bmm(weights, v), weights


def by_einsum(self, x, y, mask):
    scores = torch.einsum("bid,bjd->bij", self.W_query(x), self.W_key(y)) * self.W_key.out_features**-0.5
    weights = masked_softmax(scores, mask[:, None, :].expand_as(scores))
    return torch.einsum("bij,bjd->bid", weights, self.W_value(y)), weights


def queries_divided_first(self, x, y, mask):
    scores = (self.W_query(x) / math.sqrt(self.W_query.out_features)) @ self.W_key(y).mT
    bias = torch.zeros_like(scores).masked_fill(~mask[:, None], -1e30)
    weights = (scores + bias).softmax(-1) * mask[:, None].to(scores)
    return weights @ self.W_value(y), weights


def transposed_all_the_way(self, x, y, mask):
    scores = self.W_key(y) @ self.W_query(x).transpose(1, 2) / math.sqrt(self.W_key.weight.shape[0])  # (b, m, n)
    weights = scores.masked_fill(~mask[:, :, None], -math.inf).softmax(1).nan_to_num().transpose(1, 2)
    return weights @ self.W_value(y), weights


def query_by_query(self, x, y, mask):
    keys, values, rows = self.W_key(y), self.W_value(y), []
    for i in range(x.size(1)):
        scores = (keys @ self.W_query(x[:, i]).unsqueeze(2)).squeeze(2) / math.sqrt(keys.size(2))  # (b, m)
        rows.append(masked_softmax(scores, mask))
    weights = torch.stack(rows, dim=1)
    return weights @ values, weights


def exponentials_by_hand(self, x, y, mask):
    keys = self.W_key(y)
    scores = self.W_query(x) @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
    scores = torch.where(mask.unsqueeze(1), scores, torch.finfo(scores.dtype).min)
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask.unsqueeze(1)
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    return weights @ self.W_value(y), weights


def inputs_averaged_then_projected(self, x, y, mask):
    scores = self.W_query(x) @ self.W_key(y).mT / math.sqrt(self.W_key.out_features)
    weights = masked_softmax(scores, mask.view(len(y), 1, -1))
    return self.W_value(weights @ y), weights


RIGHT = [
    style(forward)
    for forward in (
        minus_infinity_and_nan_to_num, by_einsum, queries_divided_first, transposed_all_the_way, query_by_query,
        exponentials_by_hand, inputs_averaged_then_projected,
    )
]  # fmt: skip


@pytest.mark.parametrize("answer", RIGHT, ids=lambda answer: answer.__name__)
def test_a_right_layer_is_right_in_any_style(answer):
    verdict = checks.cross_attention(answer)
    assert verdict, verdict


# --- wrong, as people make them -------------------------------------------------------------------------------------


def scored(self, x, y, of_x=None, of_y=None):
    keys = self.W_key(y)
    return self.W_query(x) @ keys.mT / math.sqrt(keys.shape[-1])


def all_from_x(self, x, y, mask):
    weights = masked_softmax(scored(self, x, x), mask[:, None])
    return weights @ self.W_value(x), weights


def all_from_x_no_mask(self, x, y, mask):
    weights = scored(self, x, x).softmax(-1)
    return weights @ self.W_value(x), weights


def values_of_x(self, x, y, mask):
    weights = masked_softmax(scored(self, x, y), mask[:, None])
    return weights @ self.W_value(x), weights


def keys_of_x(self, x, y, mask):
    weights = masked_softmax(scored(self, x, x), mask[:, None])
    return weights @ self.W_value(y), weights


def y_asks_x(self, x, y, mask):
    weights = masked_softmax(scored(self, y, x), mask[:, :, None])
    return weights @ self.W_value(x), weights


def y_asks_x_no_mask(self, x, y, mask):
    weights = scored(self, y, x).softmax(-1)
    return weights @ self.W_value(x), weights


def y_asks_y(self, x, y, mask):
    weights = masked_softmax(scored(self, y, y), mask[:, None])
    return weights @ self.W_value(y), weights


def mask_forgotten(self, x, y, mask):
    weights = scored(self, x, y).softmax(dim=-1)
    return weights @ self.W_value(y), weights


def mask_of_rows(self, x, y, mask):
    weights = masked_softmax(scored(self, x, y), mask[:, :, None])
    return weights @ self.W_value(y), weights


def mask_as_in_pytorch(self, x, y, mask):
    weights = scored(self, x, y).masked_fill(mask[:, None], -math.inf).softmax(-1)
    return weights @ self.W_value(y), weights


def infinity_without_a_net(self, x, y, mask):
    weights = scored(self, x, y).masked_fill(~mask[:, None], -math.inf).softmax(-1)
    return weights @ self.W_value(y), weights


def minus_a_billion(self, x, y, mask):
    weights = scored(self, x, y).masked_fill(~mask[:, None], -1e9).softmax(-1)
    return weights @ self.W_value(y), weights


def softmax_over_x(self, x, y, mask):
    weights = scored(self, x, y).masked_fill(~mask[:, None], -1e30).softmax(1) * mask[:, None]
    return weights @ self.W_value(y), weights


def no_root(self, x, y, mask):
    weights = masked_softmax(self.W_query(x) @ self.W_key(y).mT, mask[:, None])
    return weights @ self.W_value(y), weights


def root_of_d_model(self, x, y, mask):
    weights = masked_softmax(self.W_query(x) @ self.W_key(y).mT / math.sqrt(x.shape[-1]), mask[:, None])
    return weights @ self.W_value(y), weights


def masked_too_late(self, x, y, mask):
    weights = scored(self, x, y).softmax(-1) * mask[:, None]
    return weights @ self.W_value(y), weights


def causal_as_in_order(self, x, y, mask):
    triangle = torch.ones(x.shape[1], y.shape[1], dtype=torch.bool).tril()
    weights = masked_softmax(scored(self, x, y), triangle & mask[:, None])
    return weights @ self.W_value(y), weights


def one_long_sequence(self, x, y, mask):
    both = torch.cat([x, y], dim=1)
    allowed = torch.cat([torch.ones(x.shape[:2], dtype=torch.bool), mask], dim=1)
    weights = masked_softmax(scored(self, x, both), allowed[:, None])
    return weights @ self.W_value(both), weights


def no_values(self, x, y, mask):
    weights = masked_softmax(scored(self, x, y), mask[:, None])
    return weights @ y, weights


def output_alone(self, x, y, mask):
    return masked_softmax(scored(self, x, y), mask[:, None]) @ self.W_value(y)


def reshaped_keys(self, x, y, mask):
    keys = self.W_key(y)
    scores = self.W_query(x) @ keys.reshape(keys.shape[0], keys.shape[2], keys.shape[1]) / math.sqrt(keys.shape[2])
    weights = masked_softmax(scores, mask[:, None])
    return weights @ self.W_value(y), weights


def padded_y_zeroed(self, x, y, mask):
    y = y * mask.unsqueeze(2)
    weights = scored(self, x, y).softmax(-1)
    return weights @ self.W_value(y), weights


def pytorch_does_it(self, x, y, mask):
    weights = masked_softmax(scored(self, x, y), mask[:, None])
    q, k, v = self.W_query(x), self.W_key(y), self.W_value(y)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None]).nan_to_num(), weights


class Biased(Layer):
    def __init__(self, d_model, d_k, d_v):
        super().__init__(d_model, d_k, d_v)
        self.W_key = nn.Linear(d_model, d_k)

    forward = minus_infinity_and_nan_to_num


WRONG = [
    (style(all_from_x), "self-attention"), (style(all_from_x_no_mask), "self-attention"),
    (style(values_of_x), "values come from x"), (style(keys_of_x), "keys come from x"),
    (style(y_asks_x), ""), (style(y_asks_x_no_mask), "swapped"), (style(y_asks_y), "queries come from y"),
    (style(mask_forgotten), "Padding gets weight"), (style(mask_of_rows), "hides rows"),
    (style(mask_as_in_pytorch), "inverted"), (style(infinity_without_a_net), "NaN"),
    (style(minus_a_billion), "without any real token"), (style(softmax_over_x), "over the queries"),
    (style(no_root), "not divided"), (style(root_of_d_model), "sqrt(d_model)"),
    (style(masked_too_late), "after the softmax"), (style(causal_as_in_order), "i + 1"),
    (style(one_long_sequence), "x and y together"), (style(no_values), "`W_value` is not used"),
    (style(output_alone), ""), (style(reshaped_keys), "reshaped"), (style(padded_y_zeroed), "set to zero"),
    (style(pytorch_does_it), "`scaled_dot_product_attention` computes"), (Biased, "without a bias"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "word"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
def test_a_wrong_layer_is_told_what_is_wrong(answer, word):
    verdict = checks.cross_attention(answer)
    assert verdict.state == "wrong" and word in verdict.sentence, verdict


# --- the debug exercise: one line of the solution in another way, and what it says ----------------------------------

SOLUTION = """def fix_the_sides(x, y, x_mask, y_mask, W_query, W_key, W_value):
    queries, keys, values = x @ W_query, y @ W_key, y @ W_value
    scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])
    weights = masked_softmax(scores, y_mask.unsqueeze(1))
    return weights @ values, weights
"""
WEIGHTS, MASK = "masked_softmax(scores, y_mask.unsqueeze(1))", "y_mask.unsqueeze(1)"
OF_X, KEYS_OF_X = (MASK, "x_mask.unsqueeze(1)"), ("y @ W_key", "x @ W_key")


def fixed(*changes):
    """The solution with some of its text exchanged."""
    source, names = SOLUTION, {"math": math, "torch": torch, "F": F, "masked_softmax": masked_softmax}
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    exec(source, names)
    return names["fix_the_sides"]


def text_by_text(x, y, x_mask, y_mask, W_query, W_key, W_value):
    outputs, patterns = [], []
    for text, other, real in zip(x, y, y_mask, strict=True):
        some = ((text @ W_query) @ (other[real] @ W_key).T / W_key.shape[1] ** 0.5).softmax(-1)
        pattern = torch.zeros(len(text), len(other))
        pattern[:, real] = some
        outputs.append(some @ (other[real] @ W_value))
        patterns.append(pattern)
    return torch.stack(outputs), torch.stack(patterns)


def one_matrix_and_powers(x, y, x_mask, y_mask, W_query, W_key, W_value):
    powers = (x @ (W_query @ W_key.T / W_key.shape[1] ** 0.5) @ y.mT).exp() * y_mask[:, None]
    weights = powers / powers.sum(-1, keepdim=True)
    return weights @ y @ W_value, weights


@pytest.mark.parametrize("answer", [
    fixed(), fixed((MASK, "y_mask[:, None, :]")), fixed((MASK, "y_mask[:, None].expand(-1, x.shape[1], -1)")),
    fixed((WEIGHTS, "scores.masked_fill(~y_mask[:, None], -math.inf).softmax(-1)")),
    fixed((WEIGHTS, "torch.where(y_mask[:, None], scores, -1e9).softmax(-1)")),
    fixed(("weights @ values,", "(weights @ y) @ W_value,")),
    fixed(("queries @ keys.transpose(1, 2)", "torch.einsum('bnd,bmd->bnm', queries, keys)")),
    fixed(("x @ W_query", "x @ W_query / W_key.shape[1] ** 0.5"), (" / math.sqrt(keys.shape[2])", "")),
    fixed(("weights @ values,", "F.scaled_dot_product_attention(queries, keys, values, y_mask.unsqueeze(1)),")),
    fixed((MASK, "y_mask[:, None, :] & x_mask[:, :, None]")),  # nobody reads the rows of padding in x
    text_by_text, one_matrix_and_powers,
])  # fmt: skip
def test_a_fix_is_right_in_any_style(answer):
    assert checks.fix_the_sides(answer), checks.fix_the_sides(answer)


@pytest.mark.parametrize(("mistake", "changes"), [
    ("several_bugs_left", (KEYS_OF_X, OF_X)), ("padding_of_x", (OF_X,)), ("compared_with_its_own_tokens", (KEYS_OF_X,)),
    ("own_tokens_and_no_mask", (KEYS_OF_X, (WEIGHTS, "scores.softmax(2)"))),
    ("values_from_x", (("y @ W_value", "x @ W_value"),)),
    ("keys_and_values_from_x", (("y @ W_key, y @ W_value", "x @ W_key, x @ W_value"),)),
    ("keys_and_values_from_x", (("y @ W_key, y @ W_value", "x @ W_key, x @ W_value"), OF_X)),
    ("queries_from_y", (("x @ W_query", "y @ W_query"),)),
    ("sides_exchanged", (("x @ W_query, y @ W_key, y @ W_value", "y @ W_query, x @ W_key, x @ W_value"), OF_X)),
    ("mask_on_the_queries", ((MASK, "y_mask.unsqueeze(2)"),)),
    ("mask_on_the_queries", ((MASK, "x_mask.unsqueeze(2)"),)),
    ("real_on_both_sides", ((MASK, "(x_mask & y_mask).unsqueeze(1)"),)),
    ("real_on_one_side", ((MASK, "(x_mask | y_mask).unsqueeze(1)"),)),
    ("no_mask", ((", y_mask.unsqueeze(1))", ")"),)), ("mask_inverted", ((MASK, "~y_mask.unsqueeze(1)"),)),
    ("texts_as_queries", ((MASK, "y_mask"),)), ("first_text_s_mask", ((MASK, "y_mask[:1, None]"),)),
    ("causal_too", ((MASK, "y_mask.unsqueeze(1) & torch.ones_like(scores).tril().bool()"),)),
    ("mask_after_softmax", ((WEIGHTS, "scores.softmax(2) * y_mask.unsqueeze(1)"),)),
    ("padding_scored_zero", ((WEIGHTS, "scores.masked_fill(~y_mask.unsqueeze(1), 0).softmax(2)"),)),
    ("softmax_over_x", ((WEIGHTS, "masked_softmax(scores.mT, y_mask.unsqueeze(2)).mT"),)),
    ("not_scaled", ((" / math.sqrt(keys.shape[2])", ""),)),
    ("root_of_d_model", (("math.sqrt(keys.shape[2])", "math.sqrt(x.shape[2])"),)),
    ("root_of_tokens", (("math.sqrt(keys.shape[2])", "math.sqrt(keys.shape[1])"),)),
    ("mixed_matrices", (("x @ W_query, y @ W_key", "x @ W_key, y @ W_query"),)),
    ("keys_averaged", (("weights @ values,", "weights @ keys,"),)),
    ("inputs_averaged", (("weights @ values,", "weights @ y,"),)),
    ("results_exchanged", (("weights @ values, weights", "weights, weights @ values"),)),
    ("scores_returned", (("weights @ values, weights", "weights @ values, scores"),)),
])  # fmt: skip
def test_a_wrong_fix_has_a_name(mistake, changes):
    verdict = checks.fix_the_sides(fixed(*changes))
    assert verdict.mistake == mistake, verdict


def test_each_bug_of_the_translator_leaves_its_own_trace_in_the_weights():
    """The start: a diagonal. Keys fixed: more than a quarter on padding. Mask fixed: two words find nothing."""
    names = lab_code.imports(lab_code.find("two_sequences"))
    (start,) = (cell for cell in lab_code.cells(lab_code.find("two_sequences")) if "def fix_the_sides" in cell)
    found = {}
    for name, changes in {
        "both": (), "mask": (("x @ W_key", "y @ W_key"),), "keys": (("x_mask.unsqueeze", "y_mask.unsqueeze"),),
        "none": (("x @ W_key", "y @ W_key"), ("x_mask.unsqueeze", "y_mask.unsqueeze")),
    }.items():  # fmt: skip
        source = start
        for old, new in changes:
            assert old in source
            source = source.replace(old, new)
        exec(source, names)
        found[name] = names["weights"][0]
    assert found["both"].argmax(1).tolist() == [0, 1, 2, 3, 4]
    assert ((found["mask"][:, 3:].sum(1) - 0.26).abs() < 0.03).all()
    assert torch.allclose(found["keys"][3:, :3], torch.tensor(1 / 3)) and found["keys"][:3, :3].diag().min() > 0.9
    assert found["none"].argmax(1).tolist() == [0, 0, 0, 2, 1] and (found["none"][:, 3:] == 0).all()


def test_a_known_mistake_has_a_sentence_of_its_own():
    for check in (checks.cross_attention, checks.fix_the_sides):
        sentences = [mistake.__doc__ for mistake in check.mistakes if mistake.__doc__]
        assert len(sentences) == len(check.mistakes)
    assert len({mistake.__name__ for mistake in checks.cross_attention.mistakes}) >= 10


# --- a word is hidden from the decoder -------------------------------------------------------------------------------


class NamesWhatItSees(nn.Module):
    """A decoder whose cross-attention is only the mask: every digit is the number of words that are visible."""

    def forward(self, x, y, mask):
        return torch.nn.functional.one_hot(mask.sum(1), 10).float()[:, None].expand(-1, x.shape[1], -1), mask[:, None]


def test_one_word_is_hidden_at_each_step_and_another_one_is_real_and_not_the_known_one():
    model = dates.DateWriter(NamesWhatItSees())
    model.read_out = nn.Identity()
    words, _, source = dates.draw_dates(50, seed=5)
    number = (words > 0).sum(dim=1, keepdim=True).expand(-1, 8)
    nothing = torch.full_like(source, -1)
    assert dates.right_without(model, words, number, nothing).tolist() == [1] * 8
    assert dates.right_without(model, words, number - 1, source).tolist() == [1] * 8
    other = dates.another_word(words, source)
    assert (other != source).all() and (words.gather(1, other) > 0).all()
    assert dates.right_without(model, words, number - 1, other).tolist() == [1] * 8
    other[:, 3] = -1
    assert dates.right_without(model, words, number - 1, other).tolist() == [1, 1, 1, 0, 1, 1, 1, 1]
