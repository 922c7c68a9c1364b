"""A table under watch: its rows and those that rules compare, kept in a state on disk, batch by batch.

A batch is one job of two steps: its changes go to tasks by key, which look up the rows that are there now; what goes
and what comes then goes to tasks by the hash of what rules want to be equal, which look up the rows it can meet and
count pairs. Tasks write new files; the version that names them makes them count, all at once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdfast.engines.states.first_load import first_manifest, first_rows, first_schema, first_tables
from holdfast.engines.states.state_engine import Changes, SourceTable, StateEngine
from holdfast.engines.states.state_table import NextVersion
from holdfast.engines.states.whole_table import WholeTable
from holdfast.errors import OptionError, StateError
from holdfast.presented import presentation
from holdfast.programs.plan import make_typed_plan
from holdfast.rules.rule import RuleSet, rule_text
from holdfast.rules.rule_file import dump_rules, parse_rules
from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.change_log import batch_log, empty_log, logged_version, unchanged
from holdfast.states.compaction import Merge
from holdfast.states.manifest import FOLDERS, ROWS, StoredTable, WatchBody, by_name
from holdfast.states.messages import Message, Unit
from holdfast.states.segment import Segment
from holdfast.states.store import open_store
from holdfast.states.table_schema import arrow_type, key_field
from holdfast.states.versions import commit, require_free
from holdfast.violations.evaluate import UNLIMITED
from holdfast.watching.pair_changes import PairChangesTask
from holdfast.watching.pair_groups import GroupedPrograms, pair_groups
from holdfast.watching.status import WatchStatus, history

if TYPE_CHECKING:
    from holdfast.engines.check_result import CheckResult, ShownResult


@dataclass(frozen=True)
class WatchedTable(WholeTable[BatchOutcome, WatchBody]):
    """A state on disk, opened: a table under watch, and the violations of its rules.

    `EvolvedTable` keeps the rules of a table in the same way.
    """

    body = WatchBody

    @cached_property
    def rules(self) -> RuleSet:
        return parse_rules(self.manifest.body.rules, origin="the state's rules")

    @cached_property
    def groups(self) -> GroupedPrograms:
        """The groups of rules that share a table. Raises StateError where a table of the state holds something else."""
        absent = frozenset(i for i, rule in enumerate(self.rules) if rule.kind == "ind")
        groups = pair_groups(self.plan.programs, absent)
        abouts = [groups.about(i, self.plan) for i in range(len(groups.groups))]
        if abouts != [table.about for table in self.manifest.body.pair_tables]:
            raise StateError(
                f"the state {self.store.root} was made by another version of Holdfast, which laid its tables out "
                "otherwise.",
                hint="make it anew with holdfast watch init STATE --data … --rules … --key …",
            )
        return groups

    # Batches --------------------------------------------------------------------------------------------------

    def _unchanged(self, batch: str) -> BatchOutcome:
        return unchanged(batch, self.manifest)

    @property
    def units(self) -> dict[str, Unit]:
        """By rule name, what the rule's total counts."""
        pairs = map(self.groups.speaks_of_pairs, range(len(self.rules)))
        return {rule.name: Unit.PAIRS if paired else Unit.ROWS for rule, paired in zip(self.rules, pairs, strict=True)}

    def _next_version(
        self, batch: str, messages: Sequence[Message], version: int, limit: int | None
    ) -> NextVersion[BatchOutcome]:
        log = batch_log(self.store, messages, list(self.units), version, limit)
        manifest = logged_version(self.manifest, log, messages, self.units)
        return NextVersion(manifest, lambda version, seconds: log.outcome(batch, version, seconds=seconds))

    def _run_tasks(self, changes: Changes, version: int, limit: int | None) -> list[Message]:
        plan, now, engine = self.plan, self.manifest, self.engine
        # A condition may speak of any column.
        kept: Sequence[int] = range(len(plan.schema.types))
        if not plan.conditions:
            kept = [plan.schema.position(name) for name in plan.columns]
        splits = engine.splits(changes.table)
        with engine.translate_change_errors(changes.table, now.schema):
            net = self._net_rows(changes, version, kept, splits)
            routed = engine.routed(net, plan, self.groups, splits)
            pairs = PairChangesTask(
                store=self.store,
                version=version,
                groups=self.groups,
                tables=dict(enumerate(now.body.pair_tables)),
                names=tuple(rule.name for rule in plan.rules),
                limit=UNLIMITED if limit is None else limit,
            )
            return engine.messages(routed, pairs)

    def _merge(self, table: str, segments: tuple[Segment, ...], everything: bool) -> Merge:
        if table == ROWS:
            return super()._merge(table, segments, everything)
        place = [own.name for own in self.manifest.body.pair_tables].index(table)
        group = self.groups.groups[place]
        by = None if group.sorted_by is None else f"f{group.sorted_by}"
        return Merge(table, segments, everything, ("k",), ("k",), by, tuple(f"f{form}" for form in group.zoned))

    # Reading --------------------------------------------------------------------------------------------------

    def status(self, *, seconds: float = 0.0) -> WatchStatus:
        """What the state's version says of itself; nothing is computed."""
        now = self.manifest
        return WatchStatus(
            table=now.table,
            version=now.version,
            rows=now.rows,
            key=now.key,
            batches=now.applied,
            totals=now.totals,
            units=self.units,
            rules={rule.name: rule_text(rule) for rule in self.rules},
            seconds=seconds,
        )

    def with_worst_rows(self, result: ShownResult, *, seconds: float) -> WatchStatus:
        """The status with the worst rows that a check of the state found."""
        totals = totals_of(result)
        if totals != dict(self.manifest.totals):
            raise StateError(
                f"the state {self.store.root} is damaged: its rows have the violations {totals}, and its totals say "
                f"{dict(self.manifest.totals)}.",
                hint="make the state anew from its table.",
            )
        rules = result.detailed.rules
        worst = {
            outcome.rule.name: tuple((row.key, row.conflicts) for row in outcome.worst)
            for outcome in rules
            if outcome.worst
        }
        return replace(self.status(seconds=seconds), worst=worst)

    def report(self, status: WatchStatus, result: ShownResult) -> str:
        """The state as an HTML page: its totals over time, and what a check of it found."""
        return str(presentation("watch_page").watch_page(status, history(self.store), result.shown))

    def check(self, *, limit: int | None) -> CheckResult:
        """The table as it is now, checked by its rules, from nothing."""
        return self.engine.check(self.table, self.plan, limit=limit)

    # Rules ----------------------------------------------------------------------------------------------------

    def other_rules(self, rules: RuleSet) -> bool:
        """Whether these rules are not those of the state, by name, meaning or order."""
        named = [(rule.name, _meaning(rule)) for rule in rules]
        return rules.nulls != self.rules.nulls or named != [(rule.name, _meaning(rule)) for rule in self.rules]

    def change_rules(self, rules: RuleSet) -> tuple[list[str], list[str]]:
        """The state watches these rules from now on; the names of those that are new, and of those that are gone.

        The table is read from the state itself. A rule that stays as it was keeps its total; what new rules compare is
        entered into tables of their own where no table of the state has it already.
        """
        with self._written() as state:
            return state._change_rules(rules)

    def _change_rules(self, rules: RuleSet) -> tuple[list[str], list[str]]:
        now = self.manifest
        if rules.key and rules.key != now.key:
            raise StateError(
                f"the rules name rows by {', '.join(rules.key)}, but the state does by {', '.join(now.key)}.",
                hint="leave the key out of the rule file, or make a new state.",
            )
        plan = make_typed_plan(rules, self.plan.schema, now.key)
        old = {rule.name: rule for rule in self.rules} if rules.nulls == self.rules.nulls else {}
        new = [rule for rule in rules if _meaning(old.get(rule.name)) != _meaning(rule)]
        gone = [name for name in now.totals if name not in {rule.name for rule in rules}]
        table = self.table
        fresh = make_typed_plan(replace(rules, rules=tuple(new)), plan.schema, now.key)
        with self.engine.check(table, fresh, limit=0) as result:
            totals = {**now.totals, **totals_of(result)}
        groups, version = pair_groups(plan.programs), now.version + 1
        have = {t.about: t for t in now.body.pair_tables}
        abouts = [groups.about(i, plan) for i in range(len(groups.groups))]
        tables = [have.get(about) or StoredTable(f"pairs-{version}-{i}", about=about) for i, about in enumerate(abouts)]
        missing = [i for i, about in enumerate(abouts) if about not in have]
        if missing:
            with self.engine.translate_load_errors(table):
                rows = self.engine.keyed_rows(table, plan)
                tables = first_tables(self.engine, self.store, rows, plan, groups, tables, missing, version, now.rows)
        manifest = replace(
            now,
            version=version,
            body=WatchBody(by_name([now.body.row_table, *tables]), dump_rules(replace(rules, key=now.key))),
            totals={rule.name: totals[rule.name] for rule in rules},
            batches=(),
            log=(),
        )
        commit(self.store, manifest)
        return [rule.name for rule in new], gone


def init_watch(
    engine: StateEngine,
    table: SourceTable,
    rules: RuleSet,
    key: Sequence[str],
    place: str | os.PathLike[str],
    reading: Mapping[str, Any],
) -> WatchedTable:
    """A new state at the place, of the table as it is now and the violations it has."""
    if not key:
        raise OptionError("a watched table needs a key.", hint="name the column that tells rows apart with --key.")
    store = open_store(place)
    require_free(store)
    schema = engine.schema_of(table)
    plan = make_typed_plan(rules, first_schema(schema, table.name), key)
    store.make(FOLDERS)
    with store.only_writer() as store:
        require_free(store)
        with engine.check(table, plan, limit=0, whole=True) as result:
            groups, count = pair_groups(plan.programs), result.outcome.rows
            tables = [StoredTable(f"pairs-0-{i}", about=groups.about(i, plan)) for i in range(len(groups.groups))]
            with engine.translate_load_errors(table):
                rows = engine.checked_rows(result, table, plan)
                row_table = first_rows(engine, store, rows, len(plan.schema.types), count)
                tables = first_tables(engine, store, rows, plan, groups, tables, range(len(tables)), 0, count)
                log = empty_log(store, arrow_type(key_field(schema, key)["type"]))
            body = WatchBody(by_name([row_table, *tables]), dump_rules(replace(rules, key=tuple(key))))
            manifest = first_manifest(table, schema, key, reading, rows=count, totals=totals_of(result), body=body)
        commit(store, replace(manifest, log=(log,)))
    return WatchedTable(engine, store)


def watched(engine: StateEngine, place: str | os.PathLike[str]) -> WatchedTable:
    """The state at the place; StateError where there is none."""
    return WatchedTable(engine, open_store(place)).opened()


def _meaning(rule: Any) -> Any:
    return None if rule is None else (rule.body, rule.where)


def totals_of(result: ShownResult) -> dict[str, int]:
    """By rule name, the violating pairs that a check found, or the rows where a rule speaks of single rows."""
    return {
        outcome.rule.name: outcome.violating_rows if outcome.violating_pairs is None else outcome.violating_pairs
        for outcome in result.outcome.rules
    }
