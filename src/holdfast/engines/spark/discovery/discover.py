"""Runs a discovery on Spark: one scan, then the search in tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from holdfast.discovery.conditional_rules import ConditionalRules
from holdfast.discovery.explain import ExplainedSpace, ExplainTask, explained_space
from holdfast.discovery.task import (
    ConditionalTask,
    ConstantsTask,
    EncodeTask,
    EvidenceTask,
    FindTask,
    SolveTask,
    read_conditional,
    read_constants,
    read_search,
    worth_sharing,
)
from holdfast.discovery.with_constants import ConstantsOutcome, ranked_with_constants
from holdfast.encode.column_type import ColumnType
from holdfast.engines.spark.checking.check import translate_spark_errors
from holdfast.engines.spark.checking.rows import schema_of
from holdfast.engines.spark.discovery.counted_rules import verified, with_suspects
from holdfast.engines.spark.sources.table import Table
from holdfast.errors import TypeMismatchError, unknown_column
from holdfast.presented import presentation
from holdfast.rules.plain_words import number
from holdfast.rules.predicate import quoted_name
from holdfast.rules.rule import RuleSet
from holdfast.search.device import CARD
from holdfast.search.find import SearchResult
from holdfast.search.lines import Batches
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import DiscoverOutcome, FoundRule
from holdfast.search.rank import ranked
from holdfast.search.space import PredicateSpace

# The schema of the lines that tasks pass on.
LINES = "part string, piece int, bytes binary"
# A range of so many numbers has a partition for every slot of a cluster.
_MANY = 1_000_000
# From so many distinct rows on, the tasks of a cluster share all pairs.
SHARED_ROWS = 20_000


class DiscoverResult:
    """The result of a discovery. `rules` are the shown rules, best first; a result can be used wherever rules can."""

    def __init__(self, outcome: DiscoverOutcome) -> None:
        self.outcome = outcome

    @cached_property
    def rules(self) -> RuleSet:
        return self.outcome.rules

    @property
    def rule_set(self) -> RuleSet:
        """The shown rules; `check` and other functions that take rules look here."""
        return self.rules

    @cached_property
    def all_rules(self) -> RuleSet:
        """All discovered rules, also those beyond `top`."""
        return replace(self.outcome, top=None).rules

    @property
    def complete(self) -> bool:
        return self.outcome.complete

    @property
    def seconds(self) -> float:
        return self.outcome.seconds

    def to_dict(self) -> dict[str, Any]:
        """Returns the object that `holdfast discover --format json` prints."""
        return self.outcome.to_dict()

    def summary(self) -> str:
        """Returns the text that `holdfast discover` prints."""
        return str(presentation("discovery_text").discovery_text(self.outcome))

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self.outcome._repr_html_()

    def to_html(self) -> str:
        """Returns the HTML page that `holdfast discover --report` writes; it needs no other file."""
        return str(presentation("discovery_page").discovery_page(self.outcome))


def compared_columns(table: Table, options: DiscoverOptions) -> tuple[dict[str, ColumnType], tuple[str, ...]]:
    """Returns the columns that a discovery compares, with their types, and notes on what it leaves out.

    Raises UnknownColumnError for an unknown name; TypeMismatchError for a named column that cannot be compared.
    """
    types = schema_of(table.frame, table.name).types
    for option, names in (("--columns", options.columns), ("--exclude", options.exclude)):
        for name in names:
            if name not in types:
                raise unknown_column(f"{option} names {name!r}", name, table.name, types)
    chosen, notes = {}, []
    for name, kind in types.items():
        if name in options.exclude or (options.columns and name not in options.columns):
            continue
        if kind.family == "other":
            reason = f"column {quoted_name(name)} is left out: values of type {kind} cannot be compared"
            if name in options.columns:
                raise TypeMismatchError(f"{reason}, but --columns names it.")
            notes.append(reason)
            continue
        chosen[name] = kind
    return chosen, tuple(notes)


def run_discover(table: Table, options: DiscoverOptions, *, top: int | None = None) -> DiscoverResult:
    """Returns the most general rules that the table satisfies, best first; `top` of them are shown (None: all)."""
    started = time.monotonic()
    types, notes = compared_columns(table, options)
    with translate_spark_errors(table, "discovering the rules of"):
        result, constants = _search_all(table, types, options) if types else (None, None)
        rows = result.rows if result is not None else table.frame.count()
    rules, more = _counted_rules(table, result, constants, options, top, started)
    unfinished = [part for part in (result, constants) if part is not None and not part.complete]
    outcome = DiscoverOutcome(
        table=table.name,
        rows=rows,
        distinct_rows=rows if result is None else result.distinct_rows,
        predicates=2 * len(types) if options.conditional else 0,
        evidence=0,
        complete=not unfinished,
        found=rules,
        options=options,
        top=top,
        strategy="item-sets" if options.conditional else "all-pairs",
        why=unfinished[0].why if unfinished else None,
        phases={} if result is None else result.phases,
        notes=(*table.notes, *notes, *more, *why_nothing(rows, types)),
        seconds=time.monotonic() - started,
    )
    if isinstance(result, SearchResult):
        outcome = replace(outcome, predicates=result.space.predicates, evidence=len(result.evidence))
        outcome = replace(outcome, strategy=result.strategy, device=result.device)
    return DiscoverResult(outcome)


def _counted_rules(
    table: Table,
    result: SearchResult | ConditionalRules | None,
    constants: ConstantsOutcome | None,
    options: DiscoverOptions,
    top: int | None,
    started: float,
) -> tuple[Sequence[FoundRule], tuple[str, ...]]:
    """Returns the rules, best first, the shown ones with counts on the whole table, and notes about that."""
    if not isinstance(result, SearchResult):
        return () if result is None else result.ranked(), ()
    rules = ranked(result) if constants is None else ranked_with_constants(result, constants.parts)
    if not options.error:
        return rules, ()
    if not result.sampled:
        return with_suspects(table, rules, top=top, rows=result.rows, nulls=options.nulls), ()
    until = None if options.time_limit is None else started + options.time_limit
    known = verified(table, rules, most=top, rows=result.rows, nulls=options.nulls, until=until)
    note = (
        f"rules come from a sample of {number(result.sampled, 'pair')} of rows, which has {len(rules):,}; the best "
        f"{known.tried:,} were counted on the whole table, and {known.broken:,} of them left out: more pairs break them"
    )
    return known.rules, (note,)


def _search_all(
    table: Table, types: Mapping[str, ColumnType], options: DiscoverOptions
) -> tuple[SearchResult | ConditionalRules | None, ConstantsOutcome | None]:
    """Returns the result of the search and, with the option `constants`, the rules of rows with given values."""
    rows = compared_rows(table, types).coalesce(1)
    if options.conditional:
        return read_conditional(_collected(rows.mapInArrow(ConditionalTask(types, options), LINES))), None
    if not options.constants:
        return search(table, types, options), None
    lines = _collected(rows.mapInArrow(ConstantsTask(types, options), LINES))
    return read_search(lines), read_constants(lines)


def search(
    table: Table, types: Mapping[str, ColumnType], options: DiscoverOptions, space: PredicateSpace | None = None
) -> SearchResult | None:
    """Returns the result of the search, over the given predicate space if there is one; None where there are no rows.

    On one machine, and with a given space, one task does it all, on all cores.
    """
    rows, spark = compared_rows(table, types).coalesce(1), table.frame.sparkSession
    if space is not None or str(spark.conf.get("spark.master", "local")).partition("[")[0] == "local":
        return read_search(_collected(rows.mapInArrow(OnCard(FindTask(types, options, space)), LINES)))
    # On a cluster many tasks share all pairs, unless there are few.
    slots = spark.range(0, _MANY, 1).select(F.spark_partition_id()).distinct().count()
    kept = rows.mapInArrow(OnCard(EncodeTask(types, options, slots)), LINES).persist()
    try:
        encoded = kept.where("piece >= 0")
        about = encoded.where("part = 'about'").first()
        if about is not None and slots > 1 and worth_sharing(bytes(about["bytes"]), SHARED_ROWS):
            shares = spark.range(0, slots, 1, slots).withColumnRenamed("id", "share")
            shared = encoded.crossJoin(shares).repartitionByRange(slots, "share")
            encoded = shared.mapInArrow(OnCard(EvidenceTask(slots, options.device)), LINES)
        return read_search(_collected(encoded.repartition(1).mapInArrow(OnCard(SolveTask(options)), LINES)))
    finally:
        kept.unpersist()


@dataclass(frozen=True)
class OnCard:
    """A task on the GPU that the cluster assigns to it, where `gpu` is a resource of the cluster."""

    task: Callable[[Batches], Batches]

    def __call__(self, batches: Batches) -> Batches:
        context = TaskContext.get()
        given = context.resources().get("gpu") if context is not None else None
        if given is not None and given.addresses:
            os.environ[CARD] = given.addresses[0]
        return self.task(batches)


def _collected(lines: DataFrame) -> list[tuple[str, int, bytes]]:
    return [(row["part"], row["piece"], row["bytes"]) for row in lines.collect()]


def explain_discover(table: Table, options: DiscoverOptions) -> ExplainedSpace:
    """Returns what a discovery of the table would compare. Scans the table once, to see which columns overlap."""
    types, notes = compared_columns(table, options)
    with translate_spark_errors(table, "looking at the columns of"):
        lines = []
        if types:
            task = ExplainTask(types, options)
            lines = compared_rows(table, types).coalesce(1).mapInArrow(task, "space string").collect()
    left_out = [quoted_name(name) for name in table.frame.columns if name in options.exclude]
    notes = (*notes, *([f"left out by --exclude: {', '.join(left_out)}"] if left_out else []))
    return explained_space(lines[0]["space"] if lines else None, table.name, options, (*table.notes, *notes))


def why_nothing(rows: int, types: Mapping[str, ColumnType]) -> list[str]:
    """Returns a note why a table with so many rows and these columns has no rules; none where it may have rules."""
    if not types:
        return ["there are no columns to compare, so there are no rules"]
    if rows < 2:
        return [f"a table of {number(rows, 'row')} has no rules: a rule speaks of two rows"]
    return []


def compared_rows(table: Table, types: Mapping[str, ColumnType]) -> DataFrame:
    """Returns the compared columns, named c0, c1, ..."""
    places = {name: i for i, name in enumerate(table.frame.columns)}
    safe = table.frame.toDF(*(f"x{i}" for i in range(len(places))))
    columns = []
    for i, (name, kind) in enumerate(types.items()):
        column = F.col(f"x{places[name]}")
        columns.append((F.collate(column, "UTF8_BINARY") if kind.collated else column).alias(f"c{i}"))
    return safe.select(*columns)
