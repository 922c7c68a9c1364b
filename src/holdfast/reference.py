"""The meaning of each job, in nested loops over Python values: slow, complete, never optimised.

`check` lists what violates rules; `violations` and `changed` define what `watch` keeps up to date; `discover` lists the
rules that hold.

Every fast path is tested against this file. It follows the definitions; where the two disagree, this file is right.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, cmp_to_key
from itertools import combinations, permutations, product
from typing import Any, TypeAlias

from holdfast.errors import TrivialRuleError
from holdfast.rules.constraint import DenialConstraint, denial
from holdfast.rules.dependency import CFD, FD, Inclusion, Key, Pattern, as_dependency, is_symmetric, of_its_table
from holdfast.rules.functions import EXACT, value_of
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import (
    Column,
    Comparison,
    Constant,
    Membership,
    NullTest,
    Operand,
    Predicate,
    QualifiedColumn,
    TextTest,
    difference_of,
    equals,
    plain_number,
    quoted_name,
)
from holdfast.rules.relation import ANY, EQ, GT, LT, NE
from holdfast.rules.rule import Nulls, Rule, RuleSet, Severity

TableRow: TypeAlias = Mapping[str, Any]
RowKey: TypeAlias = Any
Condition: TypeAlias = Callable[[TableRow], bool]

KEYS_PER_GROUP = 1_000


@dataclass(frozen=True)
class Group:
    """Rows that agree on the left side of a dependency and on one column of its right side."""

    left: tuple[Any, ...]
    column: str
    value: Any
    rows: int
    keys: tuple[RowKey, ...]


@dataclass(frozen=True)
class RuleResult:
    """The result of `check` for one rule. None where this kind of rule has no pairs, or no groups."""

    rule: Rule
    pairs: tuple[tuple[RowKey, RowKey], ...] | None
    conflicts: Mapping[RowKey, int]
    suspects: frozenset[RowKey]
    groups: tuple[Group, ...] | None
    violating_groups: int | None
    holds: bool
    severity: Severity


def check(
    rows: Sequence[TableRow], rules: RuleSet, *, where: Mapping[str, Condition] | None = None
) -> tuple[RuleResult, ...]:
    """Returns the violations of every rule. `where` has the conditions of rules as functions, by rule name."""
    names = row_keys(rows, rules.key)
    conditions = where or {}
    results = []
    for rule in rules:
        condition = conditions.get(rule.name)
        scope = {k: row for k, row in zip(names, rows, strict=True) if condition is None or condition(row)}
        results.append(_check_rule(scope, rule, rules.nulls))
    return tuple(results)


def row_keys(rows: Sequence[TableRow], key: Sequence[str]) -> list[RowKey]:
    """Returns the name of each row in results: its key, or its position where the key is not unique or has nulls."""
    if key:
        parts = [tuple(row[name] for name in key) for row in rows]
        if not any(None in part for part in parts) and not _repeated(parts):
            return [part[0] if len(key) == 1 else part for part in parts]
    return list(range(len(rows)))


def _repeated(parts: Sequence[tuple[Any, ...]]) -> bool:
    return any(
        all(relation(a, b) == EQ for a, b in zip(parts[i], parts[j], strict=True))
        for i in range(len(parts))
        for j in range(i)
    )


def relation(a: Any, b: Any) -> int:
    """Returns the relation of two values that are not null: exact by value; NaN equals NaN and is greatest.

    Text is ordered by its UTF-8 bytes; a date compared with a time is its midnight.
    """
    if isinstance(a, str) and isinstance(b, str):
        a, b = a.encode(), b.encode()
    if isinstance(a, dt.datetime) != isinstance(b, dt.datetime):
        a, b = (v if isinstance(v, dt.datetime) else dt.datetime.combine(v, dt.time()) for v in (a, b))
    a_nan, b_nan = (isinstance(v, float) and math.isnan(v) for v in (a, b))
    if a_nan or b_nan:
        return EQ if a_nan and b_nan else GT if a_nan else LT
    if isinstance(a, tuple):
        return next((r for r in map(relation, a, b) if r != EQ), EQ)
    return EQ if a == b else LT if a < b else GT


def satisfied(predicate: Predicate, t: TableRow, s: TableRow, nulls: Nulls) -> bool:
    """Whether rows t and s satisfy the predicate."""

    def value(operand: Operand) -> Any:
        return operand_value(operand, t, s)

    if isinstance(predicate, NullTest):
        return (value(predicate.column) is None) == predicate.is_null
    if isinstance(predicate, TextTest):
        text = value(predicate.column)
        return nulls == "equal" and not predicate.positive if text is None else predicate.holds(text)
    if isinstance(predicate, Membership):
        equal = [satisfied(Comparison(predicate.column, EQ, constant), t, s, nulls) for constant in predicate.values]
        if predicate.inside:
            return any(equal)
        return not any(equal) and (nulls == "equal" or value(predicate.column) is not None)
    a = value(predicate.left)
    b = constant_as(predicate.right, a) if isinstance(predicate.right, Constant) else value(predicate.right)
    if a is None or b is None:
        if nulls == "sql":
            return False
        return bool(predicate.allowed & EQ) if a is None and b is None else predicate.allowed == NE
    return bool(predicate.allowed & relation(a, b))


def operand_value(operand: Operand, t: TableRow, s: TableRow) -> Any:
    """Returns the value of a column, a constant or an expression in these rows; None for null.

    A difference of the two rows is exact, however many digits it has; of doubles it is a double.
    """
    if isinstance(operand, Column):
        name = operand.own if isinstance(operand, QualifiedColumn) else operand.name
        return (t if operand.row == "t" else s)[name]
    if isinstance(operand, Constant):
        return operand.value
    difference = difference_of(operand)
    if difference is None:
        return value_of(operand.function, [operand_value(argument, t, s) for argument in operand.arguments])
    a, b = operand_value(difference.left, t, s), operand_value(difference.right, t, s)
    if a is None or b is None:
        return None
    if isinstance(a, int | Decimal) and isinstance(b, int | Decimal):
        apart: Any = EXACT.subtract(Decimal(a), Decimal(b))
    else:
        apart = value_of("-", [a, b])
    if not difference.absolute:
        return apart
    return apart.copy_abs() if isinstance(apart, Decimal) else abs(apart)


def constant_as(constant: Constant, beside: Any) -> Any:
    """Returns the constant in the type of the value `beside` it."""
    value: Any = constant.value
    if isinstance(beside, bool) and constant.raw:
        return value.casefold() == "true"
    if isinstance(beside, float) and (constant.raw or constant.kind == "number"):
        return float(Decimal(value))
    if isinstance(beside, int | Decimal) and constant.raw:
        return Decimal(value)
    if isinstance(beside, dt.datetime) and constant.kind in ("raw", "text", "date"):
        return dt.datetime.fromisoformat(str(value))
    if isinstance(beside, dt.date) and constant.kind in ("raw", "text"):
        time = dt.datetime.fromisoformat(value)
        return time.date() if time.time() == dt.time() else time
    return value


def violates(constraint: DenialConstraint, t: TableRow, s: TableRow, nulls: Nulls) -> bool:
    """Whether rows t and s violate the constraint: satisfy all its predicates."""
    return all(satisfied(predicate, t, s, nulls) for predicate in constraint.predicates)


def _check_rule(scope: Mapping[RowKey, TableRow], rule: Rule, nulls: Nulls) -> RuleResult:
    denials = rule.body.denials
    two_row = [constraint for constraint in denials if constraint.two_rows]
    single_row = [constraint for constraint in denials if not constraint.two_rows]
    bad_rows = {k for k, row in scope.items() if any(violates(c, row, row, nulls) for c in single_row)}

    symmetric = is_symmetric(rule.body)
    pairs = [
        (left, right)
        for left in scope
        for right in scope
        if left != right
        and not (symmetric and relation(left, right) == GT)
        and any(violates(c, scope[left], scope[right], nulls) for c in two_row)
    ]
    conflicts = Counter(dict.fromkeys(bad_rows, 0))
    for left, right in pairs:
        conflicts[left] += 1
        conflicts[right] += 1

    dependency = as_dependency(rule.body)
    groups: tuple[Group, ...] | None = None
    violating_groups: int | None = None
    if isinstance(dependency, FD | CFD) and two_row:
        groups, violating_groups = _groups(scope, pairs, dependency, nulls)
    suspects = bad_rows | _suspects_of_pairs(scope, pairs, dependency, nulls)
    return RuleResult(
        rule=rule,
        pairs=tuple(pairs) if two_row else None,
        conflicts=dict(conflicts),
        suspects=frozenset(suspects),
        groups=groups,
        violating_groups=violating_groups,
        holds=_holds(rule, len(suspects), len(pairs) if two_row else None, symmetric, len(scope)),
        severity=_severity(rule, len(suspects), len(scope)),
    )


def _tolerated(rule: Rule, suspects: int, rows: int) -> bool:
    """Whether so many suspects are neither an error nor a warning."""
    return all(most.covers(suspects, rows) for most in (rule.allow, rule.warn) if most is not None)


def _severity(rule: Rule, suspects: int, rows: int) -> Severity:
    """As what the rule counts: one with two thresholds is an error beyond the higher one only."""
    if rule.warn is None:
        return rule.severity
    return "warn" if rule.allow.covers(suspects, rows) else "error"


def _holds(rule: Rule, suspects: int, pairs: int | None, symmetric: bool, rows: int) -> bool:
    if rule.allow_pairs is None or pairs is None:
        return _tolerated(rule, suspects, rows)
    ordered = pairs * 2 if symmetric else pairs
    if rule.allow_pairs.percent is None:
        return rule.allow_pairs.covers(pairs, 0)
    return rule.allow_pairs.covers(ordered, rows * (rows - 1))


def _same(a: Any, b: Any) -> bool:
    return a is None and b is None if a is None or b is None else relation(a, b) == EQ


def _groups(
    scope: Mapping[RowKey, TableRow],
    pairs: Sequence[tuple[RowKey, RowKey]],
    dependency: FD | CFD,
    nulls: Nulls,
) -> tuple[tuple[Group, ...], int]:
    """Returns, per right-hand column, the rows of pairs that differ there, grouped by left side and value; and the
    number of left sides."""
    groups: list[Group] = []
    count = 0
    for column in dependency.right:
        involved: list[RowKey] = []
        variable = [c for c in dependency.denials if c.two_rows and _differs_on(c, column)]
        for left, right in pairs:
            if any(violates(c, scope[a], scope[b], nulls) for c in variable for a, b in ((left, right), (right, left))):
                involved += [left, right]
        blocks: list[list[RowKey]] = []
        for key in dict.fromkeys(involved):
            for block in blocks:
                if all(_same(scope[key][name], scope[block[0]][name]) for name in dependency.left):
                    block.append(key)
                    break
            else:
                blocks.append([key])
        count += len(blocks)
        for block in blocks:
            for value_keys in _by_values(scope, block, (column,)):
                ordered = sorted(value_keys, key=cmp_to_key(_key_order))
                first = scope[ordered[0]]
                left_values = tuple(first[name] for name in dependency.left)
                keys = tuple(ordered[:KEYS_PER_GROUP])
                groups.append(Group(left_values, column, first[column], len(ordered), keys))
    return tuple(groups), count


def _differs_on(constraint: DenialConstraint, column: str) -> bool:
    return any(
        isinstance(p, Comparison) and p.same_column and p.allowed == NE and p.left.name == column
        for p in constraint.predicates
    )


def _by_values(scope: Mapping[RowKey, TableRow], keys: Sequence[RowKey], columns: Sequence[str]) -> list[list[RowKey]]:
    classes: list[list[RowKey]] = []
    for key in keys:
        for members in classes:
            if all(_same(scope[key][c], scope[members[0]][c]) for c in columns):
                members.append(key)
                break
        else:
            classes.append([key])
    return classes


def _key_order(a: RowKey, b: RowKey) -> int:
    return {LT: -1, EQ: 0, GT: 1}[relation(a, b)]


def _suspects_of_pairs(
    scope: Mapping[RowKey, TableRow],
    pairs: Sequence[tuple[RowKey, RowKey]],
    dependency: Key | FD | CFD | None,
    nulls: Nulls,
) -> set[RowKey]:
    """Returns rows without which no pair is left.

    Of a duplicated key all but the row with the smallest row key; of a group all but the most frequent right side, on a
    tie that of the smallest row key; otherwise, again and again, the row in most pairs, on a tie that with the largest
    row key. A right side has the values of the columns that are free in this group; null is a value like others.
    """
    involved = sorted({key for pair in pairs for key in pair}, key=cmp_to_key(_key_order))
    if dependency is None:
        return _greedy_cover(pairs)
    suspects: set[RowKey] = set()
    if isinstance(dependency, Key):
        for duplicates in _by_values(scope, involved, dependency.columns):
            suspects.update(duplicates[1:])
        return suspects
    for block in _by_values(scope, involved, dependency.left):
        sides = _by_values(scope, block, _free_columns(dependency, scope[block[0]], nulls))
        kept = max(sides, key=len)  # the first of the longest: blocks are in order of row keys
        suspects.update(key for side in sides if side is not kept for key in side)
    return suspects


def _free_columns(dependency: FD | CFD, row: TableRow, nulls: Nulls) -> tuple[str, ...]:
    """Returns the right-hand columns that are free in a pattern which this row matches on the left."""
    if isinstance(dependency, FD):
        return dependency.right

    def fits(values: Sequence[Constant | None]) -> bool:
        given = zip(dependency.left, values, strict=True)
        tests = [Comparison(Column("t", name), EQ, value) for name, value in given if value is not None]
        return all(satisfied(test, row, row, nulls) for test in tests)

    lines = [line for line in dependency.patterns if fits(line.left)]
    return tuple(name for i, name in enumerate(dependency.right) if any(line.right[i] is None for line in lines))


def _greedy_cover(pairs: Sequence[tuple[RowKey, RowKey]]) -> set[RowKey]:
    left = list(pairs)
    cover: set[RowKey] = set()
    while left:
        count = Counter(key for pair in left for key in pair)
        most = max(count.values())
        worst = max((k for k, n in count.items() if n == most), key=cmp_to_key(_key_order))
        cover.add(worst)
        left = [pair for pair in left if worst not in pair]
    return cover


# Several tables --------------------------------------------------------------------------------------------------


def check_tables(
    tables: Mapping[str, Sequence[TableRow]],
    rules: RuleSet,
    *,
    keys: Mapping[str, Sequence[str]] | None = None,
    where: Mapping[str, Condition] | None = None,
) -> tuple[RuleResult, ...]:
    """Returns the violations of every rule, each over one of the tables or over two. `keys` has their key columns.

    In the results a row is (table, key); in the order of rows, those of the table that a rule names first come first.
    """
    named = {
        table: {(table, key): row for key, row in zip(row_keys(rows, (keys or {}).get(table, ())), rows, strict=True)}
        for table, rows in tables.items()
    }
    results = []
    for rule in rules:
        condition = (where or {}).get(rule.name)
        first, last = rule.tables[0], rule.tables[-1]
        scope = {k: row for k, row in named[first].items() if condition is None or condition(row)}
        if isinstance(rule.body, Inclusion):
            results.append(_check_inclusion(scope, list(named[last].values()), rule, rule.body, rules.nulls))
        elif first == last:
            results.append(_check_rule(scope, replace(rule, body=of_its_table(rule.body)), rules.nulls))
        else:
            results.append(_check_pairs(scope, named[last], rule, rules.nulls))
    return tuple(results)


def _check_inclusion(
    scope: Mapping[RowKey, TableRow], others: Sequence[TableRow], rule: Rule, body: Inclusion, nulls: Nulls
) -> RuleResult:
    """Every row without nulls in these columns, or with them where nulls are equal, that matches none of the others."""

    def speaks_of(row: TableRow) -> bool:
        return nulls == "equal" or all(row[name] is not None for name in body.left)

    missing = [
        key
        for key, row in scope.items()
        if speaks_of(row) and not any(all(satisfied(p, row, other, nulls) for p in body.matches) for other in others)
    ]
    columns = ", ".join(body.left)
    groups = []
    for members in _by_values(scope, missing, body.left):
        ordered = sorted(members, key=cmp_to_key(_key_order))
        values = tuple(scope[ordered[0]][name] for name in body.left)
        groups.append(Group(values, columns, values, len(ordered), tuple(ordered[:KEYS_PER_GROUP])))
    return RuleResult(
        rule=rule,
        pairs=None,
        conflicts=dict.fromkeys(missing, 0),
        suspects=frozenset(missing),
        groups=tuple(groups),
        violating_groups=len(groups),
        holds=_tolerated(rule, len(missing), len(scope)),
        severity=_severity(rule, len(missing), len(scope)),
    )


def _check_pairs(
    lefts: Mapping[RowKey, TableRow], rights: Mapping[RowKey, TableRow], rule: Rule, nulls: Nulls
) -> RuleResult:
    """Every pair of a row of the first table and one of the second that violates a denial of the rule."""
    pairs = [
        (left, right)
        for left, t in lefts.items()
        for right, s in rights.items()
        if any(violates(constraint, t, s, nulls) for constraint in rule.body.denials)
    ]
    # The numbers of the tables, so that rows are ordered by table and then by key.
    numbered = [((0, left[1]), (1, right[1])) for left, right in pairs]
    names = {0: rule.tables[0], 1: rule.tables[1]}
    suspects = frozenset((names[table], key) for table, key in _greedy_cover(numbered))
    if rule.allow_pairs is None:
        holds = _tolerated(rule, len(suspects), len(lefts) + len(rights))
    else:
        holds = rule.allow_pairs.covers(len(pairs), len(lefts) * len(rights))
    return RuleResult(
        rule=rule,
        pairs=tuple(pairs),
        conflicts=dict(Counter(key for pair in pairs for key in pair)),
        suspects=suspects,
        groups=None,
        violating_groups=None,
        holds=holds,
        severity=_severity(rule, len(suspects), len(lefts) + len(rights)),
    )


# Changes ---------------------------------------------------------------------------------------------------------

Violation: TypeAlias = tuple[RowKey, RowKey | None]


def changed(
    rows: Sequence[TableRow], deleted: Sequence[RowKey], inserted: Sequence[TableRow], key: Sequence[str]
) -> list[TableRow]:
    """Returns the table without the rows that have the deleted keys, and with the inserted rows; an update is both."""
    gone = [parts if isinstance(parts, tuple) else (parts,) for parts in deleted]

    def stays(row: TableRow) -> bool:
        return not any(
            all(relation(row[name], part) == EQ for name, part in zip(key, parts, strict=True)) for parts in gone
        )

    return [row for row in rows if stays(row)] + list(inserted)


def violations(
    rows: Sequence[TableRow], rules: RuleSet, *, where: Mapping[str, Condition] | None = None
) -> dict[str, frozenset[Violation]]:
    """Returns the violations of each rule, by name: pairs, and (row, None) for a row that violates it alone.

    A batch of changes adds and removes the difference between the violations before and after it.
    """
    names = row_keys(rows, rules.key)
    by_rule: dict[str, frozenset[Violation]] = {}
    for rule, result in zip(rules, check(rows, rules, where=where), strict=True):
        condition = (where or {}).get(rule.name)
        single_row = [constraint for constraint in rule.body.denials if not constraint.two_rows]
        alone = {
            (k, None)
            for k, row in zip(names, rows, strict=True)
            if (condition is None or condition(row)) and any(violates(c, row, row, rules.nulls) for c in single_row)
        }
        by_rule[rule.name] = frozenset(result.pairs or ()) | alone
    return by_rule


# Discovery -------------------------------------------------------------------------------------------------------

Operands: TypeAlias = tuple[Column, Column]
_HAVE_ORDER = ("number", "date", "timestamp")


def operand_pairs(
    rows: Sequence[TableRow],
    kinds: Mapping[str, str],
    *,
    cross_columns: float | None = 0.3,
    one_row: bool = False,
    order_text: bool = False,
) -> dict[Operands, tuple[int, ...]]:
    """Returns the operand pairs of the predicate space, each with the possible relations of its values.

    `kinds` has the kind of values of each column: number, text, date, timestamp, boolean or binary. Every column is
    compared with itself over two rows. Two columns of one kind are compared with each other, over two rows and with
    `one_row` also within one, when the column with more distinct values has at least the share `cross_columns` of the
    distinct values of the other.
    """

    def relations(kind: str) -> tuple[int, ...]:
        return (LT, EQ, GT) if kind in _HAVE_ORDER or (order_text and kind == "text") else (EQ, NE)

    pairs = {(Column("t", name), Column("s", name)): relations(kind) for name, kind in kinds.items()}
    names = list(kinds)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if cross_columns is not None and kinds[a] == kinds[b] and _overlap(rows, a, b) >= cross_columns:
                pairs[Column("t", a), Column("s", b)] = relations(kinds[a])
                pairs[Column("t", b), Column("s", a)] = relations(kinds[a])
                if one_row:
                    pairs[Column("t", a), Column("t", b)] = relations(kinds[a])
                    pairs[Column("s", a), Column("s", b)] = relations(kinds[a])
    return pairs


def _overlap(rows: Sequence[TableRow], a: str, b: str) -> float:
    """Returns which share of the distinct values of the smaller column the other has, too; -1 where one has none."""
    first, second = ([r[name] for r in rows if r[name] is not None] for name in (a, b))
    left, right = _distinct(first), _distinct(second)
    shared = sum(any(relation(v, w) == EQ for w in right) for v in left)
    return shared / min(len(left), len(right)) if left and right else -1.0


def _distinct(values: Sequence[Any]) -> list[Any]:
    distinct: list[Any] = []
    for value in values:
        if not any(relation(value, other) == EQ for other in distinct):
            distinct.append(value)
    return distinct


def discover(
    rows: Sequence[TableRow],
    kinds: Mapping[str, str],
    *,
    nulls: Nulls = "sql",
    max_predicates: int | None = None,
    cross_columns: float | None = 0.3,
    one_row: bool = False,
    order_text: bool = False,
    error: Decimal = Decimal(0),
    constants: Decimal | None = None,
    space: Mapping[Operands, tuple[int, ...]] | None = None,
) -> frozenset[DenialConstraint]:
    """Returns the most general valid, non-trivial constraints; of a constraint and its mirror one. Tries all of them.

    `space` is the predicate space where it is known already, as for rules that are kept while rows change.

    A constraint is valid when at most the share `error` of all ordered pairs of rows violates it. A table with fewer
    than two rows has none. With `max_predicates`, only constraints with at most so many are returned. With `constants`,
    a constraint may also require values, `t.A = c and s.A = c`, which at least so many rows must have (a number, or
    below 1 a share; at least two); a value counts as one predicate. Values alone are not a rule, but they may imply
    others; and `t.A = s.A` implies each `t.A = c and s.A = c`.
    """
    if len(rows) < 2:
        return frozenset()
    if space is None:
        space = operand_pairs(rows, kinds, cross_columns=cross_columns, one_row=one_row, order_text=order_text)
    tolerated = error * len(rows) * (len(rows) - 1)
    least = Decimal(2) if constants is None else _least_rows(constants, len(rows))
    sayable = {} if constants is None else _sayable(rows, list(kinds))
    relations = list(space.values())

    def violating(given: Values, allowed: Sequence[int]) -> int:
        return sum(
            pairs
            for evidence, pairs in shown(given).items()
            if all(e & ~a == 0 for e, a in zip(evidence, allowed, strict=True))
        )

    def valid(given: Values, allowed: Sequence[int]) -> bool:
        return violating(given, allowed) <= tolerated

    def valid_for_all_values(given: Values, allowed: Sequence[int]) -> bool:
        """Whether one of the values can be any value on which two rows agree."""
        return any(
            valid(
                given[:i] + given[i + 1 :],
                [
                    a & EQ if operands == (Column("t", name), Column("s", name)) else a
                    for operands, a in zip(space, allowed, strict=True)
                ],
            )
            for i, (name, _) in enumerate(given)
        )

    @cache
    def shown(given: Values) -> Counter[tuple[int, ...]]:
        members = [row for row in rows if _met(given, row)]
        return Counter(
            tuple(_shown(operands, relations, t, s, nulls) for operands, relations in space.items())
            for i, t in enumerate(members)
            for j, s in enumerate(members)
            if i != j
        )

    constraints: dict[DenialConstraint, None] = {}
    for given in _value_sets(sayable):
        if given and sum(_met(given, row) for row in rows) < least:
            continue
        for allowed in product(*map(_sets_of, relations)):
            # A constraint that allows less than a valid one is valid, too. So if none of the next more general ones is
            # valid, no more general one is.
            if not valid(given, allowed) or any(valid(given, more) for more in _next_more_general(allowed, relations)):
                continue
            if valid_for_all_values(given, allowed):
                continue
            compared = [Comparison(left, a, right) for (left, right), a in zip(space, allowed, strict=True) if a != ANY]
            mentioned = {column.row for predicate in compared for column in predicate.columns()}
            # A rule on single rows that nothing violates needs the values of that row only.
            bound_rows = mentioned if len(mentioned) == 1 and not violating(given, allowed) else {"t", "s"}
            values = [
                equals(Column(row, name), _constant(v)) for name, v in given for row in ("t", "s") if row in bound_rows
            ]
            try:
                constraint = denial([*values, *compared])
            except TrivialRuleError:
                continue
            few = max_predicates is None or len(given) + len(compared) <= max_predicates
            if few and compared and constraint.mirrored() not in constraints:
                constraints[constraint] = None
    return frozenset(constraints)


Values: TypeAlias = tuple[tuple[str, Any], ...]


def _value_sets(sayable: Mapping[str, Sequence[Any]]) -> list[Values]:
    """Returns every choice of a value, or none, for each column."""
    choices = product(*([None, *values] for values in sayable.values()))
    return [tuple((n, v) for n, v in zip(sayable, values, strict=True) if v is not None) for values in choices]


def _met(given: Values, row: TableRow) -> bool:
    return all(row[name] is not None and relation(row[name], value) == EQ for name, value in given)


def _least_rows(support: Decimal, rows: int) -> Decimal:
    """Returns the least number of rows for a support that is a number or, below 1, a share; at least two."""
    return max(support if support >= 1 else support * rows, Decimal(2))


def _sayable(rows: Sequence[TableRow], columns: Sequence[str]) -> dict[str, list[Any]]:
    """Returns, per column, the distinct values for which rule text has a constant."""
    known = {name: _distinct([row[name] for row in rows if row[name] is not None]) for name in columns}
    return {name: [value for value in values if _says(value)] for name, values in known.items()}


def dependencies(
    rows: Sequence[TableRow],
    columns: Sequence[str],
    *,
    error_rows: Decimal,
    nulls: Nulls = "sql",
    max_predicates: int | None = None,
) -> frozenset[Key | FD]:
    """Returns the keys, and the dependencies with one right-hand column, of which at most the share `error_rows` of all
    rows are `suspects` of a check, and that no other implies. A table with fewer than two rows has none."""
    if len(rows) < 2:
        return frozenset()
    sets = [names for size in range(len(columns) + 1) for names in combinations(columns, size)]
    tried: list[Key | FD] = [Key(names) for names in sets if names]
    tried += [FD(names, (name,)) for names in sets for name in columns if name not in names]
    named = RuleSet(tuple(Rule(str(i), body) for i, body in enumerate(tried)), nulls=nulls)
    valid = [
        body
        for body, result in zip(tried, check(rows, named), strict=True)
        if len(result.suspects) <= error_rows * len(rows)
    ]
    return frozenset(
        body
        for body in valid
        if not any(other is not body and other.denials[0].implies(body.denials[0]) for other in valid)
        and (max_predicates is None or len(body.denials[0].predicates) <= max_predicates)
    )


def conditional(
    rows: Sequence[TableRow],
    columns: Sequence[str],
    *,
    min_support: Decimal,
    min_confidence: Decimal,
    nulls: Nulls = "sql",
    max_predicates: int | None = None,
) -> frozenset[CFD]:
    """Returns the conditional dependencies with one right-hand column that have enough support and confidence, and that
    no more general one implies. With `max_predicates`, only those with at most so many columns.

    With a value on the right, every left column has one. Support is then the number of rows with all values, confidence
    the share of rows with the left values that do not violate it. With a free right side, at least one left column is
    free and at least one has a value. Support is then the number of rows with the left values that agree on the free
    columns with another such row (in `sql` mode, without nulls on either side), confidence the share of them that are
    not suspects. A dependency without values is not returned, but may imply others. `min_support` is a number of rows
    or, below 1, a share; at least two rows.
    """
    if len(rows) < 2:
        return frozenset()
    least = _least_rows(min_support, len(rows))

    def agreeing(constants: Mapping[str, Any], free: Sequence[str], right: str) -> list[TableRow]:
        def known(row: TableRow) -> bool:
            return nulls == "equal" or not any(row[name] is None for name in (*free, right))

        members = [row for row in rows if _met(tuple(constants.items()), row) and known(row)]
        return [
            row
            for i, row in enumerate(members)
            if any(i != j and all(_same(row[name], other[name]) for name in free) for j, other in enumerate(members))
        ]

    def suspects(body: CFD | FD) -> int:
        return len(check(rows, RuleSet((Rule("rule", body),), nulls=nulls))[0].suspects)

    def holds(body: CFD | FD, support: int, among: int) -> bool:
        return support >= least and among - suspects(body) >= min_confidence * among

    sayable = _sayable(rows, columns)
    valid: list[CFD | FD] = []
    patterns = (
        (left, given, right)
        for size in range(1, len(columns))
        for left in combinations(columns, size)
        for given in product(*([None, *sayable[name]] for name in left))
        for right in columns
        if right not in left
    )
    for left, given, right in patterns:
        constants = {name: v for name, v in zip(left, given, strict=True) if v is not None}
        free = [name for name in left if name not in constants]
        line = tuple(None if v is None else _constant(v) for v in given)
        if free:
            support = len(agreeing(constants, free, right))
            body: CFD | FD = CFD(left, (right,), (Pattern(line, (None,)),), inline=True)
            body = body if constants else FD(left, (right,))
            valid += [body] if holds(body, support, support) else []
            continue
        among = [row for row in rows if _met(tuple(constants.items()), row)]
        for value in sayable[right]:
            body = CFD(left, (right,), (Pattern(line, (_constant(value),)),), inline=True)
            both = sum(_met(((right, value),), row) for row in among)
            valid += [body] if holds(body, both, len(among)) else []
    return frozenset(
        body
        for body in valid
        if isinstance(body, CFD)
        and not any(other is not body and _more_general(other, body) for other in valid)
        and (max_predicates is None or len(body.columns) <= max_predicates)
    )


# References between tables -----------------------------------------------------------------------------------------


def inclusions(
    tables: Mapping[str, Sequence[TableRow]], kinds: Mapping[str, Mapping[str, str]], *, error: float = 0.0
) -> frozenset[Inclusion]:
    """Returns the inclusions between columns of one kind, and between lists of two or three columns into a key.

    At most the share `error` of the rows of the first table may be missing in the other, and not all that have values.
    A key has no nulls, is no single column, and contains no shorter key. `kinds` says per table and column what its
    values are; those of different kinds are not compared.
    """
    columns = [(table, name) for table, own in kinds.items() for name in own]

    def holds(table: str, left: Sequence[str], other: str, right: Sequence[str]) -> bool:
        rule = Rule("r", Inclusion((table, other), tuple(left), tuple(right)))
        known = [row for row in tables[table] if all(row[name] is not None for name in left)]
        (outcome,) = check_tables(tables, RuleSet((rule,)))
        return len(outcome.suspects) <= int(error * len(tables[table])) and len(outcome.suspects) < len(known)

    def is_key(table: str, names: Sequence[str]) -> bool:
        lines = [tuple(row[name] for name in names) for row in tables[table]]
        return bool(lines) and not any(None in line for line in lines) and not _repeated(lines)

    fits = {
        (a, b): kinds[a[0]][a[1]] == kinds[b[0]][b[1]] and holds(a[0], [a[1]], b[0], [b[1]])
        for a in columns
        for b in columns
        if a != b
    }
    inclusions = {Inclusion((a[0], b[0]), (a[1],), (b[1],)) for (a, b), fit in fits.items() if fit}
    for table in tables:
        for other in tables:
            for size in (2, 3):
                for right in combinations(kinds[other], size):
                    parts = [part for n in range(1, size) for part in combinations(right, n)]
                    if not is_key(other, right) or any(is_key(other, part) for part in parts):
                        continue
                    for left in permutations(kinds[table], size):
                        pairs = [((table, a), (other, b)) for a, b in zip(left, right, strict=True)]
                        if all(fits.get(pair, False) for pair in pairs) and holds(table, left, other, right):
                            inclusions.add(Inclusion((table, other), left, right))
    return frozenset(inclusions)


# Arithmetic -------------------------------------------------------------------------------------------------------

# A column, or with a sign 1 plus or minus a share.
Factor: TypeAlias = tuple[str, int]


@dataclass(frozen=True)
class ComputedColumn:
    """A column that is in every row a multiple of another, a sum or difference of two, or a product; as a rule."""

    result: str
    shape: str
    factors: tuple[Factor, ...]
    multiple: Decimal
    rule: str


def arithmetic(rows: Sequence[TableRow], columns: Sequence[str], *, nulls: Nulls = "sql") -> list[ComputedColumn]:
    """Returns the numeric columns that are computed from others in every row, each in the strictest way to say so.

    Only rows count in which all the columns have finite numbers, at least eight; each column has two values or more. A
    column shows the least number of digits behind the point that all its values have, up to six. The result is equal to
    what is computed; or, where that has more digits, equal when rounded, or off by half of its last digit or by one;
    where doubles have few digits, off by half of the last one; where they have many, by a billionth of the result.

    It is no accident: with n different operands, and the share p of pairs of rows in which the value of a column (of
    each) would do in the place of the other's, p ** n is below e ** -20; of a multiple that divided by 10 for each of
    its digits. Columns equal to an earlier one are left out of sums and products. Of `a = b + c`, `b = a - c` and
    `c = a - b` the strictest is there, a sum before a difference.
    """
    varying = [name for name in columns if len({v for row in rows if (v := _finite(row[name])) is not None}) > 1]
    varying = [name for name in varying if sum(_finite(row[name]) is not None for row in rows) >= 8]

    def held(result: str, shape: str, factors: Sequence[Factor], multiple: Decimal = Decimal(1)) -> _Held | None:
        return _computed(rows, result, shape, tuple(factors), multiple, nulls)

    single: dict[frozenset[str], _Held] = {}
    for a in varying:
        for b in varying:
            times = None if a == b else _multiple(rows, a, b)
            relation = None if times is None else held(a, "multiple", [(b, 0)], times)
            if relation is None:
                continue
            other = single.get(frozenset((a, b)))
            if other is None or _plainness(relation, columns) < _plainness(other, columns):
                single[frozenset((a, b))] = relation
    for held_relation in single.values():
        if held_relation.computed.multiple == 1 and held_relation.width == 0:
            later = max(held_relation.computed.result, held_relation.computed.factors[0][0], key=list(columns).index)
            varying = [name for name in varying if name != later]
    shares = [
        name
        for name in varying
        if all(0 <= value <= 1 for row in rows if (value := _finite(row[name])) is not None)
        and any(value % 1 for row in rows if (value := _finite(row[name])) is not None)
    ]
    forms: list[tuple[str, tuple[Factor, ...]]] = []
    plain = [(name, 0) for name in varying]
    signed = [(name, sign) for name in shares for sign in (-1, 1)]
    pairs = list(combinations(plain, 2))
    forms += [(shape, pair) for pair in pairs for shape in ("sum", "product")]
    forms += [("difference", way) for a, b in pairs for way in ((a, b), (b, a))]
    forms += [("product", (a, b)) for a in plain for b in signed]
    forms += [("product", (a, b, c)) for a, b in pairs for c in [*signed, *((name, 0) for name in shares)]]
    forms += [("product", (a, b, c)) for a in plain for b, c in combinations(signed, 2)]
    facts: dict[object, _Held] = {}
    for result in varying:
        for shape, factors in forms:
            names = [name for name, _ in factors]
            if len({result, *names}) <= len(names):
                continue
            relation = held(result, shape, factors)
            if relation is None:
                continue
            fact: object = (result, frozenset(factors))
            if shape == "difference":
                fact = (names[0], frozenset([(result, 0), factors[1]]))
            fact = (shape == "product", fact)
            if fact not in facts or relation.sort_key(columns) < facts[fact].sort_key(columns):
                facts[fact] = relation
    return [held_relation.computed for held_relation in [*single.values(), *facts.values()]]


@dataclass(frozen=True)
class _Held:
    """A relation that holds, and how far off its result may be."""

    computed: ComputedColumn
    width: float

    def sort_key(self, columns: Sequence[str]) -> tuple[object, ...]:
        return (self.width, self.computed.shape != "sum", list(columns).index(self.computed.result))


def _plainness(held: _Held, columns: Sequence[str]) -> tuple[object, ...]:
    multiple = held.computed.multiple
    last = len(columns) - list(columns).index(held.computed.result)
    return (held.width, len(multiple.as_tuple().digits), abs(multiple) < 1, last)


def _finite(value: Any) -> Any:
    return None if value is None or (isinstance(value, float) and not math.isfinite(value)) else value


def _digits_shown(rows: Sequence[TableRow], name: str) -> int | None:
    digits = 0
    for row in rows:
        if (value := _finite(row[name])) is not None:
            exponent = Decimal(repr(value) if isinstance(value, float) else value).normalize(EXACT).as_tuple().exponent
            assert isinstance(exponent, int), "the number is finite"
            digits = max(digits, -exponent)
    return digits if digits <= 6 else None


def _multiple(rows: Sequence[TableRow], result: str, name: str) -> Decimal | None:
    """Returns the number of fewest digits, at most seven, that times the column gives the result within half a digit.

    None where the result is rounded and more than a twentieth of all numbers of so many digits would do.
    """
    digits = _digits_shown(rows, result)
    low, high = None, None
    for row in rows:
        a, b = _finite(row[result]), _finite(row[name])
        if a is None or b is None or b == 0:
            continue
        a, b = Fraction(a), Fraction(b)
        spare = (0 if digits is None else Fraction(1, 2 * 10**digits)) + abs(a) / 10**9
        ends = sorted([(a - spare) / b, (a + spare) / b])
        low = ends[0] if low is None else max(low, ends[0])
        high = ends[1] if high is None else min(high, ends[1])
    if low is None or high is None or low > high or low <= 0 <= high:
        return None
    middle = (low + high) / 2
    first = Decimal(float(middle)).adjusted()
    for count in range(1, 8):
        unit = Fraction(10) ** (first - count + 1)
        whole = round(middle / unit)
        if low <= whole * unit <= high:
            multiple = Decimal(whole).scaleb(first - count + 1).normalize()
            figures, exponent = len(multiple.as_tuple().digits), int(multiple.as_tuple().exponent)
            shown = _digits_shown(rows, name)
            rounded = digits is not None and (shown is None or shown + max(-exponent, 0) > digits)
            if rounded and (high - low) * 10**figures > Fraction(5, 100) * abs(Fraction(multiple)):
                return None
            return multiple
    return None


def _computed(
    rows: Sequence[TableRow], result: str, shape: str, factors: tuple[Factor, ...], multiple: Decimal, nulls: Nulls
) -> _Held | None:
    """Returns the relation at the strictest level that no row violates; None without one, or for an accident."""
    names = [result, *(name for name, _ in factors)]
    known = [row for row in rows if all(_finite(row[name]) is not None for name in names)]
    if len(known) < 8:
        return None
    own, digits = _digits_shown(rows, result), [_digits_shown(rows, name) for name in names[1:]]
    exact = all(not isinstance(row[name], float) for row in rows for name in names)
    shown: int | None = None
    if all(d is not None for d in digits):
        numbers = [d for d in digits if d is not None]
        shown = sum(numbers) if shape == "product" else max(numbers)
        if shape == "multiple":
            shown += max(-int(multiple.as_tuple().exponent), 0)
    texts = [_factor_text(factor) for factor in factors]
    a = f"t.{quoted_name(result)}"
    text = {"sum": " + ", "difference": " - ", "product": " * "}.get(shape, "").join(texts)
    apart = f"{a} - {text}"
    if shape == "multiple":
        text = text if multiple == 1 else f"{plain_number(multiple)} * {text}"
        apart = f"{a} - {text}"
    elif shape in ("sum", "difference"):
        apart = f"{a} - {texts[0]} {'-' if shape == 'sum' else '+'} {texts[1]}"
    finer = own is not None and (shown is None or shown > own)
    levels: list[tuple[str, Any]] = []
    if exact or own == shown == 0:
        levels.append((f"not({a} != {text})", 0.0))
    if own is None and not exact:
        levels.append((f"not(abs({apart}) > 0.000000001 * abs({a}))", None))
    elif own is not None:
        half, unit = Decimal(5).scaleb(-own - 1), Decimal(1).scaleb(-own)
        if exact and finer:
            levels.append((f"not({a} != round({text}{f', {own}' if own else ''}))", half))
        if finer or not levels:
            levels.append((f"not(abs({apart}) > {plain_number(half)})", half))
        if finer and not (exact and shape == "multiple"):
            levels.append((f"not(abs({apart}) > {plain_number(unit)})", unit))
    for rule, width in levels:
        constraint = parse_constraint(rule)
        if any(violates(constraint, row, row, nulls) for row in rows):
            continue
        if _is_accident(known, names, shape, factors, multiple, width):
            continue
        computed = ComputedColumn(result, shape, factors, multiple, str(constraint))
        return _Held(computed, math.inf if width is None else float(width))
    return None


def _factor_text(factor: Factor) -> str:
    name, sign = factor
    text = f"t.{quoted_name(name)}"
    return text if not sign else f"(1 {'+' if sign > 0 else '-'} {text})"


def _is_accident(
    known: Sequence[TableRow],
    names: Sequence[str],
    shape: str,
    factors: Sequence[Factor],
    multiple: Decimal,
    width: Any,
) -> bool:
    different = len({tuple(float(row[name]) for name in names[1:]) for row in known})
    shares = []
    for at, name in enumerate(names):
        fits = 0
        for row in known:
            weight = 1.0
            if at and shape == "multiple":
                weight = abs(float(multiple))
            elif at and shape == "product":
                others = [factor for i, factor in enumerate(factors, start=1) if i != at]
                values = [1 + sign * float(row[n]) if sign else float(row[n]) for n, sign in others]
                weight = abs(math.prod(values))
            tolerance = 1e-9 * abs(float(row[names[0]])) if width is None else float(width)
            fits += sum(abs(float(other[name]) - float(row[name])) * weight <= tolerance for other in known)
        shares.append(fits / len(known) ** 2)
    cost = len(multiple.as_tuple().digits) * math.log(10) if shape == "multiple" else 0.0
    return max(shares) >= 1 or -math.log(max(shares)) * different < 20 + cost


def _more_general(general: CFD | FD, special: CFD | FD) -> bool:
    """Whether the first implies the second: it has the same right column, applies to at least the same rows, and gives
    the right column the same value, or a value where the second has none."""
    (left, value), (narrow, wanted) = _line(general), _line(special)
    if general.right != special.right or any(name not in narrow for name in left):
        return False
    inside = all(v is None or v == narrow[name] for name, v in left.items())
    return inside and (value == wanted or wanted is None)


def _line(body: CFD | FD) -> tuple[dict[str, Constant | None], Constant | None]:
    if isinstance(body, FD):
        return dict.fromkeys(body.left), None
    (pattern,) = body.patterns
    return dict(zip(body.left, pattern.left, strict=True)), pattern.right[0]


def _says(value: Any) -> bool:
    """Whether rule text has a constant for the value."""
    return not isinstance(value, bytes) and not (isinstance(value, float) and not math.isfinite(value))


def _constant(value: Any) -> Constant:
    return Constant(Decimal(repr(value + 0.0)) if isinstance(value, float) else value)


def _sets_of(relations: tuple[int, ...]) -> list[int]:
    """Returns every set of relations that is not empty, as a mask."""
    return [sum(chosen) for chosen in product(*((0, relation) for relation in relations)) if any(chosen)]


def _shown(operands: Operands, relations: tuple[int, ...], t: TableRow, s: TableRow, nulls: Nulls) -> int:
    """Returns the bits of the evidence for one operand pair; a predicate that allows all of them is satisfied."""
    left, right = ((t if column.row == "t" else s)[column.name] for column in operands)
    if left is None or right is None:
        if nulls == "sql":
            return ANY
        return EQ if left is None and right is None else NE
    actual = relation(left, right)
    return actual if actual in relations else NE


def _next_more_general(allowed: Sequence[int], relations: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Yields every constraint that allows exactly one relation more."""
    for i, possible in enumerate(relations):
        for more in possible:
            if not allowed[i] & more:
                yield (*allowed[:i], allowed[i] | more, *allowed[i + 1 :])
