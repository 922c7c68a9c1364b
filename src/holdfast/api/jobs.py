"""The jobs, wired: rules, plan, engine, result. No logic of their own."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from holdfast.checking.annotated import DEFAULT_PARTNERS
from holdfast.checking.outcome import CheckOutcome, FailOn
from holdfast.errors import ConditionError, MissingPackageError, OptionError, closest_hint
from holdfast.evolving.options import EvolveStrategy, evolve_options, require_strategy
from holdfast.rules.decisions import Decisions, as_decisions
from holdfast.rules.parse import given_names, is_table_name
from holdfast.rules.rule import Nulls, Rule, RuleSet
from holdfast.rules.rule_file import GivesRules, as_rule_set, data_of, named_key, refuse_tables
from holdfast.search.options import (
    DEFAULT_OVERLAP,
    DEFAULT_TIME_LIMIT,
    DEFAULT_TOP,
    Device,
    DiscoverOptions,
    Share,
    Strategy,
    discover_options,
    how_many,
)

if TYPE_CHECKING:
    from holdfast.checking.history import History
    from holdfast.discovery.explain import ExplainedSpace
    from holdfast.engines.check_result import CheckResult
    from holdfast.engines.choose import EngineChoice
    from holdfast.engines.discovery import DiscoverResult
    from holdfast.engines.findings import MachineFinding
    from holdfast.engines.job_table import JobTable
    from holdfast.engines.local.discover_tables import TablesDiscoverResult
    from holdfast.engines.local.tables.check import LocalOpenedTables
    from holdfast.engines.spark.sources.table import Frame, Table
    from holdfast.engines.spark.tables.check import SparkTables
    from holdfast.engines.tables.plan import OpenedTables, TablesPlan
    from holdfast.engines.tables.result import TablesCheckResult
    from holdfast.engines.tables.source import TableSource
    from holdfast.evolving.outcome import EvolveOutcome
    from holdfast.explaining.explanation import RowExplanation
    from holdfast.fragments.shipment_plan import ShipmentPlan
    from holdfast.fragments.sites import SplitTable
    from holdfast.linting.finding import LintOutcome
    from holdfast.programs.plan import Plan
    from holdfast.states.batch_outcome import BatchOutcome

DEFAULT_LIMIT = 1_000_000

# What arguments may be: a folder or file, a table, rules, the columns of a key.
Place: TypeAlias = str | os.PathLike[str]
Data: TypeAlias = "Frame | Place | Any"
Tables: TypeAlias = Mapping[str, Data]
Rules: TypeAlias = RuleSet | Rule | GivesRules | str | os.PathLike[str] | Iterable[str | Rule]
KeyColumns: TypeAlias = str | Sequence[str]


@overload
def check(
    data: Tables, rules: Rules, *, key: Mapping[str, KeyColumns] | None = None, **options: Any
) -> TablesCheckResult: ...


@overload
def check(data: Data, rules: Rules, *, key: KeyColumns | None = None, **options: Any) -> CheckResult: ...


def check(
    data: Data | Tables,
    rules: Rules,
    *,
    key: KeyColumns | Mapping[str, KeyColumns] | None = None,
    nulls: Nulls | None = None,
    limit: int | None = DEFAULT_LIMIT,
    fail_on: FailOn = "error",
    all_columns: bool = False,
    redact: Sequence[str] = (),
    where: str | Mapping[str, str] | None = None,
    variables: Mapping[str, Any] | None = None,
    tags: str | Sequence[str] = (),
    engine: EngineChoice = "auto",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> CheckResult | TablesCheckResult:
    """Every violation of every rule, counted exactly.

    `data` is a Spark DataFrame, a table of pandas, Polars, Arrow or DuckDB, or whatever `holdfast check` takes; `rules`
    a rule file, a rule's text, a list of them, or a set. `key` names the column or columns by which results name rows;
    it and `nulls` default to what the rule file says. `limit` caps the pairs that are listed per rule (None for no
    cap). With `all_columns` the scan keeps whole rows, so that `split()` needs no second one. `redact` names columns
    whose values nobody is shown: not in summaries, not in reports; the tables of the result have them. With `where`, a
    SQL condition, the table is what satisfies it. `variables` are the values of `${name}` in the rules; with `tags`,
    only rules that have one of these are checked. `reading` goes to the reader: types, null_values, delimiter,
    encoding, multiline, input_format.

    `engine` is where it runs: "local" in this process, "spark" on Spark, "auto" in this process for files and tables in
    memory that fit a quarter of it, where no Spark session is there and no `master` or `conf` is named. On Spark it
    runs on the caller's session, and starts one only when there is none.

    For rules over several tables, `data` is a mapping from their names to the tables, and `key` one to their keys;
    where the rule file has `tables`, it may be empty; `where` is one from tables to conditions. The tables of its
    result name a row by its table and its key, and `split()` returns clean and quarantined rows by table.
    """
    chosen: dict[str, Any] = {"nulls": nulls, "variables": variables, "tags": tags}
    chosen |= {"engine": engine, "master": master, "conf": conf}
    if isinstance(data, Mapping):
        tables_plan = plan_tables_check(data, rules, key=key, where=where, **chosen, **reading)
        return tables_plan.run(limit=limit, fail_on=fail_on, all_columns=all_columns, redact=redact)
    if isinstance(key, Mapping) or isinstance(where, Mapping):
        name = "key" if isinstance(key, Mapping) else "where"
        raise OptionError(f"{name} is a mapping, and there is one table.", hint="give it as a text.")
    planned = plan_check(data, rules, key=key, where=where, **chosen, **reading)
    return planned.run(limit=limit, fail_on=fail_on, all_columns=all_columns, redact=redact)


def check_batch(
    batch: Frame,
    rules: Rules,
    *,
    key: KeyColumns | None = None,
    write: Callable[[Frame], object] | None = None,
    partners: int = DEFAULT_PARTNERS,
    **options: Any,
) -> CheckOutcome:
    """What the rows of a DataFrame break, counted, for `foreachBatch`; nothing of it stays persisted.

    `write` is given the batch as `CheckResult.annotated` has it, a DataFrame that lasts until `write` is done. A rule
    compares the rows of the batch alone; `watch` also compares them with those that came before. `options` are those
    of `check`. An example, in one line:

        orders.writeStream.foreachBatch(lambda batch, number: hf.check_batch(
            batch, "rules.yaml", write=lambda rows: rows.write.mode("append").parquet("checked")))
    """
    with check(batch, rules, key=key, engine="spark", all_columns=write is not None, **options) as result:
        if write is not None:
            write(result.annotated(partners=partners).to_spark())
        return result.outcome


@dataclass(frozen=True)
class PlannedCheck:
    """A check that has not run: the table it would read, and its plan."""

    table: JobTable
    plan: Plan

    def explain(self, *, sql: bool = False) -> str:
        """The plan as text, with its SQL where `sql`."""
        from holdfast.checking.plan_text import plan_text

        return plan_text(self.plan, sql=sql)

    def run(
        self,
        *,
        limit: int | None = DEFAULT_LIMIT,
        fail_on: FailOn = "error",
        all_columns: bool = False,
        redact: str | Sequence[str] = (),
    ) -> CheckResult:
        """Runs the check; the options are those of `check`."""
        hidden = [redact] if isinstance(redact, str) else redact
        return self.table.run_check(self.plan, limit=limit, fail_on=fail_on, all_columns=all_columns, redact=hidden)


@dataclass(frozen=True)
class PlannedTablesCheck:
    """A check of several tables that has not run."""

    tables: OpenedTables
    plan: TablesPlan
    started: float

    @property
    def name(self) -> str:
        """The tables, as rules name them."""
        return ", ".join(self.plan.tables)

    def explain(self, *, sql: bool = False) -> str:
        """The plan as text, with its SQL where `sql`."""
        return self.plan.text(sql=sql)

    def run(
        self,
        *,
        limit: int | None = DEFAULT_LIMIT,
        fail_on: FailOn = "error",
        all_columns: bool = False,
        redact: str | Sequence[str] = (),
    ) -> TablesCheckResult:
        """Runs the check; the options are those of `check`."""
        hidden = [redact] if isinstance(redact, str) else redact
        return self.tables.run_check(
            self.plan, limit=limit, fail_on=fail_on, all_columns=all_columns, redact=hidden, started=self.started
        )


def plan_tables_check(
    data: Tables,
    rules: Rules,
    *,
    key: KeyColumns | Mapping[str, KeyColumns] | None = None,
    nulls: Nulls | None = None,
    where: str | Mapping[str, str] | None = None,
    variables: Mapping[str, Any] | None = None,
    tags: str | Sequence[str] = (),
    engine: EngineChoice = "auto",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> PlannedTablesCheck:
    """The plan that `check` would run on several tables: those of `data`, and others of the rule file.

    `key` is a mapping from tables to their keys, or a text such as "orders.id, customers.id"; `where` is one
    from tables to conditions. With the engine "auto", a
    `where` that cannot be computed in this process sends the check to Spark, with a note.
    """
    started = time.monotonic()
    rule_set, sources = table_sources(
        data, rules, key=key, nulls=nulls, where=where, variables=variables, tags=tags, **reading
    )

    from holdfast.engines.tables.plan import plan_tables

    session: dict[str, Any] = {"master": master, "conf": conf}
    chosen = engine_for_tables(sources, engine=engine, **session)
    try:
        opened = opened_tables(sources, chosen, **session)
        return PlannedTablesCheck(opened, plan_tables(opened, rule_set), started)
    except ConditionError as problem:
        if engine != "auto" or chosen == "spark":
            raise
        opened = opened_tables(sources, "spark", note=f"checked on Spark: {problem.message}", **session)
        return PlannedTablesCheck(opened, plan_tables(opened, rule_set), started)


def table_sources(
    data: Tables,
    rules: Rules,
    *,
    key: KeyColumns | Mapping[str, KeyColumns] | None,
    nulls: Nulls | None,
    where: str | Mapping[str, str] | None = None,
    variables: Mapping[str, Any] | None = None,
    tags: str | Sequence[str] = (),
    **reading: Any,
) -> tuple[RuleSet, dict[str, TableSource]]:
    """The rules, and where the rows of each of their tables are: those of `data`, and others of the rule file."""
    for name in data:
        if not is_table_name(name):
            raise OptionError(
                f"a table cannot be called {name!r} in a rule.",
                hint="name it by a word of letters, digits and _, other than t and s.",
            )
    rule_set = as_rule_set(rules, nulls=nulls, tables=list(data) or None, variables=variables, tags=tags)
    from_file = {table.name: table for table in rule_set.tables}
    names = dict.fromkeys([*from_file, *data])
    if not names:
        raise OptionError(
            "the rules name no tables.", hint="name them in the rule file, or with --table name=DATA, or give DATA."
        )
    from holdfast.engines.tables.source import TableSource
    from holdfast.tables.read_options import ReadOptions

    keys, conditions = keys_by_table(key, list(names)), _conditions_by_table(where, list(names))
    given = {name: value for name, value in reading.items() if value is not None and value != () and value != {}}
    sources: dict[str, TableSource] = {}
    for name in names:
        table = from_file.get(name)
        source = data[name] if name in data else None if table is None else data_of(rule_set, table)
        if source is None:
            raise OptionError(
                f"the rule file does not say where the data of {name!r} is.", hint=f"name it with --table {name}=DATA."
            )
        own = {} if table is None else table.reading
        key_of_table = keys.get(name, () if table is None else table.key)
        options = ReadOptions(**{**given, **own})
        sources[name] = TableSource(source, key_of_table, options, conditions.get(name))
    return rule_set, sources


def engine_for_tables(sources: Mapping[str, TableSource], **where: Any) -> Literal["local", "spark"]:
    """Where a job on all of the tables runs."""
    from holdfast.engines.choose import chosen_engine_for_all
    from holdfast.tables.read_options import ReadOptions

    return chosen_engine_for_all([source.data for source in sources.values()], ReadOptions(), **where)


def opened_tables(
    sources: Mapping[str, TableSource], engine: str, *, note: str | None = None, **where: Any
) -> LocalOpenedTables | SparkTables:
    """The tables where a job on them will run, with a note of ours."""
    if engine == "local":
        from holdfast.engines.local.tables.check import LocalOpenedTables

        return LocalOpenedTables(sources)
    from holdfast.engines.spark.checking.rows import filtered_table
    from holdfast.engines.spark.tables.check import SparkTables

    tables = {
        name: replace(filtered_table(open_table(source.data, **where, **vars(source.options)), source.where), name=name)
        for name, source in sources.items()
    }
    return SparkTables(tables, {name: source.key for name, source in sources.items()}, () if note is None else (note,))


def keys_by_table(
    key: KeyColumns | Mapping[str, KeyColumns] | None, tables: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The columns of each table's key: a mapping, or names with their tables such as `orders.id`."""
    keys: dict[str, tuple[str, ...]] = {}
    if isinstance(key, Mapping):
        keys = {table: given_names(columns) for table, columns in key.items()}
    else:
        for name in () if key is None else given_names(key):
            table, dot, column = name.partition(".")
            if not dot:
                hint = f"write it with its table, as in {tables[0]}.{name}."
                raise OptionError(f"--key names {name!r}, which may be of any of the tables.", hint=hint)
            keys[table] = (*keys.get(table, ()), column)
    for table in keys:
        if table not in tables:
            raise OptionError(
                f"--key names the table {table!r}, which is not there.", hint=closest_hint(table, tables, what="Tables")
            )
    return keys


def _conditions_by_table(where: str | Mapping[str, str] | None, tables: Sequence[str]) -> dict[str, str]:
    """The condition on the rows of each table."""
    if isinstance(where, str):
        hint = f"name the table, as in where={{{tables[0]!r}: {where!r}}}."
        raise OptionError(f"where is {where!r}, and there are several tables.", hint=hint)
    for table in where or {}:
        if table not in tables:
            hint = closest_hint(table, tables, what="Tables")
            raise OptionError(f"--where names the table {table!r}, which is not there.", hint=hint)
    return dict(where or {})


def plan_check(
    data: Data,
    rules: Rules,
    *,
    key: KeyColumns | None = None,
    nulls: Nulls | None = None,
    variables: Mapping[str, Any] | None = None,
    tags: str | Sequence[str] = (),
    engine: EngineChoice = "auto",
    **opening: Any,
) -> PlannedCheck:
    """The table that `check` would read, and the plan it would run. `opening` is what `open_table` takes.

    With the engine "auto", a `where` that cannot be computed in this process sends the check to Spark, with a note.
    """
    # First of all: a typo in a rule should not cost a start-up.
    rule_set = as_rule_set(rules, nulls=nulls, variables=variables, tags=tags)
    refuse_tables(rule_set, "this check")
    names = named_key(rule_set, key)
    table = open_job_table(data, engine=engine, **opening)
    try:
        return PlannedCheck(table, table.plan_check(rule_set, names))
    except ConditionError as problem:
        if engine != "auto" or table.engine == "spark":
            raise
        table = open_job_table(data, engine="spark", note=f"checked on Spark: {problem.message}", **opening)
        return PlannedCheck(table, table.plan_check(rule_set, names))


def lint(
    rules: Place,
    data: Data | Tables | None = None,
    *,
    variables: Mapping[str, Any] | None = None,
    **reading: Any,
) -> LintOutcome:
    """What is wrong with a rule file: rules that cannot be read, that say nothing new, or that cannot be meant.

    With `data`, a file or a table in memory, or a mapping from names to such, also names and types that do not fit.
    It runs in this process, and no row is checked. `variables` and `reading` are as in `check`.
    """
    from holdfast.linting.finding import LintOutcome
    from holdfast.linting.lint import lint_file

    values = {name: str(value) for name, value in (variables or {}).items()}
    read = lint_file(os.fspath(rules), values, list(data) if isinstance(data, Mapping) else ())
    findings = list(read.findings)
    if data is not None and read.rules:
        from holdfast.engines.local.lint import lint_table, lint_tables

        if isinstance(data, Mapping):
            checkable = [finding for finding in read.findings if finding.level == "error"]
            if not checkable:
                _, sources = table_sources(data, rules, key=None, nulls=None, variables=variables, **reading)
                for source in sources.values():
                    engine_for(source.data, engine="local", **vars(source.options))
                findings += lint_tables(sources, read.rules, read.nulls)
        else:
            table = open_job_table(data, engine="local", **reading)
            findings += lint_table(table, read.rules, read.nulls)  # type: ignore[arg-type]
    findings.sort(key=lambda finding: (finding.file, finding.line or 0))
    return LintOutcome(tuple(findings), len(read.rules))


def history(metrics: Data, *, last: int = 30) -> History:
    """What became of each rule in the checks whose metrics are in the folder; at most the last runs of each.

    The metrics may also be a table: a DataFrame, `spark:db.table`, or one in memory.
    """
    from holdfast.checking.history import history_of
    from holdfast.engines.choose import is_in_memory
    from holdfast.engines.local.metrics_folder import metric_lines_of, read_metric_lines
    from holdfast.tables.data_files import is_spark_table

    if last < 2:
        raise OptionError(f"--last is {last}.", hint="two runs are the least that can be compared.")
    if isinstance(metrics, str | os.PathLike) and not is_spark_table(os.fspath(metrics)):
        folder = os.fspath(metrics)
        return history_of(read_metric_lines(folder), folder=folder, last=last)
    if is_in_memory(metrics):
        from holdfast.tables.read_local import local_table_of

        rows = local_table_of(metrics)
        assert rows is not None, "what is in memory can be read"
        return history_of(metric_lines_of(rows.rows, rows.name), folder=rows.name, last=last)
    from holdfast.engines.spark.arrow_table import arrow_table

    table = open_table(metrics)
    return history_of(metric_lines_of(arrow_table(table.frame), table.name), folder=table.name, last=last)


def explain(
    data: Data | Tables,
    rules: Rules,
    row: Any,
    *,
    table: str | None = None,
    key: KeyColumns | Mapping[str, KeyColumns] | None = None,
    nulls: Nulls | None = None,
    redact: Sequence[str] = (),
    variables: Mapping[str, Any] | None = None,
    engine: EngineChoice = "auto",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> RowExplanation:
    """Which rules the row with the key `row` breaks, with which others, and which change of one cell would mend it.

    The table is checked for it: who breaks a rule depends on all rows. Nothing is changed. For rules over several
    tables, `data` and `key` are as in `check`, and `table` says of which of them the row is.
    """
    if isinstance(data, Mapping):
        if table is None:
            raise OptionError(
                "it is not said of which table the row is.", hint=f"say table={next(iter(data), 'orders')!r}."
            )
        named: dict[str, Any] = {"key": key, "nulls": nulls, "redact": redact, "variables": variables, "engine": engine}
        several: TablesCheckResult = check(data, rules, master=master, conf=conf, **named, **reading)
        with several:
            return several.explain(row, table=table)
    if table is not None:
        raise OptionError(f"table is {table!r}, and there is one table.", hint="leave it out.")
    if isinstance(key, Mapping):
        raise OptionError("key is a mapping, and there is one table.", hint="name the key's columns alone.")
    refuse_tables(as_rule_set(rules, variables=variables), "this explanation")
    options: dict[str, Any] = {"key": key, "nulls": nulls, "redact": redact, "variables": variables}
    where: dict[str, Any] = {"engine": engine, "master": master, "conf": conf}
    with check(data, rules, all_columns=True, **options, **where, **reading) as result:
        return result.explain(row)


@overload
def discover(data: Tables, **options: Any) -> TablesDiscoverResult: ...


@overload
def discover(data: Data, **options: Any) -> DiscoverResult: ...


def discover(
    data: Data | Tables,
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
    decisions: Decisions | Place | None = None,
    arithmetic: bool = True,
    column_rules: bool = True,
    max_accidents: Share | None = None,
    engine: EngineChoice = "auto",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> DiscoverResult | TablesDiscoverResult:
    """The most general rules that the table holds, the ones worth reading first.

    `data` is a table as in `check`. Two columns of one type are compared with each
    other when they share at least `cross_columns` of the smaller one's values ("off" or None: never), also within one
    row with `one_row`. With `error`, a rule may be broken by that share of all ordered pairs of rows: 0.001, or "0.1%";
    it is written with what it tolerates, so that `check` accepts it. With `error_rows`, keys and dependencies for which
    at most that share of the rows would have to go. With `conditional`, dependencies on rows with given values that
    `min_support` of the rows support (a share, or a number) and `min_confidence` of these hold; with `constants`, also
    rules that speak of the rows with values that so many rows have. With `arithmetic`, also columns that are computed
    from others of their row, such as sums and products; with `column_rules`, also what single columns are likely to
    keep in the next rows, such as a format or a list of values, as `column_rules` of the result. `top` is how many
    other rules are shown ("all" or None: all of them); with `max_accidents`, of these only rules that are accidents of
    this table at most so likely: 0.05, or "5%". After `time_limit` seconds the search ends with what it has, and says
    so ("none" or None: it goes on to the end). `engine` and `reading` are as in `check`.

    With `decisions`, or a file of them, only rules are shown that nobody decided on; the outcome says which kept rules
    no longer hold, and what decisions on columns did to the order.

    Where `data` is a mapping from names to tables, what is found are inclusions between these, foreign keys first, and
    comparisons that always hold along them; such a discovery takes `error_rows`, `top`, `time_limit`, `engine` and how
    tables are read.
    """
    if isinstance(data, Mapping):
        one_table = {
            "columns": bool(columns), "exclude": bool(exclude), "cross_columns": cross_columns != DEFAULT_OVERLAP,
            "one_row": one_row, "order_text": order_text, "nulls": nulls != "sql", "error": bool(error),
            "conditional": conditional, "constants": constants, "min_support": min_support is not None,
            "min_confidence": min_confidence is not None, "max_predicates": max_predicates is not None,
            "strategy": strategy != "auto", "device": device != "auto", "decisions": decisions is not None,
            "arithmetic": not arithmetic, "column_rules": not column_rules, "max_accidents": max_accidents is not None,
        }  # fmt: skip
        refuse_for_tables([name for name, given in one_table.items() if given])
        where: dict[str, Any] = {"engine": engine, "master": master, "conf": conf}
        return discover_tables(data, error_rows=error_rows, top=top, time_limit=time_limit, **where, **reading)
    known = as_decisions(decisions)
    planned = plan_discover(
        data,
        options=discover_options(
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
        ),
        arithmetic=arithmetic,
        column_rules=column_rules,
        engine=engine,
        master=master,
        conf=conf,
        **reading,
    )
    return planned.run(top=top, max_accidents=max_accidents, decisions=known)


def refuse_for_tables(given: Sequence[str]) -> None:
    """Raises OptionError for options that only a discovery of one table has."""
    if given:
        raise OptionError(
            f"{given[0].replace('_', '-')} is for the discovery of one table.",
            hint="leave it out, or name one table: references between tables are found whatever it says.",
        )


def discover_tables(
    data: Tables,
    *,
    error_rows: Share | None = None,
    top: int | str | None = DEFAULT_TOP,
    time_limit: float | str | None = DEFAULT_TIME_LIMIT,
    engine: EngineChoice = "auto",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> TablesDiscoverResult:
    """The inclusions between tables, and what holds along them; see `discover`."""
    started = time.monotonic()
    if not data:
        raise OptionError("there are no tables.", hint='name them, as in {"orders": df, "customers": df2}.')
    for name in data:
        if not is_table_name(name):
            raise OptionError(
                f"a table cannot be called {name!r} in a rule.",
                hint="name it by a word of letters, digits and _, other than t and s.",
            )
    options = discover_options(error_rows=error_rows, time_limit=time_limit)
    shown = how_many(top)

    from holdfast.engines.choose import chosen_engine_for_all
    from holdfast.engines.local.discover_tables import TablesOptions, run_tables_discover
    from holdfast.tables.read_options import ReadOptions

    where: dict[str, Any] = {"master": master, "conf": conf}
    wanted = TablesOptions(options.error_rows or Decimal(0), shown, options.time_limit)
    if chosen_engine_for_all(list(data.values()), ReadOptions(**reading), engine=engine, **where) == "local":
        return run_tables_discover(data, ReadOptions(**reading), wanted, started=started)
    from holdfast.engines.spark.tables.discover import run_tables_discover as run_on_spark

    tables = {name: replace(open_table(source, **where, **reading), name=name) for name, source in data.items()}
    places = {n: os.fspath(source) if isinstance(source, str | os.PathLike) else None for n, source in data.items()}
    return run_on_spark(tables, places, wanted, started=started)


@dataclass(frozen=True)
class PlannedDiscovery:
    """A discovery that has not run: the table it would read, and its options."""

    table: JobTable
    options: DiscoverOptions
    arithmetic: bool = True
    column_rules: bool = True

    def explain(self) -> ExplainedSpace:
        """What would be compared. Scans the table once: which columns overlap is in their values."""
        from holdfast.engines.discovery import explain_discover

        return explain_discover(self.table.discovery(), self.options)

    def run(
        self,
        *,
        top: int | str | None = DEFAULT_TOP,
        max_accidents: Share | None = None,
        decisions: Decisions | Place | None = None,
    ) -> DiscoverResult:
        """Runs the discovery, of which the best `top` rules are shown, those alone that nobody decided on; with
        `max_accidents`, of these only those that are accidents at most so likely."""
        shown, known = how_many(top), as_decisions(decisions)

        from holdfast.engines.discovery import run_discover

        started = time.monotonic()
        source = self.table.discovery()
        limits: dict[str, Any] = {
            "max_accidents": max_accidents, "arithmetic": self.arithmetic, "column_rules": self.column_rules
        }  # fmt: skip
        if known is not None:
            from holdfast.engines.decided_discovery import run_decided_discover

            return run_decided_discover(source, self.options, known, top=shown, started=started, **limits)
        return run_discover(source, self.options, top=shown, started=started, **limits)


def plan_discover(
    data: Data,
    *,
    options: DiscoverOptions,
    arithmetic: bool = True,
    column_rules: bool = True,
    engine: EngineChoice = "auto",
    **opening: Any,
) -> PlannedDiscovery:
    """The table that `discover` would read with these options; nothing is scanned. `opening` is for `open_table`."""
    refuse_several(data, "discover")
    return PlannedDiscovery(open_job_table(data, engine=engine, **opening), options, arithmetic, column_rules)


def refuse_several(data: Data, job: str) -> None:
    """Raises OptionError for several tables, which only `check` does."""
    if isinstance(data, Mapping):
        raise OptionError(
            f"{job} is of one table, and {', '.join(map(str, data))} are given.", hint="name one of them."
        )


def open_job_table(
    data: Data,
    *,
    engine: EngineChoice = "auto",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    note: str | None = None,
    where: str | None = None,
    **reading: Any,
) -> JobTable:
    """The table that a job would read, on the engine where it would run, with a note of ours; nothing is scanned.

    With a condition `where`, it is what satisfies that.
    """
    if engine_for(data, engine=engine, master=master, conf=conf, **reading) == "local":
        from holdfast.engines.local.job_table import LocalJobTable
        from holdfast.tables.read_options import ReadOptions

        return LocalJobTable(data, ReadOptions(**reading), where)
    from holdfast.engines.spark.checking.rows import filtered_table
    from holdfast.engines.spark.job_table import SparkJobTable

    table = filtered_table(open_table(data, master=master, conf=conf, **reading), where)
    return SparkJobTable(table if note is None else replace(table, notes=(*table.notes, note)))


def engine_for(
    data: Data,
    *,
    engine: EngineChoice = "auto",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> Literal["local", "spark"]:
    """Where a job on the data would run. OptionError where "local" is wanted and only Spark can read the data."""
    from holdfast.engines.choose import chosen_engine
    from holdfast.tables.read_options import ReadOptions

    return chosen_engine(data, ReadOptions(**reading), engine=engine, master=master, conf=conf)


def open_table(
    data: Data,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> Table:
    """The table that a job on Spark would read, on the session it would use; nothing is scanned."""
    from holdfast.engines.choose import is_brief, is_in_memory
    from holdfast.engines.spark.arrow_table import frame_of
    from holdfast.engines.spark.session import get_session
    from holdfast.engines.spark.sources.sources import read_table
    from holdfast.engines.spark.sources.table import Table
    from holdfast.tables.read_options import ReadOptions

    if is_in_memory(data):
        from holdfast.tables.read_local import local_table_of

        rows = local_table_of(data)
        assert rows is not None, "what is in memory can be read"
        return Table(frame_of(get_session(master=master, conf=conf), rows.rows), rows.name)
    if not isinstance(data, str | os.PathLike):
        return Table(data, "DataFrame")
    options = ReadOptions(**reading)
    session = get_session(master=master, conf=conf, brief=is_brief(data, options))
    return read_table(session, data, options)


def watch(
    frame: Frame | Mapping[str, Frame],
    rules: Rules,
    *,
    key: KeyColumns | Mapping[str, KeyColumns],
    checkpoint: Place,
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

    For rules over several tables, `frame` is a mapping from their names to a stream of each, and `key` one to the key
    of each; what comes together is one batch.
    """
    from holdfast.engines.spark.states.follow_frames import watch_frame

    if isinstance(frame, Mapping):
        from holdfast.engines.spark.states.follow_joint_frames import watch_frames

        joint, sources = table_sources(frame, rules, key=key, nulls=nulls)
        keys = {name: sources[name].key for name in frame}
        options: dict[str, Any] = {"batch": batch, "limit": limit, "trigger": trigger, "on_batch": on_batch}
        return watch_frames(frame, joint, keys, os.fspath(checkpoint), **options)
    if isinstance(key, Mapping):
        raise OptionError("key is a mapping, and there is one frame.", hint="name the key's columns alone.")
    wanted = as_rule_set(rules, nulls=nulls)
    refuse_tables(wanted, "watch")
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


def evolve(
    frame: Frame,
    *,
    key: KeyColumns,
    checkpoint: Place,
    data: Data | None = None,
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


def doctor(*, start: bool = True) -> list[MachineFinding]:
    """What this machine has of what Holdfast needs; with `start`, also whether Spark starts, where it is installed."""
    try:
        from holdfast.engines.spark.doctor import examine
    except MissingPackageError:
        from holdfast.engines.doctor import examine_without_spark

        return examine_without_spark()
    return examine(start=start)


def fragments_plan(sites: SplitTable | Place) -> ShipmentPlan:
    """Which site ships which ids to whom for one changed row; `sites` is a sites file. Needs neither data nor Spark."""
    from holdfast.fragments.shipment_plan import plan_shipments
    from holdfast.fragments.sites import as_sites

    return plan_shipments(as_sites(sites))


def running_tasks() -> tuple[int, int] | None:
    """How many tasks Spark has finished of those it was given, for a bar; None where Spark does not run."""
    if "pyspark" not in sys.modules:
        return None
    from holdfast.engines.spark.task_counts import task_counts

    return task_counts()
