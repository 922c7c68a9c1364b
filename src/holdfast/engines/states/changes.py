"""Batches of changes as tables of a state's own columns and types."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.encode.column_type import column_type
from holdfast.engines.states.state_engine import Changes, SourceTable, StateEngine
from holdfast.errors import ChangeError, OptionError, SitesError, closest_hint
from holdfast.states.row_changes import CHANGE_TYPE
from holdfast.states.table_schema import SchemaJson, sql_types
from holdfast.tables.read_options import ReadOptions

COMMIT_VERSION = "_commit_version"
# Where rows of streams of several tables stand, which as one stream no longer know it.
FILE_PATH, FILE_START = "_holdfast_file", "_holdfast_start"
# What change feeds of lakehouses say besides; only the order of commits matters here.
FEED_COLUMNS = (CHANGE_TYPE, COMMIT_VERSION, "_commit_timestamp")


def read_changes(
    engine: StateEngine, data: str, schema: SchemaJson, key: Sequence[str], reading: Mapping[str, Any]
) -> Changes:
    """The changes in a file or folder, read with the state's types."""
    opened = engine.open_source(data, ReadOptions(**reading))
    own, wanted = opened.types, sql_types(schema)
    _require_columns(opened.name, list(own), list(wanted), key)
    if opened.kind == "csv":
        types = {name: option_type(wanted[name]) for name in own if name in wanted}
        types |= {name: "text" for name in own if name == CHANGE_TYPE}
        types |= {name: "bigint" for name in own if name == COMMIT_VERSION}
    else:
        # JSON writes what has no type of its own there as text.
        texts = [
            name for name in own if name in wanted and own[name].startswith("string") and own[name] != wanted[name]
        ]
        types = {name: option_type(wanted[name]) for name in texts if opened.kind == "json"}
    given = {name: option for name, option in types.items() if option is not None}
    if given or opened.table is None:
        return changes_of(engine, engine.read_table(data, ReadOptions(**{**reading, "types": given})), schema, key)
    return changes_of(engine, opened.table, schema, key)


def changes_of(engine: StateEngine, table: SourceTable, schema: SchemaJson, key: Sequence[str]) -> Changes:
    """The changes that the table's rows are, in the state's columns and types."""
    _require_columns(table.name, list(sql_types(engine.schema_of(table))), list(sql_types(schema)), key)
    return engine.typed_changes(table, schema)


def _require_columns(table: str, columns: Sequence[str], names: Sequence[str], key: Sequence[str]) -> None:
    for column in columns:
        if column not in names and column not in (*FEED_COLUMNS, FILE_PATH, FILE_START):
            raise ChangeError(
                f"{table} has a column {column!r}, which the state's table does not have.",
                hint=closest_hint(column, [*names, CHANGE_TYPE]),
            )
    for column in key:
        if column not in columns:
            raise ChangeError(
                f"{table} has no column {column!r}, by which the state names its rows.",
                hint=f"its columns are {', '.join(columns)}.",
            )


def require_castable(table: str, column: str, source: str, target: str) -> None:
    """ChangeError where values of the one SQL type cannot become values of the other."""
    a, b = column_type(source), column_type(target)
    if not (a.family == b.family != "other" or (a.numeric and b.numeric)):
        raise ChangeError(
            f"{table}: the column {column!r} is {a}, but in the state's table it is {b}.",
            hint="write the changes with the types of the table that the state was made of.",
        )


def misfit(table: str, value: str, column: str, kind: str) -> ChangeError:
    """The error of a value that does not fit the type of its column in the state."""
    return ChangeError(
        f"{table}: the value {value} does not fit the column {column!r}, which is {kind}. Nothing of it was applied."
    )


def unfit_at_site(value: str, column: str) -> SitesError:
    """The error of a value that does not fit the one type that a column has at all sites."""
    return SitesError(
        f"the value {value} of the column {column!r} does not fit the type that the column has at another site.",
        hint="ids of equal values must be equal at all sites; store the column with one type.",
    )


def option_type(wanted: str) -> str | None:
    """The SQL type as `--types` takes it, wide enough; None where text cannot become it."""
    kind = column_type(wanted)
    if kind.family == "decimal":
        return kind.sql
    return {
        "integer": "bigint",
        "float": "double",
        "text": "text",
        "boolean": "boolean",
        "date": "date",
        "timestamp": kind.sql,
    }.get(kind.family)


@dataclass(frozen=True)
class FileMark:
    """What the system says of a file; as long as it says so, nobody has written to it."""

    size: int
    modified: int
    changed: int
    inode: int


def file_mark(path: str | os.PathLike[str]) -> FileMark:
    """Raises OSError where there is no such file."""
    now = os.stat(path)
    return FileMark(now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino)


def content_id(data: str | os.PathLike[str]) -> str:
    """What the file or folder holds, as a number that no other content has; wherever it lies and whatever its name."""
    path = Path(os.fspath(data)).expanduser()
    if not path.exists():
        raise OptionError(
            f"{data} is no file of this machine, so that nothing tells this batch from others.",
            hint="name the batch with --batch, by a name that no other batch has.",
        )
    digest = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        if path.is_dir():
            if file.name.startswith((".", "_")):
                continue
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
        with open(file, "rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()
