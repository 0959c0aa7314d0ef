"""The checks of lab 5: a classifier that asks from its mark, one row read wrongly, and who has to know places."""

import math

import torch
from torch import Tensor, nn

from .. import training
from ..model import SelfAttention, TokenFeatures, masked_softmax, weighted_sum
from .attention import AXES, COUNTED, PADDING, ROOT, TWO_MODELS, attention_by_pytorch, real_tokens, scaling, weighing
from .exercise import Case, Exercise, draw, drawn
from .experiment import asked, by_sums, known_run, over_seeds
from .lab_04 import VALUES
from .mistakes import Wrong, edits
from .run import Raised, multiplications

OWN_QUERY = "Lab 5, “The mark's own query”"
ALL_COST = "Lab 4, “What it costs”"


# --- 5.1 ---
class MarkedSelfAttentionClassifier(nn.Module):
    """Self-attention read at one row, the one of the mark."""

    def __init__(self, vocabulary_size, mark_id, dim=16, key_dim=8, value_dim=16, **features):
        super().__init__()
        self.mark_id = mark_id
        self.features = TokenFeatures(vocabulary_size, dim, **features)
        self.attention = SelfAttention(dim, key_dim, value_dim)
        self.output = nn.Linear(value_dim, 1)

    def ask(self, ids, features):
        """The query of each text, (batch, key_dim)."""
        marked = weighted_sum((ids == self.mark_id).to(features), features)  # (batch, dim), the mark's features
        return self.attention.W_query(marked)  # (batch, key_dim)

    def forward(self, ids, mask):
        """A logit for each text, (batch,), and its weights, (batch, tokens)."""
        features = self.features(ids)  # (batch, tokens, dim)
        queries = self.ask(ids, features).unsqueeze(2)  # (batch, key_dim, 1)
        keys = self.attention.W_key(features)  # (batch, tokens, key_dim)
        scores = (keys @ queries).squeeze(2) / math.sqrt(keys.shape[2])  # (batch, tokens)
        weights = masked_softmax(scores, mask)  # (batch, tokens)
        pooled = weighted_sum(weights, self.attention.W_value(features))  # (batch, value_dim)
        return self.output(pooled).squeeze(1), weights


def logits_by_pytorch(ids, mask, features, attention, output):
    """The whole layer by PyTorch, and of it the row of the mark, 3."""
    known = features(ids)
    rows, weights = attention_by_pytorch(known, mask, attention.W_query, attention.W_key, attention.W_value)
    place = [text.tolist().index(3) for text in ids]
    rows, weights = (torch.stack([one[at] for one, at in zip(all_, place, strict=True)]) for all_ in (rows, weights))
    return output(rows)[:, 0], weights


def marked_ids(sizes: tuple, seed: int, mask: Tensor, place: list[int], stretched: float = 1.0) -> Case:
    """Texts of words 4 and up, each with its mark, 3, at its place."""
    ids = torch.randint(4, sizes[0], mask.shape, generator=torch.Generator().manual_seed(seed)) * mask
    ids[torch.arange(len(place)), place] = 3
    return Case({"ids": ids, "mask": mask}, sizes, stretched)


def asks_once(answer, run):
    """Another `ask` changes the answers, and no query but the mark's is made."""
    tokens, key_dim = 40, 3
    case = marked_ids((12, 3, 6, key_dim, 4), 7, real_tokens([tokens, 8]), [2, 6])
    made = run(answer, *case.sizes).eval()
    if multiplications(made, list(case.inputs.values()), run) > 2 * tokens * tokens * key_dim:
        raise Wrong("all rows computed", see=ALL_COST)
    made.ask = lambda ids, features: torch.zeros(len(ids), key_dim).to(features)
    given = run(lambda: made(*case.inputs.values())[1])
    alike = case.inputs["mask"] / case.inputs["mask"].sum(dim=1, keepdim=True)
    if isinstance(given, Raised) or not torch.allclose(given, alike.to(given), atol=1e-5):
        raise Wrong("the query is not asked for")


MARKED = "weighted_sum((ids == self.mark_id).to(features), features)"
VALUES_OF = "self.attention.W_value(features)"
SECTIONS = {"HIDE": TWO_MODELS, "MASK": PADDING, "SOFTMAX": OWN_QUERY}
WEIGHING = weighing("masked_softmax(scores, mask)", "scores", "mask", 1, SECTIONS)

marked_classifier = Exercise(
    MarkedSelfAttentionClassifier,
    name="marked_classifier",
    cases=[
        marked_ids((12, 3, 6, 3, 4), 0, real_tokens([5, 3, 2]), [4, 0, 1]),
        marked_ids((9, 3, 4, 7, 2), 10, real_tokens([6, 6]), [3, 5]),
        marked_ids((15, 3, 5, 2, 3), 20, real_tokens([4, 2, 3, 1], padding_first=True), [1, 2, 2, 3]),
        marked_ids((9, 3, 4, 4, 4), 30, real_tokens([4, 3, 2, 4]), [1, 2, 0, 3]),
        marked_ids((7, 3, 3, 2, 2), 40, real_tokens([1, 1]), [0, 0]),
        marked_ids((30, 3, 5, 2, 2), 50, real_tokens([1, 1, 1, 2] * 4 + [3]), [0] * 17, stretched=9.0),
    ],
    truth=logits_by_pytorch,
    parts=("features", "attention", "output"),
    also=asks_once,
    tried="six batches with the mark at its own place in each text, one with large scores, against the whole layer of "
    "PyTorch; no n x n matrix was formed, and another `ask` changed the answer",
    see=OWN_QUERY,
    mistakes=edits(f"""
        the first row read [ids]: {MARKED} => features[:, 0]
        the last row read [ids]: {MARKED} => features[:, -1]
        the mark's place forgotten: {MARKED} => self.features(torch.full_like(ids[:, :1], self.mark_id))[:, 0]
        the question of an average: {MARKED} => features.mean(dim=1)
        all but the mark ask: ids == self.mark_id => ids != self.mark_id
        one place for all texts: {MARKED} => features[:, int((ids[0] == self.mark_id).int().argmax())]
        all marks added up: {MARKED} => features[:, (ids == self.mark_id).int().argmax(dim=1)].sum(dim=1) ||
            features[:, (ids == self.mark_id).int().argmax(dim=1)].mean(dim=1)
        one question for all: {MARKED} => {MARKED}.mean(dim=0, keepdim=True).expand(len(ids), -1)
        the mark's own value: weighted_sum(weights, {VALUES_OF}) => self.attention.W_value({MARKED})
        one matrix for both: W_query(marked) => W_key(marked) || W_key(features) => W_query(features)
        the mark's column read: W_query(marked) => W_key(marked) && W_key(features) => W_query(features)
        the mark hidden from itself: masked_softmax(scores, mask) =>
            masked_softmax(scores, mask & (ids != self.mark_id))
        weights not used: weighted_sum(weights, self => weighted_sum(mask / mask.sum(dim=1, keepdim=True), self
        scores returned instead of weights: squeeze(1), weights => squeeze(1), scores
        results in the wrong order [classifier]: self.output(pooled).squeeze(1), weights =>
            weights, self.output(pooled).squeeze(1)
        squeeze without an axis: .squeeze(2) => .squeeze()
        {PADDING}
        the mask only counted: masked_softmax(scores, mask) => masked_softmax(scores, {COUNTED})
        {VALUES}
        one matrix for keys and values: self.attention.W_key(features) => self.attention.W_value(features)
        keys brought back: self.attention.W_value(features) => keys
    """)
    + scaling("keys.shape[2]", ROOT, "(keys @ queries).squeeze(2)", **AXES, values=f"{VALUES_OF}.shape[2]")
    + WEIGHING,
)


# --- 5.2 ---
def marks_row(features, mask, place, W_query, W_key, W_value):
    """The output at one place of each text, (batch, value_dim)."""
    marks = features[torch.arange(len(place)), place]  # (batch, dim)
    queries = marks @ W_query  # (batch, key_dim)
    keys = features @ W_key  # (batch, tokens, key_dim)
    scores = (keys @ queries.unsqueeze(2)).squeeze(2) / math.sqrt(keys.shape[2])  # (batch, tokens)
    weights = masked_softmax(scores, mask)  # (batch, tokens)
    return (weights.unsqueeze(2) * (features @ W_value)).sum(dim=1)  # (batch, value_dim)


def row_of_the_mark(features, mask, place, W_query, W_key, W_value):
    """The whole layer by PyTorch, then one row of it."""
    output, _ = attention_by_pytorch(features, mask, *(W.__rmatmul__ for W in (W_query, W_key, W_value)))
    return torch.stack([rows[at] for rows, at in zip(output, place.tolist(), strict=True)])


def marked(sizes: tuple, seed: int, mask: Tensor, place: list[int], scale: float = 1.0) -> Case:
    dim, key_dim, value_dim = sizes
    inputs = {"features": scale * draw(*mask.shape, dim, seed=seed), "mask": mask, "place": torch.tensor(place)}
    return Case(inputs | drawn(seed + 1, W_query=(dim, key_dim), W_key=(dim, key_dim), W_value=(dim, value_dim)))


def reads_one_row(answer, run):
    """All keys and values cost n d (k + d_v) multiplications a text, all scores and outputs n² (k + d_v) more."""
    tokens, dim, key_dim, value_dim = 40, 5, 3, 4
    case = marked((dim, key_dim, value_dim), 5, real_tokens([tokens, 8]), [2, 6])
    if multiplications(answer, list(case.inputs.values()), run) > 2 * tokens * tokens * key_dim:
        raise Wrong("all rows computed", see=ALL_COST)


MARKS, OUT = "features[torch.arange(len(place)), place]", "(weights.unsqueeze(2) * (features @ W_value)).sum(dim=1)"
ALL = (
    "queries, keys = features @ W_query, features @ W_key; "
    "weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1)); return"
)

marks_row = Exercise(
    marks_row,
    cases=[
        marked((6, 3, 4), 0, real_tokens([5, 3, 2]), [4, 0, 1]),
        marked((4, 7, 2), 10, real_tokens([6, 6]), [3, 5]),
        marked((5, 2, 3), 20, real_tokens([4, 2, 3, 1], padding_first=True), [1, 2, 2, 3]),
        marked((4, 4, 4), 30, real_tokens([4, 3, 2, 4]), [1, 2, 0, 3]),
        marked((3, 2, 2), 40, real_tokens([1, 1]), [0, 0]),
        marked((5, 2, 2), 50, real_tokens([1, 1, 1, 2] * 4 + [3]), [0] * 17, scale=30.0),
    ],
    truth=row_of_the_mark,
    also=reads_one_row,
    tried="six batches with the mark at its own place in each text, one with large scores, in double precision, "
    "against the whole layer of PyTorch; and no n x n matrix was formed",
    see=OWN_QUERY,
    mistakes=edits(f"""
        the fault is still there: {MARKS} =>
            (torch.zeros_like(mask).index_fill(1, place, True).unsqueeze(2) * features).sum(dim=1)
        the first row read: {MARKS} => features[:, 0]
        the last row read: {MARKS} => features[:, -1]
        one place for all texts: {MARKS} => features[:, place[0]]
        every place in every text: {MARKS} => features[:, place] ||
            => {ALL} (weights @ (features @ W_value))[:, place]
        all marks added up: {MARKS} => features[:, place].sum(dim=1) || features[:, place].mean(dim=1)
        a text taken for a place: {MARKS} => features[place, torch.arange(len(place))] || features[place]
        all rows averaged: => {ALL} (weights @ (features @ W_value)).mean(dim=1) ||
            => {ALL} (mask.unsqueeze(2) * (weights @ features @ W_value)).sum(dim=1) / mask.sum(dim=1)[:, None]
        the mark's column read: marks @ W_query => marks @ W_key && features @ W_key => features @ W_query
        the weights of the mark's column: => {ALL} (weights.mT @ features @ W_value)[torch.arange(len(place)), place]
        the mark's own value: {OUT} => marks @ W_value
        one matrix for both: marks @ W_query => marks @ W_key || features @ W_key => features @ W_query
        divided once too often: W_value)).sum(dim=1) => W_value)).mean(dim=1)
        summed over the batch: W_value)).sum(dim=1) => W_value)).sum(dim=0)
        summed over the features: W_value)).sum(dim=1) => W_value)).sum(dim=2)
        added in place of multiplied: weights.unsqueeze(2) * => weights.unsqueeze(2) +
        squeeze without an axis: .squeeze(2) => .squeeze()
        {PADDING}
        the mask only counted: masked_softmax(scores, mask) => masked_softmax(scores, {COUNTED})
        {VALUES}
        features brought back: (features @ W_value) => features
        keys brought back: (features @ W_value) => keys
        queries brought back: features @ W_value => features @ W_query
    """)
    + scaling("keys.shape[2]", ROOT, "(keys @ queries.unsqueeze(2)).squeeze(2)", **AXES, values="W_value.shape[1]")
    + WEIGHING,
)


# --- 5.3 ---
def gains_by_places(train, seeds):
    """For each kind but (False, False): the mean gain over that kind, and half the width of its 95% interval."""
    found = {}
    for query_place, key_place in ((True, True), (True, False), (False, True)):
        gains = [train(query_place, key_place, seed) - train(False, False, seed) for seed in seeds]
        found[query_place, key_place] = training.mean_and_interval(gains)
    return found


def planted(query_place, key_place, seed):
    return known_run(query_place, key_place, seed)


def gains_by_hand(train, seeds):
    kinds = ((True, True), (True, False), (False, True))
    return {kind: by_sums([train(*kind, seed) - train(False, False, seed) for seed in seeds]) for kind in kinds}


RUNS = "train(query_place, key_place, seed)", "train(False, False, seed)"
GAIN, ROWS = " - ".join(RUNS), [f"[{run} for seed in seeds]" for run in RUNS]

gains_by_places = Exercise(
    gains_by_places,
    cases=[Case({"train": planted, "seeds": seeds}) for seeds in ([0, 1, 2], [3, 1, 4, 15, 9], [2, 7])],
    truth=gains_by_hand,
    tried="two, three and five seeds of a training of which it is known what it gives, with luck that all kinds share",
    see="Lab 5, “Exercise 5.3 (experiment): who has to know places?”",
    mistakes=edits(f"""
        query and keys exchanged [places]: train(query_place, key_place, seed) => train(key_place, query_place, seed)
        another baseline: train(False, False, seed) => train(True, True, seed) || train(False, True, seed) ||
            train(True, False, seed)
        one seed for all: train(query_place, key_place, seed) - => train(query_place, key_place, seeds[0]) -
        the sign turned round [gain]: {GAIN} => train(False, False, seed) - train(query_place, key_place, seed)
        the best seed: training.mean_and_interval(gains) => (max(gains), training.mean_and_interval(gains)[1])
        numbers of earlier rounds kept: found = {{}} => found, gains = {{}}, [] && gains = [train => gains += [train
        always both: train(query_place, key_place, seed) => train(True, True, seed)
    """)
    + over_seeds(*RUNS)
    + asked("gains", ROWS, " [seeds]", call="training.mean_and_interval"),
)
