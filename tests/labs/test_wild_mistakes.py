"""*Mistakes from the wild*: each block prints the symptom that is on the page, links a thread, and names a step."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import remember
import torch

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


def test_a_question_that_is_asked_again_keeps_the_links_of_its_page_even_where_that_has_no_section():
    links = '<a href="debugging.html">a way</a> <a href="#step">a step</a>'
    fold = "<details><summary>Answer</summary>\n<ol><li>Right.</li></ol></details>"
    page = f'<h1>A page</h1>\n<div class="quiz docutils" id="quiz-0"><p>{links}</p>{fold}</div>'
    (again,) = remember.questions(page, "book/wild_mistakes.html")
    assert re.findall('href="(.*?)"', again["html"]) == ["../book/debugging.html", "../book/wild_mistakes.html#step"]


@pytest.mark.parametrize("need_weights", [True, False])
def test_pytorch_s_own_layer_has_nan_in_gradients_only_where_it_returns_weights(need_weights):
    """Text 0 begins with padding, and the causal mask leaves that first query nothing else."""
    torch.manual_seed(0)
    layer, x = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(1, 3, 8)
    masks = {
        "attn_mask": torch.ones(3, 3, dtype=torch.bool).triu(1),
        "key_padding_mask": torch.tensor([[True, False, False]]),
    }
    layer(x, x, x, **masks, need_weights=need_weights)[0][0, 1:].sum().backward()
    assert any(parameter.grad.isnan().any() for parameter in layer.parameters()) == need_weights
