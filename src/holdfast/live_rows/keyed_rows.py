"""Rows under keys, as codes, in one process: what a change names is looked up first, and refused whole or made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.encode.column_type import ColumnType
from holdfast.errors import ChangeError
from holdfast.live_rows.coded_batch import Bools, Coding, Moved, RowBatch, recoded, require_names, row_batch
from holdfast.live_rows.joint_tables import JointKeys, JointTables
from holdfast.live_rows.row_keys import RowKeys
from holdfast.live_rows.row_store import RowStore, Slots
from holdfast.states.row_changes import CHANGE_TYPE, CHANGE_TYPES

Codes = NDArray[np.int64]
NOBODY: Slots = np.zeros(0, np.int32)


@dataclass(frozen=True)
class Coming:
    """Rows that come: the batch of them, and their codes and validity."""

    batch: RowBatch
    codes: Codes
    valid: Bools


@dataclass(frozen=True)
class NamedRows:
    """What a change names: the slots of rows that go, and the rows that come, if any do.

    `before` has, per row that comes, the slot of the row it replaces or -1; None where no row can replace another.
    """

    gone: Slots
    coming: Coming | None = None
    before: Slots | None = None


class KeyedRows(ABC):
    """Rows in slots, whose first columns are the key's. Naming rows changes nothing but what is known of types.

    Where values find no room between the codes of others, or most rows are gone, all rows get other slots.
    """

    def __init__(
        self,
        key: Sequence[str],
        coding: Coding,
        *,
        needed: Sequence[str],
        flags: int,
        tables: JointTables | None = None,
    ) -> None:
        """`needed` are the columns that a batch must have, `flags` how many truth values go with a row. With `tables`,
        rows are those of several."""
        self.key, self._coding = tuple(key), coding
        self._needed, self._flags, self._tables = needed, flags, tables
        self._known: frozenset[str] | None = None
        self._begin()

    def _begin(self) -> None:
        self._store = RowStore(len(self._coding.names), self._flags)
        if self._tables is None:
            self._keys = RowKeys(self.key, self._store, self._coding)
        else:
            self._keys = JointKeys(self._tables, self._store, self._coding)

    def __len__(self) -> int:
        return len(self._store)

    @property
    def bytes(self) -> int:
        """Memory of the rows' codes and their keys."""
        return self._store.bytes + self._keys.bytes

    # What a change names ----------------------------------------------------------------------------------------

    def _inserting(self, rows: Any) -> NamedRows:
        """Rows that come, whose keys are new."""
        return self._coming(self._batch(rows))

    def _coming(self, batch: RowBatch) -> NamedRows:
        if batch.size == 0:
            return NamedRows(NOBODY)
        batch = self._prepared(batch)
        with self._coding.unless_refused():
            codes, valid = self._encoded(batch)
            self._keys.require_new(batch, codes)
        return NamedRows(NOBODY, Coming(batch, codes, valid))

    def _deleting(self, keys: Any) -> NamedRows:
        """Rows that go, by their keys: one key or many."""
        return NamedRows(self._keys.slots(self._keys.given(keys)))

    def _updating(self, rows: Any) -> NamedRows:
        """Rows that take the place of those with their keys."""
        batch = self._batch(rows)
        if batch.size == 0:
            return NamedRows(NOBODY)
        batch = self._prepared(batch)
        with self._coding.unless_refused():
            codes, valid = self._encoded(batch)
            slots = self._keys.slots(self._keys.of_batch(batch))
        return NamedRows(slots, Coming(batch, codes, valid), slots)

    def _applying(self, changes: Any) -> NamedRows:
        """The net effect of a batch of changes, in order."""
        batch = self._batch(changes, changes=True)
        if batch.size == 0:
            return NamedRows(NOBODY)
        if CHANGE_TYPE not in batch.columns:
            return self._coming(batch)
        kinds, rows = batch.listed(CHANGE_TYPE), batch.without(CHANGE_TYPE)
        first, last = _net_changes(kinds, self._keys.of_batch(rows), self._keys.are_there)
        old = [key for key, was in first.items() if was]
        come = {key: at for key, at in last.items() if at is not None}
        if not come:  # rows that only go need no other columns than the key
            return NamedRows(self._keys.slots(old))
        taken = self._prepared(rows.take(list(come.values())))
        with self._coding.unless_refused():
            codes, valid = self._encoded(taken)
        gone = self._keys.slots(old)  # only now: where codes had to move, rows have other slots
        slot_of = dict(zip(old, gone.tolist(), strict=True))
        before = np.array([slot_of.get(key, -1) for key in come], np.int32)
        return NamedRows(gone, Coming(taken, codes, valid), before)

    def _batch(self, rows: Any, *, changes: bool = False) -> RowBatch:
        """The rows that a caller gives, or the changes: those of several tables as rows of all."""
        if self._tables is None:
            return row_batch(rows)
        return self._tables.batch(rows, self._needed, changes=changes)

    def _prepared(self, batch: RowBatch) -> RowBatch:
        """The rows with all that is kept of them; nothing is known of their types yet."""
        return batch

    def _encoded(self, batch: RowBatch) -> tuple[Codes, Bools]:
        require_names(batch, self._needed, self._known)
        learned = self._coding.learned(batch)
        if learned:
            self._adopt(learned, batch.columns)
        if self._tables is None:
            return self._coding.entered(batch, self.key, self._recode)
        codes, valid = self._coding.entered(batch, self.key, self._recode, needed=1)
        codes[:, : len(self.key)] *= valid[:, : len(self.key)]  # by the codes of its key a row is found again
        return codes, valid

    def _adopt(self, kinds: Mapping[str, ColumnType], columns: Iterable[str]) -> None:
        """Types of some of the columns become known."""
        self._coding.learn(kinds)

    # All rows anew ----------------------------------------------------------------------------------------------

    def _compact(self) -> None:
        """Gives back the room of rows that went, and forgets their values."""
        slots, rows = self._store.slots(), self._store.rows
        codes, valid = rows.codes[slots], rows.valid[slots]
        self._coding.keep(codes, valid)
        self._reload(slots, codes, valid)

    def _recode(self, moved: Moved) -> None:
        """Codes of a family have changed: those of the rows follow."""
        slots, rows = self._store.slots(), self._store.rows
        valid = rows.valid[slots]
        self._reload(slots, recoded(rows.codes[slots], valid, moved), valid)

    def _reload(self, slots: Slots, codes: Codes, valid: Bools) -> None:
        """The rows in a store of their own, with these codes."""
        flags, names = self._store.rows.flags[slots], self._keys.names(slots)
        self._begin()
        self._keys.add(self._store.add(codes, valid, flags), names)
        self._reloaded()

    @abstractmethod
    def _reloaded(self) -> None:
        """All rows have other codes or slots: what was known of them by those is made anew."""


def _net_changes(
    kinds: Sequence[Any], keys: Sequence[Any], there: Callable[[Sequence[Any]], Sequence[bool]]
) -> tuple[dict[Any, bool], dict[Any, int | None]]:
    """Per key that changes, whether it was there before, and the place of the row it has in the end (None: no row).

    A change without a kind is an insert. ChangeError where a key comes that is there, or one goes or changes that is
    not, at its place in the order; also where a key has more images before an update than after one.
    """
    once = list(dict.fromkeys(keys))
    first = dict(zip(once, there(once), strict=True))
    last: dict[Any, int | None] = {}
    now = dict(first)
    waiting = dict.fromkeys(once, 0)
    for at, (kind, key) in enumerate(zip(kinds, keys, strict=True)):
        if kind is None or kind == "insert":
            if now[key]:
                raise ChangeError(f"there is a row with key {key!r} already.", hint="nothing was changed.")
            now[key], last[key] = True, at
        elif kind in ("delete", "update_preimage", "update_postimage"):
            if not now[key]:
                raise ChangeError(f"there is no row with key {key!r}.", hint="nothing was changed.")
            if kind == "delete":
                now[key], last[key] = False, None
            elif kind == "update_postimage":
                waiting[key] -= 1
                last[key] = at
            else:
                waiting[key] += 1
        else:
            raise ChangeError(
                f"{kind!r} is no kind of change.",
                hint=f"{CHANGE_TYPE} is one of {', '.join(CHANGE_TYPES)}.",
            )
    alone = next((key for key in once if waiting[key] > 0), None)
    if alone is not None:
        raise ChangeError(
            f"the key {alone!r} has an update_preimage without its update_postimage.",
            hint="nothing was changed. Send both, or the postimage alone; a new key is a delete and an insert.",
        )
    touched = {key: first[key] for key in once if key in last}
    return touched, {key: last[key] for key in once if key in last}
