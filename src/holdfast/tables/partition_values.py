"""Columns that are in the names of folders, such as `year=2024/`, and not in the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from holdfast.errors import SourceError
from holdfast.tables.arrow_arrays import arrow_array
from holdfast.tables.checked_columns import checked_column
from holdfast.tables.csv_types import CsvType, infer
from holdfast.tables.data_files import DataFiles

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def partition_columns(files: DataFiles) -> dict[Path, dict[str, pa.Scalar]]:
    """Returns the values in the names of the folders between what was named and each file, with Spark's types."""
    texts = {file: _values(_steps(file, files.roots)) for file in files.local}
    as_text = text_partitions(files.local)
    columns: dict[str, list[str]] = {}
    for values in texts.values():
        for column, value in values.items():
            columns.setdefault(column, []).append(value)
    typed: dict[str, Mapping[str, pa.Scalar]] = {
        column: _typed(column, sorted(set(values)), as_text=column in as_text) for column, values in columns.items()
    }
    return {
        file: {column: typed[column][values[column]] for column in columns if column in values}
        for file, values in texts.items()
    }


def text_partitions(files: Sequence[Path]) -> set[str]:
    """Returns the columns of which a folder's name has a value that is no number, such as one with leading zeros.

    Spark reads the folder `zip=0131` as the number 131.
    """
    values: dict[str, set[str]] = {}
    for file in files:
        for column, value in _values(file.parts[:-1]).items():
            values.setdefault(column, set()).add(value)
    return {column for column, texts in values.items() if infer(texts, (NO_VALUE,)).type.kind == "text"}


def _steps(file: Path, roots: Sequence[Path]) -> tuple[str, ...]:
    root = next((root for root in roots if root != file and file.is_relative_to(root)), None)
    return () if root is None else file.relative_to(root).parent.parts


def _values(steps: Sequence[str]) -> dict[str, str]:
    cut = (step.partition("=") for step in steps)
    return {unquote(column): unquote(value) for column, equals, value in cut if equals}


def _typed(name: str, texts: Sequence[str], *, as_text: bool) -> dict[str, pa.Scalar]:
    column = pa.chunked_array([arrow_array([None if text == NO_VALUE else text for text in texts], pa.string())])
    type = infer(texts, (NO_VALUE,)).type
    if not as_text and type.kind not in ("text", "boolean"):
        # Spark reads times in folders' names as times of the session's zone.
        zoned = type.kind in ("timestamp", "timestamp_ntz")
        column, unfit = checked_column(column, CsvType("timestamp", given=True) if zoned else type)
        if unfit is not None:
            raise SourceError(
                f"the name of a folder says {name}={unfit.value}, which is no {type.kind}, as its other values are.",
                hint="name such folders alike.",
            )
        if type.kind == "bigint" and all(-(2**31) <= int(text) < 2**31 for text in texts if text != NO_VALUE):
            column = column.cast(pa.int32())
    return {text: column[i] for i, text in enumerate(texts)}
