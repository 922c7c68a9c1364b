"""Every command has examples in its help, and every example runs, in the folder that the demo leaves."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from holdfast.cli import app
from holdfast.demo.run import WEDNESDAY, copy_demo


def commands(group: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its names, groups before what is in them."""
    for name, command in group.commands.items():
        yield (*names, name), command
        if hasattr(command, "commands"):
            yield from commands(command, *names, name)


COMMANDS = dict(commands(typer.main.get_command(app)))


def examples(command: Any) -> list[str]:
    return [line for line in (command.epilog or "").splitlines() if line.startswith("holdfast ")]


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_command_has_examples_of_its_own(names: tuple[str, ...]) -> None:
    shown = examples(COMMANDS[names])
    assert shown
    assert all(shlex.split(line)[1 : 1 + len(names)] == list(names) for line in shown)
    helped = CliRunner().invoke(app, [*names, "--help"], env={"COLUMNS": "200"})
    assert helped.exit_code == 0
    assert shown[0] in helped.stdout


def test_all_examples_run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy_demo(tmp_path))
    (tmp_path / "incoming").mkdir()
    shutil.copy(WEDNESDAY, "incoming")
    lines = dict.fromkeys(line for command in COMMANDS.values() for line in examples(command))
    assert len(lines) >= 30
    for line in lines:
        if not line.startswith(("holdfast demo", "holdfast doctor", "holdfast mcp")):  # which have tests of their own
            ended = CliRunner().invoke(app, shlex.split(line)[1:])
            assert ended.exit_code in (0, 1), f"{line}\n{ended.output}"
