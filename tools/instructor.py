"""Writes what instructors need to `_build/instructor`: an answer key, a teaching plan, and a grading script.

The rule: everything comes out of the labs. The answer key holds each exercise and each folded answer. The plan's
running times are measured: each lab is executed here, alone, and again only when it has changed since. Minutes to
read, solve and talk are suggestions, counted by the rules that the plan states.
"""

import datetime
import hashlib
import html
import json
import os
import platform
import re
import sys
from pathlib import Path

import endings
import exercises
import identity
import make_labs
import notebooks
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "book/_ext")]
import course_site  # noqa: E402  (the book's extension is no package)

from shared import check  # noqa: E402

# Suggestions, as the plan says.
WORDS_A_MINUTE, MINUTES_A_CELL, MINUTES_AN_EXERCISE, MINUTES_A_QUESTION = 150, 0.5, 10, 2

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --page: #fff; --line: #c3c9d0; --wash: #f5f6f8; --link: #0b4f8a;
  --word: #7a2e8e; --string: #1c6b3c; --number: #9a3b00; --quiet: #5a626c; ROLES_LIGHT }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #eceff3; --page: #14181e; --line: #474e58; --wash: #1d232b; --link: #8fc7f5;
    --word: #d9a5ea; --string: #8fd6a8; --number: #f0b183; --quiet: #a9b2bd; ROLES_DARK }
}
body { margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 4rem; background: var(--page); color: var(--ink);
  font: 1.0625rem/1.6 Georgia, serif; overflow-wrap: break-word; }
a { color: var(--link); }
h1, h2, h3, h4 { line-height: 1.25; break-after: avoid; }
h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
pre { background: var(--wash); border-left: 3px solid var(--line); padding: .75rem 1rem; white-space: pre-wrap;
  font: .875rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; break-inside: avoid; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
pre code { font-size: inherit; }
pre .k, pre .kn, pre .kc, pre .ow { color: var(--word); }
pre .s1, pre .s2, pre .sd { color: var(--string); }
pre .mi, pre .mf { color: var(--number); }
pre .c1 { color: var(--quiet); font-style: italic; }
.quiet { color: var(--quiet); }
.answer { border-left: 3px solid var(--string); padding-left: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font: .9375rem/1.4 system-ui, sans-serif; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .7rem; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; }
td:not(:first-child) { white-space: nowrap; }
ROLE_CLASSES
@media print {
  body { max-width: none; font-size: 10.5pt; padding: 0; }
  a { color: inherit; text-decoration: none; }
}
"""
GRADE = '''\
"""Grades a folder of submitted notebooks: `python grade.py FOLDER`, or `python grade.py --help`.

Runs tools/grade.py of the course that made this file: exercises and checks are read from there.
"""

import subprocess
import sys

sys.exit(subprocess.call([{python!r}, {script!r}, *sys.argv[1:]]))
'''


def page(title: str, body: str) -> str:
    """Return a whole HTML page: one file that stands alone, on a screen and on paper."""
    roles = course_site.COLOURS.ROLES
    colours = [" ".join(f"--role-{role}: {pair[theme]};" for role, pair in roles.items()) for theme in (0, 1)]
    classes = "\n".join(f".role-{role} {{ color: var(--role-{role}); }}" for role in roles)
    style = STYLE.replace("ROLES_LIGHT", colours[0]).replace("ROLES_DARK", colours[1]).replace("ROLE_CLASSES", classes)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="robots" content="noindex">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{html.escape(title)}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def to_html(markdown: str, site: str) -> str:
    """Return a piece of a lab as HTML, its formulas as MathML, its links to other pages leading to the site."""

    def code(text: str, language: str, _) -> str:
        return highlight(text, PythonLexer(), HtmlFormatter(nowrap=True)) if language == "python" else ""

    def formula(text: str, options: dict) -> str:
        return course_site.to_mathml(text, options["display_mode"])

    def to_site(link: re.Match) -> str:
        return f"]({site}/{link[1] or 'labs'}/{link[2]}.html"

    renderer = MarkdownIt("commonmark", {"highlight": code}).enable("table").use(dollarmath_plugin, renderer=formula)
    rendered = renderer.render(re.sub(r"\]\((?:\.\./(book)/)?(\w+)\.(?:ipynb|md)", to_site, markdown))
    frame = '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>'
    return rendered.replace("<table>", frame).replace("</table>", "</table></div>")


def title_of(lab: Path) -> str:
    """Return the title of a lab with its number: "5. Your journey starts with one step"."""
    return f"{int(lab.name[:2])}. {notebooks.generate(lab).cells[0].source.lstrip('# ')}"


def answer_key(course: dict[Path, list], site: str) -> str:
    """Return the answer key of all labs as one HTML page."""
    parts = ["Every exercise with its hint and solution, every folded question with its answer. Not for students."]
    parts.append("\n".join(f"- [{title_of(lab)}](#{lab.stem})" for lab in course))
    for lab, found in course.items():
        parts.append(heading(lab))
        for exercise in found:
            start, solution = (f"```python\n{code}\n```" for code in (exercise.start, exercise.solution))
            parts += [f"### Exercise {exercise.number}: {exercise.title}", exercise.statement, start]
            parts += [f"*Hint.* {exercise.hint}", *answer("Solution", f"{solution}\n\n{exercise.why}")]
            if known := getattr(check, exercise.name, None):
                parts += ["*What the check knows by name:*", mistakes(known)]
        asked = exercises.questions(lab)
        for section in dict.fromkeys(question.section for question in asked):
            parts.append(f"### {section}")
            for question in (question for question in asked if question.section == section):
                parts += [question.text, *answer(question.summary, question.answer)]
    return page("Towards Self-Attention: answer key", to_html("\n\n".join(parts), site))


def mistakes(exercise: check.Exercise) -> str:
    """Return the mistakes that a check knows, each once, with the words that a student hears."""
    said = {mistake.name: exercise.sentence(mistake) for mistake in exercise.mistakes}
    return "\n".join(f"- *{name}*: {sentence}" for name, sentence in said.items())


def heading(lab: Path) -> str:
    """Return a lab's heading, which the contents lead to."""
    return f'<h2 id="{lab.stem}">{html.escape(title_of(lab))}</h2>'


def answer(summary: str, text: str) -> list[str]:
    """Return an answer in a frame, below the words that the fold had on it."""
    return ['<div class="answer">', f"#### {summary}", text, "</div>"]


# Measured


def machine() -> str:
    """Return the processor and how many of its cores this process may use."""
    info = Path("/proc/cpuinfo")
    models = re.findall(r"^model name\s*: (.+)$", info.read_text("utf-8"), re.MULTILINE) if info.is_file() else []
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{models[0].strip() if models else platform.machine()}, {cores} cores"


def measure(lab: Path) -> dict:
    """Execute a lab, alone, and return its seconds, its slowest cell, the machine and the date.

    An earlier measurement is returned when nothing that the lab depends on has changed since, nor the machine.
    Raises RuntimeError when a cell fails.
    """
    made_from = hashlib.sha256(json.dumps(notebooks.made_from(lab)).encode()).hexdigest()
    kept = lab.parent.parent / "_build/times" / f"{lab.stem}.json"
    before = json.loads(kept.read_text("utf-8")) if kept.is_file() else {}
    if (before.get("made_from"), before.get("machine")) == (made_from, machine()):
        return before
    print(f"Measuring {lab.stem}: executing it, alone.", flush=True)
    notebook = notebooks.generate(lab)
    make_labs.execute(lab, notebook, timed=True)
    code, seconds = notebooks.code_cells(notebook), []
    for cell in code:
        began, ended = (cell.metadata["execution"][f"iopub.status.{state}"] for state in ("busy", "idle"))
        seconds.append((_time(ended) - _time(began)).total_seconds())
    first, last = code[0].metadata["execution"], code[-1].metadata["execution"]
    slowest = max(range(len(code)), key=seconds.__getitem__)
    measured = {
        "made_from": made_from,
        "machine": machine(),
        "date": datetime.date.today().isoformat(),
        "seconds": round((_time(last["iopub.status.idle"]) - _time(first["iopub.status.busy"])).total_seconds(), 1),
        "slowest": round(seconds[slowest], 1),
        "slowest_cell": code[slowest].id,
    }
    endings.replace(kept, json.dumps(measured, indent=1) + "\n")
    return measured


def _time(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def section_of(lab: Path, cell_id: str) -> str:
    """Return the heading below which a cell stands."""
    heading = ""
    for cell in notebooks.generate(lab).cells:
        if cell.id == cell_id:
            break
        if cell.cell_type == "markdown":
            for found in exercises.headings(cell.source):
                heading = found[0].lstrip("# ")
    return heading


def counts(lab: Path, found: list) -> dict[str, int]:
    """Return what there is to do in a lab: words to read, cells to run, exercises, questions."""
    cells = [cell for cell in notebooks.generate(lab).cells if not notebooks.is_generated(cell)]
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    code = sum(cell.cell_type == "code" for cell in cells)
    words = len(re.findall(r"\w[\w'’-]*", exercises.FOLDED.sub("", prose)))
    asked = len(exercises.questions(lab))
    return {"words": words, "cells": code - 2 * len(found), "exercises": len(found), "questions": asked}


def minutes(count: dict[str, int], seconds: float) -> dict[str, int]:
    """Return suggested minutes: to read and predict, to wait, for exercises, for questions; and all, in fives."""
    read = count["words"] / WORDS_A_MINUTE + count["cells"] * MINUTES_A_CELL
    solve, talk = count["exercises"] * MINUTES_AN_EXERCISE, count["questions"] * MINUTES_A_QUESTION
    total = read + seconds / 60 + solve + talk
    return {"read": round(read), "solve": solve, "talk": talk, "all": -int(-total // 5) * 5}


def spell(seconds: float) -> str:
    """Return seconds as a reader says them: "8 s", "2 min 50 s"."""
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def teaching_plan(course: dict[Path, list], times: dict[Path, dict], site: str) -> str:
    """Return the teaching plan as one HTML page."""
    heads = ["Lab", "Runs for", "Longest wait", "Reading", "Exercises", "Questions", "In all"]
    table, labs, total = [f"| {' | '.join(heads)} |", "| --- " + "| ---: " * 6 + "|"], [], 0
    for lab, found in course.items():
        count, time = counts(lab, found), times[lab]
        runs, wait = spell(time["seconds"]), spell(time["slowest"])
        suggested = minutes(count, time["seconds"])
        total += suggested["all"]
        solve, talk = f"{count['exercises']}: {suggested['solve']}", f"{count['questions']}: {suggested['talk']}"
        link = f"[{title_of(lab)}](#{lab.stem})"
        cells = [link, runs, wait, suggested["read"], solve, talk, f"**{suggested['all']}**"]
        table.append(f"| {' | '.join(map(str, cells))} |")

        slow = f"below “{section_of(lab, time['slowest_cell'])}”"
        advice = " Start it before you talk about it." if time["slowest"] > 20 else ""
        labs.append(heading(lab))
        labs.append(f"All cells run for {runs}; the longest wait, {wait}, is {slow}.{advice}")
        if said := re.search(r"(?ms)^## What you can now say\n(.*?)(?=^## |\Z)", lab.read_text("utf-8")):
            labs += ["At the end students can say:", said[1]]
        if found:
            labs += ["They write:", "\n".join(f"- {e.number}: {e.title} (`check.{e.name}`)" for e in found)]
    measured = "; ".join(sorted({f"{time['machine']}, {time['date']}" for time in times.values()}))
    intro = f"""
How long each lab **runs** is measured: it was executed from top to bottom, alone, on one thread, with its usual
settings ({measured}). The longest wait is its slowest cell.

The **minutes** are suggestions by a rule: {WORDS_A_MINUTE} words a minute, half a minute to predict and look at each
cell, {MINUTES_AN_EXERCISE} minutes for an exercise, {MINUTES_A_QUESTION} for a question. Before the colon stands how
many there are. The sum counts the running time too, and is rounded up to five minutes.
All labs together: {total // 60} hours {total % 60} minutes."""
    return page("Towards Self-Attention: teaching plan", to_html("\n\n".join([intro, "\n".join(table), *labs]), site))


def main(root: Path) -> int:
    """Write the instructors' kit and return the exit status."""
    folder = root / "_build/instructor"
    try:
        course, site = exercises.read_all(root), identity.read(root)["site"]
        endings.replace(folder / "answer_key.html", answer_key(course, site))
        script = GRADE.format(python=sys.executable, script=str(Path(__file__).with_name("grade.py")))
        endings.replace(folder / "grade.py", script)
        times = dict(zip(course, make_labs.side_by_side(measure, course, at_once=1), strict=True))
    except (ValueError, RuntimeError) as error:
        print(error)
        return 1
    endings.replace(folder / "teaching_plan.html", teaching_plan(course, times, site))
    print(f"Answer key, teaching plan and grading script are in {folder.relative_to(root)}.")
    return 0


if __name__ == "__main__":
    endings.run(main, ROOT, stopped="Labs that were measured keep their times; make instructor goes on from there.")
