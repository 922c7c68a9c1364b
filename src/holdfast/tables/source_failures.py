"""Explains what is wrong with a source in the user's terms: which file, which row, which value, what would help."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from holdfast.errors import HoldfastError, OptionError, SourceError
from holdfast.tables.csv_sample import Place, find_damage, find_ragged, find_value, open_file, where_in_file
from holdfast.tables.csv_types import BLANKS, CsvType, Shape, better_type, shape
from holdfast.tables.data_files import DataFiles
from holdfast.tables.read_options import Origin, ReadOptions

MOST_SHOWN = 200  # characters of a value that a scan passes on

_NULL_WORDS = frozenset({"na", "n/a", "null", "none", "nil", "?", "-", "--", ".", "missing", "unknown", "\\n"})


def unfit_value(name: str, origin: Origin, column: int, value: str) -> SourceError:
    """Returns the error for a value that is not of the type of its column, at its first place in the files."""
    title = origin.columns[column]
    type = origin.types[column]
    assert type is not None, "only a column with a type can refuse a value"
    place = find_value(origin.local, origin.layout, column, value) if origin.layout else None
    where = name if place is None else f"{place.file.name}, {where_in_file(place)}"
    source = "the type that --types gives" if type.given else "the type that a sample of the table shows"
    shown = value if len(value) < 60 else value[:59] + "…"
    unfit = f"{where}, column '{title}': '{shown}' is not {type.noun}"
    hint = _type_hint(title, value, type, origin)
    return SourceError(f"{unfit}, {source}{_why(value, type)}.", hint=hint, unfit=unfit)


def _why(value: str, type: CsvType) -> str:
    if type.kind in ("bigint", "double", "decimal") and shape(value) is Shape.ZERO_LED:
        return "; a number would lose its leading zeros"
    return ""


def _type_hint(title: str, value: str, type: CsvType, origin: Origin) -> str:
    option = f"{title}={better_type(value, type).option}"
    quoted = f"'{option}'" if re.search(r"[^\w=,.-]", option) else option
    hint = f"--types {quoted} reads the column so that it fits."
    word = value.strip(BLANKS)
    if origin.kind == "csv" and word.lower() in _NULL_WORDS:
        return f"if '{word}' means that there is no value: --null-values '{word}'. Otherwise: {hint}"
    return hint


def ragged_row(shown: str, origin: Origin, local: Path | None, record: str | None = None) -> SourceError:
    """Returns the error for a row of the file with too few or too many fields; `record` is its text, if known."""
    assert origin.layout is not None, "a CSV source has a layout"
    width = len(origin.columns)
    place: Place | None = find_ragged([local], origin.layout, width) if local else None
    if place is not None:
        message = (
            f"{shown}, {where_in_file(place)}, has {_count(len(place.fields))}, but the header has {width}: "
            f"{_shown_row(origin.layout.delimiter.join(place.fields))}"
        )
    else:
        what = f": {_shown_row(record)}" if record is not None else "."
        message = f"{shown} has a row without {_count(width)}, as many as the header has{what}"
    hint = "a value that holds the delimiter must be in double quotes; --delimiter names another one."
    if not origin.layout.multiline:
        hint = "if quoted values hold line breaks, read it with --multiline. Otherwise " + hint
    return SourceError(message, hint=hint)


def _count(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields} fields"


def _shown_row(row: str) -> str:
    return row if len(row) <= 120 else row[:119] + "…"


def malformed_json(name: str, origin: Origin) -> SourceError:
    """Returns the error for JSON that is not one object per line, at its first place in the files."""
    hint = "each line must be one JSON object; a file that is one object or one array needs --multiline."
    for file in origin.local:
        for number, line in _json_lines(file):
            if (trouble := _json_trouble(line)) is not None:
                return SourceError(f"{file.name}, line {number}, {trouble}: {_shown_row(line)}", hint=hint)
    return SourceError(f"{name} holds a line that is not a JSON object.", hint=hint)


def _json_lines(file: Path) -> Iterator[tuple[int, str]]:
    with open_file(file) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, line.strip()


def _json_trouble(line: str) -> str | None:
    try:
        value = json.loads(line)
    except ValueError:
        return "is not JSON"
    rows = value if isinstance(value, list) else [value]
    return None if all(isinstance(row, dict) for row in rows) else "is not a JSON object"


def damaged_file(file: Path) -> SourceError | None:
    """Returns the error for a compressed file that cannot be unpacked to its end; None when it can."""
    damage = find_damage(file) if file.suffix.lower() in (".gz", ".bz2") else None
    if damage is None:
        return None
    return SourceError(f"{file.name} is damaged and cannot be unpacked: {damage}.", hint="fetch or pack it again.")


def wrong_format(shown: str, kind: str, trouble: str) -> SourceError:
    """Returns the error for a file that is not of the format `kind`, Parquet or ORC, or is damaged."""
    format_name = {"parquet": "a Parquet", "orc": "an ORC", "arrow": "an Arrow"}[kind]
    return SourceError(
        f"{shown} is not {format_name} file, or is damaged: {trouble}.",
        hint="if it is of another format, say so with --input-format; otherwise write it again.",
    )


def unreadable_file(name: str, error: Exception) -> HoldfastError:
    """Returns the error for a file that the system does not give, or that cannot be unpacked."""
    if isinstance(error, HoldfastError):
        return error
    if isinstance(error, OSError):
        return SourceError(f"{name} cannot be read: {error.strerror or error}.")
    return SourceError(f"{name} is damaged and cannot be unpacked: {error}.", hint="fetch or pack it again.")


def ambiguous_columns(name: str, column: str | None) -> SourceError:
    """Returns the error for columns that Spark takes for one."""
    called = f": '{column}'" if column else ""
    return SourceError(
        f"{name} has columns of the same name, or whose names differ only in upper and lower case{called}.",
        hint="rename one, or run with --conf spark.sql.caseSensitive=true.",
    )


def different_types(name: str, trouble: str) -> SourceError:
    """Returns the error for files of one table of which one column has types that do not merge."""
    what = trouble.partition(". ")[0]
    return SourceError(
        f"The files of {name} have a column of different types: {what}.",
        hint="write them with one schema, or read them one by one.",
    )


def impossible_types(
    name: str, given: Mapping[str, CsvType], trouble: str, columns: Sequence[str], sources: Sequence[str]
) -> OptionError:
    """Returns the error for a type in `--types` that values of the column's own type can never have."""
    wrong = ", ".join(f"{column}={type.option}" for column, type in given.items())
    return OptionError(
        f"--types {wrong}: a column of {name} cannot become such a type ({trouble}).",
        hint="columns are " + ", ".join(f"{c} ({s})" for c, s in zip(columns, sources, strict=True)) + ".",
    )


def no_columns(name: str) -> SourceError:
    """Returns the error for files that show no columns."""
    return SourceError(f"{name} holds no data from which its columns could be read.")


def refuse_empty_file(files: DataFiles) -> None:
    """Raises SourceError where the only file of a table is empty."""
    if len(files.local) == 1 and files.local[0].stat().st_size == 0:
        raise SourceError(f"{files.name} is empty: it holds not one byte.")


def refuse_csv_options(options: ReadOptions, name: str, format: str) -> None:
    """Raises OptionError where an option is for CSV, but the table of this format is not CSV."""
    wrong = "--delimiter" if options.delimiter is not None else "--null-values" if options.null_values else None
    if wrong is None and format != "json":
        wrong = "--encoding" if options.encoding else "--multiline" if options.multiline else None
    if wrong is not None:
        raise OptionError(f"{wrong} is for CSV, but {name} is {format}.", hint=f"leave {wrong} out.")
