"""Checks of labs 8 and 9 accept right answers of any style, and refuse plausible wrong ones each by its own name."""

import ast
import itertools
import math
import re
import time
from pathlib import Path

import jupytext
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from torch import nn

from shared import check
from shared.check import labs_5_to_9
from shared.check.harness import Exercise
from shared.model import MultiHeadSelfAttention, TransformerBlock

RIGHT: dict[str, dict] = {}  # exercise -> style -> answer
WRONG: dict[str, list] = {}  # exercise -> (name of the mistake, answer)

# --- Lab 8 -------------------------------------------------------------------------------------------------------


def triangle(mask, diagonal=0):
    return torch.ones(mask.shape[1], mask.shape[1], dtype=torch.bool).tril(diagonal)


def places_in_loops(mask):
    allowed = torch.zeros(len(mask), mask.shape[1], mask.shape[1], dtype=torch.bool)
    for text in range(len(mask)):
        for i in range(mask.shape[1]):
            for j in range(i + 1):
                allowed[text, i, j] = mask[text, j]
    return allowed


RIGHT["allowed_places"] = {
    "tril": lambda mask: triangle(mask) & mask.unsqueeze(1),
    "triu": lambda mask: ~torch.ones(len(mask), *[mask.shape[1]] * 2).triu(1).bool() & mask[:, None],
    "loops": places_in_loops,
    "tril of the repeated mask": lambda mask: mask[:, None].expand(-1, mask.shape[1], -1).tril(),
    "product": lambda mask: (triangle(mask).int() * mask[:, None].int()).bool(),
}
WRONG["allowed_places"] = [
    ("looks ahead", lambda mask: triangle(mask).mT & mask[:, None]),
    ("itself forbidden", lambda mask: triangle(mask, -1) & mask[:, None]),
    ("padding forgotten", lambda mask: triangle(mask).repeat(len(mask), 1, 1)),
    ("order forgotten", lambda mask: mask[:, None].repeat(1, mask.shape[1], 1)),
    ("padding on the tokens that ask", lambda mask: triangle(mask) & mask[:, :, None]),
    ("padding on both sides", lambda mask: triangle(mask) & mask[:, :, None] & mask[:, None]),
    ("either in place of both", lambda mask: triangle(mask) | mask[:, None]),
    ("True where hidden", lambda mask: ~triangle(mask) | ~mask[:, None]),
    ("mask with the wrong sign", lambda mask: triangle(mask) & ~mask[:, None]),
    ("mask on the wrong axes", lambda mask: triangle(mask) & mask),
    ("wrong dtype", lambda mask: (triangle(mask) & mask[:, None]).float()),
    ("wrong shape", lambda mask: triangle(mask)),
    ("other numbers", lambda mask: (triangle(mask) ^ triangle(mask, -2)) & mask[:, None]),
]


def norm_in_loops(features, scale, shift, eps=1e-5):
    if features.dim() > 1:
        return torch.stack([norm_in_loops(token, scale, shift, eps) for token in features])
    mean = sum(features) / len(features)
    variance = sum((x - mean) ** 2 for x in features) / len(features)
    return torch.stack(
        [(x - mean) / (variance + eps) ** 0.5 * a + b for x, a, b in zip(features, scale, shift, strict=True)]
    )


def norm_over(axes):
    def answer(features, scale, shift, eps=1e-5):
        variance, mean = torch.var_mean(features, dim=axes, correction=0, keepdim=True)
        return (features - mean) * torch.rsqrt(variance + eps) * scale + shift

    return answer


def norm_with(spread, centre=True):
    def answer(features, scale, shift, eps=1e-5):
        centred = features - features.mean(-1, keepdim=True) if centre else features
        return centred / spread(features, eps) * scale + shift

    return answer


def then(last):
    """The norm with another last line: normal features, scale and shift."""
    return lambda x, scale, shift, eps=1e-5: last(F.layer_norm(x, x.shape[-1:], eps=eps), scale, shift)


def population(x):
    return x.var(-1, unbiased=False, keepdim=True)


RIGHT["layer_norm"] = {
    "var_mean": norm_over(-1),
    "loops": norm_in_loops,
    "mean of squares": norm_with(lambda x, eps: ((x**2).mean(-1, True) - x.mean(-1, True) ** 2 + eps).sqrt()),
    "PyTorch's function": lambda x, scale, shift, eps=1e-5: F.layer_norm(x, scale.shape, scale, shift, eps),
}
WRONG["layer_norm"] = [
    ("sample variance", norm_with(lambda x, eps: (x.var(-1, keepdim=True) + eps).sqrt())),
    ("eps outside the root", norm_with(lambda x, eps: x.std(-1, correction=0, keepdim=True) + eps)),
    ("eps outside the root", norm_with(lambda x, eps: x.std(-1, keepdim=True) + eps)),
    ("eps forgotten", norm_with(lambda x, eps: population(x).sqrt())),
    ("root forgotten", norm_with(lambda x, eps: population(x) + eps)),
    ("mean not subtracted", norm_with(lambda x, eps: (population(x) + eps).sqrt(), centre=False)),
    ("over the tokens", norm_over(-2)),
    ("over the tokens", norm_over(1)),
    ("over the batch", norm_over(0)),
    ("over the whole text", norm_over((-2, -1))),
    ("over everything", lambda x, scale, shift, eps=1e-5: F.layer_norm(x, x.shape, eps=eps) * scale + shift),
    ("scale and shift forgotten", then(lambda normal, scale, shift: normal)),
    ("scale forgotten", then(lambda normal, scale, shift: normal + shift)),
    ("shift forgotten", then(lambda normal, scale, shift: normal * scale)),
    ("shifted before the scale", then(lambda normal, scale, shift: scale * (normal + shift))),
    ("other numbers", then(lambda normal, scale, shift: normal * shift + scale)),
    ("axis not kept", lambda x, scale, shift, eps=1e-5: (x - x.mean(-1)) / (x.var(-1) + eps).sqrt() * scale + shift),
    ("raises", lambda x, scale, shift, eps=1e-5: (x - x.mean(3)) / (x.var(3) + eps).sqrt() * scale + shift),
]


class Block(nn.Module):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.attention_norm = nn.LayerNorm(embed_dim)
        self.feed_forward = nn.Sequential(nn.Linear(embed_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, embed_dim))
        self.feed_forward_norm = nn.LayerNorm(embed_dim)


def block(forward):
    """A block from what it does with the features, the attention (masked), and its other parts."""

    class Answer(Block):
        def forward(self, features, mask=None):
            def attend(x):
                return self.attention(x, mask)[0]

            return forward(features, attend, self.attention_norm, self.feed_forward, self.feed_forward_norm)

    return Answer


def after_each_sum(x, attend, norm, think, last_norm):
    x = norm(x + attend(x))
    x = last_norm(x + think(x))
    return x


def before_each_part(x, attend, norm, think, last_norm):
    x = x + attend(norm(x))
    return x + think(last_norm(x))


def inside_each_sum(x, attend, norm, think, last_norm):
    x = x + norm(attend(x))
    return x + last_norm(think(x))


def residual_of_the_input(x, attend, norm, think, last_norm):
    y = norm(x + attend(x))
    return last_norm(x + think(y))


def residual_of_the_sum(x, attend, norm, think, last_norm):
    y = x + attend(x)
    return last_norm(y + think(norm(y)))


def thinks_about_the_sum(x, attend, norm, think, last_norm):
    y = x + attend(x)
    return last_norm(norm(y) + think(y))


def thinks_first(x, attend, norm, think, last_norm):
    x = last_norm(x + think(x))
    return norm(x + attend(x))


def thinks_first_norms_in_order(x, attend, norm, think, last_norm):
    x = norm(x + think(x))
    return last_norm(x + attend(x))


class BlockByHand(Block):
    def forward(self, features, mask=None):
        attended, _ = self.attention(features, mask)
        total = features + attended
        spread, mean = torch.var_mean(total, -1, unbiased=False, keepdim=True)
        first = (total - mean) / (spread + 1e-5).sqrt() * self.attention_norm.weight + self.attention_norm.bias
        hidden = torch.clamp(first @ self.feed_forward[0].weight.T + self.feed_forward[0].bias, min=0)
        thought = F.linear(hidden, self.feed_forward[2].weight, self.feed_forward[2].bias)
        norm = self.feed_forward_norm
        return F.layer_norm(first + thought, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


class BlockTokenByToken(Block):
    def forward(self, features, mask=None):
        attended, _ = self.attention(features, mask)
        output = []
        for token, add in zip(features.flatten(0, 1), attended.flatten(0, 1), strict=True):
            token = self.attention_norm(token + add)
            output.append(self.feed_forward_norm(token + self.feed_forward(token)))
        return torch.stack(output).view(features.shape)


class BlockWithoutMask(Block):
    def forward(self, features, mask=None):
        attended, _ = self.attention(features)
        return after_each_sum(
            features, lambda x: attended, self.attention_norm, self.feed_forward, self.feed_forward_norm
        )


class BlockOfThePair(Block):
    def forward(self, features, mask=None):
        return self.attention_norm(features + self.attention(features, mask))


class BlockWithoutParts(nn.Module):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(embed_dim, num_heads, hidden_dim, 0.0, batch_first=True)

    def forward(self, features, mask=None):
        return self.layer(features, src_key_padding_mask=None if mask is None else ~mask)


RIGHT["first_block"] = {
    "two sums": block(after_each_sum),
    "everything by hand": BlockByHand,
    "token by token": BlockTokenByToken,
    "the course's own, which returns weights too": TransformerBlock,
}
WRONG["first_block"] = [
    ("no residual around the attention", block(lambda x, a, n, f, m: m(n(a(x)) + f(n(a(x)))))),
    ("no residual around the feed-forward layer", block(lambda x, a, n, f, m: m(f(n(x + a(x)))))),
    ("no residual at all", block(lambda x, a, n, f, m: m(f(n(a(x)))))),
    ("norm before each part", block(before_each_part)),
    ("norm inside the sum", block(inside_each_sum)),
    ("no norm after the attention", block(lambda x, a, n, f, m: m(x + a(x) + f(x + a(x))))),
    ("no norm after the feed-forward layer", block(lambda x, a, n, f, m: n(x + a(x)) + f(n(x + a(x))))),
    ("no norm at all", block(lambda x, a, n, f, m: x + a(x) + f(x + a(x)))),
    ("norms swapped", block(lambda x, a, n, f, m: after_each_sum(x, a, m, f, n))),
    ("one norm used twice", block(lambda x, a, n, f, m: after_each_sum(x, a, n, f, n))),
    ("first features added again", block(residual_of_the_input)),
    ("sum added before its norm", block(residual_of_the_sum)),
    ("feed-forward layer reads the sum before its norm", block(thinks_about_the_sum)),
    ("feed-forward layer first", block(thinks_first_norms_in_order)),
    ("feed-forward layer first", block(thinks_first)),
    ("feed-forward layer left out", block(lambda x, a, n, f, m: n(x + a(x)))),
    ("mask not handed on", BlockWithoutMask),
    ("pair not taken apart", BlockOfThePair),
    ("raises", block(lambda x, a, n, f, m: m(n(x + a(x)) + f(a)))),
    ("a part is missing", BlockWithoutParts),
    ("other numbers", block(lambda x, a, n, f, m: m(n(x + a(x)) - f(n(x + a(x)))))),
]


def loss_in_loops(scores, ids):
    total, count = 0.0, 0
    for text, words in zip(scores, ids, strict=True):
        for place in range(len(words) - 1):
            if words[place + 1] != 0:
                total = total - text[place].softmax(0)[words[place + 1]].log()
                count += 1
    return total / count


def loss_by_gather(scores, ids):
    surprise = -scores[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    real = (ids[:, 1:] != 0).to(surprise)
    return (surprise * real).sum() / real.sum()


def cross_entropy(said, came, **options):
    return F.cross_entropy(said.reshape(-1, said.shape[-1]), came.reshape(-1), **options)


def mean_of_texts(scores, ids):
    return torch.stack(
        [F.cross_entropy(s[:-1], w[1:], ignore_index=0) for s, w in zip(scores, ids, strict=True)]
    ).mean()


RIGHT["next_word_loss"] = {
    "flattened": lambda s, i: cross_entropy(s[:, :-1], i[:, 1:], ignore_index=0),
    "words' axis second": lambda s, i: F.cross_entropy(s[:, :-1].transpose(1, 2), i[:, 1:], ignore_index=0),
    "loops": loss_in_loops,
    "gather": loss_by_gather,
    "masked": lambda s, i: F.cross_entropy(s[:, :-1][i[:, 1:] > 0], i[:, 1:][i[:, 1:] > 0]),
    "nll": lambda s, i: F.nll_loss(F.log_softmax(s[:, :-1], -1).flatten(0, 1), i[:, 1:].flatten(), ignore_index=0),
}
WRONG["next_word_loss"] = [
    ("not shifted", lambda s, i: cross_entropy(s, i, ignore_index=0)),
    ("shifted the wrong way", lambda s, i: cross_entropy(s[:, 1:], i[:, :-1], ignore_index=0)),
    ("shifted in a ring", lambda s, i: cross_entropy(s, i.roll(-1, 1), ignore_index=0)),
    ("shifted in a ring", lambda s, i: cross_entropy(s, i.roll(-1), ignore_index=0)),
    ("padding counted", lambda s, i: cross_entropy(s[:, :-1], i[:, 1:])),
    (
        "padding in the divisor",
        lambda s, i: cross_entropy(s[:, :-1], i[:, 1:], ignore_index=0, reduction="none").mean(),
    ),
    ("softmax twice", lambda s, i: cross_entropy(s.softmax(-1)[:, :-1], i[:, 1:], ignore_index=0)),
    ("sum in place of mean", lambda s, i: cross_entropy(s[:, :-1], i[:, 1:], ignore_index=0, reduction="sum")),
    ("mean of the texts' means", mean_of_texts),
    (
        "axes mixed by a reshape",
        lambda s, i: F.cross_entropy(
            s[:, :-1].reshape(s.shape[0], s.shape[2], s.shape[1] - 1), i[:, 1:], ignore_index=0
        ),
    ),
    ("sign forgotten", lambda s, i: -loss_by_gather(s, i)),
    ("perplexity in place of surprise", lambda s, i: loss_by_gather(s, i).exp()),
    ("bits in place of nats", lambda s, i: loss_by_gather(s, i) / math.log(2)),
    ("not averaged", lambda s, i: cross_entropy(s[:, :-1], i[:, 1:], ignore_index=0, reduction="none")),
    ("last word only", lambda s, i: F.cross_entropy(s[:, -2], i[:, -1], ignore_index=0)),
    ("words' axis last", lambda s, i: F.cross_entropy(s[:, :-1], i[:, 1:], ignore_index=0)),
    ("raises", lambda s, i: F.cross_entropy(s[:, :-1].flatten(0, 1), i[:, 1:], ignore_index=0)),
    ("wrong type", lambda s, i: loss_by_gather(s, i).item()),
    ("other numbers", lambda s, i: loss_by_gather(s, i) + 1),
]

# --- Lab 9 -------------------------------------------------------------------------------------------------------


def interval(quantile=lambda n: stats.t.ppf(0.975, n - 1), ddof=1, divisor=math.sqrt):
    def answer(first, second):
        differences = first - second
        n = len(differences)
        return differences.mean(), quantile(n) * np.std(differences, ddof=ddof) / divisor(n)

    return answer


def interval_in_loops(first, second):
    differences = [float(a) - float(b) for a, b in zip(first, second, strict=True)]
    n, mean = len(differences), sum(differences) / len(differences)
    variance = sum((d - mean) ** 2 for d in differences) / (n - 1)
    return [mean, stats.t.isf(0.025, n - 1) * math.sqrt(variance / n)]


def interval_by_scipy(first, second):
    differences = first - second
    low, high = stats.t.interval(0.95, len(differences) - 1, differences.mean(), stats.sem(differences))
    return float(differences.mean()), float(high - low) / 2


def unpaired(width):
    return lambda a, b: (a.mean() - b.mean(), width(interval()(a, 0 * a)[1], interval()(b, 0 * b)[1]))


def changed(finish):
    return lambda first, second: finish(*interval()(first, second))


RIGHT["paired_interval"] = {
    "NumPy": interval(),
    "loops": interval_in_loops,
    "SciPy": interval_by_scipy,
    "torch": lambda first, second: tuple(map(torch.tensor, interval()(first, second))),
}
WRONG["paired_interval"] = [
    ("pairing lost", unpaired(lambda one, other: math.hypot(one, other))),
    ("pairing lost", unpaired(lambda one, other: one + other)),
    ("pairing lost", unpaired(lambda one, other: abs(one - other))),
    ("pairing lost", lambda a, b: (a.mean() - b.mean(), np.ptp(stats.ttest_ind(a, b).confidence_interval(0.95)) / 2)),
    ("normal in place of t", interval(lambda n: stats.norm.ppf(0.975))),
    ("normal in place of t", interval(lambda n: 1.96)),
    ("spread divided by n", interval(ddof=0)),
    ("root of n forgotten", interval(divisor=lambda n: 1)),
    ("divided by n in place of its root", interval(divisor=lambda n: n)),
    ("wrong degrees of freedom", interval(lambda n: stats.t.ppf(0.975, n))),
    ("one side only", interval(lambda n: stats.t.ppf(0.95, n - 1))),
    ("whole width", changed(lambda mean, half: (mean, 2 * half))),
    ("ends in place of mean and half", changed(lambda mean, half: (mean - half, mean + half))),
    ("second minus first", lambda a, b: interval()(b, a)),
    ("sign lost", lambda a, b: interval()(abs(a - b), 0 * a)),
    ("mean forgotten", changed(lambda mean, half: half)),
    ("other numbers", changed(lambda mean, half: (half, mean))),
    ("wrong type", changed(lambda mean, half: f"{mean:.3f} ± {half:.3f}")),
]


def patterns(differences):
    return [np.multiply(differences, signs) for signs in itertools.product((1, -1), repeat=len(differences))]


def flips_by_bits(differences):
    n, total, hits = len(differences), abs(sum(differences)), 0
    for number in range(2**n):
        signed = [d if number >> place & 1 else -d for place, d in enumerate(differences)]
        hits += abs(sum(signed)) > total - 1e-10
    return hits / 2**n


def flips_by_scipy(differences):
    return stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue


def count(differences, condition):
    measured = np.mean(differences)
    return sum(condition(np.mean(pattern), measured) for pattern in patterns(differences))


def share(condition):
    return lambda differences: count(differences, condition) / 2 ** len(differences)


def other_patterns_only(differences):
    far = count(differences, lambda mean, measured: abs(mean) >= abs(measured) - 1e-12)
    return (far - 1) / (2 ** len(differences) - 1)


RIGHT["sign_flips"] = {
    "product": share(lambda mean, measured: abs(mean) >= abs(measured) - 1e-12),
    "bits": flips_by_bits,
    "recursion in torch": lambda d: torch.tensor(flips_by_bits(list(d))),
    "SciPy": flips_by_scipy,
}
WRONG["sign_flips"] = [
    ("one side doubled", lambda d: 2 * share(lambda mean, measured: mean >= abs(measured) - 1e-12)(d)),
    ("equal means lost to rounding", share(lambda mean, measured: abs(mean) >= abs(measured))),
    ("one side only", share(lambda mean, measured: mean >= measured - 1e-12)),
    ("measured pattern not counted", share(lambda mean, measured: abs(mean) > abs(measured) + 1e-12)),
    ("count in place of share", lambda d: count(d, lambda mean, measured: abs(mean) >= abs(measured) - 1e-12)),
    ("the other share", share(lambda mean, measured: abs(mean) < abs(measured) - 1e-12)),
    ("sign of the measured mean kept", share(lambda mean, measured: abs(mean) >= measured - 1e-12)),
    ("Student's t", lambda d: stats.ttest_1samp(d, 0).pvalue),
    ("signs counted, not means", lambda d: stats.binomtest(sum(d > 0), len(d)).pvalue),
    ("measured pattern left out of all", other_patterns_only),
    ("other numbers", lambda d: 0.05),
    ("wrong type", lambda d: f"{flips_by_bits(d):.2f}"),
]

# --- The claims --------------------------------------------------------------------------------------------------

EXERCISES = [name for name, thing in vars(labs_5_to_9).items() if isinstance(thing, Exercise)]


def of_the_harness(exercise):
    """Names of mistakes that are in the list of this exercise."""
    return {mistake.name for mistake in getattr(check, exercise).mistakes}


@pytest.mark.parametrize(
    ("exercise", "style"), [(exercise, style) for exercise in EXERCISES for style in RIGHT[exercise]]
)
def test_a_right_answer_is_accepted_in_any_style(exercise, style):
    verdict = getattr(check, exercise)(RIGHT[exercise][style])
    assert verdict.state == "correct", f"{exercise}, {style}: {verdict.mistake}: {verdict}"


@pytest.mark.parametrize(
    ("exercise", "place", "mistake"),
    [(exercise, place, mistake) for exercise in EXERCISES for place, (mistake, _) in enumerate(WRONG[exercise])],
)
def test_a_wrong_answer_is_refused_by_its_own_name(exercise, place, mistake):
    verdict = getattr(check, exercise)(WRONG[exercise][place][1])
    assert (verdict.state, verdict.mistake) == ("wrong", mistake), f"{exercise}: {verdict.mistake}: {verdict}"
    assert verdict.sentence.endswith((".", "!", "?")), verdict.sentence


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_mistake_that_a_check_knows_has_been_made_here(exercise):
    assert of_the_harness(exercise) <= {mistake for mistake, _ in WRONG[exercise]}


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_check_knows_several_mistakes_by_name(exercise):
    vague = {"other numbers", "raises", "wrong type", "wrong shape", "returns nothing"}
    names = {mistake for mistake, _ in WRONG[exercise]} - vague
    assert len(names) >= (8 if getattr(check, exercise).parts else 5), names


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_answer_checked_twice_gets_the_same_verdict(exercise):
    for _, answer in WRONG[exercise][:3]:
        assert getattr(check, exercise)(answer) == getattr(check, exercise)(answer)


# --- The labs ----------------------------------------------------------------------------------------------------

LABS = sorted((Path(__file__).resolve().parents[2] / "labs").glob("0[89]_*.md"))
EXERCISE = re.compile(r"^exercise: (\w+)\n---\n(.*?)^```$.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def handed_out():
    """For each exercise its lab, the starting cell, and the folded solution."""
    return {name: (lab, *code) for lab in LABS for name, *code in EXERCISE.findall(lab.read_text())}


HANDED_OUT = handed_out()


def answer_of(lab, code):
    """What a cell defines, with nothing else at hand than what the lab imports."""
    names = {}
    cells = [cell.source for cell in jupytext.read(lab).cells if cell.cell_type == "code"]
    for line in ast.parse("\n".join(cells)).body:
        if isinstance(line, (ast.Import, ast.ImportFrom)):
            exec(ast.unparse(line), names)
    before = set(names)
    exec(code, names)
    (name,) = [name for name in set(names) - before if not name.startswith("__")]
    return names[name]


def test_each_exercise_stands_in_a_lab_and_has_a_check():
    assert set(HANDED_OUT) == set(EXERCISES)
    assert all(2 <= len(EXERCISE.findall(lab.read_text())) <= 4 for lab in LABS)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_folded_solution_is_correct_within_a_second(exercise):
    lab, _, solution = HANDED_OUT[exercise]
    answer = answer_of(lab, solution)
    begin = time.process_time()
    verdict = getattr(check, exercise)(answer)
    assert verdict, verdict.sentence
    assert time.process_time() - begin < 1, "the reader waits"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_starting_cell_is_not_done_yet(exercise):
    lab, start, _ = HANDED_OUT[exercise]
    assert getattr(check, exercise)(answer_of(lab, start)).state == "not done yet"


def test_every_paragraph_that_a_check_points_to_is_there():
    headings = {
        f"Lab {int(lab.name[:2])}, “{heading}”"
        for lab in LABS[0].parent.glob("*.md")
        for heading in re.findall(r"^###? (.*)$", lab.read_text(), re.MULTILINE)
    }
    named = set(re.findall(r"Lab \d, “[^”]*”", Path(labs_5_to_9.__file__).read_text()))
    assert named and named <= headings, named - headings
