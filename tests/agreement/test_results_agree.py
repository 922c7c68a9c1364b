"""A check says the same in this process and on Spark, down to the texts, tables, names and pages of its result."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.demo.run import DATA, KEY, RULES, copy_demo
from holdfast.engines.check_result import CheckResult

UTC = dt.UTC
UTC_START = dt.datetime(2026, 1, 1, tzinfo=UTC)
# Values that engines write differently if they can: numbers and times as text, bytes, nulls, odd characters.
ODD = pa.table(
    {
        "k": pa.array(range(8), pa.int32()),
        "g": pa.array([1.0, 1.0, 1e10, 1e10, 0.1, 0.1, -0.0, 0.0]),
        "text": ["é", 'say "x"', "a\nb", "a\nb", "", "tab\t", "\x01", "\\"],
        "money": pa.array([Decimal("1.50"), None, Decimal("100.00"), Decimal("-0.10")] * 2, pa.decimal128(20, 2)),
        "tiny": pa.array([Decimal("0.0000000001"), Decimal("0.0000000002")] * 4, pa.decimal128(20, 10)),
        "day": [dt.date(2024, 1, 31), dt.date(1900, 1, 1)] * 4,
        "at": pa.array([dt.datetime(2024, 1, 31, 12, 0, 0, 123000), dt.datetime(2024, 1, 31)] * 4, pa.timestamp("us")),
        "zoned": pa.array([dt.datetime(2024, 1, 31, 12, tzinfo=UTC)] * 7 + [None], pa.timestamp("us", "UTC")),
        "raw": [b"", b"\x00\xff", b"a", b"b"] * 2,
        "ok": [True, False, None, True] * 2,
        "f": pa.array([0.1, 0.5, 3.0, 1e20] * 2, pa.float32()),
    }
)
RULES_OF_ODD = [
    "unique(g)",
    "g -> text, money",
    "g -> day",
    "day, at -> raw",
    "raw -> ok",
    "f -> zoned, tiny",
    "not(t.money > s.money and t.at < s.at)",
    "not(t.ok = true and t.f > 1)",
    "not(t.day = s.day and t.text < s.text)",
]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("odd") / "odd.parquet"
    pq.write_table(ODD, path)
    return path


def both(data: Path, rules: Any, **options: Any) -> list[CheckResult]:
    return [hf.check(data, rules, engine=engine, **options) for engine in ("local", "spark")]


def lines(table: Any) -> Counter[str]:
    """The rows as text, in any order; a time with a zone is its instant, bytes are bytes."""
    return Counter(re.sub(r"tzinfo=<[^>]*>|tzinfo=[\w.]+(\([^)]*\))?", "tz", str(list(row.items()))) for row in table)


@pytest.mark.parametrize(("key", "nulls"), [(("text", "k"), "sql"), (("money", "at", "k"), "equal"), ((), "sql")])
def test_tables_and_verdicts_are_the_same(spark: SparkSession, odd: Path, key: tuple[str, ...], nulls: Any) -> None:
    here, there = both(odd, RULES_OF_ODD, key=key, nulls=nulls)
    told, wanted = here.to_dict(), there.to_dict()
    assert told["rules"] == wanted["rules"]
    assert (told["rows"], told["key"], told["engine"], wanted["engine"]) == (8, wanted["key"], "local", "spark")
    assert here.outcome.notes == there.outcome.notes
    for name in ("pairs", "rows", "groups", "suspects"):
        one, other = getattr(here, name), getattr(there, name)
        assert one.columns == other.columns
        assert lines(one) == lines(other), name
        assert one.count() == other.count()
    for one, other in zip((here.annotated(), *here.split()), (there.annotated(), *there.split()), strict=True):
        assert one.columns == other.columns
        assert lines(one) == lines(other)
    there.close()


@pytest.mark.parametrize("key", [("text",), ("money", "tiny", "day", "at", "g", "raw", "f", "k")])
def test_baselines_name_rows_alike(spark: SparkSession, odd: Path, key: tuple[str, ...]) -> None:
    here, there = both(odd, [rule for rule in RULES_OF_ODD if not rule.startswith("unique")], key=key)
    assert here.outcome.key == there.outcome.key
    if here.outcome.key:
        known = here.baseline()
        assert known == there.baseline()
        assert here.against(known).holds
        assert there.against(known).holds
    there.close()


def test_of_the_demo_everything_a_person_sees_is_the_same(spark: SparkSession, tmp_path: Path) -> None:
    folder = copy_demo(tmp_path)
    here, there = both(folder / DATA, folder / RULES, key=KEY, redact=["email"])
    assert [(rule.witness is None, rule.worst) for rule in here.detailed.rules] == [
        (rule.witness is None, rule.worst) for rule in there.detailed.rules
    ]
    assert re.sub(r"[\d.]+ s\b", "", here.summary()) == re.sub(r"[\d.]+ s\b", "", there.summary())
    for one, other in zip(here.shown.rules, there.shown.rules, strict=True):
        assert (one.groups, one.duplicates, one.worst) == (other.groups, other.duplicates, other.worst)
        assert len(one.witnesses) == len(other.witnesses)
    for result in (here, there):
        name = result.outcome.engine
        result.write_violations(str(folder / name))
        result.append_metrics(str(folder / "metrics"))
    for part in ("pairs", "rows", "groups"):
        written = [pq.read_table(folder / name / part) for name in ("local", "spark")]
        assert lines(written[0].to_pylist()) == lines(written[1].to_pylist())
        assert written[0].schema.names == written[1].schema.names
    assert len(list(pq.read_table(folder / "metrics").to_pylist())) == 2 * len(here.outcome.rules)
    there.close()


def test_a_table_of_a_result_is_given_in_every_form(spark: SparkSession, odd: Path, capsys: Any) -> None:
    here, there = both(odd, ["g -> text"], key="k")
    for result in (here, there):
        pairs = result.pairs
        assert pairs.to_arrow().column_names == ["rule", "left", "right"]
        assert [tuple(row) for row in pairs.to_pandas().itertuples(index=False)] == [
            tuple(row.values()) for row in pairs
        ]
        assert pairs.to_polars().shape == (3, 3)
        assert sorted(map(tuple, pairs.to_spark().collect())) == sorted(tuple(row.values()) for row in pairs)
        pairs.show(2)
        assert "and 1 more row" in capsys.readouterr().out
    there.close()


def test_a_condition_that_only_spark_can_tell_is_checked_there_with_a_note(spark: SparkSession, odd: Path) -> None:
    text = "rules:\n  - {name: some, rule: 'g -> text', where: \"upper(text) = 'X' or k < 4\"}\n"
    file = odd.parent / "rules.yaml"
    file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.engines.choose.has_session", lambda: False)
        with hf.check(odd, file, key="k") as result:
            assert result.to_dict()["engine"] == "spark"
            assert any("checked on Spark" in note for note in result.outcome.notes)
        with pytest.raises(hf.HoldfastError, match="without Spark"):
            hf.check(odd, file, key="k", engine="local")


KEPT = """\
key: k
rules:
  - {name: text, rule: "g -> text", message: "{text} of {money} at {at}, {raw}: {g} {zoned} {ok} {f} {tiny} {{day}}"}
  - {name: few, rule: "g -> text", warn: 0, error: 50%, tags: daily, owner: data}
  - {name: many, rule: "g -> text", warn: 0, error: 1, message: "{money}"}
  - {name: none, rule: "g -> text", warn: 9, error: 9}
  - {name: single, rule: "not(t.f > ${most})", where: "k < 9", tags: [daily]}
"""


def test_kept_rules_mean_the_same_also_of_some_of_the_rows(spark: SparkSession, odd: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept.yaml"
    file.write_text(KEPT, encoding="utf-8")
    here, there = both(odd, file, variables={"most": 2}, where="k < 7", redact=["at"])
    assert here.to_dict()["rules"] == there.to_dict()["rules"]
    verdicts = [(rule["holds"], rule["severity"]) for rule in here.to_dict()["rules"]]
    assert verdicts == [(False, "error"), (False, "warn"), (False, "error"), (True, "warn"), (False, "error")]
    assert here.outcome.rows == there.outcome.rows == 7
    assert "only rows where k < 7" in here.outcome.notes
    assert here.outcome.notes == there.outcome.notes
    assert lines(here.annotated()) == lines(there.annotated())
    first = next(iter(here.annotated()))
    assert [len(first[name] or ()) for name in ("_errors", "_warnings")] == [2, 2]
    summary = here.summary()
    assert "é of 1.50 at •••" in summary
    assert "tags: daily; owner: data" in summary
    assert re.sub(r"[\d.]+ s\b", "", summary) == re.sub(r"[\d.]+ s\b", "", there.summary())
    for one, other in zip(here.split(), there.split(), strict=True):
        assert lines(one) == lines(other)
        other.write_parquet(str(tmp_path / "part #1 of 50%"))
        assert pq.read_table(tmp_path / "part #1 of 50%").num_rows == one.count()
    for number, result in enumerate((here, there)):
        result.append_metrics(str(tmp_path / f"metrics {number} of 50%"))
        result.append_metrics(str(tmp_path / "both"))
    own = [hf.history(tmp_path / f"metrics {number} of 50%").rules for number in range(2)]
    plain = [[(r.table, r.rule, replace(r.points[0], run_id="", run_time=UTC_START)) for r in rules] for rules in own]
    assert plain[0] == plain[1]
    assert [len(rule.points) for rule in hf.history(tmp_path / "both").rules] == [2] * 5
