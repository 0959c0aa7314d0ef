"""Answers to the exercises of labs 8 to 10, written as in `answers_01_to_04.py`."""

RIGHT = {
    "allowed_places": """
def by_loops(mask):
    allowed = torch.zeros(len(mask), mask.shape[1], mask.shape[1], dtype=torch.bool)
    for text in range(len(mask)):
        for i in range(mask.shape[1]):
            for j in range(i + 1):
                allowed[text, i, j] = mask[text, j]
    return allowed
---
def not_the_upper_triangle(mask):
    return ~torch.ones(len(mask), *[mask.shape[1]] * 2).triu(1).bool() & mask[:, None]
---
def the_repeated_mask_cut(mask):
    return mask[:, None].expand(-1, mask.shape[1], -1).tril()
---
def as_a_product(mask):
    places = torch.arange(mask.shape[1])
    return ((places[:, None] >= places).int() * mask[:, None].int()).bool()
---
def by_einsum(mask):
    triangle = torch.ones(mask.shape[1], mask.shape[1]).tril()
    return torch.einsum("ij,bj->bij", triangle, mask.to(triangle)) > 0
""",
    "layer_norm": """
def by_var_mean(features, scale, shift, eps=1e-5):
    variance, mean = torch.var_mean(features, dim=-1, correction=0, keepdim=True)
    return (features - mean) * torch.rsqrt(variance + eps) * scale + shift
---
def layer_norm(features, scale, shift, eps=1e-5):
    if features.dim() > 1:  # it calls itself, which is no other function's work
        return torch.stack([layer_norm(token, scale, shift, eps) for token in features])
    mean = sum(features) / len(features)
    variance = sum((x - mean) ** 2 for x in features) / len(features)
    return torch.stack([(x - mean) / (variance + eps) ** 0.5 * a + b for x, a, b in zip(features, scale, shift)])
---
def by_the_mean_of_squares(features, scale, shift, eps=1e-5):
    mean = features.mean(-1, True)
    spread = ((features**2).mean(-1, True) - mean**2 + eps).sqrt()
    return torch.addcmul(shift, (features - mean) / spread, scale)
---
def transposed(features, scale, shift, eps=1e-5):
    turned = features.movedim(-1, 0)
    normal = (turned - turned.mean(0)) / (turned.var(0, unbiased=False) + eps).pow(0.5)
    return normal.movedim(0, -1) * scale + shift
""",
    "first_block": """
class ByHand(FirstBlock):
    def forward(self, features, mask=None):
        attended, _ = self.attention(features, mask)
        total = features + attended
        spread, mean = torch.var_mean(total, -1, unbiased=False, keepdim=True)
        first = (total - mean) / (spread + 1e-5).sqrt() * self.attention_norm.weight + self.attention_norm.bias
        hidden = torch.clamp(first @ self.feed_forward[0].weight.T + self.feed_forward[0].bias, min=0)
        thought = F.linear(hidden, self.feed_forward[2].weight, self.feed_forward[2].bias)
        norm = self.feed_forward_norm
        return F.layer_norm(first + thought, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
---
class TokenByToken(FirstBlock):
    def forward(self, features, mask=None):
        attended, _ = self.attention(features, mask)
        output = []
        for token, add in zip(features.flatten(0, 1), attended.flatten(0, 1), strict=True):
            token = self.attention_norm(token + add)
            output.append(self.feed_forward_norm(token + self.feed_forward(token)))
        return torch.stack(output).view(features.shape)
---
class TheCourses(TransformerBlock):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__(embed_dim, num_heads, hidden_dim)

    def forward(self, features, mask=None):
        return super().forward(features, mask)[0]
---
class InALoop(FirstBlock):
    def forward(self, features, mask=None):
        for part, norm in (
            (lambda x: self.attention(x, mask)[0], self.attention_norm),
            (self.feed_forward, self.feed_forward_norm),
        ):
            features = norm(torch.add(part(features), features))
        return features
""",
    "next_word_loss": """
def by_loops(scores, ids):
    total, count = 0.0, 0
    for text, words in zip(scores, ids, strict=True):
        for place in range(len(words) - 1):
            if words[place + 1] != 0:
                total = total - text[place].softmax(0)[words[place + 1]].log()
                count += 1
    return total / count
---
def by_gather(scores, ids):
    surprise = -scores[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    real = (ids[:, 1:] != 0).to(surprise)
    return (surprise * real).sum() / real.sum()
---
def words_axis_second(scores, ids):
    return F.cross_entropy(scores[:, :-1].transpose(1, 2), ids[:, 1:], ignore_index=0)
---
def picked_by_a_mask(scores, ids):
    real = ids[:, 1:] > 0
    return F.cross_entropy(scores[:, :-1][real], ids[:, 1:][real])
---
def by_nll(scores, ids):
    return F.nll_loss(F.log_softmax(scores[:, :-1], -1).flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
---
def by_a_module(scores, ids):
    judge = nn.CrossEntropyLoss(ignore_index=0)
    return judge(scores[:, :-1].reshape(-1, scores.shape[-1]), ids[:, 1:].reshape(-1))
""",
    "paired_interval": """
def by_loops(first, second):
    differences = [float(a) - float(b) for a, b in zip(first, second, strict=True)]
    n, mean = len(differences), sum(differences) / len(differences)
    variance = sum((d - mean) ** 2 for d in differences) / (n - 1)
    return [mean, stats.t.isf(0.025, n - 1) * (variance / n) ** 0.5]
---
def by_scipy(first, second):
    differences = first - second
    low, high = stats.t.interval(0.95, len(differences) - 1, differences.mean(), stats.sem(differences))
    return float(differences.mean()), float(high - low) / 2
---
def in_an_array(first, second):
    d = np.subtract(first, second)
    return np.array([d.mean(), d.std(ddof=1) / d.size**0.5 * -stats.t.ppf(0.025, d.size - 1)])
---
def in_torch(first, second):
    import torch

    d = torch.as_tensor(first) - torch.as_tensor(second)
    return d.mean(), torch.tensor(stats.t.ppf(0.975, len(d) - 1)) * d.std() / len(d) ** 0.5
""",
    "sign_flips": """
def by_bits(differences):
    n, total, hits = len(differences), abs(sum(differences)), 0
    for number in range(2**n):
        signed = [d if number >> place & 1 else -d for place, d in enumerate(differences)]
        hits += abs(sum(signed)) > total - 1e-10
    return hits / 2**n
---
def by_scipy(differences):
    return stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue
---
def as_a_fraction(differences):
    from fractions import Fraction

    patterns = list(product((1, -1), repeat=len(differences)))
    means = [abs(np.multiply(pattern, differences).mean()) for pattern in patterns]
    return Fraction(sum(mean >= abs(differences.mean()) - 1e-12 for mean in means), len(patterns))
---
def doubled_and_cut(differences):
    patterns = np.array(list(product([1, -1], repeat=len(differences))))
    return min(1.0, 2 * np.mean(patterns @ differences >= abs(sum(differences)) - 1e-12))
---
def in_a_tensor(differences):
    import torch

    signs = torch.cartesian_prod(*[torch.tensor([1.0, -1.0])] * len(differences))
    differences = torch.as_tensor(differences)
    return ((signs * differences).sum(1).abs() >= differences.sum().abs() - 1e-12).double().mean()
""",
    "breadth": """
def with_where(weights):
    logs = torch.where(weights > 0, weights, 1.0).log()
    return (-torch.einsum("...ij,...ij->...i", weights, logs)).exp().mean(-1)
---
def by_entr(weights):
    return torch.special.entr(weights).sum(-1).exp().mean(-1)
---
def by_products(weights):
    values = []
    for table in weights.reshape(-1, weights.shape[-2], weights.shape[-1]):
        rows = [torch.prod(row[row > 0] ** -row[row > 0]) for row in table]
        values.append(sum(rows) / len(rows))
    return torch.stack(values).reshape(weights.shape[:-2])
---
def in_numpy(weights):
    from scipy.special import entr

    return np.asarray(np.exp(entr(weights.numpy()).sum(-1)).mean(-1))
---
def in_bits(weights):
    return torch.exp2(-(weights * torch.log2(weights.clamp(min=1e-300))).sum(-1)).mean(-1)
""",
    "without_head": """
def in_chunks(weight, head, num_heads):
    heads = list(weight.chunk(num_heads, dim=1))
    heads[head] = torch.zeros_like(heads[head])
    return torch.cat(heads, dim=1)
---
def with_a_gate(weight, head, num_heads):
    gate = torch.ones(num_heads, dtype=weight.dtype)
    gate[head] = 0
    return weight * gate.repeat_interleave(weight.shape[1] // num_heads)
---
def with_the_heads_on_an_axis(weight, head, num_heads):
    heads = weight.unflatten(1, (num_heads, -1))
    return heads.masked_fill((torch.arange(num_heads) == head)[:, None], 0).flatten(1)
---
def in_numpy(weight, head, num_heads):
    kept = np.arange(weight.shape[1]) // (weight.shape[1] // num_heads) != head
    return weight.numpy() * kept
""",
    "rollout": """
def by_multi_dot(weights):
    eye = torch.eye(weights.shape[-1]).to(weights)
    return torch.linalg.multi_dot([*(0.5 * weights.mean(1) + 0.5 * eye).flip(0), eye])
---
def by_einsum(weights):
    mixed = torch.eye(weights.shape[-1]).to(weights)
    for layer in weights:
        mixed = torch.einsum("hij,jk->ik", layer, mixed) / (2 * len(layer)) + mixed / 2
    return mixed
---
def from_the_last_layer_down(weights):
    eye = torch.eye(weights.size(2), dtype=weights.dtype)
    steps = list((weights.mean(1) + eye) / 2)
    while len(steps) > 1:
        steps[-2:] = [steps[-1] @ steps[-2]]
    return steps[0]
---
def in_numpy(weights):
    weights = weights.numpy()
    mixed = np.eye(weights.shape[-1])
    for layer in weights.mean(axis=1):
        mixed = 0.5 * layer @ mixed + 0.5 * mixed
    return mixed
""",
}

_SHARED_NORM = "return F.layer_norm(features, scale.shape, scale, shift, eps)"
_LOSS = "F.cross_entropy(said, came, ignore_index=0)"
_OUTPUT = "return self.feed_forward_norm(features + self.feed_forward(features))"

WRONG = [
    ("allowed_places", "wrong dtype", "causal & mask[:, None, :]", "(causal & mask[:, None, :]).float()"),
    ("allowed_places", "returns nothing", "return causal", "causal"),
    ("allowed_places", "the next word seen", "tril()", "tril(diagonal=1)"),
    ("allowed_places", "looks ahead", "causal &", "causal.T &"),
    ("allowed_places", "no mask", "return causal & mask[:, None, :]", "return causal.repeat(len(mask), 1, 1)"),
    ("allowed_places", "other numbers", "causal &", "(causal ^ causal.tril(-2)) &"),
    ("allowed_places", "changes its input", "    causal =", "    mask[:, 0] = True\n    causal ="),
    ("layer_norm", "the work left to another function", None, _SHARED_NORM),
    ("layer_norm", "the work left to another function", None, "return torch" + _SHARED_NORM.removeprefix("return F")),
    (
        "layer_norm",
        "the work left to another function",
        None,
        "norm = torch.nn.LayerNorm(len(scale), eps, elementwise_affine=False)\nreturn norm(features) * scale + shift",
    ),
    (
        "layer_norm",
        "the work left to another function",
        None,
        "own = F.layer_norm\n" + _SHARED_NORM.replace("F.layer_norm", "own"),
    ),
    (
        "layer_norm",
        "sample variance",
        None,
        "spread = features.std(-1, keepdim=True)\n"
        "return (features - features.mean(-1, True)) / (spread**2 + eps) ** 0.5 * scale + shift",
    ),
    (
        "layer_norm",
        "eps outside the root",
        None,
        "return (features - features.mean(-1, True)) / (features.std(-1, keepdim=True) + eps) * scale + shift",
    ),
    ("layer_norm", "over everything", None, "return F.layer_norm(features, features.shape, eps=eps) * scale + shift"),
    ("layer_norm", "an axis that is not there", "dim=-1", "dim=3"),
    ("layer_norm", "other numbers", "+ shift", "+ shift + 0.01"),
    ("layer_norm", "returns nothing", "return centred", "centred"),
    ("layer_norm", "changes its input", "centred = features - ", "centred = features.sub_(0.5) - "),
    ("first_block", "weights returned too", _OUTPUT, f"{_OUTPUT}, _"),
    (
        "first_block",
        "hidden_dim is not used",
        "hidden_dim), nn.ReLU(), nn.Linear(hidden_dim",
        "2 * embed_dim), nn.ReLU(), nn.Linear(2 * embed_dim",
    ),
    ("first_block", "num_heads is not used", "Attention(embed_dim, num_heads)", "Attention(embed_dim, embed_dim)"),
    ("first_block", "wrong width", "nn.Linear(hidden_dim, embed_dim)", "nn.Linear(hidden_dim, hidden_dim)"),
    ("first_block", "wrong width", "nn.Linear(hidden_dim, embed_dim)", "nn.Linear(embed_dim, embed_dim)"),
    ("first_block", "a part is missing", "self.attention_norm", "self.first_norm"),
    (
        "first_block",
        "one map for two",
        "self.feed_forward_norm = nn.LayerNorm(embed_dim)",
        "self.feed_forward_norm = self.attention_norm",
    ),
    ("first_block", "super().__init__() is missing", "        super().__init__()\n", ""),
    ("first_block", "raises", "+ self.feed_forward(features)", "+ self.feed_forward(self.attention)"),
    ("first_block", "returns nothing", "return self", "self"),
    ("first_block", "cut off from the gradient", "features + attended", "features + attended.detach()"),
    ("first_block", "drawn anew in each call", "features + attended", "features + F.dropout(attended)"),
    ("first_block", "other numbers", "self.feed_forward(features)", "2 * self.feed_forward(features)"),
    ("next_word_loss", "cut off from the gradient", _LOSS, f"{_LOSS}.detach()"),
    ("next_word_loss", "cut off from the gradient", _LOSS, f"torch.tensor({_LOSS}.item(), dtype=scores.dtype)"),
    ("next_word_loss", "cut off from the gradient", "said = scores", "said = scores.data"),
    ("next_word_loss", "wrong type", _LOSS, f"{_LOSS}.item()"),
    (
        "next_word_loss",
        "shifted after flattening",
        None,
        "return F.cross_entropy(scores.flatten(0, 1)[:-1], ids.flatten()[1:], ignore_index=0)",
    ),
    (
        "next_word_loss",
        "mean of the texts' means",
        None,
        "return sum(F.cross_entropy(s[:-1], w[1:], ignore_index=0) for s, w in zip(scores, ids)) / len(ids)",
    ),
    ("next_word_loss", "last word only", None, "return F.cross_entropy(scores[:, -2], ids[:, -1], ignore_index=0)"),
    ("next_word_loss", "sizes that do not fit", "said, came", "said[:-1], came"),
    ("next_word_loss", "other numbers", _LOSS, f"{_LOSS} + 1"),
    ("next_word_loss", "an axis too many", _LOSS, f"{_LOSS}[None]"),
    ("next_word_loss", "returns nothing", "return F", "F"),
    (
        "paired_interval",
        "the work left to another function",
        None,
        "from shared.training import mean_and_interval\nreturn mean_and_interval(np.subtract(first, second))",
    ),
    (
        "paired_interval",
        "the work left to another function",
        None,
        "from shared.training import mean_and_interval as short\nreturn short(np.subtract(first, second))",
    ),
    (
        "paired_interval",
        "the work left to another function",
        None,
        "from shared import training\nreturn training.mean_and_interval(np.subtract(first, second))",
    ),
    (
        "paired_interval",
        "pairing lost",
        None,
        "return np.mean(first) - np.mean(second), np.ptp(stats.ttest_ind(first, second).confidence_interval(0.95)) / 2",
    ),
    ("paired_interval", "wrong type", None, 'return f"{np.mean(first) - np.mean(second):.3f}"'),
    (
        "paired_interval",
        "sign lost",
        None,
        "d = abs(first - second)\nreturn d.mean(), stats.t.ppf(0.975, len(d) - 1) * stats.sem(d)",
    ),
    ("paired_interval", "other numbers", "quantile *", "1.1 * quantile *"),
    ("paired_interval", "returns nothing", "return differences", "differences"),
    ("sign_flips", "the allowance too large", "- 1e-12", "- 1e-3"),
    ("sign_flips", "the allowance too large", "differences.mean()) - 1e-12", "differences.mean()) * 0.98"),
    (
        "sign_flips",
        "one side doubled",
        None,
        "means = [np.mean(signs * differences) for signs in map(np.array, product((1, -1), repeat=len(differences)))]\n"
        "return 2 * np.mean(np.array(means) >= abs(np.mean(differences)) - 1e-12)",
    ),
    ("sign_flips", "an argument is not used", None, "return 0.05"),
    ("sign_flips", "wrong type", "return np.mean", 'return "%.2f" % np.mean'),
    ("sign_flips", "returns nothing", "return np", "np"),
    ("breadth", "other numbers", "entropy.exp()", "(entropy.exp() + 0.01)"),
    ("breadth", "returns nothing", "return ", ""),
    ("breadth", "changes its input", "entropy = ", "weights += 1e-9; entropy = "),
    ("breadth", "one number for all maps", ".mean(dim=-1)", ".mean().item()"),
    ("without_head", "changes its input", "weight.clone()", "weight"),
    ("without_head", "raises", "weight.shape[1] // num_heads", "weight.shape[1] / num_heads"),
    ("without_head", "other numbers", "] = 0", "] = 1e-3"),
    ("without_head", "returns nothing", "return silent", ""),
    ("rollout", "an axis is missing", "return mixed", "return mixed[0]"),
    ("rollout", "other numbers", "/ 2 @", "/ 2.01 @"),
    ("rollout", "element by element", "2 @ mixed", "2 * (mixed if mixed is not identity else 1)"),
    ("rollout", "returns nothing", "return mixed", ""),
]

EQUAL = {
    "paired_interval": {"np.sqrt(len(second))": "both models have the same seeds"},
    "sign_flips": {
        "differences = differences": "what comes in is an array",
        "np.abs(means) > abs(differences.mean()) - 1e-12": "no mean is nearer to 0 by exactly 1e-12",
        "patterns = list(product([1, -1]": "NumPy makes an array of the list when it multiplies",
    },
    "without_head": {"weight.shape[0] // num_heads": "the matrix is square"},
}
