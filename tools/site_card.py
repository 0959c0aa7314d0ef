"""Draws the social card, `book/_static/card.png`, from the welcome page's picture; run it when that has changed.

`python tools/site_card.py` needs a Chromium or Chrome; the card is committed, so building the book does not.
"""

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

STATIC = Path(__file__).resolve().parents[1] / "book" / "_static"
CARD = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><style>
  @font-face {{ font-family: "Source Serif 4"; src: url(fonts/source-serif-4.woff2); font-weight: 200 900; }}
  body {{ margin: 0; width: 1200px; height: 630px; display: grid; grid-template-columns: 1fr 520px; gap: 40px;
         align-items: center; padding: 0 40px 0 72px; box-sizing: border-box;
         font-family: "Source Serif 4"; color: #1b1f24; }}
  h1 {{ font-size: 84px; line-height: 1.05; letter-spacing: -.02em; margin: 0 0 28px; font-weight: 600; }}
  p {{ font-size: 32px; line-height: 1.35; margin: 0; color: #5a626c; }}
  svg {{ width: 520px; height: 590px; font-family: system-ui, sans-serif; }}
</style><body><div><h1>Towards Self-Attention</h1><p>Build every matrix yourself. Watch real numbers go through it.
Measure when it helps.</p></div>{picture}</body></html>"""


def main() -> None:
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        raise SystemExit("The card is drawn by a browser, and there is none: install Chromium or Chrome.")
    source = STATIC / "card.html"
    source.write_text(CARD.format(picture=(STATIC / "course.svg").read_text(encoding="utf-8")), encoding="utf-8")
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
