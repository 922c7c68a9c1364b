"""The repository's own files: workflows, templates and hooks parse and name what exists; the version has one place."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SUBJECT = ROOT / "scripts" / "commit_subject.py"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(file for file in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if file.name != "config.yml")
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def read(file: Path) -> Any:
    return yaml.safe_load(file.read_text("utf-8"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_runs_what_exists(file: Path) -> None:
    workflow = read(file)
    assert workflow[True], "YAML reads the word `on` as true"
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 360
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"])
            assert set(re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))) <= TARGETS


def test_workflows_run_all_tests() -> None:
    assert {file.stem for file in WORKFLOWS} == {"tests", "release"}
    jobs = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]
    commands = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}
    assert commands == {"make test", "make test-oldest", "make soak"}
    assert jobs["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.13"]


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.stem)
def test_an_issue_form_asks_something(file: Path) -> None:
    form = read(file)
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids)) > 0


def test_there_are_forms_for_bugs_and_ideas() -> None:
    assert {file.stem for file in FORMS} == {"bug", "idea"}
    assert (ROOT / ".github" / "PULL_REQUEST_TEMPLATE.md").is_file()


def test_hooks_of_this_repository_call_scripts_that_exist() -> None:
    hooks = [hook for repo in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert {"ruff-check", "ruff-format", "import-order", "commit-subject"} == {hook["id"] for hook in hooks}
    scripts = [hook["entry"].split()[-1] for hook in hooks if "entry" in hook]
    assert len(scripts) == 2
    assert all((ROOT / script).is_file() for script in scripts)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("Rows are counted once\n", None),
        ("# a comment\nRows are counted once\n\nThe reason.\n", None),
        ("x" * 72 + "\n", None),
        ("x" * 73 + "\n", "the subject has 73 characters, and 72 is the most"),
        ("Rows are counted\nonce\n", "the second line has to be empty"),
        ("\n# nothing\n", "there is no subject"),
        ("Merge branch " + "x" * 90 + "\n", None),
    ],
)
def test_subjects_of_commits(message: str, says: str | None, tmp_path: Path) -> None:
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text(message, encoding="utf-8")
    done = subprocess.run([sys.executable, str(SUBJECT), str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == (0 if says is None else 1), done.stderr
    assert (says or "") in done.stderr


def test_the_changelog_knows_the_version_and_the_version_has_one_place() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[:2] == ["Unreleased", version]
    for file in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"version\w* = [\"']\d", file.read_text("utf-8")), file
