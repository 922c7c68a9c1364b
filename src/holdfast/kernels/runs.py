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

from holdfast.kernels.addresses import address_of, ints, longs, words

LEAF = 256
FAN = 16
MOST_LEVELS = 5

# Columns of `Arena.runs`: where a run starts, its rows, its levels, and whether two values share a hash in it.
START, SIZE, LEVELS, COLLIDED = range(4)

_LT, _EQ, _GT, _NE = 1, 2, 4, 5

# Arrays reach compiled code one by one, at a tenth of a microsecond each, and those of all rules are many where a row
# comes alone. So they are handed over as lines of numbers: the addresses of arrays with their lengths, and what else
# there is to say. The line of an index: 18 numbers for the arrays of an arena, the last of them how many rows its tail
# has; then how many of its rows have gone, how many rows the tail has room for, and which rows it speaks of.
TAIL, DEAD, ROOM, EQUAL, X, Y, FLAG, NULLS_EQUAL, NULLS, INDEX_LINE = 17, 18, 19, 20, 22, 23, 24, 25, 26, 27
# The line of a way: the address of an index's line, then a probe, then how pairs are counted.
WAY_LINE = 21
_NO_INDEX = np.zeros((0, 2), np.int64)

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

    Listed are left and right rows by slot, the first that are found, as many as there is room for. A row makes no pair
    with itself. With `once`, the pairs of rows that are probes and in the arena are met once each, from the later slot.
    """
    index = np.zeros(INDEX_LINE, np.int64)
    lead_to_arena(arena, index)
    counts = np.empty((1, 2), np.int64)
    ways = way_line(index, probe, counting)[None, :]
    probed_ways(rows, ways, probes, left_out, right_out, counts, each=False, kept=False, most=2**62, entered=_NO_INDEX)
    return int(counts[0, 0]), int(counts[0, 1])


def probed_ways(
    rows: Rows,
    ways: NDArray[np.int64],
    probes: NDArray[np.int32],
    left_out: NDArray[np.int32],
    right_out: NDArray[np.int32],
    counts: NDArray[np.int64],
    *,
    each: bool,
    kept: bool,
    most: int,
    entered: NDArray[np.int64],
) -> tuple[int, bool, int]:
    """What `probed` tells, for each of several ways: in its line of `counts`, and listed one way after the other.

    A way lists at most so many. `each` and `kept` hold for all ways, beside what their lines say; in an index from
    which rows have gone, every row is looked at. Then the probes are in the tail of each index that speaks of them and
    is in `entered`, by the address of its line. A tail that has no room for them is left as it was, and has a 1 beside
    its address. Returns how many pairs are listed, whether they are all that were asked for, and how many tails had no
    room.
    """
    # A kernel that is kept on disk takes no class of ours: what numba keeps of it could not be read if one is renamed.
    outcome: tuple[int, bool, int] = _probed_flat(
        *rows, ways, probes, each, kept, most, left_out, right_out, counts, entered
    )
    return outcome


def members(rows: Rows, slots: NDArray[np.int32], line: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of which of the rows an index speaks, by its line."""
    wanted = np.empty(len(slots), np.bool_)
    _members_flat(*rows, slots, line, wanted)
    return wanted


def lead_to_columns(columns: NDArray[np.int64], line: NDArray[np.int64]) -> None:
    """The line of an index leads to the columns on which pairs agree, as long as somebody holds them."""
    line[EQUAL], line[EQUAL + 1] = columns.ctypes.data, len(columns)


@njit(cache=True, inline="always")
def _is_member(rows, slot, line):  # type: ignore[no-untyped-def]
    if line[FLAG] >= 0 and not rows.flags[slot, line[FLAG]]:
        return False
    if line[NULLS_EQUAL] == 0:
        for column in longs(line[EQUAL], (line[EQUAL + 1],)):
            if not rows.valid[slot, column]:
                return False
    ordered = (line[X] < 0 or rows.valid[slot, line[X]]) and (line[Y] < 0 or rows.valid[slot, line[Y]])
    return ordered != (line[NULLS] != 0)


@njit(cache=True, nogil=True)
def _members_flat(codes, valid, flags, alive, twin, slots, line, wanted):  # type: ignore[no-untyped-def]
    rows = Rows(codes, valid, flags, alive, twin)
    for at in range(len(slots)):
        wanted[at] = _is_member(rows, slots[at], line)


def lead_to_arena(arena: Arena, line: NDArray[np.int64]) -> None:
    """The line of an index leads to the arena, as long as somebody holds the arena."""
    _lead_to_arena_flat(*arena, line)


def way_line(index: NDArray[np.int64], probe: Probe, counting: PairCounting) -> NDArray[np.int64]:
    """A line that leads to an index by its line, to what is asked there, and how; as long as somebody holds those."""
    line = np.zeros(WAY_LINE, np.int64)
    _lead_to_way_flat(index, *probe, *counting, line)
    return line


@njit(cache=True, nogil=True)
def _lead_to_arena_flat(  # type: ignore[no-untyped-def]
    runs, hashes, xs, slots, ranks, by_rank, sorted_ys, levels, tail, line
):
    assert levels.shape[1] == len(slots), "levels are as long as the arena"
    line[0], line[1] = address_of(runs, 32), len(runs)
    line[2], line[3] = address_of(hashes, 8), len(hashes)
    line[4], line[5] = address_of(xs, 8), len(xs)
    line[6], line[7] = address_of(slots, 4), len(slots)
    line[8], line[9] = address_of(ranks, 4), len(ranks)
    line[10], line[11] = address_of(by_rank, 4), len(by_rank)
    line[12], line[13] = address_of(sorted_ys, 8), len(sorted_ys)
    line[14], line[15] = address_of(levels, 4 * levels.shape[1]), len(levels)
    line[16], line[TAIL] = address_of(tail, 4), len(tail)


@njit(cache=True, inline="always")
def _arena_at(line):  # type: ignore[no-untyped-def]
    """The arena to which the line of an index leads."""
    return Arena(
        longs(line[0], (line[1], 4)),
        words(line[2], (line[3],)),
        longs(line[4], (line[5],)),
        ints(line[6], (line[7],)),
        ints(line[8], (line[9],)),
        ints(line[10], (line[11],)),
        longs(line[12], (line[13],)),
        ints(line[14], (line[15], line[7])),
        ints(line[16], (line[TAIL],)),
    )


@njit(cache=True, nogil=True)
def _lead_to_way_flat(  # type: ignore[no-untyped-def]
    index, compares, equal, by, flag, others, other_compares, nulls_equal, once, each, enough, only_alive, kept, left,
    whole, whole_compares, line,
):  # fmt: skip
    line[0] = address_of(index, 8)
    line[1], line[2] = address_of(compares, 24), len(compares)
    line[3], line[4], line[5] = equal, by, flag
    line[6], line[7] = address_of(others, 32), len(others)
    line[8], line[9] = address_of(other_compares, 24), len(other_compares)
    line[10] = nulls_equal
    line[11], line[12], line[13], line[14], line[15], line[16] = once, each, enough, only_alive, kept, left
    line[17], line[18] = address_of(whole, 32), len(whole)
    line[19], line[20] = address_of(whole_compares, 24), len(whole_compares)


@njit(cache=True, inline="always")
def _probe_at(line):  # type: ignore[no-untyped-def]
    """The probe to which the line of a way leads."""
    others, other_compares = longs(line[6], (line[7], 4)), longs(line[8], (line[9], 3))
    return Probe(longs(line[1], (line[2], 3)), line[3], line[4], line[5], others, other_compares, line[10] != 0)


@njit(cache=True, nogil=True)
def _probed_flat(  # type: ignore[no-untyped-def]
    codes, valid, flags, alive, twin, ways, probes, each, kept, most, left_out, right_out, counts, entered
):
    rows = Rows(codes, valid, flags, alive, twin)
    listed, all_listed = np.int64(0), True
    for w in range(len(ways)):
        way = ways[w]
        index = longs(way[0], (INDEX_LINE,))
        kept_too = kept or way[15] != 0
        one_by_one = each or kept_too or way[12] != 0 or index[DEAD] > 0
        counting = PairCounting(
            way[11] != 0, one_by_one, way[13] != 0, way[14] != 0, kept_too, way[16] != 0,
            longs(way[17], (way[18], 4)), longs(way[19], (way[20], 3)),
        )  # fmt: skip
        end = min(listed + most, len(left_out))
        own, other = left_out[listed:end], right_out[listed:end]
        if not counting.left:
            own, other = other, own
        counts[w, 0], counts[w, 1] = _probed(rows, _arena_at(index), probes, _probe_at(way), counting, own, other)
        listed += counts[w, 1]
        all_listed &= counts[w, 1] == min(counts[w, 0], most)
    without_room = 0
    for i in range(len(entered)):
        line = longs(entered[i, 0], (INDEX_LINE,))
        wanted, many = ints(line[TAIL - 1], (line[ROOM],)), line[TAIL]
        for p in probes:
            if _is_member(rows, p, line):
                if many == line[ROOM]:
                    many += 1
                    break
                wanted[many] = p
                many += 1
        entered[i, 1] = many > line[ROOM]
        if entered[i, 1]:
            without_room += 1
        else:
            line[TAIL] = many
    return listed, all_listed, without_room


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
