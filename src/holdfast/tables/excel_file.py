"""Excel workbooks as a table in this process: the first sheet, whose first row names the columns."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from holdfast.errors import OptionError, SourceError
from holdfast.tables.arrow_arrays import arrow_array
from holdfast.tables.data_files import DataFiles, in_row_order
from holdfast.tables.source_failures import ambiguous_columns

_MIDNIGHT = datetime.time()


def read_excel_files(files: DataFiles) -> tuple[pa.Table, tuple[str, ...]]:
    """Returns the rows of the first sheet of each workbook, and notes. Empty cells are null.

    A column of whole numbers, numbers, truth values, dates or times has that type; a mixture is text, as Python writes
    its values, and a note says so.
    """
    sheets = [_sheet(file) for file in in_row_order(files.local)]
    header = _header(sheets[0][0] if sheets[0] else [], files.name)
    columns: list[list[Any]] = [[] for _ in header]
    for file, sheet in zip(in_row_order(files.local), sheets, strict=True):
        if sheet and _header(sheet[0], file.name) != header:
            raise SourceError(
                f"{file.name} and {files.local[0].name} are read as one table, but their headers differ.",
                hint="give every file the same columns in the same order, or read them one by one.",
            )
        for number, row in enumerate(sheet[1:], start=2):
            if all(value is None for value in row):
                continue
            cells = [*row, *[None] * (len(header) - len(row))]
            if any(value is not None for value in cells[len(header) :]):
                raise SourceError(f"{file.name}, row {number} of the sheet, has more cells than the header has names.")
            for column, value in zip(columns, cells, strict=False):
                column.append(value)
    notes: list[str] = []
    arrays = [_column(name, values, notes) for name, values in zip(header, columns, strict=True)]
    return pa.table(arrays, names=header), tuple(notes)


def _sheet(file: Any) -> list[list[Any]]:
    try:
        import openpyxl
    except ImportError:
        raise OptionError(f"{file.name} is an Excel workbook: pip install openpyxl to read it.") from None
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        return [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    except Exception as error:  # openpyxl raises errors of zip, XML and its own
        raise SourceError(
            f"{file.name} is not an Excel workbook, or is damaged: {error}.", hint="save the sheet as CSV."
        ) from None


def _header(cells: Sequence[Any], name: str) -> list[str]:
    names = ["" if cell is None else str(cell) for cell in cells]
    while names and not names[-1].strip():
        names.pop()
    if not names:
        raise SourceError(f"{name} is empty: it has no header.", hint="the first row names the columns.")
    names = [cell if cell.strip() else f"_c{i}" for i, cell in enumerate(names)]
    twice = next((cell for i, cell in enumerate(names) if cell.lower() in {n.lower() for n in names[:i]}), None)
    if twice is not None:
        raise ambiguous_columns(name, twice)
    return names


def _column(name: str, values: Sequence[Any], notes: list[str]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool}:
        return arrow_array(values, pa.bool_() if kinds else pa.string())
    if kinds <= {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
        return arrow_array(values, pa.int64())
    if kinds <= {int, float}:
        return arrow_array([None if value is None else float(value) for value in values], pa.float64())
    if kinds <= {datetime.datetime, datetime.date}:
        if all(not isinstance(value, datetime.datetime) or value.time() == _MIDNIGHT for value in values):
            days = [value.date() if isinstance(value, datetime.datetime) else value for value in values]
            return arrow_array(days, pa.date32())
        return arrow_array(values, pa.timestamp("us"))
    if kinds != {str}:
        notes.append(f"column '{name}' mixes values of several types; kept as text")
    return arrow_array([None if value is None else str(value) for value in values], pa.string())
