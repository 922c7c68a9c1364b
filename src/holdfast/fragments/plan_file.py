"""What a state of fragments fixes when it is made: its sites, the plan of shipments, who meets whom, and its secret.

Ids are made along the plan, so that it stays as it was, also where another would be found today.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from holdfast.errors import StateError
from holdfast.fragments.index_changes import SiteMeetings
from holdfast.fragments.parts import parts_of
from holdfast.fragments.shipment_plan import GroupPlan, ShipmentPlan
from holdfast.fragments.sites import parse_sites
from holdfast.states.formats import FRAGMENTS_PLAN_FORMAT, require_format
from holdfast.states.key_json import from_json
from holdfast.states.store import Store

NAME = "fragments.json"


@dataclass(frozen=True)
class Fixed:
    """The parts of a state of fragments that no batch changes."""

    plan: ShipmentPlan
    meetings: SiteMeetings
    secret: bytes


def write_fixed(store: Store, fixed: Fixed) -> None:
    """The file is there; one that a killed load left behind is replaced."""
    plan = fixed.plan
    sites = replace(plan.sites, sites=tuple(replace(site, data=None) for site in plan.sites.sites))
    content = {
        "format": FRAGMENTS_PLAN_FORMAT,
        "sites": sites.to_yaml(),
        "secret": fixed.secret.hex(),
        "apart": sorted(fixed.meetings.apart),
        "groups": [asdict(replace(group, atoms=())) for group in plan.groups],
    }
    store.remove([NAME])
    store.create(NAME, json.dumps(content, ensure_ascii=False).encode())
    store.path(NAME).chmod(0o600)


def read_fixed(store: Store) -> Fixed:
    """What the state was made with; StateError where it is no state of fragments."""
    try:
        content = json.loads(store.read(NAME))
        require_format(content["format"], (FRAGMENTS_PLAN_FORMAT,), store.root)
        sites = parse_sites(content["sites"], origin="the state's sites")
        parts = parts_of(sites.rules, (*sites.key, *sites.columns))
        atoms = tuple(dict.fromkeys(atom for part in parts for atom in part.atoms))
        groups = tuple(replace(from_json(given, GroupPlan), atoms=atoms) for given in content["groups"])
        plan = ShipmentPlan(sites, parts, groups)
        return Fixed(plan, SiteMeetings(frozenset(map(tuple, content["apart"]))), bytes.fromhex(content["secret"]))
    except (OSError, ValueError, KeyError, TypeError) as problem:
        if isinstance(problem, StateError):
            raise
        raise StateError(f"the state {store.root} is damaged: {NAME} cannot be read ({problem}).") from None
