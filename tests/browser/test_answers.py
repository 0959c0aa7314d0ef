"""A small site: what stops its build; predictions and questions on its lab's page, covered, guessed, answered, kept,
forgotten, and whole without a script.
"""

import re
import subprocess
from pathlib import Path

import nbformat
import pytest
import site_in_browser
from site_in_browser import COLOURS, axe, lay_out

ROOT = Path(__file__).resolve().parents[2]
PAGE = "labs/03_guess.html"
REMOTE = "git@github.com:someone/their-course.git"
CELLS = [
    "# A lab to guess in",
    "Before.\n\n**Predict.** How many scores have $n$ words?\n\n- $2n$, two each\n- $n^2$",
    ("print('code in sight')", "the first answer: n^2"),
    "A sentence that gives it away.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
    ("print('second')", "the second output"),
    "**Predict.** Which two?\n\n1. this\n2. that",
    ("print('third')", "this and that"),
    "## Another section\n\nNot covered.",
    ("print('free')", "free output"),
    """## Questions

**1.** Which matrix *asks*?

- `W_key`
- `W_query`, $W_q$
- all three

<details>
<summary>Answer</summary>

1. It answers.
2. Right. A query is $x W_q$.
3. Two of them answer.

More of it.

</details>

**2.** How much? Type a number.

<details><summary>Answer</summary>

**.25** or **a quarter** or **25%**. One of four.

</details>

**3.** What would change your mind?

<details><summary>Answer</summary>

Think.

</details>

## Where to go next

Home.""",
]

GUESS, TYPED = ".predict >> nth=0", ".predict >> nth=1"
IN_SIGHT = """() => [...document.querySelectorAll("main *")].filter(e => !e.children.length && e.checkVisibility()
  && /gives it away|first answer|second output|this and that/.test(e.textContent)).map(e => e.textContent.trim())"""
NO = "That is not it. Try again, or open the answer."
ANSWERS = ["the first answer: n^2", "A sentence that gives it away.", "the second output"]


FAULTY = """# A page that must not be built

![](_static/logo.svg)

<svg viewBox='0 0 1 1'></svg>

![Losses](_static/logo.svg)

<svg viewBox='0 0 1 1' aria-label='A map'></svg>

$\\textcolor{#123456}{Q}$

[lost](nowhere.md)
"""
COMPLAINTS = [
    "no alternative text",
    "<svg> without aria-label",
    "the words 'Losses'; say in a sentence",
    "<svg> has the words 'A map'; say in a sentence",
    "#123456, which is no role",
    "nowhere.md",
]


def cell(given: str | tuple[str, str]) -> nbformat.NotebookNode:
    if isinstance(given, str):
        return nbformat.v4.new_markdown_cell(given)
    code, printed = given
    output = nbformat.v4.new_output("stream", name="stdout", text=printed)
    return nbformat.v4.new_code_cell(code, outputs=[output], execution_count=1)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The build of a small site: one lab with predictions and questions, the page that forgets, and one with faults."""
    folder, lab = tmp_path_factory.mktemp("course"), PAGE.removesuffix(".html")
    lay_out(folder, ["book/how_to_use.md"])
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, "remote", "add", "origin", REMOTE], check=True)
    page = folder / "book/how_to_use.md"
    page.write_text(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", page.read_text("utf-8")), "utf-8")  # pages that are not here
    (folder / "book/faulty.md").write_text(FAULTY)
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: book/how_to_use\nparts:\n  - caption: Labs\n    chapters:\n"
        f"      - file: {lab}.ipynb\n      - file: book/faulty\n"
    )
    language = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    (folder / "labs").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=[*map(cell, CELLS)], metadata=language), folder / f"{lab}.ipynb")
    return site_in_browser.build(folder), folder / "_build/html"


@pytest.fixture(scope="module")
def site(built):
    """The address of the small site."""
    with site_in_browser.served(built[1]) as address:
        yield address


@pytest.fixture
def lab(visit, site):
    """The lab as a reader meets it; afterwards nothing must have gone wrong."""
    page = visit(f"{site}/{PAGE}", covered=True)
    yield page
    assert page.faults == []


def test_what_would_fail_a_reader_stops_the_build_and_nothing_else_does(built):
    warned = [line for line in built[0].stdout.splitlines() if "WARNING" in line]
    assert built[0].returncode != 0 and len(warned) == len(COMPLAINTS)
    assert [complaint for complaint in COMPLAINTS if not any(complaint in line for line in warned)] == []
    assert [line for line in warned if "faulty" not in line] == []


def test_where_the_settings_name_no_address_the_buttons_lead_to_the_remote(lab):
    link = lab.get_by_role("link", name="Open in Colab").get_attribute("href")
    assert link == "https://colab.research.google.com/github/someone/their-course/blob/main/labs/03_guess.ipynb"
    canonical = lab.locator("link[rel=canonical]").get_attribute("href")
    assert canonical == "https://someone.github.io/their-course/labs/03_guess.html"
    assert "no address yet" not in lab.content()


# --- predictions ---------------------------------------------------------------------------------------------------


def test_a_heading_is_read_out_without_its_link(lab):
    assert lab.get_by_role("heading", name="Another section", exact=True).count() == 1
    assert lab.get_by_role("link", name="Link to this heading").count() == 0


def test_what_answers_a_prediction_is_covered_and_code_and_other_sections_are_not(lab):
    assert lab.evaluate(IN_SIGHT) == []
    assert [code.is_visible() for code in lab.locator(".cell_input").all()] == [True] * 4
    assert lab.get_by_text("Not covered.").is_visible() and lab.get_by_text("free output").is_visible()
    assert not lab.locator(".answer").get_by_role("table").count()  # nor does a screen reader meet it


def test_a_choice_uncovers_its_own_answers_stands_beside_them_and_is_remembered(lab):
    group = lab.get_by_role("group", name="Predict. How many scores")
    group.get_by_role("radio").nth(1).check()
    assert lab.evaluate(IN_SIGHT) == []  # choosing is not yet saying so
    group.get_by_role("radio").nth(1).press("Enter")
    for _ in range(2):
        assert lab.evaluate(IN_SIGHT) == ANSWERS
        line = lab.locator(".guess")
        assert line.text_content().startswith("Your guess: n2 Was it right?")
        assert line.evaluate("e => e.nextElementSibling.textContent.includes('the first answer')")
        assert lab.locator(".predict li.chosen").count() == 1 and not lab.locator(GUESS).get_by_role("button").count()
        lab.reload()


def test_at_the_end_stands_how_often_the_reader_was_right_until_it_is_deleted(lab):
    score = lab.locator(".score")
    assert not score.is_visible()
    lab.get_by_role("radio").first.check()
    lab.get_by_role("button", name="This is my guess").first.click()
    assert not score.is_visible(), "only the reader can say whether the guess was right"
    lab.get_by_role("button", name="No").click()
    lab.locator(TYPED).get_by_role("textbox").fill("this")
    lab.keyboard.press("Enter")
    lab.get_by_role("button", name="Yes").last.click()
    for place in (0, 1):  # the second try is right, and counts as wrong
        lab.get_by_role("group", name="1. Which matrix asks?").get_by_role("radio").nth(place).check()
        lab.locator(".quiz >> nth=0").get_by_role("button").click()
    for typed in ("a quarter", "7", "8"):  # the first try is right
        lab.get_by_role("textbox", name="Your answer").fill(typed)
        lab.keyboard.press("Enter")
    for _ in range(2):
        assert score.inner_text().startswith(
            "In this lab: 1 of 2 guesses right, 1 of 2 questions right at the first try."
        )
        assert lab.locator(".judge [aria-pressed=true]").all_inner_texts() == ["No", "Yes"]
        lab.reload()
    lab.evaluate("localStorage.answers = JSON.stringify({...JSON.parse(localStorage.answers), 'quiz-other': [0]})")
    with lab.expect_navigation():
        score.get_by_role("button", name="Delete it").click()
    assert lab.evaluate("localStorage.answers") == '{"quiz-other":[0]}', "another lab's answers stay"
    assert lab.evaluate(IN_SIGHT) == [] and not score.is_visible()


def test_the_focus_goes_to_the_guess_which_is_read_out_and_the_answer_follows(lab):
    lab.get_by_role("radio").first.focus()
    lab.keyboard.press("Space")
    for key in ("Tab", "Enter"):
        lab.keyboard.press(key)
    assert lab.evaluate("document.activeElement.className") == "guess"
    assert lab.locator(".guess").bounding_box()["y"] < 900
    lab.keyboard.press("Tab")
    follows = "document.querySelector('.guess').compareDocumentPosition(document.activeElement) & 4"
    assert lab.evaluate(follows)


def test_a_guess_is_typed_and_an_empty_one_is_none(lab):
    box = lab.locator(TYPED)
    for empty in ("", "   "):
        box.get_by_role("textbox", name="Your guess").fill(empty)
        lab.keyboard.press("Enter")
        assert lab.evaluate(IN_SIGHT) == []
    hostile = "<img src=x onerror=alert(1)> \u202eא"
    box.get_by_role("textbox").fill(hostile)
    lab.keyboard.press("Enter")
    lab.reload()
    assert lab.evaluate(IN_SIGHT) == ["this and that"] and lab.locator("img[src=x]").count() == 0
    assert lab.locator(".guess").text_content().startswith(f"Your guess: {hostile} Was")


def test_who_does_not_guess_presses_show_me_and_one_button_forgets_it(lab, site):
    lab.get_by_role("button", name="Show me").first.click()
    assert lab.evaluate(IN_SIGHT) == ANSWERS and lab.locator(".guess").inner_text() == "Shown without a guess."
    lab.reload()
    assert lab.evaluate(IN_SIGHT) == ANSWERS
    lab.goto(f"{site}/book/how_to_use.html")
    lab.get_by_role("button", name="Forget all of it").click()
    lab.goto(f"{site}/{PAGE}")
    assert lab.evaluate(IN_SIGHT) == []


@pytest.mark.parametrize("how", ["no scripts at all", "the script does not come", "on paper"])
def test_without_the_script_and_on_paper_all_can_be_read_and_no_form_is_left(visit, site, how):
    page = visit(f"{site}/{PAGE}", scripts=how != "no scripts at all", covered=True)
    if how == "the script does not come":
        page.route("**/answers.js", lambda route: route.abort())
        page.reload()
    page.emulate_media(media="print" if how == "on paper" else "screen")
    assert page.evaluate(IN_SIGHT) == [*ANSWERS, "this and that"] and page.get_by_text("two each").is_visible()
    assert page.locator("main form").locator("button, input").locator("visible=true").count() == 0


# --- questions -----------------------------------------------------------------------------------------------------


def test_each_choice_gets_its_own_reason_and_what_was_tried_is_remembered(lab):
    group = lab.get_by_role("group", name="1. Which matrix asks?")
    for place, reason in ((0, "Wrong. It answers."), (1, "Right. A query is")):
        group.get_by_role("radio").nth(place).check()
        group.get_by_role("radio").nth(place).press("Enter")
        assert lab.locator("#said").text_content().strip().startswith(reason)
    assert lab.locator(".quiz details[open]").count() == 0
    for _ in range(2):
        wrong, right = (note.inner_text().strip() for note in group.locator(".reason").all())
        assert wrong.split() == ["Wrong.", "It", "answers."]
        assert right.startswith("Right.") and right.endswith("More of it.")
        assert group.locator("li").nth(2).locator(".reason").count() == 0
        lab.reload()


def test_a_typed_answer_counts_when_it_rounds_to_the_accepted_one(lab):
    field = lab.get_by_role("group", name="2. How much?").get_by_role("textbox", name="Your answer")
    right = [".25", "0,25", " 0.253 ", "A  quarter", "25 %"]
    for typed in [*right, "0.26", "25", ".", "-.25"]:
        lab.evaluate("document.querySelector('.reason')?.remove()")
        field.fill(typed)
        field.press("Enter")
        note = " ".join(lab.locator(".reason").inner_text().split())
        assert note == ("Right. .25 or a quarter or 25%. One of four." if typed in right else NO), typed
        assert lab.locator(".reason.right").count() == (typed in right)


def test_an_open_question_keeps_its_fold_and_has_no_form(lab):
    assert lab.locator(".quiz").count() == 3 and lab.locator(".quiz form").count() == 2
    lab.get_by_text("Answer", exact=True).nth(2).click()
    assert lab.get_by_text("Think.").is_visible()


# --- both ----------------------------------------------------------------------------------------------------------


def test_where_the_browser_keeps_nothing_one_can_guess_and_answer_all_the_same(lab):
    lab.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked'); } })")
    lab.reload()
    lab.get_by_role("button", name="Show me").first.click()
    assert lab.evaluate(IN_SIGHT) == ANSWERS
    lab.locator(".quiz").get_by_role("radio").first.press("Space")
    lab.locator(".quiz").get_by_role("button").first.click()
    assert lab.locator(".reason").text_content().strip() == "Wrong. It answers."


def test_what_was_kept_and_makes_no_sense_is_as_good_as_nothing(lab):
    predict, quiz = (lab.locator(box).get_attribute("id") for box in (GUESS, ".quiz >> nth=0"))
    for kept in ("no JSON", "null", "7", '"text"', "[]", f'{{"{predict}": 7, "{quiz}": 3}}', f'{{"{quiz}": [9]}}'):
        lab.evaluate("kept => localStorage.setItem('answers', kept)", kept)
        lab.reload()
        lab.locator(".quiz").get_by_role("radio").first.check()
        lab.locator(".quiz").get_by_role("button").first.click()
        assert lab.locator(".reason").count() == 1 and lab.faults == [], kept
    lab.evaluate("localStorage.setItem('theme', 'of another site')")
    lab.reload()
    assert lab.evaluate("document.documentElement.dataset.theme") == "light"


@pytest.mark.parametrize(("theme", "width", "options"), [("dark", 320, {}), ("light", 1280, {"runOnly": COLOURS})])
def test_axe_finds_nothing_before_and_after_and_nothing_scrolls_sideways(visit, site, theme, width, options):
    page = visit(f"{site}/{PAGE}", theme, width, covered=True)
    assert axe(page, **options) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(GUESS).get_by_role("radio").first.check()
    page.locator(GUESS).get_by_role("button").first.click()
    for place in (0, 1):
        page.locator(".quiz").get_by_role("radio").nth(place).check()
        page.locator(".quiz").get_by_role("button").first.click()
    page.locator(".predict").get_by_role("textbox").fill("word " * 40)
    page.keyboard.press("Enter")
    assert axe(page, **options) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.faults == []
