"""Found constraints as rules under names, the ones worth reading first.

Rules as objects are made when they are asked for; `score.py` has what speaks for each.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import FD, Body, Denial, Implication, Key
from holdfast.rules.predicate import Comparison, comparison
from holdfast.rules.relation import ANY, EQ, NE
from holdfast.rules.rule import Allowance, Rule, readable_name
from holdfast.rules.sentence import sentence
from holdfast.search.outcome import FoundRule, RankedRules
from holdfast.search.result import SearchResult
from holdfast.search.sampled import interval
from holdfast.search.score import KINDS, counted_pairs, scored
from holdfast.search.space import OperandPair


def ranked(result: SearchResult) -> RankedRules:
    """Every constraint found, best first; see `score.scores`. Ties go to columns further left in the table."""
    possible = max(result.rows * (result.rows - 1), 1)
    pairs = counted_pairs(result)
    # What pairs drawn at random show stands for all.
    scale = possible / pairs if result.sampled else 1
    by_score = scored(result)
    shapes, score, order = by_score.shapes, by_score.score, by_score.order
    predicates = cache(lambda i: _predicates(result.space.pairs[i]))

    def rule(i: int) -> FoundRule:
        which, kind = int(order[i]), KINDS[shapes.kinds[order[i]]]
        allowed = shapes.allowed[which]
        constraint = DenialConstraint(tuple(predicates(j)[allowed[j]] for j in np.flatnonzero(allowed != ANY)))
        constraint = _of_t(constraint) if kind == "row" else constraint
        body = body_of(constraint, kind)
        support, broken = int(result.support[which] * scale), int(result.violating[which])
        named = Rule(readable_name(body), body, description=sentence(constraint, kind=kind))
        if broken or result.sampled:
            named = _tolerant(named, result, kind)
        return FoundRule(
            named, constraint, float(score[which]), min(support / (pairs * scale), 1.0), support,
            violating_pairs=_as_listed(round(broken * scale), constraint, kind),
            suspect_rows=_suspects(which, kind, result),
            interval=interval(broken / pairs, result.sampled) if result.sampled else None,
            accident=_accident(which, result),
        )  # fmt: skip

    kinds = [KINDS[kind] for kind in shapes.kinds[order].tolist()]
    return RankedRules(rule, kinds, scores=score[order], which=order)


# What breaks a rule --------------------------------------------------------------------------------------------------


def _tolerant(rule: Rule, result: SearchResult, kind: str) -> Rule:
    """The rule with what it tolerates; one on single rows so large a share of the rows, as each is in as many pairs."""
    tolerated, rows = Allowance(None, result.error * 100), kind == "row" or result.by_rows is not None
    return replace(rule, allow=tolerated) if rows else replace(rule, allow_pairs=tolerated)


def _as_listed(ordered: int, constraint: DenialConstraint, kind: str) -> int | None:
    """Ordered pairs as `check` lists them: those of a symmetric rule once, of a rule on single rows none."""
    if kind == "row" and ordered:
        return None
    return ordered // 2 if constraint.symmetric else ordered


def _suspects(which: int, kind: str, result: SearchResult) -> int | None:
    broken = int(result.violating[which])
    if result.by_rows is not None:
        return int(result.by_rows.suspects[which])
    if result.sampled:
        return None
    if kind == "row":
        return broken // max(result.rows - 1, 1)
    return None if broken else 0


def _accident(which: int, result: SearchResult) -> float | None:
    known = result.accidents is not None and not np.isnan(result.accidents[which])
    return float(result.accidents[which]) if known and result.accidents is not None else None


# Rules as people write them --------------------------------------------------------------------------------------


def _of_t(constraint: DenialConstraint) -> DenialConstraint:
    """The constraint; one that speaks of s alone, of t."""
    alone = all(column.row == "s" for column in constraint.columns())
    return constraint.mirrored() if alone else constraint


def body_of(constraint: DenialConstraint, kind: str) -> Body:
    """The constraint of this kind as a person would write it: a key, an FD, an implication, or as it is."""
    comparisons = [p for p in constraint.predicates if isinstance(p, Comparison)]
    agree = tuple(p.left.name for p in comparisons if p.allowed == EQ)
    match kind:
        case "key":
            return Key(agree)
        case "fd":
            return FD(agree, tuple(p.left.name for p in comparisons if p.allowed == NE))
        case "order":
            last = [p for p in comparisons if p.allowed != EQ][-1]
            return Implication(tuple(p for p in comparisons if p is not last), (last.negated(),))
        case _:
            return Denial(constraint)


def _predicates(pair: OperandPair) -> dict[int, Comparison]:
    """The predicate on the operand pair, for each set of relations that it may allow."""
    return {allowed: comparison(pair.left, allowed, pair.right) for allowed in range(1, ANY)}
