"""The page "Remember" of a small site: what it asks and when, what it stores, and how it is printed."""

from pathlib import Path

import pytest
import site_in_browser
from site_in_browser import axe, small_site

PAGE, LABS = "book/remember.html", ("labs/keys/keys", "labs/queries/queries")
LESSON = """# {title}

## Meadows

Grass, cows and a fence.

## Lighthouses

A lamp on a rock, and ships that pass it.

## Questions

{questions}"""
QUESTION = """**{n}.** Which lamp shines in {title}, number {n}? See [a paper](https://example.org/{n}).

- The red one.
- The green one.

<details><summary>Answer</summary>

1. It is out.
2. Right. It is green.

</details>"""
OPEN = "**5.** And what do you think?\n\n<details><summary>Answer</summary>\n\nThink.\n\n</details>"
STORED = "JSON.parse(localStorage.remember ?? '{}')"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of a site with two labs, four questions that can be asked in each."""
    folder, labs = tmp_path_factory.mktemp("course"), {}
    for lab in LABS:
        name = Path(lab).name
        title = name.title()
        asked = "\n\n".join([*(QUESTION.format(n=n, title=title) for n in range(1, 5)), OPEN])
        labs[name] = [LESSON.format(title=title, questions=asked)]
    built = small_site(folder, ["book/remember.md", "book/how_to_use.md"], labs)
    assert built.returncode == 0, built.stdout
    with site_in_browser.served(Path(folder, "_build/html")) as address:
        yield address


@pytest.fixture
def page(visit, site):
    """The page on the first of June 2026, of a reader who has read the second lab."""
    page = visit(f"{site}/{PAGE}", covered=True)
    page.clock.set_fixed_time("2026-06-01T12:00:00")
    page.evaluate(f"localStorage.setItem('labs read', JSON.stringify(['{LABS[1]}.html']))")
    page.reload()
    yield page
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith((site, "blob:"))] == []


def answer(page, which, place):
    """Answer a question, by its place on the page or by words of it."""
    boxes = page.locator("#remember-questions .quiz")
    box = boxes.nth(which) if isinstance(which, int) else boxes.filter(has_text=which)
    box.get_by_role("radio").nth(place).check()
    box.get_by_role("button", name="Check").click()
    return box


def test_it_asks_from_the_labs_that_were_read_and_a_right_answer_comes_back_later_than_a_wrong_one(page):
    assert page.locator("#remember-now").inner_text() == "4 questions are due, from the labs that you have read."
    page.get_by_role("button", name="Ask me 4").click()
    assert page.locator("#remember-questions .from").all_inner_texts() == ["Queries"] * 4
    assert "Right" in answer(page, 0, 1).inner_text()
    wrong = answer(page, 1, 0)
    link = wrong.get_by_role("link", name="Lighthouses")
    assert link.get_attribute("href") == "../labs/queries/queries.html#lighthouses"
    answer(page, 1, 1)  # a second try changes nothing
    boxes = page.evaluate(STORED)
    assert [*boxes.values()] == [{"box": 1, "due": "2026-06-02"}] * 2
    seen = []
    for now in ("06-02", "06-04", "06-09", "06-17", "07-01"):
        page.clock.set_fixed_time(f"2026-{now}T12:00:00")
        page.reload()
        page.locator("#remember-ask").click()
        answer(page, "number 1?", 1)
        answer(page, "number 2?", 0)
        seen.append([(kept["box"], kept["due"][5:]) for kept in page.evaluate(STORED).values()])
    first, second = ([each[n] for each in seen] for n in (0, 1))
    assert first == [(2, "06-04"), (3, "06-09"), (4, "06-17"), (5, "07-01"), (6, "07-15")], "and then it is done"
    assert [box for box, _ in second] == [1] * 5
    drawn = page.locator("#remember-counts li").all_inner_texts()
    assert [text.split()[0] for text in drawn] == ["2", "1", "0", "0", "0", "0", "1"], "new, the five boxes, done"
    assert drawn[1].endswith("box 1, 1 day") and drawn[5].endswith("box 5, 14 days")


def test_a_round_says_what_it_came_to_and_what_two_tabs_store_is_kept_together(page, visit, site):
    other = visit(f"{site}/{PAGE}", covered=True)
    other.clock.set_fixed_time("2026-06-01T12:00:00")
    for each in (page, other):
        each.locator("#remember-ask").click()
    answer(page, "number 1?", 1)
    answer(other, "number 2?", 1)
    assert len(page.evaluate(STORED)) == 2
    page.wait_for_function("document.querySelector('#remember-now').innerText.startsWith('2 questions')")
    for number, place in ((2, 1), (3, 0), (4, 1)):
        assert page.locator("#remember-round").inner_text() == ""
        answer(page, f"number {number}?", place)
    assert page.locator("#remember-round").inner_text() == (
        "3 of 4 right at the first try; the first of them comes again on 2026-06-02."
    )


def test_without_a_lab_that_was_read_or_without_storage_it_still_asks_five(page):
    page.evaluate("localStorage.clear()")
    for blocked in (False, True):
        if blocked:
            page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw Error('blocked'); } })")
        page.reload()
        assert "from all labs" in page.locator("#remember-now").inner_text()
        page.get_by_role("button", name="Ask me 5").click()
        titles = page.locator("#remember-questions .from").all_inner_texts()
        assert titles == ["Keys", "Queries", "Keys", "Queries", "Keys"]
        answer(page, 2, 1)
        assert page.locator("#remember-now").inner_text().startswith("7 questions are due")


def test_all_it_keeps_is_in_one_place_of_this_browser_s_storage_which_is_forgotten_with_the_rest(page, site):
    page.locator("#remember-ask").click()
    answer(page, 0, 1)
    assert sorted(page.evaluate("Object.keys(localStorage)")) == ["labs read", "remember"]
    page.goto(f"{site}/book/how_to_use.html")
    page.get_by_role("button", name="Forget all of it").click()
    assert page.evaluate("localStorage.length") == 2, "it asks once"
    page.get_by_role("button", name="Press again").click()
    page.get_by_role("button", name="Forgotten").wait_for()
    assert page.evaluate("localStorage.length") == 0


def test_the_questions_can_be_printed_with_their_answers_and_without_buttons(page):
    page.evaluate("globalThis.print = () => { globalThis.printed = true; }")
    button = page.get_by_role("button", name="Print these questions")
    assert not button.is_visible(), "nothing was asked yet"
    page.locator("#remember-ask").click()
    button.click()
    assert page.evaluate("printed")
    page.emulate_media(media="print")
    visible = "(all) => all.filter((e) => e.checkVisibility({ contentVisibilityAuto: true })).length"
    assert page.get_by_text("Which lamp").count() == 4
    assert page.locator(".quiz details ol").evaluate_all(visible) == 4, "an answer is folded"
    assert page.locator("#remember-page :is(button, input)").locator("visible=true").count() == 0


def test_what_is_stored_may_make_no_sense(page):
    for stored in ("no JSON", "7", '{"quiz-00000000": {"box": 9, "due": "2026-06-01"}}'):
        page.evaluate("stored => localStorage.setItem('remember', stored)", stored)
        page.reload()
        assert page.locator("#remember-now").inner_text().startswith("4 questions are due")


def test_axe_finds_nothing_and_nothing_scrolls_sideways(visit, site):
    page = visit(f"{site}/{PAGE}", "dark", 320, covered=True)
    page.locator("#remember-ask").click()
    answer(page, 0, 0)
    assert axe(page) == [] and page.evaluate("document.documentElement.scrollWidth") == 320
