"""A discovery over several tables in this process."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from holdfast.discovery.along_references import FoundComparison, comparisons_along
from holdfast.discovery.inclusions import ColumnValues, FoundInclusion, inclusions
from holdfast.discovery.reference_score import SHOWN_SCORE, scored
from holdfast.discovery.tables_outcome import FoundTable, Reference, TablesOutcome, TablesRule
from holdfast.engines.local.check import schema_of
from holdfast.engines.local.interruptible import interruptible, interruptible_each
from holdfast.presented import presentation
from holdfast.rules.dependency import Body, Implication, Inclusion
from holdfast.rules.predicate import Column, Row, comparison, equals, table_column
from holdfast.rules.relation import EQ, GE, GT, LE, LT
from holdfast.rules.rule import Allowance, NamedTable, Names, Rule, RuleSet, readable_name
from holdfast.rules.sentence import listed
from holdfast.search.clock import Clock
from holdfast.tables.local_table import LocalTable
from holdfast.tables.read_local import local_table_of, read_local
from holdfast.tables.read_options import ReadOptions

# So many comparisons are shown along a reference: tables that are copies of each other have one per column.
MOST_ALONG = 5
_BESIDE = {LT: "is below", LE: "is at most", EQ: "equals", GE: "is at least", GT: "is above"}


class TablesDiscoverResult:
    """The result of a discovery over several tables. `rules` are the shown rules; it can be used wherever rules can."""

    def __init__(self, outcome: TablesOutcome) -> None:
        self.outcome = outcome

    @cached_property
    def rules(self) -> RuleSet:
        return self.outcome.rules

    @property
    def rule_set(self) -> RuleSet:
        """The shown rules; `check` and other functions that take rules look here."""
        return self.rules

    @property
    def complete(self) -> bool:
        return self.outcome.complete

    @property
    def seconds(self) -> float:
        return self.outcome.seconds

    def to_dict(self) -> dict[str, Any]:
        """Returns the object that `holdfast discover --table … --format json` prints."""
        return self.outcome.to_dict()

    def summary(self) -> str:
        """Returns the text that `holdfast discover --table …` prints."""
        return str(presentation("tables_discovery_text").tables_discovery_text(self.outcome))

    def __repr__(self) -> str:
        return self.summary()


# The share of the time left that the search for references gets before comparisons along them are looked for.
_SEARCH_SHARE = 0.7


@dataclass(frozen=True)
class TablesOptions:
    """What a person can ask of a discovery over several tables: the share of a table's rows that may refer to nothing,
    how many rules are shown (None: all, also those that hold by chance), and the seconds after which the search ends.
    """

    error_rows: Decimal = Decimal(0)
    top: int | None = None
    time_limit: float | None = None


def run_tables_discover(
    data: Mapping[str, Any], reading: ReadOptions, options: TablesOptions, *, started: float | None = None
) -> TablesDiscoverResult:
    """Returns the inclusions between the tables that look as if somebody meant them, and what holds along these."""
    started = time.monotonic() if started is None else started
    clock = Clock(options.time_limit, started=started)
    tables = {name: replace(_read(source, reading), name=name) for name, source in data.items()}
    columns = _columns(tables)
    error = float(options.error_rows)
    searched = interruptible(lambda: inclusions(columns, error=error, clock=clock.part(_SEARCH_SHARE)))
    ranked = scored(columns, searched.inclusions)
    likely = [pair for pair in ranked if pair[0] >= SHOWN_SCORE]
    every = interruptible(lambda: _references(likely, columns, options, clock))
    why = None if searched.complete else "the time limit was reached"
    if clock.over:
        why = "the time limit was reached before every comparison along a reference was looked at"
    shown = _cut(every, options.top)
    if options.top is None:
        shown += _references(ranked[len(likely) :], columns, options, None)
    keys = _keys(likely)
    named = tuple(
        FoundTable(NamedTable(name, _place(data[name]), keys.get(name, ())), table.rows.num_rows, len(columns[name]))
        for name, table in tables.items()
    )
    return TablesDiscoverResult(
        TablesOutcome(
            tables=named,
            shown=tuple(_with_own_names(shown)),
            accidents=0 if options.top is None else len(ranked) - len(likely),
            cut=max(
                sum(len(reference.rules) for reference in every) - sum(len(reference.rules) for reference in shown), 0
            ),
            complete=why is None,
            why=why,
            seconds=time.monotonic() - started,
            error_rows=str(Allowance(None, options.error_rows * 100)) if options.error_rows else None,
            notes=tuple(f"{name}: {note}" for name, table in tables.items() for note in table.notes),
        )
    )


def _read(source: Any, reading: ReadOptions) -> LocalTable:
    if isinstance(source, str | os.PathLike):
        return read_local(source, reading)
    table = local_table_of(source)
    assert table is not None, "what is no path is in memory"
    return table


def _place(source: Any) -> str | None:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else None


def _columns(tables: Mapping[str, LocalTable]) -> dict[str, list[ColumnValues]]:
    wanted = [(name, table, column) for name, table in tables.items() for column in table.rows.column_names]
    types = {name: schema_of(table).types for name, table in tables.items()}
    columns = interruptible_each(
        lambda place: ColumnValues.of(place[0], place[2], types[place[0]][place[2]], place[1].rows.column(place[2])),
        [place for place in wanted if types[place[0]][place[2]].family != "other"],
    )
    return {name: [column for column in columns if column.table == name] for name in tables}


def _keys(likely: Sequence[tuple[float, FoundInclusion]]) -> dict[str, tuple[str, ...]]:
    """The key of each table that others refer to, by the best reference."""
    keys: dict[str, tuple[str, ...]] = {}
    for _, inclusion in likely:
        if inclusion.is_key:
            keys.setdefault(inclusion.right[0].table, tuple(column.name for column in inclusion.right))
    return keys


# Rules ------------------------------------------------------------------------------------------------------------


def _references(
    ranked: Sequence[tuple[float, FoundInclusion]],
    columns: Mapping[str, Sequence[ColumnValues]],
    options: TablesOptions,
    clock: Clock | None,
) -> list[Reference]:
    """The inclusions as references, with what holds along them, as far as there is time; without a clock, alone."""
    references = []
    for score, inclusion in ranked:
        own, other = (columns[side[0].table] for side in (inclusion.left, inclusion.right))
        compared = []
        if clock is not None and inclusion.is_key:
            compared = comparisons_along(inclusion, own, other, clock.is_over)
        rules = tuple(_comparison_rule(inclusion, comparison) for comparison in compared)
        references.append(Reference(_inclusion_rule(score, inclusion, options), rules))
    return references


def _inclusion_rule(score: float, inclusion: FoundInclusion, options: TablesOptions) -> TablesRule:
    body = inclusion.body
    allow = Allowance(None, options.error_rows * 100) if inclusion.missing else Allowance()
    values = len(inclusion.right[0].values) if len(inclusion.right) == 1 else inclusion.right[0].rows
    return TablesRule(
        Rule(readable_name(body), body, allow=allow, description=_inclusion_words(body)),
        score,
        inclusion.known,
        inclusion.known / max(inclusion.left[0].rows, 1),
        inclusion.missing,
        inclusion.distinct / max(values, 1),
    )


def _inclusion_words(body: Inclusion) -> str:
    table, other = body.tables
    return f"each {listed(body.left)} of {table} is the {listed(body.right)} of a row of {other}"


def _comparison_rule(inclusion: FoundInclusion, compared: FoundComparison) -> TablesRule:
    """The comparison as an implication; of one table the two rows are t and s."""
    tables = (inclusion.left[0].table, inclusion.right[0].table)

    def column(row: Row, of: ColumnValues) -> Column:
        return Column(row, of.name) if tables[0] == tables[1] else table_column(row, of.table, of.name)

    premise = tuple(
        equals(column("t", a), column("s", b)) for a, b in zip(inclusion.left, inclusion.right, strict=True)
    )
    body: Body = Implication(
        premise, (comparison(column("t", compared.left), compared.allowed, column("s", compared.right)),)
    )
    beside = f"{_BESIDE[compared.allowed]} {compared.right.name} of the row of {tables[1]}"
    words = f"{compared.left.name} of {tables[0]} {beside}"
    rule = Rule(readable_name(body), body, description=f"{words} that it refers to")
    if tables[0] == tables[1]:
        rule = replace(rule, table=tables[0])
    return TablesRule(rule, compared.score, compared.rows, compared.rows / max(compared.left.rows, 1))


def _cut(references: Sequence[Reference], top: int | None) -> list[Reference]:
    """The first `top` rules, references before what holds along them, of which each has the best few."""
    if top is None:
        return list(references)
    kept = [*references[:top]]
    left = top - len(kept)
    cut = []
    for reference in kept:
        comparisons = reference.comparisons[: min(max(left, 0), MOST_ALONG)]
        left -= len(comparisons)
        cut.append(replace(reference, comparisons=comparisons))
    return cut


def _with_own_names(references: Sequence[Reference]) -> list[Reference]:
    names = Names()

    def named(entry: TablesRule) -> TablesRule:
        return replace(entry, rule=replace(entry.rule, name=names.give(entry.rule.name)))

    return [Reference(named(reference.inclusion), tuple(map(named, reference.comparisons))) for reference in references]
