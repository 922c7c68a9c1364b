"""The keys of a monitor's rows: which rows they name, and that they name them once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.encode.live_codes import IntegerCoder
from holdfast.errors import ChangeError, TypeMismatchError
from holdfast.kernels.key_table import FREE, add_keys, find_keys, remove_keys
from holdfast.live_rows.coded_batch import Coding, RowBatch
from holdfast.live_rows.row_store import RowStore, Slots


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


class RowKeys:
    """The keys of the rows in a store, whose first columns they are.

    Whole numbers are told from their codes; keys of other kinds are kept as they came.
    """

    def __init__(self, key: Sequence[str], store: RowStore, coding: Coding) -> None:
        self.key, self._store, self._coding = tuple(key), store, coding
        self._map = KeyMap(len(self.key))
        self._kept: list[Any] = []
        self._codes_are_keys = False  # of the rows that are there

    @property
    def _whole_numbers(self) -> bool:
        return len(self.key) == 1 and isinstance(self._coding.coder(self.key[0]), IntegerCoder)

    def add(self, slots: Slots, keys: Callable[[], list[Any]]) -> None:
        """Rows have come, with these keys."""
        self._map.add(self._store.rows.codes, slots)
        self._codes_are_keys = self._whole_numbers
        if not self._codes_are_keys:
            self._kept += keys()

    def remove(self, slots: Slots) -> None:
        self._map.remove(self._store.rows.codes, slots)

    def of_batch(self, batch: RowBatch) -> list[Any]:
        """The keys of the rows, in their order."""
        for name in self.key:
            if name not in batch.columns:
                raise ChangeError(f"the change has no key column {name!r}.", hint="every row needs a key.")
        columns = [batch.listed(name) for name in self.key]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def given(self, keys: Any) -> list[Any]:
        """Keys as a caller names them: one or many, as Python values, an Arrow or a numpy array."""
        return listed_keys(keys, len(self.key))

    def names(self, slots: Slots) -> Callable[[], list[Any]]:
        """The keys of the rows, to be listed later, when the rows may have gone."""
        if len(slots) == 0:
            return list
        if self._codes_are_keys:
            codes = self._store.rows.codes[slots, 0]
            return lambda: list(codes.tolist())
        kept = self._kept  # only grows
        return lambda: [kept[slot] for slot in slots.tolist()]

    def slots(self, keys: Sequence[Any]) -> Slots:
        """The slots of the keys. ChangeError when one is not there, or is named twice."""
        slots = self._find(keys)
        missing = np.flatnonzero(slots < 0)
        if len(missing):
            raise ChangeError(
                f"there is no row with key {keys[missing[0]]!r}.",
                hint="nothing was changed. Only rows that are there can be deleted or updated.",
            )
        ordered = np.sort(slots)
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(again):
            raise _named_twice(keys[int(np.flatnonzero(slots == ordered[again[0]])[0])])
        return slots

    def are_there(self, keys: Sequence[Any]) -> list[bool]:
        return [slot >= 0 for slot in self._find(keys).tolist()]

    def _find(self, keys: Sequence[Any]) -> Slots:
        codes = np.zeros((len(keys), len(self.key)), np.int64)
        known = np.ones(len(keys), np.bool_)
        if self._whole_numbers and all(type(key) is int and abs(key) < 2**63 for key in keys):
            codes[:, 0] = keys
            return self._map.find(self._store.rows.codes, codes)
        for i, key in enumerate(keys):
            for j, value in self._parts(key):
                code = self._code(self.key[j], value)
                if code is None:
                    known[i] = False
                else:
                    codes[i, j] = code
        slots = self._map.find(self._store.rows.codes, codes)
        slots[~known] = -1
        return slots

    def _parts(self, key: Any) -> Iterable[tuple[int, Any]]:
        """The values of a key, each with the place of its column among those of the key."""
        return enumerate(key_parts(key, len(self.key)))

    def _code(self, name: str, value: Any) -> int | None:
        coder = self._coding.coder(name)
        if coder is None or value is None:
            return None
        try:
            return coder.find(value)
        except TypeMismatchError as problem:
            raise ChangeError(f"{value!r} is no key: {problem.message}.", hint="nothing was changed.") from None

    def require_new(self, batch: RowBatch, codes: NDArray[np.int64]) -> None:
        """ChangeError when a row's key is there already, or twice among the rows."""
        key_codes = codes[:, : len(self.key)]
        slots = self._map.find(self._store.rows.codes, key_codes)
        if slots.max(initial=-1) >= 0:
            (key,) = self.of_batch(batch.take([int(np.flatnonzero(slots >= 0)[0])]))
            raise ChangeError(
                f"there is a row with key {key!r} already.",
                hint="nothing was changed. Use update for rows that are there.",
            )
        if len(codes) > 1:
            order = np.lexsort(key_codes.T)
            ordered = key_codes[order]
            again = np.flatnonzero((ordered[1:] == ordered[:-1]).all(axis=1))
            if len(again):
                (key,) = self.of_batch(batch.take([int(order[again[0]])]))
                raise _named_twice(key)

    @property
    def bytes(self) -> int:
        return self._map.bytes

    def assert_invariants(self) -> None:
        slots, codes = self._store.slots(), self._store.rows.codes
        assert sorted(self._map.slots().tolist()) == slots.tolist(), "the keys are those of the rows"
        assert (self._map.find(codes, codes[slots]) == slots).all(), "a key leads to its row"


def listed_keys(keys: Any, columns: int) -> list[Any]:
    """Keys of so many columns, given as one or many: Python values, an Arrow or a numpy array."""
    if hasattr(keys, "to_pylist"):
        keys = keys.to_pylist()
    elif hasattr(keys, "tolist"):
        keys = keys.tolist()
    single = isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable)
    if single or (isinstance(keys, tuple) and columns > 1):
        keys = [keys]
    return [tuple(key) if isinstance(key, list) else key for key in keys]


def key_parts(key: Any, columns: int) -> tuple[Any, ...]:
    """The values of a key of so many columns; ChangeError where it has others."""
    parts = key if columns > 1 else (key,)
    if not isinstance(parts, tuple) or len(parts) != columns:
        raise ChangeError(f"{key!r} is no key of {columns} columns.", hint="give a tuple per key.")
    return parts


def _named_twice(key: Any) -> ChangeError:
    return ChangeError(f"the key {key!r} is named twice in one change.", hint="nothing was changed.")
