"""Ids along the plan: from what each site knows of some rows to the groups and sides these rows belong to (incVer).

All sites of a group have a step per shipment: the sender makes the id of what it holds and was sent, and only (key, id)
of the rows that meet its conditions goes through the door.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.errors import DoorError
from holdfast.fragments.door import COUNT, ID, KEY, Door, Kind
from holdfast.fragments.ids import Ids, group_ids, mixed, no_ids, side_ids, to_arrow
from holdfast.fragments.parts import RulePart
from holdfast.fragments.shipment_plan import GroupPlan, IdRecipe, Settling
from holdfast.fragments.site_tables import HeldAtoms
from holdfast.states.segment import Bools

_OVERLAPPING = 1 << 20


@dataclass(frozen=True)
class Known:
    """What a site holds of some rows, by atom: ids of columns, and whether a condition is met or a column has an id."""

    ids: Mapping[int, Ids]
    bits: Mapping[int, Bools]

    @classmethod
    def unpacked(cls, held_atoms: HeldAtoms, site: int, ids: Ids, bits: NDArray[np.uint8]) -> Known:
        """From a site's own packed rows: two words per column it holds, a byte per atom."""
        columns = held_atoms.columns(site)
        return cls(
            {atom: ids[:, 2 * i : 2 * i + 2] for i, atom in enumerate(columns)},
            {atom: bits[:, i] != 0 for i, atom in enumerate(held_atoms.held[site])},
        )


@dataclass(frozen=True)
class Placed:
    """Rows of one part, by position, with their group and side; of a constant part, rows that break it, without."""

    part: int
    at: NDArray[np.int64]
    groups: Ids | None = None
    sides: Ids | None = None


def carried_out(
    plan: GroupPlan,
    parts: Sequence[RulePart],
    known: Mapping[int, Known],
    keys: pa.Array,
    signs: NDArray[np.int8],
    door: Door,
) -> list[Placed]:
    """The rows of each part after all shipments have been made. `signs` tells rows that come (1) from those that go."""
    steps = _Steps(plan, known, keys, signs, door)
    for number in range(len(plan.shipments)):
        steps.ship(number)
    return [steps.settled(number, plan.settlings[number]) for number in range(len(parts))]


class _Steps:
    def __init__(
        self, plan: GroupPlan, known: Mapping[int, Known], keys: pa.Array, signs: NDArray[np.int8], door: Door
    ) -> None:
        self.plan, self.known, self.keys, self.signs, self.door = plan, known, keys, signs, door
        self.arrived: dict[int, tuple[Bools, Ids]] = {}

    def _make_ids(self, site: int, recipe: IdRecipe) -> tuple[Bools, Ids]:
        """Which rows the site knows the id of, and the ids."""
        own = self.known[site]
        rows, ids = np.ones(len(self.keys), np.bool_), no_ids(len(self.keys))
        for atom in recipe.own:
            rows = rows & own.bits[atom]
            if atom in own.ids:
                ids = ids ^ (mixed(own.ids[atom], _OVERLAPPING + atom) if recipe.overlap else own.ids[atom])
        for number in recipe.sent:
            if self.plan.shipments[number].receiver != site:
                raise DoorError(f"site {site} would use an id that was sent to another.")
            met, sent = self.arrived[number]
            rows = rows & met
            ids = ids ^ (mixed(sent, _OVERLAPPING * 2 + number) if recipe.overlap else sent)
        return rows, ids

    def ship(self, number: int) -> None:
        shipment = self.plan.shipments[number]
        rows, ids = self._make_ids(shipment.sender, shipment.made)
        # Conditions alone have no id: that a key arrives says all.
        with_ids = any(self.plan.atoms[atom].is_column for atom in shipment.atoms)
        self._cross(shipment.sender, shipment.receiver, "eqids", rows, ids if with_ids else None)
        # The receiver finds its rows again by their keys; of rows that were not sent it knows nothing.
        self.arrived[number] = (rows, np.where(rows[:, None], ids, np.uint64(0)))

    def _cross(self, sender: int, receiver: int, kind: Kind, rows: Bools, ids: Ids | None) -> None:
        letters = {KEY: self.keys.filter(pa.array(rows)), COUNT: pa.array(self.signs[rows], pa.int8())}
        if ids is not None:
            letters[ID] = to_arrow(ids[rows])
        self.door.cross(sender, receiver, kind, pa.table(letters))

    def settled(self, number: int, settling: Settling) -> Placed:
        rows, left = self._make_ids(settling.site, settling.left)
        if settling.right is None:
            for site, atoms in settling.keys:
                met, _ = self._make_ids(site, IdRecipe(atoms, ()))
                self._cross(site, settling.site, "tuples", met, None)
                rows = rows & met
            return Placed(number, np.flatnonzero(rows))
        met, right = self._make_ids(settling.site, settling.right)
        at = np.flatnonzero(rows & met)
        groups = group_ids(left[at], number)
        return Placed(number, at, groups, side_ids(groups, right[at]))
