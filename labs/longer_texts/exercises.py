"""The checks of *Longer texts*: rotary position embedding, a layer with two bugs, an experiment on long texts."""

import copy

import torch
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw, goes_on, leaves_the_model

# --- rotate --------------------------------------------------------------------------------------------------------


def rotation(x, y, cos, sin):
    return x * cos - y * sin, x * sin + y * cos


def rotated(vectors, positions, base=10_000, power=-1, turn=rotation):
    """The right way, one step of which a known mistake exchanges."""
    width = vectors.shape[-1]
    frequencies = base ** (power * torch.arange(0, width, 2) / width)  # (width / 2,)
    angles = positions[..., None] * frequencies  # (..., width / 2)
    return torch.stack(turn(vectors[..., 0::2], vectors[..., 1::2], angles.cos(), angles.sin()), dim=-1).flatten(-2)


def halves_paired(vectors, positions, base=10_000):
    """Each number of the first half is paired with one of the second, as in some libraries. Here neighbors are a pair:
    `vectors[..., 0::2]` and `vectors[..., 1::2]`.
    """
    return halves_joined(vectors.unflatten(-1, (2, -1)).mT.flatten(-2), positions, base)


def halves_joined(vectors, positions, base=10_000):
    """All first numbers come before all second ones. Put the two of a pair next to each other: stack them on a new last
    axis, then flatten.
    """
    return rotated(vectors, positions, base).unflatten(-1, (-1, 2)).mT.flatten(-2)


def rotated_backwards(x, y, cos, sin):
    """The rotation goes in the wrong direction. The minus sign belongs to the first number: x cos - y sin."""
    return rotation(x, y, cos, -sin)


def made_of_new_x(x, y, cos, sin):
    """The second number is computed from the new first one. Both are made of the old x and y."""
    x = x * cos - y * sin
    return x, x * sin + y * cos


def sign_of_the_second(x, y, cos, sin):
    """The second number has one wrong sign, so this is no rotation. It is x sin + y cos."""
    return x * cos - y * sin, x * sin - y * cos


def both_signs_plus(x, y, cos, sin):
    """Both signs are plus, so this is no rotation. The first number is x cos - y sin, the second x sin + y cos."""
    return x * cos + y * sin, x * sin + y * cos


def frequencies_of_halves(vectors, positions, base=10_000):
    """Neighbors are a pair, but the frequencies are laid out as for halves, so that the two of a pair are rotated by
    different angles. Repeat each frequency for its own pair: `repeat_interleave(2)`, not `cat([f, f])`.
    """
    width = vectors.shape[-1]
    frequencies = (base ** (-torch.arange(0, width, 2) / width)).repeat(2)  # (width,)
    cos, sin = (positions[..., None] * frequencies).cos(), (positions[..., None] * frequencies).sin()
    crossed = torch.stack([-vectors[..., 1::2], vectors[..., 0::2]], dim=-1).flatten(-2)  # (..., width)
    return vectors * cos + crossed * sin


def growing_frequencies(**given):
    """The frequencies grow from pair to pair: the exponent needs a minus sign."""
    return rotated(**given, power=1)


def exponent_halved(**given):
    """The exponent is half as large as it should be. It is -2i / width, where i is the number of the pair."""
    return rotated(**given, power=-0.5)


def base_ignored(vectors, positions, base=10_000):
    """The argument `base` is not used: 10,000 is typed in."""
    return rotated(vectors, positions)


def vectors_counted(vectors, positions, base=10_000):
    """The vectors are counted from 0, whatever `positions` says. A text may begin elsewhere: use the argument."""
    return rotated(vectors, torch.arange(vectors.shape[-2]), base)


def some(shape, positions, seed, **base):
    return Case({"vectors": draw(*shape, seed=seed), "positions": torch.tensor(positions), **base})


class OtherPrecision(Wrong):
    """The results are right, but vectors of {given} come back as {own}. The lab's next linear layer takes {given} only:
    convert the frequencies with `.to(vectors)`.
    """


def fits_into_the_models(answer):
    """The lab rotates one vector by many positions, views, and the queries of several heads, and then computes on."""
    vectors, positions = torch.ones(6, dtype=torch.float32), torch.arange(10).view(2, 5)
    heads = vectors.expand(3, 2, 5, 6)
    for given, at in ((vectors, positions), (heads[0], positions), (heads, positions[0]), (heads, positions[0] / 8)):
        result = goes_on(
            "`rotate(vectors, positions, 1000)` of a view", lambda given=given, at=at: answer(given, at, 1000)
        )
        if result.dtype != given.dtype:
            raise OtherPrecision(given=given.dtype, own=result.dtype)


def one_frequency(vectors, positions, base=10_000):
    """All pairs rotate at the same frequency, that of the first. Pair i has base^(-2i / width)."""
    return rotated(vectors, positions, base, power=0)


rotate = Check(
    reference=rotated,
    cases=[
        some((2, 5, 8), [0, 1, 2, 3, 4], seed=0), some((3, 4), [7, 2, 300], seed=1, base=100),
        some((6,), [[3, 4, 5], [0, 1, 9]], seed=2), some((4, 2), [0.25, 0.5, -1.0, 2.0], seed=3, base=1000),
        some((1, 3, 12), [[11, 12, 13]], seed=4),
    ],
    mistakes=[
        halves_paired, halves_joined, base_ignored, vectors_counted, growing_frequencies,
        exponent_halved, frequencies_of_halves, one_frequency,
        *(changed(rotated, turn=step) for step in (
            rotated_backwards, made_of_new_x, sign_of_the_second, both_signs_plus)),
    ],
    section="Longer texts, “Many pairs, many frequencies”",
    needs_gradient=("vectors",),
    last_look=fits_into_the_models,
)  # fmt: skip


# --- fix_the_rotation ----------------------------------------------------------------------------------------------


def attention(positions, rotate, at=None, score=trials.scaled, weigh=trials.masked, **vectors):
    """The right way; `at` gives other positions for queries, keys or values, where None is no rotation."""
    at = {"queries": positions, "keys": positions, "values": None} | (at or {})
    queries, keys, values = (vectors[name] if p is None else rotate(vectors[name], p) for name, p in at.items())
    scores = score(queries, keys, 0)
    return weigh(scores, torch.ones_like(scores, dtype=torch.bool)) @ values


def from_zero(positions):
    return torch.arange(len(positions))


def both_bugs_left(positions, **others):
    """Two bugs are left. Where a page begins cancels only if queries and keys are rotated by the same positions, and
    if nothing else is rotated."""
    return attention(positions, at={"keys": from_zero(positions), "values": positions}, **others)


def keys_from_zero(positions, **others):
    """One bug is left: the keys are rotated as if the page began at position 0. Rotate them by `positions`, too."""
    return attention(positions, at={"keys": from_zero(positions)}, **others)


def values_rotated(positions, **others):
    """One bug is left: the values are rotated. They meet no other vector in a product, so the rotation stays."""
    return attention(positions, at={"values": positions}, **others)


def values_rotated_from_zero(positions, **others):
    """The values are rotated. They meet no other vector in a product, so the rotation stays."""
    return attention(positions, at={"values": from_zero(positions)}, **others)


def both_from_zero(positions, **others):
    """`positions` is not used. Counting from 0 gives the right distances only where positions go up by 1."""
    return attention(from_zero(positions), **others)


def keys_not_rotated(positions, **others):
    """The keys are not rotated. Scores depend on distances only if both queries and keys are."""
    return attention(positions, at={"keys": None}, **others)


def nothing_rotated(positions, **others):
    """Nothing is rotated, so the layer knows no positions. Rotate queries and keys by `positions`."""
    return attention(positions, at={"queries": None, "keys": None}, **others)


def page(num_tokens, d_k, d_v, first, step, seed):
    """A page of a longer text, which begins at position `first`; `rotate` has another base than usual."""
    queries, keys = 2 * draw(2, num_tokens, d_k, seed=seed)
    inputs = {"queries": queries, "keys": keys, "values": draw(num_tokens, d_v, seed=seed + 50)}
    inputs["positions"] = first + step * torch.arange(num_tokens)
    return Case(inputs | {"rotate": lambda vectors, positions: rotated(vectors, positions, 100)})


fix_the_rotation = Check(
    reference=attention,
    cases=[page(5, 4, 6, 0, 1, 0), page(6, 6, 2, 40, 1, 1), page(4, 2, 4, 7, 3, 2), page(3, 8, 8, 3.5, 0.5, 3)],
    mistakes=[
        both_bugs_left, keys_from_zero, values_rotated, values_rotated_from_zero, both_from_zero, keys_not_rotated,
        nothing_rotated, changed(attention, weigh=trials.softmax_over_queries),
        *(changed(attention, score=step) for step in (trials.not_scaled, trials.root_left_out, trials.root_of_tokens)),
    ],
    section="Longer texts, “Exercise 2 (debug): the page that begins late”",
)  # fmt: skip


# --- positions_or_words --------------------------------------------------------------------------------------------


class SumOfTokens(nn.Module):
    """Adds up its tokens, each times a number for its position; the positions begin at `first`."""

    def __init__(self, first: int, step: int):
        super().__init__()
        self.weight = nn.Parameter(draw(7, seed=first), requires_grad=False)
        self.first, self.step = first, step

    def positions(self, ids):
        return self.first + self.step * torch.arange(ids.shape[1])


def sum_of(net, texts):
    return (net.weight[texts] * (0.1 * net.positions(texts)).sin()).sum().item()


def divided(positions, factor):
    return positions / factor


def three_measurements(net, measure, short, long, factor, interpolate=divided):
    """The right way, or with other positions."""
    changed = copy.copy(net)
    changed.positions = lambda ids: interpolate(net.positions(ids), factor)
    return measure(net, short), measure(net, long), measure(changed, long)


def multiplied(positions, factor):
    """The positions are multiplied by `factor`. Divide them, so that long texts get the positions of short ones."""
    return positions * factor


def rounded_down(positions, factor):
    """The positions are rounded down, so several tokens share one. Divide with `/`, not with `//`."""
    return positions // factor


def counted_from_zero_again(positions, factor):
    """The positions are counted from 0, then divided. Divide the model's own, which `net.positions(ids)` gives."""
    return torch.arange(len(positions)) / factor


def nothing_divided(positions, factor):
    """The third number is measured with undivided positions. Does `measure` get the model with the new `positions`?"""
    return positions


def texts(num_tokens, seed):
    return torch.randint(7, (2, num_tokens), generator=torch.Generator().manual_seed(seed))


def leaves_the_positions(answer):
    net, ids = SumOfTokens(5, 2), torch.arange(6).view(2, 3)
    leaves_the_model(lambda measure: answer(net, measure, ids, ids, 2), net, sum_of, ids)


def case_of(first, step, num_tokens, factor):
    inputs = {"net": SumOfTokens(first, step), "measure": sum_of, "short": texts(3, first)}
    return Case(inputs | {"long": texts(num_tokens, num_tokens), "factor": factor})


positions_or_words = Check(
    reference=three_measurements,
    cases=[case_of(0, 1, 12, 4), case_of(5, 3, 9, 3), case_of(2, 7, 6, 2)],
    mistakes=[
        changed(three_measurements, interpolate=step)
        for step in (multiplied, rounded_down, counted_from_zero_again, nothing_divided)
    ],
    section="Longer texts, “New positions, or more words?”",
    last_look=leaves_the_positions,
)  # fmt: skip
