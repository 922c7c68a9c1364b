"""What `holdfast doctor` says of a machine, and of one that lacks something."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from holdfast.cli import app
from holdfast.engines.spark import doctor
from holdfast.errors import SessionError
from holdfast.report.findings_text import findings_text


def test_a_machine_that_runs_this_test_is_well(spark: SparkSession) -> None:
    done = CliRunner().invoke(app, ["doctor", "--quiet", "--format", "json"])
    assert done.exit_code == 0, done.output
    told = {one["what"]: one for one in json.loads(done.stdout)}
    assert told["Spark"]["said"] == "starts, and counts"
    assert not [one for one in told.values() if one["grade"] == "problem"]
    assert CliRunner().invoke(app, ["doctor", "--quiet", "--no-start"]).stdout.endswith("Holdfast can run here.\n")


def test_what_is_missing_is_told_with_a_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def none(*_: object, **__: object) -> None:
        raise SessionError("Spark needs Java 17 or newer, and none was found.", hint="install a JDK.")

    monkeypatch.setattr(doctor, "find_java", none)
    monkeypatch.setattr(doctor, "_NEEDED", ("pyspark", "no-such-package"))
    done = CliRunner().invoke(app, ["doctor", "--quiet", "--no-start"])
    assert done.exit_code == 2
    assert "PROBLEM Java" in done.stdout
    assert "install a JDK." in done.stdout
    assert "no-such-package is not installed" in done.stdout
    assert "2 of " in done.stdout.splitlines()[-1]


def test_a_folder_that_cannot_be_written_is_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    found = doctor._folder("scratch files", tmp_path / "not" / "yet")
    assert found.grade == "problem"
    assert found.fix is not None
    assert "SPARK_LOCAL_DIRS" in found.fix
    assert doctor._folder("here", tmp_path).grade == "note"
    assert "Permission denied" in findings_text([found])
