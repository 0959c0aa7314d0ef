"""Answers to the exercises of lab 10; the lists are explained in `answers_01_to_04.py`."""

RIGHT = {
    "breadth": """
def with_logs(weights):
    logs = torch.where(weights > 0, weights, 1.0).log()
    return (-torch.einsum("...ij,...ij->...i", weights, logs)).exp().mean(-1)
---
def with_entr(weights):
    return torch.special.entr(weights).sum(-1).exp().mean(-1)
---
def by_products(weights):
    flat = weights.reshape(-1, weights.shape[-2], weights.shape[-1])
    values = []
    for table in flat:
        rows = [torch.prod(row[row > 0] ** -row[row > 0]) for row in table]
        values.append(sum(rows) / len(rows))
    return torch.stack(values).reshape(weights.shape[:-2])
---
def by_numpy(weights):
    import numpy as np

    weights = weights.numpy()
    return np.exp(-(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1)).mean(-1)
""",
    "without_head": """
def by_chunks(weight, head, num_heads):
    heads = list(weight.chunk(num_heads, dim=1))
    heads[head] = torch.zeros_like(heads[head])
    return torch.cat(heads, dim=1)
---
def by_a_gate(weight, head, num_heads):
    gate = torch.ones(num_heads, dtype=weight.dtype)
    gate[head] = 0
    return weight * gate.repeat_interleave(weight.shape[1] // num_heads)
---
def by_unflatten(weight, head, num_heads):
    mine = torch.arange(num_heads) == head
    return weight.unflatten(1, (num_heads, -1)).masked_fill(mine[:, None], 0).flatten(1)
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
def by_numpy(weights):
    import numpy as np

    mixed = np.eye(weights.shape[-1])
    for layer in weights.numpy().mean(1):
        mixed = (layer @ mixed + mixed) / 2
    return mixed
""",
}
WRONG = [
    ("breadth", "returns nothing", "return ", ""),
    ("breadth", "other numbers", "entropy.exp()", "(entropy.exp() + 0.01)"),
    ("breadth", "changes its input", "entropy = ", "weights += 1e-9; entropy = "),
    ("without_head", "changes its input", "weight.clone()", "weight"),
    ("without_head", "raises", "weight.shape[1] // num_heads", "weight.shape[1] / num_heads"),
    ("without_head", "other numbers", "] = 0", "] = 1e-3"),
    ("rollout", "an axis is missing", "return mixed", "return mixed[0]"),
    ("rollout", "other numbers", "/ 2 @", "/ 2.01 @"),
]
EQUAL = {"without_head": {"head_dim = weight.shape[0] // num_heads": "the matrix is square"}}
