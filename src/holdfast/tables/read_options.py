"""How a source is read, and what is known of where its rows came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from holdfast.tables.csv_types import ColumnType


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
