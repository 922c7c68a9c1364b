"""A discovery, whichever engine runs it: which columns are compared, what the search finds, how rules are counted."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from holdfast.checking.outcome import RuleOutcome
from holdfast.discovery.column_rules import SingleColumns, skipped_note
from holdfast.discovery.conditional_rules import ConditionalRules
from holdfast.discovery.explain import ExplainedSpace, explained_space
from holdfast.discovery.with_constants import ConstantsOutcome, ranked_with_constants
from holdfast.encode.column_type import ColumnType
from holdfast.engines.arithmetic import arithmetic_rules, with_more
from holdfast.engines.believed import believed, most_accidents
from holdfast.engines.counted_rules import verified, with_suspects
from holdfast.engines.rule_examples import SampledRows, rule_examples
from holdfast.errors import TypeMismatchError, unknown_column
from holdfast.presented import presentation
from holdfast.rules.plain_words import number
from holdfast.rules.predicate import quoted_name
from holdfast.rules.rule import RuleSet
from holdfast.search.clock import Clock
from holdfast.search.column_rule import ColumnRule, without_values_of
from holdfast.search.examples import RuleExamples
from holdfast.search.options import DiscoverOptions, Share
from holdfast.search.outcome import DiscoverOutcome, FoundRule
from holdfast.search.rank import ranked
from holdfast.search.result import SearchResult

# Examples are looked for of so many rules, as a page shows.
MOST_RULES = 500


@dataclass(frozen=True)
class Searched:
    """What a search finds, with the option `constants` the rules of rows with given values, and the rules on single
    columns, where these were asked for; None without rows."""

    result: SearchResult | ConditionalRules | None = None
    constants: ConstantsOutcome | None = None
    columns: SingleColumns | None = None


# The share of the time left that the search gets; the rest is for counting, and for arithmetic.
_SEARCH_SHARE = 0.9


class DiscoverySource(ABC):
    """A table whose rules are discovered, on an engine."""

    engine: str
    name: str
    notes: tuple[str, ...]

    @property
    @abstractmethod
    def types(self) -> Mapping[str, ColumnType]:
        """The columns with their types."""

    @abstractmethod
    def row_count(self) -> int:
        """How many rows the table has."""

    @abstractmethod
    def search(self, types: Mapping[str, ColumnType], options: DiscoverOptions, *, column_rules: bool) -> Searched:
        """What the search over these columns finds."""

    @abstractmethod
    def space_json(self, types: Mapping[str, ColumnType], options: DiscoverOptions) -> str | None:
        """What a search over these columns would compare, as ExplainTask writes it; None without rows."""

    @abstractmethod
    def counted(self, rules: RuleSet, *, limit: int) -> Sequence[RuleOutcome]:
        """The counts that a check of the rules gives; suspects where at most `limit` pairs are listed for them."""

    @abstractmethod
    def sample(self, columns: Sequence[str], *, most: int, seed: int) -> pa.Table:
        """These columns of at most so many rows, drawn at random."""

    @abstractmethod
    def example_rows(self) -> SampledRows:
        """Some of its rows, few enough to look at in this process."""

    def translate_errors(self, doing: str) -> AbstractContextManager[None]:
        """Turns what the engine throws into an error in the user's terms; `doing` is what failed."""
        return nullcontext()


class DiscoverResult:
    """The result of a discovery. `rules` are the shown rules, best first, and `column_rules` those on single columns; a
    result can be used wherever rules can."""

    def __init__(self, outcome: DiscoverOutcome, source: DiscoverySource | None = None) -> None:
        self.outcome = outcome
        self._source = source

    @cached_property
    def rules(self) -> RuleSet:
        return self.outcome.rules

    @property
    def rule_set(self) -> RuleSet:
        """All shown rules, those on single columns first; `check` and other functions that take rules look here."""
        return self.outcome.rule_set

    @property
    def column_rules(self) -> tuple[ColumnRule, ...]:
        """What single columns are likely to keep in the next rows, too; the `rule` of each is None where a rule cannot
        say it."""
        return self.outcome.column_rules or ()

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

    def to_html(self, *, examples: bool = True, redact: Sequence[str] = ()) -> str:
        """Returns the HTML page that `holdfast discover --report` writes, where rules are kept and rejected; it needs
        no other file. `examples` are rows that test a rule; values of the columns in `redact` are hidden, and rules on
        single columns that tell them left out."""
        shown = self.examples(redact=redact) if examples else ()
        return str(presentation("discovery_page").discovery_page(self._redacted(redact), examples=shown))

    def _redacted(self, hidden: Sequence[str]) -> DiscoverOutcome:
        if self.outcome.column_rules is None:
            return self.outcome
        return replace(self.outcome, column_rules=without_values_of(self.outcome.column_rules, hidden))

    def examples(self, *, redact: Sequence[str] = ()) -> Sequence[RuleExamples]:
        """Returns, for the shown rules, rows that put them to the test, and for approximate ones such that break them;
        from some of the rows of the table."""
        shown = self.outcome.shown[:MOST_RULES]
        if self._source is None or not shown:
            return ()
        types = self._source.types
        for name in redact:
            if name not in types:
                raise unknown_column(f"--redact names {name!r}", name, self.outcome.table, types)
        with self._source.translate_errors("looking for examples in"):
            sample = self._source.example_rows()
        return rule_examples(sample, shown, nulls=self.outcome.options.nulls, redact=redact)


def compared_columns(
    types: Mapping[str, ColumnType], options: DiscoverOptions, table: str
) -> tuple[dict[str, ColumnType], tuple[str, ...]]:
    """Returns which of the columns of the table a discovery compares, and notes on what it leaves out.

    Raises UnknownColumnError for an unknown name; TypeMismatchError for a named column that cannot be compared.
    """
    for option, names in (("--columns", options.columns), ("--exclude", options.exclude)):
        for name in names:
            if name not in types:
                raise unknown_column(f"{option} names {name!r}", name, table, types)
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


def run_discover(
    source: DiscoverySource,
    options: DiscoverOptions,
    *,
    top: int | None = None,
    max_accidents: Share | None = None,
    started: float | None = None,
    arithmetic: bool = True,
    column_rules: bool = True,
) -> DiscoverResult:
    """Returns the most general rules that the table satisfies, best first; `top` of them are shown (None: all).

    With `max_accidents`, of these only the rules that are accidents at most so likely. With `arithmetic` there are also
    the columns that are computed from others of their row, and with `column_rules` what single columns are likely to
    keep. `started` is when the job began, by the monotonic clock.
    """
    most = most_accidents(max_accidents, options)
    started = time.monotonic() if started is None else started
    options, clock = replace(options, top=top), Clock(options.time_limit, started=started)
    types, notes = compared_columns(source.types, options, source.name)
    read_late = clock.over
    with source.translate_errors("discovering the rules of"):
        searched = (
            source.search(types, _from_now_on(options, clock), column_rules=column_rules) if types else Searched()
        )
        result, constants = searched.result, searched.constants
        rows = result.rows if result is not None else source.row_count()
    rules, more, cut = _counted_rules(source, result, constants, options, top, clock)
    if arithmetic and not options.single_columns:
        with source.translate_errors("looking for arithmetic in"):
            computed = arithmetic_rules(source, types, options, rows, clock=clock)
        rules, more = with_more(rules, computed.rules), (*more, *computed.notes)
        cut = (*cut, *filter(None, [computed.cut]))
    count = len(rules)
    if most is not None:
        rules, left_out = believed(rules, most, options)
        more = (*more, *left_out)
    columns = searched.columns or SingleColumns()
    unfinished = [part.why for part in (result, constants) if part is not None and not part.complete][:1]
    if read_late:
        unfinished = ["the time limit was reached while the table was being read"]
    why = "; ".join(filter(None, [*unfinished, *cut, *skipped_note(columns)]))
    outcome = DiscoverOutcome(
        table=source.name,
        rows=rows,
        distinct_rows=rows if result is None else result.distinct_rows,
        predicates=2 * len(types) if options.conditional else 0,
        evidence=0,
        complete=not why and not unfinished,
        found=rules,
        cut=count - len(rules),
        options=options,
        top=top,
        strategy="item-sets" if options.conditional else "all-pairs",
        why=why or None,
        phases={} if result is None else result.phases,
        notes=(*source.notes, *notes, *more, *why_nothing(rows, types)),
        seconds=time.monotonic() - started,
        engine=source.engine,
        column_rules=columns.rules if column_rules else None,
    )
    if isinstance(result, SearchResult):
        outcome = replace(outcome, predicates=result.space.predicates, evidence=len(result.evidence))
        outcome = replace(outcome, strategy=result.strategy, device=result.device, least_score=result.least_score)
        outcome = replace(outcome, row_orders=result.row_orders)
    return DiscoverResult(outcome, source)


def _from_now_on(options: DiscoverOptions, clock: Clock) -> DiscoverOptions:
    """Returns the options with what is left of the time limit, which includes the reading, but for the share that is
    kept for what comes after the search."""
    return options.within(clock.part(_SEARCH_SHARE).left)


def _counted_rules(
    source: DiscoverySource,
    result: SearchResult | ConditionalRules | None,
    constants: ConstantsOutcome | None,
    options: DiscoverOptions,
    top: int | None,
    clock: Clock,
) -> tuple[Sequence[FoundRule], tuple[str, ...], tuple[str, ...]]:
    """Returns the rules, best first, the shown ones with counts on the whole table; notes about that, and what there
    was no time for."""
    if not isinstance(result, SearchResult):
        return () if result is None else result.ranked(), (), ()
    cut: tuple[str, ...] = ()
    if constants is None:
        rules = ranked(result)
    else:
        rules = ranked_with_constants(result, constants.parts, clock.is_over)
        every = len(result.masks) + sum(len(part.masks) for part in constants.parts)
        if len(rules) < every:
            cut = (f"time was up before {number(every - len(rules), 'rule')} of a lower score could be written",)
    if not options.error:
        return rules, (), cut
    if not result.sampled:
        rules, left = with_suspects(source.counted, rules, top=top, rows=result.rows, nulls=options.nulls, clock=clock)
        if left:
            cut = (*cut, f"time was up before the suspect rows of {number(left, 'rule')} were counted")
        return rules, (), cut
    known = verified(source.counted, rules, most=top, rows=result.rows, nulls=options.nulls, clock=clock)
    note = (
        f"rules come from a sample of {number(result.sampled, 'pair')} of rows, which has {len(rules):,}; the best "
        f"{known.tried:,} were counted on the whole table, and {known.broken:,} of them left out: more pairs break them"
    )
    late = ("time was up before all were counted that may be shown",) if known.cut else ()
    return known.rules, (note,), (*cut, *late)


def explain_discover(source: DiscoverySource, options: DiscoverOptions) -> ExplainedSpace:
    """Returns what a discovery of the table would compare. Scans the table once, to see which columns overlap."""
    types, notes = compared_columns(source.types, options, source.name)
    with source.translate_errors("looking at the columns of"):
        space = source.space_json(types, options) if types else None
    left_out = [quoted_name(name) for name in source.types if name in options.exclude]
    notes = (*notes, *([f"left out by --exclude: {', '.join(left_out)}"] if left_out else []))
    return explained_space(space, source.name, options, (*source.notes, *notes))


def why_nothing(rows: int, types: Mapping[str, ColumnType]) -> list[str]:
    """Returns a note why a table with so many rows and these columns has no rules; none where it may have rules."""
    if not types:
        return ["there are no columns to compare, so there are no rules"]
    if rows < 2:
        return [f"a table of {number(rows, 'row')} has no rules: a rule speaks of two rows"]
    return []
