"""What states ask of an engine, in this process: rows are Arrow tables, and tasks run one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.encode.column_type import ColumnType
from holdfast.encode.spark_hash import spark_xxhash64
from holdfast.engines.local.typed_changes import typed_changes
from holdfast.engines.result_table import ArrowResult
from holdfast.engines.states.refused_changes import translate_unfit_values
from holdfast.engines.states.state_engine import (
    Changes,
    OpenedSource,
    SiteColumns,
    SourceTable,
    StateEngine,
    Task,
)
from holdfast.programs.bind import require_key_types
from holdfast.search.lines import own_cores
from holdfast.states.messages import MESSAGE, Message, messages_in
from holdfast.states.segment import as_typed, key_of
from holdfast.states.table_schema import FieldJson, SchemaJson, arrow_schema, arrow_type, safe_fields, schema_json
from holdfast.tables.local_table import LocalTable
from holdfast.tables.read_options import ReadOptions
from holdfast.violations.part import BOTH

if TYPE_CHECKING:
    from holdfast.engines.check_result import CheckResult
    from holdfast.engines.local.check import LocalCheckResult
    from holdfast.engines.tables.result import TablesCheckResult
    from holdfast.fragments.id_packing import IdPacking
    from holdfast.programs.plan import Plan
    from holdfast.rules.predicate import Constant
    from holdfast.rules.rule import RuleSet
    from holdfast.search.options import DiscoverOptions
    from holdfast.search.result import SearchResult
    from holdfast.states.joint_layout import JointLayout
    from holdfast.watching.pair_groups import GroupedPrograms

Ints = NDArray[np.int64]
# About so many rows of parts are related at a time.
PIECE_ROWS = 2_000_000
Partitions: TypeAlias = tuple[pa.Table, ...]
"""Rows: tables that each go to a task of their own."""


@dataclass(frozen=True)
class LocalEngine(StateEngine):
    """Runs tasks of states in this process. `SparkEngine` runs them on Spark."""

    name: ClassVar[str] = "local"

    # Tables ---------------------------------------------------------------------------------------------------

    def open_source(self, data: str, options: ReadOptions) -> OpenedSource:
        from holdfast.engines.local.sources import open_source

        return open_source(data, options)

    def read_table(self, data: str, options: ReadOptions) -> LocalTable:
        from holdfast.engines.local.sources import read_table

        return read_table(data, options)

    def table_of(self, frame: pa.Table, name: str) -> LocalTable:
        return LocalTable(frame, name)

    def rows_of(self, rows: pa.Table) -> pa.Table:
        return rows

    def frame_of(self, table: SourceTable) -> pa.Table:
        return _local_table(table).rows

    def schema_of(self, table: SourceTable) -> SchemaJson:
        return schema_json(_local_table(table).rows.schema)

    def typed_changes(self, table: SourceTable, schema: SchemaJson) -> Changes:
        rows, known = typed_changes(_local_table(table), schema)
        return Changes((rows,), table, known)

    def check(self, table: SourceTable, plan: Plan, *, limit: int | None, whole: bool = False) -> LocalCheckResult:
        from holdfast.engines.local.check import run_check  # not for applying changes: what it imports takes time

        return run_check(_local_table(table), plan, limit=limit, key_required=True)

    def checked_rows(self, result: CheckResult, table: SourceTable, plan: Plan) -> Partitions:
        return self.whole_rows(table, plan)

    def search(
        self, table: SourceTable, types: Mapping[str, ColumnType], options: DiscoverOptions
    ) -> SearchResult | None:
        rows = _local_table(table).rows.select(list(types))
        from holdfast.search.find import find  # not for watching: what it imports takes time

        return find(rows, types, options, threads=own_cores()) if rows.num_rows else None

    def compared_rows(self, table: SourceTable, types: Mapping[str, ColumnType]) -> Partitions:
        rows = _local_table(table).rows.select(list(types))
        return (rows.rename_columns([f"c{i}" for i in range(len(types))]),)

    def keyed_rows(self, table: SourceTable, plan: Plan) -> Partitions:
        needed = {plan.schema.position(name) for name in (*plan.columns, *plan.key)}
        everything = range(len(plan.schema.types))
        return self.keyed(_safe_rows(_local_table(table), everything if plan.conditions else sorted(needed)), plan)

    def stored_table(self, task: Task, places: int, schema: SchemaJson, name: str) -> LocalTable:
        rows = self.run(self.numbers({"id": range(places)}, 1), task, safe_fields(schema))
        return LocalTable(pa.concat_tables(rows).rename_columns([own["name"] for own in schema["fields"]]), name)

    def result_of(self, rows: Partitions) -> ArrowResult:
        (table,) = self.gathered(rows)
        return ArrowResult(table.schema, lambda: table)

    # Several tables in one state ------------------------------------------------------------------------------

    def check_tables(
        self,
        tables: Mapping[str, SourceTable],
        rules: RuleSet,
        keys: Mapping[str, tuple[str, ...]],
        *,
        limit: int | None,
    ) -> TablesCheckResult:
        from holdfast.engines.local.tables.check import LocalOpenedTables  # not for applying changes: it takes time
        from holdfast.engines.tables.plan import plan_tables
        from holdfast.engines.tables.source import TableSource

        opened = LocalOpenedTables({n: TableSource(_local_table(table).rows, keys[n]) for n, table in tables.items()})
        plan, started = plan_tables(opened, rules), time.monotonic()
        return opened.run_check(plan, limit=limit, fail_on="error", all_columns=False, redact=(), started=started)

    def joined_table(self, tables: Mapping[str, SourceTable], layout: JointLayout) -> LocalTable:
        from holdfast.engines.local.tables.joint_state import joined_table

        return joined_table({name: _local_table(table) for name, table in tables.items()}, layout)

    def tables_in(self, table: SourceTable, layout: JointLayout) -> dict[str, SourceTable]:
        from holdfast.engines.local.tables.joint_state import tables_in

        return {**tables_in(_local_table(table), layout)}

    def joined_changes(self, changes: Mapping[str, Changes], layout: JointLayout) -> Changes:
        from holdfast.engines.local.tables.joint_state import joined_changes

        rows = joined_changes({n: (pa.concat_tables(own.rows), own.known) for n, own in changes.items()}, layout)
        table = LocalTable(rows, ", ".join(own.table.name for own in changes.values()))
        return Changes((rows,), table, tuple(range(len(layout.schema["fields"]))))

    def whole_rows(self, table: SourceTable, plan: Plan) -> Partitions:
        return self.keyed(_safe_rows(_local_table(table), range(len(plan.schema.types))), plan)

    # Tables that are split over sites -------------------------------------------------------------------------

    def entirely_null(self, table: SourceTable, column: str) -> bool:
        rows = _local_table(table).rows
        return bool(rows.column(column).null_count == rows.num_rows)

    def row_count(self, tables: Sequence[SourceTable]) -> int:
        return sum(_local_table(table).rows.num_rows for table in tables)

    def packed_sites(self, sites: Sequence[SiteColumns], packing: IdPacking) -> Partitions:
        from holdfast.engines.local.packed_rows import packed_rows, site_rows  # only for tables that are split

        return tuple(
            packed_rows(rows, packing, alike.atoms, alike.conditions, ["site"])
            for alike in sites
            for number, table in alike.tables.items()
            for rows in [site_rows(_local_table(table), packing, alike.columns, number)]
        )

    def packed_changes(self, changes: Changes, packing: IdPacking, conditions: Sequence[str]) -> Partitions:
        from holdfast.engines.local.packed_rows import packed_rows

        atoms, kept = range(len(packing.held_atoms.atoms)), ["ct", "o0", "o1", "o2"]
        return tuple(packed_rows(rows, packing, atoms, conditions, kept) for rows in changes.rows)

    def truths(
        self, rows: Sequence[Mapping[str, Constant]], schema: SchemaJson, conditions: Sequence[str]
    ) -> list[set[str]]:
        from holdfast.engines.local.packed_rows import truths_of_constants

        return truths_of_constants(rows, schema, conditions)

    # Tasks ----------------------------------------------------------------------------------------------------

    @property
    def slots(self) -> int:
        return 1

    def splits(self, table: SourceTable) -> int:
        return 1

    def keyed(self, rows: Partitions, plan: Plan) -> Partitions:
        require_key_types(plan.key, plan.schema)
        parts = [f"c{plan.schema.position(name)}" for name in plan.key]
        return tuple(table.append_column("k", key_of(table, parts, plan.key)) for table in rows)

    def placed(
        self, rows: Partitions, places: int, *, by: Sequence[str] = (), columns: Sequence[str] | None = None
    ) -> Partitions:
        table = pa.concat_tables(rows)
        if by:
            table = table.append_column("h", pa.array(spark_xxhash64([table.column(name) for name in by])))
        if columns is not None:
            table = table.select(["h", *columns])
        work = place_of(table.column("h").to_numpy(), places)
        return (table.append_column("work", pa.array(work)),)

    def routed(
        self,
        rows: Partitions,
        plan: Plan,
        groups: GroupedPrograms,
        splits: int,
        *,
        which: Sequence[int] | None = None,
    ) -> Partitions:
        from holdfast.programs.arrow_rows import formed_rows  # only for watching, as the groups are
        from holdfast.watching.pair_groups import ALONE, NOTES

        table = pa.concat_tables(rows)
        if which is not None:
            table = table.append_column("sign", pa.array(np.ones(table.num_rows, np.int32)))
            table = table.append_column(MESSAGE, pa.nulls(table.num_rows, pa.string()))
        sign = table.column("sign").to_numpy()
        noted = table.filter(pa.array(sign == 0)).select([MESSAGE])
        own = [name for name in table.column_names if name.startswith("c") and name[1:].isdecimal()]
        formed = formed_rows(table.filter(pa.array(sign != 0)).select(["sign", MESSAGE, "k", *own]), plan)
        partitions = [_with_route(noted, NOTES, np.zeros(noted.num_rows, np.int64), BOTH)] if noted.num_rows else []
        for route in groups.routes(formed, which, alone=which is None):
            columns = (
                [f"b{flag}" for flag in sorted(set(groups.alone.values()))]
                if route.group == ALONE
                else groups.groups[route.group].columns
            )
            chosen = formed.select(["sign", MESSAGE, "k", *columns])
            if len(route.rows) < formed.num_rows:
                chosen = chosen.take(pa.array(route.rows))
            loose = which is not None and not groups.groups[route.group].meets.left
            by = spark_xxhash64([chosen.column("k")]) if loose else route.hashes
            entered = _with_route(chosen, route.group, route.hashes, route.role)
            partitions.append(entered.append_column("work", pa.array(place_of(by, splits))))
        return _by_group(partitions)

    def gathered(self, rows: Partitions) -> Partitions:
        return (pa.concat_tables(rows),)

    def shared(self, rows: Partitions, shares: int) -> Partitions:
        (table,) = self.gathered(rows)
        numbers = [pa.array(np.full(table.num_rows, share, np.int64)) for share in range(shares)]
        return tuple(table.append_column("share", number) for number in numbers)

    def run(self, rows: Iterable[pa.Table], task: Task, fields: Sequence[FieldJson]) -> Partitions:
        types = {own["name"]: arrow_type(own["type"]) for own in fields}
        empty = pa.schema(list(types.items())).empty_table()
        batches = [batch for table in rows for batch in task(iter(table.to_batches()))]
        return (pa.concat_tables([empty, *(as_typed(pa.Table.from_batches([batch]), types) for batch in batches)]),)

    def run_both(
        self,
        rows: Partitions,
        places: tuple[int, int],
        tasks: tuple[Task, Task],
        fields: tuple[Sequence[FieldJson], Sequence[FieldJson]],
    ) -> Partitions:
        """As that of StateEngine, but the second task has a few parts at a time of what the first one gives.

        So memory does not grow with the number of parts.
        """
        (table,) = self.placed(rows, 1, by=["k"])
        types = {own["name"]: arrow_type(own["type"]) for own in fields[0]}
        given = (as_typed(pa.Table.from_batches([b]), types) for b in tasks[0](iter(table.to_batches())))
        return self.run(_by_part(given), tasks[1], fields[1])

    def messages(self, rows: Partitions, task: Task) -> list[Message]:
        return messages_in(batch for table in rows for batch in task(iter(table.to_batches())))

    def numbers(self, columns: Mapping[str, Sequence[int]], partitions: int) -> Partitions:
        return (pa.table({name: pa.array(list(values), pa.int32()) for name, values in columns.items()}),)

    # Errors ---------------------------------------------------------------------------------------------------

    def translate_change_errors(self, table: SourceTable, schema: SchemaJson) -> AbstractContextManager[None]:
        return translate_unfit_values()

    def translate_load_errors(self, table: SourceTable, doing: str = "loading") -> AbstractContextManager[None]:
        return nullcontext()

    def translate_site_errors(self, tables: Mapping[str, SourceTable], origin: str) -> AbstractContextManager[None]:
        return nullcontext()


def place_of(hashes: Ints, places: int) -> NDArray[np.int32]:
    """Which of `places` ranges of one width each hash lies in; places are a power of two. The twin of `place_sql`."""
    bits = places.bit_length() - 1
    if bits == 0:
        return np.zeros(len(hashes), np.int32)
    return ((hashes >> np.int64(64 - bits)) + places // 2).astype(np.int32)


def _by_part(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The tables, which come part by part, as many parts together as make PIECE_ROWS; a longer part in pieces."""
    together: list[pa.Table] = []
    size, last = 0, None
    for table in tables:
        part = table.column("part")[0].as_py()
        if size >= PIECE_ROWS and part != last:
            yield _in_pieces(together)
            together, size = [], 0
        together.append(table)
        size, last = size + table.num_rows, part
    if together:
        yield _in_pieces(together)


def _in_pieces(tables: Sequence[pa.Table]) -> pa.Table:
    table = pa.concat_tables(tables)
    places = 1 << max(table.num_rows // PIECE_ROWS - 1, 0).bit_length()
    return table.append_column("work", pa.array(place_of(table.column("h").to_numpy(), places)))


def _local_table(table: SourceTable) -> LocalTable:
    assert isinstance(table, LocalTable), "tables are those that the engine has opened"
    return table


def _safe_rows(table: LocalTable, positions: Sequence[int]) -> Partitions:
    """The columns at these positions under safe names, in the types that a state has them in."""
    kinds = arrow_schema(schema_json(table.rows.schema))
    columns = {f"c{i}": table.rows.column(i) for i in positions}
    return (as_typed(pa.table(columns), {f"c{i}": kinds.field(i).type for i in positions}),)


def _with_route(rows: pa.Table, group: int, hashes: Ints, role: int) -> pa.Table:
    size = rows.num_rows
    marks = {"g": np.full(size, group, np.int32), "h": hashes, "role": np.full(size, role, np.int32)}
    for name, values in marks.items():
        rows = rows.append_column(name, pa.array(values))
    return rows


def _by_group(tables: Sequence[pa.Table]) -> Partitions:
    """The tables, those of one group as one: rows that play different parts there meet."""
    groups: dict[int, list[pa.Table]] = {}
    for table in tables:
        groups.setdefault(table.column("g")[0].as_py(), []).append(table)
    return tuple(pa.concat_tables(alike) for alike in groups.values())
