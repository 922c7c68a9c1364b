"""What a state of fragments fixes when it is made: its sites, the plan of shipments, who meets whom, and its secret.

Ids are made along the plan, so that it stays as it was, also where another would be found today.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from holdfast.errors import BusyStateError, StateError
from holdfast.fragments.condition_columns import was_misread
from holdfast.fragments.index_changes import SiteMeetings
from holdfast.fragments.parts import parts_of
from holdfast.fragments.shipment_plan import GroupPlan, ShipmentPlan
from holdfast.fragments.sites import SplitTable, parse_sites
from holdfast.states.checksum import FileSum, sum_of_bytes
from holdfast.states.formats import FRAGMENTS_PLAN_FORMAT, READABLE_FRAGMENTS_PLANS, require_format
from holdfast.states.key_json import from_json
from holdfast.states.store import Store, written_name

NAME = "fragments.json"


@dataclass(frozen=True)
class Fixed:
    """The parts of a state of fragments that no batch changes. `as_cast` is how ids are made, as IdPacking has it."""

    plan: ShipmentPlan
    meetings: SiteMeetings
    secret: bytes
    as_cast: bool = False


def write_fixed(store: Store, fixed: Fixed) -> FileSum:
    """The sum of the file, which is there now; one that a killed load left behind is replaced."""
    plan = fixed.plan
    sites = replace(plan.sites, sites=tuple(replace(site, data=None) for site in plan.sites.sites))
    content = {
        "format": FRAGMENTS_PLAN_FORMAT,
        "sites": sites.to_yaml(),
        "secret": fixed.secret.hex(),
        "apart": sorted(fixed.meetings.apart),
        "groups": [asdict(replace(group, atoms=())) for group in plan.groups],
    }
    store.remove(name for name in store.names("") if written_name(name) == NAME)
    written = json.dumps(content, ensure_ascii=False).encode()
    if not store.create(NAME, written, private=True):
        raise BusyStateError(f"another process is making a state at {store.root}.", hint="name another place.")
    return sum_of_bytes(written)


def read_fixed(store: Store) -> Fixed:
    """What the state was made with; StateError where it is no state of fragments."""
    try:
        content = json.loads(store.read(NAME))
        require_format(content["format"], READABLE_FRAGMENTS_PLANS, store.root)
        sites = parse_sites(content["sites"], origin="the state's sites")
        first_format = content["format"] == 1
        if first_format:
            _require_not_misread(sites, store)
        parts = parts_of(sites.rules, (*sites.key, *sites.columns))
        atoms = tuple(dict.fromkeys(atom for part in parts for atom in part.atoms))
        groups = tuple(replace(from_json(given, GroupPlan), atoms=atoms) for given in content["groups"])
        plan = ShipmentPlan(sites, parts, groups)
        meetings = SiteMeetings(frozenset(map(tuple, content["apart"])))
        return Fixed(plan, meetings, bytes.fromhex(content["secret"]), as_cast=first_format)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        if isinstance(problem, StateError):
            raise
        raise StateError(f"the state {store.root} is damaged: {NAME} cannot be read ({problem}).") from None


def _require_not_misread(sites: SplitTable, store: Store) -> None:
    """StateError where a state of the first format may miss violations: who meets whom is fixed when it is made."""
    known = (*sites.key, *sites.columns)
    for group in sites.row_groups if len(sites.row_groups) > 1 else ():
        if group.where is not None and was_misread(group.where, known):
            raise StateError(
                f"the state {store.root} was made by an earlier version of Holdfast, which may have misread the "
                f"condition {group.where}, and violations may be missing in it.",
                hint="make it anew with holdfast fragments init STATE SITES",
            )
