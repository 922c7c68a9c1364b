"""The tasks of holdfast fragments, without Spark, say of random histories over random sites what reference.py says.

Rows are split by columns with replicas, by rows, or both; rules are FDs and CFDs; batches insert, delete and update.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast import reference
from holdfast.fragments.first_rows import FirstSiteRowsTask
from holdfast.fragments.index_changes import IndexChangesTask, SiteMeetings
from holdfast.fragments.parts import RulePart
from holdfast.fragments.plan_file import Fixed, read_fixed, write_fixed
from holdfast.fragments.rule_violations import PresentViolationsTask, RuleViolationsTask
from holdfast.fragments.shipment_plan import ShipmentPlan, plan_shipments
from holdfast.fragments.site_changes import SiteChangesTask
from holdfast.fragments.site_tables import VIOLATIONS, empty_tables, held_atoms_of, table_key
from holdfast.fragments.sites import Site, SplitTable
from holdfast.rules.dependency import CFD, FD, Body, Pattern
from holdfast.rules.predicate import Constant
from holdfast.rules.rule import Rule, RuleSet, rule_set
from holdfast.states.compaction import Merge, MergeTask
from holdfast.states.manifest import PENDING
from holdfast.states.messages import (
    MESSAGE,
    LogFile,
    Message,
    RefusedChange,
    RefusedFragment,
    Shipped,
    messages_in,
    net_rows,
    of_type,
    segments_of,
    total_shipped,
)
from holdfast.states.store import FolderStore

COLUMNS = ("a", "b", "c", "d", "g")
Row = Mapping[str, Any]
Event = tuple[str, Row]
CHANGES = {"insert": 0, "delete": 1, "update": 3}


@dataclass(frozen=True)
class Case:
    sites: SplitTable
    rows: tuple[Row, ...]
    batches: tuple[tuple[Event, ...], ...]

    def group(self, row: Row) -> int:
        """The group of sites of a row: rows are split by `g`."""
        return 0 if len(self.sites.row_groups) == 1 else (row["g"] or 0) % len(self.sites.row_groups)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    sites: list[Site] = []
    for group in range(groups):
        count = draw(st.integers(1, 3))
        held: list[set[str]] = [set() for _ in range(count)]
        for name in COLUMNS:
            for site in draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=2)):
                held[site].add(name)
        where = None if groups == 1 else f"coalesce(g, 0) % {groups} = {group}"
        sites += [Site(f"S{group}{i}", tuple(sorted(own)), where) for i, own in enumerate(held)]
    bodies = draw(st.lists(dependencies(), min_size=1, max_size=4))
    rules = RuleSet(tuple(Rule(f"r{i}", body) for i, body in enumerate(bodies)), ("id",), draw(nulls()))
    rows = {key: draw(values(key)) for key in range(draw(st.integers(0, 6)))}
    first, after, batches = tuple(rows.values()), 100, []
    for _ in range(draw(st.integers(1, 3))):
        events: list[Event] = []
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.sampled_from(["insert", "delete", "update"])) if rows else "insert"
            key = after if kind == "insert" else draw(st.sampled_from(sorted(rows)))
            after += kind == "insert"
            row = {"id": key} if kind == "delete" else draw(values(key))
            events.append((kind, row))
            if kind == "delete":
                del rows[key]
            else:
                rows[key] = row
        batches.append(tuple(events))
    return Case(SplitTable(("id",), tuple(sites), rules), first, tuple(batches))


def nulls() -> st.SearchStrategy[Any]:
    return st.sampled_from(["sql", "equal"])


def values(key: int) -> st.SearchStrategy[Row]:
    own = st.sampled_from([0, 0, 1, 2, None])
    return st.fixed_dictionaries({"id": st.just(key), **dict.fromkeys(COLUMNS, own)})


@st.composite
def dependencies(draw: st.DrawFn) -> Body:
    names = draw(st.permutations(COLUMNS))
    cut = draw(st.integers(1, 3))
    left, right = tuple(names[:cut]), tuple(names[cut : cut + draw(st.integers(1, 2))])
    if draw(st.booleans()):
        return FD(left, right)
    some = st.sampled_from([None, None, Constant("0", raw=True), Constant("1", raw=True)])
    lines = {
        Pattern(tuple(draw(some) for _ in left), tuple(draw(some) for _ in right))
        for _ in range(draw(st.integers(1, 2)))
    }
    return CFD(left, right, tuple(sorted(lines, key=str)))


class Sites3:
    """The three steps of a state of fragments, as Spark would run them, in this process."""

    def __init__(self, folder: Path, case: Case, pieces: int) -> None:
        self.case, self.store, self.pieces = case, FolderStore(str(folder / "state")), pieces
        self.record = folder / "crossings"
        self.record.mkdir()
        plan = plan_shipments(case.sites, improving=0.05, searching=0.05)
        self.store.make([PENDING, *empty_tables(case.sites)])
        write_fixed(self.store, Fixed(plan, SiteMeetings(_apart(plan)), b"secret"))
        fixed = read_fixed(self.store)
        # What is read back is what was planned.
        assert (fixed.plan.groups, fixed.plan.parts) == (plan.groups, plan.parts)
        self.plan, self.meetings, self.held_atoms = fixed.plan, fixed.meetings, held_atoms_of(fixed.plan)
        self.tables, self.version, self.rows = empty_tables(case.sites), 0, 0
        self.names = tuple(rule.name for rule in case.sites.rules)

    def first(self, rows: Sequence[Row]) -> Shipped:
        lines = []
        for row in rows:
            for site in self.plan.groups[self.case.group(row)].sites:
                ids, bits = self._packed(row, self.held_atoms.held[site])
                line = {"site": site, "k": row["id"], "h": _hash(row["id"]), "ids": ids, "bits": bits}
                lines.append({**line, "inside": self._inside(row)})
        kinds = {"site": pa.int32(), "k": pa.int64(), "h": pa.int64(), "ids": pa.binary(), "bits": pa.binary()}
        task = FirstSiteRowsTask(self.store, self.plan, self.held_atoms, 1, str(self.record))
        table = _table(lines, {**kinds, "inside": pa.binary()})
        return self._steps(task, table, first=True)[1]

    def apply(self, events: Sequence[Event]) -> tuple[set[tuple[str, int]], set[tuple[str, int]], Shipped]:
        self.version += 1
        lines = []
        for place, (kind, row) in enumerate(events):
            whole = {**dict.fromkeys(COLUMNS), **row}
            ids, bits = self._packed(whole, range(len(self.held_atoms.atoms)))
            line = {"k": row["id"], "h": _hash(row["id"]), "ct": CHANGES[kind], "o0": "", "o1": 0, "o2": place}
            lines.append({**line, "ids": ids, "bits": bits, "inside": self._inside(whole)})
        kinds = {
            "k": pa.int64(),
            "h": pa.int64(),
            "ct": pa.int32(),
            "o0": pa.string(),
            "o1": pa.int64(),
            "o2": pa.int64(),
        }
        task = SiteChangesTask(
            self.store, self.tables, self.plan, self.held_atoms, self.version, 1, True, record=str(self.record)
        )
        table = _table(lines, {**kinds, "ids": pa.binary(), "bits": pa.binary(), "inside": pa.binary()})
        messages, shipped = self._steps(task, table, first=False)
        logs = [pq.read_table(self.store.file(f"{PENDING}/{log.name}")) for log in of_type(messages, LogFile)]
        listed = [line for log in logs for line in log.to_pylist()]
        added, removed = ({(x["rule"], x["left"]) for x in listed if x["change"] == sign} for sign in (1, -1))
        assert len(listed) == len(added) + len(removed)
        return added, removed, shipped

    def _steps(self, task: Any, table: pa.Table, *, first: bool) -> tuple[list[Message], Shipped]:
        rows = self._run(task, table, "h")
        index = IndexChangesTask(
            self.store, self.tables, self.plan, self.meetings, self.version, first=first, record=str(self.record)
        )
        found = self._run(index, rows, "h")
        if found.num_rows:
            pairs = zip(found.column("k").to_pylist(), found.column("rule").to_pylist(), strict=True)
            found = found.append_column("h", pa.array([_hash(pair) for pair in pairs], pa.int64()))
        last = RuleViolationsTask(
            self.store, self.tables[VIOLATIONS], self.names, self.version, 10**6, logged=not first
        )
        out = self._run(last, found, "h")
        messages = messages_in([out]) if out.num_rows else []
        assert not of_type(messages, RefusedChange) + of_type(messages, RefusedFragment), messages
        self.rows += net_rows(messages)
        self.tables = {
            name: replace(table, segments=table.segments + segments_of(messages, name))
            for name, table in self.tables.items()
        }
        return messages, total_shipped(messages)

    def _run(self, task: Any, table: pa.Table, by: str) -> pa.Table:
        """The task over pieces of the table, those with one hash together."""
        if not table.num_rows:
            return table
        places = pa.array(np.asarray(table.column(by).to_numpy() % self.pieces, np.int32))
        batches = table.append_column("work", places).to_batches(max_chunksize=3)
        out = list(task(iter(batches)))
        return pa.Table.from_batches(out) if out else pa.table({MESSAGE: pa.array([], pa.string())})

    def _packed(self, row: Row, atoms: Sequence[int]) -> tuple[bytes, bytes]:
        ids, bits = b"", b""
        mode = self.case.sites.rules.nulls
        for atom in (self.held_atoms.atoms[i] for i in atoms):
            if atom.is_column:
                value = row[atom.columns[0]]
                ids += hashlib.sha256(f"{atom.columns[0]}:{value}".encode()).digest()[:16]
                bits += bytes([mode == "equal" or value is not None])
            else:
                assert atom.predicate is not None
                bits += bytes([reference.satisfied(atom.predicate, row, row, mode)])
        return ids, bits

    def _inside(self, row: Row) -> bytes:
        return bytes(number == self.case.group(row) for number in range(len(self.plan.groups)))

    def violations(self) -> set[tuple[str, int]]:
        batches = PresentViolationsTask(self.store, self.tables[VIOLATIONS], 2, self.names)(_numbers(2))
        lines = [line for batch in batches for line in batch.to_pylist()]
        assert len({(x["rule"], x["key"]) for x in lines}) == len(lines)
        return {(x["rule"], x["key"]) for x in lines}

    def merge(self, *, everything: bool) -> None:
        """All files of each table become one, as a compaction would have it."""
        for name, table in self.tables.items():
            if not table.segments:
                continue
            key = (table_key(name),)
            task = MergeTask(self.store, (Merge(name, table.segments, everything, key, key),), (1,))
            batch = pa.RecordBatch.from_pydict({"merge": pa.array([0], pa.int32()), "place": pa.array([0], pa.int32())})
            segments = segments_of(messages_in(task(iter([batch]))), name)
            self.tables = {**self.tables, name: replace(table, segments=segments)}


def _apart(plan: ShipmentPlan) -> frozenset[tuple[int, int, int]]:
    """Rows are split by `g`: where rows of a group agree on it, sites have nothing to tell each other."""
    count = len(plan.groups)

    def local(part: RulePart) -> bool:
        return "g" in part.left_columns

    pairs = [(i, j) for i in range(count) for j in range(i, count)]
    return frozenset((n, i, j) for n, part in enumerate(plan.parts) if local(part) for i, j in pairs)


def _numbers(count: int) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"id": pa.array(range(count), pa.int64())})


def _hash(value: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(value).encode()).digest()[:8], "little", signed=True)


def _table(lines: Sequence[Mapping[str, Any]], kinds: Mapping[str, pa.DataType]) -> pa.Table:
    return pa.table({n: pa.array([line.get(n) for line in lines], kind) for n, kind in kinds.items()})


def wanted(case: Case, rows: Sequence[Row]) -> set[tuple[str, int]]:
    found = reference.violations(rows, case.sites.rules)
    return {(name, key) for name, some in found.items() for pair in some for key in pair if key is not None}


def rows_after(rows: Sequence[Row], events: Sequence[Event]) -> list[Row]:
    for kind, row in events:
        gone = [] if kind == "insert" else [row["id"]]
        rows = reference.changed(rows, gone, [] if kind == "delete" else [row], ("id",))
    return list(rows)


def assert_follows(case: Case, batches: Sequence[Sequence[Event]], *, pieces: int, merging: bool = False) -> Shipped:
    with tempfile.TemporaryDirectory() as folder:
        state = Sites3(Path(folder), case, pieces)
        rows: list[Row] = list(case.rows)
        shipped = state.first(rows)
        before = wanted(case, rows)
        assert state.violations() == before
        for number, events in enumerate(batches):
            rows = rows_after(rows, events)
            after = wanted(case, rows)
            told = set(state.record.iterdir())
            added, removed, crossed = state.apply(events)
            assert_no_id_crosses_twice(state.plan, set(state.record.iterdir()) - told)
            assert (added, removed) == (after - before, before - after)
            assert state.violations() == after
            assert state.rows == len(rows)
            shipped, before = shipped.plus(crossed), after
            if merging:
                state.merge(everything=number % 2 == 1)
                assert state.violations() == after
        crossings = [pq.read_table(file) for file in state.record.iterdir()]
        assert sum(table.num_rows for table in crossings) == shipped.eqids + shipped.tuples
        assert all(set(table.column_names) <= {"key", "id", "side", "n"} for table in crossings)
        return shipped


def assert_no_id_crosses_twice(plan: ShipmentPlan, crossings: set[Path]) -> None:
    """Of the ids of one row's columns, none crosses twice from one site to another, whatever rules ask for it."""
    for group in plan.groups:
        assert sorted(n for shared in group.crossings for n in shared) == list(range(len(group.shipments)))
    # What is sent on comes later than what is known at once.
    if any(group.rounds > 1 for group in plan.groups):
        return
    seen = [
        (*file.name.split("-")[1:3], line["key"], line["n"] > 0, line["id"])
        for file in crossings
        for line in pq.read_table(file).to_pylist()
        if file.name.startswith("eqids-") and line.get("id")
    ]
    assert len(seen) == len(set(seen))


quickly = settings(max_examples=35, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@quickly
@given(case=cases())
def test_changes_one_batch_after_the_other(case: Case) -> None:
    assert_follows(case, case.batches, pieces=1)


@quickly
@given(case=cases())
def test_changes_one_by_one_over_several_pieces_with_merged_files(case: Case) -> None:
    assert_follows(case, [[event] for batch in case.batches for event in batch], pieces=3, merging=True)


@quickly
@given(case=cases())
def test_changes_as_one_batch(case: Case) -> None:
    assert_follows(case, [[event for batch in case.batches for event in batch]], pieces=2)


def test_ids_of_sets_that_overlap_are_joined_without_loss() -> None:
    """With a replica, ids of (a, b) and of (a, c) serve three rules; joined, they still tell rows apart by `a`."""
    held = {"L": ("a", "b"), "R": ("a", "c"), "M": ("d", "g")}
    rules = rule_set(["a, b -> d", "a, c -> g", "a, b, c -> d"], key=("id",))
    sites = SplitTable(("id",), tuple(Site(name, own) for name, own in held.items()), rules)
    plan = plan_shipments(sites)
    assert plan.shared == 2
    assert any(settling.left.overlap for settling in plan.groups[0].settlings)
    row = {"a": 0, "b": 0, "c": 0, "d": 0, "g": 0}
    rows = ({"id": 1, **row}, {"id": 2, **row, "a": 1, "d": 1}, {"id": 3, **row, "b": 1})
    events: list[Event] = [("insert", {"id": 4, **row, "a": 1, "d": 2}), ("delete", {"id": 2})]
    assert_follows(Case(sites, rows, ((),)), [[event] for event in events], pieces=1)


def test_rules_under_several_conditions_share_letters() -> None:
    """One site sends the id of `a` once, with what it says of `c`, for as many rules as ask for it."""
    held = {"L": ("a", "c"), "R": ("b", "d", "g")}
    texts = ["a -> b", "a -> d", "a -> g", *(f"c = {c}, a -> {right}" for c in (1, 2) for right in ("b", "d", "g"))]
    rules = rule_set(texts, key=("id",))
    sites = SplitTable(("id",), tuple(Site(name, own) for name, own in held.items()), rules)
    (plan,) = plan_shipments(sites).groups
    assert len(plan.shipments) == 3
    assert len(plan.crossings) == 1
    row = {"a": 0, "b": 0, "c": 1, "d": 0, "g": 0}
    rows = ({"id": 1, **row}, {"id": 2, **row, "c": 2, "b": 1}, {"id": 3, **row, "a": None})
    events: list[Event] = [("insert", {"id": 4, **row, "d": 2}), ("delete", {"id": 2}), ("update", {"id": 3, **row})]
    shipped = assert_follows(Case(sites, rows, ((),)), [[event] for event in events], pieces=1)
    # The three rows with an `a` have a letter when they come or go; row 3, without one, has none for `c` alone either.
    assert shipped.eqids == 2 + 3


def test_conditions_cross_beside_an_id() -> None:
    """What a site says of its conditions is in the letter with its id; a row that has no id has a letter without."""
    held = {"L": ("a", "c"), "R": ("b", "d", "g")}
    rules = rule_set(["a -> b", "a -> d", "a -> g", "c = 1, b -> d", "c = 1, d -> g"], key=("id",))
    sites = SplitTable(("id",), tuple(Site(name, own) for name, own in held.items()), rules)
    (plan,) = plan_shipments(sites).groups
    assert [len(plan.columns(shipment)) for shipment in plan.shipments] == [1, 0]
    assert len(plan.crossings) == 1
    row = {"a": 0, "b": 0, "c": 1, "d": 0, "g": 0}
    lacking = {**row, "a": None}
    rows = ({"id": 1, **row}, {"id": 2, **row, "c": 0}, {"id": 3, **lacking}, {"id": 4, **lacking, "c": 0})
    events: list[Event] = [("update", {"id": 3, **lacking, "d": 1}), ("insert", {"id": 5, **row, "g": 1})]
    shipped = assert_follows(Case(sites, rows, ((),)), [[event] for event in events], pieces=1)
    assert shipped.eqids == 3 + 2 + 1
    # A letter has a key, a count and mostly an id: three of row 3 have none.
    assert shipped.bytes == 6 * 9 + 3 * 16


def test_constant_rules_share_letters() -> None:
    """A row whose key one site sends to another for several rules has one letter."""
    held = {"L": ("a",), "R": ("b", "c", "d"), "M": ("g",)}
    rules = rule_set(["a = 1, b = 1 -> c = 2", "a = 1, b = 1 -> d = 2", "a = 2, b = 2 -> d = 2"], key=("id",))
    sites = SplitTable(("id",), tuple(Site(name, own) for name, own in held.items()), rules)
    row = {"a": 1, "b": 1, "c": 1, "d": 1, "g": 0}
    rows = ({"id": 1, **row}, {"id": 2, **row, "a": 2, "b": 2}, {"id": 3, **row, "a": 3})
    shipped = assert_follows(Case(sites, rows, ((),)), [[("insert", {"id": 4, **row, "c": 2})]], pieces=1)
    assert (shipped.eqids, shipped.tuples) == (0, 3)


@pytest.mark.soak
@settings(quickly, max_examples=3000)
@given(case=cases())
def test_long_histories(case: Case) -> None:
    assert_follows(case, case.batches, pieces=1)
