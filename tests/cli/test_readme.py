"""What README.md says can be run, runs.

A block that stands right after the line `<!-- runs -->` is tried: of a bash block each line that starts with
`holdfast `, of a python block the whole. All share one folder with the demo's files in it, and one Spark session.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from holdfast.cli import app
from holdfast.demo.run import copy_demo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCKS = re.findall(
    r"^<!-- runs -->\n```(bash|python)\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
)
COMMANDS = [
    line for kind, text in BLOCKS if kind == "bash" for line in text.splitlines() if line.startswith("holdfast ")
]
PROGRAMS = [text for kind, text in BLOCKS if kind == "python"]


@pytest.fixture
def demo_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(copy_demo(tmp_path))
    return tmp_path


def test_the_readme_has_something_to_run() -> None:
    assert COMMANDS
    assert PROGRAMS


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_run(line: str, spark: SparkSession, demo_folder: Path) -> None:
    arguments = shlex.split(line, comments=True)[1:]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (0, 1), result.output


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_run(program: str, spark: SparkSession, demo_folder: Path) -> None:
    names: dict[str, Any] = {"spark": spark}
    exec(compile(program, str(README), "exec"), names)
