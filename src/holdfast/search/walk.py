"""One candidate put to the rows of a table, by a walk over two trees: pairs of rows that violate it, if any do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.dual_tree import EQUAL, GREATER, LESS, NULL_BESIDE_VALUE, satisfying_pairs
from holdfast.kernels.evidence import EQUALITY_SKIP, LEFT_ROW, NULL, ORDER_MEET, ORDER_SKIP, RIGHT_ROW
from holdfast.rules.relation import ANY, EQ, GT, LT, NE
from holdfast.search.coded_rows import CodedRows
from holdfast.search.evidence import Codes, Flags, Ints
from holdfast.search.space import Words


def pairs_that_violate(
    rows: CodedRows, mask: Words, allowed: NDArray[np.uint8], flag: Ints, *, limit: int, seed: int,
    among: Ints | None = None,
) -> tuple[Ints, Ints, bool]:  # fmt: skip
    """Up to so many pairs of rows that violate the constraint, by position, and whether there are no more.

    `allowed` are the relations it allows, per operand pair. Only pairs of the rows `among` are looked at; None for all.
    Ends when `flag` is raised. Cost: a sort of the rows, and a walk.
    """
    if flag[0]:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), False
    packing = rows.packing
    sides = [among, among]
    compared = []
    for i in np.flatnonzero(allowed != ANY).tolist():
        way = packing.ways[i]
        if way in (LEFT_ROW, RIGHT_ROW):
            start = rows.space.first_bits[i]
            bits = sum(int(mask[b // 64] >> np.uint64(b % 64) & np.uint64(1)) << (b - start)
                       for b in range(start, rows.space.first_bits[i + 1]))  # fmt: skip
            fits = np.array([shown & ~bits == 0 for shown in rows.shown[i]])
            side = int(way == RIGHT_ROW)
            sides[side] = _kept(sides[side], fits[_taken(rows.codes[packing.left[i]], sides[side])])
            continue
        if way in (EQUALITY_SKIP, ORDER_SKIP):
            for side, lines in enumerate((packing.left, packing.right)):
                sides[side] = _kept(sides[side], _taken(rows.codes[lines[i]], sides[side]) != NULL)
        compared.append(i)
    # Equalities first: they keep apart what cannot meet; then inequalities, whose order narrows the boxes.
    compared.sort(key=lambda i: (allowed[i] != EQ, allowed[i] == NE, i))
    ways = np.array([_ways(int(allowed[i]), packing.ways[i]) for i in compared], np.int64)
    own, others = ([lines[i] for i in compared] for lines in (packing.left, packing.right))
    left, left_ids = _sorted(rows.codes, own, sides[0])
    if own == others and _same_rows(*sides):
        right, right_ids = left, left_ids
    else:
        right, right_ids = _sorted(rows.codes, others, sides[1])
    return satisfying_pairs(left, right, ways, left_ids, right_ids, rows.repeated, limit=limit, seed=seed, flag=flag)


def _same_rows(left: Ints | None, right: Ints | None) -> bool:
    return left is right or (left is not None and right is not None and np.array_equal(left, right))


def _taken(line: Codes, ids: Ints | None) -> Codes:
    """The codes of these rows; None for all of them."""
    return line if ids is None else line[ids]


def _kept(ids: Ints | None, which: Flags) -> Ints | None:
    """Those of the rows that are marked; None for all of them."""
    if which.all():
        return ids
    return np.flatnonzero(which) if ids is None else ids[which]


def _sorted(table: Codes, lines: Sequence[int], among: Ints | None) -> tuple[Codes, Ints]:
    """The codes of these lines for these rows (None: for all), sorted, and the rows. Of rows that are alike on all
    lines two are enough."""
    count = table.shape[1] if among is None else len(among)
    key, size = np.zeros(count, np.int64), 1
    for line in lines:
        codes = _taken(table[line], among)
        radix = int(codes.max(initial=NULL)) + 2
        if size * radix >= 2**62:
            order, key, size = _numbered(key)
            if size == count:  # the lines so far tell all rows apart
                break
        key *= radix
        key += codes
        key += 1
        size *= radix
    else:
        order = np.argsort(key)
        key = key[order]
        third = np.zeros(count, np.bool_)
        third[2:] = key[2:] == key[:-2]
        if third.any():
            order = order[~third]
    codes = np.empty((len(lines), len(order)), np.int32)
    ids = order if among is None else among[order]
    for place, line in enumerate(lines):
        codes[place] = table[line][ids]
    return codes, ids


def _numbered(key: Ints) -> tuple[Ints, Ints, int]:
    """The order of the keys, the same keys as numbers from 0 in that order, and how many different ones there are."""
    order = np.argsort(key)
    ordered = key[order]
    new = np.empty(len(key), np.int64)
    new[order] = np.cumsum(np.concatenate([[False], ordered[1:] != ordered[:-1]])[: len(key)])
    return order, new, int(new.max(initial=-1)) + 1


def _ways(allowed: int, way: int) -> int:
    """The relations of a constraint's operand pair as the walk reads them."""
    ways = (LESS if allowed & LT else 0) | (EQUAL if allowed & EQ else 0) | (GREATER if allowed & GT else 0)
    return ways | NULL_BESIDE_VALUE if way == ORDER_MEET and allowed == NE else ways
