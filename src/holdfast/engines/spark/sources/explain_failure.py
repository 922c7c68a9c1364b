"""Explains a failed scan in the user's terms: which file, which row, which value, and what would help."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from holdfast.engines.spark.sources.checked_cast import find_complaint
from holdfast.engines.spark.sources.data_files import root_cause
from holdfast.engines.spark.sources.delta_table import delta_failure
from holdfast.engines.spark.sources.table import Table, complaint_token
from holdfast.errors import HoldfastError, RunError, SessionError, SourceError, SourceNotFoundError
from holdfast.tables.csv_sample import (
    Place,
    find_bad_bytes,
    find_damage,
    find_ragged,
    find_value,
    not_utf8,
    open_file,
    where_in_file,
)
from holdfast.tables.csv_types import BLANKS, CsvType, Shape, better_type, shape
from holdfast.tables.read_options import Origin

_NULL_WORDS = frozenset({"na", "n/a", "null", "none", "nil", "?", "-", "--", ".", "missing", "unknown", "\\n"})
_FAILED_FILE = re.compile(
    r"while reading file (?P<path>\S.*?)\.?\s*(?:Could not|SQLSTATE|File does not|$)", re.MULTILINE
)


def explain_failure(error: Exception, table: Table) -> HoldfastError | None:
    """Returns what is wrong with the source of the table; None when the source is not why Spark failed.

    May read the source again to find the row: after a failure the answer matters more than time.
    """
    if isinstance(error, HoldfastError):
        return error
    return None if table.origin is None else explain(error, table.name, table.origin)


def explain(error: Exception, name: str, origin: Origin) -> HoldfastError | None:
    """Returns what is wrong with a source, as `explain_failure`, also when it could not be opened."""
    text = _full_text(error)
    complaint = find_complaint(text, complaint_token(name))
    if complaint is not None:
        what, column, value = complaint
        if what == "bytes":
            place = find_bad_bytes(origin.local, origin.layout) if origin.layout else None
            return not_utf8(name, place)
        return _bad_value(name, origin, column, value)
    if origin.kind == "jdbc":
        return _jdbc_failure(text, name)
    if origin.kind == "delta":
        return delta_failure(text, name)
    if origin.kind == "table":
        return None
    file = _failed_file(text, origin)
    if origin.kind == "csv" and "header does not conform to the schema" in text:
        return SourceError(
            f"{name} is read as one table, but its files have different headers: {_header_difference(text)}.",
            hint="give every file the same columns in the same order, or read them one by one.",
        )
    if origin.kind == "json" and _malformed(text):
        return _malformed_json(name, origin)
    if file is None:
        return None
    shown = file.rsplit("/", 1)[-1]
    if "FILE_NOT_EXIST" in text or "FileNotFoundException" in text:
        return SourceNotFoundError(f"{shown} is gone: it was there when {name} was opened.")
    if "AccessControlException" in text or "Permission denied" in text:
        return SourceError(f"{shown} cannot be read: permission denied.")
    local = next((path for path in origin.local if file.endswith(str(path.absolute()))), None)
    if local is not None and local.suffix.lower() in (".gz", ".bz2") and (damage := find_damage(local)):
        return SourceError(f"{shown} is damaged and cannot be unpacked: {damage}.", hint="fetch or pack it again.")
    if origin.kind == "csv" and _malformed(text):
        return _ragged(shown, origin, local, text)
    if origin.kind in ("parquet", "orc"):
        format_name = {"parquet": "a Parquet", "orc": "an ORC"}[origin.kind]
        trouble = "it does not end as one does" if "is not a Parquet file" in text else root_cause(text)
        return SourceError(
            f"{shown} is not {format_name} file, or is damaged: {trouble}.",
            hint="if it is of another format, say so with --input-format; otherwise write it again.",
        )
    return SourceError(f"{shown} cannot be read: {root_cause(text)}.")


def _full_text(error: BaseException) -> str:
    texts = []
    seen: BaseException | None = error
    while seen is not None:
        texts.append(str(seen))
        seen = seen.__cause__
    return "\n".join(texts)


def _malformed(text: str) -> bool:
    return any(
        sign in text for sign in ("MALFORMED_RECORD_IN_PARSING", "MALFORMED_CSV_RECORD", "INVALID_JSON_RECORD_TYPE")
    )


def _failed_file(text: str, origin: Origin) -> str | None:
    """Returns the file that Spark names, if it belongs to this table."""
    for match in _FAILED_FILE.finditer(text):
        known = [str(local.absolute()) for local in origin.local] + [unquote(uri) for uri in origin.remote]
        # One path can be written file:/x, file:///x and /x.
        for path in (match["path"], unquote(match["path"])):
            if any(path.replace("///", "/").endswith(k.replace("///", "/").removeprefix("file:")) for k in known):
                return path
    if len(origin.local) + len(origin.remote) == 1 and re.search(r"org\.apache\.(parquet|orc)\.", text):
        return str(origin.local[0].absolute()) if origin.local else origin.remote[0]
    return None


def _bad_value(name: str, origin: Origin, column: int, value: str) -> SourceError:
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


def _ragged(shown: str, origin: Origin, local: Path | None, text: str) -> SourceError:
    assert origin.layout is not None, "a CSV source has a layout"
    width = len(origin.columns)
    place: Place | None = find_ragged([local], origin.layout, width) if local else None
    if place is not None:
        message = (
            f"{shown}, {where_in_file(place)}, has {_count(len(place.fields))}, but the header has {width}: "
            f"{_shown_row(origin.layout.delimiter.join(place.fields))}"
        )
    else:
        record = re.search(r"Malformed CSV record: (.*?)(?: SQLSTATE|$)", text, re.MULTILINE)
        what = f": {_shown_row(record[1])}" if record else "."
        message = f"{shown} has a row without {_count(width)}, as many as the header has{what}"
    hint = "a value that holds the delimiter must be in double quotes; --delimiter names another one."
    if not origin.layout.multiline:
        hint = "if quoted values hold line breaks, read it with --multiline. Otherwise " + hint
    return SourceError(message, hint=hint)


def _count(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields} fields"


def _shown_row(row: str) -> str:
    return row if len(row) <= 120 else row[:119] + "…"


def _header_difference(text: str) -> str:
    names = re.search(r"Header: (?P<header>.*?)\s+Schema: (?P<schema>.*?)\s+Expected: ", text, re.DOTALL)
    file = re.search(r"CSV file: (\S+)", text)
    where = f" in {unquote(file[1]).rsplit('/', 1)[-1]}" if file else ""
    if names is None:
        return f"other columns{where}"
    return f"'{names['header'].strip()}'{where}, where '{names['schema'].strip()}' is expected"


def _malformed_json(name: str, origin: Origin) -> SourceError:
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


def _jdbc_failure(text: str, name: str) -> HoldfastError | None:
    if "No suitable driver" in text or ("ClassNotFoundException" in text and "river" in text):
        return SessionError(
            f"There is no JDBC driver for {name}.",
            hint="add the driver's jar: --conf spark.jars=/path/to/driver.jar (with --conf spark.driver.extraClassPath "
            "if it is still not found).",
        )
    reason = _without_secrets(root_cause(text))
    refused = ("Connection refused", "ConnectException", "UnknownHostException", "FAILED_JDBC.CONNECTION", "connect")
    if re.search(r"authentication|[Aa]ccess denied|[Ll]ogin failed|password", text):
        return SourceError(f"The database of {name} refuses the user: {reason}.", hint="check user and password.")
    if re.search(r"does not exist|SYNTAX_ERROR|not found|doesn't exist", text) and "SELECT" in text:
        return SourceNotFoundError(f"{name} cannot be read as a table: {reason}.", hint="check the table's name.")
    if any(sign in text for sign in refused):
        return SourceError(f"The database of {name} cannot be reached: {reason}.", hint="check host, port and network.")
    return RunError(f"The database of {name} failed: {reason}.") if "SQLException" in text else None


def _without_secrets(text: str) -> str:
    return re.sub(r"(?i)(password|pwd|secret|token)=[^&;\s]*", r"\1=***", text)
