"""What the ways of checking rules on Spark have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar, Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from holdfast.checking.outcome import Summary
from holdfast.engines.spark.checking.scan import Scan
from holdfast.programs.sql_text import text_literal
from holdfast.violations.witness import WorstRow


class CheckEngine(ABC):
    """Checks the rules at the positions `which` on the rows of a scan. Frames run when they are used.

    Methods that take positions speak of those among them that the engine is responsible for.
    """

    # Whether the engine notices a key that two rows have while it counts.
    finds_duplicate_keys: ClassVar[bool] = False

    def __init__(self, scan: Scan, which: Sequence[int], limit: int | None) -> None:
        self._scan, self._limit, self.which = scan, limit, tuple(which)
        self._spark, self._plan, self._rows = scan.spark, scan.plan, scan.rows

    def limited(self, limit: int) -> Self:
        """The same engine, which lists at most so many pairs of each rule."""
        return type(self)(self._scan, self.which, limit)

    def _own(self, which: Sequence[int]) -> list[int]:
        return [i for i in which if i in self.which]

    def _may_list(self, pairs: int | None) -> bool:
        return self._limit is None or (pairs or 0) <= self._limit

    def _rule_name(self, i: int) -> str:
        return self._plan.rules.rules[i].name

    def _named(self, frame: DataFrame, which: Sequence[int]) -> DataFrame:
        """The lines of these rules, with their column `i` replaced by the rule's name in front."""
        # A literal: a frame of names would be one more job in every query.
        names = ", ".join(f"{i}, {text_literal(self._rule_name(i))}" for i in which)
        others = [F.col(f"`{name}`") for name in frame.columns if name != "i"]
        return frame.where(F.col("i").isin(list(which))).select(
            F.expr(f"element_at(map({names}), i)").alias("rule"), *others
        )

    @property
    def duplicate_key(self) -> tuple[object, int] | None:
        """A key that several rows have, and how many have it; None where there is none, or nobody looked."""
        return None

    @property
    @abstractmethod
    def summaries(self) -> Mapping[int, Summary]:
        """The summary of every rule."""

    @abstractmethod
    def pairs(self, which: Sequence[int]) -> DataFrame | None:
        """(rule, left, right), at most `limit` of each rule; None where no rule has any."""

    @abstractmethod
    def rows(self, which: Sequence[int]) -> DataFrame | None:
        """(rule, key, conflicts) of every violating row."""

    @abstractmethod
    def suspects(self, which: Sequence[int]) -> DataFrame | None:
        """(rule, key) of the rows that would have to go; all violating rows where those are unknown."""

    def witnesses(self, which: Sequence[int]) -> dict[int, tuple[Any, Any]]:
        """The keys of a pair in conflict, or of a row that breaks the rule alone."""
        return {i: (self.summaries[i].left, self.summaries[i].right) for i in self._own(which)}

    def worst(self, which: Sequence[int]) -> dict[int, tuple[WorstRow, ...]]:
        """The rows in most violating pairs of each rule."""
        return {i: self.summaries[i].worst or () for i in self._own(which)}

    def close(self) -> None:  # noqa: B027 (most engines keep nothing)
        """Lets go of what is persisted."""


def union_of(frames: Iterable[DataFrame | None]) -> DataFrame | None:
    """The rows of all frames; None where there is no frame."""
    present = [frame for frame in frames if frame is not None]
    return reduce(DataFrame.union, present) if present else None
