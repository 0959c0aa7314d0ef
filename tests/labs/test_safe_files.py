"""Claims about the one writer of files: nothing is left half written."""

import errno
import os
from pathlib import Path

import pytest
import safe_files


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
