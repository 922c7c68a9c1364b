"""Which rows meet in which piece of work, for rules over two rows on tables too large for one task.

Rows meet when they agree on the equalities that all denials of a rule share. Rows of one hash of these go to one piece
of work. A value that holds too many rows is split into blocks by an inequality of the rule: block i as left rows meets
block j as right rows, and pairs of blocks in which that inequality cannot hold are left out. A rule without equalities
is one such value. All of it is SQL over the columns `f0`, `f1`, ... of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from holdfast.encode.spark_hash import spark_xxhash64
from holdfast.programs.program import Compare, PairProgram, forms_and_flags
from holdfast.rules.relation import EQ, GE, GT, LE, LT
from holdfast.rules.rule import Nulls
from holdfast.violations.part import BOTH, LEFT, RIGHT, Ints


@dataclass(frozen=True)
class Meeting:
    """The equalities by which rows of a rule meet: forms of the left row, and those of the right row, in order."""

    left: tuple[int, ...]
    right: tuple[int, ...]

    @property
    def in_one_place(self) -> bool:
        """Whether a row is left and right row in the same piece of work.

        So it is where each equality is of one form, and where each comes with its mirror image, as in `t.A = s.B and
        t.B = s.A`: there the values of a left row, in some order, are those of its right rows.
        """
        return set(zip(self.left, self.right, strict=True)) == set(zip(self.right, self.left, strict=True))

    @property
    def hashes_sql(self) -> tuple[str, str]:
        """SQL of two numbers: that of a row as left row is that of the right rows it can meet."""
        if not self.left:
            return "0L", "0L"
        left, right = (f"xxhash64({', '.join(f'f{i}' for i in side)})" for side in (self.left, self.right))
        if self.in_one_place and left != right:
            left = right = f"least({left}, {right})"
        return left, right

    def hashes(self, rows: pa.Table) -> tuple[Ints, Ints]:
        """The two numbers of each row, from its forms `f0`, ...: the twin of `hashes_sql`."""
        if not self.left:
            none = np.zeros(rows.num_rows, np.int64)
            return none, none
        left = spark_xxhash64([rows.column(f"f{i}") for i in self.left])
        if self.left == self.right:
            return left, left
        right = spark_xxhash64([rows.column(f"f{i}") for i in self.right])
        if self.in_one_place:
            left = right = np.minimum(left, right)
        return left, right


@dataclass(frozen=True)
class Blocks:
    """How a heavy value is split: by the order of these forms where there is one, by the key's hash otherwise."""

    count: int
    ordered: Compare | None = None
    values: Mapping[int, str] = field(default_factory=dict)  # SQL of each form as a double, in the same order
    bounds: tuple[float, ...] = ()

    def of(self, form: int) -> str:
        if self.ordered is None:
            return f"CAST(pmod(xxhash64(k), {self.count}) AS INT)"
        listed = ", ".join(f"CAST('{bound!r}' AS DOUBLE)" for bound in self.bounds)
        # Rounding to double keeps the order, if not strictly: a smaller value is never in a later block.
        return f"IF({self.values[form]} IS NULL, 0, size(filter(array({listed}), v -> v < {self.values[form]})))"


def meeting(program: PairProgram) -> Meeting:
    """The equalities that every denial of the program has."""
    shared = set.intersection(*({c for c in denial.compares if c.allowed == EQ} for denial in program.denials))
    ordered = sorted(shared, key=lambda c: (c.left, c.right))
    return Meeting(tuple(c.left for c in ordered), tuple(c.right for c in ordered))


def dividing_compare(program: PairProgram) -> Compare | None:
    """An inequality that every denial of the program has, by which blocks can be told apart."""
    shared = set.intersection(
        *({c for c in denial.compares if c.allowed in (LT, LE, GT, GE)} for denial in program.denials)
    )
    return min(shared, key=lambda c: (c.left, c.right), default=None)


def needed_columns(program: PairProgram) -> tuple[set[int], set[int]]:
    """(forms, flags) that the program reads."""
    forms, flags = forms_and_flags(program)
    return set(forms), set(flags) | ({program.alone} if program.alone is not None else set())


def routes_sql(meets: Meeting, buckets: int, blocks: Blocks | None) -> str:
    """SQL for the array of (work, role, twin) of a row with hashes `hl` and `hr`, first works `ol` and `or` or null.

    `ol` is the number of the first piece of work of the row's left value where that is heavy, `or` that of its right
    value. Pieces of work below `buckets` take the values that are not.
    """
    both = f"named_struct('work', CAST(pmod(hl, {buckets}) AS INT), 'role', {BOTH}, 'twin', true)"
    light_left = f"named_struct('work', CAST(pmod(hl, {buckets}) AS INT), 'role', {LEFT}, 'twin', hl = hr)"
    light_right = f"named_struct('work', CAST(pmod(hr, {buckets}) AS INT), 'role', {RIGHT}, 'twin', hl = hr)"
    light_left, light_right = f"array({light_left})", f"array({light_right})"
    if blocks is None:
        return f"array({both})" if meets.in_one_place else f"concat({light_left}, {light_right})"
    heavy_left, heavy_right = _heavy(blocks)
    if meets.in_one_place:
        return f"IF(ol IS NULL, array({both}), concat({heavy_left}, {heavy_right}))"
    return f"concat(IF(ol IS NULL, {light_left}, {heavy_left}), IF(`or` IS NULL, {light_right}, {heavy_right}))"


def _heavy(blocks: Blocks) -> tuple[str, str]:
    n, compare = blocks.count, blocks.ordered
    i, j = (blocks.of(compare.left if compare else 0), blocks.of(compare.right if compare else 0))
    up_from_left, up_to_right = f"sequence({i}, {n - 1})", f"sequence(0, {j})"
    if compare is None:
        partners, sources = f"sequence(0, {n - 1})", f"sequence(0, {n - 1})"
    elif compare.allowed in (LT, LE):
        partners, sources = up_from_left, up_to_right
    else:
        partners, sources = f"sequence(0, {i})", f"sequence({j}, {n - 1})"
    # A row meets itself where its blocks as left row and as right row do.
    left = f"named_struct('work', ol + {i} * {n} + x, 'role', {LEFT}, 'twin', hl = hr AND x = {j})"
    right = f"named_struct('work', `or` + x * {n} + {j}, 'role', {RIGHT}, 'twin', hl = hr AND x = {i})"
    return f"transform({partners}, x -> {left})", f"transform({sources}, x -> {right})"


def needed_rows_sql(meets: Meeting, programs: Sequence[PairProgram], nulls: Nulls) -> str | None:
    """A condition that drops rows which can neither meet another nor break a rule alone; None where there is none."""
    forms = sorted({*meets.left, *meets.right}) if meets.in_one_place and nulls == "sql" else []
    if not forms:
        return None
    meeting_another = " AND ".join(f"f{i} IS NOT NULL" for i in forms)
    alone = sorted({program.alone for program in programs if program.alone is not None})
    return " OR ".join([f"({meeting_another})", *(f"b{flag}" for flag in alone)])
