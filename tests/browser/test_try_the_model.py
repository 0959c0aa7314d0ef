"""The page "Try the model": its file of weights, and what it answers in a browser, against PyTorch on the same file."""

import json
import random
import re
import time
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from site_in_browser import axe
from test_site import PAGES, SITE, built, loads

from shared import data as course_data
from shared import model, training

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "book" / "_static" / "try_the_model.safetensors"
PAGE = "book/try_the_model"
SIDE_BY_SIDE = ("mean pooling", "attention pooling", "self-attention")
REVIEWS = 200


# ------------------------------------------------------------------------------------------------ the file of weights


@pytest.fixture(scope="module")
def about():
    with safe_open(FILE, "pt") as file:
        return json.loads(file.metadata()["about"])


@pytest.fixture(scope="module")
def data():
    return course_data.prepare(course_data.Settings())


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


def test_the_models_are_small_in_both_forms():
    script = SITE / "_static" / "try_the_model.weights.js"
    assert FILE.stat().st_size < 1_500_000 and script.stat().st_size < 1_500_000
    size = f"{FILE.stat().st_size / 1e6:.1f} MB"
    assert f"Load the models ({size})" in built(PAGE).text and "WEIGHTS_SIZE" not in built(PAGE).text


def test_the_site_has_the_file_of_the_repository():
    assert (SITE / "_static" / FILE.name).read_bytes() == FILE.read_bytes(), "the site is older: run `make book`"


def test_the_file_is_the_one_that_the_committed_lab_wrote():
    notebook = (ROOT / "labs" / "04_values.ipynb").read_text()
    told = re.search(r"SHA-256 begins with ([0-9a-f]{16})", notebook)
    assert told, "lab 4 has not exported its models yet: run `make labs LAB=04 AGAIN=1`"
    digest = sha256(FILE.read_bytes()).hexdigest()[:16]
    assert digest == told[1], f"{FILE.name} is not what lab 4 wrote last: run `make labs LAB=04 AGAIN=1`"


def test_the_file_knows_the_words_of_the_lab(about, data):
    assert about["words"].split(" ") == data.vocabulary.words


def test_the_shares_of_right_answers_are_those_of_the_rounded_models(about, nets, data):
    mark, separator = data.vocabulary.id("<MARK>"), data.vocabulary.id("<SEP>")
    pairs = [course_data.distracted_examples(data.test, seed, True, mark, separator) for seed in (100, 101, 102)]
    together = [course_data.plain_examples(data.test), course_data.distracted_examples(data.test, seed=2)]
    marked = [course_data.plain_examples(data.test, mark), sum(pairs[1:], pairs[0])]
    for name, net in nets.items():
        tests = marked if name == "the mark's row" else together
        measured = [training.evaluate(net, examples).accuracy for examples in tests]
        assert about["right"][name] == pytest.approx(measured, abs=0.002), name


@pytest.mark.parametrize("name", [name for name in PAGES if name != PAGE])
def test_no_other_page_loads_any_of_it(name):
    assert not [address for address in loads(built(name)) if "try_the_model" in address]


def test_the_page_itself_loads_no_weights_before_it_is_asked_to():
    assert not [address for address in loads(built(PAGE)) if "weights" in address or "safetensors" in address]


# ---------------------------------------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def open_page(browser):
    """Opens the built page, as from a server or as from a disk; collects faults, requests and dialogs."""
    contexts = []

    def start(address="http://course.test", models=True, theme="light", width=1440, **settings):
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=theme, **{"reduced_motion": "reduce"} | settings)
        contexts.append(context)
        page = context.new_page()
        page.faults, page.asked, page.dialogs = [], [], []
        page.on("console", lambda said: page.faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: page.asked.append(request.url))
        served = SITE.as_posix()
        context.route("http://course.test/**", lambda r: r.fulfill(path=served + r.request.url.split("course.test")[1]))
        page.goto(f"{address}/{PAGE}.html")
        if models:
            page.locator("#try-load").click()
            page.wait_for_selector("#try-cards .verdict strong", state="attached")
        return page

    yield start
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def functions(open_page):
    """A page whose own functions answer, with the file of weights read into `file`."""
    page = open_page(models=False)
    page.evaluate(
        """async () => { globalThis.file = tryTheModel.read(
             await (await fetch("../_static/try_the_model.safetensors")).arrayBuffer()); }"""
    )
    return page


@pytest.fixture
def page(open_page):
    return open_page()


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
    "<img src=x onerror=alert(1)> <script>alert(2)</script>",
    "__proto__ constructor toString hasOwnProperty",
    "&lt;b&gt; &amp; ${1} {{x}}",
]


def test_words_are_cut_as_the_course_cuts_them(functions, data):
    draw = random.Random(0)
    pieces = [*"abzAZ<>/!? \n\t'\"=0\0\u0130\u212a\u2028\u00df\U0001f600", "<b", "</b>", "<br />"]
    mixed = ["".join(draw.choices(pieces, k=draw.randrange(40))) for _ in range(3000)]
    texts = [*ODD, *mixed, *data.reviews.test.texts]
    found = functions.evaluate("texts => texts.map(tryTheModel.tokenize)", texts)
    for text, words in zip(texts, found, strict=True):
        assert words == course_data.tokenize(text), ascii(text)


def test_many_tags_left_open_are_cut_in_no_time(functions):
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
    batch = course_data.make_batch(examples, np.arange(REVIEWS))
    with torch.no_grad():
        logits, weights = net(batch.ids, batch.mask)
    close = {"atol": 1e-4, "rtol": 0}
    torch.testing.assert_close(torch.tensor([answer["logit"] for answer in answers]), logits, **close)
    torch.testing.assert_close(torch.tensor([answer["positive"] for answer in answers]), logits.sigmoid(), **close)
    for row, answer in enumerate(answers):
        found = torch.tensor(answer["weights"])
        torch.testing.assert_close(found, weights[row, batch.mask[row]], **close)


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
@pytest.mark.parametrize("behind", [False, True], ids=["alone", "behind another"])
def test_the_page_agrees_with_pytorch_on_200_test_reviews(functions, nets, data, name, behind):
    texts = data.reviews.test.texts
    examples = course_data.distracted_examples(data.test, seed=5) if behind else course_data.plain_examples(data.test)
    asked = [[texts[other] if behind else "", texts[own]] for own, other in enumerate(examples.distractor[:REVIEWS])]
    assert_agrees(nets[name], examples, functions.evaluate(JUDGE, [name, asked]))


def test_the_mark_s_row_agrees_with_pytorch_on_200_pairs(functions, nets, data):
    texts, mark, separator = data.reviews.test.texts, data.vocabulary.id("<MARK>"), data.vocabulary.id("<SEP>")
    examples = course_data.distracted_examples(data.test, 5, True, mark, separator)
    asked = []
    for own in range(REVIEWS):
        pair = [texts[own], texts[examples.distractor[own]]]
        mark_first = not examples.distractor_first[own]
        asked.append([*(pair if mark_first else pair[::-1]), bool(mark_first)])
    assert {mark_first for _, _, mark_first in asked} == {True, False}
    assert_agrees(nets["the mark's row"], examples, functions.evaluate(JUDGE_MARKED, asked))


def test_longer_reviews_are_cut_to_their_share_of_the_window(functions, nets, data):
    long = " ".join(data.reviews.test.texts[:5])
    ids = data.vocabulary.encode(long)[:128]
    for name in SIDE_BY_SIDE:
        answer = functions.evaluate(JUDGE, [name, [[long, long]]])[0]
        both = torch.tensor([ids + ids])
        with torch.no_grad():
            logit, weights = nets[name](both, torch.ones_like(both, dtype=torch.bool))
        assert answer["logit"] == pytest.approx(logit.item(), abs=1e-4)
        assert len(answer["weights"]) == weights.shape[1] == 256


# -------------------------------------------------------------------------------------------------- what a reader does


@pytest.mark.parametrize("address", ["http://course.test", SITE.as_uri()], ids=["served", "from a disk"])
def test_the_models_load_when_asked_for_and_from_nowhere_else(open_page, address):
    page = open_page(address, models=False)
    assert not [url for url in page.asked if "weights" in url or "safetensors" in url]
    page.get_by_role("button", name="Load the models").click()
    page.wait_for_selector("#try-cards .verdict strong")
    form = "try_the_model.safetensors" if address.startswith("http") else "try_the_model.weights.js"
    assert [url for url in page.asked if "weights" in url or "safetensors" in url] == [f"{address}/_static/{form}"]
    assert [url for url in page.asked if not url.startswith((address, "data:", "blob:"))] == []
    assert page.faults == []


@pytest.mark.parametrize("body", [b"", b"\0" * 40, FILE.read_bytes()[:900_000]], ids=["empty", "zeros", "cut short"])
def test_a_damaged_file_gets_a_sentence_and_another_try(open_page, body):
    page = open_page(models=False)
    page.context.route("**/*.safetensors", lambda route: route.fulfill(body=body))
    page.locator("#try-load").click()
    page.wait_for_function("document.getElementById('try-load-told').textContent.includes('did not arrive')")
    assert page.locator("#try-cards .verdict strong").count() == 0
    page.context.unroute("**/*.safetensors")
    page.locator("#try-load").click()
    page.wait_for_selector("#try-cards .verdict strong")


def answers(page):
    return page.locator("#try-cards .verdict").all_inner_texts()


def type_in(page, text):
    """Put a text in and wait until the page has drawn it."""
    page.locator("#try-own").fill(text)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_the_cards_say_what_pytorch_says(page, nets, data):
    text = data.reviews.test.texts[3]
    type_in(page, text)
    ids = torch.tensor([data.vocabulary.encode(text)[:128]])
    for name, told in zip(SIDE_BY_SIDE, answers(page), strict=True):
        with torch.no_grad():
            positive = nets[name](ids, torch.ones_like(ids, dtype=torch.bool))[0].sigmoid().item()
        assert told.startswith("positive" if positive > 0.5 else "negative")
        sure = max(positive, 1 - positive)
        assert "more than 99%" in told if sure > 0.99 else f"{100 * sure:.0f}% sure" in told


def test_the_slider_puts_words_in_front_by_keyboard_and_says_so(page, nets, data):
    slider, before = page.locator("#try-slide"), answers(page)
    slider.focus()
    page.keyboard.press("End")
    front = page.locator("#try-front input:checked").get_attribute("data-text")
    front, own = course_data.tokenize(front), course_data.tokenize(page.locator("#try-own").input_value())
    page.wait_for_function("document.querySelectorAll('#try-cards small').length === 6")
    assert slider.get_attribute("aria-valuetext") == f"{len(front)} of {len(front)} words in front"
    assert answers(page) != before
    ids = torch.tensor([[data.vocabulary.id(word) for word in [*front, *own]]])
    for place, name in enumerate(SIDE_BY_SIDE):
        with torch.no_grad():
            weights = nets[name](ids, torch.ones_like(ids, dtype=torch.bool))[1][0]
        said = page.locator("#try-cards .share").nth(place).inner_text()
        assert said.startswith(f"{100 * weights[len(front) :].sum().item():.0f}% of its attention is on your review")
        shown = page.locator("#try-cards .words").nth(place).locator(".w")
        assert shown.all_inner_texts() == [*front, *own]
        shades = shown.evaluate_all("words => words.map(word => Number(word.style.getPropertyValue('--s')))")
        exact = weights.numpy() * len(weights)
        assert np.abs(np.array(shades) - exact.clip(max=8)).max() <= 0.51, "a shade is the weight in fair shares"
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("document.querySelector('#try-slide').ariaValueText.startsWith('125')")


def test_a_reader_s_own_words_can_stand_in_front(page):
    page.get_by_role("radio", name="your own").check(force=True)
    page.locator("#try-front-words").wait_for()
    assert not page.locator("#try-front-text").is_visible()
    slider = page.locator("#try-slide")
    assert slider.get_attribute("max") == "0" and page.locator("#try-cards .verdict").first.is_visible()
    hostile = "<b onclick='x'>An awful</b> kettle \u05e9\u05dc\u05d5\u05dd "
    page.get_by_label("Your own review to put in front").fill(hostile * 60)
    page.wait_for_function("document.querySelector('#try-slide').max === '128'")
    slider.fill("3")
    page.wait_for_function("document.querySelectorAll('#try-cards small').length === 6")
    assert page.locator("#try-cards .words").first.locator(".w").all_inner_texts()[:3] == ["an", "awful", "kettle"]
    assert page.locator("#try-mark-words .w").all_inner_texts()[:4] == ["<SEP>", "an", "awful", "kettle"]
    assert page.faults == [] and page.locator("#try b[onclick]").count() == 0
    page.get_by_role("radio", name="a love letter").check(force=True)
    page.locator("#try-front-text").wait_for()
    assert not page.locator("#try-front-words").is_visible()


def test_mean_pooling_alone_shades_all_words_alike(page):
    shades = "words => new Set(words.map(word => word.style.getPropertyValue('--s'))).size"
    cards = page.locator("#try-cards .words").all()
    assert [card.locator(".w").evaluate_all(shades) > 1 for card in cards] == [False, True, True]


def test_the_numbers_stand_as_tables(page):
    page.locator("#try-slide").fill("40")
    page.get_by_text("All of it in numbers").click()
    page.wait_for_function("document.querySelectorAll('#try-numbers tbody')[0].rows.length === 40 + 83")
    page.wait_for_function("document.querySelectorAll('#try-numbers tbody')[1].rows.length > 4")
    rows = "table => Array.from(table.tBodies[0].rows, row => Array.from(row.cells, cell => cell.textContent))"
    words, curve = (table.evaluate(rows) for table in page.locator("#try-numbers table").all())
    assert [row[0] for row in words] == ["in front"] * 40 + ["yours"] * 83
    for column in (2, 3, 4):
        assert sum(float(row[column].rstrip("%")) for row in words) == pytest.approx(100, abs=1)
    assert curve[0][:2] == ["how positive", "0"] and curve[-1][0] == "attention on your review"
    assert page.locator("#try-numbers th[scope=row]").count() == len(words) + len(curve)
    last = [f"{row[3]}" for row in curve if row[0].startswith("attention")][0]
    assert last == "100%", "with nothing in front all attention is on the review"


def test_the_mark_turns_the_head(page):
    words = page.locator("#try-mark-words .w")
    before = words.all_inner_texts()
    assert before[0] == "<SEP>" and before.count("<MARK>") == 1
    said = page.locator("#try-mark-share").inner_text()
    page.get_by_role("radio", name="the first review").check(force=True)
    page.wait_for_function("document.querySelector('#try-mark-words .w').textContent === '<MARK>'")
    after = words.all_inner_texts()
    assert [word for word in before if word[0] != "<"] == [word for word in after if word[0] != "<"]
    share = r"(\d+)% of its attention is on the first review"
    first, second = (int(re.match(share, text)[1]) for text in (page.locator("#try-mark-share").inner_text(), said))
    assert first > second + 20, "the mark's row looks where the mark stands"
    page.wait_for_function("document.getElementById('try-said').textContent.includes('Asked about: the first')")


SENTENCES = {
    "": "There is no word in this text.",
    "10/10 !!! \u05e9\u05dc\u05d5\u05dd \U0001f600": "There is no word in this text.",
    "zxqv blorptag": "The models know none of these words",
    "wonderful": "1 word. So few words say little.",
    "a wonderful zxqv film, dull and zxqv": "7 words. 2 unknown to the models (zxqv).",
    "dull " * 10_000: "Read: the first 128 of 10,000 words.",
}


@pytest.mark.parametrize("text", SENTENCES, ids=lambda text: ascii(text[:20]))
def test_an_odd_text_is_answered_with_a_sentence(page, text):
    type_in(page, text)
    assert page.locator("#try-note").inner_text().startswith(SENTENCES[text])
    spoken = "document.getElementById('try-said').textContent"
    page.wait_for_function(f"{spoken} !== ''")
    judged = page.locator("#try-cards .verdict").first.is_visible()
    assert judged == ("no word" not in SENTENCES[text] and "none of" not in SENTENCES[text])
    assert judged == page.locator("#try-mark-verdict").is_visible()
    assert ("sure" in page.evaluate(spoken)) == judged, "what is spoken is what is seen"
    type_in(page, "a wonderful film, moving and funny from the first minute on")
    assert page.locator("#try-cards .verdict").first.is_visible()


HARMFUL = [
    "<img src=x onerror=alert(1)>",
    "<img src=x onerror=alert(1)> a <b>fine</b> film </textarea><script>alert(1)</script>",
    "\U0001f469\u200d\U0001f52c a fine film \U0001f600",
    "\u202eabc \u05e9\u05dc\u05d5\u05dd a fine film \u0645\u0631\u062d\u0628\u0627",
    "a\0fine\0film",
    "x" * 100_000,
    "a fine film " + "q" * 100_000,
    "<a" * 50_000,  # a careless search for the end of each tag would take minutes
    "a fine film " * 8_334,
]


@pytest.mark.parametrize("text", HARMFUL, ids=lambda text: ascii(text)[:24])
def test_what_a_reader_types_stays_text_and_never_holds_the_page_up(page, text):
    pictures = page.locator("img").count()
    page.locator("#try-slide").fill("126")
    started = time.monotonic()
    type_in(page, text)
    assert time.monotonic() - started < 3, "the page stood still"
    shown = page.locator("#try-cards .words").last.locator(".w").all_inner_texts()
    words = course_data.tokenize(text) if ">" in text else re.findall("[a-z]+", text)
    if {"a", "fine", "film"} & set(words):
        assert shown[126:] == [word if len(word) < 25 else f"{word[:23]}\u2026" for word in words[:128]]
    assert page.dialogs == [] and page.faults == []
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
    for letter in range(20):
        page.locator("#try-slide").fill(str(60 + letter))
    page.wait_for_function("document.getElementById('try-said').textContent.includes('of its attention on your')")
    assert page.evaluate("spoken") == 1


@pytest.mark.parametrize(("theme", "width"), [("dark", 360), ("light", 1440)])
def test_axe_finds_nothing_and_the_page_never_scrolls_sideways(open_page, theme, width):
    page = open_page(theme=theme, width=width)
    page.locator("#try-slide").fill("90")
    page.get_by_text("All of it in numbers").click()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    small = page.evaluate("""() => [...document.querySelectorAll("#try button, .chips label, #try-slide, summary")]
        .filter(e => e.checkVisibility()).map(e => [e.textContent, e.getBoundingClientRect()])
        .filter(([, box]) => box.width < 24 || box.height < 24).map(([text]) => text)""")
    assert small == [], "targets below 24 pixels"


def test_the_keyboard_reaches_everything(page):
    page.locator("#try-own").focus()
    reached = []
    for _ in range(14):
        reached.append(page.evaluate("(e => e.id || e.name || e.textContent)(document.activeElement)"))
        page.keyboard.press("Tab")
    for wanted in ("try-own", "The bakery", "The weather", "front", "try-slide", "All of it in numbers", "mark"):
        assert wanted in reached, f"Tab never reached {wanted}: {reached}"


def test_the_focus_goes_on_to_the_slider_when_the_button_is_gone(open_page):
    page = open_page(models=False)
    page.locator("#try-load").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#try-cards .verdict strong")
    assert page.evaluate("document.activeElement.id") == "try-slide"


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_moves_for_readers_who_ask_for_less_motion(open_page, motion):
    page = open_page(reduced_motion=motion)
    times = page.evaluate("getComputedStyle(document.querySelector('#try-cards .w')).transitionDuration")
    assert (set(times.split(", ")) == {"0s"}) == (motion == "reduce")


def test_the_verdicts_print_and_the_buttons_do_not(page):
    page.emulate_media(media="print")
    assert page.locator("#try-cards .verdict").first.is_visible() and page.locator("#try-own").is_visible()
    assert not page.locator("#try-slide").is_visible() and not page.locator("#try-examples").is_visible()
    assert not page.locator(".on-paper").is_visible()


def test_models_that_were_never_loaded_leave_a_sentence_on_paper(open_page):
    page = open_page(models=False)
    assert not page.locator(".on-paper").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".on-paper").is_visible() and not page.locator(".try").first.is_visible()


def test_without_scripts_the_page_says_where_the_models_are(open_page):
    page = open_page(models=False, java_script_enabled=False)
    assert "this page needs JavaScript" in page.locator("noscript").inner_text()
    assert page.locator("noscript").is_visible()
