"""The address of the course: the one in _config.yml, or that of the remote."""

import subprocess

import pytest

from tools import identity

CONFIG = """\
title: Our course
author: Us
repository:
  url: https://github.com/{}/course
  branch: main
student_edition:
"""
OURS = "https://github.com/someone/their-course"


def settings(root, config):
    """The two files that the address and the version are read from."""
    (root / "_config.yml").write_text(config)
    (root / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')


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
    settings(tmp_path, CONFIG.format(owner))
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    if remote:
        subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", remote], check=True)
    found = identity.published(tmp_path)
    assert (found and found["url"]) == address
    written = f"https://github.com/{owner}/course"
    read = identity.read(tmp_path)
    assert read["url"] == written, "what is committed follows _config.yml"
    assert (read["version"], read["student"]) == ("v1.2.3", f"{written}/blob/main")


@pytest.mark.parametrize(
    "given",
    [
        "https://github.com/ada/my-course",
        "https://github.com/ada/my-course/",
        "https://github.com/ada/my-course.git",
        "https://github.com/ada/my-course.git/",
        "http://ada@github.com/ada/my-course.git",
        "git@github.com:ada/my-course.git",
        "ssh://git@github.com/ada/my-course.git",
        "github.com/ada/my-course",
    ],
)
def test_an_address_as_github_copies_it_leads_home(tmp_path, given):
    settings(tmp_path, CONFIG.replace("https://github.com/{}/course", given))
    found = identity.read(tmp_path)
    assert found["url"] == "https://github.com/ada/my-course" and found["name"] == "my-course"
    assert found["site"] == "https://ada.github.io/my-course"
    assert found["colab"] == "https://colab.research.google.com/github/ada/my-course/blob/main"


@pytest.mark.parametrize("given", ["https://gitlab.com/ada/my-course", "my-course", "https://github.com/ada"])
def test_any_other_address_is_refused_in_a_sentence(tmp_path, given):
    settings(tmp_path, CONFIG.replace("https://github.com/{}/course", given))
    with pytest.raises(ValueError, match=f"`{given}` is not the address of a repository on GitHub"):
        identity.read(tmp_path)


def test_where_settings_and_remote_disagree_a_sentence_says_so(tmp_path):
    settings(tmp_path, CONFIG.format("us"))
    assert identity.disagreement(tmp_path) == "", "no remote, nothing to disagree with"
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", "git@github.com:us/course.git"], check=True)
    assert identity.disagreement(tmp_path) == ""
    subprocess.run(["git", "-C", tmp_path, "remote", "set-url", "origin", OURS], check=True)
    assert OURS in identity.disagreement(tmp_path)


def test_without_git_there_is_no_remote(tmp_path, monkeypatch):
    settings(tmp_path, CONFIG.format("OWNER"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert identity.published(tmp_path) is None
