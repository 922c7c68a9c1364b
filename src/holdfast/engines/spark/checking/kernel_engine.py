"""Rules checked by kernels in one task over all rows: the quickest way for tables that fit one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, DataType, IntegerType, LongType, StringType, StructField, StructType

from holdfast.checking.outcome import Summary
from holdfast.checking.task import Mode, Task, summaries
from holdfast.engines.spark.checking.engine import CheckEngine
from holdfast.violations.evaluate import UNLIMITED


class KernelEngine(CheckEngine):
    """The plan's programs, run in one task over all rows."""

    finds_duplicate_keys = True

    @cached_property
    def _summaries(self) -> tuple[dict[int, Summary], tuple[object, int] | None]:
        lines = self._run("summary", self.which).select("i", "what", "n", "key", "other").collect()
        return summaries(map(tuple, lines), self._plan.programs, self.which)

    @property
    def duplicate_key(self) -> tuple[object, int] | None:
        return self._summaries[1]

    @property
    def summaries(self) -> dict[int, Summary]:
        return self._summaries[0]

    def pairs(self, which: Sequence[int]) -> DataFrame | None:
        return self._listed("pairs", which, lambda f: f.selectExpr("i", "key AS `left`", "other AS `right`"))

    def rows(self, which: Sequence[int]) -> DataFrame | None:
        return self._listed("rows", which, lambda f: f.selectExpr("i", "key", "n AS conflicts"))

    def suspects(self, which: Sequence[int]) -> DataFrame | None:
        return self._listed("rows", which, lambda f: f.where("suspect").select("i", "key"))

    def _listed(self, mode: Mode, which: Sequence[int], shape: Callable[[DataFrame], DataFrame]) -> DataFrame | None:
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
