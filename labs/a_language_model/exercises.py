"""The checks of *A language model*: shifted loss, model, sampling, a loss to debug, a sliding window, an experiment."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from checks.engine import Case, Check, Wrong
from checks.layers import WINDOW_MISTAKES, in_window
from checks.trials import changed, draw, first_minus_second, goes_on, paired_mistakes, real_tokens
from shared.language_model import LanguageModel
from shared.model import causal_mask

# --- shifted_loss --------------------------------------------------------------------------------------------------


class RunningModel(nn.Module):
    """A causal "model": the logits of a position depend on its token and on all before it."""

    def __init__(self, num_tokens, seed=0):
        super().__init__()
        self.table = nn.Parameter(draw(num_tokens, num_tokens, seed=seed))

    def forward(self, ids):
        count = torch.arange(1, ids.shape[1] + 1)[:, None]  # (tokens, 1)
        return 2 * self.table[ids] + self.table[ids].cumsum(dim=1) / count  # (batch, tokens, num_tokens)


def inputs_and_targets(windows):
    return windows[:, :-1], windows[:, 1:]


def by_position(logits, targets):
    return logits.flatten(0, 1), targets.flatten()


def window_loss(model, windows, align=inputs_and_targets, shape=by_position, loss=F.cross_entropy):
    """The right way, one step of which a known mistake exchanges."""
    inputs, targets = align(windows)
    return loss(*shape(model(inputs), targets))


def compared_with_itself(windows):
    """Each token is predicted from itself: nothing is shifted. The model reads `windows[:, :-1]`, and the targets are
    `windows[:, 1:]`."""
    return windows, windows


def inputs_as_targets(windows):
    """The model reads the right tokens, but the targets are the same ones. They are the tokens after these,
    `windows[:, 1:]`."""
    return windows[:, :-1], windows[:, :-1]


def predicted_backwards(windows):
    """The targets are the tokens before those that the model reads, not after. Swap the two slices."""
    return windows[:, 1:], windows[:, :-1]


def shifted_by_two(windows):
    """The targets are shifted by two positions. The token after position t is at t + 1."""
    return windows[:, :-2], windows[:, 2:]


def rows_shifted(windows):
    """The slice drops windows, not tokens: axis 0 is the batch. Shift along axis 1, `windows[:, :-1]`."""
    return windows[:-1], windows[1:]


def flattened_too_early(logits, targets):
    """Reshaping mixes the vocabulary with the positions. Flatten the first two axes, `logits.flatten(0, 1)`, or bring
    the vocabulary to axis 1 with `transpose(1, 2)`."""
    return logits.reshape(len(logits), logits.shape[2], -1), targets


def last_position_only(logits, targets):
    """Only the last position of each window counts. The model predicts a token at every position: take the mean over
    all of them.
    """
    return logits[:, -1], targets[:, -1]


def probabilities_given(logits, targets):
    """`cross_entropy` gets probabilities, but it applies the softmax itself. Give it the logits."""
    return by_position(logits.softmax(dim=2), targets)


def summed(logits, targets):
    """This is the sum over the tokens. Take the mean, so that the loss doesn't depend on the size of the batch."""
    return F.cross_entropy(logits, targets, reduction="sum")


def sign_missing(logits, targets):
    """The loss is negative: it is *minus* the logarithm of the probability."""
    return -F.cross_entropy(logits, targets)


def perplexity_returned(logits, targets):
    """This is the perplexity, exp(loss). Return the loss itself."""
    return F.cross_entropy(logits, targets).exp()


def in_bits(logits, targets):
    """The logarithm is to base 2, so the loss is in bits. Take the natural one, for nats."""
    return F.cross_entropy(logits, targets) / math.log(2)


def mean_probability(logits, targets):
    """This is one minus the mean probability of the targets. The loss is the mean of minus its logarithm."""
    return 1 - logits.softmax(dim=1).gather(1, targets[:, None]).mean()


def log_of_the_mean(logits, targets):
    """The logarithm is taken of the mean probability. Take the logarithm for each token first, then the mean."""
    return -logits.softmax(dim=1).gather(1, targets[:, None]).mean().log()


class NoGradient(Wrong):
    """The loss is right, but the lab trains with it, and no gradient reaches the model. Return the tensor itself,
    without `item()`, `float()` and `detach()`."""


def trains(answer):
    """The lab goes on with `loss.backward()`."""
    case = windows_of(2, 3, 5)
    loss = answer(*case.inputs.values())
    if not torch.is_tensor(loss) or not loss.requires_grad:
        raise NoGradient


def windows_of(batch, tokens, num_tokens):
    windows = torch.randint(num_tokens, (batch, tokens + 1), generator=torch.Generator().manual_seed(tokens))
    return Case({"model": RunningModel(num_tokens), "windows": windows})


shifted_loss = Check(
    reference=window_loss,
    cases=[windows_of(3, 5, 7), windows_of(2, 8, 4), windows_of(2, 2, 11), windows_of(4, 4, 5)],
    mistakes=[
        *(changed(window_loss, align=step)
          for step in (
            compared_with_itself, inputs_as_targets, predicted_backwards, shifted_by_two, rows_shifted)),
        *(changed(window_loss, shape=step)
          for step in (flattened_too_early, last_position_only, probabilities_given)),
        *(changed(window_loss, loss=step)
          for step in (summed, sign_missing, perplexity_returned, in_bits, mean_probability, log_of_the_mean)),
    ],
    section="A language model, “Shift”",
    last_look=trains,
)  # fmt: skip


# --- sampling_probs ------------------------------------------------------------------------------------------------


def cooled(logits, temperature):
    return logits / temperature


def largest(probs, top_k):
    """True for the `top_k` largest."""
    return probs >= probs.sort(descending=True).values[min(top_k, len(probs)) - 1]


def nucleus(probs, top_p):
    """True for the fewest that sum to at least `top_p`."""
    ordered = probs.sort(descending=True).values
    return probs >= ordered[int((ordered.cumsum(0) - ordered < top_p).sum()) - 1]


def cut(logits, keep):
    return logits.masked_fill(~keep, -math.inf).softmax(dim=0)


def probs_to_draw_from(
    logits, temperature=1.0, top_k=None, top_p=None, heat=cooled, keep_k=largest, keep_p=nucleus, finish=cut
):
    """The right way, one step of which a known mistake exchanges."""
    logits = heat(logits, temperature)
    keep = torch.ones_like(logits, dtype=torch.bool)
    if top_k is not None:
        keep = keep & keep_k(logits.softmax(dim=0), top_k)
    if top_p is not None:
        keep = keep & keep_p(logits.softmax(dim=0), top_p)
    return finish(logits, keep)


def temperature_multiplied(logits, temperature):
    """The logits are multiplied by the temperature. Divide by it: a high one brings them closer together."""
    return logits * temperature


def temperature_ignored(logits, temperature):
    """The temperature changes nothing. Divide the logits by it, before the softmax."""
    return logits


def root_of_temperature(logits, temperature):
    """The logits are divided by the square root of the temperature. Divide by the temperature itself."""
    return logits / math.sqrt(temperature)


def smallest_kept(probs, top_k):
    """top-k keeps the least probable tokens. Sort with `descending=True`, or use `topk`."""
    return largest(-probs, top_k)


def one_too_many(probs, top_k):
    """top-k keeps one token too many. With `top_k=1` only the most probable one is left."""
    return largest(probs, top_k + 1)


def top_k_ignored(probs, top_k):
    """`top_k` changes nothing. Keep only the `top_k` most probable tokens."""
    return torch.ones_like(probs, dtype=torch.bool)


def stops_short(probs, top_p):
    """top-p drops the token whose probability takes the sum to p. Keep it, too: the tokens before it sum to less than
    p, so the sum *without* a token decides whether it is kept.
    """
    ordered, order = probs.sort(descending=True)
    return torch.zeros_like(probs, dtype=torch.bool).scatter(0, order, ordered.cumsum(0) < top_p)


def in_the_vocabulary_s_order(probs, top_p):
    """top-p sums the probabilities in the order of the ids. Sort them first, from the largest down."""
    return probs.cumsum(0) - probs < top_p


def threshold(probs, top_p):
    """top-p is used as a threshold for each single probability. It is one for their *sum*, from the largest down."""
    return probs >= top_p


def least_probable_first(probs, top_p):
    """top-p sums the smallest probabilities first. Sort with `descending=True`."""
    ordered, order = probs.sort()
    return torch.zeros_like(probs, dtype=torch.bool).scatter(0, order, ordered.cumsum(0) - ordered < top_p)


def not_scattered_back(probs, top_p):
    """What is kept is decided in sorted order, but applied in the order of the ids. Take it back to the ids with the
    indices that `sort` returns.
    """
    ordered = probs.sort(descending=True).values
    return ordered.cumsum(0) - ordered < top_p


def top_p_ignored(probs, top_p):
    """`top_p` changes nothing. Keep only the fewest tokens whose probabilities sum to at least p."""
    return torch.ones_like(probs, dtype=torch.bool)


def not_normalized(logits, keep):
    """The probabilities that are left don't sum to 1. Divide them by their sum, or hide the logits before the
    softmax."""
    return logits.softmax(dim=0) * keep


def hidden_with_zero(logits, keep):
    """A logit of 0 is not a probability of 0, because exp(0) = 1. Hide with minus infinity."""
    return (logits * keep).softmax(dim=0)


def logits_returned(logits, keep):
    """These are logits. Return probabilities: the softmax is missing."""
    return logits.masked_fill(~keep, -math.inf)


def in_sorted_order(logits, keep):
    """The probabilities are returned in sorted order. Each has to stay at the id of its token."""
    return cut(logits, keep).sort(descending=True).values


def the_best_alone(logits, keep):
    """All the probability is on one token, which is greedy decoding. Keep the probabilities of the others."""
    return F.one_hot(logits.argmax(), len(logits)).to(logits)


def temperature_after_softmax(logits, temperature=1.0, top_k=None, top_p=None):
    """The temperature divides probabilities. Divide the logits, before the softmax."""
    return probs_to_draw_from(logits, 1.0, top_k, top_p) / temperature


def cut_before_the_temperature(logits, temperature=1.0, top_k=None, top_p=None):
    """Top-p is applied before the temperature. Here the temperature comes first, so that p refers to the probabilities
    that you draw from.
    """
    probs = logits.softmax(dim=0)
    keep = torch.ones_like(probs, dtype=torch.bool) if top_k is None else largest(probs, top_k)
    return cut(logits / temperature, keep if top_p is None else keep & nucleus(probs, top_p))


def to_sample(size, seed=0, **options):
    return Case({"logits": 2 * draw(size, seed=seed), **{"temperature": 1.0, "top_k": None, "top_p": None, **options}})


sampling_probs = Check(
    reference=probs_to_draw_from,
    cases=[
        to_sample(6), to_sample(7, temperature=0.5), to_sample(5, temperature=2.0),
        to_sample(8, top_k=3), to_sample(6, top_k=1, temperature=1.5), to_sample(4, top_k=9),
        to_sample(8, top_p=0.8), to_sample(9, top_p=0.5, temperature=3.0, seed=1), to_sample(7, top_p=0.01),
        to_sample(6, top_p=1.0), to_sample(9, top_p=0.9, temperature=0.7, seed=2),
    ],
    mistakes=[
        *(changed(probs_to_draw_from, heat=step)
          for step in (temperature_multiplied, temperature_ignored, root_of_temperature)),
        temperature_after_softmax, cut_before_the_temperature,
        *(changed(probs_to_draw_from, keep_k=step) for step in (smallest_kept, one_too_many, top_k_ignored)),
        *(changed(probs_to_draw_from, keep_p=step)
          for step in (stops_short, in_the_vocabulary_s_order, threshold, least_probable_first, not_scattered_back,
                       top_p_ignored)),
        *(changed(probs_to_draw_from, finish=step)
          for step in (not_normalized, hidden_with_zero, logits_returned, in_sorted_order, the_best_alone)),
    ],
    section="A language model, “Draw a token”",
)  # fmt: skip


# --- language_model ------------------------------------------------------------------------------------------------


def causal(number, tokens):
    return causal_mask(tokens)


def pre_norm(block, x, mask):
    """One block, written out: the right way."""
    x = x + block.attention(block.attention_norm(x), None, mask)[0]
    return x + block.feed_forward(block.feed_forward_norm(x))


def normalized(x, norm):
    return F.layer_norm(x, x.shape[2:], norm.weight, norm.bias, norm.eps)


def logits(ids, embedding, blocks, norm, output, mask_of=causal, apply=pre_norm, normalize=normalized):
    """The right way, one step of which a known mistake exchanges."""
    x = embedding(ids)
    for number, block in enumerate(blocks):
        x = apply(block, x, mask_of(number, ids.shape[1]))
    return output(normalize(x, norm))


def no_mask(number, tokens):
    """Every position sees the words that follow it, so the answer can be read off the input. Give each block the causal
    mask as `attention_mask`."""


def mask_transposed(number, tokens):
    """The mask is transposed: a position sees itself and what follows. Rows are queries, so keep the lower triangle."""
    return causal_mask(tokens).T


def next_word_visible(number, tokens):
    """The mask lets one position too many through, so each position sees the word that it has to predict."""
    return causal_mask(tokens + 1)[1:, :-1]


def post_norm(block, x, mask):
    """The blocks normalize after each sum. Make them with `norm_first=True`."""
    x = block.attention_norm(x + block.attention(x, None, mask)[0])
    return block.feed_forward_norm(x + block.feed_forward(x))


def final_norm_missing(x, norm):
    """`norm` is not used: it comes between the last block and `output`."""
    return x


def added_once_more(block, x, mask):
    """The output of each block is added to x. A block has its residual connections inside, so go on with its output
    alone: `x, weights = block(x, ...)`."""
    return x + pre_norm(block, x, mask)


def embeddings_for_each_block(blocks, **given):
    """Each block gets the embeddings, so only the last one counts. Give it the output of the block before it:
    `x, weights = block(x, ...)`."""
    return logits(**given, blocks=blocks[-1:])


def softmax_returned(**given):
    """These are probabilities. Return the logits: the loss applies the softmax itself."""
    return logits(**given).softmax(dim=2)


def ids_of(batch, tokens, *sizes):
    names = ("known_words", "causal", "d_model", "num_heads", "num_blocks")
    ids = torch.randint(sizes[0], (batch, tokens), generator=torch.Generator().manual_seed(tokens))
    return Case({"ids": ids}, dict(zip(names, sizes, strict=True)))


def structure(model):
    """What the results of the cases do not show: shapes, numbers of heads, and whether a position sees ahead."""
    shapes = sorted(parameter.shape for parameter in model.parameters() if parameter.dim() > 1)
    sees_ahead = not torch.equal(*(model(torch.tensor([[3, 4, word]]))[0, 0] for word in (5, 6)))
    return shapes, [block.attention.num_heads for block in model.blocks], sees_ahead


class AnotherStandardDeviation(Wrong):
    """The embeddings start with a standard deviation of {std:.1f}. Make them with `std=0.5`."""


class TiedReadOut(Wrong):
    """`output` and the embedding share one matrix. Many language models tie them; here `output` is an `nn.Linear` with
    numbers of its own."""


class ReadOutWithoutBias(Wrong):
    """`output` has no bias, but the lab stores there how frequent each word is. Make it with `nn.Linear(d_model,
    known_words)`.
    """


class ArgumentsIgnored(Wrong):
    """The results are right, but a model made with the arguments {arguments} has other sizes, fewer blocks, or a mask
    where none is asked for. The defaults are causal=True, d_model=64, num_heads=4, num_blocks=2; feed-forward layers
    are 2 * d_model wide.
    """


def uses_its_arguments(answer):
    model = goes_on("`LanguageModel(known_words, causal=False)`", lambda: answer(11, causal=False))
    if getattr(model.output, "weight", None) is getattr(model.embedding.table, "weight", model):
        raise TiedReadOut
    if getattr(model.output, "bias", None) is None:
        raise ReadOutWithoutBias
    for arguments in ((11, False, 8, 2, 3), (11,)):
        if structure(answer(*arguments)) != structure(LanguageModel(*arguments)):
            raise ArgumentsIgnored(arguments=arguments)
    std = answer(11).embedding.table.weight.std().item()
    if not 0.4 < std < 0.6:
        raise AnotherStandardDeviation(std=std)


language_model = Check(
    reference=logits,
    solution=LanguageModel,
    parts=("embedding", "blocks", "norm", "output"),
    cases=[
        ids_of(2, 5, 7, True, 8, 2, 2), ids_of(1, 3, 7, True, 8, 2, 2), ids_of(3, 1, 9, True, 4, 1, 1),
        ids_of(1, 6, 12, True, 6, 3, 3),
    ],
    mistakes=[
        *(changed(logits, mask_of=step)
          for step in (no_mask, mask_transposed, next_word_visible)),
        *(changed(logits, apply=step) for step in (post_norm, added_once_more)),
        changed(logits, normalize=final_norm_missing), embeddings_for_each_block,
        softmax_returned,
    ],
    section="A language model, “Exercise 2 (build): a stack of blocks”",
    last_look=uses_its_arguments,
)  # fmt: skip


# --- next_word_loss ------------------------------------------------------------------------------------------------


def shifted(logits, ids):
    return logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()


def loss(logits, ids, align=shifted, ignore_index=0):
    """The right way, one step of which a known mistake exchanges."""
    logits, targets = align(logits, ids)
    return F.cross_entropy(logits, targets, ignore_index=ignore_index)


def shifted_when_flat(logits, ids):
    """One bug is left: the last position of a text is compared with the first word of the next text. Shift before the
    texts are flattened."""
    return logits.flatten(0, 1)[:-1], ids.flatten()[1:]


def padding_counted(logits, ids):
    """One bug is left: padding counts as a word to be predicted. Leave out the targets that are 0."""
    return loss(logits, ids, ignore_index=-100)


def both_bugs_left(logits, ids):
    """Two bugs are left: the last position of a text is compared with the first word of the next text, and padding
    counts as a word."""
    return loss(logits, ids, shifted_when_flat, ignore_index=-100)


def not_shifted(logits, ids):
    """Each position is compared with its own word. The logits at position t are for the word at position t + 1."""
    return logits.flatten(0, 1), ids.flatten()


def both_cut_in_front(logits, ids):
    """The first position is dropped from both, so each is compared with its own word. The logits at position t are for
    the word at t + 1: from the logits, drop the last position.
    """
    return logits[:, 1:].flatten(0, 1), ids[:, 1:].flatten()


def shifted_backwards(logits, ids):
    """Each position is compared with the word before it. The logits at position t are for the word at t + 1."""
    return logits[:, 1:].flatten(0, 1), ids[:, :-1].flatten()


def classes_reshaped(logits, ids):
    """Reshaping mixes classes and positions. Bring the classes to axis 1 with `transpose(1, 2)`, or flatten texts and
    positions."""
    return logits[:, :-1].reshape(len(ids), logits.shape[2], -1), ids[:, 1:]


def padding_judged_by_the_input(logits, ids):
    """What counts is decided by the words read, and not by those to be predicted: the padding after the last word of a
    text is a target. Leave out the targets that are 0."""
    targets = ids[:, 1:].where(ids[:, :-1] != 0, -100)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=-100)


def mean_of_each_text(logits, ids):
    """Each text has a mean of its own, so the words of short texts count more. Take one mean over all words."""
    return torch.stack([loss(logits[n : n + 1], ids[n : n + 1]) for n in range(len(ids))]).mean()


def softmax_twice(logits, ids):
    """The loss gets probabilities. `cross_entropy` applies the softmax itself, so give it the logits."""
    return loss(logits.softmax(2), ids)


def divided_by_all_positions(logits, ids):
    """The sum is divided by the number of all positions. Divide by the number of targets that are not padding."""
    return loss(logits, ids) * (ids[:, 1:] != 0).double().mean()


def predicted(lengths, known_words, seed=0):
    ids = torch.randint(1, known_words, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(seed))
    return Case({"logits": draw(*ids.shape, known_words), "ids": ids * real_tokens(lengths)})


next_word_loss = Check(
    reference=loss,
    cases=[predicted([6, 2, 4], 8), predicted([6, 3], 9), predicted([3, 2, 3, 2], 7, seed=1), predicted([5], 6)],
    mistakes=[
        both_bugs_left, padding_counted,
        *(changed(loss, align=step)
          for step in (
            shifted_when_flat, not_shifted, both_cut_in_front, shifted_backwards, classes_reshaped)),
        padding_judged_by_the_input, mean_of_each_text, softmax_twice, divided_by_all_positions,
    ],
    section="A language model, “Shift”",
    needs_gradient=("logits",),
)  # fmt: skip


# --- windows, here and in *The KV cache*: each takes how many positions a row's token is after a column's -----------


# --- allowed_positions ---------------------------------------------------------------------------------------------


def real_keys(mask):
    return mask[:, None, :]


def allowed(mask, window_size, near=in_window, real=real_keys):
    """The right way, one step of which a known mistake exchanges."""
    positions = torch.arange(mask.shape[1])
    return near(positions[:, None] - positions, window_size) & real(mask)


def window_on_both_sides(distance, window_size):
    """The window reaches ahead, too. A language model must not see later words."""
    return distance.abs() < window_size


def own_position_left_out(distance, window_size):
    """A token may not attend to its own position. It is one of those in its window: the distance 0 is allowed."""
    return (distance > 0) & (distance < window_size)


def window_before_the_token(distance, window_size):
    """The window ends at the position before. A token's own position is the last of its window."""
    return (distance > 0) & (distance <= window_size)


def padding_allowed(mask):
    """Padding may be attended to: the mask is not used."""
    return torch.ones_like(mask[:, None, :])


def mask_on_queries(mask):
    """The mask hides rows, which are queries, instead of columns. Give it the shape (batch, 1, tokens)."""
    return mask[:, :, None]


def padded_queries_hidden(mask):
    """Padded tokens may attend to nothing here, but the rule forbids padding as a key only: let the mask hide columns,
    not rows.
    """
    return mask[:, None, :] & mask[:, :, None]


def hidden_marked(mask, window_size):
    """True and False are swapped. PyTorch's own layers hide where a mask is True; here True means may attend."""
    return ~allowed(mask, window_size)


allowed_positions = Check(
    reference=allowed,
    cases=[
        Case({"mask": torch.tensor(rows, dtype=torch.bool), "window_size": size})
        for rows, size in (
            ([[1, 1, 0], [0, 1, 1], [1, 1, 1]], 2),
            ([[1, 1, 1, 1, 0], [0, 0, 1, 1, 1]], 3),
            ([[1, 1, 0, 1, 1, 0, 1]], 4),
            ([[0, 0], [1, 0], [0, 1]], 5),
            ([[1, 1, 1], [0, 1, 0]], 1),
            ([[1], [0]], 1),
        )
    ],
    mistakes=[
        *(changed(allowed, near=step) for step in (*WINDOW_MISTAKES, window_on_both_sides, own_position_left_out,
                                                window_before_the_token)),
        *(changed(allowed, real=step) for step in (padding_allowed, mask_on_queries, padded_queries_hidden)),
        hidden_marked,
    ],
    section="A language model, “Exercise 5: who may attend to whom”",
)  # fmt: skip


# --- effect_of_context ---------------------------------------------------------------------------------------------


class Reader:
    """A "model" whose losses depend on which words of the texts are in another order, and not on that order."""

    def __init__(self, texts, words, near):
        self.texts = 100 * torch.arange(texts)[:, None] + 7 * torch.arange(words) % words  # (texts, words)
        self.near, self.losses = near, 5 + draw(1025, texts, seed=near)

    def __call__(self, texts):
        if texts.shape != self.texts.shape:
            return self.losses[-1]
        same, (far, before) = texts == self.texts, (t[:, : -self.near] for t in (texts, self.texts))
        near_changed = not same[:, -self.near :].all()
        changes = [
            not same[:, : -self.near].all(),
            near_changed,
            near_changed and same[:, : self.near].all(),
            not same[:, -1].all(),
            not torch.equal(texts.sort(dim=1).values, self.texts.sort(dim=1).values),
            any(torch.equal(far, before.roll(n, 1)) for n in range(1, far.shape[1])),
            any(torch.equal(far, before.flip(1).roll(n, 1)) for n in range(far.shape[1])),
            torch.equal(far, far.sort(dim=1).values) or torch.equal(far, far.sort(dim=1, descending=True).values),
            0 < (far != before).sum() < far.numel() / 2,
            (far != before).any() and not (far != before).any(dim=1).all(),  # some texts are as they were
        ]
        return self.losses[sum(2**n for n, change in enumerate(changes) if change)]


def shuffled_far(texts, near):
    far = texts[:, :-near]
    return torch.cat([far[:, torch.randperm(far.shape[1])], texts[:, -near:]], dim=1)


def losses(losses_at, texts, near, change=shuffled_far):
    return torch.stack([losses_at(change(texts, near)), losses_at(texts)])


def effect(**given):
    return first_minus_second(losses(**given))


def nothing_shuffled(texts, near):
    """The words are in their old order. Index them with the random order, and give the result to `losses_at`."""
    return texts


def all_words_shuffled(texts, near):
    """All words are shuffled. The `near` last words keep their positions."""
    return texts[:, torch.randperm(texts.shape[1])]


def first_words_left(texts, near):
    """The first words keep their positions. The last ones should, `texts[:, -near:]`."""
    return shuffled_far(texts.flip(1), near).flip(1)


def near_words_shuffled(texts, near):
    """The `near` last words are shuffled, and the others keep their positions. It should be the other way around."""
    last = texts[:, -near:]
    return torch.cat([texts[:, :-near], last[:, torch.randperm(near)]], dim=1)


def one_near_word_shuffled(texts, near):
    """One of the `near` last words is shuffled with the others. All of them keep their positions."""
    return shuffled_far(texts, near - 1) if near > 1 else all_words_shuffled(texts, near)


def sorted_far(texts, near):
    """The words are sorted, and a sorted order isn't random. Shuffle them: index with `torch.randperm(n)`."""
    return torch.cat([texts[:, :-near].sort(dim=1).values, texts[:, -near:]], dim=1)


def rolled_far(texts, near):
    """The words have all moved by the same number of positions, so most of them follow the same word as before. Shuffle
    them: index with `torch.randperm(n)`.
    """
    return torch.cat([texts[:, :-near].roll(1, dims=1), texts[:, -near:]], dim=1)


def reversed_far(texts, near):
    """The words are reversed, and that isn't a random order. Shuffle them: index with `torch.randperm(n)`."""
    return torch.cat([texts[:, :-near].flip(1), texts[:, -near:]], dim=1)


def two_exchanged(texts, near):
    """Only a few words have moved. Shuffle all but the `near` last ones: index with `torch.randperm(n)`."""
    far = texts[:, :-near]
    return torch.cat([far[:, [1, 0, *range(2, far.shape[1])]], texts[:, -near:]], dim=1)


def far_words_left_out(texts, near):
    """The far words are left out, so the model loses the words themselves, not only their order. Shuffle them."""
    return texts[:, -near:]


def read_by(model):
    return Case({"losses_at": model, "texts": model.texts, "near": model.near})


effect_of_context = Check(
    reference=effect,
    cases=[read_by(Reader(9, 30, 4)), read_by(Reader(6, 40, 1)), read_by(Reader(9, 26, 8))],
    mistakes=[
        *(changed(effect, change=step)
          for step in (nothing_shuffled, one_near_word_shuffled, all_words_shuffled, first_words_left,
                       near_words_shuffled, far_words_left_out, sorted_far,
                       rolled_far, reversed_far, two_exchanged)),
        *paired_mistakes(losses),
    ],
    section="A language model, “Which part bought what?”",
)  # fmt: skip
