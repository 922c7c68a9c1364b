"""How a source is read, and what is known of where its rows came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from holdfast.tables.csv_types import CsvType


@dataclass(frozen=True, kw_only=True)
class CsvSampleLimits:
    """How much of CSV files is read before a scan: of at most `files` files the head, up to `head_rows` rows and
    `head_bytes` bytes, and `blocks` blocks of `block_bytes` further on.

    A compressed file can only be read from its start: looking further into it than `compressed_reach` costs time.
    """

    files: int = 16
    head_rows: int = 4_000
    head_bytes: int = 1 << 20
    blocks: int = 16
    block_bytes: int = 1 << 16
    compressed_reach: int = 16 << 20


DEFAULT_SAMPLE = CsvSampleLimits()


@dataclass(frozen=True)
class ReadOptions:
    """How to read a source where it does not say so itself. Formats: csv, parquet, json, orc, arrow, excel."""

    types: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    null_values: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    multiline: bool | None = None
    input_format: str | None = None
    sample: CsvSampleLimits = field(default=DEFAULT_SAMPLE, repr=False)


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

    kind: Literal["csv", "parquet", "json", "orc", "arrow", "excel", "delta", "iceberg", "table", "jdbc"]
    columns: tuple[str, ...] = ()
    types: tuple[CsvType | None, ...] = ()
    local: tuple[Path, ...] = ()
    remote: tuple[str, ...] = ()
    layout: CsvLayout | None = None
    feed: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def place(self) -> str | None:
        """The path of its file, or of the folder of its files, below the current folder; None where it is elsewhere."""
        whole = os.path.commonpath([os.path.abspath(file) for file in self.local]) if self.local else ""
        here = os.getcwd()
        return Path(whole).relative_to(here).as_posix() if whole.startswith(here + os.sep) else None
