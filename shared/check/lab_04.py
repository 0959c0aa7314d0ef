"""The checks of lab 4: the whole layer, an average taken early that was not, and a model that looks away."""

import copy
import math

import torch
from torch import nn

from .. import training
from ..model import SelfAttention as CourseLayer
from ..model import masked_softmax
from .attention import COUNTED, PADDING, attention_by_pytorch, batches, layer, real_tokens
from .exercise import Case, Exercise, draw
from .experiment import asked
from .mistakes import Wrong, edits
from .run import Raised, multiplications

VALUES = "Lab 4, “Where to look, and what to bring back”"
EARLY = "Lab 4, “One average, taken early”"


# --- 4.1 ---
class SelfAttention(nn.Module):
    """Every token asks, every token answers: features (batch, tokens, dim) to (batch, tokens, value_dim)."""

    def __init__(self, dim, key_dim, value_dim):
        super().__init__()
        self.W_query = nn.Linear(dim, key_dim, bias=False)
        self.W_key = nn.Linear(dim, key_dim, bias=False)
        self.W_value = nn.Linear(dim, value_dim, bias=False)

    def attend(self, features, mask):
        """The weights, (batch, tokens, tokens): row i says where token i looks."""
        queries = self.W_query(features)  # (batch, tokens, key_dim)
        keys = self.W_key(features)  # (batch, tokens, key_dim)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])  # (batch, tokens, tokens)
        return masked_softmax(scores, mask.unsqueeze(1))  # no query looks at a padded key

    def forward(self, features, mask):
        """The output, (batch, tokens, value_dim), and the weights."""
        weights = self.attend(features, mask)  # (batch, tokens, tokens)
        values = self.W_value(features)  # (batch, tokens, value_dim)
        return weights @ values, weights


def fits_into_the_lab(answer, run):
    """What the classifier of the lab calls is there: `attend`, and three maps without a bias."""
    made = run(answer, 5, 3, 4)
    for name in ("W_query", "W_key", "W_value"):
        if not isinstance(getattr(made, name), nn.Linear) or getattr(made, name).bias is not None:
            raise Wrong("no nn.Linear [without a bias]", name=name)
    features, mask = draw(2, 4, 5), real_tokens([4, 2])
    given = run(lambda: made.attend(features.to(made.W_key.weight.dtype), mask))
    wanted = run(made, features, mask)
    if isinstance(given, Raised) and "no attribute 'attend'" in given.text:
        raise Wrong("the weights alone cannot be had")
    if isinstance(given, Raised) or not isinstance(given, torch.Tensor) or given.shape != wanted[1].shape:
        raise Wrong("attend and forward disagree")
    if not torch.allclose(given[mask], wanted[1][mask], atol=1e-5):
        raise Wrong("attend and forward disagree")


AGAIN = "self.W_query(features) @ self.W_key(features).transpose(1, 2) / math.sqrt(self.W_key(features).shape[2])"
whole_layer = Exercise(
    SelfAttention,
    name="whole_layer",
    cases=batches((6, 3, 4), (4, 7, 2), (5, 2, 3), (4, 4, 4), (8, 2, 3)),
    truth=attention_by_pytorch,
    parts=("W_query", "W_key", "W_value"),
    widths=lambda dim, k, d_v: {"W_query": (dim, k), "W_key": (dim, k), "W_value": (dim, d_v)},
    also=fits_into_the_lab,
    tried="six batches, with padding and without, k and d_v below and above d, one token, large scores, in double "
    "precision, against PyTorch's scaled_dot_product_attention",
    see=VALUES,
    mistakes=layer(
        "values", AGAIN, ("self.W_query(features)", "self.W_key(features)"), values="self.W_value(features).shape[2]"
    )
    + edits("""
        features brought back: weights @ values => weights @ features
        values made of something else: self.W_value(features) => self.W_value(self.W_key(features)) ||
            self.W_value(self.W_query(features))
        padding hidden in the values: masked_softmax(scores, mask.unsqueeze(1)) => scores.softmax(dim=2) &&
            self.W_value(features) => self.W_value(features) * mask.unsqueeze(2)
        one matrix for keys and values: self.W_key(features) => self.W_value(features)
    """),
)


# --- 4.2 ---
def average_early(weights, values, mask):
    """The mean output of real tokens, (batch, value_dim)."""
    share = mask / mask.sum(dim=1, keepdim=True)  # (batch, tokens), padded rows do not count
    row = (share.unsqueeze(2) * weights).sum(dim=1)  # (batch, tokens), the column means of A
    return (row.unsqueeze(2) * values).sum(dim=1)  # (batch, value_dim)


def mean_of_outputs(weights, values, mask):
    return torch.stack([(A @ V)[real].mean(dim=0) for A, V, real in zip(weights, values, mask, strict=True)])


def weights_and_values(value_dim: int, seed: int, lengths: list[int], padding_first: bool = False) -> Case:
    mask = real_tokens(lengths, padding_first)
    weights = masked_softmax(2 * draw(*mask.shape, mask.shape[1], seed=seed), mask[:, None])
    return Case({"weights": weights, "values": draw(*mask.shape, value_dim, seed=seed + 1), "mask": mask})


def takes_the_short_way(answer, run):
    """The one row costs n² + n d_v multiplications a text, all outputs n² d_v."""
    tokens, value_dim = 24, 20
    case = weights_and_values(value_dim, 5, [tokens, 8])
    if multiplications(answer, list(case.inputs.values()), run) > 2 * tokens * tokens * value_dim / 3:
        raise Wrong("the average taken late", see=EARLY)


SHARE, ROW = "mask / mask.sum(dim=1, keepdim=True)", "(share.unsqueeze(2) * weights).sum(dim=1)"

average_early = Exercise(
    average_early,
    cases=[
        weights_and_values(3, 0, [5, 3, 1]),
        weights_and_values(4, 10, [4, 4]),
        weights_and_values(6, 20, [6, 2], padding_first=True),
        weights_and_values(4, 30, [4, 3, 2, 4]),
        weights_and_values(2, 40, [1, 1]),
    ],
    truth=mean_of_outputs,
    also=takes_the_short_way,
    tried="five batches of weights and values, with padding and without, in double precision, against the mean of all "
    "outputs; and no product of all rows of A with the values was seen",
    see=EARLY,
    mistakes=edits(f"""
        the fault is still there: => return values.sum(dim=1) / mask.sum(dim=1, keepdim=True)
        divided by all places: mask.sum(dim=1, keepdim=True) => mask.shape[1]
        padding left in the sum: {SHARE} => (1 / mask.sum(dim=1, keepdim=True)).expand(mask.shape)
        not divided: / mask.sum(dim=1, keepdim=True) => || {ROW} => weights.sum(dim=1)
        one count for all texts: mask.sum(dim=1, keepdim=True) => mask.sum()
        counted over the batch: mask.sum(dim=1, keepdim=True) => mask.sum(dim=0)
        the axis of the count is lost: dim=1, keepdim=True => dim=1
        row means instead of column means: {ROW} => weights.mean(dim=2) || share
        columns weighted instead of rows: share.unsqueeze(2) => share
        summed over the batch: weights).sum(dim=1) => weights).sum(dim=0) || values).sum(dim=1) => values).sum(dim=0)
        summed over the features: values).sum(dim=1) => values).sum(dim=2)
        one row read: {ROW} => weights[:, 0] || weights[:, -1]
        divided once too often: values).sum(dim=1 => values).mean(dim=1
        multiplied by the count: mask / mask => mask * mask
        added in place of multiplied: * weights => + weights || * values => + values
        weights not used: row.unsqueeze(2) * values => values
        {VALUES}
        rows of padding counted: {ROW} => weights.mean(dim=1)
        {PADDING}
        the mask the wrong way round: share = => mask = ~mask; share = ||
            share = => mask = ~mask; share = && keepdim=True) => keepdim=True).clamp(min=1)
        the mask only counted: share = => mask = {COUNTED}; share =
    """),
)


# --- 4.3 ---
def look_away(net, right):
    """How much accuracy falls when every token looks at all alike, and half the width of its 95% interval."""
    away = copy.deepcopy(net)
    nn.init.zeros_(away.attention.W_query.weight)
    falls = right(net).astype(float) - right(away).astype(float)  # (reviews,)
    return training.mean_and_interval(falls)


class Judge(nn.Module):
    """Judges eight-token texts of its own by the sign of one number of the averaged output."""

    def __init__(self, num_reviews, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.attention = CourseLayer(4, 3, 2).double()
        with torch.no_grad():
            for part in self.attention.parameters():
                part.copy_(2 * draw(*part.shape, seed=seed + len(part)))
        self.texts, self.labels = draw(num_reviews, 8, 4, seed=seed + 20), draw(num_reviews, seed=seed + 21) > 0


def right_of(net):
    """For each review of the planted model, whether its answer is right."""
    with torch.no_grad():
        said = net.attention(net.texts)[0].mean(dim=1)[:, 0] > 0
    return (said == net.labels).numpy()


def away_by_hand(net, right):
    flat = net.attention.W_value(net.texts).mean(dim=1)[:, 0] > 0
    falls = right(net).astype(float) - (flat == net.labels).numpy()
    return training.mean_and_interval(falls)


FALLS = "right(net).astype(float) - right(away).astype(float)"

look_away = Exercise(
    look_away,
    cases=[Case({"net": Judge(size, seed), "right": right_of}) for size, seed in ((60, 0), (25, 1), (200, 2))],
    truth=away_by_hand,
    tried="three models that judge 25, 60 and 200 reviews, and it was known what each of them says when it looks away",
    see="Lab 4, “Exercise 4.3 (experiment): look away”",
    mistakes=edits(f"""
        the values silenced: attention.W_query => attention.W_value
        nothing was taken away: nn.init.zeros_(away.attention.W_query.weight) => pass
        the sign turned round [fall]: {FALLS} => right(away).astype(float) - right(net).astype(float)
        the accuracy left, not the fall: {FALLS} => right(away).astype(float)
        the accuracy before, not the fall: {FALLS} => right(net).astype(float)
        one half of the reviews: (falls) => (falls[::2]) || (falls[: len(falls) // 2])
        added in place of subtracted [changes]: {FALLS} => right(net).astype(float) + right(away).astype(float)
        changed answers counted, not errors: {FALLS} => (right(net) != right(away)).astype(float)
        ones in place of zeros: nn.init.zeros_ => nn.init.ones_
    """)
    + asked("falls", FALLS.split(" - "), " [reviews]", call="training.mean_and_interval"),
)
