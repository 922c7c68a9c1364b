"""`holdfast discover` shows columns that are computed from others, and writes rules that `holdfast check` accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from holdfast.cli import app


def holdfast(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Sixty lines of an invoice, with a line that has no tax."""
    rows = ["quantity,price,goods,tax,total"]
    for i in range(60):
        quantity, cents, tax = i * 7 % 13 + 1, 105 + i * 37 % 400, i * i % 97
        goods = quantity * cents
        total = f"{(goods + tax) / 100:.2f}"
        rows.append(f"{quantity},{cents / 100:.2f},{goods / 100:.2f},{'' if i == 8 else f'{tax / 100:.2f}'},{total}")
    (tmp_path / "lines.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path / "lines.csv"


def test_arithmetic_is_shown_written_and_checked(lines: Path) -> None:
    rules = lines.parent / "found.yaml"
    done = holdfast("discover", lines, "--max-predicates", "1", "-o", rules, "--quiet")
    assert done.exit_code == 0, done.output
    for text in (
        "every row has goods equal to quantity * price, within 0.005",
        "not(abs(t.goods - t.quantity * t.price) > 0.005)   tested by 60 rows (100%)",
        "not(abs(t.total - t.goods - t.tax) > 0.005)   tested by 59 rows (98%)",
    ):
        assert text in done.stdout
    checked = holdfast("check", lines, rules, "--format", "json")
    assert checked.exit_code == 0
    assert "not(abs(t.total - t.goods - t.tax) > 0.005)" in [
        rule["rule"] for rule in json.loads(checked.stdout)["rules"]
    ]
    wrong = lines.read_text(encoding="utf-8").splitlines()
    quantity, price, goods, *rest = wrong[5].split(",")
    wrong[5] = ",".join([quantity, price, f"{float(goods) + 0.01:.2f}", *rest])
    lines.write_text("\n".join(wrong) + "\n", encoding="utf-8")
    checked = holdfast("check", lines, rules, "--format", "json")
    broken = {rule["rule"]: rule["suspect_rows"] for rule in json.loads(checked.stdout)["rules"] if not rule["holds"]}
    assert checked.exit_code == 1
    assert broken == {
        "not(abs(t.goods - t.quantity * t.price) > 0.005)": 1,
        "not(abs(t.total - t.goods - t.tax) > 0.005)": 1,
    }


@pytest.mark.parametrize("option", [("--no-arithmetic",), ("--error-rows", "0.1"), ("--conditional",)])
def test_arithmetic_is_left_out_on_request_and_beside_other_kinds_of_rules(
    lines: Path, option: tuple[str, ...]
) -> None:
    done = holdfast("discover", lines, *option, "--format", "json")
    assert done.exit_code == 0, done.output
    assert not [rule for rule in json.loads(done.stdout)["rules"] if rule["kind"] == "row"]


def test_arithmetic_is_of_the_columns_that_are_named(lines: Path) -> None:
    done = holdfast("discover", lines, "--exclude", "price", "--max-predicates", "1", "--format", "json")
    rules = [rule["rule"] for rule in json.loads(done.stdout)["rules"] if rule["kind"] == "row"]
    assert rules == ["not(abs(t.total - t.goods - t.tax) > 0.005)"]
