"""Rows under keys, as codes, that come, go and change in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.detect.row_changes import CHANGE_TYPE
from holdfast.discover.changed_evidence import KeptRows
from holdfast.encode.column_type import ColumnType
from holdfast.incremental.coded_batch import Coding, Moved, RowBatch, recoded, require_names, row_batch
from holdfast.incremental.net_changes import net_changes
from holdfast.incremental.row_keys import RowKeys
from holdfast.incremental.row_store import RowStore, Slots

Codes = NDArray[np.int64]
Bools = NDArray[np.bool_]
_NOBODY = np.zeros(0, np.int32)


@dataclass(frozen=True)
class TableChange:
    """Slots of rows that go, and rows that come: their codes, validity and keys. Nothing has changed yet."""

    gone: Slots
    codes: Codes
    valid: Bools
    keys: Sequence[Any]

    @property
    def size(self) -> int:
        return len(self.gone) + len(self.codes)


class LiveTable:
    """A table in this process. A change is looked at first, and refused whole where it cannot be made; then made.

    Columns are the key's, then the others, whose types are known and stay.
    """

    def __init__(
        self,
        key: Sequence[str],
        types: Mapping[str, ColumnType],
        families: Mapping[str, tuple[str, ...]],
        ordered: frozenset[str],
    ) -> None:
        self.key, self.names = tuple(key), tuple(types)
        self._coding = Coding(self.names, dict(types), families, ordered)
        self._coding.learn({name: kind for name, kind in types.items() if kind.family != "void"})
        self._known: frozenset[str] | None = None
        # Slots and codes are what they were as long as this is.
        self.generation = 0
        self._begin()

    def _begin(self) -> None:
        self._store = RowStore(len(self.names), 0)
        self._keys = RowKeys(self.key, self._store, self._coding)

    def __len__(self) -> int:
        return len(self._store)

    @property
    def bytes(self) -> int:
        return self._store.bytes + self._keys.bytes

    # Changes that could be made ---------------------------------------------------------------------------------

    def inserting(self, rows: Any) -> TableChange:
        """Rows come whose keys are new."""
        batch = row_batch(rows)
        if batch.size == 0:
            return self._nothing(_NOBODY)
        with self._coding.unless_refused():
            codes, valid = self._encoded(batch)
            self._keys.require_new(batch, codes)
        return TableChange(_NOBODY, codes, valid, self._keys.of_batch(batch))

    def deleting(self, keys: Any) -> TableChange:
        """Rows go, named by their keys."""
        return self._nothing(self._keys.slots(self._keys.given(keys)))

    def updating(self, rows: Any) -> TableChange:
        """Rows take the place of those with their keys."""
        batch = row_batch(rows)
        if batch.size == 0:
            return self._nothing(_NOBODY)
        with self._coding.unless_refused():
            codes, valid = self._encoded(batch)
            keys = self._keys.of_batch(batch)
            slots = self._keys.slots(keys)
        return self._without_same(TableChange(slots, codes, valid, keys))

    def applying(self, changes: Any) -> TableChange:
        """A batch of changes, in order, as one: what counts is its net effect."""
        batch = row_batch(changes)
        if batch.size == 0:
            return self._nothing(_NOBODY)
        if CHANGE_TYPE not in batch.columns:
            return self.inserting(changes)
        kinds, rows = batch.listed(CHANGE_TYPE), batch.without(CHANGE_TYPE)
        first, last = net_changes(kinds, self._keys.of_batch(rows), self._keys.are_there)
        old = [key for key, was in first.items() if was]
        come = [at for at in last.values() if at is not None]
        if not come:  # rows that only go need no other columns than the key
            return self._nothing(self._keys.slots(old))
        taken = rows.take(come)
        with self._coding.unless_refused():
            codes, valid = self._encoded(taken)
        gone = self._keys.slots(old)  # only now: where codes had to move, rows have other slots
        return self._without_same(TableChange(gone, codes, valid, self._keys.of_batch(taken)))

    def _nothing(self, gone: Slots) -> TableChange:
        width = len(self.names)
        return TableChange(gone, np.zeros((0, width), np.int64), np.zeros((0, width), np.bool_), ())

    def _without_same(self, change: TableChange) -> TableChange:
        """The change without rows that come as they went."""
        width = len(self.key)
        place = {key.tobytes(): i for i, key in enumerate(np.ascontiguousarray(change.codes[:, :width]))}
        stored = self._store.rows
        same: list[tuple[int, int]] = []
        for i, slot in enumerate(change.gone.tolist()):
            at = place.get(np.ascontiguousarray(stored.codes[slot, :width]).tobytes())
            if at is None or (stored.valid[slot] != change.valid[at]).any():
                continue
            if (stored.codes[slot] == change.codes[at])[change.valid[at]].all():
                same.append((i, at))
        if not same:
            return change
        gone = np.delete(change.gone, [i for i, _ in same])
        stay = np.delete(np.arange(len(change.codes)), [at for _, at in same])
        return TableChange(gone, change.codes[stay], change.valid[stay], [change.keys[i] for i in stay.tolist()])

    def _encoded(self, batch: RowBatch) -> tuple[Codes, Bools]:
        require_names(batch, self.names, self._known)
        learned = self._coding.learned(batch)
        if learned:
            self._coding.learn(learned)
        codes, valid = self._coding.entered(batch, self.key, self._recode)
        return codes, valid

    # Making them ------------------------------------------------------------------------------------------------

    def make(self, change: TableChange) -> Slots:
        """The change is made; the slots of the rows that came."""
        slots = _NOBODY
        if len(change.gone):
            self._store.remove(change.gone)
            self._keys.remove(change.gone)
        if len(change.codes):
            self._known = frozenset(self.names)
            slots = self._store.add(change.codes, change.valid, np.zeros((len(change.codes), 0), np.bool_))
            self._keys.add(slots, lambda: list(change.keys))
        if self._store.mostly_gone:
            there = self._store.slots()
            codes, valid = self._store.rows.codes[there], self._store.rows.valid[there]
            self._coding.keep(codes, valid)
            self._reload(there, codes, valid)
        return slots

    def _recode(self, moved: Moved) -> None:
        slots = self._store.slots()
        valid = self._store.rows.valid[slots]
        self._reload(slots, recoded(self._store.rows.codes[slots], valid, moved), valid)

    def _reload(self, slots: Slots, codes: Codes, valid: Bools) -> None:
        names = self._keys.names(slots)
        self.generation += 1
        self._begin()
        self._keys.add(self._store.add(codes, valid, np.zeros((len(codes), 0), np.bool_)), names)

    # Rows -------------------------------------------------------------------------------------------------------

    def slots_but(self, gone: Slots) -> Slots:
        """The slots of all rows that stay when these go."""
        alive = self._store.rows.alive[: self._store.size].copy()
        alive[gone] = False
        return np.flatnonzero(alive).astype(np.int32)

    def rows(self, slots: Slots, columns: Sequence[str]) -> KeptRows:
        rows = self._store.rows
        return self._kept(rows.codes[slots], rows.valid[slots], columns)

    def coming(self, change: TableChange, columns: Sequence[str]) -> KeptRows:
        return self._kept(change.codes, change.valid, columns)

    def _kept(self, codes: Codes, valid: Bools, columns: Sequence[str]) -> KeptRows:
        at = {name: self.names.index(name) for name in columns}
        return KeptRows(
            {name: np.ascontiguousarray(codes[:, i]) for name, i in at.items()},
            {name: np.ascontiguousarray(valid[:, i]) for name, i in at.items()},
            len(codes),
        )

    def key_of(self, slot: int) -> Any:
        return self._keys.names(np.array([slot], np.int32))()[0]

    def value(self, name: str, code: int, valid: bool) -> Any:
        """The value behind a code of the column."""
        coder = self._coding.coder(name)
        return None if not valid or coder is None else coder.value(code)

    def assert_invariants(self) -> None:
        self._keys.assert_invariants()
