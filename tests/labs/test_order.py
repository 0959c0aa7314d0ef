"""*Order*: its rule, pictures and layers by a second way, and its checks: odd styles are right, mistakes have a name.

The lab's own cells compare loop, product and softmax, and the layer with PyTorch's.
"""

import math
import re
from collections import Counter

import lab_code
import pytest
import torch
import torch.nn.functional as F
from matplotlib.patches import Rectangle
from torch import nn

import checks
from checks import engine
from labs.order import exercises
from labs.order.pictures import Clocks, Filling, as_one_head, counting_rule, table
from shared import cafe
from shared.model import causal_mask, masked_softmax, sinusoidal_positions

engine.SECONDS = 120.0  # the machine that runs the tests may be busy

WORDS = "Ada drinks tea with Ben".split()


# --- what the lab compares with, and draws --------------------------------------------------------------------------


def test_no_other_drink_is_more_frequent_among_the_others_than_the_rule_s():
    cafes = cafe.draw_cafes(50, seed=7)
    for drinks, named in zip(cafes.drinks.tolist(), counting_rule(cafes).tolist(), strict=True):
        for guest, drink in enumerate(named):
            others = Counter(drinks[:guest] + drinks[guest + 1 :])
            assert others[drink] == max(others.values())


def test_the_guest_on_the_left_sits_one_chair_on_clockwise():
    cafes = cafe.draw_cafes(20, seed=1)
    left_drink = lab_code.taught(lab_code.find("order"), "left_drink")["left_drink"]
    for drinks, answers in zip(cafes.drinks.tolist(), left_drink(cafes).tolist(), strict=True):
        assert answers == [drinks[(chair + 1) % 8] for chair in range(8)]
    guests = table(cafes).guests
    middle = sum(guest.x for guest in guests) / 8, sum(guest.y for guest in guests) / 8
    for guest, left in zip(guests, guests[1:] + guests[:1], strict=True):
        facing, beside = (middle[0] - guest.x, middle[1] - guest.y), (left.x - guest.x, left.y - guest.y)
        assert (
            facing[0] * beside[1] - facing[1] * beside[0] < 0
        )  # y counts downwards: on the left of who faces the middle


def test_the_table_shows_the_first_cafe():
    cafes = cafe.draw_cafes(2, seed=4)
    shown = [(guest.name, guest.drink) for guest in table(cafes).guests]
    pairs = zip(cafes.names[0], cafes.drinks[0], strict=True)
    assert shown == [(cafe.NAMES[name], cafe.DRINKS[drink]) for name, drink in pairs]


def test_the_triangle_fills_row_by_row_and_what_is_filled_stays():
    panels = Filling(WORDS).panels
    for now, tiles in enumerate(panels):
        filled = torch.zeros(5, 5, dtype=torch.bool)
        for row, column, _ in tiles:
            filled[row, column] = True
        expected = causal_mask(5)
        expected[now + 1 :] = False
        assert torch.equal(filled, expected)
        assert {row for row, _, new in tiles if new} == {now}
    assert all(
        {t[:2] for t in before} < {t[:2] for t in after} for before, after in zip(panels, panels[1:], strict=False)
    )


def test_the_triangle_is_drawn_as_its_data_say_and_fits():
    chart = Filling(WORDS)
    (axes,) = chart.figure().axes
    rectangles = [patch for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_facecolor()[3] > 0]
    filled = [patch for patch in rectangles if patch.get_gid() != "part:key"]
    strong = [patch for patch in filled if patch.get_facecolor()[3] == 1]
    assert len(filled) == sum(map(len, chart.panels)) and len(strong) == 1 + 2 + 3 + 4 + 5
    assert all(0 <= patch.get_x() and patch.get_x() + patch.get_width() <= axes.get_xlim()[1] for patch in axes.patches)
    words = [text for text in axes.texts if text.get_fontweight() == "bold"]
    assert [text.get_text().removeprefix("… ") for text in words] == WORDS
    keys = {round(p.get_facecolor()[3], 2): p.get_y() for p in rectangles if p.get_gid() == "part:key"}
    assert sorted(keys) == [0.35, 1] and keys[1] > max(patch.get_y() for patch in filled), "below all panels"
    assert [text.get_text() for text in axes.texts][-2:] == ["new row", "as before"]


def test_each_chair_has_its_number_between_its_guest_and_the_table_s_middle():
    chart = table(cafe.draw_cafes(1, seed=4), title="The table")
    (axes,) = chart.figure().axes
    numbers = {
        text.get_text(): text.get_position() for text in axes.texts if str(text.get_gid()).startswith("part:chair")
    }
    middle = [sum(x) / 8 for x in zip(*numbers.values(), strict=True)]
    for chair, guest in enumerate(chart.guests):
        x, y = numbers[str(chair)]
        toward = math.hypot(guest.x - x, guest.y - y) + math.hypot(middle[0] - x, middle[1] - y)
        assert toward < math.hypot(guest.x - middle[0], guest.y - middle[1]) + 2
        assert math.hypot(guest.x - x, guest.y - y) > guest.radius + 8, "the number is not on the card"


def test_a_hand_turns_by_the_same_angle_from_chair_to_chair_and_no_two_chairs_show_the_same_time():
    chart, pairs = Clocks(sinusoidal_positions(8, 32), (0, 2, 5, 12)), (0, 2, 5, 12)
    (axes,) = chart.figure().axes
    drawn = [line.get_xydata() for line in axes.lines if line.get_gid() == "part:hand"]
    assert len(drawn) == 32
    times = []
    for row, pair in enumerate(pairs):
        hands = [(tip - middle) * (1, -1) for middle, tip in drawn[8 * row : 8 * row + 8]]  # up is positive
        angles = [math.atan2(*hand) % math.tau for hand in hands]  # from twelve, to the right
        for chair, angle in enumerate(angles):
            assert math.isclose(angle, chair * 1000 ** (-pair / 16) % math.tau, abs_tol=1e-4)
        times.append(angles)
    assert all(math.dist(a, b) > 0.1 for i, a in enumerate(zip(*times, strict=True))
               for b in list(zip(*times, strict=True))[:i])  # fmt: skip
    assert "columns 0 and 1, 57.3 degrees" in chart.alt


def by_loops(layer, x, mask):
    """Output and weights of causal self-attention, token by token; zeros where there is nothing to attend to."""
    output, weights = torch.zeros(*x.shape[:2], layer.W_value.out_features), torch.zeros(*x.shape[:2], x.shape[1])
    for text in range(len(x)):
        for query in range(x.shape[1]):
            keys = [key for key in range(query + 1) if mask[text, key]]
            q = layer.W_query(x[text, query])
            powers = [math.exp(q @ layer.W_key(x[text, key]) / math.sqrt(len(q))) for key in keys]
            for key, power in zip(keys, powers, strict=True):
                weights[text, query, key] = power / sum(powers)
                output[text, query] += power / sum(powers) * layer.W_value(x[text, key])
    return output, weights


MASKS = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 0, 1, 1], [0, 0, 0, 0, 0]]).bool()


@torch.no_grad()
@pytest.mark.parametrize("of", ["the lab", "the check"])
def test_causal_self_attention_is_what_loops_compute(of):
    torch.manual_seed(0)
    lab = lab_code.taught(lab_code.find("order"))["CausalSelfAttention"]
    layer = (lab if of == "the lab" else exercises.CausalSelfAttention)(6, 4, 3)
    x = torch.randn(5, 5, 6)
    torch.testing.assert_close(layer(x, MASKS), by_loops(layer, x, MASKS), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_with_one_head_the_course_s_layer_has_the_same_parameters():
    torch.manual_seed(0)
    layer, x = exercises.CausalSelfAttention(6, 6, 6), torch.randn(2, 5, 6)
    everything = torch.ones(2, 5, dtype=torch.bool)
    course = as_one_head(layer)(x, everything, causal_mask(5))[0]
    torch.testing.assert_close(course, by_loops(layer, x, everything)[0], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_what_the_check_calls_right_leaks_neither_the_future_nor_padding():
    layer, x = exercises.CausalSelfAttention(6, 4, 3), torch.randn(5, 5, 6)
    for now in range(5):
        later = x.clone()
        later[:, now + 1 :] = 100 * torch.randn(5, 4 - now, 6)
        assert torch.equal(layer(later, MASKS)[0][:, : now + 1], layer(x, MASKS)[0][:, : now + 1])
    padded = torch.where(MASKS[:, :, None], x, 100 * torch.randn_like(x))
    torch.testing.assert_close(layer(padded, MASKS)[0][MASKS], layer(x, MASKS)[0][MASKS])


@torch.no_grad()
def test_the_reference_of_the_check_is_what_loops_compute():
    layer, x = exercises.CausalSelfAttention(6, 4, 3), torch.randn(5, 5, 6)
    parts = {name: getattr(layer, name) for name in exercises.causal_attention.parts}
    for found, right in zip(exercises.causal_by_pytorch(x, MASKS, **parts), by_loops(layer, x, MASKS), strict=True):
        compared = ~found.isnan()
        assert compared[MASKS].all() and compared[4].all() and compared[1, :2].all()
        torch.testing.assert_close(found[compared], right[compared], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_the_newest_tokens_get_the_last_outputs_of_a_layer_that_reads_all():
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 7, 4)
    whole = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
    for m in range(1, 8):
        torch.testing.assert_close(exercises.newest(queries[-m:], keys, values), whole[-m:])


# --- right in an odd style -----------------------------------------------------------------------------------------


class Layer(exercises.CausalSelfAttention):
    """Three projections; a style says how scores become weights."""

    def weights(self, scores, mask):
        raise AssertionError

    def forward(self, x, mask):
        queries, keys = self.W_query(x), self.W_key(x)
        weights = self.weights(queries @ keys.mT / math.sqrt(keys.shape[-1]), mask)
        return weights @ self.W_value(x), weights


def style(weigh):
    """A layer with this way from scores and mask to weights."""
    return type(weigh.__name__, (Layer,), {"weights": staticmethod(weigh), "__module__": __name__})


def tril_and_nan_to_num(scores, mask):
    n = scores.shape[-1]
    allowed = torch.tril(torch.ones(n, n)).bool() & mask.unsqueeze(1)
    return scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1).nan_to_num(0.0)


def triu_of_what_is_hidden(scores, mask):
    n = scores.shape[-1]
    future = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
    scores = scores.masked_fill(future | ~mask[:, None, :], -1e30)
    return scores.softmax(dim=2) * mask[:, None, :] * ~future


def arange_compared(scores, mask):
    position = torch.arange(scores.shape[1])
    return masked_softmax(scores, (position[None, :] <= position[:, None]) & mask[:, None])


def where_and_two_fills(scores, mask):
    n = scores.shape[-1]
    scores = torch.where(torch.ones(n, n).tril() == 0, torch.finfo(scores.dtype).min, scores)
    scores = torch.where(mask[:, None, :], scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, -1)
    return weights * torch.ones(n, n).tril().to(weights) * mask[:, None, :].to(weights)


def added_triangle_of_pytorch(scores, mask):
    future = nn.Transformer.generate_square_subsequent_mask(scores.shape[-1]).to(scores)
    padding = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -math.inf)[:, None, :]
    return torch.nan_to_num((scores + future + padding).softmax(-1))


def added_in_place(scores, mask):
    for i in range(scores.shape[1]):
        scores[:, i, i + 1 :] = -math.inf
    scores = scores.masked_fill(~mask[:, None], -math.inf)
    return scores.softmax(-1).nan_to_num()


def exponentials_by_hand(scores, mask):
    allowed = torch.ones_like(scores).tril() * mask[:, None, :]
    scores = scores.masked_fill(allowed == 0, -math.inf)
    powers = (scores - scores.amax(-1, keepdim=True).clamp(min=-1e30)).exp()
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)


def token_by_token(scores, mask):
    weights = torch.zeros_like(scores)
    for text, row in enumerate(mask):
        for i in range(len(row)):
            seen = [j for j in range(i + 1) if row[j]]
            if seen:
                weights[text, i, seen] = scores[text, i, seen].softmax(0)
    return weights


def cumulative(scores, mask):
    count = torch.ones_like(scores, dtype=torch.int).cumsum(dim=1)  # the row, from 1
    allowed = (count.mT <= count) & mask[:, None, :]
    return masked_softmax(scores, allowed)


def outer_product_of_masks(scores, mask):
    allowed = mask[:, None, :] & mask[:, :, None] & causal_mask(scores.shape[1])
    return masked_softmax(scores, allowed)


def padded_rows_uniform(scores, mask):
    allowed = causal_mask(scores.shape[1]) & mask[:, None, :]
    nothing = ~allowed.any(dim=2, keepdim=True)
    return scores.masked_fill(~(allowed | nothing), -math.inf).softmax(-1).masked_fill(nothing, 0)


class ByEinsum(Layer):
    def forward(self, x, mask=None):
        _, n, _ = x.size()
        keep = torch.tril(torch.ones(n, n, device=x.device)).view(1, n, n) * mask[:, None].float()
        scores = torch.einsum("bid,bjd->bij", self.W_query(x), self.W_key(x)) * self.W_key.out_features**-0.5
        weights = scores.masked_fill(keep == 0, -math.inf).softmax(-1).nan_to_num()
        return torch.einsum("bij,bjd->bid", weights, self.W_value(x)), weights


class TriangleInABuffer(Layer):
    def __init__(self, d_model, d_k, d_v):
        super().__init__(d_model, d_k, d_v)
        self.register_buffer("triangle", torch.ones(512, 512).tril().bool(), persistent=False)

    def weights(self, scores, mask):
        n = scores.shape[1]
        return masked_softmax(scores, self.triangle[:n, :n] & mask[:, None, :])


RIGHT = [
    *map(style, (
        tril_and_nan_to_num, triu_of_what_is_hidden, arange_compared, where_and_two_fills, added_triangle_of_pytorch,
        added_in_place, exponentials_by_hand, token_by_token, cumulative, outer_product_of_masks, padded_rows_uniform)),
    ByEinsum, TriangleInABuffer,
]  # fmt: skip


@pytest.mark.parametrize("answer", RIGHT, ids=lambda answer: answer.__name__)
def test_a_right_layer_is_right_in_any_style(answer):
    verdict = checks.causal_attention(answer)
    assert verdict, verdict


def tril_of_the_difference(queries, keys, values):
    m, n = len(queries), len(keys)
    scores = queries @ keys.T / math.sqrt(keys.shape[1])
    return scores.masked_fill(torch.ones(m, n).tril(n - m) == 0, -math.inf).softmax(-1) @ values


def lower_rows_of_a_square(queries, keys, values):
    allowed = torch.ones(len(keys), len(keys), dtype=torch.bool).tril()[-len(queries) :]
    return masked_softmax(queries @ keys.T / keys.shape[1] ** 0.5, allowed) @ values


def query_by_query(queries, keys, values):
    older, rows = len(keys) - len(queries), []
    for i, query in enumerate(queries):
        seen = older + i + 1
        rows.append((keys[:seen] @ query / math.sqrt(len(query))).softmax(0) @ values[:seen])
    return torch.stack(rows)


@pytest.mark.parametrize("answer", [tril_of_the_difference, lower_rows_of_a_square, query_by_query])
def test_a_right_mask_is_right_in_any_style(answer):
    verdict = checks.fix_the_mask(answer)
    assert verdict, verdict


# --- wrong, as people make them, with a word of the sentence that they get ------------------------------------------


def nothing_assigned(scores, mask):
    scores.masked_fill(~(causal_mask(scores.shape[1]) & mask[:, None]), -math.inf)
    return scores.softmax(-1)


def tril_of_scores(scores, mask):
    return masked_softmax(torch.tril(scores), mask[:, None, :])


def triu_without_a_diagonal(scores, mask):
    future = torch.ones(scores.shape[1:]).triu().bool()
    return scores.masked_fill(future | ~mask[:, None], -math.inf).softmax(-1).nan_to_num()


def or_of_what_is_allowed(scores, mask):
    return masked_softmax(scores, causal_mask(scores.shape[1]) | mask[:, None, :])


def and_of_what_is_hidden(scores, mask):
    hidden = ~causal_mask(scores.shape[1]) & ~mask[:, None, :]
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


def second_fill_from_the_first_scores(scores, mask):
    hidden = scores.masked_fill(~causal_mask(scores.shape[1]), -math.inf)
    hidden = scores.masked_fill(~mask[:, None], -math.inf)
    return hidden.softmax(-1).nan_to_num()


def mask_of_rows(scores, mask):
    return masked_softmax(scores, causal_mask(scores.shape[1]) & mask[:, :, None])


def rows_of_infinity(scores, mask):
    allowed = causal_mask(scores.shape[1]) & mask[:, None]
    return scores.masked_fill(~allowed, -math.inf).softmax(-1)


def weights_times_masks(scores, mask):
    return scores.softmax(-1) * causal_mask(scores.shape[1]) * mask[:, None]


def weights_times_triangle(scores, mask):
    return masked_softmax(scores, mask[:, None]).tril()


def softmax_down_the_columns(scores, mask):
    allowed = causal_mask(scores.shape[1]) & mask[:, None]
    return scores.masked_fill(~allowed, -math.inf).softmax(1).nan_to_num()


def triangle_of_five(scores, mask):
    return masked_softmax(scores, causal_mask(5) & mask[:, None])


def later_is_smaller(scores, mask):
    position = torch.arange(scores.shape[1])
    return masked_softmax(scores, (position[:, None] <= position[None, :]) & mask[:, None])


class TorchS(Layer):
    def forward(self, x, mask):
        allowed = causal_mask(x.shape[1]) & mask[:, None]
        parts = self.W_query(x), self.W_key(x)
        identity = torch.eye(x.shape[1]).to(x).expand(len(x), -1, -1)
        weights = F.scaled_dot_product_attention(*parts, identity, attn_mask=allowed).nan_to_num()
        return weights @ self.W_value(x), weights


class Biased(Layer):
    def __init__(self, d_model, d_k, d_v):
        super().__init__(d_model, d_k, d_v)
        self.W_query = nn.Linear(d_model, d_k)
        self.weights = tril_and_nan_to_num


WRONG = [
    (style(nothing_assigned), "Neither mask has any effect"), (style(tril_of_scores), "writes zeros"),
    (style(triu_without_a_diagonal), "diagonal is missing"), (style(or_of_what_is_allowed), "permission of both"),
    (style(and_of_what_is_hidden), "permission of both"),
    (style(second_fill_from_the_first_scores), "the future isn't"), (style(mask_of_rows), "hides rows"),
    (style(rows_of_infinity), "all minus infinity"), (style(weights_times_masks), "after the softmax"),
    (style(weights_times_triangle), "later tokens only after it"),
    (style(softmax_down_the_columns), "columns sum to 1"),
    (style(triangle_of_five), "Shapes are lined up at their last axes"), (style(later_is_smaller), "swapped"),
    (TorchS, "`scaled_dot_product_attention` computes"), (Biased, "without a bias"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "word"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
def test_a_wrong_layer_is_told_what_is_wrong(answer, word):
    verdict = checks.causal_attention(answer)
    assert verdict.state == "wrong" and re.search(re.escape(word), verdict.sentence), verdict


def test_the_colleague_s_test_finds_nothing_and_the_cell_s_finds_the_bug():
    start = next(e.start for e in lab_code.find("order").exercises if e.name == "fix_the_mask")
    names = lab_code.imports(lab_code.find("order"))
    exec(start.split("\n\n\n")[0], names)
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 5, 8)
    for older, right in ((1, True), (0, False), (3, False)):
        same = torch.allclose(names["fix_the_mask"](queries[older:], keys, values),
                              exercises.newest(queries[older:], keys, values))  # fmt: skip
        assert same == right


def test_the_right_choice_is_seldom_the_longest():
    questions = [quiz for quiz in lab_code.find("order").quizzes if quiz.choices]
    longest = [max(range(len(quiz.choices)), key=lambda n, quiz=quiz: len(quiz.choices[n])) for quiz in questions]
    assert sum(n == quiz.right for n, quiz in zip(longest, questions, strict=True)) <= len(questions) / 3
