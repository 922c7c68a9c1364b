"""Opens Delta tables on the local file system, and explains failures in the user's terms."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampNTZType

from holdfast.errors import HoldfastError, SessionError, SourceError

_FEED = "delta.enableChangeDataFeed"
_FEED_FIELDS = (
    StructField("_change_type", StringType()),
    StructField("_commit_version", LongType()),
    StructField("_commit_timestamp", TimestampNTZType()),
)


@dataclass(frozen=True)
class DeltaTable:
    """A Delta table at its newest version when it was opened. `feed` is the name of its change feed in states."""

    path: str
    name: str
    version: int
    schema: StructType
    feed: str
    feed_enabled: bool

    def rows(self, spark: SparkSession) -> DataFrame:
        """Returns the rows at this version, which the workers read."""
        reader = spark.read.format(_registered(spark).DeltaRows.name()).schema(self.schema)
        return reader.options(path=self.path, version=self.version).load()

    def changes(self, spark: SparkSession, first: int, last: int) -> DataFrame:
        """Returns the changes of these versions, with the fields of a change feed."""
        reader = spark.read.format(_registered(spark).DeltaChanges.name()).schema(
            StructType([*self.schema.fields, *_FEED_FIELDS])
        )
        return reader.options(path=self.path, first=first, last=last).load()

    def commits(self, spark: SparkSession, after: int) -> DataFrame:
        """Returns a stream of the versions after version `after`."""
        return (
            spark.readStream.format(_registered(spark).DeltaCommits.name()).options(path=self.path, after=after).load()
        )


def _registered(spark: SparkSession) -> ModuleType:
    """The data sources for Delta tables, which the session knows then."""
    try:
        from holdfast.engines.spark.sources import delta_sources
    except ImportError:
        raise SessionError(
            f"Delta tables are read by data sources in Python, which PySpark {pyspark.__version__} does not have.",
            hint="install PySpark 4, or read the table with Spark's own Delta package: as spark:db.table.",
        ) from None
    delta_sources.register_delta(spark.dataSource)
    return delta_sources


def open_delta(data: str | os.PathLike[str]) -> DeltaTable:
    """Returns the Delta table at the path, at its newest version. Raises SourceError where it cannot be read."""
    path = Path(os.fspath(data)).expanduser().absolute()
    try:
        import deltalake
    except ImportError:
        raise SessionError(
            f"{path.name} is a Delta table, and the package that reads those, deltalake, is not installed.",
            hint="run `pip install 'holdfast[delta]'`.",
        ) from None
    try:
        table: Any = deltalake.DeltaTable(str(path))
        table.to_pyarrow_dataset()  # raises for what it cannot read: deletion vectors, mapped columns
        schema = StructType.fromJson(json.loads(table.schema().to_json()))
        configuration = table.metadata().configuration
    except Exception as problem:
        raise SourceError(
            f"{path.name} cannot be read as a Delta table: {_first_line(problem)}.",
            hint="what deltalake cannot read, Spark may with its own Delta package: as spark:db.table.",
        ) from None
    plain = StructType([StructField(field.name, field.dataType) for field in schema.fields])
    return DeltaTable(
        path=str(path),
        name=path.name,
        version=table.version(),
        schema=plain,
        feed=f"delta-{table.metadata().id}",
        feed_enabled=configuration.get(_FEED, "").lower() == "true",
    )


def require_feed(table: DeltaTable) -> None:
    """Raises SourceError where the table has no change feed."""
    if not table.feed_enabled:
        raise SourceError(
            f"the Delta table {table.name} keeps no change feed, so that its changes cannot be followed.",
            hint=f"set its property {_FEED} to true, make a new state of it as it is then, and follow that.",
        )


def delta_failure(text: str, name: str) -> HoldfastError | None:
    """Returns why a Delta table could not be read; None when the table is not the cause."""
    disabled = re.search(r"version: (\d+) that does not have change data enabled", text)
    if disabled is not None:
        return SourceError(
            f"{name}: version {disabled[1]} of the table was written before its change feed was enabled.",
            hint="make a new state of the table as it is now, and follow that.",
        )
    if re.search(r"deltalake|_internal\.|Object Store error|Parquet error", text) and "not found" in text.lower():
        return SourceError(
            f"{name}: files of these versions are gone from the Delta table; it was vacuumed, perhaps.",
            hint="make a new state of the table as it is now, and follow that.",
        )
    return None


def _first_line(problem: Exception) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0].rstrip(".")
