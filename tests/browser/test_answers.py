"""A small site: what stops its build; predictions and questions, covered, guessed, answered, stored, deleted, and whole
without a script; lines to put in order by keyboard.
"""

import json
from pathlib import Path

import pytest
import site_in_browser
from site_in_browser import COLOURS, axe, small_site

PAGE = "labs/guess/guess.html"
CELLS = [
    "# A lab to guess in",
    "Before.\n\n**Predict.** How many scores have $n$ words?\n\n- $2n$, two each\n- $n^2$",
    ("print('code in sight')", {"right": 2}, "the first answer: n^2"),
    "A sentence that gives it away.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
    ("print('second')", {}, "the second output"),
    "**Predict.** Which two?\n\n1. this\n2. that",
    ("print('third')", {}, "this and that"),
    "## Another section\n\nNot covered.",
    ("print('free')", {}, "free output"),
    """## Questions

**1.** Which matrix *asks*?

- `W_key`
- `W_query`, $W_q$

<details>
<summary>Answer</summary>

1. It answers.
2. Right. A query is $x W_q$.

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
IN_SIGHT = """() => [...document.querySelectorAll("main *")].filter(e => !e.children.length && e.checkVisibility()
  && /gives it away|first answer|second output|this and that/.test(e.textContent)).map(e => e.textContent.trim())"""
ANSWERS = ["the first answer: n^2", "A sentence that gives it away.", "the second output"]
FAULTS = {  # what must stop the build, and a part of what it says
    "![](_static/logo.svg)": "no alternative text",
    "![Losses](_static/logo.svg)": "'Losses'",
    "$\\textcolor{#123456}{Q}$": "#123456",
    "[lost](nowhere.md)": "nowhere.md",
}


SOURCE = '''def attend(queries, keys, values):
    """The output."""
    scores = queries @ keys.T  # (tokens, tokens)
    weights = scores.softmax(dim=-1)
    return weights @ values'''
TO_ORDER = [
    "# Another lab\n\n## A section\n\n### Exercise 4.1 (build): attend\n\nWrite it.",
    (SOURCE, {"exercise": "attend"}, ""),
    ("attend = checks.attend.use(attend)", {}, "Correct in all 4 cases."),
    "<details><summary>Hint</summary>\n\nThree lines.\n\n</details>",
]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The build of a small site: two labs, the page that deletes, and one with faults."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "book").mkdir()
    (folder / "book/faulty.md").write_text("# A page that must not be built\n\n" + "\n\n".join(FAULTS))
    labs = {"guess": CELLS, "order": TO_ORDER}
    return small_site(folder, ["book/how_to_use.md"], labs), Path(folder, "_build/html")


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
    assert built[0].returncode != 0 and len(warned) == len(FAULTS)
    assert all("faulty" in line for line in warned)
    assert [part for part in FAULTS.values() if not any(part in line for line in warned)] == []


def test_where_the_settings_name_no_address_the_page_leads_to_the_remote(lab):
    links = [link.get_attribute("href") for link in lab.locator(".launch a").all()[:2]]
    colab = "https://colab.research.google.com/github/someone/their-course/blob/main"
    assert links == [f"{colab}/labs/guess/guess_student.ipynb", f"{colab}/labs/guess/guess.ipynb"], (
        "blanks first, then results"
    )
    canonical = lab.locator("link[rel=canonical]").get_attribute("href")
    assert canonical == "https://someone.github.io/their-course/labs/guess/guess.html"


def test_a_choice_uncovers_its_own_answers_and_is_judged_counted_stored_and_deleted(lab):
    assert lab.evaluate(IN_SIGHT) == []
    # Code after text that is covered is covered with it.
    assert [code.is_visible() for code in lab.locator(".cell_input").all()] == [True, False, True, True]
    assert lab.get_by_text("Not covered.").is_visible() and lab.get_by_text("free output").is_visible()
    assert not lab.locator(".answer").get_by_role("table").count(), "a screen reader meets what is covered"
    score = lab.locator(".score")
    choice = lab.get_by_role("group", name="Predict. How many scores").get_by_role("radio").nth(1)
    choice.check()
    assert lab.evaluate(IN_SIGHT) == [], "choosing is not yet saying so"
    choice.press("Enter")
    assert lab.evaluate("document.activeElement.className") == "guess"
    for _ in range(2):
        assert lab.evaluate(IN_SIGHT) == ANSWERS
        assert lab.locator(".guess").text_content() == "Your guess: n2 Right."
        assert score.inner_text().startswith("On this page: 1 of 1 guesses right.")
        lab.reload()
    lab.evaluate("localStorage.answers = JSON.stringify({...JSON.parse(localStorage.answers), 'quiz-other': [0]})")
    with lab.expect_navigation():
        score.get_by_role("button", name="Delete it").click()
    assert lab.evaluate("localStorage.answers") == '{"quiz-other":[0]}', "another lab's answers stay"
    assert lab.evaluate(IN_SIGHT) == []


def test_a_wrong_guess_and_none_hear_which_choice_is_right(lab):
    lab.get_by_role("group", name="Predict. How many scores").get_by_role("radio").nth(0).check()
    lab.keyboard.press("Enter")
    assert lab.locator(".guess").text_content() == "Your guess: 2n, two each It is: n2"
    assert lab.locator(".score").inner_text().startswith("On this page: 0 of 1 guesses right.")
    lab.get_by_role("button", name="Delete it").click()
    lab.get_by_role("button", name="Show me").first.click()
    assert lab.locator(".guess").text_content() == "Shown without a guess. It is: n2"


def test_a_guess_is_typed_or_left_out_and_one_button_deletes_all_that_is_stored(lab, site):
    typed = lab.get_by_role("textbox", name="Your guess")
    hostile = "<img src=x onerror=alert(1)> \u202eא"
    for text, seen in (("   ", []), (hostile, ["this and that"])):
        typed.fill(text)
        lab.keyboard.press("Enter")
        assert lab.evaluate(IN_SIGHT) == seen
    assert lab.locator(".guess").text_content().startswith(f"Your guess: {hostile} Was")
    assert lab.locator("img[src=x]").count() == 0
    lab.get_by_role("button", name="Show me").click()
    lab.reload()
    assert lab.evaluate(IN_SIGHT) == [*ANSWERS, "this and that"]
    lab.goto(f"{site}/book/how_to_use.html")
    lab.evaluate("localStorage.setItem('of another site', 'stored')")
    lab.get_by_role("button", name="Forget all of it").click()
    lab.get_by_role("button", name="Press again").click()
    lab.get_by_role("button", name="Forgotten").wait_for()
    assert lab.evaluate("Object.keys(localStorage)") == ["of another site"]
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


def test_each_choice_gets_its_own_reason_and_a_number_counts_when_it_rounds_to_the_accepted_one(lab):
    group = lab.get_by_role("group", name="1. Which matrix asks?")
    for place, reason in ((0, "Wrong. It answers."), (1, "Right. A query is")):
        group.get_by_role("radio").nth(place).press("Space")
        group.get_by_role("radio").nth(place).press("Enter")
        assert lab.locator("#said").text_content().strip().startswith(reason)
    lab.reload()
    assert group.locator(".reason").count() == 2 and "More of it." in group.locator(".reason.right").inner_text()
    field = lab.get_by_role("group", name="2. How much?").get_by_role("textbox", name="Your answer")
    right = [".25", "0,25", " 0.253 ", "A  quarter", "25 %"]
    for typed in [*right, "0.26", "25", ".", "-.25"]:
        field.fill(typed)
        field.press("Enter")
        assert lab.locator(".quiz").nth(1).locator(".reason.right").count() == (typed in right), typed
    assert "1 of 2 questions right at the first try" in lab.locator(".score").inner_text()
    assert lab.locator(".quiz form").count() == 2, "an open question has no form"


def test_what_is_stored_may_make_no_sense_and_a_browser_may_store_nothing(lab):
    predict, quiz = lab.locator(".predict").first.get_attribute("id"), lab.locator(".quiz").first.get_attribute("id")
    for stored in ("no JSON", "null", "7", "[]", f'{{"{predict}": 7, "{quiz}": 3}}', f'{{"{quiz}": [9]}}', None):
        if stored is None:
            lab.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw Error('blocked'); } })")
        else:
            lab.evaluate("stored => localStorage.setItem('answers', stored)", stored)
        lab.reload()
        lab.locator(".quiz").get_by_role("radio").first.check()
        lab.locator(".quiz").get_by_role("button").first.click()
        assert lab.locator(".reason").count() == 1 and lab.faults == [], stored
    lab.get_by_role("button", name="Show me").first.click()
    assert lab.evaluate(IN_SIGHT) == ANSWERS


@pytest.mark.parametrize(("theme", "width", "options"), [("dark", 320, {}), ("light", 1280, {"runOnly": COLOURS})])
def test_axe_finds_nothing_before_and_after_and_nothing_scrolls_sideways(visit, site, theme, width, options):
    page = visit(f"{site}/{PAGE}", theme, width, covered=True)
    assert axe(page, **options) == []
    page.get_by_role("radio").first.check()
    page.get_by_role("button", name="This is my guess").first.click()
    for place in (0, 1):
        page.locator(".quiz").get_by_role("radio").nth(place).check()
        page.locator(".quiz").get_by_role("button").first.click()
    page.locator(".predict").get_by_role("textbox").fill("word " * 40)
    page.keyboard.press("Enter")
    assert axe(page, **options) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.faults == []


# --- lines to put in order -------------------------------------------------------------------------------------------


@pytest.fixture
def fold(visit, site):
    """The exercise, open as it comes; afterwards nothing must have gone wrong."""
    page = visit(f"{site}/labs/order/order.html", "dark", 320)
    yield page.locator(".ordering")
    assert page.faults == [] and axe(page) == [] and page.evaluate("document.documentElement.scrollWidth") == 320


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


def test_an_exercise_leads_to_its_cell_in_colab_and_no_check_is_left_that_cannot_run(visit, site, built):
    page = visit(f"{site}/labs/order/order.html")
    link = page.get_by_role("link", name="in Colab", exact=True).get_attribute("href")
    notebook = json.loads((built[1] / "_sources/labs/order/order.ipynb").read_text())
    (cell,) = [each["id"] for each in notebook["cells"] if "exercise" in each["metadata"]]
    colab = "https://colab.research.google.com/github/someone/their-course/blob/main"
    assert link == f"{colab}/labs/order/order_student.ipynb#scrollTo={cell}"
    text = page.locator("main").inner_text()
    assert "checks.attend" not in text and "Correct in all" not in text
    elsewhere = page.get_by_role("link", name="elsewhere").get_attribute("href")
    page.goto(f"{site}/labs/order/{elsewhere}")
    assert page.locator("#do-the-exercises").count() == 1


def test_without_a_script_there_is_no_such_version(visit, site):
    page = visit(f"{site}/labs/order/order.html", scripts=False)
    assert not page.locator(".ordering").is_visible() and page.get_by_text("Three lines.").count() == 1
