"""Claims about `shared.record`, the one writer of files: nothing is left half written, and a digest is of the code."""

import functools
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import ends
from shared import record
from tools import digests

ROOT = Path(ends.__file__).parent


def test_on_a_full_disk_the_old_file_stays_whole(tmp_path, monkeypatch):
    def write_half(path, content, encoding):
        path.write_bytes(content[: len(content) // 2].encode())
        raise OSError("No space left on device")

    file = tmp_path / "folder/table.csv"
    record.write(file, "before")
    monkeypatch.setattr(Path, "write_text", write_half)
    with pytest.raises(OSError):
        record.write(file, "after")
    assert file.read_text() == "before"


CODE = '''def half(x):
    """Halve a number."""
    return x / 2  # not //
'''


@pytest.mark.parametrize(
    ("old", "new"), [("  # not //", ""), ("x / 2", "x/2"), ('"""Halve', '"""Divide'), ("\n", "\n\n")]
)
def test_comments_formatting_and_docstrings_are_no_code(old, new):
    assert old in CODE and digests.code(CODE.replace(old, new)) == digests.code(CODE)


@pytest.mark.parametrize(("old", "new"), [("x / 2", "x // 2"), ("half", "halve"), ("2", "2.0"), ("2", "True")])
def test_any_other_change_is(old, new):
    assert old in CODE and digests.code(CODE.replace(old, new)) != digests.code(CODE)


def test_a_docstring_counts_where_it_is_asked_for():
    other = CODE.replace("Halve", "Divide")
    assert digests.code(other, docstrings=True) != digests.code(CODE, docstrings=True)


def test_what_could_not_be_written_on_a_full_disk_leaves_nothing_behind_and_is_named(tmp_path, monkeypatch):
    def write_half(path, content, encoding):
        path.write_bytes(content[: len(content) // 2].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", write_half)
    with pytest.raises(OSError) as error:
        record.write(tmp_path / "keys.ipynb", "after")
    assert not list(tmp_path.iterdir())
    assert ends.sentence(error.value) == f"{tmp_path}/keys.ipynb could not be written or read: No space left on device."


def test_a_file_that_cannot_be_written_is_named_as_its_reader_knows_it():
    error = PermissionError(13, "Permission denied", "/course/labs/keys/.keys.ipynb.part")
    assert ends.sentence(error).startswith("/course/labs/keys/keys.ipynb could not be written or read: Permission")


@pytest.mark.parametrize("program", ["tools.labs", "experiments.benchmark", "labs.the_block.runs"])
def test_ctrl_c_while_a_program_imports_ends_it_with_a_sentence(program):
    # Python says each import on stderr: one of the first after the course's own is the moment.
    command = [sys.executable, "-v", "-m", program]
    # Where the tests themselves run in the background, Ctrl-C is ignored, and their children would inherit that.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=ROOT, preexec_fn=heard, **pipes) as process:
        seen = (line for line in process.stderr if "import 'json'" in line or "import 'torch" in line)
        next(seen)
        process.send_signal(signal.SIGINT)
        sentence = process.stderr.read()
    assert "Stopped. Nothing was left half written" in sentence and "Traceback" not in sentence and process.returncode
