"""The jobs, wired: rules, plan, Spark, result. No logic of their own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.detect.outcome import FailOn
from holdfast.discover.options import (
    DEFAULT_OVERLAP,
    DEFAULT_TIME_LIMIT,
    DEFAULT_TOP,
    Share,
    Strategy,
    discover_options,
    how_many,
)
from holdfast.rules.parse import parse_names
from holdfast.rules.rule import Nulls, Rule, RuleSet
from holdfast.rules.rule_file import as_rule_set

if TYPE_CHECKING:
    from holdfast.detect.plan import Plan
    from holdfast.spark.check import CheckResult
    from holdfast.spark.discover import DiscoverResult
    from holdfast.spark.table import Frame, Table

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
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> CheckResult:
    """Every violation of every rule, counted exactly.

    `data` is a Spark DataFrame or whatever `holdfast check` takes; `rules` a rule file, a rule's text, a list of them,
    or a set. `key` names the column or columns by which results name rows; it and `nulls` default to what the rule file
    says. `limit` caps the pairs that are listed per rule (None for no cap). With `all_columns` the scan keeps whole
    rows, so that `split()` needs no second one. `reading` goes to the reader: types, null_values, delimiter, encoding,
    multiline, input_format. Runs on the caller's session, and starts one only when there is none.
    """
    from holdfast.spark.check import run_check

    table, plan = plan_check(data, rules, key=key, nulls=nulls, master=master, conf=conf, **reading)
    spark = table.frame.sparkSession
    return run_check(spark, table, plan, limit=limit, fail_on=fail_on, all_columns=all_columns)


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
    wanted = as_rule_set(rules)  # before Spark starts: a typo in a rule should not cost a start-up
    if nulls is not None:
        wanted = replace(wanted, nulls=nulls)
    names = wanted.key if key is None else parse_names(key) if isinstance(key, str) else tuple(key)

    from holdfast.spark.check import plan_check as plan_on_spark

    table = open_table(data, master=master, conf=conf, **reading)
    return table, plan_on_spark(table, wanted, names)


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
    )
    shown = how_many(top)

    from holdfast.spark.discover import run_discover

    return run_discover(open_table(data, master=master, conf=conf, **reading), options, top=shown)


def open_table(
    data: Frame | str | os.PathLike[str],
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    **reading: Any,
) -> Table:
    """The table that a job would read, on the session it would use; nothing is scanned."""
    from holdfast.spark.session import get_session
    from holdfast.spark.sources import read_table
    from holdfast.spark.table import ReadOptions, Table

    if not isinstance(data, str | os.PathLike):
        return Table(data, "DataFrame")
    return read_table(get_session(master=master, conf=conf), data, ReadOptions(**reading))
