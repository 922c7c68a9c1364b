"""The fragments of a table into a new state."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.engines.spark.checking.rows import schema_as_seen, with_truths
from holdfast.engines.spark.fragments.fragment_meetings import meetings_of
from holdfast.engines.spark.fragments.fragment_rows import IdPacking
from holdfast.engines.spark.fragments.fragment_sources import Sources, open_sources, tellable, wrong_sql
from holdfast.engines.spark.fragments.fragments import FragmentedTable, placed_schema, run_steps
from holdfast.engines.spark.sources.sources import explain_failure
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.failed_changes import translate_load_errors
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.spark.states.state_files import by_hash, slots
from holdfast.engines.states.refused_changes import shown_key
from holdfast.errors import HoldfastError, SitesError, SourceError
from holdfast.fragments.first_rows import FirstSiteRowsTask
from holdfast.fragments.index_changes import IndexChangesTask
from holdfast.fragments.plan_file import NAME, Fixed, write_fixed
from holdfast.fragments.rule_violations import RuleViolationsTask
from holdfast.fragments.shipment_plan import ShipmentPlan, plan_shipments
from holdfast.fragments.site_tables import VIOLATIONS, empty_tables, held_atoms_of
from holdfast.fragments.sites import SplitTable
from holdfast.programs.bind import require_types
from holdfast.states.change_log import discard, empty_log, moved_totals
from holdfast.states.compaction import places_for
from holdfast.states.manifest import BATCHES, CHANGES, PENDING, VERSIONS, FragmentsBody, Manifest
from holdfast.states.messages import FragmentProblem, RefusedFragment, Shipped, Unit, net_rows, of_type, total_shipped
from holdfast.states.row_changes import CHANGE_TYPE
from holdfast.states.store import Store, open_store
from holdfast.states.versions import commit, require_free
from holdfast.violations.evaluate import UNLIMITED

_FOLDERS = (VERSIONS, BATCHES, PENDING, CHANGES)
# So many rows of parts are not worth several tasks.
_FEW = 200_000
# A bit for each group of sites stands in one word.
_MOST_GROUPS = 62


def init_fragments(
    spark: SparkSession,
    sites: SplitTable,
    place: str | os.PathLike[str],
    *,
    tables: Sequence[Table] | None = None,
    record: str | None = None,
) -> tuple[FragmentedTable, Shipped]:
    """A new state at the place, of the fragments as they are now, and what crossed between sites for it.

    `tables` are the sites' tables, in order, where the sites file does not say where they are.
    """
    store = open_store(place)
    _require_free(store)
    sources = open_sources(spark, sites, tables)
    sites = sources.sites
    _require_sense(sources)
    plan = plan_shipments(sites, sources.schema.names)
    fixed = Fixed(plan, meetings_of(spark, plan, sources.schema), secrets.token_bytes(16))
    body = FragmentsBody(empty_tables(sites))
    store.make([*_FOLDERS, *body.tables])
    with store.only_writer():
        _require_free(store)
        held_atoms = held_atoms_of(plan)
        packing = IdPacking(sources.schema, sites.key, held_atoms, sites.rules.nulls, fixed.secret)
        whole = Table(sources.tables[0].frame, sites.origin)
        names = tuple(rule.name for rule in sites.rules)
        with translate_load_errors(whole, "loading the sites of"), _site_named(sources):
            rows = _site_rows(sources, packing)
            key = rows.schema["k"].dataType
            count = _count(sources)
            placed = by_hash(rows, places_for(count * max(1, len(sites.sites) // 2)))
            task = FirstSiteRowsTask(store, plan, held_atoms, len(sites.key), record)
            index = IndexChangesTask(store, body.tables, plan, fixed.meetings, 0, first=True, record=record)
            last = RuleViolationsTask(store, body.tables[VIOLATIONS], names, 0, UNLIMITED, logged=False)
            busy = _pieces(spark, count * len(plan.parts))
            messages = run_steps(placed.mapInArrow(task, placed_schema(key)), index, last, busy)
            log = empty_log(store, rows.select("k").limit(0).toArrow().schema.field("k").type)
        refused = of_type(messages, RefusedFragment)
        if refused:
            discard(store, messages)
            raise _refused(min(refused, key=lambda fragment: (fragment.problem, str(fragment.key))), plan)
        write_fixed(store, fixed)
        manifest = Manifest(
            version=0,
            key=sites.key,
            schema=sources.schema.jsonValue(),
            reading={},
            rows=net_rows(messages),
            totals=moved_totals(messages, dict.fromkeys(names, Unit.ROWS)),
            body=body.with_written(messages),
            log=(log,),
            table=sites.origin,
        )
        commit(store, manifest)
    return FragmentedTable(SparkEngine(spark), store, record), total_shipped(messages)


def _pieces(spark: SparkSession, rows: int) -> int:
    """Into how many pieces so many rows of parts are divided: enough for all slots, few files in the end."""
    wanted = places_for(rows // 8)
    return wanted if rows < _FEW else min(64, max(wanted, 1 << (slots(spark).bit_length() - 1)))


def _site_rows(sources: Sources, packing: IdPacking) -> DataFrame:
    """(site, k, h, ids, bits, wrong) of all sites, each row from the columns of its own site alone.

    Sites that hold the same columns share the expressions: ten sites of whole rows are planned and compiled as one.
    """
    alike: dict[frozenset[str], list[int]] = {}
    for number, site in enumerate(sources.sites.sites):
        alike.setdefault(frozenset(site.columns or ()), []).append(number)
    frames = []
    for numbers in alike.values():
        atoms = packing.held_atoms.held[numbers[0]]
        scopes = [packing.held_atoms.atoms[a].where for a in atoms]
        conditions = tellable(sources.sites, numbers[0], sources.schema)
        wanted = list(dict.fromkeys([*conditions, *(scope for scope in scopes if scope is not None)]))
        rows = [sources.frame(number).withColumn("site", F.lit(number)) for number in numbers]
        frame, truths = with_truths(reduce(DataFrame.unionByName, rows), sources.schema.names, wanted)
        ids, bits = packing.packed_sql(atoms, truths)
        cases = " ".join(f"WHEN {number} THEN {wrong_sql(sources.sites, number, truths)}" for number in numbers)
        columns = (f"{packing.key_sql()} AS k", f"{ids} AS ids", f"{bits} AS bits", f"CASE site {cases} END AS wrong")
        frames.append(frame.selectExpr("site", *columns))
    return reduce(DataFrame.unionByName, frames).withColumn("h", F.expr("xxhash64(k)"))


def _count(sources: Sources) -> int:
    """The rows of the whole table: those of one site of each group."""
    firsts = [sources.tables[group.sites[0]].frame for group in sources.sites.row_groups]
    counted = reduce(DataFrame.unionAll, [frame.agg(F.count("*").alias("n")) for frame in firsts])
    return sum(row["n"] for row in counted.collect())


def _require_sense(sources: Sources) -> None:
    sites = sources.sites
    if len(sites.row_groups) > _MOST_GROUPS:
        raise SitesError(
            f"{sites.origin}: rows are split {len(sites.row_groups)} ways; at most {_MOST_GROUPS} are possible."
        )
    for site, table in zip(sites.sites, sources.tables, strict=True):
        if CHANGE_TYPE in table.frame.columns:
            raise SourceError(
                f"{table.name} of site {site.name!r} has a column {CHANGE_TYPE}: these are changes, not a table.",
                hint="load the table itself, then apply its changes.",
            )
    require_types(sites.rules, schema_as_seen(sources.schema, sites.origin))


@contextmanager
def _site_named(sources: Sources) -> Iterator[None]:
    """Names the site whose data could not be read, where Spark failed for one table's fault."""
    try:
        yield
    except HoldfastError:
        raise
    except Exception as problem:
        for site, table in zip(sources.sites.sites, sources.tables, strict=True):
            explained = explain_failure(problem, table)
            if explained is not None:
                raise SourceError(f"site {site.name!r}: {explained.message}", hint=explained.hint) from problem
        raise


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
    require_free(store, ours=ours, prefix="site-", hint=hint)
