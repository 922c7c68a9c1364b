"""What one task does with its rows: Arrow batches in, findings as Arrow batches out.

A finding is a line (i, what, n, m, suspect, key, other): the rule's position, what is told, one or two numbers, and one
or two row keys. Rows may come routed, with the number of a piece of work and, where not all play both parts in it, the
parts they play and whether the same row plays both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.checking.outcome import Summary
from holdfast.programs.program import GroupProgram, PairProgram, Program, Programs, RowProgram
from holdfast.tables.pieces import pieces_of
from holdfast.violations.evaluate import evaluate, pair_counts, pairs_of
from holdfast.violations.part import BOTH, LEFT, RIGHT, Part, Roles, part_of
from holdfast.violations.witness import WorstRow

WORST_ROWS = 3

Mode = Literal["summary", "rows", "pairs"]
_Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Task:
    """The programs at these positions, run on all rows that arrive; `mode` is what to tell of them."""

    programs: Programs
    which: tuple[int, ...]
    mode: Mode
    limit: int
    routed: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in pieces_of(batches):
            yield from self.findings(table.column("k"), part_of(table, self.programs, _roles(table)))

    def findings(self, keys: pa.ChunkedArray, part: Part) -> Iterator[pa.RecordBatch]:
        """What the programs find in rows that are arrays already; `keys` names them."""
        twice = self.key_twice(keys, part)
        if twice is not None:  # nothing else can be told of rows that their keys do not tell apart
            yield twice
            return
        for i in self.which:
            yield from self.findings_of(i, keys, part)

    def key_twice(self, keys: pa.ChunkedArray, part: Part) -> pa.RecordBatch | None:
        """A key that occurs twice; None where there is none, or where it is not for this task to tell."""
        return Lines(keys).key_twice(part.order) if self.mode == "summary" and not self.routed else None

    def findings_of(self, i: int, keys: pa.ChunkedArray, part: Part) -> Iterator[pa.RecordBatch]:
        """What the program at position `i` finds; such programs may run side by side."""
        program, lines = self.programs.programs[i], Lines(keys, i)
        if self.mode == "pairs":
            yield from lines.pairs(program, part, self.limit)
        elif part.roles is not None:
            assert isinstance(program, PairProgram), "only pairs are routed to several pieces of work"
            yield from lines.partial(program, part)
        elif self.mode == "summary":
            yield from lines.summary(program, part, self.limit)
        else:
            yield from lines.rows(program, part, self.limit)


def _roles(table: pa.Table) -> Roles | None:
    """The parts that rows play, where not all play both."""
    if "role" not in table.column_names:
        return None
    role = table.column("role").to_numpy()
    if (role == BOTH).all():
        return None
    return Roles((role & LEFT) > 0, (role & RIGHT) > 0, table.column("twin").to_numpy().astype(np.bool_))


def summaries(
    findings: Iterable[tuple[int, str, int | None, Any, Any]], programs: Programs, which: Iterable[int]
) -> tuple[dict[int, Summary], tuple[Any, int] | None]:
    """The summaries that findings (i, what, n, key, other) of the mode "summary" tell.

    Where a key occurs twice, there are none, but that key and how many rows have it.
    """
    by_rule: dict[int, list[tuple[str, int | None, Any, Any]]] = {}
    for i, what, n, key, other in findings:
        if what == "twice":
            return {}, (key, n or 0)
        by_rule.setdefault(i, []).append((what, n, key, other))
    return {i: _summary(by_rule.get(i), programs.programs[i]) for i in which}, None


def _summary(lines: list[tuple[str, int | None, Any, Any]] | None, program: Program) -> Summary:
    if lines is None:  # a task without rows says nothing
        pairs = None if isinstance(program, RowProgram) else 0
        groups = 0 if isinstance(program, GroupProgram) and program.right else None
        return Summary(pairs, 0, 0, groups, worst=())
    counts = {what: n for what, n, _, _ in lines if what not in ("witness", "worst")}
    left, right = next(((key, other) for what, _, key, other in lines if what == "witness"), (None, None))
    worst = tuple(WorstRow(key, n or 0) for what, n, key, _ in lines if what == "worst")
    rows = counts["rows"]
    assert rows is not None, "every rule tells its rows"
    return Summary(counts.get("pairs"), rows, counts.get("suspects"), counts.get("groups"), left, right, worst)


class Lines:
    """Findings of one rule as Arrow batches."""

    def __init__(self, keys: pa.ChunkedArray, i: int = -1) -> None:
        self._keys, self._i = keys, i

    def key_twice(self, order: _Array) -> pa.RecordBatch | None:
        if (order[1:] > order[:-1]).all():
            return None
        ordered = np.argsort(order)
        again = np.flatnonzero(order[ordered][1:] == order[ordered][:-1])
        if len(again) == 0:
            return None
        first = ordered[again[0]]
        return self._batch("twice", np.array([int((order == order[first]).sum())]), key=np.array([first]))

    def summary(self, program: Program, part: Part, limit: int) -> Iterator[pa.RecordBatch]:
        finding = evaluate(program, part, limit=limit)
        counts = {
            "pairs": finding.pairs,
            "rows": int(finding.violating.sum()),
            "suspects": None if finding.suspects is None else len(finding.suspects),
            "groups": finding.groups,
        }
        for what, n in counts.items():
            if n is not None:
                yield self._batch(what, np.array([n]))
        if finding.witness is not None:
            left, right = finding.witness
            yield self.witness(np.array([left]), None if right is None else np.array([right]))
        yield from self._worst(np.flatnonzero(finding.violating), finding.conflicts, part.order)

    def _worst(self, rows: _Array, conflicts: _Array, order: _Array) -> Iterator[pa.RecordBatch]:
        if len(rows) > WORST_ROWS:
            least = -np.partition(-conflicts[rows], WORST_ROWS - 1)[WORST_ROWS - 1]
            rows = rows[conflicts[rows] >= least]
        worst = rows[np.lexsort((order[rows], -conflicts[rows]))[:WORST_ROWS]]
        if len(worst):
            yield self._batch("worst", conflicts[worst], key=worst)

    def counted(self, pairs: int, conflicts: _Array, order: _Array) -> Iterator[pa.RecordBatch]:
        """What counts alone tell, of rows all whose pairs are known."""
        rows = np.flatnonzero(conflicts)
        yield self._batch("pairs", np.array([pairs]))
        yield self._batch("rows", np.array([len(rows)]))
        yield from self._worst(rows, conflicts, order)

    def counted_rows(self, conflicts: _Array) -> Iterator[pa.RecordBatch]:
        """The rows that are in a pair, of rows all whose pairs are known."""
        for rows in _slices(np.flatnonzero(conflicts)):
            yield self._batch("row", conflicts[rows], key=rows)

    def witness(self, left: _Array, right: _Array | None) -> pa.RecordBatch:
        return self._batch("witness", key=left, other=right)

    def partial(self, program: PairProgram, part: Part) -> Iterator[pa.RecordBatch]:
        """Counts of rows whose other pairs may be found elsewhere, to be added up; and a pair to show.

        A row that breaks the rule alone is told too, if with no pair.
        """
        as_left, as_right = pair_counts(program, part)
        paired = (as_left > 0) | (as_right > 0)
        alone = np.zeros(part.size, np.bool_) if program.alone is None else part.flags[program.alone]
        for rows in _slices(np.flatnonzero(paired | alone)):
            yield self._batch("partial", as_left[rows], as_right[rows], key=rows)
        if paired.any():
            left, right = pairs_of(program, part, limit=1)
            if len(left):
                yield self.witness(left, right)
        elif alone.any():
            yield self.witness(np.flatnonzero(alone)[:1], None)

    def rows(self, program: Program, part: Part, limit: int) -> Iterator[pa.RecordBatch]:
        finding = evaluate(program, part, limit=limit)
        rows = np.flatnonzero(finding.violating)
        suspect = np.zeros(part.size, np.bool_)
        suspect[rows if finding.suspects is None else finding.suspects] = True
        for slice_rows in _slices(rows):
            yield self._batch("row", finding.conflicts[slice_rows], key=slice_rows, suspect=suspect[slice_rows])

    def pairs(self, program: Program, part: Part, limit: int) -> Iterator[pa.RecordBatch]:
        left, right = pairs_of(program, part, limit=limit)
        for places in _slices(np.arange(len(left))):
            yield self._batch("pair", key=left[places], other=right[places])

    def _batch(
        self,
        what: str,
        n: _Array | None = None,
        m: _Array | None = None,
        *,
        key: _Array | None = None,
        other: _Array | None = None,
        suspect: _Array | None = None,
    ) -> pa.RecordBatch:
        size = next(len(array) for array in (n, key, other) if array is not None)
        columns = [
            pa.array(np.full(size, self._i, np.int32)),
            pa.array([what] * size, pa.string()),
            pa.nulls(size, pa.int64()) if n is None else pa.array(n, pa.int64()),
            pa.nulls(size, pa.int64()) if m is None else pa.array(m, pa.int64()),
            pa.nulls(size, pa.bool_()) if suspect is None else pa.array(suspect),
            self._taken(key, size),
            self._taken(other, size),
        ]
        return pa.RecordBatch.from_arrays(columns, names=["i", "what", "n", "m", "suspect", "key", "other"])

    def _taken(self, rows: _Array | None, size: int) -> pa.Array:
        if rows is None:
            return pa.nulls(size, self._keys.type)
        taken = self._keys.take(pa.array(rows))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _slices(rows: _Array) -> Iterator[_Array]:
    for start in range(0, len(rows), 100_000):
        yield rows[start : start + 100_000]
