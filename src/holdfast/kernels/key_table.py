"""Keys to slots: a table of slots, open to the next free place, over the codes that rows have in their key columns."""

from __future__ import annotations

import numpy as np
from numba import njit

from holdfast.kernels.runs import row_hash

FREE, LEFT = -1, -2


@njit(cache=True, nogil=True)
def find_keys(table, stored, codes, columns, row_slots):  # type: ignore[no-untyped-def]
    """Per row of codes the slot of the stored row that has the same key, or -1, in `row_slots`."""
    mask = len(table) - 1
    for i in range(len(codes)):
        at = np.int64(row_hash(codes, codes, i, columns, False) & np.uint64(mask))
        row_slots[i] = -1
        while table[at] != FREE:
            slot = table[at]
            if slot >= 0:
                same = True
                for column in columns:
                    if stored[slot, column] != codes[i, column]:
                        same = False
                        break
                if same:
                    row_slots[i] = slot
                    break
            at = (at + 1) & mask


@njit(cache=True, nogil=True)
def add_keys(table, stored, slots, columns):  # type: ignore[no-untyped-def]
    """How many free places the slots, whose keys are not in the table, have taken."""
    mask = len(table) - 1
    taken = 0
    for slot in slots:
        at = np.int64(row_hash(stored, stored, slot, columns, False) & np.uint64(mask))
        while table[at] >= 0:
            at = (at + 1) & mask
        taken += table[at] == FREE
        table[at] = slot
    return taken


@njit(cache=True, nogil=True)
def remove_keys(table, stored, slots, columns):  # type: ignore[no-untyped-def]
    """The places of the slots, which are in the table, are left: passed over in a search."""
    mask = len(table) - 1
    for slot in slots:
        at = np.int64(row_hash(stored, stored, slot, columns, False) & np.uint64(mask))
        while table[at] != slot:
            at = (at + 1) & mask
        table[at] = LEFT
