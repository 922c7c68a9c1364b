"""Rows that refer to what is not there, kept up to date: of an inclusion, which rows lose their partner and which find
one.

`violations/inclusion` says of whole tables which rows those are, `watching/absent_partners` of a batch of a state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.runs import PairCounting, Probe, probed
from holdfast.live_rows.row_keys import KeyMap
from holdfast.live_rows.row_store import RowStore, Slots
from holdfast.monitor.access import constraint_table
from holdfast.monitor.group_index import GroupIndex, IndexSpec
from holdfast.monitor.tuning import MonitorTuning
from holdfast.programs.program import PairProgram
from holdfast.rules.predicate import quoted_name
from holdfast.rules.relation import EQ

Codes = NDArray[np.int64]
_NOBODY = np.zeros(0, np.int32)


class ValueCounts:
    """How many rows have each value; a value is a line of codes. A look-up costs a few steps."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._begin()

    def _begin(self) -> None:
        self._values, self._places = RowStore(self._width, 0), KeyMap(self._width)
        self._counts = np.zeros(len(self._values.rows.alive), np.int64)

    def has(self, lines: Codes) -> NDArray[np.bool_]:
        """Of each line whether some row has it."""
        return np.asarray(self._find(lines) >= 0, np.bool_)

    def add(self, lines: Codes) -> None:
        """Each line, which may come often, is had by one row more."""
        if len(lines) == 0:
            return
        distinct, many = _counted(lines)
        places = self._find(distinct)
        new = np.flatnonzero(places < 0)
        if len(new):
            plain = np.ones((len(new), self._width), np.bool_)
            places[new] = self._values.add(distinct[new], plain, np.zeros((len(new), 0), np.bool_))
            if len(self._counts) < len(self._values.rows.alive):
                self._counts = np.resize(self._counts, len(self._values.rows.alive))
            self._counts[places[new]] = 0
            self._places.add(self._values.rows.codes, places[new])
        self._counts[places] += many

    def remove(self, lines: Codes) -> None:
        """Each line, which some row has, is had by one row less."""
        if len(lines) == 0:
            return
        distinct, many = _counted(lines)
        places = self._find(distinct)
        assert (places >= 0).all(), "a value that goes was there"
        self._counts[places] -= many
        gone = places[self._counts[places] == 0]
        self._places.remove(self._values.rows.codes, gone)
        self._values.remove(gone)
        if self._values.mostly_gone:
            there = self._values.slots()
            lines, counts = self._values.rows.codes[there], self._counts[there]
            self._begin()
            self.add(lines)
            self._counts[: len(lines)] = counts[_order(lines)]

    def _find(self, lines: Codes) -> Slots:
        return self._places.find(self._values.rows.codes, lines)

    def __len__(self) -> int:
        return len(self._values)

    def listed(self) -> dict[tuple[int, ...], int]:
        """Every value that a row has, and how many rows do."""
        there = self._values.slots()
        lines = map(tuple, self._values.rows.codes[there].tolist())
        return dict(zip(lines, self._counts[there].tolist(), strict=True))

    @property
    def bytes(self) -> int:
        return self._values.bytes + self._places.bytes + int(self._counts.nbytes)


@dataclass(frozen=True)
class AbsentSlots:
    """The rows that are without a partner now and were not, and those that were and are not, or are gone."""

    come: Slots
    gone: Slots


class ReferenceIndex:
    """The rows of a store that refer to others under an inclusion, and the values that are there to be referred to.

    A row that comes is looked up among the values. A value that goes, or comes, looks up the rows that refer to it:
    the change costs what it finds, and no more in a large table.
    """

    def __init__(self, store: RowStore, program: PairProgram, *, nulls_equal: bool, tuning: MonitorTuning) -> None:
        (ways,) = program.denials
        self._store, self._nulls_equal = store, nulls_equal
        self._asks, self._offers = ways.left, ways.right
        self._left = np.array([compare.left for compare in ways.compares], np.int64)
        self._right = np.array([compare.right for compare in ways.compares], np.int64)
        spec = IndexSpec(tuple(self._left.tolist()), None, None, ways.left, nulls_equal)
        self.referring = GroupIndex(spec, store, most_in_tail=tuning.most_in_tail)
        self._values = ValueCounts(len(self._left) * (2 if nulls_equal else 1))
        table = np.array([(right, left, EQ) for left, right in zip(self._left, self._right, strict=True)], np.int64)
        self._probe = Probe(table, len(table), 0, -1, *constraint_table(()), nulls_equal)
        slots = store.slots()
        if len(slots):
            self.referring.add(slots)
            self._values.add(self._lines(self._offering(slots), self._right))

    def changed(self, gone: Slots, come: Slots, *, kept: bool) -> AbsentSlots:
        """What rows that go and rows that come do; the first are marked as gone in the store, the others are there.

        With `kept`, rows replace others: a row that is without a partner before and after is in neither.
        """
        leaving, entering = self._lines(self._offering(gone), self._right), self._offering(come)
        lonely_gone = self._lonely(gone)
        gained = entering[~self._values.has(self._lines(entering, self._right))]
        self._values.remove(leaving)
        self._values.add(self._lines(entering, self._right))
        lonely_come = self._lonely(come)
        lost = self._offering(gone)[~self._values.has(leaving)]
        broken, mended = self._referring_to(lost), self._referring_to(gained)
        if len(gone):
            self.referring.remove(gone)
        if len(come):
            self.referring.add(come)
        if kept:
            twin = self._store.rows.twin
            still = np.isin(twin[lonely_gone], lonely_come)
            again = np.isin(twin[lonely_come], lonely_gone)
            lonely_gone, lonely_come = lonely_gone[~still], lonely_come[~again]
        return AbsentSlots(np.concatenate([broken, lonely_come]), np.concatenate([mended, lonely_gone]))

    def current(self) -> Slots:
        """The rows that are without a partner as things are."""
        return self._lonely(self._store.slots())

    def _lonely(self, slots: Slots) -> Slots:
        """Those of the rows that refer to what is not among the values."""
        asking = self._asking(slots)
        return asking[~self._values.has(self._lines(asking, self._left))]

    def _asking(self, slots: Slots) -> Slots:
        return self._with(slots, self._asks, self._left)

    def _offering(self, slots: Slots) -> Slots:
        return self._with(slots, self._offers, self._right)

    def _with(self, slots: Slots, flag: int | None, columns: Codes) -> Slots:
        """Those of the rows that have the flag and, where nulls agree with nothing, values in the columns."""
        if len(slots) == 0:
            return slots
        rows = self._store.rows
        if flag is not None:
            slots = slots[rows.flags[slots, flag]]
        if not self._nulls_equal:
            slots = slots[rows.valid[slots[:, None], columns].all(axis=1)]
        return slots

    def _lines(self, slots: Slots, columns: Codes) -> Codes:
        rows = self._store.rows
        codes: Codes = rows.codes[slots[:, None], columns]
        if not self._nulls_equal:
            return codes
        # A null is a value of its own, whatever its code.
        valid = rows.valid[slots[:, None], columns]
        return np.concatenate([np.where(valid, codes, 0), valid.astype(np.int64)], axis=1)

    def _referring_to(self, slots: Slots) -> Slots:
        """The rows in the index, and not gone, that refer to the values of these rows, each once."""
        if len(slots) == 0:
            return _NOBODY
        first = np.unique(self._lines(slots, self._right), axis=0, return_index=True)[1]
        probes, rows, arena = slots[first], self._store.rows, self.referring.arena
        counting = PairCounting(False, True, False, True, False, False, *constraint_table(()))
        count, _ = probed(rows, arena, probes, self._probe, counting, _NOBODY, _NOBODY)
        out = np.empty(count, np.int32), np.empty(count, np.int32)
        if count:
            probed(rows, arena, probes, self._probe, counting, *out)
        return out[0]

    def lines(self, columns: Sequence[str]) -> Iterator[str]:
        """How a partner is looked for from either side, in words."""
        left, right = (
            ", ".join(quoted_name(columns[at]) for at in side.tolist()) for side in (self._left, self._right)
        )
        yield f"as left row: looked up among the values of {right} ({len(self._values):,} values)"
        yield f"as right row: rows by {left} ({len(self.referring):,} rows)"

    @property
    def bytes(self) -> int:
        return self.referring.bytes + self._values.bytes

    def assert_invariants(self) -> None:
        """The index holds exactly the rows that refer to something; values are those of the rows that are there."""
        self.referring.assert_invariants()
        slots = self._store.slots()
        lines, many = _counted(self._lines(self._offering(slots), self._right))
        there = dict(zip(map(tuple, lines.tolist()), many.tolist(), strict=True))
        held = self._values.listed()
        assert held == there, "values are those of the rows, each counted as often as rows have it"


def _counted(lines: Codes) -> tuple[Codes, Codes]:
    """The distinct lines, and how often each is there."""
    if len(lines) <= 1:
        return lines, np.ones(len(lines), np.int64)
    order = _order(lines)
    ordered = lines[order]
    starts = np.flatnonzero(np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)]))
    return ordered[starts], np.diff(np.concatenate([starts, [len(lines)]]))


def _order(lines: Codes) -> Codes:
    return np.lexsort(lines.T[::-1])
