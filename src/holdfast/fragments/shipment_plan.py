"""Which site ships which ids to whom, so that each rule can be settled at some site. Data, printable.

Where rows are split over several groups of sites, each group has a plan of its own, and a row follows that of its
group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from holdfast.errors import RunError, SitesError
from holdfast.fragments.knowledge import Mask, Need, Problem, Ship, ordered, settled
from holdfast.fragments.parts import Atom, RulePart, parts_of
from holdfast.fragments.plan_search import IMPROVING, SEARCHING, alone, chains, fewest
from holdfast.fragments.sites import RowGroup, SplitTable

Method = Literal["exact", "heuristic"]
# A letter tells of so many shipments at most: each has a bit of a small count, beside its sign.
MOST_SHARED = 7


@dataclass(frozen=True)
class IdRecipe:
    """How a site makes the id of a set: of atoms it holds, and of ids it was sent, by the numbers of their shipments.

    With `overlap` these share columns, so that their ids are mixed before they are joined.
    """

    own: tuple[int, ...]
    sent: tuple[int, ...]
    overlap: bool = False


@dataclass(frozen=True)
class Shipment:
    """For every changed row that meets the conditions in it, the id of some columns travels between two sites.

    Sites and atoms are numbers; `rules` are those that it serves.
    """

    sender: int
    receiver: int
    atoms: tuple[int, ...]
    made: IdRecipe
    round: int
    rules: tuple[int, ...] = ()


@dataclass(frozen=True)
class Settling:
    """Where a part is settled, and how that site makes the ids of its left side and of its right side.

    Of a constant part, `keys` are the sites that send the keys of rows meeting their conditions, with those conditions.
    """

    site: int
    left: IdRecipe
    right: IdRecipe | None
    keys: tuple[tuple[int, tuple[int, ...]], ...] = ()


@dataclass(frozen=True)
class GroupPlan:
    """The plan of one group of sites: shipments in the order in which they can be made, and where parts are settled."""

    sites: tuple[int, ...]
    atoms: tuple[Atom, ...]
    shipments: tuple[Shipment, ...]
    settlings: tuple[Settling, ...]
    method: Method
    alone: int
    chained: int

    @property
    def rounds(self) -> int:
        return max((shipment.round + 1 for shipment in self.shipments), default=0)

    @cached_property
    def crossings(self) -> tuple[tuple[int, ...], ...]:
        """The shipments, by number, as they cross: as one letter for each row that meets any of a tuple.

        So cross, of one round and between two sites, shipments that say the id of the same columns under different
        conditions, and beside them conditions alone. The order is one in which they can be made.
        """
        ways: dict[tuple[int, int, int], list[int]] = {}
        for number, shipment in enumerate(self.shipments):
            ways.setdefault((shipment.round, shipment.sender, shipment.receiver), []).append(number)
        return tuple(shared for _, numbers in sorted(ways.items()) for shared in self._shared(numbers))

    def _shared(self, numbers: Sequence[int]) -> list[tuple[int, ...]]:
        """The shipments of one round between two sites, those in one list that cross as one letter for each row."""
        alike: dict[tuple[tuple[int, ...], int], list[int]] = {}
        for number in numbers:
            columns, recipe = self.columns(self.shipments[number]), self.shipments[number].made
            # An id made of pieces that overlap is no other's, whatever its columns are.
            alike.setdefault((columns, -1 if not columns or self._is_plain(recipe) else number), []).append(number)
        conditions = alike.pop(((), -1), [])
        by_reach = sorted(alike.values(), key=lambda own: min(self._conditions(number) for number in own))
        # Conditions go beside the id that most rows have, which cross anyway.
        lists = [[*by_reach[0], *conditions], *by_reach[1:]] if by_reach else [conditions]
        return [tuple(own[at : at + MOST_SHARED]) for own in lists for at in range(0, len(own), MOST_SHARED)]

    def columns(self, shipment: Shipment) -> tuple[int, ...]:
        """The atoms of the shipment that are columns; without any, that a key arrives says all."""
        return tuple(atom for atom in shipment.atoms if self.atoms[atom].is_column)

    def _conditions(self, number: int) -> int:
        shipment = self.shipments[number]
        return len(shipment.atoms) - len(self.columns(shipment))

    def _is_plain(self, recipe: IdRecipe) -> bool:
        """Whether the id is decided by the columns that it is of."""
        return not recipe.overlap and all(self._is_plain(self.shipments[number].made) for number in recipe.sent)


@dataclass(frozen=True)
class ShipmentPlan:
    """The plans of all groups of sites."""

    sites: SplitTable
    parts: tuple[RulePart, ...]
    groups: tuple[GroupPlan, ...]

    @property
    def method(self) -> Method:
        return "exact" if all(group.method == "exact" for group in self.groups) else "heuristic"

    @property
    def alone(self) -> int:
        """Ids shipped for one changed row when each rule is planned by itself; of several groups, the most."""
        return max(group.alone for group in self.groups)

    @property
    def chained(self) -> int:
        """The same when columns are joined in written order, and equal shipments of several rules are made once."""
        return max(group.chained for group in self.groups)

    @property
    def shared(self) -> int:
        """The same by this plan."""
        return max(len(group.shipments) for group in self.groups)

    @cached_property
    def steps(self) -> tuple[tuple[GroupPlan, Shipment], ...]:
        return tuple((group, shipment) for group in self.groups for shipment in group.shipments)

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast fragments plan --format json` prints."""
        return {
            "method": self.method,
            "alone": self.alone,
            "shared": self.shared,
            "steps": [
                {
                    "from": self.sites.sites[shipment.sender].name,
                    "to": self.sites.sites[shipment.receiver].name,
                    "columns": columns_of(group, shipment),
                }
                for group, shipment in self.steps
            ],
        }


def columns_of(group: GroupPlan, shipment: Shipment) -> list[str]:
    """The table's columns that the id speaks of, in the order of the rules."""
    return list(dict.fromkeys(name for atom in shipment.atoms for name in group.atoms[atom].columns))


def plan_shipments(
    sites: SplitTable,
    columns: Sequence[str] | None = None,
    *,
    improving: float = IMPROVING,
    searching: float = SEARCHING,
) -> ShipmentPlan:
    """The plan for these sites and rules, with few ids shipped per changed row.

    `columns` are those of the whole table where sites do not say what they hold. A plan is improved, and all plans are
    searched, for so many seconds at most.
    """
    known = (*sites.key, *(columns if columns is not None else sites.columns))
    parts = parts_of(sites.rules, known)
    several = len(sites.row_groups) > 1
    within = (improving, searching)
    groups = tuple(_planned(sites, group, parts, several, within) for group in sites.row_groups)
    return ShipmentPlan(sites, parts, groups)


def _planned(
    sites: SplitTable, group: RowGroup, parts: Sequence[RulePart], disjoint: bool, within: tuple[float, float]
) -> GroupPlan:
    atoms = tuple(dict.fromkeys(atom for part in parts for atom in part.atoms))
    bit = {atom: 1 << i for i, atom in enumerate(atoms)}
    held = [0] * len(group.sites)
    for atom in atoms:
        holders = sites.holders(group, atom.columns)
        if not holders:
            raise _nowhere(sites, group, atom, parts)
        for site in holders:
            held[group.sites.index(site)] |= bit[atom]
    needs = [_need(part, bit) for part in parts]
    of_pairs = [need for part, need in zip(parts, needs, strict=True) if part.right is not None]
    problem = Problem(tuple(held), tuple(dict.fromkeys(of_pairs)), disjoint)
    plan = fewest(problem, improving=within[0], searching=within[1])
    rounds = ordered(problem, plan.ships)
    if rounds is None:
        raise RunError("a plan of shipments is wrong: they cannot be made in any order.")
    recipes = _Recipes(problem, group.sites, rounds)
    wide = sum(bit[atom] for atom in atoms if atom.predicate is not None and not atom.selective)
    where = dict(zip(problem.needs, settled(problem, plan.ships), strict=True))
    settlings = tuple(
        _gathered(problem, group, need, wide) if part.right is None else recipes.settling(need, where[need])
        for part, need in zip(parts, needs, strict=True)
    )
    orders = [[bit[a] for a in part.atoms] for part, need in zip(parts, needs, strict=True) if part.right is not None]
    return GroupPlan(
        sites=group.sites,
        atoms=atoms,
        shipments=_with_rules(recipes.shipments(), settlings, parts),
        settlings=settlings,
        method="exact" if plan.least else "heuristic",
        alone=sum(alone(problem, need) for need in of_pairs),
        chained=chains(problem, orders),
    )


def _need(part: RulePart, bit: dict[Atom, Mask]) -> Need:
    return Need(sum(bit[atom] for atom in part.left), 0 if part.right is None else bit[part.right])


def _bits(mask: Mask) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


class _Recipes:
    """How every id of a plan is made, from what its maker has when it makes it."""

    def __init__(self, problem: Problem, sites: Sequence[int], rounds: Sequence[Sequence[Ship]]) -> None:
        self._problem, self._sites = problem, sites
        self._numbers = {ship: n for n, ship in enumerate(ship for ships in rounds for ship in ships)}
        self._arrived: list[dict[Mask, int]] = [{} for _ in sites]
        self._steps: list[tuple[Ship, IdRecipe, int]] = []
        for number, ships in enumerate(rounds):
            # All of a round are made of what earlier rounds brought.
            self._steps += [(ship, self._of(ship.sender, ship.what), number) for ship in ships]
            for ship in ships:
                self._arrived[ship.receiver][ship.what] = self._numbers[ship]

    def _of(self, site: int, what: Mask) -> IdRecipe:
        own, sent = self._problem.pieces(site, tuple(self._arrived[site]), what)
        overlap = sum(mask.bit_count() for mask in (own, *sent)) > what.bit_count()
        return IdRecipe(_bits(own), tuple(self._arrived[site][mask] for mask in sent), overlap)

    def shipments(self) -> tuple[Shipment, ...]:
        return tuple(
            Shipment(self._sites[ship.sender], self._sites[ship.receiver], _bits(ship.what), recipe, number)
            for ship, recipe, number in self._steps
        )

    def settling(self, need: Need, site: int | None) -> Settling:
        if site is None:
            raise RunError("a plan of shipments is wrong: a rule is settled nowhere.")
        if self._problem.disjoint:
            right = self._of(site, need.both)
        elif self._problem.held[site] & need.right:
            right = self._of(site, need.right)
        else:
            masks = [m for m in self._arrived[site] if m & need.right and m & ~need.both == 0]
            # The one with fewest columns beside it, so that plans read as one would write them.
            right = IdRecipe((), (self._arrived[site][min(masks, key=lambda m: (m.bit_count(), m))],))
        return Settling(self._sites[site], self._of(site, need.left), right)


def _with_rules(
    shipments: Sequence[Shipment], settlings: Sequence[Settling], parts: Sequence[RulePart]
) -> tuple[Shipment, ...]:
    """The shipments with the rules that they serve: those settled with their id, or with an id made of it."""
    serves: list[dict[int, None]] = [{} for _ in shipments]

    def serve(recipe: IdRecipe | None, rule: int) -> None:
        for number in () if recipe is None else recipe.sent:
            serves[number][rule] = None
            serve(shipments[number].made, rule)

    for part, settling in zip(parts, settlings, strict=True):
        for recipe in (settling.left, settling.right):
            serve(recipe, part.rule)
    return tuple(replace(shipment, rules=tuple(rules)) for shipment, rules in zip(shipments, serves, strict=True))


def _gathered(problem: Problem, group: RowGroup, need: Need, wide: Mask) -> Settling:
    """A constant part: few sites that know all its conditions, of which all but one send the keys that meet theirs.

    Conditions in `wide` are met by most rows, so that they stay where they are.
    """
    missing, chosen = need.left, {}
    while missing:
        site = max(
            range(len(problem.held)),
            key=lambda s: ((problem.held[s] & missing & wide) != 0, (problem.held[s] & missing).bit_count(), -s),
        )
        chosen[site] = problem.held[site] & missing
        missing &= ~chosen[site]
    home = max(chosen, key=lambda s: ((chosen[s] & wide).bit_count(), chosen[s].bit_count(), -s), default=0)
    keys = tuple((group.sites[s], _bits(mask)) for s, mask in sorted(chosen.items()) if s != home)
    return Settling(group.sites[home], IdRecipe(_bits(chosen.get(home, 0)), ()), None, keys)


def _nowhere(sites: SplitTable, group: RowGroup, atom: Atom, parts: Sequence[RulePart]) -> SitesError:
    rule = sites.rules.rules[next(part.rule for part in parts if atom in part.atoms)]
    among = "" if group.where is None else f" among the rows where {group.where}"
    names = ", ".join(atom.columns)
    return SitesError(
        f"{sites.origin}: rule {rule.name!r} says {atom.text!r}, but no site{among} holds all of {names} to tell.",
        hint="let one site hold these columns together, as replicas if need be.",
    )
