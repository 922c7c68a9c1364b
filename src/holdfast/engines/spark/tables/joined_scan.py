"""The rows of two tables as one scan, from what their own scans yielded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from holdfast.engines.check_result import hashable
from holdfast.engines.spark.checking.scan import Scan
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.tables.plan import JoinedPlan
from holdfast.programs.compile import TABLE
from holdfast.rules.predicate import joint_name


class JoinedScan(Scan):
    """The rows of two scans together; a column of one table is null in the rows of the other.

    The key of a row is (t, a, b): which of both tables it is of, 0 or 1, and its key there, in `a` or in `b`. It names
    the rows of the first table before those of the second, and each table's in order.
    """

    def __init__(self, first: Scan, second: Scan, joined: JoinedPlan) -> None:
        self.spark, self.plan, self.whole = first.spark, joined.plan, True
        self.hidden = frozenset(
            joint_name(name, column)
            for name, scan in zip(joined.tables, (first, second), strict=True)
            for column in scan.hidden
            if joint_name(name, column) in joined.plan.schema.types
        )
        both = dict(zip(joined.tables, (first, second), strict=True))
        sides = [_side(at, both, joined) for at in range(2)]
        self.rows = sides[0].union(sides[1])
        self.reading_notes = ()
        self.table = Table(self.rows, " and ".join(joined.tables))

    def close(self) -> None:
        """Nothing is kept beside the rows of both scans."""


def _side(at: int, both: Mapping[str, Scan], joined: JoinedPlan) -> DataFrame:
    """The rows of one of the tables under the places that the plan has for the columns of both."""
    kinds: dict[str, tuple[str, Column, DataType]] = {}
    for name, scan in both.items():
        for place, column in enumerate(scan.plan.schema.types):
            if joint_name(name, column) in joined.plan.schema.types:
                kinds[joint_name(name, column)] = (name, F.col(f"c{place}"), scan.rows.schema[f"c{place}"].dataType)
    own = joined.tables[at]
    columns = []
    for place, column in enumerate(joined.plan.schema.types):
        if column == TABLE:
            value = F.lit(own)
        else:
            table, value, kind = kinds[column]
            value = value if table == own else F.lit(None).cast(kind)
        columns.append(value.alias(f"c{place}"))
    keys = [
        (F.col("k") if name == own else F.lit(None).cast(scan.rows.schema["k"].dataType)).alias(field)
        for field, (name, scan) in zip("ab", both.items(), strict=True)
    ]
    return both[own].rows.select(*columns, F.struct(F.lit(at).alias("t"), *keys).alias("k"))


def key_in_table(row: Any) -> tuple[int, Any]:
    """Which of both tables a row is of, and its key there."""
    at, *keys = hashable(row)
    return at, keys[at]


def of_table(key: str, at: int) -> Column:
    """The key, in its own table, of a row of both whose key is in this column."""
    return F.col(f"{key}.{'ab'[at]}")
