"""Scores of constraints: how short they are, how well they are tested, and what better ones leave of that.

All constraints are scored at once, on arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.rules.relation import ANY, EQ, GE, GT, LE, LT, NE
from holdfast.search.evidence import Flags, Floats, Ints
from holdfast.search.invert import allowed_relations, by_ranges
from holdfast.search.result import SearchResult
from holdfast.search.space import PredicateSpace, Words

Sets = NDArray[np.uint8]
# See `evidence_shares`.
Shares = tuple[Floats, Floats]

KINDS = ("key", "fd", "order", "dc", "row")
# A key or a dependency says more to a person than a denial of the same length.
DENIAL_WORTH = 0.8
_WORTH = {"key": 1.0, "fd": 1.0, "order": 1.0, "dc": DENIAL_WORTH, "row": DENIAL_WORTH}
# By chance alone some constraint holds that is expected to be violated a few times per predicate: there are many.
CHANCE = 4.0
# How much more it weighs that violations come than that they could have come.
_STRICT = 4
# What is left where the columns' values lie such that no two of them could violate a rule: month is below year.
_BY_RANGES = 0.25
# What is left where columns are compared that share values by chance.
_BY_CHANCE = 0.5
# What is left of a rule's score when it follows from better ones, or says of the same columns what a better one says.
_FOLLOWS, _REPEATS = 0.5, 0.5
# A dependency that follows from others of the same left side still belongs beside them.
_BELONGS = 0.8
# How many of the best are looked at for that, and how many of the best dependencies they may follow from.
_LOOKED_AT, _DEPENDENCIES, _PER_CONCLUSION = 10_000, 300, 50


@dataclass(frozen=True)
class Scored:
    """Constraints, best first: `order` has their places; shapes, and scores before and after better ones are looked
    at, are in the order they were given in."""

    shapes: ConstraintShapes
    alone: Floats
    score: Floats
    order: Ints


def scored(result: SearchResult, shares: Shares | None = None) -> Scored:
    """The constraints of the result by score; ties go to columns further left in the table. `shares` are those of its
    evidence, where they are known."""
    shapes = _shapes(result.space, result.masks)
    known = result.shares if shares is None else shares
    if known is None:
        # Of no constraints nothing is asked, and the evidence may be large.
        nothing = np.zeros((len(result.space.pairs), ANY + 1)), np.zeros(len(result.space.pairs))
        known = evidence_shares(result) if len(result.masks) else nothing
    alone = scores(result, shapes, counted_pairs(result), known)
    order = _order(alone, shapes, result.masks)
    score = alone * _left_of_score(shapes, order[:_LOOKED_AT])
    return Scored(shapes, alone, score, _order(score, shapes, result.masks))


def counted_pairs(result: SearchResult) -> int:
    """How many ordered pairs of rows the evidence speaks of."""
    return max(result.rows * (result.rows - 1) if result.exact else result.evidence.pairs, 1)


# Shapes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConstraintShapes:
    """Per constraint what it looks like: the relations it allows per operand pair, how many predicates it has, how many
    of them compare two columns, whether all are inequalities, its kind, and the sums of places of its columns, and of
    those it wants equal."""

    space: PredicateSpace
    allowed: Sets
    predicates: Ints
    across: Ints
    ordered: Flags
    kinds: Ints
    places: Ints
    left_places: Ints


def _shapes(space: PredicateSpace, masks: Words) -> ConstraintShapes:
    allowed = allowed_relations(space, masks)
    zero = np.zeros(len(masks), np.int64)
    predicates, across, equal, unequal, ordered, places, left = (zero.copy() for _ in range(7))
    of_t, of_s = zero.copy(), zero.copy()
    place = {name: i for i, name in enumerate(space.columns)}
    for i, pair in enumerate(space.pairs):
        used = allowed[:, i] != ANY
        predicates += used
        places += used * (place[pair.left.name] + place[pair.right.name])
        if pair.same_column:
            equal += allowed[:, i] == EQ
            left += (allowed[:, i] == EQ) * place[pair.left.name]
            unequal += allowed[:, i] == NE
            ordered += used & (allowed[:, i] != EQ) & (allowed[:, i] != NE)
        else:
            across += used
        if pair.one_row:
            of_t += used * (pair.left.row == "t")
            of_s += used * (pair.left.row == "s")
    kinds = np.full(len(masks), KINDS.index("dc"), np.int64)
    kinds[equal == predicates] = KINDS.index("key")
    kinds[(unequal == 1) & (equal + unequal == predicates)] = KINDS.index("fd")
    kinds[(ordered == 2) & (equal + ordered == predicates)] = KINDS.index("order")
    kinds[(of_t == predicates) | (of_s == predicates)] = KINDS.index("row")
    inequalities = np.isin(allowed, (LT, LE, GT, GE)).sum(axis=1) == predicates
    return ConstraintShapes(space, allowed, predicates, across, inequalities, kinds, places, left)


# Scores ----------------------------------------------------------------------------------------------------------


def scores(result: SearchResult, shapes: ConstraintShapes, pairs: int, shares: Shares) -> Floats:
    """Per constraint a score from 0 to 1: how short it is, and how often it would be violated if it held by accident.

    A constraint is tested by the pairs that meet all its predicates but the least tested one. If that predicate had
    nothing to do with the others, it would hold for as large a share of these pairs as it does for all: so many
    violations are *expected*, and none is there. Thousands that do not come are a law; three are an accident. Nothing
    can be expected of a constraint of one predicate (a key that no two rows share): all pairs without nulls speak for
    it. Denials that are neither key, dependency nor order rule count a little less, what compares columns that are
    alike by chance half, and what follows from where the values of columns lie less still.

    Where some pairs may violate a rule, what is left of its score is how much rarer they are than expected: a rule that
    is broken as often as chance would break it says nothing. Of a key nothing is expected, but it speaks of rows: its
    violations are held against their number. Where errors are counted by rows, suspects are held against those that
    there would be without a left side.
    """
    held, known = shares
    most = np.zeros(len(shapes.kinds))
    least_known = np.ones(len(shapes.kinds))
    for i in range(len(shapes.space.pairs)):
        used = shapes.allowed[:, i] != ANY
        most = np.where(used, np.maximum(most, held[i, shapes.allowed[:, i]]), most)
        least_known = np.where(used, np.minimum(least_known, known[i]), least_known)
    alone = shapes.predicates == 1
    expected = np.where(alone, pairs * least_known, result.support * most)
    tested = np.clip(np.log1p(expected) / np.log1p(pairs), 0.0, 1.0)
    # Columns of one row are compared for their order; that two of them never are equal says little.
    ordered_row = (shapes.kinds == KINDS.index("row")) & shapes.ordered
    short = 2.0 / (shapes.predicates + 1 + shapes.across * ~ordered_row)
    lawful = expected / (expected + CHANCE * shapes.predicates)
    worth = np.array([_WORTH[kind] for kind in KINDS])[shapes.kinds]
    worth = np.where(ordered_row, 1.0, worth)
    chance = [i for i, pair in enumerate(shapes.space.pairs) if pair.by_chance]
    worth = worth * np.where((shapes.allowed[:, chance] != ANY).any(axis=1), _BY_CHANCE, 1.0)
    if result.ranges is not None:
        worth = worth * np.where(by_ranges(shapes.space, shapes.allowed, result.ranges), _BY_RANGES, 1.0)
    return np.asarray(np.round(worth * lawful * (short + tested) / 2 * _kept(result, shapes, pairs, expected), 9))


def _kept(result: SearchResult, shapes: ConstraintShapes, pairs: int, expected: Floats) -> Floats:
    """The share of its score that a constraint keeps beside the pairs that violate it: all of it where none does."""
    if result.by_rows is not None:
        return np.asarray(result.by_rows.kept**_STRICT)
    if not result.error:
        return np.ones(len(expected))
    broken = result.violating / np.maximum(expected, 1.0)
    # A duplicate is an unordered pair; in a sample there are fewer rows to have them.
    rows = max(result.rows * (pairs / max(result.rows * (result.rows - 1), 1)), 1.0)
    broken = np.where(shapes.kinds == KINDS.index("key"), np.maximum(broken, result.violating / (2 * rows)), broken)
    return np.asarray(np.clip(1.0 - broken, 0.0, 1.0) ** _STRICT)


def evidence_shares(result: SearchResult) -> Shares:
    """Per operand pair and set of relations the share of pairs of rows that are in them; and the share that is in one
    relation at all, not beside a null."""
    space = result.space
    held, known = np.zeros((len(space.pairs), ANY + 1)), np.zeros(len(space.pairs))
    if result.by_rows is not None:
        held[:, EQ], held[:, NE] = result.by_rows.agree, result.by_rows.differ
        return held, result.by_rows.agree + result.by_rows.differ
    evidence = result.evidence
    counts = evidence.counts.astype(np.float64)
    total = max(counts.sum(), 1.0)
    shown = allowed_relations(space, evidence.words)
    for i in range(len(space.pairs)):
        by_set = np.bincount(shown[:, i], weights=counts, minlength=ANY + 1) / total
        for allowed in range(1, ANY):
            held[i, allowed] = sum(by_set[s] for s in range(1, ANY) if s & ~allowed == 0)
        known[i] = sum(by_set[s] for s in range(1, ANY))
    return held, known


def _order(score: Floats, shapes: ConstraintShapes, masks: Words) -> Ints:
    """Best first; among equals the shorter one, then the one whose columns (first all, then those it wants equal) stand
    further left, then by mask."""
    return np.lexsort((*masks.T, shapes.left_places, shapes.places, shapes.predicates, -score))


# What follows from better rules ----------------------------------------------------------------------------------


def _left_of_score(shapes: ConstraintShapes, best: Ints) -> Floats:
    """Per constraint the share of its score that is left, given better ones: all of it, or less when it adds little.

    `best` are those looked at, best first. A constraint *follows* when a better one says the same of columns that its
    own determine, by dependencies that are better, too: AreaCode, Salary -> Rate adds nothing to State, Salary -> Rate
    and AreaCode -> State. It *repeats* when it is a denial on the same columns as a better rule, or an order rule that
    holds the same two columns against each other as a better one.
    """
    same = np.array([pair.same_column for pair in shapes.space.pairs], np.bool_)
    agree = _columns(shapes, best, same, EQ)
    left = np.ones(len(shapes.kinds))
    left[best[_follow(shapes, best, same, agree)]] = _FOLLOWS
    belongs = _belong(shapes, best, agree)
    left[best[belongs]] = np.maximum(left[best[belongs]], _BELONGS)
    left[best[_repeat(shapes, best, agree)]] *= _REPEATS
    return left


def _columns(shapes: ConstraintShapes, best: Ints, pairs: Flags, relation: int | None = None) -> Flags:
    """Per constraint of `best` and column whether an operand pair among `pairs` uses it, in this relation if given."""
    place = {name: i for i, name in enumerate(shapes.space.columns)}
    used = np.zeros((len(best), len(place)), np.bool_)
    for i in np.flatnonzero(pairs):
        pair, allowed = shapes.space.pairs[i], shapes.allowed[best, i]
        has = allowed != ANY if relation is None else allowed == relation
        used[:, place[pair.left.name]] |= has
        used[:, place[pair.right.name]] |= has
    return used


def _follow(shapes: ConstraintShapes, best: Ints, same: Flags, agree: Flags) -> Flags:
    closed = _closed(agree, _columns(shapes, best, same, NE), shapes.kinds[best] == KINDS.index("fd"))
    rest = shapes.allowed[best].copy()
    rest[:, same] = np.where(rest[:, same] == EQ, ANY, rest[:, same])
    follows = np.zeros(len(best), np.bool_)
    for members in _groups(rest):
        for j, better in enumerate(members[:_PER_CONCLUSION]):
            if not follows[better]:
                later = members[j + 1 :]
                follows[later] |= ~(agree[better] & ~closed[later]).any(axis=1)
    return follows


def _closed(agree: Flags, differ: Flags, dependencies: Flags) -> Flags:
    """Per constraint the columns that are equal where `agree` are, by the dependencies that stand before it."""
    closed = agree.copy()
    chosen = np.flatnonzero(dependencies & agree.any(axis=1))[:_DEPENDENCIES]
    grown = True
    while grown:
        grown = False
        for j in chosen:
            right = int(np.flatnonzero(differ[j])[0])
            later = closed[j + 1 :]
            new = later[:, agree[j]].all(axis=1) & ~later[:, right]
            if new.any():
                later[new, right] = True
                grown = True
    return closed


def _belong(shapes: ConstraintShapes, best: Ints, agree: Flags) -> Flags:
    """Whether it is a dependency on one column that a better dependency starts from, too."""
    seen: set[int] = set()
    belongs = np.zeros(len(best), np.bool_)
    for i in np.flatnonzero((shapes.kinds[best] == KINDS.index("fd")) & (agree.sum(axis=1) == 1)):
        column = int(np.flatnonzero(agree[i])[0])
        belongs[i] = column in seen
        seen.add(column)
    return belongs


def _repeat(shapes: ConstraintShapes, best: Ints, agree: Flags) -> Flags:
    denials, orders = (np.flatnonzero(shapes.kinds[best] == KINDS.index(kind)) for kind in ("dc", "order"))
    every = _columns(shapes, best, np.ones(len(shapes.space.pairs), np.bool_))
    repeats = np.zeros(len(best), np.bool_)
    for members in _groups(every):
        repeats[members[1:]] = True
    repeats[np.setdiff1d(np.arange(len(best)), denials)] = False
    compared = every & ~agree
    for members in _groups(compared[orders]):
        repeats[orders[members[1:]]] = True
    return repeats


def _groups(lines: Sets | Flags) -> list[Ints]:
    """The places of equal lines, those of two and more, each in order."""
    if len(lines) == 0 or lines.shape[1] == 0:
        return []
    keys = np.ascontiguousarray(lines).view(np.dtype((np.void, lines.shape[1]))).ravel()
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.argsort(which, kind="stable")
    return [group for group in np.split(order, np.cumsum(counts)[:-1]) if len(group) > 1]
