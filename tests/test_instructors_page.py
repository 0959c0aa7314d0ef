"""Follows book/instructors.md to the letter, in a copy of the repository: what it says to write is written, what it
says to type is typed. The blocks and commands are read from the page itself.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import notebooks
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "book/instructors.md").read_text()
# The words before a block, its language, and its text.
LEAD = r"(?:(?P<lead>[^\n]+(?:\n[^\n]+)*)\n\n)?"
FENCED = r"^(?P<fence>`{3,})(?P<language>\w*)\n(?P<text>.*?)\n(?P=fence)\n"
BLOCK = re.compile(LEAD + FENCED, re.DOTALL | re.MULTILINE)
WHO = {f"GIT_{role}_{what}": "test@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def part(heading):
    """The part of the page below a heading, up to the next one of its level."""
    level = heading.split()[0]
    below = PAGE.split(f"\n{heading}\n")[1]
    outside = re.sub(r"(?ms)^(`{3,}).*?^\1$", lambda fence: re.sub(r"[^\n]", " ", fence[0]), below)
    following = re.search(rf"(?m)^#{{2,{len(level)}}} ", outside)
    return below[: following.start()] if following else below


def run(root, command):
    """Type a command in the copy. The environment is this one: nothing is installed."""
    personal = ("PYTHONPATH", "MAKEFLAGS", "PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER")
    environment = {name: value for name, value in os.environ.items() if name not in personal} | WHO
    answer = subprocess.run(command, shell=True, cwd=root, env=environment, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, f"{command}\n{answer.stdout[-3000:]}{answer.stderr[-3000:]}"
    return answer.stdout


def follow(root, heading, without=()):
    """Do what a part of the page says, block by block."""
    done = []
    for block in BLOCK.finditer(part(heading)):
        lead, text = (block["lead"] or "").replace("\n", " "), block["text"]
        names = [root / name for name in re.findall(r"`([\w./]+\.\w+)`", lead)]
        if not block["language"]:
            for command in text.split("\n"):
                done += [] if command in without else [run(root, command)]
        elif "Save this as" in lead:
            names[-1].write_text(text + "\n")
        elif "at the end of" in lead:
            with open(names[-1], "a") as file:
                file.write(text + "\n")
        elif "below the other labs" in lead:
            here = names[-1].read_text()
            last = here.rindex("labs/")
            end = min(here.find(stop, last) % (len(here) + 1) for stop in ("\n\n", "\n  - ") if stop in here[last:])
            gap = "\n" if text.lstrip().startswith("-") else "\n\n"
            names[-1].write_text(here[:end] + gap + text + here[end:])
        else:
            raise AssertionError(f"the test cannot follow: {lead}")
    return done


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the repository under git, whose .venv is the environment of this test."""
    root = tmp_path_factory.mktemp("fork") / "course"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    python = root / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    sign = "import environment; environment.MADE_FROM.write_text(environment.digest())"
    subprocess.run([sys.executable, "-c", sign], cwd=root / "tools", check=True)
    # This is about a lab that is added. Labs that wait for their execution are not executed here.
    for lab in notebooks.labs(root):
        if notebooks.why_stale(lab):
            notebook = notebooks.generate(lab)
            for count, cell in enumerate(notebooks.code_cells(notebook), start=1):
                cell.execution_count = count
            lab.with_suffix(".ipynb").write_text(notebooks.sign(notebook, notebooks.made_from(lab)))
    run(root, "git init -q -b main && git add . && git commit -q -m copy")
    return root


@pytest.fixture(scope="module")
def added(course):
    """The copy after "Add a lab in ten minutes"."""
    follow(course, "## Add a lab in ten minutes")
    return course


def test_a_lab_added_by_the_page_is_executed_and_stands_in_the_book(added):
    lab = added / "labs/11_length.md"
    notebook = nbformat.read(lab.with_suffix(".ipynb"), as_version=4)
    assert notebooks.executed_in_order(notebook) and not notebooks.why_stale(lab)
    page = (added / "_build/html/labs/11_length.html").read_text()
    assert "Does length matter?" in page and "Exercise 11.1" in page and "tensor([" in page
    welcome = (added / "_build/html/book/welcome.html").read_text()
    assert re.search(r'href="[^"]*labs/11_length\.html"', welcome) and "one says it louder" in welcome
    assert run(added, "git status --porcelain") == "", "the page's commit leaves something behind"


def test_the_first_part_alone_makes_a_lab_without_an_exercise():
    first = part("## Add a lab in ten minutes").split("### Give it an exercise")[0]
    assert "make labs LAB=11" in first and "exercise:" not in first


def test_the_added_lab_passes_what_make_test_checks(added):
    names = "11_length or cosine_scores or welcome or double or survives"
    files = "tests/test_labs.py tests/test_site.py tests/test_exercises.py tests/test_editions.py"
    python, environment = ".venv/bin/python -m", "OMP_NUM_THREADS=1"
    run(added, f"{python} ruff check")
    said = run(added, f"{environment} {python} pytest -q -p no:cacheprovider {files} -k {shlex.quote(names)}")
    passed = int(re.search(r"(\d+) passed", said)[1])
    assert passed >= 15, said
    said = run(added, f"{environment} {python} pytest -q -p no:cacheprovider --nbval labs/11_length.ipynb")
    cells = notebooks.code_cells(notebooks.generate(added / "labs/11_length.md"))
    assert f"{len(cells)} passed" in said, said


def test_the_added_check_refuses_its_mistake_by_name(added):
    code = (
        "from shared import check\n"
        "print(repr(check.cosine_scores(lambda queries, keys: queries @ keys.T).mistake))\n"
        "print(bool(check.cosine_scores(lambda q, k: (q / q.norm(dim=1)[:, None]) @ (k / k.norm(dim=1)[:, None]).T)))"
    )
    assert run(added, f".venv/bin/python -c {shlex.quote(code)}").split("\n")[:2] == ["'length left in'", "True"]


def test_the_student_edition_is_made_and_published_by_the_page_s_commands(added):
    follow(added, "## Hand it out without solutions", without=["git push"])
    names = run(added, "git ls-files student").splitlines()
    assert names == sorted(f"student/{lab.stem}.ipynb" for lab in notebooks.labs(added))
    text = (added / "student/11_length.ipynb").read_text()
    assert "keepdim" in text and "queries.norm" not in text
    run(added, ".venv/bin/python -m ruff check")


def test_a_lab_left_out_leaves_words_behind_and_no_dead_link(course):
    contents, welcome = course / "_toc.yml", course / "book/welcome.md"
    kept = contents.read_text(), welcome.read_text()
    contents.write_text(re.sub(r"\n.*labs/06_.*", "", kept[0]))
    welcome.write_text(re.sub(r"\n\[[^\n]*labs/06_.*?\n(?=\n)", "", kept[1], flags=re.S))
    assert contents.read_text() != kept[0] and welcome.read_text() != kept[1]
    assert "make clean" in part("## Choose labs")
    run(course, "rm -rf _build/html _build/.doctrees && .venv/bin/python tools/build_site.py")
    assert not (course / "_build/html/labs/06_when_in_doubt.html").exists()
    pages = [*(course / "_build/html/labs").glob("*.html"), *(course / "_build/html/book").glob("*.html")]
    assert pages and not [page.name for page in pages if "06_when_in_doubt" in page.read_text()]
    contents.write_text(kept[0])
    welcome.write_text(kept[1])


def test_a_fork_changes_the_line_that_the_page_shows(course):
    before = (course / "_config.yml").read_text()
    (line,) = [block["text"] for block in BLOCK.finditer(part("## Make it your own")) if block["language"] == "yaml"]
    old = re.search(r"(?m)^  url: .*$", before)[0]
    (course / "_config.yml").write_text(before.replace(old, line))
    executed = run(course, "make labs")
    assert "executed" not in executed.replace("nothing executed", "")
    own = line.strip().removeprefix("url: https://github.com/")
    for lab in notebooks.labs(course):
        text = lab.with_suffix(".ipynb").read_text()
        assert f"github/{own}/blob" in text and f"git+https://github.com/{own}@" in text
    assert old.split("/")[-2] not in (course / "README.md").read_text()


def test_texts_of_one_s_own_are_read_by_the_function_on_the_page(tmp_path):
    (function,) = [b["text"] for b in BLOCK.finditer(part("## Change the data")) if b["language"] == "python"]
    shutil.copytree(ROOT / "shared", tmp_path / "shared", ignore=shutil.ignore_patterns("__pycache__"))
    module = tmp_path / "shared/reviews.py"
    text = module.read_text()
    old = re.search(r"(?ms)^def _load_movies\(.*?\n\n\n", text)[0]
    module.write_text(text.replace(old, f"{function}\n\n\n"))
    rows = [f"this film is {'good' if i % 2 else 'bad'} number {i},{i % 2}" for i in range(200)]
    (tmp_path / "shared/reviews.csv").write_text("\n".join(["text,label", *rows]))
    code = (
        "import json\nfrom shared import data\nprepared = data.load_reviews()\n"
        "parts = [prepared.train, prepared.validation, prepared.test]\n"
        "print(json.dumps([[p.rows for p in parts], parts[0].texts[0], parts[0].labels[0], prepared.citation]))"
    )
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert answer.returncode == 0, answer.stderr
    rows, text, label, citation = json.loads(answer.stdout)
    assert [len(part) for part in rows] == [160, 20, 20] and sorted(sum(rows, [])) == list(range(200))
    assert text.startswith("this film is " + ("good" if label else "bad")) and citation == "Our own reviews."
    assert '"*.csv"' in part("## Change the data")


def test_what_the_page_says_of_grading_is_what_grading_does():
    import grade

    said = " ".join(part("## Prepare and grade").split())
    limits = grade.Limits()
    assert (limits.seconds, limits.cell_seconds) == (60, 10) and "at most a minute (ten seconds a cell)" in said
    assert f"{limits.gigabytes:g} GB of memory" in said
    assert f"{grade.PROCESSES} processes and {grade.FILES:,} files" in said


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z]+)", PAGE)) - {"it"}))
def test_every_command_of_the_page_is_one(target):
    assert re.search(rf"(?m)^{target}:", (ROOT / "Makefile").read_text()), f"make {target} is not there"
