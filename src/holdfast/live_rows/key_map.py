"""Which row has which key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.key_table import FREE, add_keys, find_keys, remove_keys


class KeyMap:
    """A table of the slots of all rows that are there, by their keys: the first `columns` columns of their codes.

    A look-up costs a few steps; the table is made anew when it is two thirds full, also of places that were left.
    """

    def __init__(self, columns: int) -> None:
        self._columns = np.arange(columns)
        self._table = np.full(256, FREE, np.int32)
        self._used = 0

    def find(self, stored: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Per row of codes the slot of the stored row with its key, or -1."""
        slots = np.empty(len(codes), np.int32)
        find_keys(self._table, stored, codes, self._columns, slots)
        return slots

    def add(self, stored: NDArray[np.int64], slots: NDArray[np.int32]) -> None:
        """The slots, whose keys are not in it, are in it."""
        if (self._used + len(slots)) * 3 > len(self._table) * 2:
            there = self._table[self._table >= 0]
            room = 256
            while room * 2 < (len(there) + len(slots)) * 5:
                room *= 2
            self._table = np.full(room, FREE, np.int32)
            self._used = add_keys(self._table, stored, there, self._columns)
        self._used += add_keys(self._table, stored, slots, self._columns)

    def remove(self, stored: NDArray[np.int64], slots: NDArray[np.int32]) -> None:
        remove_keys(self._table, stored, slots, self._columns)

    @property
    def bytes(self) -> int:
        return int(self._table.nbytes)

    def slots(self) -> NDArray[np.int32]:
        """Of all keys in it, in no order."""
        return self._table[self._table >= 0]
