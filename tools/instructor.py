"""Writes what instructors need: answer key, teaching plan, what otter-grader runs, and a table of
all questions.

The rule: everything comes out of the labs that _toc.yml names. The two pages are made by the book's
own theme. Running times are from experiments/benchmark.json; other minutes are counted by
minutes.py, as labs state them. Each autograder has a test for each exercise, which calls the
exercise's check; without otter the autograders are left out.
"""

import contextlib
import importlib.util
import itertools
import json
import re
import shutil
import sys
from pathlib import Path

import yaml

import checks
from shared import record
from tools import identity, minutes, quizzes, site
from tools.lab import Lab, Page, course

ROOT = Path(__file__).resolve().parents[1]
MINUTES_A_QUESTION = 2  # to discuss it in class
OUTCOMES = re.compile(r"\*\*You will be able to\*\*((?:.|\n(?!\n))+)")
OTTER = "otter-grader[grading]==7.0.0"
# An exercise to build goes on with the course's own class while the reader's is wrong: that one
# earns no points.
TEST = """\
OK_FORMAT = False

from otter.test_files import test_case

import checks

name, points = "{name}", {points}


@test_case(name="{name}")
def check_answer({answer}):
    assert {answer} is not None, "No cell defines {answer}."
    module = getattr({answer}, "__module__", None) or ""
    assert module.split(".")[0] not in ("shared", "checks", "labs"), (
        "This is the course's own {answer}, not yours."
    )
    result = checks.{name}({answer})
    assert result, result.sentence
"""


def title_of(lab: Lab) -> str:
    """Return the title of a lab with its number: "5. Your journey starts with one step"."""
    return f"{lab.number}. {lab.title}"


# The answer key


def answer_key(labs: list[Lab]) -> str:
    """Return the answer key as the text of a page."""
    parts = ["# Answer key"]
    parts.append(
        "Every exercise with its solution, every folded question with its answer. Not for students."
    )
    for lab in labs:
        parts.append(f"## {title_of(lab)}")
        for exercise in lab.exercises:
            parts += [
                f"### Exercise {lab.number}.{exercise.number}: {exercise.title}",
                exercise.statement,
            ]
            parts += [
                f"**Hint.** {exercise.hint}",
                f"**Solution.**\n\n```python\n{exercise.solution}\n```",
            ]
            parts += [exercise.why, known_mistakes(exercise.name)]
        for section, asked in itertools.groupby(
            lab.questions, key=lambda question: question.section
        ):
            parts.append(f"### {section}")
            for question in asked:
                parts += [question.text, f"**{question.summary}.** {question.answer}"]
    return "\n\n".join(filter(None, parts)) + "\n"


def known_mistakes(name: str) -> str:
    """Return the mistakes that the check of an exercise knows, as a list: the name and the sentence
    of each.
    """
    items = [
        f"- `{each.__name__}`: {' '.join(each.__doc__.split())}"
        for each in getattr(checks, name).mistakes
    ]
    # A mistake that can be made in several ways is there several times.
    return "**Known mistakes.**\n\n" + "\n".join(dict.fromkeys(items)) if items else ""


# The teaching plan


def teaching_plan(root: Path, labs: list[Lab]) -> str:
    """Return the teaching plan as the text of a page."""
    measured = json.loads((root / "experiments/benchmark.json").read_text("utf-8"))["labs"]
    rows, parts, total = [], [], 0.0
    for lab in labs:
        seconds = measured["each"].get(lab.name, {}).get("seconds")
        sittings, further = minutes.count(lab)
        solving, main = (
            sum(getattr(part, name) for part in sittings) for name in ("solving", "minutes")
        )
        total += main
        runs = f"{seconds / 60:.1f}" if seconds else "not measured"
        talk = MINUTES_A_QUESTION * len(lab.questions)
        counted = (main - solving, solving, main, further.minutes, talk)
        rows.append([title_of(lab), runs, *(f"{number:.0f}" for number in counted)])
        parts += [f"## {title_of(lab)}", minutes.stated(lab)]
        if outcomes := OUTCOMES.search(lab.text):
            parts.append(f"**Students will be able to**\n\n{outcomes[1].strip()}")
        lines = (f"{e.number}: {e.title} (`{e.name}`, points: {e.points})" for e in lab.exercises)
        parts.append("\n".join(f"- {lab.number}.{each}" for each in lines))
    heads = ["Lab", "Runs", "Reading", "Exercises", "Both", "Going further", "Discussion"]
    table = "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---", *["---:"] * 6], *rows])
    intro = f"""\
# Teaching plan

How many minutes each lab **runs** was measured on {measured["machine"]}, {measured["date"]}. The
other minutes follow the rule by which each lab states its time: {minutes.WORDS_A_MINUTE} words a
minute, six seconds for a visible line of code, what each exercise states, and
{minutes.MINUTES_FOR_QUESTIONS} for the questions. Nobody was timed, and readers differ. *Going
further* is optional. In class, allow {MINUTES_A_QUESTION} more minutes to discuss each question.
All labs together, without *Going further*: {total // 60:.0f} hours {total % 60:.0f} minutes."""
    return "\n\n".join(filter(None, [intro, table, *parts])) + "\n"


def build(root: Path, folder: Path, pages: dict[str, str]) -> None:
    """Write pages below `folder` and make HTML of them, as the book is made. Raises ValueError with
    what it said.
    """
    source, address = folder / "pages", identity.read(root)["site"]
    shutil.rmtree(source, ignore_errors=True)
    for name, text in pages.items():
        record.write(source / f"{name}.md", identity.with_addresses(text, address))
    # The settings name files by their path from here.
    (source / "book").symlink_to(root / "book")
    shutil.copy(root / "_config.yml", source)
    first, *others = pages
    toc = {"format": "jb-book", "root": first, "chapters": [{"file": name} for name in others]}
    record.write(source / "_toc.yml", yaml.safe_dump(toc))
    made = site.jupyter_book(source, "--quiet")
    if made.returncode:
        raise ValueError(made.stdout)


# Otter


def autograders(root: Path, folder: Path, labs: list[Lab]) -> None:
    """Write an autograder for each lab with exercises, each in one step."""
    from otter.generate import main as generate  # instructors alone install it

    packed = [*root.glob("labs/*.py"), *root.glob("labs/*/*.py"), *root.glob("labs/*/*.json")]
    code = ["ends.py", "shared", "checks", *(str(path.relative_to(root)) for path in packed)]
    options = {
        "files": code,
        "python_version": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
    with contextlib.chdir(root):  # what otter packs has to lie below
        for lab in labs:
            tests = folder / "tests" / lab.name
            shutil.rmtree(tests, ignore_errors=True)
            for each in lab.exercises:
                test = TEST.format(name=each.name, points=each.points, answer=each.answer)
                record.write(tests / f"{each.name}.py", test)
            if lab.exercises:
                zipped, partial = folder / f"{lab.name}.zip", folder / f".{lab.name}.zip"
                try:
                    generate(tests_dir=str(tests), output_path=str(partial), **options)
                    partial.replace(zipped)
                except OSError as error:
                    error.filename = str(zipped)
                    raise
                finally:
                    partial.unlink(missing_ok=True)
    for zipped in folder.glob("*.zip"):  # of a lab that the course has no longer
        if zipped.stem not in {lab.name for lab in labs}:
            zipped.unlink()


def main(root: Path) -> int:
    """Write the instructors' kit and return the exit status."""
    folder = root / "_build/instructor"
    labs, names = course(root), identity.read(root)
    build(
        root, folder, {"answer_key": answer_key(labs), "teaching_plan": teaching_plan(root, labs)}
    )
    print(
        f"Answer key and teaching plan are in {(folder / 'pages/_build/html').relative_to(root)}."
    )
    if importlib.util.find_spec("otter"):
        autograders(root, folder / "otter", labs)
        print(f"The autograders are in {(folder / 'otter').relative_to(root)}.")
    else:
        print(
            f'No autograders: otter is not installed. Run .venv/bin/pip install "{OTTER}" -c '
            "constraints.txt"
        )
    pages = [*labs, Page(root, root / "book/wild_mistakes.md")]
    record.write(root / "_build/questions.csv", quizzes.table(pages, names["site"]))
    record.write(
        root / "_build/questions.txt", quizzes.for_text2qti(pages, names["site"], names["title"])
    )
    print(
        "The questions are in _build/questions.csv, and for text2qti, which writes QTI, in "
        "_build/questions.txt."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(ROOT))
