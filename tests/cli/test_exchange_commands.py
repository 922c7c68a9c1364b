"""`holdfast import` and `holdfast export` as a user types them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.demo.run import copy_demo


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return copy_demo(tmp_path / "demo")


@pytest.mark.parametrize(
    ("kind", "file", "left_out", "violated"),
    [
        ("ge", "suite.json", 1, ["unique-invoice", "delivered", "shipped-ordered"]),
        ("deequ", "suggestions.json", 1, ["unique-invoice"]),
        ("dqdl", "ruleset.dqdl", 1, ["unique-invoice"]),
        ("dqx", "checks.yaml", 1, ["unique-invoice", "delivery-date"]),
        ("odcs", "contract.yaml", 0, ["unique-invoice"]),
    ],
)
def test_checks_of_another_tool_are_rules_that_check_runs(
    demo: Path, kind: str, file: str, left_out: int, violated: list[str]
) -> None:
    done = run("import", kind, demo / file, "-o", demo / "imported.yaml")
    assert done.exit_code == 0, done.output
    assert (done.stderr.count("left out: "), done.stdout) == (left_out, "")
    assert (demo / "imported.yaml").read_text("utf-8").count("# left out: ") == left_out
    with hf.check(demo / "orders.csv", demo / "imported.yaml", key="order_id") as result:
        assert [rule.rule.name for rule in result.outcome.rules if not rule.holds] == violated
    with hf.check(demo / "orders.csv", hf.import_rules(kind, demo / file), key="order_id") as result:  # type: ignore[arg-type]
        assert [rule.rule.name for rule in result.outcome.rules if not rule.holds] == violated


def test_without_a_file_to_write_the_rules_are_printed(demo: Path) -> None:
    done = run("import", "dqx", demo / "checks.yaml", "--quiet")
    assert yaml.safe_load(done.stdout)["rules"][0] == {"name": "unique-invoice", "rule": "unique(invoice)"}
    assert done.stderr.startswith("left out: is_aggr_not_greater_than(quantity): ")


def test_bad_files_are_told_in_words(demo: Path) -> None:
    for kind, file, said in (
        ("ge", "checks.yaml", "is no suite of Great Expectations"),
        ("odcs", "suite.json", "is no contract"),
        ("dqx", "nowhere.yaml", "there is no file"),
        ("deequ", "orders.csv", "Deequ"),
    ):
        done = run("import", kind, demo / file)
        assert (done.exit_code, said in done.stderr, "Traceback" in done.output) == (2, True, False), done.output
    lost = run("import", "dqx", demo / "checks.yaml", "-o", demo / "checks.yaml")
    assert (lost.exit_code, "would be lost" in lost.stderr) == (2, True)


def test_a_dbt_project_gets_its_files(demo: Path) -> None:
    asked = ("export", "dbt", demo / "rules.yaml", "--model", "orders", "--key", "order_id", "-o", demo / "project")
    done = run(*asked, "--dialect", "duckdb")
    assert done.exit_code == 0, done.output
    written = sorted(str(path.relative_to(demo)) for path in (demo / "project").rglob("*.*"))
    assert done.stdout.splitlines() == [str(demo / path) for path in written]
    assert "project/models/holdfast_schema.yml" in written
    keyless = run("export", "dbt", demo / "rules.yaml", "--model", "orders", "-o", demo / "other")
    assert (keyless.exit_code, (demo / "other").exists()) == (2, False)
    assert run("export", "dbt", demo / "rules.yaml", "-o", demo / "other").exit_code == 2


def test_a_contract_gets_the_rules(demo: Path) -> None:
    before = (demo / "contract.yaml").read_text("utf-8")
    beside = run("export", "odcs", demo / "rules.yaml", "--into", demo / "contract.yaml", "--output", demo / "new.yaml")
    assert beside.exit_code == 0, beside.output
    assert (demo / "contract.yaml").read_text("utf-8") == before
    assert run("export", "odcs", demo / "rules.yaml", "--into", demo / "contract.yaml").exit_code == 0
    assert (demo / "contract.yaml").read_text("utf-8") == (demo / "new.yaml").read_text("utf-8")
    several = run("export", "odcs", demo / "rules.yaml", "--into", demo / "contract.yaml", "--table", "order")
    assert (several.exit_code, "did you mean 'orders'" in several.stderr) == (2, True)
