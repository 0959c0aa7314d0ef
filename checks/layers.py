"""What the checks of two labs share: right ways to compute attention, heads and blocks, and what
goes wrong in them.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from checks import trials
from checks.engine import Case, Wrong
from checks.trials import changed, draw, real_tokens, scaled
from shared import model
from shared.model import masked_softmax

# --- attention: Queries, Values -------------------------------------------------------------------


def as_it_is(x: Tensor) -> Tensor:
    return x


def attention_by_pytorch(
    x: Tensor, mask: Tensor, W_query: Callable, W_key: Callable, W_value: Callable = as_it_is
) -> tuple[Tensor, Tensor]:
    """What a padded token attends to does not matter."""
    results = trials.attend(W_query(x), W_key(x), W_value(x), mask)
    return tuple(rows.masked_fill(~mask[:, :, None], math.nan) for rows in results)  # type: ignore[return-value]


def layer(
    x: Tensor,
    mask: Tensor,
    W_query: Callable,
    W_key: Callable,
    W_value: Callable = as_it_is,
    score: Callable = trials.scaled,
    weigh: Callable = trials.masked,
) -> tuple[Tensor, Tensor]:
    """The right way, one step of which a known mistake exchanges."""
    scores = score(W_query(x), W_key(x), x.shape[2])  # (batch, tokens, tokens)
    weights = weigh(scores, mask[:, None, :])
    return weights @ W_value(x), weights


def on_queries(weigh: Callable) -> Callable:
    """A way to hide scores, with the mask of the queries."""

    def mask_on_queries(scores: Tensor, mask: Tensor) -> Tensor:
        """The mask hides rows, which are queries, instead of columns. Give it the shape (batch, 1,
        tokens).
        """
        return weigh(scores, mask.mT)

    return mask_on_queries


def keys_averaged(**given: Any) -> tuple[Tensor, Tensor]:
    """The weights average the keys. Average the values, or the rows of x in a layer without
    values.
    """
    weights = layer(**given)[1]
    return weights @ given["W_key"](given["x"]), weights


def weights_transposed(W_value: Callable = as_it_is, **given: Any) -> tuple[Tensor, Tensor]:
    """The weights are transposed before they average. Row i holds the weights of token i: leave out
    the transpose.
    """
    weights = layer(**given)[1]
    return weights.mT @ W_value(given["x"]), weights


def weights_divided(W_key: Callable, **given: Any) -> tuple[Tensor, ...]:
    """The weights are divided by sqrt(d_k), so a row doesn't sum to 1. Divide the scores, before
    the softmax.
    """
    root = math.sqrt(W_key(given["x"]).shape[2])
    return tuple(rows / root for rows in layer(W_key=W_key, **given, score=trials.not_scaled))


def results_exchanged(**given: Any) -> tuple[Tensor, Tensor]:
    """The weights come first: the exercise asks for the output, then the weights."""
    return layer(**given)[::-1]


LAYER_MISTAKES: list[Callable] = [
    *(changed(layer, weigh=step) for step in (
        *trials.MASK_MISTAKES,
        *map(on_queries, (trials.masked, trials.weight_for_padding, trials.nan_for_padding)),
        trials.softmax_over_queries, trials.softmax_over_axis_0)),
    *(changed(layer, score=step) for step in trials.SCORE_MISTAKES),
    keys_averaged, weights_transposed, weights_divided, results_exchanged,
]  # fmt: skip


def layer_cases(*arguments: str) -> list[Case]:
    """Texts for layers whose arguments are of (d_model, d_k, d_v)."""
    rows = [
        (real_tokens([5, 3, 1]), (6, 3, 4), 1.0),
        (real_tokens([2, 5, 4]), (6, 3, 4), 1.0),
        (real_tokens([6, 6]), (4, 7, 2), 1.0),
        (real_tokens([4, 2, 3, 1], padding_first=True), (5, 2, 3), 1.0),
        (real_tokens([4, 3, 2, 4]), (5, 4, 3), 1.0),  # as many texts as tokens
        (real_tokens([1, 1]), (6, 3, 4), 1.0),
        (real_tokens([3, 5])[:1], (6, 3, 4), 1.0),
        (real_tokens([5]), (6, 3, 4), 1.0),
        # some scores are below a careless fill for padding
        (real_tokens([1, 1, 1, 2] * 4 + [3]), (8, 2, 3), 300.0),
    ]
    cases = []
    for seed, (mask, widths, scale) in enumerate(rows):
        x = scale * draw(*mask.shape, widths[0], seed=seed)
        x[-1, 0] = 0.0  # a score of 0 is a score like any other
        cases.append(Case({"x": x, "mask": mask}, dict(zip(arguments, widths, strict=False))))
    return cases


# --- heads: Many heads, The block, A pretrained model ---------------------------------------------


def split(projected: Tensor, num_heads: int) -> Tensor:
    # (batch, num_heads, tokens, head_dim)
    return projected.unflatten(2, (num_heads, -1)).transpose(1, 2)


def join(outputs: Tensor) -> Tensor:
    return outputs.transpose(1, 2).flatten(2)  # (batch, tokens, d_model)


def by_heads(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    num_heads: int,
    mask: Tensor,
    split: Callable = split,
    score: Callable = scaled,
    weigh: Callable = masked_softmax,
    join: Callable = join,
) -> tuple[Tensor, Tensor]:
    """The outputs of the heads, concatenated, and their weights; `mask` is True where a token may
    attend, (batch, tokens or 1, tokens). The right way, one step of which a known mistake
    exchanges.
    """
    d_model = queries.shape[2]
    queries, keys, values = (split(projected, num_heads) for projected in (queries, keys, values))
    # (batch, num_heads, tokens, tokens)
    weights = weigh(score(queries, keys, d_model), mask[:, None])
    return join(weights @ values), weights


def both_masks(x: Tensor, mask: Tensor | None, attention_mask: Tensor | None) -> Tensor:
    """True where a token may attend, (batch, tokens, tokens)."""
    allowed = torch.ones(len(x), x.shape[1], x.shape[1], dtype=torch.bool)
    if mask is not None:
        allowed = allowed & mask[:, None, :]
    return allowed if attention_mask is None else allowed & attention_mask


def heads(
    x: Tensor,
    num_heads: int,
    W_query: Callable,
    W_key: Callable,
    W_value: Callable,
    W_output: Callable,
    mask: Tensor | None = None,
    attention_mask: Tensor | None = None,
    combine: Callable = both_masks,
    **steps: Any,
) -> tuple[Tensor, Tensor]:
    """The right way, one step of which a known mistake exchanges."""
    allowed = combine(x, mask, attention_mask)
    outputs, weights = by_heads(W_query(x), W_key(x), W_value(x), num_heads, allowed, **steps)
    return W_output(outputs), weights


def heads_of_real_tokens(mask: Tensor | None = None, **given: Any) -> tuple[Tensor, Tensor]:
    """The right way; what a padded token gets does not matter."""
    output, weights = heads(mask=mask, **given)
    if mask is None:
        return output, weights
    return output.masked_fill(~mask[:, :, None], math.nan), weights.masked_fill(
        ~mask[:, None, :, None], math.nan
    )


# --- blocks: The block, A pretrained model --------------------------------------------------------


PARTS = ("attention", "attention_norm", "feed_forward", "feed_forward_norm", "num_heads")


Part = Callable[[Tensor], Tensor]  # of a block: x to what is added to it, or to normalized x


# Half a block; `keep` is what stays of x, 0 where there is no residual connection.


def norm_before(x: Tensor, part: Part, norm: Part, keep: float) -> Tensor:
    return keep * x + part(norm(x))


def norm_after(x: Tensor, part: Part, norm: Part, keep: float) -> Tensor:
    return norm(keep * x + part(x))


def norm_inside(x: Tensor, part: Part, norm: Part, keep: float) -> Tensor:
    return keep * x + norm(part(x))


def halves(
    first: Callable, second: Callable, parts: tuple, keep_1: float = 1, keep_2: float = 1
) -> Tensor:
    """A block's two halves, one after the other."""
    x, attention, feed_forward, norm_1, norm_2 = parts
    return second(first(x, attention, norm_1, keep_1), feed_forward, norm_2, keep_2)


def pre_norm(*parts: Any, **keep: float) -> Tensor:
    """This is pre-norm: each part reads normalized x. The exercise asks for post-norm, `norm(x +
    part(x))`.
    """
    return halves(norm_before, norm_before, parts, **keep)


def post_norm(*parts: Any, **keep: float) -> Tensor:
    """This is post-norm: each sum is normalized. The exercise asks for pre-norm, `x +
    part(norm(x))`.
    """
    return halves(norm_after, norm_after, parts, **keep)


def norms_inside_the_sums(*parts: Any) -> Tensor:
    """In both halves the norm is inside the sum. Normalize the sum, `norm(x + part(x))`."""
    return halves(norm_inside, norm_inside, parts)


def norm_inside_the_first_sum(*parts: Any) -> Tensor:
    """After the attention the norm is inside the sum. Normalize the sum, `norm(x + part(x))`."""
    return halves(norm_inside, norm_after, parts)


def norm_inside_the_second_sum(*parts: Any) -> Tensor:
    """After the feed-forward layer the norm is inside the sum. Normalize the sum, `norm(x +
    part(x))`.
    """
    return halves(norm_after, norm_inside, parts)


def input_added_again(
    x: Tensor, attention: Part, feed_forward: Part, norm_1: Part, norm_2: Part
) -> Tensor:
    """The second sum begins again with the block's input. Add to the normalized first sum."""
    return norm_2(x + feed_forward(norm_1(x + attention(x))))


NORM_INSIDE = norms_inside_the_sums, norm_inside_the_first_sum, norm_inside_the_second_sum


def gelu(x: Tensor) -> Tensor:
    """The activation function is GELU. This block has ReLU."""
    return F.gelu(x)


def block(
    x: Tensor,
    attention: nn.Module,
    attention_norm: nn.LayerNorm,
    feed_forward: nn.Sequential,
    feed_forward_norm: nn.LayerNorm,
    num_heads: int,
    mask: Tensor | None = None,
    attention_mask: Tensor | None = None,
    eps: float | None = None,
    order: Callable = pre_norm,
    activation: Callable = torch.relu,
    attend: Callable = heads,
) -> tuple[Tensor, Tensor]:
    """Output and weights of a block; `order` puts its parts together, and `eps` is the norms' own
    unless given.
    """
    projections = {
        name: getattr(attention, name) for name in ("W_query", "W_key", "W_value", "W_output")
    }
    weights = []

    def attended(x: Tensor) -> Tensor:
        output, of_heads = attend(
            x=x, num_heads=num_heads, mask=mask, attention_mask=attention_mask, **projections
        )
        weights.append(of_heads)
        return output

    def two_layers(x: Tensor) -> Tensor:
        return feed_forward[-1](activation(feed_forward[0](x)))

    def normalizing(norm: nn.LayerNorm) -> Callable:
        return lambda x: F.layer_norm(
            x, x.shape[2:], norm.weight, norm.bias, norm.eps if eps is None else eps
        )

    return order(
        x, attended, two_layers, *map(normalizing, (attention_norm, feed_forward_norm))
    ), weights[0]


def block_mistakes(
    compute: Callable, order: Callable, other_activation: Callable
) -> list[Callable]:
    """What goes wrong in any block, of which `compute` is right with this order of its parts."""

    def mask_not_used(**given: Any) -> tuple[Tensor, Tensor]:
        """The `mask` does not reach the attention, so padding gets weight. Pass it on."""
        return compute(**given | {"mask": None})

    def causal_without_being_asked(**given: Any) -> tuple[Tensor, Tensor]:
        """No token attends to later ones. This block reads whole texts: if it gets no
        `attention_mask`, pass none to the attention.
        """
        causal = model.causal_mask(given["x"].shape[1])
        return compute(**given | {"attention_mask": causal})

    def mask_inverted(mask: Any = None, **given: Any) -> tuple[Tensor, Tensor]:
        """The `mask` is inverted: tokens attend to padding only. It is True for a real token."""
        return compute(**given, mask=~mask)

    def mask_inverted_if_given(mask: Tensor | None = None, **given: Any) -> tuple[Tensor, Tensor]:
        """The `mask` is inverted: tokens attend to padding only. It is True for a real token."""
        return compute(**given, mask=None if mask is None else ~mask)

    def attention_norm_used_twice(
        x: Tensor, attention: Part, feed_forward: Part, norm_1: Part, norm_2: Part
    ) -> Tensor:
        """`attention_norm` is used in both halves. The half with the feed-forward layer has its
        own, `feed_forward_norm`.
        """
        return order(x, attention, feed_forward, norm_1, norm_1)

    def attention_norm_left_out(
        x: Tensor, attention: Part, feed_forward: Part, norm_1: Part, norm_2: Part
    ) -> Tensor:
        """`attention_norm` is not used. Each half of the block has a norm."""
        return order(x, attention, feed_forward, nn.Identity(), norm_2)

    def feed_forward_norm_left_out(
        x: Tensor, attention: Part, feed_forward: Part, norm_1: Part, norm_2: Part
    ) -> Tensor:
        """`feed_forward_norm` is not used. Each half of the block has a norm."""
        return order(x, attention, feed_forward, norm_1, nn.Identity())

    def attention_not_added(*parts: Any) -> Tensor:
        """There is no residual connection around the attention: add its input to its output."""
        return order(*parts, keep_1=0)

    def feed_forward_not_added(*parts: Any) -> Tensor:
        """There is no residual connection around the feed-forward layer: add the x that comes from
        the attention to its output.
        """
        return order(*parts, keep_2=0)

    def nothing_added(*parts: Any) -> Tensor:
        """There is no residual connection at all: add the input of each part to its output."""
        return order(*parts, keep_1=0, keep_2=0)

    orders = (
        attention_norm_used_twice, attention_norm_left_out, feed_forward_norm_left_out,
        attention_not_added,
        feed_forward_not_added, nothing_added,
    )  # fmt: skip
    return [
        mask_not_used, causal_without_being_asked, mask_inverted, mask_inverted_if_given,
        *(changed(compute, order=wrong) for wrong in orders),
        changed(compute, activation=other_activation),
    ]  # fmt: skip


class ParametersMissing(Wrong):
    """The results are right, but the layer has no parameter `{name}`, so the parameters of another
    model can't be loaded. Create the parts that the exercise lists, in that order; in an
    `nn.Sequential`, dropout counts, too.
    """


class ParameterTooMany(Wrong):
    """The results are right, but the layer has a parameter `{name}`, which other models lack, so
    theirs can't be loaded. Make only the parts that the exercise lists.
    """


def has_the_parameters(layer: nn.Module, course: nn.Module) -> None:
    """Parameters are loaded by name from PyTorch's layer or from a pretrained model."""
    if missing := course.state_dict().keys() - layer.state_dict().keys():
        raise ParametersMissing(name=max(missing))
    if too_many := layer.state_dict().keys() - course.state_dict().keys():
        raise ParameterTooMany(name=max(too_many))


def texts(
    d_model: int,
    num_heads: int,
    hidden_dim: int,
    mask: Tensor,
    attention_mask: Tensor | None = None,
    **eps: Any,
) -> Case:
    inputs = {"x": draw(*mask.shape, d_model), "mask": mask}
    inputs |= {} if attention_mask is None else {"attention_mask": attention_mask}
    return Case(
        inputs, {"d_model": d_model, "num_heads": num_heads, "hidden_dim": hidden_dim, **eps}
    )


def batches(**eps: Any) -> list[Case]:
    """Padding behind and in front, two masks for one layer, no mask, a batch of one, one token."""
    return [
        texts(6, 2, 12, trials.real_tokens([4, 2]), **eps),
        texts(6, 2, 12, trials.real_tokens([3, 4], padding_first=True), **eps),
        texts(8, 4, 10, trials.real_tokens([1, 5, 3], padding_first=True), **eps),
        texts(4, 1, 7, trials.real_tokens([4, 3])[1:], **eps),
        texts(6, 3, 9, trials.real_tokens([1, 1]), **eps),
        Case({"x": draw(1, 3, 4)}, {"d_model": 4, "num_heads": 2, "hidden_dim": 5, **eps}),
        texts(6, 2, 12, trials.real_tokens([5]), **eps),
    ]


# --- windows: A language model, The KV cache ------------------------------------------------------


def in_window(distance: Tensor, window_size: int) -> Tensor:
    return (distance >= 0) & (distance < window_size)


def no_window(distance: Tensor, window_size: int) -> Tensor:
    """The mask has no second edge, so a token attends to all earlier ones. The window ends at the
    token's own position and has as many positions as the exercise says.
    """
    return distance >= 0


def not_causal(distance: Tensor, window_size: int) -> Tensor:
    """All later positions are allowed. A token must not attend to later ones."""
    return distance < window_size


def window_too_wide(distance: Tensor, window_size: int) -> Tensor:
    """The window is one position too wide. Counting the token's own position, it should have as
    many positions as the exercise says.
    """
    return (distance >= 0) & (distance <= window_size)


def window_too_narrow(distance: Tensor, window_size: int) -> Tensor:
    """The window is one position too narrow. Counting the token's own position, it should have as
    many positions as the exercise says.
    """
    return in_window(distance, window_size - 1)


def looks_ahead(distance: Tensor, window_size: int) -> Tensor:
    """The window reaches ahead instead of back: rows and columns are swapped. Rows are queries, so
    the distance is the row's position minus the column's.
    """
    return in_window(-distance, window_size)


WINDOW_MISTAKES = no_window, not_causal, window_too_wide, window_too_narrow, looks_ahead
