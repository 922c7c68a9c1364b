"""Which numeric columns are computed from others in every row of a sample: what a discovery then asks of all rows.

The forms are `a = k * b`, `a = b + c`, `a = b - c`, and products of two columns, or of up to three factors where those
after the first are a share `d`, `1 - d` or `1 + d`. The strictest of these ways to hold counts, its *level*: equal;
equal when rounded; within half of the last digit that the column shows, or a whole one; for doubles that show all their
digits, within a billionth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import isfinite, log

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.column_type import ColumnType
from holdfast.encode.one_array import decoded
from holdfast.kernels.row_arithmetic import DIFFERENCE, NOTHING, PRODUCT, SLACK, SUM, equal_expressions
from holdfast.rules.dependency import Body
from holdfast.rules.parse import parse_body
from holdfast.rules.predicate import plain_number, quoted_name

Doubles = NDArray[np.float64]
Level = str

# A column shows how many digits it has where these are at most so many behind the point.
MOST_DIGITS = 6
# The digits of a multiple such as 1.609344.
MULTIPLE_DIGITS = 7
# How many other numbers of as many digits, on average, would do as well for a rounded multiple.
MOST_CHOICE = 0.05
# So many rows are looked at first, and pair by pair for how often a value would do by chance.
PROBED_ROWS = 512
# That two columns have no multiple in common shows in the first few.
_FEW_ROWS = 16
# A relation is no accident where, for each of its columns, another row's value in its place would do so rarely that
# this many times the share e**-1 would have been met by chance.
LEAST_EVIDENCE = 20.0
# A relation is looked for in at least so many rows; fewer do not reach the evidence.
_LEAST_ROWS = 8
# At most so many comparisons of an expression with a column are made, and so many relations listed.
MOST_COMPARISONS = 2_000_000_000
_MOST_FOUND = 1_000_000
# Between so many comparisons it is looked whether time is up.
_COMPARED_AT_ONCE = 10_000_000


@dataclass(frozen=True)
class Factor:
    """A column, or with a sign 1 plus or 1 minus a column that is a share."""

    column: str
    sign: int = 0

    @property
    def text(self) -> str:
        name = f"t.{quoted_name(self.column)}"
        return name if not self.sign else f"(1 {'+' if self.sign > 0 else '-'} {name})"

    def of(self, values: Doubles) -> Doubles:
        return 1 + self.sign * values if self.sign else values


@dataclass(frozen=True)
class Relation:
    """`result` is the sum or difference of two columns, the product of factors, or a multiple of one column."""

    result: str
    shape: str
    factors: tuple[Factor, ...]
    multiple: Decimal = Decimal(1)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.result, *(factor.column for factor in self.factors))

    @property
    def text(self) -> str:
        """The right side, as rule text."""
        names = [factor.text for factor in self.factors]
        match self.shape:
            case "sum":
                return " + ".join(names)
            case "difference":
                return " - ".join(names)
            case "product":
                return " * ".join(names)
        return names[0] if self.multiple == 1 else f"{_number(self.multiple)} * {names[0]}"

    def body(self, level: Level, digits: int | None) -> Body:
        """The rule that the result is as computed, at this level."""
        result, text = f"t.{quoted_name(self.result)}", self.text
        match level:
            case "equal":
                return parse_body(f"not({result} != {text})")
            case "rounded":
                return parse_body(f"not({result} != round({text}{f', {digits}' if digits else ''}))")
            case "relative":
                return parse_body(f"not(abs({self._apart}) > {_number(Decimal('1E-9'))} * abs({result}))")
        assert digits is not None, "these levels are of columns that show their digits"
        return parse_body(f"not(abs({self._apart}) > {_number(tolerance_of(level, digits))})")

    @property
    def _apart(self) -> str:
        """The difference between the result and what is computed."""
        result, names = f"t.{quoted_name(self.result)}", [factor.text for factor in self.factors]
        if self.shape in ("sum", "difference"):
            return f"{result} - {names[0]} {'-' if self.shape == 'sum' else '+'} {names[1]}"
        return f"{result} - {self.text}"

    def words(self, level: Level, digits: int | None) -> str:
        """The rule as a sentence."""
        plain = self.text.replace("t.", "") if '"' not in self.text else self.text
        said = f"every row has {quoted_name(self.result)} equal to {plain}"
        match level:
            case "equal":
                return said
            case "rounded":
                return f"{said}, rounded to {f'{digits} digits' if digits else 'a whole number'}"
            case "relative":
                return f"{said}, as far as doubles can tell"
        assert digits is not None, "these levels are of columns that show their digits"
        return f"{said}, within {_number(tolerance_of(level, digits))}"


def tolerance_of(level: Level, digits: int) -> Decimal:
    """How far the result may be off at a level of columns that show so many digits."""
    return Decimal(5).scaleb(-digits - 1) if level == "half" else Decimal(1).scaleb(-digits)


def _number(value: Decimal) -> str:
    return plain_number(value)


@dataclass(frozen=True)
class SampledRelation:
    """A relation that holds in the sample at this level; `otherwise` are other ways to say so, if it does not in all
    rows."""

    relation: Relation
    level: Level
    sample: ArithmeticSample
    otherwise: tuple[SampledRelation, ...] = ()

    @property
    def digits(self) -> int | None:
        return self.sample.digits[self.relation.result]

    @property
    def body(self) -> Body:
        return self.relation.body(self.level, self.digits)

    @property
    def words(self) -> str:
        return self.relation.words(self.level, self.digits)

    @property
    def next_way(self) -> SampledRelation | None:
        """The next of the other ways to say so that is no accident; None after the last."""
        for i, way in enumerate(self.otherwise, start=1):
            if not way.is_accident:
                return replace(way, otherwise=self.otherwise[i:])
        return None

    @property
    def chance(self) -> tuple[int, float]:
        """How many different operands there are, and the greatest share of rows whose value would do in another's."""
        return self.sample.chance(self.relation, self.level)

    @property
    def is_accident(self) -> bool:
        return self.log_chance > -LEAST_EVIDENCE

    @property
    def log_chance(self) -> float:
        """The logarithm of how likely it holds where one of its columns has nothing to do with the others; 0 where that
        is not unlikely."""
        different, share = self.chance
        cost = len(self.relation.multiple.as_tuple().digits) * log(10) if self.relation.shape == "multiple" else 0.0
        return 0.0 if share >= 1 else min(log(share) * different + cost, 0.0)

    @property
    def order(self) -> tuple[object, ...]:
        """What is not rounded first, then the stricter; multiples before sums before products, by their columns."""
        rounded = self.sample.rounds(self.relation)
        places = [self.sample.place[name] for name in self.relation.columns]
        return (rounded, self.width, _SHAPES.index(self.relation.shape), len(places), *sorted(places), *places)

    @property
    def preference(self) -> tuple[object, ...]:
        """Of the ways to say one thing the least is taken: the strictest, and a sum before a difference."""
        place = self.sample.place[self.relation.result]
        return (self.width, _SHAPES.index(self.relation.shape), place)

    @property
    def width(self) -> float:
        """How far off the result may be."""
        if self.level in ("equal", "relative"):
            return 0.0 if self.level == "equal" else float("inf")
        assert self.digits is not None, "these levels are of columns that show their digits"
        return float(tolerance_of("half" if self.level == "rounded" else self.level, self.digits))


_SHAPES = ("multiple", "sum", "difference", "product")


class ArithmeticSample:
    """The numeric columns of some rows, as doubles: what is not there, or not finite, as NaN."""

    def __init__(self, rows: pa.Table, types: Mapping[str, ColumnType]) -> None:
        self.values: dict[str, Doubles] = {}
        for name in rows.column_names:
            column = decoded(rows.column(name))
            if pa.types.is_decimal(column.type):  # as text: Arrow's own cast is not to the nearest double
                column = column.cast(pa.string())
            column = column.cast(pa.float64(), safe=False)
            values = pc.fill_null(column, float("nan")).to_numpy().astype(np.float64)
            self.values[name] = np.where(np.isfinite(values), values, np.nan)
        # What is the same in all rows is computed from nothing.
        self.values = {name: values for name, values in self.values.items() if _varies(values)}
        self.exact = {name: types[name].family != "float" for name in self.values}
        self.digits = {name: _shown_digits(values) for name, values in self.values.items()}
        self.place = {name: i for i, name in enumerate(rows.column_names)}
        self._chances: dict[tuple[Relation, Level], tuple[int, float]] = {}

    @cached_property
    def shares(self) -> tuple[str, ...]:
        """The columns that are shares: from 0 to 1, and not only these two."""
        return tuple(
            name
            for name, values in self.values.items()
            if np.nanmin(values) >= 0 and np.nanmax(values) <= 1 and np.nanmax(values % 1) > 0
        )

    def digits_of(self, relation: Relation) -> int | None:
        """How many digits behind the point the computed values may have; None where these are not known."""
        digits = [self.digits[factor.column] for factor in relation.factors]
        known = [d for d in digits if d is not None]
        if len(known) < len(digits):
            return None
        if relation.shape == "multiple":
            exponent = relation.multiple.as_tuple().exponent
            assert isinstance(exponent, int), "a multiple is finite"
            return known[0] + max(-exponent, 0)
        return sum(known) if relation.shape == "product" else max(known)

    def rounds(self, relation: Relation) -> bool:
        """Whether what is computed has more digits than the result shows."""
        own, computed = self.digits[relation.result], self.digits_of(relation)
        return own is not None and (computed is None or computed > own)

    def levels(self, relation: Relation) -> tuple[Level, ...]:
        """The levels at which the relation may hold, strictest first."""
        own, computed = self.digits[relation.result], self.digits_of(relation)
        exact = all(self.exact[name] for name in relation.columns)
        if own is None:
            return ("equal",) if exact else ("relative",)
        finer = self.rounds(relation)
        # Doubles that are equal by luck today are not so tomorrow, unless they are whole numbers.
        levels = ["equal"] if exact or own == computed == 0 else []
        if exact and finer:
            levels.append("rounded")
        if finer or not levels:
            levels.append("half")
        if finer and not (exact and relation.shape == "multiple"):
            levels.append("unit")
        return tuple(levels)

    def computed(self, relation: Relation) -> Doubles:
        parts = [factor.of(self.values[factor.column]) for factor in relation.factors]
        match relation.shape:
            case "sum":
                return parts[0] + parts[1]
            case "difference":
                return parts[0] - parts[1]
            case "product":
                return np.asarray(np.multiply.reduce(parts))
        return float(relation.multiple) * parts[0]

    def held(self, relation: Relation) -> list[SampledRelation]:
        """The relation at each level that the sample does not refute, strictest first; none where that is an accident,
        as a looser one is then, too."""
        result, computed = self.values[relation.result], self.computed(relation)
        parts = [np.abs(self.values[factor.column]) for factor in relation.factors]
        size = parts[0] + parts[1] if relation.shape in ("sum", "difference") else np.abs(computed)
        apart = np.abs(result - computed) - SLACK * (size + np.abs(result))
        known = ~np.isnan(apart)
        levels = self.levels(relation)
        if known.sum() < _LEAST_ROWS:
            return []
        for i, level in enumerate(levels):
            if (apart[known] <= self._tolerance(relation, level)[known]).all():
                sampled = [SampledRelation(relation, at_most, self) for at_most in levels[i:]]
                return [] if sampled[0].is_accident else sampled
        return []

    def _tolerance(self, relation: Relation, level: Level) -> Doubles:
        result = self.values[relation.result]
        if level in ("equal", "relative"):
            return np.zeros(len(result)) if level == "equal" else SLACK * np.abs(result)
        digits = self.digits[relation.result]
        assert digits is not None, "these levels are of columns that show their digits"
        return np.full(len(result), float(tolerance_of("half" if level == "rounded" else level, digits)))

    def chance(self, relation: Relation, level: Level) -> tuple[int, float]:
        """How many different operands the rows have; and, over the columns of the relation, the greatest share of pairs
        of rows in which the value of one would do in the place of the other's. Known from then on."""
        if (relation, level) not in self._chances:
            self._chances[relation, level] = self._computed_chance(relation, level)
        return self._chances[relation, level]

    def _computed_chance(self, relation: Relation, level: Level) -> tuple[int, float]:
        columns = [self.values[name] for name in relation.columns]
        known = np.flatnonzero(~np.isnan(np.sum(columns, axis=0)))
        operands = np.stack([column[known] for column in columns[1:]])
        different = len(np.unique(operands, axis=1).T)
        probed = known[:PROBED_ROWS]
        tolerance = self._tolerance(relation, level)[probed]
        shares = []
        for at, column in enumerate(columns):
            weight = self._weight(relation, at)[probed]
            values = column[probed]
            apart = np.abs(values[None, :] - values[:, None]) * weight[:, None]
            shares.append(float((apart <= tolerance[:, None]).mean()))
        return different, max(shares)

    def _weight(self, relation: Relation, at: int) -> Doubles:
        """How much the relation changes, in each row, with the column at this place."""
        size = len(self.values[relation.result])
        if at == 0 or relation.shape in ("sum", "difference"):
            return np.ones(size)
        if relation.shape == "multiple":
            return np.full(size, abs(float(relation.multiple)))
        others = [f.of(self.values[f.column]) for i, f in enumerate(relation.factors, start=1) if i != at]
        return np.asarray(np.abs(np.multiply.reduce(others)))


def _varies(values: Doubles) -> bool:
    known = values[~np.isnan(values)]
    return len(known) >= _LEAST_ROWS and bool((known != known[0]).any())


def _shown_digits(values: Doubles) -> int | None:
    """How many digits behind the point the values are written with; None where these are more than MOST_DIGITS."""
    known = values[~np.isnan(values)]
    for digits in range(MOST_DIGITS + 1):
        power = 10.0**digits
        if (np.rint(known * power) / power == known).all():
            return digits
    return None


# The search -------------------------------------------------------------------------------------------------------


def multiples(sample: ArithmeticSample, over: Callable[[], bool] = lambda: False) -> Iterator[SampledRelation]:
    """The pairs of columns of which one is a multiple of the other; of each pair the simpler way to say so. Once it is
    `over` no more are looked for."""
    ways: dict[frozenset[str], list[SampledRelation]] = {}
    for result in sample.values:
        if over():
            break
        for factor, multiple in _multiples_of(sample, result):
            held = sample.held(Relation(result, "multiple", (Factor(factor),), multiple))
            ways.setdefault(frozenset((result, factor)), []).extend(held)
    simplest = [_best_first(held, _plainness) for held in ways.values() if held]
    yield from sorted(simplest, key=lambda held: held.order)


def _best_first(
    ways: Sequence[SampledRelation], order: Callable[[SampledRelation], tuple[object, ...]]
) -> SampledRelation:
    """The first of the ways to say one thing, which has the others as its own."""
    first, *others = sorted(ways, key=order)
    return replace(first, otherwise=tuple(others))


def _plainness(held: SampledRelation) -> tuple[object, ...]:
    multiple = held.relation.multiple
    last = max(held.sample.place.values()) - held.sample.place[held.relation.result]
    return (held.width, len(multiple.as_tuple().digits), abs(multiple) < 1, last)


def _multiples_of(sample: ArithmeticSample, result: str) -> Iterator[tuple[str, Decimal]]:
    """The columns that the result may be a multiple of, with the shortest number that fits all rows."""
    values, digits = sample.values[result], sample.digits[result]
    spare = (0.0 if digits is None else 0.5 * 10.0**-digits) + SLACK * np.abs(values)
    few = np.array([other[:_FEW_ROWS] for other in sample.values.values()])
    lows, highs = _ratios(values[:_FEW_ROWS], spare[:_FEW_ROWS], few)
    names = list(sample.values)
    for name in (names[i] for i in np.flatnonzero(lows <= highs)):
        if name == result:
            continue
        low, high = (float(end[0]) for end in _ratios(values, spare, sample.values[name][None, :]))
        if low <= high and isfinite(low) and isfinite(high):
            multiple = shortest_between(low, high)
            if multiple is None:
                continue
            rounded = sample.rounds(Relation(result, "multiple", (Factor(name),), multiple))
            # Where the result is rounded, many short numbers fit; one that fits by chance says nothing.
            figures = len(multiple.as_tuple().digits)
            if not rounded or (high - low) * 10**figures <= MOST_CHOICE * abs(float(multiple)):
                yield name, multiple


def _ratios(values: Doubles, spare: Doubles, others: Doubles) -> tuple[Doubles, Doubles]:
    """Per line of `others` between which numbers it is to be multiplied with to give the values, give or take."""
    with np.errstate(all="ignore"):
        low_end, other = (values - spare) / others, (values + spare) / others
    known = (others != 0) & ~np.isnan(low_end) & ~np.isnan(other)
    low, high = (
        np.where(known, np.minimum(low_end, other), -np.inf),
        np.where(known, np.maximum(low_end, other), np.inf),
    )
    return low.max(axis=1), high.min(axis=1)


def shortest_between(low: float, high: float) -> Decimal | None:
    """The number of fewest digits between these two, the nearest to their middle; None where it is 0 or needs too many.

    >>> shortest_between(1.18, 1.23), shortest_between(99.9999, 100.0001)
    (Decimal('1.2'), Decimal('1E+2'))
    """
    if low <= 0 <= high:
        return None
    lowest, highest = Fraction(low), Fraction(high)
    middle = (lowest + highest) / 2
    first = Decimal(float(middle)).adjusted()
    for digits in range(1, MULTIPLE_DIGITS + 1):
        unit = Fraction(10) ** (first - digits + 1)
        whole = round(middle / unit)
        if lowest <= whole * unit <= highest:
            return Decimal(whole).scaleb(first - digits + 1).normalize()
    return None


def combinations_of(
    sample: ArithmeticSample, columns: Sequence[str], over: Callable[[], bool] = lambda: False
) -> tuple[list[SampledRelation], bool]:
    """The sums, differences and products among these columns, simplest first; and whether all were looked for. Once it
    is `over` no more are.

    Of the ways to say one thing, such as `a = b + c` and `b = a - c`, the strictest is there, a sum before others.
    """
    factors = [Factor(name) for name in columns]
    shares = [name for name in sample.shares if name in columns]
    factors += [Factor(name, sign) for name in shares for sign in (-1, 1)]
    expressions, complete = _expressions(sample, columns, factors, shares, over)
    if not len(expressions):
        return [], complete
    values = np.stack([sample.values[name] for name in columns])[:, :PROBED_ROWS]
    computed = np.stack([factor.of(sample.values[factor.column]) for factor in factors])[:, :PROBED_ROWS]
    place = {name: i for i, name in enumerate(columns)}
    digits = [sample.digits[name] for name in columns]
    owners = np.array([place[factor.column] for factor in factors], np.int64)
    shown = np.array([NOTHING if d is None else d for d in digits], np.int64)
    exact = np.array([sample.exact[name] for name in columns], np.bool_)
    values, computed = np.ascontiguousarray(values), np.ascontiguousarray(computed)
    matches: list[list[int]] = []
    at_once = max(_COMPARED_AT_ONCE // len(columns), 1)
    for start in range(0, len(expressions), at_once):
        left = _MOST_FOUND - len(matches)
        if over() or not left:
            complete = False
            break
        block = expressions[start : start + at_once]
        equal, all_listed = equal_expressions(
            values, computed, owners, block, shown, exact, least=_LEAST_ROWS, most=left
        )
        complete &= all_listed
        matches += [[start + which, result] for which, result in equal.tolist()]
    ways: dict[object, list[SampledRelation]] = {}
    shapes = {SUM: "sum", DIFFERENCE: "difference", PRODUCT: "product"}
    for which, result in matches:
        if over():
            complete = False
            break
        kind, *numbers = expressions[which, :4].tolist()
        parts = tuple(factors[i] for i in numbers if i != NOTHING)
        relation = Relation(columns[result], shapes[kind], parts)
        ways.setdefault(_fact(relation), []).extend(sample.held(relation))
    best = [_best_first(held, lambda held: held.preference) for held in ways.values() if held]
    return sorted(best, key=lambda held: held.order), complete


def _fact(relation: Relation) -> object:
    """What the relation says, however it is said: a total and its two parts; a product and its factors."""
    if relation.shape == "product":
        return relation.result, frozenset(relation.factors)
    first, second = (factor.column for factor in relation.factors)
    if relation.shape == "sum":
        return relation.result, frozenset((first, second))
    return first, frozenset((relation.result, second))


def _expressions(
    sample: ArithmeticSample,
    columns: Sequence[str],
    factors: Sequence[Factor],
    shares: Sequence[str],
    over: Callable[[], bool],
) -> tuple[NDArray[np.int64], bool]:
    """The expressions as the kernel takes them, and whether these are all: the longer ones are left out where there
    would be too many, or where it is `over`."""
    n, place = len(columns), {factor: i for i, factor in enumerate(factors)}
    i, j = np.triu_indices(n, 1)
    nothing = np.full(len(i), NOTHING)
    both_ways = np.concatenate([i, j]), np.concatenate([j, i])
    parts = [
        np.stack([np.full(len(i), SUM), i, j, nothing], axis=1),
        np.stack([np.full(2 * len(i), DIFFERENCE), *both_ways, np.full(2 * len(i), NOTHING)], axis=1),
        np.stack([np.full(len(i), PRODUCT), i, j, nothing], axis=1),
    ]
    signed = np.array([place[Factor(name, sign)] for name in shares for sign in (-1, 1)], np.int64)
    owner = np.array([place[Factor(factor.column)] for factor in factors], np.int64)
    alone = np.array([(a, b) for a in range(n) for b in signed if owner[b] != a], np.int64).reshape(-1, 2)
    parts.append(np.insert(np.insert(alone, 2, NOTHING, axis=1), 0, PRODUCT, axis=1))
    complete = True
    if n * sum(map(len, parts)) > MOST_COMPARISONS:
        return np.zeros((0, 6), np.int64), False
    third = np.array([place[Factor(name, sign)] for name in shares for sign in (-1, 0, 1)], np.int64)
    if over() or n * (len(i) * len(third) + len(alone) * len(signed) // 2) > MOST_COMPARISONS:
        complete = False
    elif len(third):
        parts.append(_with_third(np.stack([i, j], axis=1), third, owner))
        parts.append(_with_third(alone, signed, owner))
    expressions = np.concatenate(parts).astype(np.int64)
    digits = np.array([MOST_DIGITS * 10 if (d := sample.digits[f.column]) is None else d for f in factors], np.int64)
    exact = np.array([sample.exact[factor.column] for factor in factors], np.bool_)
    used = expressions[:, 1:4]
    there = used != NOTHING
    own_digits, own_exact = np.where(there, digits[used], 0), np.where(there, exact[used], True)
    product = expressions[:, 0] == PRODUCT
    shown = np.where(product, own_digits.sum(axis=1), own_digits.max(axis=1))
    return np.concatenate([expressions, np.stack([shown, own_exact.all(axis=1)], axis=1)], axis=1), complete


def _with_third(pairs: NDArray[np.int64], third: NDArray[np.int64], owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """The products of the pairs with each third factor, of columns that differ; each set of factors once."""
    lines = np.concatenate([np.repeat(pairs, len(third), axis=0), np.tile(third, len(pairs))[:, None]], axis=1)
    owners = owner[lines]
    apart = (owners[:, 0] != owners[:, 2]) & (owners[:, 1] != owners[:, 2]) & (owners[:, 0] != owners[:, 1])
    lines = lines[apart]
    _, first = np.unique(np.sort(lines, axis=1), axis=0, return_index=True)
    lines = lines[np.sort(first)]
    return np.insert(lines, 0, PRODUCT, axis=1)


# What follows from others -----------------------------------------------------------------------------------------


class Implied:
    """Remembers relations, and tells whether another one follows from them by adding or by multiplying.

    >>> implied = Implied()
    >>> columns = [("a", "b"), ("b", "c"), ("a", "c")]
    >>> [implied.adds(Relation(one, "multiple", (Factor(other),), Decimal(2))) for one, other in columns[:2]]
    [True, True]
    >>> implied.adds(Relation("a", "multiple", (Factor("c"),), Decimal(4)))
    False
    """

    def __init__(self) -> None:
        self._sums: dict[object, dict[object, Fraction]] = {}
        self._products: dict[object, dict[object, Fraction]] = {}

    def adds(self, relation: Relation) -> bool:
        """Whether the relation says more than those before it; it is then one of them."""
        if relation.shape == "multiple":
            line: dict[object, Fraction] = {
                relation.result: Fraction(1),
                relation.factors[0].column: -Fraction(relation.multiple),
            }
            # A number is a factor like others.
            power: dict[object, Fraction] = {relation.result: Fraction(1), relation.factors[0].column: Fraction(-1)}
            if relation.multiple != 1:
                power[relation.multiple] = Fraction(-1)
            _add(self._products, power)
            return _add(self._sums, line)
        line = {relation.result: Fraction(1)}
        sign = Fraction(1 if relation.shape == "difference" else -1)
        if relation.shape == "product":
            for factor in relation.factors:
                line[factor if factor.sign else factor.column] = Fraction(-1)
            return _add(self._products, line)
        line |= {relation.factors[0].column: Fraction(-1), relation.factors[1].column: sign}
        return _add(self._sums, line)


def _add(known: dict[object, dict[object, Fraction]], line: dict[object, Fraction]) -> bool:
    """Whether the line is no sum of multiples of those known; it is then known, under one of its variables."""
    while (name := next((name for name in line if name in known), None)) is not None:
        line = _without(line, known[name], line[name])
    if not line:
        return False
    first = next(iter(line))
    known[first] = {name: value / line[first] for name, value in line.items()}
    for name, other in known.items():  # each stays without the variables of the others
        if name != first and first in other:
            known[name] = _without(other, known[first], other[first])
    return True


def _without(
    line: Mapping[object, Fraction], other: Mapping[object, Fraction], times: Fraction
) -> dict[object, Fraction]:
    names, zero = dict.fromkeys([*line, *other]), Fraction(0)
    values = {name: line.get(name, zero) - times * other.get(name, zero) for name in names}
    return {name: value for name, value in values.items() if value}
