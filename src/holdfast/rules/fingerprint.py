"""What a rule says as a short text, the same however the rule is written or called."""

from __future__ import annotations

import hashlib

from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import Inclusion, of_its_table
from holdfast.rules.predicate import Comparison, Constant, Predicate
from holdfast.rules.relation import swapped
from holdfast.rules.rule import Nulls, Rule

_LENGTH = 16


def rule_fingerprint(rule: Rule, nulls: Nulls) -> str:
    """Returns 16 hexadecimal digits that rules of one meaning share: of one table, condition and null mode.

    Name, severity, allowances and what is for people do not count.

    >>> from holdfast.rules.rule import parse_rule
    >>> one, other = parse_rule("A -> B"), parse_rule("not(s.B != t.B and s.A = t.A)", name="b-of-a")
    >>> rule_fingerprint(one, "sql") == rule_fingerprint(other, "sql") != rule_fingerprint(one, "equal")
    True
    """
    said = (*rule.tables, *meaning(rule), " ".join((rule.where or "").split()), nulls)
    return hashlib.sha256("\0".join(said).encode("utf-8", "backslashreplace")).hexdigest()[:_LENGTH]


def meaning(rule: Rule) -> tuple[str, ...]:
    """Returns the denials of the rule, or its inclusion, in one way of writing them."""
    if isinstance(rule.body, Inclusion):
        return (str(rule.body),)
    body = of_its_table(rule.body) if len(rule.tables) == 1 else rule.body
    return tuple(sorted({min(_text(denial), _text(denial.mirrored())) for denial in body.denials}))


def _text(denial: DenialConstraint) -> str:
    return " and ".join(sorted(map(_predicate_text, denial.predicates)))


def _predicate_text(predicate: Predicate) -> str:
    if not isinstance(predicate, Comparison) or isinstance(predicate.right, Constant):
        return str(predicate)
    return min(str(predicate), str(Comparison(predicate.right, swapped(predicate.allowed), predicate.left)))
