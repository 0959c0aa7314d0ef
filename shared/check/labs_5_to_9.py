"""The checks of labs 8 and 9: blocks and evidence.

References are loops or PyTorch's and SciPy's own functions. A mistake that can hide behind sizes that agree has a trial
in which they agree, and it stands first: there the mistake raises no error.
"""

import math
from itertools import product

import numpy as np
import torch
import torch.nn.functional as F
from scipy import stats
from torch import Tensor, nn

from .harness import Case, Exercise, Mistake, draw, real_tokens

# --- Lab 8 -------------------------------------------------------------------------------------------------------

_WRITING = "Lab 8, “Writing instead of reading”"


def _causal(tokens: int) -> Tensor:
    return torch.arange(tokens)[:, None] >= torch.arange(tokens)  # (tokens, tokens)


def _allowed(rule):
    """The mistaken answer of 8.1 that follows this rule of the causal matrix and the mask, as (batch, 1, tokens)."""
    return lambda mask: rule(_causal(mask.shape[1]), mask[:, None, :])


def _places_by_loops(mask: Tensor) -> Tensor:
    places = range(mask.shape[1])
    rows = [[[bool(row[j]) and j <= i for j in places] for i in places] for row in mask]
    return torch.tensor(rows)


allowed_places = Exercise(
    name="allowed_places",
    cases=lambda: [
        Case({"mask": torch.tensor(rows, dtype=torch.bool)})
        for rows in (
            [[1, 1, 0], [0, 1, 1], [1, 1, 1]],
            [[1, 1, 1, 1, 0], [0, 0, 1, 1, 1]],
            [[1, 1, 0, 1]],
            [[0, 0], [1, 0], [0, 1]],
        )
    ],
    reference=_places_by_loops,
    mistakes=[
        Mistake(
            "looks ahead",
            "Each token sees what comes after it, and not what came before. Rows ask: row i needs the columns up to i, "
            "the lower triangle.",
            _WRITING,
            _allowed(lambda causal, real: causal.T & real),
        ),
        Mistake(
            "itself forbidden",
            "No token may look at itself. The diagonal belongs to the triangle.",
            _WRITING,
            _allowed(lambda causal, real: causal & ~causal.T & real),
        ),
        Mistake(
            "padding forgotten",
            "The order is kept, and padding can be looked at. Its columns must be False.",
            "Lab 7, “What a mask hides”",
            _allowed(lambda causal, real: causal.expand(len(real), -1, -1)),
        ),
        Mistake(
            "order forgotten",
            "Padding is hidden, and every token sees what comes after it.",
            _WRITING,
            _allowed(lambda causal, real: real.expand(-1, real.shape[2], -1)),
        ),
        Mistake(
            "padding on the tokens that ask",
            "The padding takes away rows, the tokens that ask. It is the padded tokens that are *asked* that must go: "
            "columns.",
            "Lab 7, “What a mask hides”",
            _allowed(lambda causal, real: causal & real.transpose(1, 2)),
        ),
        Mistake(
            "padding on both sides",
            "Padded tokens may not ask either, so whole rows are False. Only the columns of padding have to go.",
            "Lab 7, “What a mask hides”",
            _allowed(lambda causal, real: causal & real & real.transpose(1, 2)),
        ),
        Mistake(
            "either in place of both",
            "One of the two conditions is enough to be seen. Both must hold: `&`, not `|`.",
            _WRITING,
            _allowed(lambda causal, real: causal | real),
        ),
        Mistake(
            "True where hidden",
            "True and False are swapped. In this course True is where a token may look.",
            _WRITING,
            _allowed(lambda causal, real: ~(causal & real)),
        ),
        Mistake(
            "mask with the wrong sign",
            "Padding can be seen and real tokens cannot. `mask` is True for a real token.",
            "Lab 7, “What a mask hides”",
            _allowed(lambda causal, real: causal & ~real),
        ),
        Mistake(
            "mask on the wrong axes",
            "The mask (batch, tokens) is laid over the triangle as if texts were tokens. Give it an axis of length 1 "
            "for the tokens that ask.",
            "Lab 7, “What a mask hides”",
            lambda mask: _causal(mask.shape[1]) & mask,
        ),
    ],
    tried="padding at the end, at the beginning and in the middle, and a text that is nothing else",
)


def _norm_case(*shape, eps):
    features = draw(*shape, seed=1) * 2 + 3
    features[..., 0, :] = 1.5  # a token whose features are all equal
    return Case({"features": features, "scale": draw(shape[-1], seed=2), "shift": draw(shape[-1], seed=3), "eps": eps})


def _norm(**changed):
    """The mistaken answer of 8.2: a mean, a variance, or the last line differs."""

    def gives(features, scale, shift, eps):
        axes, keepdim = changed.get("axes", lambda features: -1)(features), changed.get("keepdim", True)
        mean = features.mean(dim=axes, keepdim=keepdim)
        variance = features.var(dim=axes, keepdim=keepdim, unbiased=changed.get("unbiased", False))
        centred = features if changed.get("not_centred") else features - mean
        spread = changed.get("spread", lambda variance, eps: torch.sqrt(variance + eps))(variance, eps)
        return changed.get("finish", lambda normal, scale, shift: normal * scale + shift)(
            centred / spread, scale, shift
        )

    return gives


_NORM = "Lab 8, “What layer normalisation is for”"

layer_norm = Exercise(
    name="layer_norm",
    cases=lambda: [_norm_case(4, 4, 4, eps=0.1), _norm_case(3, 5, eps=1e-5), _norm_case(2, 3, 6, eps=0.5)],
    reference=lambda features, scale, shift, eps: F.layer_norm(features, scale.shape, scale, shift, eps),
    mistakes=[
        Mistake(
            "sample variance",
            "The variance divides by dim - 1, as PyTorch's `var` and `std` do by themselves. Here it is the plain mean "
            "of the squared distances: unbiased=False.",
            _NORM,
            _norm(unbiased=True),
        ),
        *(
            Mistake(
                "axis not kept",
                "Mean and variance lost their last axis, so they line up with the features and not with the tokens. "
                "Where the sizes agree that raises no error: keepdim=True.",
                _NORM,
                _norm(keepdim=False, unbiased=unbiased),
            )
            for unbiased in (False, True)
        ),
        *(
            Mistake(
                "eps outside the root",
                "eps is added to the standard deviation. Add it to the variance, under the root.",
                _NORM,
                _norm(spread=lambda variance, eps: variance.sqrt() + eps, unbiased=unbiased),
            )
            for unbiased in (False, True)
        ),
        Mistake(
            "eps forgotten",
            "eps takes no part. Where all features of a token are equal the variance is 0, and 0 / 0 is not a number.",
            _NORM,
            _norm(spread=lambda variance, eps: variance.sqrt()),
        ),
        Mistake(
            "root forgotten",
            "The features are divided by the variance. Divide by its square root, the standard deviation.",
            _NORM,
            _norm(spread=lambda variance, eps: variance + eps),
        ),
        Mistake(
            "mean not subtracted",
            "The features keep their mean. Subtract it before you divide.",
            _NORM,
            _norm(not_centred=True),
        ),
        *(
            Mistake(
                "over the tokens",
                "Mean and variance run over the tokens, each feature for itself. They belong to one token: the last "
                "axis.",
                _NORM,
                _norm(axes=axes),
            )
            for axes in (lambda features: -2, lambda features: 1)
        ),
        Mistake(
            "over the batch",
            "Mean and variance run over axis 0, so the texts of a batch change each other. They belong to one token.",
            _NORM,
            _norm(axes=lambda features: 0),
        ),
        Mistake(
            "over the whole text",
            "One mean and one variance serve a whole text. Each token has its own.",
            _NORM,
            _norm(axes=lambda features: (-2, -1)),
        ),
        Mistake(
            "over everything",
            "One mean and one variance serve all features of all tokens. Each token has its own.",
            _NORM,
            _norm(axes=lambda features: tuple(range(features.dim()))),
        ),
        Mistake(
            "scale and shift forgotten",
            "The features are normalised, and neither scaled nor shifted.",
            _NORM,
            _norm(finish=lambda normal, scale, shift: normal),
        ),
        Mistake(
            "scale forgotten",
            "The features are normalised and shifted, but not scaled.",
            _NORM,
            _norm(finish=lambda normal, scale, shift: normal + shift),
        ),
        Mistake(
            "shift forgotten",
            "The features are normalised and scaled, but not shifted.",
            _NORM,
            _norm(finish=lambda normal, scale, shift: normal * scale),
        ),
        Mistake(
            "shifted before the scale",
            "The shift is added before the scale, and so gets scaled itself. First times scale, then plus shift.",
            _NORM,
            _norm(finish=lambda normal, scale, shift: (normal + shift) * scale),
        ),
    ],
    tried="features with a batch and without, a large eps and a small one, and tokens whose features are all equal",
)

_BLOCK = "Lab 8, “The block”"
_RESIDUAL = "Lab 8, “What the residual connection is for”"


def _block_by_torch(features, mask, attention, attention_norm, feed_forward, feed_forward_norm):
    """PyTorch's own layer with the same weights; what a padded place gives is nobody's business: NaN."""
    ours, first, last = attention, feed_forward[0], feed_forward[-1]
    theirs = nn.TransformerEncoderLayer(
        ours.W_query.in_features,
        ours.num_heads,
        first.out_features,
        dropout=0.0,
        batch_first=True,
        dtype=features.dtype,
    ).eval()
    maps = (ours.W_query, ours.W_key, ours.W_value)
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(torch.cat([linear.weight for linear in maps]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([linear.bias for linear in maps]))
        theirs.self_attn.out_proj.load_state_dict(ours.W_output.state_dict())
        for part, module in (
            (theirs.norm1, attention_norm),
            (theirs.norm2, feed_forward_norm),
            (theirs.linear1, first),
            (theirs.linear2, last),
        ):
            part.load_state_dict(module.state_dict())
        output = theirs(features, src_key_padding_mask=None if mask is None else ~mask)
    return output if mask is None else output.masked_fill(~mask[:, :, None], math.nan)


def _block(halves):
    """The mistaken answer of 8.3; `halves` gets the features, the attention (mask included), and the other parts."""

    def gives(features, mask, attention, attention_norm, feed_forward, feed_forward_norm):
        return halves(features, lambda x: attention(x, mask)[0], attention_norm, feed_forward, feed_forward_norm)

    return gives


def _without_mask(features, mask, attention, attention_norm, feed_forward, feed_forward_norm):
    features = attention_norm(features + attention(features)[0])
    return feed_forward_norm(features + feed_forward(features))


def _first_features_again(x, attend, norm, think, last_norm):
    attended = norm(x + attend(x))
    return last_norm(x + think(attended))


def _sum_again(x, attend, norm, think, last_norm):
    total = x + attend(x)
    return last_norm(total + think(norm(total)))


def _unread(x, attend, norm, think, last_norm):
    return last_norm(norm(x + attend(x)) + think(x + attend(x)))


def _norm_before(x, attend, norm, think, last_norm):
    x = x + attend(norm(x))
    return x + think(last_norm(x))


def _norm_inside(x, attend, norm, think, last_norm):
    x = x + norm(attend(x))
    return x + last_norm(think(x))


def _thinks_first(x, attend, norm, think, last_norm):
    x = norm(x + think(x))
    return last_norm(x + attend(x))


_BLOCK_MISTAKES = [
    (
        "no residual around the attention",
        "What comes out of the attention replaces the features. Add it to them.",
        _RESIDUAL,
        lambda x, attend, norm, think, last_norm: (lambda y: last_norm(y + think(y)))(norm(attend(x))),
    ),
    (
        "no residual around the feed-forward layer",
        "What comes out of the feed-forward layer replaces the features. Add it to them.",
        _RESIDUAL,
        lambda x, attend, norm, think, last_norm: last_norm(think(norm(x + attend(x)))),
    ),
    (
        "no residual at all",
        "Each part replaces the features. Add what comes out to what went in, twice.",
        _RESIDUAL,
        lambda x, attend, norm, think, last_norm: last_norm(think(norm(attend(x)))),
    ),
    (
        "norm before each part",
        "This is the block of the lab: it normalises what goes into each part. Here the sum is normalised.",
        _BLOCK,
        _norm_before,
    ),
    (
        "norm inside the sum",
        "The norm is applied to what comes out of each part, before the sum. Here the sum is normalised.",
        _BLOCK,
        _norm_inside,
    ),
    (
        "no norm after the attention",
        "The first sum is not normalised.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: (lambda y: last_norm(y + think(y)))(x + attend(x)),
    ),
    (
        "no norm after the feed-forward layer",
        "The second sum is not normalised.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: (lambda y: y + think(y))(norm(x + attend(x))),
    ),
    (
        "no norm at all",
        "Neither sum is normalised.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: (lambda y: y + think(y))(x + attend(x)),
    ),
    (
        "norms swapped",
        "The two norms stand in each other's place. attention_norm follows the attention.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: (lambda y: norm(y + think(y)))(last_norm(x + attend(x))),
    ),
    (
        "one norm used twice",
        "One norm serves both sums. Each sum has its own, which learns its own scale and shift.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: (lambda y: norm(y + think(y)))(norm(x + attend(x))),
    ),
    (
        "first features added again",
        "The second sum adds the features from the very beginning. What goes into the feed-forward layer is added to "
        "what comes out of it.",
        _RESIDUAL,
        _first_features_again,
    ),
    (
        "sum added before its norm",
        "The second sum adds the first sum as it was before its norm. What goes into the feed-forward layer is added "
        "to what comes out of it.",
        _RESIDUAL,
        _sum_again,
    ),
    (
        "feed-forward layer reads the sum before its norm",
        "The feed-forward layer gets the first sum as it was before its norm. It gets the normalised one.",
        _BLOCK,
        _unread,
    ),
    (
        "feed-forward layer first",
        "The feed-forward layer stands before the attention. Attention comes first.",
        _BLOCK,
        _thinks_first,
    ),
    (
        "feed-forward layer first",
        "The feed-forward layer stands before the attention. Attention comes first.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: _thinks_first(x, attend, last_norm, think, norm),
    ),
    (
        "feed-forward layer left out",
        "The feed-forward layer is never used.",
        "Lab 8, “What the feed-forward layer is for”",
        lambda x, attend, norm, think, last_norm: norm(x + attend(x)),
    ),
]

first_block = Exercise(
    name="first_block",
    cases=lambda: [
        Case({"features": draw(2, 4, 6), "mask": real_tokens([4, 2])}, sizes=(6, 2, 12)),
        Case({"features": draw(1, 3, 4), "mask": None}, sizes=(4, 4, 4)),
        Case({"features": draw(3, 5, 8), "mask": real_tokens([1, 5, 3])}, sizes=(8, 1, 16)),
    ],
    parts=("attention", "attention_norm", "feed_forward", "feed_forward_norm"),
    reference=_block_by_torch,
    view=lambda given, **_: (
        given[0] if isinstance(given, tuple) and given else given
    ),  # the lab's gives its weights too
    mistakes=[
        *(Mistake(name, text, where, _block(halves)) for name, text, where, halves in _BLOCK_MISTAKES),
        Mistake(
            "pair not taken apart",
            "The attention gives two things, the attended features and the weights. Only the first is added.",
            _BLOCK,
            lambda features, mask, attention, **others: features + attention(features, mask),
        ),
        Mistake(
            "mask not handed on",
            "The mask never reaches the attention, so real words take from padded places.",
            "Lab 7, “What a mask hides”",
            _without_mask,
        ),
    ],
    tried="three batches, with and without padding, against PyTorch's own layer with the same weights",
)


def _surprises(scores: Tensor, ids: Tensor) -> list[tuple[float, ...]]:
    """For each text the surprise at each next word that is not padding, in plain numbers."""
    texts = []
    for said, words in zip(scores.tolist(), ids.tolist(), strict=True):
        pairs = [(row, word) for row, word in zip(said[:-1], words[1:], strict=True) if word != 0]
        texts.append(tuple(math.log(sum(map(math.exp, row))) - row[word] for row, word in pairs))
    return texts


def _mean_surprise(scores, ids):
    each = [surprise for text in _surprises(scores, ids) for surprise in text]
    return torch.tensor(sum(each) / len(each), dtype=scores.dtype)


def _loss(said=lambda scores: scores[:, :-1], came=lambda ids: ids[:, 1:], finish=None, ignore_index=0):
    """The mistaken answer of 8.4: other scores, other words, or another last step over the single surprises."""

    def gives(scores, ids):
        rows, words = said(scores), came(ids)
        each = F.cross_entropy(rows.flatten(0, 1), words.flatten(), ignore_index=ignore_index, reduction="none")
        counts = words.flatten() != ignore_index
        return finish(each.reshape(words.shape), words) if finish else each[counts].mean()

    return gives


def _text_means(each, words):
    counted = (words != 0).sum(dim=1)
    return (each.sum(dim=1) / counted).mean()


def _loss_case(batch, tokens, known_words, lengths, seed=0):
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, known_words, (batch, tokens), generator=random)
    return Case({"scores": draw(batch, tokens, known_words), "ids": ids * real_tokens(lengths)})


_SHIFT = "Lab 8, “Writing instead of reading”"

next_word_loss = Exercise(
    name="next_word_loss",
    cases=lambda: [
        _loss_case(3, 6, 5, [6, 2, 4]),
        _loss_case(2, 6, 9, [6, 3]),
        _loss_case(4, 3, 7, [3, 2, 3, 2], seed=1),
    ],
    reference=_mean_surprise,
    mistakes=[
        Mistake(
            "not shifted",
            "Each place is judged by the word that stands there, which the model has seen. It must guess the next one.",
            _SHIFT,
            _loss(said=lambda scores: scores, came=lambda ids: ids),
        ),
        Mistake(
            "shifted the wrong way",
            "Each place is judged by the word *before* it. The scores lose their last place, the words their first.",
            _SHIFT,
            _loss(said=lambda scores: scores[:, 1:], came=lambda ids: ids[:, :-1]),
        ),
        *(
            Mistake(
                "shifted in a ring",
                "`roll` brings the first word of a text to its end, and the last scores are judged by it. Cut instead.",
                _SHIFT,
                _loss(said=lambda scores: scores, came=came),
            )
            for came in (lambda ids: ids.roll(-1, dims=1), lambda ids: ids.roll(-1))
        ),
        Mistake(
            "padding counted",
            "Padding counts as a word to be guessed. Leave it out: ignore_index=0.",
            _SHIFT,
            _loss(ignore_index=-100),
        ),
        Mistake(
            "padding in the divisor",
            "Padding adds no surprise, but it is counted in the number of words that you divide by.",
            _SHIFT,
            _loss(finish=lambda each, words: each.mean()),
        ),
        Mistake(
            "softmax twice",
            "The scores went through a softmax before the cross entropy, which does one itself.",
            _SHIFT,
            _loss(said=lambda scores: scores[:, :-1].softmax(dim=-1)),
        ),
        Mistake(
            "sum in place of mean",
            "This is the sum of all surprises. Divide by the number of words that were guessed.",
            _SHIFT,
            _loss(finish=lambda each, words: each.sum()),
        ),
        Mistake(
            "mean of the texts' means",
            "Each text is averaged first, so a word of a short text counts more. Average over all words of the batch.",
            _SHIFT,
            _loss(finish=_text_means),
        ),
        Mistake(
            "words' axis last",
            "`F.cross_entropy` wants the words' axis second; here the places stand there. When there are as many "
            "places as known words it raises no error. Flatten batch and places.",
            _SHIFT,
            lambda scores, ids: F.cross_entropy(scores[:, :-1], ids[:, 1:], ignore_index=0),
        ),
        Mistake(
            "axes mixed by a reshape",
            "`F.cross_entropy` wants the words' axis second, and a reshape does not bring it there. Flatten batch and "
            "places, or use transpose(1, 2).",
            "Lab 7, “Cut the features into heads”",
            lambda scores, ids: F.cross_entropy(
                scores[:, :-1].reshape(len(ids), scores.shape[2], -1), ids[:, 1:], ignore_index=0
            ),
        ),
        Mistake(
            "sign forgotten",
            "The number is negative: the mean log probability. Surprise is minus that.",
            _SHIFT,
            _loss(finish=lambda each, words: -each[words != 0].mean()),
        ),
        Mistake(
            "perplexity in place of surprise",
            "This is the exponential of the surprise, called perplexity. The exercise asks for nats.",
            _SHIFT,
            _loss(finish=lambda each, words: each[words != 0].mean().exp()),
        ),
        Mistake(
            "bits in place of nats",
            "The logarithm has base 2. Nats take the natural one.",
            _SHIFT,
            _loss(finish=lambda each, words: each[words != 0].mean() / math.log(2)),
        ),
        *(
            Mistake(
                "not averaged",
                "There is one number for each place. The exercise asks for their mean over all words that are not "
                "padding.",
                _SHIFT,
                gives,
            )
            for gives in (_loss(finish=lambda each, words: each), _loss(finish=lambda each, words: each.flatten()))
        ),
        Mistake(
            "last word only",
            "Only the last place that has a next word is judged. All of them are: one pass trains on all places at "
            "once.",
            _SHIFT,
            _loss(said=lambda scores: scores[:, -2:-1], came=lambda ids: ids[:, -1:]),
        ),
    ],
    tried="three batches of texts of different lengths, one of them with as many places to judge as known words",
)

# --- Lab 9 -------------------------------------------------------------------------------------------------------

_PAIRED = "Lab 9, “Paired differences”"
_STUDENT = "Lab 9, “All models, first task”"
_NINE_ONE = "Lab 9, “Exercise 9.1: the interval of a paired difference”"


def _paired_case(seeds, shared_luck, seed):
    random = np.random.default_rng(seed)
    luck = shared_luck * random.normal(size=seeds)
    first, second = (mean + luck + 0.01 * random.normal(size=seeds) for mean in (0.81, 0.80))
    return Case({"first": first, "second": second})


def _interval_by_scipy(first, second):
    low, high = stats.ttest_rel(first, second).confidence_interval(0.95)
    return (low + high) / 2, (high - low) / 2


def _interval(quantile=0.975, freedom=-1, ddof=1, divisor=lambda n: n**0.5, finish=lambda mean, half: (mean, half)):
    """The mistaken answer of 9.1: one number of the formula is another."""

    def gives(first, second):
        differences = np.asarray(first) - np.asarray(second)
        n = len(differences)
        factor = stats.norm.ppf(quantile) if freedom is None else stats.t.ppf(quantile, n + freedom)
        return finish(float(differences.mean()), float(factor * differences.std(ddof=ddof) / divisor(n)))

    return gives


def _unpaired(width):
    """The mistaken answer of 9.1 that takes each model's own spread; `width` makes the half width of two variances."""

    def gives(first, second):
        return float(np.mean(first) - np.mean(second)), float(
            width(np.var(first, ddof=1), np.var(second, ddof=1), len(first))
        )

    return gives


paired_interval = Exercise(
    name="paired_interval",
    cases=lambda: [_paired_case(5, 0.02, 0), _paired_case(3, 0.05, 1), _paired_case(9, 0.01, 2)],
    reference=_interval_by_scipy,
    mistakes=[
        *(
            Mistake(
                "pairing lost",
                "The width comes from the spread of each model by itself, so the luck that both share is still in it. "
                "Take the differences seed by seed first.",
                _PAIRED,
                _unpaired(width),
            )
            for width in (
                lambda a, b, n: stats.t.ppf(0.975, n - 1) * ((a + b) / n) ** 0.5,
                lambda a, b, n: stats.t.ppf(0.975, 2 * n - 2) * ((a + b) / n) ** 0.5,
                lambda a, b, n: stats.t.ppf(0.975, n - 1) * (a**0.5 + b**0.5) / n**0.5,
                lambda a, b, n: stats.t.ppf(0.975, n - 1) * abs(a**0.5 - b**0.5) / n**0.5,
            )
        ),
        *(
            Mistake(
                "normal in place of t",
                "The quantile is that of the normal distribution, about 1.96. The spread is measured from a few seeds, "
                "and Student's t pays for that.",
                _STUDENT,
                gives,
            )
            for gives in (_interval(freedom=None), lambda first, second: _rounded_quantile(first, second))
        ),
        Mistake(
            "spread divided by n",
            "The standard deviation divides by n, as NumPy's does by itself. From few seeds that is too small: ddof=1.",
            _NINE_ONE,
            _interval(ddof=0),
        ),
        Mistake(
            "root of n forgotten",
            "This is the spread of single differences. A mean of n varies less: divide by the square root of n.",
            _NINE_ONE,
            _interval(divisor=lambda n: 1.0),
        ),
        Mistake(
            "divided by n in place of its root",
            "The spread is divided by n. The mean of n differences varies by the square root of n less.",
            _NINE_ONE,
            _interval(divisor=lambda n: n),
        ),
        Mistake(
            "wrong degrees of freedom",
            "The quantile is for n degrees of freedom. The mean has used one up: n - 1.",
            _STUDENT,
            _interval(freedom=0),
        ),
        Mistake(
            "one side only",
            "The quantile .95 leaves out 5% at each end. An interval of 95% leaves out 2.5% at each: .975.",
            _NINE_ONE,
            _interval(quantile=0.95),
        ),
        Mistake(
            "whole width",
            "The second number is the whole width of the interval. Return half of it, what stands behind ±.",
            _NINE_ONE,
            _interval(finish=lambda mean, half: (mean, 2 * half)),
        ),
        Mistake(
            "ends in place of mean and half",
            "These are the two ends of the interval. Return its middle and half its width.",
            _NINE_ONE,
            _interval(finish=lambda mean, half: (mean - half, mean + half)),
        ),
        Mistake(
            "second minus first",
            "The sign is turned around: the exercise asks for first - second.",
            _NINE_ONE,
            _interval(finish=lambda mean, half: (-mean, half)),
        ),
        Mistake(
            "sign lost",
            "The differences lost their signs, so a loss counts as a gain. Keep them; the interval says which way.",
            _PAIRED,
            lambda first, second: _interval()(np.abs(np.asarray(first) - second), np.zeros(len(first))),
        ),
        Mistake(
            "mean forgotten",
            "Only one number comes back: half the width. The mean difference belongs in front of it.",
            _NINE_ONE,
            _interval(finish=lambda mean, half: half),
        ),
    ],
    tried="three, five and nine seeds that share more luck or less",
)


def _rounded_quantile(first, second):
    differences = np.asarray(first) - np.asarray(second)
    return float(differences.mean()), float(1.96 * differences.std(ddof=1) / len(differences) ** 0.5)


def _flips(extreme):
    """The share of sign patterns that `extreme` counts; it gets their means, (2 ** seeds,), and the measured one."""

    def gives(differences):
        patterns = np.array(list(product([1, -1], repeat=len(differences))))
        return float(np.mean(extreme((patterns * differences).mean(axis=1), np.mean(differences))))

    return gives


def _exactly(means):
    """The share without any allowance for rounding, with the means of all patterns made in another way."""

    def gives(differences):
        patterns = np.array(list(product([1, -1], repeat=len(differences))))
        return float(np.mean(np.abs(means(patterns, differences)) >= abs(np.mean(differences))))

    return gives


def _share_by_halves(differences):
    """Add one difference after the other, with both signs: the list of all sums doubles each time."""
    sums = [0.0]
    for difference in map(float, differences):
        sums = [total + step for total in sums for step in (difference, -difference)]
    return sum(abs(total) >= abs(sum(map(float, differences))) - 1e-9 for total in sums) / len(sums)


_LITTLE = 1e-12
_NINE_TWO = "Lab 9, “Exercise 9.2: what five seeds can say”"

sign_flips = Exercise(
    name="sign_flips",
    cases=lambda: [
        Case({"differences": np.array(differences)})
        for differences in (
            [0.02, 0.03, -0.01, 0.05, 0.01],
            [-0.03, -0.02, 0.01, -0.04],
            [0.01, 0.02, 0.03, 0.02, 0.05, 0.04, -0.06],
            [0.04, 0.01],
            [0.03, -0.01, -0.02],
        )
    ],
    reference=_share_by_halves,
    mistakes=[
        Mistake(
            "one side only",
            "Only means above the measured one are counted. A mean as far below 0 would have surprised you as much.",
            _NINE_TWO,
            _flips(lambda means, measured: means >= measured - _LITTLE),
        ),
        Mistake(
            "one side doubled",
            "One side is counted and doubled. Where the measured mean is 0 the sides share patterns, and the share "
            "passes 1. Compare sizes.",
            _NINE_TWO,
            lambda differences: 2 * _flips(lambda means, measured: means >= abs(measured) - _LITTLE)(differences),
        ),
        *(
            Mistake(
                "equal means lost to rounding",
                "Some means that equal the measured one differ from it in the last digit, and fall out. Allow for "
                "1e-12: `>= abs(measured) - 1e-12`.",
                _NINE_TWO,
                exactly,
            )
            for exactly in (
                _flips(lambda means, measured: np.abs(means) >= abs(measured)),
                _exactly(lambda patterns, differences: patterns @ differences / len(differences)),
                _exactly(lambda patterns, differences: (patterns * differences).sum(axis=1) / len(differences)),
            )
        ),
        Mistake(
            "measured pattern not counted",
            "Means *farther* from 0 are counted. The measured pattern is one of all, and it is as far as itself: `>=`.",
            _NINE_TWO,
            _flips(lambda means, measured: np.abs(means) > abs(measured) + _LITTLE),
        ),
        Mistake(
            "count in place of share",
            "This is how many patterns are as far from 0. Divide by the number of all patterns.",
            _NINE_TWO,
            lambda differences: (
                _flips(lambda means, measured: np.abs(means) >= abs(measured) - _LITTLE)(differences)
                * 2 ** len(differences)
            ),
        ),
        Mistake(
            "the other share",
            "This is the share of patterns whose mean is *nearer* to 0. The exercise asks for those at least as far.",
            _NINE_TWO,
            _flips(lambda means, measured: np.abs(means) < abs(measured) - _LITTLE),
        ),
        Mistake(
            "sign of the measured mean kept",
            "Sizes are compared with the measured mean as it is. It may be negative, and then every pattern counts.",
            _NINE_TWO,
            _flips(lambda means, measured: np.abs(means) >= measured - _LITTLE),
        ),
        Mistake(
            "Student's t",
            "This is the p-value of Student's t. The exercise counts sign patterns and supposes nothing about the "
            "spread.",
            _NINE_TWO,
            lambda differences: float(stats.ttest_1samp(differences, 0).pvalue),
        ),
        Mistake(
            "signs counted, not means",
            "This is the sign test: it only counts how many differences are positive. Here their sizes count as well.",
            _NINE_TWO,
            lambda differences: float(stats.binomtest(int((differences > 0).sum()), len(differences)).pvalue),
        ),
        Mistake(
            "measured pattern left out of all",
            "The measured pattern was taken out before counting. It is one of the patterns.",
            _NINE_TWO,
            lambda differences: (
                (_share_by_halves(differences) * 2 ** len(differences) - 1) / (2 ** len(differences) - 1)
            ),
        ),
    ],
    tried="two, three, four, five and seven differences of both signs",
)
