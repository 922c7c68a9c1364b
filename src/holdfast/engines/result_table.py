"""A table of a result, whichever engine computes it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.engines.spark.sources.table import Frame


class ResultTable(ABC):
    """Rows that are computed when they are used, and given in the form that is asked for."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The names of the columns."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table."""

    @abstractmethod
    def to_spark(self) -> Frame:
        """The rows as a Spark DataFrame: what computes them on Spark, or a copy on the session there is."""

    @abstractmethod
    def count(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def write_parquet(self, folder: str) -> None:
        """Writes the rows as Parquet into a folder that is not there yet, or anew where that is remote."""

    def to_pandas(self) -> Any:
        """All rows as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """All rows as a Polars DataFrame."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each row as a dictionary."""
        for batch in self.to_arrow().to_batches():
            yield from batch.to_pylist()

    def show(self, rows: int = 20) -> None:
        """Prints the first rows."""
        from holdfast.presented import presentation

        print(presentation("table_text").table_text(self.columns, self._first(rows), self.count()))

    def _first(self, rows: int) -> list[dict[str, Any]]:
        first: list[dict[str, Any]] = self.to_arrow().slice(0, rows).to_pylist()
        return first

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.columns)})"


class ArrowResult(ResultTable):
    """Rows that this process computes, once."""

    def __init__(self, schema: pa.Schema, compute: Callable[[], pa.Table]) -> None:
        self._schema, self._compute = schema, compute

    @cached_property
    def _rows(self) -> pa.Table:
        return self._compute().cast(self._schema)

    @property
    def columns(self) -> list[str]:
        return list(self._schema.names)

    def to_arrow(self) -> pa.Table:
        return self._rows

    def to_spark(self) -> Frame:
        from holdfast.engines.spark.arrow_table import frame_of
        from holdfast.engines.spark.session import get_session

        return frame_of(get_session(), self._rows)

    def count(self) -> int:
        return int(self._rows.num_rows)

    def write_parquet(self, folder: str) -> None:
        import pyarrow.parquet as pq

        os.makedirs(folder)
        pq.write_table(self._rows, os.path.join(folder, "part-0.parquet"))
