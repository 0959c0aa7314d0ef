"""The address of the course: the one in _config.yml, or that of the remote."""

import subprocess

import pytest

from tools import identity

CONFIG = "title: Our course\nrepository:\n  url: https://github.com/{}/course\n  branch: main\nstudent_edition: \n"
OURS = "https://github.com/someone/their-course"


@pytest.mark.parametrize(
    ("owner", "remote", "address"),
    [
        ("us", "https://github.com/someone/their-course", "https://github.com/us/course"),
        ("OWNER", None, None),
        ("OWNER", "https://name:secret@github.com/someone/their-course.git", OURS),
        ("OWNER", "git@github.com:someone/their-course.git", OURS),
        ("OWNER", "https://gitlab.com/someone/their-course", None),
    ],
)
def test_the_settings_come_first_then_a_remote_on_github_and_nothing_else(tmp_path, owner, remote, address):
    (tmp_path / "_config.yml").write_text(CONFIG.format(owner))
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    if remote:
        subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", remote], check=True)
    found = identity.published(tmp_path)
    assert (found and found["url"]) == address
    written = f"https://github.com/{owner}/course"
    read = identity.read(tmp_path)
    assert read["url"] == written, "what is committed follows _config.yml"
    assert (read["version"], read["student"]) == ("v1.2.3", f"{written}/blob/main")
