"""What tasks of a batch of changes do for rules that evolve. What they pass on travels as lines of bytes.

Tasks that know which rows go and come pack them; each task of the next stage gets all of these, relates them to its
part of the table, and tells the evidence; one task in the end repairs the rules.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.encode.codes import shared_codes
from holdfast.encode.column_type import ColumnType
from holdfast.errors import StateError
from holdfast.evolving.changed_evidence import KeptRows, NewPair, coded_apart
from holdfast.evolving.evolve import (
    Everyone,
    EvidenceChange,
    KeptRules,
    MovedRows,
    ShownPair,
    evidence_change,
    evolved,
    no_evidence,
    repaired_by_indexes,
    rules_change,
    searched,
    way_of_change,
)
from holdfast.evolving.kept_table import EQUAL, KeptTable, worth_keeping
from holdfast.evolving.options import EvolveStrategy
from holdfast.evolving.outcome import change_to_json
from holdfast.evolving.proving_pairs import proving_pairs
from holdfast.evolving.rule_indexes import RuleIndexes, statistics
from holdfast.evolving.select_index import SelectOptions
from holdfast.evolving.settled_space import other_pairs
from holdfast.search.coded_rows import family_codes, together
from holdfast.search.evidence import Evidence
from holdfast.search.lines import Batches, arrived, lines_of, own_cores, parts_in
from holdfast.search.options import DiscoverOptions
from holdfast.search.space import PredicateSpace
from holdfast.states.key_json import plain_json
from holdfast.states.manifest import KEPT
from holdfast.states.messages import (
    MESSAGE,
    Message,
    RefusedChange,
    RepairedRules,
    SpaceNote,
    WrittenSegment,
    message_batch,
    message_from,
    message_text,
    messages_in,
    of_type,
)
from holdfast.states.segment import Ints, as_typed
from holdfast.states.store import Store

_MESSAGES, _ROWS = "messages-", "rows-"


@dataclass(frozen=True)
class PackTask:
    """A task: rows that go (`sign` -1) and come (1), and messages (0), as of RowChangesTask; out come lines."""

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches)
        if table is None:
            return
        token = secrets.token_hex(8)
        yield from lines_of({f"{_MESSAGES}{token}": _packed(messages_in([table]))})
        rows = table.filter(pa.array(table.column("sign").to_numpy() != 0)).drop_columns([MESSAGE, "k"])
        if rows.num_rows:
            yield from lines_of({f"{_ROWS}{token}": _to_ipc(rows)})


def _messages_and_rows(parts: Mapping[str, bytes]) -> tuple[list[Message], pa.Table | None]:
    """What came from all PackTasks: messages, and rows that go and come; no rows where a change is refused."""
    messages = [m for name in sorted(parts) if name.startswith(_MESSAGES) for m in _unpacked(parts[name])]
    changed = [_from_ipc(parts[name]) for name in sorted(parts) if name.startswith(_ROWS)]
    fits = changed and not of_type(messages, RefusedChange)
    return messages, pa.concat_tables(changed) if fits else None


@dataclass(frozen=True)
class _Related:
    """Rows that go, come and stay, as they are and as codes that compare with each other."""

    table: KeptTable
    go: pa.Table
    come: pa.Table
    stay: pa.Table
    coded: tuple[KeptRows, KeptRows, KeptRows]

    def shown(self, pair: NewPair) -> dict[str, Any]:
        """The pair with the keys and values of its rows."""
        at = pair.right - self.stay.num_rows
        right = (self.stay, pair.right) if at < 0 else (self.come, at)
        rows = []
        for table, place in ((self.come, pair.left), right):
            row = table.slice(place, 1)
            values = {name: plain_json(row.column(c)[0].as_py()) for name, c in self.table.compared.items()}
            rows.append((plain_json(self.table.keys(row)[0].as_py()), values))
        return {"first": rows[0], "second": rows[1], "words": [str(word) for word in pair.words.tolist()]}


@dataclass(frozen=True)
class _RelatingTask:
    """What tasks have that relate rows that change to those of the table; `kept` is the file of the rules."""

    table: KeptTable
    types: Mapping[str, ColumnType]
    options: DiscoverOptions
    kept: str

    def _related(self, changed: pa.Table, places: Sequence[int]) -> _Related:
        go, come, kinds = self._moving(changed)
        stay = self.table.rows(places, kinds)
        return self._coded(go, come, stay if stay is not None else go.slice(0, 0))

    def _moving(self, changed: pa.Table) -> tuple[pa.Table, pa.Table, Mapping[str, pa.DataType]]:
        """The rows that go, and those that come: key and compared columns, in the types they have there."""
        kinds = {name: changed.column(name).type for name in self.table.columns}
        signs = changed.column("sign").to_numpy()
        go, come = (as_typed(changed.filter(pa.array(signs == sign)), kinds) for sign in (-1, 1))
        return go, come, kinds

    def _coded(self, go: pa.Table, come: pa.Table, there: pa.Table) -> _Related:
        """These rows, and those of the ones that were there that stay."""
        stay = _without(there, go, self.table)
        coded = _coded(pa.concat_tables([go, come, stay]), self.table.compared, self.types, self.options)
        ends = np.cumsum([0, go.num_rows, come.num_rows, stay.num_rows]).tolist()
        first, second, third = (coded.part(a, b) for a, b in pairwise(ends))
        return _Related(self.table, go, come, stay, (first, second, third))


@dataclass(frozen=True)
class ChangedEvidenceTask(_RelatingTask):
    """A task: all rows that change, and the number of a `share` of the table; out comes the evidence of them with the
    rows of that share, and with each other for one share, and for rules that it breaks the pairs that do."""

    shares: int

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches)
        if table is None:
            return
        shares = np.unique(table.column("share").to_numpy()).tolist()
        once = table.filter(pa.array(table.column("share").to_numpy() == shares[0]))
        messages, changed = _messages_and_rows(parts_in(once))
        if 0 in shares:
            yield from lines_of({_MESSAGES: _packed(messages)})
        if changed is None:
            return
        kept = KeptRules.from_bytes(self.table.store.file(self.kept).read_bytes())
        for share in shares:
            yield from lines_of(self._share_parts(kept, changed, share))

    def _share_parts(self, kept: KeptRules, changed: pa.Table, share: int) -> Mapping[str, bytes]:
        rows = self._related(changed, range(share, self.table.places, self.shares))
        change = evidence_change(kept, self.options, *rows.coded, threads=1, share=share, shares=self.shares)
        size = rows.come.num_rows - rows.go.num_rows if share == 0 else 0
        about = {"size": size, "shown": [rows.shown(pair) for pair in change.new_pairs], "device": change.device}
        return {f"about-{share}": json.dumps(about).encode(), **_evidence_parts(change, share)}


@dataclass(frozen=True)
class RepairTask:
    """A task: evidence from all shares; out comes what became of the rules, which it writes to a new file."""

    store: Store
    options: DiscoverOptions
    kept: str

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches)
        if table is None:
            return
        parts = parts_in(table)
        yield message_batch(*_unpacked(parts.get(_MESSAGES, b"[]")))
        abouts = [json.loads(content) for name, content in sorted(parts.items()) if name.startswith("about-")]
        if abouts:
            yield message_batch(self._repaired(parts, abouts))

    def _repaired(self, parts: Mapping[str, bytes], abouts: Sequence[Mapping[str, Any]]) -> RepairedRules:
        before = KeptRules.from_bytes(self.store.file(self.kept).read_bytes())
        space = before.space
        change = EvidenceChange(_evidence_in(parts, "came", space), _evidence_in(parts, "went", space))
        rows = before.rows + sum(about["size"] for about in abouts)
        after = evolved(before, change, rows, self.options, threads=own_cores())
        shown = [pair for about in abouts for pair in about["shown"]]
        on_card = any(about["device"] == "gpu" for about in abouts)
        return _written(self.store, before, after, shown, "evidence, on gpu" if on_card else "evidence")


@dataclass(frozen=True)
class _IndexingTask(_RelatingTask):
    """What tasks have that write indexes for the batch of the next version."""

    strategy: EvolveStrategy
    version: int

    @property
    def _families(self) -> list[list[str]]:
        return together(self.types, self.options)

    def _columns_of_indexes(self, after: KeptRules, rows: KeptRows) -> list[str]:
        """The columns that indexes should be kept of; none where rules are not kept by indexes."""
        if after.exact or self.options.error or self.strategy == "rediscover":
            return []
        about = statistics(after.space, rows, rows)
        return [self.table.compared[name] for name in worth_keeping(after.space, after.masks, about, self.types)]


@dataclass(frozen=True)
class SearchTask(_IndexingTask):
    """A task: all rows that change; out comes what became of the rules, as from a RepairTask, and files of indexes.

    Where the indexes that the state keeps serve all rules, it reads the rows that these name; else the whole table, and
    what is missing of indexes is written for the batch of the next version.
    """

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches)
        if table is None:
            return
        messages, changed = _messages_and_rows(parts_in(table))
        yield message_batch(*messages)
        if changed is not None:
            before = KeptRules.from_bytes(self.table.store.file(self.kept).read_bytes())
            yield message_batch(*(self._by_named_rows(before, changed) or self._by_all_rows(before, changed)))

    def _by_named_rows(self, before: KeptRules, changed: pa.Table) -> list[Message] | None:
        """What became of the rules, from the rows that kept indexes name; None where that is not enough."""
        go, come, kinds = self._moving(changed)
        if self._way(before, go.num_rows, come.num_rows) != "index" or (go.num_rows and before.pairs is None):
            return None
        there = before.rows - go.num_rows
        near = self.table.near(before.space, before.masks, come, kinds, rows=before.rows)
        if near is None:
            return None
        rows = self._coded(go, come, near)

        def everyone() -> tuple[KeptRows, Ints]:
            every = self._related(changed, range(self.table.places))
            ids = [self.table.key_hashes(part) for part in (every.stay, every.come)]
            return every.coded[2].plus(every.coded[1]), np.concatenate(ids)

        indexes, moved = self._indexes(before), self._moved(rows, everyone)
        repaired = repaired_by_indexes(before, indexes, moved, self._families, self.options, threads=own_cores())
        if repaired is None:
            return None
        after, pairs, _ = repaired
        how = f"index: {len(self.table.equalities)} kept indexes named {rows.stay.num_rows:,} of {there:,} rows"
        files = [file for column in self.table.equalities for file in self.table.added(column, go, come, self.version)]
        return [*files, self._written(before, after, rows, pairs, how, list(self.table.equalities))]

    def _by_all_rows(self, before: KeptRules, changed: pa.Table) -> list[Message]:
        rows = self._related(changed, range(self.table.places))
        go, come, stay = rows.coded
        repaired = None
        if self._way(before, go.size, come.size) == "index":
            indexes, moved = self._indexes(before), self._moved(rows)
            repaired = repaired_by_indexes(before, indexes, moved, self._families, self.options, threads=own_cores())
        if repaired is None:
            repaired = searched(before, come, stay, self._families, self.options, threads=own_cores())
        after, pairs, how = repaired
        columns = self._columns_of_indexes(after, stay.plus(come))
        files: list[WrittenSegment] = []
        for column in columns:
            if column in self.table.equalities:
                files += self.table.added(column, rows.go, rows.come, self.version)
            else:
                files += self.table.built(column, pa.concat_tables([rows.stay, rows.come]), self.version)
        return [*files, self._written(before, after, rows, pairs, how, columns)]

    def _way(self, before: KeptRules, go: int, come: int) -> str:
        if self.options.error:  # what a share of the pairs may break is not told by pairs that break it
            return "rediscover"
        return way_of_change(before, go, come, before.rows - go, self.strategy)

    def _indexes(self, before: KeptRules) -> RuleIndexes:
        return RuleIndexes(before.space, self.options.nulls, SelectOptions())

    def _moved(self, rows: _Related, everyone: Everyone | None = None) -> MovedRows:
        gone, came, stays = (self.table.key_hashes(part) for part in (rows.go, rows.come, rows.stay))
        go, come, stay = rows.coded
        return MovedRows(go, come, stay, gone, came, stays, places=np.arange(stay.size), everyone=everyone)

    def _written(
        self, before: KeptRules, after: KeptRules, rows: _Related, pairs: Sequence[NewPair], how: str,
        columns: Sequence[str],
    ) -> RepairedRules:  # fmt: skip
        repaired = _written(self.table.store, before, after, [rows.shown(pair) for pair in pairs], how)
        return replace(repaired, indexed=tuple(EQUAL + column for column in columns))


@dataclass(frozen=True)
class IndexTask(_IndexingTask):
    """A task: anything; it reads the whole table, and out come the rules in a new file, with pairs that prove them, and
    files of indexes: what a batch needs that is to read few rows."""

    def __call__(self, batches: Batches) -> Batches:
        if arrived(batches) is None:
            return
        before = KeptRules.from_bytes(self.table.store.file(self.kept).read_bytes())
        there = self.table.rows(range(self.table.places))
        if there is None or there.num_rows < 2:
            yield message_batch(RepairedRules(self.kept, before.rows))
            return
        rows = self._coded(there.slice(0, 0), there.slice(0, 0), there)
        stay = rows.coded[2]
        apart = coded_apart(stay, self._families, before.space, self.options.nulls)
        ids = self.table.key_hashes(there)
        pairs = proving_pairs(before.masks, apart, ids, self.options, threads=own_cores())
        after = replace(before, pairs=pairs)
        columns = self._columns_of_indexes(after, stay)
        files = [file for column in columns for file in self.table.built(column, there, self.version)]
        indexed = tuple(EQUAL + column for column in columns)
        kept = write_kept(self.table.store, after)
        yield message_batch(*files, RepairedRules(kept, before.rows, indexed=indexed))


@dataclass(frozen=True)
class SpaceTask:
    """A task: all rows of the table, as c0, c1, ... in the types' order; out comes a SpaceNote for each thing that
    a discovery of them would compare otherwise."""

    store: Store
    types: Mapping[str, ColumnType]
    options: DiscoverOptions
    kept: str

    def __call__(self, batches: Batches) -> Batches:
        table = arrived(batches, self.types)
        if table is None:
            return
        space = KeptRules.from_bytes(self.store.file(self.kept).read_bytes()).space
        codes = family_codes(table, together(self.types, self.options))
        notes = other_pairs(space, {name: codes[name] for name in self.types}, self.types, self.options)
        yield message_batch(*map(SpaceNote, notes))


def _written(
    store: Store, before: KeptRules, after: KeptRules, shown: Sequence[Mapping[str, Any]], strategy: str
) -> RepairedRules:
    """The rules after a batch in a file of their own, and what changed, with the pairs that show it."""
    pairs = [
        ShownPair(pair["first"], pair["second"], np.array(list(map(int, pair["words"])), np.uint64)) for pair in shown
    ]
    changed = rules_change(before, after, pairs, strategy=strategy)
    return RepairedRules(write_kept(store, after), after.rows, change_to_json(changed))


def write_kept(store: Store, kept: KeptRules) -> str:
    """The name of a new file with the rules; it is on the disk, and no version names it yet."""
    name = f"{KEPT}/{secrets.token_hex(12)}.npz"
    if not store.create(name, kept.to_bytes()):
        raise StateError(
            f"the state {store.root} has a file {name} already, which was to be new.", hint="run this again."
        )
    return name


def _coded(
    rows: pa.Table, compared: Mapping[str, str], types: Mapping[str, ColumnType], options: DiscoverOptions
) -> KeptRows:
    """The rows as codes that compare with each other, also between columns of one kind."""
    named = pa.table({name: rows.column(column) for name, column in compared.items()})
    codes = family_codes(named, together(types, options))
    return KeptRows(
        {name: codes[name].astype(np.int64) for name in types}, {name: codes[name] >= 0 for name in types}, len(rows)
    )


def _without(rows: pa.Table, gone: pa.Table, table: KeptTable) -> pa.Table:
    """The rows but those whose keys are among those gone."""
    if not gone.num_rows or not rows.num_rows:
        return rows
    own, other = shared_codes([table.keys(rows), table.keys(gone)])
    return rows.filter(pa.array(~np.isin(own.codes, other.codes)))


def _evidence_parts(change: EvidenceChange, share: int) -> dict[str, bytes]:
    sides = {"came": change.came, "went": change.went}
    return {
        f"{name}-{share}-{what}": array.tobytes()
        for name, evidence in sides.items()
        for what, array in (("words", evidence.words), ("counts", evidence.counts))
    }


def _evidence_in(parts: Mapping[str, bytes], name: str, space: PredicateSpace) -> Evidence:
    total = no_evidence(space)
    for part in sorted(parts):
        if part.startswith(f"{name}-") and part.endswith("-words"):
            words = np.frombuffer(parts[part], np.uint64).reshape(-1, space.words)
            counts = np.frombuffer(parts[part.removesuffix("words") + "counts"], np.int64)
            total = total.plus(Evidence(words, counts))
    return total


def _packed(messages: Sequence[Message]) -> bytes:
    return json.dumps([message_text(message) for message in messages]).encode()


def _unpacked(content: bytes) -> list[Message]:
    return [message_from(text) for text in json.loads(content)]


def _to_ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _from_ipc(content: bytes) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(content)).read_all()
