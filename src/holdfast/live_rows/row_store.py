"""Rows as codes, by slot: a row keeps its slot while it is there, and its values while a change is told."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.runs import Rows

Slots = NDArray[np.int32]
LEAST_ROOM = 256
_MANY = 100_000


class RowStore:
    """Rows that are only added; a row that goes is marked. Cost of adding: that of copying, twice on average."""

    def __init__(self, columns: int, flags: int) -> None:
        self._columns, self._flags = columns, flags
        self.size = 0
        self.gone = 0
        self.rows = self._room_for(LEAST_ROOM)

    def _room_for(self, rows: int) -> Rows:
        return Rows(
            np.zeros((rows, self._columns), np.int64),
            np.zeros((rows, self._columns), np.bool_),
            np.zeros((rows, self._flags), np.bool_),
            np.zeros(rows, np.bool_),
            np.arange(rows, dtype=np.int32),
        )

    def _make_room(self, rows: int) -> None:
        larger = self._room_for(rows)
        for name in Rows._fields:
            getattr(larger, name)[: self.size] = getattr(self.rows, name)[: self.size]
        self.rows = larger

    def __len__(self) -> int:
        return self.size - self.gone

    def add(self, codes: NDArray[np.int64], valid: NDArray[np.bool_], flags: NDArray[np.bool_]) -> Slots:
        """The slots of the rows, which are there from now on."""
        many = len(codes)
        if self.size + many > len(self.rows.alive):
            room = len(self.rows.alive)
            self._make_room(max(2 * room if room < _MANY else room * 5 // 4, self.size + many))
        new = slice(self.size, self.size + many)
        rows = self.rows
        rows.codes[new], rows.valid[new], rows.flags[new], rows.alive[new] = codes, valid, flags, True
        self.size += many
        return np.arange(new.start, new.stop, dtype=np.int32)

    def remove(self, slots: Slots) -> None:
        self.rows.alive[slots] = False
        self.gone += len(slots)

    def slots(self) -> Slots:
        """Of all rows that are there, in order of their coming."""
        return np.flatnonzero(self.rows.alive[: self.size]).astype(np.int32)

    def replace(self, gone: Slots, come: Slots, before: Slots) -> None:
        """Until they settle, rows that come know the rows they replace (-1: none), and these know them."""
        twin = self.rows.twin
        twin[gone], twin[come] = -1, before
        replaced = before >= 0
        twin[before[replaced]] = come[replaced]

    def settle(self, come: Slots) -> None:
        """The rows stand for themselves again."""
        self.rows.twin[come] = come

    @property
    def mostly_gone(self) -> bool:
        return self.gone > max(4096, self.size // 2)

    @property
    def bytes(self) -> int:
        return sum(part.nbytes for part in self.rows)
