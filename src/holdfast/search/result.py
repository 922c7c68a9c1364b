"""What a search found, and how it went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from holdfast.search.evidence import Evidence, Floats, Ints
from holdfast.search.row_orders import RowOrder
from holdfast.search.space import PredicateSpace, Ranges, Words

# Pairs of rows that agree on these operand pairs of one column, and differ on that one.
Meeting = tuple[tuple[int, ...], int | None]


@dataclass(frozen=True)
class ByRows:
    """What is known of keys and dependencies by rows: per constraint how many are suspect, and `kept`, from 0 to 1, how
    much fewer these are than if its left side told nothing; per column the share of pairs that agree, and that differ.
    """

    suspects: Ints
    kept: Floats
    agree: Floats
    differ: Floats


@dataclass(frozen=True)
class How:
    """How a search went. With `least_score`, constraints of a lower score were not looked for."""

    strategy: str
    exact: bool
    complete: bool = True
    why: str | None = None
    least_score: float | None = None
    sampled: int | None = None
    device: str = "cpu"


@dataclass(frozen=True, kw_only=True)
class SearchResult(How):
    """What a search found: per constraint the mask of what it allows, one of each mirror pair, and how it went.

    `evidence` is of all pairs of rows when `exact`, else of those looked at, with estimated counts. `complete` is false
    when the search ended early; `why` then says why. Every constraint is valid on the whole table in any case.
    Where it is not `exact`, what pairs show that meet in one of the ways `settled` is all there nevertheless, and its
    counts are those of all pairs.
    `accidents` has, where it was estimated, how likely each is an accident; see accident.py. `row_orders` are what each
    row keeps, which some of them may follow from.
    `support` has, per constraint, how many ordered pairs put its least tested predicate to the test: they meet all the
    others. `violating` has how many violate it, of those that `evidence` counts; `error` is the share that may. Where
    `sampled`, that is of so many pairs of rows drawn at random, and only then may a constraint be violated by more.
    """

    space: PredicateSpace
    masks: Words
    support: Ints
    evidence: Evidence
    rows: int
    distinct_rows: int
    violating: Ints
    phases: Mapping[str, float] = field(default_factory=dict)
    error: Decimal = Decimal(0)
    by_rows: ByRows | None = None
    accidents: Floats | None = None
    ranges: Ranges | None = None
    shares: tuple[Floats, Floats] | None = None
    row_orders: tuple[RowOrder, ...] = ()
    settled: tuple[Meeting, ...] = ()
