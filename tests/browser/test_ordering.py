"""Lines to put in order, on a small site: by keyboard alone, with right and wrong orders, and without a script."""

import subprocess
from pathlib import Path

import nbformat
import pytest
import site_in_browser
from site_in_browser import axe, lay_out

PAGE = "labs/03_order"
SOURCE = '''def attend(queries, keys, values):
    """The output."""
    scores = queries @ keys.T  # (tokens, tokens)
    weights = scores.softmax(dim=-1)
    return weights @ values'''
HINT = "<details><summary>Hint</summary>\n\nThree lines.\n\n</details>"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    lay_out(folder, [])
    (folder / "book/home.md").write_text("# Home\n\nOne lab.\n")
    chapters = f"parts:\n  - caption: Labs\n    chapters:\n      - file: {PAGE}.ipynb\n"
    (folder / "_toc.yml").write_text(f"format: jb-book\nroot: book/home\n{chapters}")
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "labs").mkdir()
    cells = [
        nbformat.v4.new_markdown_cell("# A lab\n\n## A section\n\n### Exercise 3.1 (build): attend\n\nWrite it."),
        nbformat.v4.new_code_cell(SOURCE, metadata={"exercise": "attend"}),
        nbformat.v4.new_code_cell("attend = checks.attend.use(attend)"),
        nbformat.v4.new_markdown_cell(HINT),
    ]
    language = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=language), folder / f"{PAGE}.ipynb")
    built = site_in_browser.build(folder)
    assert built.returncode == 0, built.stdout
    with site_in_browser.served(Path(folder, "_build/html")) as address:
        yield address


@pytest.fixture
def fold(visit, site):
    """The unfolded exercise; afterwards nothing must have gone wrong."""
    page = visit(f"{site}/{PAGE}.html")
    page.locator(".ordering summary").click()
    yield page.locator(".ordering")
    assert page.faults == []


def press(fold, words, key="Enter"):
    button = fold.locator("li button", has_text=words)
    button.focus()
    button.press(key)


def check(fold):
    fold.get_by_role("button", name="Check").click()
    return fold.get_by_role("status").inner_text()


def test_lines_are_put_in_order_by_keyboard_and_a_wrong_order_hears_why(fold):
    given, mine = fold.get_by_role("list", name="Lines for attend"), fold.get_by_role("list", name="Your attend")
    assert given.locator("li").count() == 5 and fold.locator(".goal").all_inner_texts().count("softmax") == 2
    assert "2 lines are not part of it" in fold.inner_text() and check(fold) == "Right so far. 3 lines missing."
    press(fold, "softmax(dim=-1)", "Space")
    assert check(fold) == "Line 1 comes too early: it needs something from a line that does not come before it."
    press(mine, "softmax")
    press(fold, "keys.T @ queries")
    assert check(fold).startswith("Line 1 is not part of the function (score).")
    press(mine, "keys.T @ queries")
    for words in ("queries @ keys.T", "return weights @ values"):
        press(fold, words)
    press(mine, "return")  # the next line goes to its place
    for words in ("softmax(dim=-1)", "return weights @ values"):
        press(fold, words)
    assert mine.locator("code").all_inner_texts() == [line.strip() for line in SOURCE.split("\n")[2:]]
    assert check(fold).startswith("Right.")
    fold.get_by_role("button", name="Begin again").click()
    assert mine.locator("li").count() == 0


def test_without_a_script_there_is_no_such_version(visit, site):
    page = visit(f"{site}/{PAGE}.html", scripts=False)
    assert not page.locator(".ordering").is_visible() and page.get_by_text("Three lines.").count() == 1


@pytest.mark.parametrize(("theme", "width"), [("dark", 320), ("light", 1280)])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(visit, site, theme, width):
    page = visit(f"{site}/{PAGE}.html", theme, width)
    page.locator(".ordering summary").click()
    press(page.locator(".ordering"), "queries @ keys.T")
    assert axe(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
