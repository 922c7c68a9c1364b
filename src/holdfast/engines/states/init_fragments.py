"""The fragments of a table into a new state."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence

from holdfast.engines.states.fragment_meetings import meetings_of
from holdfast.engines.states.fragment_sources import Sources, open_sources
from holdfast.engines.states.fragmented_table import FragmentedTable, run_steps
from holdfast.engines.states.refused_changes import shown_key
from holdfast.engines.states.state_engine import SiteColumns, SourceTable, StateEngine
from holdfast.errors import SitesError, SourceError
from holdfast.fragments.first_rows import FirstSiteRowsTask
from holdfast.fragments.id_packing import IdPacking
from holdfast.fragments.index_changes import IndexChangesTask
from holdfast.fragments.plan_file import NAME, Fixed, write_fixed
from holdfast.fragments.rule_violations import RuleViolationsTask
from holdfast.fragments.shipment_plan import ShipmentPlan, plan_shipments
from holdfast.fragments.site_tables import VIOLATIONS, HeldAtoms, empty_tables, held_atoms_of
from holdfast.fragments.sites import SplitTable
from holdfast.programs.bind import require_key_types, require_types
from holdfast.states.change_log import discard, empty_log, moved_totals
from holdfast.states.compaction import places_for
from holdfast.states.manifest import BATCHES, CHANGES, PENDING, VERSIONS, FragmentsBody, Manifest
from holdfast.states.messages import FragmentProblem, RefusedFragment, Shipped, Unit, net_rows, of_type, total_shipped
from holdfast.states.row_changes import CHANGE_TYPE
from holdfast.states.store import Store, open_store
from holdfast.states.table_schema import arrow_type, key_field, schema_as_seen, sql_types
from holdfast.states.versions import commit, require_free
from holdfast.violations.evaluate import UNLIMITED

_FOLDERS = (VERSIONS, BATCHES, PENDING, CHANGES)
# So many rows of parts are not worth several tasks.
_FEW = 200_000
# A bit for each group of sites stands in one word.
_MOST_GROUPS = 62


def init_fragments(
    engine: StateEngine,
    sites: SplitTable,
    place: str | os.PathLike[str],
    *,
    tables: Sequence[SourceTable] | None = None,
    record: str | None = None,
    secret: bytes | None = None,
) -> tuple[FragmentedTable, Shipped]:
    """A new state at the place, of the fragments as they are now, and what crossed between sites for it.

    `tables` are the sites' tables, in order, where the sites file does not say where they are. Ids are
    hashes that `secret` keys: nobody knows one, unless it is given.
    """
    store = open_store(place)
    _require_free(store)
    sources = open_sources(engine, sites, tables)
    sites, schema = sources.sites, sources.schema
    _require_sense(engine, sources)
    plan = plan_shipments(sites, sources.names)
    fixed = Fixed(plan, meetings_of(engine, plan, schema), secret or secrets.token_bytes(16))
    body = FragmentsBody(empty_tables(sites))
    held_atoms, key = held_atoms_of(plan), key_field(schema, sites.key)
    packing = IdPacking(schema, sites.key, held_atoms, sites.rules.nulls, fixed.secret)
    names = tuple(rule.name for rule in sites.rules)
    store.make([*_FOLDERS, *body.tables])
    with store.only_writer() as store:
        _require_free(store)
        by_name = {site.name: table for site, table in zip(sites.sites, sources.tables, strict=True)}
        with engine.translate_site_errors(by_name, sites.origin):
            count = engine.row_count([sources.tables[group.sites[0]] for group in sites.row_groups])
            packed = engine.packed_sites(_site_columns(sources, held_atoms), packing)
            task = FirstSiteRowsTask(store, plan, held_atoms, len(sites.key), record)
            index = IndexChangesTask(store, body.tables, plan, fixed.meetings, 0, first=True, record=record)
            last = RuleViolationsTask(store, body.tables[VIOLATIONS], names, 0, UNLIMITED, logged=False)
            held = count * max(1, len(sites.sites) // 2)
            splits = max(places_for(held), _pieces(engine, held)), _pieces(engine, count * len(plan.parts))
            messages = run_steps(engine, packed, splits, key, task, index, last)
        refused = of_type(messages, RefusedFragment)
        if refused:
            discard(store, messages)
            raise _refused(min(refused, key=lambda fragment: (fragment.problem, str(fragment.key))), plan)
        written = write_fixed(store, fixed)
        manifest = Manifest(
            version=0,
            key=sites.key,
            schema=schema,
            reading={},
            rows=net_rows(messages),
            totals=moved_totals(messages, dict.fromkeys(names, Unit.ROWS)),
            body=body.with_written(messages),
            log=(empty_log(store, arrow_type(key["type"])),),
            table=sites.origin,
            sums={NAME: written},
        )
        commit(store, manifest)
    return FragmentedTable(engine, store, record), total_shipped(messages)


def _pieces(engine: StateEngine, rows: int) -> int:
    """Into how many pieces so many rows of parts are divided: enough for all slots, few files in the end."""
    wanted = places_for(rows // 8)
    return wanted if rows < _FEW else min(64, max(wanted, 1 << (engine.slots.bit_length() - 1)))


def _site_columns(sources: Sources, held_atoms: HeldAtoms) -> list[SiteColumns]:
    """What is read at which sites; those that hold the same columns together."""
    alike: dict[frozenset[str], list[int]] = {}
    for number in range(len(sources.sites.sites)):
        alike.setdefault(frozenset(sources.held(number)), []).append(number)
    return [
        SiteColumns(
            tables={number: sources.tables[number] for number in numbers},
            columns=columns,
            atoms=held_atoms.held[numbers[0]],
            conditions=tuple(sources.conditions(numbers[0])),
        )
        for columns, numbers in alike.items()
    ]


def _require_sense(engine: StateEngine, sources: Sources) -> None:
    sites = sources.sites
    if len(sites.row_groups) > _MOST_GROUPS:
        raise SitesError(
            f"{sites.origin}: rows are split {len(sites.row_groups)} ways; at most {_MOST_GROUPS} are possible."
        )
    for site, table in zip(sites.sites, sources.tables, strict=True):
        if CHANGE_TYPE in sql_types(engine.schema_of(table)):
            raise SourceError(
                f"{table.name} of site {site.name!r} has a column {CHANGE_TYPE}: these are changes, not a table.",
                hint="load the table itself, then apply its changes.",
            )
    seen = schema_as_seen(sources.schema, sites.origin)
    require_types(sites.rules, seen)
    require_key_types(sites.key, seen)


def _refused(refused: RefusedFragment, plan: ShipmentPlan) -> SitesError:
    """What is wrong with the fragments, in the user's terms."""
    sites, problem, shown = plan.sites, refused.problem, shown_key(refused.key)
    site, other = sites.sites[refused.site].name, sites.sites[refused.other].name
    if problem is FragmentProblem.NULL_KEY:
        return SitesError(f"site {site!r} has a row without a key: {', '.join(sites.key)} is null there.")
    if problem is FragmentProblem.REPEATED_KEY:
        return SitesError(f"the key {shown} stands twice at site {site!r}.", hint="a key names one row.")
    if problem is FragmentProblem.KEY_IN_SEVERAL_GROUPS:
        return SitesError(f"the key {shown} stands at {site!r} and at {other!r}, which hold different rows.")
    if problem is FragmentProblem.KEY_MISSING_AT_SITE:
        return SitesError(
            f"site {site!r} has the key {shown}, but {other!r} has not.",
            hint="sites that hold columns of the same rows have the same keys.",
        )
    where = sites.row_groups[refused.group].where
    if problem is FragmentProblem.OUTSIDE_OWN_CONDITION:
        return SitesError(
            f"the row with the key {shown} at site {site!r} does not satisfy the site's condition {where}.",
            hint="conditions on rows must cover all rows; move the row, or change `where`.",
        )
    return SitesError(
        f"the row with the key {shown} at site {site!r} also satisfies {where}, the condition of another site.",
        hint="conditions on rows must not overlap.",
    )


def _require_free(store: Store) -> None:
    """StateError where there is a state, or anything but what a killed load left behind."""
    ours, hint = (*_FOLDERS, NAME, VIOLATIONS), "name a new folder, or use fragments apply."
    require_free(store, ours=ours, prefixes=("site-",), hint=hint)
