"""Collects the course's words into the catalogue of each other language, shared/locale, and compiles it.

The rule: course.po holds what checks say, the words of the site (extension, templates, scripts), the text of the
pages in book/, and the titles of the labs. The text of a lab is translated in its own file. A translation whose
placeholders, {name} and the like, are not those of its text is told, and nothing of that language is written.
"""

import functools
import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from types import ModuleType

import endings
import identity
import notebooks
import student
import yaml
from babel.messages import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parents[1]
METHODS = [
    ("check/*.py", "python"),
    ("_ext/*.py", "python"),
    ("_theme/*.html", "jinja2"),
    ("_static/*.js", "javascript"),
]
# Babel sees no _() inside a `template`, and would pass over folders whose names begin with _.
HOW = {"keywords": {"_": None, "ngettext": (1, 2)}, "directory_filter": bool}


def of_code(root: Path) -> Catalog:
    """Return what stands in _() and ngettext() in checks, extension, templates and scripts; the blanks' own words."""
    found = Catalog()
    for folder in ("shared", "book"):
        for file, _, text, _, _ in extract_from_dir(root / folder, METHODS, **HOW):
            found.add(text, locations=[(f"{folder}/{file}", None)])
    for text in (student.TOLD, student.WHY, student.ANSWER):
        found.add(text, locations=[("tools/student.py", None)])
    return found


def of_checks(root: Path) -> Catalog:
    """Return the sentences of the checks, what they were tried on, and the headings that they point to."""
    sys.path.insert(0, str(root))
    from shared import check
    from shared.check.mistakes import SENTENCES

    found = Catalog()
    for sentence in SENTENCES.values():
        found.add(sentence, locations=[("shared/check/sentences.txt", None)])
    for module in (thing for thing in vars(check).values() if isinstance(thing, ModuleType)):
        for exercise in (thing for thing in vars(module).values() if isinstance(thing, check.Exercise)):
            for text in (exercise.tried, *exercise.say.values()):
                found.add(text, locations=[(f"shared/check/{Path(module.__file__).name}", None)])
    for file in sorted((root / "shared/check").glob("*.py")):
        for heading in re.findall(r"\bLab \d+, “(.+?)”", file.read_text("utf-8")):
            found.add(heading, locations=[(f"shared/check/{file.name}", None)])
    return found


def of_pages(root: Path) -> Catalog:
    """Return the text of the pages in book/, as Sphinx takes it apart; the captions and titles that lead to them."""
    folder = root / "_build/words"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    book = [Path(sys.executable).with_name("jupyter-book"), "build", root, "-q", "--path-output", folder]
    book += ["--builder", "custom", "--custom-builder", "gettext"]
    built = subprocess.run(book, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    template = next(folder.rglob("course.pot"), None)
    if template is None:
        raise ValueError(f"Sphinx could not take the pages apart.\n{built.stdout}")
    with template.open("rb") as file:
        every = read_po(file)
    found = Catalog()
    for message in every:
        pages = {f"book/{Path(place).name}" for place, _ in message.locations if "/book/" in f"/{place}"}
        if message.id and pages:
            found.add(message.id, locations=[(page, None) for page in sorted(pages)])
    for part in yaml.safe_load((root / "_toc.yml").read_text("utf-8")).get("parts", []):
        found.add(part["caption"], locations=[("_toc.yml", None)])
    for lab in notebooks.labs(root):
        title = notebooks.generate(lab).cells[0].source.lstrip("# ")
        found.add(title, locations=[(f"labs/{lab.name}", None)])
    return found


def placeholders(text: str) -> set[str]:
    """Return the names in braces of a text, with what is said of their form."""
    return set(re.findall(r"{[a-z_]+(?::[^}]*)?}", text))


def wrong_placeholders(catalogue: Catalog) -> list[str]:
    """Return a sentence for each translation whose placeholders are not those of its text."""
    told = []
    for message in catalogue:
        texts, translations = ([part] if isinstance(part, str) else part or [] for part in (message.id, message.string))
        wanted = set.union(*map(placeholders, texts))
        for translation in filter(None, translations if message.id else []):
            if placeholders(translation) != wanted:
                told.append(f"“{translation}” should have {', '.join(sorted(wanted)) or 'no names in braces'}.")
    return told


def compile_catalogue(file: Path, language: str, words: Catalog | None = None) -> str:
    """Bring one catalogue up to date with these words, compile it, and return what there is to say of it.

    Raises ValueError when placeholders are wrong.
    """
    catalogue = Catalog(language)
    if file.is_file():
        with file.open("rb") as opened:
            catalogue = read_po(opened, locale=language)
    if words is not None:
        catalogue.update(words, no_fuzzy_matching=True, update_creation_date=False)
    if told := wrong_placeholders(catalogue):
        raise ValueError("\n".join([f"{file.name} of {language}:", *told]))
    for path, write in ((file, functools.partial(write_po, include_lineno=False)), (file.with_suffix(".mo"), write_mo)):
        content = BytesIO()
        write(content, catalogue)
        endings.replace(path, content.getvalue())
    done = sum(bool(message.id and message.string and all(message.string)) for message in catalogue)
    return f"{language}: {done} of {len(catalogue)} texts are translated."


def main(root: Path) -> int:
    """Update and compile all catalogues and return the exit status."""
    try:
        languages = {folder.name for folder in (root / "shared/locale").glob("*/")}
        languages |= {identity.read(root)["language"]} - {"en"}
        if not languages:
            print("There is no other language yet: name one in _config.yml, as in `language: pl`, and run this again.")
            return 1
        words = Catalog()
        for found in (of_checks(root), of_code(root), of_pages(root)):
            for message in found:
                if message.id:
                    words.add(message.id, locations=message.locations, auto_comments=message.auto_comments)
        for language in sorted(languages):
            print(compile_catalogue(root / f"shared/locale/{language}/LC_MESSAGES/course.po", language, words))
    except ValueError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    endings.run(main, ROOT)
