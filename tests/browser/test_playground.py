"""The attention playground in a browser: what a reader does with it, and what it then shows and says."""

import pytest
from site_in_browser import SITE, axe, too_small

PAGE = "book/playground"
SAID = "document.getElementById('said').textContent"


class Reader:
    """A reader of the page, who waits for what was asked for."""

    def __init__(self, visit, address, place="", **settings):
        self.page = visit(f"{address}/{PAGE}.html{place}", **settings)
        self.drawn()

    def drawn(self):
        self.page.wait_for_function("document.getElementById('play-guest').textContent")
        return self

    def text(self, name):
        return self.page.locator(f"#play-{name}").inner_text()

    def title(self):
        return self.page.locator(".challenge h2:visible").inner_text()

    def found(self):
        return self.page.locator("#play-challenges .found").count()

    def choose(self, switch, value):
        self.page.locator(f"[name='play-{switch}'][value='{value}']").check(force=True)

    def train(self):
        self.page.locator("#play-train").click()
        return self.finish()

    def finish(self):
        self.page.wait_for_function("document.getElementById('play-train').textContent === 'Train again'")
        return float(self.text("accuracy").split()[1])

    def guess(self, words):
        self.page.locator("#play-guess label:visible", has_text=words).click()
        self.page.get_by_role("button", name="Add it and train").click()
        return self.finish()

    def hash(self):
        return self.page.evaluate("location.hash")


@pytest.fixture
def reader(visit, address):
    """Opens the page; in the end it has complained of nothing and asked nobody else."""
    opened = []

    def read(place="", **settings):
        opened.append(Reader(visit, address, place, **settings))
        return opened[-1]

    yield read
    for each in opened:
        assert each.page.faults == []
        assert [url for url in each.page.asked if not url.startswith((address, "data:", "blob:"))] == []


def test_the_first_challenge_fails_as_it_is_and_a_right_guess_solves_it(reader):
    ada = reader()
    assert ada.title() == "What does Ada drink?"
    assert ada.train() < 0.45 and "Which part is missing? Guess" in ada.text("verdict")
    assert ada.guess("One learned query") > 0.95
    assert "Solved. This is the missing part. One learned query is enough" in ada.text("verdict")
    ada.page.reload()
    assert ada.drawn().found() == 1, "what was solved stays"


def test_a_wrong_guess_is_trained_too_and_solves_nothing_and_another_may_follow(reader):
    values = reader("#values")
    assert values.guess("Positions") < 0.7
    assert "not which of the two drinks is the friend’s. Guess again." in values.text("verdict")
    assert "one of the two drinks .58" in values.page.locator("#play-chart").text_content()
    assert values.found() == 0
    assert values.guess("A value projection") > 0.95
    assert "keeps the two apart" in values.text("verdict")
    assert "self.W_value" in values.page.locator("#play-code").text_content()
    rows = values.page.locator("#play-attempts-rows tr").all_inner_texts()
    assert len(rows) == 2 and "positions" in rows[0] and "positions" not in rows[1]
    assert values.page.locator("#play-chart .ghost").count() == 2


@pytest.mark.parametrize(
    ("place", "switch", "value"), [("#ada", "scores", "qk"), ("#keys", "width", 8), ("#values", "residual", 0)]
)
def test_a_challenge_solved_without_the_part_asked_about_is_not_ticked(reader, place, switch, value):
    other = reader(place)
    other.choose(switch, value)
    assert other.train() > 0.95
    assert other.text("verdict").endswith("Solved in another way than the one asked about.")
    assert other.found() == 0


@pytest.mark.parametrize("button", ["train", "step", "seed", "cafe"])
def test_a_verdict_goes_when_a_run_begins_or_its_seed_or_cafe_changes(reader, button):
    page = reader("#values")
    page.train()
    assert "Finished" in page.text("verdict")
    page.page.locator(f"#play-{button}").click()
    assert page.text("verdict") == ""


@pytest.mark.parametrize(("width", "also"), [(1440, ["verdict"]), (390, [])])
def test_after_a_guess_the_layer_is_in_sight(reader, width, also):
    page = reader(width=width)
    page.guess("A value projection")
    assert "attends to all eight guests equally (weight .13 each)" in page.text("guest")
    for name in ["train", "room", "chart", "state", *also]:
        box = page.page.locator(f"#play-{name}").bounding_box()
        assert 0 <= box["y"] and box["y"] + box["height"] <= page.page.viewport_size["height"], name


def test_a_solved_challenge_leads_to_the_next_and_no_guess_is_asked_for(reader):
    page = reader()
    page.page.get_by_role("button", name="Add it and train").click()
    asked = "document.querySelector('#play-guess fieldset:enabled input').validity.valueMissing"
    assert page.page.evaluate(asked) and page.text("accuracy") == "Not trained yet", "the browser says what is missing"
    page.train()
    following = page.page.get_by_role("button", name="Next challenge")
    assert not following.is_visible()
    page.guess("One learned query")
    following.click()
    page.page.wait_for_function(
        "document.querySelector('.challenge:not([hidden]) h2').innerText === 'Room for eight keys'"
    )
    assert not following.is_visible()


def test_every_challenge_has_an_address_of_its_own_and_the_address_holds_the_whole_state(reader):
    other = reader("#neighbour")
    assert other.title() == "My left-hand neighbor's drink"
    for switch, value in (("scores", "tied"), ("width", 2), ("positions", 1), ("layers", 2), ("layer", 2)):
        other.choose(switch, value)
    for button in ("cafe", "seed", "seed"):
        other.page.locator(f"#play-{button}").click()
    other.page.locator("#play-room .card-of").nth(3).press("Enter")
    assert other.hash().startswith("#v=1&challenge=neighbour&question=left&scores=tied&width=2&values=1&residual=1&")
    assert other.hash().endswith("positions=1&feed_forward=0&layers=2&seed=3&cafe=2&guest=3&layer=2")
    shown = [other.text(name) for name in ("state", "numbers", "guest")]
    again = reader(other.hash())
    assert [again.text(name) for name in ("state", "numbers", "guest")] == shown
    assert again.train() == other.train(), "the same address gives another run"


@pytest.mark.parametrize("place", ["#v=0&challenge=neighbour", "#nonsense", "#v=1&challenge=neighbour&width=99"])
def test_an_address_that_cannot_be_read_opens_the_first_challenge_with_a_sentence(reader, place):
    page = reader(place)
    assert "damaged" in page.text("problem") and page.title() == "What does Ada drink?"


@pytest.mark.parametrize(("missing", "note"), [("Worker", "no worker"), ("localStorage", "stores nothing")])
def test_without_a_worker_or_storage_it_trains_and_says_what_is_missing(reader, missing, note):
    other = reader("#queries")
    absent = "() => { throw new Error('not here'); }"
    other.page.add_init_script(f"Object.defineProperty(globalThis, '{missing}', {{ get: {absent} }});")
    other.page.reload()
    assert note in other.drawn().text("guess") + other.text("worker")
    assert other.guess("Two projections") > 0.95


def test_the_run_can_be_paused_gone_on_with_and_made_step_by_step(reader):
    other = reader("#queries")
    other.page.emulate_media(reduced_motion="no-preference")
    for number in (1, 2):
        other.page.locator("#play-step").click()
        other.page.wait_for_function(
            f"/after {number} step/.test(document.getElementById('play-accuracy').textContent)"
        )
    other.choose("speed", 1)
    other.page.locator("#play-train").click()
    other.page.wait_for_function("document.getElementById('play-accuracy').textContent.match(/after (\\d+)/)[1] > 5")
    other.page.locator("#play-train").click()
    assert other.text("train") == "Go on" and other.page.evaluate(SAID).startswith("Paused")
    other.choose("speed", 20)
    other.train()


def table_of(page) -> list[list[str]]:
    """Of each guest the name, the friend, the drink, whom it attends to most, with which weight, answer and verdict."""
    page.get_by_text("The picture as a table").click()
    return page.locator("#play-rows tr").evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.innerText))")


def test_a_key_press_on_a_guest_shows_its_weights_and_the_table_holds_those_of_all(reader):
    queries = reader("#queries")
    queries.guess("Two projections")
    rows = table_of(queries.page)
    assert len(rows) == 8
    for chair, (name, friend, _, attends, weight, answer, judged) in enumerate(rows):
        assert (attends, judged) == (friend, "right") and float(weight) > 0.5
        card = queries.page.locator("#play-room .card-of").nth(chair)
        card.press(" ")
        assert card.get_attribute("aria-pressed") == "true" and card.get_attribute("aria-label").startswith(name)
        assert card.get_attribute("aria-label") == " ".join(card.locator("text").all_text_contents()), "as it is seen"
        sentence = f"{name} attends most to {friend} (weight {weight}) and answers “{answer}”: right."
        assert queries.text("guest") == sentence == queries.page.evaluate(SAID)


ENDS = """() => [...document.querySelectorAll("#play-room .card-of rect")].map(card => card.getBoundingClientRect())"""
TIPS = """() => {
  const matrix = document.getElementById("play-room").getScreenCTM();
  const seen = (x, y) => { const point = new DOMPoint(x, y).matrixTransform(matrix); return [point.x, point.y]; };
  const paths = ["others", "own"].map(name => document.querySelector(`#play-room .${name}`).getAttribute("d"));
  const arrows = paths.join("").split("z").filter(Boolean).map(arrow => arrow.match(/-?[\\d.]+/g).map(Number));
  return arrows.map(n => [seen((n[0] + n[12]) / 2, (n[1] + n[13]) / 2), seen(n[6], n[7])]);
}"""


def test_an_arrow_leads_from_its_guest_s_card_to_the_friend_s_and_ends_there_alone(reader):
    """Both ends are close to a card, the nearest is the right one, and no two ends share a place."""
    queries = reader("#queries")
    queries.guess("Two projections")
    rows = table_of(queries.page)
    boxes, names = queries.page.evaluate(ENDS), [row[0] for row in rows]

    def guest_at(point):
        x, y = point
        gaps = [max(box["left"] - x, x - box["right"], 0) + max(box["top"] - y, y - box["bottom"], 0) for box in boxes]
        assert min(gaps) < 20, f"{min(gaps)} pixels from the nearest card"
        return names[gaps.index(min(gaps))]

    arrows = queries.page.evaluate(TIPS)
    assert {tuple(map(guest_at, arrow)) for arrow in arrows} == {(row[0], row[3]) for row in rows}
    ends = [point for arrow in arrows for point in arrow]
    apart = [((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5 for i, a in enumerate(ends) for b in ends[:i]]
    assert len(arrows) == 8 and min(apart) > 4


def test_back_leads_to_the_challenge_before_and_what_two_tabs_solve_is_kept_together(reader):
    one, other = reader("#values"), reader("#queries")
    before = one.title()
    one.page.locator("#play-challenges button").first.click()
    assert one.title() == "What does Ada drink?" != before
    one.page.go_back()
    one.page.wait_for_function(
        "title => document.querySelector('.challenge:not([hidden]) h2').innerText === title", arg=before
    )
    other.guess("Two projections")
    one.page.evaluate("location.hash = 'ada'")
    one.guess("One learned query")
    other.page.wait_for_function("document.querySelectorAll('#play-challenges .found').length === 2")
    assert one.found() == 2


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_the_first_screen_is_live_and_nothing_moves_while_it_trains(reader, width, height):
    """Train and the whole café that it changes are in sight, and stay where they are."""

    def boxes():
        return [page.page.locator(f"#play-{name}").bounding_box() for name in ("train", "accuracy", "room")]

    page = reader(width=width)
    page.page.set_viewport_size({"width": width, "height": height})
    before = boxes()
    assert all(box["y"] + box["height"] <= height for box in before), before
    page.train()
    assert boxes()[1:] == before[1:] and boxes()[0]["y"] == before[0]["y"] and page.page.evaluate("scrollY") == 0


def test_the_curve_is_measured_on_the_same_cafes_to_its_end(reader):
    """The mean stays at the most frequent drink: its last point is no jump."""
    page = reader()
    for _ in range(3):
        page.train()
        points = page.page.locator("#play-chart .now").get_attribute("points").split()
        last = [float(point.split(",")[1]) for point in points[-4:]]
        assert len(points) > 5 and max(last) - min(last) < 104 * 0.04
        page.page.locator("#play-seed").click()


def test_the_result_is_announced_once_and_is_on_paper_a_picture_with_a_sentence_and_no_button(reader):
    page = reader("#values")
    page.page.evaluate(
        """() => { const said = document.getElementById("said");
          globalThis.heard = [];
          new MutationObserver(() => heard.push(said.textContent)).observe(said, { childList: true }); }"""
    )
    page.train()
    heard = page.page.evaluate("heard")
    assert (
        len(heard) == 2
        and heard[0].startswith("Training: ")
        and heard[1].startswith("Finished after 300 steps with an accuracy of .5")
    )
    page.page.emulate_media(media="print")
    for name in ("room", "chart", "state", "accuracy"):
        assert page.page.locator(f"#play-{name}").is_visible()
    assert page.page.locator("#play :is(button, input)").locator("visible=true").count() == 0


def test_a_phone_shows_the_challenges_first_the_parts_folded_and_axe_finds_nothing(reader):
    phone = reader(width=320)
    assert not phone.page.locator("#play-parts").evaluate("fold => fold.open")
    tops = [
        phone.page.locator(f"#play-{name}").bounding_box()["y"] for name in ("challenges", "train", "room", "parts")
    ]
    assert tops == sorted(tops)
    assert phone.page.locator("#play-challenges button").evaluate_all(
        "all => all.every(e => e.getBoundingClientRect().right <= 320 && e.offsetHeight >= 44)"
    ), "all challenges are in one row"
    phone.train()
    phone.page.locator("#play-parts summary").click()
    for theme in ("light", "dark"):
        phone.page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        assert axe(phone.page) == []
    assert phone.page.evaluate("document.documentElement.scrollWidth") == 320
    assert too_small(phone.page, "#play :is(button, label, summary, .card-of)") == []


def test_without_scripts_the_challenges_are_text_and_each_has_one_right_guess(visit, address):
    page = visit(f"{address}/{PAGE}.html", scripts=False)
    assert page.locator(".challenge h2:visible").count() == page.locator(".challenge:has([data-right])").count() == 8
    page.get_by_text("One learned query in place of the mean").click()
    assert page.get_by_text("This is the missing part. One learned query is enough").is_visible()


def test_it_works_from_a_disk(visit):
    page = Reader(visit, SITE.as_uri(), "#values")
    assert page.guess("A value projection") > 0.95 and page.page.faults == []
