"""The checks of lab 12: merging running softmaxes, attention in blocks, a step with a cache, an experiment."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from shared.measure import peak_bytes

from .exercise import Case, Exercise, draw
from .mistakes import edit
from .run import Wrong

RUNNING = "Lab 12, “A softmax that cannot look ahead”"
BLOCKS = "Lab 12, “In blocks”"
CACHE = "Lab 12, “Writing with a memory”"
ROOT = "Lab 3, “Why divide by the square root of k?”"

# --- 12.1 --------------------------------------------------------------------------------------------------------


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
    mistakes=[
        edit("no correction", TOTALS, "first[1] + second[1]", SUMS, "first[2] + second[2]", say="You add what was taken relative to two heights. Bring both halves to one height first."),
        edit("sum of the values not corrected", SUMS, "first[2] + second[2]", say="The totals are brought to one height, the sums of the values are not."),
        edit("total not corrected", TOTALS, "first[1] + second[1]", say="The sums of the values are brought to one height, the totals are not."),
        edit("the correction turned round", "first[0] - highest", "highest - first[0]", "second[0] - highest", "highest - second[0]", say="The correction is exp(old - new). Yours is exp(new - old), which is 1 or more."),
        edit("the corrections exchanged", "one * first[1] + other * second[1]", "other * first[1] + one * second[1]", "one * first[2] + other * second[2]", "other * first[2] + one * second[2]", say="Each half is corrected by the height of the other."),
        edit("the height of the first half", "torch.maximum(first[0], second[0])", "first[0]", say="You take the first half's height for both. Where the second is higher, its numbers overflow; and an empty half has no height."),
        edit("the height of the second half", "torch.maximum(first[0], second[0])", "second[0]", say="You take the second half's height for both. Where the first is higher, its numbers overflow; and an empty half has no height."),
        edit("the lowest in place of the highest", "maximum", "minimum", say="You go down to the lower height. Then the terms of the other half are above 1, and overflow."),
        edit("the heights added", "torch.maximum(first[0], second[0])", "(first[0] + second[0])", say="The common height is the larger of the two, not their sum."),
        edit("one height for all queries", "torch.maximum(first[0], second[0])", "torch.maximum(first[0], second[0]).amax().expand_as(first[0])", say="Each query has a height of its own, one for each row."),
        edit("no exponential", "(first[0] - highest).exp(), (second[0] - highest).exp()", "first[0] - highest, second[0] - highest", say="The correction is the exponential of the difference of two heights."),
        edit("divided already", SUMS, f"({SUMS}) / ({TOTALS})", say="You return the average. Keep the sum: who merges again needs it undivided."),
        edit("averages in place of sums", TOTALS, f"({TOTALS}) / 2", SUMS, f"({SUMS}) / 2", say="You average the halves. Sums are added."),
        edit("results in the wrong order", f"highest, {TOTALS}, {SUMS}", f"highest, {SUMS}, {TOTALS}", say="Highest, total, sum of the values: you return the last two in the other order."),
        edit("one half forgotten", "one * first[1] + other * second[1]", "one * first[1]", "one * first[2] + other * second[2]", "one * first[2]", say="The second half is missing in what you return."),
    ],
)  # fmt: skip

# --- 12.2 --------------------------------------------------------------------------------------------------------


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
    tried="3 to 12 tokens in blocks of 4, a query to which the whole first block is hidden, scores far apart and far below 0",
    see=BLOCKS,
    mistakes=[
        edit("more than one fault is left", START, "-math.inf", SO_FAR, "scores.amax(dim=1, keepdim=True)", "summed * correction", "summed", say="More than one fault is left. Begin with six words, blocks of three and nothing hidden: which of the two sums goes wrong, and in which block?"),
        edit("sum of the values not corrected", "summed * correction", "summed", say="The total is brought to the new height, the sum of the values is not."),
        edit("more than one fault is left", "summed * correction", "summed", START, "-math.inf", say="More than one fault is left. Hide the whole first block from one query, and see what its sums become."),
        edit("total not corrected", "total * correction", "total", say="The sum of the values is brought to the new height, the total is not."),
        edit("no correction", "total * correction", "total", "summed * correction", "summed", say="When the height changes, both sums must be brought to the new one."),
        edit("the height starts at minus infinity", START, "-math.inf", say="A query to which the whole first block is hidden meets minus infinity less minus infinity. Start at a number."),
        edit("the height of the block alone", SO_FAR, "scores.amax(dim=1, keepdim=True)", say="The height is that of the last block. A block of low scores then makes the correction overflow. Keep the highest so far."),
        edit("the height of the block alone", SO_FAR, "scores.amax(dim=1, keepdim=True)", START, "-math.inf", say="The height is that of the last block. A block of low scores then makes the correction overflow. Keep the highest so far."),
        edit("the height starts at 0", START, "0.0", say="Scores may all be far below 0. Then every share is 0, and 0 divided by 0 is not a number."),
        edit("the correction turned round", "(highest - new_highest)", "(new_highest - highest)", say="The correction is exp(old - new). Yours is exp(new - old), which is 1 or more."),
        edit("shares corrected too", "+ shares @", "+ correction * shares @", "+ shares.sum", "+ correction * shares.sum", say="The new block is taken at the new height already. Only what was kept needs the correction."),
        edit("the new height is not kept", "        highest = new_highest\n", "", say="The height never moves on, so the next correction starts from the wrong one."),
        edit("one height for all queries", "scores.amax(dim=1, keepdim=True)", "scores.amax()", say="Each query has a height of its own, one for each row."),
        edit("mask forgotten", ".masked_fill(~mask[:, few], -math.inf)", "", say="The mask is not used: hidden tokens are looked at."),
        edit("mask turned round", "~mask", "mask", say="True means that the token may be looked at. You hide those and keep the others."),
        edit("the mask's rows cut", "mask[:, few]", "mask.T[:, few]", say="Rows ask and columns answer. You cut the mask along the tokens that ask."),
        edit("not divided by the total", "summed / total", "summed", say="At the end the sum of the values is divided by the total."),
        edit("scaled twice", "(queries @ keys[few].T)", "(queries @ keys[few].T / math.sqrt(queries.shape[1]))", say="The queries are scaled already; you divide the scores again.", see=ROOT),
        edit("the last block left out", "range(0, len(keys), block)", "range(0, len(keys) - block + 1, block)", say="The last block may be shorter than the others. You leave it out."),
    ],
)  # fmt: skip

# --- 12.3 --------------------------------------------------------------------------------------------------------


def cached_step(query, key, value, keys, values):
    """The output of the newest token, and the keys and values kept for the next."""
    keys = torch.cat([keys, key[None]])  # (tokens + 1, key_dim)
    values = torch.cat([values, value[None]])  # (tokens + 1, value_dim)
    scores = keys @ query / math.sqrt(len(query))  # (tokens + 1,)
    return scores.softmax(dim=0) @ values, keys, values


def one_step(tokens: int, key_dim: int, value_dim: int, seed: int = 0) -> Case:
    shapes = {"query": (key_dim,), "key": (key_dim,), "value": (value_dim,)}
    shapes |= {"keys": (tokens, key_dim), "values": (tokens, value_dim)}
    return Case({name: 2 * draw(*shape, seed=seed + n) for n, (name, shape) in enumerate(shapes.items())})


def step_by_loops(query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
    all_keys, all_values = [*keys.tolist(), key.tolist()], [*values.tolist(), value.tolist()]
    scores = [sum(a * b for a, b in zip(query.tolist(), one, strict=True)) / len(query) ** 0.5 for one in all_keys]
    shares = [math.exp(score - max(scores)) for score in scores]
    columns = zip(*all_values, strict=True)
    output = [sum(s * v for s, v in zip(shares, column, strict=True)) / sum(shares) for column in columns]
    return torch.tensor(output), torch.tensor(all_keys), torch.tensor(all_values)


RETURNED = "return scores.softmax(dim=0) @ values, keys, values"

cached_step = Exercise(
    cached_step,
    cases=[one_step(4, 3, 2), one_step(0, 5, 3, seed=10), one_step(6, 4, 4, seed=20), one_step(1, 2, 6, seed=30)],
    truth=step_by_loops,
    tried="texts of which 0, 1, 4 and 6 tokens were kept",
    see=CACHE,
    mistakes=[
        edit("the newest token left out", None, "weights = (keys @ query / math.sqrt(len(query))).softmax(dim=0)\noutput = weights @ values\nreturn output, torch.cat([keys, key[None]]), torch.cat([values, value[None]])", say="You look before you append. The newest token may look at itself."),
        edit("the newest token alone", "scores = keys @ query", "scores = keys[-1:] @ query", "@ values, keys", "@ values[-1:], keys", say="The newest token looks at itself only. What was kept is there to be looked at."),
        edit("no scale", " / math.sqrt(len(query))", "", say="The scores are not divided by the square root of key_dim.", see=ROOT),
        edit("no root in the scale", "math.sqrt(len(query))", "len(query)", say="You divide by key_dim itself, not by its square root.", see=ROOT),
        edit("d_v instead of k in the scale", "len(query)", "len(value)", say="You divide by the root of value_dim. The scores are sums over key_dim numbers.", see=ROOT),
        edit("the number of tokens in the scale", "len(query)", "len(keys)", say="You divide by the root of the number of tokens. The scores are sums over key_dim numbers.", see=ROOT),
        edit("no softmax", "scores.softmax(dim=0)", "scores", say="The scores are used as weights without a softmax."),
        edit("the newest token put in front", "[keys, key[None]]", "[key[None], keys]", "[values, value[None]]", "[value[None], values]", say="The newest token is kept in front of the others. It comes last."),
        edit("keys and values in two orders", "[keys, key[None]]", "[key[None], keys]", say="The newest key is put in front and the newest value behind. They must stay side by side."),
        edit("keys and values in two orders", "[values, value[None]]", "[value[None], values]", say="The newest value is put in front and the newest key behind. They must stay side by side."),
        edit("the query kept in place of the key", "key[None]", "query[None]", say="You keep the query. It asks once; what others will look at is the key."),
        edit("nothing new is kept", RETURNED, "return scores.softmax(dim=0) @ values, keys[:-1], values[:-1]", say="The output is right, but the newest key and value are not kept for the next step."),
        edit("only the newest is kept", RETURNED, "return scores.softmax(dim=0) @ values, keys[-1:], values[-1:]", say="The output is right, but what was kept before is lost for the next step."),
        edit("keys and values exchanged", RETURNED, "return scores.softmax(dim=0) @ values, values, keys", say="You return the values before the keys."),
        edit("the output alone", RETURNED, "return scores.softmax(dim=0) @ values", say="The longer keys and values are asked for, too: the next step needs them."),
        edit("features brought back", "@ values, keys", "@ keys, keys", say="You bring back keys. What is brought back are the values."),
    ],
)  # fmt: skip

# --- 12.4 --------------------------------------------------------------------------------------------------------


def peak_for_each_block(attention, num_tokens, sizes):
    """Size of a block -> the most bytes alive at once."""
    queries, keys, values = (torch.randn(num_tokens, 16) for _ in range(3))
    return {size: peak_bytes(lambda: attention(queries, keys, values, block=size)) for size in sizes}


def known_attention(queries: Tensor, keys: Tensor, values: Tensor, block: int = 50) -> Tensor:
    """Computes nothing, and needs 100 bytes a key of a block, and twice one byte a number of its output."""
    table = torch.zeros(100 * block, dtype=torch.int8)
    return torch.zeros(len(queries), keys.shape[1] ** 2, dtype=torch.int8) + table[0]


def needed(attention: object, num_tokens: int, sizes: list[int]) -> Tensor:
    return torch.tensor([100.0 * size + 2 * num_tokens * 16**2 for size in sizes])


def in_order(given: object, attention: object, num_tokens: int, sizes: list[int]) -> object:
    """The bytes of a dict in the order of the sizes."""
    if not isinstance(given, dict) or set(given) != set(sizes):
        kept = f"a dict with the keys {list(given)!r:.60}" if isinstance(given, dict) else f"a {type(given).__name__}"
        raise Wrong("wrong type", f"Your code returns {kept}; return a dict with the sizes {sizes} as its keys.")
    return torch.tensor([float(given[size]) for size in sizes])


MEASURED = "attention(queries, keys, values, block=size)"

peak_for_each_block = Exercise(
    peak_for_each_block,
    cases=[
        Case({"attention": known_attention, "num_tokens": 10, "sizes": [1, 2, 8]}),
        Case({"attention": known_attention, "num_tokens": 7, "sizes": [64, 4]}),
    ],
    truth=needed,
    view=in_order,
    tried="a function of which it is known how much memory it takes, with five sizes",
    see="Lab 12, “Exercise 12.4: an experiment on the size of a block”",
    mistakes=[
        edit("the inputs counted too", MEASURED, "attention(*(torch.randn(num_tokens, 16) for _ in range(3)), block=size)", say="The three inputs are made while the memory is counted. Make them before."),
        edit("one size for all", "block=size", "block=sizes[0]", say="All measurements are of the first size."),
        edit("one size for all", ", block=size", "", say="The size is never passed on, so every measurement is of the default."),
        edit("nothing was run", MEASURED, "attention", say="What you measure never calls the function."),
        edit("another unit", "peak_bytes(lambda: attention(queries, keys, values, block=size))", "peak_bytes(lambda: attention(queries, keys, values, block=size)) / 1e6", say="The numbers are not bytes."),
        edit("another unit", "peak_bytes(lambda: attention(queries, keys, values, block=size))", "peak_bytes(lambda: attention(queries, keys, values, block=size)) / 2**20", say="The numbers are not bytes."),
        edit("another unit", "peak_bytes(lambda: attention(queries, keys, values, block=size))", "peak_bytes(lambda: attention(queries, keys, values, block=size)) / 4", say="The numbers are not bytes."),
        edit("rows and columns exchanged", "torch.randn(num_tokens, 16)", "torch.randn(16, num_tokens)", say="The inputs have 16 rows. They should have num_tokens rows and 16 columns.") ,
        edit("as many columns as tokens", "torch.randn(num_tokens, 16)", "torch.randn(num_tokens, num_tokens)", say="The inputs should have 16 columns, whatever the number of tokens."),
        edit("how many blocks, not their size", "block=size", "block=-(-num_tokens // size)", say="You pass the number of blocks. `block` is the size of one."),
        edit("measured together", MEASURED, "[attention(queries, keys, values, block=one) for one in sizes]", say="Each measurement runs all the sizes, so all come out alike."),
        edit("each block of another size", "block=size", "block=size - 1", say="The sizes are off by one."),
        edit("run twice, and both kept", MEASURED, "[attention(queries, keys, values, block=size) for _ in range(2)]", say="The function runs twice, and what the first run returned is still alive in the second."),
    ],
)  # fmt: skip
