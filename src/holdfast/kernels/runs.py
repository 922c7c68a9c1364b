"""Rows in sorted runs, and the pairs that some rows form with them: probing costs what is found, not what is there.

A run holds rows ordered by the hash of the values on which a pair must agree, and within equal ones by a first value,
x. A pair's condition on x is then a range of positions. A condition on a second value, y, is a range of ranks: nodes of
`LEAF`, `LEAF * FAN`, ... positions hold their ranks sorted, so that a range of positions is a few nodes, each searched.
Runs lie one after the other in an arena, and rows that are in none yet in a tail that is looked at one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

LEAF = 256
FAN = 16
MOST_LEVELS = 5

# Columns of `Arena.runs`: where a run starts, its rows, its levels, and whether two values share a hash in it.
START, SIZE, LEVELS, COLLIDED = range(4)

_LT, _EQ, _GT, _NE = 1, 2, 4, 5

# Kinds of ranges beside levels: positions of a run, those of which some ranks count, and places in the tail.
_IN_ORDER, _RANKED, _IN_TAIL = -1, -2, -3


class Rows(NamedTuple):
    """Rows by slot: codes, which are valid, truth values, which rows are there, and who takes whose place.

    `twin` of a row that a change replaces or brings is the slot of its other version, -1 where there is none; of every
    other row it is its own slot.
    """

    codes: NDArray[np.int64]
    valid: NDArray[np.bool_]
    flags: NDArray[np.bool_]
    alive: NDArray[np.bool_]
    twin: NDArray[np.int32]


class Arena(NamedTuple):
    """Runs one after the other, and the tail. Arrays that an index has no use for are empty."""

    runs: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    xs: NDArray[np.int64]
    slots: NDArray[np.int32]
    ranks: NDArray[np.int32]
    by_rank: NDArray[np.int32]
    sorted_ys: NDArray[np.int64]
    levels: NDArray[np.int32]
    tail: NDArray[np.int32]


class Probe(NamedTuple):
    """What a pair must satisfy: rows of `compares` are (probe's column, other's column, allowed).

    The first `equal` of them are the equalities by which runs are ordered; then comes that on x and that on y, where
    `by` says that there are such (0, 1 or 2), then all others. `flag` is the truth value that the probe must have, or
    -1. `others` are constraints of which a pair must satisfy none, each a range of `other_compares` given by
    (first, last, flag of the probe, flag of the other).
    """

    compares: NDArray[np.int64]
    equal: int
    by: int
    flag: int
    others: NDArray[np.int64]
    other_compares: NDArray[np.int64]
    nulls_equal: bool


class PairCounting(NamedTuple):
    """How pairs are counted: `once` where each is met from both ends; `each` where not all of a range may count.

    With `enough`, counting ends where there is no more room to list. With `alive`, only rows that are there count.
    `kept` leaves out pairs whose other versions violate too: these are the constraints in `whole`, ranges of
    `whole_compares` as above, of left and right row; `left` where the probe is the left row.
    """

    once: bool
    each: bool
    enough: bool
    alive: bool
    kept: bool
    left: bool
    whole: NDArray[np.int64]
    whole_compares: NDArray[np.int64]


@njit(cache=True, nogil=True)
def hash_rows(codes, valid, slots, columns, nulls_equal):  # type: ignore[no-untyped-def]
    """A hash per row of its values in these columns. Rows that differ there may share one."""
    hashes = np.empty(len(slots), np.uint64)
    for at in range(len(slots)):
        hashes[at] = row_hash(codes, valid, slots[at], columns, nulls_equal)
    return hashes


@njit(cache=True, inline="always")
def row_hash(codes, valid, slot, columns, nulls_equal):  # type: ignore[no-untyped-def]
    """A hash of one row's values in these columns; with `nulls_equal`, all nulls alike."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for column in columns:
        value = np.uint64(codes[slot, column])
        if nulls_equal and not valid[slot, column]:
            value = np.uint64(0x5851F42D4C957F2D)
        h ^= value
        h ^= h >> np.uint64(33)
        h *= np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(33)
        h *= np.uint64(0xC4CEB9FE1A85EC53)
        h ^= h >> np.uint64(33)
    return h


@njit(cache=True, nogil=True)
def collides(codes, valid, slots, hashes, columns):  # type: ignore[no-untyped-def]
    """Whether two neighbours share a hash and not the values."""
    for at in range(1, len(slots)):
        if hashes[at] == hashes[at - 1]:
            for column in columns:
                a, b = slots[at - 1], slots[at]
                if valid[a, column] != valid[b, column]:
                    return True
                if valid[a, column] and codes[a, column] != codes[b, column]:
                    return True
    return False


@njit(cache=True, inline="always")
def _related(rows, a, fa, b, fb, allowed, nulls_equal):  # type: ignore[no-untyped-def]
    va, vb = rows.valid[a, fa], rows.valid[b, fb]
    if not (va and vb):
        if not nulls_equal:
            return False
        return (allowed & _EQ) != 0 if va == vb else allowed == _NE
    x, y = rows.codes[a, fa], rows.codes[b, fb]
    relation = _LT if x < y else _EQ if x == y else _GT
    return (allowed & relation) != 0


@njit
def _all_related(rows, a, b, compares, first, last, nulls_equal):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        if not _related(rows, a, compares[i, 0], b, compares[i, 1], compares[i, 2], nulls_equal):
            return False
    return True


@njit
def _any_violated(rows, a, b, which, compares, nulls_equal):  # type: ignore[no-untyped-def]
    for i in range(len(which)):
        if which[i, 2] >= 0 and not rows.flags[a, which[i, 2]]:
            continue
        if which[i, 3] >= 0 and not rows.flags[b, which[i, 3]]:
            continue
        if _all_related(rows, a, b, compares, which[i, 0], which[i, 1], nulls_equal):
            return True
    return False


@njit
def _left_out(rows, p, r, probe, counting):  # type: ignore[no-untyped-def]
    """Whether the pair of p with r is one that other constraints have, or one that was there before."""
    if len(probe.others) and _any_violated(rows, p, r, probe.others, probe.other_compares, probe.nulls_equal):
        return True
    if counting.kept:
        a, b = rows.twin[p], rows.twin[r]
        if not counting.left:
            a, b = b, a
        return (
            a >= 0 and b >= 0 and _any_violated(rows, a, b, counting.whole, counting.whole_compares, probe.nulls_equal)
        )
    return False


def alone_together(rows: Rows, slots: NDArray[np.int32], probe: Probe) -> int:
    """How many of the rows, as probes whose x and y are not null, satisfy all comparisons with themselves."""
    return int(_alone_together_flat(*rows, slots, *probe))


@njit(cache=True, nogil=True)
def _alone_together_flat(  # type: ignore[no-untyped-def]
    codes, valid, flags, alive, twin, slots, compares, equal, by, flag, others, other_compares, nulls_equal
):
    rows = Rows(codes, valid, flags, alive, twin)
    probe = Probe(compares, equal, by, flag, others, other_compares, nulls_equal)
    many = 0
    for p in slots:
        if probe.flag >= 0 and not rows.flags[p, probe.flag]:
            continue
        ordered = True
        for i in range(probe.equal, probe.equal + probe.by):
            ordered &= rows.valid[p, probe.compares[i, 0]]
        if ordered and _all_related(rows, p, p, probe.compares, 0, len(probe.compares), probe.nulls_equal):
            many += 1
    return many


@njit(cache=True, inline="always")
def _first_at_least(values, value, low, high):  # type: ignore[no-untyped-def]
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, inline="always")
def _first_above(values, value, low, high):  # type: ignore[no-untyped-def]
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, inline="always")
def _find_hash(hashes, h, low, high):  # type: ignore[no-untyped-def]
    """The first position whose hash is at least h. Hashes are spread evenly, so a guess is near; then halves."""
    base, size = low, high - low
    near = low + np.int64((np.float64(h) / 18446744073709551616.0) * size)
    near = min(max(near, low), high - 1)
    step = np.int64(8)
    if hashes[near] < h:
        low = near + 1
        while low < high:
            ahead = min(low + step, high)
            if ahead < high and hashes[ahead] < h:
                low = ahead + 1
                step *= 4
            else:
                high = ahead
                break
    else:
        high = near
        while high > base:
            behind = max(high - step, base)
            if hashes[behind] >= h:
                high = behind
                step *= 4
            else:
                low = behind + 1
                break
    return _first_at_least(hashes, h, low, high)


@njit
def _place_ranges(arena, k, a, b, least, most, ranges, many):  # type: ignore[no-untyped-def]
    """Ranges for the positions [a, b) of run k whose rank is in [least, most); how many ranges there are then."""
    start = arena.runs[k, START]
    at = a
    while at < b:
        level, width = -1, LEAF
        for up in range(arena.runs[k, LEVELS]):
            if (at - start) % width != 0 or at + width > b:
                break
            level = up
            width *= FAN
        if level < 0:
            stop = min(b, start + ((at - start) // LEAF + 1) * LEAF)
            ranges[many, 0], ranges[many, 1], ranges[many, 2] = _RANKED, at, stop
            ranges[many, 3], ranges[many, 4] = least, most
            at = stop
            many += 1
            continue
        width = LEAF * FAN**level
        nodes = arena.levels[level]
        first = _first_at_least(nodes, least, at, at + width)
        last = _first_at_least(nodes, most, first, at + width)
        if first < last:
            ranges[many, 0], ranges[many, 1], ranges[many, 2] = level, first, last
            many += 1
        at += width
    return many


@njit
def _ranges(rows, arena, k, begin, end, p, probe, ranges):  # type: ignore[no-untyped-def]
    """How many ranges of run k hold the rows among positions [begin, end) that satisfy the conditions on x and y."""
    equal = probe.equal
    x, allowed_x = rows.codes[p, probe.compares[equal, 0]], probe.compares[equal, 2]
    low = _first_at_least(arena.xs, x, begin, end)
    high = _first_above(arena.xs, x, low, end)
    xs = _sides(allowed_x, begin, low, high, end)
    many = 0
    if probe.by == 1:
        for side in range(2):
            if xs[side][0] < xs[side][1]:
                ranges[many, 0], ranges[many, 1], ranges[many, 2] = _IN_ORDER, xs[side][0], xs[side][1]
                many += 1
        return many
    start, size = arena.runs[k, START], arena.runs[k, SIZE]
    y, allowed_y = rows.codes[p, probe.compares[equal + 1, 0]], probe.compares[equal + 1, 2]
    below = _first_at_least(arena.sorted_ys, y, start, start + size) - start
    above = _first_above(arena.sorted_ys, y, start + below, start + size) - start
    ys = _sides(allowed_y, 0, below, above, size)
    for side in range(2):
        for part in range(2):
            if xs[side][0] < xs[side][1] and ys[part][0] < ys[part][1]:
                many = _place_ranges(arena, k, xs[side][0], xs[side][1], ys[part][0], ys[part][1], ranges, many)
    return many


@njit(cache=True, inline="always")
def _sides(allowed, begin, low, high, end):  # type: ignore[no-untyped-def]
    """Where others are in an allowed relation: those below and those above; equal ones, at [low, high), with either."""
    if allowed & _EQ and allowed & _LT:
        return (begin, begin), (low, end)
    below = (begin if allowed & _GT else low, high if allowed & _EQ else low)
    return below, (high if allowed & _LT else end, end)


@njit(cache=True, inline="always")
def _group(arena, k, h):  # type: ignore[no-untyped-def]
    """The positions of run k whose hash is h."""
    begin, end = arena.runs[k, START], arena.runs[k, START] + arena.runs[k, SIZE]
    begin = _find_hash(arena.hashes, h, begin, end)
    if begin == end or arena.hashes[begin] != h:
        return begin, begin
    last, step = begin + 1, np.int64(4)
    while last < end and arena.hashes[last] == h:
        if last + step < end and arena.hashes[last + step] == h:
            last += step
            step *= 2
        else:
            last = _first_above(arena.hashes, h, last, min(last + step + 1, end))
            break
    return begin, last


def probed(
    rows: Rows,
    arena: Arena,
    probes: NDArray[np.int32],
    probe: Probe,
    counting: PairCounting,
    left_out: NDArray[np.int32],
    right_out: NDArray[np.int32],
) -> tuple[int, int]:
    """(pairs, listed): how many pairs the probes form with the rows of the arena, and how many of them were listed.

    Listed are (probe, other) by slot, the first that are found, as many as there is room for. A row makes no pair with
    itself. With `once`, the pairs of rows that are probes and in the arena are met once each, from the later slot.
    """
    # Arrays reach compiled code sooner one by one than inside of tuples, and a single row is a matter of microseconds.
    # A kernel that is kept on disk takes no class of ours: what numba keeps of it could not be read if one is renamed.
    counts: tuple[int, int] = _probed_flat(*rows, *arena, probes, *probe, *counting, left_out, right_out)
    return counts


@njit(cache=True, nogil=True)
def _probed_flat(  # type: ignore[no-untyped-def]
    codes, valid, flags, alive, twin, runs, hashes, xs, slots, ranks, by_rank, sorted_ys, levels, tail, probes,
    compares, equal, by, flag, others, other_compares, nulls_equal, once, each, enough, only_alive, kept, left, whole,
    whole_compares, left_out, right_out,
):  # fmt: skip
    rows = Rows(codes, valid, flags, alive, twin)
    arena = Arena(runs, hashes, xs, slots, ranks, by_rank, sorted_ys, levels, tail)
    probe = Probe(compares, equal, by, flag, others, other_compares, nulls_equal)
    counting = PairCounting(once, each, enough, only_alive, kept, left, whole, whole_compares)
    return _probed(rows, arena, probes, probe, counting, left_out, right_out)


@njit
def _probed(rows, arena, probes, probe, counting, left_out, right_out):  # type: ignore[no-untyped-def]
    """What `probed` tells."""
    total, listed, room = 0, 0, len(left_out)
    codes, valid, alive = rows.codes, rows.valid, rows.alive
    compares, equal, nulls_equal = probe.compares, probe.equal, probe.nulls_equal
    columns = compares[:equal, 0].copy()
    ranges = np.empty((4 * (2 * FAN * MOST_LEVELS + 4), 5), np.int64)
    for p in probes:
        if counting.enough and listed == room:
            break
        if probe.flag >= 0 and not rows.flags[p, probe.flag]:
            continue
        ordered, missing = probe.by, False
        for i in range(len(compares)):
            if not valid[p, compares[i, 0]]:
                missing = True
                # A null x or y of the probe has no place in the order: all rows that agree are looked at.
                if equal <= i < equal + probe.by:
                    ordered = 0
        if missing and not nulls_equal:
            continue
        h = row_hash(codes, valid, p, columns, nulls_equal)
        for k in range(-1, len(arena.runs)):
            each, first, many = counting.each, equal + ordered, 1
            if k < 0:
                each, first = True, 0
                ranges[0, 0], ranges[0, 1], ranges[0, 2] = _IN_TAIL, 0, len(arena.tail)
            else:
                begin, end = arena.runs[k, START], arena.runs[k, START] + arena.runs[k, SIZE]
                if equal:
                    begin, end = _group(arena, k, h)
                    if begin == end:
                        continue
                    if arena.runs[k, COLLIDED]:
                        each, first = True, 0
                    elif not _all_related(rows, p, arena.slots[begin], compares, 0, equal, nulls_equal):
                        continue
                each |= first < len(compares)
                if ordered:
                    many = _ranges(rows, arena, k, begin, end, p, probe, ranges)
                else:
                    ranges[0, 0], ranges[0, 1], ranges[0, 2] = _IN_ORDER, begin, end
            for at in range(many):
                kind, begin, end = ranges[at, 0], ranges[at, 1], ranges[at, 2]
                if not each and kind != _RANKED:
                    total += end - begin
                    end = min(end, begin + room - listed)
                for place in range(begin, end):
                    if kind == _IN_ORDER:
                        r = arena.slots[place]
                    elif kind == _RANKED:
                        if not ranges[at, 3] <= arena.ranks[place] < ranges[at, 4]:
                            continue
                        r = arena.slots[place]
                    elif kind == _IN_TAIL:
                        r = arena.tail[place]
                    else:
                        r = arena.by_rank[arena.runs[k, START] + arena.levels[kind, place]]
                    if each:
                        if r == p or (counting.alive and not alive[r]) or (counting.once and r > p):
                            continue
                        related = True
                        for i in range(first, len(compares)):
                            own, other, allowed = compares[i, 0], compares[i, 1], compares[i, 2]
                            a, b = valid[p, own], valid[r, other]
                            if a and b:
                                v, w = codes[p, own], codes[r, other]
                                related = (allowed & (_LT if v < w else _EQ if v == w else _GT)) != 0
                            elif not nulls_equal:
                                related = False
                            else:
                                related = (allowed & _EQ) != 0 if a == b else allowed == _NE
                            if not related:
                                break
                        if not related or (
                            (len(probe.others) or counting.kept) and _left_out(rows, p, r, probe, counting)
                        ):
                            continue
                    if each or kind == _RANKED:
                        total += 1
                    if listed < room:
                        left_out[listed], right_out[listed] = p, r
                        listed += 1
    return total, listed
