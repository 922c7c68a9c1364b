"""Minimal hitting sets when sets join the family: those that miss one of them are extended, the others stay.

A minimal hitting set of the larger family contains one of the smaller, since it hits that, too; where it is none of
those, it contains one that misses a new set. So the old ones that miss some are each joined by what hits the new sets
they miss, and of all that, what contains another hitting set goes. (Berge, 1989, takes one new set at a time; IncDC
strengthens rules so.) The family itself is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holdfast.kernels.bits import lowest, popcount
from holdfast.kernels.hitting_sets import DEFAULT_LIMITS, search, sets_containing
from holdfast.kernels.slot_search import NO_END, element_slots, grown

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ExtendedSets:
    """Hitting sets that contain a set which missed one of the new sets: a line of words each, and which one.

    Not `complete` when there were too many to keep.
    """

    sets: Words
    extended: Ints
    complete: bool


def extended_sets(
    missing: Words, others: Words, new: Words, slots: Ints, *, most_slots: int | None = None
) -> ExtendedSets:
    """What becomes of hitting sets that miss some of the `new` sets: all ways to hit those as well, with no element
    too many, that contain none of the `others`, take no slot whole and touch at most `most_slots`.

    `others` hit everything. Some of what is found may contain other parts of it: see `contained_in`. Cost: per missing
    set a look at all others and all new sets, and a search among the new ones it misses.
    """
    # Sets with few elements first: they leave the least to choose from.
    small_first = np.argsort(np.bitwise_count(new).sum(axis=1), kind="stable")
    sets, which, complete = _extended(
        np.ascontiguousarray(missing),
        np.ascontiguousarray(others),
        np.ascontiguousarray(new[small_first]),
        *element_slots(slots, most_slots),
        tuple(DEFAULT_LIMITS),
    )
    return ExtendedSets(sets, which, bool(complete))


def first_missed(sets: Words, new: Words) -> Ints:
    """Per set, which is the first of the new ones that it has no element in common with; -1 where there is none."""
    return np.asarray(_first_missed(np.ascontiguousarray(sets), np.ascontiguousarray(new)), np.int64)


def contained_in(sets: Words, others: Words, *, strictly: bool = False) -> Ints:
    """Per set, which of the others, none of them empty, it contains, -1 for none; with `strictly`, a smaller one."""
    if len(sets) == 0 or len(others) == 0:
        return np.full(len(sets), -1, np.int64)
    # A set that is contained has its lowest element in the other: only those are compared.
    lowest_of = np.asarray(_lowest_elements(np.ascontiguousarray(others)), np.int64)
    by = np.argsort(lowest_of, kind="stable")
    starts = np.searchsorted(lowest_of[by], np.arange(64 * sets.shape[1] + 1))
    contained = _contained_in(np.ascontiguousarray(sets), np.ascontiguousarray(others[by]), starts, strictly)
    return np.where(contained < 0, -1, by[np.maximum(contained, 0)])


@njit(cache=True, nogil=True)
def _first_missed(sets, new):  # type: ignore[no-untyped-def]
    missed = np.full(len(sets), -1, np.int64)
    for i in range(len(sets)):
        for k in range(len(new)):
            common = np.uint64(0)
            for w in range(sets.shape[1]):
                common |= sets[i, w] & new[k, w]
            if common == 0:
                missed[i] = k
                break
    return missed


@njit(cache=True, nogil=True)
def _lowest_elements(sets):  # type: ignore[no-untyped-def]
    elements = np.zeros(len(sets), np.int64)
    for i in range(len(sets)):
        for w in range(sets.shape[1]):
            if sets[i, w]:
                elements[i] = 64 * w + lowest(sets[i, w])
                break
    return elements


@njit(cache=True, nogil=True)
def _contains(words, part, strictly):  # type: ignore[no-untyped-def]
    more = False
    for w in range(len(words)):
        if part[w] & ~words[w]:
            return False
        more |= words[w] != part[w]
    return more or not strictly


@njit(cache=True, nogil=True)
def _contained_in(sets, others, starts, strictly):  # type: ignore[no-untyped-def]
    contained = np.full(len(sets), -1, np.int64)
    for i in range(len(sets)):
        for w in range(sets.shape[1]):
            rest = sets[i, w]
            while rest and contained[i] < 0:
                element = 64 * w + lowest(rest)
                rest &= rest - np.uint64(1)
                for k in range(starts[element], starts[element + 1]):
                    if _contains(sets[i], others[k], strictly):
                        contained[i] = k
                        break
            if contained[i] >= 0:
                break
    return contained


@njit(cache=True, nogil=True)
def _free_elements(chosen, others, slots, order, starts, most_slots):  # type: ignore[no-untyped-def]
    """The elements that may join a set: not its own, none that makes it contain another, none that its slots forbid."""
    width = len(chosen)
    free = np.zeros(width, np.uint64)
    bit = np.uint64(1)
    taken, touched = np.zeros(len(starts) - 1, np.int64), 0
    for element in range(len(slots)):
        if chosen[element >> 6] >> np.uint64(element & 63) & bit:
            touched += taken[slots[element]] == 0
            taken[slots[element]] += 1
    for slot in range(len(starts) - 1):
        if taken[slot] < starts[slot + 1] - starts[slot] - 1 and (taken[slot] or touched < most_slots):
            for at in range(starts[slot], starts[slot + 1]):
                free[order[at] >> 6] |= bit << np.uint64(order[at] & 63)
    for w in range(width):
        free[w] &= ~chosen[w]
    for k in range(len(others)):
        size, at, rest = 0, 0, np.uint64(0)
        for w in range(width):
            more = others[k, w] & ~chosen[w]
            if more:
                size += popcount(more)
                at, rest = w, more
        if size == 1:
            free[at] &= ~rest
    return free


@njit(cache=True, nogil=True)
def _fits(chosen, slots, starts, most_slots):  # type: ignore[no-untyped-def]
    taken, touched = np.zeros(len(starts) - 1, np.int64), 0
    for element in range(len(slots)):
        if chosen[element >> 6] >> np.uint64(element & 63) & np.uint64(1):
            slot = slots[element]
            touched += taken[slot] == 0
            taken[slot] += 1
            if taken[slot] == starts[slot + 1] - starts[slot]:
                return False
    return touched <= most_slots


@njit(cache=True, nogil=True)
def _extended(missing, others, new, slots, order, starts, most_slots, limits):  # type: ignore[no-untyped-def]
    words = missing.shape[1]
    sets, which, count = np.zeros((64, words), np.uint64), np.zeros((64, 1), np.int64), 0
    none, flag = np.zeros(0, np.int64), np.zeros(4, np.int64)
    unbounded = (none, none, none, np.zeros((2, 0), np.int64), 0)
    nothing = np.zeros((0, words), np.uint64)
    missed = np.zeros((len(new), words), np.uint64)
    for i in range(len(missing)):
        many = 0
        for k in range(len(new)):
            common = np.uint64(0)
            for w in range(words):
                common |= missing[i, w] & new[k, w]
            if common == 0:
                missed[many] = new[k]
                many += 1
        free = _free_elements(missing[i], others, slots, order, starts, most_slots)
        depth = min(len(slots), many) + 2
        left = missed[:many]
        joins = search(
            left, sets_containing(left, len(slots)), slots, order, starts, most_slots, depth, nothing, limits,
            unbounded, np.int64(-1), none, free, np.int64(NO_END), flag,
        )[0]  # fmt: skip
        for k in range(len(joins)):
            if count == len(sets):
                sets, which = grown(sets), grown(which)
            for w in range(words):
                sets[count, w] = missing[i, w] | joins[k, w]
            if _fits(sets[count], slots, starts, most_slots):
                which[count, 0] = i
                count += 1
            else:
                sets[count] = 0
    return sets[:count].copy(), which[:count, 0].copy(), flag[0] == 0
