"""The checks of lab 16: a step with a cache, merging running softmaxes, a window read in blocks, a block's price."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from shared.measure import peak_bytes

from .attention import ROOT, scaling
from .exercise import Case, Exercise, draw, drawn
from .mistakes import Wrong, edits

# --- 16.3 --------------------------------------------------------------------------------------------------------


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


class Halves(Case):
    def __str__(self) -> str:
        shapes = {name: ", ".join(str(tuple(part.shape)) for part in half) for name, half in self.inputs.items()}
        return "; ".join(f"{name}: {shape}" for name, shape in shapes.items())


def two_halves(n: int, words: tuple[int, int], value_dim: int, high: float = 0.0, seed: int = 0) -> Case:
    """`high` is added to all scores of the second half."""
    scores, values = draw(n, sum(words), seed=seed), draw(sum(words), value_dim, seed=seed + 1)
    parts = zip((scores[:, : words[0]], scores[:, words[0] :] + high), values.split(words), strict=True)
    return Halves({name: half(*part) for name, part in zip(("first", "second"), parts, strict=True)})


def merged_by_einsum(first: tuple, second: tuple) -> tuple[Tensor, ...]:
    heights = torch.cat([first[0], second[0]], dim=1)  # (n, 2)
    highest = heights.amax(dim=1, keepdim=True)  # (n, 1)
    reported = (torch.stack([first[part], second[part]], dim=1) for part in (1, 2))  # (n, 2, 1) and (n, 2, value_dim)
    return highest, *(torch.einsum("nh,nhv->nv", (heights - highest).exp(), both) for both in reported)


TOTALS, SUMS = "one * first[1] + other * second[1]", "one * first[2] + other * second[2]"

merge = Exercise(
    merge,
    cases=[
        two_halves(3, (2, 4), 2),
        two_halves(5, (3, 1), 5, high=800.0, seed=2),
        two_halves(2, (0, 3), 4, seed=4),
        two_halves(4, (3, 0), 3, seed=6),
    ],
    truth=merged_by_einsum,
    tried="halves of equal and of very different height, and with either half empty",
    see="Lab 16, “A softmax that cannot look ahead”",
    mistakes=edits(f"""
        no correction: {TOTALS} => first[1] + second[1] && {SUMS} => first[2] + second[2]
        sum of the values not corrected: {SUMS} => first[2] + second[2]
        total not corrected: {TOTALS} => first[1] + second[1]
        the correction turned round: first[0] - highest => highest - first[0] &&
            second[0] - highest => highest - second[0] || first[0] - highest => highest - first[0] ||
            second[0] - highest => highest - second[0]
        the heights added [correction]: first[0] - highest => first[0] + highest ||
            second[0] - highest => second[0] + highest
        one half brought to the other: {TOTALS} => first[1] + (second[0] - first[0]).exp() * second[1] &&
            {SUMS} => first[2] + (second[0] - first[0]).exp() * second[2] ||
            {TOTALS} => (first[0] - second[0]).exp() * first[1] + second[1] &&
            {SUMS} => (first[0] - second[0]).exp() * first[2] + second[2]
        sums weighted by the totals: {SUMS} => (first[1] * first[2] + second[1] * second[2]) / (first[1] + second[1]) ||
            {SUMS} => (one * first[1] * first[2] + other * second[1] * second[2]) / ({TOTALS}) ||
            {SUMS} => one * first[1] * first[2] + other * second[1] * second[2]
        one of the totals is missing: other * second[1] => other || one * first[1] => one
        one half not corrected: (first[0] - highest).exp() => first[0].exp() || (second[0] - highest).exp() =>
            second[0].exp() || one * first[1] => one + first[1] || other * second[1] => (other + second[1])
        one half not corrected: {TOTALS} => one * first[1] + second[1] && {SUMS} => one * first[2] + second[2] ||
            {TOTALS} => first[1] + other * second[1] && {SUMS} => first[2] + other * second[2]
        exponentials out of range [heights]: first[0] - highest => first[0] && second[0] - highest => second[0] &&
            {TOTALS} => ({TOTALS}) / highest.exp() && {SUMS} => ({SUMS}) / highest.exp()
        the corrections exchanged: one, other => other, one
        the height of one half: torch.maximum(first[0], second[0]) => first[0] || second[0] ||
            torch.maximum(first[0], second[0]) => first[0] && {TOTALS} => first[1] + other * second[1] &&
            {SUMS} => first[2] + other * second[2] ||
            torch.maximum(first[0], second[0]) => second[0] && {TOTALS} => one * first[1] + second[1] &&
            {SUMS} => one * first[2] + second[2]
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

# --- 16.2 --------------------------------------------------------------------------------------------------------


def mend_the_blocks(queries, keys, values, kept_keys, kept_values, reach):
    """What a block of new words brings back, (num_heads, new, value_dim), and the keys and values to keep."""
    keys = torch.hstack([kept_keys, keys])  # (num_heads, words, key_dim), the kept words and the new ones
    values = torch.hstack([kept_values, values])  # (num_heads, words, value_dim)
    num_new, num_words = queries.shape[1], keys.shape[1]
    older = num_words - num_new
    allowed = torch.ones(num_new, num_words, dtype=torch.bool).tril(older).triu(older - reach + 1)  # (new, words)
    scores = torch.einsum("hnk,hwk->hnw", queries, keys) * queries.shape[2] ** -0.5  # (num_heads, new, words)
    weights = F.softmax(scores.where(allowed, -math.inf), dim=2)
    return torch.einsum("hnw,hwv->hnv", weights, values), keys[:, -reach:], values[:, -reach:]


def one_block(
    num_heads: int, new: int, kept: int, key_dim: int, value_dim: int, reach: int, seed: int = 0, scale: float = 2.0
) -> Case:
    """A block of `new` words after `kept` words that are still there."""
    shapes = {"queries": (new, key_dim), "keys": (new, key_dim), "values": (new, value_dim)}
    shapes |= {"kept_keys": (kept, key_dim), "kept_values": (kept, value_dim)}
    inputs = drawn(seed, scale, **{name: (num_heads, *shape) for name, shape in shapes.items()})
    return Case(inputs | {"reach": reach})


def word_by_word(queries, keys, values, kept_keys, kept_values, reach):
    """PyTorch's attention of one new word after the other, each with the words that it reaches."""
    keys, values = torch.cat([kept_keys, keys], dim=1), torch.cat([kept_values, values], dim=1)
    older, outputs = kept_keys.shape[1], []
    for place in range(queries.shape[1]):
        seen = slice(max(0, older + place + 1 - reach), older + place + 1)
        outputs.append(F.scaled_dot_product_attention(queries[:, [place]], keys[:, seen], values[:, seen]))
    return torch.cat(outputs, dim=1), keys[:, -reach:], values[:, -reach:]


BAND, NOTHING_CUT = ".tril(older).triu(older - reach + 1)", "values), keys[:, -reach:], values[:, -reach:]"
CUT_FIRST = """[kept_keys, keys]) => [kept_keys, keys])[:, -reach:] &&
            [kept_values, values]) => [kept_values, values])[:, -reach:]"""
HIDDEN = "scores.where(allowed, -math.inf)"

mend_the_blocks = Exercise(
    mend_the_blocks,
    cases=[
        one_block(2, 3, 4, 3, 2, reach=4),
        one_block(1, 6, 0, 4, 4, reach=2, seed=10),
        one_block(3, 1, 3, 2, 5, reach=3, seed=20),
        one_block(2, 5, 2, 3, 3, reach=9, seed=30),
        one_block(1, 4, 1, 5, 2, reach=1, seed=40),
        one_block(9, 4, 2, 2, 3, reach=2, seed=50, scale=30.0),
    ],
    truth=word_by_word,
    tried="blocks of 1 to 6 words after 0 to 4 kept ones, with windows of 1 to 9 words, one with large scores, "
    "against PyTorch's attention word by word",
    see="Lab 16, “Exercise 16.2 (debug): a window read in blocks”",
    mistakes=edits(f"""
        words let go too soon: {CUT_FIRST} && {BAND} => .tril(older) || {CUT_FIRST}
        no window: {BAND} => .tril(older)
        one place too far: - reach + 1 => - reach
        one place too few: - reach + 1 => - reach + 2
        looks ahead [block]: .tril(older).triu => .triu
        one step for a whole block: {BAND} => || {BAND} => && {NOTHING_CUT} => values), keys, values
        the next word seen: .tril(older) => .tril(older + 1)
        itself forbidden: .tril(older) => .tril(older - 1)
        places counted from the oldest word: {BAND} => .tril().triu(1 - reach) || {BAND} => .tril() ||
            {BAND} => .tril(older).triu(1 - reach) || {BAND} => .tril().triu(older - reach + 1)
        True where hidden: where(allowed => where(~allowed
        mask after the softmax: F.softmax({HIDDEN}, dim=2) => F.softmax(scores, dim=2) * allowed
        padding hidden with too small a number [window]: -math.inf => -20.0 || -math.inf => -100.0
        everything is kept: {NOTHING_CUT} => values), keys, values
        nothing new is kept: {NOTHING_CUT} => values), kept_keys, kept_values
        the old words are not kept: {NOTHING_CUT} => values), keys[:, older:], values[:, older:]
        the oldest words kept: {NOTHING_CUT} => values), keys[:, :reach], values[:, :reach]
        one word fewer is kept: {NOTHING_CUT} => values), keys[:, 1 - reach :], values[:, 1 - reach :] ||
            values), keys[:, num_words - reach + 1 :], values[:, num_words - reach + 1 :]
        the newest token put in front: [kept_keys, keys] => [keys, kept_keys] && [kept_values, values] =>
            [values, kept_values]
        keys and values in two orders: [kept_keys, keys] => [keys, kept_keys] || [kept_values, values] =>
            [values, kept_values]
        keys and values exchanged [steps]: {NOTHING_CUT} => values), values[:, -reach:], keys[:, -reach:]
        the output alone: {NOTHING_CUT} => values)
        no softmax: F.softmax({HIDDEN}, dim=2) => {HIDDEN} || F.softmax({HIDDEN}, dim=2) => scores.where(allowed, 0.0)
        softmax over the wrong axis: dim=2) => dim=1)
        no scale: * queries.shape[2] ** -0.5 =>
        no root in the scale: * queries.shape[2] ** -0.5 => / queries.shape[2]
        the number of tokens in the scale: queries.shape[2] ** => num_words ** || queries.shape[2] ** => num_new **
        d_v instead of k in the scale: queries.shape[2] ** => values.shape[2] **
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
    new = {"query": (num_heads, 1, key_dim), "key": (num_heads, 1, key_dim), "value": (num_heads, 1, value_dim)}
    return Case(drawn(seed, 2.0, **new, keys=(num_heads, words, key_dim), values=(num_heads, words, value_dim)))


def step_by_pytorch(query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
    keys, values = torch.hstack([keys, key]), torch.hstack([values, value])
    return F.scaled_dot_product_attention(query, keys, values), keys, values


cached_step = Exercise(
    cached_step,
    cases=[
        one_step(3, 4, 3, 2),
        one_step(2, 0, 5, 3, seed=10),
        one_step(1, 6, 4, 4, seed=20),
        one_step(4, 1, 2, 6, seed=30),
    ],
    truth=step_by_pytorch,
    tried="1 to 4 heads, after 0, 1, 4 and 6 words that were kept",
    see="Lab 16, “Writing with a memory”",
    mistakes=edits("""
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
        places counted from the oldest word [one asks]: scores.softmax(dim=2) @ values => values[:, :1]
        keys brought back: @ values, keys => @ keys, keys
    """)
    + scaling("query.shape[2]", ROOT, "query @ keys.transpose(1, 2)", values="value.shape[2]", tokens="keys.shape[1]"),
)

# --- 16.4 --------------------------------------------------------------------------------------------------------


def peak_for_each_block(attention, num_tokens, sizes):
    """Size of a block -> by how many bytes the peak grows for each additional key, from this size to its double."""
    inputs = [torch.randn(num_tokens, 16) for _ in range(3)]
    found = {}
    for size in sizes:
        small, large = (peak_bytes(attention, *inputs, block=block) for block in (size, 2 * size))
        found[size] = (large - small) / size
    return found


def known_attention(queries: Tensor, keys: Tensor, values: Tensor, *, block: int = 50) -> Tensor:
    """Computes nothing. For each byte of `each` it needs 60 for a key of a block, and one for a pair of them."""
    if len({given.data_ptr() for given in (queries, keys, values)}) < 3:
        block += 9  # no number that anybody wants
    each = 3 * len(queries) + keys.shape[1]
    table = torch.zeros(each * (60 * block + block**2), dtype=torch.int8)
    return torch.zeros(len(queries), keys.shape[1] ** 2, dtype=torch.int8) + table[0]


def needed(attention: object, num_tokens: int, sizes: list[int]) -> Tensor:
    return torch.tensor([(3.0 * num_tokens + 16) * (60 + 3 * size) for size in sizes])


def in_order(given: object, attention: object, num_tokens: int, sizes: list[int]) -> object:
    """The bytes of a dict in the order of the sizes."""
    if not isinstance(given, dict) or set(given) != set(sizes):
        raise Wrong("no dict with these keys", keys=", ".join(map(str, sizes)))
    return torch.tensor([float(given[size]) for size in sizes])


GROWTH = "(large - small) / size"

peak_for_each_block = Exercise(
    peak_for_each_block,
    cases=[
        Case({"attention": known_attention, "num_tokens": 10, "sizes": [1, 2, 8]}),
        Case({"attention": known_attention, "num_tokens": 7, "sizes": [64, 4]}),
    ],
    truth=needed,
    view=in_order,
    tried="a function of which it is known how much memory it takes, with five sizes",
    see="Lab 16, “Exercise 16.4 (experiment): the price of a larger block”",
    mistakes=edits(f"""
        the peak, not its growth: {GROWTH} => small || {GROWTH} => large || {GROWTH} => small / size
        not divided by the keys: {GROWTH} => large - small
        divided by the larger block: {GROWTH} => (large - small) / (2 * size)
        a ratio in place of a difference [peaks]: {GROWTH} => large / small
        the sign turned round [peaks]: large - small => small - large
        one key more: 2 * size => size + 1 || 2 * size => size + 1 && {GROWTH} => large - small
        one size for all: (size, 2 => (sizes[0], 2 && 2 * size => 2 * sizes[0] || , block=block =>
        another unit: {GROWTH} => (large - small) / size / 1e6 || {GROWTH} => (large - small) / size / 2**20 ||
            {GROWTH} => (large - small) / size / 4 || {GROWTH} => (large - small) / size / num_tokens ||
            {GROWTH} => (large - small) / size / 4 / num_tokens
        rows and columns exchanged [inputs]: torch.randn(num_tokens, 16) => torch.randn(16, num_tokens)
        not sixteen columns: 16) => 15) || 17) || 64)
        one input twice: *inputs => inputs[0], inputs[1], inputs[1]
        as many columns as tokens: torch.randn(num_tokens, 16) => torch.randn(num_tokens, num_tokens)
        how many blocks, not their size: block=block => block=-(-num_tokens // block)
        added in place of subtracted [peaks]: large - small => large + small
        multiplied in place of divided [peaks]: (large - small) / size => (large - small) * size
        half the block, not twice: (size, 2 * size) => (size // 2, size)
        each block of another size: block=block => block=block - 1
    """),
)
