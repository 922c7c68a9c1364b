"""The rows of a check, scanned once: persisted, named by their key, and counted."""

from __future__ import annotations

from functools import cached_property

from pyspark.sql import DataFrame, Row, SparkSession

from holdfast.engines.check_result import key_missing, key_twice
from holdfast.engines.spark.checking.rows import keyed, numbered, select_rows
from holdfast.engines.spark.kept import NOTE, KeptFrame, kept_plainly
from holdfast.engines.spark.sources.table import Table
from holdfast.programs.plan import Plan

# Up to here one task is quicker than the shuffles that several would need.
ONE_TASK_ROWS = 1_000_000
_BITS_PER_KEY = 64


class Scan:
    """The rows of one scan, named, and what is known of them.

    Keeps the columns that the plan needs, or with `whole` all of them; persisted, so that it happens once, where Spark
    does that.
    """

    def __init__(
        self, spark: SparkSession, table: Table, plan: Plan, whole: bool, hidden: frozenset[str] = frozenset()
    ) -> None:
        self.spark, self.table, self.plan, self.whole, self.hidden = spark, table, plan, whole, hidden
        # Keys are added to what is persisted, not persisted with it: Spark 4.3 does not find a persisted frame again
        # in SQL over that very frame, only in SQL over something made from it.
        self._kept = KeptFrame(select_rows(table.frame, plan, all_columns=whole))
        self.reading_notes: tuple[str, ...] = () if self._kept.is_kept else (NOTE,)
        with kept_plainly(spark):
            self.rows: DataFrame = keyed(self._kept.frame, plan) if plan.key else numbered(spark, self._kept.frame)

    @cached_property
    def _facts(self) -> Row:
        parts = [f"c{self.plan.schema.position(name)} IS NULL" for name in self.plan.key]
        missing = f", count_if({' OR '.join(parts)}) AS missing" if parts else ""
        scopes = "".join(f", count_if(w{i}) AS w{i}" for i in range(len(self.plan.conditions)))
        gone = "".join(f", count_if({self._vanishes(i)}) AS v{i}" for i in range(len(self.plan.vanishing)))
        with kept_plainly(self.spark):
            return self._first_row(f"SELECT count(*) AS n{missing}{scopes}{gone} FROM {{rows}}")

    def _vanishes(self, i: int) -> str:
        vanishing = self.plan.vanishing[i]
        scope = self.plan.scope(vanishing.rule)
        return vanishing.sql if scope is None else f"{scope} AND {vanishing.sql}"

    def _first_row(self, sql: str) -> Row:
        row = self.spark.sql(sql, rows=self.rows).first()
        assert row is not None, "an aggregate has one row"
        return row

    @property
    def count(self) -> int:
        return int(self._facts["n"])

    def in_scope(self, scope: str | None) -> int:
        """How many rows a rule with this condition speaks of."""
        return int(self._facts[scope]) if scope else self.count

    @property
    def vanished(self) -> list[str]:
        """Of expressions that are null though their columns have values, in how many rows, in words."""
        names = [rule.name for rule in self.plan.rules]
        counts = [(vanishing, int(self._facts[f"v{i}"])) for i, vanishing in enumerate(self.plan.vanishing)]
        return [vanishing.note(names[vanishing.rule], many) for vanishing, many in counts if many]

    @property
    def key_missing(self) -> str | None:
        """That the key is null somewhere, in words."""
        return key_missing(self.plan.key, self._facts["missing"] if self.plan.key else 0)

    @cached_property
    def duplicate_key(self) -> str | None:
        """Returns, in words, that a key occurs twice; None where none does. Spark computes it, once."""
        if not self.plan.key or self._numbers_once_each:
            return None
        same = "SELECT k, count(*) AS c FROM {rows} GROUP BY k HAVING count(*) > 1"
        duplicate = self._first_row(f"SELECT min(named_struct('k', k, 'c', c)) AS d FROM ({same})")["d"]
        return self.duplicate_key_text(None if duplicate is None else (duplicate["k"], duplicate["c"]))

    @property
    def _numbers_once_each(self) -> bool:
        """Whether the keys are whole numbers that are all different; false also where that is not cheaply seen."""
        if len(self.plan.key) > 1 or self.plan.schema.types[self.plan.key[0]].family != "integer" or not self.count:
            return False
        low, high = self._first_row("SELECT CAST(min(k) AS BIGINT), CAST(max(k) AS BIGINT) FROM {rows}")
        if low is None or high - low > _BITS_PER_KEY * self.count:
            return False
        # A bit per number: a few bytes per row, where grouping would move every key.
        place = f"CAST(k AS BIGINT) - ({low}L)" if low > -(2**63) else "CAST(k AS BIGINT)"
        bits = (
            f"SELECT bitmap_construct_agg(bitmap_bit_position({place})) AS b FROM {{rows}} "
            f"GROUP BY bitmap_bucket_number({place})"
        )
        return bool(self._first_row(f"SELECT sum(bitmap_count(b)) AS n FROM ({bits})")["n"] == self.count)

    def duplicate_key_text(self, duplicate: tuple[object, int] | None) -> str | None:
        return key_twice(self.plan.key, duplicate, self.hidden)

    def close(self) -> None:
        self._kept.close()
