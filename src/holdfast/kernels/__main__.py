"""`python -m holdfast.kernels` compiles all kernels and caches them, so that no query waits for the compiler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.agreeing_pairs import agreeing_pairs
from holdfast.kernels.chains import fewest_chains, join_chains, met_ranges, places_of_rows
from holdfast.kernels.contradiction import contradictory
from holdfast.kernels.cover import greedy_cover
from holdfast.kernels.dual_tree import satisfying_pairs
from holdfast.kernels.edit_distance import nearest_texts
from holdfast.kernels.evidence import ORDER, Packing, all_pairs, listed_pairs
from holdfast.kernels.extended_sets import contained_in, extended_sets, first_missed
from holdfast.kernels.hitting_sets import hitting_sets
from holdfast.kernels.inequality_counts import count_from_three_edges
from holdfast.kernels.key_table import FREE, add_keys, find_keys, remove_keys
from holdfast.kernels.nearly_hitting_sets import nearly_hitting_sets
from holdfast.kernels.order import ranks
from holdfast.kernels.pair_counts import count_pairs
from holdfast.kernels.pair_lists import list_pairs
from holdfast.kernels.pairs_between import BlockPair, beside
from holdfast.kernels.partitions import broken_dependency, broken_within, frequent_codes, refined, whole
from holdfast.kernels.range_cover import UnlistedPairs, cover_of_ranges
from holdfast.kernels.ranges import PairedRows, ranges_of
from holdfast.kernels.row_arithmetic import equal_expressions
from holdfast.kernels.runs import (
    INDEX_LINE,
    Arena,
    PairCounting,
    Probe,
    Rows,
    alone_together,
    collides,
    hash_rows,
    members,
    probed,
)
from holdfast.kernels.support import least_support, violating_pairs
from holdfast.kernels.xxhash64 import hash_bytes, hash_ints, hash_longs, hash_wide


def compile_kernels() -> None:
    """Every kernel has run once on arrays of the types it is used with."""
    groups, order = np.zeros(2, np.int64), np.arange(2)
    for inequalities in range(5):
        values = np.tile(order, (inequalities, 1))
        count_pairs(groups, groups, values, values)
        list_pairs(
            groups, groups, values, values,
            unequal=(values[:1], values[:1]), wanted=(groups == 0, groups == 0), order=order, once=True, limit=1,
        )  # fmt: skip
    _compile_ranges(groups, order)
    greedy_cover(order[:1], order[1:], 2)
    nearest_texts(np.frombuffer(b"\0" * 4, np.uint32), order[1:], np.zeros(1, np.uint32), most=1)
    ranks(order)
    _compile_discovery(np.ones(2, np.int64))
    doubles, places = np.ones((3, 2)), np.arange(3)
    equal_expressions(
        doubles, doubles, places, np.array([[0, 0, 1, -1, 0, 1]]), places, places == 0, least=1, most=1
    )  # fmt: skip
    _compile_runs()
    _compile_chains()
    _compile_hashes()


def _compile_ranges(groups: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    count_pairs(groups, groups, np.array([rows, ~rows]), np.array([rows, ~rows]))
    agreeing_pairs(groups, np.array([rows, rows]))
    first, second, third = ranges_of(
        PairedRows(groups, groups, rows, rows), np.tile(rows, (3, 1)), np.tile(rows, (3, 1))
    )
    pairs = UnlistedPairs(groups, groups, rows[None, :], rows[None, :], (rows[None, :], rows[None, :]))
    cover_of_ranges([pairs], np.ones(2, np.int64), rows, most=9)
    count_from_three_edges(
        first.left_ids, first.right_ids, first.lefts, first.rights, first.starts, second.starts, second.places,
        third.starts, third.places, 1, np.zeros(2, np.int64), np.zeros(2, np.int64),
    )  # fmt: skip


def _compile_discovery(weights: NDArray[np.int64]) -> None:
    codes = np.array([[0, 40_000]], np.int32)
    for wide in (1, 40):  # a table of cells, and a hash table
        pairs = (0,) * wide
        packing = Packing(pairs, pairs, (ORDER,) * wide, (3,) * wide)
        all_pairs(codes, weights, packing)
        listed_pairs(codes, weights[:1], weights[:1], packing)
        left, right = beside(weights, weights > 0, weights, weights > 0, nulls_equal=False)
        blocks = BlockPair(np.stack([left] * wide), np.stack([right] * wide), packing)
        blocks.counted(firsts=True)
        blocks.counted_of(weights[:1] - 1, weights[:1] - 1)
    for words in (1, 2):
        family = np.repeat(np.array([[1], [2]], np.uint64), words, axis=1)
        slots = np.repeat(np.arange(33), 2)[: 64 * words]
        hitting_sets(family, slots, seconds=60.0, threads=2)
        nearly_hitting_sets(family, weights[:2], slots, budget=1, seconds=60.0, threads=2)
        hitting_sets(family, slots, spare=family)
        extended_sets(family, family, family, slots)
        contained_in(family, family)
        first_missed(family, family)
        least_support(family, slots, family, weights)
        violating_pairs(family, family, weights)
    partition = refined(whole(weights), codes[0] // 40_000, weights)
    broken_dependency(partition, codes[0] // 40_000, weights)
    broken_within(partition, np.zeros(2, np.int64), 1, codes[0] // 40_000, weights)
    frequent_codes(partition, codes[0] // 40_000, weights, 1)
    unordered = np.array([6], np.int64)
    ids = np.arange(2)
    satisfying_pairs(codes, codes, unordered, ids, ids, weights == 1, limit=1, seed=1, flag=weights - 1)
    contradictory(np.ones((1, 1), np.uint8), ids[:1], ids[1:])


def _compile_chains() -> None:
    values, starts = np.arange(2), np.array([0, 2])
    fewest_chains(values, values, x_strictly=True, y_strictly=True)
    join_chains(values, values, starts, values, values, True, True)
    met_ranges(values, values, starts, values, values, 0, 0)
    places_of_rows(values, values, values, starts, values, values, values)


def _compile_hashes() -> None:
    values, valid = np.arange(2), np.ones(2, np.bool_)
    hash_ints(values, valid, values)
    hash_longs(values, valid, values)
    hash_wide(values, values, valid, values)
    hash_bytes(np.zeros(40, np.uint8), values, values + 38, valid, values)


def _compile_runs() -> None:
    truth = np.ones((2, 1), np.bool_)
    rows = Rows(np.zeros((2, 1), np.int64), truth, truth, truth[:, 0].copy(), np.arange(2, dtype=np.int32))
    slots, columns, none = np.arange(2, dtype=np.int32), np.zeros(1, np.int64), np.zeros((0, 4), np.int64)
    hashes = hash_rows(rows.codes, rows.valid, slots, columns, False)
    collides(rows.codes, rows.valid, slots, hashes, columns)
    arena = Arena(none, hashes, columns, slots, slots, slots, columns, np.zeros((1, 2), np.int32), slots)
    probe = Probe(np.zeros((1, 3), np.int64), 1, 0, -1, none, none[:, :3].copy(), False)
    counting = PairCounting(False, False, False, True, False, True, none, none[:, :3].copy())
    probed(rows, arena, slots, probe, counting, slots, slots)
    alone_together(rows, slots, probe)
    members(rows, slots, np.zeros(INDEX_LINE, np.int64))
    table = np.full(4, FREE, np.int32)
    add_keys(table, rows.codes, slots[:1], np.arange(1))
    find_keys(table, rows.codes, rows.codes, np.arange(1), slots.copy())
    remove_keys(table, rows.codes, slots[:1], np.arange(1))


if __name__ == "__main__":
    compile_kernels()
