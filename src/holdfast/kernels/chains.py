"""Rows in chains that rise in two columns at once, so that two inequalities are met by a range of each chain.

As in IncDC (6.1): fewest chains possible, built by one pass over the rows in order of the first column, each row going
to the chain whose last value in the second column is the closest below its own.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# How a value of the row that asks stands to those it asks for.
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = range(4)


def fewest_chains(x: Ints, y: Ints, *, x_strictly: bool, y_strictly: bool) -> tuple[Ints, int]:
    """Per place, (x, y) all different, the number of its chain, and how many chains there are: along a chain both
    values rise, strictly or not as asked. No cover by such chains has fewer. Cost: two sorts, and a search per place.
    """
    # Places of one x follow each other in a chain only where x may stay; then y has to rise among them.
    order = np.lexsort((~y if x_strictly else y, x))
    chains, count = _fewest_chains(y[order], y_strictly)
    chain_of_place = np.empty(len(x), np.int64)
    chain_of_place[order] = chains
    return chain_of_place, int(count)


@njit(cache=True, nogil=True)
def _fewest_chains(y, strictly):  # type: ignore[no-untyped-def]
    """Chains in the order given. Their last values fall from the first to the last chain by number of making."""
    chains, last, which = np.empty(len(y), np.int64), np.empty(len(y), np.int64), np.empty(len(y), np.int64)
    count = 0
    for i in range(len(y)):
        # The last values, from the greatest to the least: the first that is small enough is the closest below.
        low, high = 0, count
        while low < high:
            middle = (low + high) >> 1
            if last[middle] < y[i] or (not strictly and last[middle] == y[i]):
                high = middle
            else:
                low = middle + 1
        if low == count:
            which[count] = count
            count += 1
        last[low] = y[i]
        chains[i] = which[low]
    return chains, count


@njit(cache=True, nogil=True)
def _until(values, start, end, value, equal):  # type: ignore[no-untyped-def]
    """The end of those from `start` to `end` that are smaller, or with `equal` not greater."""
    while start < end:
        middle = (start + end) >> 1
        if values[middle] < value or (equal and values[middle] == value):
            start = middle + 1
        else:
            end = middle
    return start


@njit(cache=True, nogil=True)
def met_ranges(x, y, starts, values_x, values_y, op_x, op_y):  # type: ignore[no-untyped-def]
    """Per row that asks and chain, where those begin and end that it stands to as asked, in both values.

    The value that asks is on the left: it is LESS than all from some place on, GREATER than all before some place.
    """
    chains = len(starts) - 1
    begin, end = np.empty((len(values_x), chains), np.int64), np.empty((len(values_x), chains), np.int64)
    for i in range(len(values_x)):
        for c in range(chains):
            first, last = starts[c], starts[c + 1]
            for values, value, op in ((x, values_x[i], op_x), (y, values_y[i], op_y)):
                if op in (LESS, LESS_EQUAL):
                    first = max(first, _until(values, starts[c], starts[c + 1], value, op == LESS))
                else:
                    last = min(last, _until(values, starts[c], starts[c + 1], value, op == GREATER_EQUAL))
            begin[i, c], end[i, c] = first, max(first, last)
    return begin, end


@njit(cache=True, nogil=True)
def _place_of(x, y, start, end, a, b):  # type: ignore[no-untyped-def]
    """The first place of a chain that does not come before (a, b)."""
    while start < end:
        middle = (start + end) >> 1
        if x[middle] < a or (x[middle] == a and y[middle] < b):
            start = middle + 1
        else:
            end = middle
    return start


@njit(cache=True, nogil=True)
def _rises(x, y, a, b, x_strictly, y_strictly):  # type: ignore[no-untyped-def]
    """Whether (a, b) may come after (x, y) in a chain, or is the same place."""
    if x == a and y == b:
        return True
    return (x < a or (x == a and not x_strictly)) and (y < b or (y == b and not y_strictly))


@njit(cache=True, nogil=True)
def join_chains(x, y, starts, new_x, new_y, x_strictly, y_strictly):  # type: ignore[no-untyped-def]
    """Per new row, which come in order of x and then y, the chain it joins and the place it is put before, and how many
    chains there are then. Equal rows share a place; another joins the longest chain that it fits, or begins one.
    """
    chains = len(starts) - 1
    room = chains + len(new_x)
    size, last_x, last_y = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    grown, by_size = np.zeros(room, np.bool_), np.empty(room, np.int64)
    for c in range(chains):
        size[c] = starts[c + 1] - starts[c]
    order = np.argsort(-size[:chains], kind="mergesort")
    by_size[:chains] = order
    joined, at = np.empty(len(new_x), np.int64), np.empty(len(new_x), np.int64)
    for i in range(len(new_x)):
        a, b, chain, fits = new_x[i], new_y[i], -1, -1
        for rank in range(chains):
            c = by_size[rank]
            old = c < len(starts) - 1
            place = _place_of(x, y, starts[c], starts[c + 1], a, b) if old else len(x)
            if old and place < starts[c + 1] and x[place] == a and y[place] == b:
                chain, at[i] = c, place
                break
            if grown[c] and last_x[c] == a and last_y[c] == b:
                chain, at[i] = c, place
                break
            if fits >= 0:
                continue
            after = not old or place == starts[c] or _rises(x[place - 1], y[place - 1], a, b, x_strictly, y_strictly)
            before = not old or place == starts[c + 1] or _rises(a, b, x[place], y[place], x_strictly, y_strictly)
            since = not grown[c] or _rises(last_x[c], last_y[c], a, b, x_strictly, y_strictly)
            if after and before and since:
                fits, at[i] = c, place
        if chain < 0:
            chain = fits
        if chain < 0:
            chain, at[i] = chains, len(x)
            by_size[chains] = chains
            chains += 1
        elif chain == fits and chain < len(starts) - 1:
            at[i] = _place_of(x, y, starts[chain], starts[chain + 1], a, b)
        joined[i], grown[chain], last_x[chain], last_y[chain] = chain, True, a, b
    return joined, at, chains


@njit(cache=True, nogil=True)
def places_of_rows(x, y, ids, starts, gone_x, gone_y, gone_ids):  # type: ignore[no-untyped-def]
    """Where the rows with these values and ids are; -1 where they are not."""
    places = np.full(len(gone_ids), -1, np.int64)
    for i in range(len(gone_ids)):
        for c in range(len(starts) - 1):
            at = _place_of(x, y, starts[c], starts[c + 1], gone_x[i], gone_y[i])
            while at < starts[c + 1] and x[at] == gone_x[i] and y[at] == gone_y[i]:
                if ids[at] == gone_ids[i]:
                    places[i] = at
                at += 1
            if places[i] >= 0:
                break
    return places
