"""Claims about labs as files: what makes one stale, what the checks catch, and that the first cell works anywhere.

Most of them are tried on a tiny course of one lab, with a `shared` of one function.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import check_labs
import check_outputs
import identity
import make_labs
import nbformat
import notebooks
import pytest
import small_course
import yaml

ROOT = Path(__file__).resolve().parents[2]
TINY = """# Tiny

One number.

```{code-cell} ipython3
from shared.model import number

print(number())
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
    for name in ("_config.yml", "requirements.txt", "constraints.txt", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    for folder in ("labs", "shared"):
        (root / folder).mkdir()
    (root / "shared/__init__.py").touch()
    (root / "shared/model.py").write_text('def number():\n    """Give it."""\n    return 41\n')
    (root / "labs/01_tiny.md").write_text(TINY)
    assert make_labs.bring_up_to_date(root / "labs/01_tiny.md").startswith("executed")
    return root


@pytest.fixture
def made(executed_course, tmp_path):
    """The text of the lab in a copy of that course; its notebook lies beside it."""
    shutil.copytree(executed_course, tmp_path / "course")
    return tmp_path / "course/labs/01_tiny.md"


@pytest.fixture
def lab(made):
    """The same without the notebook."""
    made.with_suffix(".ipynb").unlink()
    return made


replace_in = small_course.change


def outputs(lab):
    return [output.text for cell in notebooks.code_cells(notebooks.read(lab)) for output in cell.outputs]


# --- the labs of the course --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab", notebooks.labs(ROOT), ids=lambda lab: lab.stem)
def test_each_lab_is_paired_fresh_and_executed(lab):
    found = check_labs.problems(lab)
    assert not found, "\n".join(found)
    last = notebooks.code_cells(notebooks.read(lab))[-1]
    assert "nbval-ignore-output" not in last.metadata.get("tags", []), "the last cell of a lab must be compared"


def test_names_and_addresses_follow_the_settings():
    behind = identity.outdated(ROOT)
    assert not behind, f"{', '.join(path.name for path in behind)} does not follow _config.yml: run `make labs`."


# --- what makes a lab stale --------------------------------------------------------------------------------------


def test_a_lab_is_executed_once_and_then_up_to_date_unless_somebody_asks_again(made, monkeypatch):
    assert outputs(made) == ["41\n", "42\n"]
    assert not check_labs.problems(made)
    monkeypatch.setattr(make_labs, "execute", lambda *_: None)
    assert make_labs.bring_up_to_date(made) == "up to date"
    assert "as you asked" in make_labs.bring_up_to_date(made, again=True)


def test_an_edit_of_prose_is_found_and_executes_nothing(made):
    replace_in(made, "Some prose.", "Better prose.")
    (problem,) = check_labs.problems(made)
    assert "labs/01_tiny.md was changed since" in problem and "run `make labs LAB=01`" in problem
    assert make_labs.bring_up_to_date(made) == "text updated, nothing executed"
    assert "Better prose." in made.with_suffix(".ipynb").read_text()
    assert outputs(made) == ["41\n", "42\n"] and not check_labs.problems(made)


def test_an_edit_of_code_executes_the_lab_again(made):
    replace_in(made, "number() + 1", "number() + 2")
    assert any("its code cells" in problem for problem in check_labs.problems(made))
    assert "its code cells" in make_labs.bring_up_to_date(made)
    assert outputs(made) == ["41\n", "43\n"]


def test_an_edit_while_a_lab_runs_makes_it_stale_again(made, monkeypatch):
    edit = lambda lab, *_: replace_in(lab, "number() + 1", "number() + 2")  # noqa: E731
    monkeypatch.setattr(make_labs, "execute", edit)
    make_labs.bring_up_to_date(made, again=True)
    assert notebooks.read(made).metadata["lab"]["made_from"] != notebooks.made_from(made)


def test_an_edit_in_shared_is_found_and_a_docstring_is_not_one(made):
    shared = made.parents[1] / "shared/model.py"
    replace_in(shared, "Give it.", "Give the number.  # a comment changes nothing")
    assert not check_labs.problems(made)
    replace_in(shared, "return 41", "return 40")
    (problem,) = check_labs.problems(made)
    assert "changed since: shared/model.py" in problem and "run `make labs LAB=01`" in problem


def test_data_of_shared_count_where_a_cell_names_them(made):
    table = made.parents[1] / "shared/table.json"
    table.write_text("[1]")
    assert not check_labs.problems(made)
    replace_in(made, "print(number() + 1)", "print('shared/table.json')")
    before = notebooks.made_from(made)
    table.write_text("[2]")
    assert notebooks.made_from(made)["shared/table.json"] != before["shared/table.json"]


def test_another_version_of_what_numbers_come_from_is_found_and_one_of_a_tool_is_none(made):
    root = made.parents[1]
    pins = notebooks.pins(root)
    assert {pin.split("==")[0] for pin in pins} == set(notebooks.NUMERICAL), "a package of the list has no pin"
    replace_in(root / "constraints.txt", "certifi==", "certifi==9.")
    assert not check_labs.problems(made)
    replace_in(root / "requirements.txt", "torch==", "torch==1.")
    assert any("changed since: the pins" in problem for problem in check_labs.problems(made))


def test_an_f_string_means_the_same_under_every_python():
    tree = ast.parse('f"{1:{2}.{3}f}"')
    as_others_see_it = notebooks.plain(tree)
    next(node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)).values.append(ast.Constant(""))
    assert notebooks.plain(tree) == as_others_see_it


def test_a_notebook_edited_by_hand_is_found_and_kept_and_made_again_it_is_the_same_file(made):
    first = made.with_suffix(".ipynb").read_bytes()
    replace_in(made.with_suffix(".ipynb"), "Some prose.", "My own notes.")
    assert any("changed by hand" in problem for problem in check_labs.problems(made))
    assert "kept as yours/01_tiny.ipynb" in make_labs.bring_up_to_date(made)
    assert "My own notes." in (made.parents[1] / "yours/01_tiny.ipynb").read_text()
    assert not check_labs.problems(made)
    assert made.with_suffix(".ipynb").read_bytes() == first


@pytest.mark.parametrize("place", [0, 2], ids=["the generated one", "the last one"])
def test_one_cell_that_was_never_executed_is_named(made, place):
    notebook = notebooks.read(made)
    cell = notebooks.code_cells(notebook)[place]
    cell.execution_count, cell.outputs = None, []
    made.with_suffix(".ipynb").write_text(notebooks.sign(notebook, notebooks.made_from(made)))
    stale, named = check_labs.problems(made)
    assert "not every cell was executed" in stale and f"code cell {place + 1} (" in named and "run `make labs" in named


def test_a_cell_that_fails_is_named_and_the_notebook_left_alone(made):
    before = made.with_suffix(".ipynb").read_bytes()
    replace_in(made, "print(number() + 1)", "print(1 / 0)")
    with pytest.raises(RuntimeError, match=r"(?s)labs/01_tiny.md, line 14.*ZeroDivisionError"):
        make_labs.bring_up_to_date(made)
    assert made.with_suffix(".ipynb").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Some prose.\n\n```{note}\nRead me.\n```", "is a directive"),
        ("Some prose, see {doc}`book/notation`.", "is a directive or role"),
        ("```{code-cell} ipython3\n:tags: [nbval-skip]\n\nprint(1)\n```\n", "hides from the checks"),
        ("```{code-cell} ipython3\n# NBVAL_SKIP\nprint(1)\n```\n", "hides from the checks"),
    ],
)
def test_what_a_lab_s_text_must_not_hold_is_found(lab, text, message):
    replace_in(lab, "Some prose.", text)
    assert any(message in problem for problem in check_labs.problems(lab))


def test_what_a_lab_s_outputs_must_not_hold_is_found(made):
    notebook = notebooks.read(made)
    notebooks.code_cells(notebook)[-1].outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=f"{object()}\n{1 / 7}\n"),
        nbformat.v4.new_output("stream", name="stderr", text="oh\n"),
    ]
    made.with_suffix(".ipynb").write_text(notebooks.sign(notebook, notebooks.made_from(made)))
    found = " ".join(check_labs.problems(made))
    for message in ("differs elsewhere", "wrote to stderr", "round it to 5 significant digits"):
        assert message in found


def test_significant_digits_are_counted_and_whole_numbers_are_free():
    counts = {"0.12345": 5, "-0.0012345": 5, "1.23456": 6, "12.3456e-10": 6, "10.0000": 6, "1,234.56": 6}
    assert {number: check_labs.significant_digits(number) for number in counts} == counts
    assert check_labs.long_numbers("text", "22713728 numbers, 2.13.0, 0.12345 and 0.123456") == ["0.123456"]
    assert check_labs.long_numbers("text/html", "<b data-x='[0.1234567]'>1.23456</b>") == ["1.23456"]


# --- nbval -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "status", "told"),
    [
        ([""] * 3, 0, ""),
        (["", "", "red"], 1, "01_tiny: 1 cells give something else than is stored.*make labs LAB=01 AGAIN=1"),
        (["", ""], 1, "01_tiny: 2 of 3 code cells were compared"),
    ],
)
def test_a_lab_with_a_red_cell_or_a_hidden_one_fails_and_is_named(made, monkeypatch, capsys, cells, status, told):
    monkeypatch.setattr(check_outputs, "run", lambda *_: ("red" in cells, {"01_tiny": cells}))
    assert check_outputs.main(made.parents[1]) == status
    assert re.search(f"(?s)^{told}", capsys.readouterr().out)


# --- a fork, and the first cell ----------------------------------------------------------------------------------


def test_a_fork_changes_one_line_and_executes_nothing(made):
    root = made.parents[1]
    url = yaml.safe_load((root / "_config.yml").read_text())["repository"]["url"]
    replace_in(root / "_config.yml", url, "https://github.com/someone/their-course")
    assert make_labs.bring_up_to_date(made) == "text updated, nothing executed"
    behind = identity.outdated(root)
    assert {path.name for path in behind} == {"README.md", "pyproject.toml"}
    for text in [*behind.values(), made.with_suffix(".ipynb").read_text()]:
        assert "someone/their-course" in text
        assert url.removeprefix("https://github.com/") not in text


def test_the_first_cell_installs_shared_from_the_repository_into_an_empty_place(tmp_path):
    """As in Colab: no checkout near, `shared` not there. A clone on disk stands in for the code host."""
    clone, home, environment = tmp_path / "clone", tmp_path / "empty", tmp_path / "environment"
    home.mkdir()
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, files):
        if name.startswith(("shared/", "pyproject", "README", "LICENSE")) and (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-q", "-m", "clone"]):
        subprocess.run(["git", *command], cwd=clone, check=True)

    # A Python of its own that sees the packages of this one, as Colab's sees Colab's, and has no `shared`.
    venv.create(environment)
    packages = next(environment.glob("lib/python*/site-packages"))
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "as-in-colab.pth").write_text("\n".join(here))

    notebook = notebooks.generate(notebooks.labs(ROOT)[0])
    (set_up,) = [cell for cell in notebooks.code_cells(notebook) if notebooks.is_generated(cell)]
    names = identity.read(ROOT)
    assert f"git+{names['url']}@{names['branch']}" in set_up.source
    cell = set_up.source.replace(names["url"], f"file://{clone}").replace(names["branch"], "main")
    # No index and no build environment of its own: the test must not use the network.
    offline = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_COMPILE": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHONPATH"))}

    def run_the_cell(and_then):
        (home / "cell.ipy").write_text(f"{cell}\n{and_then}\n")
        answer = subprocess.run(
            [environment / "bin/python", "-m", "IPython", "cell.ipy"],
            cwd=home,
            env=kept | offline | {"IPYTHONDIR": str(tmp_path / "ipython")},
            capture_output=True,
            text=True,
            timeout=300,
        )
        found = re.search(r"FOUND (.*)", answer.stdout)
        assert found, answer.stdout[-2000:] + answer.stderr[-2000:]
        return found[1]

    installed = Path(run_the_cell("import shared.data, shared.figures\nprint('FOUND', shared.data.__file__)"))
    assert installed.is_relative_to(environment)

    # "Restart", and the cell once more: what is installed stays, until the course has changed.
    look = "import shared\nprint('FOUND', getattr(shared, 'mark', 'none'))"
    init = installed.with_name("__init__.py")
    init.write_text("mark = 'installed'")
    assert run_the_cell(look) == "installed", "installed again, although nothing had changed"
    (clone / "shared/__init__.py").write_text("mark = 'changed'")
    subprocess.run(["git", *who, "commit", "-q", "-a", "-m", "changed"], cwd=clone, check=True)
    assert run_the_cell(look) == "changed", "the course has changed, and the old one is still used"
    clone.rename(tmp_path / "gone")
    assert run_the_cell(look) == "changed", "without a network what is installed has to do"


def test_an_unrelated_package_named_shared_is_not_taken_for_ours(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/__init__.py").touch()
    set_up = re.sub(r"%pip .*", "pass", notebooks.SET_UP.format(**identity.read(ROOT)))
    answer = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{set_up}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "another package of that name is in the way" in answer.stderr


def test_a_home_that_cannot_be_written_to_leaves_no_complaint_in_a_lab(tmp_path, monkeypatch):
    (tmp_path / "home").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    kernel = [sys.executable, "-m", "IPython", "-c", "import matplotlib.pyplot; print(1)"]
    told = subprocess.run(kernel, env=notebooks.kernel_environment(tmp_path), capture_output=True, text=True)
    assert (told.stdout, told.stderr) == ("1\n", "")
