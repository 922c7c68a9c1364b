"""The fewest shipments that let every rule be settled somewhere: a good plan first, then proof or better.

Finding the least number is NP-complete (Fan et al., Theorem 7). A search by improvement gives a plan; a bound by
connectedness often proves it least; otherwise a search over all plans tries to, within its share of steps.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from operator import or_

from holdfast.fragments.knowledge import Mask, Need, Problem, Ship, arrivals, ordered, settled

# So long a good plan is improved, and so long all plans are searched, in seconds.
IMPROVING, SEARCHING = 3.0, 2.0
# Plans that are started anew; rules beyond which not all plans are tried; combinations of covers that a bound looks at.
STARTS, FEW_RULES, COMBINATIONS = 60, 12, 5_000


@dataclass(frozen=True)
class FewestShips:
    """Shipments after which every need is met, and whether fewer are known to be impossible."""

    ships: frozenset[Ship]
    least: bool


def fewest(
    problem: Problem, *, improving: float = IMPROVING, searching: float = SEARCHING, seed: int = 1
) -> FewestShips:
    """A plan of few shipments; of the fewest, wherever bound or search prove it."""
    bound = connectedness(problem)
    good = good_plan(problem, bound or 0, until=time.monotonic() + improving, seed=seed)
    if len(good) == bound:
        return FewestShips(good, True)
    if len(problem.needs) > FEW_RULES:
        return FewestShips(good, False)
    search = _Search(problem, good, bound or 0, time.monotonic() + searching)
    search.run()
    return FewestShips(search.best, search.complete)


# Each rule alone, and chains in written order -------------------------------------------------------------------


def alone(problem: Problem, need: Need) -> int:
    """The least number of ids shipped for one rule: all but one of the fewest sites that hold its columns ship one."""
    nothing: list[list[Mask]] = [[] for _ in problem.held]
    stars = [_star(problem, need, site, nothing) for site in range(len(problem.held))]
    return min(len(ships) for ships in stars if ships is not None)


def chains(problem: Problem, orders: Sequence[Sequence[Mask]]) -> int:
    """Ids shipped when each rule's columns are joined in the order given, equal shipments counted once.

    The right column comes last. Of several sites that hold a column, the one is taken that makes fewest new shipments.
    """
    shipped: set[Ship] = set()
    for order in orders:
        options: list[tuple[int, tuple[Ship, ...]]] = [(s, ()) for s in _holders(problem, order[0])]
        joined = order[0]
        for mask in order[1:]:
            options = [
                (site, ships if site == at else (*ships, Ship(at, site, joined)))
                for at, ships in options
                for site in ([at] if problem.held[at] & mask else _holders(problem, mask))
            ]
            options = sorted(options, key=lambda option: len(set(option[1]) - shipped))[:64]
            joined |= mask
        shipped |= set(min(options, key=lambda option: len(set(option[1]) - shipped))[1])
    return len(shipped)


def _holders(problem: Problem, mask: Mask) -> list[int]:
    return [s for s, held in enumerate(problem.held) if held & mask]


# A good plan ----------------------------------------------------------------------------------------------------


def good_plan(problem: Problem, bound: int, *, until: float, seed: int = 1) -> frozenset[Ship]:
    """The shortest of several plans, each started in another order of rules and then improved."""
    chance = random.Random(seed)
    costs = {need: alone(problem, need) for need in problem.needs}
    hardest = sorted(costs, key=lambda n: (-costs[n], -n.both.bit_count(), n.both))
    best = improved(problem, by_meeting_sites(problem, hardest), until=until)
    half = (time.monotonic() + until) / 2
    starts = set()
    for _ in range(STARTS):
        if len(best) <= bound or time.monotonic() > half:
            break
        starts.add(by_meeting_sites(problem, chance.sample(hardest, len(hardest)), chance))
    for start in sorted(starts, key=lambda ships: (len(ships), sorted(ships))):
        if len(best) <= bound or time.monotonic() > until:
            break
        candidate = improved(problem, start, until=until)
        best = candidate if len(candidate) < len(best) else best
    return best


def by_meeting_sites(problem: Problem, needs: Sequence[Need], chance: random.Random | None = None) -> frozenset[Ship]:
    """A plan that settles rule after rule, each where it takes fewest new shipments; of equals, where most is held."""
    ships: set[Ship] = set()
    for need in needs:
        arrived = arrivals(ships, len(problem.held))
        options = []
        for site, held in enumerate(problem.held):
            more = _star(problem, need, site, arrived)
            if more is not None:
                luck = chance.random() if chance is not None else 0.0
                options.append((len(more), not held & need.right, -(held & need.left).bit_count() + luck, site, more))
        ships |= set(min(options)[-1])
    return frozenset(ships)


def _star(problem: Problem, need: Need, site: int, arrived: Sequence[Sequence[Mask]]) -> tuple[Ship, ...] | None:
    """Further shipments straight to the site after which it meets the need, greedily few."""
    here = list(arrived[site])
    further: list[Ship] = []
    for _ in range(need.both.bit_count() + 1):
        if problem.meets(site, here, need):
            return tuple(further)
        left_known = problem.within(site, here, need.left)
        lacking = need.left & ~left_known
        offers = []
        for other in range(len(problem.held)):
            if other == site:
                continue
            target = lacking if problem.disjoint else need.left
            brings = problem.within(other, arrived[other], target) if lacking else 0
            if brings & lacking:
                offers.append(((brings & lacking).bit_count(), -other, brings, other))
            elif not lacking and problem.held[other] & need.right:
                offers.append((1, -other, need.right, other))
        if not offers:
            return None
        _, _, what, other = max(offers)
        further.append(Ship(other, site, what))
        here.append(what)
    return tuple(further) if problem.meets(site, here, need) else None


def improved(problem: Problem, ships: frozenset[Ship], *, until: float) -> frozenset[Ship]:
    """A plan of no more shipments, which neither one more shipment nor settling a rule elsewhere makes shorter."""
    best = pruned(problem, ships)
    while True:
        shorter = next((s for s in _neighbours(problem, best, until) if len(s) < len(best)), None)
        if shorter is None:
            return best
        best = shorter


def _neighbours(problem: Problem, ships: frozenset[Ship], until: float) -> Iterator[frozenset[Ship]]:
    arrived = arrivals(ships, len(problem.held))
    meeting = _meeting(problem, arrived)
    # All rules at one more place: bring what one of them lacks there, then drop what is no longer used.
    for need in sorted(problem.needs, key=lambda n: n.both):
        for site in range(len(problem.held)):
            if time.monotonic() > until:
                return
            more = _star(problem, need, site, arrived)
            if more:
                yield pruned(problem, ships | set(more), frozenset(more), meeting)
    targets = sorted({target for need in problem.needs for target in (need.left, need.both)})
    for sender, receiver in product(range(len(problem.held)), repeat=2):
        if sender == receiver:
            continue
        offered = {problem.within(sender, arrived[sender], target) for target in targets}
        for what in sorted(offered - {0} - set(arrived[receiver])):
            if time.monotonic() > until:
                return
            if what & ~problem.held[receiver]:
                new = Ship(sender, receiver, what)
                yield pruned(problem, ships | {new}, frozenset([new]), meeting)


def _meeting(problem: Problem, arrived: Sequence[Sequence[Mask]]) -> list[set[int]]:
    """By need, the sites that meet it with what has arrived there."""
    sites = range(len(problem.held))
    return [{s for s in sites if problem.meets(s, arrived[s], need)} for need in problem.needs]


def pruned(
    problem: Problem,
    ships: frozenset[Ship],
    spare: frozenset[Ship] = frozenset(),
    without_spare: Sequence[set[int]] | None = None,
) -> frozenset[Ship]:
    """The shipments without those that are not needed, tried one after the other; `spare` ones are tried last.

    `without_spare` are, by need, the sites that meet it without these.
    """
    left = set(ships)
    arrived = arrivals(ships, len(problem.held))
    if without_spare is None:
        meeting = _meeting(problem, arrived)
    else:
        reached = {ship.receiver for ship in spare}
        meeting = [
            (met - reached) | {s for s in reached if problem.meets(s, arrived[s], need)}
            for need, met in zip(problem.needs, without_spare, strict=True)
        ]
    sizes = [len(masks) for masks in arrived]
    for ship in sorted(ships, key=lambda s: (s in spare, sizes[s.receiver], s)):
        at = ship.receiver
        here = list(arrived[at])
        here.remove(ship.what)
        still = [at in met and problem.meets(at, here, need) for need, met in zip(problem.needs, meeting, strict=True)]
        if any(met == {at} and not stays for met, stays in zip(meeting, still, strict=True)):
            continue
        sent = [other.what for other in left if other.sender == at]
        if not all(problem.knows(at, here, what) for what in sent):
            continue
        # What is known may hang together in a circle only: then the order tells.
        if sent and ordered(problem, left - {ship}) is None:
            continue
        left.remove(ship)
        arrived[at] = here
        for met, stays in zip(meeting, still, strict=True):
            if not stays:
                met.discard(at)
    return frozenset(left)


# Bounds ---------------------------------------------------------------------------------------------------------


def connectedness(problem: Problem) -> int | None:
    """So many shipments every plan has; None where looking would take too long.

    The sites that contribute to one rule hang together by shipments. Rules that share no column share no shipment.
    So: over all choices of contributing sites, the edges of the smallest forests, added up over such families of rules.
    """
    total = 0
    for family in _families(problem.needs):
        covers = [_covers(problem, need) for need in family]
        if prod(map(len, covers)) > COMBINATIONS:
            return None
        total += min(_forest(choice) for choice in product(*covers))
    return total


def _families(needs: Sequence[Need]) -> list[list[Need]]:
    families: list[tuple[Mask, list[Need]]] = []
    for need in needs:
        joined = [family for family in families if family[0] & need.both]
        rest = [family for family in families if not family[0] & need.both]
        mask, members = need.both, [need]
        for other, more in joined:
            mask, members = mask | other, members + more
        families = [*rest, (mask, members)]
    return [members for _, members in families]


def _covers(problem: Problem, need: Need) -> list[frozenset[int]]:
    """The minimal sets of sites that together hold all columns of the rule."""
    covers: set[frozenset[int]] = set()

    def grow(sites: frozenset[int], covered: Mask) -> None:
        if any(less <= sites for less in covers):
            return
        missing = need.both & ~covered
        if not missing:
            covers.difference_update({more for more in covers if sites < more})
            covers.add(sites)
            return
        for site in _holders(problem, missing & -missing):
            grow(sites | {site}, covered | problem.held[site])

    grow(frozenset(), 0)
    return sorted(covers, key=sorted)


def _forest(groups: Sequence[frozenset[int]]) -> int:
    """The least number of edges that connect the sites of each group."""
    parts: list[set[int]] = []
    for group in groups:
        joined = [part for part in parts if part & group]
        parts = [part for part in parts if not part & group] + [set(group).union(*joined)]
    return sum(len(part) - 1 for part in parts)


# All plans ------------------------------------------------------------------------------------------------------


class _Search:
    """Depth first over shipments for the first rule that is not settled; every plan shorter than the best is met.

    A plan that settles the rule has a shipment for it that can be made now: its set lies within the rule, and is the
    largest such set the sender knows within what the rules have in common that it serves.
    """

    def __init__(self, problem: Problem, good: frozenset[Ship], bound: int, until: float) -> None:
        self.problem, self.best, self._bound, self._until = problem, good, bound, until
        self.complete = True
        self._covers = {need: _covers(problem, need) for need in problem.needs}
        self._seen: set[frozenset[Ship]] = set()
        targets = {t for need in problem.needs for t in (need.left, need.both, need.right)}
        self._targets = _intersections(targets, most=400)

    def run(self) -> None:
        self.complete = self._targets is not None
        self._visit(frozenset())

    def _visit(self, ships: frozenset[Ship]) -> None:
        if time.monotonic() > self._until:
            self.complete = False
        if not self.complete or ships in self._seen or len(self.best) == self._bound:
            return
        self._seen.add(ships)
        open_needs = [
            n for n, site in zip(self.problem.needs, settled(self.problem, ships), strict=True) if site is None
        ]
        if not open_needs:
            if len(ships) < len(self.best):
                self.best = ships
            return
        arrived = arrivals(ships, len(self.problem.held))
        lacks = {need: self._lack(need, arrived) for need in open_needs}
        least = sum(max(lacks[need] for need in family) for family in _families(open_needs))
        if len(ships) + least >= len(self.best) or len(ships) + self._apart(open_needs, ships) >= len(self.best):
            return
        first = max(open_needs, key=lambda need: (lacks[need], -need.both))
        for ship in self._useful(first, arrived):
            self._visit(ships | {ship})

    def _apart(self, needs: Sequence[Need], ships: frozenset[Ship]) -> int:
        """So many more shipments it takes at least until the sites of each rule hang together."""
        covers = [self._covers[need] for need in needs]
        if prod(map(len, covers)) > 64:
            return 0
        edges = [frozenset((ship.sender, ship.receiver)) for ship in ships]
        joined = _forest(edges)
        return min(_forest([*edges, *choice]) for choice in product(*covers)) - joined

    def _lack(self, need: Need, arrived: Sequence[Sequence[Mask]]) -> int:
        """So many more shipments the rule needs at least: others bring what its best site lacks, one at a time."""
        knows = [
            reduce(or_, (mask for mask in masks if mask & ~need.both == 0), held & need.both)
            for held, masks in zip(self.problem.held, arrived, strict=True)
        ]
        counts = []
        for site, known in enumerate(knows):
            missing, count = need.both & ~known, 0
            others = sorted((k & missing for s, k in enumerate(knows) if s != site), key=int.bit_count, reverse=True)
            # However they overlap, so many of the largest cannot cover more than the sum of their sizes.
            size = 0
            for other in others:
                if size >= missing.bit_count():
                    break
                size, count = size + other.bit_count(), count + 1
            counts.append(count)
        return max(min(counts), 1)

    def _useful(self, need: Need, arrived: Sequence[Sequence[Mask]]) -> list[Ship]:
        covered: dict[Ship, int] = {}
        targets = [t for t in self._targets or () if t & need.both]
        for sender in range(len(arrived)):
            sets = {self.problem.within(sender, arrived[sender], target & need.both) for target in targets}
            for receiver in range(len(arrived)):
                if receiver == sender:
                    continue
                for what in sets - {0}:
                    if what & ~self.problem.held[receiver] and what not in arrived[receiver]:
                        covered[Ship(sender, receiver, what)] = (what & need.both).bit_count()
        return sorted(covered, key=lambda ship: (-covered[ship], ship))


def _intersections(targets: set[Mask], *, most: int) -> frozenset[Mask] | None:
    """All intersections of the sets; None where they are too many to look at."""
    masks = set(targets)
    waiting = list(targets)
    while waiting:
        mask = waiting.pop()
        for target in targets:
            new = mask & target
            if new and new not in masks:
                masks.add(new)
                waiting.append(new)
                if len(masks) > most:
                    return None
    return frozenset(masks)
