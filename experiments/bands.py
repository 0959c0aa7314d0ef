"""Measures how far the edge of each claim on trained figures lies from what ten seeds give, and writes bands.md.

The rule: a lab's assert or claim on something it trained has a band whose edge lies three standard deviations or
more from the mean of ten seeds; else another processor or another PyTorch turns it red one day. Where the lab takes
the mean of n runs, the deviation of that mean counts: the seeds' deviation by the square root of n. What a lab proves
needs no band (lab 8: no single head comes below a bound).

    python -m experiments.bands 04      train what lab 4 claims something about from ten seeds; into bands.json
    python -m experiments.bands         write bands.md from bands.json

What a lab trains is its own code: its cells run one after the other, with more seeds and without their asserts.
"""

import platform
import sys
from datetime import date
from pathlib import Path

import numpy as np
import torch

from experiments import record, report
from experiments.claims import run_lab

MEASURED = Path(__file__).with_suffix(".json")
SEEDS = 10

# For each lab: its words for its seeds, and ours; the words in the last cell to run; what ten seeds need besides.
MORE_SEEDS = {
    "01": ("seeds = (0, 1, 2)", "seeds = range(10)"),
    "02": ("for seed in (0, 1, 2)", "for seed in range(10)"),
    "04": ("SEEDS = (0, 1)", "SEEDS = tuple(range(10))"),
    "05": ("SEEDS = (0, 1)", "SEEDS = tuple(range(10))"),
    "13": ("batch_size=32), range(5)", "batch_size=32), range(10)"),
    "14": ("seeds = (0, 1, 2)", "seeds = range(10)"),
}
LAST = {
    "01": "abs(np.mean(share[",
    "02": "abs(np.mean(gaps[",
    "03": "0.82 < result",
    "04": "cured = [",
    "05": "on_both = {",
    "11": "min(gains) > 0.04",
    "12": "probes = np.array",
    "13": "attention_over_mean.mean() > 0.02",
    "14": "repeating_model = train_repeating",
    "15": "def claim(",
}
BESIDES = {
    "01": """
exchanged = replace(distracted, distractor_first=np.zeros(len(distracted), dtype=bool))
both = [[training.evaluate(net, examples).logits for examples in (distracted, exchanged)] for net, _ in attention_runs]
plain_of_attention, plain_of_mean = (results[name]["plain"] for name in ("attention pooling", "mean pooling"))
""",
    "03": """
runs = []
for seed in range(10):
    figures_of_seed = []
    for make in (AttentionPooling, SelfAttentionClassifier):
        torch.manual_seed(seed)
        net = make(len(data.vocabulary))
        fit(net, lambda epoch: examples_with_distractors(data.train, seed=1000 * (seed + 1) + epoch), validation,
            recipe, seed)
        each = {kind: evaluate(net, examples) for kind, examples in kinds.items()}
        figures_of_seed.append([each["plain"].accuracy, each["distracted"].accuracy,
                                each["distracted"].share_on_labelled])
    net.eval()
    examples = kinds["distracted"]
    batch = make_batch(examples, np.argsort(examples.lengths, kind="stable")[:200])
    part = batch.mask / batch.mask.sum(dim=1, keepdim=True)
    with torch.no_grad():
        rows = net.attention(net.features(batch.ids), batch.mask)[1]
    average = (part.unsqueeze(2) * rows).sum(dim=1, keepdim=True)
    moved = (((rows - average).abs().sum(dim=2) / 2 * part).sum(dim=1).mean().item())
    runs.append([*figures_of_seed[0], *figures_of_seed[1], moved])
runs = np.array(runs)  # (seeds, 7)
""",
    "04": """
moves = []
for seed in SEEDS:
    net = trained["self-attention"][seed].eval()
    maps = [attention_of(net, example) for example in range(100)]
    moves.append(np.mean([0.5 * (rows - mean).abs().sum(dim=1).mean().item() for _, rows, mean, _ in maps]))
one = "attention pooling"
front = {name: both[:, 1] for name, both in accuracy.items()}
""",
    "05": """
row, one, constant = "mark's row", "attention pooling", "mark's row, constant query"
turns = {name: [np.subtract(*share_on_first(net)) for net in marked_models[name]] for name in (row, one)}
ratios = {name: [change_of_ratios(net) for net in marked_models[name]] for name in (row, one, constant)}
on_opposite = {name: every[..., opposite].mean(axis=(1, 2)) for name, every in right_answers.items()}
""",
    "11": """
every = {line: np.array([live(*makers, seed=seed)[1] for seed in range(10)]) for line, makers in four.items()}
in_front = every["front", "attention pooling"] - every["front", "mean pooling"]
marked = every["marked", "mark's row"] - every["marked", "attention pooling"]
""",
    "12": """
roles = np.array([role_probe(seed) for seed in range(10)])  # (seeds, layers + 1)
""",
    "13": """
taus, flipped_share = [], []
for seed in seeds:
    pooling = runs["frozen, attention pooling"][seed][0].eval()
    random = np.random.default_rng(0)
    agreement, flips = [], []
    with torch.no_grad():
        for batch in course_data.batches(distracted, batch_size=1):
            weights = pooling(batch.ids, batch.mask)[1][0]
            says = pooling.output(pooling.features(batch.ids))[0, :, 0]
            answer = weights @ says
            effect = (((answer - weights * says) / (1 - weights)).sigmoid() - answer.sigmoid()).abs()
            agreement.append(stats.kendalltau(weights, effect).statistic)
            others = torch.stack([weights[random.permutation(len(weights))] for _ in range(20)]) @ says
            flips.append(((others > 0) != (answer > 0)).float().mean().item())
    taus.append(np.mean(agreement))
    flipped_share.append(np.mean(flips))
of_weights, of_halves = (gains[f"distracted, {what}"] for what in ("attention's weights", "its halves only"))
""",
    "14": """
heads = np.array([two_heads(models[2, seed]) for seed in seeds])  # (seeds, 2)
follow = np.array([what_followed_by_layer(models[2, seed], test_ids) for seed in seeds])  # (seeds, layers)
repeating, period = draw_repeating(300, torch.Generator().manual_seed(9))
again = np.array([what_followed_by_layer(train_repeating(seed), repeating) for seed in range(10)])
blind = [silenced(models[2, seed], 0) for seed in seeds]
""",
    "15": """
at_256 = {
    way: np.array([right_on_opposite(train_reader(way, seed), test[256]).mean() for seed in range(10)])
    for way in ("two slopes", "rotary")
}
""",
}

# For each lab: what is claimed, what gives it for each seed, over how many runs the lab takes the mean, the band.
CLAIMS = {
    "01": [
        ("training loss falls", "[h[0]['train_loss'] - h[-1]['train_loss'] for _, h in mean_runs]", 1, 0, np.inf),
        ("the same, attention", "[h[0]['train_loss'] - h[-1]['train_loss'] for _, h in attention_runs]", 1, 0, np.inf),
        ("attention minus mean, distracted", "gains", 3, 0.08, np.inf),
        ("mean pooling, distracted", "results['mean pooling']['distracted']", 3, 0.66, 0.78),
        ("attention pooling, distracted", "results['attention pooling']['distracted']", 3, 0.78, 0.90),
        ("attention minus mean, plain", "np.subtract(plain_of_attention, plain_of_mean)", 3, -0.05, 0.05),
        ("attention minus TF-IDF, plain", "plain_of_attention - np.array(yardstick_accuracy['plain'])", 3, -0.05, 0.05),
        ("share of weights, mean pooling", "share['mean pooling']", 3, 0.48, 0.52),
        ("share of weights, attention pooling", "share['attention pooling']", 3, 0.70, 0.90),
        ("an output moves when the reviews change places", "[abs(b - a).max() for a, b in both]", 1, 0.1, np.inf),
    ],
    "02": [
        ("single map, all test reviews", "accuracy['single map']", 1, 0.79, 0.92),
        ("k = 16 minus single map", "gaps['k = 16']", 3, -0.03, 0.03),
    ],
    "03": [
        ("attention pooling, plain", "runs[:, 0]", 1, 0.82, 0.92),
        ("attention pooling, distracted", "runs[:, 1]", 1, 0.75, 0.90),
        ("attention pooling, share on the labelled half", "runs[:, 2]", 1, 0.65, 0.94),
        ("self-attention, plain", "runs[:, 3]", 1, 0.82, 0.92),
        ("self-attention, distracted", "runs[:, 4]", 1, 0.75, 0.90),
        ("self-attention, share on the labelled half", "runs[:, 5]", 1, 0.65, 0.94),
        ("self-attention minus attention pooling", "runs[:, 4] - runs[:, 1]", 1, -0.07, 0.07),
        ("weight that would have to move", "runs[:, 6]", 1, 0.05, 0.5),
    ],
    "04": [
        ("attention minus mean, distracted", "front[one] - mean_pooling", 2, 0.06, np.inf),
        ("self-attention minus attention pooling", "front['self-attention'] - front[one]", 2, -0.07, 0.07),
        ("attention that a token would move", "moves", 1, -np.inf, 0.4),
        ("what an opposite label in front costs", "gap", 2, 0.08, np.inf),
        ("what comes back without its words", "cured", 2, 0.03, np.inf),
    ],
    "05": [
        ("gain of the mark's row, every seed", "gain[row]", 1, 0.04, np.inf),
        ("gain, constant query", "gain[constant]", 2, -0.04, 0.04),
        ("gain, no positions", "gain[row + ', no positions']", 2, -0.04, 0.04),
        ("attention pooling, opposite labels", "on_opposite[one]", 2, -np.inf, 0.6),
        ("the mark's row, opposite labels", "on_opposite[row]", 2, 0.6, np.inf),
        ("attention pooling turns", "turns[one]", 2, -0.1, 0.1),
        ("the mark's row turns", "turns[row]", 2, 0.2, np.inf),
        ("ratios of the mark's row", "ratios[row]", 1, 1, np.inf),
        ("ratios of attention pooling", "ratios[one]", 1, -np.inf, 1e-4),
        ("ratios of the constant query", "ratios[constant]", 1, -np.inf, 1e-4),
        ("attention pooling changes its answer", "changes[one]", 2, -np.inf, 0.15),
        ("the mark's row changes its answer", "changes[row]", 2, 0.25, np.inf),
        ("the mark's row, right on both kinds", "on_both[row]", 1, 0.2, np.inf),
    ],
    "11": [
        ("live: attention minus mean pooling", "in_front", 1, 0.04, np.inf),
        ("live: mark's row minus attention pooling", "marked", 1, 0.04, np.inf),
    ],
    "12": [
        ("role of a noun, before the layers", "roles[:, 0]", 3, 0.4, 0.6),
        ("role of a noun, after layer 2", "roles[:, 3]", 3, 0.8, np.inf),
        ("role of a noun, after the last layer", "roles[:, -1]", 3, 0.55, np.inf),
        ("role of a noun, layer 2 minus the last", "roles[:, 3] - roles[:, -1]", 3, 0, np.inf),
    ],
    "13": [
        ("frozen: attention minus mean", "attention_over_mean", 5, 0.02, np.inf),
        ("plain: frozen minus own words", "plain_gain", 5, 0.02, np.inf),
        ("distracted: frozen minus own words", "frozen_over_own", 5, -0.1, 0.1),
        ("weight and effect of removal", "taus", 1, 0.05, 0.8),
        ("verdicts that a shuffle turns", "flipped_share", 1, 0.02, 0.5),
        ("gain of words without context", "of_weights", 5, 0.01, np.inf),
        ("the same by halves, minus it", "np.subtract(of_halves, of_weights)", 5, -0.03, np.inf),
    ],
    "14": [
        ("one layer, never seen", "[curves[1, seed][-1] for seed in seeds]", 1, -np.inf, 0.3),
        ("two layers, never seen", "[curves[2, seed][-1] for seed in seeds]", 1, 0.9, np.inf),
        ("first head, one place back", "heads[:, 0]", 1, 0.6, np.inf),
        ("second head, what followed", "heads[:, 1]", 1, 0.8, np.inf),
        ("follow_score: second layer over first", "follow[:, 1] / follow[:, 0]", 1, 2, np.inf),
        ("without the first head, right", "[share_right(net) for net in blind]", 1, -np.inf, 0.3),
        ("without it, second head on what followed", "[two_heads(net)[1] for net in blind]", 1, -np.inf, 0.4),
        ("one place back by hand, right", "given", 1, 0.5, np.inf),
        ("repeating: second layer over first", "again[:, 1] / again[:, 0]", 1, 2, np.inf),
    ],
    "15": [
        ("two slopes minus rotary, 256 words", "at_256['two slopes'] - at_256['rotary']", 1, 0.05, np.inf),
        ("rotary, 256 words", "at_256['rotary']", 1, 0.5, np.inf),
    ],
}


def measure(number: str) -> None:
    """Run a lab's own code with ten seeds and keep the figure of each seed for each claim."""
    edits = dict([MORE_SEEDS[number]]) if number in MORE_SEEDS else None
    names = run_lab(int(number), LAST[number], edits, asserts=False)  # no claim that falls may stop the run
    exec(BESIDES.get(number, ""), names)
    values = {what: [float(x) for x in eval(how, names)] for what, how, *_ in CLAIMS[number]}
    short = [what for what, each in values.items() if len(each) != SEEDS]
    if short:
        raise SystemExit(f"Not {SEEDS} figures for: {', '.join(short)}.")
    measured = record.read(MEASURED) | {number: {what: [round(x, 6) for x in each] for what, each in values.items()}}
    record.write(MEASURED, dict(sorted(measured.items())))


def table() -> str:
    """Return bands.md: each claim with mean, deviation, edges and how many deviations the nearer edge is away."""
    text = f"""# Claims on trained figures, from ten seeds

Made by `python -m experiments.bands 04` for each lab and then `python -m experiments.bands`,
{date.today()}, {platform.machine()}, torch {torch.__version__.split("+")[0]}.
`n`: the lab takes the mean of n runs, so the
deviation of the seeds counts divided by √n. `away`: how many such deviations lie between the mean of ten
seeds and the nearer edge; below 3 the band is widened or the claim goes.
"""
    for number, values in record.read(MEASURED).items():
        rows = []
        for what, _, runs, low, high in CLAIMS[number]:
            mean, deviation = np.mean(values[what]), np.std(values[what], ddof=1)
            with np.errstate(divide="ignore"):
                away = np.divide(min(mean - low, high - mean), round(deviation / np.sqrt(runs), 9))
            band = f"{low:g} to {high:g}".replace("-inf to", "below").replace(" to inf", " or more")
            figures = (
                f"{mean:.4g}",
                f"{deviation:.2g}",
                f"{runs}",
                band,
                f"{away:.1f}" if away >= 3 else f"**{away:.1f}**",
            )
            rows.append(dict(zip(("claim", "mean", "sd", "n", "band", "away"), (what, *figures), strict=True)))
        text += f"\n## Lab {int(number)}\n\n{report.table(rows)}"
    return text


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        measure(chosen.zfill(2))
    if not sys.argv[1:]:
        record.write(Path(__file__).with_suffix(".md"), table())
