"""Rules on single columns that the next rows are likely to keep, too.

What is true of all rows so far is a rule when it would take an accident for as many rows again to break it; see
search/next_batch.py. And what the first half of the rows would have said in the same way must be true of the second:
where it is not, such as for a list of states in a table in their order, nothing of this kind is said of the column.

Dates and times, and numbers that are years or dates, go on: no value of theirs is a limit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.discovery.text_format import matches_all, text_format
from holdfast.encode.column_type import ColumnType
from holdfast.encode.one_array import decoded, one_array
from holdfast.rules.constraint import denial
from holdfast.rules.dependency import Denial
from holdfast.rules.parse import parse_body
from holdfast.rules.plain_words import number
from holdfast.rules.predicate import (
    Call,
    Column,
    Comparison,
    Constant,
    Membership,
    NullTest,
    Predicate,
    TextTest,
    quoted_name,
)
from holdfast.rules.relation import GT, LT, NE
from holdfast.rules.rule import Names, Nulls, Rule, slug
from holdfast.search.clock import Clock
from holdfast.search.column_rule import ColumnRule, ColumnRuleKind
from holdfast.search.next_batch import LIKELY, below_zero_chance, exception_chance, limit_chance, new_value_chance
from holdfast.search.options import DiscoverOptions

# Longer lists are no longer read; of numbers, a shorter one says less than a range.
_MOST_TEXTS, _MOST_NUMBERS, _MOST_CHARACTERS = 60, 12, 1_000
# So much of the name of a column is in the name of its rules.
_NAME = 36
# So many values of a list are written out in a sentence.
_LISTED = 8
# Doubles with more digits after the point are measured, not rounded.
_MOST_DIGITS = 6
# Up to here a double has all digits of a whole number times a power of ten.
_EXACT = 1e15
# Whole numbers are multiples of one of these, times a power of ten.
_UNITS = (1, 5, 25)
# The part of a time limit that is for single columns; what they leave of it is for the rest.
_TIME_SHARE = 0.1


@dataclass(frozen=True)
class SingleColumns:
    """The rules on single columns, in the order of the columns; `skipped` columns there was no time for."""

    rules: tuple[ColumnRule, ...] = ()
    skipped: int = 0


def column_rules(
    table: pa.Table, types: Mapping[str, ColumnType], *, nulls: Nulls = "sql", clock: Clock | None = None
) -> SingleColumns:
    """Returns what the columns are likely to keep, as far as there is time. Cost: one pass over each column, and a
    sort of its distinct values."""
    rules: list[ColumnRule] = []
    names, skipped = Names(), 0
    for name, kind in types.items():
        if clock is not None and clock.over:
            skipped += 1
            continue
        values = counted_column(name, kind, table.column(name))
        rules += [claim.as_rule(values, nulls, names) for claim in _lasting_claims(values)]
    return SingleColumns(tuple(rules), skipped)


def column_rules_first(
    table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions
) -> tuple[SingleColumns, DiscoverOptions]:
    """Returns the rules on single columns, and the options with what they leave of the time limit."""
    clock = Clock(options.time_limit)
    single = column_rules(table, types, nulls=options.nulls, clock=clock.part(_TIME_SHARE))
    return single, options.within(clock.left)


# The values of a column ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountedColumn:
    """The distinct values of a column in their order, in how many rows each stands, and per row its place in some such
    order, -1 for null."""

    name: str
    kind: ColumnType
    distinct: pa.Array
    counts: NDArray[np.int64]
    places: NDArray[np.int64]

    @property
    def rows(self) -> int:
        return len(self.places)

    @cached_property
    def known(self) -> int:
        """How many rows have a value."""
        return int(self.counts.sum())

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The distinct numbers as doubles."""
        return np.asarray(self.distinct.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)

    @cached_property
    def has_limits(self) -> bool:
        """Whether values are numbers, all of them finite, that do not go on with time."""
        return (
            self.kind.numeric
            and len(self.distinct) > 0
            and bool(np.isfinite(self.numbers).all())
            and not _goes_on(self.name, self.kind, self.numbers)
        )

    def first_half(self) -> CountedColumn:
        places = self.places[: self.rows // 2]
        counts = np.bincount(places[places >= 0], minlength=len(self.distinct))[: len(self.distinct)]
        there = counts > 0
        return CountedColumn(self.name, self.kind, self.distinct.filter(pa.array(there)), counts[there], places)

    def constant(self, place: int) -> Constant:
        """The value at the place as a rule has it."""
        value = self.distinct[place].as_py()
        return Constant(Decimal(repr(value)) if isinstance(value, float) else value)


def counted_column(name: str, kind: ColumnType, column: pa.ChunkedArray) -> CountedColumn:
    """Returns the values of the column; there is one zero, and one NaN, which is greatest."""
    array = decoded(one_array(column))
    if pa.types.is_floating(array.type):
        array = pc.if_else(
            pc.is_nan(array), pa.scalar(float("nan"), array.type), pc.add(array, pa.scalar(0.0, array.type))
        )
    encoded = array.dictionary_encode()
    values, indices = encoded.dictionary, encoded.indices
    sortable = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
    order = pc.array_sort_indices(sortable).to_numpy() if len(values) else np.zeros(0, np.int64)
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    ranks[-1] = -1  # the place of nulls
    places = ranks[pc.fill_null(indices, len(order)).to_numpy(zero_copy_only=False)]
    counts = np.bincount(places[places >= 0], minlength=len(order))
    return CountedColumn(name, kind, values.take(pa.array(order)), counts, places)


def _goes_on(name: str, kind: ColumnType, numbers: NDArray[np.float64]) -> bool:
    """Whether the numbers are years, by the column's name, too, or dates such as 20240131."""
    if kind.family != "integer":
        return False
    least, most = numbers.min(), numbers.max()
    if least >= 1900 and most <= 2100:
        return "year" in name.casefold() or "date" in name.casefold()
    month, day = numbers // 100 % 100, numbers % 100
    dates = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(least >= 19000101 and most <= 21001231 and dates.all())


# Claims about a column -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Claim:
    """What all values do; `about` is the same for claims that say the same in another measure. `denied` is what no row
    does, None where no rule can say it, and `holds` whether other values do it, too."""

    about: str
    kind: ColumnRuleKind
    denied: Predicate | None
    says: str
    evidence: str
    breaks: float
    holds: Callable[[CountedColumn], bool]

    def as_rule(self, values: CountedColumn, nulls: Nulls, names: Names) -> ColumnRule:
        rule = None
        if self.denied is not None:
            there: list[Predicate] = []
            if nulls == "equal" and values.known < values.rows:
                # Here a null differs from every value.
                there = [NullTest(_column(values), False)]
            body = Denial(denial([*there, self.denied]))
            words = f"{quoted_name(values.name)} {self.says}"
            rule = Rule(names.give(f"{slug(values.name)[:_NAME] or 'column'}-{self.about}"), body, description=words)
        return ColumnRule(values.name, self.kind, rule, self.says, self.evidence, self.breaks)


def _lasting_claims(values: CountedColumn) -> list[_Claim]:
    """The claims that are likely to last, and lasted from the first half of the rows to the second."""
    claims = _likely_claims(values)
    if not claims:
        return []
    failed = {claim.about for claim in _likely_claims(values.first_half()) if not claim.holds(values)}
    return [claim for claim in claims if claim.about not in failed]


def _likely_claims(values: CountedColumn) -> list[_Claim]:
    claims = [claim for claim in _of_all_rows(values) if claim.breaks <= LIKELY]
    listed = [claim for claim in _lists(values) if claim.breaks <= LIKELY]
    # A list says all that follows.
    rest = [] if listed else [claim for claim in _of_values(values) if claim.breaks <= LIKELY]
    return [*claims, *listed, *rest]


def _column(values: CountedColumn) -> Column:
    return Column("t", values.name)


def _of_all_rows(values: CountedColumn) -> Iterator[_Claim]:
    if values.rows == 0:
        return
    evidence, breaks = number(values.rows, "row"), exception_chance(values.rows)
    if values.known == 0:
        empty = NullTest(_column(values), False)
        yield _Claim("null", "constant", empty, "is always null", evidence, breaks, lambda other: other.known == 0)
        return
    if values.known == values.rows:
        null = NullTest(_column(values), True)
        yield _Claim("not-null", "not null", null, "is never null", evidence, breaks, lambda o: o.known == o.rows)
        yield from _order(values)


def _order(values: CountedColumn) -> Iterator[_Claim]:
    """That values come in their order."""
    steps = np.diff(values.places)
    changes = int((steps != 0).sum())
    if not changes or ((steps > 0).any() and (steps < 0).any()):
        return
    rising = bool((steps > 0).any())
    if changes == values.rows - 1:
        says = f"{'rises' if rising else 'falls'} from row to row"
    else:
        says = f"never {'falls' if rising else 'rises'} from row to row"

    def holds(other: CountedColumn) -> bool:
        others = np.diff(other.places)
        return not bool(((others < 0) if rising else (others > 0)).any())

    yield _Claim("sorted", "sorted", None, says, number(changes, "step"), exception_chance(changes), holds)


def _lists(values: CountedColumn) -> Iterator[_Claim]:
    """That values are some of a list."""
    count, family = len(values.distinct), values.kind.family
    if count == 0 or (family not in ("text", "boolean") and not values.has_limits):
        return
    if count > (_MOST_TEXTS if family == "text" else _MOST_NUMBERS) or (family == "boolean" and count > 1):
        return
    if family == "integer" and count > 3 and 2 * count > _places_between(values):
        return  # a range says as much
    constants = [values.constant(i) for i in range(count)]
    breaks = exception_chance(values.known) + new_value_chance(values.counts)
    held = frozenset(constants)

    def holds(other: CountedColumn) -> bool:
        return len(other.distinct) == count

    if count == 1:
        differs = Comparison(_column(values), NE, constants[0])
        says, evidence = f"is always {constants[0]}", number(values.known, "row")
        yield _Claim("values", "constant", differs, says, evidence, breaks, holds)
        return
    if sum(len(str(constant)) for constant in constants) > _MOST_CHARACTERS:
        return
    texts = [str(constant) for constant in constants]
    rest = count - _LISTED
    more = f" and {number(rest, 'other')}" if rest > 0 else ""
    says = f"is one of {', '.join(texts[:_LISTED])}{more}"
    evidence = f"each in {number(int(values.counts.min()), 'row')} or more"
    yield _Claim("values", "set", Membership(_column(values), held, False), says, evidence, breaks, holds)


def _places_between(values: CountedColumn) -> float:
    """How many values there are from the least to the greatest, in the unit of these."""
    span = values.numbers[-1] - values.numbers[0]
    return float(span) / _unit_of(_whole(values)) + 1


def _of_values(values: CountedColumn) -> Iterator[_Claim]:
    """What values are like."""
    if values.kind.family == "text" and len(values.distinct):
        yield from _texts(values)
    elif values.has_limits:
        yield from _limits(values)
        yield from _units(values)


def _limits(values: CountedColumn) -> Iterator[_Claim]:
    """The least and the greatest value, and that none is below zero."""
    column, exception = _column(values), exception_chance(values.known)
    for place, word, outside in ((0, "least", LT), (-1, "most", GT)):
        limit, times = values.constant(place), int(values.counts[place])
        breaks = exception + limit_chance(times)
        if breaks <= LIKELY:
            yield _Claim(
                f"at-{word}", "range", Comparison(column, outside, limit), f"is at {word} {limit}",
                f"{times:,} rows have it", breaks, partial(_within_limit, values.numbers[place], outside),
            )  # fmt: skip
        elif word == "least" and values.numbers[0] >= 0:
            breaks = below_zero_chance(np.repeat(values.numbers, np.minimum(values.counts, 1_000)))
            yield _Claim(
                "not-negative", "range", Comparison(column, LT, Constant(0)), "is never negative",
                f"{number(values.known, 'row')}, the least is {limit}", breaks, partial(_within_limit, 0.0, LT),
            )  # fmt: skip


def _within_limit(limit: float, outside: int, other: CountedColumn) -> bool:
    numbers = other.numbers
    return bool(numbers[0] >= limit if outside == LT else numbers[-1] <= limit)


def _units(values: CountedColumn) -> Iterator[_Claim]:
    """To which unit all numbers are rounded."""
    column, exception = _column(values), exception_chance(len(values.distinct))
    evidence = number(len(values.distinct), "value")
    if values.kind.family == "integer":
        whole = _whole(values)
        unit = _unit_of(whole)
        if unit > 1:
            # Such as are not multiples of twice or five times as much show that this is the unit.
            finer = min(int((whole % (unit * more) != 0).sum()) for more in (2, 5))
            rest = Comparison(Call("%", (column, Constant(unit))), NE, Constant(0))
            breaks = exception + limit_chance(finer)
            says = f"is a multiple of {unit:,}"
            yield _Claim("unit", "unit", rest, says, evidence, breaks, partial(_are_multiples, unit))
        return
    digits = _digits_of(values)
    if digits is None or digits >= (values.kind.scale if values.kind.family == "decimal" else _MOST_DIGITS + 1):
        return
    if digits:
        finest = int((~_have_digits(values, digits - 1)).sum())
        breaks = exception + limit_chance(finest)
        says, rounded = (
            f"has at most {number(digits, 'digit')} after the point",
            Call("round", (column, Constant(digits))),
        )
    else:
        breaks, says, rounded = exception, "is a whole number", Call("round", (column,))
    off = Comparison(column, NE, rounded)
    yield _Claim("unit", "unit", off, says, evidence, breaks, lambda other: bool(_have_digits(other, digits).all()))


def _unit_of(whole: NDArray[np.int64]) -> int:
    """The greatest of 5, 10, 25, 50, 100, 250, ... of which all are multiples; 1 for none.

    >>> _unit_of(np.array([1500, 500])), _unit_of(np.array([75, 100])), _unit_of(np.array([12, 6]))
    (500, 25, 1)
    """
    divisor = int(np.gcd.reduce(whole)) if len(whole) else 0
    units = [unit * 10**power for power in range(12) for unit in _UNITS]
    return max((unit for unit in units if divisor and divisor % unit == 0), default=1)


def _are_multiples(unit: int, other: CountedColumn) -> bool:
    return bool((_whole(other) % unit == 0).all())


def _whole(values: CountedColumn) -> NDArray[np.int64]:
    return np.asarray(values.distinct.to_numpy(zero_copy_only=False), np.int64)


def _digits_of(values: CountedColumn) -> int | None:
    """The most digits after the point of a value; None where they are more than a person rounds to."""
    largest = float(np.abs(values.numbers).max()) if values.kind.family == "float" else 0.0
    tried = (digits for digits in range(_MOST_DIGITS + 1) if largest * 10**digits < _EXACT)
    return next((digits for digits in tried if _have_digits(values, digits).all()), None)


def _have_digits(values: CountedColumn, digits: int) -> NDArray[np.bool_]:
    """Per value whether it has at most so many digits after the point."""
    if values.kind.family == "decimal":
        try:
            rounded = pc.round(values.distinct, ndigits=digits)
        except pa.ArrowInvalid:  # one has no room for a digit more before the point
            return np.zeros(len(values.distinct), np.bool_)
        return np.asarray(pc.equal(rounded, values.distinct).to_numpy(zero_copy_only=False), np.bool_)
    rounded_doubles = np.round(values.numbers * 10.0**digits) / 10.0**digits
    return np.asarray(rounded_doubles == values.numbers, np.bool_)


def _texts(values: CountedColumn) -> Iterator[_Claim]:
    """The format of texts; where they have none, their length."""
    texts, column = values.distinct, _column(values)
    exception, evidence = exception_chance(len(texts)), number(len(texts), "value")
    text_form = text_format(texts, LIKELY - exception) if exception < LIKELY else None
    if text_form is not None:
        pattern = text_form.pattern
        breaks = exception + text_form.chance
        off = TextTest(column, "matches", pattern, False)
        yield _Claim(
            "format", "format", off, f"matches {pattern}", evidence, breaks,
            lambda other: matches_all(other.distinct, pattern),
        )  # fmt: skip
        return
    lengths = pc.utf8_length(texts).to_numpy(zero_copy_only=False)
    least, most = int(lengths.min()), int(lengths.max())
    length, signs = Call("length", (column,)), number(most, "character")
    if least == most:
        other_length = Comparison(length, NE, Constant(most))
        yield _Claim(
            "length", "length", other_length, f"has {signs}", evidence, exception, partial(_have_lengths, most, most)
        )
        return
    times, before = int((lengths == most).sum()), int((lengths == most - 1).sum())
    if (
        times < before
    ):  # longer texts get rarer, so that there may be still longer ones; where a limit cuts they pile up
        return
    yield _Claim(
        "length", "length", Comparison(length, GT, Constant(most)), f"has at most {signs}",
        f"{number(times, 'value')} with so many", exception + limit_chance(times), partial(_have_lengths, 0, most),
    )  # fmt: skip


def _have_lengths(least: int, most: int, other: CountedColumn) -> bool:
    lengths = pc.utf8_length(other.distinct).to_numpy(zero_copy_only=False)
    return bool(((lengths >= least) & (lengths <= most)).all())


# From a task to the driver -------------------------------------------------------------------------------------------


def column_rules_json(single: SingleColumns) -> str:
    """Returns the rules as text that `read_column_rules` reads."""
    rules = [
        {**vars(entry), "rule": entry.rule and [entry.rule.name, str(entry.rule), entry.rule.description]}
        for entry in single.rules
    ]
    return json.dumps({"rules": rules, "skipped": single.skipped})


def read_column_rules(text: str) -> SingleColumns:
    """Returns the rules that `column_rules_json` wrote."""
    content = json.loads(text)
    return SingleColumns(tuple(map(_read, content["rules"])), content["skipped"])


def _read(entry: Mapping[str, Any]) -> ColumnRule:
    rule = None
    if entry["rule"] is not None:
        name, text, description = entry["rule"]
        rule = Rule(name, parse_body(text), description=description)
    return ColumnRule(**{**entry, "rule": rule})


def skipped_note(single: SingleColumns) -> tuple[str, ...]:
    """Says of how many columns the values were not looked at, for want of time."""
    if not single.skipped:
        return ()
    return (f"there was no time to look at the values of {number(single.skipped, 'column')}",)
