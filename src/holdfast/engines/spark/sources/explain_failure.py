"""Explains a failed scan in the user's terms: which file, which row, which value, and what would help."""

from __future__ import annotations

import re
from urllib.parse import unquote

from holdfast.engines.spark.sources.checked_cast import find_complaint
from holdfast.engines.spark.sources.data_files import root_cause
from holdfast.engines.spark.sources.delta_table import delta_failure
from holdfast.engines.spark.sources.table import Table, complaint_token
from holdfast.errors import HoldfastError, RunError, SessionError, SourceError, SourceNotFoundError
from holdfast.tables.csv_sample import find_bad_bytes, not_utf8
from holdfast.tables.read_options import Origin
from holdfast.tables.source_failures import damaged_file, malformed_json, ragged_row, unfit_value, wrong_format

_FAILED_FILE = re.compile(
    r"while reading file (?P<path>\S.*?)\.?\s*(?:Could not|SQLSTATE|File does not|$)", re.MULTILINE
)
# Spark 3.5 says it in words.
_MALFORMED = (
    *("MALFORMED_RECORD_IN_PARSING", "MALFORMED_CSV_RECORD", "INVALID_JSON_RECORD_TYPE"),
    "Malformed records are detected in schema inference",
)
# Where Java unpacks files; Spark 3.5 does not say which it was.
_UNPACKING = "org.apache.hadoop.io.compress."


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
        return unfit_value(name, origin, column, value)
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
        return malformed_json(name, origin)
    if file is None:
        packed = origin.local if _UNPACKING in text else ()
        return next((damage for local in packed if (damage := damaged_file(local)) is not None), None)
    shown = file.rsplit("/", 1)[-1]
    if "FILE_NOT_EXIST" in text or "FileNotFoundException" in text:
        return SourceNotFoundError(f"{shown} is gone: it was there when {name} was opened.")
    if "AccessControlException" in text or "Permission denied" in text:
        return SourceError(f"{shown} cannot be read: permission denied.")
    local = next((path for path in origin.local if file.endswith(str(path.absolute()))), None)
    if local is not None and (damage := damaged_file(local)) is not None:
        return damage
    if origin.kind == "csv" and _malformed(text):
        record = re.search(r"Malformed CSV record: (.*?)(?: SQLSTATE|$)", text, re.MULTILINE)
        return ragged_row(shown, origin, local, record[1] if record else None)
    if origin.kind in ("parquet", "orc"):
        cut = any(sign in text for sign in ("is not a Parquet file", "Invalid postscript"))
        trouble = "it does not end as one does" if cut else root_cause(text)
        return wrong_format(shown, origin.kind, trouble)
    return SourceError(f"{shown} cannot be read: {root_cause(text)}.")


def _full_text(error: BaseException) -> str:
    texts = []
    seen: BaseException | None = error
    while seen is not None:
        texts.append(str(seen))
        seen = seen.__cause__
    return "\n".join(texts)


def _malformed(text: str) -> bool:
    return any(sign in text for sign in _MALFORMED)


def _failed_file(text: str, origin: Origin) -> str | None:
    """Returns the file that Spark names, if it belongs to this table."""
    for match in _FAILED_FILE.finditer(text):
        known = [str(local.absolute()) for local in origin.local] + [unquote(uri) for uri in origin.remote]
        # One path can be written file:/x, file:///x and /x.
        for path in (match["path"], unquote(match["path"])):
            if any(path.replace("///", "/").endswith(k.replace("///", "/").removeprefix("file:")) for k in known):
                return path
    # Spark 3.5 names no file; then it is one of the format that is spoken of.
    speaks_of_it = _malformed(text) if origin.kind in ("csv", "json") else f"org.apache.{origin.kind}." in text
    if not _FAILED_FILE.search(text) and speaks_of_it and len(origin.local) + len(origin.remote) == 1:
        return str(origin.local[0].absolute()) if origin.local else origin.remote[0]
    return None


def _header_difference(text: str) -> str:
    names = re.search(r"Header: (?P<header>.*?)\s+Schema: (?P<schema>.*?)\s+Expected: ", text, re.DOTALL)
    file = re.search(r"CSV file: (\S+)", text)
    where = f" in {unquote(file[1]).rsplit('/', 1)[-1]}" if file else ""
    if names is None:
        return f"other columns{where}"
    return f"'{names['header'].strip()}'{where}, where '{names['schema'].strip()}' is expected"


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
