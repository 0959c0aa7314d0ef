"""What labs 12 and 13 claim about a published model, with more seeds and controls than the lab has room for.

    python -m experiments.claims.lab_12 bites       # one part; without its name all that are missing

Each part writes its figures into lab_12.json beside this file, `frozen` into shared/frozen_features.json, which lab 11
reads.
"""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from experiments import grid, record
from experiments.claims import run_lab
from shared import data, model, published_model, training
from shared.training import mean_and_interval

MADE = Path(__file__).with_suffix(".json")


def rounded(value):
    """Figures to five digits, in whatever they lie."""
    if isinstance(value, dict):
        return {str(key): rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{float(value):.5g}")


# --- who bites: is the role of a noun in its features? --------------------------------------------------------------

NOUNS = """dog man cat woman horse boy girl wolf king queen teacher doctor farmer soldier bear lion nurse tiger driver
singer monkey goat thief priest""".split()
VERBS = """bitten chased kicked helped hit followed called pushed feared loved watched heard seen drawn chosen
eaten""".split()


def probe():
    """A logistic regression on features of unit variance."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=2000))


def bites() -> dict:
    """A linear probe for "this noun is the one who does it", on nouns and verbs that it has not seen.

    Half of the sentences are active and half passive, either noun is asked, and the nouns stand at the same places:
    neither the place alone nor the voice alone tells the role, so a probe on features that hold only these is at .5.
    """
    names = run_lab(12, "def asked_nouns")
    right, unbalanced, means = [], [], []
    for seed in range(10):
        random = np.random.default_rng(seed)
        nouns, verbs = random.permutation(NOUNS), random.permutation(VERBS)
        train, train_does = names["asked_nouns"](nouns[:16], verbs[:12], 200, random)
        test, test_does = names["asked_nouns"](nouns[16:], verbs[12:], 100, random)
        right.append([probe().fit(a, train_does).score(b, test_does) for a, b in zip(train, test, strict=True)])
        # Active sentences alone: the place tells the role, and a probe needs nothing else.
        unbalanced.append(probe().fit(train[0, ::2], train_does[::2]).score(test[0, ::2], test_does[::2]))
    # The mean over the pieces: for two nouns, which of them does it? Verbs unseen, orders and voices in balance.
    for seed in range(10):
        one, other = np.random.default_rng(100 + seed).choice(NOUNS, 2, replace=False)
        texts = []  # `one` does it in the first and the last of four
        for verb in VERBS:
            for a, b in ((one, other), (other, one)):
                texts += [f"The {a} has just {verb} the {b}.", f"The {a} was {verb} by the {b}."]
        vectors = names["all_states"](*texts)[-1].mean(dim=1).numpy()  # (texts, dim)
        does, of_verb = np.arange(len(texts)) % 4 % 3 == 0, np.arange(len(texts)) // 4
        means.append(cross_val_score(probe(), vectors, does, cv=PredefinedSplit(of_verb % 4)).mean())
    return {
        "seeds": 10,
        "right on unseen nouns and verbs, before layer 0 and after each layer": [
            mean_and_interval(each) for each in np.transpose(right)
        ],
        "active sentences alone, before layer 0": np.mean(unbalanced),
        "mean over the pieces, which of two known nouns, unseen verbs": mean_and_interval(means),
    }


# --- heads found: share and argmax, marks in and apart --------------------------------------------------------------


def search() -> dict:
    """Each find on fresh sentences, by the yardstick it was found with and by two others."""
    names = run_lab(12, "def of_texts")
    aims = dict(names["aims"])
    aims["itself"] = lambda ids: torch.eye(len(ids), dtype=torch.bool)
    aims["same piece, here or elsewhere"] = lambda ids: ids[None, :] == ids[:, None]
    out = {}
    for name, aim in aims.items():
        searched, fresh = (names["shares"](names[texts], aim) for texts in ("searched", "fresh"))  # (layers, heads)
        for head in names["best"](searched, 2):
            share, even, most, apart = names["of_texts"](names["fresh"], aim, head).T  # (texts,) each
            out[f"{name} {head}"] = {
                "texts": len(share),
                "share where it was found": searched[head],
                "share on fresh texts": mean_and_interval(share),
                "evenly spread attention would give": even.mean(),
                "rank on fresh texts": int((fresh > fresh[head]).sum()) + 1,
                "looks most there": mean_and_interval(most),
                "looks most there, marks apart": mean_and_interval(apart),
            }
        best = names["best"](fresh, 1)[0]
        out[f"{name}: best on fresh texts"] = [*best, fresh[best]]
    return out


# --- heads switched off: alone, in groups, by zero and by their mean ------------------------------------------------


def ablation() -> dict:
    """Both yardsticks (how far cosines move, the lead on the examination) for single heads and for groups."""
    # Every layer is computed again in each examination, which the lab spares those before the first silent head.
    names = run_lab(13, "whole = examine()", {"default=num_layers)": "default=0)"})
    encoder, heads = names["model"], [(layer, head) for layer in range(6) for head in range(12)]
    whole, lead = names["examine"](), lambda cosines: (cosines[:, 0] - cosines[:, 1]).numpy()

    # What each head brings back on average, over the pieces of 200 other sentences.
    sums, count = [torch.zeros(384) for _ in encoder.layers], 0

    def add_up(module, inputs, of_layer):  # returns nothing, so the layer goes on as it would
        of_layer += inputs[0].sum(dim=(0, 1))

    hooks = [
        layer.attention.W_output.register_forward_pre_hook(partial(add_up, of_layer=of_layer))
        for layer, of_layer in zip(encoder.layers, sums, strict=True)
    ]
    for text in run_lab(12, "fresh = with_maps")["openings"]:
        count += len(names["published"].read(text)[0])
    for hook in hooks:
        hook.remove()
    means = [each / count for each in sums]

    def examine(heads_off, fill):
        hooks = []
        for layer, head in heads_off:

            def fill_in(module, inputs, layer=layer, head=head):
                joined = inputs[0].unflatten(2, (12, -1)).clone()
                joined[:, :, head] = means[layer].view(12, -1)[head] if fill == "mean" else 0
                return joined.flatten(2)

            hooks.append(encoder.layers[layer].attention.W_output.register_forward_pre_hook(fill_in))
        cosines = names["examine"]()
        for hook in hooks:
            hook.remove()
        return cosines

    out = {"whole: lead": mean_and_interval(lead(whole)), "half an interval of the lead, median head": 0}
    for fill in ("zero", "mean"):
        alone = {head: examine([head], fill) - whole for head in heads}  # (quartets, 3) each
        moved = {head: alone[head].abs().mean().item() for head in heads}
        changes = {head: lead(whole + alone[head]) - lead(whole) for head in heads}
        p = np.array([stats.ttest_1samp(changes[head], 0).pvalue for head in heads])
        ranked = np.sort(p) * np.arange(len(p), 0, -1)  # Holm: the smallest times 72, the next times 71, ...
        order = sorted(heads, key=moved.get)
        each = {
            "p below .05": (p < 0.05).sum(),
            "smallest p": p.min(),
            "heads left by Holm": int((np.maximum.accumulate(ranked) < 0.05).sum()),
            "moves cosines most": [[*head, moved[head]] for head in order[:-6:-1]],
            "moves cosines least": [[*head, moved[head]] for head in order[:5]],
        }
        halves = [mean_and_interval(change)[1] for change in changes.values()]
        out["half an interval of the lead, median head"] = np.median(halves)
        random = np.random.default_rng(0)
        groups = {"36 least": [order[:36]], "36 most": [order[36:]], "72": [order]}
        for size in (2, 6, 12, 36):
            drawn = [random.permutation(72)[:size] for _ in range(20)]
            groups[f"{size} at random, 20 draws"] = [[heads[place] for place in places] for places in drawn]
        for name, draws in groups.items():
            joint = [(examine(group, fill) - whole).numpy() for group in draws]
            added = [sum(alone[head] for head in group).numpy() for group in draws]
            leads = [mean_and_interval(lead(torch.from_numpy(each_) + whole) - lead(whole)) for each_ in joint]
            each[name] = {
                "cosines move": np.mean([np.abs(j).mean() for j in joint]),
                "sum of the single moves, signs kept": np.mean([np.abs(a).mean() for a in added]),
                "correlation of both": np.mean(
                    [np.corrcoef(j.ravel(), a.ravel())[0, 1] for j, a in zip(joint, added, strict=True)]
                ),
                "change of the lead": np.mean([mean for mean, _ in leads]),
                "half its interval": np.mean([half for _, half in leads]),
                "rank correlation with the grades": np.mean(
                    [names["rank_correlation"](whole + torch.from_numpy(j)) for j in joint]
                ),
            }
        out[fill] = each
    return out


# --- frozen features and own words at equal data, both tasks --------------------------------------------------------

KEPT = record.ROOT / "_build/claims_lab_12_frozen.json"  # a line a run, so that a stopped run goes on
WAYS = [  # task, classifier, training reviews; lab 13 trains the other classifiers itself
    ("front", "attention", 860),
    ("marked", "mark's row", 1720),
    ("marked", "attention", 1720),
    ("front", "attention", 1720),
]


class FrozenFeatures(nn.Module):
    """The lab's, with two learned vectors more: for `<SEP>` and `<MARK>`, the last two ids."""

    def __init__(self, table, dim=16, dropout=0.3):
        super().__init__()
        self.register_buffer("table", table, persistent=False)
        self.narrow, self.marks = nn.Linear(table.shape[1], dim), nn.Embedding(2, dim)
        nn.init.normal_(self.marks.weight, std=0.1)
        self.register_buffer("positions", model.sinusoidal_positions(1024, dim), persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        mark = ids - len(self.table)  # (batch, pieces), 0 and 1 for <SEP> and <MARK>
        features = self.narrow(self.table[ids.clamp(max=len(self.table) - 1)].float())  # (batch, pieces, dim)
        features = torch.where(mark[:, :, None] < 0, features, self.marks(mark.clamp(min=0)))
        return self.dropout(features + self.positions[: ids.shape[1]])


def one_run(task, name, parts, marks, table, seed) -> dict:
    """Train one classifier with the lab's recipe, on frozen features (`table`) or own words (None); its figures."""
    plain, distracted = grid.example_makers(task, *marks)

    def both(part, seed):
        return plain(parts[part], seed) + distracted(parts[part], seed)

    torch.manual_seed(seed)
    words = len(parts["train"].words) if table is None else 2
    net = grid.MODELS["attention pooling" if name == "attention" else name](words, marks[1])
    if table is not None:
        net.features = FrozenFeatures(table)
    training.fit(
        net,
        lambda epoch: both("train", 1000 * (seed + 1) + epoch),
        both("validation", 1),
        training.Recipe(epochs=6, learning_rate=0.005, batch_size=32),
        seed,
    )
    right, opposite, share, swapped = [], [], [], []
    for draw in range(50, 53):
        examples = distracted(parts["test"], draw)
        result = training.evaluate(net, examples)
        good = (result.logits > 0) == result.labels
        differ = examples.reviews.labels[examples.distractor] != examples.labels
        right.append(good.mean())
        opposite.append(good[differ].mean())
        share.append(result.share_on_labelled)
        other_order = replace(examples, distractor_first=~examples.distractor_first)
        swapped.append(training.evaluate(net, other_order).share_on_labelled)
    found = {
        "plain": training.evaluate(net, plain(parts["test"], 0)).accuracy,
        "distracted": np.mean(right),
        "opposite labels": np.mean(opposite),
        "share on labelled": np.mean(share),
        "share on labelled, halves swapped": np.mean(swapped),
    }
    return rounded(found)


def frozen() -> dict:
    """The same reviews of at most 100 words, read by the frozen model or learned from scratch; five seeds."""
    published, reviews = published_model.load(), data.load_reviews()
    random, chosen = np.random.default_rng(0), {}
    for part, size in {"train": 1720, "validation": 210, "test": None}.items():
        split = getattr(reviews, part)
        rows = random.permutation(np.flatnonzero(split.lengths <= 100))[:size]
        chosen[part] = data.tokenized([split.texts[row] for row in rows], split.labels[rows])
    features, offsets = published.frozen_features(
        [text for part in chosen.values() for text in part.texts], record.ROOT / "_build/features"
    )
    bounds = np.cumsum([0, *(len(split) for split in chosen.values())])
    features = torch.from_numpy(features)
    pieces = features[1 : 1 + offsets[bounds[1]]].float()  # those of the training reviews
    directions = torch.linalg.eigh((pieces - pieces.mean(dim=0)).T @ (pieces - pieces.mean(dim=0))).eigenvectors
    tables = {"all 384": features, "64 components": features.float() @ directions[:, -64:]}
    size = len(features) + 2

    def reviews_of(part, first, last):
        ids = np.arange(offsets[first], offsets[last], dtype=np.int32) + 1
        labels = chosen[part].labels[: last - first]
        return data.Split(ids, offsets[first : last + 1] - offsets[first], labels, range(size))

    KEPT.parent.mkdir(exist_ok=True)
    for task, name, number in WAYS:
        for words in ("own words", "64 components", *(["all 384"] if number == 860 else [])):
            if words == "own words":
                train = data.tokenized(chosen["train"].texts[:number], chosen["train"].labels[:number])
                vocabulary = data.build_vocabulary(train, special=(data.SEPARATOR, data.MARK))
                splits = chosen | {"train": train}
                parts = {part: data.encode(split, vocabulary, drop_unknown=True) for part, split in splits.items()}
                marks, table = (vocabulary.id(data.SEPARATOR), vocabulary.id(data.MARK)), None
            else:
                ends = {"train": (0, number), "validation": bounds[1:3], "test": bounds[2:4]}
                parts = {part: reviews_of(part, *end) for part, end in ends.items()}
                marks, table = (size - 2, size - 1), tables[words]
            for seed in range(5):
                run = partial(one_run, task, name, parts, marks, table, seed)
                record.once(KEPT, f"{task}, {name}, {number}, {words}, seed {seed}", run)
    kept, out = record.read(KEPT), {}
    for key in dict.fromkeys(key.rsplit(", ", 1)[0] for key in kept):
        runs = [kept[f"{key}, seed {seed}"] for seed in range(5)]
        out[key] = {what: mean_and_interval([run[what] for run in runs]) for what in runs[0]}
        own = key.rsplit(", ", 1)[0] + ", own words"
        if own != key:
            for what in ("plain", "distracted"):
                gaps = [run[what] - kept[f"{own}, seed {seed}"][what] for seed, run in enumerate(runs)]
                out[key][f"{what}, more than own words"] = mean_and_interval(gaps)
    return out


PARTS = {part.__name__: part for part in (bites, search, ablation, frozen)}
FILES = dict.fromkeys(PARTS, MADE) | {"frozen": record.ROOT / "shared/frozen_features.json"}

if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - PARTS.keys():
        sys.exit(f"{', '.join(sorted(unknown))} cannot be made; choose among {', '.join(PARTS)}.")
    for part in sys.argv[1:] or PARTS:
        record.once(FILES[part], part, lambda part=part: rounded(PARTS[part]()))
