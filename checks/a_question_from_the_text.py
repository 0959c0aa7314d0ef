"""The checks of *A question from the text*: a marker's query, one row read wrongly, and who needs positions."""

import math

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw, masked, real_tokens, scaled
from shared.model import SelfAttention, TokenEmbedding, masked_softmax, weighted_sum
from shared.statistics import mean_and_interval

OWN_QUERY = "A question from the text, “The marker query”"
SCALE_MISTAKES = trials.SCORE_MISTAKES[:5]  # what goes wrong with the root, when there is only one query


def refuse_all_rows(function, inputs, most):
    """Raise Wrong when matrix products take more than so many operations: those of all pairs of tokens do."""
    inputs = [x.to(torch.get_default_dtype()) if x.is_floating_point() else x for x in inputs.values()]
    with FlopCounterMode(display=False) as counter:
        function(*inputs)
    if counter.get_total_flops() > most:
        raise Wrong("The results are right, but the scores of all pairs of tokens are computed. Let only the marker's "
                    "query meet the keys of its text.", "all rows computed")  # fmt: skip


# --- whose x become the query: each takes x (batch, tokens, d_model) and where the markers are --------------


def at_marker(x, is_marker):
    """The right way."""
    return (is_marker[:, :, None] * x).sum(dim=1)


def first_position(x, is_marker):
    """The query is that of the first token. Find the marker in each text: it can be anywhere."""
    return x[:, 0]


def last_position(x, is_marker):
    """The query is that of the last position. Find the marker in each text: it can be anywhere."""
    return x[:, -1]


def mean_of_text(x, is_marker):
    """The query is that of the mean of all tokens. Take the x of the marker alone."""
    return x.mean(dim=1)


def position_of_first_text(x, is_marker):
    """Every text is read at the position of the first text's marker. Each text has its own position."""
    return x[:, is_marker[0].int().argmax()]


def markers_of_all_texts(x, is_marker):
    """Each text's query is the sum over the markers' positions in all texts: `[:, position]` selects these positions in
    every text. Index both axes, `[torch.arange(batch), position]`."""
    return (is_marker.any(dim=0)[None, :, None] * x).sum(dim=1)


def markers_summed(x, is_marker):
    """Each text's query is the sum over the markers' positions in all texts. Index both axes, so that text i meets
    position i: `[torch.arange(batch), position]`."""
    return x[:, is_marker.int().argmax(dim=1)].sum(dim=1)


PICKS = (first_position, last_position, mean_of_text, position_of_first_text, markers_of_all_texts, markers_summed)


def attend_once(marked, x, mask, W_query, W_key, W_value, score=scaled, weigh=masked):
    """Output (batch, d_v) and weights (batch, tokens) of one query for each text, made of marked (batch, d_model)."""
    weights = weigh(score(W_query(marked)[:, None], W_key(x), x.shape[2]), mask[:, None])  # (batch, 1, tokens)
    return (weights @ W_value(x))[:, 0], weights[:, 0]


# --- marked_classifier ---------------------------------------------------------------------------------------------


class MarkerQueryClassifier(nn.Module):
    """Self-attention with one query, that of the marker. The lab replaces `ask` in a control."""

    def __init__(self, vocabulary_size, marker_id, d_model=16, d_k=8, d_v=16, **embedding):
        super().__init__()
        self.marker_id = marker_id
        self.embedding = TokenEmbedding(vocabulary_size, d_model, **embedding)
        self.attention = SelfAttention(d_model, d_k, d_v)
        self.output = nn.Linear(d_v, 1)

    def ask(self, ids, x):
        """The query of each text, (batch, d_k)."""
        return self.attention.W_query(weighted_sum((ids == self.marker_id).to(x), x))

    def forward(self, ids, mask):
        """A logit for each text, (batch,), and its weights, (batch, tokens)."""
        x = self.embedding(ids)  # (batch, tokens, d_model)
        keys = self.attention.W_key(x)  # (batch, tokens, d_k)
        scores = weighted_sum(self.ask(ids, x), keys.transpose(1, 2)) / math.sqrt(keys.shape[2])
        weights = masked_softmax(scores, mask)  # (batch, tokens)
        pooled = weighted_sum(weights, self.attention.W_value(x))  # (batch, d_v)
        return self.output(pooled).squeeze(1), weights


def row_by_pytorch(x, mask, position, W_query, W_key, W_value):
    """The row at one position of each text, of PyTorch's whole layer: (batch, d_v) and (batch, tokens)."""
    rows = trials.attend(W_query(x), W_key(x), W_value(x), mask)
    return tuple(torch.stack([one[at] for one, at in zip(of_all, position, strict=True)]) for of_all in rows)


def projections(attention):
    return attention.W_query, attention.W_key, attention.W_value


def logits_by_pytorch(ids, mask, marker_id, embedding, attention, output):
    position = [text.tolist().index(marker_id) for text in ids]
    rows, weights = row_by_pytorch(embedding(ids), mask, position, *projections(attention))
    return output(rows)[:, 0], weights


def classify(ids, mask, marker_id, embedding, attention, output, pick=at_marker, **steps):
    """The right way, one step of which a known mistake exchanges."""
    x = embedding(ids)
    pooled, weights = attend_once(pick(x, ids == marker_id), x, mask, *projections(attention), **steps)
    return output(pooled)[:, 0], weights


def position_left_out(ids, mask, marker_id, embedding, attention, output):
    """The query does not know where the marker is: it is made from the marker's id at the first position. Use the
    x that `ask` is given."""
    marked = embedding(torch.full_like(ids[:, :1], marker_id))[:, 0]
    return classify(ids, mask, marker_id, embedding, attention, output, pick=lambda *_: marked)


def column_of_marker(ids, mask, marker_id, embedding, attention, output):
    """Query and key projection are exchanged, so all tokens attend to the marker. Its own query meets all keys."""
    x = embedding(ids)
    W_query, W_key, W_value = projections(attention)
    pooled, weights = attend_once(at_marker(x, ids == marker_id), x, mask, W_key, W_query, W_value)
    return output(pooled)[:, 0], weights


def value_of_marker(ids, mask, marker_id, embedding, attention, output):
    """The output is made of the marker's own value. Average the values of all tokens, with the weights."""
    value = attention.W_value(at_marker(embedding(ids), ids == marker_id))
    return output(value)[:, 0], classify(ids, mask, marker_id, embedding, attention, output)[1]


def weights_not_used(ids, mask, marker_id, embedding, attention, output):
    """Every token counts the same: the weights are computed, but the values are averaged without them."""
    values = attention.W_value(embedding(ids)) * mask[:, :, None]
    pooled = values.sum(dim=1) / mask.sum(dim=1, keepdim=True)
    return output(pooled)[:, 0], classify(ids, mask, marker_id, embedding, attention, output)[1]


def marker_hidden(ids, mask, marker_id, embedding, attention, output):
    """The marker cannot attend to itself. The mask hides padding only."""
    return classify(ids, mask & (ids != marker_id), marker_id, embedding, attention, output)


def scores_returned(ids, mask, marker_id, embedding, attention, output):
    """The scores are returned in place of the weights."""
    scores = classify(ids, mask, marker_id, embedding, attention, output, weigh=lambda scores, mask: scores)[1]
    return classify(ids, mask, marker_id, embedding, attention, output)[0], scores


def results_exchanged(ids, mask, marker_id, embedding, attention, output):
    """The weights come first: the exercise asks for the logits, then the weights."""
    return classify(ids, mask, marker_id, embedding, attention, output)[::-1]


def with_marker(words, mask, position, seed, marker_id):
    """Ids of texts, each with its marker at its position; padding is 0."""
    ids = torch.randint(6, words, mask.shape, generator=torch.Generator().manual_seed(seed)) * mask
    return ids.scatter(1, torch.tensor(position)[:, None], marker_id)


def marked_texts(words, widths, mask, position, seed=0, scale=1.0, marker_id=3):
    widths = dict(zip(("d_model", "d_k", "d_v"), widths, strict=True))
    sizes = {"vocabulary_size": words, "marker_id": marker_id} | widths
    return Case({"ids": with_marker(words, mask, position, seed, marker_id), "mask": mask}, sizes, scale)


def asks_once(answer):
    """Only the marker's row is computed, and its query comes from `ask`, which the lab replaces."""
    made, mask = answer(12, 5, 6, 3, 4).eval(), real_tokens([40, 8])
    inputs = {"ids": with_marker(12, mask, [2, 6], 7, 5), "mask": mask}
    refuse_all_rows(made, inputs, 2 * len(mask) * 40 * 40 * 3)
    own = made.ask(inputs["ids"], made.embedding(inputs["ids"]))
    if not isinstance(own, torch.Tensor) or own.shape != (2, 3):
        raise Wrong("`ask` has to return one query for each text, (batch, d_k). A control of the lab replaces it "
                    "by one that does.", "another shape of queries")  # fmt: skip
    before = made(*inputs.values())[1]
    made.ask = lambda *_, **__: torch.zeros_like(own)
    if torch.allclose(made(*inputs.values())[1], before, atol=1e-5):
        raise Wrong("The results are right, but `forward` does not take its queries from `self.ask(ids, x)`: "
                    "with a different `ask` the weights are the same.", "ask not called")  # fmt: skip


marked_classifier = Check(
    reference=logits_by_pytorch,
    solution=MarkerQueryClassifier,
    parts=("marker_id", "embedding", "attention", "output"),
    cases=[
        marked_texts(12, (6, 3, 4), real_tokens([5, 3, 2]), [4, 0, 1]),
        marked_texts(12, (6, 3, 4), real_tokens([2, 5, 4]), [1, 2, 3], seed=1),
        marked_texts(9, (4, 7, 2), real_tokens([6, 6]), [3, 5], seed=10, marker_id=5),
        marked_texts(15, (5, 2, 3), real_tokens([4, 2, 3, 1], padding_first=True), [1, 2, 2, 3], seed=20),
        marked_texts(12, (6, 3, 4), real_tokens([3, 5])[:1], [2], seed=30),
        marked_texts(9, (4, 2, 3), real_tokens([1, 1]), [0, 0], seed=40, marker_id=4),
        # In one of these the marker's score is far below zero, and so below a careless fill for padding.
        *(marked_texts(30, (d_model, 2, 3), real_tokens([1, 3]), [0, 2], scale=30.0) for d_model in (3, 4, 5, 6)),
    ],
    mistakes=[
        *(changed(classify, pick=step) for step in PICKS),
        *(changed(classify, weigh=step) for step in trials.MASK_MISTAKES),
        *(changed(classify, score=step) for step in SCALE_MISTAKES),
        position_left_out, column_of_marker, value_of_marker, weights_not_used, marker_hidden, scores_returned,
        results_exchanged,
    ],
    section=OWN_QUERY,
    last_look=asks_once,
)  # fmt: skip


# --- marker_query --------------------------------------------------------------------------------------------------


def by_matrices(*matrices):
    return [matrix.__rmatmul__ for matrix in matrices]


def output_by_pytorch(x, mask, position, W_query, W_key, W_value):
    return row_by_pytorch(x, mask, position, *by_matrices(W_query, W_key, W_value))[0]


def output_at(x, mask, position, W_query, W_key, W_value, pick=at_marker, **steps):
    """The right way, one step of which a known mistake exchanges."""
    marked = pick(x, nn.functional.one_hot(position, x.shape[1]).bool())
    return attend_once(marked, x, mask, *by_matrices(W_query, W_key, W_value), **steps)[0]


def column_not_row(x, mask, position, W_query, W_key, W_value):
    """`W_query` and `W_key` are exchanged: the marker's x give the query, those of all tokens the keys."""
    return output_at(x, mask, position, W_key, W_query, W_value)


def own_value(x, mask, position, W_query, W_key, W_value):
    """The output is the marker's own value. Average the values of all tokens, with the weights."""
    return x[torch.arange(len(position)), position] @ W_value


def features_averaged(x, mask, position, W_query, W_key, W_value):
    """`W_value` is not used: the weights average the x."""
    return output_at(x, mask, position, W_query, W_key, torch.eye(x.shape[2]).to(x))


def keys_averaged(x, mask, position, W_query, W_key, W_value):
    """The weights average the keys. Average the values, `x @ W_value`."""
    return output_at(x, mask, position, W_query, W_key, W_key)


def all_rows_averaged(x, mask, position, W_query, W_key, W_value):
    """The outputs of all tokens are averaged. Return the output at the marker's position alone."""
    return trials.attend(x @ W_query, x @ W_key, x @ W_value, mask)[0].mean(dim=1)


def marked_features(mask, position, d_model, d_k, d_v, seed=0, scale=1.0):
    inputs = {"x": scale * draw(*mask.shape, d_model, seed=seed), "mask": mask, "position": torch.tensor(position)}
    widths = {"W_query": d_k, "W_key": d_k, "W_value": d_v}
    return Case(
        inputs | {name: draw(d_model, width, seed=seed + n) for n, (name, width) in enumerate(widths.items(), 1)}
    )


def reads_one_row(answer):
    case = marked_features(real_tokens([40, 8]), [2, 6], 5, 3, 4)
    refuse_all_rows(answer, case.inputs, 2 * 2 * 40 * 40 * 3)


marker_query = Check(
    reference=output_by_pytorch,
    cases=[
        marked_features(real_tokens([5, 3, 2]), [4, 0, 1], 6, 3, 4),
        marked_features(real_tokens([6, 6]), [3, 5], 4, 7, 2, seed=10),
        marked_features(real_tokens([4, 2, 3, 1], padding_first=True), [1, 2, 2, 3], 5, 2, 3, seed=20),
        marked_features(real_tokens([4, 3, 2, 4]), [1, 2, 0, 3], 4, 4, 4, seed=30),
        marked_features(real_tokens([3, 5])[:1], [2], 6, 3, 4, seed=60),
        marked_features(real_tokens([1, 1]), [0, 0], 3, 2, 2, seed=40),
        marked_features(real_tokens([1, 1, 1, 2] * 4 + [3]), [0] * 17, 5, 2, 2, seed=50, scale=30.0),
    ],
    mistakes=[
        *(changed(output_at, pick=step) for step in PICKS),
        *(changed(output_at, weigh=step) for step in trials.MASK_MISTAKES),
        *(changed(output_at, score=step) for step in SCALE_MISTAKES),
        column_not_row, own_value, features_averaged, keys_averaged, all_rows_averaged,
    ],
    section=OWN_QUERY,
    last_look=reads_one_row,
)  # fmt: skip


# --- gains_by_position ---------------------------------------------------------------------------------------------

KINDS = ((True, True), (True, False), (False, True))


def gains_by_sums(train, seeds):
    return {
        kind: trials.interval_by_sums([train(*kind, seed) - train(False, False, seed) for seed in seeds])
        for kind in KINDS
    }


def accuracies(train, seeds, baseline=(False, False)):
    """For each kind a pair of rows: its accuracies, and those of the baseline."""
    return {
        kind: torch.tensor([[train(*one, seed) for seed in seeds] for one in (kind, baseline)], dtype=torch.float64)
        for kind in KINDS
    }


def gains(train, seeds, **baseline):
    return {kind: own - other for kind, (own, other) in accuracies(train, seeds, **baseline).items()}


def intervals(rows):
    return {kind: mean_and_interval(row) for kind, row in rows.items()}


def query_and_key_exchanged(train, seeds):
    """`query_place` and `key_place` are exchanged, in the call of `train` or in the keys of the dict."""
    return intervals(gains(lambda query, key, seed: train(key, query, seed), seeds))


def loss_not_gain(train, seeds):
    """The difference has the wrong sign. A gain is positive: the kind minus (False, False)."""
    return intervals({kind: -row for kind, row in gains(train, seeds).items()})


def another_baseline(train, seeds):
    """The gain is that over (True, True). The baseline is the kind without any positions, (False, False)."""
    return intervals(gains(train, seeds, baseline=(True, True)))


def baseline_left_out(train, seeds):
    """These are the accuracies themselves. Subtract those of (False, False), seed by seed."""
    return intervals({kind: own for kind, (own, _) in accuracies(train, seeds).items()})


def baseline_with_one_seed(train, seeds):
    """The baseline is trained with the first seed only. Subtract runs that have the same seed."""
    return intervals({kind: own - other[0] for kind, (own, other) in accuracies(train, seeds).items()})


def earlier_kinds_left_in(train, seeds):
    """The list of gains is not emptied between the kinds, so each has those of the kinds before it, too."""
    rows = list(gains(train, seeds).values())
    return intervals({kind: torch.cat(rows[: number + 1]) for number, kind in enumerate(KINDS)})


def pairing_lost(train, seeds):
    """Both kinds have an interval of their own, so what a seed does to both counts as chance. Subtract seed by seed
    first."""
    pairs = {kind: [mean_and_interval(row) for row in rows] for kind, rows in accuracies(train, seeds).items()}
    return {kind: (own - other, math.hypot(a, b)) for kind, ((own, a), (other, b)) in pairs.items()}


gains_by_position = Check(
    reference=gains_by_sums,
    cases=[
        Case({"train": trials.synthetic_accuracy, "seeds": seeds})
        for seeds in ([0, 1, 2], [3, 1, 4, 15, 9], [2, 7])
    ],
    mistakes=[
        query_and_key_exchanged, loss_not_gain, another_baseline, baseline_left_out, baseline_with_one_seed,
        earlier_kinds_left_in, pairing_lost,
        *trials.seed_mistakes(lambda **given: intervals(gains(**given))), *trials.interval_mistakes(gains),
    ],
    section="A question from the text, “Exercise 5.3 (experiment): who needs positions?”",
)  # fmt: skip
