"""Right and wrong answers to the exercises: most tested checks of an earlier release, none was made from a check."""

import ast
import gzip
import json
from functools import cache
from pathlib import Path


@cache
def archive() -> dict:
    """Every right and wrong answer by the name of its exercise: `lab`, `prelude` and `variants`."""
    return json.loads(gzip.decompress(Path(__file__).with_suffix(".json.gz").read_bytes()))


def variants(exercise: str) -> list[dict]:
    """The answers to an exercise, each with `source` and `right`; none where it is newer than the archive."""
    return archive().get(exercise, {"variants": []})["variants"]


def answer(exercise: str, source: str):
    """The function or class that a source defines."""
    names = {"__name__": "answers"}
    exec(compile(archive()[exercise]["prelude"], "<prelude>", "exec"), names)
    exec(compile(source, f"<{exercise}>", "exec"), names)
    return names[ast.parse(source).body[-1].name]
