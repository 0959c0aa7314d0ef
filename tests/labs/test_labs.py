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

import check_labs
import identity
import make_labs
import nbformat
import notebooks
import pytest
import small_course

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
    for name in ("_config.yml", "requirements.txt", "constraints.txt", *identity.FILES):
        shutil.copy(ROOT / name, root)
    for folder in ("labs", "shared", "checks"):
        (root / folder).mkdir()
    (root / "shared/__init__.py").touch()
    (root / "shared/model.py").write_text('def number():\n    """Give it."""\n    return 41\n')
    for name in ("shared/named.json", "checks/tiny.py", "checks/other.py"):
        (root / name).write_text("[1]")
    (root / "labs/01_tiny.md").write_text(TINY)
    assert make_labs.bring_up_to_date(root / "labs/01_tiny.md").startswith("executed")
    return root


@pytest.fixture
def lab(executed_course, tmp_path):
    """The text of the lab in a copy of that course; its notebook lies beside it."""
    shutil.copytree(executed_course, tmp_path / "course")
    return tmp_path / "course/labs/01_tiny.md"


replace_in = small_course.change


# --- the labs of the course --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab", notebooks.labs(ROOT), ids=lambda lab: lab.stem)
def test_each_lab_is_paired_fresh_and_executed(lab):
    found = check_labs.problems(lab)
    assert not found, "\n".join(found)
    cells = notebooks.code_cells(notebooks.read(lab))
    assert "nbval-ignore-output" not in cells[-1].metadata.get("tags", []), "the last cell of a lab must be compared"
    assert not re.search("(?i)nbval.skip", lab.read_text()), "nbval would pass over a cell"


def test_a_notebook_whose_text_is_gone_is_found():
    texts = {lab.stem for lab in notebooks.labs(ROOT)}
    assert {path.stem for path in (ROOT / "labs").glob("*.ipynb")} == texts, "a notebook without a text is not checked"


def test_names_and_addresses_follow_the_settings():
    behind = identity.outdated(ROOT)
    assert not behind, f"{', '.join(path.name for path in behind)} does not follow _config.yml: run `make labs`."


def test_a_cell_that_only_asserts_is_folded_in_the_notebook_and_no_other_is(lab):
    lab.write_text(TINY + "\n```{code-cell} ipython3\n:tags: [remove-cell]\n\nassert number() == 41\n```\n")
    folded = [cell for cell in notebooks.generate(lab).cells if cell.metadata.get("jupyter", {}).get("source_hidden")]
    assert [(cell.source, cell.metadata.cellView) for cell in folded] == [("assert number() == 41", "form")]


# --- what makes a lab stale --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "old", "new", "word", "done"),
    [
        ("labs/01_tiny.md", "Some prose.", "Better prose.", "is not what", "nothing executed"),
        ("labs/01_tiny.md", "() + 1", "() + 2", "its code cells", "its code cells"),
        ("shared/model.py", "return 41", "return 40", "shared/model.py", "executed"),
        ("checks/tiny.py", "1", "2", "checks/tiny.py", "executed"),
        ("checks/other.py", "1", "2", "", "up to date"),
        ("shared/named.json", "1", "2", "shared/named.json", "executed"),
        ("requirements.txt", "torch==", "torch==1.", "the pins", "executed"),
        ("labs/01_tiny.md", "Some", "```{note}\nRead me.\n```\nSome", "directive", "nothing executed"),
    ],
)
def test_each_change_that_readers_would_meet_is_found_and_executes_the_lab_where_it_has_to(
    lab, monkeypatch, file, old, new, word, done
):
    assert check_labs.problems(lab) == [] and make_labs.bring_up_to_date(lab) == "up to date"
    replace_in(lab.parents[1] / file, old, new)
    found = " ".join(check_labs.problems(lab))
    assert word in found and bool(found) == bool(word)
    monkeypatch.setattr(make_labs, "execute", lambda *_: None)
    assert done in make_labs.bring_up_to_date(lab)
    if done == "nothing executed":
        outputs = [output.text for cell in notebooks.code_cells(notebooks.read(lab)) for output in cell.outputs]
        assert outputs == ["41\n", "42\n"]


def test_a_notebook_edited_by_hand_is_found_and_kept_and_made_again_it_is_the_same_file(lab):
    first = lab.with_suffix(".ipynb").read_bytes()
    replace_in(lab.with_suffix(".ipynb"), "Some prose.", "My own notes.")
    assert any("changed by hand" in problem for problem in check_labs.problems(lab))
    assert "stored as yours/labs/01_tiny.ipynb" in make_labs.bring_up_to_date(lab)
    assert "My own notes." in (lab.parents[1] / "yours/labs/01_tiny.ipynb").read_text()
    assert not check_labs.problems(lab)
    assert lab.with_suffix(".ipynb").read_bytes() == first


def test_a_cell_that_fails_is_named_and_the_notebook_left_alone(lab):
    before = lab.with_suffix(".ipynb").read_bytes()
    replace_in(lab, "print(number() + 1)", "print(1 / 0)")
    with pytest.raises(RuntimeError, match=r"(?s)labs/01_tiny.md, line 14.*ZeroDivisionError"):
        make_labs.bring_up_to_date(lab)
    assert lab.with_suffix(".ipynb").read_bytes() == before


def test_what_a_lab_s_outputs_must_not_hold_is_found(lab):
    notebook = notebooks.read(lab)
    notebooks.code_cells(notebook)[0].execution_count = None
    notebooks.code_cells(notebook)[-1].outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=f"{object()}\n{1 / 7}\n"),
        nbformat.v4.new_output("stream", name="stderr", text="oh\n"),
    ]
    lab.with_suffix(".ipynb").write_text(notebooks.sign(notebook, notebooks.made_from(lab)))
    found = " ".join(check_labs.problems(lab))
    for message in ("not every cell", "differs elsewhere", "wrote to stderr", "round it to 5 significant digits"):
        assert message in found


# --- a fork, and the first cell ----------------------------------------------------------------------------------


def test_a_fork_changes_one_line_and_executes_nothing(lab):
    root = lab.parents[1]
    url = identity.read(root)["url"]
    replace_in(root / "_config.yml", url, "https://github.com/someone/their-course")
    assert make_labs.bring_up_to_date(lab) == "text updated, nothing executed"
    behind = identity.outdated(root)
    assert {path.name for path in behind} == {*identity.FILES}
    for text in [*behind.values(), lab.with_suffix(".ipynb").read_text()]:
        assert "someone/their-course" in text
        assert url.removeprefix("https://github.com/") not in text
    installs = f"git+https://github.com/someone/their-course@{identity.read(root)['branch']}\\n"
    assert installs in lab.with_suffix(".ipynb").read_text()


def test_the_first_cell_installs_shared_from_the_repository_and_takes_no_other_package_for_it(tmp_path):
    """As in Colab: no checkout near, `shared` not there. A clone on disk stands in for the code host."""
    clone, home, environment = tmp_path / "clone", tmp_path / "empty", tmp_path / "environment"
    home.mkdir()
    for package in ("checks", "shared"):
        shutil.copytree(ROOT / package, clone / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    commit = "git add . && git -c user.name=test -c user.email=test@example.org commit -q -m commit"
    subprocess.run(f"git init -q -b main && {commit}", shell=True, cwd=clone, check=True)

    # A Python of its own that sees the packages of this one, as Colab's sees Colab's, and has no `shared`.
    venv.create(environment)
    packages = next(environment.glob("lib/python*/site-packages"))
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "as-in-colab.pth").write_text("\n".join(here))

    cell = notebooks.FIRST_CELL.read_text().replace("{url}", f"file://{clone}").replace("{branch}", "main")
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
    assert f"FOUND {installed} None" in run_the_cell()
    assert (packages / "shared/figures").is_dir() and (packages / "checks/keys.py").is_file()

    # "Restart", and the cell once more: what is installed stays, until the course has changed.
    installed.write_text("mark = 'installed'")
    assert f"{installed} installed" in run_the_cell(), "installed again, although nothing had changed"
    (clone / "shared/__init__.py").write_text("mark = 'changed'")
    subprocess.run(commit, shell=True, cwd=clone, check=True)
    assert f"{installed} changed" in run_the_cell(), "the course has changed, and the old one is still used"
    clone.rename(tmp_path / "gone")
    assert f"{installed} changed" in run_the_cell(), "without a network what is installed has to do"

    (home / "shared").mkdir()
    (home / "shared/__init__.py").touch()
    assert "another package of that name is in the way" in run_the_cell()
