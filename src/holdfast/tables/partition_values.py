"""Columns that are in the names of folders, such as `year=2024/`, and not in the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from holdfast.tables.csv_types import infer

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def folder_values(file: Path) -> dict[str, str]:
    """Returns the values in the names of the folders of a file, by column, in the order of the folders."""
    steps = (step.partition("=") for step in file.parts[:-1])
    return {unquote(column): unquote(value) for column, equals, value in steps if equals}


def text_partitions(files: Sequence[Path]) -> set[str]:
    """Returns the columns of which a folder's name has a value that is no number, such as one with leading zeros.

    Spark reads the folder `zip=0131` as the number 131.
    """
    values: dict[str, set[str]] = {}
    for file in files:
        for column, value in folder_values(file).items():
            values.setdefault(column, set()).add(value)
    return {column for column, texts in values.items() if infer(texts, (NO_VALUE,)).type.kind == "text"}
