"""hf.discover on tables of every shape: what it finds holds, nothing more general does, and it says what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.engines.discovery import DiscoverResult
from holdfast.engines.spark.arrow_table import arrow_table
from holdfast.errors import TypeMismatchError, UnknownColumnError
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.decisions import parse_decisions
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Comparison
from holdfast.rules.relation import ANY, EQ, GT, LT, NE


def texts(found: DiscoverResult) -> set[str]:
    return {str(one.constraint) for one in found.outcome.found}


def staff(rows: int, seed: int) -> pd.DataFrame:
    """Salaries that rise with the grade within a team, a city per team, names that repeat, gaps in two columns."""
    rng = np.random.default_rng(seed)
    team, grade = rng.integers(0, 6, rows), rng.integers(1, 9, rows)
    salary = 1000 * grade + 100 * team
    return pd.DataFrame(
        {
            "id": rng.permutation(rows),
            "team": [f"team {t}" for t in team],
            "city of team": np.where(team < 3, "Zürich", "Genève"),
            "grade": grade,
            "salary": salary,
            "bonus": pd.Series(salary // 10 + rng.integers(0, 3, rows)).where(rng.random(rows) < 0.9).astype("Int64"),
            "since": pd.Series(2000 + rng.integers(0, 20, rows)).where(rng.random(rows) < 0.95).astype("Int64"),
        }
    )


def frame_of(spark: SparkSession, table: pd.DataFrame) -> DataFrame:
    kinds = {"object": "string", "Int64": "bigint", "int64": "bigint"}
    schema = ", ".join(f"`{name}` {kinds[str(table[name].dtype)]}" for name in table.columns)
    rows = [
        tuple(None if pd.isna(v) else v.item() if hasattr(v, "item") else v for v in row)
        for row in table.itertuples(index=False)
    ]
    return spark.createDataFrame(rows, schema)


@pytest.fixture(scope="module")
def people(spark: SparkSession) -> Iterator[DataFrame]:
    frame = frame_of(spark, staff(300, 1)).cache()
    yield frame
    frame.unpersist()


# What is found ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nulls", ["sql", "equal"])
def test_what_is_found_goes_into_a_check_and_holds(people: DataFrame, nulls: Any) -> None:
    found = hf.discover(people, nulls=nulls, top=80)
    assert len(found.rules) == 80
    with hf.check(people, found, limit=0) as result:
        checked = result.to_dict()
    assert checked["holds"]
    counts = [(rule["violating_pairs"], rule["violating_rows"]) for rule in checked["rules"]]
    assert counts == [(None, 0)] * len(found.column_rules) + [(0, 0)] * 80


def more_general(constraint: DenialConstraint, ordered: set[str]) -> Iterator[DenialConstraint]:
    """Without one of its predicates, and with one of them allowing one relation more."""
    for i, predicate in enumerate(constraint.predicates):
        others = constraint.predicates[:i] + constraint.predicates[i + 1 :]
        assert isinstance(predicate, Comparison)
        if others:
            yield DenialConstraint(others)
        for relation in (LT, EQ, GT) if predicate.left.name in ordered else (EQ, NE):
            wider = predicate.allowed | relation
            if wider not in (predicate.allowed, ANY):
                yield DenialConstraint((*others, Comparison(predicate.left, wider, predicate.right)))


@pytest.mark.parametrize("nulls", ["sql", "equal"])
@pytest.mark.parametrize("cross_columns", ["off", 0.3])
def test_nothing_more_general_than_what_is_found_holds(people: DataFrame, nulls: Any, cross_columns: Any) -> None:
    found = hf.discover(people, nulls=nulls, cross_columns=cross_columns, top="all").outcome.found
    chosen = np.random.default_rng(2).permutation(len(found))[:25]
    ordered = {"id", "grade", "salary", "bonus", "since"}
    wider = {c: None for i in chosen for c in more_general(found[i].constraint, ordered)}
    assert len(wider) > 30
    with hf.check(people, list(map(str, wider)), nulls=nulls, limit=0) as result:
        told = result.to_dict()["rules"]
    assert [rule["rule"] for rule in told if not rule["violating_rows"]] == []


def test_rules_that_were_built_in_are_found(people: DataFrame) -> None:
    found = [one.constraint for one in hf.discover(people, cross_columns="off", top="all").outcome.found]
    for text in (
        'not(t.team = s.team and t."city of team" != s."city of team")',
        "not(t.team = s.team and t.grade = s.grade and t.salary != s.salary)",
        "not(t.team = s.team and t.grade < s.grade and t.salary >= s.salary)",
        "not(t.id = s.id)",
    ):
        assert any(one.implies(parse_constraint(text)) for one in found), text


def test_top_shows_the_first_of_all_rules(people: DataFrame) -> None:
    few, everything = (hf.discover(people, cross_columns="off", top=top) for top in (3, "all"))
    assert len(few.rules) == 3
    assert list(few.all_rules) == list(everything.rules)
    assert [str(rule) for rule in few.rules] == [str(rule) for rule in everything.rules][:3]
    assert [rule["dc"] for rule in few.to_dict()["rules"]] == [str(one.constraint) for one in few.outcome.shown]


def test_rows_that_repeat_count_as_rows_and_are_compared_once(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "x"), (2, "y")] * 3 + [(1, "x")], "a int, b string").repartition(3)
    found = hf.discover(frame, cross_columns="off", top="all")
    assert (found.outcome.rows, found.outcome.distinct_rows) == (7, 2)
    # Equal rows satisfy every predicate that allows `=`: each rule has one that does not.
    assert texts(found) == {"not(t.a = s.a and t.b != s.b)", "not(t.a != s.a and t.b = s.b)"}


def test_columns_and_exclude_choose_what_is_compared(people: DataFrame) -> None:
    named = hf.discover(people, columns=["grade", "city of team"], cross_columns="off", top="all")
    excluded = hf.discover(people, exclude="id, team, salary, bonus, since", cross_columns="off", top="all")
    assert texts(named) == texts(excluded)
    assert named.outcome.predicates == 8
    for option in ("columns", "exclude"):
        with pytest.raises(UnknownColumnError, match=r"'grades'.*no such column"):
            hf.discover(people, **{option: ["grades"]})


# Shapes of tables -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "said"), [([], "a table of 0 rows"), ([(1, "x")], "a table of 1 row")])
@pytest.mark.parametrize("partitions", [1, 4])
def test_fewer_than_two_rows_have_no_rules_and_it_says_why(
    spark: SparkSession, rows: list[tuple[int, str]], said: str, partitions: int
) -> None:
    found = hf.discover(spark.createDataFrame(rows, "a int, b string").repartition(partitions), top="all")
    assert found.to_dict() | {"seconds": 0} == {
        "rows": len(rows), "predicates": found.outcome.predicates, "evidence": 0, "complete": True, "seconds": 0,
        "engine": "spark", "column_rules": [], "rules": [],
    }  # fmt: skip
    assert [note for note in found.outcome.notes if said in note]
    assert len(found.rules) == 0


def test_no_columns_have_no_rules_and_it_says_why(spark: SparkSession) -> None:
    found = hf.discover(spark.range(5).select())
    assert (found.outcome.rows, len(found.rules), found.complete) == (5, 0, True)
    assert "there are no columns to compare, so there are no rules" in found.outcome.notes


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        (range(9), "int", {"not(t.v = s.v)"}),
        ([1, 2, 1], "int", set()),
        ([3, 3, 3], "double", {"not(t.v != s.v)"}),
        (["x", "y", "z"], "string", {"not(t.v = s.v)"}),
        (["x", "x"], "string", {"not(t.v != s.v)"}),
    ],
)
def test_one_column(spark: SparkSession, values: Any, kind: str, wanted: set[str]) -> None:
    frame = spark.createDataFrame([(float(v) if kind == "double" else v,) for v in values], f"v {kind}")
    assert texts(hf.discover(frame)) == wanted


@pytest.mark.parametrize("kind", ["int", "string", "void"])
def test_a_column_of_nulls_alone(spark: SparkSession, kind: str) -> None:
    frame = spark.createDataFrame([(None, 1), (None, 2), (None, 2)], f"n {kind}, v int")
    # Under sql no pair satisfies a predicate on n, whatever it is; so every most general one is a rule by itself.
    never = {"not(t.n <= s.n)", "not(t.n != s.n)"} if kind == "int" else {"not(t.n = s.n)", "not(t.n != s.n)"}
    assert texts(hf.discover(frame, nulls="sql")) == never
    # Under equal all its values are one: nothing differs there.
    assert texts(hf.discover(frame, nulls="equal")) == {"not(t.n != s.n)"}
    for nulls in ("sql", "equal"):
        found = hf.discover(frame, nulls=nulls)
        with hf.check(frame, found) as result:
            assert result.to_dict()["holds"]


def test_a_column_that_cannot_be_compared_is_left_out_and_said_so(spark: SparkSession) -> None:
    rows = [(1, [1, 2], {"a": 1}), (2, [1], {}), (3, [], {})]
    frame = spark.createDataFrame(rows, "v int, `l.ist` array<int>, m map<string,int>")
    found = hf.discover(frame)
    assert texts(found) == {"not(t.v = s.v)"}
    assert [note for note in found.outcome.notes if '"l.ist" is left out' in note and "array<int>" in note]
    assert [note for note in found.outcome.notes if "column m is left out" in note]
    assert not hf.discover(frame, exclude=["l.ist", "m"]).outcome.notes
    with pytest.raises(TypeMismatchError, match=r"l\.ist.*array<int>.*columns= names it"):
        hf.discover(frame, columns=["v", "l.ist"])


def test_two_hundred_columns(spark: SparkSession) -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({f"c{i}": rng.integers(0, 4, 25) for i in range(198)})
    table["key"] = rng.permutation(25)
    table["half"] = table["key"] // 2
    found = hf.discover(frame_of(spark, table), cross_columns="off", max_predicates=2, top="all")
    assert found.complete
    assert found.outcome.predicates == 6 * 200
    assert found.outcome.evidence == 25 * 24
    assert {"not(t.key = s.key)", "not(t.key <= s.key and t.half > s.half)"} <= texts(found)
    assert max(len(one.constraint.predicates) for one in found.outcome.found) <= 2


# Stopping early ---------------------------------------------------------------------------------------------------


def test_a_search_that_is_stopped_says_so_and_what_it_has_holds(spark: SparkSession) -> None:
    rng = np.random.default_rng(5)
    frame = frame_of(spark, pd.DataFrame({f"c{i}": rng.integers(0, 5, 300) for i in range(20)})).cache()
    # Searching it to the end takes minutes. How much is found in a second depends on the machine.
    for seconds in (0.5, 1.0, 2.0, 4.0, 8.0):
        found = hf.discover(frame, cross_columns="off", time_limit=seconds, top="all")
        assert not found.complete
        assert "time limit" in str(found.outcome.why)
        assert found.to_dict()["complete"] is False
        if len(found.rules):
            break
    assert len(found.rules)
    with hf.check(frame, list(found.rules)[:30], limit=0) as result:
        assert result.to_dict()["holds"]
    # All rules of random columns are long, and accidents: the best of them are none that anybody would believe.
    best = hf.discover(frame, cross_columns="off", time_limit=1.0)
    assert not best.complete
    assert "time limit" in str(best.outcome.why)
    frame.unpersist()


def test_of_two_hundred_columns_the_pairs_most_alike_are_compared(spark: SparkSession) -> None:
    rng = np.random.default_rng(6)
    frame = frame_of(spark, pd.DataFrame({f"c{i}": rng.integers(0, 4, 20) for i in range(200)}))
    found = hf.discover(frame, max_predicates=2, time_limit=5.0)
    # Both ways round.
    assert found.outcome.predicates == 6 * (200 + 2 * 100)
    assert not found.complete
    assert "of 19,900 pairs of columns that share values the 100 most alike were compared" in str(found.outcome.why)


def test_time_that_suffices_is_not_a_stop(people: DataFrame) -> None:
    columns = ["team", "city of team", "grade"]
    limited, free = (hf.discover(people, columns=columns, time_limit=limit, top="all") for limit in (500.0, None))
    assert limited.complete
    assert limited.outcome.why is None
    assert texts(limited) == texts(free)


def test_decisions_and_examples_are_the_same_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    lines = [f"{i},{i % 6},{'odd' if i == 7 else i % 3},{i % 3 % 2}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["id,zip,city,state", *lines]) + "\n", encoding="utf-8")
    decisions = parse_decisions('kept: ["zip -> city"]\nrejected: ["unique(id)"]')
    options: dict[str, Any] = {"error": "0.05", "max_predicates": 2, "cross_columns": "off", "decisions": decisions}
    here, there = (hf.discover(tmp_path / "t.csv", engine=engine, **options) for engine in ("local", "spark"))
    told = [{**found.to_dict(), "seconds": 0, "engine": ""} for found in (here, there)]
    assert told[0] == told[1]
    assert told[1]["decisions"]["kept"][0]["suspect_rows"] == 1
    (kept,) = there.outcome.decided.broken if there.outcome.decided else ()
    assert str(kept.rule) == "zip -> city"
    assert len(there.examples()) == len(there.rules)
    assert any(shown.tested for shown in there.examples())
    assert "review-data" in there.to_html()


def test_single_columns_are_looked_at_in_the_task_of_the_search(people: DataFrame) -> None:
    """With the same answer as in this process; `constants` and `conditional` have tasks of their own."""
    wanted = hf.discover(arrow_table(people), max_predicates=1, engine="local").column_rules
    assert {"not null", "set", "range", "unit"} <= {entry.kind for entry in wanted}
    for options in ({"max_predicates": 1}, {"conditional": True}, {"constants": True, "max_predicates": 1}):
        found = hf.discover(people, columns="team,city of team,grade,bonus,salary", **options)
        assert list(found.column_rules) == [entry for entry in wanted if entry.column not in ("id", "since")]
    assert hf.check(people, found).holds
