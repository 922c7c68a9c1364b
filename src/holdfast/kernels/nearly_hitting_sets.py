"""Minimal choices of elements that meet a family of weighted sets but for a small weight.

A choice is *good* when the sets it does not meet weigh at most the budget, and minimal when no good choice is inside
it: exactly when leaving out any one element makes it bad, since a larger choice misses no more. So what an element
alone meets (its critical sets) need not weigh more than the budget; it must do so *together* with what nothing meets.
That an element has a critical set decides only where the budget is 0.

The search is of the kind of MMCS (Murakami and Uno, 2014), as in ADCEnum and FastADC for approximate constraints. Where
those pick one unmet set and branch on meeting it or giving it up, we pick several that together weigh more than may be
missed: their union has to be met, and there is nothing to give up. At a node the weight that every next element would
leave is known at once, so that good choices are told without a node of their own, elements that could only lead to
choices that are not minimal are left out below, and a node ends when all that is left to choose from could not make it
good.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holdfast.kernels.bits import lowest, popcount
from holdfast.kernels.flag import raised_after
from holdfast.kernels.slot_search import MOST_WORDS, all_elements, deepest, element_slots, grown, search_branches

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

# Up to so many slots it is worth asking, at every node, which of them could still make a choice good.
MOST_BOUNDED = 8


@dataclass(frozen=True)
class NearlyHittingSets:
    """Minimal good choices as lines of words, in order, and the weight of the sets each of them does not meet.

    All of them when `complete`, else the search ran out of time, or there were `too_many` to keep.
    """

    sets: Words
    missed: Ints
    complete: bool
    nodes: int
    too_many: bool = False


def nearly_hitting_sets(
    family: Words,
    weights: Ints,
    slots: Ints,
    *,
    budget: int,
    most_slots: int | None = None,
    threads: int = 1,
    seconds: float | None = None,
    most_words: int = MOST_WORDS,
) -> NearlyHittingSets:
    """All minimal choices that take no slot whole and miss sets of at most the budget's weight.

    `family` has a line of words per set, bit b of it for element b; `slots` gives each element's slot. Weights are
    above 0. With `most_slots`, only those that touch at most that many slots. After `seconds`, or with more than
    `most_words` words of choices, the search ends, and says so; what it has found by then is minimal. With a budget of
    0 these are the minimal hitting sets.
    """
    total = int(weights.sum())
    if total <= budget:
        nothing = np.zeros((1, family.shape[1]), np.uint64)
        return NearlyHittingSets(nothing, np.array([total], np.int64), True, 0)
    elements = element_slots(slots, most_slots)
    problem = (
        np.ascontiguousarray(family), np.ascontiguousarray(weights, np.int64), *elements,
        deepest(elements, len(family)), budget, most_words,
    )  # fmt: skip
    # Raised when time is up (1) or there are too many choices (2); and how many words these have.
    flag = np.zeros(2, np.int64)
    with raised_after(seconds, flag):
        parts = search_branches(
            lambda path, free, stop_depth: _search(*problem, path, free, stop_depth, flag),
            all_elements(elements, family.shape[1]),
            len(slots),
            threads=threads,
        )
    sets, missed = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    order = np.lexsort(sets.T[::-1])
    nodes = sum(part[-1] for part in parts)
    return NearlyHittingSets(sets[order], missed[order], not flag[0], nodes, too_many=bool(flag[0] == 2))


@njit(cache=True, nogil=True)
def _longer(values):  # type: ignore[no-untyped-def]
    larger = np.zeros(2 * len(values), values.dtype)
    larger[: len(values)] = values
    return larger


@njit(cache=True, nogil=True)
def _place(bits, labels, first, table, epoch, mask, line, label):  # type: ignore[no-untyped-def]
    """The entry of this node, from `first` on, with this label and these bits; or a free place of the table, as
    -1 - place."""
    h = np.uint64(label + 2)
    for w in range(len(line)):
        h = (h ^ line[w]) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
    at = np.int64(h & np.uint64(mask))
    while table[at] >> 32 == epoch:
        i = first + (table[at] & np.int64(0xFFFFFFFF))
        if labels[i] == label:
            same = True
            for w in range(len(line)):
                same &= bits[i, w] == line[w]
            if same:
                return i
        at = (at + 1) & mask
    return -1 - at


@njit(cache=True, nogil=True)
def _must_meet(bits, weights, labels, first, last, free, left, union):  # type: ignore[no-untyped-def]
    """Writes to `union` the free elements of unmet sets that together weigh more than `left`; few elements.

    Starts with the heaviest set, and adds the one that brings the fewest elements.
    """
    words = bits.shape[1]
    best, heaviest = -1, np.int64(-1)
    for i in range(first, last):
        if labels[i] < 0 and weights[i] > heaviest:
            has_free = False
            for w in range(words):
                has_free |= bits[i, w] & free[w] != 0
            if has_free:
                best, heaviest = i, weights[i]
    union[:] = 0
    while True:
        for w in range(words):
            union[w] |= bits[best, w] & free[w]
        inside, best, fewest, heaviest = np.int64(0), -1, 1 << 60, np.int64(-1)
        for i in range(first, last):
            if labels[i] >= 0:
                continue
            more, has_free = 0, False
            for w in range(words):
                here = bits[i, w] & free[w]
                has_free |= here != 0
                more += popcount(here & ~union[w])
            if more == 0:
                if has_free:
                    inside += weights[i]
            elif more < fewest or (more == fewest and weights[i] > heaviest):
                best, fewest, heaviest = i, more, weights[i]
        if inside > left:
            return


@njit(cache=True, nogil=True)
def _fits_slots(in_reach, in_slot, also, more, fixed, need, fits):  # type: ignore[no-untyped-def]
    """Whether `more` slots that are not touched yet could meet, beside `fixed`, a weight of `need`; writes to `fits`
    which slots may be among them. `in_reach` is what each slot could meet at most; slot `also` counts as touched."""
    best, total = 0, np.int64(0)
    # The best slots, as many as may be taken: the least of them makes room for any other.
    least = np.int64(0)
    fits[:] = False
    for _ in range(more):
        at = -1
        for slot in range(len(in_reach)):
            if in_slot[slot] == 0 and slot != also and not fits[slot] and (at < 0 or in_reach[slot] > in_reach[at]):
                at = slot
        if at < 0:
            break
        fits[at] = True
        total += in_reach[at]
        least = in_reach[at]
        best += 1
    if fixed + total < need:
        return False
    for slot in range(len(in_reach)):
        if in_slot[slot] > 0 or slot == also:
            fits[slot] = True
        elif not fits[slot]:
            fits[slot] = best > 0 and fixed + total - least + in_reach[slot] >= need
    return True


@njit(cache=True, nogil=True)
def _search(  # type: ignore[no-untyped-def]
    family, family_weights, slots, order, starts, most_slots, depth, budget, most_words, start, free, stop_depth, flag
):
    """Every minimal good choice that contains `start` and otherwise only elements of `free`.

    Ends at `stop_depth` chosen elements, telling the nodes there, and when `flag` is raised. Returns the choices, what
    each misses, the paths and free elements of the nodes it ended at, and how many nodes it saw.

    A node has a list of sets: those that no chosen element meets (label -1), and those that one alone does (labelled
    with its place in the path), each cut down to the elements that are still free, equal ones added up. Sets without
    such an element are weights only: `lost` where nothing meets them, `firm` where one does.
    """
    words, bit, base = family.shape[1], np.uint64(1), len(start)
    sets, missed, set_count = np.zeros((64, words), np.uint64), np.zeros(64, np.int64), 0
    room = 64 if stop_depth <= depth else 0
    paths, frees, opened = np.zeros((room, depth), np.int64), np.zeros((room, words), np.uint64), 0
    nodes = 0
    if flag[0]:
        return sets[:0], missed[:0], paths[:0], frees[:0], nodes

    size = 2
    while size < 2 * len(family) + 2:
        size *= 2
    table, epoch = np.zeros(size, np.int64), np.int64(0)
    bits = np.zeros((len(family) + 1, words), np.uint64)
    weights, labels = np.zeros(len(family) + 1, np.int64), np.zeros(len(family) + 1, np.int32)
    levels = 16
    while levels < base + 2:
        levels *= 2
    first, last = np.zeros(depth + 1, np.int64), np.zeros(depth + 1, np.int64)
    lost = np.zeros(depth + 1, np.int64)
    firm = np.zeros((levels, levels), np.int64)
    hits, total = np.zeros((levels, len(slots)), np.int64), np.zeros(levels, np.int64)
    allowed = np.zeros((levels, words), np.uint64)
    # The branches of all nodes on the path, one after the other.
    branches, branch_first, branch_at = (
        np.zeros(256, np.int64),
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1, np.int64),
    )
    branch_last = np.zeros(depth + 1, np.int64)
    path = np.zeros(depth, np.int64)
    in_slot, touched = np.zeros(len(starts) - 1, np.int64), 0
    line, union, below = np.zeros(words, np.uint64), np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    ids = np.zeros(len(slots), np.int64)
    # Where only so many slots may be touched: per node what each slot could meet at most.
    count_slots = len(starts) - 1
    bounded = most_slots < count_slots and most_slots <= MOST_BOUNDED
    in_reach = np.zeros((levels, count_slots if bounded else 1), np.int64)
    free_in, least_in = np.zeros(count_slots, np.int64), np.zeros(count_slots, np.int64)
    fits, unmets = np.zeros(count_slots, np.bool_), np.zeros(depth + 1, np.int64)
    branch_meets = np.zeros(256, np.int64)

    for k in range(base):
        path[k] = start[k]
        touched += in_slot[slots[start[k]]] == 0
        in_slot[slots[start[k]]] += 1
    # The list of the first node.
    epoch += 1
    count = 0
    for i in range(len(family)):
        label, met = -1, 0
        for k in range(base):
            if family[i, start[k] >> 6] >> np.uint64(start[k] & 63) & bit:
                label, met = k, met + 1
        if met > 1:
            continue
        nonzero = False
        for w in range(words):
            line[w] = family[i, w] & free[w]
            nonzero |= line[w] != 0
        if not nonzero:
            if label < 0:
                lost[base] += family_weights[i]
            else:
                firm[base, label] += family_weights[i]
            continue
        at = _place(bits, labels, 0, table, epoch, size - 1, line, label)
        if at >= 0:
            weights[at] += family_weights[i]
        else:
            table[-1 - at] = epoch << 32 | count
            bits[count], weights[count], labels[count] = line, family_weights[i], label
            count += 1
    first[base], last[base] = 0, count
    allowed[base] = free
    d, enter = base, lost[base] <= budget
    if not enter:
        return sets[:0], missed[:0], paths[:0], frees[:0], 1
    while True:
        if enter:
            enter = False
            nodes += 1
            branch_first[d] = branch_last[d - 1] if d > base else 0
            branch_at[d] = branch_last[d] = branch_first[d]
            if d >= stop_depth:
                if opened == len(paths):
                    paths, frees = grown(paths), grown(frees)
                paths[opened], frees[opened] = path, allowed[d]
                opened += 1
            else:
                # The weight that each free element would meet: of unmet sets, and of each chosen one's critical sets.
                n = 0
                for w in range(words):
                    rest = allowed[d, w]
                    while rest:
                        ids[n] = (w << 6) + lowest(rest)
                        rest &= rest - bit
                        n += 1
                for k in range(d + 1):
                    total[k] = 0
                    for j in range(n):
                        hits[k, ids[j]] = 0
                for i in range(first[d], last[d]):
                    row, weight = labels[i] + 1, weights[i]
                    total[row] += weight
                    for w in range(words):
                        rest = bits[i, w]
                        while rest:
                            hits[row, (w << 6) + lowest(rest)] += weight
                            rest &= rest - bit
                unmet = lost[d] + total[0]
                # Elements leave that would meet nothing new, leave another one without anything it alone meets, or
                # make the choice good: it is told if it is minimal, and nothing larger is.
                for j in range(n):
                    e = ids[j]
                    left = unmet - hits[0, e]
                    stays = hits[0, e] > 0
                    minimal = stays
                    for k in range(d):
                        own = firm[d, k] + total[k + 1] - hits[k + 1, e]
                        if own == 0:
                            stays = minimal = False
                            break
                        if left + own <= budget:
                            minimal = False
                            break
                    if stays and left <= budget and minimal:
                        if set_count == len(sets):
                            sets, missed = grown(sets), _longer(missed)
                        for k in range(d):
                            sets[set_count, path[k] >> 6] |= bit << np.uint64(path[k] & 63)
                        sets[set_count, e >> 6] |= bit << np.uint64(e & 63)
                        missed[set_count] = left
                        set_count += 1
                        flag[1] += words
                        if flag[1] > most_words:
                            flag[0] = 2
                    if not stays or left <= budget:
                        allowed[d, e >> 6] &= ~(bit << np.uint64(e & 63))
                gone = lost[d]
                unmets[d] = unmet
                if bounded:
                    in_reach[d, :] = 0
                    free_in[:] = 0
                    for j in range(n):
                        e = ids[j]
                        if allowed[d, e >> 6] >> np.uint64(e & 63) & bit:
                            slot = slots[e]
                            in_reach[d, slot] += hits[0, e]
                            if free_in[slot] == 0 or hits[0, e] < least_in[slot]:
                                least_in[slot] = hits[0, e]
                            free_in[slot] += 1
                    fixed = np.int64(0)
                    for slot in range(count_slots):
                        if in_slot[slot] > 0:
                            fixed += in_reach[d, slot]
                        elif free_in[slot] == starts[slot + 1] - starts[slot]:
                            in_reach[d, slot] -= least_in[slot]  # one element of a slot stays
                    if not _fits_slots(in_reach[d], in_slot, -1, most_slots - touched, fixed, unmet - budget, fits):
                        gone = budget + 1
                    else:
                        for j in range(n):
                            if not fits[slots[ids[j]]]:
                                allowed[d, ids[j] >> 6] &= ~(bit << np.uint64(ids[j] & 63))
                for i in range(first[d], last[d] if gone <= budget else first[d]):
                    if labels[i] < 0:
                        nonzero = False
                        for w in range(words):
                            nonzero |= bits[i, w] & allowed[d, w] != 0
                        if not nonzero:
                            gone += weights[i]
                if gone <= budget:
                    _must_meet(bits, weights, labels, first[d], last[d], allowed[d], budget - gone, union)
                    # Those that meet the least first: they get the fewest others beside them.
                    end = branch_first[d]
                    for w in range(words):
                        rest = union[w]
                        while rest:
                            e = (w << 6) + lowest(rest)
                            rest &= rest - bit
                            if end == len(branches):
                                branches, branch_meets = _longer(branches), _longer(branch_meets)
                            at = end
                            while at > branch_first[d] and branch_meets[at - 1] > hits[0, e]:
                                branches[at], branch_meets[at] = branches[at - 1], branch_meets[at - 1]
                                at -= 1
                            branches[at], branch_meets[at] = e, hits[0, e]
                            end += 1
                        allowed[d, w] &= ~union[w]
                    branch_last[d] = end
        if flag[0] or (d == base and branch_at[d] == branch_last[d]):
            return (
                sets[:set_count].copy(),
                missed[:set_count].copy(),
                paths[:opened].copy(),
                frees[:opened].copy(),
                nodes,
            )
        if branch_at[d] == branch_last[d]:
            d -= 1
            slot = slots[path[d]]
            in_slot[slot] -= 1
            touched -= in_slot[slot] == 0
            # From here on the others may be joined by this one.
            allowed[d, path[d] >> 6] |= bit << np.uint64(path[d] & 63)
            continue
        element, meets = branches[branch_at[d]], branch_meets[branch_at[d]]
        branch_at[d] += 1
        slot = slots[element]
        for w in range(words):
            below[w] = allowed[d, w]
        if in_slot[slot] + 1 == starts[slot + 1] - starts[slot] - 1:
            for at in range(starts[slot], starts[slot + 1]):
                below[order[at] >> 6] &= ~(bit << np.uint64(order[at] & 63))
        if touched + (in_slot[slot] == 0) >= most_slots:
            union[:] = 0
            for k in range(d + 1):
                path_slot = slots[path[k]] if k < d else slot
                for at in range(starts[path_slot], starts[path_slot + 1]):
                    union[order[at] >> 6] |= bit << np.uint64(order[at] & 63)
            for w in range(words):
                below[w] &= union[w]
        if bounded:
            fixed = in_reach[d, slot] - meets if in_slot[slot] == 0 else -meets
            for other in range(count_slots):
                if in_slot[other] > 0:
                    fixed += in_reach[d, other]
            left, more = unmets[d] - meets, most_slots - touched - (in_slot[slot] == 0)
            if not _fits_slots(in_reach[d], in_slot, slot, more, fixed, left - budget, fits):
                allowed[d, element >> 6] |= bit << np.uint64(element & 63)
                continue
            for w in range(words):
                rest = below[w]
                while rest:
                    e = (w << 6) + lowest(rest)
                    rest &= rest - bit
                    if not fits[slots[e]]:
                        below[w] &= ~(bit << np.uint64(e & 63))
        if d + 2 > levels:
            wider = np.zeros((2 * levels, 2 * levels), np.int64)
            wider[:levels, :levels] = firm
            firm, hits, allowed, total = wider, grown(hits), grown(allowed), _longer(total)
            in_reach = grown(in_reach)
            levels *= 2
        # The list below: what the element meets becomes critical for it, or is met twice and leaves.
        epoch += 1
        size = 2
        while size < 2 * (last[d] - first[d]) + 2:
            size *= 2
        start_at, count, out = last[d], 0, lost[d]
        for k in range(d):
            firm[d + 1, k] = firm[d, k]
        firm[d + 1, d] = 0
        while len(bits) < last[d] + (last[d] - first[d]):
            bits, weights, labels = grown(bits), _longer(weights), _longer(labels)
        for i in range(first[d], last[d]):
            label = labels[i]
            if bits[i, element >> 6] >> np.uint64(element & 63) & bit:
                if label >= 0:
                    continue
                label = d
            nonzero = False
            for w in range(words):
                line[w] = bits[i, w] & below[w]
                nonzero |= line[w] != 0
            if not nonzero:
                if label < 0:
                    out += weights[i]
                    if out > budget:
                        break
                else:
                    firm[d + 1, label] += weights[i]
                continue
            at = _place(bits, labels, start_at, table, epoch, size - 1, line, label)
            if at >= 0:
                weights[at] += weights[i]
            else:
                table[-1 - at] = epoch << 32 | count
                to = start_at + count
                for w in range(words):
                    bits[to, w] = line[w]
                weights[to], labels[to] = weights[i], label
                count += 1
        if out > budget:
            # What is left to choose from could not make it good.
            allowed[d, element >> 6] |= bit << np.uint64(element & 63)
            continue
        path[d] = element
        touched += in_slot[slot] == 0
        in_slot[slot] += 1
        d += 1
        first[d], last[d], lost[d] = start_at, start_at + count, out
        for w in range(words):
            allowed[d, w] = below[w]
        enter = True
