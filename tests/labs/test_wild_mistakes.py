"""*Mistakes from the wild*: each block prints the symptom that is on the page, links a thread, and names a step."""

import contextlib
import io
import re
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[2] / "book"
PAGE = (BOOK / "wild_mistakes.md").read_text("utf-8")
FIRST, *SECTIONS = re.split(r"(?m)^## (?=\d+\. )", PAGE)
SETUP = re.findall(r"(?ms)^```python\n(.*?)^```", FIRST)[0]
SECTIONS[-1] = SECTIONS[-1].partition("\n## ")[0]


def printed(code: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(SETUP + code, {})
    return out.getvalue()


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.split("\n")[0])
def test_a_mistake_has_a_thread_a_symptom_that_its_block_prints_and_a_step(section):
    assert re.search(r"\]\(https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+\)", section)
    (code,), (shown,) = (re.findall(rf"(?ms)^```{kind}\n(.*?)^```", section) for kind in ("python", "text"))
    assert printed(code) == shown
    answer = section.partition("<summary>Which step finds it?</summary>")[2]
    assert all(
        f"({step})=" in (BOOK / "debugging.md").read_text("utf-8") for step in re.findall(r"\((step-\d)\)", answer)
    )
    assert re.search(r"\[[Ss]tep (\d)\]\(step-\1\)", answer)
