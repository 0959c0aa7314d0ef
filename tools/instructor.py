"""Writes what instructors need: answer key, teaching plan, what otter-grader runs, and a table of all questions.

The rule: everything comes out of the labs that _toc.yml names. The two pages are made by the book's own theme. Running
times are from experiments/benchmark.json; other minutes are counted by minutes.py, as labs state them. Each autograder
has a test for each exercise, which calls the exercise's check; without otter the autograders are left out.
"""

import contextlib
import importlib.util
import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import exercises
import identity
import minutes
import notebooks
import quizzes
import safe_files
import yaml

ROOT = Path(__file__).resolve().parents[1]
MINUTES_A_QUESTION = 2  # to discuss it in class
OUTCOMES = re.compile(r"^\*\*(?:You will|What you will) be able to(?: do)?\*\*(.+?)(?=\n\*\*|\n```|\n#)", re.M | re.S)
OTTER = "otter-grader[grading]==7.0.0"
# An exercise to build goes on with the course's own class while the reader's is wrong: that one earns no points.
TEST = """\
OK_FORMAT = False

from otter.test_files import test_case

import checks

name, points = "{name}", {points}


@test_case(name="{name}")
def check_answer({answer}):
    assert {answer} is not None, "No cell defines {answer}."
    module = getattr({answer}, "__module__", None) or ""
    assert module.split(".")[0] not in ("shared", "checks"), "This is the course's own {answer}, not yours."
    result = checks.{name}({answer})
    assert result, result.sentence
"""


def title_of(lab: Path) -> str:
    """Return the title of a lab with its number: "5. Your journey starts with one step"."""
    return f"{notebooks.number_of(lab)}. {notebooks.title_of(lab)}"


# The answer key


def answer_key(course: dict[Path, list]) -> str:
    """Return the answer key as the text of a page."""
    parts = ["# Answer key"]
    parts.append("Every exercise with its solution, every folded question with its answer. Not for students.")
    for lab, found in course.items():
        parts.append(f"## {title_of(lab)}")
        for exercise in found:
            parts += [f"### Exercise {exercise.number}: {exercise.title}", exercise.statement]
            parts += [f"**Hint.** {exercise.hint}", f"**Solution.**\n\n```python\n{exercise.solution}\n```"]
            parts += [exercise.why, known_mistakes(exercise.name)]
        for section, asked in itertools.groupby(exercises.questions(lab), key=lambda question: question.section):
            parts.append(f"### {section}")
            for question in asked:
                parts += [question.text, f"**{question.summary}.** {question.answer}"]
    return "\n\n".join(filter(None, parts)) + "\n"


def known_mistakes(name: str) -> str:
    """Return the mistakes that the check of an exercise knows, as a list: the name and the sentence of each."""
    sys.path.insert(0, str(ROOT))
    import checks

    items = [f"- `{each.__name__}`: {' '.join(each.__doc__.split())}" for each in getattr(checks, name).mistakes]
    # A mistake that can be made in several ways is there several times.
    return "**Known mistakes.**\n\n" + "\n".join(dict.fromkeys(items)) if items else ""


# The teaching plan


def teaching_plan(root: Path, course: dict[Path, list]) -> str:
    """Return the teaching plan as the text of a page."""
    measured = json.loads((root / "experiments/benchmark.json").read_text("utf-8"))["labs"]
    rows, labs, total = [], [], 0.0
    for lab, found in course.items():
        seconds = measured["each"].get(lab.stem, {}).get("seconds")
        counted = minutes.count(lab)
        main, further = (sum(counted[part].values()) for part in ("main", "further"))
        total += main
        runs = f"{seconds / 60:.1f}" if seconds else "not measured"
        talk = MINUTES_A_QUESTION * len(exercises.questions(lab))
        rows.append([title_of(lab), runs, *(f"{m:.0f}" for m in (*counted["main"].values(), main, further, talk))])
        times = [f"{low} to {high} minutes" for low, high in map(minutes.stated, counted.values())]
        labs += [f"## {title_of(lab)}", f"About {times[0]}, and {times[1]} for *Going further*."]
        if outcomes := OUTCOMES.search(lab.read_text("utf-8")):
            labs.append(f"**Students will be able to**\n\n{outcomes[1].strip()}")
        labs.append("\n".join(f"- {e.number}: {e.title} (`{e.name}`, points: {e.points})" for e in found))
    heads = ["Lab", "Runs", "Reading", "Exercises", "Both", "Going further", "Discussion"]
    table = "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---", *["---:"] * 6], *rows])
    intro = f"""\
# Teaching plan

How many minutes each lab **runs** was measured on {measured["machine"]}, {measured["date"]}. The other minutes follow
the rule by which each lab states its time: {minutes.WORDS_A_MINUTE} words a minute, six seconds for a visible line of
code, 12 minutes to build, 15 to debug,
{minutes.MINUTES_FOR_QUESTIONS} for the questions. Readers differ, so a lab states a range around the sum. *Going
further* is optional. In class, allow {MINUTES_A_QUESTION} more minutes to discuss each question.
All labs together, without *Going further*: {total // 60:.0f} hours {total % 60:.0f} minutes."""
    return "\n\n".join(filter(None, [intro, table, *labs])) + "\n"


def build(root: Path, folder: Path, pages: dict[str, str]) -> None:
    """Write pages below `folder` and make HTML of them, as the book is made. Raises ValueError with what it said."""
    source, site = folder / "pages", identity.read(root)["site"]
    shutil.rmtree(source, ignore_errors=True)
    for name, text in pages.items():
        safe_files.write_whole(source / f"{name}.md", notebooks.with_addresses(text, site))
    # The settings name files by their path from here.
    (source / "book").symlink_to(root / "book")
    shutil.copy(root / "_config.yml", source)
    first, *others = pages
    toc = {"format": "jb-book", "root": first, "chapters": [{"file": name} for name in others]}
    safe_files.write_whole(source / "_toc.yml", yaml.safe_dump(toc))
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "--quiet"]
    made = subprocess.run(command, cwd=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if made.returncode:
        raise ValueError(made.stdout)


# Otter


def autograders(root: Path, folder: Path, course: dict[Path, list]) -> None:
    """Write an autograder for each lab with exercises."""
    from otter.generate import main as generate  # instructors alone install it

    shutil.rmtree(folder, ignore_errors=True)
    options = {"files": ["shared", "checks"], "python_version": f"{sys.version_info.major}.{sys.version_info.minor}"}
    with contextlib.chdir(root):  # what otter packs has to lie below
        for lab, found in course.items():
            tests = folder / "tests" / lab.stem
            for each in found:
                test = TEST.format(name=each.name, points=each.points, answer=each.answer)
                safe_files.write_whole(tests / f"{each.name}.py", test)
            if found:
                generate(tests_dir=str(tests), output_path=str(folder / f"{lab.stem}.zip"), **options)


def main(root: Path) -> int:
    """Write the instructors' kit and return the exit status."""
    folder = root / "_build/instructor"
    course = exercises.read_all(root)
    build(root, folder, {"answer_key": answer_key(course), "teaching_plan": teaching_plan(root, course)})
    print(f"Answer key and teaching plan are in {(folder / 'pages/_build/html').relative_to(root)}.")
    if importlib.util.find_spec("otter"):
        autograders(root, folder / "otter", course)
        print(f"The autograders are in {(folder / 'otter').relative_to(root)}.")
    else:
        print(f'No autograders, for otter is not here: .venv/bin/pip install "{OTTER}" -c constraints.txt')
    safe_files.write_whole(root / "_build/questions.csv", quizzes.table(root))
    safe_files.write_whole(root / "_build/questions.txt", quizzes.for_text2qti(root))
    print("The questions are in _build/questions.csv, and for text2qti, which writes QTI, in _build/questions.txt.")
    return 0


if __name__ == "__main__":
    safe_files.run(main, ROOT)
