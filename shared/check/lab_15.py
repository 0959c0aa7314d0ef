"""The checks of lab 15: pairs that are turned by their places, a layer in which two turns are wrong, an experiment."""

import copy
import math

import torch
from torch import Tensor, nn

from .attention import ROOT, scaling
from .exercise import Case, Exercise, draw
from .mistakes import Wrong, edits

PAIRS = "Lab 15, “Many pairs, many speeds”"
APART = "Lab 15, “New places, or more words?”"

# --- 15.1 --------------------------------------------------------------------------------------------------------


def rotate(vectors, places, base=10_000):
    """Turn each pair of neighbours in vectors (..., dim) by place times its speed; places (...) may be fractions."""
    dim = vectors.shape[-1]
    speeds = base ** (-torch.arange(0, dim, 2).to(vectors) / dim)  # (dim / 2,), one for each pair
    angles = places[..., None] * speeds  # (..., dim / 2)
    x, y = vectors[..., 0::2], vectors[..., 1::2]  # (..., dim / 2), first and second of each pair
    turned = torch.stack([x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()], dim=-1)
    return turned.flatten(-2)  # (..., dim), the pairs side by side again


def by_complex_numbers(vectors: Tensor, places: Tensor, base: float = 10_000) -> Tensor:
    """A pair as one complex number, and a turn as a product."""
    dim = vectors.shape[-1]
    angles = torch.stack([places * base ** (-2 * pair / dim) for pair in range(dim // 2)], -1)  # (..., dim / 2)
    turned = torch.view_as_complex(vectors.unflatten(-1, (-1, 2)).contiguous()) * torch.exp(1j * angles)
    return torch.view_as_real(turned).flatten(-2)


def some(shape: tuple, places: list, seed: int, **base: float) -> Case:
    return Case({"vectors": draw(*shape, seed=seed), "places": torch.tensor(places), **base})


SPEEDS, BOTH = "-torch.arange(0, dim, 2).to(vectors) / dim", "vectors[..., 0::2], vectors[..., 1::2]"
HALVES = "vectors[..., : dim // 2], vectors[..., dim // 2 :]"
FIRST, SECOND = "x * angles.cos() - y * angles.sin()", "x * angles.sin() + y * angles.cos()"

rotate = Exercise(
    rotate,
    cases=[
        some((2, 5, 8), [0, 1, 2, 3, 4], seed=0),
        some((3, 4), [7, 2, 300], seed=1, base=100),
        some((6,), [[3, 4, 5], [0, 1, 9]], seed=2),
        some((4, 2), [0.25, 0.5, -1.0, 2.0], seed=3, base=1000),
        some((1, 3, 12), [[11, 12, 13]], seed=4),
    ],
    truth=by_complex_numbers,
    learns=("vectors",),
    tried="texts of one pair to six, places in order and in none, fractions of places, and three bases",
    see=PAIRS,
    mistakes=edits(f"""
        halves paired, not neighbours: {BOTH} => {HALVES} ||
            {BOTH} => {HALVES} && dim=-1) => dim=-2)
        pairs not side by side again: dim=-1) => dim=-2) || dim=1) || dim=0)
        one number of each pair taken twice: {BOTH} => vectors[..., 0::2], vectors[..., 0::2] ||
            vectors[..., 1::2], vectors[..., 1::2]
        the second number untouched: {SECOND} => y
        the first number untouched: {FIRST} => x
        pairs exchanged: [{FIRST}, {SECOND}] => [{SECOND}, {FIRST}] || {BOTH} => vectors[..., 1::2], vectors[..., 0::2]
        the result is as large as the vectors: return turned.flatten(-2) =>
            return torch.empty_like(vectors).copy_(turned.flatten(-2)) ||
            found = torch.empty_like(vectors); found[..., 0::2], found[..., 1::2] = turned.unbind(-1); return found ||
            found = torch.empty_like(vectors); [found.__setitem__((..., i), turned.flatten(-2)[..., i])
            for i in range(dim)]; return found
        Lab 15, “Two numbers that turn”
        turned the other way: * speeds => * -speeds
        mirrored, not turned: {SECOND} => x * angles.sin() - y * angles.cos()
        one of the four products is wrong: {SECOND} => x * angles.sin() + y + angles.cos() ||
            x * angles.sin() * y * angles.cos() || x * angles.sin() + y * angles || x * angles + y * angles.cos() ||
            base * angles.sin() + y * angles.cos() || x / angles.sin() + y * angles.cos() ||
            x * angles.sin() + y / angles.cos() || x + angles.sin() + y * angles.cos() || x + y * angles.cos() ||
            angles.sin() + y * angles.cos() || x * angles.sin() + angles.cos() || x * angles.sin() + y ||
            x * angles.sin() || {FIRST} => x * angles.cos() - y || x * angles.cos() - angles * angles.sin() ||
            x * angles.cos() - angles.sin() || x * angles - y * angles.sin() || x * angles.cos() - y * angles ||
            x / angles.cos() - y * angles.sin() || x * angles.cos() - y / angles.sin() || x - y * angles.sin() ||
            x + angles.cos() - y * angles.sin() || angles.cos() - y * angles.sin() || y * angles.sin()
        the second number made of the new first one: {SECOND} => ({FIRST}) * angles.sin() + y * angles.cos() ||
            {SECOND} => ({FIRST}) * angles.sin() + y * angles.cos() && return turned.flatten(-2) =>
            found = torch.empty_like(vectors); found[..., 0::2], found[..., 1::2] = turned.unbind(-1); return found
        not a turn: {FIRST} => y * angles.sin() - x * angles.cos() || x * angles.cos() + y * angles.sin() ||
            {SECOND} => y * angles.cos() - x * angles.sin()
        sine and cosine exchanged: {FIRST} => x * angles.sin() - y * angles.cos() &&
            {SECOND} => x * angles.cos() + y * angles.sin()
        added, not turned: {FIRST} => x + angles.cos() && {SECOND} => y + angles.sin() ||
            {FIRST} => x + angles.sin() && {SECOND} => y + angles.cos()
        only shrunk: {FIRST} => x * angles.cos() && {SECOND} => y * angles.cos() ||
            {FIRST} => x * angles.cos() && {SECOND} => y * angles.sin()
        {PAIRS}
        one speed for all pairs: {SPEEDS} => 0 * torch.arange(0, dim, 2).to(vectors)
        speeds that grow: base ** (- => base ** (
        the exponent counted double: {SPEEDS} => -2 * torch.arange(0, dim, 2).to(vectors) / dim
        the exponent halved: {SPEEDS} => -torch.arange(dim // 2).to(vectors) / dim
        the exponent not divided by the width: {SPEEDS} => -torch.arange(0, dim, 2).to(vectors) ||
            -torch.arange(dim // 2).to(vectors)
        the width counted in pairs less one: {SPEEDS} => -torch.arange(dim // 2).to(vectors) / max(dim // 2 - 1, 1)
        the base is not used: base ** => 10_000 ** || 1000 **
        another base [turns]: base=10_000 => base=9999 || base=10_001 || base=1000 || base=100_000
        places counted anew: places[..., None] =>
            (0 * places + torch.arange(places.shape[-1]))[..., None]
        the places do not count: places[..., None] * => torch.ones_like(places)[..., None] *
        counted from one: places[..., None] => (places[..., None] + 1)
    """),
)

# --- 15.2 --------------------------------------------------------------------------------------------------------


def mend_the_turns(queries, keys, values, places, rotate):
    """Attention of one text whose queries and keys are turned by their places, (tokens, value_dim)."""
    queries, keys = rotate(queries, places), rotate(keys, places)  # (tokens, key_dim)
    scores = queries @ keys.T / math.sqrt(keys.shape[1])  # (tokens, tokens)
    return scores.softmax(dim=1) @ values  # (tokens, value_dim)


def turned_by(vectors: Tensor, places: Tensor) -> Tensor:
    """What `rotate` is in this exercise: the course's own, of base 100."""
    return rotate.solution(vectors, places, 100)


def by_pytorch(queries: Tensor, keys: Tensor, values: Tensor, places: Tensor, rotate: object) -> Tensor:
    turned = (by_complex_numbers(vectors, places, 100) for vectors in (queries, keys))
    return nn.functional.scaled_dot_product_attention(*turned, values)


def page(num_tokens: int, key_dim: int, value_dim: int, first: float, step: float, seed: int) -> Case:
    """A page of a longer text, which begins at place `first`."""
    queries, keys = 2 * draw(2, num_tokens, key_dim, seed=seed)
    places = first + step * torch.arange(num_tokens)
    values = draw(num_tokens, value_dim, seed=seed + 50)
    return Case({"queries": queries, "keys": keys, "values": values, "places": places, "rotate": turned_by})


TURNS, ANEW = "rotate(queries, places), rotate(keys, places)", "torch.arange(len(keys))"

mend_the_turns = Exercise(
    mend_the_turns,
    cases=[page(5, 4, 6, 0, 1, 0), page(6, 6, 2, 40, 1, 1), page(4, 2, 4, 7, 3, 2), page(3, 8, 8, 3.5, 0.5, 3)],
    truth=by_pytorch,
    tried="pages that begin at place 0, 3.5, 7 and 40, whose places go up by 1, by 3 and by a half",
    see="Lab 15, “Exercise 15.2 (debug): the page that begins late”",
    mistakes=edits(f"""
        more than one fault is left [turns]: {TURNS} => rotate(queries, places), rotate(keys, {ANEW}) &&
            @ values => @ rotate(values, places)
        values turned too: @ values => @ rotate(values, places) || @ rotate(values, {ANEW})
        keys counted from zero: {TURNS} => rotate(queries, places), rotate(keys, {ANEW})
        queries counted from zero: {TURNS} => rotate(queries, {ANEW}), rotate(keys, places)
        places counted anew [both]: {TURNS} => rotate(queries, {ANEW}), rotate(keys, {ANEW})
        queries not turned: {TURNS} => queries, rotate(keys, places)
        keys not turned: {TURNS} => rotate(queries, places), keys
        no turn at all: {TURNS} => queries, keys
        keys one place off: rotate(keys, places) => rotate(keys, places + 1) || rotate(keys, places - 1)
        keys turned the other way: rotate(keys, places) => rotate(keys, -places)
        both turned the other way: {TURNS} => rotate(queries, -places), rotate(keys, -places)
        turned twice: {TURNS} => rotate(rotate(queries, places), places), rotate(rotate(keys, places), places)
        the result turned [places]: return scores.softmax(dim=1) @ values =>
            return rotate(scores.softmax(dim=1) @ values, places)
        the values turned back: return scores.softmax(dim=1) @ values =>
            return rotate(scores.softmax(dim=1) @ rotate(values, places), -places)
        softmax over the wrong axis: dim=1 => dim=0
        no softmax: scores.softmax(dim=1) => scores
        weights not used: scores.softmax(dim=1) @ values => values
        keys brought back: @ values => @ keys
        queries brought back: @ values => @ queries
        queries and keys exchanged: queries @ keys.T => keys @ queries.T
        one matrix for both: queries @ keys => keys @ keys || queries @ queries
    """)
    + scaling("keys.shape[1]", ROOT, "queries @ keys.T", tokens="len(keys)", values="values.shape[1]"),
)

# --- 15.3 --------------------------------------------------------------------------------------------------------


def places_or_words(net, measure, short, long, factor):
    """What `measure` says of a reader on short texts, on long ones, and on long ones whose places are squeezed."""
    changed = copy.deepcopy(net)
    count = changed.places
    changed.places = lambda ids: count(ids) / factor
    return measure(net, short), measure(net, long), measure(changed, long)


class Reader(nn.Module):
    """Adds up its words, each times a number for its place; the places begin at `first`."""

    def __init__(self, first: int, step: int):
        super().__init__()
        self.weight = nn.Parameter(draw(7, seed=first), requires_grad=False)
        self.places = lambda ids: first + step * torch.arange(ids.shape[1])


def said(net: Reader, ids: Tensor, squeezed: int = 1) -> float:
    return (net.weight[ids] * (0.1 * net.places(ids) / squeezed).sin()).sum().item()


def counts_as_before(answer: object, go: object) -> None:
    net = Reader(5, 2)
    whole = net.places

    def fails_on_another(given, ids):
        if given.places is not whole:
            raise ArithmeticError("measured with other places")
        return 1.0

    ids = torch.arange(6).view(2, 3)
    go(lambda: answer(net, fails_on_another, ids, ids, 2))
    if net.places is not whole:
        raise Wrong("the reader is left with other places", APART)


def texts(num_tokens: int, seed: int) -> Tensor:
    return torch.randint(7, (2, num_tokens), generator=torch.Generator().manual_seed(seed))


SQUEEZE = "lambda ids: count(ids) / factor"

places_or_words = Exercise(
    places_or_words,
    cases=[
        Case({"net": Reader(first, step), "measure": said, "short": texts(3, first), "long": texts(n, n), "factor": by})
        for first, step, n, by in ((0, 1, 12, 4), (5, 3, 9, 3), (2, 7, 6, 2))
    ],
    truth=lambda net, measure, short, long, factor: (said(net, short), said(net, long), said(net, long, factor)),
    also=counts_as_before,
    tried="three readers that count their places in three ways, and a measure that fails",
    see=APART,
    mistakes=edits(f"""
        multiplied in place of divided [places]: / factor => * factor
        whole places only: / factor => // factor
        the factor is not used: / factor => / 4 || / 2
        the factor taken off: / factor => - factor
        places counted anew [reader]: {SQUEEZE} => lambda ids: torch.arange(ids.shape[1]) / factor
        the short texts squeezed: measure(changed, long) => measure(changed, short) ||
            measure(net, short) => measure(changed, short)
        nothing is squeezed: measure(changed, long) => measure(net, long)
        the long texts squeezed both times: measure(net, long) => measure(changed, long)
        everything squeezed: measure(net, short), measure(net, long) => measure(changed, short), measure(changed, long)
        the three in another order: measure(net, short), measure(net, long), measure(changed, long) =>
            measure(net, long), measure(net, short), measure(changed, long) ||
            measure(net, short), measure(changed, long), measure(net, long) ||
            measure(changed, long), measure(net, long), measure(net, short)
        the short texts measured twice: measure(net, long) => measure(net, short)
        the factor divided by the places: count(ids) / factor => factor / count(ids)
        all words at one place: {SQUEEZE} => lambda ids: factor || lambda ids: 0 * count(ids) + factor
        no reader is measured: measure(net, short) => measure(measure, short) || measure(short, short) ||
            measure(factor, short)
        places that ask themselves: {SQUEEZE} => lambda ids: changed.places(ids) / factor
        no texts are measured: measure(net, short) => measure(net, net) || measure(net, measure) || measure(net, factor)
        something else is called: measure(net, short) => count(net, short) || changed(net, short)
        no way to count: count = changed.places => count = measure.places || factor.places || short.places
        the difference in place of the third: measure(changed, long) => measure(changed, long) - measure(net, long)
    """),
)
