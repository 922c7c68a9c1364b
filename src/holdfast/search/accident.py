"""How likely a rule that was found is an accident of this table.

A rule is an accident when one of its columns has nothing to do with the others. So each of its columns in turn is
thought of as shuffled among the rows, which keeps its values and how all other columns go together: how likely does the
rule hold then? The column with which that is likeliest counts. Pairs of rows are not independent, rows are: what is
calculated are sets of rows that share no row.

- A rule of columns that are compared with themselves, at most one of them in another way than for being equal (keys,
  dependencies, order rules): its rows fall into sets that must all differ, be all equal, or be in order. That is
  calculated, see kernels/chance.py.
- Any other rule, and one that some pairs break: pairs of rows that share no row and meet its predicates on the other
  columns are drawn; how often shuffled values would break it there is counted over several shuffles.

Both take some of what the rule says of the rows, so that the probability is rather too high than too low. It is
multiplied by how many rules of the kind and size there could have been, and by a factor that makes the sum over all
kinds and sizes what it says for one.

Most of the work is saved at both ends. Where all pairs that meet the predicates on the other columns are counted, and
are too few to tell anything, the rule is taken for an accident without looking at rows. A law shows in few rows, so
that more rows are looked at only as long as there is doubt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, exp, expm1, inf, isnan, lgamma, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.chance import EXACT, LEAST_LOG, Draws, layers, log_few_hits
from holdfast.kernels.evidence import NULL
from holdfast.kernels.order import grouped, order_in_groups, ranks
from holdfast.rules.plain_words import number
from holdfast.rules.relation import ANY, EQ, GE, GT, LE, LT, NE, swapped
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows
from holdfast.search.evidence import Codes, Flags, Ints
from holdfast.search.invert import allowed_relations
from holdfast.search.options import DiscoverOptions
from holdfast.search.result import SearchResult
from holdfast.search.score import KINDS, scored
from holdfast.search.space import OperandPair, PredicateSpace, permuted

# Beyond the rules that are shown, it is estimated for some more, which errors may move forward.
MORE_THAN_SHOWN = 25
# So many rows are looked at at first, and where they leave doubts, so many more, and at last so many.
FIRST_ROWS, FEW_ROWS, MANY_ROWS = 3_000, 30_000, 300_000
# Doubts: above this estimate more rows are looked at; of the first rows, above this one.
_CLEAR, _CLEAR_AT_FIRST = 1e-3, 1e-9
# By how much rows of a set may be less likely than their pairs, each on its own, to be as a rule wants them: that n
# rows have all n values by chance has the probability e**-n, their pairs have e**(-n / 2).
_SETS_BESIDE_PAIRS = 2.0
# How often rows are paired anew in search of pairs that meet the other predicates, and how often these are shuffled.
_ROUNDS, _SHUFFLED_PAIRS = 10, 50_000
# How many standard deviations the share that shuffles break is taken lower than it was seen.
_CAUTION = 2.0
# A key of one column is believed when a table so many times as large would hold it, too.
_LARGER = 10
# Of the groups within which a column is shuffled, so many are looked at, large ones first.
_MOST_GROUPS = 200
# Groups of so many rows in all are kept.
_MOST_KEPT = 1 << 22
# Codes are compared as the values are; no null is among them.
_COMPARE = {LT: np.less, LE: np.less_equal, EQ: np.equal, NE: np.not_equal, GE: np.greater_equal, GT: np.greater}
# Sets of rows that are alike are looked at until their probability is this low.
_LOG_NOTHING = 10 * LEAST_LOG


def with_accidents(rows: CodedRows, result: SearchResult, options: DiscoverOptions, clock: Clock) -> SearchResult:
    """The result, with the estimate for the best rules: as many as are shown, within the limit."""
    with clock.phase("believe"):
        estimates = np.full(len(result.masks), np.nan)
        if not len(estimates):
            return replace(result, accidents=estimates, phases=dict(clock.phases))
        more = MORE_THAN_SHOWN if result.error else 0
        most = options.limits.estimated_rules
        if options.top is not None:
            most = min(options.top + more, most)
        left = min(most, len(estimates))
        if not clock.over:
            by_score = scored(result)
            believing = _Believing(rows, result, options, clock)
            for which in by_score.order[:most].tolist():
                if clock.over:
                    break
                kind, violating = KINDS[by_score.shapes.kinds[which]], int(result.violating[which])
                estimates[which] = believing.estimate(kind, by_score.shapes.allowed[which], violating)
                if isnan(estimates[which]) and clock.over:
                    break
                left -= 1
    if left:
        late = f"time was up before it was estimated how likely {number(left, 'rule')} are accidents"
        result = replace(result, complete=False, why=f"{result.why}; {late}" if result.why else late)
    return replace(result, accidents=estimates, phases=dict(clock.phases))


def candidates(space: PredicateSpace, kind: str, predicates: int) -> float:
    """How many rules of the kind and size there are over the space; for other denials, their number or more.

    >>> from holdfast.rules.predicate import Column
    >>> t, s = (OperandPair(Column("t", name), Column("s", name), True) for name in "ab")
    >>> [candidates(PredicateSpace((t, s)), kind, 2) for kind in ("key", "fd", "order", "dc")]
    [1, 2, 8, 18.0]
    """
    same = sum(pair.same_column for pair in space.pairs)
    ordered = sum(pair.same_column and pair.ordered for pair in space.pairs)
    match kind:
        case "key":
            return comb(same, predicates)
        case "fd":
            return same * comb(same - 1, predicates - 1)
        case "order":
            # Each of two columns in four ways; of a rule and its mirror image one.
            return comb(ordered, 2) * comb(same - 2, predicates - 2) * 8
    pairs = [pair for pair in space.pairs if kind == "dc" or pair.one_row]
    # The elementary symmetric polynomial of how many predicates each operand pair has; of mirror images one.
    ways = np.zeros(predicates + 1)
    ways[0] = 1
    for pair in pairs:
        ways[1:] += ways[:-1] * (6 if pair.ordered else 2)
    return max(float(ways[predicates]) / 2, 1.0)


@dataclass(frozen=True)
class _Rows:
    """Rows without nulls as codes per column. Rows of one `key` are the same, unless it is None."""

    lines: Mapping[str, Codes]
    count: int
    key: tuple[object, ...] | None = None


class _TestedPairs:
    """How many pairs of rows meet some predicates, by the evidence of the search; what is not counted is not known."""

    def __init__(self, result: SearchResult) -> None:
        self._result = result
        # Where rows are counted there is no evidence.
        self._known = len(result.evidence) > 0 and result.sampled is None and (result.exact or bool(result.settled))

    @cached_property
    def _shown(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Per operand pair and kind of evidence the relations that it shows, in one order of the rows and the other."""
        space, words = self._result.space, self._result.evidence.words
        ways = allowed_relations(space, words), allowed_relations(space, permuted(words, space.mirror))
        return np.ascontiguousarray(ways[0].T), np.ascontiguousarray(ways[1].T)

    def meeting(self, predicates: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
        """How many pairs of rows meet these predicates, (operand pair, allowed relations), in one order only, and how
        many in both; None where not all are counted."""
        if not (self._known and (self._result.exact or self._settled(dict(predicates)))):
            return None
        counts = self._result.evidence.counts
        there, back = np.ones((2, len(counts)), np.bool_)
        for i, allowed in predicates:
            there &= self._shown[0][i] & (ANY & ~allowed) == 0
            back &= self._shown[1][i] & (ANY & ~allowed) == 0
        # Each pair is counted in both orders.
        return float(counts[there ^ back].sum()) / 2, float(counts[there & back].sum()) / 2

    def _settled(self, predicates: Mapping[int, int]) -> bool:
        """Whether pairs that meet the predicates meet in a way that is settled."""
        return any(
            all(predicates.get(i) == EQ for i in equal) and (differ is None or not predicates.get(differ, ANY) & EQ)
            for equal, differ in self._result.settled
        )


@dataclass(frozen=True)
class _Said:
    """One predicate: an operand pair, and which relations it allows."""

    pair: OperandPair
    allowed: int

    @property
    def columns(self) -> set[str]:
        return {self.pair.left.name, self.pair.right.name}


class _Believing:
    def __init__(self, rows: CodedRows, result: SearchResult, options: DiscoverOptions, clock: Clock) -> None:
        self.clock = clock
        self.space, self.possible = result.space, rows.possible
        self.seed, self.whole = options.seed, rows.rows
        places = {pair.left.name: rows.packing.left[i] for i, pair in enumerate(rows.space.pairs) if pair.same_column}
        self.places, self.coded = places, rows
        random = np.random.default_rng(self.seed)
        weights = rows.weights
        if self.whole > 10 * MANY_ROWS:
            weights = random.binomial(weights, 10 * MANY_ROWS / self.whole)
        self.numbers = np.repeat(np.arange(len(weights)), weights)
        # Of a rule that holds on drawn pairs it is not known whether it holds on all.
        self.estimated = result.sampled is not None
        few = self.numbers
        if len(few) > FEW_ROWS:
            few = few[np.sort(random.choice(len(few), FEW_ROWS, replace=False))]
        self.few = few
        first = few if len(few) <= FIRST_ROWS else few[np.sort(random.choice(len(few), FIRST_ROWS, replace=False))]
        # The rows that are looked at, more and more, and which estimate leaves no doubts.
        self.nullable = {name for name, line in places.items() if bool((rows.codes[line] == NULL).any())}
        self.levels = [(first, _CLEAR_AT_FIRST), (few, _CLEAR), (self.numbers, 0.0)]
        self.levels = [level for level in self.levels if len(level[0]) < self.whole] + self.levels[-1:]
        self.tested = _TestedPairs(result)
        self._values: dict[str, Ints] = {}
        # Rules share what they want to be equal.
        self._known_groups: dict[tuple[object, ...] | None, Ints] = {}

    def estimate(self, kind: str, allowed: NDArray[np.uint8], violating: int) -> float:
        """The estimate for a rule; not a number where it cannot be had, or where time is up."""
        said = [_Said(self.space.pairs[i], int(allowed[i])) for i in np.flatnonzero(allowed != ANY)]
        columns = sorted(set().union(*(predicate.columns for predicate in said)))
        tries = log(candidates(self.space, kind, len(said)))
        # The sum of 1 / k(k + 1) over all sizes is one.
        tries += log(len(KINDS) * len(said) * (len(said) + 1))
        if len(said) == 1 and not said[0].pair.one_row:
            return self._unique(columns[0], tries) if kind == "key" and not violating else np.nan
        bounds = {name: self._least_log_chance(said, name) for name in columns}
        if max(bounds.values()) >= -tries:
            return 1.0
        columns.sort(key=lambda name: -bounds[name])
        holds, likeliest = not violating and not self.estimated, np.nan
        for numbers, clear in self.levels:
            closer = self._log_chance(said, columns, numbers, holds=holds, surely=-tries)
            # Rather too high than too low: what fewer rows say stands where there is no time for more.
            if closer == inf:
                return 1.0
            if not isnan(closer):
                likeliest = closer if isnan(likeliest) else min(likeliest, closer)
            if self.clock.over or likeliest + tries <= (log(clear) if clear else -inf):
                break
        return likeliest if isnan(likeliest) else exp(min(likeliest + tries, 0.0))

    def _least_log_chance(self, said: Sequence[_Said], name: str) -> float:
        """What the logarithm of the probability that the rule holds when the column is shuffled is no lower than: from
        how many pairs meet the other predicates, where these are all counted. Negative infinity where it is not known.
        """
        own = [predicate for predicate in said if name in predicate.columns]
        others = [predicate for predicate in said if predicate not in own]
        if len(own) > 1 or not own[0].pair.same_column or any(predicate.pair.one_row for predicate in others):
            return -inf
        unequal = sum(predicate.allowed != EQ for predicate in others)
        if own[0].allowed == EQ and unequal == 1:
            return -inf  # it may be shuffled within groups, see _dependent()
        pairs = self.tested.meeting([(self.space.pairs.index(other.pair), other.allowed) for other in others])
        if pairs is None:
            return -inf
        values, chance = self._values_of(name), 0.0
        for count, both_ways in zip(pairs, (False, True), strict=True):
            share = self._broken_share(own[0].allowed, values, both_ways=both_ways)
            if count:
                chance += count * log1p(-share) if share < 1 else -inf
        return chance * (_SETS_BESIDE_PAIRS if unequal < 2 else 1.0)

    def _values_of(self, name: str) -> Ints:
        """How many rows have each value of the column."""
        if name not in self._values:
            line = self.coded.codes[self.places[name]]
            known = line != NULL
            counts = np.bincount(line[known], weights=self.coded.weights[known])
            self._values[name] = counts[counts > 0].astype(np.int64)
        return self._values[name]

    def _broken_share(self, allowed: int, values: Ints, *, both_ways: bool) -> float:
        """How likely the values of two rows, in the order given or `both_ways`, are in these relations; `values` says
        how many rows have each."""
        same = Draws(values).same_pair
        if both_ways:
            allowed |= swapped(allowed)
        return sum(same if relation == EQ else (1 - same) / 2 for relation in (LT, EQ, GT) if allowed & relation)

    def _unique(self, column: str, tries: float) -> float:
        """A key of one column: that as many values drawn at random from those that are possible would not have repeated
        so far, and would in a table some times as large."""
        possible = self.possible.get(column)
        if possible is None:
            return np.nan
        line = self.coded.codes[self.places[column]]
        n = float(self.coded.weights[line != NULL].sum())
        repeats = n * n / (2 * possible)
        log_chance = -inf if possible < n else _log_no_repeat(n, possible)
        return exp(min(log_chance + tries, 0.0)) * -expm1(-repeats * (_LARGER**2 - 1))

    def _log_chance(
        self, said: Sequence[_Said], columns: Sequence[str], numbers: Ints, *, holds: bool, surely: float
    ) -> float:
        """The logarithm of the highest probability, over the columns, that the rule holds when that one is shuffled;
        or any that is at least `surely`; not a number where time is up before all columns were."""
        if all(predicate.pair.one_row for predicate in said):
            numbers = numbers if len(numbers) <= MANY_ROWS else self.few
            lines = self._lines(columns, numbers)
            return max(self._by_pairs(said, name, lines, rows_alone=True) for name in columns)
        highest = -inf
        for name in columns:
            if self.clock.over:
                return np.nan
            own = [predicate for predicate in said if name in predicate.columns]
            alike = [
                predicate
                for predicate in said
                if predicate not in own and predicate.pair.same_column and predicate.allowed == EQ
            ]
            others = [predicate for predicate in said if predicate not in own and predicate not in alike]
            equal = [predicate.pair.left.name for predicate in alike]
            lines = self._lines(columns, self._kept(equal, numbers))
            simple = (
                len(own) == 1 and len(others) <= 1 and all(predicate.pair.same_column for predicate in (*own, *others))
            )
            if simple and holds:
                chance = self._by_sets(own[0].allowed, name, equal, others, lines)
            elif simple and others and own[0].allowed == EQ:
                # As _dependent() has it: within the groups of the other columns, the one may stand for the other.
                right = others[0].pair.left.name
                chance = self._by_pairs(said, right, lines, equal=[*equal, name], within=equal)
            else:
                chance = self._by_pairs(said, name, lines, equal=equal, surely=surely if holds else None)
            highest = max(highest, chance)
            if highest >= surely:
                break
        return highest

    # Rows ----------------------------------------------------------------------------------------------------

    def _kept(self, equal: Sequence[str], numbers: Ints) -> Ints:
        """At most MANY_ROWS of the rows; where they form small groups that are equal, whole groups of them."""
        if len(numbers) <= MANY_ROWS:
            return numbers
        mixed = np.zeros(len(numbers), np.uint64)
        for name in equal:
            line = self.coded.codes[self.places[name]][numbers].astype(np.uint64)
            mixed = (mixed ^ line) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        part = np.random.default_rng(self.seed).choice(len(numbers), FEW_ROWS, replace=False)
        parts = np.uint64(-(-len(numbers) // MANY_ROWS))
        chosen: Flags = np.random.default_rng(self.seed).random(len(numbers)) < MANY_ROWS / len(numbers)
        if len(np.unique(mixed[part])) > FEW_ROWS // 20:
            chosen = (mixed >> np.uint64(20)) % parts == 0
        return np.asarray(numbers[chosen])

    def _lines(self, columns: Sequence[str], numbers: Ints) -> _Rows:
        """The rows that have a value in all of these columns."""
        lines = {name: self.coded.codes[self.places[name]] for name in columns}
        with_nulls = [name for name in columns if name in self.nullable]
        level = next((i for i, (kept, _) in enumerate(self.levels) if kept is numbers), None)
        if with_nulls:
            numbers = numbers[np.logical_and.reduce([lines[name][numbers] != NULL for name in with_nulls])]
        key = None if level is None else (level, *with_nulls)
        return _Rows({name: line[numbers] for name, line in lines.items()}, len(numbers), key)

    def _groups(self, rows: _Rows, equal: Sequence[str]) -> Ints:
        """Per row the number, from 0 on, of those that it equals in these columns."""
        key = None if rows.key is None else (rows.key, *equal)
        if key in self._known_groups:
            return self._known_groups[key]
        groups = self._numbered(rows, equal)
        if key is not None:
            while len(self._known_groups) * self.whole > _MOST_KEPT:
                del self._known_groups[next(iter(self._known_groups))]
            self._known_groups[key] = groups
        return groups

    def _numbered(self, rows: _Rows, equal: Sequence[str]) -> Ints:
        groups, size = np.zeros(rows.count, np.int64), 1
        for name in equal:
            line = rows.lines[name]
            many = int(line.max(initial=0)) + 1
            if size * many >= 1 << 62:
                groups, size = ranks(groups), rows.count
            groups, size = groups * many + line, size * many
        return ranks(groups) if equal and rows.count else groups

    # Sets of rows that are calculated ----------------------------------------------------------------------------

    def _by_sets(self, forbidden: int, name: str, equal: Sequence[str], others: Sequence[_Said], rows: _Rows) -> float:
        """Rows are divided into sets of which each pair meets all other predicates: what may the shuffled column be?"""
        if rows.count < 2:
            return 0.0
        groups = self._groups(rows, equal)
        if others and forbidden == EQ:
            return self._dependent(groups, rows.lines[name], rows.lines[others[0].pair.left.name])
        relations = others[0].allowed if others else ANY
        if others:
            sizes, many = layers(groups, rows.lines[others[0].pair.left.name].astype(np.int64))
        else:
            # All rows of a group differ in what they are.
            sizes, many = np.unique(np.bincount(groups), return_counts=True)
            sizes, many = sizes[sizes > 1], many[sizes > 1]
        if len(sizes) == 0:
            return 0.0
        # In rising order of the other column: the earlier row is t, or the later one, or each of them.
        wanted = ANY
        if relations & LT:
            wanted &= ANY & ~forbidden
        if relations & GT:
            wanted &= ANY & ~swapped(forbidden)
        _, counts = np.unique(rows.lines[name], return_counts=True)
        draws = Draws(counts.astype(np.int64))
        if wanted == ANY:
            return 0.0
        if wanted == 0:
            return -inf
        if wanted == EQ:
            return draws.log_all_equal(np.repeat(sizes, np.minimum(many, 10_000)), seed=self.seed)
        total = 0.0
        for size, sets in zip(sizes[::-1].tolist(), many[::-1].tolist(), strict=True):
            if wanted == NE:
                total += sets * draws.log_all_different(size)
            else:
                strict = not wanted & EQ
                total += sets * (size // EXACT) * draws.log_in_order(min(size, EXACT), strict=strict)
                total += sets * draws.log_in_order(size % EXACT, strict=strict)
            if total < _LOG_NOTHING:
                break
        return total

    def _dependent(self, groups: Ints, shuffled: Codes, other: Codes) -> float:
        """Within each group, rows with one value of the shuffled column have one value of the other.

        The column is shuffled within the groups: that keeps how it goes together with them, too, and the other column
        may be thought of as shuffled instead.
        """
        order = order_in_groups(groups, shuffled.astype(np.int64))
        ends = np.cumsum(np.bincount(groups))
        starts = np.append(0, ends[:-1])
        total = 0.0
        for i in np.argsort(starts - ends, kind="stable")[:_MOST_GROUPS].tolist():
            members = order[starts[i] : ends[i]]
            if len(members) < 3 or total < _LOG_NOTHING:
                break
            # They are in the order of the shuffled column.
            sizes = np.diff(np.flatnonzero(np.diff(shuffled[members], prepend=-1, append=-1)))
            _, counts = np.unique(other[members], return_counts=True)
            if len(counts) > 1 and len(sizes) > 1:
                total += Draws(counts.astype(np.int64)).log_all_equal(sizes.astype(np.int64), seed=self.seed)
        return total

    # Pairs of rows that are shuffled --------------------------------------------------------------------------------

    def _by_pairs(
        self, said: Sequence[_Said], name: str, rows: _Rows, *, equal: Sequence[str] = (),
        within: Sequence[str] = (), rows_alone: bool = False,
        surely: float | None = None,
    ) -> float:  # fmt: skip
        """Pairs that share no row and meet all predicates without the column: how likely do as few break the rule?

        The column is shuffled among all rows, or among those that are equal `within` these columns. With `surely`, no
        pair breaks the rule; infinity then, where all rows would hardly make it less likely than that.
        """
        if rows.count == 0:
            return 0.0
        random = np.random.default_rng(self.seed)
        left = right = np.arange(rows.count)
        own = [predicate for predicate in said if name in predicate.columns]
        others = [predicate for predicate in said if predicate not in own]
        counted = surely is not None and len(own) == 1 and own[0].pair.same_column
        one_way = both_ways = 0.0
        if counted:
            # Which values two rows get can be counted, so that no rows are shuffled.
            _, values = np.unique(rows.lines[name], return_counts=True)
            one_way, both_ways = (self._broken_share(own[0].allowed, values, both_ways=way) for way in (False, True))
        if not rows_alone:
            likeliest = both_ways if both_ways < 1 else one_way
            needed = surely / log1p(-likeliest) if surely is not None and 0 < likeliest < 1 else 0.0
            left, right = self._disjoint(said, name, rows, equal, random, needed=needed)
        t, s = ({column: line[side] for column, line in rows.lines.items()} for side in (left, right))
        if counted and surely is not None:
            share = one_way
            if len(left):
                both = float((self._meet(others, t, s) & self._meet(others, s, t)).mean()) if others else 1.0
                share = both * both_ways + (1 - both) * one_way
            return inf if self._tells_nothing(len(left), share, rows, surely) else log_few_hits(0, len(left), share)
        if len(left) == 0:
            return 0.0

        def broken(t: Mapping[str, Codes], s: Mapping[str, Codes]) -> Flags:
            return self._meet(said, t, s) | self._meet(said, s, t)

        hits = int(broken(t, s).sum())
        # A shuffled column gives two rows the values of any two, and one row that of any.
        turns = np.arange(_SHUFFLED_PAIRS) % len(left)
        groups = self._groups(rows, within)
        order = np.argsort(groups, kind="stable")
        starts, sizes = (np.searchsorted(groups[order], groups[left[turns]], side=end) for end in ("left", "right"))
        sizes = sizes - starts
        first = random.integers(0, sizes)
        second = first
        if not rows_alone:
            second = random.integers(0, sizes - 1)
            second = second + (second >= first)
        first, second = order[starts + first], order[starts + second]
        t, s = ({column: line[turns] for column, line in side.items()} for side in (t, s))
        t, s = {**t, name: rows.lines[name][first]}, {**s, name: rows.lines[name][second]}
        share = float(broken(t, s).mean())
        cautious = share - _CAUTION * sqrt(share * (1 - share) / _SHUFFLED_PAIRS)
        return log_few_hits(hits, len(left), max(cautious, 0.0))

    def _tells_nothing(self, pairs: int, share: float, rows: _Rows, surely: float) -> bool:
        """Whether all rows, of which these gave so many pairs, would hardly give enough for a lower probability."""
        many = len(self.numbers) / rows.count
        if many <= 1 or share >= 1:
            return False
        # Twice as many rows have four times the pairs, and by chance there were some fewer here than could be expected.
        most = min((pairs + 2 * sqrt(pairs) + 2) * many**2, len(self.numbers) / 2)
        return most * log1p(-share) >= surely

    def _disjoint(
        self, said: Sequence[_Said], name: str, rows: _Rows, equal: Sequence[str], random: np.random.Generator, *,
        needed: float,
    ) -> tuple[Ints, Ints]:  # fmt: skip
        """Pairs of rows that share no row and meet the predicates without the column, in one order or the other; fewer
        than there are, where these would hardly be as many as are needed."""
        # Rows are paired within groups that are equal in those columns.
        others = [
            predicate
            for predicate in said
            if name not in predicate.columns
            and not (predicate.pair.same_column and predicate.allowed == EQ and predicate.pair.left.name in equal)
        ]
        compared = sorted(set().union(*(predicate.columns for predicate in others)))
        groups = self._groups(rows, equal)
        ordered = [
            predicate.pair.left.name
            for predicate in others
            if predicate.pair.same_column and predicate.allowed not in (EQ, NE)
        ]
        left: list[Ints] = []
        right: list[Ints] = []
        rest = np.arange(rows.count)
        for turn in range(_ROUNDS if others else 1):
            if len(rest) < 2:
                break
            if ordered and turn % 3 == 2:
                by = rows.lines[ordered[turn // 3 % len(ordered)]][rest]
                rest = rest[order_in_groups(groups[rest], by.astype(np.int64))]
            else:
                rest = random.permutation(rest)
                rest = rest[grouped(groups[rest])]
            own = groups[rest]
            start = np.ones(len(rest), np.bool_)
            start[1:] = own[1:] != own[:-1]
            places = np.arange(len(rest))
            within = places - np.maximum.accumulate(np.where(start, places, 0))
            first = np.flatnonzero((within[:-1] % 2 == 0) & ~start[1:])
            a, b = rest[first], rest[first + 1]
            t, s = ({column: rows.lines[column][side] for column in compared} for side in (a, b))
            meet = np.ones(len(a), np.bool_) if not others else self._meet(others, t, s) | self._meet(others, s, t)
            left.append(a[meet])
            right.append(b[meet])
            taken = np.zeros(rows.count, np.bool_)
            taken[a[meet]] = taken[b[meet]] = True
            drawn = sum(map(len, left))
            tried = (turn + 1) / _ROUNDS
            if turn + 1 >= 3 * max(len(ordered), 1) and (drawn + 2 * sqrt(drawn) + 2) / tried < needed:
                break
            alone = start & np.append(start[1:], True)
            rest = rest[~(taken[rest] | alone)]
        return np.concatenate(left or [rest[:0]]), np.concatenate(right or [rest[:0]])

    def _meet(self, said: Sequence[_Said], t: Mapping[str, Codes], s: Mapping[str, Codes]) -> Flags:
        """Whether pairs of rows with these values, t and s, meet all of the predicates."""
        meet = np.ones(len(next(iter(t.values()))), np.bool_)
        for predicate in said:
            a, b = (
                (t if operand.row == "t" else s)[operand.name]
                for operand in (predicate.pair.left, predicate.pair.right)
            )
            meet &= _COMPARE[predicate.allowed](a, b)
        return meet


def _log_no_repeat(n: float, possible: float) -> float:
    """So many values, each drawn from as many possible ones, are different."""
    if n * n < possible / 1_000:
        return n * log1p(-n / (2 * possible))
    return lgamma(possible + 1) - lgamma(possible - n + 1) - n * log(possible)
