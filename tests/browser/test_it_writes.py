"""The page "It writes": tokens, logits and texts against PyTorch on the same weights, and what readers do with it."""

import json

import pytest
import torch
from live_page import LivePage
from site_in_browser import visits

from experiments.train_review_writer import texts
from shared import review_writer
from shared.review_writer import START, continue_text, window

HOSTILE = [
    " ", "\n\n \t x", "  two  spaces ", "I'll don't we've 'S", "naïve café Kraków", "🥨👩\u200d👩\u200d👧 🙂",
    "日本語の映画", "שלום مرحبا", "<img src=x onerror=alert(1)>",
    "\u202e\u200b\ufeff\u00a0\u2028\u3000\x85\0", "x" * 500, "1234567890²½", "!?...--__", "e\u0301",
    "\ufffd", "__proto__ constructor", "word " * 400,
]  # fmt: skip


class Reader(LivePage):
    """What a reader does with the page, and what the page then shows."""

    def press(self, name):
        return self.wait_for("done", lambda: self.page.get_by_role("button", name=name, exact=True).click())

    def set(self, temperature=None, **chosen):
        if temperature is not None:
            self.at("temperature").fill(str(temperature))
        for name, value in chosen.items():
            self.page.locator(f"#writes-{name} label:has([value='{value}'])").click()
        return self

    def token(self, number):
        return self.page.locator("#writes-out .t").nth(number)

    def written(self):
        return self.at("out").text_content()

    def invented(self):
        return self.page.locator("#writes-out ins").text_content()

    def bars(self):
        """Each bar: its token, and its probability in per cent."""
        shown = self.page.locator("#writes-bars button:not([hidden])")
        texts = "all => all.map((bar) => [bar.firstChild.textContent, parseFloat(bar.lastChild.textContent)])"
        return shown.evaluate_all(texts)


@pytest.fixture(scope="module")
def writer():
    """The model and its tokenizer, as labs load them."""
    return review_writer.load()


@pytest.fixture(scope="module")
def shared_reader(browser, address):
    with visits(browser) as visit:
        yield Reader(visit, address, "it_writes", "writes").load().take_model("reviewWriter")


@pytest.fixture
def reader(shared_reader):
    """The page with its model and its settings as at first; in the end it has complained of nothing."""
    yield shared_reader.set(temperature=0.8, topk=20, cache=1).type("This movie")
    assert shared_reader.page.faults == []


# --------------------------------------------------------------------------------------------- the model and its tokens


@pytest.mark.parametrize("given", [HOSTILE, texts()[2][:2000]], ids=["hostile texts", "2,000 held-out reviews"])
def test_tokens_are_those_of_the_tokenizer(shared_reader, writer, given):
    tokenize = """texts => {
      const tokens = model.tokensOf(file), encoded = texts.map(tokens.encode);
      return JSON.stringify([encoded, encoded.map(tokens.decode)]); }"""
    encoded, decoded = json.loads(shared_reader.page.evaluate(tokenize, given))
    assert decoded == given
    for text, ids in zip(given, encoded, strict=True):
        assert ids == writer[1].encode(text).ids, ascii(text)


@torch.no_grad()
@pytest.mark.parametrize("text", ["", "This movie", HOSTILE[-1]], ids=["start", "two tokens", "full window"])
def test_logits_and_attention_weights_are_those_of_pytorch_with_and_without_cache(shared_reader, writer, text):
    model, tokenizer = writer
    ids = tokenizer.encode(text).ids
    logits, weights = model.read(torch.tensor([window(ids)]))
    wanted = torch.stack(weights)[:, 0, :, -1].flatten()
    for cached in ([], ids[: len(ids) // 2], [*ids[:-1], 5, 6], [*ids, 5]):
        answer = """([cached, ids]) => {
          model.answer({ ids: cached });
          const { logits, weights } = model.answer({ ids, cached: true });
          return [Array.from(logits), Array.from(weights)]; }"""
        found = [torch.tensor(each, dtype=torch.float32) for each in shared_reader.page.evaluate(answer, [cached, ids])]
        torch.testing.assert_close(found[0], logits[0, -1], atol=1e-3, rtol=0)
        torch.testing.assert_close(found[1], wanted, atol=1e-4, rtol=0)


def test_the_multiplications_are_those_of_each_matrix_for_each_new_token_and_of_each_pair(shared_reader, writer):
    """Counted from the stored matrices: a token meets all of a block's, the last one the read-out, too."""
    of_a_token = sum(matrix.numel() for block in writer[0].blocks for matrix in block.parameters() if matrix.dim() == 2)
    read_out, (d_model, num_blocks) = writer[0].embedding.weight.numel(), (192, len(writer[0].blocks))
    for text, known in (("This movie", 0), ("This movie was not good", 0), ("This movie was not good", 3)):
        ids = writer[1].encode(text).ids
        new = range(known, len(ids) + 1)  # positions of the new tokens, the start token's among them
        pairs = sum(1 for place in new for seen in range(place + 1))
        ask = """([ids, known]) => {
          if (known) model.answer({ ids: ids.slice(0, known - 1) });
          return model.answer({ ids, cached: known > 0 }).cost; }"""
        cost = shared_reader.page.evaluate(ask, [ids, known])
        assert cost == len(new) * of_a_token + 2 * num_blocks * pairs * d_model + read_out


# -------------------------------------------------------------------------------------------------- what is on the page


def test_the_page_writes_what_pytorch_writes_and_says_what_is_invented_and_what_the_cache_saves(reader, writer):
    reader.set(temperature=0)
    for text in ("I loved", "When I was a child,", "The film was long and " * 24):  # the last one fills the window
        reader.type(text).press("Write")
        wanted = continue_text(*writer, text, 100, temperature=0)
        assert reader.written() == wanted and reader.invented() == wanted.removeprefix(text)
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
        probs = review_writer.most_probable(logits / temperature, top_k or None).softmax(dim=0)
        best, ids = probs.topk(min(10, top_k or 10))
        names, shown = zip(*reader.bars(), strict=True)
        assert list(names) == [tokenizer.decode([number]) for number in ids.tolist()]
        assert shown == pytest.approx((100 * best).tolist(), abs=0.6)


def test_a_different_token_continues_the_text_from_there(reader, writer):
    reader.set(temperature=0).press("Write").wait_for("viewed", reader.token(3).click)
    before, other = reader.written(), reader.bars()[1][0]
    start = writer[1].decode(writer[1].encode(before).ids[:4])
    reader.wait_for("done", reader.page.locator("#writes-bars button").nth(1).click)
    assert reader.written() == continue_text(*writer, start + other, 100, temperature=0) != before
    assert "This movie" + reader.invented() == reader.written()


@torch.no_grad()
def test_each_head_shows_what_the_token_under_the_pointer_attends_to(reader, writer):
    model, tokenizer = writer
    ids = tokenizer.encode("This movie was not good, it was awful").ids
    reader.type("This movie was not good, it was awful").wait_for("viewed", reader.token(5).hover)
    assert reader.text("told").startswith(f"After “{tokenizer.decode(ids[5:6])}”")
    reader.wait_for("viewed", reader.token(5).click)  # and so it stays when the pointer leaves
    weights = torch.stack(model.read(torch.tensor([[START, *ids[:6]]]))[1])[:, 0, :, -1].flatten(0, 1)  # (24, 7)
    names = ["start token", *(tokenizer.decode([number]) for number in ids)]
    buttons = reader.page.locator("#writes-heads button")
    shown = "all => all.map((each) => [each.children[1].textContent, +each.children[2].textContent])"
    for row, (name, weight) in zip(weights, buttons.evaluate_all(shown), strict=True):
        assert weight == pytest.approx(row.max().item(), abs=0.006)
        assert name == names[row.argmax()] or names.count(name) > 1
    buttons.nth(8).click()
    shown = "all => all.map((each) => +each.style.getPropertyValue('--share'))"
    shares = reader.page.locator("#writes-out .t").evaluate_all(shown)
    buttons.nth(8).click()
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


def test_the_address_holds_beginning_text_and_settings(visit, address, reader):
    reader.set(temperature=1.1, topk=100, cache=0).type("Ça <b>100%</b> & more=#less? 日本 🥨")
    reader.press("One token").press("One token")
    assert not [url for url in reader.page.asked if "100" in url]
    other = Reader(visit, address, "it_writes", "writes", reader.page.evaluate("location.hash")).load()
    assert other.written() == reader.written() and other.invented() == reader.invented() != ""
    assert other.text("degrees") == "1.1" and other.page.locator("#writes-cache [value='0']").is_checked()
    for fragment, text in {"#text=Good&ids=9999999.x": "Good", "#text=Fine&t=%%%&topk=x&ids=": "Fine"}.items():
        assert other.go_to(fragment).written() == text and other.page.faults == []


def test_arrow_keys_go_from_token_to_token(reader):
    reader.type("The cat sat").at("out").focus()
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
    assert len(heard) == 1 and reader.invented() in heard[0]


def test_a_copy_carries_the_mark_unless_all_of_it_is_the_reader_s(reader):
    page, mark = reader.page, "invented by a small language model"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def copied(selector):
        page.evaluate("selector => getSelection().selectAllChildren(document.querySelector(selector))", selector)
        page.keyboard.press("Control+c")
        return page.evaluate("navigator.clipboard.readText()")

    assert copied("#writes-out") == "This movie"
    reader.set(temperature=0).press("One token")
    assert mark in copied("#writes-out") and mark in copied("main")
    page.evaluate("navigator.clipboard.writeText('')")
    page.get_by_role("button", name="Copy the text").click()
    page.get_by_text("Copied, with a line").wait_for()
    assert mark in page.evaluate("navigator.clipboard.readText()")
