"""The checks of *A language model*: the model, its loss, a sliding window, and an experiment on the order of words."""

import math

import torch
import torch.nn.functional as F

from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw, interval_by_sums, interval_mistakes, real_tokens
from shared.language_model import LanguageModel
from shared.model import causal_mask
from shared.statistics import mean_and_interval

SHIFT = "A language model, “Shift and mask”"
MODEL = "A language model, “Exercise 11.1 (build): the model”"


# --- language_model ------------------------------------------------------------------------------------------------


def pre_norm(block, x, mask):
    """One block, written out: the right way."""
    x = x + block.attention(block.attention_norm(x), None, mask)[0]
    return x + block.feed_forward(block.feed_forward_norm(x))


def logits(
    ids, embedding, blocks, norm, output,
    mask_of=lambda number, tokens: causal_mask(tokens), apply=pre_norm, chosen=slice(None), finish=None,
):  # fmt: skip
    """The right way, one step of which a known mistake exchanges."""
    x = embedding(ids)
    for number, block in enumerate(blocks[chosen]):
        x = apply(block, x, mask_of(number, ids.shape[1]))
    if finish:
        return finish(x, norm, output)
    return output(F.layer_norm(x, x.shape[2:], norm.weight, norm.bias, norm.eps))


def no_mask(number, tokens):
    """Every position sees the words that follow it, so the answer can be read off the input. Give each block the causal
    mask as `attention_mask`."""


def mask_transposed(number, tokens):
    """The mask is transposed: a position sees itself and what follows. Rows are queries, so keep the lower triangle."""
    return causal_mask(tokens).T


def next_word_visible(number, tokens):
    """The mask reaches one position too far, so each position sees the word that it has to predict."""
    return causal_mask(tokens + 1)[1:, :-1]


def only_first_block_masked(number, tokens):
    """Only the first block gets the causal mask. Give it to every block."""
    return causal_mask(tokens) if number == 0 else None


def post_norm(block, x, mask):
    """The blocks normalize after each sum. Make them with `norm_first=True`."""
    x = block.attention_norm(x + block.attention(x, None, mask)[0])
    return block.feed_forward_norm(x + block.feed_forward(x))


def final_norm_missing(x, norm, output):
    """`norm` is not used: it comes between the last block and `output`."""
    return output(x)


def softmax_returned(x, norm, output):
    """These are probabilities. Return the scores: the loss has the softmax inside."""
    return output(norm(x)).softmax(dim=2)


def log_softmax_returned(x, norm, output):
    """These are log probabilities. Return the scores: the loss has the softmax inside."""
    return output(norm(x)).log_softmax(dim=2)


def averaged_over_tokens(x, norm, output):
    """The hidden states are averaged, as a classifier does it. Every position predicts its next word."""
    return output(norm(x.mean(dim=1)))


def last_block_missing(**given):
    """The last block is not used. Let the x go through all of `self.blocks`."""
    return logits(**given, chosen=slice(-1))


def first_block_missing(**given):
    """The first block is not used. Let the x go through all of `self.blocks`."""
    return logits(**given, chosen=slice(1, None))


def blocks_in_parallel(**given):
    """Every block starts from the embeddings. The output of one block is the input of the next."""
    return logits(**given, apply=lambda block, x, mask: pre_norm(block, given["embedding"](given["ids"]), mask))


def norm_after_each_block(**given):
    """`norm` follows each block. It comes once, after the last block."""
    return logits(
        **given, apply=lambda block, x, mask: given["norm"](pre_norm(block, x, mask)), finish=final_norm_missing
    )


def ids_of(batch, tokens, *sizes):
    names = ("known_words", "causal", "d_model", "num_heads", "num_blocks")
    ids = torch.randint(sizes[0], (batch, tokens), generator=torch.Generator().manual_seed(tokens))
    return Case({"ids": ids}, dict(zip(names, sizes, strict=True)))


def sees_ahead(model):
    return not torch.equal(*(model(torch.tensor([[3, 4, word]]))[0, 0] for word in (5, 6)))


def uses_its_arguments(answer):
    """What the results of the cases do not show."""
    made = answer(11, False, 8, 2, 3)
    if len(made.blocks) != 3:
        raise Wrong(f"Made with `num_blocks=3`, the model has {len(made.blocks)} blocks.", "num_blocks ignored")
    if len(set(made.blocks)) != 3:
        raise Wrong("All blocks are one and the same, because `[block] * n` repeats one block. Make each of them, "
                    "with `for _ in range(num_blocks)`.", "one block for all")  # fmt: skip
    if (heads := made.blocks[0].attention.num_heads) != 2:
        raise Wrong(f"Made with `num_heads=2`, the blocks have {heads} heads.", "num_heads ignored")
    if not sees_ahead(made):
        raise Wrong("Made with `causal=False`, the model has its mask all the same.", "causal ignored")
    plain, course = answer(11), LanguageModel(11)
    shapes = [sorted(p.shape for p in model.parameters() if p.dim() > 1) for model in (plain, course)]
    if shapes[0] != shapes[1] or sees_ahead(plain) or plain.blocks[0].attention.num_heads != 4:
        raise Wrong("Made with `known_words` alone, the model has other defaults. They are causal=True, d_model=64, "
                    "num_heads=4, num_blocks=2, feed-forward layers 2 * d_model wide.", "other defaults")  # fmt: skip
    if not 0.4 < (std := plain.embedding.table.weight.std().item()) < 0.6:
        raise Wrong(f"The embeddings start with a standard deviation of {std:.1f}. Make them with `std=0.5`.",
                    "another std")  # fmt: skip


language_model = Check(
    reference=logits,
    solution=LanguageModel,
    parts=("embedding", "blocks", "norm", "output"),
    cases=[
        ids_of(2, 5, 7, True, 8, 2, 2),
        ids_of(1, 3, 7, True, 8, 2, 2),
        ids_of(3, 1, 9, True, 4, 1, 1),
        ids_of(1, 6, 12, True, 6, 3, 3),
    ],
    mistakes=[
        *(changed(logits, mask_of=step) for step in (
            no_mask, mask_transposed, next_word_visible, only_first_block_masked)),
        changed(logits, apply=post_norm), last_block_missing, first_block_missing, blocks_in_parallel,
        norm_after_each_block,
        *(changed(logits, finish=step) for step in (
            final_norm_missing, softmax_returned, log_softmax_returned, averaged_over_tokens)),
    ],
    section=MODEL,
    last_look=uses_its_arguments,
)  # fmt: skip


# --- next_word_loss ------------------------------------------------------------------------------------------------


def loss_by_loops(scores, ids):
    """Position by position, by logarithms of probabilities."""
    targets = [(text, t) for text, words in enumerate(ids) for t, word in enumerate(words) if t and word]
    return -sum(scores[text, t - 1].softmax(0)[ids[text, t]].log() for text, t in targets) / len(targets)


def shifted(scores, ids):
    return scores[:, :-1].flatten(0, 1), ids[:, 1:].flatten()


def shifted_when_flat(scores, ids):
    return scores.flatten(0, 1)[:-1], ids.flatten()[1:]


def loss(scores, ids, align=shifted, **how):
    return F.cross_entropy(*align(scores, ids), **{"ignore_index": 0} | how)


def both_faults_left(scores, ids):
    """Two faults are left: the last position of a text is compared with the first word of the next text, and padding
    counts as a word."""
    return loss(scores, ids, shifted_when_flat, ignore_index=-100)


def shift_across_texts(scores, ids):
    """The first fault is left: the last position of a text is compared with the first word of the next text. Shift
    before the texts are flattened."""
    return loss(scores, ids, shifted_when_flat)


def padding_counted(scores, ids):
    """The second fault is left: padding counts as a word to be predicted. Leave out the targets that are 0."""
    return loss(scores, ids, ignore_index=-100)


def unshifted(scores, ids):
    return scores.flatten(0, 1), ids.flatten()


def not_shifted_padding_counted(scores, ids):
    """Two faults are left: each position is compared with its own word, and padding counts as a word."""
    return loss(scores, ids, unshifted, ignore_index=-100)


def not_shifted(scores, ids):
    """Each position is compared with its own word. The scores at position t are for the word at position t + 1."""
    return loss(scores, ids, unshifted)


def shifted_backwards(scores, ids):
    """Each position is compared with the word before it. The scores at position t are for the word at t + 1."""
    return loss(scores, ids, lambda scores, ids: (scores[:, 1:].flatten(0, 1), ids[:, :-1].flatten()))


def shifted_around(scores, ids):
    """`roll` compares the last position of each text with its first word. Leave out the last position instead."""
    return loss(scores, ids, lambda scores, ids: (scores.flatten(0, 1), ids.roll(-1, 1).flatten()))


def softmax_twice(scores, ids):
    """The softmax is taken twice: `F.cross_entropy` has it inside, and takes the scores."""
    return loss(scores.softmax(dim=2), ids)


def classes_on_the_last_axis(scores, ids):
    """`F.cross_entropy` takes the classes on axis 1, and here they are on the last. Flatten texts and positions, or
    `transpose(1, 2)` the scores."""
    return F.cross_entropy(scores[:, :-1], ids[:, 1:], ignore_index=0)


def classes_reshaped(scores, ids):
    """Reshaping mixes classes and positions. Bring the classes to axis 1 with `transpose(1, 2)`, or flatten texts and
    positions."""
    return F.cross_entropy(scores[:, :-1].reshape(len(ids), scores.shape[2], -1), ids[:, 1:], ignore_index=0)


def summed(scores, ids):
    """The losses are summed. The exercise asks for their mean over the words that are not padding."""
    return loss(scores, ids, reduction="sum")


def divided_by_all_positions(scores, ids):
    """The sum is divided by the number of all positions. Divide by the number of targets that are not padding."""
    return loss(scores, ids, reduction="none").mean()


def mean_of_texts(scores, ids):
    """Each text counts the same, however short: this is a mean of means. Average over all words at once."""
    losses = loss(scores, ids, reduction="none").view(len(ids), -1)
    return (losses.sum(dim=1) / (ids[:, 1:] != 0).sum(dim=1)).mean()


def not_averaged(scores, ids):
    """There is a loss for each position. Return one number, their mean."""
    return loss(scores, ids, reduction="none")


def perplexity(scores, ids):
    """This is the perplexity. Leave out `exp`: the exercise asks for the mean loss."""
    return loss(scores, ids).exp()


def predicted(lengths, known_words, seed=0):
    ids = torch.randint(1, known_words, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(seed))
    return Case({"scores": draw(*ids.shape, known_words), "ids": ids * real_tokens(lengths)})


next_word_loss = Check(
    reference=loss_by_loops,
    cases=[predicted([6, 2, 4], 5), predicted([6, 3], 9), predicted([3, 2, 3, 2], 7, seed=1), predicted([5], 6)],
    mistakes=[
        both_faults_left, not_shifted_padding_counted, shift_across_texts, padding_counted, not_shifted,
        shifted_backwards, shifted_around, softmax_twice, summed, divided_by_all_positions, mean_of_texts, not_averaged,
        perplexity, classes_on_the_last_axis, classes_reshaped,
    ],
    section=SHIFT,
    needs_gradient=("scores",),
)  # fmt: skip


# --- allowed_positions ---------------------------------------------------------------------------------------------


def allowed_by_loops(mask, window_size):
    tokens = range(mask.shape[1])
    rows = [[[bool(real[j]) and i - window_size < j <= i for j in tokens] for i in tokens] for real in mask]
    return torch.tensor(rows)


def in_window(distance, window_size):
    return (distance >= 0) & (distance < window_size)


def real_keys(mask):
    return mask[:, None, :]


def allowed(mask, window_size, near=in_window, real=real_keys):
    """The right way, one step of which a known mistake exchanges. The distance is that from column j back to row i."""
    positions = torch.arange(mask.shape[1])
    return near(positions[:, None] - positions, window_size) & real(mask)


def no_window(distance, window_size):
    """All earlier positions are allowed. The window ends `window_size` positions back, the own position counted."""
    return distance >= 0


def window_on_both_sides(distance, window_size):
    """The window reaches ahead, too. A language model sees no word that follows."""
    return distance.abs() < window_size


def window_ahead(distance, window_size):
    """The window reaches ahead instead of back. Rows are queries i, columns keys j, and j is never after i."""
    return in_window(-distance, window_size)


def not_causal(distance, window_size):
    """All later positions are allowed. A language model sees no word that follows."""
    return distance < window_size


def own_position_hidden(distance, window_size):
    """A token may not attend to itself. Its own position is the first of the window."""
    return (distance > 0) & (distance < window_size)


def window_too_wide(distance, window_size):
    """The window is one position too wide: the own position is one of the `window_size`."""
    return (distance >= 0) & (distance <= window_size)


def window_too_narrow(distance, window_size):
    """The window is one position too narrow. It has `window_size` positions, the own one among them."""
    return in_window(distance, window_size - 1)


def padding_allowed(mask):
    """Padding may be attended to: the mask is not used."""
    return torch.ones_like(mask[:, None, :])


def mask_on_queries(mask):
    """The mask hides rows, which are queries, instead of columns. Give it the shape (batch, 1, tokens)."""
    return mask[:, :, None]


def padded_queries_hidden(mask):
    """The rows of padding are hidden, too. A padded token sees the real tokens of its window."""
    return mask[:, None, :] & mask[:, :, None]


def mask_inverted(mask):
    """The mask is the wrong way round: it is True for a real token, which may be attended to."""
    return ~mask[:, None, :]


def hidden_marked(mask, window_size):
    """True and False are exchanged. PyTorch's own layers hide where a mask is True; here True means may attend."""
    return ~allowed(mask, window_size)


def batch_axis_missing(mask, window_size):
    """One table serves all texts. Each text has its own padding: (batch, tokens, tokens)."""
    return allowed(mask, window_size, real=lambda mask: torch.tensor(True))


allowed_positions = Check(
    reference=allowed_by_loops,
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
        *(changed(allowed, near=step) for step in (
            no_window, window_on_both_sides, window_ahead, not_causal, own_position_hidden, window_too_wide,
            window_too_narrow)),
        *(changed(allowed, real=step) for step in (
            padding_allowed, mask_on_queries, padded_queries_hidden, mask_inverted)),
        hidden_marked, batch_axis_missing,
    ],
    section="A language model, “Exercise 11.3: who may attend to whom”",
)  # fmt: skip


# --- effect_of_context ---------------------------------------------------------------------------------------------


class Reader:
    """A "model" whose loss on each text is known: it rises by `rise` where the far words are in a different order."""

    def __init__(self, texts, words, near, sign=1.0):
        self.pieces = 100 * torch.arange(texts)[:, None] + 7 * torch.arange(words) % words  # (texts, words)
        self.near, text = near, torch.arange(texts, dtype=torch.float64)
        self.level, self.rise = 5 + 2 * torch.sin(3 * text), sign * (near + torch.cos(text)) / 9

    def __call__(self, pieces):
        text = torch.arange(len(pieces), dtype=torch.float64)
        if pieces.shape != self.pieces.shape:
            return self.level + 3 + 0.3 * torch.sin(text)
        same, words = pieces == self.pieces, [p.sort(dim=1).values for p in (pieces, self.pieces)]
        loss = self.level + self.rise * (not same[:, : -self.near].all())
        other_changes = [
            not same[:, -self.near :].all(),
            same[:, : self.near].all() and not same[:, -self.near :].all(),
            not torch.equal(*words),
            torch.equal(pieces[:, : -self.near], self.pieces[:, : -self.near].flip(1)),
        ]
        return loss + sum(
            change * (1 + n + 0.3 * torch.sin((5 + 2 * n) * text)) for n, change in enumerate(other_changes)
        )


def shuffled_far(pieces, near):
    far = pieces[:, :-near]
    return torch.cat([far[:, torch.randperm(far.shape[1])], pieces[:, -near:]], dim=1)


def losses(losses_at, pieces, near, change=shuffled_far):
    return losses_at(change(pieces, near)), losses_at(pieces)


def rises(losses_at, pieces, near, change=shuffled_far):
    after, before = losses(losses_at, pieces, near, change)
    return after - before


def effect(losses_at, pieces, near, change=shuffled_far):
    return mean_and_interval(rises(losses_at, pieces, near, change))


def nothing_shuffled(pieces, near):
    """The words are in their old order. Index them with the random order, and give the result to `losses_at`."""
    return pieces


def all_words_shuffled(pieces, near):
    """All words are shuffled. The `near` last words keep their positions."""
    return pieces[:, torch.randperm(pieces.shape[1])]


def near_words_shuffled(pieces, near):
    """The `near` last words are shuffled, and the others are not. It is the other way round."""
    return torch.cat([pieces[:, :-near], pieces[:, -near:].flip(1)], dim=1)


def first_words_left(pieces, near):
    """The first words keep their positions. Those that do are the last ones, `pieces[:, -near:]`."""
    return shuffled_far(pieces.flip(1), near).flip(1)


def far_words_left_out(pieces, near):
    """The far words are left out, so the model loses the words and not only their order. Shuffle them."""
    return pieces[:, -near:]


def fall_not_rise(**given):
    """The difference has the wrong sign: it is shuffled minus unchanged."""
    return mean_and_interval(-rises(**given))


def unchanged_not_subtracted(**given):
    """This is the loss on shuffled words. Subtract the loss on the unchanged ones, text by text."""
    return mean_and_interval(losses(**given)[0])


def pairing_lost(**given):
    """Both losses have an interval of their own, so what makes a text hard counts as chance. Subtract text by text
    first."""
    (after, a), (before, b) = map(mean_and_interval, losses(**given))
    return after - before, math.hypot(a, b)


def read_by(model):
    return Case({"losses_at": model, "pieces": model.pieces, "near": model.near})


effect_of_context = Check(
    reference=lambda losses_at, pieces, near: interval_by_sums(losses_at.rise.tolist()),
    cases=[read_by(Reader(9, 30, 4)), read_by(Reader(6, 40, 1, sign=-1.0)), read_by(Reader(9, 26, 8))],
    mistakes=[
        *(changed(effect, change=step) for step in (
            nothing_shuffled, all_words_shuffled, near_words_shuffled, first_words_left, far_words_left_out)),
        fall_not_rise, unchanged_not_subtracted, pairing_lost, *interval_mistakes(rises),
    ],
    section="A language model, “How far back does it help?”",
)  # fmt: skip
