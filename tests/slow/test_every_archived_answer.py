"""Every wrong answer of the archive is refused; tests/quick tries a tenth of them."""

import archived_answers
import pytest

import checks

NAMES = [name for name, thing in vars(checks).items() if isinstance(thing, checks.Check)]


@pytest.mark.parametrize("name", NAMES)
def test_no_archived_wrong_answer_is_accepted(name):
    accepted = [
        v["source"]
        for v in archived_answers.variants(name)
        if not v["right"] and getattr(checks, name)(archived_answers.answer(name, v["source"]))
    ]
    assert accepted == []
