"""The page "It writes": tokens, logits and texts against PyTorch on the same weights, and what readers do with it."""

import base64
import json

import pytest
import torch
from site_in_browser import ROOT, SITE, visits

from experiments.train_review_writer import texts
from shared import review_writer
from shared.review_writer import START, continue_text, window

PAGE = "book/it_writes"
FILE = SITE / "_static/review_writer/model.safetensors"
HOSTILE = [
    " ", "\n\n \t x", "  two  spaces ", "I'll don't we've 'S", "naïve café Kraków", "🥨👩\u200d👩\u200d👧 🙂",
    "日本語の映画", "שלום مرحبا", "<START>", "a<START><START> b", "<img src=x onerror=alert(1)>",
    "\u202e\u200b\ufeff\u00a0\u2028\u3000\x85\0", "x" * 500, "1234567890²½", "!?...--__", "e\u0301",
    "\ufffd", "__proto__ constructor", "word " * 400,
]  # fmt: skip


@pytest.fixture(scope="module")
def writer():
    """The model and its tokenizer, as labs load them."""
    return review_writer.load()


FUNCTIONS = """async (base64) => {
  const text = atob(base64), data = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const model = reviewWriter(attentionLayer()), file = model.read(data.buffer), all = model.prepare(file);
  globalThis.encoded = (texts) => texts.map((text) => {
    const ids = file.tokens.encode(text);
    return [ids, file.tokens.decode(ids)];
  });
  globalThis.predicted = (ids, cached = []) => {           // the first tokens may be in the cache already
    const cache = model.emptyCache();
    for (const earlier of cached) model.predict(all, earlier, cache);
    const { logits, weights } = model.predict(all, ids, cache);
    return JSON.stringify([Array.from(logits), Array.from(weights)]);
  };
}"""


@pytest.fixture(scope="module")
def functions(browser):
    """A page without anything but the model's functions and its file."""
    with visits(browser) as visit:
        page = visit("about:blank")
        for name in ("attention_layer", "it_writes_model"):
            page.add_script_tag(content=(ROOT / f"book/_static/{name}.js").read_text("utf-8"))
        page.evaluate(FUNCTIONS, base64.b64encode(FILE.read_bytes()).decode())
        yield page
        assert page.faults == []


# --------------------------------------------------------------------------------------------- the model and its tokens


@pytest.mark.parametrize("given", [HOSTILE, texts()[2][:2000]], ids=["hostile texts", "2,000 held-out reviews"])
def test_tokens_are_those_of_the_tokenizer(functions, writer, given):
    found = json.loads(functions.evaluate("texts => JSON.stringify(encoded(texts))", given))
    for text, mine in zip(given, found, strict=True):
        ids = writer[1].encode(text).ids
        assert mine == [ids, writer[1].decode(ids)], ascii(text)


@torch.no_grad()
@pytest.mark.parametrize("text", ["", "This movie", HOSTILE[-1]], ids=["start", "two tokens", "full window"])
def test_logits_and_attention_weights_are_those_of_pytorch_with_and_without_cache(functions, writer, text):
    model, tokenizer = writer
    ids = window(tokenizer.encode(text).ids)
    logits, weights = model.read(torch.tensor([ids]))
    wanted = torch.stack(weights)[:, 0, :, -1].flatten()
    for cached in ([], [ids[: len(ids) // 2 + 1]], [[*ids[:-1], 5, 6][:128], ids]):
        answer = json.loads(functions.evaluate("all => predicted(...all)", [ids, cached]))
        found = [torch.tensor(each, dtype=torch.float32) for each in answer]
        torch.testing.assert_close(found[0], logits[0, -1], atol=1e-3, rtol=0)
        torch.testing.assert_close(found[1], wanted, atol=1e-4, rtol=0)


# -------------------------------------------------------------------------------------------------- what is on the page


class Reader:
    """What a reader does with the page, and what the page then shows."""

    def __init__(self, page):
        self.page = page

    def load(self):
        self.page.locator("#writes-load").click()
        return self.viewed()

    def viewed(self):
        self.page.wait_for_selector("#writes[data-viewed]")
        return self

    def wait_for(self, event, action):
        self.viewed()  # else what was asked for earlier would be taken for what the action brings
        self.page.evaluate("event => { delete document.getElementById('writes').dataset[event]; }", event)
        action()
        self.page.wait_for_selector(f"#writes[data-{event}]")
        return self

    def type(self, text):
        self.page.mouse.move(0, 0)  # the page may scroll, and a token that comes below the pointer would be viewed
        return self.wait_for("viewed", lambda: self.page.locator("#writes-text").fill(text))

    def press(self, name):
        return self.wait_for("done", lambda: self.page.get_by_role("button", name=name, exact=True).click())

    def set(self, temperature=None, **chosen):
        if temperature is not None:
            self.page.locator("#writes-temperature").fill(str(temperature))
        for name, value in chosen.items():
            self.page.locator(f"#writes-{name} label:has([value='{value}'])").click()
        return self

    def at_token(self, number):
        return self.wait_for("viewed", lambda: self.page.locator("#writes-out .t").nth(number).click())

    def text(self, name):
        return self.page.locator(f"#writes-{name}").inner_text()

    def written(self):
        return self.page.locator("#writes-out").text_content()

    def bars(self):
        """Each bar: its token, and its probability in per cent."""
        shown = self.page.locator("#writes-bars button:not([hidden])")
        texts = "all => all.map((bar) => [bar.firstChild.textContent, parseFloat(bar.lastChild.textContent)])"
        return shown.evaluate_all(texts)


def opened(visit, place, fragment="", **how):
    return Reader(visit(f"{place}/{PAGE}.html{fragment}", covered=True, **how))


@pytest.fixture
def start(visit, address):
    return lambda fragment="", **how: opened(visit, address, fragment, **how)


@pytest.fixture(scope="module")
def shared_reader(browser, address):
    with visits(browser) as visit:
        reader = opened(visit, address).load()
        reader.page.evaluate("caches.delete('review writer')")
        yield reader


@pytest.fixture
def reader(shared_reader):
    """The page with its model and its settings as at first; in the end it has complained of nothing."""
    shared_reader.page.set_viewport_size({"width": 1280, "height": 900})
    yield shared_reader.set(temperature=0.8, topk=20, cache=1).type("This movie")
    assert shared_reader.page.faults == []


def test_the_numbers_of_the_card_are_measured():
    page = (SITE / f"{PAGE}.html").read_text("utf-8")
    test = json.loads((ROOT / "shared/review_writer.json").read_text())["test"]
    assert f"{test['loss'][0]:.2f} ±" in page and f"{test['trigram'][0]:.2f} ±" in page


def test_without_workers_there_is_a_sentence(visit, address):
    page = visit(f"{address}/{PAGE}.html")
    page.add_init_script("delete globalThis.Worker")
    page.reload()
    page.get_by_text("has no worker for the page").wait_for()
    assert not page.locator("#writes-load").is_visible()


def test_the_page_writes_what_pytorch_writes_and_says_what_is_invented_and_what_the_cache_saves(reader, writer):
    reader.set(temperature=0)
    for text in ("I loved", "When I was a child,", "The film was long and " * 24):  # the last one fills the window
        reader.type(text).press("Write")
        wanted = continue_text(*writer, text, 100, temperature=0)
        assert reader.written() == wanted
        assert reader.page.locator("#writes-out ins").text_content() == wanted.removeprefix(text)
    reader.set(cache=0).press("One token")
    assert reader.written() == continue_text(*writer, text, 101, temperature=0)
    costs = [float(reader.page.locator(f"[data-cost='{cache}']").inner_text().split()[0]) for cache in (1, 0)]
    assert costs[1] > 20 * costs[0]
    assert all(float(reader.page.locator(f"[data-time='{cache}']").inner_text()) > 0 for cache in (1, 0))


@torch.no_grad()
def test_bars_are_the_probabilities_at_the_chosen_temperature_and_top_k(reader, writer):
    model, tokenizer = writer
    logits = model(torch.tensor([[START, *tokenizer.encode("This movie").ids]]))[0, -1]
    for temperature, top_k in ((0.8, 20), (1.5, 0), (0.2, 3)):
        reader.set(temperature=temperature, topk=top_k)
        probs = (review_writer.most_probable(logits, top_k or None) / temperature).softmax(dim=0)
        best, ids = probs.topk(min(10, top_k or 10))
        names, shown = zip(*reader.bars(), strict=True)
        assert list(names) == [tokenizer.decode([number]) for number in ids.tolist()]
        assert shown == pytest.approx((100 * best).tolist(), abs=0.6)


def test_a_different_token_continues_the_text_from_there(reader, writer):
    reader.set(temperature=0).press("Write").at_token(3)
    before, other = reader.written(), reader.bars()[1][0]
    start = writer[1].decode(writer[1].encode(before).ids[:4])
    reader.wait_for("done", lambda: reader.page.locator("#writes-bars button").nth(1).click())
    assert reader.written() == continue_text(*writer, start + other, 100, temperature=0) != before
    assert reader.page.locator("#writes-out ins").text_content().startswith(reader.written()[len("This movie") :][:5])


@torch.no_grad()
def test_each_head_shows_what_the_token_under_the_pointer_attends_to(reader, writer):
    model, tokenizer = writer
    ids = tokenizer.encode("This movie was not good, it was awful").ids
    reader.type("This movie was not good, it was awful")
    reader.wait_for("viewed", lambda: reader.page.locator("#writes-out .t").nth(5).hover())
    assert reader.text("told").startswith(f"After “{tokenizer.decode(ids[5:6])}”")
    reader.at_token(5)  # and so it stays when the pointer leaves
    weights = torch.stack(model.read(torch.tensor([[START, *ids[:6]]]))[1])[:, 0, :, -1].flatten(0, 1)  # (24, 7)
    names = ["start token", *(tokenizer.decode([number]) for number in ids)]
    shown = "all => all.map((each) => [each.children[1].textContent, +each.children[2].textContent])"
    heads = reader.page.locator("#writes-heads button").evaluate_all(shown)
    for row, (name, weight) in zip(weights, heads, strict=True):
        assert weight == pytest.approx(row.max().item(), abs=0.006)
        assert name == names[row.argmax()] or names.count(name) > 1
    reader.page.locator("#writes-heads button").nth(8).click()
    shown = "all => all.map((each) => +each.style.getPropertyValue('--share'))"
    shares = reader.page.locator("#writes-out .t").evaluate_all(shown)
    reader.page.locator("#writes-heads button").nth(8).click()
    assert shares == pytest.approx([*weights[8, 1:].tolist(), *[0] * (len(ids) - 6)], abs=1e-3)


def test_writing_can_be_paused_and_goes_on(reader):
    page = reader.page
    page.emulate_media(reduced_motion="no-preference")
    page.get_by_role("button", name="Write", exact=True).click()
    page.locator("#writes-out ins .t").nth(3).wait_for()
    page.get_by_role("button", name="Pause", exact=True).click()
    paused = reader.written()
    assert reader.text("state").startswith("Paused after")
    page.wait_for_timeout(400)
    assert reader.written() == paused
    page.emulate_media(reduced_motion="reduce")
    assert reader.press("One token").written().startswith(paused)


def test_the_address_holds_beginning_text_and_settings(start, reader):
    reader.set(temperature=1.1, topk=100, cache=0).type("Ça <b>100%</b> & more=#less? 日本 🥨")
    reader.press("One token").press("One token")
    hash = reader.page.evaluate("location.hash")
    assert not [url for url in reader.page.asked if "100" in url]
    other = start(hash).load()
    assert other.written() == reader.written() and other.text("degrees") == "1.1"
    invented = [each.page.locator("#writes-out ins").text_content() for each in (other, reader)]
    assert invented[0] == invented[1] != ""
    assert other.page.locator("[name='writes-cache']:checked").get_attribute("value") == "0"
    for fragment, text in {"#text=Good&ids=9999999.x": "Good", "#text=Fine&t=%%%&topk=x&ids=": "Fine"}.items():
        other.page.evaluate("hash => { location.hash = hash; }", fragment)
        other.page.locator("#writes-out", has_text=text).wait_for()
        assert other.written() == text and other.page.faults == []


def test_arrow_keys_go_from_token_to_token(reader):
    reader.type("The cat sat").page.locator("#writes-out").focus()
    reader.wait_for("viewed", lambda: reader.page.keyboard.press("ArrowLeft"))
    assert reader.page.locator("#writes-out .chosen").text_content() == " cat"
    reader.wait_for("viewed", lambda: reader.page.keyboard.press("Home"))
    assert reader.text("told").startswith("After the start token, where the text has “The”")


def test_the_live_region_is_silent_while_the_model_writes_and_then_says_all_of_it_once(reader):
    page = reader.page
    page.wait_for_timeout(1100)
    page.evaluate("""() => { globalThis.heard = [];
      new MutationObserver(() => heard.push(document.getElementById('writes-said').textContent))
        .observe(document.getElementById('writes-said'), { childList: true, characterData: true, subtree: true }); }""")
    reader.set(temperature=0).press("Write")
    page.wait_for_function("heard.length")
    page.wait_for_timeout(300)
    heard = page.evaluate("heard")
    assert len(heard) == 1 and reader.written().removeprefix("This movie") in heard[0]


COPY = """selector => {
  getSelection().selectAllChildren(document.querySelector(selector));
  const data = new DataTransfer();
  const event = new ClipboardEvent("copy", { clipboardData: data, bubbles: true, cancelable: true });
  document.querySelector("#writes-out").dispatchEvent(event);
  return event.defaultPrevented ? data.getData("text/plain") : null; }"""


def test_a_copy_carries_the_mark_unless_all_of_it_is_the_reader_s(reader):
    assert reader.page.evaluate(COPY, "#writes-out") is None
    reader.set(temperature=0).press("One token")
    assert "invented by a small language model" in reader.page.evaluate(COPY, "#writes-out")
    assert "invented by a small language model" in reader.page.evaluate(COPY, "main")


ODD = {
    "": "An empty beginning",
    "x" * 2000: "The model sees the last",
    "word " * 400: "The model sees the last",
    "🥨🙂👩‍👩‍👧": "tokens.",
    "<img src=x onerror=alert(1)><script>alert(2)</script>": "tokens.",
    "日本語の映画 שלום": "knows other scripts only byte by byte",
}


def test_odd_and_hostile_beginnings_are_continued_and_do_no_harm(reader):
    page, images = reader.page, reader.page.locator("img").count()
    page.set_viewport_size({"width": 320, "height": 900})
    for text, sentence in ODD.items():
        reader.type(text).press("One token")
        assert sentence in reader.text("note") and reader.written().startswith(text[:-3])
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.locator("#writes-text").fill("x" * 2001)
    page.get_by_text("The text has 2,001 characters; this page takes at most 2,000.").wait_for()
    assert page.locator("img").count() == images and page.locator("#writes script").count() == 0
