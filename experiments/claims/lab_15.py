"""Lab 15's table: six ways of telling places, and what happens to each on longer texts.

A quarter of an hour of one core. Writes shared/longer_texts.json, which the lab reads; Colab has no other folder of the
course. Also: rotary against sines in the marked task as it stands in lab 11's table.
"""

import math
import time
from copy import deepcopy
from functools import partial
from unittest import mock

import torch
from torch import nn

from experiments import claims, grid, record
from shared import data as course_data
from shared import training

TABLE = record.ROOT / "shared/longer_texts.json"
DRAWS = (100, 101, 102)  # of test distractors; the lab's own runs are tested on the first

WAYS = ("none", "sines", "learned", "rotary", "one slope", "two slopes")
POSITIONED = WAYS[1:]  # "none" is right in half of the cases exactly, whatever was trained
# For each variant the ways and the number of seeds that it is run with, and what is other than in the lab.
VARIANTS = {
    "as in the lab": (WAYS, 5, {}),
    "rate .002": (POSITIONED, 3, {"rate": 0.002}),
    "rate .01": (POSITIONED, 3, {"rate": 0.01}),
    "32 keys": (POSITIONED, 3, {"key_dim": 32}),
    "3 epochs": (POSITIONED, 3, {"epochs": 3}),
    "base 100": (["rotary"], 3, {"base": 100}),
    "base 1000": (["rotary"], 3, {"base": 1000}),
    "no bias in queries and keys": (["rotary"], 3, {"bias": 0}),
    "slope fixed at 1/4": (["one slope"], 3, {"slope": 1 / 4}),
    "slope fixed at 1/16": (["one slope"], 3, {"slope": 1 / 16}),
    "slope fixed at 1/64": (["one slope"], 3, {"slope": 1 / 64}),
    "reviews of lab 11": (["sines", "rotary"], 5, {"epochs": grid.EPOCHS}),
}
RUNS = [(way, variant, seed) for variant, (ways, seeds, _) in VARIANTS.items() for seed in range(seeds) for way in ways]


def lab_functions(*assigned: str) -> dict:
    """What the lab's cells define, and the variables of these names; nothing is trained."""
    return claims.definitions(15, ("one_pass", *assigned), settings=course_data.Settings())


def changed(make_reader, other: dict, *arguments) -> nn.Module:
    """A reader as the lab makes it, but for the parameters that a variant sets and does not train."""
    net = make_reader(*arguments, key_dim=other.get("key_dim", 16))
    for name, parameters in {"slope": [net.slopes], "bias": [net.W_query.bias, net.W_key.bias]}.items():
        for parameter in parameters if name in other else ():
            parameter.data.fill_(other[name])
            parameter.requires_grad_(False)
    return net


def perform(lab: dict, way: str, variant: str, seed: int) -> dict:
    """Train and measure once, with the lab's names in `lab`."""
    other = VARIANTS[variant][2]
    names = {"Reader": partial(changed, lab["Reader"], other)}
    recipe = training.Recipe(other.get("epochs", 1), other.get("rate", 0.005), 64)
    if "base" in other:
        rotate = lab["rotate"]
        names["rotate"] = lambda vectors, places, base=None: rotate(vectors, places, other["base"])
    if variant == "reviews of lab 11":
        source = grid.prepared()
        names |= {"train": source.train, "validation": source.validation, "vocabulary": source.vocabulary}
        names["test"] = {"whole": source.test}
    with mock.patch.dict(lab, names):  # in this very dictionary, where the functions look names up
        return measured(lab, way, variant, seed, recipe)


def measured(lab: dict, way: str, variant: str, seed: int, recipe: training.Recipe) -> dict:
    start, tests = time.process_time(), lab["test"]
    net = lab["train_reader"](way, seed, recipe)
    found = {"way": way, "variant": variant, "seed": seed, "alone": {}, "first": {}, "second": {}}

    def measure(name, reviews, net=net, places=lab["in_order"]):
        net.places = places
        first, second = lab["right_on_opposite"](net, reviews, DRAWS)
        found["first"][name], found["second"][name] = round(float(first), 4), round(float(second), 4)

    for length, reviews in tests.items():
        measure(str(length), reviews)
        alone = training.evaluate(net, course_data.plain_examples(reviews, lab["mark"])).accuracy
        found["alone"][str(length)] = round(alone, 4)
    if variant == "as in the lab":
        measure("64, shifted", tests[64], places=lab["shifted"])
        for gap in (64, 192, 320, 448):  # 192: the places that the same words have in reviews of 256
            measure(f"64, second {gap} later", tests[64], places=lab["second_later"](gap))
        measure("256, squeezed", tests[256], places=lab["squeezed"])
        sharper = deepcopy(net)
        with torch.no_grad():
            for parameter in (sharper.W_query.weight, sharper.W_query.bias, sharper.slopes):
                if parameter is not None:
                    parameter *= math.log(514) / math.log(130)
        measure("256, scores by log n", tests[256], sharper)
    if net.slopes is not None:
        found["slopes"] = [round(slope, 4) for slope in net.slopes.tolist()]
    return found | {"cpu_seconds": round(time.process_time() - start, 1)}


def main() -> None:
    lab = lab_functions("scale", "data", "vocabulary", "mark", "separator", "train", "seen", "test")
    table = record.read(TABLE) or {
        "made_by": "python -m experiments.claims.lab_15",
        "about": record.about(),
        "runs": [],
    }
    done = {(run["way"], run["variant"], run["seed"]) for run in table["runs"]}
    for run in RUNS:
        if run not in done:
            table["runs"].append(perform(lab, *run))
            record.write(TABLE, table)
            print(table["runs"][-1], flush=True)


if __name__ == "__main__":
    main()
