"""Found constraints as rules under names, the ones worth reading first."""

from __future__ import annotations

from holdfast.discover.find import Found
from holdfast.discover.outcome import FoundRule
from holdfast.discover.space import as_masks
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import Body, Denial, Implication, dependency_of, kind_of
from holdfast.rules.predicate import Comparison
from holdfast.rules.relation import is_inequality
from holdfast.rules.rule import Rule, readable_name, with_unique_names


def ranked(found: Found) -> tuple[FoundRule, ...]:
    """Every constraint found, best first. A rule scores by how short it is and by how much puts it to the test."""
    pairs = max(found.rows * (found.rows - 1), 1) if found.exact else max(found.evidence.pairs, 1)
    scored = []
    for mask, support in zip(as_masks(found.masks), found.support.tolist(), strict=True):
        constraint = found.space.constraint(mask)
        coverage = support / pairs
        scored.append((_score(constraint, coverage), coverage, constraint))
    scored.sort(key=lambda one: (-one[0], str(one[2])))
    bodies = [body_of(constraint) for *_, constraint in scored]
    rules = with_unique_names([Rule(readable_name(body), body) for body in bodies], [True] * len(bodies))
    return tuple(
        FoundRule(rule, constraint, score, coverage)
        for rule, (score, coverage, constraint) in zip(rules, scored, strict=True)
    )


def _score(constraint: DenialConstraint, coverage: float) -> float:
    return (1 / len(constraint.predicates) + float(coverage**0.25)) / 2


def body_of(constraint: DenialConstraint) -> Body:
    """The constraint as a person would write it: a key, an FD, an implication for an order rule, or as it is."""
    dependency = dependency_of([constraint])
    if dependency is not None:
        return dependency
    comparisons = [p for p in constraint.predicates if isinstance(p, Comparison)]
    if kind_of([constraint]) == "order":
        last = [p for p in comparisons if is_inequality(p.allowed)][-1]
        premise = tuple(p for p in constraint.predicates if p is not last)
        return Implication(premise, (last.negated(),))
    return Denial(constraint)
