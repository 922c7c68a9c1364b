"""Rules over several tables as rules of one: the table of the rows of all, whose columns have their tables' names."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.rules.constraint import denial
from holdfast.rules.dependency import CFD, FD, Body, Denial, Implication, Inclusion, Key, NoOverlap, tables_of
from holdfast.rules.predicate import Column, Constant, Predicate, QualifiedColumn, equals, joint_name, with_columns
from holdfast.rules.rule import Rule, RuleSet


@dataclass(frozen=True)
class TableCondition:
    """A rule's condition on the rows of one table, and the column in which the rows of all tables have whether it is
    true: the condition names columns as their own table does, which the rows of all do not."""

    column: str
    table: str
    condition: str


@dataclass(frozen=True)
class JointRules:
    """Rules over several tables as rules of the one that has the rows of all, and the conditions that these name."""

    rules: RuleSet
    conditions: tuple[TableCondition, ...]


def joint_rules(rules: RuleSet) -> JointRules:
    """The rules over the rows of all tables together, in their order and under their names."""
    named = dict.fromkeys((rule.tables[0], rule.where) for rule in rules if rule.where is not None)
    # A table's own columns have a dot in their joint names, so that these are none of them.
    conditions = {
        (table, condition): TableCondition(f"_where_{i}", table, condition)
        for i, (table, condition) in enumerate(named)
    }
    joint = tuple(
        joint_rule(rule, None if rule.where is None else conditions[rule.tables[0], rule.where].column)
        for rule in rules
    )
    return JointRules(replace(rules, rules=joint, key=(), tables=()), tuple(conditions.values()))


def joint_rule(rule: Rule, condition: str | None = None) -> Rule:
    """The rule over the rows of all tables together; a rule of one table says by its `table` of which rows it speaks.

    Of an inclusion, it is what a row and the one that it refers to satisfy: broken by rows that are in no such pair.
    `condition` is the column that says whether the rule's condition is true. A message, which names the columns of the
    rule's own table, is left out.

    >>> from holdfast.rules.rule import parse_rule
    >>> str(joint_rule(parse_rule("unique(invoice)", table="orders")).body)
    'unique("orders.invoice")'
    """
    rule = replace(rule, message=None)
    if isinstance(rule.body, Inclusion):
        matches: list[Predicate] = list(rule.body.matches)
        table = rule.body.tables[0]
        if condition is not None:  # of the row that refers, not of the one that it refers to
            matches.append(equals(QualifiedColumn("t", condition, table, condition), Constant(True)))
        if table == rule.body.tables[1]:
            own = [with_columns(match, _plain) for match in matches]
            return replace(rule, body=Denial(denial(own)), table=table, where=None)
        return replace(rule, body=Denial(denial(matches)), where=None)
    if len(rule.tables) == 2:
        return rule
    (table,) = rule.tables
    return replace(rule, body=_of_table(rule.body, table), table=table, where=condition)


def _of_table(body: Body, table: str) -> Body:
    def named(column: str) -> str:
        return joint_name(table, column)

    def moved(column: Column) -> Column:
        return Column(column.row, column.name if written else named(column.name))

    def of_both(predicates: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
        return tuple(with_columns(predicate, moved) for predicate in predicates)

    written = bool(tables_of(body))  # with its table, so that its columns have joint names
    match body:
        case Key():
            return Key(tuple(map(named, body.columns)))
        case FD():
            return FD(tuple(map(named, body.left)), tuple(map(named, body.right)))
        case CFD():
            return replace(body, left=tuple(map(named, body.left)), right=tuple(map(named, body.right)))
        case NoOverlap():
            return NoOverlap(tuple(map(named, body.within)), named(body.start), named(body.end))
        case Denial():
            return Denial(denial(of_both(body.constraint.predicates)))
        case Implication():
            return Implication(of_both(body.premise), of_both(body.conclusion))
        case Inclusion():
            raise AssertionError("an inclusion is of two tables")


def _plain(column: Column) -> Column:
    return Column(column.row, column.name)
