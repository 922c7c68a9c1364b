"""A table under watch: its rows and those that rules compare, kept in a state on disk, batch by batch.

A batch is one Spark job: its changes go to tasks by key, which look up the rows that are there now; what goes and what
comes then goes to tasks by the hash of what rules want to be equal, which look up the rows it can meet and count pairs.
Tasks write new files; the version that names them makes them count, all at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from holdfast.detect.bind import Schema, require_columns, require_types
from holdfast.detect.evaluate import UNLIMITED
from holdfast.detect.pair_changes import GroupTable, PairChanges
from holdfast.detect.pair_groups import PairGroups, pair_groups
from holdfast.detect.plan import Plan, make_plan
from holdfast.detect.row_changes import RowChanges
from holdfast.encode.column_type import column_type
from holdfast.errors import StateError
from holdfast.report.watch_page import watch_page
from holdfast.report.words import rule_text
from holdfast.rules.rule import RuleSet
from holdfast.rules.rule_file import dump_rules, parse_rules
from holdfast.spark.changes import Changes, changes_of, content_id, read_changes
from holdfast.spark.check import CheckResult, register_functions, run_check, told_plainly
from holdfast.spark.refused_changes import refused_plainly, require_fitting
from holdfast.spark.rows import keyed, select_rows, with_condition, with_lookups
from holdfast.spark.table import Table
from holdfast.spark.watch_compaction import compact
from holdfast.spark.watch_tables import first_tables, place_sql, routed_rows, segments_of, splits_for, with_files
from holdfast.spark.watch_tasks import PresentRows
from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.change_log import Counts, cut_log, discard
from holdfast.states.compaction import places_for
from holdfast.states.history import history
from holdfast.states.manifest import Manifest, PairTable, commit, latest, taken_in, tidy, with_totals
from holdfast.states.segment import Segment
from holdfast.states.store import Store, open_store
from holdfast.states.watch_status import WatchStatus


@dataclass(frozen=True)
class WatchedTable:
    """A state on disk, opened. Every method reads the version that is the newest when it is called."""

    spark: SparkSession
    store: Store

    @cached_property
    def manifest(self) -> Manifest:
        return latest(self.store)

    def newest(self) -> Self:
        return replace(self)

    @cached_property
    def schema(self) -> StructType:
        return StructType.fromJson(dict(self.manifest.schema))

    @cached_property
    def rules(self) -> RuleSet:
        return parse_rules(self.manifest.rules, origin="the state's rules")

    @cached_property
    def plan(self) -> Plan:
        types = {field.name: column_type(field.dataType.simpleString()) for field in self.schema.fields}
        return watch_plan(self.rules, Schema(self.manifest.table, types), self.manifest.key)

    @cached_property
    def groups(self) -> PairGroups:
        return pair_groups(self.plan.programs)

    # Batches --------------------------------------------------------------------------------------------------

    def apply_file(
        self, data: str, *, batch: str | None = None, limit: int | None, reading: Mapping[str, Any] | None = None
    ) -> BatchOutcome:
        """The changes of a file, taken in once: a file of the same content was the same batch."""
        with self._written() as state:
            given = {**state.manifest.reading, **{k: v for k, v in (reading or {}).items() if v}}
            changes = read_changes(state.spark, data, state.schema, state.manifest.key, given)
            if batch is not None:
                return state._apply(changes, batch, (f"named-{_hashed(batch)}",), limit)
            content = content_id(data)
            return state._apply(changes, content, (f"content-{content}", _file_id(data, content)), limit)

    def follow_file(self, data: str, *, limit: int | None) -> BatchOutcome:
        """The changes of a file in a folder that is followed: same name and same content are the same batch."""
        with self._written() as state:
            content = content_id(data)
            changes = read_changes(state.spark, data, state.schema, state.manifest.key, state.manifest.reading)
            return state._apply(changes, content, (_file_id(data, content), f"content-{content}"), limit)

    def has_file(self, data: str) -> bool:
        """Whether follow_file() has taken the file in."""
        return taken_in(self.store, self.manifest, _file_id(data, content_id(data)))

    def apply_frame(self, frame: DataFrame, *, stream: str, number: int, limit: int | None) -> BatchOutcome:
        """The changes of a frame, which is the batch with this number of a stream; numbers of a stream only grow."""
        return self.apply_table(Table(frame, f"batch {stream}/{number}"), stream=stream, number=number, limit=limit)

    def apply_table(self, table: Table, *, stream: str, number: int, limit: int | None) -> BatchOutcome:
        """The same, of a table whose name the user knows."""
        batch = f"{stream}/{number}"
        with self._written() as state:
            if number <= state.manifest.streams.get(stream, -1):
                return state._nothing(batch)
            changes = changes_of(table, state.schema, state.manifest.key)
            return state._apply(changes, batch, (), limit, streams={stream: number})

    @contextmanager
    def _written(self) -> Iterator[Self]:
        """The newest version of the state, to which nobody else writes in here; what no version needs is gone."""
        with self.store.only_writer():
            tidy(self.store)
            yield self.newest()

    def _nothing(self, batch: str) -> BatchOutcome:
        now = self.manifest
        return BatchOutcome(batch, False, now.version, now.rows, (), (), 0, 0, now.totals)

    def _apply(
        self,
        changes: Changes,
        batch: str,
        ids: tuple[str, ...],
        limit: int | None,
        *,
        streams: Mapping[str, int] = MappingProxyType({}),
    ) -> BatchOutcome:
        """The outcome of the batch, which is taken in unless the first of its ids is known."""
        started = time.monotonic()
        now, version = self.manifest, self.manifest.version + 1
        if ids and taken_in(self.store, now, ids[0]):
            return self._nothing(batch)
        names = [rule.name for rule in self.plan.rules]
        notes = self._notes(changes, version, UNLIMITED if limit is None else limit)
        try:
            require_fitting(notes, changes.table, now.key)
            log = cut_log(self.store, [note["log"] for note in notes if "log" in note], names, version, limit)
        except BaseException:
            discard(self.store, notes)
            raise
        counts = Counts.of(notes, names, [self.groups.speaks_of_pairs(i) for i in range(len(names))])
        made = replace(
            with_totals(now, counts.totals),
            version=version,
            rows=now.rows + sum(note.get("rows", 0) for note in notes if "segment" in note),
            row_table=now.row_table + tuple(segments_of(notes, None)),
            pair_tables=with_files(now.pair_tables, notes),
            batches=ids,
            streams={**now.streams, **streams},
            log=log.files,
            applied=now.applied + 1,
        )
        commit(self.store, made)
        outcome = log.outcome(batch, made, counts, seconds=time.monotonic() - started)
        self._compact(made)
        return outcome

    def _compact(self, made: Manifest) -> None:
        compact(self.spark, self.store, made, self.plan, self.groups)

    def _notes(self, changes: Changes, version: int, limit: int) -> list[dict[str, Any]]:
        """What the tasks tell of the batch; nothing that they have written counts yet."""
        plan, now = self.plan, self.manifest
        kept: Sequence[int] = range(len(self.schema.fields))
        if not plan.conditions:
            kept = [plan.schema.position(name) for name in plan.columns]
        splits = splits_for(self.spark, changes.table)
        with refused_plainly(changes.table, self.schema):
            register_functions(self.spark, plan)
            net = self._net_rows(changes, version, kept, splits)
            routed = routed_rows(self._with_truths(net, kept), plan, self.groups, splits)
            pairs = PairChanges(
                store=self.store,
                version=version,
                groups=self.groups,
                tables=dict(enumerate(GroupTable(t.folder, t.segments) for t in now.pair_tables)),
                names=tuple(rule.name for rule in plan.rules),
                limit=limit,
            )
            told = routed.mapInArrow(pairs, "note string").collect()
        return [json.loads(row["note"]) for row in told]

    def _net_rows(self, changes: Changes, version: int, kept: Sequence[int], splits: int) -> DataFrame:
        """The rows that go and come, by these columns, and notes, as RowChanges tells them."""
        plan = self.plan
        rows = RowChanges(
            store=self.store,
            segments=self.manifest.row_table,
            version=version,
            key=tuple(plan.schema.position(name) for name in plan.key),
            key_names=plan.key,
            width=len(self.schema.fields),
            kept=tuple(kept),
            known=changes.known,
        )
        placed = keyed(changes.frame, plan).withColumn("h", F.expr("xxhash64(k)"))
        placed = placed.withColumn("work", F.expr(place_sql("h", splits))).repartition(splits, "work")
        return placed.mapInArrow(rows, self._net_schema(placed, kept))

    def _net_schema(self, placed: DataFrame, kept: Iterable[int]) -> StructType:
        fields = [
            StructField("sign", IntegerType()),
            StructField("note", StringType()),
            StructField("k", placed.schema["k"].dataType),
        ]
        return StructType([*fields, *(StructField(f"c{i}", self.schema.fields[i].dataType) for i in kept)])

    def _with_truths(self, net: DataFrame, kept: Iterable[int]) -> DataFrame:
        """The rows with the truth values of the plan's conditions and look-ups."""
        if self.plan.conditions:
            own = ["_hf_sign", "_hf_note", "_hf_k"]
            named = net.toDF(*own, *(self.schema.fields[i].name for i in kept))
            original = named.select(*(F.col(_quoted(self.schema.fields[i].name)) for i in kept))
            for i, condition in enumerate(self.plan.conditions):
                named = with_condition(named, original, condition, f"_hf_w{i}")
            truths = [f"w{i}" for i in range(len(self.plan.conditions))]
            net = named.toDF("sign", "note", "k", *(f"c{i}" for i in kept), *truths)
        return with_lookups(net, self.plan)

    # Reading --------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> DataFrame:
        """The table as it is now, under its own column names."""
        return self.rows_of(self.manifest.row_table, self.manifest.rows)

    def rows_of(self, segments: tuple[Segment, ...], rows: int) -> DataFrame:
        """The rows that these files tell of, about so many, under the table's own column names."""
        fields = self.schema.fields
        places = places_for(rows)
        safe = StructType([StructField(f"c{i}", field.dataType) for i, field in enumerate(fields)])
        key = tuple(f"c{self.plan.schema.position(name)}" for name in self.manifest.key)
        task = PresentRows(self.store, segments, places, len(fields), key, self.manifest.key)
        numbers = self.spark.range(0, places, 1, places)
        return numbers.mapInArrow(task, safe).toDF(*(field.name for field in fields))

    def status(self, *, seconds: float = 0.0) -> WatchStatus:
        """What the state's version says of itself; nothing is computed."""
        now = self.manifest
        pairs = [self.groups.speaks_of_pairs(i) for i in range(len(self.plan.rules))]
        return WatchStatus(
            table=now.table,
            version=now.version,
            rows=now.rows,
            key=now.key,
            batches=now.applied,
            totals=now.totals,
            units={rule.name: "pairs" if paired else "rows" for rule, paired in zip(self.rules, pairs, strict=True)},
            rules={rule.name: rule_text(rule) for rule in self.rules},
            seconds=seconds,
        )

    def with_worst_rows(self, result: CheckResult, *, seconds: float) -> WatchStatus:
        """The status with the worst rows that a check of the state found."""
        found = totals_of(result)
        assert found == dict(self.manifest.totals), f"the totals are those of a check: {self.manifest.totals}, {found}"
        rules = result.detailed.rules
        worst = {one.rule.name: tuple((row.key, row.conflicts) for row in one.worst) for one in rules if one.worst}
        return replace(self.status(seconds=seconds), worst=worst)

    def report(self, status: WatchStatus, result: CheckResult) -> str:
        """The state as an HTML page: its totals over time, and what a check of it found."""
        return watch_page(status, history(self.store), result.shown)

    def check(self, *, limit: int | None) -> CheckResult:
        """The table as it is now, checked by its rules, from nothing."""
        return run_check(self.spark, Table(self.frame, self.manifest.table), self.plan, limit=limit, key_required=True)

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
        plan = watch_plan(rules, self.plan.schema, now.key)
        old = {rule.name: rule for rule in self.rules} if rules.nulls == self.rules.nulls else {}
        new = [rule for rule in rules if _meaning(old.get(rule.name)) != _meaning(rule)]
        gone = [name for name in now.totals if name not in {rule.name for rule in rules}]
        table = Table(self.frame, now.table)
        fresh = watch_plan(replace(rules, rules=tuple(new)), plan.schema, now.key)
        with run_check(self.spark, table, fresh, limit=0, key_required=True) as result:
            totals = {**now.totals, **totals_of(result)}
        groups, version = pair_groups(plan.programs), now.version + 1
        have = {t.about: t for t in now.pair_tables}
        abouts = [groups.about(i) for i in range(len(groups.groups))]
        tables = [have.get(about) or PairTable(about, f"pairs-{version}-{i}") for i, about in enumerate(abouts)]
        missing = [i for i, about in enumerate(abouts) if about not in have]
        if missing:
            rows = keyed(select_rows(table.frame, plan, all_columns=False), plan)
            with told_plainly(table, "loading"):
                tables = first_tables(self.store, rows, plan, groups, tables, missing, version, now.rows)
        made = replace(
            now,
            version=version,
            rules=dump_rules(replace(rules, key=now.key)),
            totals={rule.name: totals[rule.name] for rule in rules},
            pair_tables=tuple(tables),
            batches=(),
            log=(),
        )
        commit(self.store, made)
        return [rule.name for rule in new], gone


def watched(spark: SparkSession, place: str | os.PathLike[str]) -> WatchedTable:
    """The state at the place; StateError where there is none."""
    found = WatchedTable(spark, open_store(place))
    found.manifest  # noqa: B018 (refuses at the door)
    return found


def watch_plan(rules: RuleSet, schema: Schema, key: Sequence[str]) -> Plan:
    """The plan of watching these rules on such a table; refuses unknown columns and senseless comparisons."""
    require_columns(rules, key, schema)
    # A column without values may get some later, so that here its type counts, unlike in a check.
    require_types(rules, schema)
    return make_plan(rules, schema, key)


def _meaning(rule: Any) -> Any:
    return None if rule is None else (rule.body, rule.where)


def totals_of(result: CheckResult) -> dict[str, int]:
    """By rule name, the violating pairs that a check found, or the rows where a rule speaks of single rows."""
    return {
        found.rule.name: found.violating_rows if found.violating_pairs is None else found.violating_pairs
        for found in result.outcome.rules
    }


def _file_id(data: str, content: str) -> str:
    return f"file-{_hashed(os.path.basename(data) + content)}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
