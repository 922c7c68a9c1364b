"""What sites know of a row as ids travel: sets of columns as bits, and what follows from them.

An id of a set of columns tells rows apart exactly when their values on those columns differ. A site knows the ids of
all columns it holds, of the sets it was sent, and of the unions of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeAlias

from holdfast.errors import RunError

Mask: TypeAlias = int


@dataclass(frozen=True)
class Need:
    """A rule's demand: some site knows the id of `left`, and beside it tells rows apart that differ on `right`."""

    left: Mask
    right: Mask

    @property
    def both(self) -> Mask:
        return self.left | self.right


@dataclass(frozen=True, order=True)
class Ship:
    """The id of `what`, for every row, from one site to another."""

    sender: int
    receiver: int
    what: Mask


@dataclass(frozen=True)
class Problem:
    """The atoms that each site holds, and what has to be known somewhere.

    With `disjoint`, only ids of sets that do not overlap can be joined: then the id of a set is the same wherever and
    however it was made, as it must be when rows of several groups of sites are compared.
    """

    held: tuple[Mask, ...]
    needs: tuple[Need, ...]
    disjoint: bool = False

    def within(self, site: int, arrived: Iterable[Mask], target: Mask) -> Mask:
        """The largest part of the target whose id the site can make; of disjoint pieces, a large part."""
        own = self.held[site] & target
        if not self.disjoint:
            for mask in arrived:  # plainly: a search for plans spends its time here
                if mask & ~target == 0:
                    own |= mask
            return own
        if target & ~own == 0:
            return own
        usable = sorted((m for m in arrived if m & ~target == 0), key=lambda m: (-(m & ~own).bit_count(), m))
        return own | _largest(usable, target & ~own)

    def knows(self, site: int, arrived: Iterable[Mask], target: Mask) -> bool:
        return self.within(site, arrived, target) == target

    def meets(self, site: int, arrived: Sequence[Mask], need: Need) -> bool:
        """Whether the site can settle the rule."""
        if not self.knows(site, arrived, need.left):
            return False
        if self.disjoint:
            return self.knows(site, arrived, need.both)
        if self.held[site] & need.right:
            return True
        return any(mask & need.right and mask & ~need.both == 0 for mask in arrived)

    def pieces(self, site: int, arrived: Sequence[Mask], target: Mask) -> tuple[Mask, tuple[Mask, ...]]:
        """How the site makes the id of the target, which it knows: of which own atoms, and of which sets it was sent.

        Pieces do not overlap wherever that is possible.
        """
        usable = sorted((m for m in arrived if m & ~target == 0), key=lambda m: (-m.bit_count(), m))
        own = self.held[site] & target
        chosen = _exact_cover(usable, target & ~own)
        if chosen is not None:
            return target & ~reduce(or_, chosen, 0), chosen
        covering: list[Mask] = []
        missing = target & ~own
        for mask in usable:
            if mask & missing:
                covering.append(mask)
                missing &= ~mask
        if missing or self.disjoint:
            raise RunError(
                f"a plan of shipments is wrong: site {site} cannot make an id that it is to ship or settle by."
            )
        return own, tuple(covering)


def _largest(usable: Sequence[Mask], missing: Mask) -> Mask:
    """The union of disjoint sets that covers all that is missing, or else a large part of it."""
    whole = _exact_cover(usable, missing)
    taken = 0
    for mask in usable if whole is None else whole:
        if mask & taken == 0:
            taken |= mask
    return taken


def _exact_cover(usable: Sequence[Mask], missing: Mask, taken: Mask = 0) -> tuple[Mask, ...] | None:
    """Sets that do not overlap and cover what is missing; they may have more, which somebody holds anyway."""
    if missing == 0:
        return ()
    first = missing & -missing
    for mask in usable:
        if mask & first and mask & taken == 0:
            rest = _exact_cover(usable, missing & ~mask, taken | mask)
            if rest is not None:
                return (mask, *rest)
    return None


def arrivals(ships: Iterable[Ship], sites: int) -> list[list[Mask]]:
    """By site, the sets whose ids it is sent."""
    arrived: list[list[Mask]] = [[] for _ in range(sites)]
    for ship in ships:
        arrived[ship.receiver].append(ship.what)
    return arrived


def settled(problem: Problem, ships: Iterable[Ship]) -> list[int | None]:
    """By need, the first site that meets it once all shipments have arrived; None where none does."""
    arrived = arrivals(ships, len(problem.held))
    sites = range(len(problem.held))
    return [next((s for s in sites if problem.meets(s, arrived[s], need)), None) for need in problem.needs]


def ordered(problem: Problem, ships: Iterable[Ship]) -> tuple[tuple[Ship, ...], ...] | None:
    """The shipments in rounds, each of which needs only what earlier rounds brought; None where one cannot be made."""
    left = sorted(set(ships))
    arrived: list[list[Mask]] = [[] for _ in problem.held]
    rounds: list[tuple[Ship, ...]] = []
    while left:
        now = tuple(s for s in left if problem.knows(s.sender, arrived[s.sender], s.what))
        if not now:
            return None
        for ship in now:
            arrived[ship.receiver].append(ship.what)
        rounds.append(now)
        left = [ship for ship in left if ship not in now]
    return tuple(rounds)


def works(problem: Problem, ships: Iterable[Ship]) -> bool:
    """Whether all shipments can be made in some order, and every need is then met."""
    listed = tuple(ships)
    return None not in settled(problem, listed) and ordered(problem, listed) is not None
