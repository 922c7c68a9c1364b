"""What the tasks of a watch say of random histories is what reference.py says; no JVM.

Forms are the columns themselves, and hashes are so small that different values share them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.errors import ChangeError
from holdfast.monitor.monitor import Monitor
from holdfast.programs.bind import Schema
from holdfast.programs.plan import make_plan
from holdfast.rules.rule import Nulls, RuleSet, rule_set
from holdfast.states.compaction import Merge, MergeTask
from holdfast.states.limits import StateLimits
from holdfast.states.manifest import PENDING, ROWS, StoredTable
from holdfast.states.messages import (
    LogFile,
    Message,
    RefusedChange,
    Unit,
    ViolationCount,
    messages_in,
    net_rows,
    of_type,
    segments_of,
)
from holdfast.states.row_changes import CHANGE_TYPE, CHANGE_TYPES, RowChangesTask
from holdfast.states.segment import Segment
from holdfast.states.store import FolderStore
from holdfast.violations.part import BOTH, LEFT, RIGHT
from holdfast.watching.pair_changes import PairChangesTask
from holdfast.watching.pair_groups import GroupedPrograms, pair_groups

COLUMNS = ("a", "b", "c", "d")
RULES = (
    "unique(a)",
    "unique(a, b)",
    "a -> b",
    "a -> b, c, d",
    "a, b -> c",
    "not(t.a = s.a and t.b > s.b and t.c < s.c)",
    "not(t.a = s.a and t.b >= s.b and t.c <= s.c and t.d != s.d)",
    "not(t.b > s.b and t.c < s.c)",
    "not(t.b < s.c)",
    "not(t.b != s.b and t.c != s.c)",
    "not(t.a = s.b and t.c < s.c)",
    "not(t.a = s.b and t.b = s.a and t.c != s.c)",
    "not(t.a = s.b and t.a = s.a and t.c >= s.d)",
    "not(t.a = s.a and t.b > s.b and t.c < s.c and t.d < s.d)",
    "if t.a = s.a and t.b > s.b then t.c >= s.c and t.d >= s.d",
    "if t.a = s.a then t.b = s.b and t.c = s.d",
)
Row = Mapping[str, Any]


@dataclass
class Watched:
    """A state as the driver keeps it, with hashes of our own in place of Spark's."""

    store: FolderStore
    rules: RuleSet
    groups: GroupedPrograms
    hashes: int
    options: Mapping[str, int]
    version: int = 0
    rows: dict[int, Row] = field(default_factory=dict)
    tables: dict[int, tuple[Segment, ...]] = field(default_factory=dict)

    def load(self, rows: Sequence[Row]) -> None:
        self.rows = {row["id"]: row for row in rows}
        self._run([(1, row) for row in rows], counted=False)

    def apply(self, gone: Sequence[int], entered: Sequence[Row]) -> dict[str, tuple[set[Any], set[Any], list[int]]]:
        self.version += 1
        changed = [(-1, self.rows.pop(key)) for key in gone] + [(1, row) for row in entered]
        self.rows |= {row["id"]: row for row in entered}
        messages = self._run(changed, counted=True)
        found: dict[str, tuple[set[Any], set[Any], list[int]]] = {r.name: (set(), set(), [0, 0]) for r in self.rules}
        for count in of_type(messages, ViolationCount):
            assert count.unit is Unit.PAIRS
            counts = found[count.rule][2]
            counts[:] = [counts[0] + count.added, counts[1] + count.removed]
        for log in of_type(messages, LogFile):
            for line in pq.read_table(self.store.file(f"{PENDING}/{log.name}")).to_pylist():
                added, removed, _ = found[line["rule"]]
                side = added if line["change"] > 0 else removed
                assert (line["left"], line["right"]) not in side, "a pair is told once"
                side.add((line["left"], line["right"]))
        return found

    def merge(self, everything: bool) -> None:
        for number, own in self.tables.items():
            group = self.groups.groups[number]
            some = own if everything else tuple(s for s in own if not s.base)
            by = None if group.sorted_by is None else f"f{group.sorted_by}"
            merge = Merge(f"g{number}", some, everything, ("k",), ("k",), by, tuple(f"f{i}" for i in group.zoned))
            work = pa.RecordBatch.from_pydict({"merge": [0, 0], "place": [0, 1]})
            new = segments_of(messages_in(MergeTask(self.store, (merge,), (2,))(iter([work]))), merge.table)
            self.tables[number] = tuple(s for s in own if s not in some) + new

    def _run(self, changed: Sequence[tuple[int, Row]], *, counted: bool) -> list[Message]:
        messages: list[Message] = []
        for number in range(len(self.groups.groups)):
            lines = [line for sign, row in changed for line in self._entries(number, sign, row)]
            if not lines:
                continue
            names = list(lines[0])
            kinds = {"g": pa.int32(), "role": pa.int32(), "sign": pa.int32()}
            batch = pa.RecordBatch.from_arrays(
                [pa.array([line[n] for line in lines], kinds.get(n, pa.int64())) for n in names], names=names
            )
            tables = {n: StoredTable(f"g{n}", self.tables.get(n, ())) for n in range(len(self.groups.groups))}
            task = PairChangesTask(
                self.store,
                self.version,
                self.groups,
                tables,
                tuple(r.name for r in self.rules),
                counted=counted,
                **self.options,
            )
            own = messages_in(task(iter([batch])))
            self.tables[number] = self.tables.get(number, ()) + segments_of(own, f"g{number}")
            messages += own
        return messages

    def _entries(self, number: int, sign: int, row: Row) -> Iterator[dict[str, Any]]:
        forms = {i: row[form.column] for i, form in enumerate(self.groups.programs.forms)}
        meets, equal = self.groups.groups[number].meets, self.rules.nulls == "equal"
        left, right = (tuple(forms[i] for i in side) for side in (meets.left, meets.right))
        hl, hr = hash(left) % self.hashes, hash(right) % self.hashes
        usable = [equal or None not in side for side in (left, right)]
        places: list[tuple[int, int]] = []
        if meets.in_one_place:
            places = [(min(hl, hr), BOTH)] if usable[0] and usable[1] else []
        elif usable[0] and usable[1] and hl == hr:
            places = [(hl, BOTH)]
        else:
            places = [(h, role) for h, role, use in ((hl, LEFT, usable[0]), (hr, RIGHT, usable[1])) if use]
        for h, role in places:
            yield {
                "g": number,
                "h": h,
                "role": role,
                "sign": sign,
                "k": row["id"],
                **{f"f{i}": v for i, v in forms.items()},
            }


@st.composite
def histories(draw: st.DrawFn) -> tuple[RuleSet, list[Row], list[tuple[list[int], list[Row]]], int]:
    nulls: Nulls = draw(st.sampled_from(("sql", "equal")))
    rules = rule_set(
        draw(st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True)), key=("id",), nulls=nulls
    )
    few = draw(st.integers(1, 4))
    value = st.one_of(st.none(), st.integers(0, few)) if draw(st.booleans()) else st.integers(0, few)
    row = st.fixed_dictionaries(dict.fromkeys(COLUMNS, value))
    first: list[Row] = [{"id": i, **r} for i, r in enumerate(draw(st.lists(row, max_size=12)))]
    there, after = {r["id"] for r in first}, len(first)
    batches: list[tuple[list[int], list[Row]]] = []
    for _ in range(draw(st.integers(1, 4))):
        gone = draw(st.lists(st.sampled_from(sorted(there)), unique=True, max_size=5)) if there else []
        updated = [key for key in gone if draw(st.booleans())]
        new = [after + i for i in range(draw(st.integers(0, 4)))]
        after += len(new)
        batches.append((gone, [{"id": key, **draw(row)} for key in [*updated, *new]]))
        there = there - set(gone) | set(updated) | set(new)
    return rules, first, batches, draw(st.sampled_from([1, 3, 1000]))


def watched(rules: RuleSet, hashes: int, folder: str, options: Mapping[str, int]) -> Watched:
    schema = Schema("random", {name: column_type("bigint") for name in ("id", *COLUMNS)})
    groups = pair_groups(make_plan(rules, schema, ("id",)).programs)
    # Blocks of two rows, so that small tables have many.
    store = FolderStore(folder, StateLimits(block_rows=2))
    store.make([PENDING, *(f"g{i}" for i in range(len(groups.groups)))])
    return Watched(store, rules, groups, hashes, options)


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories(), counting=st.booleans(), rest_rows=st.sampled_from([2, 1000]), merging=st.booleans())
def test_changes_of_pairs_match_reference(history: Any, counting: bool, rest_rows: int, merging: bool) -> None:
    rules, first, batches, hashes = history
    with tempfile.TemporaryDirectory() as folder:
        state = watched(rules, hashes, folder, {"listable": 0 if counting else 10**9, "rest_rows": rest_rows})
        state.load(first)
        before = reference.violations(first, rules)
        rows = list(first)
        for at, (gone, entered) in enumerate(batches):
            told = state.apply(gone, entered)
            rows = reference.changed(rows, gone, entered, ("id",))
            after = reference.violations(rows, rules)
            for name, (added, removed, counts) in told.items():
                assert added == after[name] - before[name], name
                assert removed == before[name] - after[name], name
                assert counts == [len(added), len(removed)]
            before = after
            if merging:
                state.merge(everything=at % 2 == 1)


# Rows by key ------------------------------------------------------------------------------------------------------

EVENTS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(range(4)), st.integers(0, 9)), min_size=1, max_size=6)


def in_order(rows: Mapping[int, int], events: Sequence[tuple[int, int, int]]) -> dict[int, int] | None:
    """The rows after the events, taken one after the other; None where one does not fit."""
    now, images = dict(rows), dict.fromkeys(range(4), 0)
    for key, kind, value in events:
        if (key in now) == (CHANGE_TYPES[kind] == "insert"):
            return None
        match CHANGE_TYPES[kind]:
            case "insert":
                now[key] = value
            case "delete":
                del now[key]
            case "update_postimage":
                now[key] = value
                images[key] -= 1
            case _:
                images[key] += 1
    return None if any(n > 0 for n in images.values()) else now


@settings(max_examples=150)
@given(batches=st.lists(EVENTS, max_size=5))
def test_a_batch_has_the_net_effect_of_its_changes_in_order(batches: list[list[tuple[int, int, int]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = FolderStore(folder)
        store.make([ROWS])
        rows: dict[int, int] = {}
        monitor = Monitor("not(t.v > 4)", key="id", schema={"id": "bigint", "v": "bigint"})
        segments_now: tuple[Segment, ...] = ()
        for version, events in enumerate(batches):
            shuffled = np.random.default_rng(version).permutation(len(events))
            batch = pa.RecordBatch.from_pydict(
                {
                    "k": pa.array([events[i][0] for i in shuffled], pa.int64()),
                    "h": pa.array([events[i][0] % 2 for i in shuffled], pa.int64()),
                    "ct": pa.array([events[i][1] for i in shuffled], pa.int32()),
                    "o0": pa.array([""] * len(events)),
                    "o1": pa.array([0] * len(events), pa.int64()),
                    "o2": pa.array(shuffled, pa.int64()),
                    "c0": pa.array([events[i][0] for i in shuffled], pa.int64()),
                    "c1": pa.array([events[i][2] for i in shuffled], pa.int64()),
                }
            )
            task = RowChangesTask(store, segments_now, version, (0,), ("id",), 2, (1,), (0, 1))
            batches_out = list(task(iter([batch])))
            out, messages = [line for some in batches_out for line in some.to_pylist()], messages_in(batches_out)
            after = in_order(rows, events)
            listed = [{"id": key, "v": value, CHANGE_TYPE: CHANGE_TYPES[kind]} for key, kind, value in events]
            if after is None:
                assert [type(message) for message in messages] == [RefusedChange]
                with pytest.raises(ChangeError):
                    monitor.apply(listed)
                continue
            monitor.apply(listed)
            assert sorted(key for key, _ in monitor.violations("v")) == sorted(k for k, v in after.items() if v > 4)
            assert {line["k"]: line["c1"] for line in out if line["sign"] < 0} == {
                key: rows[key] for key in {key for key, _, _ in events} & set(rows)
            }
            assert {line["k"]: line["c1"] for line in out if line["sign"] > 0} == {
                key: after[key] for key in {key for key, _, _ in events} & set(after)
            }
            assert net_rows(messages) == len(after) - len(rows)
            segments_now += segments_of(messages, ROWS)
            rows = after
