"""Running a plan of a check on Spark: one scan, then every step on what it yielded."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from holdfast.detect.bind import mismatched_columns, require_columns, require_types, without_types
from holdfast.detect.outcome import CheckOutcome, FailOn, RuleOutcome, Witness, WorstRow, rule_holds
from holdfast.detect.plan import Plan, RulePlan, make_plan
from holdfast.encode.digits import digits_key
from holdfast.encode.expression import DIGITS_FUNCTION, text_literal
from holdfast.errors import HoldfastError, RunError
from holdfast.kernels.cover import greedy_cover
from holdfast.report.html import summary_html
from holdfast.report.text import summary_text
from holdfast.rules.dependency import CFD, FD, Key, as_dependency
from holdfast.rules.predicate import Comparison
from holdfast.rules.relation import EQ
from holdfast.rules.rule import RuleSet
from holdfast.spark.explain_failure import explain_failure
from holdfast.spark.rows import entirely_null, keyed, numbered, schema_of, select_rows
from holdfast.spark.table import Table

WORST_ROWS = 3
BROKEN_RULES = "_broken_rules"


def plan_check(table: Table, rules: RuleSet, key: Sequence[str]) -> Plan:
    """The plan of checking the rules on the table; refuses columns that are not there and senseless comparisons."""
    schema = schema_of(table.frame, table.name)
    require_columns(rules, key, schema)
    odd = mismatched_columns(rules, schema)
    if odd:
        # A column that is entirely null has no type and compares with anything.
        with told_plainly(table):
            schema = without_types(schema, entirely_null(table.frame, sorted(odd)))
        require_types(rules, schema)
    return make_plan(rules, schema, key)


def run_check(
    spark: SparkSession,
    table: Table,
    plan: Plan,
    *,
    limit: int | None,
    fail_on: FailOn = "error",
    all_columns: bool = False,
) -> CheckResult:
    """What the plan finds. `limit` caps the pairs that are listed per rule; counts are exact.

    A key that is null or occurs twice is told in the notes, and rows are numbered instead.
    """
    started = time.monotonic()
    with told_plainly(table):
        notes = list(table.notes)
        if DIGITS_FUNCTION in plan.functions:
            spark.udf.register(DIGITS_FUNCTION, F.udf(_digits, BinaryType(), useArrow=True))
        rows, kept = _named_rows(spark, table, plan, all_columns)
        facts = _facts(spark, rows, plan)
        problem = _key_problem(plan, facts)
        if problem is not None:
            kept.unpersist()
            notes.append(f"{problem}; rows are named by _row instead")
            plan = replace(plan, key=())
            rows, kept = _named_rows(spark, table, plan, all_columns)
        found = _summaries(spark, rows, plan)
        small = [i for i, row in enumerate(found) if row["pairs"] and row["suspects"] is None]
        small = [i for i in small if limit is None or found[i]["pairs"] <= limit]
        covers = _covers(spark, rows, plan, small) if small else None
        counted = (
            {row["i"]: row["n"] for row in covers.groupBy("i").agg(F.count("*").alias("n")).collect()} if covers else {}
        )
        outcomes = tuple(
            _outcome(step, row, counted.get(i), facts, limit)
            for i, (step, row) in enumerate(zip(plan.steps, found, strict=True))
        )
    outcome = CheckOutcome(
        table=table.name,
        rows=facts["n"],
        key=plan.key,
        seconds=time.monotonic() - started,
        rules=outcomes,
        fail_on=fail_on,
        limit=limit,
        notes=tuple(notes),
    )
    witnesses = [(row["left"], row["right"]) for row in found]
    return CheckResult(spark, table, plan, outcome, rows, kept, covers, witnesses, all_columns)


class CheckResult:
    """What a check found: counts and verdicts at once, violations as DataFrames that run when they are used.

    The scanned rows stay persisted until `close()`, or until the result is no longer used.
    """

    def __init__(
        self,
        spark: SparkSession,
        table: Table,
        plan: Plan,
        outcome: CheckOutcome,
        rows: DataFrame,
        kept: DataFrame,
        covers: DataFrame | None,
        witnesses: Sequence[tuple[Any, Any]],
        all_columns: bool,
    ) -> None:
        self._spark, self._table, self._rows, self._kept = spark, table, rows, kept
        self._covers, self._witnesses, self._all_columns = covers, witnesses, all_columns
        self.plan = plan
        self.outcome = outcome

    @property
    def holds(self) -> bool:
        return self.outcome.holds

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast check --format json` prints."""
        return self.outcome.to_dict()

    @cached_property
    def pairs(self) -> DataFrame:
        """(rule, left, right): the violating pairs of two-row rules, at most `limit` of each."""
        parts = []
        for step, found in zip(self.plan.steps, self.outcome.rules, strict=True):
            if step.pairs is not None and found.violating_pairs:
                limit = f" LIMIT {self.outcome.limit}" if found.pairs_cut else ""
                parts.append(f"SELECT {_name(step)} AS rule, * FROM ({step.pairs}{limit})")
        return self._union(parts, "SELECT '' AS rule, k AS `left`, k AS `right` FROM {rows} WHERE false")

    @cached_property
    def rows(self) -> DataFrame:
        """(rule, key, conflicts): every violating row, with the number of violating pairs it is in."""
        parts = [
            f"SELECT {_name(step)} AS rule, * FROM ({step.conflicts})"
            for step, found in zip(self.plan.steps, self.outcome.rules, strict=True)
            if found.violating_rows
        ]
        return self._union(parts, "SELECT '' AS rule, k AS key, 0L AS conflicts FROM {rows} WHERE false")

    @cached_property
    def groups(self) -> DataFrame:
        """(rule, group, column, value, rows, keys): how the groups that violate an FD or CFD are divided."""
        parts = [
            f"SELECT {_name(step)} AS rule, * FROM ({step.groups})"
            for step, found in zip(self.plan.steps, self.outcome.rules, strict=True)
            if step.groups is not None and found.violating_groups
        ]
        empty = (
            "SELECT '' AS rule, '' AS `group`, '' AS `column`, '' AS value, 0L AS `rows`, array(k) AS keys "
            "FROM {rows} WHERE false"
        )
        return self._union(parts, empty)

    @cached_property
    def suspects(self) -> DataFrame:
        """(rule, key): the rows that would have to go; where those are unknown, all violating rows."""
        parts = []
        covered = []
        for i, (step, found) in enumerate(zip(self.plan.steps, self.outcome.rules, strict=True)):
            if not found.violating_rows:
                continue
            if step.suspects is not None:
                parts.append(f"SELECT {_name(step)} AS rule, key FROM ({step.suspects})")
            elif not found.violating_pairs or found.suspect_rows is None:
                parts.append(f"SELECT {_name(step)} AS rule, key FROM ({step.conflicts})")
            else:
                covered.append((i, step.rule.name))
        frame = self._union(parts, "SELECT '' AS rule, k AS key FROM {rows} WHERE false")
        if covered:
            assert self._covers is not None, "suspects of joined rules come from covers"
            names = self._spark.createDataFrame(covered, "i int, rule string")
            frame = frame.unionByName(self._covers.join(F.broadcast(names), "i").select("rule", "key"))
        return frame

    def split(self) -> tuple[DataFrame, DataFrame]:
        """(clean, quarantined): the table without its suspect rows, and those, with an array of the rules they break.

        The rules are those that count for the verdict. The clean rows hold all of them, up to rules whose suspects
        are unknown because their pairs were cut.
        """
        names = self._table.frame.columns
        rows = self._rows if self._all_columns else _named_rows(self._spark, self._table, self.plan, True)[0]
        counted = [found.rule.name for found in self.outcome.rules if self.outcome.counts(found)]
        broken = (
            self.suspects.where(F.col("rule").isin(counted)).groupBy("key").agg(F.sort_array(F.collect_set("rule")))
        )
        broken = broken.toDF("key", BROKEN_RULES)
        columns = [f"c{i}" for i in range(len(names))]
        clean = rows.join(broken, rows["k"].eqNullSafe(broken["key"]), "left_anti").select(*columns).toDF(*names)
        bad = rows.join(broken, rows["k"].eqNullSafe(broken["key"])).select(*columns, BROKEN_RULES)
        return clean, bad.toDF(*names, BROKEN_RULES)

    @cached_property
    def detailed(self) -> CheckOutcome:
        """The outcome with, per violated rule, a witness in the table's own values and its worst rows."""
        violated = [i for i, found in enumerate(self.outcome.rules) if found.violating_rows]
        if not violated:
            return self.outcome
        with told_plainly(self._table):
            values = self._values([key for i in violated for key in self._witnesses[i] if key is not None])
            worst = self._worst(violated)
        rules = list(self.outcome.rules)
        for i in violated:
            rules[i] = replace(rules[i], witness=self._witness(i, values), worst=tuple(worst.get(i, ())))
        return replace(self.outcome, rules=tuple(rules))

    def summary(self) -> str:
        """The result as text, as `holdfast check` prints it."""
        return summary_text(self.detailed)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return summary_html(self.detailed)

    def close(self) -> None:
        """Lets go of the persisted rows; the DataFrames of this result are then computed from the source again."""
        self._kept.unpersist()
        if self._covers is not None:
            self._covers.unpersist()

    def __enter__(self) -> CheckResult:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _union(self, parts: Sequence[str], empty: str) -> DataFrame:
        return _sql(self._spark, "\nUNION ALL\n".join(parts) if parts else empty, self._rows)

    def _worst(self, violated: Sequence[int]) -> dict[int, list[WorstRow]]:
        parts = [
            f"SELECT * FROM (SELECT {i} AS i, * FROM ({self.plan.steps[i].conflicts}) "
            f"ORDER BY conflicts DESC, key LIMIT {WORST_ROWS})"
            for i in violated
        ]
        worst: dict[int, list[WorstRow]] = {}
        for row in _sql(self._spark, "\nUNION ALL\n".join(parts), self._rows).collect():
            worst.setdefault(row["i"], []).append(WorstRow(plain(row["key"]), row["conflicts"]))
        return {i: sorted(rows, key=lambda r: -r.conflicts) for i, rows in worst.items()}

    def _values(self, keys: Sequence[Any]) -> dict[Any, Row]:
        field = self._rows.schema["k"]
        schema = StructType([StructField("key", field.dataType)])
        wanted = self._spark.createDataFrame([(key,) for key in {_hashable(k): k for k in keys}.values()], schema)
        found = self._rows.join(F.broadcast(wanted), self._rows["k"] == wanted["key"]).collect()
        return {_hashable(row["k"]): row for row in found}

    def _witness(self, i: int, values: dict[Any, Row]) -> Witness | None:
        left_key, right_key = self._witnesses[i]
        left, right = (values.get(_hashable(key)) if key is not None else None for key in (left_key, right_key))
        if left is None:
            return None
        shown = self.outcome.rules[i].rule.body.columns
        places = {name: f"c{self.plan.schema.position(name)}" for name in shown}
        a = {name: left[place] for name, place in places.items()}
        b = {name: right[place] for name, place in places.items()} if right is not None else None
        marked = _marked(self.outcome.rules[i], a, b)
        return Witness(plain(left_key), a, plain(right_key), b, shown, marked)


def plain(key: Any) -> Any:
    """The key as Python values: of several columns, a tuple."""
    return tuple(key) if isinstance(key, Row) else key


@contextmanager
def told_plainly(table: Table) -> Iterator[None]:
    """Turns what Spark throws into an error in the user's terms."""
    try:
        yield
    except HoldfastError:
        raise
    except PySparkException as problem:
        explained = explain_failure(problem, table)
        if explained is not None:
            raise explained from problem
        reason = str(problem).strip().splitlines()
        raise RunError(
            f"Spark failed while checking {table.name}: {reason[0] if reason else type(problem).__name__}",
            hint="run again with --verbose to see all that Spark says.",
        ) from problem


def _sql(spark: SparkSession, text: str, rows: DataFrame) -> DataFrame:
    return spark.sql(text, rows=rows)


def _named_rows(spark: SparkSession, table: Table, plan: Plan, all_columns: bool) -> tuple[DataFrame, DataFrame]:
    """The rows with their names, and what of them is persisted, so that the source is scanned once."""
    selected = select_rows(table.frame, plan, all_columns=all_columns)
    if plan.key:
        rows = keyed(selected, plan).persist()
        return rows, rows
    kept = selected.persist()
    return numbered(spark, kept), kept


def _facts(spark: SparkSession, rows: DataFrame, plan: Plan) -> Row:
    """Row count, rows in the scope of each condition, null keys, and a key that occurs twice, in one job."""
    scopes = "".join(f", count_if(w{i}) AS w{i}" for i in range(len(plan.conditions)))
    if not plan.key:
        row = _sql(spark, f"SELECT count(*) AS n{scopes} FROM {{rows}}", rows).first()
    else:
        parts = [f"c{plan.schema.position(name)}" for name in plan.key]
        missing = " OR ".join(f"{part} IS NULL" for part in parts)
        twice = "SELECT k, count(*) AS c FROM {rows} GROUP BY k HAVING count(*) > 1"
        row = _sql(
            spark,
            f"SELECT f.*, d.* FROM (SELECT count(*) AS n, count_if({missing}) AS missing{scopes} FROM {{rows}}) f\n"
            f"CROSS JOIN (SELECT min(named_struct('k', k, 'c', c)) AS twice FROM ({twice})) d",
            rows,
        ).first()
    assert row is not None, "an aggregate has one row"
    return row


def _key_problem(plan: Plan, facts: Row) -> str | None:
    if not plan.key:
        return None
    name = ", ".join(plan.key)
    if facts["missing"]:
        rows = "1 row" if facts["missing"] == 1 else f"{facts['missing']:,} rows"
        return f"the key {name} is null in {rows}"
    if facts["twice"] is not None:
        value = plain(facts["twice"]["k"])
        shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        return f"the key {name} is not unique: {shown!r} occurs {facts['twice']['c']:,} times"
    return None


def _summaries(spark: SparkSession, rows: DataFrame, plan: Plan) -> list[Row]:
    """The summary of every rule, in order, from one job."""
    if not plan.steps:
        return []
    parts = [f"SELECT {i} AS i, * FROM ({step.summary})" for i, step in enumerate(plan.steps)]
    found = _sql(spark, "\nUNION ALL\n".join(parts), rows).collect()
    return sorted(found, key=lambda row: row["i"])


def _covers(spark: SparkSession, rows: DataFrame, plan: Plan, which: Sequence[int]) -> DataFrame:
    """(i, key): per rule, a greedy cover of its pairs, with the rows it breaks alone; persisted, it is small."""
    parts = [f"SELECT {i} AS i, * FROM ({plan.steps[i].pairs})" for i in which]
    pairs = _sql(spark, "\nUNION ALL\n".join(parts), rows).persist()
    try:
        numbered_rows = spark.sql(
            "SELECT i, key, row_number() OVER (PARTITION BY i ORDER BY key) - 1 AS id FROM (\n"
            "  SELECT DISTINCT i, explode(array(`left`, `right`)) AS key FROM {pairs})",
            pairs=pairs,
        ).persist()
        ends = spark.sql(
            "SELECT p.i, CAST(a.id AS BIGINT) AS a, CAST(b.id AS BIGINT) AS b FROM {pairs} p\n"
            "JOIN {ids} a ON p.i = a.i AND p.`left` = a.key JOIN {ids} b ON p.i = b.i AND p.`right` = b.key",
            pairs=pairs,
            ids=numbered_rows,
        )
        taken = ends.repartition("i").mapInArrow(_cover_batches, "i int, id bigint")
        covers = taken.join(numbered_rows, ["i", "id"]).select("i", "key")
        alone = [f"SELECT {i} AS i, k AS key FROM ({plan.steps[i].one_row})" for i in which if plan.steps[i].one_row]
        if alone:
            covers = covers.union(_sql(spark, "\nUNION ALL\n".join(alone), rows)).distinct()
        covers = covers.persist()
        covers.count()
        return covers
    finally:
        pairs.unpersist()


def _cover_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    whole = pa.Table.from_batches(list(batches))
    if whole.num_rows == 0:
        return
    rule, left, right = (whole.column(name).to_numpy() for name in ("i", "a", "b"))
    for i in np.unique(rule):
        mine = rule == i
        size = int(max(left[mine].max(), right[mine].max())) + 1
        ids = greedy_cover(left[mine].astype(np.int64), right[mine].astype(np.int64), size)
        yield pa.RecordBatch.from_arrays([pa.array(np.full(len(ids), i, np.int32)), pa.array(ids)], names=["i", "id"])


def _outcome(step: RulePlan, row: Row, cover: int | None, facts: Row, limit: int | None) -> RuleOutcome:
    pairs = row["pairs"]
    cut = bool(pairs and limit is not None and pairs > limit)
    suspects = row["suspects"]
    if suspects is None and not cut:
        suspects = cover if pairs else row["rows"]
    holds = rule_holds(
        step.rule,
        suspects=suspects,
        violating_rows=row["rows"],
        pairs=pairs,
        symmetric=step.symmetric,
        rows=facts[step.scope] if step.scope else facts["n"],
    )
    return RuleOutcome(step.rule, holds, pairs, row["rows"], suspects, row["groups"], pairs_cut=cut)


def _marked(found: RuleOutcome, left: dict[str, Any], right: dict[str, Any] | None) -> tuple[str, ...]:
    """The columns whose values break the rule."""
    dependency = as_dependency(found.rule.body)
    if isinstance(dependency, Key):
        return dependency.columns
    if isinstance(dependency, FD | CFD):
        if right is None:
            return tuple(c for c in dependency.right)
        return tuple(c for c in dependency.right if left[c] != right[c])
    telling = {
        column.name
        for constraint in found.rule.body.denials
        for predicate in constraint.predicates
        if not (isinstance(predicate, Comparison) and predicate.same_column and predicate.allowed == EQ)
        for column in predicate.columns()
    }
    return tuple(name for name in found.rule.body.columns if name in telling) or found.rule.body.columns


def _name(step: RulePlan) -> str:
    return text_literal(step.rule.name)


def _hashable(key: Any) -> Any:
    return (
        tuple(map(_hashable, key))
        if isinstance(key, list | tuple)
        else bytes(key)
        if isinstance(key, bytearray)
        else key
    )


def _digits(text: str | None, number: float | None) -> bytes | None:
    return digits_key(Decimal(text) if text is not None else number)
