"""Puts the archived answers to an exercise's new check, and prints where its verdict differs from the stored one.

python tests/archived_answers.py masked_softmax masked_mean
"""

import ast
import gzip
import json
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path

import torch

import checks

RENAMED = {  # new name: name in the archive
    "ablate_attention": "look_away",
    "ablation_by_learning_rate": "missed_by_rate",
    "allowed_positions": "allowed_places",
    "attend_to_the_next_word": "look_at_the_next_word",
    "attention_on_target": "share_on_aim",
    "attention_received": "looked_at",
    "effect_of_a_head": "worth_of_a_head",
    "effect_of_context": "worth_of_context",
    "factor_the_projection": "split_the_map",
    "fix_the_batch": "mend_the_batch",
    "fix_the_blocks": "mend_the_blocks",
    "fix_the_comparison": "mend_the_comparison",
    "fix_the_game": "mend_the_game",
    "fix_the_heads": "mend_the_heads",
    "fix_the_rotation": "mend_the_turns",
    "gains_by_position": "gains_by_places",
    "lost_to_truncation": "lost_to_the_cut",
    "marker_query": "marks_row",
    "matrix_to_linear": "as_layer",
    "one_query": "one_question",
    "positions_or_words": "places_or_words",
    "preregistered": "told_before",
    "tokens_attended": "breadth",
}
GENERAL = {"Raises", "OtherNumbers", "WrongShape", "WrongType", "NotANumber", "OtherArguments"}


@cache
def archive() -> dict:
    """Every right and wrong answer to an exercise, by its old name: `lab`, `prelude` and `variants`."""
    return json.loads(gzip.decompress(Path(__file__).with_suffix(".json.gz").read_bytes()))


def variants(exercise: str) -> list[dict]:
    """The answers to an exercise: each with `source`, `right`, `kind` and the old engine's `mistake`.

    An exercise that is newer than the archive has none.
    """
    return archive().get(RENAMED.get(exercise, exercise), {"variants": []})["variants"]


def answer(exercise: str, source: str):
    """The function or class that a source defines."""
    names = {"__name__": "answers"}
    exec(compile(archive()[RENAMED.get(exercise, exercise)]["prelude"], "<prelude>", "exec"), names)
    exec(compile(source, f"<{exercise}>", "exec"), names)
    return names[ast.parse(source).body[-1].name]


def main(exercises: list[str]) -> None:
    torch.set_num_threads(1)
    for exercise in exercises:
        check, counts, begin = getattr(checks, exercise), Counter(), time.perf_counter()
        for variant in variants(exercise):
            verdict = check(answer(exercise, variant["source"]))
            if bool(verdict) != variant["right"]:
                print(f"--- DIFFERS: {variant['kind']}, {variant['label']}: {verdict}\n{variant['source']}")
            elif not variant["right"]:
                counts[f"{variant['label']}  ->  {verdict.mistake}"] += 1
        print("\n".join(f"{count:3} {names}" for names, count in sorted(counts.items())))
        named = sum(count for names, count in counts.items() if names.split("->  ")[1] not in GENERAL)
        seconds = (time.perf_counter() - begin) / len(variants(exercise))
        print(
            f"{exercise}: {sum(counts.values())} refused, {named} of them by a name; {1000 * seconds:.0f} ms an answer"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
