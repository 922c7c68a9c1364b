"""What each job means, in nested loops over Python values: slow, complete, never optimised.

`check` is what violates rules; `violations` and `changed` are what `watch` keeps up to date; `discover` is which rules
hold.

Every fast path is tested against this file. It reads as the definitions do; when the two disagree, this wins.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cmp_to_key
from itertools import combinations, product
from typing import Any, TypeAlias

from holdfast.errors import TrivialRuleError
from holdfast.rules.constraint import DenialConstraint, denial
from holdfast.rules.dependency import CFD, FD, Key, Pattern, as_dependency, is_symmetric
from holdfast.rules.predicate import Column, Comparison, Constant, Membership, NullTest, Predicate, TextTest, equals
from holdfast.rules.relation import ANY, EQ, GT, LT, NE
from holdfast.rules.rule import Nulls, Rule, RuleSet

TableRow: TypeAlias = Mapping[str, Any]
RowKey: TypeAlias = Any
Condition: TypeAlias = Callable[[TableRow], bool]

KEYS_PER_GROUP = 1_000


@dataclass(frozen=True)
class Group:
    """Rows that agree on the left side of a dependency and have one value on a right-hand column."""

    left: tuple[Any, ...]
    column: str
    value: Any
    rows: int
    keys: tuple[RowKey, ...]


@dataclass(frozen=True)
class RuleResult:
    """All that `check` says of one rule. None where a rule of this kind has no such thing."""

    rule: Rule
    pairs: tuple[tuple[RowKey, RowKey], ...] | None
    conflicts: Mapping[RowKey, int]
    suspects: frozenset[RowKey]
    groups: tuple[Group, ...] | None
    violating_groups: int | None
    holds: bool


def check(
    rows: Sequence[TableRow], rules: RuleSet, *, where: Mapping[str, Condition] | None = None
) -> tuple[RuleResult, ...]:
    """The violations of every rule. `where` gives each rule's condition as a function, by rule name."""
    names = row_keys(rows, rules.key)
    conditions = where or {}
    results = []
    for rule in rules:
        condition = conditions.get(rule.name)
        scope = {k: row for k, row in zip(names, rows, strict=True) if condition is None or condition(row)}
        results.append(_check_rule(scope, rule, rules.nulls))
    return tuple(results)


def row_keys(rows: Sequence[TableRow], key: Sequence[str]) -> list[RowKey]:
    """What results call each row: its key, or its position where there is no key that tells rows apart."""
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
    """The relation of two values that are not null: exact by value; NaN equals NaN and is greatest.

    Text is ordered by its UTF-8 bytes; a date beside a time is its midnight.
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

    def value(column: Column) -> Any:
        return (t if column.row == "t" else s)[column.name]

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


def constant_as(constant: Constant, beside: Any) -> Any:
    """The constant in the type of the value it is compared with."""
    value: Any = constant.value
    if isinstance(beside, bool) and constant.raw:
        return value.casefold() == "true"
    if isinstance(beside, float) and (constant.raw or constant.kind == "number"):
        return float(value)
    if isinstance(beside, int | Decimal) and constant.raw:
        return Decimal(value)
    if isinstance(beside, dt.datetime) and constant.kind in ("raw", "text", "date"):
        return dt.datetime.fromisoformat(str(value))
    if isinstance(beside, dt.date) and constant.kind in ("raw", "text"):
        return dt.date.fromisoformat(value)
    return value


def violates(constraint: DenialConstraint, t: TableRow, s: TableRow, nulls: Nulls) -> bool:
    """Whether rows t and s make true what the constraint denies."""
    return all(satisfied(predicate, t, s, nulls) for predicate in constraint.predicates)


def _check_rule(scope: Mapping[RowKey, TableRow], rule: Rule, nulls: Nulls) -> RuleResult:
    denials = rule.body.denials
    two_row = [constraint for constraint in denials if constraint.two_rows]
    one_row = [constraint for constraint in denials if not constraint.two_rows]
    bad_rows = {k for k, row in scope.items() if any(violates(c, row, row, nulls) for c in one_row)}

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
    )


def _holds(rule: Rule, suspects: int, pairs: int | None, symmetric: bool, rows: int) -> bool:
    if rule.allow_pairs is None or pairs is None:
        return rule.allow.covers(suspects, rows)
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
    """Per right-hand column: the rows in pairs that differ there, by left side and by value."""
    found: list[Group] = []
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
                found.append(Group(left_values, column, first[column], len(ordered), keys))
    return tuple(found), count


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
    """Rows that have to go for no pair to be left.

    Of a duplicated key all but the smallest row key; of a group all but the most frequent right side, on a tie
    the one with the smallest row key; otherwise greedily the row in most pairs, on a tie the largest row key. A right
    side is the values of the columns that the patterns leave free in this group, a null being a value like others.
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
    """Right-hand columns that some pattern leaves free for rows with this row's left side."""
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


# Changes ---------------------------------------------------------------------------------------------------------

Violation: TypeAlias = tuple[RowKey, RowKey | None]


def changed(
    rows: Sequence[TableRow], deleted: Sequence[RowKey], inserted: Sequence[TableRow], key: Sequence[str]
) -> list[TableRow]:
    """The table without the rows that have the deleted keys, and with the inserted ones; an update is in both."""
    gone = [parts if isinstance(parts, tuple) else (parts,) for parts in deleted]

    def stays(row: TableRow) -> bool:
        return not any(
            all(relation(row[name], part) == EQ for name, part in zip(key, one, strict=True)) for one in gone
        )

    return [row for row in rows if stays(row)] + list(inserted)


def violations(
    rows: Sequence[TableRow], rules: RuleSet, *, where: Mapping[str, Condition] | None = None
) -> dict[str, frozenset[Violation]]:
    """By rule name, all its violations: pairs, and (row, None) for a row that breaks a one-row part of it alone.

    What a batch of changes adds and removes is the difference of these before and after it.
    """
    names = row_keys(rows, rules.key)
    found: dict[str, frozenset[Violation]] = {}
    for rule, result in zip(rules, check(rows, rules, where=where), strict=True):
        condition = (where or {}).get(rule.name)
        one_row = [constraint for constraint in rule.body.denials if not constraint.two_rows]
        alone = {
            (k, None)
            for k, row in zip(names, rows, strict=True)
            if (condition is None or condition(row)) and any(violates(c, row, row, rules.nulls) for c in one_row)
        }
        found[rule.name] = frozenset(result.pairs or ()) | alone
    return found


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
    """The operand pairs of the predicate space, each with the relations its values can be in.

    `kinds` says of each column what its values are: number, text, date, timestamp, boolean, binary. Every column is
    compared with itself over two rows; two columns of one kind with each other when at least the share `cross_columns`
    of the smaller one's distinct values occur in the other, over two rows and, with `one_row`, within one.
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
    """The share of the distinct values of the column that has fewer which also occur in the other; no values, none."""
    first, second = ([r[name] for r in rows if r[name] is not None] for name in (a, b))
    one, other = _distinct(first), _distinct(second)
    shared = sum(any(relation(v, w) == EQ for w in other) for v in one)
    return shared / min(len(one), len(other)) if one and other else -1.0


def _distinct(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not any(relation(value, other) == EQ for other in found):
            found.append(value)
    return found


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
    """The most general valid, non-trivial constraints; of a constraint and its mirror one. Tries every constraint.

    `space` is the predicate space where it is settled already, as for rules that are kept while rows change.

    A constraint is valid when at most the share `error` of all ordered pairs of rows violates it. A table of fewer than
    two rows has none. With `max_predicates`, those of them that have at most so many. With `constants`, a constraint
    may also ask for values, `t.A = c and s.A = c`, that together so many rows have (a number, or below 1 a share; two
    at least); a value counts as one predicate. Values alone are no rule, though they may imply others;
    and `t.A = s.A` implies each `t.A = c and s.A = c`.
    """
    if len(rows) < 2:
        return frozenset()
    if space is None:
        space = operand_pairs(rows, kinds, cross_columns=cross_columns, one_row=one_row, order_text=order_text)
    tolerated = error * len(rows) * (len(rows) - 1)
    least = Decimal(2) if constants is None else _least_rows(constants, len(rows))
    sayable = {} if constants is None else _sayable(rows, list(kinds))
    relations = list(space.values())

    def valid(given: Values, allowed: Sequence[int]) -> bool:
        broken = (
            pairs
            for evidence, pairs in shown(given).items()
            if all(e & ~a == 0 for e, a in zip(evidence, allowed, strict=True))
        )
        return sum(broken) <= tolerated

    def own(name: str, operands: Operands) -> bool:
        return operands == (Column("t", name), Column("s", name))

    @cache
    def shown(given: Values) -> Counter[tuple[int, ...]]:
        some = [row for row in rows if _met(given, row)]
        return Counter(
            tuple(_shown(operands, relations, t, s, nulls) for operands, relations in space.items())
            for i, t in enumerate(some)
            for j, s in enumerate(some)
            if i != j
        )

    found: dict[DenialConstraint, None] = {}
    for given in _value_sets(sayable):
        if given and sum(_met(given, row) for row in rows) < least:
            continue
        for allowed in product(*map(_sets_of, relations)):
            # What allows less than a valid constraint is valid too: so none more general is valid if no next one is.
            if not valid(given, allowed) or any(valid(given, more) for more in _next_more_general(allowed, relations)):
                continue
            # Nor may it hold for every value, on which two rows agree, and not just for this one.
            if any(
                valid(given[:i] + given[i + 1 :], [a & EQ if own(name, operands) else a for operands, a in by_operands])
                for i, (name, _) in enumerate(given)
                for by_operands in [list(zip(space, allowed, strict=True))]
            ):
                continue
            compared = [Comparison(left, a, right) for (left, right), a in zip(space, allowed, strict=True) if a != ANY]
            mentioned = {column.row for predicate in compared for column in predicate.columns()}
            # Of a rule on single rows that nothing breaks it is enough to ask for the values of that row.
            holds = not any(all(e & ~a == 0 for e, a in zip(one, allowed, strict=True)) for one in shown(given))
            asked = mentioned if len(mentioned) == 1 and holds else {"t", "s"}
            values = [
                equals(Column(row, name), _constant(v)) for name, v in given for row in ("t", "s") if row in asked
            ]
            try:
                constraint = denial([*values, *compared])
            except TrivialRuleError:
                continue
            few = max_predicates is None or len(given) + len(compared) <= max_predicates
            if few and compared and constraint.mirrored() not in found:
                found[constraint] = None
    return frozenset(found)


Values: TypeAlias = tuple[tuple[str, Any], ...]


def _value_sets(sayable: Mapping[str, Sequence[Any]]) -> list[Values]:
    """Every choice of a value, or none, per column."""
    choices = product(*([None, *values] for values in sayable.values()))
    return [tuple((n, v) for n, v in zip(sayable, some, strict=True) if v is not None) for some in choices]


def _met(given: Values, row: TableRow) -> bool:
    return all(row[name] is not None and relation(row[name], value) == EQ for name, value in given)


def _least_rows(support: Decimal, rows: int) -> Decimal:
    """How many rows support what is supported enough: a number of rows, or below 1 a share; two at least."""
    return max(support if support >= 1 else support * rows, Decimal(2))


def _sayable(rows: Sequence[TableRow], columns: Sequence[str]) -> dict[str, list[Any]]:
    """Per column its values, one of each, that rule text has a constant for."""
    known = {name: _distinct([row[name] for row in rows if row[name] is not None]) for name in columns}
    return {name: [value for value in some if _says(value)] for name, some in known.items()}


def dependencies(
    rows: Sequence[TableRow],
    columns: Sequence[str],
    *,
    error_rows: Decimal,
    nulls: Nulls = "sql",
    max_predicates: int | None = None,
) -> frozenset[Key | FD]:
    """The keys and dependencies of one right-hand column for which at most the share `error_rows` of the rows would
    have to go (`suspects` of a check), and that none of the others implies. Fewer than two rows have none."""
    if len(rows) < 2:
        return frozenset()
    sets = [some for size in range(len(columns) + 1) for some in combinations(columns, size)]
    tried: list[Key | FD] = [Key(some) for some in sets if some]
    tried += [FD(some, (name,)) for some in sets for name in columns if name not in some]
    named = RuleSet(tuple(Rule(str(i), body) for i, body in enumerate(tried)), nulls=nulls)
    valid = [
        body
        for body, found in zip(tried, check(rows, named), strict=True)
        if len(found.suspects) <= error_rows * len(rows)
    ]
    return frozenset(
        one
        for one in valid
        if not any(other is not one and other.denials[0].implies(one.denials[0]) for other in valid)
        and (max_predicates is None or len(one.denials[0].predicates) <= max_predicates)
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
    """The conditional dependencies of one right-hand column that enough rows support and few enough break, and that no
    more general one implies. With `max_predicates`, those of at most so many columns.

    With a value on the right, every left column has one; support are the rows that have all of them, and confidence is
    the share of those with the left values that do not break it. With a free right side, some left column is free, and
    some is not; support are the rows with the left values that agree on the free columns with another such row (under
    `sql`, nulls on neither side), and confidence is the share of them that does not have to go. A dependency without
    values is none of these, but it may imply some. `min_support` is a number of rows, or below 1 a share; two rows at
    least.
    """
    if len(rows) < 2:
        return frozenset()
    least = _least_rows(min_support, len(rows))

    def agreeing(constants: Mapping[str, Any], free: Sequence[str], right: str) -> list[TableRow]:
        def known(row: TableRow) -> bool:
            return nulls == "equal" or not any(row[name] is None for name in (*free, right))

        some = [row for row in rows if _met(tuple(constants.items()), row) and known(row)]
        return [
            row
            for i, row in enumerate(some)
            if any(i != j and all(_same(row[name], other[name]) for name in free) for j, other in enumerate(some))
        ]

    def suspects(body: CFD | FD) -> int:
        return len(check(rows, RuleSet((Rule("one", body),), nulls=nulls))[0].suspects)

    def holds(body: CFD | FD, support: int, among: int) -> bool:
        return support >= least and among - suspects(body) >= min_confidence * among

    sayable = _sayable(rows, columns)
    valid: list[CFD | FD] = []
    for size in range(1, len(columns)):
        for left in combinations(columns, size):
            for given in product(*([None, *sayable[name]] for name in left)):
                constants = {name: v for name, v in zip(left, given, strict=True) if v is not None}
                free = [name for name in left if name not in constants]
                for right in columns:
                    if right in left:
                        continue
                    line = tuple(None if v is None else _constant(v) for v in given)
                    if free:
                        some = len(agreeing(constants, free, right))
                        body: CFD | FD = CFD(left, (right,), (Pattern(line, (None,)),), inline=True)
                        body = body if constants else FD(left, (right,))
                        valid += [body] if holds(body, some, some) else []
                        continue
                    among = [row for row in rows if _met(tuple(constants.items()), row)]
                    for value in sayable[right]:
                        body = CFD(left, (right,), (Pattern(line, (_constant(value),)),), inline=True)
                        both = sum(_met(((right, value),), row) for row in among)
                        valid += [body] if holds(body, both, len(among)) else []
    return frozenset(
        one
        for one in valid
        if isinstance(one, CFD)
        and not any(other is not one and _more_general(other, one) for other in valid)
        and (max_predicates is None or len(one.columns) <= max_predicates)
    )


def _more_general(one: CFD | FD, other: CFD | FD) -> bool:
    """Whether it speaks of the same right column, of more rows, and says as much: the same value, or one where the
    other has none."""
    (left, value), (narrow, wanted) = _line(one), _line(other)
    if one.right != other.right or any(name not in narrow for name in left):
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
    """Every set of relations that allows something."""
    chosen = product(*((0, relation) for relation in relations))
    return [sum(some) for some in chosen if any(some)]


def _shown(operands: Operands, relations: tuple[int, ...], t: TableRow, s: TableRow, nulls: Nulls) -> int:
    """The bits of the evidence on one operand pair: a rule that allows all of them there is satisfied there."""
    left, right = ((t if column.row == "t" else s)[column.name] for column in operands)
    if left is None or right is None:
        if nulls == "sql":
            return ANY
        return EQ if left is None and right is None else NE
    found = relation(left, right)
    return found if found in relations else NE


def _next_more_general(allowed: Sequence[int], relations: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Every constraint that allows exactly one relation more."""
    for i, mine in enumerate(relations):
        for more in mine:
            if not allowed[i] & more:
                yield (*allowed[:i], allowed[i] | more, *allowed[i + 1 :])
