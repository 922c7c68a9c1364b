"""A table that was read: its rows, its name, and where they came from."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from holdfast.spark.csv_types import ColumnType

# What the rooms after this one call a Spark table and its session; they do not import pyspark.
Frame: TypeAlias = DataFrame
Session: TypeAlias = SparkSession


@dataclass(frozen=True)
class ReadOptions:
    """How to read a source where it does not say so itself. Formats: csv, parquet, json, orc."""

    types: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    null_values: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    multiline: bool | None = None
    input_format: str | None = None


@dataclass(frozen=True)
class CsvLayout:
    """How a CSV source's text is cut into fields. `encoding` is Python's name of it."""

    delimiter: str
    encoding: str
    multiline: bool


@dataclass(frozen=True)
class Origin:
    """What explain_failure() needs to find the place in the source that an error is about.

    `feed` names the feed of changes that goes on where the table ends, and its last number that the table has.
    """

    kind: Literal["csv", "parquet", "json", "orc", "delta", "table", "jdbc"]
    columns: tuple[str, ...] = ()
    types: tuple[ColumnType | None, ...] = ()
    local: tuple[Path, ...] = ()
    remote: tuple[str, ...] = ()
    layout: CsvLayout | None = None
    feed: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Table:
    """Rows of a source with the user's own column names, and what was noticed while opening it."""

    frame: DataFrame
    name: str
    notes: tuple[str, ...] = ()
    origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def place(self) -> str | None:
        """Its file, or the folder of its files, as seen from the folder in which the process runs; None elsewhere."""
        files = self.origin.local if self.origin is not None else ()
        whole = os.path.commonpath([os.path.abspath(file) for file in files]) if files else ""
        here = os.getcwd()
        return Path(whole).relative_to(here).as_posix() if whole.startswith(here + os.sep) else None


def complaint_token(name: str) -> str:
    """Marks errors that a table's own scan raises, so that no other table explains them."""
    return format(zlib.crc32(name.encode()), "08x")
