"""Lab 15's table: six ways of telling places, and what happens to each on longer texts.

    python -m experiments.claims.lab_15      # a quarter of an hour of one core; goes on where it was stopped

writes shared/longer_texts.json, which the lab reads; Colab has no other folder of the course. The functions and the
model are those of the lab's own cells. Also: rotary against sines in the marked task as it stands in lab 11's table.
"""

import ast
import math
import re
import time
from copy import deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import nn

from experiments import grid, record
from shared import data as course_data
from shared import training
from shared.model import masked_softmax, weighted_sum

LAB = record.ROOT / "labs/15_longer_texts.md"
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


def lab_cells() -> list[str]:
    """The lab's code cells, without their metadata."""
    cell = r"```\{code-cell\} ipython3\n(?:---\n.*?\n---\n|(?::[^\n]*\n)*)(.*?)```"
    return re.findall(cell, LAB.read_text("utf-8"), re.S)


def defines(node: ast.stmt) -> bool:
    """Whether a statement of the lab defines a function, a class, or a recipe that a function takes unless told."""
    recipe = isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("training.Recipe(")
    return recipe or isinstance(node, ast.FunctionDef | ast.ClassDef)


def lab_functions() -> dict:
    """What the lab's cells define, and what that needs; nothing is loaded or trained."""
    names = {"torch": torch, "nn": nn, "np": np, "math": math, "replace": replace, "training": training}
    names |= {"course_data": course_data, "masked_softmax": masked_softmax, "weighted_sum": weighted_sum}
    for cell in lab_cells():
        defined = [node for node in ast.parse(cell).body if defines(node)]
        exec(compile(ast.Module(defined, []), LAB.name, "exec"), names)
    return names


def lab_names() -> dict:
    """The same, with the lab's reviews."""
    names = lab_functions()  # the functions look names up in this very dict
    names["settings"] = course_data.Settings()
    exec(next(cell for cell in lab_cells() if "scale = " in cell), names)
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
        source = grid.prepared("quick", course_data.REVIEW_TOKENS)
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
    torch.set_num_threads(1)
    lab = lab_names()
    lab |= {f"plain {name}": lab[name] for name in ("Reader", "rotate", "train", "validation", "vocabulary")}
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
