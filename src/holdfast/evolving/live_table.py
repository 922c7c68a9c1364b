"""Rows under keys, as codes, that come, go and change in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.encode.column_type import ColumnType
from holdfast.evolving.changed_evidence import KeptRows
from holdfast.live_rows.coded_batch import Bools, Coding
from holdfast.live_rows.keyed_rows import NOBODY, Codes, KeyedRows, NamedRows
from holdfast.live_rows.row_store import Slots


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


class LiveTable(KeyedRows):
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
        self.names = tuple(types)
        super().__init__(key, Coding(self.names, dict(types), families, ordered), needed=self.names, flags=0)
        self._coding.learn({name: kind for name, kind in types.items() if kind.family != "void"})
        # Slots and codes are what they were as long as this is.
        self.generation = 0

    # Changes that could be made ---------------------------------------------------------------------------------

    def inserting(self, rows: Any) -> TableChange:
        """Rows come whose keys are new."""
        return self._change(self._inserting(rows))

    def deleting(self, keys: Any) -> TableChange:
        """Rows go, named by their keys."""
        return self._change(self._deleting(keys))

    def updating(self, rows: Any) -> TableChange:
        """Rows take the place of those with their keys."""
        return self._change(self._updating(rows))

    def applying(self, changes: Any) -> TableChange:
        """A batch of changes, in order, as one: what counts is its net effect."""
        return self._change(self._applying(changes))

    def _change(self, named: NamedRows) -> TableChange:
        coming = named.coming
        if coming is None:
            width = len(self.names)
            return TableChange(named.gone, np.zeros((0, width), np.int64), np.zeros((0, width), np.bool_), ())
        change = TableChange(named.gone, coming.codes, coming.valid, self._keys.of_batch(coming.batch))
        return change if named.before is None else self._without_same(change)

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

    # Making them ------------------------------------------------------------------------------------------------

    def make(self, change: TableChange) -> Slots:
        """The change is made; the slots of the rows that came."""
        slots = NOBODY
        if len(change.gone):
            self._store.remove(change.gone)
            self._keys.remove(change.gone)
        if len(change.codes):
            self._known = frozenset(self.names)
            slots = self._store.add(change.codes, change.valid, np.zeros((len(change.codes), 0), np.bool_))
            self._keys.add(slots, lambda: list(change.keys))
        if self._store.mostly_gone:
            self._compact()
        return slots

    def _reloaded(self) -> None:
        self.generation += 1

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
