"""Minimal hitting sets: the smallest choices of elements that meet every set of a family.

The search is MMCS (Murakami and Uno, 2014), iterative and on bit sets: per element the sets that contain it; per chosen
element the sets that only it hits (its critical sets); while each chosen element keeps a critical set the choice is
minimal. We depart from it where elements come in slots, one slot per operand pair: the last free element of a slot is
never taken, since a slot that is taken whole allows nothing; and where most sets are hit twice already, which no
longer matter below, the search goes on with the others alone.

The sets may have weights, and a `WeightBound` may ask for choices that leave much weight unhit until their last slot is
opened: branch and bound, since what a choice leaves unhit only shrinks as it grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holdfast.kernels.bits import lowest, popcount
from holdfast.kernels.flag import raised_after
from holdfast.kernels.slot_search import (
    MOST_WORDS,
    NO_END,
    all_elements,
    deepest,
    element_slots,
    grown,
    search_branches,
)

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

# After so much work a thread tells of it.
_TOLD_AFTER = 1 << 16
# How many unhit sets are looked at for the one with the fewest candidates. Looking at all costs more than it saves.
LOOK_AT = 1_024


class HittingSetLimits(NamedTuple):
    """When a search ends, and when it goes on with a part of the sets alone.

    It ends with more than `most_words` words of sets, and when its nodes have looked at `most_work` words. A part is
    looked for `part_after` elements below the last one, of at least `part_from` sets, and worth it when it is at most
    one in `part_share` of them.
    """

    most_words: int = MOST_WORDS
    part_after: int = 3
    part_from: int = 1_024
    part_share: int = 4
    most_work: int = NO_END


DEFAULT_LIMITS = HittingSetLimits()


class WeightBound(NamedTuple):
    """Which choices are wanted: those that leave enough weight unhit before the last of their slots is opened.

    `weights` has the weight of each set. A choice costs `costs` of each slot that it touches, and has the `points` of
    its elements. One that costs c must leave `needed[0, c]` unhit by the elements chosen before its last slot was
    opened; with `many` points or more, `needed[1, c]`. Numbers in `needed` do not fall along a line, nor from the first
    line to the second, so that a branch ends where no larger choice can have enough.
    """

    weights: Ints
    costs: Ints
    points: Ints
    needed: Ints
    many: int


@dataclass(frozen=True)
class HittingSets:
    """Minimal hitting sets as lines of words; all of them when `complete`, else the search ran out of time, or there
    were `too_many` to keep. `cut` when a larger number of slots would have been worth looking at; `work` is how many
    words its nodes looked at."""

    sets: Words
    complete: bool
    nodes: int
    too_many: bool = False
    cut: bool = False
    work: int = 0


def hitting_sets(
    family: Words,
    slots: Ints,
    *,
    most_slots: int | None = None,
    spare: Words | None = None,
    bound: WeightBound | None = None,
    within: Words | None = None,
    threads: int = 1,
    seconds: float | None = None,
    limits: HittingSetLimits = DEFAULT_LIMITS,
) -> HittingSets:
    """All minimal hitting sets of the family that take no slot whole, in order.

    `family` has a line of words per set, bit b of it for element b; `slots` gives each element's slot. With
    `most_slots`, only those that touch at most that many slots; with `spare`, sets like those of the family, only
    those that leave one of them unhit; with `within`, a line of words, only those of its elements; with `bound`, at
    least all those that it wants. After `seconds`, with too many
    words of sets, or with more work than the limits allow, the search ends, and says so; what it has found by then are
    minimal hitting sets.
    """
    words = family.shape[1]
    if len(family) == 0:
        return HittingSets(np.zeros((1, words), np.uint64), True, 0)
    elements = element_slots(slots, most_slots)
    # Sets with few elements first: they are looked at first, and leave the least to choose from. Sets of about the same
    # weight side by side, so that they are weighed by the word.
    size = np.bitwise_count(family).sum(axis=1)
    by_size = np.argsort(size, kind="stable") if bound is None else np.lexsort((-bound.weights, size))
    ordered = np.ascontiguousarray(family[by_size])
    wanted = NO_BOUND if bound is None else bound._replace(weights=np.ascontiguousarray(bound.weights[by_size]))
    spared = np.zeros((0, words), np.uint64) if spare is None else np.ascontiguousarray(spare)
    problem = (
        ordered,
        sets_containing(ordered, len(slots)),
        *elements,
        deepest(elements, len(family)),
        spared,
        tuple(limits),
    )
    # Raised when time or work is up (1) or there are too many sets (2); how many words these have; whether slots were
    # too few; and how many words were looked at.
    flag = np.zeros(4, np.int64)
    with raised_after(seconds, flag):
        parts = search_branches(
            lambda path, free, stop_depth: search(*problem, tuple(wanted), -1, path, free, stop_depth, flag),
            all_elements(elements, words) if within is None else all_elements(elements, words) & within,
            len(slots),
            threads=threads,
        )
    sets = np.concatenate([part[0] for part in parts])
    nodes = sum(part[-1] for part in parts)
    return HittingSets(
        sets[np.lexsort(sets.T[::-1])], not flag[0], nodes, bool(flag[0] == 2), cut=bool(flag[2]), work=int(flag[3])
    )


_NONE = np.zeros(0, np.int64)
NO_BOUND = WeightBound(_NONE, _NONE, _NONE, np.zeros((2, 0), np.int64), 0)


@njit(cache=True, nogil=True)
def sets_containing(family, elements):  # type: ignore[no-untyped-def]
    """Per element the bit set of the sets that contain it."""
    contains = np.zeros((elements, (len(family) + 63) // 64), np.uint64)
    bit = np.uint64(1)
    for i in range(len(family)):
        for v in range(family.shape[1]):
            rest = family[i, v]
            while rest:
                contains[(v << 6) + lowest(rest), i >> 6] |= bit << np.uint64(i & 63)
                rest &= rest - bit
    return contains


@njit(cache=True, nogil=True)
def _take(element, d, contains, unhit, critical, taken_from, newly, path):  # type: ignore[no-untyped-def]
    """Adds the element as the d-th chosen one, unless one chosen before would lose its last critical set."""
    containing = contains[element]
    words = len(unhit)
    for k in range(d):
        kept = False
        for w in range(words):
            if critical[k, w] & ~containing[w]:
                kept = True
                break
        if not kept:
            return False
    lost, fresh, own = taken_from[d], newly[d], critical[d]
    for w in range(words):
        lost[w] = 0
        fresh[w] = unhit[w] & containing[w]
        own[w] = fresh[w]
        unhit[w] &= ~containing[w]
    for k in range(d):
        other = critical[k]
        for w in range(words):
            lost[w] |= other[w] & containing[w]
            other[w] &= ~containing[w]
    path[d] = element
    return True


@njit(cache=True, nogil=True)
def _spares(element, d, spared_by, unspared):  # type: ignore[no-untyped-def]
    """Whether the element, as the d-th chosen one, leaves a set unhit that so far was to be spared; with those left."""
    spares = False
    for w in range(unspared.shape[1]):
        unspared[d + 1, w] = unspared[d, w] & ~spared_by[element, w]
        spares |= unspared[d + 1, w] != 0
    return spares


@njit(cache=True, nogil=True)
def _give_back(d, contains, unhit, critical, taken_from, newly, path):  # type: ignore[no-untyped-def]
    """Undoes the d-th choice. A set that only one earlier element hit is known by that element."""
    lost, fresh = taken_from[d], newly[d]
    for w in range(len(unhit)):
        unhit[w] |= fresh[w]
    for k in range(d):
        other, containing = critical[k], contains[path[k]]
        for w in range(len(unhit)):
            other[w] |= lost[w] & containing[w]


@njit(cache=True, nogil=True)
def _narrowest(family, unhit, allowed, todo):  # type: ignore[no-untyped-def]
    """Writes to `todo` the allowed elements of an unhit set that has few of them. -1 when every set is hit."""
    words = family.shape[1]
    best, at, looked = 1 << 60, -1, 0
    for w in range(len(unhit)):
        rest = unhit[w]
        while rest:
            i = (w << 6) + lowest(rest)
            rest &= rest - np.uint64(1)
            size = 0
            for v in range(words):
                size += popcount(family[i, v] & allowed[v])
            if size < best:
                best, at = size, i
            looked += 1
            if best <= 1 or looked >= LOOK_AT:
                for v in range(words):
                    todo[v] = family[at, v] & allowed[v]
                return best
    if at < 0:
        return -1
    for v in range(words):
        todo[v] = family[at, v] & allowed[v]
    return best


@njit(cache=True, nogil=True)
def _undecided(unhit, critical, d):  # type: ignore[no-untyped-def]
    """The sets that are hit by at most one of the d chosen elements, and how many they are."""
    live = unhit.copy()
    for k in range(d):
        other = critical[k]
        for w in range(len(live)):
            live[w] |= other[w]
    size = 0
    for w in range(len(live)):
        size += popcount(live[w])
    return live, size


@njit(cache=True, nogil=True)
def _heaviest(weights):  # type: ignore[no-untyped-def]
    """Per word of a bit set of sets, the weight of the heaviest set that has its bit there."""
    most = np.zeros((len(weights) + 63) // 64, np.int64)
    for i in range(len(weights)):
        most[i >> 6] = max(most[i >> 6], weights[i])
    return most


@njit(cache=True, nogil=True)
def _weight(sets, heaviest):  # type: ignore[no-untyped-def]
    """At most how much a bit set of sets weighs: a little more than it does, since sets are in the order of weights."""
    total = np.int64(0)
    for w in range(len(sets)):
        total += popcount(sets[w]) * heaviest[w]
    return total


@njit(cache=True, nogil=True)
def _only_touched(allowed, path, d, slots, order, starts, kept):  # type: ignore[no-untyped-def]
    """Leaves of the allowed elements those of slots that the d chosen ones touch; whether it took any away."""
    kept[:] = 0
    for k in range(d):
        for at in range(starts[slots[path[k]]], starts[slots[path[k]] + 1]):
            kept[order[at] >> 6] |= np.uint64(1) << np.uint64(order[at] & 63)
    taken = False
    for v in range(len(allowed)):
        taken |= (allowed[v] & ~kept[v]) != 0
        allowed[v] &= kept[v]
    return taken


@njit(cache=True, nogil=True)
def _part(family, live, size):  # type: ignore[no-untyped-def]
    part = np.empty((size, family.shape[1]), np.uint64)
    at = 0
    for w in range(len(live)):
        rest = live[w]
        while rest:
            part[at] = family[(w << 6) + lowest(rest)]
            rest &= rest - np.uint64(1)
            at += 1
    return part


@njit(cache=True, nogil=True)
def _weights_of(weights, live, size):  # type: ignore[no-untyped-def]
    part = np.empty(size if len(weights) else 0, np.int64)
    at = 0
    for w in range(len(live) if len(weights) else 0):
        rest = live[w]
        while rest:
            part[at] = weights[(w << 6) + lowest(rest)]
            rest &= rest - np.uint64(1)
            at += 1
    return part


@njit(cache=True, nogil=True)
def _follow(d, element, slot, in_slot, unhit, heaviest, costs, points, left, opening, cost, score):  # type: ignore[no-untyped-def]
    """Writes what is left unhit, and what the choice costs, after the d-th element was taken."""
    opens = in_slot[slot] == 0
    left[d + 1] = _weight(unhit, heaviest)
    opening[d + 1] = left[d] if opens else opening[d]
    cost[d + 1] = cost[d] + (costs[slot] if opens else 0)
    score[d + 1] = score[d] + points[element]


@njit(cache=True, nogil=True)
def search(  # type: ignore[no-untyped-def]
    family,
    contains,
    slots,
    order,
    starts,
    most_slots,
    depth,
    spare,
    limits,
    bound,
    opened_at,
    start,
    free,
    stop_depth,
    flag,
):
    """Every minimal hitting set that contains `start` and otherwise only elements of `free`, and leaves one of the
    sets `spare` unhit, if there are any; with a bound, at least those that it wants. `contains` is `sets_containing` of
    the family.

    `opened_at` is the weight that was unhit when the last slot of `start` was opened, where the family is a part; else
    -1. Ends at `stop_depth` chosen elements, telling the nodes there, and when `flag` is raised. Returns the sets, the
    paths and free elements of the nodes it ended at, and how many nodes it saw.
    """
    most_words, part_after, part_from, part_share, most_work = limits
    weights, costs, points, needed, many = bound
    bounded, heaviest = len(weights) > 0, _heaviest(weights)
    words, bit, base = family.shape[1], np.uint64(1), len(start)
    sets, count = np.zeros((64, words), np.uint64), 0
    room = 64 if stop_depth <= depth else 0
    paths, frees, opened = np.zeros((room, depth), np.int64), np.zeros((room, words), np.uint64), 0
    nodes, worked = 0, np.int64(0)
    if flag[0]:
        return sets[:0], paths[:0], frees[:0], nodes
    bits = contains.shape[1]
    path = np.zeros(depth, np.int64)
    unhit = np.zeros(bits, np.uint64)
    for i in range(len(family)):
        unhit[i >> 6] |= bit << np.uint64(i & 63)
    critical = np.zeros((depth, bits), np.uint64)
    taken_from, newly = np.zeros((depth, bits), np.uint64), np.zeros((depth, bits), np.uint64)
    todo, allowed = np.zeros((depth, words), np.uint64), np.zeros((depth, words), np.uint64)
    in_slot, touched, kept = np.zeros(len(starts) - 1, np.int64), 0, np.zeros(words, np.uint64)
    # Per depth the weight that is unhit, and the one that was when the last slot was opened; cost and points.
    levels = depth + 1 if bounded else 1
    left, opening = np.zeros(levels, np.int64), np.zeros(levels, np.int64)
    cost, score = np.zeros(levels, np.int64), np.zeros(levels, np.int64)
    if bounded:
        left[0] = opening[0] = _weight(unhit, heaviest)
    for k in range(base):
        _take(start[k], k, contains, unhit, critical, taken_from, newly, path)
        slot = slots[start[k]]
        if bounded:
            _follow(k, start[k], slot, in_slot, unhit, heaviest, costs, points, left, opening, cost, score)
        touched += in_slot[slot] == 0
        in_slot[slot] += 1
    if bounded and opened_at >= 0:
        opening[base] = opened_at
    d, descend = base, True
    allowed[d] = free
    spared_by = sets_containing(spare, len(slots))
    unspared = np.zeros((depth + 1 if len(spare) else 1, spared_by.shape[1]), np.uint64)
    for i in range(len(spare)):
        unspared[0, i >> 6] |= bit << np.uint64(i & 63)
    for k in range(base if len(spare) else 0):
        _spares(start[k], k, spared_by, unspared)
    while True:
        if descend:
            descend = False
            nodes += 1
            worked += bits
            if worked > _TOLD_AFTER:
                # Seldom, since other threads write there, too.
                flag[3] += worked
                worked = np.int64(0)
                if flag[3] > most_work:
                    flag[0] = 1
            parted = False
            if d >= stop_depth:
                parted = True
                if opened == len(paths):
                    paths, frees = grown(paths), grown(frees)
                paths[opened], frees[opened] = path, allowed[d]
                opened += 1
            elif d == base + part_after and len(family) >= part_from and stop_depth > depth:
                live, size = _undecided(unhit, critical, d)
                if size * part_share <= len(family):
                    parted = True
                    part = _part(family, live, size)
                    below = search(
                        part, sets_containing(part, len(slots)), slots, order, starts, most_slots, depth, spare, limits,
                        (_weights_of(weights, live, size), costs, points, needed, many),
                        opening[d] if bounded else -1, path[:d], allowed[d], stop_depth, flag,
                    )  # fmt: skip
                    nodes += below[3]
                    while count + len(below[0]) > len(sets):
                        sets = grown(sets)
                    sets[count : count + len(below[0])] = below[0]
                    count += len(below[0])
            if not parted:
                size = _narrowest(family, unhit, allowed[d], todo[d])
                if size >= 0:
                    allowed[d] &= ~todo[d]
                else:
                    if count == len(sets):
                        sets = grown(sets)
                    for k in range(d):
                        sets[count, path[k] >> 6] |= bit << np.uint64(path[k] & 63)
                    count += 1
                    flag[1] += words
                    if flag[1] > most_words:
                        flag[0] = 2
        element = -1
        for v in range(words):
            if todo[d, v]:
                element = (v << 6) + lowest(todo[d, v])
                todo[d, v] &= todo[d, v] - bit
                break
        if flag[0] or (element < 0 and d == base):
            flag[3] += worked
            # Copies: with many words, room for 64 lines per branch would add up.
            return sets[:count].copy(), paths[:opened].copy(), frees[:opened].copy(), nodes
        if element < 0:
            d -= 1
            slot = slots[path[d]]
            in_slot[slot] -= 1
            touched -= in_slot[slot] == 0
            _give_back(d, contains, unhit, critical, taken_from, newly, path)
            # From here on the others may be joined by this one. (One that would have left another without a critical
            # set never comes back: it would do so in every larger choice.)
            allowed[d, path[d] >> 6] |= bit << np.uint64(path[d] & 63)
        elif len(spare) and not _spares(element, d, spared_by, unspared):
            pass  # nor would any larger choice
        elif _take(element, d, contains, unhit, critical, taken_from, newly, path):
            slot = slots[element]
            if bounded:
                _follow(d, element, slot, in_slot, unhit, heaviest, costs, points, left, opening, cost, score)
            touched += in_slot[slot] == 0
            in_slot[slot] += 1
            d += 1
            allowed[d] = allowed[d - 1]
            todo[d] = 0
            if in_slot[slot] == starts[slot + 1] - starts[slot] - 1:
                for at in range(starts[slot], starts[slot + 1]):
                    allowed[d, order[at] >> 6] &= ~(bit << np.uint64(order[at] & 63))
            descend = True
            may_open = True
            if bounded:
                line = 1 if score[d] >= many else 0
                may_open = left[d] >= needed[line, cost[d] + 1]
                if not may_open and opening[d] < needed[line, cost[d]]:
                    # Neither this choice nor a larger one is wanted. Nothing is to do at this node.
                    descend = False
            if descend and (touched >= most_slots or not may_open):
                taken = _only_touched(allowed[d], path, d, slots, order, starts, kept)
                if taken and may_open:
                    flag[2] = 1
