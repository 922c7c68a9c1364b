"""The tables of a state, site by site: its rows, its index, and the violations of all.

A site keeps of each row the ids of its own columns and whether it meets its own conditions, but no value; of each group
and each side of rows it settles, a count; and the keys of the rows on each side.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.fragments.parts import Atom
from holdfast.fragments.shipment_plan import ShipmentPlan
from holdfast.fragments.sites import SplitTable
from holdfast.states.manifest import StoredTable

ROWS, COUNTS, MEMBERS = KINDS = ("rows", "counts", "members")
VIOLATIONS = "violations"


@dataclass(frozen=True)
class HeldAtoms:
    """What each site keeps of a row: the numbers of the atoms it holds, in order."""

    atoms: tuple[Atom, ...]
    held: tuple[tuple[int, ...], ...]

    def columns(self, site: int) -> tuple[int, ...]:
        """Those of its atoms that are columns: each has an id in a packed row."""
        return tuple(a for a in self.held[site] if self.atoms[a].is_column)

    @property
    def all_columns(self) -> tuple[int, ...]:
        return tuple(i for i, atom in enumerate(self.atoms) if atom.is_column)


def held_atoms_of(plan: ShipmentPlan) -> HeldAtoms:
    """Returns what each site of the plan keeps; all groups of sites number atoms alike."""
    sites, atoms = plan.sites, plan.groups[0].atoms
    own = [set(site.columns or ()) | set(sites.key) for site in sites.sites]
    held = tuple(
        tuple(i for i, atom in enumerate(atoms) if site.columns is None or set(atom.columns) <= own[number])
        for number, site in enumerate(sites.sites)
    )
    return HeldAtoms(atoms, held)


def table_name(site: int, kind: str) -> str:
    """Returns the name of a site's table of this kind: ROWS, COUNTS or MEMBERS."""
    return f"site-{site}-{kind}"


def empty_tables(sites: SplitTable) -> dict[str, StoredTable]:
    """Returns the tables of a new state, by name, without files."""
    of_sites = {
        table_name(number, kind): f"{site.name}: {kind}" for number, site in enumerate(sites.sites) for kind in KINDS
    }
    return {name: StoredTable(name, about=about) for name, about in {**of_sites, VIOLATIONS: VIOLATIONS}.items()}


def table_key(table: str) -> str:
    """Returns the column that tells apart the entries with one hash of the table of this name."""
    return "id" if table.endswith(f"-{COUNTS}") else "k"
