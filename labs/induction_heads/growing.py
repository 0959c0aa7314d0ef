"""How a small language model grew an induction head: what was stored while it was trained."""

import json
from importlib import resources

import torch

STORED = json.loads(resources.files("labs.induction_heads").joinpath("runs.json").read_text("utf-8"))
REPEATED, CONTROL = "repeated passages", "no repeated passages"

Curve = list[tuple[int, float]]  # training step, number


def runs_of(kind: str) -> list[dict]:
    """The runs of a kind of training text, a seed each."""
    return [run for key, run in STORED.items() if key.startswith(f"{kind}, seed ")]


def second_copies() -> dict[str, Curve]:
    """The loss on random tokens that are shown a second time, for each run."""
    runs = {f"seed {run['seed']}": run for run in runs_of(REPEATED)} | {"trained without repeats": runs_of(CONTROL)[0]}
    return {
        name: [(point["step"], point["random tokens"]["losses"][1]) for point in run["curve"]]
        for name, run in runs.items()
    }


def heads(run: dict) -> dict[str, Curve]:
    """Where two heads look in the second copy: in each block the one that ends with the largest weight there."""
    shown = {"block 1: previous token": (0, "one_back"), "block 2: induction head": (1, "after_earlier")}
    found = {}
    for name, (block, place) in shown.items():
        weights = torch.tensor([point["random tokens"][place] for point in run["curve"]])  # (points, blocks * heads)
        weights = weights.unflatten(1, (2, -1))[:, block]  # (points, heads)
        largest = weights[-1].argmax()
        found[name] = [(point["step"], w) for point, w in zip(run["curve"], weights[:, largest].tolist(), strict=True)]
    return found
