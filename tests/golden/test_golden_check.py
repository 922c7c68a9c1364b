"""The papers' worked examples through the installed command, as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from holdfast.cli import app
from holdfast.rules.dependency import is_symmetric
from holdfast.rules.rule import parse_rule

DATA = Path(__file__).parent / "data"
GOLDEN = yaml.safe_load((DATA / "expected.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Case:
    """A table, and what is expected of each rule: `pairs`, `tuples` and `groups` as the papers list them."""

    name: str
    files: tuple[str, ...]
    key: str
    rules: tuple[tuple[str, Mapping[str, Any]], ...]


def rule_text(entry: Mapping[str, Any]) -> str:
    return next(entry[form] for form in ("fd", "cfd", "dc") if form in entry)


def cases() -> list[Case]:
    salary = GOLDEN["salary.csv"]
    parts = salary["normal_form"]
    split = list(zip(parts["splits_into"], parts["answers"], strict=True))
    made = [
        Case("salary", ("salary.csv",), "id", (*((rule_text(e), e) for e in salary["rules"]), *split)),
        Case("elevation", ("elevation.csv",), "id", tuple((rule_text(e), e) for e in GOLDEN["elevation.csv"]["rules"])),
        Case("emp", ("emp.csv",), "id", tuple((rule_text(e), e) for e in GOLDEN["emp.csv"]["rules"])),
    ]
    for name, table, after in (("packages", "packages.csv", "after_insert"), ("tax", "tax_r1.csv", "after")):
        golden = GOLDEN[table]
        for suffix, files, answer in (
            ("", (table,), "before"),
            (" after the insert", (table, golden["insert"]), after),
        ):
            rules = tuple((rule_text(entry), {"pairs": entry[answer]}) for entry in golden["rules"])
            made.append(Case(name + suffix, files, golden["key"], rules))
    return made


def written_table(case: Case, place: Path) -> Path:
    """The case's files as one CSV: the header of the first, then all rows."""
    lines = [(DATA / name).read_text(encoding="utf-8").splitlines() for name in case.files]
    assert all(part[0] == lines[0][0] for part in lines)
    rows = [row for part in lines for row in part[1:] if row]
    table = place / case.files[0]
    table.write_text("\n".join([lines[0][0], *rows]) + "\n", encoding="utf-8")
    return table


def rows_of(folder: Path, rule: str) -> list[dict[str, Any]]:
    return [row for row in pq.read_table(folder).to_pylist() if row["rule"] == rule]


def assert_as_listed(text: str, wanted: Mapping[str, Any], summary: Mapping[str, Any], folder: Path, name: str) -> None:
    symmetric = is_symmetric(parse_rule(text).body)
    pairs = [(row["left"], row["right"]) for row in rows_of(folder / "pairs", name)]
    rows = {row["key"]: row["conflicts"] for row in rows_of(folder / "rows", name)}
    assert summary["violating_rows"] == len(rows)
    if summary["violating_pairs"] is not None:
        assert summary["violating_pairs"] == len(pairs)
        assert set(rows) == {key for pair in pairs for key in pair}
        assert sum(rows.values()) == 2 * len(pairs)
    if "tuples" in wanted:
        assert sorted(rows) == wanted["tuples"]
    if "pairs" in wanted:
        listed = {tuple(pair) for pair in wanted["pairs"]}
        if symmetric:
            assert all(left < right for left, right in pairs)
            assert {*pairs, *((right, left) for left, right in pairs)} == listed
            assert len(pairs) * 2 == len(listed)
        else:
            assert sorted(pairs) == sorted(listed)
        assert summary["holds"] is (not listed)
    if "groups" in wanted:
        assert summary["violating_groups"] == len(wanted["groups"])
        assert divided(rows_of(folder / "groups", name)) == sorted(map(sorted, wanted["groups"]))


def divided(rows: Sequence[Mapping[str, Any]]) -> list[list[list[Any]]]:
    groups: dict[Any, list[list[Any]]] = {}
    for row in rows:
        assert row["rows"] == len(row["keys"])
        groups.setdefault((row["group"], row["column"]), []).append(row["keys"])
    return sorted(sorted(sides) for sides in groups.values())


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_command_finds_what_the_papers_list(spark: SparkSession, case: Case, tmp_path: Path) -> None:
    entries = [{"name": f"r{i}", "rule": text} for i, (text, _) in enumerate(case.rules)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"key": case.key, "rules": entries}), encoding="utf-8")
    table, folder = written_table(case, tmp_path), tmp_path / "found"
    command = ["check", str(table), str(tmp_path / "rules.yaml")]
    options = ["--format", "json", "--violations", str(folder), "--quiet"]
    done = CliRunner().invoke(app, [*command, *options])
    assert done.exit_code in (0, 1), done.output
    result = json.loads(done.stdout)
    assert done.exit_code == (0 if result["holds"] else 1)
    assert result["key"] == case.key
    assert [found["name"] for found in result["rules"]] == [entry["name"] for entry in entries]
    for (text, wanted), summary in zip(case.rules, result["rules"], strict=True):
        assert_as_listed(text, wanted, summary, folder, summary["name"])
