"""Claims about book/instructors.md: what it says to write works, and what it says of commands and limits is so.

tests/slow/test_instructors_page_to_the_letter.py types its commands, too.
"""

import json
import re
import shutil
import subprocess
import sys

import exercises
import lab_code
import pytest
import student
from instructors_page import PAGE, ROOT, blocks, follow


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What the course needs to be read, with the lab that the page adds."""
    root = tmp_path_factory.mktemp("course")
    (root / "labs").mkdir()
    for name in ("_config.yml", "_toc.yml", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, root)
    shutil.copytree(ROOT / "book", root / "book")
    shutil.copytree(ROOT / "shared", root / "shared", ignore=shutil.ignore_patterns("__pycache__"))
    follow(root, "## Add a lab in ten minutes")
    return root


def test_the_lab_on_the_page_is_whole_and_listed_and_its_solution_stays_out_of_the_student_edition(written):
    lab = written / "labs/17_length.md"
    (exercise,) = exercises.read(lab)
    assert exercise.solution not in "\n".join(cell.source for cell in student.edition(lab).cells)
    assert "file: labs/17_length.ipynb" in (written / "_toc.yml").read_text()
    assert "(../labs/17_length.ipynb)" in (written / "book/welcome.md").read_text()


def test_the_lab_on_the_page_runs_and_its_check_names_the_mistake(written):
    lab = written / "labs/17_length.md"
    (exercise,) = exercises.read(lab)
    mistake = "cosine_scores = lambda queries, keys: queries @ keys.T"
    answers = [exercise.start, exercise.solution, mistake]
    code = "\n".join(lab_code.cells(lab)) + "\nfound = []\n"
    code += "\n".join(f"{answer}\nfound.append({exercise.check})" for answer in answers)
    code += "\nimport json; print(json.dumps([[verdict.state, verdict.mistake] for verdict in found]))"
    told = subprocess.run([sys.executable, "-c", code], cwd=written, capture_output=True, text=True, timeout=100)
    assert told.returncode == 0, told.stderr
    states = json.loads(told.stdout.splitlines()[-1])
    assert states == [["not done yet", None], ["correct", None], ["wrong", "length left in"]]


def test_texts_of_one_s_own_are_read_by_the_function_on_the_page(tmp_path):
    (function,) = blocks("## Change the data", "python")
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


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?m)(?:^|`)make ([a-z-]+)", PAGE))))
def test_every_command_of_the_page_is_one(target):
    assert re.search(rf"(?m)^{target}:", (ROOT / "Makefile").read_text()), f"make {target} is not there"
