"""Two inequalities and no equality, on tables too large for one task: each row moves twice, however many there are.

Rows are cut into blocks by the first inequality's column, and into bands by the second's. Of two rows, either
- both are in one block: its task compares them by both columns;
- or they are in one band, and their blocks alone decide the first inequality: the band's task compares them by block
  number and by the second column;
- or block and band decide both: a table of how many rows are in each block and band counts such pairs.
The band's task passes every row on with its counts, so that the block's task knows all pairs of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.checking.task import Lines, Mode
from holdfast.programs.form import Form
from holdfast.programs.program import Compare, PairDenial, PairProgram, Programs
from holdfast.rules.relation import GE, GT, LE, LT
from holdfast.tables.pieces import pieces_of
from holdfast.violations.evaluate import pair_counts, pairs_of
from holdfast.violations.part import part_of

Counts = NDArray[np.int64]


def grid_compares(programs: Programs, i: int) -> tuple[Compare, Compare] | None:
    """The two inequalities of a program that a grid can count: nothing else compared, each of one form with itself."""
    program = programs.programs[i]
    assert isinstance(program, PairProgram), "a grid is of pairs"
    if len(program.denials) != 1 or program.alone is not None or len(program.denials[0].compares) != 2:
        return None
    first, second = program.denials[0].compares
    for compare in (first, second):
        strict = compare.allowed in (LT, GT)
        # Where nulls equal each other, <= holds between two of them, which are in no block.
        if compare.left != compare.right or not (strict or (compare.allowed in (LE, GE) and programs.nulls == "sql")):
            return None
    return first, second


@dataclass(frozen=True)
class Decided:
    """How many pairs block and band decide, of a row in each block (line) and band (column), as left and right row."""

    as_left: Counts
    as_right: Counts

    @classmethod
    def of(cls, compares: tuple[Compare, Compare], lines: Sequence[Any], shape: tuple[int, int]) -> Decided:
        """From lines (block, band, lefts, rights): how many rows there can be left rows, and right rows."""
        lefts, rights = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for line in lines:
            at = line["block"], line["band"]
            lefts[at], rights[at] = line["lefts"], line["rights"]
        above = [_is_upward(compare) for compare in compares]
        return cls(_beyond(rights, above), _beyond(lefts, [not up for up in above]))


def _is_upward(compare: Compare) -> bool:
    return compare.allowed in (LT, LE)


def _beyond(counts: Counts, above: Sequence[bool]) -> Counts:
    """For each cell, the sum over the cells that are, on each axis, strictly above it or strictly below it."""
    for axis, upwards in enumerate(above):
        turned = np.flip(counts, axis) if upwards else counts
        summed = np.cumsum(turned, axis=axis) - turned
        counts = np.flip(summed, axis) if upwards else summed
    return counts


@dataclass(frozen=True)
class BandTask:
    """Adds to each row the pairs it is in with rows of its band in other blocks: columns `as_left` and `as_right`.

    `block_form` is the number of the form that holds a row's block.
    """

    programs: Programs
    i: int
    block_form: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        program = self.programs.programs[self.i]
        assert isinstance(program, PairProgram), "a grid is of pairs"
        (denial,) = program.denials
        first, second = denial.compares
        by_block = Compare(self.block_form, self.block_form, LT if _is_upward(first) else GT)
        banded = PairProgram((PairDenial(denial.left, denial.right, (by_block, second), False),), False)
        programs = replace(self.programs, programs=(banded,), forms=(*self.programs.forms, Form("block")))
        for table in pieces_of(batches):
            as_left, as_right = pair_counts(banded, part_of(table, programs))
            counted = table.append_column("as_left", pa.array(as_left)).append_column("as_right", pa.array(as_right))
            yield from counted.combine_chunks().to_batches(max_chunksize=100_000)


@dataclass(frozen=True)
class BlockTask:
    """Tells of the rows of a block: with what the band's task has added and what is decided, all their pairs."""

    programs: Programs
    i: int
    block_form: int
    decided: Decided
    mode: Mode

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        program = self.programs.programs[self.i]
        assert isinstance(program, PairProgram), "a grid is of pairs"
        programs = replace(self.programs, programs=(program,))
        (denial,) = program.denials
        for table in pieces_of(batches):
            part = part_of(table, programs)
            at = tuple(table.column(name).to_numpy() for name in (f"f{self.block_form}", "band"))
            within, within_as_right = pair_counts(program, part)
            as_left = within + np.where(part.flag(denial.left), self.decided.as_left[at], 0)
            as_right = within_as_right + np.where(part.flag(denial.right), self.decided.as_right[at], 0)
            as_left += table.column("as_left").to_numpy()
            as_right += table.column("as_right").to_numpy()
            lines = Lines(table.column("k"), self.i)
            if self.mode == "rows":
                yield from lines.counted_rows(as_left + as_right)
                continue
            yield from lines.counted(int(as_left.sum()), as_left + as_right, part.order)
            if within.any():
                left, right = pairs_of(program, part, limit=1)
                yield lines.witness(left, right)
