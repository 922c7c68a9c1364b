"""Which indexes let through all pairs of rows that could break a set of rules, and few others (IncDC 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import OptionError
from holdfast.rules.relation import EQ, GE, GT, LE, LT, NE
from holdfast.rules.rule import Nulls
from holdfast.search.invert import allowed_relations
from holdfast.search.space import PredicateSpace, Words

Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class SelectOptions:
    """The thresholds of IncDC, and its names for them: an equality index is taken first where its score, 1 less the
    share of different values, is below `equality` (l); chains where both columns have at least the share `distinct` of
    different values (l'); chains are turned round where columns correlate by more than `correlation` (alpha)."""

    equality: float = 0.6
    distinct: float = 0.1
    correlation: float = 0.3

    def __post_init__(self) -> None:
        for name in ("equality", "distinct", "correlation"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"{name} is {getattr(self, name)}.", hint="the thresholds go from 0 to 1.")


@dataclass(frozen=True)
class ColumnStatistics:
    """Estimated on a sample: per column which share of values differ and whether there are nulls, and per two columns
    how they correlate."""

    distinct: Mapping[str, float]
    nullable: frozenset[str]
    correlation: Mapping[tuple[str, str], float]

    def correlated(self, a: str, b: str) -> float:
        return self.correlation.get((a, b), self.correlation.get((b, a), 1.0 if a == b else 0.0))


@dataclass(frozen=True)
class Equality:
    """Rows are found by an equality, that of one operand pair."""

    pair: int


@dataclass(frozen=True)
class Inequalities:
    """Rows are found by two inequalities; `pairs` may be one operand pair twice. `ops` are those chains are built for,
    and `wanted` the relations, one of <, <=, >, >= for each, under which rules ask."""

    pairs: tuple[int, int]
    ops: tuple[int, int]
    wanted: tuple[tuple[int, int], ...]


Chosen = Equality | Inequalities


@dataclass(frozen=True)
class Selection:
    """Indexes that cover all rules but those at the positions `uncovered`."""

    chosen: tuple[Chosen, ...]
    uncovered: tuple[int, ...]


def select_index(
    space: PredicateSpace, masks: Words, nulls: Nulls, about: ColumnStatistics, options: SelectOptions
) -> Selection:
    """Few indexes of which every rule has one: equalities on columns with many values first, then chains that serve
    many rules on columns that correlate, then what is left. `!=` is `<` or `>`."""
    allowed = allowed_relations(space, masks)
    equal, unequal = _servable(space, allowed, nulls, about)
    open_rules = np.ones(len(masks), np.bool_)
    chosen: list[Chosen] = []
    scores = {i: _equality_score(space, i, about) for i in np.flatnonzero(equal.any(axis=0)).tolist()}

    def take_equalities(below: float) -> None:
        # Those that serve most first, among equals the more selective.
        for i in sorted(scores, key=lambda i: (scores[i], i)):
            served = open_rules & equal[:, i]
            if scores[i] < below and served.any() and Equality(i) not in chosen:
                chosen.append(Equality(i))
                open_rules[served] = False

    candidates = _candidates(space, unequal)
    many = {pair: _least_distinct(space, pair, about) >= options.distinct for pair in candidates}

    def take_inequalities(pairs: Sequence[tuple[int, int]]) -> None:
        left = list(pairs)
        while left and open_rules.any():
            served = {pair: int((open_rules & _both(unequal, pair)).sum()) for pair in left}
            left = [pair for pair in left if served[pair]]
            if not left:
                return
            best = min(left, key=lambda pair: (_chain_score(space, pair, about) / served[pair], pair))
            rules = open_rules & _both(unequal, best)
            chosen.append(_inequalities(space, best, allowed[rules], about, options))
            open_rules[rules] = False
            left.remove(best)

    take_equalities(options.equality)
    take_inequalities([pair for pair in candidates if many[pair]])
    take_equalities(1.1)
    take_inequalities(candidates)
    return Selection(tuple(chosen), tuple(np.flatnonzero(open_rules).tolist()))


def _servable(
    space: PredicateSpace, allowed: NDArray[np.uint8], nulls: Nulls, about: ColumnStatistics
) -> tuple[Bools, Bools]:
    """Per rule and operand pair, whether an equality index serves it, and whether a chain does."""
    equal, unequal = allowed == EQ, np.zeros(allowed.shape, np.bool_)
    for i, pair in enumerate(space.pairs):
        if pair.one_row:
            equal[:, i] = False
            continue
        if not pair.ordered:
            continue
        # Where nulls equal each other, `<=` holds between two of them, and `!=` beside a value: no chain has nulls.
        whole = nulls == "sql" or not {pair.left.name, pair.right.name} & about.nullable
        unequal[:, i] = np.isin(allowed[:, i], (LT, GT, LE, GE, NE) if whole else (LT, GT))
    return equal, unequal


def _both(unequal: Bools, pair: tuple[int, int]) -> Bools:
    return np.asarray(unequal[:, pair[0]] & unequal[:, pair[1]], np.bool_)


def _candidates(space: PredicateSpace, unequal: Bools) -> list[tuple[int, int]]:
    """Two operand pairs that some rule compares by inequalities, and one alone where a rule has no other."""
    ordered = np.flatnonzero(unequal.any(axis=0)).tolist()
    pairs = [pair for pair in combinations(ordered, 2) if _both(unequal, pair).any()]
    alone = unequal.sum(axis=1) == 1
    return pairs + [(i, i) for i in ordered if bool((alone & unequal[:, i]).any())]


def _columns(space: PredicateSpace, pair: tuple[int, int]) -> list[str]:
    return [column.name for i in pair for column in (space.pairs[i].left, space.pairs[i].right)]


def _least_distinct(space: PredicateSpace, pair: tuple[int, int], about: ColumnStatistics) -> float:
    return min(about.distinct[name] for name in _columns(space, pair))


def _equality_score(space: PredicateSpace, i: int, about: ColumnStatistics) -> float:
    """1 less the share of different values, of the column that has fewer."""
    return 1 - min(about.distinct[space.pairs[i].left.name], about.distinct[space.pairs[i].right.name])


def _chain_score(space: PredicateSpace, pair: tuple[int, int], about: ColumnStatistics) -> float:
    first, second = space.pairs[pair[0]], space.pairs[pair[1]]
    return 1 - abs(about.correlated(first.left.name, second.left.name))


_KINDS = {LT: (LT,), LE: (LE,), GT: (GT,), GE: (GE,), NE: (LT, GT)}


def _inequalities(
    space: PredicateSpace, pair: tuple[int, int], allowed: NDArray[np.uint8], about: ColumnStatistics,
    options: SelectOptions,
) -> Inequalities:  # fmt: skip
    """The index for these rules, built for the relation that most of them ask for, unless the columns correlate."""
    counts: dict[tuple[int, int], int] = {}
    for line in allowed:
        for a in _KINDS[int(line[pair[0]])]:
            for b in _KINDS[int(line[pair[1]])]:
                if pair[0] != pair[1] or a == b:
                    counts[a, b] = counts.get((a, b), 0) + 1
    rises = {ops: _rises_together(ops) for ops in counts}
    together = 2 * sum(n for ops, n in counts.items() if rises[ops]) >= sum(counts.values())
    r = about.correlated(space.pairs[pair[0]].left.name, space.pairs[pair[1]].left.name)
    if abs(r) > options.correlation:
        together = r > 0
    # Chains along which values may stay are fewer, and serve strict inequalities as well.
    return Inequalities(pair, (GE, GE if together else LE), tuple(sorted(counts)))


def _rises_together(ops: tuple[int, int]) -> bool:
    return (ops[0] in (GT, GE)) == (ops[1] in (GT, GE))
