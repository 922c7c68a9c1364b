"""What sites tell each other: after any changes, every site knows which of its groups are in violation anywhere."""

from __future__ import annotations

import random

import numpy as np
import pytest

from holdfast.fragments.door import Door
from holdfast.fragments.horizontal import Local, settle, settle_first
from holdfast.fragments.ids import mixed
from holdfast.fragments.site_index import IndexCounts

SITES, GROUPS, SIDES = 4, 5, 3
IDS = mixed(np.arange(2 * GROUPS, dtype=np.uint64).reshape(GROUPS, 2), 1)
SIDE_IDS = mixed(np.arange(2 * SIDES, dtype=np.uint64).reshape(SIDES, 2), 2)

Held = list[list[set[int]]]  # by site and group, the sides it has rows of


def counted(held: Held, site: int, counts: IndexCounts) -> IndexCounts:
    made = counts.copy()
    for group, sides in enumerate(held[site]):
        made.n[group] = len(sides)
        made.other[group] = 0
        for side in sides:
            made.other[group] ^= SIDE_IDS[side]
    return made


def everywhere(one: int, other: int) -> np.ndarray:
    return np.ones(GROUPS, np.bool_)


def changed(chance: random.Random, held: Held) -> Held:
    """Some sites have other sides of some groups."""
    made = [[set(sides) for sides in own] for own in held]
    for _ in range(chance.randint(1, 4)):
        site, group = chance.randrange(SITES), chance.randrange(GROUPS)
        made[site][group] = {s for s in range(SIDES) if chance.random() < chance.choice([0.1, 0.4])}
    return made


def assert_known(held: Held, known: list[IndexCounts]) -> None:
    for group in range(GROUPS):
        violated = len(set().union(*(own[group] for own in held))) > 1
        holders = [site for site in range(SITES) if held[site][group]]
        for site in holders:
            assert known[site].violated[group] == violated
            assert all(known[site].peers[group] >> other & 1 for other in holders if other != site)


@pytest.mark.parametrize("seed", range(4))
def test_flags_are_right_after_every_batch(seed: int) -> None:
    chance = random.Random(seed)
    held: Held = [[set() for _ in range(GROUPS)] for _ in range(SITES)]
    held = changed(chance, held)
    known = [IndexCounts.nothing(GROUPS) for _ in range(SITES)]
    places = [np.full(GROUPS, site, np.int64) for site in range(SITES)]
    touched = [np.array([bool(sides) for sides in held[site]]) for site in range(SITES)]
    first = [
        Local(s, places[s], known[s], counted(held, s, known[s]), touched[s], np.zeros(GROUPS, np.bool_))
        for s in range(SITES)
    ]
    settle_first(IDS, first, everywhere, Door())
    known = [local.after for local in first]
    assert_known(held, known)
    for _ in range(250):
        new = changed(chance, held)
        local = []
        for site in range(SITES):
            moved = np.array([held[site][g] != new[site][g] for g in range(GROUPS)])
            nothing = IndexCounts.nothing(GROUPS)
            before, after = nothing.copy(), nothing.copy()
            whole = counted(new, site, known[site])
            before.put(moved, known[site].take(moved))
            after.put(moved, whole.take(moved))
            local.append(Local(site, places[site], before, after, moved, moved.copy()))

        def load(one: Local, which: np.ndarray) -> None:
            for counts in (one.before, one.after):
                counts.put(which, known[one.site].take(which))
            one.read |= which

        settle(IDS, local, everywhere, Door(), load)
        for one in local:
            known[one.site].put(one.read, one.after.take(one.read))
        held = new
        assert_known(held, known)


def test_nothing_is_told_that_a_site_can_settle() -> None:
    """A second side where a violation is known, and a group that nobody else has."""
    held: Held = [[set() for _ in range(GROUPS)] for _ in range(SITES)]
    held[0][0], held[1][0], held[2][1] = {0}, {1}, {0}
    local = []
    for site in range(SITES):
        before = counted(held, site, IndexCounts.nothing(GROUPS))
        before.violated[0] = before.n[0] > 0
        before.peers[0] = 0b11 & ~(1 << site)
        after = before.copy()
        touched = np.zeros(GROUPS, np.bool_)
        if site == 0:
            after.n[0], after.other[0] = 2, SIDE_IDS[0] ^ SIDE_IDS[2]
            touched[0] = True
        if site == 2:
            after.n[1], after.other[1] = 2, SIDE_IDS[0] ^ SIDE_IDS[1]
            touched[1] = True
        local.append(Local(site, np.full(GROUPS, site, np.int64), before, after, touched, touched.copy()))
    door = Door()
    settle(IDS, local, everywhere, door, lambda one, which: None)
    assert door.shipped.tuples == 0
    assert local[0].after.violated[0]
    assert local[2].after.violated[1]
