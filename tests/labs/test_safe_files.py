"""Claims about the one writer of files: nothing is left half written."""

from pathlib import Path

import pytest
import safe_files


def test_on_a_full_disk_the_old_file_stays_whole(tmp_path, monkeypatch):
    def write_half(path, content, encoding):
        path.write_bytes(content[: len(content) // 2].encode())
        raise OSError("No space left on device")

    file = tmp_path / "folder/table.csv"
    safe_files.write_whole(file, "before")
    monkeypatch.setattr(Path, "write_text", write_half)
    with pytest.raises(OSError):
        safe_files.write_whole(file, "after")
    assert file.read_text() == "before"
