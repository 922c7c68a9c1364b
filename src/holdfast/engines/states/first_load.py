"""The first version of a state: its tables, written from all rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.engines.states.state_engine import Rows, SourceTable, StateEngine
from holdfast.errors import SourceError
from holdfast.programs.bind import Schema
from holdfast.programs.plan import Plan
from holdfast.rules.predicate import quoted_name
from holdfast.states.compaction import places_for
from holdfast.states.manifest import ROWS, AnyBody, Manifest, StoredTable
from holdfast.states.messages import segments_of
from holdfast.states.row_changes import CHANGE_TYPE, FirstRowsTask
from holdfast.states.store import Store
from holdfast.states.table_schema import SchemaJson, schema_as_seen

if TYPE_CHECKING:
    from holdfast.watching.pair_groups import GroupedPrograms

# How the first table was read, as far as it goes for files of changes too.
_READING = ("null_values", "delimiter", "encoding", "multiline")


def first_schema(schema: SchemaJson, table: str) -> Schema:
    """The columns of a table that a state is made of, with the types that rules see.

    SourceError where the rows are changes, or two columns have one name.
    """
    names = [own["name"] for own in schema["fields"]]
    if CHANGE_TYPE in names:
        raise SourceError(
            f"{table} has a column {CHANGE_TYPE}: these are changes, not a table.",
            hint="load the table itself, then apply its changes.",
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SourceError(
            f"the table {table} has two columns called {', '.join(map(quoted_name, twice))}.",
            hint="rename one of them before the check.",
        )
    return schema_as_seen(schema, table)


def first_manifest(
    table: SourceTable,
    schema: SchemaJson,
    key: Sequence[str],
    reading: Mapping[str, Any],
    *,
    rows: int,
    totals: Mapping[str, int],
    body: AnyBody,
) -> Manifest[AnyBody]:
    """The first version of a state of the table. Files of changes are read as it was, as far as that goes for them."""
    return Manifest(
        version=0,
        key=tuple(key),
        schema=schema,
        reading={name: value for name, value in reading.items() if value and name in _READING},
        rows=rows,
        totals=totals,
        body=body,
        streams={} if table.origin is None else dict(table.origin.feed),
        table=table.name,
    )


def first_rows(engine: StateEngine, store: Store, rows: Rows, width: int, count: int) -> StoredTable:
    """The table of all rows, in files by the hash of their keys."""
    columns = [f"c{i}" for i in range(width)]
    placed = engine.placed(rows, places_for(count), by=["k"], columns=columns)
    return StoredTable(ROWS, segments_of(engine.messages(placed, FirstRowsTask(store)), ROWS))


def first_tables(
    engine: StateEngine,
    store: Store,
    rows: Rows,
    plan: Plan,
    groups: GroupedPrograms,
    tables: Sequence[StoredTable],
    which: Sequence[int],
    version: int,
    count: int,
) -> list[StoredTable]:
    """The tables, those at the positions `which` with the files of all rows."""
    from holdfast.watching.pair_changes import PairChangesTask  # not for rules that evolve: what it imports takes time

    if not which:
        return list(tables)
    store.make(tables[i].name for i in which)
    routed = engine.routed(rows, plan, groups, places_for(count), which=which)
    task = PairChangesTask(
        store=store,
        version=version,
        groups=groups,
        tables={i: tables[i] for i in which},
        names=tuple(rule.name for rule in plan.rules),
        counted=False,
    )
    messages = engine.messages(routed, task)
    return [table.replacing((), segments_of(messages, table.name)) for table in tables]
