"""The page "Try the model": its file of weights, and what it answers in a browser, against PyTorch on the same file."""

import json
import random

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from site_in_browser import settle, too_small, visits

from experiments import live_page_models, table_runs
from shared import data as course_data

FILE = live_page_models.FILE
PAGE = "book/try_the_model"
SIDE_BY_SIDE = ("mean pooling", "attention pooling", "self-attention")
REVIEWS = 60


@pytest.fixture(scope="module")
def data():
    return course_data.load_prepared(course_data.Settings())


@pytest.fixture(scope="module")
def nets(data):
    """The exported models in PyTorch, as the file defines them: whole numbers times a step."""
    stored, nets = load_file(FILE), {}
    for name in live_page_models.MODELS:
        net = table_runs.MODELS[name](len(data.vocabulary), data.vocabulary.id("<MARK>"))
        tensors = {key.removeprefix(f"{name}."): stored[key] for key in stored if key.startswith(f"{name}.")}
        nets[name] = live_page_models.unpacked(net, tensors).eval()
    return nets


# ---------------------------------------------------------------------------------------------------- in a browser


def load(page):
    page.locator("#try-load").press("Enter")
    page.wait_for_selector("#try-cards [data-name=self-attention] .verdict strong")
    assert page.evaluate("document.activeElement.id") == "try-slide", "the button is gone, and the focus with it"
    return page


@pytest.fixture
def page(visit, address):
    """The page with its models loaded; it must have complained of nothing in the end."""
    page = load(visit(f"{address}/{PAGE}.html"))
    yield page
    assert page.faults == []


@pytest.fixture(scope="module")
def functions(browser, address):
    """A page whose own functions answer, with the file of weights read into `file`."""
    with visits(browser) as visit:
        page = visit(f"{address}/{PAGE}.html")
        page.evaluate(
            """async () => { globalThis.file = tryTheModel.read(
                 await (await fetch("../_static/try_the_model.safetensors")).arrayBuffer()); }"""
        )
        yield page


ODD = [
    "It's a NICE film!!! 10/10",
    "a<br/>b <br />c<p class='x'>d</p>e",
    "a < b and c > d, <3 <i>e</i> </ f> <",
    "two <<b>> open <b <i> tags > here",
    "<a\n href='x'\n>over lines</a>\u2028and\u2029other\x85breaks",
    "\u0130stanbul D\u0130D \u0131s\u0131k \u212aelvin \u212b \ufb01ne \u1e9e",  # dotted, dotless, Kelvin, ligature
    "nul\0in\0side \x00 <b\0>c</b\0>",
    "__proto__ constructor toString hasOwnProperty",
]


def test_words_are_cut_as_the_course_cuts_them_and_open_tags_cost_no_time(functions, data):
    draw = random.Random(0)
    pieces = [*"abzAZ<>/!? \n\t'\"=0\0\u0130\u212a\u2028\u00df\U0001f600", "<b", "</b>", "<br />"]
    mixed = ["".join(draw.choices(pieces, k=draw.randrange(40))) for _ in range(3000)]
    texts = [*ODD, *mixed, *course_data.load_reviews().test.texts]
    found = json.loads(functions.evaluate("texts => JSON.stringify(texts.map(tryTheModel.tokenize))", texts))
    for text, words in zip(texts, found, strict=True):
        assert words == course_data.tokenize(text), ascii(text)
    took = "text => { const start = performance.now(); tryTheModel.tokenize(text); return performance.now() - start; }"
    assert functions.evaluate(took, "<a" * 200_000) < 1000, "each open tag is searched to the end of the text"


JUDGE = """([name, asked]) => asked.map(([first, second, markFirst]) => {
    const words = [first, second].map(tryTheModel.tokenize);
    const { logit, positive, weights } = name === "marker query"
      ? tryTheModel.judgeMarked(file, ...words, markFirst) : tryTheModel.judge(file, name, ...words);
    return { logit, positive, weights: Array.from(weights) };
})"""


def assert_agrees(net, examples, answers):
    """The page's answers are those of PyTorch for the first examples, to 1e-4."""
    batch = examples.batch(np.arange(REVIEWS))
    with torch.no_grad():
        logits, weights = net(batch.ids, batch.mask)
    close = {"atol": 1e-4, "rtol": 0}
    torch.testing.assert_close(torch.tensor([answer["logit"] for answer in answers]), logits, **close)
    torch.testing.assert_close(torch.tensor([answer["positive"] for answer in answers]), logits.sigmoid(), **close)
    for row, answer in enumerate(answers):
        torch.testing.assert_close(torch.tensor(answer["weights"]), weights[row, batch.mask[row]], **close)


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_the_page_agrees_with_pytorch_on_test_reviews_alone_and_behind_others(functions, nets, data, name):
    texts = course_data.load_reviews().test.texts
    for examples in (course_data.plain_examples(data.test), course_data.distracted_examples(data.test, seed=5)):
        others = examples.distractor_rows[:REVIEWS]
        asked = [[texts[other] if other >= 0 else "", texts[own]] for own, other in enumerate(others)]
        assert_agrees(nets[name], examples, functions.evaluate(JUDGE, [name, asked]))


def test_the_mark_s_row_agrees_with_pytorch_on_pairs(functions, nets, data):
    texts, vocabulary = course_data.load_reviews().test.texts, data.vocabulary
    mark, separator = vocabulary.id("<MARK>"), vocabulary.id("<SEP>")
    examples = course_data.distracted_examples(data.test, 5, True, mark, separator)
    asked = []
    for own in range(REVIEWS):
        pair = [texts[own], texts[examples.distractor_rows[own]]]
        mark_first = not examples.distractor_first[own]
        asked.append([*(pair if mark_first else pair[::-1]), bool(mark_first)])
    assert {mark_first for _, _, mark_first in asked} == {True, False}
    assert_agrees(nets["marker query"], examples, functions.evaluate(JUDGE, ["marker query", asked]))


# -------------------------------------------------------------------------------------------------- what a reader does


def type_in(page, text):
    """Put a text in and wait until the page has drawn it."""
    page.locator("#try-own").fill(text)
    settle(page)


def test_cards_slider_and_table_say_what_pytorch_says(page, nets, data):
    text = course_data.load_reviews().test.texts[3]
    type_in(page, text)
    page.locator("#try-slide").focus()
    page.keyboard.press("End")
    page.wait_for_function("document.querySelectorAll('#try-cards small').length === 6")
    front = course_data.tokenize(page.locator("#try-front input:checked").get_attribute("data-text"))
    own = course_data.tokenize(text)[:128]
    page.get_by_text("All of it in numbers").click()
    ids = torch.tensor([[data.vocabulary.id(word) for word in [*front, *own]]])
    for place, name in enumerate(SIDE_BY_SIDE):
        with torch.no_grad():
            logit, weights = nets[name](ids, torch.ones_like(ids, dtype=torch.bool))
        positive, share = logit.sigmoid().item(), weights[0, len(front) :].sum().item()
        verdict = page.locator("#try-cards .verdict").nth(place).inner_text()
        sure = max(positive, 1 - positive)
        assert verdict.startswith("positive" if positive > 0.5 else "negative")
        assert ("more than 99%" if sure > 0.99 else f"{100 * sure:.0f}% sure") in verdict
        label = page.locator("#try-cards .share").nth(place).inner_text()
        assert label.startswith(f"{100 * share:.0f}% of its attention is on your review")
        column = page.locator(f"#try-numbers table:first-of-type td:nth-child({3 + place})").all_inner_texts()
        shown = np.array([float(cell.rstrip("%")) for cell in column[: len(ids[0])]])
        assert np.abs(shown - 100 * weights[0].numpy()).max() <= 0.0051


def test_the_marker_turns_the_head_and_the_address_holds_all_that_was_chosen(page):
    share = "() => Number(document.querySelector('#try-marked .share').textContent.match(/^\\d+/)[0])"
    before = page.evaluate(share)
    page.get_by_role("radio", name="the first review").check(force=True)
    page.wait_for_function("document.querySelector('#try-marked .w').textContent === '<MARK>'")
    assert page.evaluate(share) > before + 20, "the query at the marker attends to the marked review"
    page.locator("#try-slide").fill("40")
    page.wait_for_url("**words=40&whose=2&mark=0")
    page.reload()
    load(page)
    assert page.locator("#try-slide").input_value() == "40"
    page.evaluate("location.hash = 'own=A+dull+film&front=1&words=7&mark=1'")
    page.wait_for_function("document.querySelector('#try-slide').ariaValueText.startsWith('7 of')")
    assert page.locator("#try-own").input_value() == "A dull film"
    assert page.get_by_role("radio", name="a love letter").is_checked()


SENTENCES = {
    "10/10 !!! \u05e9\u05dc\u05d5\u05dd \U0001f600": "There is no word in this text.",
    "zxqv blorptag": "The models know none of these words",
    "a wonderful zxqv film, so zxqv": "6 words. 2 unknown to the models (zxqv): the prediction rests on the other 4.",
    "dull " * 10_000: "Read: the first 128 of 10,000 words.",
    "<img src=x onerror=alert(1)> a <b>fine</b> film </textarea>": "3 words.",
}


def test_an_odd_or_hostile_text_is_answered_with_a_sentence_and_stays_text(page):
    pictures = page.locator("img").count()
    for text, sentence in SENTENCES.items():
        type_in(page, text)
        assert page.locator("#try-note").inner_text().startswith(sentence)
        has_prediction = page.locator("#try-cards .verdict").first.is_visible()
        assert has_prediction == ("no word" not in sentence and "none of" not in sentence)
        assert page.locator("img").count() == pictures and page.locator("#try img, #try script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("radio", name="your own").check(force=True)
    page.get_by_label("A text of your own to put before").fill("<b onclick='x'>An awful</b> kettle")
    page.wait_for_function("document.querySelector('#try-slide').max === '3'")
    assert page.locator("#try b[onclick]").count() == 0


def test_a_phone_shows_one_card_and_paper_all_of_them(visit, address):
    page = load(visit(f"{address}/{PAGE}.html", "dark", 320))
    shown = page.locator("#try-cards .card >> visible=true")
    assert shown.locator("h3").all_inner_texts() == [" Self-attention"]
    page.get_by_role("radio", name="Mean pooling").check(force=True)
    assert shown.locator("h3").all_inner_texts() == [" Mean pooling"]
    page.get_by_text("All of it in numbers").click()
    assert too_small(page, "#try button, .chips label, #try-slide, summary") == []
    page.emulate_media(media="print")
    assert shown.count() == 3 and not page.locator("#try-slide").is_visible()
