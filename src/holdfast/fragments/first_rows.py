"""The sites' fragments, loaded: that they are fragments of one table, and the ids that follow.

A task gets what all sites have under some keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from holdfast.encode.codes import shared_codes
from holdfast.fragments.door import Door
from holdfast.fragments.id_packing import INSIDE, OUTSIDE
from holdfast.fragments.ids import packed
from holdfast.fragments.shipment_plan import ShipmentPlan
from holdfast.fragments.site_changes import GroupRows, SiteRows, message_row, placed_rows, unpacked_rows
from holdfast.fragments.site_tables import ROWS, HeldAtoms, table_name
from holdfast.states.compaction import SEGMENT_ROWS
from holdfast.states.key_json import plain_json
from holdfast.states.messages import FragmentProblem, RefusedFragment, RowCount, WrittenSegment
from holdfast.states.row_changes import is_null_key
from holdfast.states.segment import Ints, PieceTask, write_segment
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
        places = _places_of_sites(piece, len(self.plan.sites.sites))
        codes = shared_codes([piece.column("k")])[0].codes
        door, count, groups = Door(self.record), 0, []
        for number, group in enumerate(self.plan.groups):
            own = self._rows(piece, codes, {site: places[site] for site in group.sites})
            size = len(own[group.sites[0]].hashes)
            if not size:
                continue
            count += size
            for site in group.sites:
                for segment in self._written(site, own[site]):
                    yield message_row(kind, segment)
            groups.append(GroupRows.shipped(self.plan, self.held_atoms, number, own, np.ones(size, np.int8), door))
        yield message_row(kind, door.shipped)
        yield message_row(kind, RowCount(count, 0))
        yield from placed_rows(len(self.plan.parts), groups)

    def _rows(self, piece: pa.Table, codes: Ints, places: dict[int, Ints]) -> dict[int, SiteRows]:
        """The rows of each of these sites, by its places in the piece; in the order of files, which is that of hashes.

        Rows of one hash are in the order of their keys, so that the order is the same at all sites.
        """
        hashes = piece.column("h").to_numpy()
        known: Ints | None = None
        rows = {}
        for site, at in places.items():
            own = codes[at]
            # Sites often have their rows in the same order, and sorting takes most of the time.
            if known is None or not np.array_equal(known, own):
                known, order = own, _order(hashes[at], own)
            lines = piece.take(pa.array(at)) if not _is_range(at) else piece.slice(at[0] if len(at) else 0, len(at))
            wide = 2 * len(self.held_atoms.columns(site))
            rows[site] = unpacked_rows(lines, wide, len(self.held_atoms.held[site])).take(order)
        return rows

    def _written(self, site: int, rows: SiteRows) -> Iterator[WrittenSegment]:
        """The files of the rows, which are in the order of files: one for each SEGMENT_ROWS of them."""
        table = table_name(site, ROWS)
        for start in range(0, len(rows.hashes), SEGMENT_ROWS):
            part = rows.slice(start, start + SEGMENT_ROWS)
            yield WrittenSegment(table, write_segment(self.store, table, part.entries(0, gone=False), base=True))

    def _problem(self, piece: pa.Table) -> RefusedFragment | None:
        """What is wrong with the sites' keys or rows, of the smallest key that something is wrong with."""
        keys, sites = piece.column("k"), piece.column("site").to_numpy()

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
        codes = shared_codes([keys])[0].codes
        if self._are_fragments(codes, _places_of_sites(piece, len(own))):
            return None
        codes, sites = np.unique(codes, return_inverse=True)[1], sites.astype(np.int64)
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

    def _are_fragments(self, codes: Ints, places: Sequence[Ints]) -> bool:
        """Whether all sites of a group have the same keys, and no others have these; each key once at each site."""
        firsts = []
        for group in self.plan.groups:
            first, *others = (codes[places[site]] for site in group.sites)
            ordered = np.sort(first)
            if any(len(other) != len(first) for other in others):
                return False
            if not all(np.array_equal(first, other) or np.array_equal(ordered, np.sort(other)) for other in others):
                return False
            firsts.append(ordered)
        every = firsts[0] if len(firsts) == 1 else np.sort(np.concatenate(firsts))
        return not (every[1:] == every[:-1]).any()


def _places_of_sites(piece: pa.Table, sites: int) -> list[Ints]:
    """The places of each site's rows in the piece."""
    site_of = piece.column("site").to_numpy()
    return [np.flatnonzero(site_of == site) for site in range(sites)]


def _is_range(at: Ints) -> bool:
    return len(at) == 0 or bool(at[-1] - at[0] + 1 == len(at))


def _order(hashes: Ints, codes: Ints) -> Ints:
    """The order of the hashes, and then of the codes."""
    order = np.argsort(hashes)
    ordered = hashes[order]
    return np.lexsort((codes, hashes)) if (ordered[1:] == ordered[:-1]).any() else order
