"""Which value of one cell would mend a row: candidates from the rules, each tried against the whole table."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, DoubleType, LongType, StringType, StructField, StructType

from holdfast.engines.check_result import plain_key
from holdfast.engines.spark.checking.kernel_engine import KernelEngine
from holdfast.engines.spark.checking.rows import reread_rows
from holdfast.engines.spark.checking.scan import ONE_TASK_ROWS
from holdfast.errors import OptionError
from holdfast.explaining import limits
from holdfast.explaining.explanation import BrokenRule, RowExplanation, Suggestion
from holdfast.explaining.limits import CHANGES_PER_ROW, OTHERS, TRIED_PER_ROW
from holdfast.explaining.mends import mend_queries
from holdfast.explaining.row_conflicts import RowConflicts, counted_in_one_pass
from holdfast.explaining.row_positions import key_parts
from holdfast.explaining.task import RowExplanationTask, SuggestTask
from holdfast.programs.sql_text import text_literal
from holdfast.violations.evaluate import UNLIMITED
from holdfast.violations.witness import WorstRow

if TYPE_CHECKING:
    from holdfast.engines.spark.checking.check import SparkCheckResult

# So few variants of rows are held against the table in one pass.
FEW = 50
UTC = ("UTC", "Etc/UTC", "GMT", "Z")


def suggested_changes(result: SparkCheckResult) -> DataFrame:
    """(key, column, value, suggested, resolves, adds, rules, confidence, low, high): of each suspect row, at most
    CHANGES_PER_ROW changes of one cell that resolve more violations than they add.

    `resolves` and `adds` count violations of all rules; `confidence` is the share of the row's violations that go, less
    those that come, times how much speaks for the value. Of very many suspect rows some are tried.
    """
    if _in_one_task(result):
        task = SuggestTask(result.plan, _pair_limit(result), most_rows(result))
        return _whole(result).mapInArrow(task, suggestion_fields(result.scanned.schema["k"].dataType))
    keys = result.suspects.to_spark().select("key").distinct()
    return Trial(result, keys.orderBy("key").limit(most_rows(result))).suggestions


def may_be_cut(result: SparkCheckResult) -> bool:
    """Whether there may be more suspect rows than are tried; a row that several rules suspect counts for each."""
    counts = (outcome.violating_rows if (n := outcome.suspect_rows) is None else n for outcome in result.outcome.rules)
    return sum(counts) > most_rows(result)


def most_rows(result: SparkCheckResult) -> int:
    """How many suspect rows are tried: the first, by key."""
    return limits.most_rows(result.plan, result.outcome.rows)


def explained_row(result: SparkCheckResult, row: Any) -> RowExplanation:
    """What is to be said of the row with this key. OptionError where there is none."""
    started = time.monotonic()
    if len(result.outcome.key) > 1:
        key_parts(row, result.outcome.key)
    explanation = _explained_in_one_task(result, row) if _in_one_task(result) else _explained_by_sql(result, row)
    if explanation is None:
        label = ", ".join(result.outcome.key) or "_row"
        raise OptionError(
            f"{result.outcome.table} has no row with {label} = {row!r}.",
            hint="name the row by its key, or without --key by its number, from 0.",
        )
    return replace(explanation, seconds=result.outcome.seconds + time.monotonic() - started)


def _in_one_task(result: SparkCheckResult) -> bool:
    """Whether one task can do it without Spark SQL: kernels ran there, and what it computes of values is Spark's own.

    Conditions may say more than is read without Spark, and times are written in the zone of the session.
    """
    plan, types = result.plan, result.plan.schema.types.values()
    if not isinstance(result.engines[0], KernelEngine) or plan.conditions:
        return False
    if any(kind.family == "other" or kind.collated for kind in types):
        return False
    zone = result.scanned.sparkSession.conf.get("spark.sql.session.timeZone")
    return zone in UTC or not any(kind.sql == "timestamp" for kind in types)


def _whole(result: SparkCheckResult) -> DataFrame:
    """The key and all columns of the rows, in one partition."""
    return result.whole_rows.select("k", *(f"c{i}" for i in range(len(result.plan.schema.types)))).coalesce(1)


def _pair_limit(result: SparkCheckResult) -> int:
    return UNLIMITED if result.outcome.limit is None else result.outcome.limit


def _explained_in_one_task(result: SparkCheckResult, row: Any) -> RowExplanation | None:
    task = RowExplanationTask(result.plan, _pair_limit(result), row, result.outcome.table)
    lines = _whole(result).mapInArrow(task, StructType([StructField("answer", BinaryType())])).collect()
    return pickle.loads(lines[0]["answer"]) if lines else None  # what the task above has pickled


def _explained_by_sql(result: SparkCheckResult, row: Any) -> RowExplanation | None:
    wanted = result.scanned.where(_named(result, row))
    trial = Trial(result, wanted.select(F.col("k").alias("key")))
    rows = trial.given.limit(2).collect()
    if not rows:
        return None
    names = result.plan.schema.types
    values = {name: rows[0][f"c{i}"] for i, name in enumerate(names)}
    broken = _broken(result, trial, rows[0]["k"])
    suggestions = [] if not broken else trial.suggestions.orderBy(F.desc("confidence"), "column", "suggested").collect()
    return RowExplanation(
        table=result.outcome.table,
        key=result.outcome.key_label,
        row=plain_key(rows[0]["k"]),
        values=values,
        rules=len(result.outcome.rules),
        broken=tuple(broken),
        suggestions=tuple(_suggestion(change, values) for change in suggestions),
        seconds=0.0,
    )


def _suggestion(change: Row, values: Mapping[str, Any]) -> Suggestion:
    fields = change.asDict()
    del fields["key"]
    return Suggestion(**fields | {"value": values[fields["column"]], "rules": tuple(fields["rules"])})


def _named(result: SparkCheckResult, row: Any) -> Column:
    """Whether a scanned row has this key: values, or their texts; of several columns a list, or texts with commas."""
    kind, names = result.scanned.schema["k"].dataType, result.outcome.key
    if len(names) <= 1:
        return F.col("k") == _typed(row, kind.simpleString())
    parts = key_parts(row, names)
    fields = zip(names, parts, kind.fields, strict=True)  # type: ignore[attr-defined]
    return reduce(
        Column.__and__,
        [F.col("k")[name] == _typed(part, field.dataType.simpleString()) for name, part, field in fields],
    )


def _typed(value: Any, kind: str) -> Column:
    return F.expr(f"try_cast({text_literal(value)} AS {kind})") if isinstance(value, str) else F.lit(value)


def _broken(result: SparkCheckResult, trial: Trial, row: Any) -> list[BrokenRule]:
    counted = {line["i"]: line["n"] for line in trial.before.collect()}
    if not counted:
        return []
    met = trial.met(OTHERS)
    ends = {i: pairs[0] for i, pairs in met.items()}
    values = result.values_of([key for pair in ends.values() for key in pair if key is not None])
    partners = {
        i: {text: key for pair in pairs for key in pair if key is not None and (text := _text(key)) != _text(row)}
        for i, pairs in met.items()
    }
    conflicts = _conflicts(result, partners)
    broken = []
    for i, violations in sorted(counted.items()):
        others = [WorstRow(plain_key(key), conflicts.get((i, text), 0)) for text, key in partners[i].items()]
        others.sort(key=lambda other: -other.conflicts)  # a stable sort: otherwise in order of their keys
        witness = result.witness(i, ends[i], values)
        broken.append(BrokenRule(result.plan.rules.rules[i], violations, witness, tuple(others)))
    return broken


def _text(key: Any) -> str:
    return repr(plain_key(key))


def _conflicts(result: SparkCheckResult, partners: dict[int, dict[str, Any]]) -> dict[tuple[int, str], int]:
    """How many violations of the rule each of these rows is in."""
    if not any(partners.values()):
        return {}
    place = {rule.name: i for i, rule in enumerate(result.plan.rules)}
    lines = [(result.plan.rules.rules[i].name, key) for i, keys in partners.items() for key in keys.values()]
    kind = result.scanned.schema["k"].dataType.simpleString()
    wanted = result.scanned.sparkSession.createDataFrame(lines, f"rule string, key {kind}")
    rows = result.rows.to_spark().join(F.broadcast(wanted), ["rule", "key"])
    return {(place[row["rule"]], _text(row["key"])): row["conflicts"] for row in rows.collect()}


@dataclass(frozen=True)
class Trial:
    """Rows to be mended, by key, among all rows that the check scanned; frames run when they are used.

    What is built on is cut off from how it came about: Spark would take longer to read queries over queries over
    queries than to run them.
    """

    result: SparkCheckResult
    keys: DataFrame

    @cached_property
    def _rows(self) -> DataFrame:
        rows = self.result.whole_rows
        # What is in one partition is grouped and joined where it is.
        return self._encoded(rows.coalesce(1) if self.result.outcome.rows <= ONE_TASK_ROWS else rows)

    @cached_property
    def given(self) -> DataFrame:
        """The rows as they are, whole, encoded."""
        keys = F.broadcast(self.keys.withColumnRenamed("key", "_hf_key"))
        rows = self.result.whole_rows.join(keys, F.col("k") == F.col("_hf_key"))
        return self._encoded(rows.drop("_hf_key")).coalesce(1).localCheckpoint()

    def _encoded(self, rows: DataFrame) -> DataFrame:
        return rows.selectExpr("*", *self.result.plan.form_columns())

    @cached_property
    def before(self) -> DataFrame:
        """(i, k, n): the violations of each rule that each row is in."""
        as_they_are = self.given.selectExpr("*", "0 AS place", "'' AS value")
        every = range(len(self.result.plan.rules))
        return self._counted(dict.fromkeys(every, as_they_are), as_they_are).select("i", "k", "n").localCheckpoint()

    def _counted(self, of_rule: Mapping[int, DataFrame], variants: DataFrame) -> DataFrame:
        """(i, k, place, value, n): the violations of each rule that some variants would be in, where any are.

        A few are all held against all rules; of many, each rule against those that matter to it.
        """
        if variants.count() <= FEW:
            counted = self._sql(counted_in_one_pass(self.result.plan.programs), variants=F.broadcast(variants))
        else:
            frames = [self._sql(self._conflicts(i).counted(), variants=rows) for i, rows in of_rule.items()]
            numbered = [frame.select(F.lit(i).alias("i"), "*") for i, frame in zip(of_rule, frames, strict=True)]
            counted = reduce(DataFrame.union, numbered)
        return counted.coalesce(1)

    def _after(self, candidates: DataFrame) -> DataFrame:
        """(i, k, place, value, n): the violations of each rule that each changed row would be in, where any are.

        A rule that does not speak of the changed column counts as it did before.
        """
        variants = self._variants(candidates)
        every = range(len(self.result.plan.rules))
        touched = {i: variants.where(F.col("place").isin(self._touching(i))) for i in every}
        return self._counted(touched, variants).localCheckpoint()

    @cached_property
    def broken(self) -> list[int]:
        """The rules that some of the rows break."""
        return sorted(row["i"] for row in self.before.select("i").distinct().collect())

    def met(self, most: int) -> dict[int, list[tuple[Any, Any]]]:
        """Some of the violations of each rule that the rows are in."""
        first = f"ORDER BY `left`, `right` LIMIT {most}"
        parts = [f"SELECT * FROM (SELECT {i} AS i, * FROM ({self._conflicts(i).met()}) {first})" for i in self.broken]
        by_rule: dict[int, list[tuple[Any, Any]]] = {}
        for row in self._sql(_union(parts)).collect():
            by_rule.setdefault(row["i"], []).append((row["left"], row["right"]))
        return by_rule

    @cached_property
    def _candidates(self) -> DataFrame | None:
        """(k, place, value, now, backing, low, high): the values that most speaks for, each once, none that is there;
        None where no rule has any."""
        plan = self.result.plan
        queries = {i: text for i in self.broken if (text := _union(mend_queries(plan, i)))}
        if not queries:
            return None
        # Bounds are set by rows without a fault.
        bounded = [i for i, text in queries.items() if "{sound}" in text]
        suspects = self.result.suspects_of(bounded).coalesce(1).localCheckpoint() if bounded else None
        frames = []
        for i, text in queries.items():
            sound = self._rows
            if suspects is not None and i in bounded:
                own = suspects.where(F.col("rule") == plan.rules.rules[i].name).select("key")
                sound = sound.join(F.broadcast(own), F.col("k") == F.col("key"), "left_anti")
            frames.append(self._sql(text, sound=sound))
        texts = F.array(*(F.col(f"c{i}").cast("string") for i in range(len(plan.schema.types))))
        there = self.given.select("k", texts.alias("texts"))
        best = F.max(F.struct("backing", "low", "high"))  # of those as well backed, one with an interval
        merged = reduce(DataFrame.union, frames).where("value IS NOT NULL").groupBy("k", "place", "value")
        new = merged.agg(best.alias("best")).join(there, "k").where("NOT (texts[place] <=> value)")
        ranked = F.struct(-F.col("best.backing"), "place", "value", F.expr("texts[place]"), "best.low", "best.high")
        first = F.slice(F.sort_array(F.collect_list(ranked)), 1, TRIED_PER_ROW)
        tried = new.groupBy("k").agg(first.alias("tried")).select("k", F.explode("tried").alias("one"))
        flat = tried.select("k", "one.*").toDF("k", "against", "place", "value", "now", "low", "high")
        return (
            flat.selectExpr("k", "place", "value", "now", "-against AS backing", "low", "high")
            .coalesce(1)
            .localCheckpoint()
        )

    @property
    def tried(self) -> int:
        """How many changes are tried."""
        return 0 if self._candidates is None else self._candidates.count()

    def _variants(self, candidates: DataFrame) -> DataFrame:
        """The rows with one cell changed, encoded: (k, place, value, c.., f.., b..)."""
        types = self.result.plan.schema.types
        changes = candidates.select(F.col("k").alias("_hf_k"), "place", "value")
        changed = self.given.select("k", *(f"c{i}" for i in range(len(types)))).join(
            changes, F.col("k") == F.col("_hf_k")
        )
        places = {row["place"] for row in candidates.select("place").distinct().collect()}
        cells = [
            f"IF(place = {i}, TRY_CAST(value AS {kind.sql}), c{i})" if i in places else f"c{i}"
            for i, kind in enumerate(types.values())
        ]
        extra = ("_hf_k", "_hf_place", "_hf_value")
        rows = changed.selectExpr(*cells, "k", "place", "value").toDF(*types, *extra)
        reread = reread_rows(rows, self.result.plan, extra)
        named = reread.withColumnsRenamed(dict(zip(extra, ("k", "place", "value"), strict=True)))
        return self._encoded(named).coalesce(1).localCheckpoint()

    @cached_property
    def suggestions(self) -> DataFrame:
        plan, spark, candidates = self.result.plan, self.result.scanned.sparkSession, self._candidates
        if candidates is None:
            return spark.createDataFrame([], suggestion_fields(self.result.scanned.schema["k"].dataType))
        touching = [(i, place, plan.rules.rules[i].name) for i in range(len(plan.rules)) for place in self._touching(i)]
        names = list(enumerate(plan.schema.types))
        return spark.sql(
            f"""
            WITH tried AS (
              SELECT c.*, t.i, t.rule, coalesce(b.n, 0L) AS before, coalesce(a.n, 0L) AS after
              FROM {{candidates}} c JOIN {{touching}} t ON c.place = t.place
              LEFT JOIN {{before}} b ON b.i = t.i AND b.k = c.k
              LEFT JOIN {{after}} a ON a.i = t.i AND a.k = c.k AND a.place = c.place AND a.value = c.value),
            weighed AS (
              SELECT k, place, value, first(now) AS now, first(backing) AS backing, first(low) AS low,
                first(high) AS high, sum(greatest(before - after, 0L)) AS resolves,
                sum(greatest(after - before, 0L)) AS adds,
                array_sort(array_compact(collect_list(IF(before > after, rule, NULL)))) AS rules
              FROM tried GROUP BY k, place, value),
            totals AS (SELECT k, sum(n) AS total FROM {{before}} GROUP BY k),
            ranked AS (
              SELECT w.*, n.name, CAST(backing * (resolves - adds) / total AS DOUBLE) AS confidence
              FROM weighed w JOIN totals t ON w.k = t.k JOIN {{names}} n ON n.place = w.place WHERE resolves > adds)
            SELECT k AS key, name AS `column`, now AS value, value AS suggested, resolves, adds, rules, confidence, low,
              high
            FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY confidence DESC, place, value) AS nr FROM ranked)
            WHERE nr <= {CHANGES_PER_ROW}
            """,
            candidates=candidates,
            touching=spark.createDataFrame(touching, "i int, place int, rule string"),
            before=self.before,
            after=self._after(candidates),
            names=spark.createDataFrame(names, "place int, name string"),
        )

    def _touching(self, i: int) -> list[int]:
        """The columns whose values matter to the rule; what a condition reads is not known."""
        rule, schema = self.result.plan.rules.rules[i], self.result.plan.schema
        if rule.where is not None:
            return list(range(len(schema.types)))
        return sorted({schema.position(name) for name in rule.body.columns})

    def _conflicts(self, i: int) -> RowConflicts:
        return RowConflicts.of(self.result.plan.programs, i)

    def _sql(self, text: str, **frames: DataFrame) -> DataFrame:
        known = {"given": self.given, "rows": self._rows, **frames}
        named = {name: frame for name, frame in known.items() if f"{{{name}}}" in text}
        return self.result.scanned.sparkSession.sql(text, None, **named)


def _union(parts: Sequence[str]) -> str:
    return "\nUNION ALL\n".join(parts)


def suggestion_fields(key: DataType) -> StructType:
    """The columns of suggestions for rows whose keys are of this type."""
    text, number = StringType(), LongType()
    rest: dict[str, DataType] = {"column": text, "value": text, "suggested": text, "resolves": number, "adds": number}
    rest |= {"rules": ArrayType(text), "confidence": DoubleType(), "low": text, "high": text}
    return StructType([StructField(name, kind) for name, kind in {"key": key, **rest}.items()])
