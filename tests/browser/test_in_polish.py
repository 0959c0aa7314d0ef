"""The site in another language: one page in Polish, with all that stands around it, and the words of a lab's page."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE, LAB = "book/how_to_use", "labs/06_your_journey"
# What a translated page may share with the English one: names, signs, numbers.
NAMES = {"Binder", "CC BY 4.0", "Windows.", "Ubuntu", "light dark", "article", "summary_large_image"}
# Words by which English is known; none of them is Polish.
ENGLISH = re.compile(
    r"\b(the|of|and|is|are|with|you|your|this|that|for|it|not|have|from|what|how|page|lab|labs|code)\b", re.I
)
SAID = """() => {
  const found = [document.title], leaves = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (leaves.nextNode()) {
    if (!leaves.currentNode.parentElement.closest("script, style, noscript, code, pre, math")) found.push(leaves.currentNode.data);
  }
  for (const element of document.querySelectorAll("*")) {
    for (const name of ["aria-label", "title", "placeholder", "alt"]) found.push(element.getAttribute(name));
    if (element.nodeName === "META" && !/^(viewport|robots|og:(url|image))$/.test(element.name || element.getAttribute("property"))) {
      found.push(element.content);
    }
  }
  return found.map((text) => text?.replace(/\\s+/g, " ").trim()).filter((text) => /[a-z]/i.test(text));
}"""
CELLS = [
    "**Predict.** Ile ocen mają dwa słowa?\n\n- dwie\n- cztery",
    "print(4)",
    """## Questions

**1.** Kto pyta?

- klucz
- zapytanie

<details><summary>Odpowiedź</summary>

1. Klucz odpowiada.
2. Right. Zapytanie pyta.

</details>

**2.** Ile? Wpisz liczbę.

<details><summary>Odpowiedź</summary>

**4**. Każde pyta każde.

</details>""",
]


def build(folder: Path) -> Path:
    """Build the site in Polish: one page as it is, of the others only titles; return its folder."""
    for name in ("book/_ext", "book/_theme", "book/_static", "shared/figures", "shared/locale"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("_toc.yml", "_config.yml", "book/references.bib", "tools/identity.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    extension = folder / "book/_ext/course_site.py"  # the model of 22 MB is not needed here
    extension.write_text(extension.read_text("utf-8").replace('app.setup_extension("published_model")', ""), "utf-8")
    settings = yaml.safe_load((folder / "_config.yml").read_text("utf-8"))
    settings |= {"title": "W stronę samouwagi", "author": "Autorki i autorzy kursu"}
    settings["repository"]["url"] = "https://github.com/ktos/kurs"
    settings["sphinx"]["config"]["language"] = "pl"
    (folder / "_config.yml").write_text(yaml.safe_dump(settings, allow_unicode=True), "utf-8")
    for page in (ROOT / "book").glob("*.md"):
        text = page.read_text("utf-8")
        if page.stem != Path(PAGE).name:
            text = "\n\n".join(re.findall(r"(?m)^##? .*$", text))
        (folder / "book" / page.name).write_text(text, "utf-8")
    language = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    (folder / "labs").mkdir()
    for lab in (ROOT / "labs").glob("*.md"):
        cells = [nbformat.v4.new_markdown_cell(re.search(r"(?m)^# .*$", lab.read_text("utf-8"))[0])]
        if lab.stem == Path(LAB).name:
            cells += [nbformat.v4.new_markdown_cell(text) for text in CELLS]
            output = nbformat.v4.new_output("stream", name="stdout", text="4")
            cells[2] = nbformat.v4.new_code_cell(CELLS[1], outputs=[output], execution_count=1)
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=language), folder / f"labs/{lab.stem}.ipynb")
    run = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-W", "--keep-going", "-q"]
    built = subprocess.run(run, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "_build/html"
