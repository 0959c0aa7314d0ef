"""Answers to the exercises of labs 1 to 4: right ones in odd styles, wrong ones that no edit makes, and equal mutants.

RIGHT: by exercise, answers set apart by ---. WRONG: exercise, name of the mistake, then replacements in the solution
(None for its whole body). EQUAL: mutants of a solution that are right all the same, with the reason.
"""

from shared.check import lab_04

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
        weights = e / e.sum(dim=1, keepdim=True).clamp(min=1e-300)
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
def by_loops(labelled, distractor, window):
    return sum(1 for length in distractor if length >= window) / len(distractor)
---
def by_what_is_left(labelled, distractor, window):
    return ((window - distractor).clip(0, labelled) == 0).mean()
---
def by_torch(labelled, distractor, window):
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
---
def as_a_tensor(dim, key_dim, bias):
    with_bias = (torch.tensor([dim, key_dim]) + int(bias)) @ torch.tensor([0, 1])
    return dim * key_dim + with_bias + bias * (key_dim - 1) - dim if bias else dim * key_dim + key_dim - dim
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

LINEAR = "nn.Linear(dim, key_dim, bias=False)"
BRING = "return weights @ values"
ALL_OUTPUTS = "return (row.unsqueeze(2) * values).sum(dim=1)", "return (share.unsqueeze(2) * {}).sum(dim=1)"
WRONG = [
    ("masked_mean", "changes its input", "total = (", "features[~mask] = 0; total = ("),
    ("masked_mean", "an axis too many", "clamp(min=1)", "clamp(min=1)[:, None]"),
    ("masked_mean", "wrong type", "return total", "return (total", ".clamp(min=1)", ".clamp(min=1)).numpy()"),
    ("masked_mean", "other numbers", "min=1", "min=2"),
    ("attention_pool", "returns nothing", "return (weights", "(weights"),
    ("attention_pool", "returns nothing", ".sum(dim=1), weights", ".sum(dim=1), None"),
    ("attention_pool", "wrong type", ".sum(dim=1), weights", ".sum(dim=1)"),
    ("attention_pool", "changed in place", "scores.softmax(dim=1) * mask", "scores.softmax(dim=1); weights *= mask"),
    ("attention_pool", "a linear map is missing", "self.score", "self.energy"),
    ("attention_pool", "wrong width", "nn.Linear(dim, 1)", "nn.Linear(dim, dim)"),
    ("attention_pool", "wrong by a factor", "features).sum", "2 * features).sum"),
    ("lost_to_the_cut", "wrong type", "return (distractor >= window).mean()", 'return "none"'),
    ("redundant_key", "wrong type", "return w, b", "return w"),
    ("redundant_key", "the sign turned round", "return w, b", "return -w, b"),
    ("split_the_map", "wrong type", "return", "return [0.0] or"),
    ("split_the_map", "an argument is not used", None, "return torch.ones(6, len(query))"),
    ("split_the_map", "an axis is missing", "torch.outer(w, query)", "w"),
    ("extra_parameters", "wrong type", "return key", "return str(key), key"),
    ("one_matrix", "wrong by a factor", "return", "return 3 *"),
    ("one_question", "an axis too many", "torch.ones(key_dim)", "torch.ones(key_dim, 1)", "b_query)", "b_query[:, 0])"),
    ("one_question", "wrong type", "return W_query, b_query", "return W_query"),
    ("add_queries", "one map for two", f"self.W_query = {LINEAR}", "self.W_query = self.W_key"),
    ("whole_layer", "one map for two", f"self.W_key = {LINEAR}", "self.W_key = self.W_query"),
    ("whole_layer", "wrong width", "nn.Linear(dim, value_dim", "nn.Linear(dim, dim"),
    ("whole_layer", "wrong width", "nn.Linear(dim, key_dim", "nn.Linear(dim, value_dim"),
    ("whole_layer", "returns nothing", "return weights", "weights"),
    ("whole_layer", "wrong type", "values, weights\n", "values\n"),
    ("whole_layer", "drawn anew in each call", BRING, "return nn.functional.dropout(weights, 0.5) @ values"),
    ("whole_layer", "cut off from the gradient", "mask.unsqueeze(1))", "mask.unsqueeze(1)).detach()"),
    ("whole_layer", "cut off from the gradient", BRING, "values = values.detach(); return weights @ values"),
    (
        "whole_layer",
        "changed in place",
        BRING,
        "weights /= weights.sum(dim=2, keepdim=True) + 0; return weights @ values",
    ),
    (
        "whole_layer",
        "parameters created inside forward",
        "self.W_key(features)",
        "nn.Linear(len(features.mT[0]), 3)(features)",
    ),
    (
        "whole_layer",
        "weights not registered",
        f"W_key = {LINEAR}",
        "W_key = torch.randn(dim, key_dim)",
        "self.W_key(features)",
        "features @ self.W_key",
    ),
    ("whole_layer", "super().__init__() is missing", "super().__init__()", "pass"),
    ("whole_layer", "a linear map is missing", "self.W_query", "self.queries"),
    ("whole_layer", "not a number", "self.W_key(features)", "self.W_key(features) / 0"),
    ("whole_layer", "other numbers", "math.sqrt(keys.shape[2])", "math.sqrt(keys.shape[2] + 1)"),
    *(
        ("average_early", "the average taken late", ALL_OUTPUTS[0], ALL_OUTPUTS[1].format(outputs))
        for outputs in (
            "(weights @ values)",
            "torch.einsum('bij,bjd->bid', weights, values)",
            "(weights.unsqueeze(3) * values.unsqueeze(1)).sum(dim=2)",
            "torch.stack([torch.tensordot(A, V, 1) for A, V in zip(weights, values)])",
            "torch.stack([torch.stack([row @ V for row in A]) for A, V in zip(weights, values)])",
            "torch.stack([nn.functional.linear(A, V.T) for A, V in zip(weights, values)])",
        )
    ),
    (
        "average_early",
        "the average taken late",
        None,
        "share = mask / mask.sum(dim=1, keepdim=True)\nreturn torch.einsum('bij,bjd,bi->bd', weights, values, share)",
    ),
    ("average_early", "an axis too many", "* values).sum(dim=1)", "* values)"),
    ("average_early", "wrong by a factor", "return", "return 2 *"),
    ("marks_row", "all rows computed", None, lab_04.WHOLE + "output[torch.arange(len(place)), place]"),
    (
        "marks_row",
        "all rows computed",
        None,
        "maps = (features @ W for W in (W_query, W_key, W_value))\n"
        "output = nn.functional.scaled_dot_product_attention(*maps, attn_mask=mask.unsqueeze(1))\n"
        "return output[torch.arange(len(place)), place]",
    ),
    ("marks_row", "changes its input", "keys =", "features *= mask.unsqueeze(2); keys ="),
    ("marks_row", "an axis that is not there", "keys @ queries.unsqueeze(2)", "keys @ queries[0]"),
    ("marks_row", "other numbers", "math.sqrt(keys.shape[2])", "math.sqrt(keys.shape[2] + 1)"),
]
BIAS = "a bias is allowed: the check works with whatever the map adds"
EQUAL = {
    "attention_pool": {"torch.finfo(features.dtype).min": "scores and features have one dtype"},
    "redundant_key": {"b = query @ b_key + b_query": "a dot product has no order"},
    "one_matrix": {"key_dim = weight_key.shape[0]": "both matrices have k rows"},
    "add_queries": {
        "self.W_query = nn.Linear(dim, key_dim, bias=True)": BIAS,
        "self.W_key = nn.Linear(dim, key_dim, bias=True)": BIAS,
    },
    "whole_layer": {
        "self.W_query = nn.Linear(dim, key_dim, bias=True)": BIAS,
        "self.W_key = nn.Linear(dim, key_dim, bias=True)": BIAS,
        "self.W_value = nn.Linear(dim, value_dim, bias=True)": BIAS,
    },
}
