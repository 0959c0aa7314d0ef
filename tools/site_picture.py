"""Draws the welcome page's picture, `book/_static/course.svg`, and with it the social card, `book/_static/card.png`.

One sentence goes through self-attention. The shades are the numbers of lab 6 (weights from seed 123), so the picture
cannot say what the course does not. Run it with `python -m tools.site_picture`, where there is a Chromium or Chrome;
both files are committed, so building the book needs neither. A test checks that course.svg is what this script draws.
"""

import shutil
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

from shared.figures.colours import css_colour

STATIC = Path(__file__).resolve().parents[1] / "book" / "_static"
CARD = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><style>
  @font-face {{ font-family: "Source Serif 4"; src: url(fonts/source-serif-4.woff2); font-weight: 200 900; }}
  @font-face {{ font-family: "Course Sans"; src: url(fonts/course-sans.woff2); font-weight: 400 700;
    size-adjust: 106%; }}
  body {{ margin: 0; width: 1200px; height: 630px; display: grid; grid-template-columns: 1fr 520px; gap: 40px;
         align-items: center; padding: 0 40px 0 72px; box-sizing: border-box;
         font-family: "Source Serif 4"; color: #1b1f24; }}
  h1 {{ font-size: 84px; line-height: 1.05; letter-spacing: -.02em; margin: 0 0 28px; font-weight: 600; }}
  p {{ font-size: 32px; line-height: 1.35; margin: 0; color: #5a626c; }}
  svg {{ width: 520px; height: 590px; font-family: "Course Sans"; }}
</style><body><div><h1>Towards Self-Attention</h1><p>Build every matrix yourself. Watch real numbers go through it.
Measure when it helps.</p></div>{picture}</body></html>"""
WORDS = ["Your", "journey", "starts", "with", "one", "step"]
FEATURES = [
    [0.43, 0.15, 0.89],
    [0.55, 0.87, 0.66],
    [0.57, 0.85, 0.64],
    [0.22, 0.58, 0.33],
    [0.77, 0.25, 0.10],
    [0.05, 0.80, 0.55],
]
FOLLOWED = 1  # the word whose row is framed: "journey"
CELL = 15


def text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "ink", weight: int = 400) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{css_colour(colour)}" font-size="16"'
        f' font-weight="{weight}">{words}</text>'
    )


def matrix(name: str, role: str, values: torch.Tensor, x: float, y: float, rows: bool = False) -> list[str]:
    """The cells of a matrix, darker where its numbers are larger, with its name above and one row framed."""
    height, width = values.shape
    shades = 0.12 + 0.88 * (values - values.min()) / (values.max() - values.min())
    parts = [text(x + width * CELL / 2, y - 10, name, colour=role, weight=600)]
    for row in range(height):
        for column in range(width):
            parts.append(
                f'<rect x="{x + column * CELL:g}" y="{y + row * CELL:g}" width="{CELL}" height="{CELL}"'
                f' fill="{css_colour(role)}" fill-opacity="{shades[row, column]:.2f}"'
                f' stroke="{css_colour("paper")}"/>'
            )
        if rows:
            bold = 600 if row == FOLLOWED else 400
            colour = "ink" if row == FOLLOWED else "muted"
            parts.append(text(x - 8, y + row * CELL + 13, WORDS[row], "end", colour, bold))
    parts.append(
        f'<rect x="{x - 1:g}" y="{y + FOLLOWED * CELL - 1:g}" width="{width * CELL + 2}" height="{CELL + 2}"'
        f' fill="none" stroke="{css_colour("ink")}" stroke-width="2"/>'
    )
    return parts


def arrow(path: str, role: str) -> str:
    return f'<path d="{path}" fill="none" stroke="{css_colour(role)}" stroke-width="2" marker-end="url(#tip-{role})"/>'


def tip(role: str) -> str:
    return (
        f'<marker id="tip-{role}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{css_colour(role)}"/></marker>'
    )


def picture() -> str:
    torch.manual_seed(123)
    x = torch.tensor(FEATURES)  # (tokens, d_in)
    queries, keys, values = (x @ torch.rand(3, 2) for _ in range(3))  # (tokens, d_out) each
    scores = queries @ keys.T  # (tokens, tokens)
    weights = torch.softmax(scores / keys.shape[1] ** 0.5, dim=-1)  # (tokens, tokens)
    outputs = weights @ values  # (tokens, d_out)

    parts = [f"<defs>{''.join(tip(role) for role in ('input', 'query', 'key', 'value', 'score', 'weight'))}</defs>"]
    parts += matrix("X", "input", x, 86, 36, rows=True)
    parts += matrix("queries", "query", queries, 214, 36)
    parts += matrix("keys", "key", keys, 294, 36)
    parts += matrix("values", "value", values, 374, 36)
    parts += matrix("scores", "score", scores, 150, 220, rows=True)
    parts += matrix("weights", "weight", weights, 320, 220)
    parts += matrix("outputs", "output", outputs, 350, 400, rows=True)
    parts += [arrow("M138 81H204", "input"), text(171, 72, "learned"), text(171, 100, "matrices")]
    parts += [arrow("M229 132C229 168 187 162 187 194", "query"), arrow("M309 132C309 176 203 158 203 194", "key")]
    parts += [arrow("M246 265H312", "score"), text(279, 256, "softmax"), text(279, 284, "of rows")]
    parts += [arrow("M365 316V374", "weight")]
    parts += [arrow("M410 81H420Q432 81 432 93V433Q432 445 420 445H388", "value")]
    described = (
        "Six words, Your journey starts with one step, as a matrix X. Learned matrices turn it into queries, keys "
        "and values. Queries meet keys in a six by six matrix of scores; a softmax of each row makes them weights; the "
        "weights mix the values into outputs, one for each word. The row of the word journey is framed all the way."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 440 500" role="img" aria-label="{described}">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main() -> None:
    """Write both files."""
    (STATIC / "course.svg").write_text(picture(), encoding="utf-8")
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        raise SystemExit("course.svg is written. The card is drawn by a browser: install Chromium or Chrome.")
    source = STATIC / "card.html"  # beside its fonts
    source.write_text(CARD.format(picture=picture()), encoding="utf-8")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1200, "height": 630})
            page.goto(source.as_uri())
            page.evaluate("document.fonts.ready")
            page.screenshot(path=STATIC / "card.png")
            browser.close()
    finally:
        source.unlink()


if __name__ == "__main__":
    main()
