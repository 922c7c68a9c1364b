"""A table under watch: its rows and those that rules compare, kept in a state on disk, batch by batch.

A batch is one Spark job: its changes go to tasks by key, which look up the rows that are there now; what goes and what
comes then goes to tasks by the hash of what rules want to be equal, which look up the rows it can meet and count pairs.
Tasks write new files; the version that names them makes them count, all at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from holdfast.detect.bind import Schema, require_columns, require_types
from holdfast.detect.evaluate import UNLIMITED
from holdfast.detect.pair_changes import GroupTable, PairChanges
from holdfast.detect.pair_groups import NOTES, PairGroups, pair_groups
from holdfast.detect.plan import Plan, make_plan
from holdfast.detect.row_changes import RowChanges
from holdfast.encode.column_type import column_type
from holdfast.errors import ChangeError, OptionError, OutputError, SourceError, StateError
from holdfast.report.words import rule_text, value_text
from holdfast.rules.rule import RuleSet
from holdfast.rules.rule_file import dump_rules, parse_rules
from holdfast.spark.changes import MISFIT, Changes, changes_of, content_id, read_changes
from holdfast.spark.check import CheckResult, register_functions, run_check, told_plainly
from holdfast.spark.kernel_engine import form_columns
from holdfast.spark.rows import keyed, schema_of, select_rows, with_condition, with_lookups
from holdfast.spark.table import Table
from holdfast.spark.watch_tasks import FirstRows, PresentRows
from holdfast.states.batch_outcome import BatchOutcome, Violation
from holdfast.states.compaction import Merge, MergeTask, due, places_for
from holdfast.states.manifest import (
    FOLDERS,
    PENDING,
    ROWS,
    Manifest,
    PairTable,
    commit,
    has_state,
    latest,
    taken_in,
    tidy,
    with_totals,
)
from holdfast.states.segment import Segment
from holdfast.states.store import LOCK, Store, open_store
from holdfast.states.watch_status import WatchStatus

_PROBLEMS = {
    "null": ("a row without a key", "the key {names} names rows, so that it may not be null."),
    "exists": ("the key {key} is inserted, but is there already", "an insert brings a new key; send an update."),
    "delete": ("the key {key} is deleted, but is not there", "only rows that are there can be deleted."),
    "update": ("the key {key} is updated, but is not there", "send an insert for a new row."),
    "alone": (
        "the key {key} has an update_preimage without its update_postimage",
        "send both, or the postimage alone; to change a key itself, send a delete and an insert.",
    ),
    "type": (
        "the change of the key {key} has an unknown _change_type",
        "it is one of insert, delete, update_preimage and update_postimage.",
    ),
    "columns": (
        "the key {key} is inserted or updated, but the changes lack columns of the table",
        "only a file of nothing but deletes may leave out columns other than the key.",
    ),
}
# A batch of fewer bytes than this is not worth another task.
_BYTES_PER_TASK = 4_000_000


@dataclass(frozen=True)
class WatchedTable:
    """A state on disk, opened. Every method reads the version that is the newest when it is called."""

    spark: SparkSession
    store: Store

    @cached_property
    def manifest(self) -> Manifest:
        return latest(self.store)

    def newest(self) -> WatchedTable:
        return WatchedTable(self.spark, self.store)

    @cached_property
    def schema(self) -> StructType:
        return StructType.fromJson(dict(self.manifest.schema))

    @cached_property
    def rules(self) -> RuleSet:
        return parse_rules(self.manifest.rules, origin="the state's rules")

    @cached_property
    def plan(self) -> Plan:
        types = {field.name: column_type(field.dataType.simpleString()) for field in self.schema.fields}
        return _plan(self.rules, Schema(self.manifest.table, types), self.manifest.key)

    @cached_property
    def groups(self) -> PairGroups:
        return pair_groups(self.plan.programs)

    # Batches --------------------------------------------------------------------------------------------------

    def apply_file(
        self, data: str, *, batch: str | None = None, limit: int | None, reading: Mapping[str, Any] | None = None
    ) -> BatchOutcome:
        """The changes of a file, taken in once: a file of the same content was the same batch."""
        with self.store.only_writer():
            tidy(self.store)
            given = {**self.manifest.reading, **{k: v for k, v in (reading or {}).items() if v}}
            changes = read_changes(self.spark, data, self.schema, self.manifest.key, given)
            if batch is not None:
                ids = [f"named-{_hashed(batch)}"]
            else:
                content = content_id(data)
                ids, batch = [f"content-{content}", f"file-{_hashed(os.path.basename(data) + content)}"], content
            if taken_in(self.store, self.manifest, ids[0]):
                return self._nothing(batch)
            size = sum(file.stat().st_size for file in changes.table.origin.local) if changes.table.origin else 0
            return self._apply(changes, batch, tuple(ids), {}, limit, size)

    def follow_file(self, data: str, *, limit: int | None) -> BatchOutcome:
        """The changes of a file in a folder that is followed: same name and same content are the same batch."""
        with self.store.only_writer():
            tidy(self.store)
            content = content_id(data)
            ids = (f"file-{_hashed(os.path.basename(data) + content)}", f"content-{content}")
            if taken_in(self.store, self.manifest, ids[0]):
                return self._nothing(content)
            changes = read_changes(self.spark, data, self.schema, self.manifest.key, self.manifest.reading)
            return self._apply(changes, content, ids, {}, limit, os.path.getsize(data))

    def apply_frame(self, frame: DataFrame, *, stream: str, number: int, limit: int | None) -> BatchOutcome:
        """The changes of a frame, which is the batch with this number of a stream; numbers of a stream only grow."""
        batch = f"{stream}/{number}"
        with self.store.only_writer():
            tidy(self.store)
            if number <= self.manifest.streams.get(stream, -1):
                return self._nothing(batch)
            changes = changes_of(Table(frame, f"batch {batch}"), self.schema, self.manifest.key)
            return self._apply(changes, batch, (), {stream: number}, limit, _BYTES_PER_TASK * 64)

    def _nothing(self, batch: str) -> BatchOutcome:
        now = self.manifest
        return BatchOutcome(batch, False, now.version, now.rows, (), (), 0, 0, now.totals)

    def _apply(
        self,
        changes: Changes,
        batch: str,
        ids: tuple[str, ...],
        streams: Mapping[str, int],
        limit: int | None,
        size: int,
    ) -> BatchOutcome:
        started = time.monotonic()
        now, version = self.manifest, self.manifest.version + 1
        notes = self._notes(changes, version, UNLIMITED if limit is None else limit, size)
        try:
            self._require_fitting(notes, changes)
            logged, lists = self._lists([note["log"] for note in notes if "log" in note], version, limit)
        except BaseException:
            self._discard(notes)
            raise
        counts = _Counts.of(notes, self.plan.rules, self.groups)
        made = replace(
            with_totals(now, counts.totals),
            version=version,
            rows=now.rows + sum(note.get("rows", 0) for note in notes if "segment" in note and "group" not in note),
            row_table=now.row_table + tuple(_segments(notes, None)),
            pair_tables=tuple(
                replace(table, segments=table.segments + tuple(_segments(notes, number)))
                for number, table in enumerate(now.pair_tables)
            ),
            batches=ids,
            streams={**now.streams, **streams},
            log=logged,
            applied=now.applied + 1,
        )
        commit(self.store, made)
        outcome = BatchOutcome(
            batch=batch,
            applied=True,
            version=version,
            rows=made.rows,
            added=lists[0],
            removed=lists[1],
            added_count=counts.added,
            removed_count=counts.removed,
            totals=made.totals,
            seconds=time.monotonic() - started,
        )
        _Compaction(self.newest()).run()
        return outcome

    def _notes(self, changes: Changes, version: int, limit: int, size: int) -> list[dict[str, Any]]:
        """What the tasks tell of the batch; nothing that they have written counts yet."""
        plan, now = self.plan, self.manifest
        width = len(self.schema.fields)
        kept = range(width) if plan.conditions else [plan.schema.position(name) for name in plan.columns]
        splits = _splits(self.spark, size)
        rows = RowChanges(
            store=self.store,
            segments=now.row_table,
            version=version,
            key=tuple(plan.schema.position(name) for name in plan.key),
            key_names=plan.key,
            width=width,
            kept=tuple(kept),
            known=changes.known,
        )
        with self._told(changes.table):
            register_functions(self.spark, plan)
            placed = keyed(changes.frame, plan).withColumn("h", F.expr("xxhash64(k)"))
            placed = placed.withColumn("work", F.expr(_place_sql("h", splits))).repartition(splits, "work")
            net = placed.mapInArrow(rows, self._net_schema(placed, kept))
            routed = self._routed(self._with_truths(net, kept), splits)
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

    def _routed(self, rows: DataFrame, splits: int) -> DataFrame:
        """The rows once for each group they belong to, those that belong together in one partition."""
        return _routed(rows, self.plan, self.groups, splits)

    def _require_fitting(self, notes: Sequence[Mapping[str, Any]], changes: Changes) -> None:
        problems = [note["problem"] for note in notes if "problem" in note]
        if not problems:
            return
        # Which of several tasks tells first is chance; which problem is told should not be.
        first = min(problems, key=lambda problem: (problem["what"], str(problem["key"])))
        what, hint = _PROBLEMS[first["what"]]
        key = first["key"]
        shown = repr(key) if isinstance(key, str) else value_text(key)
        names = ", ".join(self.manifest.key)
        raise ChangeError(
            f"{changes.table.name}: {what.format(key=shown)}. Nothing of it was applied.",
            hint=hint.format(key=shown, names=names),
        )

    @contextmanager
    def _told(self, table: Table) -> Iterator[None]:
        try:
            with told_plainly(table, "applying"):
                yield
        except SourceError as problem:
            if "--types" not in (problem.hint or ""):
                raise
            # Files of changes are read with the state's types, which nobody can choose any more.
            raise ChangeError(
                f"{problem.message.partition(', the type that')[0].rstrip('.')}. Nothing of it was applied.",
                hint="changes are read with the types of the table that the state was made of.",
            ) from problem
        except Exception as problem:
            text = str(problem.__cause__ or problem)
            misfit = re.search(rf"{MISFIT}:(.*?):(.*?):end", text, re.DOTALL)
            if misfit is not None:
                kind = next((f.dataType.simpleString() for f in self.schema.fields if f.name == misfit[1]), "its type")
                raise ChangeError(
                    f"{table.name}: the value {misfit[2]} does not fit the column {misfit[1]!r}, which is {kind}. "
                    "Nothing of it was applied."
                ) from None
            full = re.search(r"OutputError: (cannot write to the state .*)", text)
            if full is not None:
                raise OutputError(
                    full[1].strip(), hint="make room there or check who may write, then run this again."
                ) from None
            raise

    def _lists(
        self, files: Sequence[str], version: int, limit: int | None
    ) -> tuple[tuple[str, ...], tuple[tuple[Violation, ...], tuple[Violation, ...]]]:
        """The files of the log, cut to the limit, and what they tell to have come and gone."""
        if not files:
            return (), ((), ())
        names = [rule.name for rule in self.plan.rules]
        table = pa.concat_tables([pq.read_table(self.store.path(f"{PENDING}/{name}")) for name in files])
        place = np.array([names.index(name) for name in names], np.int64)
        rules = table.column("rule").combine_chunks().dictionary_encode()
        rules = rules.chunk(0) if isinstance(rules, pa.ChunkedArray) else rules
        which = place[[names.index(name) for name in rules.dictionary.to_pylist()]][rules.indices.to_numpy()]
        change = table.column("change").to_numpy()
        order = np.lexsort((change, which))
        kept = []
        for rule in np.unique(which):
            for one in (1, -1):
                mine = order[(which[order] == rule) & (change[order] == one)]
                kept.append(mine if limit is None else mine[:limit])
        chosen = np.concatenate(kept)
        logged = tuple(files)
        if len(chosen) < table.num_rows:
            table = table.take(pa.array(chosen))
            name = f"{version:012}-{_hashed(','.join(files))[:24]}.parquet"
            pq.write_table(table, self.store.path(f"{PENDING}/{name}"))
            logged = (name,)
        return logged, (_violations(table, 1, names), _violations(table, -1, names))

    def _discard(self, notes: Sequence[Mapping[str, Any]]) -> None:
        """What the tasks have written for a batch that is refused."""
        for note in notes:
            if "segment" in note:
                self.store.remove(Segment.from_json(note["segment"]).files)
            if "log" in note:
                self.store.remove([f"{PENDING}/{note['log']}"])

    # Reading --------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> DataFrame:
        """The table as it is now, under its own column names."""
        fields = self.schema.fields
        places = places_for(self.manifest.rows)
        safe = StructType([StructField(f"c{i}", field.dataType) for i, field in enumerate(fields)])
        key = tuple(f"c{self.plan.schema.position(name)}" for name in self.manifest.key)
        task = PresentRows(self.store, self.manifest.row_table, places, len(fields), key, self.manifest.key)
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
        found = _totals(result)
        assert found == dict(self.manifest.totals), f"the totals are those of a check: {self.manifest.totals}, {found}"
        rules = result.detailed.rules
        worst = {one.rule.name: tuple((row.key, row.conflicts) for row in one.worst) for one in rules if one.worst}
        return replace(self.status(seconds=seconds), worst=worst)

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
        with self.store.only_writer():
            tidy(self.store)
            now = self.manifest
            if rules.key and rules.key != now.key:
                raise StateError(
                    f"the rules name rows by {', '.join(rules.key)}, but the state does by {', '.join(now.key)}.",
                    hint="leave the key out of the rule file, or make a new state.",
                )
            plan = _plan(rules, self.plan.schema, now.key)
            old = {rule.name: rule for rule in self.rules} if rules.nulls == self.rules.nulls else {}
            new = [rule for rule in rules if _meaning(old.get(rule.name)) != _meaning(rule)]
            gone = [name for name in now.totals if name not in {rule.name for rule in rules}]
            totals = {name: total for name, total in now.totals.items() if name not in gone}
            table = Table(self.frame, now.table)
            fresh = replace(rules, rules=tuple(new))
            with run_check(self.spark, table, _plan(fresh, plan.schema, now.key), limit=0, key_required=True) as result:
                totals |= _totals(result)
            groups = pair_groups(plan.programs)
            have = {t.about: t for t in now.pair_tables}
            version = now.version + 1
            tables = [
                have.get(groups.about(i)) or PairTable(groups.about(i), f"pairs-{version}-{i}")
                for i in range(len(groups.groups))
            ]
            missing = [i for i, t in enumerate(tables) if t.about not in have]
            if missing:
                rows = _checked_rows(table.frame, plan)
                tables = _first_tables(self.spark, self.store, rows, plan, groups, tables, missing, version, now.rows)
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


def init_watch(
    table: Table, rules: RuleSet, key: Sequence[str], place: str | os.PathLike[str], reading: Mapping[str, Any]
) -> WatchedTable:
    """A new state at the place, of the table as it is now and the violations it has."""
    if not key:
        raise OptionError("a watched table needs a key.", hint="name the column that tells rows apart with --key.")
    store = open_store(place)
    _require_free(store)
    spark = table.frame.sparkSession
    plan = _plan(rules, schema_of(table.frame, table.name), key)
    store.make(FOLDERS)
    with store.only_writer():
        _require_free(store)
        with run_check(spark, table, plan, limit=0, all_columns=True, key_required=True) as result:
            groups = pair_groups(plan.programs)
            rows = result.outcome.rows
            with told_plainly(table, "loading"):
                row_table = _first_rows(spark, store, result.scanned, len(table.frame.columns), rows)
                tables = [PairTable(groups.about(i), f"pairs-0-{i}") for i in range(len(groups.groups))]
                numbers = range(len(tables))
                tables = _first_tables(spark, store, result.scanned, plan, groups, tables, numbers, 0, rows)
                kind = result.scanned.schema["k"].dataType
            log = _empty_log(spark, store, StructType([StructField("k", kind)]))
            made = Manifest(
                version=0,
                rules=dump_rules(replace(rules, key=tuple(key))),
                key=tuple(key),
                schema=table.frame.schema.jsonValue(),
                reading={name: value for name, value in reading.items() if value and name in _READING},
                rows=rows,
                totals=_totals(result),
                row_table=tuple(row_table),
                pair_tables=tuple(tables),
                log=(log,),
                table=table.name,
            )
        commit(store, made)
    return WatchedTable(spark, store)


# How the first table was read, as far as it goes for files of changes too.
_READING = ("null_values", "delimiter", "encoding", "multiline")


def _require_free(store: Store) -> None:
    if has_state(store):
        raise StateError(
            f"there is a state at {store.root} already.", hint="name a new folder, or use watch apply and watch rules."
        )
    place = store.path("")
    if place.exists() and not place.is_dir():
        raise StateError(f"{store.root} is a file, not a folder.")
    known = {*FOLDERS, LOCK}
    others = (
        sorted(p.name for p in place.iterdir() if p.name not in known and not p.name.startswith("pairs-"))
        if place.is_dir()
        else []
    )
    if others:
        raise StateError(
            f"the folder {store.root} holds other things ({', '.join(others[:3])}), so no state is made there.",
            hint="name a new folder.",
        )


def _plan(rules: RuleSet, schema: Schema, key: Sequence[str]) -> Plan:
    require_columns(rules, key, schema)
    # A column without values may get some later, so that here its type counts, unlike in a check.
    require_types(rules, schema)
    return make_plan(rules, schema, key)


def _meaning(rule: Any) -> Any:
    return None if rule is None else (rule.body, rule.where)


def _totals(result: CheckResult) -> dict[str, int]:
    return {
        found.rule.name: found.violating_rows if found.violating_pairs is None else found.violating_pairs
        for found in result.outcome.rules
    }


def _first_rows(spark: SparkSession, store: Store, rows: DataFrame, width: int, count: int) -> list[Segment]:
    """The files of all rows, by the hash of their keys."""
    places = places_for(count)
    columns = [f"c{i}" for i in range(width)]
    placed = rows.selectExpr("xxhash64(k) AS h", *columns)
    placed = placed.withColumn("work", F.expr(_place_sql("h", places))).repartition(places, "work")
    told = placed.mapInArrow(FirstRows(store), "note string").collect()
    return [Segment.from_json(json.loads(row["note"])["segment"]) for row in told]


def _first_tables(
    spark: SparkSession,
    store: Store,
    rows: DataFrame,
    plan: Plan,
    groups: PairGroups,
    tables: Sequence[PairTable],
    which: Sequence[int],
    version: int,
    count: int,
) -> list[PairTable]:
    """The tables, those at the positions `which` with the files of all rows."""
    if not which:
        return list(tables)
    store.make(tables[i].folder for i in which)
    places = places_for(count)
    named = rows.withColumn("sign", F.lit(1)).withColumn("note", F.lit(None).cast("string"))
    routed = _routed(named, plan, groups, places, which=which)
    task = PairChanges(
        store=store,
        version=version,
        groups=groups,
        tables={i: GroupTable(tables[i].folder, ()) for i in which},
        names=tuple(rule.name for rule in plan.rules),
        counted=False,
    )
    notes = [json.loads(row["note"]) for row in routed.mapInArrow(task, "note string").collect()]
    return [
        replace(table, segments=tuple(_segments(notes, i))) if i in which else table for i, table in enumerate(tables)
    ]


def _routed(
    rows: DataFrame, plan: Plan, groups: PairGroups, splits: int, which: Sequence[int] | None = None
) -> DataFrame:
    """The rows once for each group they belong to, with the piece of work that each goes to; whole in one partition.

    `which` are the groups of a first load: no row alone, and rows that meet by nothing are divided by their keys.
    """
    programs = plan.programs
    formed = rows.selectExpr(
        "sign", "note", "k", *form_columns(plan, range(len(programs.forms)), range(len(programs.flags)))
    )
    routes = groups.routes_sql(which, alone=which is None)
    noted = f"array(named_struct('g', {NOTES}, 'h', 0L, 'role', 3))"
    routed = formed.select("*", F.explode(F.expr(f"IF(sign = 0, {noted}, {routes})")).alias("r"))
    spread = routed.selectExpr(*formed.columns, "r.g AS g", "r.h AS h", "r.role AS role")
    loose = [i for i in which or () if not groups.groups[i].meets.left]
    by = f"IF(g IN ({', '.join(map(str, loose))}), xxhash64(k), h)" if loose else "h"
    placed = spread.withColumn("work", F.expr(f"(g + 2) * {splits} + {_place_sql(by, splits)}"))
    count = len(which) if which is not None else len(groups.groups) + 2
    return placed.repartition(max(1, min(count * splits, 4 * _slots(rows.sparkSession, splits))), "work")


def _slots(spark: SparkSession, splits: int) -> int:
    return max(splits, int(spark.conf.get("spark.sql.shuffle.partitions") or 1)) if splits > 1 else 1


def _place_sql(hash_sql: str, places: int) -> str:
    """SQL for which of `places` ranges of one width a hash lies in; places are a power of two."""
    bits = places.bit_length() - 1
    return "0" if bits == 0 else f"CAST(shiftright({hash_sql}, {64 - bits}) + {places // 2} AS INT)"


def _splits(spark: SparkSession, size: int) -> int:
    """Into how many ranges of hashes a batch of so many bytes is divided: a power of two, at most the tasks at once."""
    most = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    wanted = min(most, max(1, -(-size // _BYTES_PER_TASK)))
    return 1 << (wanted.bit_length() - 1)


def _segments(notes: Iterable[Mapping[str, Any]], group: int | None) -> list[Segment]:
    return [Segment.from_json(note["segment"]) for note in notes if "segment" in note and note.get("group") == group]


def _checked_rows(frame: DataFrame, plan: Plan) -> DataFrame:
    """The rows of a frame as a check's scan yields them, without keeping them."""
    return keyed(select_rows(frame, plan, all_columns=False), plan)


def _empty_log(spark: SparkSession, store: Store, key: StructType) -> str:
    """A file of no changes, so that the log has its columns from the start."""
    empty = spark.createDataFrame([], key).toArrow().schema.field("k").type
    columns = {"version": pa.int64(), "rule": pa.string(), "left": empty, "right": empty, "change": pa.int8()}
    name = f"{0:012}-{'0' * 24}.parquet"
    pq.write_table(pa.schema(list(columns.items())).empty_table(), store.path(f"{PENDING}/{name}"))
    return name


def _violations(table: pa.Table, change: int, names: Sequence[str]) -> tuple[Violation, ...]:
    mine = table.filter(pa.array(table.column("change").to_numpy() == change))
    place = {name: i for i, name in enumerate(names)}
    rows = zip(
        mine.column("rule").to_pylist(), mine.column("left").to_pylist(), mine.column("right").to_pylist(), strict=True
    )
    found = [Violation(rule, _key(left), _key(right)) for rule, left, right in rows]
    return tuple(
        sorted(found, key=lambda v: (place[v.rule], _sortable(v.left), v.right is not None, _sortable(v.right)))
    )


def _key(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value


def _sortable(value: Any) -> Any:
    return (0, ()) if value is None else (1, value if isinstance(value, tuple) else (value,))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class _Counts:
    """Violations that came and went, and by how much the totals move."""

    added: int
    removed: int
    totals: Mapping[str, int]

    @classmethod
    def of(cls, notes: Iterable[Mapping[str, Any]], rules: RuleSet, groups: PairGroups) -> _Counts:
        names = [rule.name for rule in rules]
        added = removed = 0
        totals = dict.fromkeys(names, 0)
        for note in notes:
            if "rule" not in note:
                continue
            come, go = note["pairs"] if "pairs" in note else note["rows"]
            added, removed = added + come, removed + go
            # The total of a rule over pairs counts its pairs, not the rows that break it alone.
            if "pairs" in note or not groups.speaks_of_pairs(note["rule"]):
                totals[names[note["rule"]]] += come - go
        return cls(added, removed, totals)


@dataclass(frozen=True)
class _Compaction:
    """Files of a state that have become many become few, in a version of their own."""

    state: WatchedTable

    def run(self) -> None:
        """Nothing is told differently after this, and nothing is lost if it fails."""
        merges = self._merges()
        if not merges:
            return
        state, now = self.state, self.state.manifest
        places = tuple(places_for(sum(s.rows for s in m.segments)) if m.everything else 1 for m in merges)
        work = [(i, place) for i, count in enumerate(places) for place in range(count)]
        frame = state.spark.createDataFrame(work, "merge int, place int").repartition(min(len(work), 64))
        told = frame.mapInArrow(MergeTask(state.store, tuple(merges), places), "note string").collect()
        made: dict[int, list[Segment]] = {}
        for row in told:
            note = json.loads(row["note"])
            made.setdefault(note["merge"], []).append(Segment.from_json(note["segment"]))
        row_table, tables = now.row_table, list(now.pair_tables)
        for i, merge in enumerate(merges):
            old = row_table if merge.table < 0 else tables[merge.table].segments
            new = tuple(s for s in old if s not in merge.segments) + tuple(made.get(i, ()))
            if merge.table < 0:
                row_table = new
            else:
                tables[merge.table] = replace(tables[merge.table], segments=new)
        commit(
            state.store,
            replace(now, version=now.version + 1, row_table=row_table, pair_tables=tuple(tables), batches=(), log=()),
        )

    def _merges(self) -> list[Merge]:
        state, now = self.state, self.state.manifest
        found = []
        segments, everything = due(now.row_table)
        if segments:
            key = tuple(f"c{state.plan.schema.position(name)}" for name in now.key)
            found.append(Merge(-1, ROWS, segments, everything, key, now.key))
        for i, table in enumerate(now.pair_tables):
            segments, everything = due(table.segments)
            if segments:
                group = state.groups.groups[i]
                by = None if group.sorted_by is None else f"f{group.sorted_by}"
                zoned = tuple(f"f{form}" for form in group.zoned)
                found.append(Merge(i, table.folder, segments, everything, ("k",), ("k",), by, zoned))
        return found
