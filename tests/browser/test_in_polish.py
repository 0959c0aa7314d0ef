"""The site in another language: one page in Polish, with all that stands around it, and the words of a lab's page."""

import re
from pathlib import Path

import nbformat
import pytest
import site_in_browser
import yaml
from site_in_browser import lay_out

ROOT = Path(__file__).resolve().parents[2]
PAGE, LAB = "book/how_to_use", "labs/06_your_journey"
# What a translated page may share with the English one: names, signs, numbers.
NAMES = {"Binder", "CC BY 4.0", "Windows.", "Ubuntu", "light dark", "summary_large_image", "article"}
# Words by which English is known; none of them is Polish.
ENGLISH = re.compile(r"(?i)\b(the|of|and|is|are|with|you|your|this|that|for|it|not|have|from|what|page|labs?|code)\b")
SAID = r"""() => {
  const found = [document.title], leaves = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (leaves.nextNode()) {
    const { data, parentElement } = leaves.currentNode;
    if (!parentElement.closest("script, style, noscript, code, pre, math")) found.push(data);
  }
  for (const element of document.querySelectorAll("*")) {
    for (const name of ["aria-label", "title", "placeholder", "alt"]) found.push(element.getAttribute(name));
  }
  for (const { name, attributes, content } of document.querySelectorAll("meta")) {
    if (!/^(viewport|robots|og:(url|image))$/.test(name || attributes.property?.value)) found.push(content);
  }
  return found.map((text) => text?.replace(/\s+/g, " ").trim()).filter((text) => text && /[a-z]/i.test(text));
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

<details><summary>Answer</summary>

**4**. Każde pyta każde.

</details>""",
    "<details><summary>Hint</summary>\n\nPolicz.\n\n</details>",
]


def build(folder: Path) -> Path:
    """Build the site in Polish: one page as it is, of the others only titles; return its folder."""
    lay_out(folder, ["_toc.yml"], ("shared/locale",))
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
    built = site_in_browser.build(folder)
    assert built.returncode == 0, built.stdout
    return folder / "_build/html"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the site in Polish."""
    with site_in_browser.served(build(tmp_path_factory.mktemp("kurs"))) as address:
        yield address


@pytest.mark.parametrize("name", [f"{PAGE}.html", "404.html", "search.html?q=klucze"])
def test_a_page_in_polish_has_no_english_word_left(visit, site, address, name):
    """Contents, buttons, labels for screen readers and what a link to it shows are meant, too."""
    before = set(visit(f"{address}/{name}").evaluate(SAID)) if site_in_browser.LANGUAGE == "en" else set()
    page = visit(f"{site}/{name}")
    said = page.evaluate(SAID)
    assert page.evaluate("document.documentElement.lang") == "pl" and len(said) > (100 if PAGE in name else 3)
    assert [text for text in said if text in before - NAMES or ENGLISH.search(text)] == []
    assert page.faults == []


def test_what_scripts_say_is_polish_with_a_form_for_each_number(visit, site):
    page = visit(f"{site}/{PAGE}.html")
    page.get_by_role("button", name="Zapomnij o wszystkim").click()
    page.locator("#forget", has_text="Zapomniane").wait_for()
    assert page.locator("#said").text_content() == "Zapomniane"
    assert page.get_by_role("button", name="Kopiuj ten kod").count() == page.locator("main pre").count()
    said = page.evaluate("[1, 3, 12].map((count) => ngettext('Code, {count} line', 'Code, {count} lines', count))")
    assert said == ["Kod, 1 wiersz", "Kod, 3 wiersze", "Kod, 12 wierszy"]


def test_the_words_around_a_lab_are_polish(visit, site):
    page = visit(f"{site}/{LAB}.html", covered=True)
    assert page.locator(".predict strong").first.inner_text() == "Przewidź."
    assert page.locator("summary").all_inner_texts()[-2:] == ["Odpowiedź", "Wskazówka"]
    launch = page.get_by_role("list", name="Weź to laboratorium ze sobą").get_by_role("listitem")
    words = ["Zrób to samodzielnie", "Otwórz w Colabie", "Binder", "Pobierz", "Slajdy", "Zwiń kod"]
    assert [item.inner_text() for item in launch.all()] == words
    page.get_by_role("button", name="Zwiń kod").click()
    assert page.locator("details.code summary").inner_text() == "Kod, 1 wiersz"
    page.get_by_role("radio").nth(1).check()
    page.get_by_role("button", name="To mój typ").click()
    assert page.locator(".guess").inner_text() == "Twój typ: cztery"
    page.get_by_role("group", name="1. Kto pyta?").get_by_role("radio").first.press("Space")
    page.get_by_role("button", name="Sprawdź").first.click()
    assert page.locator("#said").text_content().startswith("Źle.")
    page.get_by_role("textbox", name="Twoja odpowiedź").fill("5")
    page.keyboard.press("Enter")
    assert page.locator("#said").text_content() == "To nie to. Spróbuj jeszcze raz albo otwórz odpowiedź."
