"""Rules checked by kernels in one task over all rows: the quickest way for tables that fit one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, DataType, IntegerType, LongType, StringType, StructField, StructType

from holdfast.checking.outcome import Summary
from holdfast.checking.task import Mode, Task
from holdfast.engines.spark.checking.engine import CheckEngine
from holdfast.programs.program import GroupProgram, Program, RowProgram
from holdfast.violations.evaluate import UNLIMITED
from holdfast.violations.witness import WorstRow


class KernelEngine(CheckEngine):
    """The plan's programs, run in one task over all rows."""

    finds_duplicate_keys = True

    @cached_property
    def _found(self) -> dict[int, list[tuple[str, int, object, object]]]:
        lines: dict[int, list[tuple[str, int, object, object]]] = {}
        for row in self._run("summary", self.which).collect():
            lines.setdefault(row["i"], []).append((row["what"], row["n"], row["key"], row["other"]))
        return lines

    @property
    def duplicate_key(self) -> tuple[object, int] | None:
        return next(((key, n) for what, n, key, _ in self._found.get(-1, ()) if what == "twice"), None)

    @cached_property
    def summaries(self) -> dict[int, Summary]:
        result = {}
        for i in self.which:
            lines = self._found.get(i)
            if lines is None:  # a task without rows says nothing
                result[i] = _nothing(self._plan.programs.programs[i])
                continue
            counts = {what: n for what, n, _, _ in lines if what not in ("witness", "worst")}
            left, right = next(((key, other) for what, _, key, other in lines if what == "witness"), (None, None))
            worst = tuple(WorstRow(key, n) for what, n, key, _ in lines if what == "worst")
            suspects, groups = counts.get("suspects"), counts.get("groups")
            result[i] = Summary(counts.get("pairs"), counts["rows"], suspects, groups, left, right, worst)
        return result

    def pairs(self, which: Sequence[int]) -> DataFrame | None:
        return self._told("pairs", which, lambda f: f.selectExpr("i", "key AS `left`", "other AS `right`"))

    def rows(self, which: Sequence[int]) -> DataFrame | None:
        return self._told("rows", which, lambda f: f.selectExpr("i", "key", "n AS conflicts"))

    def suspects(self, which: Sequence[int]) -> DataFrame | None:
        return self._told("rows", which, lambda f: f.where("suspect").select("i", "key"))

    def _told(self, mode: Mode, which: Sequence[int], shape: Callable[[DataFrame], DataFrame]) -> DataFrame | None:
        own = self._own(which)
        return self._named(shape(self._run(mode, own)), own) if own else None

    def _run(self, mode: Mode, which: Sequence[int]) -> DataFrame:
        programs = self._plan.programs
        task = Task(programs, tuple(which), mode, UNLIMITED if self._limit is None else self._limit)
        prepared = self._rows.selectExpr("k", *self._plan.form_columns()).coalesce(1)
        return prepared.mapInArrow(task, findings_schema(self._rows.schema["k"].dataType))


def findings_schema(key: DataType) -> StructType:
    """What tasks return, for keys of this type."""
    kinds: dict[str, DataType] = {"i": IntegerType(), "what": StringType(), "n": LongType(), "m": LongType()}
    kinds |= {"suspect": BooleanType(), "key": key, "other": key}
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


def _nothing(program: Program) -> Summary:
    pairs = None if isinstance(program, RowProgram) else 0
    groups = 0 if isinstance(program, GroupProgram) and program.right else None
    return Summary(pairs, 0, 0, groups, worst=())
