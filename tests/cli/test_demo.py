"""The demo: every planted error is found by its rule, and nothing else is; the data is what the script writes."""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from holdfast.demo.run import DATA, RULES, bundled, copy_demo, demo_command, run_demo
from holdfast.errors import OutputError
from holdfast.rules.rule_file import parse_rules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_demo_data.py"


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """scripts/make_demo_data.py, which keeps the list of planted errors."""
    spec = importlib.util.spec_from_file_location("make_demo_data", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_demo_data"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["make_demo_data"]


@pytest.fixture(scope="module")
def shown(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str, Path]]:
    """(the result of the demo, what it printed, its folder)."""
    text, folder = io.StringIO(), tmp_path_factory.mktemp("demo")
    result = run_demo(Console(file=text, width=100), folder=folder)
    yield result, text.getvalue(), folder
    result.close()


def test_the_script_reproduces_the_data_byte_for_byte(script: ModuleType, tmp_path: Path) -> None:
    assert script.main([str(tmp_path / DATA)]) == 0
    assert (tmp_path / DATA).read_bytes() == bundled(DATA)


def test_the_rules_show_every_kind_and_every_setting() -> None:
    rules = parse_rules(bundled(RULES).decode())
    assert {rule.kind for rule in rules} == {"key", "fd", "cfd", "order", "dc", "row"}
    assert all(rule.description for rule in rules)
    assert [rule.name for rule in rules if rule.severity == "warn"] == ["one-address"]
    assert [rule.name for rule in rules if rule.allow.covers(1, 100)] == ["reachable"]
    assert [rule.name for rule in rules if rule.where] == ["delivery-date"]


def test_exactly_the_planted_errors_are_suspects(script: ModuleType, shown: tuple[Any, str, Path]) -> None:
    result, _, _ = shown
    found = {(row["rule"], row["key"]) for row in result.suspects.collect()}
    assert found == {(error.rule, error.order_id) for error in script.PLANTED}


def test_verdicts_are_of_every_sort(shown: tuple[Any, str, Path]) -> None:
    result, text, _ = shown
    holding = [entry["name"] for entry in result.to_dict()["rules"] if entry["holds"]]
    assert holding == ["gold-ships-free", "reachable"]
    for word in ("✗ violated", "! warning", "✓ allowed", "✓ holds"):
        assert word in text


def test_the_demo_prints_the_command_the_summary_and_what_to_type_next(shown: tuple[Any, str, Path]) -> None:
    result, text, folder = shown
    assert not result.outcome.notes
    assert "$ holdfast check orders.csv rules.yaml --key order_id\n" in text
    assert "zip-place" in text
    assert f"cd {folder}" in text
    for option in ("--format json", "--violations", "--quarantine"):
        assert option in text
    assert (folder / DATA).read_bytes() == bundled(DATA)
    assert (folder / RULES).read_bytes() == bundled(RULES)


def test_the_command_ends_with_0_and_keeps_progress_off_standard_output(spark: SparkSession, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(demo_command)
    ended = CliRunner().invoke(app, ["--dir", str(tmp_path)])
    assert ended.exit_code == 0, ended.output
    assert "zip-place" in ended.stdout
    assert "starting Spark" in ended.stderr
    assert "starting Spark" not in ended.stdout


def test_the_demo_does_not_overwrite_a_file_of_the_reader(tmp_path: Path) -> None:
    assert copy_demo(tmp_path) == copy_demo(tmp_path)
    (tmp_path / RULES).write_text("mine")
    with pytest.raises(OutputError, match=r"another rules\.yaml"):
        copy_demo(tmp_path)
    assert (tmp_path / RULES).read_text() == "mine"
