"""The search answers learners' questions: questions.csv has each as typed, and the section that should come first.

The thread, where there is one, is where somebody asked it in public; the others were typed by readers of this site.
"""

import csv
from pathlib import Path

import pytest

QUESTIONS = list(csv.DictReader(Path(__file__).with_name("questions.csv").open(encoding="utf-8")))
FIRST = """query => { Search.performSearch(query);
  const link = document.querySelector("ul.search > li > a")?.getAttribute("href") ?? "nothing";
  return link.replace(/:~:.*/, "").replace(/^.*\\/(\\w+)\\.html/, "$1"); }"""


@pytest.fixture(scope="module")
def search(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/search.html")
    yield lambda query: page.evaluate(FIRST, query)
    page.close()


def test_of_60_questions_that_learners_ask_54_find_their_section_first(search):
    found = [(search(row["question"]), row) for row in QUESTIONS]
    missed = [f"{row['question']}: {first}" for first, row in found if first not in row["sections"].split()]
    assert len(found) == 60
    assert len(missed) <= 6, f"{60 - len(missed)} of 60; first instead:\n" + "\n".join(missed)
