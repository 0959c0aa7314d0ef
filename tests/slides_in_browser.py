"""A deck of slides as a browser shows it: what is too small to be read from the last row, and what leaves its slide."""

SMALLEST, OF_FIGURES = 24, 14  # pixels, on a slide of 1280 by 720; what stands in a figure is as large as it fits
LOOK = """([smallest, ofFigures]) => {
  const slide = document.querySelector(".slides > section.present"), faults = [];
  const name = (element) => `${element.tagName} ${element.textContent.trim().slice(0, 40)}`;
  const seen = (element) => element.getClientRects().length && getComputedStyle(element).visibility !== "hidden";
  const own = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!slide.querySelector("h1, h2")?.textContent.trim()) faults.push("no heading");
  if (!slide.querySelector(".shown :is(img, svg, iframe)") && !slide.querySelector(".shown").textContent.trim())
    faults.push("an empty slide");
  for (const element of slide.querySelectorAll("*")) {
    if (element.closest(".notes, svg, math *, style, script, .hidden") || !seen(element)) continue;
    if (!own(element) && !element.matches("math")) continue; // inside a formula an index is as small as it likes
    const size = parseFloat(getComputedStyle(element).fontSize) * (element.currentCSSZoom || 1);
    const least = element.closest(".picture .shown") ? ofFigures : smallest;
    if (size < least - .1) faults.push(`${size} pixels: ${name(element)}`);
  }
  const inside = (inner, outer) => inner.left >= outer.left - 2 && inner.right <= outer.right + 2
    && inner.top >= outer.top - 2 && inner.bottom <= outer.bottom + 2;
  const whole = { left: 0, top: 0, right: innerWidth, bottom: innerHeight - 40 };
  for (const part of slide.querySelectorAll("h1, h2, .label, .room, .then"))
    if (!inside(part.getBoundingClientRect(), whole)) faults.push(`leaves the slide: ${name(part)}`);
  const shown = slide.querySelector(".shown"), room = slide.querySelector(".room");
  const scrolls = getComputedStyle(room).overflowY === "auto";
  const edge = room.getBoundingClientRect();
  for (const part of scrolls ? [] : [shown, ...shown.querySelectorAll("img, svg, table, pre, math")])
    if (!inside(part.getBoundingClientRect(), edge)) faults.push(`leaves its room: ${name(part)}`);
  return faults.map((fault) => `${slide.querySelector("h1, h2")?.textContent.trim()}: ${fault}`);
}"""


def opened(visit, url: str, theme: str = "light"):
    """A deck on a screen of 1280 by 720."""
    page = visit(url, theme, width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.wait_for_function("document.querySelector('.slides > section.present.fitted')")
    return page


def turned(page):
    """Turn all slides by keys, with what each of them reveals; yields the number of each, from 1."""
    count = page.locator(".slides > section").count()
    for place in range(1, count + 1):
        page.wait_for_function(
            f"document.querySelectorAll('.slides > section')[{place - 1}].matches('.present.fitted')"
        )
        while page.locator(".present .fragment:not(.visible)").count():
            page.keyboard.press("PageDown")
        yield place
        page.keyboard.press("PageDown")


def faults(page) -> list[str]:
    """What is wrong with the slide that is shown, one line for each fault."""
    return page.evaluate(LOOK, [SMALLEST, OF_FIGURES])
