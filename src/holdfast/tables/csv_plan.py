"""How the text of CSV files becomes a table: names, types and notes from a sample of it; no engine."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.errors import OptionError, SourceError, closest_hint, unknown_column
from holdfast.tables.csv_sample import CsvSample
from holdfast.tables.csv_types import CsvType, infer, parse_type
from holdfast.tables.data_files import DataFiles
from holdfast.tables.read_options import CsvLayout, ReadOptions

_CHARSETS = {  # by Python's name; what Spark 4 reads
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "iso8859-1": "ISO-8859-1",
    "ascii": "US-ASCII",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "utf-32": "UTF-32",
}


@dataclass(frozen=True)
class CsvPlan:
    """Names and types of the columns, how text is cut into fields, and what a person should know of it."""

    names: tuple[str, ...]
    types: tuple[CsvType, ...]
    layout: CsvLayout
    notes: tuple[str, ...]


def plan_csv(
    sample: CsvSample | None, files: DataFiles, options: ReadOptions, *, charset: str | None, case_sensitive: bool
) -> CsvPlan:
    """Returns how the files are read, by a sample of them; None as the sample of files without a header."""
    if sample is None:
        raise SourceError(f"{files.name} is empty: it has no header.", hint="the first line names the columns.")
    names, notes = _names(sample.header, files.name)
    _refuse_duplicates(names, files.name, case_sensitive=case_sensitive)
    if csv_delimiter(files, options) is None and sample.delimiter != ",":
        shown = {"\t": "tabs"}.get(sample.delimiter, f"'{sample.delimiter}'")
        notes.append(f"{files.name}: fields are separated by {shown}")
    types, type_notes = _types(names, sample, options, files.name)
    notes += type_notes
    wide = charset is not None and charset.startswith(("UTF-16", "UTF-32"))
    multiline = (sample.quoted_breaks or wide) if options.multiline is None else options.multiline
    if multiline and options.multiline is None and (len(names) > 1 or wide):
        why = f"it is {charset}" if wide else "quoted values hold line breaks"
        notes.append(f"{files.name}: {why}; each file is read by one task")
    layout = CsvLayout(sample.delimiter, python_encoding(options) or "utf-8", multiline)
    return CsvPlan(names, tuple(types), layout, tuple(notes))


def csv_delimiter(files: DataFiles, options: ReadOptions) -> str | None:
    """Returns the delimiter that an option or the files' names say; None where the header must show it."""
    return _delimiter(options.delimiter) or ("\t" if files.tabs else None)


def python_encoding(options: ReadOptions) -> str | None:
    """Returns Python's name of the encoding that the options name, a known one; None where they name none."""
    return None if options.encoding is None else codecs.lookup(options.encoding).name


def csv_charset(encoding: str | None, *, java_charsets: bool = False) -> str | None:
    """Returns Java's name of an encoding; with `java_charsets`, all are taken. Raises OptionError for others."""
    if encoding is None:
        return None
    try:
        python_name = codecs.lookup(encoding).name
    except LookupError:
        python_name = ""
    if python_name in _CHARSETS:
        return _CHARSETS[python_name]
    if python_name and java_charsets:
        return encoding
    known = ["utf-8", "latin1", "ascii", "utf-16", "utf-16le", "utf-16be", "utf-32"]
    more = f" Spark reads '{encoding}' only with --conf spark.sql.legacy.javaCharsets=true." if python_name else ""
    raise OptionError(
        f"--encoding '{encoding}' is not one that Spark reads.",
        hint=closest_hint(encoding, known, what="Encodings") + more,
    )


def column_types(types: Mapping[str, str], columns: Sequence[str], table: str) -> dict[str, CsvType]:
    """Returns the types of the option `--types`, by column. Raises UnknownColumnError for an unknown column."""
    for column in types:
        if column not in columns:
            raise unknown_column(f"--types names the column '{column}'", column, table, columns)
    return {column: parse_type(name, column=column) for column, name in types.items()}


def _names(header: tuple[str, ...], table: str) -> tuple[tuple[str, ...], list[str]]:
    names = tuple(name if name.strip() else f"_c{i}" for i, name in enumerate(header))
    notes = [
        f"{table}: column {i + 1} has no name in the header; it is called '{names[i]}'"
        for i, name in enumerate(header)
        if not name.strip()
    ]
    return names, notes


def _refuse_duplicates(names: tuple[str, ...], table: str, *, case_sensitive: bool) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = {name: [str(i) for i, other in enumerate(names, start=1) if other == name] for name in twice}
        listed = ", ".join(f"'{name}' (columns {', '.join(at)})" for name, at in places.items())
        raise SourceError(
            f"{table} has columns of the same name: {listed}.", hint="give every column its own name in the header."
        )
    if case_sensitive:
        return
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.lower(), name)
        if other != name:
            raise SourceError(
                f"{table} has columns whose names differ only in upper and lower case: '{other}' and '{name}'.",
                hint="rename one, or run with --conf spark.sql.caseSensitive=true.",
            )


def _types(
    names: tuple[str, ...], sample: CsvSample, options: ReadOptions, table: str
) -> tuple[list[CsvType], list[str]]:
    given = column_types(options.types, names, table)
    types: list[CsvType] = []
    notes: list[str] = []
    for position, name in enumerate(names):
        if name in given:
            types.append(given[name])
            continue
        inferred = infer((row[position] for row in sample.rows), options.null_values)
        types.append(inferred.type)
        if inferred.reason is not None:
            notes.append(f"column '{name}' {inferred.reason}; kept as text")
    return types, notes


def _delimiter(option: str | None) -> str | None:
    if option is None:
        return None
    delimiter = {"\\t": "\t", "tab": "\t"}.get(option, option)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise OptionError(
            f"--delimiter '{option}' is not one character that can stand between fields.",
            hint="give one character, such as ';', or 'tab'.",
        )
    return delimiter
