"""A table that was read: its rows, its name, and where they came from."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession

from holdfast.tables.read_options import Origin

# What the rooms after this one call a Spark table and its session; they do not import pyspark.
Frame: TypeAlias = DataFrame
Session: TypeAlias = SparkSession


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
