"""The checks of *A question from the text*: a marker's query, one row read wrongly, and who needs positions."""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.running import outcome
from checks.trials import changed, draw, first_minus_second, goes_on, paired_mistakes, real_tokens
from labs.a_question_from_the_text.marker_query import MarkerQueryClassifier
from shared.model import masked_softmax

OWN_QUERY = "A question from the text, “The marker query”"


# --- one row of self-attention, in both exercises: the output (batch, d_v) and the weights (batch, tokens) -----------


def at_marker(x, is_marker):
    """The right way: the x of each text's marker, (batch, d_model)."""
    return (is_marker[:, :, None] * x).sum(dim=1)


def row(x, is_marker, mask, W_query, W_key, W_value, pick=at_marker, score=trials.scaled, weigh=masked_softmax):
    """The right way, one step of which a known mistake exchanges."""
    queries = W_query(pick(x, is_marker))[:, None]  # (batch, 1, d_k)
    weights = weigh(score(queries, W_key(x), x.shape[2]), mask[:, None])  # (batch, 1, tokens)
    return (weights @ W_value(x))[:, 0], weights[:, 0]


def first_position(x, is_marker):
    """The query is that of the first token. Find the marker in each text: it can be anywhere."""
    return x[:, 0]


def mean_of_text(x, is_marker):
    """The query is that of the mean of all tokens. Take the x of the marker alone."""
    return x.mean(dim=1)


def position_of_first_text(x, is_marker):
    """Every text is read at the position of the first text's marker. Each text has its marker at its own position."""
    return x[:, is_marker[0].int().argmax()]


def markers_of_all_texts(x, is_marker):
    """Each text's query is the sum over the markers' positions in all texts: `[:, position]` selects these positions in
    every text. Index both axes, `[torch.arange(batch), position]`."""
    return (is_marker.any(dim=0)[None, :, None] * x).sum(dim=1)


def mean_of_all_positions(x, is_marker):
    """Each text's query is the mean over the markers' positions in all texts: `[:, position]` selects these positions
    in every text. Index both axes, `[torch.arange(batch), position]`."""
    return x[:, is_marker.int().argmax(dim=1)].mean(dim=1)


def mean_of_marked_positions(x, is_marker):
    """Each text's query is the mean over all positions at which any text has its marker: `[:, position]` selects these
    in every text. Index both axes, `[torch.arange(batch), position]`."""
    return x[:, is_marker.any(dim=0)].mean(dim=1)


def column_of_marker(W_query, W_key, **given):
    """Query and key projection are swapped: all tokens' queries meet the marker's key. Let the marker's query meet all
    keys.
    """
    return row(W_query=W_key, W_key=W_query, **given)


ROW_MISTAKES: list[Callable] = [
    *(changed(row, pick=step)
      for step in (
          first_position, mean_of_text, position_of_first_text, markers_of_all_texts, mean_of_all_positions,
          mean_of_marked_positions)),
    *(changed(row, weigh=step) for step in trials.MASK_MISTAKES),
    *(changed(row, score=step) for step in trials.SCORE_MISTAKES[:4]),  # what goes wrong with the root
    column_of_marker,
]  # fmt: skip


class AllRowsComputed(Wrong):
    """The results are right, but the scores of all pairs of tokens are computed. Let only the marker's query meet the
    keys of its text."""


def refuse_all_rows(function, inputs, most):
    """Raise Wrong when matrix products take more than so many operations: those of all pairs of tokens do."""
    inputs = [x.to(torch.get_default_dtype()) if x.is_floating_point() else x for x in inputs.values()]
    with FlopCounterMode(display=False) as counter:
        function(*inputs)
    if counter.get_total_flops() > most:
        raise AllRowsComputed


# --- marked_classifier ---------------------------------------------------------------------------------------------


def classify(ids, mask, marker_id, embedding, attention, output, row=row):
    """The right way, or with another row."""
    projections = {name: getattr(attention, name) for name in ("W_query", "W_key", "W_value")}
    pooled, weights = row(x=embedding(ids), is_marker=ids == marker_id, mask=mask, **projections)
    return output(pooled)[:, 0], weights


def with_marker(words, mask, position, seed, marker_id):
    """Ids of texts, each with its marker at its position; padding is 0."""
    ids = torch.randint(6, words, mask.shape, generator=torch.Generator().manual_seed(seed)) * mask
    return ids.scatter(1, torch.tensor(position)[:, None], marker_id)


def marked_texts(words, widths, mask, position, seed=0, scale=1.0, marker_id=3):
    widths = dict(zip(("d_model", "d_k", "d_v"), widths, strict=True))
    sizes = {"vocabulary_size": words, "marker_id": marker_id} | widths
    return Case({"ids": with_marker(words, mask, position, seed, marker_id), "mask": mask}, sizes, scale)


class NotAQueryOfEachText(Wrong):
    """`ask(ids, x)` returns {own}. It should return one query for each text, (batch, d_k): here {right}."""


def asks_for_one_query(answer):
    """What is wrong with `ask` alone shows in `forward` only as an error in a line that is right."""
    net = outcome(answer, 12, 5, 6, 3, 4)
    if not isinstance(net, nn.Module) or not hasattr(net, "ask"):
        return
    ids = with_marker(12, real_tokens([5, 3]), [2, 1], 7, 5)
    queries = outcome(net.eval().ask, ids, torch.ones(2, 5, 6))  # type: ignore[arg-type]
    if queries is None or isinstance(queries, torch.Tensor) and queries.shape != (2, 3):
        raise NotAQueryOfEachText(own="None" if queries is None else f"the shape {tuple(queries.shape)}", right=(2, 3))


class AskNotCalled(Wrong):
    """The results are right, but `forward` does not take its queries, (batch, d_k), from `self.ask(ids, x)`: with
    another `ask` in its place, the weights stay the same.
    """


def asks_once(answer):
    """Only the marker's row is computed, and its query comes from `ask`, which the lab replaces."""
    goes_on("`MarkerQueryClassifier(size, marker, positions=False)`", partial(answer, 12, 5, positions=False))
    net, mask = answer(12, 5, 6, 3, 4).eval(), real_tokens([40, 8])
    inputs = {"ids": with_marker(12, mask, [2, 6], 7, 5), "mask": mask}
    refuse_all_rows(net, inputs, 2 * len(mask) * 40 * 40 * 3)
    before = net(*inputs.values())[1]
    net.ask = lambda ids, x: x.new_zeros(2, 3)
    if torch.allclose(net(*inputs.values())[1], before, atol=1e-5):
        raise AskNotCalled


marked_classifier = Check(
    reference=classify,
    solution=MarkerQueryClassifier,
    parts=("marker_id", "embedding", "attention", "output"),
    cases=[
        marked_texts(12, (6, 3, 4), real_tokens([5, 3, 2]), [4, 0, 1]),
        marked_texts(12, (6, 3, 4), real_tokens([2, 5, 4]), [1, 2, 3], seed=1),
        marked_texts(9, (4, 7, 2), real_tokens([6, 6]), [3, 5], seed=10, marker_id=5),
        marked_texts(15, (5, 2, 3), real_tokens([4, 2, 3, 1], padding_first=True), [1, 2, 2, 3], seed=20),
        marked_texts(12, (6, 3, 4), real_tokens([3, 5])[:1], [2], seed=30),
        marked_texts(12, (6, 3, 4), real_tokens([5]), [1], seed=31),
        marked_texts(9, (4, 2, 3), real_tokens([1, 1]), [0, 0], seed=40, marker_id=4),
        # In one of these the marker's score is far below zero, and so below a careless fill for padding.
        *(marked_texts(30, (d_model, 2, 3), real_tokens([1, 3]), [0, 2], scale=30.0) for d_model in (3, 4, 5, 6)),
    ],
    mistakes=[changed(classify, row=mistake) for mistake in ROW_MISTAKES],
    section=OWN_QUERY,
    first_look=asks_for_one_query,
    last_look=asks_once,
    imports=("torch._dynamo",),  # which counting operations imports
)


# --- marker_query --------------------------------------------------------------------------------------------------


def output_at(x, mask, position, W_query, W_key, W_value, row=row):
    """The right way, or with another row."""
    matrices = {"W_query": W_query, "W_key": W_key, "W_value": W_value}
    projections = {name: matrix.__rmatmul__ for name, matrix in matrices.items()}
    return row(x=x, is_marker=nn.functional.one_hot(position, x.shape[1]).bool(), mask=mask, **projections)[0]


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
    reference=output_at,
    cases=[
        marked_features(real_tokens([5, 3, 2]), [4, 0, 1], 6, 3, 4),
        marked_features(real_tokens([6, 6]), [3, 5], 4, 7, 2, seed=10),
        marked_features(real_tokens([4, 2, 3, 1], padding_first=True), [1, 2, 2, 3], 5, 2, 3, seed=20),
        marked_features(real_tokens([4, 3, 2, 4]), [1, 2, 0, 3], 4, 4, 4, seed=30),
        marked_features(real_tokens([3, 5])[:1], [2], 6, 3, 4, seed=60),
        marked_features(real_tokens([5]), [1], 6, 3, 4, seed=61),
        marked_features(real_tokens([1, 1]), [0, 0], 3, 2, 2, seed=40),
        marked_features(real_tokens([1, 1, 1, 2] * 4 + [3]), [0] * 17, 5, 2, 2, seed=50, scale=300.0),
    ],
    mistakes=[changed(output_at, row=mistake) for mistake in ROW_MISTAKES],
    section=OWN_QUERY,
    last_look=reads_one_row,
    imports=("torch._dynamo",),
)


# --- gains_by_position ---------------------------------------------------------------------------------------------


def accuracies(train, seeds):
    """For each kind both rows of accuracies: its own, and those of the baseline."""
    return {
        kind: torch.tensor([[train(*one, seed) for seed in seeds] for one in (kind, (False, False))])
        for kind in ((True, True), (True, False), (False, True))
    }


def known_accuracy(query_position, key_position, seed):
    return trials.synthetic_accuracy(query_position, key_position, seed)


gains = trials.finished(accuracies, first_minus_second)


def query_and_key_exchanged(train, seeds):
    """Positions in the query and in the key are swapped, in the call of `train` or in the keys of the dict."""
    return gains(train=lambda query, key, seed: train(key, query, seed), seeds=seeds)


gains_by_position = Check(
    reference=gains,
    cases=[
        Case({"train": known_accuracy, "seeds": seeds})
        for seeds in ([0, 1, 2], [3, 1, 4, 15, 9], [2, 7])
    ],
    mistakes=[
        query_and_key_exchanged, *trials.seed_mistakes(gains),
        *paired_mistakes(accuracies),
    ],
    section="A question from the text, “Exercise 3 (experiment): who needs positions?”",
)  # fmt: skip
