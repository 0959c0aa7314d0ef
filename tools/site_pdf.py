"""Prints the whole course into `_build/towards-self-attention.pdf`: one long page made by Sphinx, printed by a browser.

The rule: the pages that readers see, in the course's order, answers unfolded, with a bookmark for each section."""

import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PDF = ROOT / "_build" / "towards-self-attention.pdf"
FOR_PAPER = """() => {
  for (const mark of document.querySelectorAll('main [id^="document-"]')) {
    mark.nextElementSibling.style.breakBefore = "page";
  }
  document.title = document.querySelector("h1").textContent;
  document.querySelectorAll("img").forEach((image) => { image.loading = "eager"; });
  document.querySelectorAll("details:not(.hide)").forEach((answer) => { answer.open = true; });
}"""


def main() -> int:
    """Build, print, and return the exit status."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        sys.exit(f"The PDF is printed by a browser, and there is none: looked for {', '.join(names)}.")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "-q", ".", "--builder", "custom"]
    status = subprocess.run([*command, "--custom-builder", "singlehtml"], cwd=ROOT).returncode
    if status:
        return status
    # Sphinx puts the page into the folder of its first chapter and yet writes addresses as seen from the root.
    root_page = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))["root"]
    folder = ROOT / "_build" / "singlehtml"
    course = shutil.copy(folder / f"{root_page}.html", folder / "course.html")
    footer = '<p style="font-size:8px;width:100%;text-align:center"><span class="pageNumber"></span></p>'
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"]).new_page()
        page.goto(Path(course).as_uri())
        page.evaluate(FOR_PAPER)
        page.wait_for_function("[...document.images].every((image) => image.complete)")
        page.emulate_media(media="print", color_scheme="light")
        page.pdf(
            path=PDF, format="A4", outline=True, tagged=True, print_background=True, display_header_footer=True,
            header_template="<p></p>", footer_template=footer,
            margin={"top": "2cm", "bottom": "2cm", "left": "2.2cm", "right": "2.2cm"},
        )  # fmt: skip
    print(f"The course is in {PDF.relative_to(ROOT)}, {PDF.stat().st_size / 1e6:.1f} MB.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
