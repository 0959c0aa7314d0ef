"""The address of the course: the one in _config.yml, or that of the remote."""

import subprocess

import identity
import pytest

CONFIG = "repository:\n  url: https://github.com/{}/course\n  branch: main\nstudent_edition: student\n"
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
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    if remote:
        subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", remote], check=True)
    found = identity.published(tmp_path)
    assert (found and found["url"]) == address
    written = f"https://github.com/{owner}/course"
    assert identity.read(tmp_path)["url"] == written, "what is committed follows _config.yml"
