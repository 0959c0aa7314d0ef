"""Claims about .github/workflows: what only GitHub can run, but a typo, one right too many or a lost target shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
WORKFLOWS = {path.name: yaml.safe_load(path.read_text()) for path in FILES}
JOBS = {(file, name): job for file, workflow in WORKFLOWS.items() for name, job in workflow["jobs"].items()}
STEPS = [(*place, step) for place, job in JOBS.items() for step in job.get("steps", [])]


def on(file: str) -> dict:
    """What starts a workflow. YAML 1.1 reads the bare word `on` as true."""
    return WORKFLOWS[file][True]


def test_only_the_deployment_may_change_the_site_and_no_push_cuts_it_off():
    rights = {place: job["permissions"] for place, job in JOBS.items() if "permissions" in job}
    tags = {("course.yml", "release"): {"contents": "write"}}
    assert rights == {("course.yml", "deploy"): {"pages": "write", "id-token": "write"}} | tags
    assert all(workflow["permissions"] == {"contents": "read"} for workflow in WORKFLOWS.values())
    assert JOBS["course.yml", "deploy"]["concurrency"] == {"group": "pages", "cancel-in-progress": False}
    assert not [file for file, workflow in WORKFLOWS.items() if "concurrency" in workflow], "it would hold deploy, too"


def test_every_job_has_a_time_limit_and_every_action_is_of_the_generation_that_runs():
    assert not [place for place, job in JOBS.items() if "uses" not in job and "timeout-minutes" not in job]
    oldest = {"checkout": 6, "setup-python": 6, "upload-artifact": 7, "upload-pages-artifact": 5, "deploy-pages": 5}
    used = {step["uses"].removeprefix("actions/") for *_, step in STEPS if "uses" in step}
    for name, version in (action.split("@v") for action in used):
        assert int(version) >= oldest[name], f"{name}@v{version} runs on a Node that runners no longer have"


def test_what_is_deployed_is_what_the_checks_of_a_push_have_built():
    (deployed,) = [step["with"]["artifact_name"] for step in JOBS["course.yml", "deploy"]["steps"]]
    (built,) = [step["with"]["name"] for *_, step in STEPS if "upload-pages" in step.get("uses", "")]
    python = on("checks.yml")["workflow_call"]["inputs"]["python"]["default"]
    assert deployed == built.replace("${{ inputs.python }}", python)


def test_steps_run_targets_and_phases_that_the_makefile_has():
    makefile = (ROOT / "Makefile").read_text()
    commands = [step["run"] for *_, step in STEPS if step.get("run", "").startswith("make ")]
    assert len(commands) >= 5
    for command in commands:
        target, *only = command.removeprefix("make ").split(maxsplit=1)
        recipe = re.search(rf"(?m)^{target}:.*\n((?:\t.*\n)*)", makefile)
        assert recipe, f"make {target} is not there"
        for phase in only[0].removeprefix("ONLY=").strip('"').split() if only else []:
            assert f'"{phase}: ' in recipe[1], f"make {target} has no phase {phase}"


def test_the_phases_of_make_test_are_all_checked_on_a_push():
    makefile = (ROOT / "Makefile").read_text()
    phases = set(re.findall(r'"(\w+): ', re.search(r"(?m)^test:.*\n((?:\t.*\n)*)", makefile)[1]))
    runs = " ".join(step.get("run", "") for file, _, step in STEPS if file == "checks.yml")
    assert phases - {"environment"} == set(re.findall(r"\w+", " ".join(re.findall(r'ONLY=("[^"]*"|\w+)', runs))))
    assert JOBS["course.yml", "checks"]["uses"] == "./.github/workflows/checks.yml"


def test_the_branch_that_is_published_is_the_one_in_the_settings():
    (step,) = [step for *_, step in STEPS if step.get("id") == "branch"]
    command = step["run"].replace(".venv/bin/python", sys.executable).replace('>> "$GITHUB_OUTPUT"', "")
    branch = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["branch"]
    for ref in (f"heads/{branch}", "heads/another", "pull/1/merge"):
        told = subprocess.run(
            command, shell=True, cwd=ROOT, env={"GITHUB_REF": f"refs/{ref}"}, capture_output=True, text=True
        )
        assert told.stdout == f"publish={str(ref == f'heads/{branch}').lower()}\n", told.stderr


def test_a_version_is_tagged_once_where_the_checks_are_green(tmp_path):
    def git(*words: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
        told = subprocess.run(["git", *who, *words], cwd=work, capture_output=True, text=True, check=True)
        return told.stdout.strip()

    job = JOBS["course.yml", "release"]
    assert job["needs"] == "checks" and job["if"].startswith(f"{JOBS['course.yml', 'deploy']['if']} && ")
    work, tags = tmp_path / "work", []
    work.mkdir()
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "origin"], check=True)
    git("init", "-q")
    git("remote", "add", "origin", str(tmp_path / "origin"))
    for text in ("## 0.1.0\n", "# Changelog\n\n## 0.2.0\n\n* New.\n\n## 0.1.0\n", "## 0.2.0\n\nMore.\n"):
        (work / "CHANGELOG.md").write_text(text)
        git("add", ".")
        git("commit", "-qm", "a push")
        subprocess.run(["bash", "-e", "-c", job["steps"][-1]["run"]], cwd=work, capture_output=True, check=True)
        tags.append(git("ls-remote", "--tags", "origin").split())
    first, second = (git("rev-parse", f"HEAD~{back}") for back in (2, 1))
    assert tags[0] == [first, "refs/tags/v0.1.0"]
    assert tags[1] == tags[2] == [*tags[0], second, "refs/tags/v0.2.0"]


@pytest.mark.parametrize(("only", "ran"), [("", "a b c"), ("c", "a c"), ("b c", "a b c"), ("d", None)])
def test_phases_run_alone_after_the_first_and_an_unknown_one_is_named(only, ran):
    phases = [f"{name}: echo did {name}" for name in "abc"]
    command = [sys.executable, "tools/phases.py", *phases]
    env = {"ONLY": only, "PATH": "/usr/bin:/bin"}
    told = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if ran is None:
        assert told.returncode == 2 and "There is no phase d to run alone: there are b, c." in told.stdout
    else:
        assert told.returncode == 0 and re.findall(r"(?m)^did (\w)", told.stdout) == ran.split()
