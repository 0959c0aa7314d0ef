"""Claims about the checks of a shifted loss and of sampling: many styles are right, and each known mistake is named."""

import pytest
import torch
import torch.nn.functional as F

import checks

# --- right answers, in several styles ------------------------------------------------------------------------------


def all_tokens_read(model, windows):
    logits = model(windows)[:, :-1]
    return F.cross_entropy(logits.transpose(1, 2), windows[:, 1:])


def by_hand(model, windows):
    log_probs = model(windows[:, :-1]).log_softmax(dim=-1)
    return -log_probs.gather(2, windows[:, 1:, None]).mean()


def in_loops(model, windows):
    logits, total = model(windows[:, :-1]), 0
    for text in range(windows.shape[0]):
        for position in range(windows.shape[1] - 1):
            total = total - logits[text, position].softmax(0)[windows[text, position + 1]].log()
    return total / windows[:, 1:].numel()


def with_topk(logits, temperature=1.0, top_k=None, top_p=None):
    probs = torch.softmax(logits / temperature, dim=-1)
    if top_k is not None:
        values, indices = probs.topk(min(top_k, len(probs)))
        probs = torch.zeros_like(probs).scatter(0, indices, values)
    if top_p is not None:
        values, indices = probs.sort(descending=True)
        values = values.where(values.cumsum(0) - values < top_p, 0)
        probs = torch.zeros_like(probs).scatter(0, indices, values)
    return probs / probs.sum()


def one_by_one(logits, temperature=1.0, top_k=None, top_p=None):
    probs = (logits / temperature).exp()
    probs = probs / probs.sum()
    kept, total = [], 0.0
    for token in sorted(range(len(probs)), key=lambda token: -probs[token]):
        if (top_k is not None and len(kept) == top_k) or (top_p is not None and total >= top_p):
            break
        kept.append(token)
        total += probs[token].item()
    result = torch.zeros_like(probs)
    result[kept] = probs[kept]
    return result / result.sum()


def with_minus_infinity(logits, temperature=1.0, top_k=None, top_p=None):
    logits = logits / temperature
    if top_k is not None:
        lowest = logits.topk(min(top_k, logits.size(-1))).values[-1]
        logits = torch.where(logits < lowest, -torch.inf, logits)
    if top_p is not None:  # as in Hugging Face's library: remove what is above p, moved on by one
        ordered, indices = torch.sort(logits, descending=True)
        remove = ordered.softmax(-1).cumsum(-1) > top_p
        remove[1:] = remove[:-1].clone()
        remove[0] = False
        logits = logits.masked_fill(remove.scatter(0, indices, remove), -torch.inf)
    return logits.softmax(-1)


@pytest.mark.parametrize("answer", [all_tokens_read, by_hand, in_loops])
def test_a_shifted_loss_is_right_in_many_styles(answer):
    assert checks.shifted_loss(answer)


@pytest.mark.parametrize("answer", [with_topk, one_by_one, with_minus_infinity])
def test_sampling_is_right_in_many_styles(answer):
    assert checks.sampling_probs(answer)


# --- mistakes, as a reader writes them -----------------------------------------------------------------------------


def probs_of(logits, temperature):
    return (logits / temperature).softmax(0)


def stops_short(probs, p):
    ordered, order = probs.sort(descending=True)
    left = ordered.where(ordered.cumsum(0) < p, 0)
    return torch.zeros_like(probs).scatter(0, order, left) / left.sum()


SAMPLING = {
    "multiplied by the temperature": lambda x, t=1.0, k=None, p=None: with_topk(x * t, 1.0, k, p),
    "don't sum to 1": lambda x, t=1.0, k=None, p=None: probs_of(x, t) * (with_topk(x, t, k, p) > 0),
    "least probable tokens": lambda x, t=1.0, k=None, p=None: (
        with_topk(x, t, k, p) if k is None
        else probs_of(x, t).where(probs_of(x, t) <= probs_of(x, t).sort().values[min(k, len(x)) - 1], 0)
        / probs_of(x, t).sort().values[:k].sum()
    ),
    "one token too many": lambda x, t=1.0, k=None, p=None: with_topk(x, t, None if k is None else k + 1, p),
    "drops the token whose probability takes the sum to p": lambda x, t=1.0, k=None, p=None: (
        with_topk(x, t, k, p) if p is None else stops_short(probs_of(x, t), p)
    ),
    "order of the ids": lambda x, t=1.0, k=None, p=None: (
        with_topk(x, t, k, p) if p is None
        else (lambda v: v * (v.cumsum(0) - v < p) / (v * (v.cumsum(0) - v < p)).sum())(probs_of(x, t))
    ),
    "softmax is missing": lambda x, t=1.0, k=None, p=None: (x / t).masked_fill(with_topk(x, t, k, p) == 0, -torch.inf),
    "sorted order": lambda x, t=1.0, k=None, p=None: with_topk(x, t, k, p).sort(descending=True).values,
    "`top_k` changes nothing": lambda x, t=1.0, k=None, p=None: with_topk(x, t, None, p),
    "`top_p` changes nothing": lambda x, t=1.0, k=None, p=None: with_topk(x, t, k, None),
    "The temperature changes nothing": lambda x, t=1.0, k=None, p=None: with_topk(x, 1.0, k, p),
    "applied before the temperature": lambda x, t=1.0, k=None, p=None: (
        (x / t).masked_fill(with_topk(x, 1.0, k, p) == 0, -torch.inf).softmax(0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("sentence", SAMPLING)
def test_a_mistake_in_sampling_is_named(sentence):
    verdict = checks.sampling_probs(SAMPLING[sentence])
    assert not verdict
    assert sentence in verdict.sentence


LOSSES = {
    "predicted from itself": lambda m, w: F.cross_entropy(m(w).flatten(0, 1), w.flatten()),
    "Swap the two slices": lambda m, w: F.cross_entropy(m(w[:, 1:]).flatten(0, 1), w[:, :-1].flatten()),
    "mixes the vocabulary": lambda m, w: F.cross_entropy(
        (lambda x: x.reshape(x.shape[0], x.shape[2], -1))(m(w[:, :-1])), w[:, 1:]
    ),
    "Only the last position": lambda m, w: F.cross_entropy(m(w[:, :-1])[:, -1], w[:, -1]),
    "gets probabilities": lambda m, w: F.cross_entropy(m(w[:, :-1]).softmax(2).flatten(0, 1), w[:, 1:].flatten()),
    "sum over the tokens": lambda m, w: by_hand(m, w) * w[:, 1:].numel(),
    "is negative": lambda m, w: -by_hand(m, w),
    "perplexity": lambda m, w: by_hand(m, w).exp(),
    "in bits": lambda m, w: by_hand(m, w) / torch.tensor(2.0).to(m(w)).log(),
    "mean probability": lambda m, w: 1 - m(w[:, :-1]).softmax(2).gather(2, w[:, 1:, None]).mean(),
    "shifted by two": lambda m, w: F.cross_entropy(m(w[:, :-2]).flatten(0, 1), w[:, 2:].flatten()),
}


@pytest.mark.parametrize("sentence", LOSSES)
def test_a_mistake_in_the_shifted_loss_is_named(sentence):
    verdict = checks.shifted_loss(LOSSES[sentence])
    assert not verdict
    assert sentence in verdict.sentence


def test_the_cut_of_top_p_by_hand():
    probs = torch.tensor([0.1, 0.5, 0.25, 0.15])
    answer = checks.sampling_probs.reference
    assert answer(probs.log(), top_p=0.75).tolist() == pytest.approx([0, 2 / 3, 1 / 3, 0], abs=1e-6)
    assert answer(probs.log(), top_p=0.76).tolist() == pytest.approx([0, 5 / 9, 2.5 / 9, 1.5 / 9], abs=1e-6)
    assert answer(probs.log(), top_k=2).tolist() == pytest.approx([0, 2 / 3, 1 / 3, 0], abs=1e-6)
    assert answer(probs.log(), temperature=0.5).tolist() == pytest.approx((probs**2 / (probs**2).sum()).tolist())
