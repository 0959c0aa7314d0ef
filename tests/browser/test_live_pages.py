"""What all pages with models promise: they load a model when asked for, store it, answer any text, and work from a
disk; without scripts they can be read.
"""

import re

import pytest
from live_page import LivePage
from site_in_browser import COLOURS, SITE, axe
from test_layout import LOADED, opened

PREFIXES = {"seventy_two_heads": "heads", "it_writes": "writes"}
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
ODD = {
    "heads": {
        " \n\t\u200b": "There is no word in this text.",
        "word " * 200: "The text has 202 tokens with [CLS] and [SEP]; this page shows at most 128.",
        HOSTILE: "words",
        "\u202eabc שלום مرحبا __proto__": "words",
        "🥨🙂👩‍👩‍👧": "It reads [UNK] there.",
        "a " * 126: "126 words, 128 tokens",
    },
    "writes": {
        "": "An empty beginning",
        "x" * 2001: "The text has 2,001 characters; this page takes at most 2,000.",
        "word " * 400: "The model sees the last",
        HOSTILE: "tokens.",
        "日本語の映画 שלום": "knows other scripts only byte by byte",
    },
}


@pytest.fixture(params=PREFIXES)
def reader(request, visit, address):
    """A page before its model is loaded."""
    reader = LivePage(visit, address, request.param, PREFIXES[request.param])
    if not reader.at("load").is_visible():
        pytest.skip("the site was built without the package of the pretrained model")
    return reader


DAMAGE = """async () => { for (const name of await caches.keys()) {
  const store = await caches.open(name);
  for (const file of await store.keys()) await store.put(file, new Response("damaged"));
} }"""


def test_a_model_loads_when_asked_for_is_stored_and_can_be_deleted(reader, address):
    def asked():
        return sum("model.safetensors" in url for url in page.asked)

    page, loaded = reader.page, f"#{reader.prefix}[data-viewed]"
    assert asked() == 0 and re.fullmatch(r"Load the model \(\d+\.\d MB\)", reader.text("load"))
    page.context.route("**/model.safetensors*", lambda route: route.abort())
    reader.at("load").click()
    page.get_by_text("Press the button to try again.").wait_for()
    assert not re.search(r"[^.] Press the button", reader.text("progress")), "each sentence has its stop"
    page.context.unroute("**/model.safetensors*")
    page.context.route("**/model.safetensors*", lambda route: None)  # it stalls
    reader.at("load").click()
    page.get_by_role("button", name="Stop loading").click()
    page.get_by_text("Stopped. Nothing of the model is stored.").wait_for()
    assert reader.text("load").startswith("Load the model")
    page.context.unroute("**/model.safetensors*")
    page.faults.clear()
    reader.load()
    assert asked() == 3 and page.faults == []
    assert [url for url in page.asked if not url.startswith((address, "data:", "blob:"))] == []
    page.get_by_text(re.compile(r"This browser stores \d+\.\d MB")).wait_for()
    page.reload()
    page.wait_for_selector(loaded)
    assert asked() == 3, "what is stored is not loaded again"
    page.evaluate(DAMAGE)
    page.reload()
    page.get_by_text("It is not the file that this page was built with.").wait_for()
    reader.load().page.get_by_role("button", name="Delete the model from this browser").click()
    page.get_by_text("This browser stores nothing").wait_for()


def test_without_workers_nothing_is_loaded_for_nothing(reader):
    page = reader.page
    page.add_init_script("delete globalThis.Worker")
    page.reload()
    page.get_by_text("This browser has no workers, and the model runs in one, so there is nothing to load.").wait_for()
    assert not reader.at("load").is_visible() and page.faults == []


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
@pytest.mark.parametrize("name", LOADED)
def test_the_first_screen_has_the_button_that_loads_and_then_what_the_model_answers(
    visit, address, name, width, height
):
    page = visit(f"{address}/{name}.html", width=width)
    page.set_viewport_size({"width": width, "height": height})
    button, _ = LOADED[name]
    if not page.locator(button).is_visible():
        pytest.skip("the site was built without the package of the pretrained model")
    first = {"book/it_writes": ["#writes-write", "#writes-out"], "book/seventy_two_heads": ["#heads-maps"],
             "book/try_the_model": ["#try-slide", "#try-strip"]}  # fmt: skip
    box = page.locator(button).bounding_box()
    assert box["y"] + box["height"] <= height
    page.locator(button).click()
    page.locator(LOADED[name][1]).first.wait_for()
    for part in first[name]:
        assert page.locator(part).bounding_box()["y"] < height - 40, part


def test_a_download_of_the_classifiers_that_stalls_or_fails_can_be_stopped_and_tried_again(visit, address):
    page = visit(f"{address}/book/try_the_model.html")
    page.context.route("**/try_the_model.safetensors*", lambda route: None)  # it stalls
    page.locator("#try-load").click()
    page.get_by_role("button", name="Stop loading").click()
    page.get_by_text("Stopped. Nothing of the models is stored.").wait_for()
    page.context.unroute("**/try_the_model.safetensors*")
    page.context.route("**/try_the_model.safetensors*", lambda route: route.abort())
    page.get_by_role("button", name="Load the models").click()
    page.get_by_text(re.compile(r"The models did not arrive\. .*[^.]\. Press the button to try again\.")).wait_for()
    page.context.unroute("**/try_the_model.safetensors*")
    page.get_by_role("button", name="Load the models").click()
    page.locator(LOADED["book/try_the_model"][1]).first.wait_for()


def test_an_odd_or_hostile_text_gets_a_sentence_and_does_no_harm(reader):
    page, images = reader.load().page, reader.page.locator("img").count()
    page.set_viewport_size({"width": 320, "height": 900})
    for text, sentence in ODD[reader.prefix].items():
        reader.at("note").evaluate("note => { note.textContent = ''; }")
        reader.at("text").fill(text)
        reader.at("note").filter(has_text=sentence).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.faults == [] and page.locator("img").count() == images
    assert page.locator(f"#{reader.prefix} :is(script, b)").count() == 0


@pytest.mark.parametrize("name", LOADED)
def test_from_a_disk_it_works_and_asks_for_nothing_else(visit, name):
    page = opened(visit, SITE.as_uri(), name, 1440)
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith((SITE.as_uri(), "data:", "blob:"))] == []


@pytest.mark.parametrize("name", [*LOADED, "book/playground"])
def test_without_scripts_a_sentence_replaces_what_would_be_there(visit, address, name):
    page = visit(f"{address}/{name}.html", theme="dark", scripts=False)
    assert "With it you could" in page.locator("main noscript p").inner_text()
    assert page.locator("main :is(textarea, button, input)").locator("visible=true").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 30)", "dark needs no script"


@pytest.mark.parametrize("name", LOADED)
def test_axe_finds_nothing_when_the_models_have_answered(visit, address, name):
    page = opened(visit, address, name, 320)
    for fold in page.locator("main details summary").all():
        fold.click()
    for theme, options in (("dark", {}), ("light", {"runOnly": COLOURS})):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        assert axe(page, **options) == []
