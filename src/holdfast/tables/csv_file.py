"""CSV files as a table in this process, with the types that a sample shows; values, notes and errors are Spark's."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from holdfast.errors import HoldfastError
from holdfast.tables.arrow_arrays import arrow_array
from holdfast.tables.checked_columns import Unfit, arrow_type, checked_column, checked_text
from holdfast.tables.csv_fields import csv_rows
from holdfast.tables.csv_plan import CsvPlan, csv_charset, csv_delimiter, plan_csv, python_encoding
from holdfast.tables.csv_sample import find_bad_bytes, not_utf8, open_file, sample_files
from holdfast.tables.csv_types import CsvType
from holdfast.tables.data_files import DataFiles, in_row_order
from holdfast.tables.local_table import LocalTable
from holdfast.tables.read_options import CsvLayout, Origin, ReadOptions
from holdfast.tables.source_failures import MOST_SHOWN, damaged_file, ragged_row, unfit_value, unreadable_file

_BLOCK = 1 << 20
_ROWS_OF_CHUNK = 1 << 16
_LARGEST_BLOCK = (1 << 31) - 1
_QUOTE, _LINE_FEED, _RETURN = b'"\n\r'
_BOM = b"\xef\xbb\xbf"
_REPLACEMENT = "\ufffd".encode()


@dataclass(frozen=True)
class _Text:
    """The rows of a file as columns of text, up to a row with too few or too many fields, if it has such a row."""

    columns: tuple[pa.ChunkedArray, ...]
    ragged: bool = False


def read_csv_files(files: DataFiles, options: ReadOptions) -> LocalTable:
    """Returns the table of CSV files with one header. Raises SourceError for the first row that is wrong.

    Cost: Arrow's parser on all cores, and one pass per column; a file with quotes in odd places is cut by Python.
    """
    charset = csv_charset(options.encoding)
    encoding = python_encoding(options)
    try:
        sample = sample_files(
            files.local, delimiter=csv_delimiter(files, options), encoding=encoding, limits=options.sample
        )
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable_file(files.name, error) from None
    plan = plan_csv(sample, files, options, charset=charset, case_sensitive=False)
    origin = Origin("csv", columns=plan.names, types=plan.types, local=files.local, layout=plan.layout)
    parts = [_read_file(file, plan, origin, files.name, options) for file in in_row_order(files.local)]
    schema = pa.schema([pa.field(f"c{i}", arrow_type(type)) for i, type in enumerate(plan.types)])
    rows = pa.concat_tables([pa.table(list(columns), schema=schema) for columns in parts])
    return LocalTable(rows.rename_columns(list(plan.names)), files.name, files.notes + plan.notes, origin)


def _read_file(
    file: Path, plan: CsvPlan, origin: Origin, name: str, options: ReadOptions
) -> tuple[pa.ChunkedArray, ...]:
    check_bytes = options.encoding is None
    data = _unpacked(file)
    if not check_bytes and plan.layout.encoding not in ("utf-8", "utf-8-sig"):
        data = data.decode(plan.layout.encoding, errors="replace").encode()
    data = data.removeprefix(_BOM)
    doubtful = _REPLACEMENT in data
    if not _is_utf8(data):
        data = data.decode(errors="replace").encode()
        doubtful = True
    text = _text_columns(data, plan.layout, len(plan.names))

    def checked(column: pa.ChunkedArray, type: CsvType) -> tuple[pa.ChunkedArray, Unfit | None]:
        if type.kind == "text":
            return checked_text(column, check_bytes=check_bytes and doubtful, null_values=options.null_values)
        return checked_column(column, type, null_values=options.null_values)

    if len(data) < _BLOCK:
        columns = [checked(*pair) for pair in zip(text.columns, plan.types, strict=True)]
    else:
        with ThreadPoolExecutor(os.cpu_count()) as threads:  # Arrow's own work runs outside of Python's lock
            columns = list(threads.map(checked, text.columns, plan.types))
    wrong = [(unfit.row, position, unfit) for position, (_, unfit) in enumerate(columns) if unfit is not None]
    if wrong:
        _, position, unfit = min(wrong, key=lambda place: place[:2])
        raise _unfit(unfit, position, origin, name)
    if text.ragged:
        raise ragged_row(file.name, origin, file)
    return tuple(column for column, _ in columns)


def _unfit(unfit: Unfit, position: int, origin: Origin, name: str) -> HoldfastError:
    if unfit.what == "bytes":
        assert origin.layout is not None, "a CSV source has a layout"
        return not_utf8(name, find_bad_bytes(origin.local, origin.layout))
    return unfit_value(name, origin, position, unfit.value[:MOST_SHOWN])


def _unpacked(file: Path) -> bytes:
    try:
        with open_file(file) as stream:
            return stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise damaged_file(file) or unreadable_file(file.name, error) from None


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text_columns(data: bytes, layout: CsvLayout, width: int) -> _Text:
    if layout.multiline and b"\r" in data:
        first_break = min(place for place in (data.find(b"\r"), data.find(b"\n")) if place >= 0)
        if data[first_break : first_break + 2] == b"\r\n":
            # Spark's parser gives the file's own line break as a line feed, also in quotes.
            data = data.replace(b"\r\n", b"\n")
    if _is_regular(data, layout, width):
        columns = _parsed_by_arrow(data, layout, width)
        if columns is not None:
            return _Text(columns)
    return _cut_by_rows(data, layout, width)


def _is_regular(data: bytes, layout: CsvLayout, width: int) -> bool:
    """Whether Arrow cuts the text into the same fields as Spark's parser.

    So it is where each quote opens a field, closes one, or is doubled inside of one, and rows end as Arrow takes it.
    """
    if not layout.delimiter.isascii() or (layout.multiline and b"\r" in data):
        return False
    if not layout.multiline and (width == 1 or layout.delimiter <= " "):
        return False  # lines of blanks, which are no rows, can have as many fields as rows
    if b'"' not in data:
        return True
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == _QUOTE)
    if len(quotes) % 2:
        return False
    opening, closing = quotes[0::2], quotes[1::2]
    ends = np.zeros(256, np.bool_)
    ends[[ord(layout.delimiter), _LINE_FEED, _RETURN, _QUOTE]] = True
    starts_well = ends[text[opening - 1]]
    starts_well[opening == 0] = True
    ends_well = ends[text[np.minimum(closing + 1, len(text) - 1)]]
    ends_well[closing == len(text) - 1] = True
    return bool(starts_well.all() and ends_well.all())


def _breaks_inside(data: bytes) -> bool:
    """Whether there is a line break inside of quotes, which must be regular ones."""
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == _QUOTE)
    opening, closing = quotes[0::2], quotes[1::2]
    breaks = np.flatnonzero((text == _LINE_FEED) | (text == _RETURN))
    return bool((np.searchsorted(breaks, opening) != np.searchsorted(breaks, closing)).any())


def _parsed_by_arrow(data: bytes, layout: CsvLayout, width: int) -> tuple[pa.ChunkedArray, ...] | None:
    """Returns the columns of text without the header; None where a row has too few or too many fields."""
    names = [f"c{i}" for i in range(width)]
    ragged: list[str] = []

    def blank_or_ragged(row: pa.csv.InvalidRow) -> str:
        if not layout.multiline and not row.text.strip():
            return "skip"
        ragged.append(row.text)
        return "error"

    parse = pa.csv.ParseOptions(
        delimiter=layout.delimiter,
        quote_char='"' if b'"' in data else False,
        newlines_in_values=layout.multiline,
        invalid_row_handler=blank_or_ragged,
    )
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        check_utf8=False,  # it is UTF-8
    )
    for block in (_BLOCK, min(len(data) + 1, _LARGEST_BLOCK)):
        read = pa.csv.ReadOptions(column_names=names, block_size=block, use_threads=len(data) > _BLOCK)
        try:
            table = pa.csv.read_csv(pa.BufferReader(data), read, parse, convert)
        except pa.ArrowInvalid:
            if ragged:
                return None
            continue  # a row is longer than a block
        if b'"' in data and not layout.multiline and table.num_rows != _lines(data) and _breaks_inside(data):
            return None  # a row ends there to Spark
        return tuple(table.slice(1).columns)
    return None


def _lines(data: bytes) -> int:
    """Returns the number of lines, where no line is blank."""
    breaks = data.count(b"\n") or data.count(b"\r")
    return breaks + (not data.endswith((b"\n", b"\r")))


def _cut_by_rows(data: bytes, layout: CsvLayout, width: int) -> _Text:
    columns: Sequence[list[str | None]] = [[] for _ in range(width)]
    chunks: Sequence[list[pa.Array]] = [[] for _ in range(width)]
    ragged = False
    for number, fields in enumerate(csv_rows(data.decode(), layout.delimiter, multiline=layout.multiline)):
        if number == 0:
            continue
        if len(fields) != width:
            ragged = True
            break
        for column, value in zip(columns, fields, strict=True):
            column.append(value)
        if number % _ROWS_OF_CHUNK == 0:
            _add_chunks(columns, chunks)
    _add_chunks(columns, chunks)
    return _Text(tuple(pa.chunked_array(column, pa.string()) for column in chunks), ragged)


def _add_chunks(columns: Sequence[list[str | None]], chunks: Sequence[list[pa.Array]]) -> None:
    for column, own in zip(columns, chunks, strict=True):
        own.append(arrow_array(column, pa.string()))
        column.clear()
