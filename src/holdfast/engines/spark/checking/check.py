"""Running a plan of a check on Spark: one scan, then every step on what it yielded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Context, Decimal
from functools import cached_property
from typing import Any, Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, DecimalType, DoubleType, StringType, StructField, StructType

from holdfast.checking.annotated import DEFAULT_PARTNERS, require_annotatable
from holdfast.checking.outcome import CheckOutcome, FailOn
from holdfast.checking.output_folders import BROKEN_RULES
from holdfast.checking.shown_check import Duplicate, ShownCheck, ShownGroup
from holdfast.encode.digits import digits_key
from holdfast.engines.check_result import (
    CheckResult,
    Values,
    hashable,
    hidden_columns,
    plain_key,
    rounding_notes,
    rule_outcome,
)
from holdfast.engines.spark.checking import shown_violations
from holdfast.engines.spark.checking.annotated import annotated_rows, both_ways, first_partners
from holdfast.engines.spark.checking.engine import CheckEngine, union_of
from holdfast.engines.spark.checking.kernel_engine import KernelEngine
from holdfast.engines.spark.checking.outputs import append_metrics
from holdfast.engines.spark.checking.rows import entirely_null, schema_of
from holdfast.engines.spark.checking.scan import ONE_TASK_ROWS, Scan
from holdfast.engines.spark.checking.spread_engine import SpreadEngine, SpreadLimits
from holdfast.engines.spark.checking.sql_engine import SqlEngine
from holdfast.engines.spark.frame_result import FrameResult
from holdfast.engines.spark.java_bridge import Py4JJavaError
from holdfast.engines.spark.query_log import query_log_off
from holdfast.engines.spark.sources.explain_failure import explain_failure
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.unfit_workers import unfit_error, unfit_workers
from holdfast.errors import HoldfastError, RunError, SourceError
from holdfast.explaining.explanation import RowExplanation, redacted_explanation
from holdfast.programs.bind import mismatched_columns, require_columns, require_types, without_types
from holdfast.programs.function_sql import DOUBLE_FUNCTION, KEY_FUNCTION, TEXT_FUNCTION
from holdfast.programs.plan import Plan, make_plan
from holdfast.programs.python_value import double_of, key_of, text_of
from holdfast.programs.sql_expression import DIGITS_FUNCTION
from holdfast.rules.dependency import Key
from holdfast.rules.rule import RuleSet
from holdfast.violations.witness import WorstRow

EngineName = Literal["auto", "sql", "kernel", "spread"]
_SPREAD = SpreadLimits()
_WIDE = Context(prec=38)  # that of Spark's widest decimals


def plan_check(table: Table, rules: RuleSet, key: Sequence[str]) -> Plan:
    """The plan of checking the rules on the table; refuses columns that are not there and senseless comparisons."""
    schema = schema_of(table.frame, table.name)
    require_columns(rules, key, schema)
    odd = mismatched_columns(rules, schema)
    if odd:
        # A column that is entirely null has no type and compares with anything.
        with translate_spark_errors(table):
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
    engine: EngineName = "auto",
    key_required: bool = False,
    redact: Sequence[str] = (),
    spread: SpreadLimits = _SPREAD,
) -> SparkCheckResult:
    """What the plan finds. `limit` caps the pairs that are listed per rule; counts are exact.

    A key that is null or occurs twice is told in the notes, and rows are numbered instead; with `key_required`, that is
    a SourceError. `engine` forces the way: `sql` for Spark SQL alone, `kernel` for one task, `spread` for many. The
    values of the columns in `redact` are not shown to anybody. `spread` says how large pieces of work are.
    """
    hidden = hidden_columns(redact, table.frame.columns, table.name)
    started = time.monotonic()
    notes = list(table.notes)
    with translate_spark_errors(table):
        register_functions(spark, plan)
        scan = Scan(spark, table, plan, all_columns, hidden)
        notes += scan.reading_notes
        # One task sees for itself whether a key occurs twice; everywhere else that is asked before anything runs.
        in_one_task = _in_one_task(scan, engine)
        problem, engines = scan.key_missing or (None if in_one_task else scan.duplicate_key), []
        if problem is None:
            engines = _engines(scan, limit, engine, notes, spread)
            first = engines[0]
            problem = scan.duplicate_key_text(first.duplicate_key) if first.finds_duplicate_keys else scan.duplicate_key
        if problem is not None:
            scan.close()
            if key_required:
                raise SourceError(
                    f"{table.name}: {problem}.", hint="name a key that every row has, and no two rows share."
                )
            notes.append(f"{problem}; rows are named by _row instead")
            plan = replace(plan, key=())
            scan = Scan(spark, table, plan, all_columns, hidden)
            engines = _engines(scan, limit, engine, notes, spread)
        return _result(scan, engines, notes, limit, fail_on, started)


def check_scanned(
    scan: Scan, *, limit: int | None, fail_on: FailOn = "error", engine: EngineName = "auto"
) -> SparkCheckResult:
    """What the plan of a scan finds on its rows, of which no two share a key; otherwise as `run_check`."""
    started = time.monotonic()
    notes: list[str] = []
    register_functions(scan.spark, scan.plan)
    return _result(scan, _engines(scan, limit, engine, notes, _SPREAD), notes, limit, fail_on, started)


def _result(
    scan: Scan, engines: Sequence[CheckEngine], notes: Sequence[str], limit: int | None, fail_on: FailOn, started: float
) -> SparkCheckResult:
    plan = scan.plan
    by_rule = {i: summary for checking in engines for i, summary in checking.summaries.items()}
    outcomes = tuple(
        rule_outcome(plan, i, by_rule[i], rows=scan.in_scope(plan.scope(i)), limit=limit)
        for i in range(len(plan.rules))
    )
    outcome = CheckOutcome(
        table=scan.table.name,
        rows=scan.count,
        key=plan.key,
        seconds=time.monotonic() - started,
        rules=outcomes,
        fail_on=fail_on,
        limit=limit,
        notes=(*notes, *scan.vanished, *rounding_notes(plan, outcomes)),
        place=scan.table.place,
        nulls=plan.rules.nulls,
    )
    return SparkCheckResult(scan, plan, outcome, engines)


def register_functions(spark: SparkSession, plan: Plan) -> None:
    """The session knows the functions that the plan's SQL calls."""
    register_called(spark, plan.texts)


def register_called(spark: SparkSession, texts: Iterable[str]) -> None:
    """The session knows the functions that these pieces of SQL call, which Spark does not have."""
    texts = list(texts)
    for name, function, kind in _FUNCTIONS:
        if any(f"{name}(" in text for text in texts):
            spark.udf.register(name, F.udf(function, kind, useArrow=True))


def _engines(
    scan: Scan, limit: int | None, engine: EngineName, notes: list[str], spread: SpreadLimits
) -> list[CheckEngine]:
    """The engines that together check all rules, their summaries known."""
    programs = scan.plan.programs.programs
    everything = range(len(programs))
    engines: list[CheckEngine] = [SqlEngine(scan, everything, limit)]
    if engine == "sql":
        return engines
    if _in_one_task(scan, engine):
        with_kernels: list[CheckEngine] = [KernelEngine(scan, everything, limit)]
    else:
        # Groups and filters are what Spark SQL does well; pairs are spread over tasks.
        paired = [i for i in everything if SpreadEngine.takes(programs[i])]
        others = [i for i in everything if i not in paired]
        with_kernels = [SqlEngine(scan, others, limit), SpreadEngine(scan, paired, limit, spread)]
    try:
        for candidate in with_kernels:
            candidate.summaries  # noqa: B018 (runs now, to see whether it can)
        return with_kernels
    except PySparkException as problem:
        reason = unfit_workers(problem)
        if reason is None or engine != "auto":
            raise
        note = f"Spark's Python workers cannot run kernels ({reason}): checked by Spark SQL alone, which is slower"
        if note not in notes:
            notes.append(note)
        return engines


def _in_one_task(scan: Scan, engine: EngineName) -> bool:
    return engine == "kernel" or (engine == "auto" and scan.count <= ONE_TASK_ROWS)


class SparkCheckResult(CheckResult):
    """What a check found on Spark; tables of violations are DataFrames that run when they are used.

    The scanned rows stay persisted until `close()`.
    """

    def __init__(self, scan: Scan, plan: Plan, outcome: CheckOutcome, engines: Sequence[CheckEngine]) -> None:
        super().__init__(plan, outcome, scan.hidden)
        self._scan, self.engines = scan, engines

    def in_scope(self, i: int) -> int:
        return self._scan.in_scope(self.plan.scope(i))

    @property
    def scanned(self) -> DataFrame:
        """The rows of the scan under safe names, with their key `k`, conditions and look-ups; until `close()`."""
        return self._scan.rows

    @cached_property
    def pairs(self) -> FrameResult:
        which = [i for i, outcome in enumerate(self.outcome.rules) if outcome.violating_pairs]
        empty = "SELECT '' AS rule, k AS `left`, k AS `right` FROM {rows} WHERE false"
        return FrameResult(self._union([engine.pairs(which) for engine in self.engines], empty))

    @cached_property
    def rows(self) -> FrameResult:
        empty = "SELECT '' AS rule, k AS key, 0L AS conflicts FROM {rows} WHERE false"
        return FrameResult(self._union([engine.rows(self._violated) for engine in self.engines], empty))

    @cached_property
    def groups(self) -> FrameResult:
        which = [i for i, outcome in enumerate(self.outcome.rules) if outcome.violating_groups]
        empty = (
            "SELECT '' AS rule, '' AS `group`, '' AS `column`, '' AS value, 0L AS `rows`, array(k) AS keys "
            "FROM {rows} WHERE false"
        )
        return FrameResult(self._union([self._sql.groups(which)], empty))

    @cached_property
    def _sql(self) -> SqlEngine:
        """The engine that lists groups, whichever counted them."""
        known = next((engine for engine in self.engines if isinstance(engine, SqlEngine)), None)
        return known or SqlEngine(self._scan, range(len(self.plan.rules)), self.outcome.limit)

    @cached_property
    def suspects(self) -> FrameResult:
        return FrameResult(self.suspects_of(self._violated))

    def suspects_of(self, which: Sequence[int]) -> DataFrame:
        """(rule, key): the suspects of these rules alone."""
        empty = "SELECT '' AS rule, k AS key FROM {rows} WHERE false"
        return self._union([engine.suspects(which) for engine in self.engines], empty)

    def split(self) -> tuple[FrameResult, FrameResult]:
        names, rows = self._scan.table.frame.columns, self.whole_rows
        by_row = self.suspects.to_spark().where(F.col("rule").isin(self._counted_names)).groupBy("key")
        broken = by_row.agg(F.sort_array(F.collect_set("rule")).alias(BROKEN_RULES))
        columns = [f"c{i}" for i in range(len(names))]
        clean = rows.join(broken, rows["k"] == broken["key"], "left_anti").select(*columns).toDF(*names)
        bad = rows.join(broken, rows["k"] == broken["key"]).select(*columns, BROKEN_RULES)
        return FrameResult(clean), FrameResult(bad.toDF(*names, BROKEN_RULES))

    def annotated(self, *, partners: int = DEFAULT_PARTNERS) -> FrameResult:
        names = self._scan.table.frame.columns
        require_annotatable(self.outcome.table, names, partners)
        return annotated_rows(
            self.whole_rows,
            names,
            self.outcome.rules,
            self.rows.to_spark(),
            self.suspects.to_spark(),
            first_partners(both_ways(self.pairs.to_spark()), partners),
        )

    @cached_property
    def whole_rows(self) -> DataFrame:
        """The scanned rows with all columns of the table; a second scan, unless the first kept them."""
        scan = self._scan
        return scan.rows if scan.whole else Scan(scan.spark, scan.table, self.plan, True, scan.hidden).rows

    @cached_property
    def suggestions(self) -> FrameResult:
        from holdfast.engines.spark.explaining.suggestions import suggested_changes  # which knows this class

        return FrameResult(suggested_changes(self))

    def _tried_rows(self) -> int | None:
        from holdfast.engines.spark.explaining.suggestions import may_be_cut, most_rows  # which knows this class

        return most_rows(self) if may_be_cut(self) else None

    def explain(self, row: Any) -> RowExplanation:
        from holdfast.engines.spark.explaining.suggestions import explained_row  # which knows this class

        with translate_spark_errors(self._scan.table):
            return redacted_explanation(explained_row(self, row), self.hidden)

    @cached_property
    def detailed(self) -> CheckOutcome:
        with translate_spark_errors(self._scan.table):
            return super().detailed

    def _shown(self) -> ShownCheck:
        with translate_spark_errors(self._scan.table):
            return super()._shown()

    def _ends(self, violated: Sequence[int]) -> dict[int, tuple[Any, Any]]:
        return {i: keys for engine in self.engines for i, keys in engine.witnesses(violated).items()}

    def _worst(self, violated: Sequence[int]) -> dict[int, tuple[WorstRow, ...]]:
        worst = {i: rows for engine in self.engines for i, rows in engine.worst(violated).items()}
        return {i: tuple(WorstRow(plain_key(row.key), row.conflicts) for row in rows) for i, rows in worst.items()}

    def values_of(self, keys: Sequence[Any]) -> dict[Any, Values]:
        rows = self._scan.rows
        schema = StructType([StructField("key", rows.schema["k"].dataType)])
        once_each = {hashable(key): key for key in keys}
        wanted = self._scan.spark.createDataFrame([(key,) for key in once_each.values()], schema)
        matching = rows.join(F.broadcast(wanted), rows["k"] == wanted["key"]).collect()
        places = {name: f"c{self.plan.schema.position(name)}" for name in self.plan.columns}
        kinds = {place: rows.schema[place].dataType for place in places.values()}
        return {
            hashable(row["k"]): {name: _with_scale(row[place], kinds[place]) for name, place in places.items()}
            for row in matching
        }

    def _worst_listed(self) -> dict[int, list[WorstRow]]:
        return shown_violations.worst_rows(self)

    def _pairs_listed(self, which: Sequence[int]) -> dict[int, list[tuple[Any, Any]]]:
        return shown_violations.some_pairs(self, which)

    def _groups_listed(self) -> dict[str, list[ShownGroup]]:
        return shown_violations.largest_groups(self)

    def _duplicates_listed(self, keys: Mapping[int, Key]) -> dict[int, list[Duplicate]]:
        return shown_violations.duplicates(self, keys)

    def _dots(self, i: int, columns: tuple[str, str], within: Sequence[tuple[str, Any]]) -> list[tuple[Any, Any]]:
        return shown_violations.dots(self, i, columns, within)

    def _named_suspects(self, most: int) -> list[tuple[str, str]]:
        return [(row["rule"], row["name"]) for row in self._suspect_names().limit(most).collect()]

    def _new_suspects(self, known: Mapping[str, frozenset[str]]) -> dict[str, int]:
        named = self._suspect_names()
        if known:
            lines = [(name, key) for name, keys in known.items() for key in sorted(keys)]
            old = self._scan.spark.createDataFrame(lines, "rule string, name string")
            named = named.join(old, ["rule", "name"], "left_anti")
        return {row["rule"]: row["count"] for row in named.groupBy("rule").count().collect()}

    def _suspect_names(self) -> DataFrame:
        """(rule, name) of every suspect row, its key written as JSON: the same in every run, whatever its type."""
        return self.suspects.to_spark().select("rule", F.to_json(F.struct("key")).alias("name"))

    def append_metrics(self, folder: str) -> None:
        append_metrics(self._scan.spark, self.outcome, folder)

    def close(self) -> None:
        """Lets go of the persisted rows; the tables of this result are then computed from the source again."""
        self._scan.close()
        for engine in (*self.engines, *([self._sql] if "_sql" in self.__dict__ else [])):
            engine.close()

    def _union(self, frames: Sequence[DataFrame | None], empty: str) -> DataFrame:
        union = union_of(frames)
        return self._scan.spark.sql(empty, rows=self._scan.rows) if union is None else union


@contextmanager
def translate_spark_errors(table: Table, *others: Table, doing: str = "checking") -> Iterator[None]:
    """Turns what Spark throws into an error in the user's terms; `doing` is what failed on the tables."""
    try:
        with query_log_off():
            yield
    except HoldfastError:
        raise
    except (PySparkException, Py4JJavaError) as problem:
        # What Spark finds wrong deep inside a job comes as the one or as the other.
        tables = [table, *others]
        for named_table in tables:
            explained = explain_failure(problem, named_table)
            if explained is not None:
                raise explained from problem
        unfit = unfit_workers(problem)
        reason = str(problem).strip().splitlines()
        named = " and ".join(named_table.name for named_table in tables)
        if unfit is not None:
            raise unfit_error(unfit, f"{doing} {named}") from problem
        raise RunError(
            f"Spark failed while {doing} {named}: {reason[0] if reason else type(problem).__name__}",
            hint="run again with --verbose to see all that Spark says.",
        ) from problem


def _with_scale(value: Any, kind: DataType) -> Any:
    """The value with as many decimals as its type has: small decimals come from Spark with two zeros more."""
    if not isinstance(kind, DecimalType) or value is None:
        return value
    return value.quantize(Decimal((0, (1,), -kind.scale)), context=_WIDE)


def _digits(text: str | None, floating: bool) -> bytes | None:
    return None if text is None else digits_key(float(text) if floating else Decimal(text))


_FUNCTIONS: tuple[tuple[str, Callable[..., Any], DataType], ...] = (
    (DIGITS_FUNCTION, _digits, BinaryType()),
    (KEY_FUNCTION, key_of, BinaryType()),
    (DOUBLE_FUNCTION, double_of, DoubleType()),
    (TEXT_FUNCTION, text_of, StringType()),
)
