"""Rows that put a found rule to the test: which constraint they break instead, and what is shown of them."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.errors import TrivialRuleError
from holdfast.rules.constraint import DenialConstraint, denial
from holdfast.rules.dependency import Denial
from holdfast.rules.predicate import Column, Comparison, Predicate
from holdfast.rules.relation import EQ, GE, LE, NE
from holdfast.rules.rule import Rule
from holdfast.violations.witness import Witness


@dataclass(frozen=True)
class RuleExamples:
    """Pairs of rows, or rows alone: those that put the rule to the test and keep it, and those that break it."""

    tested: tuple[Witness, ...] = ()
    broken: tuple[Witness, ...] = ()


def rule_of_tests(rule: Rule) -> Rule | None:
    """Returns a rule that is broken by pairs that meet all predicates of the given one but the one that it concludes;
    None where there is no such rule. Values that are compared by order differ in these pairs.

    >>> from holdfast.rules.rule import parse_rule
    >>> str(rule_of_tests(parse_rule("zip -> city")))
    'not(t.zip = s.zip and t.city = s.city)'
    """
    if rule.where is not None or not rule.body.denials:
        return None
    constraint = rule.body.denials[0]
    predicates = list(constraint.predicates)
    i = _concluded(constraint)
    predicates[i] = predicates[i].negated()
    # Two equal values say little about an order.
    predicates = [_strict(predicate) for predicate in predicates]
    try:
        return Rule(rule.name, Denial(denial(predicates)))
    except TrivialRuleError:
        return None


def _strict(predicate: Predicate) -> Predicate:
    if isinstance(predicate, Comparison) and predicate.allowed in (LE, GE) and isinstance(predicate.right, Column):
        return Comparison(predicate.left, predicate.allowed & NE, predicate.right)
    return predicate


def _concluded(constraint: DenialConstraint) -> int:
    """The place of the predicate that a person reads as what follows from the others."""
    compared = [p.allowed if isinstance(p, Comparison) else EQ for p in constraint.predicates]
    if NE in compared:
        return compared.index(NE)
    unequal = [i for i, allowed in enumerate(compared) if allowed != EQ]
    return unequal[-1] if unequal else len(compared) - 1
