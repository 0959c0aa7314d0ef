"""The checks of *Longer texts*: rotary position embedding, a layer with two faults, an experiment on long texts."""

import contextlib
import copy

import torch
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw

# --- rotate --------------------------------------------------------------------------------------------------------


def by_complex_numbers(vectors, positions, base=10_000):
    """A pair is one complex number, and its rotation a product."""
    width = vectors.shape[-1]
    angles = torch.stack(
        [positions * base ** (-2 * pair / width) for pair in range(width // 2)], dim=-1
    )  # (..., width / 2)
    pairs = torch.view_as_complex(vectors.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(-2)


def exponents(width):
    return torch.arange(0, width, 2) / width  # (width / 2,), one for each pair


def rotation(x, y, cos, sin):
    return x * cos - y * sin, x * sin + y * cos


def rotated(vectors, positions, base=10_000, power=exponents, turn=rotation):
    """The right way, one step of which a known mistake exchanges."""
    angles = positions[..., None] * base ** -power(vectors.shape[-1])  # (..., width / 2)
    return torch.stack(turn(vectors[..., 0::2], vectors[..., 1::2], angles.cos(), angles.sin()), dim=-1).flatten(-2)


def halves_paired(vectors, positions, base=10_000):
    """Each number of the first half is paired with one of the second, as some libraries do. Here neighbours are a pair:
    `vectors[..., 0::2]` and `vectors[..., 1::2]`."""
    return halves_joined(vectors.unflatten(-1, (2, -1)).mT.flatten(-2), positions, base)


def halves_joined(vectors, positions, base=10_000):
    """All first numbers come before all second ones. Put the two of a pair side by side: stack them on a new last
    axis, then flatten."""
    return rotated(vectors, positions, base).unflatten(-1, (-1, 2)).mT.flatten(-2)


def rotated_backwards(x, y, cos, sin):
    """The rotation has the wrong direction. The minus sign belongs to the first number: x cos - y sin."""
    return rotation(x, y, cos, -sin)


def mirrored(x, y, cos, sin):
    """A sign is wrong: this is a reflection. The rotation is x cos - y sin and x sin + y cos."""
    return x * cos - y * sin, x * sin - y * cos


def both_signs_plus(x, y, cos, sin):
    """A sign is wrong, so lengths change. The rotation is x cos - y sin and x sin + y cos."""
    return x * cos + y * sin, x * sin + y * cos


def made_of_new_x(x, y, cos, sin):
    """The second number is computed from the new first one. Both are made of the old x and y."""
    x = x * cos - y * sin
    return x, x * sin + y * cos


def one_frequency(width):
    """All pairs rotate at the same frequency. Pair i has the frequency base ** (-2i / width)."""
    return torch.zeros(width // 2)


def growing_frequencies(width):
    """The frequencies grow from pair to pair: the exponent needs a minus sign."""
    return -exponents(width)


def exponent_doubled(width):
    """The exponent is twice as large as it should be. `arange(0, width, 2)` is 2i already."""
    return 2 * exponents(width)


def exponent_halved(width):
    """The exponent is half of what it should be: it is -2i / width for pair i."""
    return exponents(width) / 2


def base_ignored(vectors, positions, base=10_000):
    """The argument `base` is not used: 10,000 is typed in."""
    return rotated(vectors, positions)


def counted_from_zero(vectors, positions, base=10_000):
    """Positions are counted from 0, whatever `positions` says. A text may begin elsewhere: use the argument."""
    return rotated(vectors, 0 * positions + torch.arange(positions.shape[-1]), base)


def some(shape, positions, seed, **base):
    return Case({"vectors": draw(*shape, seed=seed), "positions": torch.tensor(positions), **base})


rotate = Check(
    reference=by_complex_numbers,
    cases=[
        some((2, 5, 8), [0, 1, 2, 3, 4], seed=0),
        some((3, 4), [7, 2, 300], seed=1, base=100),
        some((6,), [[3, 4, 5], [0, 1, 9]], seed=2),
        some((4, 2), [0.25, 0.5, -1.0, 2.0], seed=3, base=1000),
        some((1, 3, 12), [[11, 12, 13]], seed=4),
    ],
    mistakes=[
        halves_paired, halves_joined, base_ignored, counted_from_zero,
        *(changed(rotated, turn=step) for step in (
            rotated_backwards, mirrored, both_signs_plus, made_of_new_x)),
        *(changed(rotated, power=step) for step in (
            one_frequency, growing_frequencies, exponent_doubled, exponent_halved)),
    ],
    section="Longer texts, “Many pairs, many frequencies”",
    needs_gradient=("vectors",),
)  # fmt: skip


# --- fix_the_rotation ----------------------------------------------------------------------------------------------


def with_base_100(vectors, positions):
    """What `rotate` is in this exercise."""
    return rotated(vectors, positions, 100)


def by_pytorch(queries, keys, values, positions, rotate):
    return trials.attend(*(by_complex_numbers(x, positions, 100) for x in (queries, keys)), values)[0]


def attention(positions, rotate, at=None, **vectors):
    """The right way; `at` gives other positions for queries, keys or values, where None is no rotation."""
    at = {"queries": positions, "keys": positions, "values": None} | (at or {})
    return trials.attend(*(vectors[name] if p is None else rotate(vectors[name], p) for name, p in at.items()))[0]


def from_zero(positions):
    return torch.arange(len(positions))


def both_faults_left(positions, **others):
    """Two faults are left. Where a page begins cancels only if queries and keys are rotated by the same positions, and
    if nothing else is rotated."""
    return attention(positions, at={"keys": from_zero(positions), "values": positions}, **others)


def keys_from_zero(positions, **others):
    """One fault is left: the keys are rotated as if the page began at position 0. Rotate them by `positions`, too."""
    return attention(positions, at={"keys": from_zero(positions)}, **others)


def values_rotated(positions, **others):
    """One fault is left: the values are rotated. They meet no other vector in a product, so the rotation stays."""
    return attention(positions, at={"values": positions}, **others)


def queries_from_zero(positions, **others):
    """The queries are rotated as if the page began at position 0. Rotate them by `positions`, like the keys."""
    return attention(positions, at={"queries": from_zero(positions)}, **others)


def both_from_zero(positions, **others):
    """`positions` is not used. Counting from 0 gives the right distances only where positions go up by 1."""
    return attention(from_zero(positions), **others)


def keys_not_rotated(positions, **others):
    """The keys are not rotated. Scores depend on distances only if both queries and keys are."""
    return attention(positions, at={"keys": None}, **others)


def queries_not_rotated(positions, **others):
    """The queries are not rotated. Scores depend on distances only if both queries and keys are."""
    return attention(positions, at={"queries": None}, **others)


def nothing_rotated(positions, **others):
    """Nothing is rotated, so the layer knows no positions. Rotate queries and keys by `positions`."""
    return attention(positions, at={"queries": None, "keys": None}, **others)


def output_rotated(positions, rotate, **others):
    """The output is rotated. Rotate queries and keys only: in their products all but the distance cancels."""
    return rotate(attention(positions, rotate, **others), positions)


def page(num_tokens, d_k, d_v, first, step, seed):
    """A page of a longer text, which begins at position `first`."""
    queries, keys = 2 * draw(2, num_tokens, d_k, seed=seed)
    inputs = {"queries": queries, "keys": keys, "values": draw(num_tokens, d_v, seed=seed + 50)}
    return Case(inputs | {"positions": first + step * torch.arange(num_tokens), "rotate": with_base_100})


fix_the_rotation = Check(
    reference=by_pytorch,
    cases=[page(5, 4, 6, 0, 1, 0), page(6, 6, 2, 40, 1, 1), page(4, 2, 4, 7, 3, 2), page(3, 8, 8, 3.5, 0.5, 3)],
    mistakes=[
        both_faults_left, keys_from_zero, values_rotated, queries_from_zero, both_from_zero, keys_not_rotated,
        queries_not_rotated, nothing_rotated, output_rotated,
    ],
    section="Longer texts, “Exercise 13.2 (debug): the page that begins late”",
)  # fmt: skip


# --- positions_or_words --------------------------------------------------------------------------------------------


class SumOfTokens(nn.Module):
    """Adds up its tokens, each times a number for its position; the positions begin at `first`."""

    def __init__(self, first: int, step: int):
        super().__init__()
        self.weight = nn.Parameter(draw(7, seed=first), requires_grad=False)
        self.positions = lambda ids: first + step * torch.arange(ids.shape[1])

    @property
    def places(self):  # what earlier editions of the lab call the positions
        return self.positions

    @places.setter
    def places(self, positions):
        self.positions = positions


def sum_of(net, ids):
    return (net.weight[ids] * (0.1 * net.positions(ids)).sin()).sum().item()


def with_positions(net, positions):
    """A copy of a model, with other positions."""
    changed = copy.copy(net)
    changed.positions = positions
    return changed


def divided(net, factor):
    return with_positions(net, lambda ids: net.positions(ids) / factor)


def multiplied(net, measure, short, long, factor):
    """The positions are multiplied by `factor`. Divide them, so that long texts get the positions of short ones."""
    return measure(net, short), measure(net, long), measure(divided(net, 1 / factor), long)


def rounded_down(net, measure, short, long, factor):
    """The positions are rounded down, so several tokens share one. Divide with `/`, not with `//`."""
    changed = with_positions(net, lambda ids: net.positions(ids) // factor)
    return measure(net, short), measure(net, long), measure(changed, long)


def counted_from_zero_again(net, measure, short, long, factor):
    """The positions are counted from 0, then divided. Divide the model's own, which `net.positions(ids)` gives."""
    changed = with_positions(net, lambda ids: torch.arange(ids.shape[1]) / factor)
    return measure(net, short), measure(net, long), measure(changed, long)


def nothing_divided(net, measure, short, long, factor):
    """The third number is measured with undivided positions. Does `measure` get the model with the new `positions`?"""
    return measure(net, short), measure(net, long), measure(net, long)


def short_divided(net, measure, short, long, factor):
    """The third number is that of the short texts. Measure the long ones with divided positions."""
    return measure(net, short), measure(net, long), measure(divided(net, factor), short)


def all_divided(net, measure, short, long, factor):
    """The first two numbers are measured with divided positions, too. Only the third has them."""
    return tuple(measure(divided(net, factor), ids) for ids in (short, long, long))


def another_order(net, measure, short, long, factor):
    """The numbers are in another order: short texts, long texts, long texts with divided positions."""
    return measure(net, short), measure(divided(net, factor), long), measure(net, long)


def gain(net, measure, short, long, factor):
    """The third number is a difference. Return the three measurements themselves."""
    whole, changed = measure(net, long), measure(divided(net, factor), long)
    return measure(net, short), whole, changed - whole


def texts(num_tokens, seed):
    return torch.randint(7, (2, num_tokens), generator=torch.Generator().manual_seed(seed))


def leaves_the_model(answer):
    """Even if `measure` fails, the model has its own positions afterwards."""
    net, ids = SumOfTokens(5, 2), torch.arange(6).view(2, 3)
    positions = net.positions

    def fails_when_changed(model, ids):
        return 1.0 if model.positions is positions else 1 / 0

    with contextlib.suppress(ZeroDivisionError):
        answer(net, fails_when_changed, ids, ids, 2)
    if net.positions is not positions:
        raise Wrong("The model is left with divided positions when `measure` raises an error. Change a copy, "
                    "`copy.deepcopy(net)`.", "model_left_changed")  # fmt: skip


def three_measurements(net, measure, short, long, factor):
    third = net.weight[long] * (0.1 * net.positions(long) / factor).sin()
    return measure(net, short), measure(net, long), third.sum().item()


def case_of(first, step, num_tokens, factor):
    inputs = {"net": SumOfTokens(first, step), "measure": sum_of, "short": texts(3, first)}
    return Case(inputs | {"long": texts(num_tokens, num_tokens), "factor": factor})


positions_or_words = Check(
    reference=three_measurements,
    cases=[case_of(0, 1, 12, 4), case_of(5, 3, 9, 3), case_of(2, 7, 6, 2)],
    mistakes=[
        multiplied, rounded_down, counted_from_zero_again, nothing_divided, short_divided, all_divided, another_order,
        gain,
    ],
    section="Longer texts, “New positions, or more words?”",
    last_look=leaves_the_model,
)  # fmt: skip
