"""The walk in a real browser: its numbers against PyTorch, its keys, its address, and what may not harm it."""

import math

import pytest
import torch
from site_in_browser import axe, page_of, too_small

from shared.figures.walk import walk

STAGES = ["input", "queries", "keys", "values", "scores", "scaled scores", "weights", "context"]
SIX_WORDS = "Your journey starts with one step".split()
SIX_ROWS = [[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.1],
            [0.05, 0.8, 0.55]]  # fmt: skip
TABLE = dict(zip(SIX_WORDS, SIX_ROWS, strict=True))
torch.manual_seed(123)
WEIGHTS = [torch.rand(3, 2) for _ in range(3)]  # query, key, value


def journey(**options):
    return walk(SIX_WORDS, SIX_ROWS, *WEIGHTS, **{"follow": "journey"} | options)


def attention(x, *weights):
    """The same stages by PyTorch in double precision."""
    x = torch.as_tensor(x).double()
    q, k, v = (x @ W.double() for W in weights)  # (n, d_k), (n, d_k), (n, d_v)
    scores = q @ k.T  # (n, n)
    scaled = scores / math.sqrt(k.shape[-1])
    weights = torch.softmax(scaled, dim=-1)
    return dict(zip(STAGES, [x, q, k, v, scores, scaled, weights, weights @ v], strict=True))


READ = """host => {
  const root = host.shadowRoot, found = [];
  const texts = (row, kind) => Array.from(row.querySelectorAll(kind), cell => cell.textContent);
  for (let i = 0; i < root.querySelectorAll('.stages li').length; i++) {
    root.querySelectorAll('.stages li button')[i].click();
    for (const table of root.querySelectorAll('table')) {
      const rows = Array.from(table.tBodies[0].rows);
      found.push({ name: table.dataset.name, cols: texts(table.tHead, 'th'), rows: rows.map(row => texts(row, 'th')[0]),
        texts: rows.map(row => texts(row, 'td')),
        values: rows.map(row => Array.from(row.querySelectorAll('td'), cell => cell.dataset.value)) });
    }
  }
  return found; }"""


def read_stages(page, which=0):
    """Every table of every stage, by walking forward: name -> tables; a transpose is read back upright."""
    found = {}
    for table in page.locator(".attention-walk").nth(which).evaluate(READ):
        values = torch.tensor([[float(x) for x in row] for row in table["values"]], dtype=torch.float64)
        if table["name"].endswith("\u1d40"):
            table |= {"name": table["name"][:-1], "rows": table["cols"], "cols": table["rows"]}
            table["texts"], values = list(zip(*table["texts"], strict=True)), values.T
        found.setdefault(table["name"], []).append(table | {"values": values})
    return found


def assert_agrees(found, expected, words):
    for name, array in expected.items():
        for table in found[name]:
            torch.testing.assert_close(table["values"], array, atol=1e-4, rtol=1e-4, msg=lambda m, n=name: f"{n}: {m}")
            assert table["rows"] == words, f"{name} has the wrong words beside its rows"
            if name in ("scores", "scaled scores", "weights"):
                assert table["cols"] == words, f"{name} has the wrong words above its columns"


# --- numbers -----------------------------------------------------------------------------------------------------


def test_all_numbers_agree_with_pytorch_and_are_printed_as_they_are(show):
    shown, cases = [], []
    for seed in range(4):
        torch.manual_seed(seed)
        n, d, k, v = torch.randint(1, 9, (4,)).tolist()
        words = [f"w{i % 5}" for i in range(n)]  # words repeat from the sixth on
        x, W = torch.randn(n, d), [torch.randn(d, width) for width in (k, k, v)]
        shown.append(walk(words, x, *W))
        cases.append((words, x, W))
    page = show(*shown)
    for which, (words, x, W) in enumerate(cases):
        found = read_stages(page, which)
        assert_agrees(found, attention(x, *W), words)
        for name, array in zip(("W_query", "W_key", "W_value"), W, strict=True):
            torch.testing.assert_close(found[name][0]["values"], array.double(), atol=1e-5, rtol=0)
        for table in sum(found.values(), []):
            printed = [[float(text.replace("\u2212", "-")) for text in row] for row in table["texts"]]
            assert (torch.tensor(printed) - table["values"]).abs().max() <= 0.0051, table["name"]


def test_every_cell_of_every_stage_has_a_sum_that_ends_in_the_cell(show):
    torch.manual_seed(3)
    weights = [torch.randn(12, 4) for _ in range(3)]  # sums of 12 terms are written with their middle left out
    page = show(walk(["a", "b"], torch.randn(2, 12), *weights))
    for number in range(8):
        page.locator(".stages li button").nth(number).click()
        wrong = page.evaluate("""() => {
            const root = document.querySelector('.attention-walk').shadowRoot, wrong = [];
            for (const cell of root.querySelectorAll('td[data-row]')) {
              cell.focus();
              const last = Array.from(root.querySelectorAll('.sum .number')).at(-1)?.textContent.replace('\u2212', '-');
              if (!(Math.abs(last - cell.dataset.value) < 1e-4)) wrong.push(root.querySelector('.sum').textContent);
            }
            return wrong; }""")
        assert wrong == []


# --- what a reader does ------------------------------------------------------------------------------------------


def test_a_typed_sentence_is_computed_as_pytorch_computes_it_and_stays_text(show):
    page = show(journey(vocabulary=TABLE))
    sentence, notice = page.get_by_label("Your own sentence"), page.locator(".notice")
    chosen = torch.randint(0, 6, (40,), generator=torch.Generator().manual_seed(7))
    words = [SIX_WORDS[i] for i in chosen]
    sentence.fill(" ".join(words))
    assert_agrees(read_stages(page), attention(torch.tensor(SIX_ROWS)[chosen], *WEIGHTS), words)
    sentence.fill("cat dog JOURNEY, cat")
    table = read_stages(page)["input"][0]["values"]
    assert torch.equal(table[0], table[3]) and not torch.equal(table[0], table[1])
    torch.testing.assert_close(table[2], torch.tensor(SIX_ROWS[1]).double())
    assert "cat" in notice.inner_text() and "JOURNEY" not in notice.inner_text()
    for text, remark in (("step " * 41, "41 words"), ("   ", "at least one word")):
        sentence.fill(text)
        assert remark in notice.inner_text()
    for text in ("<img src=x onerror=alert(1)>", "\u05e9\u05dc\u05d5\u05dd \u202eabc __proto__", "x" * 100_000):
        sentence.fill(text)
        for word, row in zip(text.split(), read_stages(page)["input"][0]["rows"], strict=True):
            assert row == word or (row.endswith("\u2026") and word.startswith(row[:-1]))
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_keyboard_alone_walks_follows_and_points(show):
    page = show(journey(vocabulary=TABLE))
    title, status = page.locator(".what strong"), page.locator(".spoken[role=status]")
    press = page.keyboard.press
    for key in ("Tab", "Tab", "Tab", "ArrowRight"):  # the sentence, back to the lab's, the followed word
        press(key)
    assert page.get_by_role("radio", name="starts").is_checked()
    assert title.inner_text() == "1. X", "an arrow key in the words must not change the stage"
    for key in ("Tab", "ArrowRight", "Tab", "ArrowRight"):  # back, the present stage
        press(key)
    assert title.inner_text() == "3. Keys" and "Stage 3 of 8" in status.inner_text()
    for _ in range(4):  # next, x, W_key, keys
        press("Tab")
    before = page.locator(".chosen").get_attribute("data-col")
    press("ArrowRight")
    assert before == "0" and page.locator(".chosen").get_attribute("data-col") == "1"
    assert page.locator(".sum").inner_text() == status.inner_text(), "the sum of a focused cell is not spoken"
    for _ in range(20):
        press("ArrowDown")
    assert page.locator(".chosen").get_attribute("data-row") == "5", "the last row is where the arrow stops"


def test_on_a_phone_nothing_scrolls_and_the_address_holds_stage_and_sentence(visit):
    # The course's pages say where their root is; only there the walk writes into the address.
    html = page_of([journey(vocabulary=TABLE)], "light").replace("<html", '<html data-content_root="./"')
    page = visit("about:blank", width=320)
    page.route("http://course.test/**", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto("http://course.test/lab.html")
    for _ in range(6):
        page.get_by_role("button", name="Next stage").click()
    spoken = page.locator(".what").inner_text().split("\u201c")[2].split("\u201d")[0]
    place = page.locator("td.chosen").get_attribute("data-col")
    assert SIX_WORDS[int(place)] == spoken, "it opens on another cell than it speaks of"
    cut = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert page.locator(".attention-walk .scroll").evaluate_all(cut) == 0
    page.wait_for_url("**#walk1=7,2")
    page.get_by_label("Your own sentence").fill("one step, one journey")
    page.wait_for_url("**#walk1=7,2,one*")
    page.reload()
    assert page.locator(".what strong").inner_text() == "7. Weights"
    assert page.get_by_label("Your own sentence").input_value() == "one step, one journey"


def test_the_sum_of_a_walk_that_just_comes_into_sight_covers_no_button(visit):
    page = visit("about:blank", width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.set_content(page_of([journey()], "light").replace("<body>", '<body><div style="height: 480px"></div>'))
    page.locator(".attention-walk .sum").wait_for(state="attached")
    ends = """host => ['.stages', '.sum'].map((name) => host.shadowRoot.querySelector(name).getBoundingClientRect())
      .map(({ top, bottom }) => [top, bottom])"""
    for scrolled in (0, 60, 120, 400):
        page.evaluate("y => scrollTo(0, y)", scrolled)
        (_, below), (above, _) = page.locator(".attention-walk").evaluate(ends)
        assert above >= below, f"{scrolled} pixels down"


def test_without_scripts_a_still_table_shows_the_words_as_text(show):
    words = ["<img src=x onerror=alert(1)>", "'><script>alert(1)</script>", "</div>", "&amp;"]
    shown = walk(words, torch.eye(4), torch.eye(4), torch.eye(4), torch.eye(4))
    assert show(shown, scripts=False).locator(".attention-walk th[scope=row]").all_inner_texts() == words


@pytest.mark.parametrize(("theme", "width", "looked_at"), [("dark", 360, "scores"), ("light", 1440, "context")])
def test_axe_finds_nothing_and_the_page_never_scrolls_sideways(show, theme, width, looked_at):
    wide = walk(SIX_WORDS, torch.eye(9)[:6], *torch.randn(3, 9, 9))
    page = show(journey(vocabulary=TABLE), wide, theme=theme, width=width)
    page.get_by_label("Your own sentence").fill("Your journey starts with one unknown-step today, or not")
    for stage in STAGES:
        if stage == looked_at:  # axe takes its time
            assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert too_small(page, "button, .chip, input[type=text], td[data-row]") == []
        for host in page.locator(".attention-walk").all():
            host.get_by_role("button", name="Next stage").dispatch_event("click")
