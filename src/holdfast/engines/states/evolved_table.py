"""A table whose rules are kept up to date: its rows in a state on disk, and the evidence its rules follow from.

A batch is one job: its changes go to tasks by key, which look up the rows that are there now; what goes and what
comes then goes to tasks that each relate it to a part of the table, and one task repairs the rules. Tasks write new
files; the version that names them makes them count, all at once. `watch` keeps violations in the same way.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.encode.column_type import ColumnType
from holdfast.engines.states.first_load import first_manifest, first_rows, first_schema
from holdfast.engines.states.state_engine import Changes, SourceTable, StateEngine
from holdfast.engines.states.state_table import NextVersion
from holdfast.engines.states.whole_table import WholeTable
from holdfast.errors import OptionError, StateError
from holdfast.evolving.evolve import KeptRules, keeps_evidence, no_evidence
from holdfast.evolving.kept_table import EQUAL, KeptTable
from holdfast.evolving.options import EvolveStrategy
from holdfast.evolving.outcome import EvolveOutcome, EvolveStatus, RulesChange, change_from_json
from holdfast.evolving.settled_space import is_due
from holdfast.evolving.tasks import (
    ChangedEvidenceTask,
    IndexTask,
    PackTask,
    RepairTask,
    SearchTask,
    SpaceTask,
    write_kept,
)
from holdfast.programs.plan import Plan, make_typed_plan
from holdfast.rules.decisions import Decisions, dump_decisions, parse_decisions
from holdfast.rules.rule import RuleSet
from holdfast.search.coded_rows import predicate_space
from holdfast.search.lines import own_cores
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import DiscoverOutcome
from holdfast.search.rank import ranked
from holdfast.states.compaction import Merge, places_for
from holdfast.states.manifest import CHANGES, FOLDERS, KEPT, PENDING, EvolveBody, Manifest, StoredTable, by_name
from holdfast.states.messages import Message, RepairedRules, RowCount, SpaceNote, of_type
from holdfast.states.segment import Segment
from holdfast.states.store import Store, open_store
from holdfast.states.table_schema import field, schema_as_seen
from holdfast.states.versions import commit, past_versions, read_log, require_free, versions_there

if TYPE_CHECKING:
    from holdfast.checking.outcome import RuleOutcome

_SHOWN_CHANGES = 10
# What tasks pass on: parts of bytes, in pieces.
LINES = (field("part", "string"), field("piece", "integer"), field("bytes", "binary"))
_BY_INDEXES = (
    "rules are kept by indexes, not by counted evidence of all pairs: rows that come are looked up, and when rows go, "
    "rules that could be more general are put to the table"
)


@dataclass(frozen=True)
class EvolvedTable(WholeTable[EvolveOutcome, EvolveBody]):
    """A state on disk, opened: a table, and the rules it holds. `WatchedTable` keeps violations in the same way.

    `strategy` overrides the one that the state was made with.
    """

    strategy: EvolveStrategy | None = None

    body = EvolveBody

    @property
    def rules(self) -> RuleSet:
        return RuleSet((), key=self.manifest.key)

    def by(self, strategy: EvolveStrategy) -> EvolvedTable:
        """The same state, its rules kept by this strategy for now. StateError where it has not what that needs."""
        exact = self.manifest.body.options["exact"]
        if strategy == ("index" if exact else "evidence"):
            has = "counted evidence of all pairs, and no indexes" if exact else "no counted evidence"
            raise StateError(
                f"the state {self.store.root} keeps {has}.",
                hint=f"make a state with --strategy {strategy}, or leave the strategy out.",
            )
        return replace(self, strategy=strategy)

    @cached_property
    def options(self) -> DiscoverOptions:
        return _options_of(self.manifest.body.options)

    @cached_property
    def compared(self) -> Mapping[str, ColumnType]:
        """The columns that are compared, with their types."""
        return {name: self.plan.schema.types[name] for name in self.manifest.body.options["compared"]}

    @cached_property
    def kept(self) -> KeptRules:
        return KeptRules.from_bytes(self.store.file(self.manifest.body.kept).read_bytes())

    # Batches --------------------------------------------------------------------------------------------------

    def _unchanged(self, batch: str) -> EvolveOutcome:
        now = self.manifest
        none = RulesChange((), (), now.totals["rules"])
        return EvolveOutcome(batch, False, now.version, now.rows, none, decisions=self.decisions)

    def _next_version(
        self, batch: str, messages: Sequence[Message], version: int, limit: int | None
    ) -> NextVersion[EvolveOutcome]:
        now, body = self.manifest, self.manifest.body
        change, listed, unseen = RulesChange((), (), now.totals["rules"]), {}, body.options["unseen"]
        # Without rows that change there is nothing to repair.
        unchanged = RepairedRules(body.kept, now.rows, indexed=self._indexed)
        repaired = next(iter(of_type(messages, RepairedRules)), unchanged)
        body = _with_indexes(body, self._indexed, repaired.indexed).with_written(messages)
        if repaired.change:
            unseen += sum(count.added + count.removed for count in of_type(messages, RowCount))
            listed = dict(repaired.change)
            if is_due(unseen, repaired.rows, self.options):
                listed["notes"] = [*listed["notes"], *self._space_notes(body.row_table, repaired.rows)]
                unseen = 0
            change = change_from_json(listed)
        # Whoever does not know of indexes counts the batches it takes in, and leaves this as it is.
        indexed = {"indexed": {"tables": list(repaired.indexed), "applied": now.applied + 1}}
        log = f"{version:012}.json"
        self.store.create(f"{PENDING}/{log}", json.dumps(listed, ensure_ascii=False).encode())
        manifest = replace(
            now,
            rows=repaired.rows,
            totals={"rules": change.total},
            body=replace(body, kept=repaired.kept, options={**body.options, "unseen": unseen, **indexed}),
            log=(log,),
        )
        return NextVersion(
            manifest,
            lambda committed, seconds: EvolveOutcome(
                batch, True, version, committed.rows, change, seconds, self.decisions
            ),
        )

    def _finished(
        self, manifest: Manifest[EvolveBody], following: NextVersion[EvolveOutcome], started: float
    ) -> EvolveOutcome:
        self._compact(manifest)  # here the merging of files is timed too
        return following.outcome(manifest, time.monotonic() - started)

    def _space_notes(self, table: StoredTable, rows: int) -> list[str]:
        """What a discovery of the rows of the table would compare otherwise."""
        engine, compared = self.engine, self.table_of(table, rows)
        task = SpaceTask(self.store, self.compared, self.options, self.manifest.body.kept)
        with engine.translate_load_errors(compared, "looking at the columns of"):
            messages = engine.messages(engine.compared_rows(compared, self.compared), task)
        return [note.text for note in of_type(messages, SpaceNote)]

    def _run_tasks(self, changes: Changes, version: int, limit: int | None) -> list[Message]:
        plan, now, engine = self.plan, self.manifest, self.engine
        table = _kept_table(self.store, now, plan, self.compared, self.options, self._indexed)
        shares = max(1, min(table.places, now.rows // self.store.limits.rows_per_task, engine.slots))
        with engine.translate_change_errors(changes.table, now.schema):
            everything = range(len(plan.schema.types))
            net = self._net_rows(changes, version, everything, engine.splits(changes.table))
            packed = engine.run(net, PackTask(), LINES)
            strategy = self.strategy or now.body.options["strategy"]
            if strategy == "rediscover" or not now.body.options["exact"]:
                self.store.make(table.folders)
                search_task = SearchTask(table, self.compared, self.options, now.body.kept, strategy, version)
                return engine.messages(engine.gathered(packed), search_task)
            task = ChangedEvidenceTask(table, self.compared, self.options, now.body.kept, shares)
            lines = engine.gathered(engine.run(engine.shared(packed, shares), task, LINES))
            return engine.messages(lines, RepairTask(self.store, self.options, now.body.kept))

    @property
    def _indexed(self) -> tuple[str, ...]:
        """The tables of indexes that have all rows; none where a batch was applied without them."""
        known = self.manifest.body.options.get("indexed", {"tables": (), "applied": -1})
        return tuple(known["tables"]) if known["applied"] == self.manifest.applied else ()

    def _merge(self, table: str, segments: tuple[Segment, ...], everything: bool) -> Merge:
        if table.startswith(EQUAL):
            return Merge(table, segments, everything, self._key_columns, self.manifest.key)
        return super()._merge(table, segments, everything)

    # Reading --------------------------------------------------------------------------------------------------

    def rules_status(self, *, top: int | None, started: float) -> EvolveStatus:
        """The rules as they are now, best first, as a discovery would tell them; and what became of others."""
        from holdfast.engines.decided_discovery import decided  # not for applying changes: what it imports takes time
        from holdfast.engines.discovery import why_nothing

        now, kept = self.manifest, self.kept
        result = kept.search_result(self.options, threads=own_cores())
        discovered = DiscoverOutcome(
            table=now.table,
            rows=now.rows,
            distinct_rows=now.rows,
            predicates=kept.space.predicates,
            evidence=len(kept.evidence),
            complete=True,
            seconds=time.monotonic() - started,
            found=ranked(result),
            options=self.options,
            top=top,
            strategy=result.strategy,
            notes=(*(() if kept.exact else (_BY_INDEXES,)), *why_nothing(now.rows, self.compared)),
        )
        if self.decisions is not None:
            discovered = decided(discovered, self.decisions, self._counted, top=top)
            discovered = replace(discovered, seconds=time.monotonic() - started)
        return EvolveStatus(discovered, now.version, now.key, now.applied, tuple(self.history(_SHOWN_CHANGES)))

    @cached_property
    def decisions(self) -> Decisions | None:
        """What people had decided about rules when the state was made."""
        text = self.manifest.body.options.get("decisions")
        return None if text is None else parse_decisions(text, origin=f"the decisions of {self.store.root}")

    def _counted(self, rules: RuleSet, *, limit: int) -> Sequence[RuleOutcome]:
        """The counts that a check of the table as it is now gives."""
        now, body = self.manifest, self.manifest.body
        plan = make_typed_plan(rules, schema_as_seen(now.schema, now.table), now.key)
        with self.engine.check(self.table_of(body.row_table, now.rows), plan, limit=limit) as result:
            return result.outcome.rules

    def history(self, most: int) -> list[tuple[int, RulesChange]]:
        """The last changes of the rules, at most so many, the latest first, each with its version."""
        changes = []
        for version, change in self._logged():
            if change and (change["added"] or change["removed"]):
                changes.append((version, change_from_json(dict(change))))
            if len(changes) == most:
                break
        return changes

    def _logged(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """What each version says that it changed, the latest first."""
        oldest = self.manifest.version
        for there in versions_there(self.store):
            oldest = there.version
            for name in there.log:
                yield there.version, json.loads(read_log(self.store, there, name))
        for gone in reversed(past_versions(self.store, self.manifest)):
            oldest = gone.version
            yield gone.version, gone.change or {}
        # Of versions before, in states of earlier days, only these are left.
        for name in reversed([name for name in self.store.names(CHANGES) if name < f"{oldest:012}"]):
            yield int(name.removesuffix(".json")), json.loads(self.store.read(f"{CHANGES}/{name}"))


def _with_indexes(body: EvolveBody, before: Sequence[str], after: Sequence[str]) -> EvolveBody:
    """The body with tables of indexes for what tasks have written. Those that did not have all rows before, or do not
    after, lose their files; they stay named, so that the files go."""
    known = {name for name in body.tables if name.startswith(EQUAL)}
    empty = sorted((known | {*after}) - ({*before} & {*after}))
    return body.with_tables(map(StoredTable, empty))


def _kept_table(
    store: Store,
    manifest: Manifest[EvolveBody],
    plan: Plan,
    compared: Iterable[str],
    options: DiscoverOptions,
    indexed: Sequence[str],
) -> KeptTable:
    """The rows of this version as tasks read them, with the indexes of these tables."""
    columns = {name: f"c{plan.schema.position(name)}" for name in (*plan.key, *compared)}
    return KeptTable(
        store=store,
        segments=manifest.body.row_table.segments,
        places=places_for(manifest.rows),
        key=tuple(columns[name] for name in plan.key),
        key_names=plan.key,
        compared={name: columns[name] for name in compared},
        nulls=options.nulls,
        equalities={name.removeprefix(EQUAL): manifest.body.tables[name].segments for name in indexed},
    )


def _with_first_indexes(
    engine: StateEngine,
    store: Store,
    first: Manifest[EvolveBody],
    plan: Plan,
    types: Mapping[str, ColumnType],
    options: DiscoverOptions,
) -> Manifest[EvolveBody]:
    """The first version, with what lets batches read few rows."""
    body, table = first.body, _kept_table(store, first, plan, types, options, ())
    store.make(table.folders)
    task = IndexTask(table, types, options, body.kept, body.options["strategy"], first.version)
    messages = engine.messages(engine.numbers({"id": [0]}, 1), task)
    (prepared,) = of_type(messages, RepairedRules)
    if prepared.kept != body.kept:
        store.remove([body.kept])
    indexed = {"indexed": {"tables": list(prepared.indexed), "applied": first.applied}}
    body = _with_indexes(body, (), prepared.indexed).with_written(messages)
    return replace(first, body=replace(body, kept=prepared.kept, options={**body.options, **indexed}))


def evolved_table(engine: StateEngine, place: str | os.PathLike[str]) -> EvolvedTable:
    """The state at the place; StateError where there is none."""
    return EvolvedTable(engine, open_store(place)).opened()


def init_evolve(
    engine: StateEngine,
    table: SourceTable,
    key: Sequence[str],
    place: str | os.PathLike[str],
    options: DiscoverOptions,
    strategy: EvolveStrategy,
    reading: Mapping[str, Any],
    decisions: Decisions | None = None,
) -> EvolvedTable:
    """A new state at the place, of the table as it is now and the rules it holds. It keeps the decisions: what it shows
    are the rules that nobody decided on."""
    from holdfast.engines.discovery import compared_columns  # not for applying changes: what it imports takes time

    if not key:
        raise OptionError(
            "rules are kept by the key of rows.", hint="name the column that tells rows apart with --key."
        )
    store = open_store(place)
    require_free(store)
    schema = engine.schema_of(table)
    plan = make_typed_plan(RuleSet(()), first_schema(schema, table.name), key)
    types, _ = compared_columns(plan.schema.types, options, table.name)
    if not types:
        raise OptionError("there are no columns to compare.", hint="name some with --columns, or leave out --exclude.")
    store.make((*FOLDERS, KEPT))
    with store.only_writer() as store:
        require_free(store)
        with engine.check(table, plan, limit=0, whole=True) as result:
            rows = result.outcome.rows
            with engine.translate_load_errors(table):
                row_table = first_rows(
                    engine, store, engine.checked_rows(result, table, plan), len(plan.schema.types), rows
                )
                exact = keeps_evidence(rows, strategy)
                searched = engine.search(table, types, replace(options, strategy="all-pairs") if exact else options)
        kept = KeptRules.of(searched) if searched is not None else _nothing(types, options)
        kept = replace(kept, exact=kept.exact and exact)
        chosen = {"compared": list(types), "strategy": strategy, "exact": kept.exact, "unseen": 0}
        known = {} if decisions is None else {"decisions": dump_decisions(decisions)}
        body = EvolveBody(by_name([row_table]), write_kept(store, kept), {**_plain(options), **chosen, **known})
        totals = {"rules": len(kept.masks)}
        first = first_manifest(table, schema, key, reading, rows=rows, totals=totals, body=body)
        if not kept.exact and strategy != "rediscover":
            first = _with_first_indexes(engine, store, first, plan, types, options)
        commit(store, first)
    return EvolvedTable(engine, store)


def _nothing(types: Mapping[str, ColumnType], options: DiscoverOptions) -> KeptRules:
    """What is known of a table without rows."""
    none = {name: np.zeros(0, np.int32) for name in types}
    space = predicate_space(none, types, options)
    return KeptRules(space, np.zeros((0, space.words), np.uint64), np.zeros(0, np.int64), no_evidence(space), 0)


_KEPT_OPTIONS = (
    "columns",
    "exclude",
    "cross_columns",
    "one_row",
    "order_text",
    "nulls",
    "max_predicates",
    "seed",
    "device",
)


def _plain(options: DiscoverOptions) -> dict[str, Any]:
    return {**{name: getattr(options, name) for name in _KEPT_OPTIONS}, "error": str(options.error)}


def _options_of(kept: Mapping[str, Any]) -> DiscoverOptions:
    given = {name: kept[name] for name in _KEPT_OPTIONS}
    given |= {name: tuple(given[name]) for name in ("columns", "exclude")}
    return DiscoverOptions(**given, error=Decimal(kept["error"]))
