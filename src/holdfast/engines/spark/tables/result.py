"""What a check of several tables found on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from holdfast.checking.annotated import DEFAULT_PARTNERS, require_annotatable
from holdfast.checking.outcome import CheckOutcome
from holdfast.checking.output_folders import BROKEN_RULES
from holdfast.checking.shown_check import ShownCheck
from holdfast.engines.local.tables.explain_task import ArrivedTable, TablesExplainTask, Wanted
from holdfast.engines.spark.checking.annotated import annotated_rows, both_ways, first_partners
from holdfast.engines.spark.checking.check import SparkCheckResult
from holdfast.engines.spark.checking.engine import union_of
from holdfast.engines.spark.checking.outputs import append_metrics
from holdfast.engines.spark.checking.scan import ONE_TASK_ROWS, Scan
from holdfast.engines.spark.explaining.suggestions import UTC, suggestion_fields
from holdfast.engines.spark.frame_result import FrameResult
from holdfast.engines.spark.tables.dangling import SparkDangling
from holdfast.engines.spark.tables.joined_scan import of_table
from holdfast.engines.spark.tables.struct_rows import answer_of, struct_rows
from holdfast.engines.tables.parts import InclusionRule, JoinedRules, OwnRules
from holdfast.engines.tables.result import TablesCheckResult
from holdfast.errors import ConditionError, HoldfastError, OptionError
from holdfast.explaining.explanation import RowExplanation
from holdfast.programs.condition import rule_condition
from holdfast.rules.rule import RuleSet


@dataclass(frozen=True)
class SparkOwn:
    """The rules of one table."""

    part: OwnRules
    table: str
    result: SparkCheckResult

    def close(self) -> None:
        self.result.close()


@dataclass(frozen=True)
class SparkJoined:
    """Rules that compare rows of two tables."""

    part: JoinedRules
    result: SparkCheckResult

    @property
    def tables(self) -> tuple[str, str]:
        return self.part.part.tables

    def close(self) -> None:
        self.result.close()


@dataclass(frozen=True)
class SparkInclusion:
    """An inclusion, and the rows that break it."""

    part: InclusionRule
    dangling: SparkDangling

    @property
    def table(self) -> str:
        return self.part.body.tables[0]

    @property
    def rows(self) -> DataFrame:
        """(rule, key, conflicts) of the rows."""
        return self.dangling.frame.select(
            F.lit(self.part.rule.name).alias("rule"),
            F.col("k").alias("key"),
            F.lit(0).cast("bigint").alias("conflicts"),
        )

    def close(self) -> None:
        self.dangling.close()


SparkPart: TypeAlias = SparkOwn | SparkJoined | SparkInclusion


class SparkTablesResult(TablesCheckResult):
    """What a check of several tables found on Spark; tables of violations are DataFrames that run when they are used.

    The scanned rows stay persisted until `close()`.
    """

    def __init__(
        self,
        outcome: CheckOutcome,
        rules: RuleSet,
        scans: Mapping[str, Scan],
        parts: Sequence[SparkPart],
        translated: Callable[[], AbstractContextManager[None]],
    ) -> None:
        super().__init__(outcome, [part.part for part in parts])
        self._scans, self._on_spark, self._translated = dict(scans), tuple(parts), translated
        self._rules = rules

    def close(self) -> None:
        for part in self._on_spark:
            part.close()
        for scan in self._scans.values():
            scan.close()

    @cached_property
    def detailed(self) -> CheckOutcome:
        with self._translated():
            return super().detailed

    @cached_property
    def shown(self) -> ShownCheck:
        with self._translated():
            return super().shown

    # Tables ----------------------------------------------------------------------------------------------------

    def _own_key_type(self, table: str) -> DataType:
        return self._scans[table].rows.schema["k"].dataType

    @cached_property
    def _key_type(self) -> DataType:
        kinds = [self._own_key_type(table) for table in self._scans]
        return kinds[0] if all(kind == kinds[0] for kind in kinds) else StringType()

    def _key(self, key: Column, table: str) -> Column:
        """A key of this table as the tables of the result have it."""
        kind = self._own_key_type(table)
        return key if kind == self._key_type else _key_text(key, kind)

    def _keys(self, table: str) -> Column:
        """The lists of keys of this table in a column `keys` as the tables of the result have them."""

        def key_of(key: Column) -> Column:
            return self._key(key, table)

        return F.transform("keys", key_of).alias("keys")

    @cached_property
    def pairs(self) -> FrameResult:
        frames: list[DataFrame] = []
        for part in self._on_spark:
            if isinstance(part, SparkInclusion):
                continue
            tables = (part.table, part.table) if isinstance(part, SparkOwn) else part.tables
            own = isinstance(part, SparkOwn)
            ends = [
                self._key(F.col(end) if own else of_table(end, at), tables[at]).alias(end)
                for at, end in enumerate(("left", "right"))
            ]
            named = [F.lit(table).alias(f"{end}_table") for table, end in zip(tables, ("left", "right"), strict=True)]
            frames.append(part.result.pairs.to_spark().select("rule", *ends, *named))
        text = StringType()
        columns: dict[str, DataType] = {"rule": text, "left": self._key_type, "right": self._key_type}
        return self._frame(frames, {**columns, "left_table": text, "right_table": text})

    @cached_property
    def rows(self) -> FrameResult:
        frames = [
            lines.select("rule", self._key(F.col("key"), table).alias("key"), "conflicts", F.lit(table).alias("table"))
            for table, lines in self._by_table(lambda result: result.rows.to_spark())
        ]
        columns: dict[str, DataType] = {"rule": StringType(), "key": self._key_type, "conflicts": LongType()}
        return self._frame(frames, {**columns, "table": StringType()})

    @cached_property
    def suspects(self) -> FrameResult:
        frames = [
            lines.select("rule", self._key(F.col("key"), table).alias("key"), F.lit(table).alias("table"))
            for table, lines in self._by_table(lambda result: result.suspects.to_spark())
        ]
        return self._frame(frames, {"rule": StringType(), "key": self._key_type, "table": StringType()})

    @cached_property
    def groups(self) -> FrameResult:
        frames: list[DataFrame] = []
        for part in self._on_spark:
            if isinstance(part, SparkOwn):
                groups = part.result.groups.to_spark()
            elif isinstance(part, SparkInclusion):
                groups = part.dangling.groups().select(F.lit(part.part.rule.name).alias("rule"), "*")
            else:
                continue
            table = F.lit(part.table).alias("table")
            frames.append(groups.select("rule", "group", "column", "value", "rows", self._keys(part.table), table))
        text = StringType()
        columns: dict[str, DataType] = {"rule": text, "group": text, "column": text, "value": text, "rows": LongType()}
        return self._frame(frames, {**columns, "keys": ArrayType(self._key_type), "table": text})

    def _by_table(self, lines_of: Callable[[SparkCheckResult], DataFrame]) -> Iterable[tuple[str, DataFrame]]:
        """(table, lines with the keys of its rows), of all parts."""
        for part in self._on_spark:
            if isinstance(part, SparkOwn):
                yield part.table, lines_of(part.result)
            elif isinstance(part, SparkInclusion):
                yield part.table, part.rows
            else:
                lines = lines_of(part.result)
                for at, table in enumerate(part.tables):
                    yield table, lines.where(F.col("key.t") == at).withColumn("key", of_table("key", at))

    def _frame(self, frames: Sequence[DataFrame], columns: Mapping[str, DataType]) -> FrameResult:
        union = union_of(frames)
        if union is None:
            fields = [StructField(name, kind) for name, kind in columns.items()]
            spark = next(iter(self._scans.values())).spark
            union = spark.createDataFrame([], StructType(fields))
        return FrameResult(union)

    def split(self) -> dict[str, tuple[FrameResult, FrameResult]]:
        lines = list(self._by_table(lambda result: result.suspects.to_spark()))
        return {
            name: self._split(scan, [own for table, own in lines if table == name])
            for name, scan in self._scans.items()
        }

    def _split(self, scan: Scan, suspects: Sequence[DataFrame]) -> tuple[FrameResult, FrameResult]:
        names = scan.table.frame.columns
        rows = _whole_rows(scan)
        columns = [f"c{i}" for i in range(len(names))]
        lines = union_of(own.select("rule", "key") for own in suspects)
        if lines is None:
            bad = rows.where("false").select(*columns, F.array(F.lit("")).alias(BROKEN_RULES))
            return FrameResult(rows.select(*columns).toDF(*names)), FrameResult(bad.toDF(*names, BROKEN_RULES))
        by_row = lines.where(F.col("rule").isin(self._counted_names)).groupBy("key")
        broken = by_row.agg(F.sort_array(F.collect_set("rule")).alias(BROKEN_RULES))
        clean = rows.join(broken, rows["k"] == broken["key"], "left_anti").select(*columns).toDF(*names)
        bad = rows.join(broken, rows["k"] == broken["key"]).select(*columns, BROKEN_RULES)
        return FrameResult(clean), FrameResult(bad.toDF(*names, BROKEN_RULES))

    def annotated(self, *, partners: int = DEFAULT_PARTNERS) -> dict[str, FrameResult]:
        for name, scan in self._scans.items():
            require_annotatable(name, scan.table.frame.columns, partners)
        lines = list(self._by_table(lambda result: result.rows.to_spark()))
        suspects = list(self._by_table(lambda result: result.suspects.to_spark()))
        meetings = list(self._partners_by_table(partners))

        def own(frames: Sequence[tuple[str, DataFrame]], name: str, *beside: str) -> DataFrame:
            """(rule, key, …): what the frames have of the table; without a line where no rule names it."""
            columns = ("rule", "key", *beside)
            rows = union_of(frame.select(*columns) for table, frame in frames if table == name)
            if rows is not None:
                return rows
            kinds = {
                "rule": StringType(),
                "key": self._own_key_type(name),
                "conflicts": LongType(),
                "place": IntegerType(),
            }
            empty = [StructField(c, kinds.get(c, self._key_type)) for c in columns]
            return self._scans[name].spark.createDataFrame([], StructType(empty))

        return {
            name: annotated_rows(
                _whole_rows(scan),
                scan.table.frame.columns,
                self.outcome.rules,
                own(lines, name, "conflicts"),
                own(suspects, name),
                own(meetings, name, "partner", "place"),
            )
            for name, scan in self._scans.items()
        }

    def _partners_by_table(self, most: int) -> Iterable[tuple[str, DataFrame]]:
        """(table, (rule, key, partner, place)): of the table's rows, by their own keys, the first partners."""

        def first(partners: DataFrame, other: str) -> DataFrame:
            return first_partners(partners, most).withColumn("partner", self._key(F.col("partner"), other))

        for part in self._on_spark:
            if isinstance(part, SparkOwn):
                yield part.table, first(both_ways(part.result.pairs.to_spark()), part.table)
            elif isinstance(part, SparkJoined):
                pairs, tables = part.result.pairs.to_spark(), part.tables
                ends = of_table("left", 0), of_table("right", 1)
                for at in range(2):
                    beside = pairs.select("rule", ends[at].alias("key"), ends[1 - at].alias("partner"))
                    yield tables[at], first(beside, tables[1 - at])

    def append_metrics(self, folder: str) -> None:
        append_metrics(next(iter(self._scans.values())).spark, self.outcome, folder)

    # Explaining ------------------------------------------------------------------------------------------------

    @cached_property
    def suggestions(self) -> FrameResult:
        schema = suggestion_fields(self._key_type).add("table", StringType())
        return FrameResult(self._arrived.coalesce(1).mapInArrow(self._task("suggestions"), schema))

    def explain(self, row: Any, *, table: str) -> RowExplanation:
        self.require_table(table)
        explanation: RowExplanation = self._answer(self._task("explanation", row=row, table=table))
        return replace(explanation, seconds=self.outcome.seconds + explanation.seconds)

    def tried_rows(self) -> int | None:
        most: int | None = self._answer(self._task("tried"))
        return most

    def _task(self, wanted: Wanted, **of_row: Any) -> TablesExplainTask:
        keys = {table.name: table.key for table in self.outcome.tables}
        tables = tuple(
            ArrivedTable(name, tuple(scan.table.frame.columns), keys[name], frozenset(scan.hidden))
            for name, scan in self._scans.items()
        )
        return TablesExplainTask(tables, self._rules, self.outcome.limit, wanted, **of_row)

    def _answer(self, task: TablesExplainTask) -> Any:
        """What the task has pickled; an error is raised."""
        with self._translated():
            answer = answer_of(self._arrived, task)
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    @cached_property
    def _arrived(self) -> DataFrame:
        """All rows of all tables, whole. OptionError where they are too many for one task, or where
        what they hold is read otherwise without Spark."""
        rows = sum(table.rows for table in self.outcome.tables)
        if rows > ONE_TASK_ROWS:
            raise _not_explained(f"one task of them holds {ONE_TASK_ROWS:,} rows, and the tables have {rows:,}")
        for rule in self._rules:
            try:
                rule_condition(rule)
            except ConditionError as problem:
                raise _not_explained(f"they are told without Spark SQL: {problem.message.removesuffix('.')}") from None
        kinds = {kind for scan in self._scans.values() for kind in scan.plan.schema.types.values()}
        zone = next(iter(self._scans.values())).spark.conf.get("spark.sql.session.timeZone")
        if any(kind.collated for kind in kinds):
            raise _not_explained("they compare text by its bytes, and a column has a collation")
        if zone not in UTC and any(kind.sql == "timestamp" for kind in kinds):
            raise _not_explained(f"they write times in UTC, and the session's zone is {zone}")
        wholes = {name: _whole_rows(scan) for name, scan in self._scans.items()}
        frames = [
            wholes[name].select("k", *(f"c{i}" for i in range(len(scan.table.frame.columns))))
            for name, scan in self._scans.items()
        ]
        return struct_rows(frames)


def _whole_rows(scan: Scan) -> DataFrame:
    """The scanned rows with all columns of their table; a second scan, unless the first kept them."""
    return scan.rows if scan.whole else Scan(scan.spark, scan.table, scan.plan, True, scan.hidden).rows


def _not_explained(why: str) -> OptionError:
    return OptionError(
        f"rows of several tables are not explained on Spark where {why}.",
        hint="say --engine local, which reads files and tables in memory.",
    )


def _key_text(key: Column, kind: DataType) -> Column:
    """A key as text; of several columns, their values with commas between."""
    if not isinstance(kind, StructType):
        return key.cast("string")
    return F.concat_ws(", ", *(key[field.name].cast("string") for field in kind.fields))
