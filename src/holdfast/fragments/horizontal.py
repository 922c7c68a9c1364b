"""What sites tell each other about groups whose rows are spread over them, and what follows (incHor).

A group is in violation when its rows have two different right sides, wherever they are. A site knows its own sides, and
whether the group is in violation over all sites as of the last batch. A change is settled at the site

- when it has two sides of a group that is known to be in violation, now as before;
- when its only side of the group is the one it was;
- when no other site can have rows of the group: its row condition speaks of left columns only, or nobody else has any.

Otherwise it asks: it tells the sites that may have rows of the group what side it is left with, or that none is left;
those that have rows answer with theirs. The one that asked then knows all sides; where the group is no longer in
violation, it says so to those that cannot know. The paper's printed rule would also ask when a new side comes to a
group that is known to be in violation; its own examples do not, and nothing is learnt by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.fragments.door import COUNT, ID, SIDE, Door
from holdfast.fragments.ids import Ids, to_arrow
from holdfast.fragments.site_index import IndexCounts
from holdfast.states.segment import Bools, Ints

# What a letter's count says besides how many sides there are, up to two.
_HAD, _CLEAN = 4, 8


@dataclass
class Local:
    """One site's groups, in the order of `ids` that all sites share: as they were, and as its own rows have it now.

    Where rows are split by columns too, several sites stand behind one number `site`: `places` tells for each group the
    one that settles it. `read` tells for which groups the site has looked at its index; `after.violated` and
    `after.peers` are what it will know in the end.
    """

    site: int
    places: NDArray[np.int64]
    before: IndexCounts
    after: IndexCounts
    touched: Bools
    read: Bools


@dataclass(frozen=True)
class Letter:
    """What a site was told of the groups at these different places: how many sides the sender has, up to two, and
    which if one."""

    sender: int
    at: Ints
    count: NDArray[np.int8]
    side: Ids


Reach = Callable[[int, int], Bools]
"""(sender, receiver) to the groups of which the receiver could have rows that meet the sender's."""


def settle(ids: Ids, sites: Sequence[Local], reach: Reach, door: Door, load: Callable[[Local, Bools], None]) -> None:
    """Every site's `after` says which of its groups are in violation now, over all sites.

    `load` lets a site look up groups that it is told about.
    """
    asking = {local.site: _asks(local) for local in sites}
    joined = {local.site: local.touched & (local.before.n == 0) & (local.after.n > 0) for local in sites}
    inbox: dict[int, list[Letter]] = {local.site: [] for local in sites}
    for local in sites:
        for other in sites:
            if other.site == local.site:
                continue
            may = joined[local.site] | (local.before.peers >> other.site & 1 != 0)
            at = np.flatnonzero(asking[local.site] & may & reach(local.site, other.site))
            if len(at):
                had = np.where(local.before.n[at] > 0, _HAD, 0)
                inbox[other.site].append(_send(door, ids, local, other, at, had))
    for local in sites:
        load(local, _mentioned(inbox[local.site], len(ids)) & ~local.read)
    by_site = {local.site: local for local in sites}
    answers: dict[int, list[Letter]] = {local.site: [] for local in sites}
    for local in sites:
        for letter in inbox[local.site]:
            at = letter.at[local.after.n[letter.at] > 0]
            if len(at):
                answers[letter.sender].append(_send(door, ids, local, by_site[letter.sender], at))
    verdicts = {
        local.site: _conclude(local, asking[local.site], inbox[local.site], answers[local.site]) for local in sites
    }
    for local in sites:
        _announce(door, ids, local, verdicts[local.site], inbox[local.site], answers[local.site], sites)
    for local in sites:
        local.after.violated &= local.after.n > 0
        local.after.peers[local.after.n == 0] = 0


def _asks(local: Local) -> Bools:
    """Of which groups the site's own rows do not tell what is now."""
    before, after = local.before, local.after
    same = (before.n == 1) & (after.n == 1) & (before.other == after.other).all(axis=1)
    new = (before.n == 0) & (after.n > 0)
    clean = (before.n > 0) & ~before.violated & (after.n > 0) & ~same
    torn = (before.n > 0) & before.violated & (after.n < 2) & ~same
    return np.asarray(local.touched & (new | clean | torn), np.bool_)


def _mentioned(letters: Sequence[Letter], size: int) -> Bools:
    """Of which of so many groups the letters tell."""
    mentioned = np.zeros(size, np.bool_)
    for letter in letters:
        mentioned[letter.at] = True
    return mentioned


def _send(
    door: Door, ids: Ids, sender: Local, receiver: Local, at: Ints, more: NDArray[np.int64] | None = None
) -> Letter:
    """A letter about groups with what the site's own rows have now; `more` is added to its counts."""
    sides = sender.after.n[at]
    count = (np.minimum(sides, 2) + (0 if more is None else more)).astype(np.int8)
    side = np.where((sides == 1)[:, None], sender.after.other[at], np.uint64(0))
    # An id is empty where there is no single side to tell.
    shown = pc.if_else(pa.array(sides == 1), to_arrow(side), pa.scalar(b""))
    _cross(door, ids, sender, receiver, at, count, shown)
    return Letter(sender.site, at, count, side)


def _cross(
    door: Door, ids: Ids, sender: Local, receiver: Local, at: Ints, count: NDArray[np.int8],
    sides: pa.Array | None = None,
) -> None:  # fmt: skip
    """Letters about the groups with their counts and sides, one for each two sites that groups are settled at."""
    ways = sender.places[at] << 32 | receiver.places[at]
    for way in ways[:1] if (ways == ways[0]).all() else np.unique(ways):
        own = np.flatnonzero(ways == way)
        shown = {} if sides is None else {SIDE: sides.take(pa.array(own))}
        columns = {ID: to_arrow(ids[at[own]]), **shown, COUNT: pa.array(count[own])}
        door.cross(int(way) >> 32, int(way) & 0xFFFFFFFF, "tuples", pa.table(columns))


def _several(local: Local, letters: Sequence[Letter]) -> Bools:
    """Of which groups the site's own sides and those it was told of are two or more."""
    seen = local.after.n >= 1
    side = np.where((local.after.n == 1)[:, None], local.after.other, np.uint64(0))
    several = local.after.n >= 2
    for letter in letters:
        count = letter.count & 3
        several[letter.at[count >= 2]] = True
        single, sent = letter.at[count == 1], letter.side[count == 1]
        known = seen[single]
        several[single[known & (sent != side[single]).any(axis=1)]] = True
        side[single[~known]] = sent[~known]
        seen[single] = True
    return np.asarray(several, np.bool_)


def _conclude(local: Local, asking: Bools, received: Sequence[Letter], answers: Sequence[Letter]) -> Bools:
    """What the site concludes by itself; which groups it has asked about and now knows to be clean comes back."""
    several = _several(local, [*received, *answers])
    heard = _mentioned(received, len(several))
    # Who asked knows all sides. Who was only told keeps to what was known, unless it sees a violation.
    stays = local.before.violated & ~asking
    now = np.where(asking | heard, several | stays, local.before.violated)
    now = np.where(local.touched & ~asking & ~heard & (local.after.n >= 2), True, now)
    local.after.violated[:] = now
    for letter in (*received, *answers):
        bit = np.int64(1 << letter.sender)
        there = letter.count & 3 > 0
        local.after.peers[letter.at[there]] |= bit
        local.after.peers[letter.at[~there]] &= ~bit
    return np.asarray(asking & local.before.violated & ~several, np.bool_)


def _announce(
    door: Door,
    ids: Ids,
    local: Local,
    clean: Bools,
    received: Sequence[Letter],
    answers: Sequence[Letter],
    sites: Sequence[Local],
) -> None:
    """Groups that were in violation and are clean now: those that answered are told so, by one of those that asked."""
    clean = clean.copy()
    for letter in received:
        if letter.sender < local.site:
            clean[letter.at[letter.count & _HAD > 0]] = False
    by_site = {other.site: other for other in sites}
    for answer in answers:
        at = answer.at[clean[answer.at]]
        if len(at):
            other = by_site[answer.sender]
            _cross(door, ids, local, other, at, np.full(len(at), _CLEAN, np.int8))
            other.after.violated[at] = False


def settle_first(ids: Ids, sites: Sequence[Local], reach: Reach, door: Door) -> None:
    """The same for the first load, when every site has all its groups to tell of: they meet at a site per group.

    A group that one site alone has travels once and comes back unanswered; of the others each site learns the rest.
    """
    names = [local.site for local in sites]
    homes = np.array(names)[(ids[:, 1] % np.uint64(len(names))).astype(np.int64)]
    for local in sites:
        local.after.violated[:] = local.after.n >= 2
        reachable = (local.after.n > 0) & reach(local.site, local.site)
        for other in sites:
            at = np.flatnonzero(reachable & (homes == other.site) & (other.site != local.site))
            if len(at):
                _send(door, ids, local, other, at)
    there = {local.site: local.after.n > 0 for local in sites}
    own = {local.site: (local.after.n.copy(), local.after.other.copy()) for local in sites}
    for local in sites:
        letters = []
        for other in sites:
            if other.site == local.site:
                continue
            both = np.flatnonzero(there[local.site] & there[other.site] & reach(other.site, local.site))
            if len(both):
                count, side = own[other.site]
                letters.append(Letter(other.site, both, np.minimum(count[both], 2).astype(np.int8), side[both]))
                local.after.peers[both] |= np.int64(1 << other.site)
        local.after.violated |= _several(local, letters)
        shared = np.flatnonzero(local.after.peers)
        for home in sites:
            at = shared[homes[shared] == home.site] if home.site != local.site else shared[:0]
            if len(at):
                _cross(door, ids, home, local, at, local.after.violated[at].astype(np.int8))
