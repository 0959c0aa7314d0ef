"""The search answers learners' questions: questions.csv has each as typed, and the section that should come first.

The thread, where there is one, is where somebody asked it in public; the others were typed by readers of this site.
"""

import csv
from pathlib import Path

import pytest
from test_site import PAGES

PAGE_NAMES = {Path(name).name for name in PAGES}
QUESTIONS = list(csv.DictReader(Path(__file__).with_name("questions.csv").open(encoding="utf-8")))
FIRST = """query => { Search.performSearch(query);
  const link = document.querySelector("ul.search > li > a")?.getAttribute("href") ?? "nothing";
  return link.replace(/:~:.*/, "").replace(/^.*\\/(\\w+)\\.html/, "$1"); }"""


@pytest.fixture(scope="module")
def page(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/search.html?q=attention")
    yield page
    page.close()


@pytest.fixture
def search(page):
    return lambda query: page.evaluate(FIRST, query)


def test_of_60_questions_that_learners_ask_54_find_their_section_first(search):
    """Where a fork leaves labs out, of those that its site answers nine tenths."""
    here = [row for row in QUESTIONS if any(page == row["sections"].split("#")[0] for page in PAGE_NAMES)]
    found = [(search(row["question"]), row) for row in here]
    missed = [f"{row['question']}: {first}" for first, row in found if first not in row["sections"].split()]
    assert len(QUESTIONS) == 60
    assert len(missed) <= len(here) / 10, f"{len(here) - len(missed)} of {len(here)}; first instead:\n" + "\n".join(
        missed
    )


def test_a_word_that_the_course_lacks_is_not_taken_for_another_but_answered_with_what_is_left_out(search, page):
    assert search("quit smoking") != search("quiz")
    for query in ("kubernetes", "phlogiston attention"):
        search(query)
        summary = page.locator(".search-summary")
        assert f"“{query.split()[0]}”" in summary.inner_text()
        assert "/what_we_leave_out.html" in summary.get_by_role("link").get_attribute("href")
    assert search("phlogiston attention") == search("attention"), "the nearest section"


def test_the_list_of_all_works_is_last(search, page):
    for query in ("attention", "language models", "Vaswani"):
        search(query)
        links = page.locator("ul.search > li > a").evaluate_all("links => links.map((a) => a.getAttribute('href'))")
        assert [place for place, link in enumerate(links) if "#all-works" in link] in ([], [len(links) - 1]), query
