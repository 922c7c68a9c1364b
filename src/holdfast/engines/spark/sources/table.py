"""A table: its rows, its name, and its origin."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession

from holdfast.tables.read_options import Origin

# Other rooms use these names for a DataFrame and a session, and do not import pyspark.
Frame: TypeAlias = DataFrame
Session: TypeAlias = SparkSession


@dataclass(frozen=True)
class Table:
    """The rows of a source with the user's column names, and notes from opening it."""

    frame: DataFrame
    name: str
    notes: tuple[str, ...] = ()
    origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def place(self) -> str | None:
        """The path of its file, or of the folder of its files, below the current folder; None where it is elsewhere."""
        return None if self.origin is None else self.origin.place


def complaint_token(name: str) -> str:
    """Returns a mark for errors in the scan of this table, so that they are not explained by another table."""
    return format(zlib.crc32(name.encode()), "08x")
