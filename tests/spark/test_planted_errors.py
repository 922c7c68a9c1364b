"""Rules and errors that were planted: the rules are among the first shown, and a check with them names the errors."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.engines.discovery import DiscoverResult
from holdfast.rules.rule import Rule

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SHOWN = 20


def recipe() -> ModuleType:
    """The table of the benchmark `planted.py`, smaller."""
    spec = importlib.util.spec_from_file_location("planted_table", BENCHMARKS / "planted_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def shown(text: str, found: DiscoverResult) -> Rule:
    """The rule shown that implies this one and speaks of the same columns."""
    wanted = hf.parse_rule(text)
    (denial,) = wanted.body.denials
    for one in found.outcome.shown:
        if set(one.rule.body.columns) == set(wanted.body.columns) and one.constraint.implies(denial):
            return one.rule
    raise AssertionError(f"{text} is not among {[str(one.rule) for one in found.outcome.shown]}")


@pytest.mark.parametrize(("share", "seed"), [(0.005, 1), (0.02, 2)])
def test_planted_rules_come_first_and_their_check_names_the_planted_rows(
    spark: SparkSession, tmp_path: Path, share: float, seed: int
) -> None:
    made = recipe()
    case = made.planted(600, share, seed)
    path = tmp_path / "planted.parquet"
    pq.write_table(case.table, path)
    found = hf.discover(path, error=share, one_row=True, max_predicates=3, top=SHOWN)
    rules = {text: shown(text, found) for text in made.RULES}
    with hf.check(path, list(rules.values()), limit=None) as result:
        assert result.holds
        named = [(row["rule"], row["key"]) for row in result.suspects]
    for text, rule in rules.items():
        suspects = {key for name, key in named if name == rule.name}
        assert case.aimed[text] <= suspects, text
        assert suspects <= case.touched[text], text


def test_planted_keys_and_dependencies_by_rows(spark: SparkSession, tmp_path: Path) -> None:
    made = recipe()
    case = made.planted(600, 0.01, 3)
    path = tmp_path / "planted.parquet"
    pq.write_table(case.table, path)
    found = hf.discover(path, error_rows=0.02, max_predicates=3, top=SHOWN)
    for text in (made.KEY, made.CITY, made.STATE):
        assert str(shown(text, found)) == text
    assert hf.check(path, found).holds
