"""The search: what its index holds, and in which order sections are found."""

import json
import re

import pytest
from site_in_browser import ROOT, SITE

# Page, its title, and its sections: id, title, prose, code, the terms introduced there.
INDEX = [
    ["book/notation", "Notation", [["a", "Other words", "The mask. KV cache, KV cache, KV cache.", "", []]]],
    [
        "labs/01_one",
        "One",
        [
            ["b", "First", "Asking for something. A cache.", "masked_softmax(x) masked_softmax(y) class Residual:", []],
            ["c", "Second", "A softmax ends it. What a mask hides, and two masks.", "", []],
            ["d", "Third", "Then a residual connection.", "kv_cache = None", []],
        ],
    ],
    [
        "labs/02_two",
        "Two",
        [
            ["e", "Fourth", "It needs a KV cache.", "", ["kv cache"]],
            ["f", "Questions", "Why a KV cache? A KV cache!", "", []],
        ],
    ],
]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("masking", "ca"),  # another form of the word, and not "asking", which differs by a letter; labs come first
        ("masks", "ca"),
        ("softmax", "cb"),  # prose before code
        ("residual", "db"),
        ("kv cache", "efad"),  # first where it is introduced
        ("KV caches", "efa"),
        ("residaul", "db"),  # misspelled
        ("asking", "b"),
    ],
)
def test_sections_are_found_by_other_forms_of_a_word_and_what_explains_it_comes_first(visit, query, wanted):
    page = visit("about:blank")
    page.set_content('<html data-content_root="./"><div id="search-results"></div><p id="said"></p>')
    page.evaluate(f"globalThis.courseIndex = {json.dumps(INDEX)}")
    page.add_script_tag(path=ROOT / "book/_static/search.js")
    page.evaluate("query => Search.performSearch(query)", query)
    links = page.locator("ul.search a").evaluate_all("links => links.map((link) => link.href)")
    assert "".join(link[-1] for link in links) == wanted
    assert page.locator("ul.search li").filter(has_text="introduced here").count() == (wanted[:1] == "e")


def test_the_index_knows_where_terms_are_introduced_and_no_key_or_label_of_a_reference():
    text = (SITE / "searchindex.js").read_text("utf-8")
    pages = json.loads(text[text.index("[") : -2])
    sections = [(name, *section) for name, _, sections in pages for section in sections]
    terms = [term for *_, terms in sections for term in terms]
    assert terms and len(terms) == len(set(terms)), "a term is introduced once"
    assert all(name.startswith("labs/") for name, *_, terms in sections if terms)
    keys = re.findall(r"(?m)^@\w+\{([^,]+),", (ROOT / "book/references.bib").read_text("utf-8"))
    words = set(re.findall(r"\w+", text))
    assert keys and not words & set(keys)
    assert not any(re.search(r"\. 1 \w", prose) for _, name, _, prose, *_ in sections if name == "all-works"), "a label"
    assert any("<PAD>" in prose for *_, prose, _, _ in sections) and not any(
        "<div" in prose for *_, prose, _, _ in sections
    )
    assert any("import torch" in code and "import torch" not in prose for *_, prose, code, _ in sections)
