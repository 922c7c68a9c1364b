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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.fragments.door import COUNT, ID, SIDE, Door
from holdfast.fragments.ids import Ids, to_arrow
from holdfast.fragments.site_index import IndexCounts

Bools = NDArray[np.bool_]

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
    """What a site was told: of the groups in `about`, how many sides the sender has, up to two, and which if one."""

    sender: int
    about: Bools
    count: NDArray[np.int8]
    side: Ids


Reach = Callable[[int, int], Bools]
"""(sender, receiver) to the groups of which the receiver could have rows that meet the sender's."""


def settle(ids: Ids, local: Sequence[Local], reach: Reach, door: Door, load: Callable[[Local, Bools], None]) -> None:
    """Every site's `after` says which of its groups are in violation now, over all sites.

    `load` lets a site look up groups that it is told about.
    """
    asking = {one.site: _asks(one) for one in local}
    joined = {one.site: one.touched & (one.before.n == 0) & (one.after.n > 0) for one in local}
    inbox: dict[int, list[Letter]] = {one.site: [] for one in local}
    sent: dict[tuple[int, int], Bools] = {}
    for one in local:
        for other in local:
            if other.site == one.site:
                continue
            may = joined[one.site] | (one.before.peers >> other.site & 1 != 0)
            about = asking[one.site] & may & reach(one.site, other.site)
            if about.any():
                had = np.where(one.before.n > 0, _HAD, 0)
                inbox[other.site].append(_send(door, ids, one, other, about, had))
                sent[one.site, other.site] = about
    for one in local:
        told = np.logical_or.reduce([letter.about for letter in inbox[one.site]], initial=False)
        load(one, told & ~one.read)
    by_site = {one.site: one for one in local}
    answers: dict[int, list[Letter]] = {one.site: [] for one in local}
    for one in local:
        for letter in inbox[one.site]:
            about = letter.about & (one.after.n > 0)
            if about.any():
                answers[letter.sender].append(_send(door, ids, one, by_site[letter.sender], about))
    verdicts = {one.site: _conclude(one, asking[one.site], inbox[one.site], answers[one.site]) for one in local}
    for one in local:
        _announce(door, ids, one, verdicts[one.site], inbox[one.site], answers[one.site], local)
    for one in local:
        one.after.violated &= one.after.n > 0
        one.after.peers[one.after.n == 0] = 0


def _asks(one: Local) -> Bools:
    """Of which groups the site's own rows do not tell what is now."""
    before, after = one.before, one.after
    same = (before.n == 1) & (after.n == 1) & (before.other == after.other).all(axis=1)
    new = (before.n == 0) & (after.n > 0)
    clean = (before.n > 0) & ~before.violated & (after.n > 0) & ~same
    torn = (before.n > 0) & before.violated & (after.n < 2) & ~same
    return np.asarray(one.touched & (new | clean | torn), np.bool_)


def _send(
    door: Door, ids: Ids, one: Local, other: Local, about: Bools, more: NDArray[np.int64] | None = None
) -> Letter:
    """A letter about groups with what the site's own rows have now; `more` is added to its counts."""
    count = (np.minimum(one.after.n, 2) + (0 if more is None else more)).astype(np.int8)
    side = np.where((one.after.n == 1)[:, None], one.after.other, np.uint64(0))
    for at in _ways(one, other, about):
        sides = _shown(side[at], one.after.n[at] == 1)
        told = {ID: to_arrow(ids[at]), SIDE: sides, COUNT: pa.array(count[at])}
        door.cross(int(one.places[at[0]]), int(other.places[at[0]]), "tuples", pa.table(told))
    known = about[:, None]
    return Letter(one.site, about, np.where(about, count, 0).astype(np.int8), np.where(known, side, np.uint64(0)))


def _ways(one: Local, other: Local, about: Bools) -> Iterator[NDArray[np.int64]]:
    """The groups, by the two sites that a letter about them goes between."""
    at = np.flatnonzero(about)
    ways = np.stack([one.places[at], other.places[at]], axis=1)
    for way in np.unique(ways, axis=0):
        yield at[(ways == way).all(axis=1)]


def _shown(sides: Ids, there: Bools) -> pa.Array:
    """The ids of sides, empty where there is no single one to tell."""
    lengths = np.where(there, 16, 0)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    data = np.ascontiguousarray(sides[there])
    return pa.Array.from_buffers(pa.binary(), len(sides), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _several(one: Local, letters: Sequence[Letter]) -> Bools:
    """Of which groups the site's own sides and those it was told of are two or more."""
    seen = one.after.n >= 1
    side = np.where((one.after.n == 1)[:, None], one.after.other, np.uint64(0))
    several = one.after.n >= 2
    for letter in letters:
        count = letter.count & 3
        several |= count >= 2
        single = count == 1
        several |= single & seen & (letter.side != side).any(axis=1)
        side = np.where((single & ~seen)[:, None], letter.side, side)
        seen = seen | single
    return np.asarray(several, np.bool_)


def _conclude(one: Local, asked: Bools, told: Sequence[Letter], answers: Sequence[Letter]) -> Bools:
    """What the site concludes by itself; which groups it has asked about and now knows to be clean comes back."""
    several = _several(one, [*told, *answers])
    heard = np.logical_or.reduce([letter.about for letter in told], initial=False)
    # Who asked knows all sides. Who was only told keeps to what was known, unless it sees a violation.
    stays = one.before.violated & ~asked
    now = np.where(asked | heard, several | stays, one.before.violated)
    now = np.where(one.touched & ~asked & ~heard & (one.after.n >= 2), True, now)
    one.after.violated[:] = now
    for letter in (*told, *answers):
        bit = np.int64(1 << letter.sender)
        there = letter.about & (letter.count & 3 > 0)
        one.after.peers[:] = np.where(there, one.after.peers | bit, one.after.peers)
        one.after.peers[:] = np.where(letter.about & ~there, one.after.peers & ~bit, one.after.peers)
    return np.asarray(asked & one.before.violated & ~several, np.bool_)


def _announce(
    door: Door,
    ids: Ids,
    one: Local,
    clean: Bools,
    told: Sequence[Letter],
    answers: Sequence[Letter],
    local: Sequence[Local],
) -> None:
    """Groups that were in violation and are clean now: those that answered are told so, by one of those that asked."""
    for letter in told:
        if letter.sender < one.site:
            clean = clean & ~(letter.about & (letter.count & _HAD > 0))
    by_site = {other.site: other for other in local}
    for answer in answers:
        about = clean & answer.about
        if about.any():
            other = by_site[answer.sender]
            for at in _ways(one, other, about):
                letters = {ID: to_arrow(ids[at]), COUNT: pa.array(np.full(len(at), _CLEAN, np.int8))}
                door.cross(int(one.places[at[0]]), int(other.places[at[0]]), "tuples", pa.table(letters))
            other.after.violated[about] = False


def settle_first(ids: Ids, local: Sequence[Local], reach: Reach, door: Door) -> None:
    """The same for the first load, when every site has all its groups to tell of: they meet at a site per group.

    A group that one site alone has travels once and comes back unanswered; of the others each site learns the rest.
    """
    names = [one.site for one in local]
    homes = np.array(names)[(ids[:, 1] % np.uint64(len(names))).astype(np.int64)]
    for one in local:
        one.after.violated[:] = one.after.n >= 2
        for other in local:
            if other.site != one.site:
                about = (one.after.n > 0) & reach(one.site, one.site) & (homes == other.site)
                if about.any():
                    _send(door, ids, one, other, about)
    there = {one.site: one.after.n > 0 for one in local}
    own = {one.site: (one.after.n.copy(), one.after.other.copy()) for one in local}
    for one in local:
        letters = []
        for other in local:
            both = there[one.site] & there[other.site] & reach(other.site, one.site)
            if other.site != one.site and both.any():
                count, side = own[other.site]
                letters.append(Letter(other.site, both, (np.minimum(count, 2) * both).astype(np.int8), side))
                one.after.peers |= np.where(both, np.int64(1 << other.site), np.int64(0))
        one.after.violated |= _several(one, letters)
        for home in local:
            about = (one.after.peers != 0) & (homes == home.site)
            if home.site != one.site and about.any():
                for at in _ways(home, one, about):
                    answer = {ID: to_arrow(ids[at]), COUNT: pa.array(one.after.violated[at].astype(np.int8))}
                    door.cross(int(home.places[at[0]]), int(one.places[at[0]]), "tuples", pa.table(answer))
