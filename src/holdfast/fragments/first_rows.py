"""The sites' fragments, loaded: that they are fragments of one table, and the ids that follow.

A task gets what all sites have under some keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.encode.codes import shared_codes
from holdfast.fragments.door import Door
from holdfast.fragments.id_packing import INSIDE, OUTSIDE
from holdfast.fragments.ids import packed
from holdfast.fragments.shipment_plan import ShipmentPlan
from holdfast.fragments.site_changes import SiteRows, message_row, placed_rows, unpacked_rows
from holdfast.fragments.site_tables import ROWS, HeldAtoms, table_name
from holdfast.states.key_json import plain_json
from holdfast.states.messages import FragmentProblem, RefusedFragment, RowCount, WrittenSegment
from holdfast.states.row_changes import is_null_key
from holdfast.states.segment import PieceTask, write_segment
from holdfast.states.store import Store


@dataclass(frozen=True)
class FirstSiteRowsTask(PieceTask):
    """A task: rows (site, k, h, ids, bits, inside) of all sites; out come rows of parts and messages.

    They are as those of SiteChangesTask. A row is refused that does not satisfy the condition of its own group of
    sites, or does satisfy that of another, as far as its site can tell.
    """

    store: Store
    plan: ShipmentPlan
    held_atoms: HeldAtoms
    key_parts: int
    record: str | None = None

    def _piece(self, piece: pa.Table) -> Iterator[pa.RecordBatch]:
        kind = piece.column("k").type
        problem = self._problem(piece)
        if problem is not None:
            yield message_row(kind, problem)
            return
        site_of = piece.column("site").to_numpy()
        door, rows = Door(self.record), 0
        for number, group in enumerate(self.plan.groups):
            own = {site: self._rows(piece, site, np.flatnonzero(site_of == site)) for site in group.sites}
            size = len(own[group.sites[0]].hashes)
            rows += size
            if not size:
                continue
            for site in group.sites:
                table = table_name(site, ROWS)
                segment = write_segment(self.store, table, own[site].entries(0, gone=False), base=True)
                yield message_row(kind, WrittenSegment(table, segment))
            yield from placed_rows(self.plan, self.held_atoms, number, own, np.ones(size, np.int8), door)
        yield message_row(kind, door.shipped)
        yield message_row(kind, RowCount(rows, 0))

    def _rows(self, piece: pa.Table, site: int, at: Any) -> SiteRows:
        """The site's rows in order of their keys, which is the same at all sites of a group."""
        rows = piece.take(pa.array(at))
        order = np.argsort(shared_codes([rows.column("k")])[0].codes, kind="stable")
        rows = rows.take(pa.array(order))
        return unpacked_rows(rows, 2 * len(self.held_atoms.columns(site)), len(self.held_atoms.held[site]))

    def _problem(self, piece: pa.Table) -> RefusedFragment | None:
        """What is wrong with the sites' keys or rows, of the smallest key that something is wrong with."""
        keys, sites = piece.column("k"), piece.column("site").to_numpy().astype(np.int64)

        def refused(problem: FragmentProblem, at: int, **more: int) -> RefusedFragment:
            return RefusedFragment(problem, plain_json(keys[at].as_py()), int(sites[at]), **more)

        nulls = np.flatnonzero(is_null_key(keys, self.key_parts))
        if len(nulls):
            return refused(FragmentProblem.NULL_KEY, int(nulls[0]))
        inside = packed(piece.column("inside"), len(self.plan.groups))
        own = np.array(
            [[site in group.sites for group in self.plan.groups] for site in range(len(self.plan.sites.sites))]
        )
        wrong = np.where(own[sites], inside == OUTSIDE, inside == INSIDE)
        bad = np.flatnonzero(wrong.any(axis=1))
        if len(bad):
            group = int(wrong[bad[0]].argmax())
            outside = bool(own[sites[bad[0]], group])
            problem = FragmentProblem.OUTSIDE_OWN_CONDITION if outside else FragmentProblem.INSIDE_OTHER_CONDITION
            return refused(problem, int(bad[0]), group=group)
        codes = np.unique(shared_codes([keys])[0].codes, return_inverse=True)[1]
        shape = len(self.plan.sites.sites), int(codes.max()) + 1
        counts = np.bincount(sites * shape[1] + codes, minlength=shape[0] * shape[1]).reshape(shape)
        for site in range(len(counts)):
            if (counts[site] > 1).any():
                repeated = np.flatnonzero((sites == site) & (counts[site] > 1)[codes])
                return refused(FragmentProblem.REPEATED_KEY, int(repeated[0]))
        here = np.array([counts[list(group.sites)].any(axis=0) for group in self.plan.groups])
        both = np.flatnonzero(here.sum(axis=0) > 1)
        if len(both):
            at = np.flatnonzero(codes == both[0])
            first = int(sites[at[0]])
            group = next(i for i, g in enumerate(self.plan.groups) if first in g.sites)
            other = next(int(s) for s in sites[at] if int(s) not in self.plan.groups[group].sites)
            return refused(FragmentProblem.KEY_IN_SEVERAL_GROUPS, int(at[0]), other=other)
        for number, group_plan in enumerate(self.plan.groups):
            for site in group_plan.sites:
                lacking = np.flatnonzero(here[number] & (counts[site] == 0))
                if len(lacking):
                    at = np.flatnonzero(codes == lacking[0])
                    return refused(FragmentProblem.KEY_MISSING_AT_SITE, int(at[0]), other=site)
        return None
