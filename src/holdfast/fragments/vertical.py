"""Ids along the plan: from what each site knows of some rows to the groups and sides these rows belong to (incVer).

All sites of a group have a step per shipment: the sender makes the id of what it holds and was sent, and only (key, id)
of the rows that meet its conditions goes through the door. Shipments that cross together are one letter per row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.errors import DoorError
from holdfast.fragments.door import COUNT, ID, KEY, Door, Kind
from holdfast.fragments.ids import Ids, group_ids, mixed, no_ids, side_ids, to_arrow
from holdfast.fragments.shipment_plan import MOST_SHARED, GroupPlan, IdRecipe
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


class ShippedIds:
    """What the sites of a group know of some rows once all shipments have crossed.

    An id is made anew whenever it is needed, from what the sites hold: that takes little time, and all that sites were
    sent would take as much room as there are shipments.
    """

    def __init__(
        self, plan: GroupPlan, known: Mapping[int, Known], keys: pa.Array, signs: NDArray[np.int8], door: Door
    ) -> None:
        """Makes all shipments. `signs` tells rows that come (1) from those that go (-1)."""
        self.plan, self.known, self.keys, self.signs, self.door = plan, known, keys, signs, door
        for shipments in plan.crossings:
            self._ship(shipments)
        self._tell_keys()

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
            # The receiver finds its rows again by their keys; of rows that were not sent it knows nothing.
            met, sent = self._make_ids(self.plan.shipments[number].sender, self.plan.shipments[number].made)
            rows = rows & met
            ids = ids ^ (mixed(sent, _OVERLAPPING * 2 + number) if recipe.overlap else sent)
        return rows, ids

    def _ship(self, numbers: Sequence[int]) -> None:
        """The shipments have crossed together: between two sites, with one id for each row that meets any of them."""
        shipments = [self.plan.shipments[number] for number in numbers]
        rows_and_ids = [self._make_ids(shipment.sender, shipment.made) for shipment in shipments]
        known, ids = np.zeros(len(self.keys), np.bool_), no_ids(len(self.keys))
        for shipment, (rows, own) in zip(shipments, rows_and_ids, strict=True):
            # Conditions alone have no id: that a key arrives says all.
            if self.plan.columns(shipment):
                ids = np.where(known[:, None], ids, own) if known.any() else own
                known |= rows
        self._cross(
            shipments[0].sender, shipments[0].receiver, "eqids", [rows for rows, _ in rows_and_ids], (known, ids)
        )

    def _tell_keys(self) -> None:
        """The keys of rows that meet conditions of constant parts have crossed, as one letter for each row and way."""
        ways: dict[tuple[int, int], dict[tuple[int, ...], None]] = {}
        for settling in self.plan.settlings:
            for site, atoms in settling.keys:
                ways.setdefault((site, settling.site), {})[atoms] = None
        for (sender, receiver), conditions in ways.items():
            met = [self._make_ids(sender, IdRecipe(atoms, ()))[0] for atoms in conditions]
            for at in range(0, len(met), MOST_SHARED):
                self._cross(sender, receiver, "tuples", met[at : at + MOST_SHARED])

    def _cross(
        self, sender: int, receiver: int, kind: Kind, rows: Sequence[Bools], ids: tuple[Bools, Ids] | None = None
    ) -> None:
        """One letter for each row that is among some of `rows`, with its id if it has one.

        Its count has a bit for each of those that it is among, and the sign of the change.
        """
        among = np.zeros(len(self.keys), np.int8)
        for bit, own in enumerate(rows):
            among |= own.astype(np.int8) << np.int8(bit)
        sent = among != 0
        letters = {KEY: self.keys.filter(pa.array(sent)), COUNT: pa.array((among * self.signs)[sent], pa.int8())}
        if ids is not None and ids[0].any():
            known, shown = ids[0][sent], to_arrow(ids[1][sent])
            letters[ID] = shown if known.all() else pc.if_else(pa.array(known), shown, pa.scalar(b""))
        self.door.cross(sender, receiver, kind, pa.table(letters))

    def placed(self, part: int) -> Placed:
        """The rows of the part, at the site that settles it."""
        settling = self.plan.settlings[part]
        rows, left = self._make_ids(settling.site, settling.left)
        if settling.right is None:
            for site, atoms in settling.keys:
                rows = rows & self._make_ids(site, IdRecipe(atoms, ()))[0]
            return Placed(part, np.flatnonzero(rows))
        met, right = self._make_ids(settling.site, settling.right)
        at = np.flatnonzero(rows & met)
        groups = group_ids(left[at], part)
        return Placed(part, at, groups, side_ids(groups, right[at]))
