"""Lab 15's table: six ways of telling places, and what happens to each on longer texts.

A quarter of an hour of one core. Writes shared/longer_texts.json, which the lab reads; Colab has no other folder of the
course. Also: rotary against sines in the marked task as it stands in lab 11's table.
"""

import math
import time
from copy import deepcopy
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from experiments import claims, grid, record
from shared import data as course_data
from shared import training

TABLE = record.ROOT / "shared/longer_texts.json"
DRAWS = (100, 101, 102)  # of test distractors; the lab's own runs are tested on the first

WAYS = ("none", "sines", "learned", "rotary", "one slope", "two slopes")
POSITIONED = WAYS[1:]  # "none" is right in half of the cases exactly, whatever was trained
RUNS = [(way, "as in the lab", seed) for seed in range(5) for way in WAYS]
RUNS += [
    (way, variant, seed)
    for variant in ("rate .002", "rate .01", "32 keys", "3 epochs")
    for seed in range(3)
    for way in POSITIONED
]
RUNS += [
    (way, variant, seed)
    for way, variants in {
        "rotary": ("base 100", "base 1000", "no bias in queries and keys"),
        "one slope": ("slope fixed at 1/4", "slope fixed at 1/16", "slope fixed at 1/64"),
    }.items()
    for variant in variants
    for seed in range(3)
]
RUNS += [(way, "reviews of lab 11", seed) for seed in range(5) for way in ("sines", "rotary")]
RATES = {"rate .002": 0.002, "rate .01": 0.01}
SIZES = {"32 keys": {"key_dim": 32}}
BASES = {"base 100": 100, "base 1000": 1000}


def lab_functions(*assigned: str) -> dict:
    """What the lab's cells define, and the variables of these names; nothing is trained."""
    return claims.definitions(15, ("one_pass", *assigned), settings=course_data.Settings())


def lab_names() -> dict:
    """The same, with the lab's reviews."""
    names = lab_functions("scale", "data", "vocabulary", "mark", "train", "seen", "test")
    # In this very dictionary, where the functions look names up.
    names |= {f"plain {name}": names[name] for name in ("Reader", "rotate", "train", "validation", "vocabulary")}
    return names


def changed(make_reader, variant: str, *arguments, **sizes) -> nn.Module:
    """A reader as the lab makes it, but for what the variant names."""
    net = make_reader(*arguments, **sizes)
    fixed = []
    if "slope fixed" in variant:
        fixed, value = [net.slopes], 1 / int(variant.split("/")[1])
    if "no bias" in variant:
        fixed, value = [net.W_query.bias, net.W_key.bias], 0.0
    for parameter in fixed:
        parameter.data.fill_(value)
        parameter.requires_grad_(False)
    return net


def perform(lab: dict, way: str, variant: str, seed: int) -> dict:
    """Train and measure once; `lab` holds the lab's names, which are set for the run."""
    lab |= {name: lab[f"plain {name}"] for name in ("Reader", "rotate", "train", "validation", "vocabulary")}
    lab["Reader"] = partial(changed, lab["Reader"], variant)
    recipe = training.Recipe(3 if variant == "3 epochs" else 1, RATES.get(variant, 0.005), 64)
    if variant in BASES:
        rotate = lab["rotate"]
        lab["rotate"] = lambda vectors, places, base=None: rotate(vectors, places, BASES[variant])
    tests = lab["test"]
    if "of lab 11" in variant:
        source = grid.prepared()
        lab |= {"train": source.train, "validation": source.validation, "vocabulary": source.vocabulary}
        recipe, tests = replace(recipe, epochs=grid.EPOCHS), {"whole": source.test}
    assert all(
        lab["vocabulary"].id(special) == lab[name] for special, name in (("<MARK>", "mark"), ("<SEP>", "separator"))
    )

    start = time.process_time()
    net = lab["train_reader"](way, seed, recipe, **SIZES.get(variant, {}))
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
    lab = lab_names()
    table = record.read(TABLE) or {
        "made_by": "python -m experiments.claims.lab_15",
        "about": record.about(),
        "runs": [],
    }
    done = {(run["way"], run["variant"], run["seed"]) for run in table["runs"]}
    for way, variant, seed in RUNS:
        if (way, variant, seed) not in done:
            run = perform(lab, way, variant, seed)
            table["runs"].append(run)
            record.write(TABLE, table)
            print(run, flush=True)


if __name__ == "__main__":
    main()
