"""The jobs, wired: rules, plan, Spark, result. No logic of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.checking.outcome import FailOn
from holdfast.errors import OptionError
from holdfast.evolving.options import EvolveStrategy, evolve_options, require_strategy
from holdfast.fragments.sites import Sites, as_sites
from holdfast.rules.parse import given_names
from holdfast.rules.rule import Nulls, Rule, RuleSet
from holdfast.rules.rule_file import as_rule_set, named_key
from holdfast.search.options import (
    DEFAULT_OVERLAP,
    DEFAULT_TIME_LIMIT,
    DEFAULT_TOP,
    Device,
    Share,
    Strategy,
    discover_options,
    how_many,
)

if TYPE_CHECKING:
    from holdfast.engines.findings import MachineFinding
    from holdfast.engines.spark.checking.check import CheckResult
    from holdfast.engines.spark.discovery.discover import DiscoverResult
    from holdfast.engines.spark.sources.table import Frame, Session, Table
    from holdfast.evolving.outcome import EvolveOutcome
    from holdfast.evolving.status import EvolveStatus
    from holdfast.explaining.explanation import RowExplanation
    from holdfast.fragments.outcome import FragmentsOutcome, FragmentsStatus
    from holdfast.fragments.shipment_plan import ShipmentPlan
    from holdfast.programs.plan import Plan
    from holdfast.states.batch_outcome import BatchOutcome
    from holdfast.watching.status import WatchStatus

DEFAULT_LIMIT = 1_000_000


def check(
    data: Frame | str | os.PathLike[str],
    rules: RuleSet | Rule | str | os.PathLike[str] | Iterable[str | Rule],
    *,
    key: str | Sequence[str] | None = None,
    nulls: Nulls | None = None,
    limit: int | None = DEFAULT_LIMIT,
    fail_on: FailOn = "error",
    all_columns: bool = False,
    redact: Sequence[str] = (),
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> CheckResult:
    """Every violation of every rule, counted exactly.

    `data` is a Spark DataFrame or whatever `holdfast check` takes; `rules` a rule file, a rule's text, a list of them,
    or a set. `key` names the column or columns by which results name rows; it and `nulls` default to what the rule file
    says. `limit` caps the pairs that are listed per rule (None for no cap). With `all_columns` the scan keeps whole
    rows, so that `split()` needs no second one. `redact` names columns whose values nobody is shown: not in summaries,
    not in reports; the DataFrames of the result have them. `reading` goes to the reader: types, null_values, delimiter,
    encoding, multiline, input_format. Runs on the caller's session, and starts one only when there is none.
    """
    from holdfast.engines.spark.checking.check import run_check

    table, plan = plan_check(data, rules, key=key, nulls=nulls, master=master, conf=conf, **reading)
    spark = table.frame.sparkSession
    names = [redact] if isinstance(redact, str) else redact
    return run_check(spark, table, plan, limit=limit, fail_on=fail_on, all_columns=all_columns, redact=names)


def plan_check(
    data: Frame | str | os.PathLike[str],
    rules: RuleSet | Rule | str | os.PathLike[str] | Iterable[str | Rule],
    *,
    key: str | Sequence[str] | None = None,
    nulls: Nulls | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> tuple[Table, Plan]:
    """The table that `check` would read, and the plan it would run; nothing is scanned."""
    wanted = as_rule_set(rules, nulls=nulls)  # before Spark starts: a typo in a rule should not cost a start-up
    names = named_key(wanted, key)

    from holdfast.engines.spark.checking.check import plan_check as plan_on_spark

    table = open_table(data, master=master, conf=conf, **reading)
    return table, plan_on_spark(table, wanted, names)


def explain(
    data: Frame | str | os.PathLike[str],
    rules: RuleSet | Rule | str | os.PathLike[str] | Iterable[str | Rule],
    row: Any,
    *,
    key: str | Sequence[str] | None = None,
    nulls: Nulls | None = None,
    redact: Sequence[str] = (),
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> RowExplanation:
    """Which rules the row with the key `row` breaks, with which others, and which change of one cell would mend it.

    The table is checked for it: who breaks a rule depends on all rows. Nothing is changed.
    """
    asked: dict[str, Any] = {"key": key, "nulls": nulls, "redact": redact, "master": master, "conf": conf, **reading}
    with check(data, rules, all_columns=True, **asked) as result:
        return result.explain(row)


def discover(
    data: Frame | str | os.PathLike[str],
    *,
    columns: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    cross_columns: float | str | None = DEFAULT_OVERLAP,
    one_row: bool = False,
    order_text: bool = False,
    nulls: Nulls = "sql",
    error: Share = 0,
    error_rows: Share | None = None,
    conditional: bool = False,
    constants: bool = False,
    min_support: Share | None = None,
    min_confidence: Share | None = None,
    max_predicates: int | None = None,
    time_limit: float | str | None = DEFAULT_TIME_LIMIT,
    strategy: Strategy = "auto",
    device: Device = "auto",
    top: int | str | None = DEFAULT_TOP,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> DiscoverResult:
    """The most general rules that the table holds, the ones worth reading first.

    `data` is a Spark DataFrame or whatever `holdfast discover` takes. Two columns of one type are compared with each
    other when they share at least `cross_columns` of the smaller one's values ("off" or None: never), also within one
    row with `one_row`. With `error`, a rule may be broken by that share of all ordered pairs of rows: 0.001, or "0.1%";
    it is written with what it tolerates, so that `check` accepts it. With `error_rows`, keys and dependencies for which
    at most that share of the rows would have to go. With `conditional`, dependencies on rows with given values that
    `min_support` of the rows support (a share, or a number) and `min_confidence` of these hold; with `constants`, also
    rules that speak of the rows with values that so many rows have. `top` is how many rules
    are shown ("all" or None: all of them). After `time_limit` seconds the search ends with what it has, and says so
    ("none" or None: it goes on to the end). `reading` goes to the reader, as in `check`. Runs on the caller's session,
    and starts one only when there is none.
    """
    options = discover_options(
        columns=columns,
        exclude=exclude,
        cross_columns=cross_columns,
        one_row=one_row,
        order_text=order_text,
        nulls=nulls,
        error=error,
        error_rows=error_rows,
        conditional=conditional,
        constants=constants,
        min_support=min_support,
        min_confidence=min_confidence,
        max_predicates=max_predicates,
        time_limit=time_limit,
        strategy=strategy,
        device=device,
    )
    shown = how_many(top)

    from holdfast.engines.spark.discovery.discover import run_discover

    return run_discover(open_table(data, master=master, conf=conf, **reading), options, top=shown)


def open_table(
    data: Frame | str | os.PathLike[str],
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> Table:
    """The table that a job would read, on the session it would use; nothing is scanned."""
    from holdfast.engines.spark.session import get_session
    from holdfast.engines.spark.sources.sources import read_table
    from holdfast.engines.spark.sources.table import Table
    from holdfast.tables.read_options import ReadOptions

    if not isinstance(data, str | os.PathLike):
        return Table(data, "DataFrame")
    return read_table(get_session(master=master, conf=conf), data, ReadOptions(**reading))


# watch ------------------------------------------------------------------------------------------------------------


def watch(
    frame: Frame,
    rules: RuleSet | Rule | str | os.PathLike[str] | Iterable[str | Rule],
    *,
    key: str | Sequence[str],
    checkpoint: str | os.PathLike[str],
    batch: int | None = None,
    nulls: Nulls | None = None,
    limit: int | None = DEFAULT_LIMIT,
    trigger: Mapping[str, Any] | None = None,
    on_batch: Callable[[BatchOutcome], None] | None = None,
) -> Any:
    """A streaming query that keeps the violations of the rules up to date under the changes that the stream brings.

    The frame's rows are changes: its columns are the table's, with `_change_type` as change feeds name it; without it
    all are inserts. The state lies in the folder `checkpoint`, empty at first; `holdfast watch show CHECKPOINT/state`
    reads it. `on_batch` is called with the outcome of each batch. Inside foreachBatch, give the batch's frame and
    `batch=batch_id`: the outcome of that batch comes back, and a batch that comes again changes nothing.
    """
    from holdfast.engines.spark.states.follow_frames import watch_frame

    wanted = as_rule_set(rules, nulls=nulls)
    return watch_frame(
        frame,
        wanted,
        named_key(wanted, key),
        os.fspath(checkpoint),
        batch=batch,
        limit=limit,
        trigger=trigger,
        on_batch=on_batch,
    )


def watch_init(
    state: str | os.PathLike[str],
    data: Frame | str | os.PathLike[str],
    rules: RuleSet | Rule | str | os.PathLike[str] | Iterable[str | Rule],
    *,
    key: str | Sequence[str] | None = None,
    nulls: Nulls | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> WatchStatus:
    """A new state in the folder `state`: the table as it is now, and how often it violates each rule."""
    wanted = as_rule_set(rules, nulls=nulls)

    from holdfast.engines.spark.watching.watch_init import init_watch

    table = open_table(data, master=master, conf=conf, **reading)
    started = time.monotonic()
    made = init_watch(table, wanted, named_key(wanted, key), state, reading)
    return made.status(seconds=time.monotonic() - started)


def watch_apply(
    state: str | os.PathLike[str],
    changes: str | os.PathLike[str],
    *,
    batch: str | None = None,
    limit: int | None = DEFAULT_LIMIT,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> BatchOutcome:
    """What the changes in a file add to the violations and take from them, applied once however often it is given."""
    from holdfast.engines.spark.watching.watch import watched

    found = watched(_session(master, conf), state)
    return found.apply_file(os.fspath(changes), batch=batch, limit=limit, reading=reading)


def watch_run(
    state: str | os.PathLike[str],
    source: str | os.PathLike[str],
    *,
    once: bool = False,
    from_version: int | None = None,
    limit: int | None = DEFAULT_LIMIT,
    on_batch: Callable[[BatchOutcome, str], None] = lambda outcome, name: None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> None:
    """Applies each file of changes that is in the folder `source` or comes there; with `once`, those there now.

    Of a Delta table, the commits: from `from_version` on where the state was not made of that table.
    """
    from holdfast.engines.spark.watching.watch import watched

    asked: dict[str, Any] = {"once": once, "limit": limit, "on_batch": on_batch, "opened": watched}
    _follow(state, source, from_version, asked, master, conf)


def _follow(
    state: str | os.PathLike[str],
    source: str | os.PathLike[str],
    from_version: int | None,
    asked: dict[str, Any],
    master: str | None,
    conf: Mapping[str, str] | None,
) -> None:
    from holdfast.engines.spark.sources.delta_table import is_delta
    from holdfast.engines.spark.states.follow_delta import follow_delta
    from holdfast.engines.spark.states.follow_frames import follow_folder

    if is_delta(source):
        asked["from_version"] = from_version
    elif from_version is not None:
        raise OptionError(f"--from-version is for Delta tables, and {os.fspath(source)} is none.")
    spark = _session(master, conf)
    (follow_delta if is_delta(source) else follow_folder)(spark, os.fspath(state), os.fspath(source), **asked)


def watch_show(
    state: str | os.PathLike[str],
    *,
    violations: str | None = None,
    report: str | os.PathLike[str] | None = None,
    limit: int | None = DEFAULT_LIMIT,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> WatchStatus:
    """The state's totals and worst rows; with `violations`, all current violations in that folder, as `check` does.

    With `report`, an HTML page in that file: totals over time, and what is violated now.
    """
    from holdfast.engines.spark.checking.outputs import write_folders
    from holdfast.engines.spark.watching.watch import watched
    from holdfast.report.write_whole import write_whole

    spark = _session(master, conf)
    started = time.monotonic()
    found = watched(spark, state)
    with found.check(limit=0 if violations is None and report is None else limit) as result:
        if violations is not None:
            write_folders({"pairs": result.pairs, "rows": result.rows, "groups": result.groups}, violations)
        status = found.with_worst_rows(result, seconds=time.monotonic() - started)
        if report is not None:
            write_whole(report, found.report(status, result))
        return status


def watch_rules(
    state: str | os.PathLike[str],
    rules: RuleSet | Rule | str | os.PathLike[str] | Iterable[str | Rule],
    *,
    nulls: Nulls | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> tuple[WatchStatus, list[str], list[str]]:
    """The state with these rules from now on; the names of those that are new or changed, and of those gone."""
    wanted = as_rule_set(rules, nulls=nulls)

    from holdfast.engines.spark.watching.watch import watched

    spark = _session(master, conf)
    started = time.monotonic()
    found = watched(spark, state)
    new, gone = found.change_rules(wanted)
    return found.newest().status(seconds=time.monotonic() - started), new, gone


# evolve -----------------------------------------------------------------------------------------------------------


def evolve(
    frame: Frame,
    *,
    key: str | Sequence[str],
    checkpoint: str | os.PathLike[str],
    data: Frame | str | os.PathLike[str] | None = None,
    batch: int | None = None,
    strategy: EvolveStrategy = "auto",
    trigger: Mapping[str, Any] | None = None,
    on_batch: Callable[[EvolveOutcome], None] | None = None,
    **options: Any,
) -> Any:
    """A streaming query that keeps the rules of a table up to date under the changes that the stream brings.

    The frame's rows are changes, as in `watch`. The state lies in the folder `checkpoint`; at first it holds the table
    `data`, empty where none is given, and `holdfast evolve show CHECKPOINT/state` reads it. `options` are those of
    `discover`. Inside foreachBatch, give the batch's frame and `batch=batch_id`: the outcome of that batch comes back.
    """
    from holdfast.engines.spark.evolving.evolve import evolve_frame

    wanted = evolve_options(**options)
    return evolve_frame(
        frame,
        None if data is None else open_table(data),
        given_names(key),
        os.fspath(checkpoint),
        wanted,
        require_strategy(strategy, wanted),
        batch=batch,
        trigger=trigger,
        on_batch=on_batch,
    )


def evolve_init(
    state: str | os.PathLike[str],
    data: Frame | str | os.PathLike[str],
    *,
    key: str | Sequence[str],
    strategy: EvolveStrategy = "auto",
    top: int | str | None = DEFAULT_TOP,
    options: Mapping[str, Any] | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> EvolveStatus:
    """A new state in the folder `state`: the table as it is now, and the rules it holds. `options` are those of
    `discover`."""
    wanted, shown = evolve_options(**(options or {})), how_many(top)
    way = require_strategy(strategy, wanted)

    from holdfast.engines.spark.evolving.evolve import init_evolve

    table = open_table(data, master=master, conf=conf, **reading)
    started = time.monotonic()
    made = init_evolve(table, given_names(key), state, wanted, way, reading)
    return made.rules_status(top=shown, started=started)


def evolve_apply(
    state: str | os.PathLike[str],
    changes: str | os.PathLike[str],
    *,
    batch: str | None = None,
    strategy: EvolveStrategy | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> EvolveOutcome:
    """Which rules the changes in a file add and remove, applied once however often it is given."""
    from holdfast.engines.spark.evolving.evolve import evolved_table

    found = evolved_table(_session(master, conf), state)
    if strategy is not None:
        found = found.by(require_strategy(strategy, found.options))
    return found.apply_file(os.fspath(changes), batch=batch, limit=None, reading=reading)


def evolve_run(
    state: str | os.PathLike[str],
    source: str | os.PathLike[str],
    *,
    once: bool = False,
    from_version: int | None = None,
    on_batch: Callable[[EvolveOutcome, str], None] = lambda outcome, name: None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> None:
    """Applies each file of changes that is in the folder `source` or comes there, or each commit of a Delta table; with
    `once`, those there now."""
    from holdfast.engines.spark.evolving.evolve import evolved_table

    asked: dict[str, Any] = {"once": once, "limit": None, "on_batch": on_batch, "opened": evolved_table}
    _follow(state, source, from_version, asked, master, conf)


def evolve_show(
    state: str | os.PathLike[str],
    *,
    top: int | str | None = DEFAULT_TOP,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> EvolveStatus:
    """The rules as they are now, best first, and what became of others."""
    shown = how_many(top)

    from holdfast.engines.spark.evolving.evolve import evolved_table

    spark = _session(master, conf)
    started = time.monotonic()
    return evolved_table(spark, state).rules_status(top=shown, started=started)


# doctor -----------------------------------------------------------------------------------------------------------


def doctor(*, start: bool = True) -> list[MachineFinding]:
    """What this machine has of what Holdfast needs; with `start`, also whether Spark starts."""
    from holdfast.engines.spark.doctor import examine

    return examine(start=start)


# fragments --------------------------------------------------------------------------------------------------------


def fragments_plan(sites: Sites | str | os.PathLike[str]) -> ShipmentPlan:
    """Which site ships which ids to whom for one changed row; `sites` is a sites file. Needs neither data nor Spark."""
    from holdfast.fragments.shipment_plan import plan_shipments

    return plan_shipments(as_sites(sites))


def fragments_init(
    state: str | os.PathLike[str],
    sites: Sites | str | os.PathLike[str],
    *,
    data: Mapping[str, Frame] | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> FragmentsStatus:
    """A new state in the folder `state`: what each site knows of its rows, and how many rows violate each rule.

    `sites` is a sites file; `data` are the sites' DataFrames, by site, instead of what it says of their data.
    """
    wanted = as_sites(sites)  # before Spark starts: a typo in a file should not cost a start-up

    from holdfast.engines.spark.fragments.fragment_sources import given_tables
    from holdfast.engines.spark.fragments.fragments_init import init_fragments

    tables = None if data is None else given_tables(wanted, data)
    spark = _session(master, conf)
    started = time.monotonic()
    made, shipped = init_fragments(spark, wanted, state, tables=tables)
    return made.status(seconds=time.monotonic() - started, shipped=shipped)


def fragments_apply(
    state: str | os.PathLike[str],
    changes: str | os.PathLike[str],
    *,
    batch: str | None = None,
    limit: int | None = DEFAULT_LIMIT,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> FragmentsOutcome:
    """The rows that the changes in a file bring into violation or out of it, and what sites shipped for it.

    A file is applied once, however often it is given.
    """
    from holdfast.engines.spark.fragments.fragments import fragmented

    found = fragmented(_session(master, conf), os.fspath(state))
    return found.apply_file(os.fspath(changes), batch=batch, limit=limit, reading=reading)


def fragments_show(
    state: str | os.PathLike[str],
    *,
    violations: str | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> FragmentsStatus:
    """How many rows violate each rule now; with `violations`, all of them in that folder, as Parquet."""
    from holdfast.engines.spark.checking.outputs import write_folders
    from holdfast.engines.spark.fragments.fragments import fragmented

    started = time.monotonic()
    found = fragmented(_session(master, conf), os.fspath(state))
    if violations is not None:
        write_folders({"rows": found.violations}, violations)
    return found.status(seconds=time.monotonic() - started)


def _session(master: str | None, conf: Mapping[str, str] | None) -> Session:
    from holdfast.engines.spark.session import get_session

    return get_session(master=master, conf=conf)
