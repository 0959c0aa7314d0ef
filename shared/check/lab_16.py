"""The checks of lab 16: merging running softmaxes, attention in blocks, a step with a cache, an experiment."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from shared.measure import peak_bytes

from .exercise import Case, Exercise, draw
from .mistakes import Wrong, edits

RUNNING = "Lab 16, “A softmax that cannot look ahead”"
BLOCKS = "Lab 16, “In blocks”"
CACHE = "Lab 16, “Writing with a memory”"
ROOT = "Lab 3, “Why divide by the square root of k?”"

# --- 16.2 --------------------------------------------------------------------------------------------------------


def merge(first, second):
    """Two running softmaxes, each (highest, total, summed), as one."""
    highest = torch.maximum(first[0], second[0])  # (n, 1)
    one, other = (first[0] - highest).exp(), (second[0] - highest).exp()  # (n, 1)
    return highest, one * first[1] + other * second[1], one * first[2] + other * second[2]


def half(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What one machine reports of scores (n, words) and values (words, value_dim)."""
    if not scores.shape[1]:
        return torch.full((len(scores), 1), -math.inf), torch.zeros(len(scores), 1), scores @ values
    highest = scores.amax(dim=1, keepdim=True)  # (n, 1)
    shares = (scores - highest).exp()  # (n, words)
    return highest, shares.sum(dim=1, keepdim=True), shares @ values


def two_halves(n: int, words: tuple[int, int], value_dim: int, high: float = 0.0, seed: int = 0) -> Case:
    """`high` is added to all scores of the second half."""
    scores, values = draw(n, sum(words), seed=seed), draw(sum(words), value_dim, seed=seed + 1)
    parts = zip((scores[:, : words[0]], scores[:, words[0] :] + high), values.split(words), strict=True)
    return Case({name: half(*part) for name, part in zip(("first", "second"), parts, strict=True)})


def merged_by_numbers(first: tuple, second: tuple) -> tuple[Tensor, ...]:
    highest, total, summed = [], [], []
    for row in range(len(first[0])):
        heights = [part[0][row].item() for part in (first, second)]
        top = max(heights)
        factors = [math.exp(height - top) for height in heights]
        highest.append([top])
        total.append([sum(f * part[1][row].item() for f, part in zip(factors, (first, second), strict=True))])
        sums = zip(first[2][row].tolist(), second[2][row].tolist(), strict=True)
        summed.append([sum(f * one for f, one in zip(factors, pair, strict=True)) for pair in sums])
    return tuple(torch.tensor(part) for part in (highest, total, summed))


TOTALS, SUMS = "one * first[1] + other * second[1]", "one * first[2] + other * second[2]"

merge = Exercise(
    merge,
    cases=[
        two_halves(3, (2, 4), 2),
        two_halves(5, (3, 1), 5, high=800.0, seed=2),
        two_halves(2, (0, 3), 4, seed=4),
        two_halves(4, (3, 0), 3, seed=6),
    ],
    truth=merged_by_numbers,
    tried="halves of equal and of very different height, and with either half empty",
    see=RUNNING,
    mistakes=edits(f"""
        no correction: {TOTALS} => first[1] + second[1] && {SUMS} => first[2] + second[2]
        sum of the values not corrected: {SUMS} => first[2] + second[2]
        total not corrected: {TOTALS} => first[1] + second[1]
        the correction turned round: first[0] - highest => highest - first[0] &&
            second[0] - highest => highest - second[0] || first[0] - highest => highest - first[0] ||
            second[0] - highest => highest - second[0]
        the heights added [correction]: first[0] - highest => first[0] + highest ||
            second[0] - highest => second[0] + highest
        one half not corrected: (first[0] - highest).exp() => first[0].exp() || (second[0] - highest).exp() =>
            second[0].exp() || one * first[1] => one + first[1] || other * second[1] => (other + second[1]) ||
            other * second[1] => other
        the corrections exchanged: one, other => other, one
        the height of one half: torch.maximum(first[0], second[0]) => first[0] || second[0]
        the lowest in place of the highest: maximum => minimum
        the heights added: torch.maximum(first[0], second[0]) => (first[0] + second[0])
        one height for all queries: torch.maximum(first[0], second[0]) =>
            torch.maximum(first[0], second[0]).amax().expand_as(first[0])
        no exponential [heights]: (first[0] - highest).exp(), (second[0] - highest).exp() =>
            first[0] - highest, second[0] - highest || (first[0] - highest).exp() => first[0] - highest ||
            (second[0] - highest).exp() => second[0] - highest
        divided already: {SUMS} => ({SUMS}) / ({TOTALS})
        averages in place of sums: {TOTALS} => ({TOTALS}) / 2 && {SUMS} => ({SUMS}) / 2
        totals and sums exchanged: highest, {TOTALS}, {SUMS} => highest, {SUMS}, {TOTALS} || {SUMS}, {TOTALS}, highest
        one half forgotten: {TOTALS} => one * first[1] && {SUMS} => one * first[2] ||
            {TOTALS} => other * second[1] && {SUMS} => other * second[2] || one * first[1] => one * second[1] ||
            one * first[2] => one * second[2]
    """),
)

# --- 16.3 --------------------------------------------------------------------------------------------------------


def mend_the_blocks(queries, keys, values, mask, block=4):
    """Attention in blocks, (n, value_dim)."""
    highest = torch.full((len(queries), 1), torch.finfo(queries.dtype).min)  # (n, 1)
    total = torch.zeros(len(queries), 1)  # (n, 1)
    summed = torch.zeros(len(queries), values.shape[1])  # (n, value_dim)
    for start in range(0, len(keys), block):
        few = slice(start, start + block)
        scores = (queries @ keys[few].T).masked_fill(~mask[:, few], -math.inf)  # (n, block)
        new_highest = torch.maximum(highest, scores.amax(dim=1, keepdim=True))  # (n, 1)
        correction = (highest - new_highest).exp()  # (n, 1)
        shares = (scores - new_highest).exp()  # (n, block)
        total = total * correction + shares.sum(dim=1, keepdim=True)
        summed = summed * correction + shares @ values[few]
        highest = new_highest
    return summed / total


def in_blocks(n: int, key_dim: int, value_dim: int, size: float = 1.0, less: float = 0.0, seed: int = 0, hidden=()):
    """Scores `size` times as large, and `less` than they were; row 2 may not look at the `hidden` columns."""
    mask = draw(n, n, seed=seed + 3) > -1  # most may be looked at
    mask |= torch.eye(n, dtype=torch.bool)
    if hidden:
        mask[2] = True
        mask[2, list(hidden)] = False
    queries, keys = size * draw(n, key_dim, seed=seed), draw(n, key_dim, seed=seed + 1)
    if less:
        queries[:, 0], keys[:, 0] = less, -1
    return Case({"queries": queries, "keys": keys, "values": draw(n, value_dim, seed=seed + 2), "mask": mask})


def by_pytorch(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(queries, keys, values, mask, scale=1.0)


START, SO_FAR = "torch.finfo(queries.dtype).min", "torch.maximum(highest, scores.amax(dim=1, keepdim=True))"

mend_the_blocks = Exercise(
    mend_the_blocks,
    cases=[
        in_blocks(10, 3, 2),
        in_blocks(3, 2, 4, seed=10),
        in_blocks(9, 4, 3, hidden=(0, 1, 2, 3), seed=20),
        in_blocks(12, 5, 2, size=400.0, seed=30),
        in_blocks(6, 3, 2, less=2000.0, seed=40),
    ],
    truth=by_pytorch,
    tried="3 to 12 tokens in blocks of 4, a first block all hidden from one query, scores far apart and far below 0",
    see=BLOCKS,
    mistakes=edits(f"""
        more than one fault is left: {START} => -math.inf && {SO_FAR} => scores.amax(dim=1, keepdim=True) &&
            summed * correction => summed || summed * correction => summed && {START} => -math.inf
        sum of the values not corrected: summed * correction => summed
        total not corrected: total * correction => total
        no correction [blocks]: total * correction => total && summed * correction => summed
        the height starts at minus infinity: {START} => -math.inf
        the height of the block alone: {SO_FAR} => scores.amax(dim=1, keepdim=True) ||
            {SO_FAR} => scores.amax(dim=1, keepdim=True) && {START} => -math.inf
        the height starts at 0: {START} => 0.0
        the correction turned round: (highest - new_highest) => (new_highest - highest)
        shares corrected too: + shares @ => + correction * shares @ && + shares.sum => + correction * shares.sum
        the new height is not kept: highest = new_highest => pass
        one height for all queries: scores.amax(dim=1, keepdim=True) => scores.amax()
        mask forgotten [blocks]: .masked_fill(~mask[:, few], -math.inf) =>
        mask turned round: ~mask => mask
        the mask's rows cut: mask[:, few] => mask.T[:, few]
        not divided by the total: summed / total => summed
        no exponential [shares]: (scores - new_highest).exp() => scores - new_highest
        the heights added [correction]: (highest - new_highest) => (highest + new_highest)
        the total alone: summed / total => total
        scaled twice: @ keys[few].T) => @ keys[few].T / math.sqrt(queries.shape[1]))
        the last block left out: len(keys), block) => len(keys) - block + 1, block)
    """),
)

# --- 16.1 --------------------------------------------------------------------------------------------------------


def cached_step(query, key, value, keys, values):
    """What the heads bring back for the newest word, and the keys and values to keep."""
    keys = torch.cat([keys, key], dim=1)  # (num_heads, words, key_dim), one word more
    values = torch.cat([values, value], dim=1)  # (num_heads, words, value_dim)
    scores = query @ keys.transpose(1, 2) / math.sqrt(query.shape[2])  # (num_heads, 1, words)
    return scores.softmax(dim=2) @ values, keys, values


def one_step(num_heads: int, words: int, key_dim: int, value_dim: int, seed: int = 0) -> Case:
    """A step after `words` words that were kept."""
    shapes = {"query": (1, key_dim), "key": (1, key_dim), "value": (1, value_dim)}
    shapes |= {"keys": (words, key_dim), "values": (words, value_dim)}
    return Case({name: 2 * draw(num_heads, *shape, seed=seed + n) for n, (name, shape) in enumerate(shapes.items())})


def step_by_loops(query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
    output, all_keys, all_values = [], [], []
    for head in range(len(query)):
        asks = query[head, 0].tolist()
        words, brings = [*keys[head].tolist(), key[head, 0].tolist()], [*values[head].tolist(), value[head, 0].tolist()]
        scores = [sum(a * b for a, b in zip(asks, word, strict=True)) / len(asks) ** 0.5 for word in words]
        shares = [math.exp(score - max(scores)) for score in scores]
        columns = zip(*brings, strict=True)
        output.append([[sum(s * v for s, v in zip(shares, column, strict=True)) / sum(shares) for column in columns]])
        all_keys.append(words), all_values.append(brings)
    return torch.tensor(output), torch.tensor(all_keys), torch.tensor(all_values)


cached_step = Exercise(
    cached_step,
    cases=[
        one_step(3, 4, 3, 2),
        one_step(2, 0, 5, 3, seed=10),
        one_step(1, 6, 4, 4, seed=20),
        one_step(4, 1, 2, 6, seed=30),
    ],
    truth=step_by_loops,
    tried="1 to 4 heads, after 0, 1, 4 and 6 words that were kept",
    see=CACHE,
    mistakes=edits(f"""
        the newest token left out: => weights = (query @ keys.transpose(1, 2) / math.sqrt(query.shape[2])).softmax(2)
            return weights @ values, torch.cat([keys, key], dim=1), torch.cat([values, value], dim=1)
        the newest token alone: @ keys.transpose => @ keys[:, -1:].transpose && @ values, keys => @ values[:, -1:], keys
        no softmax: scores.softmax(dim=2) => scores
        softmax over the heads [first axis]: softmax(dim=2) => softmax(dim=0)
        softmax over the wrong axis [one asks]: softmax(dim=2) => softmax(dim=1)
        the newest token put in front: [keys, key] => [key, keys] && [values, value] => [value, values]
        keys and values in two orders: [keys, key] => [key, keys] || [values, value] => [value, values]
        the query kept in place of the key: [keys, key] => [keys, query]
        nothing new is kept: @ values, keys, values => @ values, keys[:, :-1], values[:, :-1]
        only the newest is kept: @ values, keys, values => @ values, keys[:, -1:], values[:, -1:]
        keys and values exchanged [steps]: @ values, keys, values => @ values, values, keys
        the output alone: @ values, keys, values => @ values
        keys brought back: @ values, keys => @ keys, keys
        {ROOT}
        no scale: / math.sqrt(query.shape[2]) =>
        multiplied by the scale: / math.sqrt => * math.sqrt
        no root in the scale: math.sqrt(query.shape[2]) => query.shape[2]
        d_v instead of k in the scale [steps]: query.shape[2] => value.shape[2]
        the number of tokens in the scale: query.shape[2] => keys.shape[1]
    """),
)

# --- 16.4 --------------------------------------------------------------------------------------------------------


def peak_for_each_block(attention, num_tokens, sizes):
    """Size of a block -> the most bytes alive at once."""
    queries, keys, values = (torch.randn(num_tokens, 16) for _ in range(3))
    return {size: peak_bytes(attention, queries, keys, values, block=size) for size in sizes}


def known_attention(queries: Tensor, keys: Tensor, values: Tensor, block: int = 50) -> Tensor:
    """Computes nothing, and needs 100 bytes a key of a block, and twice one byte a number of its output."""
    if len({given.data_ptr() for given in (queries, keys, values)}) < 3:
        block += 1000  # no number that anybody wants
    table = torch.zeros(100 * block, dtype=torch.int8)
    return torch.zeros(len(queries), keys.shape[1] ** 2, dtype=torch.int8) + table[0]


def needed(attention: object, num_tokens: int, sizes: list[int]) -> Tensor:
    return torch.tensor([100.0 * size + 2 * num_tokens * 16**2 for size in sizes])


def in_order(given: object, attention: object, num_tokens: int, sizes: list[int]) -> object:
    """The bytes of a dict in the order of the sizes."""
    if not isinstance(given, dict) or set(given) != set(sizes):
        raise Wrong("no dict of the sizes", sizes=sizes)
    return torch.tensor([float(given[size]) for size in sizes])


PEAK = "peak_bytes(attention, queries, keys, values, block=size)"
QKV = "queries, keys, values"

peak_for_each_block = Exercise(
    peak_for_each_block,
    cases=[
        Case({"attention": known_attention, "num_tokens": 10, "sizes": [1, 2, 8]}),
        Case({"attention": known_attention, "num_tokens": 7, "sizes": [64, 4]}),
    ],
    truth=needed,
    view=in_order,
    tried="a function of which it is known how much memory it takes, with five sizes",
    see="Lab 16, “Exercise 16.4 (experiment): the size of a block”",
    mistakes=edits(f"""
        the inputs counted too: {PEAK} =>
            peak_bytes(lambda: attention(*(torch.randn(num_tokens, 16) for _ in range(3)), block=size))
        one size for all: block=size => block=sizes[0] || , block=size =>
        nothing was run: {PEAK} => peak_bytes(lambda: attention)
        another unit: {PEAK} => {PEAK} / 1e6 || {PEAK} / 2**20 || {PEAK} / 4
        rows and columns exchanged [inputs]: torch.randn(num_tokens, 16) => torch.randn(16, num_tokens)
        not sixteen columns: 16) => 15) || 17) || 64)
        one input twice: {QKV}, block => queries, keys, keys, block || queries, values, values, block ||
            keys, keys, values, block || values, keys, values, block || queries, queries, queries, block
        no tensor where one belongs: {QKV}, block => queries, sizes, values, block ||
            queries, num_tokens, values, block || num_tokens, keys, values, block || attention, keys, values, block
        as many columns as tokens: torch.randn(num_tokens, 16) => torch.randn(num_tokens, num_tokens)
        how many blocks, not their size: block=size => block=-(-num_tokens // size)
        measured together: {PEAK} => peak_bytes(lambda: [attention({QKV}, block=one) for one in sizes])
        each block of another size: block=size => block=size - 1
        run twice, and both kept: {PEAK} => peak_bytes(lambda: [attention({QKV}, block=size) for _ in range(2)])
    """),
)
