"""Answers to the exercises of labs 5 to 7, written as in `answers_01_to_04.py`."""

RIGHT = {
    "context_of_one_word": """
def by_loops(place, inputs, W_query, W_key, W_value):
    query = [sum(x * w for x, w in zip(inputs[place], column)) for column in W_query.T]
    powers = []
    for row in inputs:
        key = row @ W_key
        powers.append(math.exp(sum(q * k for q, k in zip(query, key)) / len(query) ** 0.5))
    context = torch.zeros(W_value.shape[1])
    for power, row in zip(powers, inputs):
        context += power / sum(powers) * (row @ W_value)
    return context
---
def by_pytorch(place, inputs, W_query, W_key, W_value):
    queries = inputs[None, place, None] @ W_query
    attend = nn.functional.scaled_dot_product_attention
    return attend(queries, (inputs @ W_key)[None], (inputs @ W_value)[None])[0, 0]
---
def by_einsum(place, inputs, W_query, W_key, W_value):
    scores = torch.einsum("d,dk,nj,jk->n", inputs[place], W_query, inputs, W_key) * W_key.size(1) ** -0.5
    return torch.einsum("n,nd,dv->v", scores.softmax(-1), inputs, W_value)
---
def picked_of_all(place, inputs, W_query, W_key, W_value):
    scores = (inputs @ W_query) @ (inputs @ W_key).T
    return (torch.softmax(scores / W_key.shape[1] ** 0.5, dim=-1) @ (inputs @ W_value))[place]
""",
    "as_layer": """
def with_a_new_parameter(W):
    layer = nn.Linear(W.shape[0], W.shape[1], bias=False)
    layer.weight = nn.Parameter(W.T.clone())
    return layer
---
def entry_by_entry(W):
    layer = nn.Linear(len(W), len(W[0]), bias=False)
    for i, row in enumerate(W):
        for j, number in enumerate(row):
            layer.weight.data[j, i] = number
    return layer
---
def from_a_state(W):
    layer = nn.Linear(*W.shape, bias=False)
    layer.load_state_dict({"weight": W.T})
    return layer
---
def with_requires_grad_off_and_on(W):
    layer = nn.Linear(*W.shape, bias=False).requires_grad_(False)
    layer.weight[:] = W.mT
    return layer.requires_grad_()
""",
    "batched_attention": """
class ByLoops(nn.Module):
    def __init__(self, d_in, d_k, d_v):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_k))
        self.W_key = nn.Parameter(torch.rand(d_in, d_k))
        self.W_value = nn.Parameter(torch.rand(d_in, d_v))

    def forward(self, x):
        if x.dim() == 3:
            return torch.stack([self(sentence) for sentence in x])
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        rows = []
        for query in queries:
            powers = torch.stack([torch.exp(query @ key / math.sqrt(len(key))) for key in keys])
            rows.append(sum(power * value for power, value in zip(powers, values)) / powers.sum())
        return torch.stack(rows)
---
class MatricesLying(nn.Module):
    def __init__(self, d_in, d_k, d_v):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_k, d_in))
        self.W_key = nn.Parameter(torch.rand(d_k, d_in))
        self.W_value = nn.Parameter(torch.rand(d_v, d_in))

    def forward(self, x):
        queries, keys, values = x @ self.W_query.T, x @ self.W_key.T, x @ self.W_value.T
        scores = torch.einsum("...ik,...jk->...ij", queries, keys) / keys.size(-1) ** 0.5
        return torch.einsum("...ij,...jv->...iv", scores.softmax(-1), values)
---
class ByPyTorchWithBiases(nn.Module):
    def __init__(self, d_in, d_k, d_v):
        super().__init__()
        self.W_query, self.W_key, self.W_value = nn.Linear(d_in, d_k), nn.Linear(d_in, d_k), nn.Linear(d_in, d_v)

    def forward(self, x):
        return nn.functional.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x))
---
class WithMovedim(nn.Module):
    def __init__(self, d_in, d_k, d_v):
        super().__init__()
        self.W_query, self.W_key = (nn.Linear(d_in, d_k, bias=False) for _ in range(2))
        self.W_value = nn.Linear(d_in, d_v, bias=False)

    def forward(self, x):
        powers = torch.exp(self.W_query(x) @ self.W_key(x).movedim(-1, -2) / math.sqrt(self.W_key.out_features))
        return powers / powers.sum(-1, keepdim=True) @ self.W_value(x)
""",
    "scores_of_one_word": """
def by_loops(asking, embedded, W_query, W_key):
    query = W_query @ embedded[asking]
    return torch.tensor([sum(a * b for a, b in zip(query, W_key @ x)) for x in embedded])
---
def row_of_the_matrix(asking, embedded, W_query, W_key):
    return ((embedded @ W_query.T) @ (embedded @ W_key.T).T)[asking]
---
def by_einsum(i, x, Q, K):
    return torch.einsum("kd,d,kc,nc->n", Q, x[i], K, x)
---
def by_linear(i, x, Q, K):
    linear = torch.nn.functional.linear
    return linear(linear(x[i], Q), linear(x, K))
""",
    "all_filters": """
def by_loops(weights, values):
    result = torch.zeros(*weights.shape, values.shape[1])
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            result[i, j] = weight * values[j]
    return result
---
def by_einsum(weights, values):
    return torch.einsum("ij,jv->ijv", weights, values)
---
def by_diagonal_matrices(weights, values):
    return torch.stack([torch.diag(row) @ values for row in weights])
---
def without_naming_the_axis(weights, values):
    return weights[..., None] * values
""",
    "look_at_the_next_word": """
def queries_rolled(num_words):
    return 99 * torch.eye(num_words).roll(1, 0), torch.eye(num_words)
---
def integers_in_a_list(n):
    return [torch.eye(n, dtype=torch.long) * 50, torch.eye(n, dtype=torch.long).roll(1, 1)]
---
def two_numbers_a_word(num_words):
    # Two numbers are enough: words stand on a circle, and the query is turned by one step.
    angle = 2 * math.pi * torch.arange(num_words) / num_words
    step = 2 * math.pi / num_words
    query = torch.stack([torch.cos(angle + step), torch.sin(angle + step)])
    return 20 * query, 20 * torch.stack([torch.cos(angle), torch.sin(angle)])
---
def by_numpy(n):
    return 30 * np.eye(n), np.roll(np.eye(n), 1, axis=1)
---
def parameters(n):
    Parameter = torch.nn.Parameter
    return Parameter(8 * torch.eye(n)), Parameter(8 * torch.eye(n).roll(-1, 0))
---
def by_loops(n):
    W_key = torch.zeros(n, n)
    for word in range(n):
        W_key[word, (word + 1) % n] = n * math.log(10 * n)
    return torch.eye(n), W_key
""",
    "cut_into_heads": """
def with_view(projected, num_heads):
    batch, tokens, embed_dim = projected.shape
    return projected.view(batch, tokens, num_heads, embed_dim // num_heads).transpose(1, 2)
---
def by_chunks(x, h):
    return torch.stack(x.chunk(h, dim=-1), dim=1)
---
def with_permute(x, h):
    return x.reshape(*x.shape[:2], h, -1).permute(0, 2, 1, 3)
---
def turned_first(x, h):
    return x.mT.reshape(len(x), h, -1, x.shape[1]).mT
""",
    "join_heads": """
def with_cat(heads):
    return torch.cat(heads.unbind(1), dim=-1)
---
def with_view(heads):
    return heads.permute(0, 2, 1, 3).contiguous().view(heads.shape[0], heads.shape[2], -1)
---
def by_loops(heads):
    batch, num_heads, tokens, head_dim = heads.shape
    joined = torch.zeros(batch, tokens, num_heads * head_dim)
    for h in range(num_heads):
        for j in range(head_dim):
            joined[:, :, h * head_dim + j] = heads[:, h, :, j]
    return joined
---
def with_einsum(heads):
    return torch.einsum("bhtj->bthj", heads).flatten(-2)
""",
    "many_heads": """
class ByPyTorch(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("does not fit")
        self.num_heads = num_heads
        self.W_query, self.W_key, self.W_value, self.W_output = (nn.Linear(embed_dim, embed_dim) for _ in range(4))

    def forward(self, features, mask=None):
        maps = (self.W_query, self.W_key, self.W_value)
        heads = (one(features).view(*features.shape[:2], self.num_heads, -1).transpose(1, 2) for one in maps)
        allowed = None if mask is None else mask[:, None, None, :]
        heads = nn.functional.scaled_dot_product_attention(*heads, attn_mask=allowed)
        return self.W_output(heads.transpose(1, 2).reshape(features.shape))
---
class ByPyTorchsWholeLayer(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if num_heads * (embed_dim // num_heads) != embed_dim:
            raise ValueError("Unequal.")
        self.num_heads = num_heads
        self.W_query, self.W_key, self.W_value, self.W_output = (nn.Linear(embed_dim, embed_dim) for _ in range(4))

    def forward(self, features, mask=None):
        maps = (self.W_query, self.W_key, self.W_value)
        x = features.transpose(0, 1)
        output, _ = nn.functional.multi_head_attention_forward(
            *(x, x, x, x.shape[2], self.num_heads),
            torch.cat([one.weight for one in maps]),
            torch.cat([one.bias for one in maps]),
            *(None, None, False, 0.0),
            *(self.W_output.weight, self.W_output.bias),
            key_padding_mask=None if mask is None else ~mask,
        )
        return output.transpose(0, 1)
---
class ParametersAndALoopOverHeads(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim must be a multiple of num_heads")
        self.num_heads = num_heads
        for name in ("W_query", "W_key", "W_value", "W_output"):
            self.register_parameter(name, nn.Parameter(torch.randn(embed_dim, embed_dim)))

    def forward(self, features, mask=None):
        q, k, v = ((features @ W).chunk(self.num_heads, -1) for W in (self.W_query, self.W_key, self.W_value))
        brought = []
        for queries, keys, values in zip(q, k, v):
            scores = torch.einsum("bik,bjk->bij", queries, keys) * keys.shape[-1] ** -0.5
            if mask is not None:
                scores = scores + torch.where(mask, 0.0, -1e30)[:, None, :]
            brought.append(torch.einsum("bij,bjv->biv", torch.softmax(scores, -1), values))
        return torch.cat(brought, -1) @ self.W_output
---
class RefusesWhenItIsCalled(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_query, self.W_key, self.W_value = (nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(3))
        self.W_output = nn.Linear(embed_dim, embed_dim)

    def forward(self, features, mask=None):
        if features.shape[2] % self.num_heads:
            raise ValueError(f"头数 {self.num_heads} 不能整除 {features.shape[2]}。")
        queries, keys, values = (
            torch.stack(one(features).chunk(self.num_heads, 2), 1) for one in (self.W_query, self.W_key, self.W_value)
        )
        weights = (queries @ keys.mT / math.sqrt(keys.shape[3])).softmax(-1)
        if mask is not None:  # the shares of padding are taken away, and what is left is shared out again
            weights = weights * mask[:, None, None]
            weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-300)
        return self.W_output(torch.cat((weights @ values).unbind(1), 2))
---
class SmallestNumberAndMatricesLying(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(embed_dim, num_heads)
        self.num_heads = num_heads
        self.W_query, self.W_key, self.W_value, self.W_output = (
            nn.Parameter(torch.randn(embed_dim, embed_dim)) for _ in range(4)
        )

    def forward(self, features, mask=None):
        batch, tokens, _ = features.shape
        shape = batch, tokens, self.num_heads, -1
        q, k, v = (
            (features @ W.T).reshape(shape).permute(0, 2, 1, 3) for W in (self.W_query, self.W_key, self.W_value)
        )
        scores = q @ k.mT / math.sqrt(k.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1).unsqueeze(1), torch.finfo(scores.dtype).min)
        return (scores.softmax(-1) @ v).permute(0, 2, 1, 3).reshape(batch, tokens, -1) @ self.W_output.T
""",
}

WRONG = [
    ("context_of_one_word", "returns nothing", "return weights @ values", "weights @ values"),
    (
        "context_of_one_word",
        "queries and keys exchanged",
        "= inputs @ W_key",
        "= inputs @ W_query",
        "] @ W_query",
        "] @ W_key",
    ),
    ("context_of_one_word", "an axis too many", "return weights @ values", "return (weights @ values)[None]"),
    ("context_of_one_word", "changes its input", "    keys =", "    inputs *= 2\n    keys ="),
    ("context_of_one_word", "never ends", "    keys =", "    while True:\n        pass\n    keys ="),
    ("as_layer", "returns nothing", "    return layer\n", "    layer\n"),
    (
        "as_layer",
        "weights not registered",
        "    return",
        "    del layer.weight\n    layer.weight = W.T.clone().requires_grad_()\n    return",
    ),
    ("as_layer", "a reshape for a transpose", "W.T", "W.view(-1, len(W))"),
    ("as_layer", "other numbers", "    with torch.no_grad():\n        layer.weight.copy_(W.T)", ""),
    ("as_layer", "copied outside no_grad", "    with torch.no_grad():\n        layer", "    layer"),
    ("as_layer", "raises", "nn.Linear(d_in, d_out", "nn.Linear(W.shape"),
    ("batched_attention", "returns nothing", "return weights @ values", "weights @ values"),
    (
        "batched_attention",
        "drawn anew in each call",
        "keys.shape[-1]), dim=-1)",
        "keys.shape[-1]), dim=-1)\n        weights = nn.functional.dropout(weights, 0.5)",
    ),
    (
        "batched_attention",
        "changed in place",
        "torch.softmax(scores / math.sqrt(keys.shape[-1]), dim=-1)",
        "torch.exp(scores / math.sqrt(keys.shape[-1])); weights /= weights.sum(dim=-1, keepdim=True)",
    ),
    ("batched_attention", "cut off from the gradient", "weights @ values", "weights.detach() @ values"),
    ("batched_attention", "cut off from the gradient", "weights @ values", "(weights @ values).detach()"),
    ("batched_attention", "wrong width", "torch.rand(d_in, d_v)", "torch.rand(d_in, d_k)"),
    ("batched_attention", "weights not registered", "nn.Parameter(torch.rand(d_in, d_k))", "torch.rand(d_in, d_k)"),
    (
        "batched_attention",
        "parameters created inside forward",
        "        queries",
        "        self.__init__(x.shape[-1], self.W_key.shape[1], self.W_value.shape[1])\n        queries",
    ),
    ("batched_attention", "a linear map is missing", "W_query", "query"),
    (
        "batched_attention",
        "one map for two",
        "self.W_key = nn.Parameter(torch.rand(d_in, d_k))",
        "self.W_key = self.W_query",
    ),
    ("batched_attention", "super().__init__() is missing", "        super().__init__()\n", ""),
    (
        "batched_attention",
        "only for a batch",
        None,
        "keys = x @ self.W_key\nbatch, tokens, d_k = keys.shape\n"
        "weights = (x @ self.W_query @ keys.mT / math.sqrt(d_k)).softmax(-1)\nreturn weights @ (x @ self.W_value)",
    ),
    ("batched_attention", "transpose of the wrong axes", "keys.transpose(-2, -1)", "keys.T"),
    (
        "batched_attention",
        "a reshape for a transpose",
        "keys.transpose(-2, -1)",
        "keys.view(x.shape[:-2] + (keys.shape[-1], -1))",
    ),
    (
        "scores_of_one_word",
        "queries and keys exchanged",
        None,
        "return ((embedded @ W_query.T) @ (embedded @ W_key.T).T)[:, asking]",
    ),
    (
        "scores_of_one_word",
        "queries and keys exchanged",
        None,
        "return W_key @ embedded[asking] @ (embedded @ W_query.T).T",
    ),
    ("scores_of_one_word", "an axis too many", "return keys @ query", "return query[None] @ keys.T"),
    ("all_filters", "values of the word that asks", None, 'return torch.einsum("ij,iv->ijv", weights, values)'),
    ("all_filters", "weights transposed", None, 'return torch.einsum("ji,jv->ijv", weights, values)'),
    ("all_filters", "axes of the result swapped", None, 'return torch.einsum("ij,jv->jiv", weights, values)'),
    ("all_filters", "already summed", None, 'return torch.einsum("ij,jv->iv", weights, values)'),
    ("all_filters", "not weighted", None, "return torch.stack([values] * len(weights))"),
    ("all_filters", "sizes that do not fit", "*", "@"),
    (
        "look_at_the_next_word",
        "not a number",
        "torch.eye(num_words).roll(1, dims=1)",
        "torch.eye(num_words).roll(1, dims=1).log()",
    ),
    (
        "look_at_the_next_word",
        "looks at the word before",
        ".roll(1, dims=1)",
        "",
        "10 * math.sqrt(num_words) * torch.eye(num_words)",
        "20 * torch.eye(num_words).roll(1, dims=1)",
    ),
    ("look_at_the_next_word", "lead too small", "10 * math.sqrt(num_words)", "2"),
    ("look_at_the_next_word", "wrong shape", "return W_query, W_key", "return W_query[:, 1:], W_key"),
    ("look_at_the_next_word", "wrong type", "return W_query, W_key", "return W_query"),
    ("look_at_the_next_word", "other numbers", "roll(1, dims=1)", "roll(num_words // 2, dims=1)"),
    (
        "cut_into_heads",
        "heads cut by a plain reshape",
        None,
        "batch, tokens, width = projected.shape\nreturn projected.view(batch, num_heads, tokens, width // num_heads)",
    ),
    (
        "cut_into_heads",
        "features dealt out in turn",
        None,
        "return torch.stack([projected[:, :, i::num_heads] for i in range(num_heads)], dim=1)",
    ),
    ("cut_into_heads", "batch and heads swapped", None, "return torch.stack(projected.chunk(num_heads, dim=2))"),
    ("cut_into_heads", "other numbers", "cut.transpose(1, 2)", "cut.transpose(1, 2).flip(1)"),
    ("cut_into_heads", "an axis that is not there", "cut.transpose(1, 2)", "cut.transpose(1, 4)"),
    ("join_heads", "heads and tokens not swapped", None, "return heads.reshape(*heads.shape[:2], -1)"),
    ("join_heads", "features dealt out in turn", None, "return torch.stack(heads.unbind(1), dim=-1).flatten(2)"),
    ("join_heads", "tokens joined in place of features", None, "return torch.cat(list(heads.unbind(1)), dim=1)"),
    (
        "join_heads",
        "view of a turned tensor",
        None,
        "return heads.permute(0, 2, 1, 3).view(heads.shape[0], heads.shape[2], -1)",
    ),
    ("join_heads", "other numbers", "heads.transpose", "heads.flip(1).transpose"),
    ("join_heads", "an axis that is not there", "flatten(2)", "flatten(4)"),
    ("many_heads", "wrong type", None, "return self.W_output(features), mask"),
    ("many_heads", "the mask has no default", "class ManyHeads", "class Mine", "mask=None", "mask"),
    ("many_heads", "no mask is not expected", "mask=None", "mask", "if mask is not None:", "if True:"),
    ("many_heads", "refused with another error", "            raise", "            assert False  #"),
    ("many_heads", "num_heads not refused", "if embed_dim % num_heads", "if embed_dim < num_heads"),
    ("many_heads", "one map for two", "self.W_key = nn.Linear(embed_dim, embed_dim)", "self.W_key = self.W_query"),
    ("many_heads", "cut off from the gradient", "scores / math.sqrt", "scores.detach() / math.sqrt"),
    ("many_heads", "returns nothing", "return self.W_output(joined)", "self.W_output(joined)"),
    (
        "many_heads",
        "weights not registered",
        "self.W_key = nn.Linear(embed_dim, embed_dim)",
        'object.__setattr__(self, "W_key", nn.Linear(embed_dim, embed_dim))',
    ),
    (
        "many_heads",
        "parameters created inside forward",
        "        queries",
        "        self.__init__(features.shape[2], self.num_heads)\n        queries",
    ),
    (
        "many_heads",
        "wrong width",
        "self.W_key = nn.Linear(embed_dim, embed_dim)",
        "self.W_key = nn.Linear(embed_dim, self.head_dim)",
    ),
    ("many_heads", "other numbers", "(weights @ values)", "(weights @ values + values)"),
    ("many_heads", "view of a turned tensor", ".flatten(2)", ".view(len(features), features.shape[1], -1)"),
    ("many_heads", "transpose of the wrong axes", "keys.transpose(2, 3)", "keys.T"),
    (
        "many_heads",
        "a reshape for a transpose",
        "keys.transpose(2, 3)",
        "keys.view(*keys.shape[:2], keys.shape[3], keys.shape[2])",
    ),
]

_LARGE = "the 1 at each word is as far above the 0 elsewhere as .9 of the weight needs, and more"
EQUAL = {
    "context_of_one_word": {"dim=-1)": "the scores of one word have one axis, the first and the last"},
    "look_at_the_next_word": {
        "9 * math.sqrt(num_words)": _LARGE,
        "(10 + math.sqrt(num_words)) * torch": _LARGE,
        "10 * num_words * torch": _LARGE,
    },
}
