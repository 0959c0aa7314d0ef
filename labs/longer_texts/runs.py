"""Six positional encodings, trained on at most 64 words of each review and tested on up to 256. 20 minutes of one core.

Writes runs.json, which the lab reads.
Single runs are in _build/longer_texts.json, so a stopped script continues.

    python -m labs.longer_texts.runs
"""

import time

import torch
from torch import Tensor

from labs.longer_texts import position_encodings
from shared import data, record, training

TABLE, STORED = record.ROOT / "labs/longer_texts/runs.json", record.ROOT / "_build/longer_texts.json"
DRAWS = (100, 101, 102)  # seeds of the test distractors

SLOPES = {f"slope fixed at 1/{number}": 1 / number for number in (4, 16, 64)}
# For each variant its encodings and its number of seeds.
VARIANTS = {variant: (["one slope"], 3) for variant in SLOPES}
VARIANTS |= {
    "as in the lab": (position_encodings.ENCODINGS, 5),
    "random positions": (["sines", "rotary", "two slopes"], 3),
}
RUNS = [(way, variant, seed) for variant, (ways, seeds) in VARIANTS.items() for seed in range(seeds) for way in ways]


def at_random(ids: Tensor) -> Tensor:
    """Each text begins at a random position up to 384, and its second review up to 192 later (Ruoss et al. 2023)."""
    start, gap = (torch.randint(high + 1, (len(ids), 1)).to(ids) for high in (384, 192))
    return position_encodings.second_later(gap)(ids) + start


def run(source: data.PreparedReviews, tests: dict[str, data.EncodedReviews], way: str, variant: str, seed: int) -> dict:
    """Train and measure once."""
    begin = time.process_time()
    torch.manual_seed(seed)
    net = position_encodings.PositionedClassifier(len(source.vocabulary), way, slope=SLOPES.get(variant))
    net.positions = at_random if variant == "random positions" else position_encodings.in_order
    # With fixed slopes every training review has 64 words.
    position_encodings.train(net, source, seed, training.Recipe(1, 0.005, 64), varied=variant not in SLOPES)
    result = {"way": way, "variant": variant, "seed": seed, "alone": {}, "first": {}, "second": {}}

    def measure(name, reviews, positions=position_encodings.in_order):
        net.positions = positions
        right = position_encodings.right_on_opposite(net, reviews, DRAWS)
        result["first"][name], result["second"][name] = right.round(4).tolist()

    for length, reviews in tests.items():
        measure(length, reviews)
        alone = training.evaluate(net, data.plain_examples(reviews, position_encodings.MARKER_ID)).accuracy
        result["alone"][length] = round(alone, 4)
    if variant == "as in the lab":
        for later in (4, 16, 384):
            name = f"64, begins {later} later"
            measure(name, tests["64"], lambda ids, later=later: position_encodings.in_order(ids) + later)
        # Position interpolation: 514 tokens reach no farther than 130 did.
        measure("256, squeezed", tests["256"], lambda ids: position_encodings.in_order(ids) / 4)
        for gap in range(64, 513, 64) if way == "rotary" else (192, 320):
            measure(f"64, second {gap} later", tests["64"], position_encodings.second_later(gap))
    if net.slopes is not None:
        result["slopes"] = [round(slope, 4) for slope in net.slopes.tolist()]
    return result | {"cpu_seconds": round(time.process_time() - begin, 1)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    made_by = "python -m labs.longer_texts.runs"
    reviews = position_encodings.reviews_by_length(data.Settings())
    runs = [record.load_or_run(STORED, f"{one}", run, *reviews, *one) for one in RUNS]
    record.write(TABLE, {"made_by": made_by, "about": record.about(), "runs": runs})
