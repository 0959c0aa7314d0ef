"""Labs in a real JupyterLab: a browser opens a copy of each, runs it from top to bottom, and looks at what it shows."""

import json
import subprocess
import sys
import time
from pathlib import Path

import lab_code
import nbformat
import pytest
from playwright.sync_api import expect

from tools.lab import code_of, kernel_environment

ROOT = Path(__file__).resolve().parents[2]
LABS = [lab_code.find(name) for name in ("your_journey", "when_in_doubt")]  # matrices, the walk, and no training


@pytest.fixture(scope="module")
def jupyterlab(browser, tmp_path_factory):
    """The address of a JupyterLab with settings of its own, in a folder with labs and code of the course."""
    home = tmp_path_factory.mktemp("home")
    for package in ("shared", "checks"):
        (home / package).symlink_to(ROOT / package)
    for lab in LABS:
        notebook = lab.stored(lab.notebook_file) or lab.notebook()
        for cell in code_of(notebook.cells):
            cell.execution_count = None  # so that a cell which has run can be told from one which has not
        (home / "labs" / lab.name).mkdir(parents=True)
        nbformat.write(notebook, home / "labs" / lab.name / f"{lab.name}.ipynb")
    own = {"HOME": str(home), "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    environment = kernel_environment(ROOT) | own
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


def expected(notebook) -> dict[str, int]:
    """How many of each thing JupyterLab should show for a notebook, by the selector that finds it."""
    data = [each.get("data", {}) for cell in code_of(notebook.cells) for each in cell.outputs]
    html = "".join(each.get("text/html", "") for each in data)
    prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return {
        ".jp-OutputArea-output[data-mime-type$='error']": 0,
        ".jp-OutputArea-output[data-mime-type$='stderr']": 0,
        ".jp-RenderedSVG img": sum("image/svg+xml" in each for each in data),
        ".jp-RenderedImage img": sum("image/png" in each and "image/svg+xml" not in each for each in data),
        ".attention-walk": html.count('class="attention-walk'),
        ".attention-heads": html.count('class="attention-heads'),
        ".jp-MarkdownCell .jp-RenderedMarkdown": len(prose),
        "mjx-merror, .MathJax_Error": 0,
        ".jp-MarkdownCell details": sum(source.count("<details") for source in prose),
    }


@pytest.mark.parametrize("lab", LABS, ids=str)
def test_every_cell_runs_all_that_the_notebook_has_is_shown_and_the_interactive_parts_answer(browser, jupyterlab, lab):
    page, faults, notebook = (
        browser.new_page(viewport={"width": 1300, "height": 900}),
        [],
        lab.stored(lab.notebook_file),
    )

    def note(message) -> None:
        elsewhere = "Failed to load resource" in message.text and not message.location["url"].startswith(jupyterlab)
        if message.type == "error" and not elsewhere:  # the badge's picture lies at Colab, which may be out of reach
            faults.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{jupyterlab}lab/tree/labs/{lab.name}/{lab.name}.ipynb?reset")
    page.locator("#jp-main-statusbar", has_text="Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)
    page.locator(".lm-MenuBar-itemLabel", has_text="Run").click()
    page.locator(".lm-Menu-item[data-command='runmenu:run-all']").click()
    prompts = "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(prompt => prompt.textContent)"
    page.wait_for_function(f"{prompts}[0] !== '[ ]:'", timeout=20_000)
    page.wait_for_function(f"!{prompts}.includes('[*]:')", timeout=900_000)
    assert page.evaluate(prompts) == [f"[{n}]:" for n, _ in enumerate(code_of(notebook.cells), start=1)]
    for selector, count in expected(notebook).items():
        expect(page.locator(selector), selector).to_have_count(count)
    for part, button, summary in (("walk", "Next stage", ".what"), ("heads", "Layer 1, head 1", ".said")):
        for figure in page.locator(f".attention-{part}").all():
            before = figure.locator(summary).text_content()
            figure.get_by_role("button", name=button, exact=True).click()
            assert before
            expect(figure.locator(summary)).not_to_have_text(before)
    assert faults == []
    page.close()
