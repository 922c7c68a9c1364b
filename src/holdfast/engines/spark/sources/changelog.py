"""The change feed of a table of a catalog that Spark has, by way of `spark.read.changes` (Spark 4.2 or newer)."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType

from holdfast.engines.spark.query_log import query_log_off
from holdfast.engines.spark.sources.data_files import root_cause
from holdfast.engines.spark.sources.sources import read_table
from holdfast.engines.states.changes import COMMIT_VERSION
from holdfast.errors import HoldfastError, SessionError, SourceError
from holdfast.tables.data_files import SPARK_TABLE

_OTHER_WAYS = (
    "a Delta table is followed by its folder, an Iceberg table as iceberg:catalog.db.table, and changes in files by "
    "the folder that they come to."
)


@dataclass(frozen=True)
class Changelog:
    """The changes that the catalog keeps of a table. `feed` is its name in states."""

    name: str
    feed: str

    def newest(self, spark: SparkSession, first: int, *, inclusive: bool) -> int | None:
        """Returns the newest version with changes, of those from `first` on, or after it; None where there is none.

        Raises SourceError where the catalog cannot say.
        """
        changes = self._opened(spark, first, None, inclusive=inclusive)
        if not isinstance(changes.schema[COMMIT_VERSION].dataType, IntegralType):
            raise SourceError(
                f"the catalog names the versions of the table {self.name} by text, and a state counts them by numbers.",
                hint="read its feed with spark.readStream.changes, and give that stream to holdfast.watch or evolve.",
            )
        try:
            with query_log_off():
                ends = changes.agg(F.max(COMMIT_VERSION)).first()
        except Exception as problem:
            raise self._unreadable(problem, first, inclusive=inclusive) from None
        return None if ends is None or ends[0] is None else int(ends[0])

    def changes(self, spark: SparkSession, first: int, last: int, *, inclusive: bool) -> DataFrame:
        """Returns the changes of the versions from `first` on, or after it, up to `last`."""
        return self._opened(spark, first, last, inclusive=inclusive)

    def _opened(self, spark: SparkSession, first: int, last: int | None, *, inclusive: bool) -> DataFrame:
        # Rows that a commit has only copied are left out by default (`deduplicationMode`).
        reader = spark.read.option("startingVersion", str(first)).option("startingBoundInclusive", inclusive)
        try:
            with query_log_off():
                changes = (reader if last is None else reader.option("endingVersion", str(last))).changes(self.name)
                changes.schema  # noqa: B018  with Connect this asks the catalog
        except Exception as problem:
            read_table(spark, SPARK_TABLE + self.name)  # where there is no such table, this says so
            raise self._unreadable(problem, first, inclusive=inclusive) from None
        return changes

    def _unreadable(self, problem: Exception, first: int, *, inclusive: bool) -> HoldfastError:
        text = str(problem)
        if "CHANGE_DATA_CAPTURE" in text:
            return SourceError(
                f"the catalog of the table {self.name} gives Spark no change feed, so that its changes cannot be "
                "followed.",
                hint=_OTHER_WAYS,
            )
        return SourceError(
            f"the changes of the table {self.name} {'from' if inclusive else 'after'} version {first} on cannot be "
            f"read: {root_cause(text)}.",
            hint="where its catalog no longer keeps them, make a new state of the table as it is now, and follow that "
            "with --from-version.",
        )


def open_changelog(spark: SparkSession, data: str) -> Changelog:
    """Returns the change feed of `spark:catalog.db.table`; nothing is read.

    Raises SessionError where this Spark has no change feeds, SourceNotFoundError where it has no such table.
    """
    name = data.removeprefix(SPARK_TABLE)
    if not hasattr(spark.read, "changes"):
        raise SessionError(
            f"{data} is followed by way of Spark's change feeds, which came with Spark 4.2, and this is Spark "
            f"{spark.version}.",
            hint=f"install a newer PySpark. Without it: {_OTHER_WAYS}",
        )
    return Changelog(name, f"spark-{_whole_name(spark, data)}")


def _whole_name(spark: SparkSession, data: str) -> str:
    """The table's name with its catalog and namespace, however it was written."""
    name = data.removeprefix(SPARK_TABLE)
    try:
        table = spark.catalog.getTable(name)
    except Exception:
        read_table(spark, data)
        return name
    return ".".join(part for part in (table.catalog, *(table.namespace or ()), table.name) if part)
