"""Running a plan of a check on Spark: one scan, then every step on what it yielded."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from holdfast.checking.baseline import Baseline
from holdfast.checking.outcome import CheckOutcome, FailOn, RuleOutcome, Summary, rule_holds
from holdfast.checking.output_folders import QUARANTINE_FOLDERS, SUGGESTION_FOLDERS, VIOLATION_FOLDERS
from holdfast.checking.shown_check import ShownCheck, redacted_check, redacted_outcome
from holdfast.encode.digits import digits_key
from holdfast.engines.spark.checking.engine import CheckEngine, union_of
from holdfast.engines.spark.checking.kernel_engine import KernelEngine
from holdfast.engines.spark.checking.outputs import append_metrics, write_folders
from holdfast.engines.spark.checking.rows import entirely_null, schema_of
from holdfast.engines.spark.checking.scan import ONE_TASK_ROWS, Scan, plain
from holdfast.engines.spark.checking.spread_engine import SpreadEngine
from holdfast.engines.spark.checking.sql_engine import SqlEngine, unfit_workers
from holdfast.engines.spark.java_bridge import Py4JJavaError
from holdfast.engines.spark.query_log import query_log_off
from holdfast.engines.spark.sources.explain_failure import explain_failure
from holdfast.engines.spark.sources.table import Table
from holdfast.errors import HoldfastError, RunError, SourceError, unknown_column
from holdfast.explaining.explanation import RowExplanation, redacted_explanation
from holdfast.presented import presentation
from holdfast.programs.bind import mismatched_columns, require_columns, require_types, without_types
from holdfast.programs.plan import Plan, make_plan
from holdfast.programs.program import is_symmetric
from holdfast.programs.sql_expression import DIGITS_FUNCTION
from holdfast.rules.dependency import CFD, FD, Key, as_dependency
from holdfast.rules.predicate import Comparison
from holdfast.rules.relation import EQ
from holdfast.rules.rule import RuleSet
from holdfast.states.write_whole import write_whole
from holdfast.violations.witness import Witness, WorstRow

BROKEN_RULES = "_broken_rules"

EngineName = Literal["auto", "sql", "kernel", "spread"]


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
) -> CheckResult:
    """What the plan finds. `limit` caps the pairs that are listed per rule; counts are exact.

    A key that is null or occurs twice is told in the notes, and rows are numbered instead; with `key_required`, that is
    a SourceError. `engine` forces the way: `sql` for Spark SQL alone, `kernel` for one task, `spread` for many. The
    values of the columns in `redact` are not shown to anybody.
    """
    hidden = _hidden(table, redact)
    started = time.monotonic()
    notes = list(table.notes)
    with translate_spark_errors(table):
        register_functions(spark, plan)
        scan = Scan(spark, table, plan, all_columns, hidden)
        # One task sees for itself whether a key occurs twice; everywhere else that is asked before anything runs.
        in_one_task = _in_one_task(scan, engine)
        problem, engines = scan.key_missing or (None if in_one_task else scan.duplicate_key), []
        if problem is None:
            engines = _engines(scan, limit, engine, notes)
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
            engines = _engines(scan, limit, engine, notes)
        by_rule = {i: summary for checking in engines for i, summary in checking.summaries.items()}
    summaries = [by_rule[i] for i in range(len(plan.rules))]
    outcome = CheckOutcome(
        table=table.name,
        rows=scan.count,
        key=plan.key,
        seconds=time.monotonic() - started,
        rules=tuple(_outcome(scan, i, summary, limit) for i, summary in enumerate(summaries)),
        fail_on=fail_on,
        limit=limit,
        notes=tuple(notes),
        place=table.place,
    )
    return CheckResult(scan, plan, outcome, engines)


def _hidden(table: Table, redact: Sequence[str]) -> frozenset[str]:
    for name in redact:
        if name not in table.frame.columns:
            raise unknown_column(f"--redact names {name!r}", name, table.name, table.frame.columns)
    return frozenset(redact)


def register_functions(spark: SparkSession, plan: Plan) -> None:
    """The session knows the functions that the plan's SQL calls."""
    if plan.needs_digits:
        spark.udf.register(DIGITS_FUNCTION, F.udf(_digits, BinaryType(), useArrow=True))


def _engines(scan: Scan, limit: int | None, engine: EngineName, notes: list[str]) -> list[CheckEngine]:
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
        with_kernels = [SqlEngine(scan, others, limit), SpreadEngine(scan, paired, limit)]
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


class CheckResult:
    """What a check found: counts and verdicts at once, violations as DataFrames that run when they are used.

    The scanned rows stay persisted until `close()`, or until the end of a `with` block.
    """

    def __init__(self, scan: Scan, plan: Plan, outcome: CheckOutcome, engines: Sequence[CheckEngine]) -> None:
        self._scan, self.engines = scan, engines
        self.plan = plan
        self.outcome = outcome

    @property
    def holds(self) -> bool:
        return self.outcome.holds

    def with_outcome(self, outcome: CheckOutcome) -> CheckResult:
        """The same violations under other verdicts."""
        return CheckResult(self._scan, self.plan, outcome, self.engines)

    @property
    def hidden(self) -> frozenset[str]:
        """The columns whose values nobody is shown."""
        return self._scan.hidden

    def in_scope(self, i: int) -> int:
        """How many rows the rule speaks of."""
        return self._scan.in_scope(self.plan.scope(i))

    @property
    def scanned(self) -> DataFrame:
        """The rows of the scan under safe names, with their key `k`, conditions and look-ups; until `close()`."""
        return self._scan.rows

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast check --format json` prints."""
        return self.outcome.to_dict()

    @cached_property
    def pairs(self) -> DataFrame:
        """(rule, left, right): the violating pairs of two-row rules, at most `limit` of each."""
        which = [i for i, outcome in enumerate(self.outcome.rules) if outcome.violating_pairs]
        empty = "SELECT '' AS rule, k AS `left`, k AS `right` FROM {rows} WHERE false"
        return self._union([engine.pairs(which) for engine in self.engines], empty)

    @cached_property
    def rows(self) -> DataFrame:
        """(rule, key, conflicts): every violating row, with the number of violating pairs it is in."""
        empty = "SELECT '' AS rule, k AS key, 0L AS conflicts FROM {rows} WHERE false"
        return self._union([engine.rows(self._violated) for engine in self.engines], empty)

    @cached_property
    def groups(self) -> DataFrame:
        """(rule, group, column, value, rows, keys): how the groups that violate an FD or CFD are divided."""
        which = [i for i, outcome in enumerate(self.outcome.rules) if outcome.violating_groups]
        empty = (
            "SELECT '' AS rule, '' AS `group`, '' AS `column`, '' AS value, 0L AS `rows`, array(k) AS keys "
            "FROM {rows} WHERE false"
        )
        return self._union([self._sql.groups(which)], empty)

    @cached_property
    def _sql(self) -> SqlEngine:
        """The engine that lists groups, whichever counted them."""
        known = next((engine for engine in self.engines if isinstance(engine, SqlEngine)), None)
        return known or SqlEngine(self._scan, range(len(self.plan.rules)), self.outcome.limit)

    @cached_property
    def suspects(self) -> DataFrame:
        """(rule, key): the rows that would have to go; where those are unknown, all violating rows."""
        return self.suspects_of(self._violated)

    def suspects_of(self, which: Sequence[int]) -> DataFrame:
        """(rule, key): the suspects of these rules alone."""
        empty = "SELECT '' AS rule, k AS key FROM {rows} WHERE false"
        return self._union([engine.suspects(which) for engine in self.engines], empty)

    def split(self) -> tuple[DataFrame, DataFrame]:
        """(clean, quarantined): the table without its suspect rows, and those, with an array of the rules they break.

        The rules are those that count for the verdict. The clean rows hold all of them, up to rules whose suspects
        are unknown because their pairs were cut: of those all violating rows go.
        """
        names, rows = self._scan.table.frame.columns, self.whole_rows
        counted = [outcome.rule.name for outcome in self.outcome.rules if self.outcome.counts(outcome)]
        by_row = self.suspects.where(F.col("rule").isin(counted)).groupBy("key")
        broken = by_row.agg(F.sort_array(F.collect_set("rule")).alias(BROKEN_RULES))
        columns = [f"c{i}" for i in range(len(names))]
        clean = rows.join(broken, rows["k"] == broken["key"], "left_anti").select(*columns).toDF(*names)
        bad = rows.join(broken, rows["k"] == broken["key"]).select(*columns, BROKEN_RULES)
        return clean, bad.toDF(*names, BROKEN_RULES)

    @cached_property
    def whole_rows(self) -> DataFrame:
        """The scanned rows with all columns of the table; a second scan, unless the first kept them."""
        scan = self._scan
        return scan.rows if scan.whole else Scan(scan.spark, scan.table, self.plan, True, scan.hidden).rows

    @cached_property
    def suggestions(self) -> DataFrame:
        """(key, column, value, suggested, resolves, adds, rules, confidence, low, high): changes of one cell that would
        mend suspect rows, values as text, the best of each row; nothing is changed.

        `resolves` and `adds` count violations of all rules, `confidence` is from 0 to 1, and `low` and `high` are the
        interval where any value of one would do.
        """
        from holdfast.engines.spark.explaining.suggestions import suggested_changes  # which knows this class

        return suggested_changes(self)

    def explain(self, row: Any) -> RowExplanation:
        """Which rules the row with this key breaks, with which others, and which change of one cell would mend it."""
        from holdfast.engines.spark.explaining.suggestions import explained_row  # which knows this class

        with translate_spark_errors(self._scan.table):
            return redacted_explanation(explained_row(self, row), self._scan.hidden)

    @cached_property
    def detailed(self) -> CheckOutcome:
        """The outcome with, per violated rule, a witness in the table's own values and its worst rows."""
        violated = self._violated
        if not violated:
            return self.outcome
        with translate_spark_errors(self._scan.table):
            witnesses = {i: keys for engine in self.engines for i, keys in engine.witnesses(violated).items()}
            worst = {i: rows for engine in self.engines for i, rows in engine.worst(violated).items()}
            ends = [witnesses[i] for i in violated]
            values = self.values_of([key for pair in ends for key in pair if key is not None])
        rules = list(self.outcome.rules)
        for i, pair in zip(violated, ends, strict=True):
            worst_rows = tuple(WorstRow(plain(row.key), row.conflicts) for row in worst.get(i, ()))
            rules[i] = replace(rules[i], witness=self.witness(i, pair, values), worst=worst_rows)
        return redacted_outcome(replace(self.outcome, rules=tuple(rules)), self._scan.hidden)

    def summary(self) -> str:
        """The result as text, as `holdfast check` prints it."""
        return str(presentation("summary_text").summary_text(self.detailed))

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.detailed._repr_html_()

    @cached_property
    def shown(self) -> ShownCheck:
        """What a report shows: of each violated rule some violations in the table's own values, never all."""
        from holdfast.engines.spark.checking.shown_violations import shown_violations  # which knows this class

        with translate_spark_errors(self._scan.table):
            return redacted_check(shown_violations(self), self._scan.hidden)

    def to_html(self) -> str:
        """The report as one HTML page that needs nothing else, as `holdfast check --report` writes it."""
        return str(presentation("check_page").check_page(self.shown))

    def to_junit(self) -> str:
        """The result as JUnit XML, as `holdfast check --format junit` prints it."""
        return str(presentation("junit").junit_text(self.detailed))

    def to_sarif(self) -> str:
        """The result as SARIF, as `holdfast check --format sarif` prints it."""
        return str(presentation("sarif").sarif_text(self.detailed))

    def write_report(self, file: str | os.PathLike[str]) -> None:
        """Writes the report to the file, whole or not at all."""
        write_whole(file, self.to_html())

    def write_violations(self, folder: str) -> None:
        """Writes `pairs`, `rows` and `groups` as Parquet below the folder, replacing earlier results."""
        write_folders(dict(zip(VIOLATION_FOLDERS, (self.pairs, self.rows, self.groups), strict=True)), folder)

    def write_quarantine(self, folder: str) -> None:
        """Writes the `clean` and the `quarantined` rows as Parquet below the folder."""
        write_folders(dict(zip(QUARANTINE_FOLDERS, self.split(), strict=True)), folder)

    def write_suggestions(self, folder: str) -> int | None:
        """Writes `suggestions` as Parquet below the folder. Returns how many suspect rows were tried; None for all."""
        from holdfast.engines.spark.explaining.suggestions import may_be_cut, most_rows  # which knows this class

        write_folders(dict(zip(SUGGESTION_FOLDERS, (self.suggestions,), strict=True)), folder)
        return most_rows(self) if may_be_cut(self) else None

    def append_metrics(self, folder: str) -> None:
        """Adds a line for each rule to the Parquet table in the folder."""
        append_metrics(self._scan.spark, self.outcome, folder)

    def baseline(self) -> Baseline:
        """The suspect rows of this check, to be known to later ones."""
        from holdfast.engines.spark.checking.known_suspects import suspects_baseline  # which knows this class

        return suspects_baseline(self)

    def against(self, baseline: Baseline) -> CheckResult:
        """The same violations, with verdicts by the suspect rows that the baseline does not know."""
        from holdfast.engines.spark.checking.known_suspects import against_baseline  # which knows this class

        return against_baseline(self, baseline)

    def close(self) -> None:
        """Lets go of the persisted rows; the DataFrames of this result are then computed from the source again."""
        self._scan.close()
        for engine in (*self.engines, *([self._sql] if "_sql" in self.__dict__ else [])):
            engine.close()

    def __enter__(self) -> CheckResult:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _violated(self) -> list[int]:
        return [i for i, outcome in enumerate(self.outcome.rules) if outcome.violating_rows]

    def _union(self, frames: Sequence[DataFrame | None], empty: str) -> DataFrame:
        union = union_of(frames)
        return self._scan.spark.sql(empty, rows=self._scan.rows) if union is None else union

    def values_of(self, keys: Sequence[Any]) -> dict[Any, Row]:
        """The scanned rows that have these keys, by key as hashable() makes it."""
        rows = self._scan.rows
        schema = StructType([StructField("key", rows.schema["k"].dataType)])
        once_each = {hashable(key): key for key in keys}
        wanted = self._scan.spark.createDataFrame([(key,) for key in once_each.values()], schema)
        matching = rows.join(F.broadcast(wanted), rows["k"] == wanted["key"]).collect()
        return {hashable(row["k"]): row for row in matching}

    def witness(self, i: int, ends: tuple[Any, Any], values: dict[Any, Row]) -> Witness | None:
        """The pair, or the row alone, in the table's own values; None where it is not among them."""
        left, right = (values.get(hashable(key)) if key is not None else None for key in ends)
        if left is None:
            return None
        shown = self.outcome.rules[i].rule.body.columns
        places = {name: f"c{self.plan.schema.position(name)}" for name in shown}
        a = {name: left[place] for name, place in places.items()}
        b = {name: right[place] for name, place in places.items()} if right is not None else None
        return Witness(plain(ends[0]), a, plain(ends[1]), b, shown, _marked(self.outcome.rules[i], a, b))


@contextmanager
def translate_spark_errors(table: Table, doing: str = "checking") -> Iterator[None]:
    """Turns what Spark throws into an error in the user's terms; `doing` is what failed."""
    try:
        with query_log_off():
            yield
    except HoldfastError:
        raise
    except (PySparkException, Py4JJavaError) as problem:
        # What Spark finds wrong deep inside a job comes as the one or as the other.
        explained = explain_failure(problem, table)
        if explained is not None:
            raise explained from problem
        reason = str(problem).strip().splitlines()
        raise RunError(
            f"Spark failed while {doing} {table.name}: {reason[0] if reason else type(problem).__name__}",
            hint="run again with --verbose to see all that Spark says.",
        ) from problem


def _outcome(scan: Scan, i: int, summary: Summary, limit: int | None) -> RuleOutcome:
    rule = scan.plan.rules.rules[i]
    holds = rule_holds(
        rule,
        suspects=summary.suspects,
        violating_rows=summary.rows,
        pairs=summary.pairs,
        symmetric=is_symmetric(scan.plan.programs.programs[i]),
        rows=scan.in_scope(scan.plan.scope(i)),
    )
    cut = bool(summary.pairs and limit is not None and summary.pairs > limit)
    return RuleOutcome(rule, holds, summary.pairs, summary.rows, summary.suspects, summary.groups, pairs_cut=cut)


def _marked(outcome: RuleOutcome, left: dict[str, Any], right: dict[str, Any] | None) -> tuple[str, ...]:
    """The columns whose values break the rule."""
    dependency = as_dependency(outcome.rule.body)
    if isinstance(dependency, Key):
        return dependency.columns
    if isinstance(dependency, FD | CFD):
        if right is None:
            return dependency.right
        return tuple(c for c in dependency.right if left[c] != right[c])
    telling = {
        column.name
        for constraint in outcome.rule.body.denials
        for predicate in constraint.predicates
        if not (isinstance(predicate, Comparison) and predicate.same_column and predicate.allowed == EQ)
        for column in predicate.columns()
    }
    return tuple(name for name in outcome.rule.body.columns if name in telling) or outcome.rule.body.columns


def hashable(key: Any) -> Any:
    """The key as something that can stand in a dictionary."""
    if isinstance(key, list | tuple):
        return tuple(map(hashable, key))
    return bytes(key) if isinstance(key, bytearray) else key


def _digits(text: str | None, floating: bool) -> bytes | None:
    return None if text is None else digits_key(float(text) if floating else Decimal(text))
