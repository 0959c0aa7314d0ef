"""Claims about the one writer of files, and about a tool that is stopped: nothing is left half written."""

import errno
import os
import signal
from pathlib import Path

import notebooks
import pytest
import safe_files

ROOT = Path(__file__).resolve().parents[2]


def test_on_a_full_disk_the_old_file_stays_whole_and_is_named(tmp_path, monkeypatch):
    def write_half(path, content):
        with open(path, "wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "folder/table.csv"
    safe_files.write_whole(file, "before")
    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(SystemExit, match="table.csv: No space left on device"):
        safe_files.run(safe_files.write_whole, file, "after")
    assert [(path.name, path.read_text()) for path in file.parent.iterdir()] == [("table.csv", "before")]


def test_after_ctrl_c_a_tool_says_what_became_of_the_work():
    with pytest.raises(SystemExit, match="Stopped. All is as it was."):
        safe_files.run(lambda: signal.raise_signal(signal.SIGINT), stopped="All is as it was.")


def test_a_notebook_whose_text_is_gone_is_found():
    texts = {lab.stem for lab in notebooks.labs(ROOT)}
    assert {path.stem for path in (ROOT / "labs").glob("*.ipynb")} == texts, "a notebook without a text is not checked"
