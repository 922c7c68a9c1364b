"""A table whose rows are in this process."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from holdfast.encode.arrow_column_type import arrow_sql_type
from holdfast.tables.read_options import Origin


@dataclass(frozen=True)
class LocalTable:
    """The rows of a source as an Arrow table with the user's column names, and notes from opening it."""

    rows: pa.Table = field(repr=False)
    name: str
    notes: tuple[str, ...] = ()
    origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def place(self) -> str | None:
        """The path of its file, or of the folder of its files, below the current folder; None where it is elsewhere."""
        return None if self.origin is None else self.origin.place

    @property
    def sql_types(self) -> dict[str, str]:
        """The types of the columns, as Spark names them."""
        return {field.name: arrow_sql_type(field.type) for field in self.rows.schema}
