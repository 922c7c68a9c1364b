"""`holdfast explain` and `check --suggest`: what is wrong with a row, and what it should have been."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.demo.run import CLEAN, DATA, KEY, RULES, copy_demo
from holdfast.engines.spark.explaining import suggestions as suggestions_of_spark
from holdfast.explaining import limits
from row_trials import suggested_lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_demo(tmp_path_factory.mktemp("orders"))


def explained(folder: Path, *more: str) -> Any:
    return CliRunner().invoke(app, ["explain", str(folder / DATA), *more, "-q"])


@pytest.fixture(scope="module")
def suggestions(folder: Path) -> list[dict[str, Any]]:
    target = folder / "mends"
    done = CliRunner().invoke(
        app, ["check", str(folder / DATA), str(folder / RULES), "--key", KEY, "--suggest", str(target), "-q"]
    )
    assert done.exit_code == 1, done.output
    return pq.read_table(target / "suggestions").to_pylist()


def test_of_planted_errors_the_best_suggestion_is_what_stood_there(
    folder: Path, suggestions: list[dict[str, Any]]
) -> None:
    with open(folder / CLEAN, encoding="utf-8") as file:
        clean = {row[KEY]: row for row in csv.DictReader(file)}
    best: dict[str, dict[str, Any]] = {}
    for one in suggestions:
        if one["confidence"] > best.get(one["key"], {"confidence": 0})["confidence"]:
            best[one["key"]] = one
    for order, column in {
        "SO-2486": "city",
        "SO-2571": "state",
        "SO-2577": "currency",
        "SO-2549": "email",
        "SO-2440": "email",
    }.items():
        assert (best[order]["column"], best[order]["suggested"]) == (column, clean[order][column])
    slipped = [one for one in suggestions if (one["key"], one["column"]) == ("SO-2593", "discount")]
    assert [(one["suggested"], one["low"], one["high"]) for one in slipped] == [("0.12", "0.12", "0.15")]
    assert all(0 < one["confidence"] <= 1 and one["resolves"] > one["adds"] for one in suggestions)
    assert max(sum(one["key"] == key for one in suggestions) for key in best) <= 3


def test_a_row_is_explained_in_words(folder: Path) -> None:
    done = explained(folder, str(folder / RULES), "--key", KEY, "SO-2486")
    assert done.exit_code == 0, done.output
    assert "It breaks 2 of 10 rules, 32 times in all." in done.stdout
    assert "1. city: Cambrige -> Cambridge   resolves 31 of 32 violations, confidence 94%" in done.stdout
    assert "SO-2470 is more likely wrong: it breaks this rule 63 times" in done.stdout


def test_json_names_rules_partners_and_suggestions(folder: Path) -> None:
    done = explained(folder, "zip -> city, state", "--key", KEY, "SO-2571", "--format", "json")
    told = json.loads(done.stdout)
    assert (told["key"], told["row"], told["violations"]) == (KEY, "SO-2571", 22)
    (rule,) = told["rules"]
    assert (rule["violations"], len(rule["with"])) == (22, 5)
    (first, *_) = told["suggestions"]
    assert (first["column"], first["value"], first["suggested"]) == ("state", "IN", "IL")


def test_a_row_without_faults_breaks_nothing(folder: Path) -> None:
    done = explained(folder, "zip -> city, state", "--key", KEY, "SO-2401")
    assert done.exit_code == 0
    assert "It does not break the rule." in done.stdout


def test_rows_are_named_by_number_or_by_several_columns(folder: Path) -> None:
    by_number = json.loads(explained(folder, "zip -> city", "85", "--format", "json").stdout)
    assert (by_number["key"], by_number["violations"]) == ("_row", 31)
    by_both = explained(folder, "zip -> city", "--key", "order_id,zip", "SO-2486,02139", "--format", "json")
    assert json.loads(by_both.stdout)["row"] == ["SO-2486", "02139"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["zip -> city", "--key", KEY, "SO-1"], "has no row with order_id = 'SO-1'"),
        (["zip -> city", "here"], "has no row with _row = 'here'"),
        (["zip -> city", "--key", "order_id,sku", "SO-2486"], "the key has 2 columns (order_id, sku)"),
        (["zip -> city", "--key", "order_id,sku", "[broken"], "but '[broken' names 1"),
        (["zip -> town", "--key", KEY, "SO-2486"], "has no such column"),
    ],
)
def test_what_is_not_there_is_told(folder: Path, arguments: list[str], told: str) -> None:
    done = explained(folder, *arguments)
    assert done.exit_code == 2
    assert told in " ".join(done.stderr.split())


def test_hidden_columns_are_shown_to_nobody(folder: Path) -> None:
    done = explained(folder, str(folder / RULES), "--key", KEY, "SO-2486", "--redact", "city,order_id")
    assert done.exit_code == 0
    assert "Cambri" not in done.stdout
    assert "SO-2486" not in done.stdout
    assert "1. city: ••• -> •••" in done.stdout


def test_the_library_explains_a_result(folder: Path) -> None:
    with hf.check(folder / DATA, folder / RULES, key=KEY, all_columns=True) as result:
        told = result.explain("SO-2577")
    assert [one.rule.name for one in told.broken] == ["currency"]
    assert [(one.column, one.suggested) for one in told.suggestions] == [("currency", "CHF")]


def test_suspect_rows_that_are_not_tried_are_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_ROWS", 1)
    asked = ["check", str(folder / DATA), "zip -> city, state", "--key", KEY, "--suggest", str(folder / "one"), "-q"]
    done = CliRunner().invoke(app, asked)
    assert "note: suggestions are for the first 1 suspect rows" in done.stderr
    assert {one["key"] for one in pq.read_table(folder / "one" / "suggestions").to_pylist()} == {"SO-2486"}


def test_many_rows_are_counted_on_spark_as_few_are(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hf.check(folder / DATA, folder / RULES, key=KEY, all_columns=True, engine="local") as result:
        few = suggested_lines(list(result.suggestions))
    monkeypatch.setattr(suggestions_of_spark, "FEW", 0)
    with hf.check(folder / DATA, folder / RULES, key=KEY, all_columns=True, engine="spark") as result:
        assert suggested_lines(list(result.suggestions)) == few
    assert len(few) > 10
