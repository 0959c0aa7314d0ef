"""Lab 14 at other sizes: does a second layer answer, does it need the first, and are such heads in other models?

Ten minutes of one core. The game, the model and the measures are those of the lab, with their sizes free.
"""

from functools import partial
from pathlib import Path

import pandas as pd
import torch
import torch.nn.functional as F

from experiments import claims, record
from shared import published_model
from shared.language_model import LanguageModel
from shared.model import causal_mask
from shared.training import mean_and_interval

RESULTS = Path(__file__).with_suffix(".json")
SEEDS = range(5)
USUAL = {"layers": 2, "dim": 32, "letters": 52, "pairs": 8, "rate": 0.005, "heads": 1, "steps": 400}
CONDITIONS = [
    {},
    {"dim": 16},
    {"dim": 64},
    {"letters": 26},
    {"letters": 104},
    {"rate": 0.002},
    {"rate": 0.01},
    {"pairs": 4},
    {"layers": 1},
    {"layers": 1, "dim": 64},
    {"layers": 1, "heads": 4},
    {"layers": 1, "steps": 2000},
]


def lab_with(sizes: dict) -> dict:
    """What the lab's cells define up to the training, with other sizes."""
    edits = {
        "string.ascii_lowercase + string.ascii_uppercase": f"'?' * {sizes['letters']}",
        "len(letters), 8": f"len(letters), {sizes['pairs']}",
        "dim=32, num_heads=1": f"dim={sizes['dim']}, num_heads={sizes['heads']}",
        "lr=0.005": f"lr={sizes['rate']}",
    }
    drawn = ("letters", "num_letters", "set_aside", "asking", "test_ids", "answers", "never_seen")
    return claims.definitions(14, drawn, edits)


def one_run(sizes: dict, seed: int) -> dict:
    lab = lab_with(sizes)
    model, curve = lab["train"](sizes["layers"], seed, steps=sizes["steps"])
    first_half = next((20 * look for look, share in enumerate(curve) if share > 0.5), None)
    found = {"right": curve[-1], "step of one half": first_half}
    if sizes["layers"] == 2 and sizes["heads"] == 1:
        found["one place back"], found["what followed"] = lab["two_heads"](model)
        blind = lab["silenced"](model, 0)
        found["right, first silenced"] = lab["share_right"](blind)
        found["what followed, first silenced"] = lab["two_heads"](blind)[1]
    return found


def by_hand() -> dict:
    """Ten seeds, as in the lab, which takes three: right with the first map set by hand to one place back."""
    lab, found = lab_with(USUAL), {"right": [], "right, one place back by hand": []}
    for seed in range(10):
        model, curve = lab["train"](2, seed, steps=USUAL["steps"])
        model.layers[0] = lab["PlaceBefore"](model.layers[0])
        found["right"].append(curve[-1])
        found["right, one place back by hand"].append(lab["share_right"](model))
    return found


@torch.no_grad()
def published() -> dict:
    """All 72 heads of lab 12's model on random pieces that repeat once."""
    model = published_model.load().model
    random, sums = torch.Generator().manual_seed(0), []
    for _ in range(50):
        once = torch.randint(2000, 20000, (16,), generator=random)
        ids = torch.cat([torch.tensor([101]), once, once, torch.tensor([102])])[None]
        maps = model(ids)[1][0]  # (layers, heads, pieces, pieces)
        rows = torch.arange(17, 32)
        sums.append(torch.stack([maps[..., rows, rows - back].mean(-1) for back in (15, 16, 1)]))
    followed, same, before = torch.stack(sums).mean(0)  # each (layers, heads)
    best = [divmod(int(place), 12) for place in followed.flatten().topk(3).indices]
    return {
        "texts": 50,
        "heads that look most at what followed": [
            {"head": head, "what followed": followed[head].item(), "same piece": same[head].item()} for head in best
        ],
        "even share": 1 / 34,
        "one place back, most": before.max().item(),
    }


def language_model(seed: int = 0, steps: int = 2400) -> dict:
    """The course's language model, trained as in lab 10 but longer, on random words that repeat once."""
    from shared.data import UNK, prepare, start_lab

    data = prepare(start_lab())
    text = torch.from_numpy(data.train.ids).long()
    text = torch.where(text < 2000, text, UNK)
    torch.manual_seed(seed)
    model, random = LanguageModel(2000), torch.Generator().manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    slower = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, end_factor=0.05, total_iters=steps)
    for _ in range(steps):
        starts = torch.randint(len(text) - 32, (32, 1), generator=random)
        ids = text[starts + torch.arange(33)]
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten(), ignore_index=UNK)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        slower.step()
    with torch.no_grad():
        once = torch.randint(10, 2000, (200, 15), generator=random)
        ids, maps = torch.cat([once, once], dim=1), []
        features = model.features(ids)
        for block in model.blocks:
            features, weights = block(features, attention_mask=causal_mask(30))
            maps.append(weights.mean(0))  # (num_heads, tokens, tokens)
        scores = model.output(model.norm(features))
        surprise = F.cross_entropy(scores[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(200, -1)
        rows = torch.arange(15, 29)
        maps = torch.stack(maps)
        return {
            "steps": steps,
            "what followed, most of 8 heads": maps[..., rows, rows - 14].mean(-1).max().item(),
            "one place back, most of 8 heads": maps[..., rows, rows - 1].mean(-1).max().item(),
            "surprise, first time": surprise[:, :14].mean().item(),
            "surprise, second time": surprise[:, 15:].mean().item(),
        }


if __name__ == "__main__":
    names = [", ".join(f"{what} {value}" for what, value in sizes.items()) or "as in the lab" for sizes in CONDITIONS]
    for name, sizes in zip(names, CONDITIONS, strict=True):
        for seed in SEEDS:
            record.once(RESULTS, f"{name}, seed {seed}", partial(one_run, USUAL | sizes, seed))
    for part in (by_hand, published, language_model):
        record.once(RESULTS, part.__name__, part)
    runs = pd.DataFrame(
        record.read(RESULTS)[f"{name}, seed {seed}"] | {"run": name} for name in names for seed in SEEDS
    )
    print(runs.groupby("run", sort=False).agg(lambda seeds: "{:.3f} ± {:.3f}".format(*mean_and_interval(seeds))))
