"""Rules checked by kernels in one task over all rows: the quickest way for tables that fit one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, IntegerType, LongType, StringType, StructField, StructType

from holdfast.checking.outcome import Summary
from holdfast.checking.task import Mode, Task
from holdfast.programs.plan import Plan
from holdfast.programs.program import GroupProgram, Program, RowProgram
from holdfast.violations.evaluate import UNLIMITED
from holdfast.violations.witness import WorstRow


class KernelEngine:
    """The plan's programs, run in one task over all rows."""

    def __init__(
        self, spark: SparkSession, rows: DataFrame, plan: Plan, which: Sequence[int], limit: int | None
    ) -> None:
        self._spark, self._rows, self._plan, self._limit = spark, rows, plan, limit
        self.which = tuple(which)

    @cached_property
    def _found(self) -> dict[int, list[tuple[str, int, object, object]]]:
        found: dict[int, list[tuple[str, int, object, object]]] = {}
        for row in self._run("summary", self.which).collect():
            found.setdefault(row["i"], []).append((row["what"], row["n"], row["key"], row["other"]))
        return found

    @property
    def key_twice(self) -> tuple[object, int] | None:
        """A key that two rows have, and how many have it."""
        return next(((key, n) for what, n, key, _ in self._found.get(-1, ()) if what == "twice"), None)

    @cached_property
    def summaries(self) -> dict[int, Summary]:
        """The summary of every rule, from one job."""
        result = {}
        for i in self.which:
            found = self._found.get(i)
            if found is None:  # a task without rows says nothing
                result[i] = _nothing(self._plan.programs.programs[i])
                continue
            counts = {what: n for what, n, _, _ in found if what not in ("witness", "worst")}
            left, right = next(((key, other) for what, _, key, other in found if what == "witness"), (None, None))
            worst = tuple(WorstRow(key, n) for what, n, key, _ in found if what == "worst")
            suspects, groups = counts.get("suspects"), counts.get("groups")
            result[i] = Summary(counts.get("pairs"), counts["rows"], suspects, groups, left, right, worst)
        return result

    def limited(self, limit: int) -> KernelEngine:
        """The same engine, which lists at most so many pairs of each rule."""
        return KernelEngine(self._spark, self._rows, self._plan, self.which, limit)

    def pairs(self, which: Sequence[int]) -> DataFrame | None:
        """(rule, left, right), at most `limit` of each rule."""
        return self._named("pairs", which, lambda f: f.selectExpr("i", "key AS `left`", "other AS `right`"))

    def rows(self, which: Sequence[int]) -> DataFrame | None:
        """(rule, key, conflicts) of every violating row."""
        return self._named("rows", which, lambda f: f.selectExpr("i", "key", "n AS conflicts"))

    def suspects(self, which: Sequence[int]) -> DataFrame | None:
        """(rule, key) of the rows that would have to go; all violating rows where those are unknown."""
        return self._named("rows", which, lambda f: f.where("suspect").select("i", "key"))

    def close(self) -> None:
        """Nothing is kept."""

    def _named(self, mode: Mode, which: Sequence[int], shape: Callable[[DataFrame], DataFrame]) -> DataFrame | None:
        mine = [i for i in which if i in self.which]
        return with_rule_names(self._spark, self._plan, shape(self._run(mode, mine)), mine) if mine else None

    def _run(self, mode: Mode, which: Sequence[int]) -> DataFrame:
        programs = self._plan.programs
        task = Task(programs, tuple(which), mode, UNLIMITED if self._limit is None else self._limit)
        prepared = self._rows.selectExpr("k", *self._plan.form_columns()).coalesce(1)
        return prepared.mapInArrow(task, findings_schema(self._rows.schema["k"].dataType))


def with_rule_names(spark: SparkSession, plan: Plan, found: DataFrame, which: Sequence[int]) -> DataFrame:
    """The frame with its column `i` replaced by the rule's name in front."""
    names = spark.createDataFrame([(i, plan.rules.rules[i].name) for i in which], "i int, rule string")
    return found.join(F.broadcast(names), "i").select("rule", *[c for c in found.columns if c != "i"])


def findings_schema(key: DataType) -> StructType:
    """What tasks return, for keys of this type."""
    return StructType(
        [
            StructField("i", IntegerType()),
            StructField("what", StringType()),
            StructField("n", LongType()),
            StructField("m", LongType()),
            StructField("suspect", BooleanType()),
            StructField("key", key),
            StructField("other", key),
        ]
    )


def _nothing(program: Program) -> Summary:
    pairs = None if isinstance(program, RowProgram) else 0
    groups = 0 if isinstance(program, GroupProgram) and program.right else None
    return Summary(pairs, 0, 0, groups, worst=())
