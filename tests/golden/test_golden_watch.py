"""The papers' worked examples of changing tables, through `holdfast watch` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from holdfast.cli import app
from holdfast.rules.dependency import is_symmetric
from holdfast.rules.rule import parse_rule

DATA = Path(__file__).with_name("data")
EXPECTED = yaml.safe_load((DATA / "expected.yaml").read_text("utf-8"))


def holdfast(*arguments: str | Path) -> Any:
    done = CliRunner().invoke(app, [*map(str, arguments), "--format", "json", "--quiet"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def listed(text: str, pairs: list[list[Any]]) -> set[tuple[Any, Any]]:
    """The paper's pairs as Holdfast lists them: of a symmetric rule once, the smaller key on the left."""
    ordered = {(left, right) for left, right in pairs}
    return {(a, b) for a, b in ordered if a < b} if is_symmetric(parse_rule(text).body) else ordered


def told(found: list[dict[str, Any]], rule: str) -> set[tuple[Any, Any]]:
    return {(one["left"], one["right"]) for one in found if one["rule"] == rule}


@pytest.mark.parametrize("name", ["packages.csv", "tax_r1.csv"])
def test_watch_follows_the_papers(name: str, spark: SparkSession, tmp_path: Path) -> None:
    case = EXPECTED[name]
    entries = [{"name": rule["name"], "rule": rule["dc"]} for rule in case["rules"]]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"key": case["key"], "rules": entries}), encoding="utf-8")
    state = tmp_path / "state"
    made = holdfast("watch", "init", state, "--data", DATA / name, "--rules", tmp_path / "rules.yaml")
    steps = [("before", "after_insert" if "after_insert" in case["rules"][0] else "after", DATA / case["insert"])]
    if not (DATA / case["insert"]).exists():
        pytest.fail(f"the paper's changes are not here: {case['insert']}")
    if "delete" in case:
        deletes = "\n".join([f"{case['key']},_change_type", *(f"{key},delete" for key in case["delete"])])
        (tmp_path / "delete.csv").write_text(deletes + "\n", encoding="utf-8")
        steps.append(("after_insert", "after_delete", tmp_path / "delete.csv"))
    assert made["totals"] == {r["name"]: len(listed(r["dc"], r["before"])) for r in case["rules"]}
    for earlier, later, changes in steps:
        done = holdfast("watch", "apply", state, changes)
        assert list(done) == ["batch", "applied", "added", "removed", "added_count", "removed_count", "totals"]
        assert done["applied"] is True
        for rule in case["rules"]:
            old, new = (listed(rule["dc"], rule.get(step, rule["before"])) for step in (earlier, later))
            assert told(done["added"], rule["name"]) == new - old
            assert told(done["removed"], rule["name"]) == old - new
            assert done["totals"][rule["name"]] == len(new)
