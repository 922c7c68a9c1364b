"""One candidate put to the rows of a table, by a walk over two trees: pairs of rows that violate it, if any do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.dual_tree import EQUAL, GREATER, LESS, NULL_BESIDE_VALUE, satisfying_pairs
from holdfast.kernels.evidence import EQUALITY_SKIP, LEFT_ROW, NULL, ORDER_MEET, ORDER_SKIP, RIGHT_ROW
from holdfast.rules.relation import ANY, EQ, GT, LT, NE
from holdfast.search.coded_rows import CodedRows
from holdfast.search.evidence import Flags, Ints
from holdfast.search.space import Words


def pairs_that_violate(
    rows: CodedRows, mask: Words, allowed: NDArray[np.uint8], flag: Ints, *, limit: int, seed: int
) -> tuple[Ints, Ints, bool]:
    """Up to so many pairs of these rows that violate the constraint, by position, and whether there are no more.

    `allowed` are the relations it allows, per operand pair. Ends when `flag` is raised. Cost: a sort of the rows, and a
    walk.
    """
    if flag[0]:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), False
    packing = rows.packing
    sides = [np.ones(rows.codes.shape[1], np.bool_), np.ones(rows.codes.shape[1], np.bool_)]
    compared = []
    for i in np.flatnonzero(allowed != ANY).tolist():
        way = packing.ways[i]
        if way in (LEFT_ROW, RIGHT_ROW):
            start = rows.space.first_bits[i]
            bits = sum(int(mask[b // 64] >> np.uint64(b % 64) & np.uint64(1)) << (b - start)
                       for b in range(start, rows.space.first_bits[i + 1]))  # fmt: skip
            fits = np.array([shown & ~bits == 0 for shown in rows.shown[i]])
            sides[way == RIGHT_ROW] &= fits[rows.codes[packing.left[i]]]
            continue
        if way in (EQUALITY_SKIP, ORDER_SKIP):
            sides[0] &= rows.codes[packing.left[i]] != NULL
            sides[1] &= rows.codes[packing.right[i]] != NULL
        compared.append(i)
    # Equalities first: they keep apart what cannot meet; then inequalities, whose order narrows the boxes.
    compared.sort(key=lambda i: (allowed[i] != EQ, allowed[i] == NE, i))
    ways = np.array([_ways(int(allowed[i]), packing.ways[i]) for i in compared], np.int64)
    trees: list[tuple[NDArray[np.int32], Ints]] = []
    for side, lines in enumerate((packing.left, packing.right)):
        used = [lines[i] for i in compared]
        if side == 1 and used == [packing.left[i] for i in compared] and (sides[0] == sides[1]).all():
            trees.append(trees[0])
        else:
            trees.append(_sorted(rows, used, sides[side]))
    (left, left_ids), (right, right_ids) = trees
    return satisfying_pairs(
        left, right, ways, left_ids, right_ids, rows.weights > 1,
        limit=limit, seed=seed, flag=flag,
    )  # fmt: skip


def _sorted(rows: CodedRows, lines: Sequence[int], among: Flags) -> tuple[NDArray[np.int32], Ints]:
    """The codes of these lines for the rows among those given, sorted, and their numbers. Of rows that are alike on
    all lines two are enough."""
    ids = np.flatnonzero(among)
    key, size = np.zeros(len(ids), np.int64), 1
    for line in lines:
        codes = rows.codes[line][ids].astype(np.int64) + 1
        radix = int(codes.max(initial=0)) + 1
        if size * radix >= 2**62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key, size = key * radix + codes, size * radix
    order = np.argsort(key)
    key, ids = key[order], ids[order]
    third = np.zeros(len(ids), np.bool_)
    third[2:] = key[2:] == key[:-2]
    ids = ids[~third]
    return np.ascontiguousarray(rows.codes[np.asarray(lines, np.int64)][:, ids]), ids


def _ways(allowed: int, way: int) -> int:
    """The relations of a constraint's operand pair as the walk reads them."""
    ways = (LESS if allowed & LT else 0) | (EQUAL if allowed & EQ else 0) | (GREATER if allowed & GT else 0)
    return ways | NULL_BESIDE_VALUE if way == ORDER_MEET and allowed == NE else ways
