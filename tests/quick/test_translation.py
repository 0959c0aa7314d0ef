"""The course in another language: what checks say goes through the catalogue, and the Polish one is whole for lab 6."""

import gettext
import re
import runpy
import shutil
import sys
from pathlib import Path

import identity
import instructors_page
import pytest
import small_course
import student
import torch
import words as tool
from babel.messages.pofile import read_po

from shared import check
from shared.check import words
from shared.check.exercise import Exercise
from shared.check.mistakes import SENTENCES

ROOT = Path(__file__).resolve().parents[2]
CATALOGUES = sorted((ROOT / "shared/locale").glob("*/LC_MESSAGES/course.po"))
COURSE = {name: thing for name, thing in vars(check).items() if isinstance(thing, Exercise)}
LAB_6 = {name: thing for name, thing in vars(check.lab_06).items() if isinstance(thing, Exercise)}
CORE = "".join((ROOT / f"shared/check/{name}.py").read_text() for name in ("compare", "exercise", "layer", "run"))
# Words by which English is known; none of them is Polish.
ENGLISH = re.compile(r"(?i)\b(the|of|and|or|is|are|with|you|your|this|that|for|it|not|have|from|code|trial)\b")


class Pseudo(gettext.NullTranslations):
    """A language of one letter: what is left of Latin letters was never looked up, or is filled in."""

    def gettext(self, text: str) -> str:
        return re.sub(r"(`[^`]*`|{[^}]*})|[A-Za-z]", lambda found: found[1] or "ж", text)

    def ngettext(self, one: str, many: str, count: int) -> str:
        return self.gettext(many)


@pytest.fixture
def speaks(monkeypatch):
    """Makes the checks speak a language; "" is the one of one letter."""

    def speaks(language: str) -> None:
        spoken = gettext.translation("course", words.FOLDER, [language]) if language else Pseudo()
        monkeypatch.setattr(words, "catalogue", spoken)

    return speaks


def read(file: Path):
    with file.open("rb") as opened:
        return read_po(opened, locale=file.parent.parent.name)


def raises(*_):
    raise KeyError("жж")


def undone(*_):
    raise NotImplementedError


def odd_answers() -> list:
    """What a student may hand in that no exercise of lab 6 has among its mistakes."""
    one, whole, right = torch.ones(1), torch.ones(2, 5, 3), check.lab_06.mend_the_batch.solution
    made = [None, [1], (1, 2), whole, whole.long(), whole[0], whole.numpy(), whole * torch.nan, "", str]
    return [
        *(3, torch.nn.Linear, raises, undone, lambda *_: sys.exit()),
        lambda queries, keys, values: queries.add_(1),  # in place
        lambda queries, keys, values: queries @ queries.mT,  # two arguments are not used
        lambda queries, keys, values: one * queries,  # with a tensor of the notebook
        lambda queries, keys, values: right(queries, keys, values) + 0.01 * torch.arange(values.shape[-1]),
        lambda queries, keys, values: right(queries, keys, values) / 2,
        *(lambda *_, given=given: given for given in made),
    ]


# --- what a check says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COURSE)
def test_no_sentence_about_a_mistake_bypasses_the_catalogue(name, speaks):
    speaks("")
    for mistake in COURSE[name].mistakes:
        said = re.sub("`[^`]*`", "", COURSE[name].sentence(mistake))
        assert not re.search("[A-Za-z]", said), said


@pytest.mark.parametrize("name", [*LAB_6, "paired_interval"])
def test_no_other_sentence_of_a_check_bypasses_it(name, speaks):
    """Letters that are left belong to what is filled in: names of the code, types, numbers, what Python itself says."""
    speaks("")
    filled = r"`[^`]*`|\w+(Error|Exit).*?(?=\. ж|$)|<.*?>|\b(queries|keys|values|own_weight|seeds|range|first|second|"
    filled += r"differences|W_query|W_key|W_value|weight|bias|function|tuple|list|str|int|int64|float64|torch|Linear|"
    filled += r"NoneType|None|True|False)\b"
    answers = [*odd_answers(), COURSE[name].solution]
    left = {
        word
        for answer in answers
        for word in re.findall("[A-Za-z]{2,}", re.sub(filled, "", COURSE[name](answer).sentence))
    }
    assert left == set()


def test_what_a_lab_goes_on_with_is_said_in_its_language(speaks, capsys):
    speaks("pl")
    check.batched_attention.use(check.batched_attention.solution)
    check.batched_attention.use(None)
    said = capsys.readouterr().out
    assert "Dalej laboratorium używa Twojego kodu: `SelfAttention`." in said
    assert "Dopóki odpowiedź nie jest dobra, laboratorium używa kodu z kursu: `SelfAttention`." in said


def test_all_that_the_checks_of_lab_6_can_say_is_translated_and_no_english_is_left():
    texts = [text for exercise in LAB_6.values() for text in (exercise.tried, *exercise.say.values())]
    own = (ROOT / "shared/check/lab_06.py").read_text()
    keys = {mistake.key for exercise in LAB_6.values() for mistake in exercise.mistakes}
    texts += [said for key, said in SENTENCES.items() if key in keys or f'"{key}"' in CORE + own]
    texts += [see.split("“")[1][:-1] for e in LAB_6.values() for see in [e.see, *(m.see for m in e.mistakes)] if see]
    for message in tool.of_code(ROOT):
        if message.id and any(re.search(r"check/(?!lab_)|lab_06", place) for place, _ in message.locations):
            texts.append(message.id[0] if message.pluralizable else message.id)
    assert len(set(texts)) > 100
    polish = read(ROOT / "shared/locale/pl/LC_MESSAGES/course.po")
    for text in texts:
        message = polish.get(text)
        assert message and message.string, f"without a translation: {text}"
        for said in message.string if message.pluralizable else [message.string]:
            assert said and not ENGLISH.search(re.sub("`[^`]*`|{.*?}", "", said)), said


# --- the catalogues ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parent.parent.name)
def test_a_catalogue_is_compiled_and_has_the_placeholders_of_its_texts(file):
    catalogue = read(file)
    assert tool.wrong_placeholders(catalogue) == []
    assert not [message.id for message in catalogue if message.id and message.fuzzy]
    compiled = gettext.translation("course", words.FOLDER, [file.parent.parent.name])
    for message in (message for message in catalogue if message.id and message.string and all(message.string)):
        if message.pluralizable:
            assert {compiled.ngettext(*message.id, count) for count in range(30)} == set(message.string)
        else:
            assert compiled.gettext(message.id) == message.string, "run make words"


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parent.parent.name)
def test_what_was_tried_in_double_precision_can_be_said_of_single_precision(file):
    catalogue = read(file)
    phrase = catalogue.get("in double precision").string
    for exercise in COURSE.values():
        message = catalogue.get(exercise.tried)
        if message and message.string and "in double precision" in exercise.tried:
            assert phrase in message.string


def test_a_translation_with_another_placeholder_is_told_and_nothing_is_written(tmp_path):
    file = tmp_path / "pl/LC_MESSAGES/course.po"
    file.parent.mkdir(parents=True)
    file.write_text('msgid "in trial {number} ({case})"\nmsgstr "w próbie {numer} ({case})"\n', "utf-8")
    before = file.read_bytes()
    with pytest.raises(ValueError, match="“w próbie {numer}.*should have {case}, {number}"):
        tool.compile_catalogue(file, "pl")
    assert file.read_bytes() == before and not file.with_suffix(".mo").exists()


def test_what_is_no_longer_said_is_kept_for_the_translator_and_what_is_new_waits(tmp_path):
    file = tmp_path / "pl/LC_MESSAGES/course.po"
    shutil.copytree(ROOT / "shared/locale/pl", tmp_path / "pl")
    said = tool.compile_catalogue(file, "pl", tool.of_code(ROOT))
    left = [message.string for message in read(file) if message.id]
    done = sum(bool(string and all(string)) for string in left)
    assert 0 < done <= len(left) and said == f"pl: {done} of {len(left)} texts are translated."
    assert '#~ msgid "How to use the course"' in file.read_text("utf-8")


def test_all_words_of_the_scripts_are_collected():
    collected = {m.id[0] if m.pluralizable else m.id for m in tool.of_code(ROOT)}
    for script in (ROOT / "book/_static").glob("*.js"):
        called = re.findall(r'\b(?:_|ngettext)\("([^"]+)"', script.read_text("utf-8"))
        assert set(called) <= collected, script.name


# --- one switch ----------------------------------------------------------------------------------------------------


def test_the_language_of_the_settings_is_carried_to_the_checks(tmp_path, monkeypatch):
    shutil.copy(ROOT / "_config.yml", tmp_path)
    instructors_page.follow(tmp_path, "## In another language")
    shutil.copytree(ROOT / "shared/locale", tmp_path / "shared/locale")
    (tmp_path / "shared/check").mkdir()
    file = Path(shutil.copy(ROOT / "shared/check/words.py", tmp_path / "shared/check"))
    small_course.change(file, f'\nLANGUAGE = "{identity.read(ROOT)["language"]}"', '\nLANGUAGE = "en"')
    monkeypatch.delenv("COURSE_LANGUAGE", raising=False)
    assert runpy.run_path(str(file))["_"]("in double precision") == "in double precision"
    file.write_text(identity.outdated(tmp_path)[file], "utf-8")
    assert runpy.run_path(str(file))["_"]("in double precision") == "w podwójnej precyzji"
    monkeypatch.setenv("COURSE_LANGUAGE", "en")
    assert runpy.run_path(str(file))["_"]("in double precision") == "in double precision"


def test_the_edition_with_blanks_speaks_the_language_of_the_settings(tmp_path):
    lab = small_course.make_to_build(tmp_path)
    small_course.change(tmp_path / "_config.yml", "language: en", "language: pl")
    cells = [cell.source for cell in student.edition(lab).cells]
    assert "*Twoja odpowiedź:*" in cells and cells[1].endswith("po nich rozpoznawane są ćwiczenia.")
    assert not {student.WHY, student.ANSWER} & set(cells)


def test_a_language_without_a_catalogue_is_english(monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", "xx")
    assert runpy.run_path(words.__file__)["_"]("in double precision") == "in double precision"
