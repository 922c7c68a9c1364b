"""What searches for hitting sets share: elements in slots, branches for several threads, lines that grow."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

# A search ends with so many words of sets: a gigabyte. Nobody reads that many, and memory has an end.
MOST_WORDS = 1 << 27
NO_END = 1 << 40
_BRANCHES = 64
# A node may have as many branches as there are elements, each with a line of words: beyond, one thread goes alone.
_MOST_TO_SHARE = 1 << 14


class ElementSlots(NamedTuple):
    """The slot of each element; per slot its elements, `order[starts[s] : starts[s + 1]]`; and how many slots a choice
    may touch."""

    of: Ints
    order: Ints
    starts: Ints
    most: int


def element_slots(slots: Ints, most_slots: int | None) -> ElementSlots:
    """The slots, given that of each element. Elements side by side, rather than a mask per slot: with many columns
    masks would take gigabytes."""
    count = int(slots.max(initial=-1)) + 1
    starts = np.concatenate([[0], np.cumsum(np.bincount(slots, minlength=count))]).astype(np.int64)
    order = np.argsort(slots, kind="stable")
    most = count if most_slots is None else min(most_slots, count)
    return ElementSlots(np.ascontiguousarray(slots, np.int64), order, starts, most)


def all_elements(slots: ElementSlots, words: int) -> Words:
    """A line with all elements that can be chosen: the only one of a slot cannot."""
    line = np.zeros(words, np.uint64)
    for element in np.flatnonzero(np.diff(slots.starts)[slots.of] > 1).tolist():
        line[element // 64] |= np.uint64(1) << np.uint64(element % 64)
    return line


def deepest(slots: ElementSlots, sets: int) -> int:
    """More than the elements of any minimal choice: every slot keeps one, and every chosen one meets a set that no
    other does."""
    return int(min(np.maximum(np.diff(slots.starts) - 1, 0).sum(), sets)) + 2


def search_branches(
    search: Callable[[Ints, Words, int], tuple[Any, ...]], everything: Words, elements: int, *, threads: int
) -> list[tuple[Any, ...]]:
    """The results of `search` on the branches of the tree, which are shared out to the threads.

    `search` is given the chosen and the free elements of a node, and the depth to end at; its result ends with the
    paths and the free elements of the nodes it ended at, and the number of nodes it saw.
    """
    results: list[tuple[Any, ...]] = []
    branches: list[tuple[Ints, Words]] = [(np.zeros(0, np.int64), everything)]
    depth = 0
    # The nodes at a growing depth, until there are enough of them.
    while threads > 1 and elements <= _MOST_TO_SHARE and 0 < len(branches) < _BRANCHES and depth < 4:
        depth += 1
        opened = [search(path, free, depth) for path, free in branches]
        results += opened
        branches = [(paths[i, :depth], frees[i]) for *_, paths, frees, _ in opened for i in range(len(paths))]
    if threads == 1:
        return results + [search(path, free, NO_END) for path, free in branches]
    with ThreadPoolExecutor(threads) as pool:
        return results + list(pool.map(lambda branch: search(branch[0], branch[1], NO_END), branches))


@njit(cache=True, nogil=True)
def grown(lines):  # type: ignore[no-untyped-def]
    """The lines, with room for as many again."""
    larger = np.zeros((2 * len(lines), lines.shape[1]), lines.dtype)
    larger[: len(lines)] = lines
    return larger
