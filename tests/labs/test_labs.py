"""Claims about labs as files: what makes one stale, what the checks catch, and that the first cell works anywhere.

Most of them are tried on a tiny course of one lab, with a `shared` of one function.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import lab_code
import nbformat
import pytest
import small_course
import yaml

from tools import check_labs, identity, jupyter, labs
from tools.lab import FIRST_CELL, NEW, code_of, course, signed

ROOT = Path(__file__).resolve().parents[2]
TINY = """# Tiny

One number.

```{code-cell} ipython3
from shared.model import number

print(number())  # see shared/named.json
```

Some prose.

```{code-cell} ipython3
print(number() + 1)
```
"""


@pytest.fixture(scope="session")
def executed_course(tmp_path_factory):
    """A course of one lab, executed once for all tests."""
    root = tmp_path_factory.mktemp("course")
    (root / "book").mkdir()
    small_course.settings(root)
    for name in ("requirements.txt", "constraints.txt", *identity.FILES):
        shutil.copy(ROOT / name, root / name)
    for folder in ("labs/tiny", "labs/other", "shared", "checks"):
        (root / folder).mkdir(parents=True)
    (root / "shared/__init__.py").touch()
    (root / "shared/model.py").write_text('def number():\n    """Give it."""\n    return 41  # or so\n')
    (root / "shared/named.json").write_text("[1]")
    (root / "checks/engine.py").write_text("from checks.compare import same\n\nSECONDS = 10\n")
    (root / "checks/compare.py").write_text("same = 1\n")
    (root / "labs/tiny/exercises.py").write_text('"""A sentence."""\n\nfrom checks.engine import SECONDS\n')
    (root / "labs/other/exercises.py").write_text("other = 1\n")
    (root / "labs/tiny/tiny.md").write_text(TINY)
    small_course.contents(root, "tiny")
    for path, text in identity.outdated(root).items():  # a fork's own title and author stand in its files
        path.write_text(text)
    assert labs.bring_up_to_date(course(root)[0])[0].startswith("executed")
    return root


@pytest.fixture
def root(executed_course, tmp_path):
    """A copy of that course; the lab's notebook lies beside its text."""
    return shutil.copytree(executed_course, tmp_path / "course")


def problems(root):
    return " ".join(check_labs.problems(course(root)[0]))


def update(root):
    return labs.bring_up_to_date(course(root)[0])


TEXT, NOTEBOOK = "labs/tiny/tiny.md", "labs/tiny/tiny.ipynb"
replace_in = small_course.change


# --- the labs of the course --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab", lab_code.course(), ids=str)
def test_each_lab_is_paired_fresh_and_executed(lab):
    found = check_labs.problems(lab)
    assert not found, "\n".join(found)
    cells = code_of(lab.stored(lab.notebook_file).cells)
    assert "nbval-ignore-output" not in cells[-1].metadata.get("tags", []), "the last cell of a lab must be compared"
    assert not re.search("(?i)nbval.skip", lab.text), "nbval would pass over a cell"


def test_names_and_addresses_follow_the_settings():
    behind = identity.outdated(ROOT)
    assert not behind, f"{', '.join(path.name for path in behind)} does not follow _config.yml: run `make labs`."


def test_the_page_that_make_jupyter_opens_has_the_labs_in_the_course_s_order_with_blanks_first(tmp_path):
    shutil.copytree(ROOT / "labs", tmp_path / "labs", ignore=shutil.ignore_patterns("*.ipynb", "*.json"))
    shutil.copy(ROOT / "_toc.yml", tmp_path)
    jupyter.write_page(tmp_path)
    (cell,) = nbformat.read(tmp_path / jupyter.PAGE, as_version=4).cells
    links = re.findall(r"\]\(\.\./(.*?)\)", cell.source)
    files = [file for lab in lab_code.course() for file in (lab.student_file, lab.notebook_file)]
    assert links == [str(file.relative_to(ROOT)) for file in files]


def test_a_cell_that_only_asserts_is_folded_in_the_notebook_and_no_other_is(root):
    with (root / TEXT).open("a") as text:
        text.write("\n```{code-cell} ipython3\n:tags: [remove-cell]\n\nassert number() == 41\n```\n")
    cells = course(root)[0].notebook().cells
    folded = [cell for cell in cells if cell.metadata.get("jupyter", {}).get("source_hidden")]
    assert [(cell.source, cell.metadata.cellView) for cell in folded] == [("assert number() == 41", "form")]


# --- what makes a lab stale --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "old", "new", "word", "done"),
    [
        (TEXT, "Some prose.", "Better prose.", "is not what", "nothing executed"),
        (TEXT, "() + 1", "() + 2", "its code cells", "its code cells"),
        (TEXT, "# see", "# look at", "is not what", "nothing executed"),
        ("shared/model.py", "return 41", "return 40", "shared/model.py", "executed"),
        ("shared/model.py", "# or so", "# or more", "", "up to date"),
        ("shared/model.py", "Give it.", "Return it.", "", "up to date"),
        ("labs/tiny/exercises.py", "A sentence.", "Another sentence.", "labs/tiny/exercises.py", "executed"),
        ("labs/other/exercises.py", "1", "2", "", "up to date"),
        ("checks/engine.py", "10", "20", "checks/engine.py", "executed"),
        ("checks/compare.py", "1", "2", "checks/compare.py", "executed"),
        ("shared/named.json", "1", "2", "shared/named.json", "executed"),
        ("requirements.txt", "torch==", "torch==1.", "the pins", "executed"),
        (TEXT, "Some", "```{note}\nRead me.\n```\nSome", "directive", "nothing executed"),
    ],
)
def test_each_change_that_readers_would_meet_is_found_and_executes_the_lab_where_it_has_to(
    root, monkeypatch, file, old, new, word, done
):
    assert problems(root) == "" and update(root) == ("up to date", "")
    replace_in(root / file, old, new)
    found = problems(root)
    assert word in found and bool(found) == bool(word)
    monkeypatch.setattr(labs, "execute", lambda *_: None)
    assert done in update(root)[0]
    if done == "nothing executed":
        outputs = [output.text for cell in code_of(json_of(root).cells) for output in cell.outputs]
        assert outputs == ["41\n", "42\n"]


def json_of(root):
    return nbformat.read(root / NOTEBOOK, as_version=4)


def test_a_notebook_with_a_changed_source_is_never_written_over(root):
    replace_in(root / NOTEBOOK, "Some prose.", "My own notes.")
    mine = (root / NOTEBOOK).read_bytes()
    for prose in ("Better prose.", "Best prose."):
        (root / TEXT).write_text(TINY.replace("Some prose.", prose))
        done, new = update(root)
        assert new == f"{NEW}/{NOTEBOOK}" and (root / NOTEBOOK).read_bytes() == mine
        assert prose in (root / new).read_text()
        assert problems(root) == "", "the course's own edition is what is looked at"
    assert done == "up to date", "the one in _build is not executed again"


def test_outputs_and_metadata_are_nobody_s_work_and_made_again_it_is_the_same_file(root):
    first = (root / NOTEBOOK).read_bytes()
    found = json_of(root)
    found.cells[-1].outputs, found.cells[-1].metadata["scrolled"] = [], True
    found.metadata["kernelspec"]["name"] = "another"
    nbformat.write(found, root / NOTEBOOK)
    assert update(root)[0].startswith("executed") and (root / NOTEBOOK).read_bytes() == first


def test_without_an_execution_outputs_come_back_from_what_was_committed(root):
    commit = "git init -q && git add . && git -c user.name=test -c user.email=test@example.org commit -q -m commit"
    subprocess.run(commit, shell=True, cwd=root, check=True)
    first = (root / NOTEBOOK).read_bytes()
    replace_in(root / NOTEBOOK, "41", "43")
    assert problems(root) == "" and update(root)[0] == "text updated, nothing executed"
    assert (root / NOTEBOOK).read_bytes() == first


def test_a_cell_that_fails_is_named_and_the_notebook_left_alone(root):
    before = (root / NOTEBOOK).read_bytes()
    replace_in(root / TEXT, "print(number() + 1)", "print(1 / 0)")
    with pytest.raises(RuntimeError, match=r"(?s)labs/tiny/tiny.md, line 14.*ZeroDivisionError"):
        update(root)
    assert (root / NOTEBOOK).read_bytes() == before


def test_what_a_lab_s_outputs_must_not_hold_is_found(root):
    notebook = json_of(root)
    code_of(notebook.cells)[0].execution_count = None
    code_of(notebook.cells)[-1].outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=f"{object()}\n{1 / 7}\n"),
        nbformat.v4.new_output("stream", name="stderr", text="oh\n"),
    ]
    (root / NOTEBOOK).write_text(signed(notebook, course(root)[0].inputs()))
    found = problems(root)
    for message in ("not every cell", "differs elsewhere", "wrote to stderr", "round it to 5 significant digits"):
        assert message in found


# --- a fork, and the first cell ----------------------------------------------------------------------------------


def test_a_fork_changes_one_line_and_executes_nothing(root):
    url = identity.read(root)["url"]
    replace_in(root / "_config.yml", url, "https://github.com/someone/their-course")
    assert update(root)[0] == "text updated, nothing executed"
    behind = identity.outdated(root)
    address = re.compile(r"identity: .*\{(?:url|name|site|colab)")
    with_an_address = {name for name in identity.FILES if address.search((ROOT / name).read_text())}
    assert {str(path.relative_to(root)) for path in behind} == with_an_address
    for text in [*behind.values(), (root / NOTEBOOK).read_text()]:
        assert "someone/their-course" in text
        assert url.removeprefix("https://github.com/") not in text
    assert "git+https://github.com/someone/their-course@{wanted}\\n" in (root / NOTEBOOK).read_text()


def test_another_title_and_author_reach_every_file_that_names_them(root):
    replace_in(root / "_config.yml", "title: Towards Self-Attention", "title: 'Attention: a short course'")
    replace_in(root / "_config.yml", "author: The authors", "author: Ada and Ben")
    texts = {str(path.relative_to(root)): text for path, text in identity.outdated(root).items()}
    for name in ("README.md", "book/welcome.md", "CITATION.cff", "LICENSE"):
        assert "Attention: a short course" in texts[name], name
    citation = yaml.safe_load(texts["CITATION.cff"])
    assert (citation["title"], citation["authors"]) == ("Attention: a short course", [{"name": "Ada and Ben"}])
    assert texts["LICENSE"].count("Copyright (c) 2026 The authors of Towards Self-Attention") == 2, "notices stay"


def test_the_first_cell_installs_shared_from_the_repository_and_takes_no_other_package_for_it(tmp_path):
    """As in Colab: no checkout near, `shared` not there. A clone on disk stands in for the code host."""
    clone, home, environment = tmp_path / "clone", tmp_path / "empty", tmp_path / "environment"
    home.mkdir()
    for package in ("checks", "labs", "shared"):
        shutil.copytree(ROOT / package, clone / package, ignore=shutil.ignore_patterns("__pycache__", "*.ipynb"))
    for name in ("pyproject.toml", "ends.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    commit = "git add . && git -c user.name=test -c user.email=test@example.org commit -q -m commit"
    subprocess.run(f"git init -q -b main && {commit}", shell=True, cwd=clone, check=True)

    # A Python of its own that sees the packages of this one, as Colab's sees Colab's, and has no `shared`.
    venv.create(environment)
    packages = next(environment.glob("lib/python*/site-packages"))
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "as-in-colab.pth").write_text("\n".join(here))

    cell = FIRST_CELL.read_text().replace("{url}", f"file://{clone}")
    cell = cell.replace("{branch}", "main").replace("{version}", "v7")
    shown = "import shared\nprint('FOUND', shared.__file__, vars(shared).get('mark'))"
    (home / "cell.ipy").write_text(f"{cell}\n{shown}\n")
    # No index and no build environment of its own: the test must not use the network.
    offline = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_COMPILE": "1"}
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHONPATH"))}
    variables |= offline | {"IPYTHONDIR": str(tmp_path / "ipython")}

    def run_the_cell():
        command = [environment / "bin/python", "-m", "IPython", "cell.ipy"]
        answer = subprocess.run(command, cwd=home, env=variables, capture_output=True, text=True, timeout=300)
        return answer.stdout[-2000:] + answer.stderr[-2000:]

    installed = packages / "shared/__init__.py"
    assert f"FOUND {installed} None" in run_the_cell(), "without a tag the branch is installed"
    assert (packages / "shared/figures").is_dir() and (packages / "labs/keys/exercises.py").is_file()

    # "Restart", and the cell once more: what is installed stays, until the branch has changed.
    installed.write_text("mark = 'installed'")
    assert f"{installed} installed" in run_the_cell(), "installed again, although nothing had changed"
    (clone / "shared/__init__.py").write_text("mark = 'changed'")
    subprocess.run(commit, shell=True, cwd=clone, check=True)
    assert f"{installed} changed" in run_the_cell(), "the branch has changed, and the old one is still used"

    # The tag of the notebook's version goes before the branch, and stays when the branch goes on.
    (clone / "shared/__init__.py").write_text("mark = 'named'")
    subprocess.run(f"{commit} && git tag v7", shell=True, cwd=clone, check=True)
    (clone / "shared/__init__.py").write_text("mark = 'newest'")
    subprocess.run(commit, shell=True, cwd=clone, check=True)
    assert f"{installed} named" in run_the_cell(), "not the version that the notebook names"
    installed.write_text("mark = 'still named'")
    assert f"{installed} still named" in run_the_cell(), "a tag never changes"
    clone.rename(tmp_path / "gone")
    assert f"{installed} still named" in run_the_cell(), "without a network what is installed has to do"

    (home / "shared").mkdir()
    (home / "shared/__init__.py").touch()
    assert "another package of that name is in the way" in run_the_cell()
