"""Every wrong answer of the archive is refused, of which tests/quick tries a tenth; no import counts as time."""

import subprocess
import sys
from pathlib import Path

import archived_answers
import pytest

import checks

ROOT = Path(checks.__file__).parents[1]
NAMES = [name for name, thing in vars(checks).items() if isinstance(thing, checks.Check)]


@pytest.mark.parametrize("name", NAMES)
def test_no_archived_wrong_answer_is_accepted(name):
    accepted = [
        v["source"]
        for v in archived_answers.variants(name)
        if not v["right"] and getattr(checks, name)(archived_answers.answer(name, v["source"]))
    ]
    assert accepted == []


LATE = """\
import contextlib, sys
sys.path.insert(0, "tests")
import archived_answers, checks
from checks import engine

clock, late = engine.guarded, {}

@contextlib.contextmanager
def guarded(seconds):
    with clock(120.0):
        before = set(sys.modules)
        yield
    late[name] = len(set(sys.modules) - before)

engine.guarded = guarded
known = {name: check for name, check in vars(checks).items() if isinstance(check, checks.Check)}
# What imports much comes last, because later ones would find it there.
for name in sorted(known, key=lambda name: bool(known[name].imports)):
    right = [v["source"] for v in archived_answers.variants(name) if v["right"]]
    if right:
        assert known[name](archived_answers.answer(name, right[0])), name
print(len(late), [name for name, number in late.items() if number > 20])
"""


def test_what_a_check_imports_is_there_before_its_seconds_begin():
    run = subprocess.run([sys.executable, "-c", LATE], cwd=ROOT, capture_output=True, text=True)
    number, _, late = run.stdout.strip().partition(" ")
    assert late == "[]" and int(number) > 30, run.stdout + run.stderr
