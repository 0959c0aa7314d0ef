"""Labs in a real JupyterLab: a browser opens a copy of each, runs it from top to bottom, and looks at what it shows.

The rule: two quick labs run here every time, and every lab whose text is not the one last seen whole in JupyterLab.
`make jupyter-test` (EVERY_LAB=1) runs all and notes the digests of those that passed in jupyterlab_seen.json.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import notebooks
import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

ROOT = Path(__file__).resolve().parents[2]
SEEN = Path(__file__).with_name("jupyterlab_seen.json")
EVERY_TIME = ("06_your_journey", "07_when_in_doubt")  # matrices, the walk, and no training
EVERY_LAB = os.environ.get("EVERY_LAB") == "1"
RAW = re.compile(r":::|\{[a-z][a-z:-]*\}`|\$|\*\*|<details|<summary")


def digest(lab: Path) -> str:
    """The digest of all that a reader may see changed: the cells of the text. Generated ones differ in a fork."""
    own = [cell.source for cell in notebooks.generate(lab).cells if not notebooks.is_generated(cell)]
    return hashlib.sha256(repr(own).encode()).hexdigest()[:16]


def to_run(labs: list[Path], seen: dict[str, str], every: bool) -> list[Path]:
    return [lab for lab in labs if every or lab.stem in EVERY_TIME or seen.get(lab.stem) != digest(lab)]


LABS = to_run(notebooks.labs(ROOT), json.loads(SEEN.read_text()), EVERY_LAB)


@pytest.fixture(scope="module")
def jupyterlab(browser, tmp_path_factory):
    """The address of a JupyterLab with settings of its own, in a folder that has the labs and finds `shared`."""
    home = tmp_path_factory.mktemp("home")
    (home / "labs").mkdir()
    (home / "shared").symlink_to(ROOT / "shared")
    for lab in LABS:
        notebook = notebooks.read(lab) or notebooks.generate(lab)
        for cell in notebooks.code_cells(notebook):
            cell.execution_count = None  # so that a cell which has run can be told from one which has not
        nbformat.write(notebook, home / "labs" / f"{lab.stem}.ipynb")
    folders = {
        "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }  # fmt: skip
    environment = notebooks.kernel_environment(ROOT) | {name: str(home / folder) for name, folder in folders.items()}
    options = ["--no-browser", "--port=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={home}"]
    options += ["--allow-root", "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], env=environment, cwd=home, stdout=log, stderr=log
        )
    try:
        until = time.monotonic() + 60
        while not (told := [*home.glob("runtime/jpserver-*.json")]):
            started = server.poll() is None and time.monotonic() < until
            assert started, f"JupyterLab did not start:\n{(home / 'log').read_text()[-2000:]}"
            time.sleep(0.1)
        yield json.loads(told[0].read_text())["url"]
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module", params=LABS, ids=lambda lab: lab.stem)
def run(request, browser, jupyterlab):
    """One lab after Run All Cells: its page, its stored notebook, and what the browser complained of."""
    lab = request.param
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.faults = []

    def note(message) -> None:
        elsewhere = "Failed to load resource" in message.text and not message.location["url"].startswith(jupyterlab)
        if message.type == "error" and not elsewhere:  # the badge's picture lies at Colab, which may be out of reach
            page.faults.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.goto(f"{jupyterlab}lab/tree/labs/{lab.stem}.ipynb?reset")
    page.locator("#jp-main-statusbar", has_text="Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)
    page.locator(".lm-MenuBar-itemLabel", has_text="Run").click()
    page.locator(".lm-Menu-item[data-command='runmenu:run-all']").click()
    prompts = "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(prompt => prompt.textContent)"
    page.wait_for_function(f"{prompts}[0] !== '[ ]:'", timeout=20_000)
    page.wait_for_function(f"!{prompts}.includes('[*]:')", timeout=900_000)
    page.prompts = page.evaluate(prompts)
    failed = request.session.testsfailed
    yield page, notebooks.read(lab)
    page.close()
    if EVERY_LAB and request.session.testsfailed == failed:
        SEEN.write_text(json.dumps(json.loads(SEEN.read_text()) | {lab.stem: digest(lab)}, indent=1) + "\n")


def outputs(notebook, kind: str) -> list[str]:
    """What the notebook has stored of one kind, such as image/png, cell by cell."""
    data = [output.get("data", {}) for cell in notebooks.code_cells(notebook) for output in cell.outputs]
    return [each[kind] for each in data if kind in each]


def formulas(notebook) -> int:
    """How many formulas the prose of a notebook holds."""
    reader = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin)
    tokens = [token for cell in notebook.cells if cell.cell_type == "markdown" for token in reader.parse(cell.source)]
    return sum(each.type.startswith("math") for token in tokens for each in [token, *(token.children or [])])


def test_every_cell_runs_and_none_complains(run):
    page, notebook = run
    assert page.prompts == [f"[{count}]:" for count, _ in enumerate(notebooks.code_cells(notebook), start=1)]
    expected = sum(output.output_type == "error" for c in notebooks.code_cells(notebook) for output in c.outputs)
    assert page.locator(".jp-OutputArea-output[data-mime-type$='error']").count() == expected
    assert page.locator(".jp-OutputArea-output[data-mime-type$='stderr']").all_inner_texts() == []


def test_every_picture_shows(run):
    page, notebook = run
    page.wait_for_function("[...document.querySelectorAll('.jp-OutputArea img')].every(image => image.complete)")
    wide = "found => found.map(each => each.naturalWidth ?? each.getBoundingClientRect().width)"
    images = page.eval_on_selector_all(".jp-RenderedImage img", wide)
    assert len(images) == len(outputs(notebook, "image/png")) and all(width > 50 for width in images), images
    # The walk draws in a tree of its own, in place of the picture it brings along; all heads bring none along.
    in_a_walk, in_heads = (
        page.eval_on_selector_all(f"{part} svg", "found => found.length")
        for part in (".attention-walk", ".attention-heads")
    )
    drawn = page.eval_on_selector_all(".jp-RenderedHTMLCommon.jp-OutputArea-output svg", wide)
    stored = sum(html.count("<svg") for html in outputs(notebook, "text/html"))
    assert len(drawn) - in_heads == stored and sum(width > 20 for width in drawn) >= stored - in_a_walk, drawn


def test_every_table_shows(run):
    page, notebook = run
    still = [html for html in outputs(notebook, "text/html") if "<script" not in html]
    stored = sum("<table" in html for html in still)
    assert page.locator(".jp-OutputArea-output table.dataframe").count() == stored


def test_the_interactive_parts_answer(run):
    page, notebook = run
    walks = page.locator(".attention-walk")
    assert walks.count() == sum('class="attention-walk' in html for html in outputs(notebook, "text/html"))
    for walk in walks.all():
        stage = walk.locator(".what").text_content()
        walk.get_by_role("button", name="Step forward").click()
        assert stage and walk.locator(".what").text_content() != stage
    heads = page.locator(".attention-heads")
    assert heads.count() == sum('class="attention-heads' in html for html in outputs(notebook, "text/html"))
    for figure in heads.all():
        said = figure.locator(".said").text_content()
        figure.get_by_role("button", name="Layer 1, head 1", exact=True).click()
        assert said and figure.locator(".said").text_content() != said


def test_prose_shows_formulas_and_nothing_raw(run):
    page, notebook = run
    wanted = formulas(notebook)
    page.wait_for_function(f"document.querySelectorAll('.jp-MarkdownCell mjx-container').length >= {wanted}")
    assert page.locator(".jp-MarkdownCell mjx-container").count() == wanted
    assert page.locator("mjx-merror, .MathJax_Error").count() == 0
    read = """cells => cells.map(cell => {
      const copy = cell.cloneNode(true);
      copy.querySelectorAll("code, pre, mjx-container").forEach(each => each.remove());
      return copy.textContent;
    })"""
    texts = page.eval_on_selector_all(".jp-MarkdownCell .jp-RenderedMarkdown", read)
    assert len(texts) == sum(cell.cell_type == "markdown" for cell in notebook.cells)
    assert [text for text in texts if RAW.search(text)] == []


def test_answers_are_folded_and_open(run):
    page, notebook = run
    answers = page.locator(".jp-MarkdownCell details")
    assert answers.count() == sum(c.source.count("<details") for c in notebook.cells if c.cell_type == "markdown")
    for answer in answers.all():
        answer.scroll_into_view_if_needed()
        assert answer.get_attribute("open") is None
        answer.locator("summary").click()
        assert len(answer.inner_text()) > len(answer.locator("summary").inner_text()) + 20


def test_the_browser_had_nothing_to_complain_of(run):
    assert run[0].faults == []
