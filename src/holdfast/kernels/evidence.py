"""The relations of all pairs of rows, counted: codes of two blocks of rows in, packed relations with counts out.

Per operand pair a pair of rows is in one of two to four states. The states of up to 16 bits of operand pairs are digits
of one number (a group); groups side by side are the pair's packed relations. Compares run over 16-bit codes, so
that a vector register holds many rows; where a block pair has wider codes, they are ranked anew within it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holdfast.kernels.bits import popcount

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Packed = NDArray[np.uint16]
Short = NDArray[np.int16]

NULL = -1

# How an operand pair's state comes about. Without order: 0 equal, 1 not. With: 0 less, 1 equal, 2 greater. One more
# state, the last, where one side is null: `*_SKIP` also where both are, `ORDER_MEET` not (two nulls are equal).
EQUALITY, EQUALITY_SKIP, ORDER, ORDER_SKIP, ORDER_MEET = range(5)
# The state is known per row: of the left row alone, or of the right row alone.
LEFT_ROW, RIGHT_ROW = 5, 6

_GROUP = 1 << 16
FIRST = 1 << 32
# Up to here packed relations are places in a table of counts; beyond, keys of a hash table.
_MOST_CELLS = 1 << 24
_WIDEST = 1 << 15


@dataclass(frozen=True, kw_only=True)
class CountingLimits:
    """How many rows are related to how many others at a time, at most so many comparisons at once; the size of a hash
    table at first, a power of 2; and when to give up: with more kinds in one thread, or when time is `over`."""

    block: int = 4_096
    at_once: int = 1 << 29
    keys: int = 1 << 16
    most_kinds: int | None = None
    over: Callable[[], bool] | None = None

    def rows_at_once(self, operand_pairs: int) -> int:
        """How many rows a block has, with so many operand pairs: fewer where each pair of rows takes longer."""
        return min(self.block, max(64, int((self.at_once / max(operand_pairs, 1)) ** 0.5)))


class CountingEnded(Exception):
    """Pairs were not counted to the end: time was up, or there were too many kinds."""

    def __init__(self, *, out_of_time: bool) -> None:
        super().__init__("time is up" if out_of_time else "too many kinds of evidence")
        self.out_of_time = out_of_time


DEFAULT_LIMITS = CountingLimits()


@dataclass(frozen=True)
class Packing:
    """How operand pairs are packed: for each its columns (of codes), its way, and how many states it has."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    ways: tuple[int, ...]
    states: tuple[int, ...]

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Per operand pair its group and its weight in it."""
        places, group, weight = [], 0, 1
        for states in self.states:
            if weight * states > _GROUP:
                group, weight = group + 1, 1
            places.append((group, weight))
            weight *= states
        return places

    @cached_property
    def sizes(self) -> list[int]:
        """How many values each group has."""
        sizes = [1] * (self.places[-1][0] + 1 if self.places else 1)
        for (group, _), states in zip(self.places, self.states, strict=True):
            sizes[group] *= states
        return sizes

    @property
    def cells(self) -> int | None:
        """How many packed relations there can be; None when that is too many for a table."""
        cells = 1
        for size in self.sizes:
            cells *= size
        return cells if cells <= _MOST_CELLS else None

    def states_of(self, packed: Packed, pair: int) -> NDArray[np.uint16]:
        """The state of one operand pair in lines of groups."""
        group, weight = self.places[pair]
        return (packed[:, group] // np.uint16(weight)) % np.uint16(self.states[pair])


@dataclass(frozen=True)
class Counted:
    """Distinct packed relations, a line of groups each, and how many pairs have them.

    `firsts` has, where it was asked for, one such pair each: the row on the left times FIRST, and the one on the right.
    """

    packed: Packed
    counts: Ints
    firsts: Ints | None = None


def all_pairs(
    columns: Codes, weights: Ints, packing: Packing, *, threads: int = 1, share: int = 0, shares: int = 1,
    limits: CountingLimits = DEFAULT_LIMITS,
) -> Counted:  # fmt: skip
    """The packed relations of all pairs (i, j), i < j, of rows with these codes (a line per column), counted.

    A row of weight w stands for w rows: a pair counts the product, and a row is in w(w-1)/2 pairs with itself. With
    `shares` only those of one share; the shares together are all pairs. Raises CountingEnded where the limits end it.
    Cost: the square of the rows; about a nanosecond per pair and core.
    """
    rows, block = columns.shape[1], limits.rows_at_once(len(packing.ways))
    blocks = [(start, min(start + block, rows)) for start in range(0, rows, block)]
    work = [(a, b) for at, a in enumerate(blocks) for b in blocks[at:]][share::shares]

    def run(which: int) -> Counted:
        counter = PairCounter(packing, limits=limits)
        for a, b in work[which::threads]:
            first, second = ((columns[:, x[0] : x[1]], weights[x[0] : x[1]]) for x in (a, b))
            since = np.arange(a[1] - a[0]) + 1 if a == b else None
            counter.add(first, second, since, itself=a == b)
        return counter.counted()

    return shared_out(run, threads)


def shared_out(run: Callable[[int], Counted], threads: int) -> Counted:
    if threads == 1:
        return run(0)
    with ThreadPoolExecutor(threads) as pool:
        return merged(list(pool.map(run, range(threads))))


def pairs_in_groups(
    columns: Codes, weights: Ints, groups: Ints, packing: Packing, *, apart: Ints | None = None, threads: int = 1,
    limits: CountingLimits = DEFAULT_LIMITS,
) -> Counted:  # fmt: skip
    """As `all_pairs`, of the pairs of rows in one group; with `apart`, only of those whose values there differ.

    A group of -1 is none. Cost: a sort, and the pairs.
    """
    order = np.argsort(groups, kind="stable") if apart is None else np.lexsort((apart, groups))
    order = order[np.searchsorted(groups[order], 0) :]
    starts, ends = _runs(groups[order])
    # Per row, where its partners begin and end. A row that stands for several is its own partner.
    since = np.arange(len(order)) + 1
    if apart is not None:
        inner_starts, inner_ends = _runs(apart[order], groups[order])
        since = np.repeat(inner_ends, inner_ends - inner_starts)
    until = np.repeat(ends, ends - starts)
    itself = apart is None and bool((weights != 1).any())
    with_partners = np.flatnonzero((since < until) | itself)
    work = _pieces(with_partners, starts, ends, limits.rows_at_once(len(packing.ways)))
    threads = max(1, min(threads, len(work)))

    def run(which: int) -> Counted:
        counter = PairCounter(packing, limits=limits)
        for first, second in work[which::threads]:
            left_rows = order[first[0] : first[1]]
            right_rows = left_rows if second == first else order[second[0] : second[1]]
            begin = np.clip(since[first[0] : first[1]], second[0], second[1]) - second[0]
            end = np.clip(until[first[0] : first[1]], second[0], second[1]) - second[0]
            left, right = ((np.ascontiguousarray(columns[:, rows]), weights[rows]) for rows in (left_rows, right_rows))
            counter.add(left, right, begin, end, itself=itself and second == first)
        return counter.counted()

    return shared_out(run, threads)


_Span = tuple[int, int]


def _runs(values: Ints, within: Ints | None = None) -> tuple[Ints, Ints]:
    """Where runs of equal values start and end; with `within`, also cut where that changes."""
    cuts = values[1:] != values[:-1]
    if within is not None:
        cuts |= within[1:] != within[:-1]
    inner = np.flatnonzero(cuts) + 1
    if len(values) == 0:
        return inner, inner
    return np.concatenate([[0], inner]), np.append(inner, len(values))


def _pieces(rows: Ints, starts: Ints, ends: Ints, block: int) -> list[tuple[_Span, _Span]]:
    """Pairs of spans of rows that hold all partners of the `rows`: whole groups, or two spans of a large one."""
    pieces: list[tuple[_Span, _Span]] = []
    wanted = np.unique(np.searchsorted(starts, rows, side="right") - 1)
    at = 0
    while at < len(wanted):
        start, end = int(starts[wanted[at]]), int(ends[wanted[at]])
        if end - start > block:
            spans = [(i, min(i + block, end)) for i in range(start, end, block)]
            pieces += [(span, other) for i, span in enumerate(spans) for other in spans[i:]]
            at += 1
            continue
        last = at + 1
        while last < len(wanted) and int(ends[wanted[last]]) - start <= block:
            last += 1
        span = (start, int(ends[wanted[last - 1]]))
        pieces.append((span, span))
        at = last
    return pieces


def listed_pairs(columns: Codes, left: Ints, right: Ints, packing: Packing) -> Counted:
    """The packed relations of the pairs given by row numbers, counted once each."""
    return merged([Counted(packed_pairs(columns, left, right, packing), np.ones(len(left), np.int64))])


def packed_pairs(columns: Codes, left: Ints, right: Ints, packing: Packing) -> Packed:
    """The packed relations of the pairs given by row numbers, a line each."""
    packed = np.zeros((len(left), len(packing.sizes)), np.uint16)
    for (group, weight), way, a, b in zip(packing.places, packing.ways, packing.left, packing.right, strict=True):
        add_states(columns[a], columns[b], left, right, way, np.uint16(weight), packed[:, group])
    return packed


def merged(parts: Sequence[Counted]) -> Counted:
    """The parts added up, in order of their packed relations."""
    packed = np.concatenate([part.packed for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    order = np.lexsort(packed.T[::-1])
    packed, counts = packed[order], counts[order]
    starts = np.ones(len(packed), np.bool_)
    starts[1:] = (packed[1:] != packed[:-1]).any(axis=1)
    firsts = np.flatnonzero(starts)
    sums = np.add.reduceat(counts, firsts) if len(firsts) else counts
    if any(part.firsts is None for part in parts):
        return Counted(packed[firsts], sums)
    pairs = np.concatenate([part.firsts for part in parts if part.firsts is not None])[order]
    return Counted(packed[firsts], sums, pairs[firsts])


_Block = tuple[Codes, Ints]


class PairCounter:
    """Counts packed relations of block pairs, in a table of cells or a hash table; with `firsts`, of rows that stand
    for themselves, and with a pair that has each."""

    def __init__(self, packing: Packing, *, firsts: bool = False, limits: CountingLimits = DEFAULT_LIMITS) -> None:
        self.tracking, self.limits = firsts, limits
        self.packing = packing
        self.ways = np.array(packing.ways, np.int64)
        self.groups = np.array([group for group, _ in packing.places], np.int64)
        self.weights = np.array([weight for _, weight in packing.places], np.uint16)
        self.width = len(packing.sizes)
        self.words = -(-self.width // 4)
        if packing.cells is not None:
            self.cells = np.zeros(packing.cells, np.int64)
            self.firsts = np.zeros(packing.cells if firsts else 0, np.int64)
            self.radix = np.array([1, *np.cumprod(packing.sizes[:-1])], np.uint32)
        else:
            self._resize(limits.keys)

    def _resize(self, size: int) -> None:
        self.keys = np.zeros((self.words, size), np.uint64)
        self.counts = np.zeros(size, np.int64)
        self.firsts = np.zeros(size if self.tracking else 0, np.int64)
        self.filled = np.zeros(1, np.int64)

    def add(
        self,
        first: _Block,
        second: _Block,
        since: Ints | None = None,
        until: Ints | None = None,
        *,
        itself: bool = False,
    ) -> None:
        """Counts the pairs of a row of the first block with rows of the second: per row those from `since` until
        `until`, all without them. With `itself` the blocks are one, and a row of weight w is in w(w-1)/2 pairs with
        itself."""
        self.add_codes(*self._codes(first[0], second[0]), first[1], second[1], since, until, itself=itself)

    def add_codes(
        self, left: Short, right: Short, weights: Ints, others: Ints, since: Ints | None = None,
        until: Ints | None = None, *, itself: bool = False, start: int = 0,
    ) -> None:  # fmt: skip
        """As `add`, of codes that are there already: a line per operand pair, for each side. The right rows are
        numbered from `start`."""
        if self.limits.over is not None and self.limits.over():
            raise CountingEnded(out_of_time=True)
        rows, n = left.shape[1], right.shape[1]
        since = np.zeros(rows, np.int64) if since is None else since
        until = np.full(rows, n) if until is None else until
        plain = bool((weights == 1).all() and (others == 1).all())
        fixed = (left, right, self.ways, self.groups, self.weights, self.width)
        pairs = (plain, itself and not plain, weights, others, since, until)
        if self.packing.cells is not None:
            _count_cells(*fixed, self.radix, self.cells, self.firsts, start, *pairs)
            return
        row = 0
        while row < rows:
            if len(self.counts) // 2 - int(self.filled[0]) < n:
                self._grow()
                continue
            row = _count_keys(*fixed, self.keys, self.counts, self.firsts, start, self.filled, *pairs, row)

    def _end_with(self, kinds: int) -> None:
        if self.limits.most_kinds is not None and kinds > self.limits.most_kinds:
            raise CountingEnded(out_of_time=False)

    def _grow(self) -> None:
        self._end_with(int(self.filled[0]))
        keys, counts, firsts = self.keys, self.counts, self.firsts
        self._resize(4 * len(counts))
        _rehash(keys, counts, firsts, self.keys, self.counts, self.firsts, self.filled)

    def _codes(self, first: Codes, second: Codes) -> tuple[Short, Short]:
        pairs = len(self.ways)
        left, right = (np.empty((pairs, block.shape[1]), np.int16) for block in (first, second))
        for i, (a, b) in enumerate(zip(self.packing.left, self.packing.right, strict=True)):
            x, y = first[a], second[b]
            widest = int(max(x.max(initial=0), y.max(initial=0)))
            if widest >= _WIDEST:
                x, y = _ranked(x, y, widest + 1)
            left[i], right[i] = x, y
        return left, right

    def counted(self) -> Counted:
        if self.packing.cells is not None:
            filled = np.flatnonzero(self.cells)
            self._end_with(len(filled))
            packed = np.empty((len(filled), self.width), np.uint16)
            rest = filled.copy()
            for group, size in enumerate(self.packing.sizes):
                packed[:, group] = rest % size
                rest //= size
            return Counted(packed, self.cells[filled], self._firsts(filled))
        filled = np.flatnonzero(self.counts)
        self._end_with(len(filled))
        keys = np.ascontiguousarray(self.keys[:, filled].T)
        return Counted(
            keys.view(np.uint16).reshape(len(filled), 4 * self.words)[:, : self.width].copy(),
            self.counts[filled],
            self._firsts(filled),
        )

    def _firsts(self, places: Ints) -> Ints | None:
        return self.firsts[places] if self.tracking else None


@njit(cache=True, nogil=True)
def _ranked(x, y, size):  # type: ignore[no-untyped-def]
    """Both as ranks among the values of both, all below `size`; nulls stay. Cost: the rows, and a bit per code."""
    bit = np.uint64(1)
    present = np.zeros(size // 64 + 1, np.uint64)
    for codes in (x, y):
        for code in codes:
            if code != NULL:
                present[code >> 6] |= bit << np.uint64(code & 63)
    before = np.zeros(len(present) + 1, np.int64)
    for w in range(len(present)):
        before[w + 1] = before[w] + popcount(present[w])
    a, b = np.empty(len(x), np.int32), np.empty(len(y), np.int32)
    for codes, ranks in ((x, a), (y, b)):
        for i in range(len(codes)):
            code = codes[i]
            if code == NULL:
                ranks[i] = NULL
            else:
                below = present[code >> 6] & ((bit << np.uint64(code & 63)) - bit)
                ranks[i] = before[code >> 6] + popcount(below)
    return a, b


@njit(cache=True, nogil=True)
def add_states(a, b, left, right, way, weight, into):  # type: ignore[no-untyped-def]
    for at in range(len(left)):
        x, y = a[left[at]], b[right[at]]
        if way == LEFT_ROW:
            state = x
        elif way == RIGHT_ROW:
            state = y
        elif way in (EQUALITY, EQUALITY_SKIP):
            state = 2 if way == EQUALITY_SKIP and (x == NULL or y == NULL) else np.int64(x != y)
        elif x == NULL or y == NULL:
            state = 1 if way == ORDER_MEET and x == y else 3
        else:
            state = np.int64(x >= y) + np.int64(x > y)
        into[at] += np.uint16(weight * np.uint16(state))


@njit(cache=True, nogil=True)
def _relate(left, right, i, start, end, ways, groups, weights, packed):  # type: ignore[no-untyped-def]
    """The packed relations of row i on the left with the rows on the right from `start` until `end`."""
    none = np.uint16(0)
    n = end - start
    packed[:, :n] = 0
    for p in range(len(ways)):
        a, b, w, way, into = left[p, i], right[p, start:end], weights[p], ways[p], packed[groups[p], :n]
        if way == EQUALITY:
            for j in range(n):
                into[j] += w if a != b[j] else none
        elif way == ORDER:
            for j in range(n):
                into[j] += (w if a >= b[j] else none) + (w if a > b[j] else none)
        elif way == LEFT_ROW:
            constant = np.uint16(w * np.uint16(a))
            for j in range(n):
                into[j] += constant
        elif way == RIGHT_ROW:
            for j in range(n):
                into[j] += np.uint16(w * np.uint16(b[j]))
        elif a == NULL:
            last = np.uint16(w * np.uint16(2 if way == EQUALITY_SKIP else 3))
            meet = w if way == ORDER_MEET else last
            for j in range(n):
                into[j] += meet if b[j] == NULL else last
        elif way == EQUALITY_SKIP:
            for j in range(n):
                into[j] += (w if a != b[j] else none) + (w if b[j] == NULL else none)
        else:
            # A null code is below all others: greater, and one state more.
            for j in range(n):
                into[j] += (w if a >= b[j] else none) + (w if a > b[j] else none) + (w if b[j] == NULL else none)


@njit(cache=True, nogil=True)
def _count_cells(  # type: ignore[no-untyped-def]
    left, right, ways, groups, weights, width, radix, cells, firsts, first, plain, itself, a, b, since, until
):
    packed = np.empty((width, right.shape[1]), np.uint16)
    cell = np.empty(right.shape[1], np.uint32)
    for i in range(left.shape[1]):
        start = since[i] - 1 if itself else since[i]
        n = until[i] - start
        if n <= 0:
            continue
        _relate(left, right, i, start, until[i], ways, groups, weights, packed)
        if width == 1:
            for j in range(n):
                cell[j] = packed[0, j]
        else:
            for j in range(n):
                cell[j] = packed[0, j] + radix[1] * np.uint32(packed[1, j])
            for g in range(2, width):
                for j in range(n):
                    cell[j] += radix[g] * np.uint32(packed[g, j])
        if len(firsts):
            for j in range(n):
                if cells[cell[j]] == 0:
                    firsts[cell[j]] = i * FIRST + first + start + j
                cells[cell[j]] += 1
        elif plain:
            for j in range(n):
                cells[cell[j]] += 1
        else:
            others = b[start:]
            for j in range(n):
                cells[cell[j]] += a[i] * others[j]
            if itself:  # not a[i] squared
                cells[cell[0]] += a[i] * (a[i] - 1) // 2 - a[i] * a[i]


@njit(cache=True, nogil=True)
def _mixed(h, word):  # type: ignore[no-untyped-def]
    h = (h ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(32))


@njit(cache=True, nogil=True)
def _place(keys, counts, lines, j, mask):  # type: ignore[no-untyped-def]
    """Where the table has the j-th line, or would have it."""
    words = keys.shape[0]
    h = np.uint64(0)
    for w in range(words):
        h = _mixed(h, lines[w, j])
    at = np.int64(h & np.uint64(mask))
    while counts[at] != 0:
        equal = True
        for w in range(words):
            equal &= keys[w, at] == lines[w, j]
        if equal:
            break
        at = (at + 1) & mask
    return at


@njit(cache=True, nogil=True)
def _place_of_word(keys, counts, key, mask):  # type: ignore[no-untyped-def]
    """As `_place`, for keys of one word."""
    at = np.int64(_mixed(np.uint64(0), key) & np.uint64(mask))
    while counts[at] != 0 and keys[at] != key:
        at = (at + 1) & mask
    return at


@njit(cache=True, nogil=True)
def _count_keys(  # type: ignore[no-untyped-def]
    left,
    right,
    ways,
    groups,
    weights,
    width,
    keys,
    counts,
    firsts,
    first,
    filled,
    plain,
    itself,
    a,
    b,
    since,
    until,
    row,
):
    """Counts from this row on, as long as the table has room for a row's worth of new keys; the row to go on with."""
    words = keys.shape[0]
    mask = len(counts) - 1
    packed = np.empty((width, right.shape[1]), np.uint16)
    lines = np.empty((words, right.shape[1]), np.uint64)
    for i in range(row, left.shape[1]):
        start = since[i] - 1 if itself else since[i]
        n = until[i] - start
        if n <= 0:
            continue
        if len(counts) // 2 - filled[0] < n:
            return i
        _relate(left, right, i, start, until[i], ways, groups, weights, packed)
        lines[:, :n] = 0
        for g in range(width):
            shift, into, digits = np.uint64(16 * (g & 3)), lines[g >> 2], packed[g]
            for j in range(n):
                into[j] |= np.uint64(digits[j]) << shift
        for j in range(n):
            times = 1 if plain else a[i] * b[start + j]
            if itself and j == 0:
                times = a[i] * (a[i] - 1) // 2
                if times == 0:
                    continue
            if words == 1:
                at = _place_of_word(keys[0], counts, lines[0, j], mask)
            else:
                at = _place(keys, counts, lines, j, mask)
            if counts[at] == 0:
                filled[0] += 1
                for w in range(words):
                    keys[w, at] = lines[w, j]
                if len(firsts):
                    firsts[at] = i * FIRST + first + start + j
            counts[at] += times
    return left.shape[1]


@njit(cache=True, nogil=True)
def _rehash(old_keys, old_counts, old_firsts, keys, counts, firsts, filled):  # type: ignore[no-untyped-def]
    mask = len(counts) - 1
    for at in range(len(old_counts)):
        if old_counts[at] != 0:
            to = _place_of_word(keys[0], counts, old_keys[0, at], mask) if len(keys) == 1 else -1
            if len(keys) > 1:
                to = _place(keys, counts, old_keys, at, mask)
            for w in range(len(keys)):
                keys[w, to] = old_keys[w, at]
            counts[to] = old_counts[at]
            if len(firsts):
                firsts[to] = old_firsts[at]
            filled[0] += 1
