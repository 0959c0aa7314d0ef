"""Claims about `make pins`: it renews every list, and touches none when no versions fit together."""

import json
import subprocess

import pins
import pytest

LIST = "torch==2.13.0\njupyter-book==1.0.4    # the last 1.x: 2.x is another program\n"
CONSTRAINTS = "# What the list brings along.\nappnope==1.0\nJinja2==3.1.0\nnumpy==2.4.6\n"
FOUND = {
    "torch": "2.15.0+cpu",
    "jupyter-book": "1.0.4",
    "jinja2": "3.1.6",
    "numpy": "2.4.6",
    "Zipp_More": "1.2",
    "nvidia-cublas": "13.0",
}


@pytest.fixture
def course(tmp_path):
    (tmp_path / "requirements.txt").write_text(LIST)
    (tmp_path / "constraints.txt").write_text(CONSTRAINTS)
    return tmp_path


def pip(status: int, asked: list):
    """pip, as it answers to a resolution that installs nothing."""

    def run(command, **_):
        asked.append(command)
        found = [{"metadata": {"name": name, "version": version}} for name, version in FOUND.items()]
        command[command.index("--report") + 1].write_text(json.dumps({"install": found}))
        return subprocess.CompletedProcess(command, status)

    return run


def test_every_list_is_renewed_and_says_what_changed(course, monkeypatch, capsys):
    monkeypatch.setattr(pins.subprocess, "run", pip(0, asked := []))
    assert pins.main(course) == 0
    assert (course / "requirements.txt").read_text() == LIST.replace("2.13.0", "2.15.0")
    renewed = ["# What the list brings along.", "appnope==1.0", "Jinja2==3.1.6", "numpy==2.4.6", "zipp-more==1.2", ""]
    assert (course / "constraints.txt").read_text() == "\n".join(renewed)
    assert "torch" in asked[0] and "jupyter-book==1.0.4" in asked[0] and "--dry-run" in asked[0]
    said = capsys.readouterr().out
    assert "requirements.txt: torch 2.13.0 -> 2.15.0" in said and "Jinja2 3.1.0 -> 3.1.6" in said
    assert "left as they were: appnope" in said and "numpy" not in said


def test_when_no_versions_fit_together_the_pins_stay_as_they_were(course, monkeypatch):
    monkeypatch.setattr(pins.subprocess, "run", pip(1, []))
    with pytest.raises(SystemExit, match="the pins are as they were"):
        pins.main(course)
    assert (course / "requirements.txt").read_text() == LIST
    assert (course / "constraints.txt").read_text() == CONSTRAINTS
