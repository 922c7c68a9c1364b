"""One of several tables before it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from holdfast.tables.read_options import ReadOptions


@dataclass(frozen=True)
class TableSource:
    """Where the rows of one of several tables are, how they are read, and the columns that name them.

    With a condition `where`, the table is what satisfies it.
    """

    data: Any
    key: tuple[str, ...] = ()
    options: ReadOptions = field(default_factory=ReadOptions)
    where: str | None = None
