"""Rules as parts that sites settle: rows that agree on the left must agree on one right column, or no row may be so.

A row violates a rule exactly when it violates one of its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.errors import SitesError
from holdfast.fragments.condition_columns import condition_columns
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.predicate import Column, Comparison, Predicate, quoted_name
from holdfast.rules.relation import EQ, NE
from holdfast.rules.rule import Rule, RuleSet


@dataclass(frozen=True)
class Atom:
    """What a site can say of a row by itself: the id of one column's value, or whether the row meets a condition.

    A condition is a `predicate` on one row, or a rule's `where`; a column has neither.
    """

    text: str
    columns: tuple[str, ...]
    predicate: Predicate | None = None
    where: str | None = None

    @property
    def is_column(self) -> bool:
        return self.predicate is None and self.where is None

    @property
    def selective(self) -> bool:
        """Whether few rows are likely to meet it: a column equals a constant."""
        known = self.predicate
        return isinstance(known, Comparison) and known.allowed == EQ and not isinstance(known.right, Column)


@dataclass(frozen=True)
class RulePart:
    """Rows that meet all conditions of `left` and agree on its columns agree on the column `right`.

    Without `right` no row meets all conditions: a constant rule.
    """

    rule: int
    left: tuple[Atom, ...]
    right: Atom | None

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return self.left if self.right is None else (*self.left, self.right)

    @property
    def columns(self) -> tuple[Atom, ...]:
        """The atoms of the left side that are compared between rows."""
        return tuple(atom for atom in self.left if atom.is_column)

    @property
    def left_columns(self) -> frozenset[str]:
        """The table's columns that rows of one group agree on: compared, or equal to a constant."""
        agreed = (a for a in self.left if a.is_column or a.selective)
        return frozenset(name for atom in agreed for name in atom.columns)


def parts_of(rules: RuleSet, columns: Iterable[str] = ()) -> tuple[RulePart, ...]:
    """The parts of all rules, each once. `columns` are the known columns, to read those of `where` conditions.

    SitesError for rules that are no dependency.
    """
    known = tuple(columns)
    parts: dict[RulePart, None] = {}
    for number, rule in enumerate(rules):
        where = rule.where
        scope = () if where is None else (Atom(f"where {where}", condition_columns(where, known), where=where),)
        for denial in rule.body.denials:
            parts[_part(number, rule, denial, scope)] = None
    return tuple(parts)


def _part(number: int, rule: Rule, denial: DenialConstraint, scope: tuple[Atom, ...]) -> RulePart:
    left: dict[Atom, None] = dict.fromkeys(scope)
    right: Atom | None = None
    row_predicates: dict[Predicate, None] = {}
    for predicate in denial.predicates:
        if isinstance(predicate, Comparison) and predicate.same_column:
            atom = Atom(quoted_name(predicate.left.name), (predicate.left.name,))
            if predicate.allowed == EQ:
                left[atom] = None
            elif predicate.allowed == NE and right is None:
                right = atom
            else:
                raise _refused(rule)
        elif len(rows := {column.row for column in predicate.columns()}) == 1:
            row_predicates[predicate] = None
            if "t" in rows:
                left[_condition(predicate)] = None
        else:
            raise _refused(rule)
    # What is said of one of two rows only would make the rule lopsided: no dependency says such a thing.
    lopsided = any(predicate.mirrored() not in row_predicates for predicate in row_predicates)
    if denial.two_rows and (right is None or lopsided):
        raise _refused(rule)
    return RulePart(number, tuple(left), right)


def _condition(predicate: Predicate) -> Atom:
    names = tuple(dict.fromkeys(column.name for column in predicate.columns()))
    if isinstance(predicate, Comparison) and predicate.left == predicate.right:
        return Atom(f"{quoted_name(names[0])} is not null", names, predicate)
    return Atom(re.sub(r"\bt\.(?=[\w\"])", "", str(predicate)), names, predicate)


def _refused(rule: Rule) -> SitesError:
    return SitesError(
        f"rule {rule.name!r} ({rule}) is no dependency, so that sites cannot settle it by ids.",
        hint="fragments take A, B -> C, with or without constants, denials that say the same, and rules on one row.",
    )
