"""The checks of labs 1 to 4: a plausible wrong answer hears its own mistake, a right one is correct in any style.

A wrong answer is the lab's folded solution with one thing changed, as a reader would get it wrong.
"""

import math
import re
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from shared import check
from shared.model import masked_softmax

LABS = sorted((Path(__file__).resolve().parents[2] / "labs").glob("0[1-4]_*.md"))
START = re.compile(r"^exercise: (\w+)\n---\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOLUTION = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def starts_and_solutions() -> tuple[dict[str, str], dict[str, str]]:
    """The starting cell and the folded solution of each exercise."""
    starts, solutions = {}, {}
    for lab in LABS:
        text = lab.read_text()
        for start in START.finditer(text):
            starts[start[1]] = start[2]
            solutions[start[1]] = SOLUTION.search(text, start.end())[1]
    return starts, solutions


STARTS, SOLUTIONS = starts_and_solutions()
NAMES = {"torch": torch, "nn": nn, "math": math, "masked_softmax": masked_softmax}


def answer(code: str):
    """The function or class that a cell defines."""
    names = dict(NAMES)
    exec(compile(code, "<cell>", "exec"), names)
    (name,) = set(names) - set(NAMES) - {"__builtins__"}
    return names[name]


def ask(name: str, code: str) -> check.Verdict:
    begin = time.perf_counter()
    verdict = getattr(check, name)(answer(code))
    # A second is the promise, a hundredth the rule; but the machine that runs the tests may be busy with others.
    assert time.perf_counter() - begin < 10, "the check took too long"
    return verdict


# --- wrong answers -----------------------------------------------------------------------------------------------

COUNTED = "torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)"

# In each: (the mistake's name, what stands in the solution, what stands in its place), or more such pairs.
MEAN = [
    (
        "padding left in the mean",
        "return total / mask.sum(dim=1, keepdim=True).clamp(min=1)",
        "return features.mean(1)",
    ),
    ("padding left in the sum", "(features * mask.unsqueeze(2))", "features"),
    ("divided by all places", "mask.sum(dim=1, keepdim=True).clamp(min=1)", "mask.shape[1]"),
    ("divided by all places", "mask.sum(dim=1, keepdim=True).clamp(min=1)", "len(mask[0])"),
    ("not divided", "total / mask.sum(dim=1, keepdim=True).clamp(min=1)", "total"),
    ("one count for all texts", "mask.sum(dim=1, keepdim=True)", "mask.sum()"),
    ("the mask the wrong way round", "total = (features", "mask = ~mask; total = (features"),
    ("mean over the batch", "return total / mask.sum(dim=1, keepdim=True).clamp(min=1)", "return features.mean(0)"),
    ("mean over the features", "return total / mask.sum(dim=1, keepdim=True).clamp(min=1)", "return features.mean(2)"),
    ("NaN for a text of padding", ".clamp(min=1)", ""),
    (
        "the mask only counted",
        None,
        "\n    return torch.stack([t[:n].sum(0) / max(n, 1) for t, n in zip(features, mask.sum(1).tolist())])\n",
    ),
    ("changes its input", "total = (", "features[~mask] = 0; total = ("),
    ("wrong shape", "keepdim=True).clamp(min=1)", "keepdim=True).clamp(min=1)[:, None]"),
    ("raises", "mask.unsqueeze(2)", "mask"),
    ("wrong type", ".clamp(min=1)", ".clamp(min=1)).numpy()", "return total", "return (total"),
    ("other numbers", "min=1", "min=2"),
]

POOL = [
    ("the mask only counted", "scores = scores.masked", f"mask = {COUNTED}; scores = scores.masked"),
    ("changed in place", "scores.softmax(dim=1) * mask", "scores.softmax(dim=1); weights *= mask"),
    ("returns nothing", "return (weights", "(weights"),
    ("returns nothing", ".sum(dim=1), weights", ".sum(dim=1), None"),
    ("softmax over the wrong axis", "scores.softmax(dim=1)", "scores.softmax(dim=0)"),
    ("no mask", "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)\n", "\n", "dim=1) * mask", "dim=1)"),
    ("mask after the softmax", "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)\n", "\n"),
    ("the mask the wrong way round", "masked_fill(~mask", "masked_fill(mask"),
    ("the mask the wrong way round", "masked_fill(~mask", "masked_fill(mask", "dim=1) * mask", "dim=1)"),
    ("padding scored zero", "torch.finfo(scores.dtype).min", "0.0"),
    ("padding scored zero", "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)", "scores * mask"),
    ("the mask added as it is", "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)", "scores + mask.double()"),
    ("no softmax", "scores.softmax(dim=1) * mask", "scores"),
    ("sigmoid instead of softmax", "scores.softmax(dim=1)", "torch.sigmoid(scores)"),
    ("divided once too often", ".sum(dim=1), weights", ".mean(dim=1), weights"),
    ("weights not used", "(weights.unsqueeze(2) * features).sum", "features.mean"),
    ("scores returned instead of weights", ".sum(dim=1), weights", ".sum(dim=1), scores"),
    ("NaN for a text of padding", "torch.finfo(scores.dtype).min", "-torch.inf"),
    ("NaN for a text of padding", "torch.finfo(scores.dtype).min", "-torch.inf", "dim=1) * mask", "dim=1)"),
    ("weight for a text of padding", "scores.softmax(dim=1) * mask", "scores.softmax(dim=1)"),
    (
        "weight for a text of padding",
        "scores.softmax(dim=1) * mask",
        "scores.softmax(dim=1)",
        "torch.finfo(scores.dtype).min",
        "-1e9",
    ),
    ("parameters created inside forward", "self.score(features)", "nn.Linear(features.shape[2], 1)(features)"),
    (
        "weights not registered",
        "nn.Linear(dim, 1)",
        "torch.randn(dim, 1)",
        "self.score(features)",
        "(features @ self.score)",
    ),
    ("super().__init__() is missing", "super().__init__()", "pass"),
    (
        "cut off from the gradient",
        "scores = self.score(features)",
        "scores = self.score(features).detach()",
        ".sum(dim=1), weights",
        ".sum(dim=1).detach(), weights",
    ),
    ("a linear map is missing", "self.score", "self.energy"),
    ("wrong type", ".sum(dim=1), weights", ".sum(dim=1)"),
    ("wrong shape", ".sum(dim=1), weights", ".sum(dim=1, keepdim=True), weights"),
    ("other numbers", "weights = scores", "weights = 2 * scores"),
]

LOST = [
    ("a full window counted as room", ">=", ">"),
    ("cut reviews counted as lost", "(distractor >= window)", "(distractor + labelled > window)"),
    ("the two reviews exchanged", "distractor >= window", "labelled >= window"),
    ("a count instead of a share", ".mean()", ".sum()"),
    ("the share that stays", ">=", "<"),
    ("the window is not used", ">= window", ">= 256"),
    (
        "words counted instead of reviews",
        "(distractor >= window).mean()",
        "1 - (window - distractor).clip(0, labelled).sum() / labelled.sum()",
    ),
    ("wrong type", ".mean()", ""),
    ("other numbers", ".mean()", ".mean() / 2"),
]

FOLD = [
    ("the key's bias forgotten", "b_key @ query + b_query", "b_query"),
    ("the query's bias forgotten", "b_key @ query + b_query", "b_key @ query"),
    ("both biases forgotten", "b_key @ query + b_query", "torch.tensor(0.0)"),
    ("the key's bias never met the query", "b_key @ query", "b_key.sum()"),
    ("the query left out of w", "W_key @ query  ", "W_key.sum(dim=1)  "),
    ("the product is not summed", "W_key @ query  ", "W_key * query  "),
    ("the matrix the wrong way round", "W_key @ query  ", "W_key.T @ query  "),
    ("the matrix the wrong way round", "W_key @ query  ", "query @ W_key  "),
    ("w is a column", "W_key @ query  ", "W_key @ query[:, None]  "),
    ("wrong type", "return w, b", "return w"),
    ("other numbers", "return w, b", "return -w, b"),
]

SPLIT = [
    ("not divided by q · q", " / (query @ query)", ""),
    (
        "divided by an entry of q",
        None,
        "\n    return torch.cat([w[:, None] / query[0], w.new_zeros(6, len(query) - 1)], dim=1)\n",
    ),
    ("divided by an entry of q", "torch.outer(w, query) / (query @ query)", "w[:, None] / query / len(query)"),
    ("divided by the length of q", "(query @ query)", "query.norm()"),
    ("each column brings back all of w", "(query @ query)", "(query @ query) * len(query)"),
    ("the query is not undone", "torch.outer(w, query) / (query @ query)", "w[:, None].repeat(1, len(query))"),
    ("nothing comes back", "torch.outer(w, query)", "0 * torch.outer(w, query)"),
    ("the matrix the wrong way round", "torch.outer(w, query)", "torch.outer(query, w)"),
    ("wrong shape", "torch.outer(w, query) / (query @ query)", "w / (query @ query)"),
    ("returns nothing", "return torch.outer(w, query)", "return None  #"),
    ("wrong type", "return torch.outer(w, query) / (query @ query)", "return [0.0]"),
    ("other numbers", "return", "return -"),
]

COUNT = [
    ("the query forgotten", "key + query - single", "key - single"),
    ("biases not counted", "bias * key_dim", "0"),
    ("the single map's bias forgotten", "dim + bias\n    key =", "dim\n    key ="),
    ("the key's bias has the wrong width", "bias * key_dim", "bias * dim"),
    ("the single map not taken off", " - single", ""),
    ("the key matrix taken as d by d", "dim * key_dim + ", "dim * dim + "),
    ("the difference turned round", "return key + query - single", "return single - key - query"),
    ("other numbers", "- single", "- 2 * single"),
    ("wrong type", "return key", "return str(key), key"),
]

MIDDLE = [
    ("the scale forgotten", " / math.sqrt(key_dim)", ""),
    ("d instead of k in the scale", "weight_query.shape[0]", "weight_query.shape[1]"),
    ("no root in the scale", "math.sqrt(key_dim)", "key_dim"),
    ("queries and keys exchanged", "weight_query.T @ weight_key /", "weight_key.T @ weight_query /"),
    ("the trap of the transposed matrix", "weight_query.T @ weight_key /", "weight_query @ weight_key.T /"),
    ("no transpose at all", "weight_query.T @", "weight_query @"),
    ("one matrix for both", "weight_query.T @ weight_key /", "weight_query.T @ weight_query /"),
    ("other numbers", "math.sqrt(key_dim)", "math.sqrt(key_dim + 1)"),
]

# What readers get wrong in any attention layer; `{values}` is what the layer brings back.
LINE = "scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])"
SOFT = "weights = masked_softmax(scores, mask.unsqueeze(1))"
HIDDEN = "scores.masked_fill(~mask.unsqueeze(1), -torch.inf)"
LAYER = [
    ("the mask only counted", SOFT, f"mask = {COUNTED}; {SOFT}"),
    ("returns nothing", "return weights @", "weights @"),
    ("returns nothing", "return weights @ {values}, weights", "return weights @ {values}, None"),
    ("drawn anew in each call", "return weights @", "return nn.functional.dropout(weights, 0.5) @"),
    ("cut off from the gradient", SOFT, f"{SOFT}.detach()"),
    ("changed in place", SOFT, f"{SOFT}; weights /= weights.sum(dim=2, keepdim=True)"),
    ("softmax over the wrong axis", SOFT, f"weights = {HIDDEN}.softmax(dim=1)"),
    (
        "softmax over the wrong axis",
        SOFT,
        "weights = scores.masked_fill(~mask.unsqueeze(2), -torch.inf).softmax(dim=1)",
    ),
    ("softmax over the wrong axis", SOFT, "weights = masked_softmax(scores.mT, mask.unsqueeze(1)).mT"),
    ("softmax over the batch", SOFT, f"weights = {HIDDEN}.softmax(dim=0)"),
    ("no scale", " / math.sqrt(keys.shape[2])", ""),
    ("d instead of k in the scale", "math.sqrt(keys.shape[2])", "features.shape[-1] ** 0.5"),
    ("the number of tokens in the scale", "math.sqrt(keys.shape[2])", "math.sqrt(keys.shape[1])"),
    ("no root in the scale", "math.sqrt(keys.shape[2])", "keys.shape[2]"),
    ("multiplied by the scale", "/ math.sqrt(keys.shape[2])", "* math.sqrt(keys.shape[2])"),
    ("queries and keys exchanged", "queries @ keys.transpose(1, 2)", "keys @ queries.transpose(1, 2)"),
    ("queries and keys exchanged", LINE, LINE + "; scores = scores.mT"),
    ("one matrix for both", "queries = self.W_query", "queries = self.W_key"),
    (
        "one question for all",
        "queries = self.W_query(features)",
        "queries = self.W_query(features.mean(1, keepdim=True)).expand(-1, features.shape[1], -1)",
    ),
    ("transpose of the wrong axes", "keys.transpose(1, 2)", "keys.T"),
    ("transpose of the wrong axes", "keys.transpose(1, 2)", "keys.transpose(0, 1)"),
    ("transpose of the wrong axes", "keys.transpose(1, 2)", "keys.transpose(0, 2)"),
    ("transpose of the wrong axes", "keys.transpose(1, 2)", "keys"),
    ("transpose of the wrong axes", "keys.transpose(1, 2)", "keys.view(len(keys), -1, keys.shape[1])"),
    ("no mask", "mask.unsqueeze(1))", "None)"),
    ("the mask on those who ask", "mask.unsqueeze(1))", "mask.unsqueeze(2))"),
    ("mask after the softmax", SOFT, "weights = scores.softmax(dim=2) * mask.unsqueeze(1)"),
    ("the mask the wrong way round", SOFT, f"weights = {HIDDEN}.softmax(dim=2)".replace("~", "")),
    ("the mask the wrong way round", SOFT, "weights = (scores - 1e9 * mask.unsqueeze(1)).softmax(dim=2)"),
    ("padding scored zero", SOFT, "weights = (scores * mask.unsqueeze(1)).softmax(dim=2)"),
    ("padding scored zero", SOFT, "weights = scores.masked_fill(~mask.unsqueeze(1), 0).softmax(dim=2)"),
    ("the mask added as it is", SOFT, "weights = (scores + mask.unsqueeze(1)).softmax(dim=2)"),
    ("no softmax", SOFT, "weights = scores"),
    ("weighted with the transposed weights", "return weights @", "return weights.transpose(1, 2) @"),
    (
        "averaged over the tokens",
        "return weights @ {values}, weights",
        "return (weights @ {values}).mean(dim=1), weights",
    ),
    ("scores returned instead of weights", "return weights @ {values}, weights", "return weights @ {values}, scores"),
    ("keys brought back", "return weights @ {values}", "return weights @ keys"),
    (
        "parameters created inside forward",
        "self.W_query(features)",
        "nn.Linear(features.shape[2], self.W_key.out_features)(features)",
    ),
    (
        "weights not registered",
        "self.W_key = nn.Linear(dim, key_dim, bias=False)",
        "self.W_key = torch.randn(dim, key_dim)",
        "self.W_key(features)",
        "features @ self.W_key",
    ),
    (
        "weights not registered",
        "self.W_key = nn.Linear(dim, key_dim, bias=False)",
        "self.hidden = [nn.Linear(dim, key_dim, bias=False)]",
        "keys = self.W_key(features)",
        "self.W_key = self.hidden[0].weight.data.T; keys = features @ self.W_key",
    ),
    ("super().__init__() is missing", "super().__init__()", "pass"),
    ("a linear map is missing", "self.W_query", "self.queries"),
    (
        "cut off from the gradient",
        "return weights @ {values}, weights",
        "return (weights @ {values}).detach(), weights",
    ),
    ("not a number", "self.W_key(features)", "self.W_key(features) / 0"),
    ("raises", "mask.unsqueeze(1))", "mask)"),
    ("wrong type", "return weights @ {values}, weights", "return weights @ {values}"),
    ("other numbers", "math.sqrt(keys.shape[2])", "math.sqrt(keys.shape[2] + 1)"),
]

QUESTION = [
    ("the scale not undone", "/ math.sqrt(key_dim)", "/ key_dim"),
    ("the scale undone twice", "torch.outer(w, b_query) / math.sqrt(key_dim)", "torch.outer(w, b_query)"),
    (
        "every column asks",
        "torch.outer(w, b_query) / math.sqrt(key_dim)",
        "torch.outer(w, b_query) * math.sqrt(key_dim)",
    ),
    ("nobody asks", "torch.ones(key_dim)", "torch.zeros(key_dim)"),
    ("the matrix still asks", "torch.zeros(len(w), key_dim)", "torch.eye(len(w), key_dim)"),
    (
        "the sign turned round",
        "b_query = torch.ones(key_dim)",
        "b_query = torch.ones(key_dim)",
        "return W_query, b_query",
        "return W_query, -b_query",
    ),
    ("wrong shape", "torch.zeros(len(w), key_dim)", "torch.zeros(len(w), len(w))"),
    ("wrong type", "return W_query, b_query, W_key", "return W_query, W_key"),
    ("other numbers", "math.sqrt(key_dim)", "math.sqrt(key_dim + 1)"),
]

EARLY = [
    ("the mask only counted", "share = mask", f"mask = {COUNTED}; share = mask"),
    ("rows of padding counted", "mask / mask.sum(dim=1, keepdim=True)", "torch.ones_like(mask) / mask.shape[1]"),
    ("rows of padding counted", "(share.unsqueeze(2) * weights).sum(dim=1)", "weights.mean(dim=1)"),
    ("divided by all places", "mask.sum(dim=1, keepdim=True)", "mask.shape[1]"),
    (
        "padding left in the sum",
        "mask / mask.sum(dim=1, keepdim=True)",
        "(1 / mask.sum(dim=1, keepdim=True)).expand(mask.shape)",
    ),
    ("not divided", " / mask.sum(dim=1, keepdim=True)", ""),
    ("one count for all texts", "mask.sum(dim=1, keepdim=True)", "mask.sum()"),
    ("row means instead of column means", "(share.unsqueeze(2) * weights).sum(dim=1)", "weights.mean(dim=2)"),
    ("row means instead of column means", "(share.unsqueeze(2) * weights).sum(dim=1)", "share"),
    ("one row read", "(share.unsqueeze(2) * weights).sum(dim=1)", "weights[:, 0]"),
    ("the mask the wrong way round", "share = mask", "mask = ~mask; share = mask"),
    (
        "the average taken late",
        "return (row.unsqueeze(2) * values).sum(dim=1)",
        "return (share.unsqueeze(2) * (weights @ values)).sum(dim=1)",
    ),
    (
        "the average taken late",
        "return (row.unsqueeze(2) * values).sum(dim=1)",
        "return torch.einsum('bi,bid->bd', share, torch.einsum('bij,bjd->bid', weights, values))",
    ),
    (
        "the average taken late",
        "return (row.unsqueeze(2) * values).sum(dim=1)",
        "every = (weights.unsqueeze(3) * values.unsqueeze(1)).sum(dim=2); return (share.unsqueeze(2) * every).sum(1)",
    ),
    (
        "the average taken late",
        "return (row.unsqueeze(2) * values).sum(dim=1)",
        "return torch.stack([torch.tensordot(A, V, 1)[m].mean(0) for A, V, m in zip(weights, values, mask)])",
    ),
    ("wrong shape", ".sum(dim=1)  # (batch, value_dim)", ""),
    ("other numbers", "return ", "return 2 * "),
]

WHOLE = """
    queries, keys = features @ W_query, features @ W_key
    scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])
    output = masked_softmax(scores, mask.unsqueeze(1)) @ (features @ W_value)
    return output[torch.arange(len(place)), place]
"""
FUSED = """
    maps = (features @ W for W in (W_query, W_key, W_value))
    output = nn.functional.scaled_dot_product_attention(*maps, attn_mask=mask.unsqueeze(1))
    return output[torch.arange(len(place)), place]
"""
ROW = [
    ("the mask only counted", "masked_softmax(scores, mask)", f"masked_softmax(scores, {COUNTED})"),
    ("all rows computed", None, FUSED),
    ("the first row read", "features[torch.arange(len(place)), place]", "features[:, 0]"),
    ("the last row read", "features[torch.arange(len(place)), place]", "features[:, -1]"),
    ("one place for all texts", "features[torch.arange(len(place)), place]", "features[:, place[0]]"),
    ("every place in every text", None, WHOLE.replace("torch.arange(len(place))", ":")),
    ("all rows averaged", None, WHOLE.replace("output[torch.arange(len(place)), place]", "output.mean(dim=1)")),
    (
        "the mark's column read",
        "queries = marks @ W_query",
        "queries = marks @ W_key",
        "keys = features @ W_key",
        "keys = features @ W_query",
    ),
    ("the weights of the mark's column", None, WHOLE.replace("mask.unsqueeze(1)) @", "mask.unsqueeze(1)).mT @")),
    (
        "the mark's own value",
        "return (weights.unsqueeze(2) * (features @ W_value)).sum(dim=1)",
        "return marks @ W_value",
    ),
    ("no scale", " / math.sqrt(keys.shape[2])", ""),
    ("d instead of k in the scale", "keys.shape[2]", "features.shape[2]"),
    ("no mask", "masked_softmax(scores, mask)", "scores.softmax(dim=1)"),
    ("mask after the softmax", "masked_softmax(scores, mask)", "scores.softmax(dim=1) * mask"),
    ("padding scored zero", "masked_softmax(scores, mask)", "(scores * mask).softmax(dim=1)"),
    ("features brought back", "(features @ W_value)", "features"),
    ("all rows computed", None, WHOLE),
    ("changes its input", "keys = features @ W_key", "keys = features @ W_key; features *= mask.unsqueeze(2)"),
    ("raises", "keys @ queries.unsqueeze(2)", "keys @ queries"),
    ("other numbers", "math.sqrt(keys.shape[2])", "math.sqrt(keys.shape[2] + 1)"),
]


def layer_with(values: str, *more) -> list:
    """The wrong layers for a solution that brings back what is called `values`."""
    return [tuple(part.replace("{values}", values) for part in wrong) for wrong in LAYER] + list(more)


WRONG = {
    "masked_mean": MEAN,
    "attention_pool": POOL,
    "lost_to_the_cut": LOST,
    "redundant_key": FOLD,
    "split_the_map": SPLIT,
    "extra_parameters": COUNT,
    "one_matrix": MIDDLE,
    "add_queries": layer_with(
        "features",
        ("one map for two", "self.W_query = nn.Linear(dim, key_dim, bias=False)", "self.W_query = self.W_key"),
        (
            "each token asks only itself",
            LINE,
            "scores = (queries * keys).sum(dim=2) / math.sqrt(keys.shape[2])",
            SOFT,
            "weights = masked_softmax(scores, mask)",
            "return weights @ features",
            "return (weights.unsqueeze(2) * features).sum(dim=1)",
        ),
    ),
    "one_question": QUESTION,
    "whole_layer": layer_with(
        "values",
        ("features brought back", "return weights @ values", "return weights @ features"),
        ("values not weighted", "return weights @ values", "return values"),
        ("wrong width", "nn.Linear(dim, value_dim", "nn.Linear(dim, dim"),
        ("one map for two", "self.W_key = nn.Linear(dim, key_dim, bias=False)", "self.W_key = self.W_query"),
        ("a residual connection", "return weights @ values", "return values + weights @ values"),
        ("a residual connection", "return weights @ values", "return features + weights @ values"),
    ),
    "average_early": EARLY,
    "marks_row": ROW,
}


def changed(name: str, old: str | None, new: str, *more: str) -> str:
    """The solution with one part after the other exchanged; None stands for all of its body."""
    code = SOLUTIONS[name]
    if old is None:
        return code[: code.index('"""', code.index('"""') + 3) + 3] + new
    pairs = [old, new, *more]
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in code, f"{old!r} is no part of the solution of {name}"
        code = code.replace(old, new)
    return code


@pytest.mark.parametrize(
    "name, wrong",
    [(name, wrong) for name in WRONG for wrong in WRONG[name]],
    ids=lambda x: x if isinstance(x, str) else x[0],
)
def test_a_wrong_answer_hears_its_own_mistake(name, wrong):
    verdict = ask(name, changed(name, *wrong[1:]))
    assert (verdict.state, verdict.mistake) == ("wrong", wrong[0]), repr(verdict)
    known = {mistake.name: mistake for mistake in getattr(check, name).mistakes}
    if wrong[0] in known:
        assert repr(verdict).endswith(f"Read again: {known[wrong[0]].section}.")


def test_every_mistake_that_a_check_knows_was_made_here():
    for name, wrongs in WRONG.items():
        assert {mistake.name for mistake in getattr(check, name).mistakes} <= {wrong[0] for wrong in wrongs}, name


def test_layers_know_eight_mistakes_and_functions_four():
    for name, wrongs in WRONG.items():
        least = 8 if "class" in SOLUTIONS[name] else 4
        assert len({wrong[0] for wrong in wrongs}) >= least, name


def test_what_a_check_points_to_is_a_heading_of_the_labs():
    headings = {
        f"Lab {int(lab.name[:2])}, “{heading}”"
        for lab in LABS
        for heading in re.findall(r"^###? (.*)$", lab.read_text().replace("$", ""), re.MULTILINE)
    } | {"Lab 3, question 2"}
    for name in WRONG:
        for mistake in getattr(check, name).mistakes:
            assert mistake.section in headings, (name, mistake.name)


# --- right answers in other styles -------------------------------------------------------------------------------

RIGHT = {
    "masked_mean": """
def by_loops(features, mask):
    means = []
    for text, real in zip(features, mask):
        kept = [token for token, is_real in zip(text, real) if is_real]
        means.append(sum(kept) / len(kept) if kept else torch.zeros(features.shape[2]))
    return torch.stack(means)
---
def by_einsum(features, mask):
    return torch.einsum("btd,bt->bd", features, mask.to(features)) / mask.sum(1).clamp(min=1)[:, None]
---
def by_matrix_product(features, mask):
    share = mask.float() / mask.float().sum(dim=1, keepdim=True).clamp(min=1)
    return (share.unsqueeze(1) @ features).squeeze(1)
---
def by_where(features, mask):
    return torch.where(mask[..., None], features, 0).sum(1) / (mask.sum(1, keepdim=True) + 1e-9)
---
def by_nanmean(features, mask):
    return features.masked_fill(~mask[..., None], torch.nan).nanmean(dim=1).nan_to_num()
""",
    "attention_pool": """
class WithParameter(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Parameter(torch.randn(dim, 1))

    def forward(self, features, mask):
        scores = torch.einsum("btd,do->bt", features, self.score)
        weights = scores.masked_fill(~mask, -1e9).softmax(-1) * mask
        return torch.einsum("bt,btd->bd", weights, features), weights
---
class WithVector(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Parameter(torch.randn(dim))

    def forward(self, features, mask):
        e = (features @ self.score).exp() * mask
        weights = e / e.sum(dim=1, keepdim=True).clamp(min=1e-30)
        return (weights[:, None] @ features)[:, 0], weights
---
class ByAMatrixThatLies(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Parameter(torch.randn(1, dim))
        self.one = nn.Parameter(torch.ones(()), requires_grad=False)

    def forward(self, features, mask):
        scores = nn.functional.linear(features, self.score).flatten(1) * self.one
        weights = masked_softmax(scores, mask)
        return (weights[:, None] @ features)[:, 0], weights
---
class ByLoops(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1, bias=False)

    def forward(self, features, mask):
        weights = torch.zeros(mask.shape)
        for row, real in enumerate(mask):
            if real.any():
                weights[row, real] = torch.softmax(self.score(features[row, real])[:, 0], dim=0)
        pooled = [sum(w * f for w, f in zip(*pair)) for pair in zip(weights, features)]
        return torch.stack(pooled), weights
---
class ByPyTorch(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, features, mask):
        hidden = torch.zeros(mask.shape, dtype=features.dtype).masked_fill(~mask, -torch.inf)
        weights = nn.functional.softmax(self.score(features).flatten(1) + hidden, dim=1).nan_to_num()
        return torch.bmm(weights[:, None], features).squeeze(1), weights
""",
    "lost_to_the_cut": """
def by_loops(distractor, labelled, window):
    return sum(1 for length in distractor if length >= window) / len(distractor)
---
def by_what_is_left(distractor, labelled, window):
    return ((window - distractor).clip(0, labelled) == 0).mean()
---
def by_torch(distractor, labelled, window):
    return (torch.from_numpy(distractor) >= window).float().mean()
""",
    "redundant_key": """
def by_einsum(W_key, b_key, query, b_query):
    return torch.einsum("dk,k->d", W_key, query), torch.einsum("k,k->", b_key, query) + b_query
---
def by_loops(W_key, b_key, query, b_query):
    w = torch.stack([sum(entry * q for entry, q in zip(row, query)) for row in W_key])
    return w, sum(b * q for b, q in zip(b_key, query)) + b_query
---
def by_layers(W_key, b_key, query, b_query):
    key, ask = nn.Linear(*W_key.shape), nn.Linear(len(query), 1)
    with torch.no_grad():
        key.weight.copy_(W_key.T), key.bias.copy_(b_key), ask.weight.copy_(query[None]), ask.bias.copy_(b_query)
    nothing = ask(key(torch.zeros(len(W_key))))
    return (ask(key(torch.eye(len(W_key)))) - nothing).squeeze(1), nothing.squeeze(0)
---
def as_a_list(W_key, b_key, query, b_query):
    return [(W_key * query).sum(1), (b_key * query).sum() + b_query]
---
def with_a_number(W_key, b_key, query, b_query):
    return W_key @ query, (b_key @ query + b_query).item()
""",
    "split_the_map": """
def one_column(w, query):
    K = torch.zeros(len(w), len(query))
    place = query.abs().argmax()
    K[:, place] = w / query[place]
    return K
---
def bent(w, query):
    K = torch.randn(len(w), len(query))
    return K + torch.outer(w - K @ query, query) / query.dot(query)
---
def by_pseudoinverse(w, query):
    return w[:, None] @ torch.linalg.pinv(query[:, None])
""",
    "extra_parameters": """
def by_formula(dim, key_dim, bias):
    return dim * key_dim + key_dim - dim + (key_dim if bias else 0)
---
def by_counting(dim, key_dim, bias):
    def count(*layers):
        return sum(p.numel() for layer in layers for p in layer.parameters())

    return count(nn.Linear(dim, key_dim, bias), nn.Linear(key_dim, 1, bias)) - count(nn.Linear(dim, 1, bias))
""",
    "one_matrix": """
def by_einsum(weight_query, weight_key):
    return torch.einsum("ka,kb->ab", weight_query, weight_key) * len(weight_key) ** -0.5
---
def by_asking(weight_query, weight_key):
    unit = torch.eye(weight_query.shape[1])
    queries, keys = nn.functional.linear(unit, weight_query), nn.functional.linear(unit, weight_key)
    return queries @ keys.mT / math.sqrt(keys.shape[1])
---
def by_loops(weight_query, weight_key):
    return sum(torch.outer(q, k) for q, k in zip(weight_query, weight_key)) / math.sqrt(len(weight_key))
""",
    "one_question": """
def one_column(w, key_dim):
    W_key, b_query = torch.zeros(len(w), key_dim), torch.zeros(key_dim)
    W_key[:, 0], b_query[0] = w, math.sqrt(key_dim)
    return torch.zeros(len(w), key_dim), b_query, W_key
---
def root_in_the_bias(w, key_dim):
    return torch.zeros(len(w), key_dim), torch.full((key_dim,), key_dim**-0.5), w[:, None].expand(-1, key_dim)
---
def random_query(w, key_dim):
    b_query = torch.randn(key_dim)
    return [0 * w[:, None] * b_query, b_query, math.sqrt(key_dim) * torch.outer(w, b_query) / (b_query @ b_query)]
""",
    "average_early": """
def by_einsum(weights, values, mask):
    share = mask.to(weights) / mask.sum(1, keepdim=True)
    return torch.einsum("bi,bij,bjd->bd", share, weights, values)
---
def by_products(weights, values, mask):
    row = (mask[:, None].to(weights) @ weights) / mask.sum(1)[:, None, None]
    return (row @ values).squeeze(1)
---
def by_loops(weights, values, mask):
    means = []
    for rows, own, real in zip(weights, values, mask):
        means.append(rows[real].mean(0) @ own)
    return torch.stack(means)
---
def in_single_precision(weights, values, mask):
    share = mask.float() / mask.float().sum(dim=1, keepdim=True)
    return (share.unsqueeze(1) @ weights @ values).squeeze(1)
---
def by_two_einsums(weights, values, mask):
    row = torch.einsum("bi,bij->bj", mask / mask.sum(1, keepdim=True), weights)
    return torch.einsum("bj,bjd->bjd", row, values).sum(dim=1)
""",
    "marks_row": """
def by_einsum(features, mask, place, W_query, W_key, W_value):
    query = torch.einsum("bd,dk->bk", features[range(len(place)), place], W_query)
    scores = torch.einsum("bk,btk->bt", query, features @ W_key) * W_key.shape[1] ** -0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return torch.einsum("bt,btv->bv", weights, features @ W_value)
---
def by_loops(features, mask, place, W_query, W_key, W_value):
    outputs = []
    for text, real, at in zip(features, mask, place):
        weights = ((text[real] @ W_key) @ (text[at] @ W_query) / math.sqrt(W_key.shape[1])).softmax(0)
        outputs.append(weights @ (text[real] @ W_value))
    return torch.stack(outputs)
---
def by_pytorch(features, mask, place, W_query, W_key, W_value):
    marks = features.gather(1, place[:, None, None].expand(-1, 1, features.shape[2]))
    attend = nn.functional.scaled_dot_product_attention
    return attend(marks @ W_query, features @ W_key, features @ W_value, attn_mask=mask[:, None])[:, 0]
---
def by_one_hot_places(features, mask, place, W_query, W_key, W_value):
    marks = (nn.functional.one_hot(place, features.shape[1]).float().unsqueeze(1) @ features).squeeze(1)
    scores = (features @ W_key @ (marks @ W_query).unsqueeze(2)).squeeze(2) / math.sqrt(W_key.shape[1])
    return (masked_softmax(scores, mask).unsqueeze(1) @ (features @ W_value)).squeeze(1)
""",
}

# Self-attention in five styles; `brought` is what it brings back.
STYLES = """
class ByLayers(nn.Module):
    def __init__(self, {sizes}):
        super().__init__()
        self.W_query, self.W_key, self.W_value = {layers}
        self.key_dim = key_dim

    def forward(self, features, mask):
        scores = self.W_query(features) @ self.W_key(features).mT / self.key_dim**0.5
        weights = scores.masked_fill(~mask[:, None], float("-inf")).softmax(-1)
        return weights @ {brought}, weights
---
class ByParameters(nn.Module):
    def __init__(self, {sizes}):
        super().__init__()
        self.W_query, self.W_key, self.W_value = {parameters}

    def forward(self, features, mask):
        q, k = features @ self.W_query, features @ self.W_key
        scores = torch.einsum("bik,bjk->bij", q, k) / math.sqrt(q.size(-1))
        weights = nn.functional.softmax(scores + torch.where(mask, 0.0, -1e9)[:, None], dim=-1)
        return torch.einsum("bij,bjv->biv", weights, {brought_by_matrix}), weights
---
class ByLoops(nn.Module):
    def __init__(self, {sizes}):
        super().__init__()
        self.W_query, self.W_key, self.W_value = {layers}
        self.key_dim = key_dim

    def forward(self, features, mask):
        weights = torch.zeros(*mask.shape, mask.shape[1])
        for b in range(len(mask)):
            real = [i for i in range(mask.shape[1]) if mask[b, i]]
            for i in real:
                scores = [self.W_query(features[b, i]) @ self.W_key(features[b, j]) for j in real]
                weights[b, i, real] = (torch.stack(scores) / math.sqrt(self.key_dim)).softmax(0)
        return weights @ {brought}, weights
---
class ByPyTorch(nn.Module):
    def __init__(self, {sizes}):
        super().__init__()
        self.W_query, self.W_key, self.W_value = {layers}

    def forward(self, features, mask):
        def attend(values):
            q, k, allowed = self.W_query(features), self.W_key(features), mask[:, None]
            return nn.functional.scaled_dot_product_attention(q, k, values, attn_mask=allowed)

        return attend({brought}), attend(torch.eye(mask.shape[1]).expand(len(mask), -1, -1))
---
class BothMasks(nn.Module):
    def __init__(self, {sizes}):
        super().__init__()
        self.W_query, self.W_key, self.W_value = {layers}

    def forward(self, features, mask):
        queries, keys = self.W_query(features), self.W_key(features)
        weights = masked_softmax(queries @ keys.mT * keys.shape[-1] ** -0.5, mask[:, None] & mask[:, :, None])
        return weights @ {brought}, weights
"""
RIGHT["add_queries"] = STYLES.format(
    sizes="dim, key_dim",
    layers="nn.Linear(dim, key_dim), nn.Linear(dim, key_dim, bias=False), None",
    parameters="(*(nn.Parameter(torch.randn(dim, key_dim)) for _ in range(2)), None)",
    brought="features",
    brought_by_matrix="features",
)
RIGHT["whole_layer"] = STYLES.format(
    sizes="dim, key_dim, value_dim",
    layers="(nn.Linear(dim, width, bias=False) for width in (key_dim, key_dim, value_dim))",
    parameters="(nn.Parameter(torch.randn(dim, width)) for width in (key_dim, key_dim, value_dim))",
    brought="self.W_value(features)",
    brought_by_matrix="features @ self.W_value",
)


@pytest.mark.parametrize(
    "name, code",
    [(name, code.strip() + "\n") for name in RIGHT for code in RIGHT[name].split("\n---\n")],
    ids=lambda x: re.sub(r"(def|class) (\w+).*", r"\2", x, flags=re.DOTALL),
)
def test_a_right_answer_is_correct_in_any_style(name, code):
    verdict = ask(name, code)
    assert verdict, repr(verdict)


def test_every_exercise_of_the_four_labs_is_tested_here():
    assert set(STARTS) == set(SOLUTIONS) == set(WRONG) == set(RIGHT)
