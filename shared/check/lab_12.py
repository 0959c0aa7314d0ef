"""The checks of lab 12: a layer of the published model, an aim, a search that is tested."""

import torch
from torch import Tensor, nn

from ..model import MultiHeadSelfAttention, causal_mask
from ..training import mean_and_interval
from .attention import real_tokens, texts
from .compare import also_numpy
from .exercise import Case, Exercise, draw
from .experiment import asked, by_sums
from .lab_09 import by_pytorch, halves, takes_its_sizes, weights_of_real
from .mistakes import Wrong, edits

LAYER = "Lab 12, “Your attention, their weights”"


def maps(*shape: int, seed: int = 0) -> Tensor:
    return draw(*shape, seed=seed).mul(2).softmax(dim=-1)


# --- 12.1 ---
class EncoderLayer(nn.Module):
    def __init__(self, dim, num_heads, hidden_dim, eps):
        super().__init__()
        self.attention = MultiHeadSelfAttention(dim, num_heads)
        self.attention_norm = nn.LayerNorm(dim, eps)
        self.feed_forward = nn.Sequential(nn.Linear(dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, dim))
        self.feed_forward_norm = nn.LayerNorm(dim, eps)

    def forward(self, features, mask=None):
        attended, weights = self.attention(features, mask)
        features = self.attention_norm(features + attended)  # (batch, pieces, dim)
        return self.feed_forward_norm(features + self.feed_forward(features)), weights


def layer_and_weights(features, attention, mask=None, **parts):
    output = by_pytorch(features, attention, mask=mask, activation="gelu", **parts)
    return output, weights_of_real(attention(features, mask)[1], mask)


def sizes_and_eps(answer, run):
    made = takes_its_sizes(answer, run, 0.25, see=LAYER)
    if (made.attention_norm.eps, made.feed_forward_norm.eps) != (0.25, 0.25):
        raise Wrong("eps is not used", see=LAYER)


OUTPUT = "self.feed_forward_norm(features + self.feed_forward(features)), weights"
FIRST = "self.attention_norm(features + attended)"

encoder_layer = Exercise(
    EncoderLayer,
    name="encoder_layer",
    cases=[
        texts((6, 2, 12, 0.1), real_tokens([4, 2])),
        Case({"features": draw(1, 3, 4)}, sizes=(4, 4, 4, 1e-5)),
        texts((8, 1, 10, 0.1), real_tokens([1, 5, 3])),
    ],
    truth=layer_and_weights,
    parts=("attention", "attention_norm", "feed_forward", "feed_forward_norm"),
    also=sizes_and_eps,
    tried="three batches, with padding and without, against PyTorch's own layer with the same weights; and its sizes",
    see=LAYER,
    mistakes=edits(f"""
        norm before each part [first]: self.attention(features, mask) =>
            self.attention(self.attention_norm(features), mask) && {FIRST} => features + attended && {OUTPUT} =>
            features + self.feed_forward(self.feed_forward_norm(features)), weights
        feed-forward layer left out: {OUTPUT} => self.feed_forward_norm(features), weights
        the weights are missing: {OUTPUT} => self.feed_forward_norm(features + self.feed_forward(features))
        another bend: nn.GELU() => nn.ReLU()
        hidden_dim is not used: hidden_dim), nn => 4 * dim), nn && Linear(hidden_dim => Linear(4 * dim
        num_heads is not used: (dim, num_heads) => (dim, 1)
        eps is not used: (dim, eps) => (dim)
        Lab 8, “What a mask hides”
        the mask has no default: mask=None => mask
        no mask: (features, mask) => (features)
        the mask the wrong way round: (features, mask) => (features, None if mask is None else ~mask)
    """)
    + halves(LAYER, ", weights"),
)


# --- 12.2 ---
def share_on_aim(weights, aim):
    """How much of its attention each map gives to an aim, mean over the pieces that have one."""
    asking = torch.arange(len(aim))[aim >= 0]  # (asking,)
    return weights[..., asking, aim[asking]].mean(dim=-1)  # (layers, heads)


def share_by_ones(weights, aim):
    aimed = torch.nn.functional.one_hot(aim.clamp(min=0), len(aim)) * (aim >= 0)[:, None]  # (pieces, pieces)
    return torch.einsum("lhij,ij->lh", weights, aimed.to(weights)) / aimed.sum()


ON_AIM, ASKING = "asking, aim[asking]", "[aim >= 0]"
PICKED = "weights[..., asking, aim[asking]]"

share_on_aim = Exercise(
    share_on_aim,
    cases=[
        Case({"weights": maps(2, 3, 5, 5), "aim": torch.tensor([-1, 0, 3, 1, -1])}),
        Case({"weights": maps(3, 2, 6, 6, seed=1), "aim": torch.tensor([5, 2, -1, 0, 0, -1])}),
        Case({"weights": maps(1, 4, 4, 4, seed=2), "aim": torch.tensor([2, -1, 0, 1])}),
    ],
    truth=share_by_ones,
    view=also_numpy,
    tried="three texts and aims, in which some pieces have nothing to look at",
    see="Lab 12, “A search for heads”",
    mistakes=edits(f"""
        more than one fault is left [aim]: {ASKING} => && {ON_AIM} => aim[asking], asking
        the aim turned: {ON_AIM} => aim[asking], asking
        rows without an aim counted: {ASKING} => ||
            .mean(dim=-1) => .sum(dim=-1) / len(aim) || => rows = torch.arange(len(aim))
            return weights[..., rows, aim.clamp(min=0)].mean(dim=-1)
        an aim at the first piece left out: {ASKING} => [aim > 0]
        always the first piece left out: torch.arange(len(aim)){ASKING} => torch.arange(1, len(aim))
        the last piece left out: {ASKING} => [(aim >= 0) & (aim < len(aim) - 1)]
        each row at the aims of all: {PICKED} => weights[..., asking[:, None], aim[asking]].mean(dim=-1) ||
            weights[..., asking[:, None], aim[asking]].sum(dim=-1)
        the rows of those that are aimed at: {ON_AIM} => aim[asking], aim[asking]
        what a piece gives to itself: {ON_AIM} => asking, asking
        aims of the first rows: {ON_AIM} => asking, aim[: len(asking)] || torch.arange(len(asking)), aim[asking]
        the largest in place of the aim: {PICKED} => weights[..., asking, :].amax(dim=-1)
        the aim is not used: {PICKED} => weights[..., asking, :].sum(dim=-1) || weights[..., asking, :].mean(dim=-1)
        what misses the aim: {PICKED} => (1 - weights[..., asking, aim[asking]])
        whether it looks there most: {PICKED} => (weights[..., asking, :].argmax(dim=-1) == aim[asking]).double()
        summed over the rows: .mean(dim=-1) => .sum(dim=-1)
        mean over the wrong axis: .mean(dim=-1) => .mean(dim=-2) || .mean(dim=0)
        one number for all maps: .mean(dim=-1) => .mean()
    """),
)


# --- 12.3 ---
def search_and_test(shares, searched, fresh):
    """The head found on some texts, and its share on others: head, mean, half of the interval."""
    found = shares(searched).mean(dim=0)  # (layers, heads)
    layer, head = divmod(found.argmax().item(), found.shape[1])
    return (layer, head), *mean_and_interval(shares(fresh)[:, layer, head])


def planted(chosen: list) -> Tensor:
    """Shares of 2 x 3 heads in each of the chosen texts, numbers that say what lies in them."""
    text = torch.tensor(chosen, dtype=torch.float64)[:, None, None]
    number = torch.arange(6, dtype=torch.float64).view(2, 3)
    return 0.5 + 0.2 * torch.sin(number * 2 + text / 40) + 0.4 * torch.cos(text * (number + 1)) - 0.001 * text


def by_numbers(shares, searched, fresh):
    table = [[sum(planted([t])[0, i, j].item() for t in searched) for j in range(3)] for i in range(2)]
    i, j = max(((i, j) for i in range(2) for j in range(3)), key=lambda place: table[place[0]][place[1]])
    return torch.tensor([i, j, *by_sums([planted([t])[0, i, j].item() for t in fresh])])


def four_numbers(given, **_):
    """((layer, head), mean, half) as four numbers."""
    try:
        (layer, head), mean, half = given
        return torch.tensor([float(number) for number in (layer, head, mean, half)])
    except (TypeError, ValueError):
        raise Wrong("no head with two numbers") from None


REST = "mean_and_interval(shares(fresh)[:, layer, head])"

search_and_test = Exercise(
    search_and_test,
    cases=[
        Case({"shares": planted, "searched": [1, 2, 3], "fresh": [50, 61, 77, 80]}),
        Case({"shares": planted, "searched": [20, 33], "fresh": [4, 9, 2]}),
        Case({"shares": planted, "searched": [90, 70, 75, 60], "fresh": [11, 12, 30, 41, 5]}),
    ],
    truth=by_numbers,
    view=four_numbers,
    tried="six heads of which the shares in each text are known, with three searches",
    see="Lab 12, “Does it hold?”",
    mistakes=edits(f"""
        tested on the texts of the search: shares(fresh) => shares(searched)
        searched on the fresh texts: shares(searched) => shares(fresh)
        searched and tested the wrong way round: shares(searched) => shares(fresh) &&
            shares(fresh)[ => shares(searched)[
        the least in place of the best: argmax => argmin
        the largest of one text: shares(searched).mean(dim=0) => shares(searched).amax(dim=0) ||
            shares(searched).mean(dim=0) => shares(searched)[0]
        layer and head exchanged: return (layer, head) => return (head, layer)
        counted from one [heads]: return (layer, head) => return (layer + 1, head + 1)
        the place not taken apart: divmod(found.argmax().item(), found.shape[1]) =>
            divmod(found.argmax().item(), found.shape[0])
        the best of each text: {REST} => mean_and_interval(shares(fresh).flatten(1).amax(dim=1))
        all heads in place of the one: {REST} => mean_and_interval(shares(fresh).mean(dim=(1, 2)))
    """)
    + asked("shares(fresh)[:, layer, head]"),
)


# --- 12.4 ---
def breadth(weights):
    """How many pieces a row looks at, mean over the rows of each map: (..., pieces, pieces) to (...)."""
    entropy = -torch.xlogy(weights, weights).sum(dim=-1)  # (..., pieces)
    return entropy.exp().mean(dim=-1)


XLOGY = "torch.xlogy(weights, weights)"

breadth = Exercise(
    breadth,
    cases=[
        Case({"weights": maps(2, 3, 4, 4)}),
        Case({"weights": maps(5, 5, seed=1)}),
        Case({"weights": draw(3, 6, 6).masked_fill(~causal_mask(6), -torch.inf).softmax(dim=-1)}),
    ],
    truth=lambda weights: torch.special.entr(weights).sum(dim=-1).exp().mean(dim=-1),
    view=also_numpy,
    tried="maps with two axes in front, one and none, one of them with weights of exactly 0",
    see="Lab 12, “Exercise 12.4: a measure of your own”",
    mistakes=edits(f"""
        mean over the wrong axis: mean(dim=-1) => mean(dim=-2) || mean(dim=0) || mean(dim=1)
        NaN where a weight is zero: {XLOGY} => (weights * weights.log())
        no exponential: entropy.exp() => entropy
        exponential of the mean: entropy.exp().mean(dim=-1) => entropy.mean(dim=-1).exp()
        not averaged over the rows: .mean(dim=-1) =>
        the minus is missing: -torch => torch || -torch => torch && entropy.exp() => entropy
        another base: {XLOGY} => (weights * weights.log2().nan_to_num(neginf=0.0))
        one over the sum of squares: entropy.exp() => (1 / (weights**2).sum(dim=-1))
        no entropy: -{XLOGY}.sum(dim=-1) => weights || {XLOGY} => weights
        the entropy is not summed: weights).sum(dim=-1) => weights)
        summed over the rows: mean(dim=-1) => sum(dim=-1)
        one number for all maps: mean(dim=-1) => mean() || weights).sum(dim=-1) => weights).sum()
        Lab 12, “A search for heads”
        entropy over the wrong axis: weights).sum(dim=-1) => weights).sum(dim=-2) || weights).sum(dim=0) ||
            weights).sum(dim=1)
    """),
)
