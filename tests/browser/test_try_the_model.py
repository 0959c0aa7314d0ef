"""The page "Try the model": its file of weights, and what it answers in a browser, against PyTorch on the same file."""

import json
import random
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import expect
from safetensors import safe_open
from site_in_browser import COLOURS, SITE, axe, settle, stopwatch, visits
from test_site import ROOT, built

from experiments import live_page_models
from experiments.claims import short_texts
from shared import data as course_data
from shared import model

FILE = ROOT / "book" / "_static" / "try_the_model.safetensors"
PAGE = "book/try_the_model"
SIDE_BY_SIDE = ("mean pooling", "attention pooling", "self-attention")
REVIEWS = 60


# ------------------------------------------------------------------------------------------------ the file of weights


@pytest.fixture(scope="module")
def about():
    with safe_open(FILE, "pt") as file:
        return json.loads(file.metadata()["about"])


@pytest.fixture(scope="module")
def data():
    return course_data.load_prepared(course_data.Settings())


@pytest.fixture(scope="module")
def nets(about):
    """The exported models in PyTorch, as the file says they are: whole numbers times a step."""
    size = len(about["words"].split())
    made = {
        "mean pooling": model.MeanPooling(size),
        "attention pooling": model.AttentionPooling(size),
        "self-attention": model.SelfAttentionClassifier(size),
        "the mark's row": model.MarkedSelfAttentionClassifier(size, about["words"].split().index("<MARK>")),
    }
    with safe_open(FILE, "pt") as file:
        for name, net in made.items():
            keys = [key for key in file.keys() if key.startswith(f"{name}.")]
            tensors = {key.removeprefix(f"{name}."): file.get_tensor(key) for key in keys}
            step = tensors.pop("features.embedding.weight.step")
            assert tensors["features.embedding.weight"].dtype == torch.int8, "the embeddings are not rounded to a byte"
            tensors["features.embedding.weight"] = tensors["features.embedding.weight"] * step
            net.load_state_dict(tensors)
            net.eval()
    return made


def test_the_file_is_small_and_the_one_on_the_site():
    assert (SITE / "_static" / FILE.name).read_bytes() == FILE.read_bytes(), "the site is older: run `make book`"
    assert FILE.stat().st_size < 1_500_000 > (SITE / "_static" / "try_the_model.weights.js").stat().st_size
    assert f"Load the models ({FILE.stat().st_size / 1e6:.1f} MB)" in built(PAGE).text


def test_of_twenty_everyday_sentences_most_are_judged_right_and_none_wrong_beyond_99_percent(nets, data):
    """Their labels were fixed before any model was trained; the bands are three deviations of the seeds away."""
    labels = np.array([label for _, label in short_texts.SENTENCES])
    for name, net in nets.items():
        told = np.array([short_texts.positive(net, name, data.vocabulary, text) for text, _ in short_texts.SENTENCES])
        right, sure = (told > 0.5) == labels, np.maximum(told, 1 - told)
        assert right.sum() >= 15, name
        assert not (~right & (sure > 0.99)).any(), name
        assert sure[right].mean() > 0.8, f"{name}: confidence must not be bought off"
        stored = json.loads(short_texts.RESULTS.read_text())[f"{name}, after, seed 0"]["sentences"]
        assert np.abs(told - stored).max() < 0.02, f"{name}: `python -m experiments.claims.short_texts` is older"


def test_the_page_shows_the_stored_figures_of_the_twenty_sentences():
    assert short_texts.SHOWN.read_text() == short_texts.shown(json.loads(short_texts.RESULTS.read_text()))
    assert "short-texts" in built(PAGE).ids
    assert built(PAGE).text.count("short pieces too</") == len(live_page_models.MODELS)


def positive(net, texts):
    """Whether the model calls each text (a list of ids) positive."""
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
    mask = torch.arange(ids.shape[1]) < torch.tensor([len(text) for text in texts])[:, None]
    with torch.no_grad():
        return net(ids, mask)[0].sigmoid()


def test_what_the_page_says_the_models_get_wrong_is_what_they_get_wrong(nets, data):
    page = " ".join(built(PAGE).text.split())
    encode = data.vocabulary.encode
    examples = {name: text for text, name in re.findall(r'data-text="([^"]*)">([^<]*)</button>', page)}
    for name in SIDE_BY_SIDE:
        praise, irony = positive(
            nets[name], [encode(examples[key])[:128] for key in ("Not bad at all", "Oh wonderful")]
        )
        assert praise < 0.03 and irony > 0.9
    reviews = course_data.load_reviews().test
    texts = [encode(text)[:128] for text in reviews.texts]
    short = [text for text, label in zip(texts, reviews.labels, strict=True) if label == 1 and len(text) < 40]
    long = [text for text in texts if len(text) >= 100]
    assert len(short) == 9 and "has nine positive reviews of 20 to 39 words" in page
    rates = [
        np.mean([positive(nets[name], [[*a, *b] for a in long]).gt(0.5).float().mean() for b in short])
        for name in SIDE_BY_SIDE
    ]
    said = re.search(r"positive in (\d+)% of the cases by mean pooling, and in (\d+)% by", page)
    assert [f"{100 * rate:.0f}" for rate in rates] == [said[1], said[2], said[2]]


# ---------------------------------------------------------------------------------------------------- in a browser


def load(page):
    page.locator("#try-load").click()
    page.wait_for_selector("#try-cards .chosen .verdict strong")
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
    "",
    "   ",
    "It's a NICE film!!! 10/10",
    "a<br/>b <br />c<p class='x'>d</p>e",
    "a < b and c > d, <3 <i>e</i> </ f> <",
    "an open <tag without an end",
    "two <<b>> open <b <i> tags > here",
    "<a\n href='x'\n>over lines</a>\u2028and\u2029other\x85breaks",
    "<a b",
    "<" * 300 + "a>" + "<a" * 300,
    "\u0130stanbul D\u0130D \u0131s\u0131k \u212aelvin \u212b \ufb01ne \u1e9e",  # dotted, dotless, Kelvin, ligature
    "stra\u00dfe na\u00efve caf\u00e9 cafe\u0301 \uff21\uff22\uff23",
    "\u03a3\u03a3 \u03a3\u03a3.",
    "nul\0in\0side \x00 <b\0>c</b\0>",
    "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c \u0645\u0631\u062d\u0628\u0627",
    "\U0001f469\u200d\U0001f52c yes \U0001f600no \U0001d400\U0001d41a",
    "__proto__ constructor toString hasOwnProperty",
    "&lt;b&gt; &amp; ${1} {{x}}",
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


JUDGE = """([name, texts]) => texts.map(([front, own]) => {
    const words = [front, own].map(tryTheModel.tokenize);
    const { logit, positive, weights } = tryTheModel.judge(file, name, words[0].slice(0, 128), words[1]);
    return { logit, positive, weights: Array.from(weights) };
})"""
JUDGE_MARKED = """texts => texts.map(([first, second, markFirst]) => {
    const { logit, positive, weights } =
        tryTheModel.judgeMarked(file, ...[first, second].map(tryTheModel.tokenize), markFirst);
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
        others = examples.distractor[:REVIEWS]
        asked = [[texts[other] if other >= 0 else "", texts[own]] for own, other in enumerate(others)]
        assert_agrees(nets[name], examples, functions.evaluate(JUDGE, [name, asked]))
    # Longer reviews are cut to their share of the window.
    long = " ".join(texts[:5])
    answer = functions.evaluate(JUDGE, [name, [[long, long]]])[0]
    both = torch.tensor([2 * data.vocabulary.encode(long)[:128]])
    with torch.no_grad():
        logit, weights = nets[name](both, torch.ones_like(both, dtype=torch.bool))
    assert answer["logit"] == pytest.approx(logit.item(), abs=1e-4)
    assert len(answer["weights"]) == weights.shape[1] == 256


def test_the_mark_s_row_agrees_with_pytorch_on_pairs(functions, nets, data):
    texts, vocabulary = course_data.load_reviews().test.texts, data.vocabulary
    mark, separator = vocabulary.id("<MARK>"), vocabulary.id("<SEP>")
    examples = course_data.distracted_examples(data.test, 5, True, mark, separator)
    asked = []
    for own in range(REVIEWS):
        pair = [texts[own], texts[examples.distractor[own]]]
        mark_first = not examples.distractor_first[own]
        asked.append([*(pair if mark_first else pair[::-1]), bool(mark_first)])
    assert {mark_first for _, _, mark_first in asked} == {True, False}
    assert_agrees(nets["the mark's row"], examples, functions.evaluate(JUDGE_MARKED, asked))


# -------------------------------------------------------------------------------------------------- what a reader does


@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "from a disk"])
def test_the_models_load_when_asked_for_by_keyboard_and_from_nowhere_else(visit, address, from_disk):
    address = SITE.as_uri() if from_disk else address
    page = visit(f"{address}/{PAGE}.html")
    assert not [url for url in page.asked if "weights" in url or "safetensors" in url]
    page.locator("#try-load").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#try-cards .verdict strong")
    assert page.evaluate("document.activeElement.id") == "try-slide", "the button is gone, and the focus with it"
    form = "try_the_model.weights.js" if from_disk else "try_the_model.safetensors"
    assert [url for url in page.asked if "weights" in url or "safetensors" in url] == [f"{address}/_static/{form}"]
    assert [url for url in page.asked if not url.startswith((address, "data:", "blob:"))] == []
    assert page.faults == []


def test_without_scripts_a_sentence_stands_in_for_the_models(visit, address):
    for name, part in ((PAGE, "try"), (PAGE, "try-marked"), ("book/seventy_two_heads", "heads")):
        page = visit(f"{address}/{name}.html", theme="dark", scripts=False)
        assert (
            not page.locator(f"#{part}").is_visible()
            and "With it you could" in page.locator("main noscript p").inner_text()
        )
        assert page.locator("main :is(textarea, button, input)").locator("visible=true").count() == 0
        dark = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(dark) == "rgb(20, 24, 30)", "the reader's preference needs no script"


def test_a_damaged_file_gets_a_sentence_and_another_try(visit, address):
    page = visit(f"{address}/{PAGE}.html")
    for body in (b"", b"\0" * 40, FILE.read_bytes()[:900_000]):
        page.context.route("**/*.safetensors", lambda route, request, body=body: route.fulfill(body=body))
        page.evaluate("document.getElementById('try-load-told').textContent = ''")
        page.locator("#try-load").click()
        page.wait_for_function("document.getElementById('try-load-told').textContent.includes('did not arrive')")
        assert page.locator("#try-cards .verdict strong").count() == 0
        page.context.unroute("**/*.safetensors")
    load(page)


def type_in(page, text):
    """Put a text in and wait until the page has drawn it."""
    page.locator("#try-own").fill(text)
    settle(page)


def test_cards_and_slider_say_what_pytorch_says(page, nets, data):
    type_in(page, course_data.load_reviews().test.texts[3])
    alone = page.locator("#try-cards .verdict").all_inner_texts()
    slider = page.locator("#try-slide")
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_function("document.querySelectorAll('#try-cards small').length === 6")
    front = course_data.tokenize(page.locator("#try-front input:checked").get_attribute("data-text"))
    own = course_data.tokenize(course_data.load_reviews().test.texts[3])[:128]
    assert slider.get_attribute("aria-valuetext") == f"{len(front)} of {len(front)} words before"
    behind = page.locator("#try-cards .verdict").all_inner_texts()
    for place, name in enumerate(SIDE_BY_SIDE):
        for words, told in ((own, alone[place]), ([*front, *own], behind[place])):
            ids = torch.tensor([[data.vocabulary.id(word) for word in words]])
            with torch.no_grad():
                logit, weights = nets[name](ids, torch.ones_like(ids, dtype=torch.bool))
            positive = logit.sigmoid().item()
            assert told.startswith("positive" if positive > 0.5 else "negative")
            sure = max(positive, 1 - positive)
            assert "more than 99%" in told if sure > 0.99 else f"{100 * sure:.0f}% sure" in told
        said = page.locator("#try-cards .share").nth(place).inner_text()
        share = weights[0, len(front) :].sum().item()
        assert said.startswith(f"{100 * share:.0f}% of its attention is on your review")
        shown = page.locator("#try-cards .words").nth(place).locator(".w")
        assert shown.all_inner_texts() == [*front, *own]
        shades = shown.evaluate_all("words => words.map(word => Number(word.style.getPropertyValue('--s')))")
        exact = weights[0].numpy() * len(ids[0])
        assert np.abs(np.array(shades) - exact.clip(max=8)).max() <= 0.51, "a shade is the weight in fair shares"
        assert (len(set(shades)) > 1) == (name != "mean pooling")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"document.querySelector('#try-slide').ariaValueText.startsWith('{len(front) - 1}')")


def test_a_reader_s_own_words_can_stand_in_front(page):
    page.get_by_role("radio", name="your own").check(force=True)
    page.locator("#try-front-words").wait_for()
    assert not page.locator("#try-front-text").is_visible()
    slider = page.locator("#try-slide")
    assert slider.get_attribute("max") == "0" and page.locator("#try-cards .verdict").first.is_visible()
    hostile = "<b onclick='x'>An awful</b> kettle \u05e9\u05dc\u05d5\u05dd "
    page.get_by_label("Your own review to put before").fill(hostile * 60)
    page.wait_for_function("document.querySelector('#try-slide').max === '128'")
    slider.fill("3")
    page.wait_for_function("document.querySelectorAll('#try-cards small').length === 6")
    assert page.locator("#try-cards .words").first.locator(".w").all_inner_texts()[:3] == ["an", "awful", "kettle"]
    assert page.locator("#try-mark-words .w").all_inner_texts()[:4] == ["<SEP>", "an", "awful", "kettle"]
    assert page.locator("#try b[onclick]").count() == 0
    page.get_by_role("radio", name="a love letter").check(force=True)
    page.locator("#try-front-text").wait_for()
    assert not page.locator("#try-front-words").is_visible()


def test_the_numbers_stand_as_tables(page):
    page.locator("#try-slide").fill("40")
    page.get_by_text("All of it in numbers").click()
    page.wait_for_function("document.querySelectorAll('#try-numbers tbody')[0].rows.length === 40 + 83")
    page.wait_for_function("document.querySelectorAll('#try-numbers tbody')[1].rows.length > 4")
    rows = "table => Array.from(table.tBodies[0].rows, row => Array.from(row.cells, cell => cell.textContent))"
    words, curve = (table.evaluate(rows) for table in page.locator("#try-numbers table").all())
    assert [row[0] for row in words] == ["before"] * 40 + ["yours"] * 83
    for column in (2, 3, 4):
        assert sum(float(row[column].rstrip("%")) for row in words) == pytest.approx(100, abs=1)
    assert curve[0][:2] == ["how positive", "0"] and curve[-1][0] == "attention on your review"
    last = [row[3] for row in curve if row[0].startswith("attention")][0]
    assert last == "100%", "with nothing before it, all attention is on the review"


def test_the_mark_turns_the_head(page):
    words = page.locator("#try-mark-words .w")
    before, said = words.all_inner_texts(), page.locator("#try-mark-share").inner_text()
    assert before[0] == "<SEP>" and before.count("<MARK>") == 1
    page.get_by_role("radio", name="the first review").check(force=True)
    page.wait_for_function("document.querySelector('#try-mark-words .w').textContent === '<MARK>'")
    after = words.all_inner_texts()
    assert [word for word in before if word[0] != "<"] == [word for word in after if word[0] != "<"]
    share = r"(\d+)% of its attention is on the first review"
    first, second = (int(re.match(share, text)[1]) for text in (page.locator("#try-mark-share").inner_text(), said))
    assert first > second + 20, "the query at the marker attends to the marked review"
    page.wait_for_function("document.getElementById('try-said').textContent.includes('Asked about: the first')")


def test_the_address_holds_the_mark_too_and_another_address_brings_its_own_state(page):
    page.get_by_role("radio", name="the first review").check(force=True)
    page.wait_for_url("**&mark=0")
    page.evaluate("location.hash = 'own=A+dull+film&front=1&words=7&mark=1'")
    page.wait_for_function("document.querySelector('#try-slide').ariaValueText.startsWith('7 of')")
    assert page.locator("#try-own").input_value() == "A dull film"
    assert page.locator("#try-cards .words").first.locator(".w").count() == 7 + 3
    assert page.get_by_role("radio", name="a love letter").is_checked()
    assert page.get_by_role("radio", name="the second, yours").is_checked()
    page.evaluate("location.hash = 'short-texts'")
    settle(page)
    assert page.locator("#try-own").input_value() == "A dull film", "a heading takes nothing away"


SENTENCES = {
    "": "There is no word in this text.",
    "10/10 !!! \u05e9\u05dc\u05d5\u05dd \U0001f600": "There is no word in this text.",
    "zxqv blorptag": "The models know none of these words",
    "wonderful": "1 word. The training reviews have 20 words or more. Of random pieces of 1",
    "a wonderful zxqv film, so zxqv": "6 words. 2 unknown to the models (zxqv): the prediction rests on the other 4.",
    "a good film " * 12: "36 words. Few training reviews are so short.",
    "dull " * 10_000: "Read: the first 128 of 10,000 words.",
}


SPOKEN = ("", "wonderful")


def test_an_odd_text_is_answered_with_a_sentence(page):
    for text, sentence in SENTENCES.items():
        type_in(page, text)
        note = page.locator("#try-note").inner_text()
        assert note.startswith(sentence)
        verdict = page.locator("#try-cards .verdict").first
        judged = verdict.is_visible()
        assert judged == ("no word" not in sentence and "none of" not in sentence)
        assert judged == page.locator("#try-mark-verdict").is_visible()
        if text in SPOKEN:  # some time later
            said = f"Mean pooling: {verdict.inner_text()}" if judged else note
            expect(page.locator("#try-said")).to_contain_text(said)
        type_in(page, "a wonderful film, moving and funny from the first minute on")
        assert page.locator("#try-cards .verdict").first.is_visible()


HARMFUL = [
    "<img src=x onerror=alert(1)> a <b>fine</b> film </textarea><script>alert(1)</script>",
    "\U0001f469\u200d\U0001f52c a fine film \U0001f600",
    "\u202eabc \u05e9\u05dc\u05d5\u05dd a fine film \u0645\u0631\u062d\u0628\u0627",
    "a\0fine\0film",
    "x" * 100_000,
    "a fine film " + "q" * 100_000,
    "<a" * 50_000,  # a careless search for the end of each tag would take minutes
    "a fine film " * 8_334,
]


def test_what_a_reader_types_stays_text_and_never_holds_the_page_up(page):
    pictures = page.locator("img").count()
    page.locator("#try-slide").fill("126")
    worked = stopwatch(page)
    for text in HARMFUL:
        before = worked()
        type_in(page, text)
        assert worked() - before < 3, f"the page stood still at {text[:24]!a}"
        shown = page.locator("#try-cards .words").last.locator(".w").all_inner_texts()
        words = course_data.tokenize(text) if ">" in text else re.findall("[a-z]+", text)
        if {"a", "fine", "film"} & set(words):
            assert shown[126:] == [word if len(word) < 25 else f"{word[:23]}\u2026" for word in words[:128]]
        assert page.locator("img").count() == pictures and page.locator("#try img, #try script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_is_found_is_spoken_once_the_reader_rests(page):
    page.wait_for_function("document.getElementById('try-said').textContent.includes('Self-attention')")
    assert page.locator("#try-said").get_attribute("role") == "status"
    page.evaluate(
        """() => { globalThis.spoken = 0;
             new MutationObserver(() => spoken++).observe(document.getElementById("try-said"),
                 { childList: true }); }"""
    )
    page.evaluate(
        """async () => { const slide = document.getElementById("try-slide");
             for (let letter = 0; letter < 20; letter++) {
               slide.value = 60 + letter;
               slide.dispatchEvent(new Event("input", { bubbles: true }));
               await new Promise(requestAnimationFrame);
             } }"""
    )
    page.wait_for_function("document.getElementById('try-said').textContent.includes('of its attention on your')")
    assert page.evaluate("spoken") == 1


def test_axe_finds_nothing_and_the_page_never_scrolls_sideways(visit, address):
    page = load(visit(f"{address}/{PAGE}.html", "dark", 360))
    page.locator("#try-slide").fill("9")
    assert axe(page) == []
    page.get_by_text("All of it in numbers").click()
    page.locator("#try-numbers td").first.wait_for()
    for width in (360, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = page.evaluate("""() => [...document.querySelectorAll("#try button, .chips label, #try-slide, summary")]
            .filter(e => e.checkVisibility()).map(e => [e.textContent, e.getBoundingClientRect()])
            .filter(([, box]) => box.width < 24 || box.height < 24).map(([text]) => text)""")
        assert small == [], "targets below 24 pixels"
    # So many cells: their colours would take it long.
    assert axe(page, rules={rule: {"enabled": False} for rule in COLOURS}) == []


def test_words_move_but_for_who_asks_for_less_motion(page):
    for motion in ("no-preference", "reduce"):
        page.emulate_media(reduced_motion=motion)
        times = page.evaluate("getComputedStyle(document.querySelector('#try-cards .w')).transitionDuration")
        assert (set(times.split(", ")) == {"0s"}) == (motion == "reduce")


def test_paper_shows_the_predictions_or_a_sentence(visit, address):
    page = visit(f"{address}/{PAGE}.html")
    assert not page.locator(".on-paper").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".on-paper").is_visible() and not page.locator(".try").first.is_visible()
    page.emulate_media(media="screen")
    load(page).emulate_media(media="print")
    assert page.locator("#try-cards .verdict").first.is_visible() and page.locator("#try-own").is_visible()
    assert not any(page.locator(each).is_visible() for each in ("#try-slide", "#try-examples", ".on-paper"))
