"""The checks of lab 7: features cut into heads, heads joined again, and the whole layer."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .exercise import Case, Exercise, draw, real_tokens
from .lab_05 import context_by_loops
from .mistakes import COUNTED, edit, refused, scales
from .run import Raised

ROOT = "Lab 5, “The scale”"
BATCH = "Lab 5, “A batch, and a bug”"
CUT = "Lab 7, “Cut the features into heads”"
LAYER = "Lab 7, “The layer”"
LOOKING = "Lab 7, “Three ways of looking”"
HIDES = "Lab 7, “What a mask hides”"

# --- 7.1 ---------------------------------------------------------------------------------------------------------


def cut_into_heads(projected, num_heads):
    """Cut the features of each token into heads, (batch, num_heads, tokens, head_dim)."""
    cut = projected.unflatten(2, (num_heads, -1))  # (batch, tokens, num_heads, head_dim)
    return cut.transpose(1, 2)  # (batch, num_heads, tokens, head_dim)


def slices(projected: Tensor, num_heads: int) -> Tensor:
    width = projected.shape[2] // num_heads
    return torch.stack([projected[:, :, head * width : (head + 1) * width] for head in range(num_heads)], dim=1)


SWAP = "cut.transpose(1, 2)"

cut_into_heads = Exercise(
    cut_into_heads,
    cases=[
        Case({"projected": draw(*shape), "num_heads": num_heads})
        for shape, num_heads in (((3, 3, 9), 3), ((2, 5, 6), 2), ((1, 4, 8), 4), ((2, 3, 5), 1), ((4, 1, 6), 3))
    ],
    truth=slices,
    tried="five batches in double precision, with one head to four, and one with as many heads as tokens and features "
    "in a head, slice by slice",
    see=CUT,
    mistakes=[
        edit("heads cut by a plain reshape", SWAP, "projected.reshape(len(cut), num_heads, cut.shape[1], -1)"),
        edit("features dealt out in turn", "(num_heads, -1)", "(-1, num_heads)", SWAP, "cut.permute(0, 3, 1, 2)"),
        edit("heads and tokens not swapped", SWAP, "cut"),
        edit("num_heads taken for head_dim", "(num_heads, -1)", "(-1, num_heads)"),
        edit("num_heads taken for head_dim", "(num_heads, -1)", "(-1, num_heads)", SWAP, "cut"),
        edit("heads and features swapped", SWAP, "cut.permute(0, 2, 3, 1)"),
        edit("heads and features swapped", SWAP, "cut.transpose(2, 3)"),
        edit("heads and features swapped", SWAP, "cut.transpose(1, 3)"),
        edit("batch and heads swapped", SWAP, "cut.permute(2, 0, 1, 3)"),
        edit("batch and heads swapped", SWAP, "cut.transpose(0, 2)"),
        edit("batch and tokens swapped", SWAP, "cut.transpose(0, 1)"),
        edit("batch and tokens swapped", SWAP, "cut.permute(1, 2, 0, 3)"),
        edit("batch and heads joined", SWAP, "cut.transpose(1, 2).flatten(0, 1)"),
        edit(
            "turned before the cut",
            None,
            "return projected.mT.reshape(len(projected), num_heads, projected.shape[1], -1)",
        ),
        edit("first head only", SWAP, "cut[:, :, 0]"),
        edit("first head only", SWAP, "cut[:, :, :1].transpose(1, 2)"),
        edit("tokens cut in place of features", "unflatten(2", "unflatten(1"),
        edit("tokens cut in place of features", "unflatten(2", "unflatten(1", SWAP, "cut"),
        edit("not cut at all", None, "return projected"),
    ],
)

# --- 7.2 ---------------------------------------------------------------------------------------------------------


def join_heads(heads):
    """Put the heads of each token side by side, (batch, tokens, num_heads * head_dim)."""
    return heads.transpose(1, 2).flatten(2)  # (batch, tokens, num_heads, head_dim), then the last two in one


JOINED = "heads.transpose(1, 2).flatten(2)"

join_heads = Exercise(
    join_heads,
    cases=[Case({"heads": draw(*shape)}) for shape in ((3, 3, 3, 3), (2, 4, 5, 3), (1, 2, 3, 4), (2, 1, 4, 5))],
    truth=lambda heads: torch.cat([heads[:, head] for head in range(heads.shape[1])], dim=2),
    tried="four batches in double precision, with one head to four, and one in which all sizes agree",
    see=CUT,
    mistakes=[
        edit("heads joined by a plain reshape", JOINED, "heads.reshape(heads.shape[0], heads.shape[2], -1)"),
        edit(
            "heads and tokens not swapped",
            ".transpose(1, 2)",
            "",
            say="The features are joined while the heads still "
            "stand before the tokens, so each token of each head is torn away from the others of its own. Swap heads "
            "and tokens back first.",
        ),
        edit(
            "features dealt out in turn",
            JOINED,
            "heads.permute(0, 2, 3, 1).flatten(2)",
            say="The features of the heads take turns. All features of head 0 stand first, then those of head 1.",
        ),
        *(
            edit("wrong axes swapped", JOINED, way)
            for way in (
                "heads.transpose(2, 3).reshape(heads.shape[0], heads.shape[2], -1)",
                *(f"heads.transpose({axes}).flatten(2)" for axes in ("2, 3", "1, 3", "0, 1", "0, 2")),
            )
        ),
        edit("view of a turned tensor", ".flatten(2)", ".view(heads.shape[0], heads.shape[2], -1)", see=LAYER),
        edit("tokens joined in place of features", JOINED, "heads.flatten(1, 2)"),
        edit("tokens joined in place of features", ".flatten(2)", ".flatten(1, 2)"),
        edit("tokens joined with their features", ".flatten(2)", ".flatten(1)"),
        edit("heads left apart", ".flatten(2)", ""),
        edit("heads left apart", ".flatten(2)", ".flatten(3)"),
        edit("heads averaged", JOINED, "heads.mean(dim=1)", see=LAYER),
        edit("heads added up", JOINED, "heads.sum(dim=1)", see=LAYER),
        edit("first head only", JOINED, "heads[:, 0]", see=LAYER),
    ],
)

# --- 7.3 ---------------------------------------------------------------------------------------------------------


class ManyHeads(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {embed_dim} features in equal parts.")
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.W_query = nn.Linear(embed_dim, embed_dim)
        self.W_key = nn.Linear(embed_dim, embed_dim)
        self.W_value = nn.Linear(embed_dim, embed_dim)
        self.W_output = nn.Linear(embed_dim, embed_dim)

    def cut(self, projected):
        heads = projected.unflatten(2, (self.num_heads, self.head_dim))  # (batch, tokens, num_heads, head_dim)
        return heads.transpose(1, 2)  # (batch, num_heads, tokens, head_dim)

    def forward(self, features, mask=None):  # (batch, tokens, embed_dim), (batch, tokens)
        queries = self.cut(self.W_query(features))  # (batch, num_heads, tokens, head_dim)
        keys = self.cut(self.W_key(features))  # (batch, num_heads, tokens, head_dim)
        values = self.cut(self.W_value(features))  # (batch, num_heads, tokens, head_dim)
        scores = queries @ keys.transpose(2, 3)  # (batch, num_heads, tokens, tokens)
        scores = scores / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
        weights = scores.softmax(dim=-1)
        joined = (weights @ values).transpose(1, 2).flatten(2)  # (batch, tokens, embed_dim)
        return self.W_output(joined)


PARTS = ("W_query", "W_key", "W_value", "W_output")
HEADS_OF_WIDTH = {9: 3, 6: 2, 8: 4, 5: 1}  # the truth knows inputs and maps only, so the width tells the heads


def heads_by_loops(
    features: Tensor,
    W_query: Callable,
    W_key: Callable,
    W_value: Callable,
    W_output: Callable,
    mask: Tensor | None = None,
) -> Tensor:
    """Text by text, head by head, word by word; what a padded place gives is nobody's business: NaN."""
    output = torch.full_like(features, math.nan)
    num_heads = HEADS_OF_WIDTH[features.shape[2]]
    for text, tokens in enumerate(features):
        real = list(range(len(tokens))) if mask is None else mask[text].nonzero().flatten().tolist()
        queries, keys, values = (W(tokens[real]).chunk(num_heads, dim=1) for W in (W_query, W_key, W_value))
        for place, word in enumerate(real):
            brought = [context_by_loops(q[place], k, v) for q, k, v in zip(queries, keys, values, strict=True)]
            output[text, word] = W_output(torch.cat(brought))
    return output


def refuses_uneven_heads(answer: Callable, go: Callable) -> None:
    for embed_dim, num_heads in ((9, 2), (4, 8)):
        made = go(answer, embed_dim, num_heads)
        if isinstance(made, nn.Module):  # it may still refuse when it is called
            called = go(made, draw(1, 3, embed_dim))
            made = called if isinstance(called, Raised) and called.kind == "ValueError" else made
        if isinstance(made, nn.Module):
            raise refused("num_heads not refused", LAYER)
        if made.kind != "ValueError":
            raise refused("refused with another error", LAYER)
        if not made.text:
            raise refused("refused without a sentence", LAYER)


def batch(shape: tuple[int, int, int], lengths: list[int], padding_first: bool = False, scale: float = 1.0) -> Case:
    """A batch with a mask. Each text has padding: else `~mask` hides whole texts, and any number can come of that."""
    mask = real_tokens([*lengths, shape[1]])[:-1]
    inputs = {"features": scale * draw(*shape), "mask": mask.flip(1) if padding_first else mask}
    return Case(inputs, sizes=(shape[2], HEADS_OF_WIDTH[shape[2]]))


SCORES, HIDE = "queries @ keys.transpose(2, 3)", 'scores.masked_fill(~mask[:, None, None, :], float("-inf"))'
CUTS, JOIN = "heads.transpose(1, 2)", "(weights @ values).transpose(1, 2).flatten(2)"
SOFT = "scores.softmax(dim=-1)"
RESHAPED = "heads.reshape(len(heads), self.num_heads, -1, self.head_dim)"
PLAIN_JOIN = "(weights @ values).reshape(features.shape)"
REFUSAL = """if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {embed_dim} features in equal parts.")
        """

many_heads = Exercise(
    ManyHeads,
    name="many_heads",
    cases=[
        batch((3, 3, 9), [2, 1, 2]),
        Case({"features": draw(2, 5, 9)}, sizes=(9, 3)),
        Case({"features": draw(2, 4, 6), "mask": None}, sizes=(6, 2)),
        batch((2, 5, 6), [3, 4]),
        batch((4, 4, 8), [1, 3, 2, 3], padding_first=True),
        batch((1, 3, 5), [2]),
        batch((12, 3, 6), [1] * 8 + [2] * 4, scale=12.0),
    ],
    truth=heads_by_loops,
    parts=PARTS,
    widths=lambda embed_dim, num_heads: dict.fromkeys(PARTS, (embed_dim, embed_dim)),
    also=refuses_uneven_heads,
    tried="seven batches in double precision, with padding and without, one head to four, sizes that differ and "
    "sizes that agree, and large scores, against loops; and numbers of heads that do not fit",
    see=LAYER,
    mistakes=[
        *scales("self.head_dim", ROOT, features="features.shape[2]", tokens="features.shape[1]"),
        edit("the number of heads in the scale", "sqrt(self.head_dim)", "sqrt(self.num_heads)", see=ROOT),
        edit("no output projection", "self.W_output(joined)", "joined"),
        edit("no transpose at all", "keys.transpose(2, 3)", "keys"),
        *(
            edit(
                "transpose of the wrong axes",
                *("keys.transpose(2, 3)", turned),
                say="The keys are transposed along the wrong axes; `.T` turns all four around. Swap the last two only.",
                see=BATCH,
            )
            for turned in ("keys.permute(3, 2, 1, 0)", "keys.transpose(1, 2)", "keys.transpose(1, 3)")
        ),
        edit("a reshape for a transpose", "keys.transpose(2, 3)", "keys.reshape(*keys.shape[:2], self.head_dim, -1)"),
        edit("a reshape for a transpose", "keys.transpose(2, 3)", "keys.view(*keys.shape[:2], self.head_dim, -1)"),
        edit("queries and keys exchanged", SCORES, "keys @ queries.transpose(2, 3)"),
        edit("one matrix for both", "self.W_query(features)", "self.W_key(features)"),
        edit("one matrix for both", "self.W_key(features)", "self.W_query(features)"),
        edit("one matrix for keys and values", "self.W_value(features)", "self.W_key(features)"),
        edit("one matrix for keys and values", "self.W_key(features)", "self.W_value(features)"),
        edit("features brought back", "self.W_value(features)", "features"),
        edit("queries brought back", "self.W_value(features)", "self.W_query(features)"),
        *(
            edit("softmax over the wrong axis", *texts, see=LOOKING)
            for texts in (
                ("dim=-1", "dim=2"),
                ("dim=-1", "dim=2", 'float("-inf")', "-1e9"),
                ("dim=-1)", "dim=2).nan_to_num()"),
            )
        ),
        *(
            edit(name, *texts, see=LOOKING)
            for name, axis in (("softmax over the heads", "dim=1"), ("softmax over the batch", "dim=0"))
            for texts in (("dim=-1", axis), ("dim=-1", axis, 'float("-inf")', "-1e9"))
        ),
        edit("no softmax", HIDE, "scores * mask[:, None, None, :]", SOFT, "scores"),
        edit("no softmax", SOFT, "scores"),
        edit("no softmax", "if mask is not None:", "if False:", SOFT, "scores"),
        edit(
            "the scale after the softmax", " / math.sqrt(self.head_dim)", "", SOFT, f"{SOFT} / math.sqrt(self.head_dim)"
        ),
        edit("sigmoid instead of softmax", SOFT, "scores.sigmoid()"),
        edit("weights not used", "weights @ values", "values"),
        edit("weighted with the transposed weights", "(weights @", "(weights.transpose(2, 3) @"),
        edit("the mask has no default", "mask=None", "mask", see=HIDES),
        *(
            edit(
                "no mask is not expected",
                "if mask is not None:",
                "if True:",
                "~mask[:, None, None, :]",
                hidden,
                see=HIDES,
            )
            for hidden in ("~mask[:, None, None, :]", "(~mask)[:, None, None]", "~mask.unsqueeze(1).unsqueeze(2)")
        ),
        edit("no mask", HIDE, "scores", see=HIDES),
        edit("the mask on those who ask", "[:, None, None, :]", "[:, None, :, None]", see=HIDES),
        edit("the mask on those who ask", '[:, None, None, :], float("-inf")', "[:, None, :, None], -1e9", see=HIDES),
        edit(
            "NaN in rows of padding",
            "mask[:, None, None, :]",
            "(mask[:, None, None, :] & mask[:, None, :, None])",
            see=HIDES,
        ),
        *(
            edit(
                "mask after the softmax",
                HIDE,
                "scores",
                SOFT,
                f"{SOFT} * (1.0 if mask is None else {after})",
                see=HIDES,
            )
            for after in ("mask[:, None, None, :]", "mask[:, None, None, :] * mask[:, None, :, None]")
        ),
        edit("the mask the wrong way round", "~mask", "mask", see=HIDES),
        edit("the mask the wrong way round", "~mask", "mask", 'float("-inf")', "-1e9", see=HIDES),
        edit("padding scored zero", 'float("-inf")', "0.0", see=HIDES),
        edit("the mask added as it is", HIDE, "scores + mask[:, None, None, :]", see=HIDES),
        *(
            edit("padding hidden with too small a number", 'float("-inf")', number, see=HIDES)
            for number in ("-100.0", "-50.0", "-20.0", "-10.0")
        ),
        edit("zero times infinity", HIDE, 'scores + ~mask[:, None, None, :] * float("-inf")', see=HIDES),
        *(
            edit(
                "the axis of the mask is lost",
                *(HIDE, f"scores.masked_fill({hidden}, float('-inf'))"),
                say="The mask (batch, tokens) is laid over (tokens, tokens), or over batch and heads. Give it axes of "
                "length 1 for the heads and for the words that ask.",
                see=HIDES,
            )
            for hidden in ("~mask", "~mask[:, None, :]", "~mask[:, :, None]")
        ),
        edit("the mask only counted", "scores = scores.m", f"mask = {COUNTED}; scores = scores.m", see=HIDES),
        edit("heads cut and joined by a plain reshape", CUTS, RESHAPED, JOIN, PLAIN_JOIN, see=CUT),
        edit("heads cut by a plain reshape", CUTS, RESHAPED, see=CUT),
        edit("heads joined by a plain reshape", JOIN, PLAIN_JOIN, see=CUT),
        edit("heads and tokens not swapped", CUTS, "heads", ".transpose(1, 2).flatten", ".flatten", see=CUT),
        edit("heads and tokens not swapped", ".transpose(1, 2).flatten", ".flatten", see=CUT),
        edit("heads and tokens not swapped", CUTS, "heads", see=CUT),
        *(
            edit(
                "features dealt out in turn",
                "(self.num_heads, self.head_dim)",
                "(self.head_dim, self.num_heads)",
                *more,
                see=CUT,
            )
            for more in (
                (CUTS, "heads.permute(0, 3, 1, 2)"),
                (CUTS, "heads.permute(0, 3, 1, 2)", JOIN, "(weights @ values).permute(0, 2, 3, 1).flatten(2)"),
            )
        ),
        edit("features dealt out in turn", JOIN, "(weights @ values).permute(0, 2, 3, 1).flatten(2)", see=CUT),
        edit(
            "num_heads taken for head_dim",
            "(self.num_heads, self.head_dim)",
            "(self.head_dim, self.num_heads)",
            see=CUT,
        ),
        edit("view of a turned tensor", ".flatten(2)", ".view(*features.shape)"),
        *(
            edit(
                "not cut at all",
                *(f"self.cut(self.{name}(features))", f"self.{name}(features)"),
                say="Queries, keys and values are all cut into heads. One of them is not.",
                see=CUT,
            )
            for name in ("W_query", "W_key", "W_value")
        ),
        edit("one head only", "head_dim = num_heads, embed_dim // num_heads", "head_dim = 1, embed_dim", see=CUT),
        edit(
            "num_heads taken for head_dim",
            *("num_heads, embed_dim // num_heads\n", "embed_dim // num_heads, num_heads\n"),
            see=CUT,
        ),
        edit("tokens cut in place of features", "unflatten(2", "unflatten(1", see=CUT),
        edit("one head only", "(self.num_heads, self.head_dim)", "(1, -1)", see=CUT),
        edit("a residual connection", "return self.W_output(joined)", "return features + self.W_output(joined)"),
        edit("weights returned too", "return self.W_output(joined)", "return self.W_output(joined), weights"),
        edit("num_heads not refused", REFUSAL, ""),
        edit("refused with another error", "ValueError", "RuntimeError"),
        edit(
            "refused without a sentence",
            'raise ValueError(f"{num_heads} heads cannot share {embed_dim} features in equal parts.")',
            "raise ValueError",
        ),
    ],
)
