"""Several tables under watch, kept in one state: the table of the rows of all, whose columns have their tables' names.

Rules over one table or two are rules of that one; an inclusion is one whose rows want a partner. So a batch of changes
of any of the tables is a batch of the one, and what is promised of a watched table holds.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdfast.engines.states.changes import changes_of, content_id, read_changes
from holdfast.engines.states.first_load import first_manifest, first_rows, first_schema, first_tables
from holdfast.engines.states.refused_changes import translate_unfit_values
from holdfast.engines.states.state_engine import Changes, Rows, SourceTable, StateEngine
from holdfast.engines.states.watched_table import WatchedTable, totals_of
from holdfast.errors import OptionError, SourceError, StateError
from holdfast.programs.compile import TABLE
from holdfast.programs.plan import Plan, make_typed_plan
from holdfast.rules.joint_rules import joint_rules
from holdfast.rules.rule import NamedTable, RuleSet
from holdfast.rules.rule_file import dump_rules, require_table
from holdfast.states.batch_ids import named_id
from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.change_log import empty_log
from holdfast.states.joint_layout import JointLayout, key_columns
from holdfast.states.manifest import FOLDERS, StoredTable, WatchBody, by_name
from holdfast.states.store import open_store
from holdfast.states.table_schema import arrow_type, key_field, schema_as_seen
from holdfast.states.versions import commit, require_free
from holdfast.watching.pair_groups import GroupedPrograms, pair_groups

if TYPE_CHECKING:
    from holdfast.engines.tables.result import TablesCheckResult

# How a table was read, as far as it goes for files of its changes too.
_READING = ("null_values", "delimiter", "encoding", "multiline")


@dataclass(frozen=True)
class JointWatch(WatchedTable):
    """A state on disk, opened: several tables under watch, and the violations of their rules.

    `followed` is the table that files of a folder are changes of, where one is followed.
    """

    followed: str | None = None

    @cached_property
    def layout(self) -> JointLayout:
        keys = {table.name: table.key for table in self.rules.tables}
        return JointLayout.of_schema(self.manifest.schema, keys, joint_rules(self.rules).conditions)

    @cached_property
    def plan(self) -> Plan:
        return _joint_plan(self.rules, self.layout)

    # Batches --------------------------------------------------------------------------------------------------

    def apply_files(
        self,
        data: Mapping[str, str],
        *,
        batch: str | None = None,
        limit: int | None,
        reading: Mapping[str, Any] | None = None,
    ) -> BatchOutcome:
        """The changes of a file per table, taken in together, once: files of the same contents were the same batch."""
        if not data:
            raise OptionError("no changes are given.", hint="name those of a table with --table NAME=CHANGES.")
        with self._written() as state:
            assert isinstance(state, JointWatch), "the newest version is of the same state"
            changes = state._read_all(data, reading or {})
            if batch is not None:
                return state._apply(changes, batch, (named_id(batch),), limit)
            content = _content({name: content_id(file) for name, file in data.items()})
            return state._apply(changes, content, (f"content-{content}",), limit)

    def following(self, table: str) -> JointWatch:
        """The same state, to which files of a folder are changes of this table."""
        return replace(self, followed=table)

    def _read(self, data: str, reading: Mapping[str, Any]) -> Changes:
        assert self.followed is not None, "files that are not followed say of which table they are"
        return self._read_all({self.followed: data}, reading)

    def _file_ids(self, data: str, content: str) -> tuple[str, str]:
        assert self.followed is not None, "files that are not followed say of which table they are"
        return super()._file_ids(data, _content({self.followed: content}))

    def _followed_id(self, data: str) -> str:
        return super()._followed_id(f"{self.followed}={os.path.basename(data)}")

    def _changes_of(self, table: SourceTable) -> Changes:
        assert self.followed is not None, "rows that are not followed say of which table they are"
        return self._joined({self.followed: table})

    def stream_name(self, source: str) -> str:
        """Two tables may follow one source: each has got so much of it."""
        assert self.followed is not None, "a source that is followed is one of a table"
        return f"{self.followed}={source}"

    def apply_frames(self, frames: Mapping[str, Rows], *, stream: str, number: int, limit: int | None) -> BatchOutcome:
        """The changes of a frame per table, which together are the batch with this number of a stream."""
        batch = f"{stream}/{number}"
        with self._written() as state:
            if number <= state.manifest.streams.get(stream, -1):
                return state._unchanged(batch)
            changes = self._joined({name: self.engine.table_of(frame, name) for name, frame in frames.items()})
            return state._apply(changes, batch, (), limit, streams={stream: number})

    def _joined(self, tables: Mapping[str, SourceTable]) -> Changes:
        """The changes that the rows of each table are, as changes of the one."""
        layout, engine = self.layout, self.engine
        typed = {name: changes_of(engine, own, layout.schemas[name], layout.keys[name]) for name, own in tables.items()}
        return engine.joined_changes(typed, layout)

    def _read_all(self, data: Mapping[str, str], reading: Mapping[str, Any]) -> Changes:
        """The changes in the files, each read as its table was, but for what is given."""
        tables = {table.name: table for table in self.rules.tables}
        read = {}
        for name, file in data.items():
            given = {**tables[name].reading, **{option: value for option, value in reading.items() if value}}
            with translate_unfit_values():
                read[name] = read_changes(self.engine, file, self.layout.schemas[name], self.layout.keys[name], given)
        return self.engine.joined_changes(read, self.layout)

    # Reading --------------------------------------------------------------------------------------------------

    def check(self, *, limit: int | None) -> TablesCheckResult:  # type: ignore[override]
        """The tables as they are now, checked by their rules, from nothing."""
        tables = self.engine.tables_in(self.table, self.layout)
        return self.engine.check_tables(tables, replace(self.rules, tables=()), self.layout.keys, limit=limit)

    def change_rules(self, rules: RuleSet) -> tuple[list[str], list[str]]:
        raise StateError(
            f"the rules of the state {self.store.root} are over several tables, and stay as they are.",
            hint="make a new state with other rules.",
        )


def init_watch_tables(
    engine: StateEngine,
    tables: Mapping[str, SourceTable],
    rules: RuleSet,
    keys: Mapping[str, tuple[str, ...]],
    place: str | os.PathLike[str],
    reading: Mapping[str, Mapping[str, Any]],
) -> JointWatch:
    """A new state at the place, of the tables as they are now and the violations they have."""
    for rule in rules:
        require_table(rule, tables)
    for name in tables:
        if not keys.get(name):
            raise OptionError(f"the table {name} has no key.", hint=f"name its columns with --key {name}.COLUMN.")
    store = open_store(place)
    require_free(store)
    schemas = {name: engine.schema_of(table) for name, table in tables.items()}
    for name, schema in schemas.items():
        first_schema(schema, name)
    with engine.check_tables(tables, replace(rules, tables=()), keys, limit=0) as result:
        for own in result.outcome.tables:
            if own.key != keys[own.name]:
                problem = next(note for note in result.outcome.notes if note.startswith(f"{own.name}: the key"))
                raise SourceError(
                    f"{problem.partition(';')[0]}.", hint="name a key that every row has, and no two rows share."
                )
        totals, count = totals_of(result), result.outcome.rows
    layout = JointLayout(schemas, {name: keys[name] for name in tables}, joint_rules(rules).conditions)
    layout.require_keys()
    plan = _joint_plan(rules, layout)
    joint = engine.joined_table(tables, layout)
    named = tuple(
        NamedTable(name, None, keys[name], {o: v for o, v in reading[name].items() if v and o in _READING})
        for name in tables
    )
    store.make(FOLDERS)
    with store.only_writer() as store:
        require_free(store)
        groups = _groups(plan, rules)
        stored = [StoredTable(f"pairs-0-{i}", about=groups.about(i, plan)) for i in range(len(groups.groups))]
        with engine.translate_load_errors(joint):
            rows = engine.whole_rows(joint, plan)
            row_table = first_rows(engine, store, rows, len(plan.schema.types), count)
            stored = first_tables(engine, store, rows, plan, groups, stored, range(len(stored)), 0, count)
            log = empty_log(store, arrow_type(key_field(layout.schema, key_columns())["type"]))
        body = WatchBody(by_name([row_table, *stored]), dump_rules(replace(rules, key=(), tables=named)))
        manifest = first_manifest(joint, layout.schema, key_columns(), {}, rows=count, totals=totals, body=body)
        feeds = {
            f"{name}={feed}": number
            for name, table in tables.items()
            if table.origin is not None
            for feed, number in table.origin.feed.items()
        }
        commit(store, replace(manifest, log=(log,), streams=feeds))
    return JointWatch(engine, store)


def opened_watch(engine: StateEngine, place: str | os.PathLike[str]) -> WatchedTable:
    """The state of a watch at the place, of one table or of several; StateError where there is none."""
    state = WatchedTable(engine, open_store(place)).opened()
    return JointWatch(engine, state.store) if state.rules.tables else state


def _joint_plan(rules: RuleSet, layout: JointLayout) -> Plan:
    plan = make_typed_plan(
        joint_rules(rules).rules, schema_as_seen(layout.schema, " and ".join(layout.names)), key_columns()
    )
    return replace(plan, columns=(TABLE, *plan.columns))  # of which table a row is, all rules ask


def _groups(plan: Plan, rules: RuleSet) -> GroupedPrograms:
    return pair_groups(plan.programs, frozenset(i for i, rule in enumerate(rules) if rule.kind == "ind"))


def _content(contents: Mapping[str, str]) -> str:
    """What files hold, by their tables, as one number."""
    digest = hashlib.sha256()
    for name in sorted(contents):
        digest.update(f"{name}\0{contents[name]}\0".encode())
    return digest.hexdigest()
