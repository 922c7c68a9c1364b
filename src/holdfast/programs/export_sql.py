"""A rule as a SQL query that lists its violations, for any database."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.errors import OptionError, closest_hint
from holdfast.programs.function_sql import EXPORTED
from holdfast.programs.sql_expression import WHOLE_TEXT
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import is_symmetric
from holdfast.rules.pattern import common_pattern
from holdfast.rules.predicate import (
    Call,
    Column,
    Comparison,
    Constant,
    Membership,
    NullTest,
    Operand,
    Predicate,
    TextTest,
)
from holdfast.rules.relation import EQ, NE, operator_of
from holdfast.rules.rule import Nulls, Rule, RuleSet

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Names that most databases keep for themselves, and that tables have all the same.
_KEPT = frozenset(
    re.findall(
        r"\w+",
        """all and any as asc between by case cast check column create cross current_date date default delete desc
        distinct else end exists false for from full group having in index inner insert interval into is join key left
        like limit natural not null on or order outer primary references right row rows select set some table then time
        timestamp to true union unique update user using value values when where with""",
    )
)


@dataclass(frozen=True)
class Dialect:
    """How a database writes names and values: what stands before and after a name, whether a backslash is one.

    `text_tests` has a template for each operator on text that the database knows; a pattern stands between the two
    parts of `whole`, which mean the start and the end of a text. `functions` are written otherwise than in EXPORTED.
    """

    opening: str = '"'
    closing: str = '"'
    backslash_escapes: bool = False
    timestamp: str = "TIMESTAMP"
    truths: tuple[str, str] = ("FALSE", "TRUE")
    double: str = "DOUBLE PRECISION"
    functions: Mapping[str, str] = field(default_factory=dict)
    text_tests: Mapping[str, str] = field(default_factory=lambda: {"matches": "REGEXP_LIKE({column}, {argument})"})
    whole: tuple[str, str] = WHOLE_TEXT

    def name(self, name: str) -> str:
        if _BARE.match(name) and name.casefold() not in _KEPT:
            return name
        return self.opening + name.replace(self.closing, self.closing * 2) + self.closing

    def text(self, text: str) -> str:
        escaped = text.replace("\\", "\\\\") if self.backslash_escapes else text
        return "'" + escaped.replace("'", "\\'" if self.backslash_escapes else "''") + "'"


DIALECTS = {
    "ansi": Dialect(whole=("^(?:", ")$")),
    "spark": Dialect("`", "`", True, text_tests={"matches": "({column} RLIKE {argument})"}, double="DOUBLE"),
    "mysql": Dialect("`", "`", True, timestamp="DATETIME", double="DOUBLE"),
    "bigquery": Dialect(
        "`",
        "`",
        True,
        text_tests={"matches": "REGEXP_CONTAINS({column}, {argument})"},
        double="FLOAT64",
        functions={"%": "MOD({}, NULLIF({}, 0))", "substr": "SUBSTR({})"},
    ),
    "tsql": Dialect(
        "[",
        "]",
        timestamp="DATETIME2",
        truths=("0", "1"),
        text_tests={},
        double="FLOAT",
        functions={
            "length": "LEN({})",
            "year": "YEAR({})",
            "month": "MONTH({})",
            "day": "DAY({})",
            "hour": "DATEPART(HOUR, {})",
        },
    ),
}


def dialect_named(name: str) -> Dialect:
    """The dialect of this name; OptionError where there is none."""
    if name not in DIALECTS:
        raise OptionError(f"{name!r} is no dialect.", hint=closest_hint(name, DIALECTS, what="Dialects"))
    return DIALECTS[name]


def rule_sql(rule: Rule, *, table: str, key: Sequence[str], nulls: Nulls, dialect: Dialect) -> str:
    """A query for the violations of the rule: the key of the left row, and that of the right one.

    Of a rule on single rows it has the key alone, so that a rule of both kinds has rows without a right key. The pairs
    of a symmetric rule stand there once, the smaller key left. `table` is written as it is given.

    >>> from holdfast.rules.rule import parse_rule
    >>> zip_city = parse_rule("zip -> city")
    >>> print(rule_sql(zip_city, table="orders", key=("id",), nulls="sql", dialect=DIALECTS["ansi"]))
    SELECT t.id AS left_id, s.id AS right_id
    FROM orders t JOIN orders s ON t.zip = s.zip AND t.city <> s.city AND t.id < s.id
    """
    if not key:
        raise OptionError(
            f"the query of rule {rule.name!r} needs to know by what rows are named.",
            hint="name the column that tells rows apart with --key, or in the rule file.",
        )
    written = _Writer(dialect, nulls)
    source = table if rule.where is None else f"(SELECT * FROM {table} WHERE {rule.where})"
    paired = [constraint for constraint in rule.body.denials if constraint.two_rows]
    alone = [written.conjunction(constraint) for constraint in rule.body.denials if not constraint.two_rows]
    # Of a symmetric rule the mirror of each is among them: with the smaller key left, one of the two finds the pair.
    apart = written.before(key) if is_symmetric(rule.body) else written.differs(key)
    names = ", ".join(f"t.{dialect.name(name)} AS {dialect.name(f'left_{name}')}" for name in key)
    others = ", ".join(f"s.{dialect.name(name)} AS {dialect.name(f'right_{name}')}" for name in key)
    missing = ", ".join(f"NULL AS {dialect.name(f'right_{name}')}" for name in key)
    head = names if not paired else f"{names}, {missing}"
    queries = [
        f"SELECT {names}, {others}\nFROM {source} t JOIN {source} s ON {written.conjunction(constraint)} AND {apart}"
        for constraint in paired
    ]
    queries += [f"SELECT {head}\nFROM {source} t\nWHERE {condition}" for condition in alone]
    return "\nUNION\n".join(queries)


def rules_sql(rules: RuleSet, *, table: str, key: Sequence[str], dialect: Dialect, count: bool = False) -> str:
    """The queries of all rules, each after a comment with its name; with `count`, one query that counts them all."""
    queries = {rule.name: rule_sql(rule, table=table, key=key, nulls=rules.nulls, dialect=dialect) for rule in rules}
    if not count:
        texts = {rule.name: str(rule) for rule in rules}
        return "\n".join(f"-- {_one_line(n)}: {_one_line(texts[n])}\n{query};\n" for n, query in queries.items())
    counts = [
        f"SELECT {dialect.text(name)} AS rule_name, COUNT(*) AS violations FROM (\n{query}\n) v{i}"
        for i, (name, query) in enumerate(queries.items())
    ]
    return "\nUNION ALL\n".join(counts) + ";\n" if counts else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class _Writer:
    dialect: Dialect
    nulls: Nulls

    def conjunction(self, constraint: DenialConstraint) -> str:
        """When rows violate the constraint: what it says of t, then of s, then of both."""

        def rows(predicate: Predicate) -> tuple[bool, bool]:
            named = {column.row for column in predicate.columns()}
            return len(named) == 2, named == {"s"}

        return " AND ".join(map(self._predicate, sorted(constraint.predicates, key=rows)))

    def differs(self, key: Sequence[str]) -> str:
        parts = [f"t.{self.dialect.name(name)} <> s.{self.dialect.name(name)}" for name in key]
        return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"

    def before(self, key: Sequence[str]) -> str:
        """That the left key is the smaller one, column by column."""
        names = [self.dialect.name(name) for name in key]
        steps = []
        for i, name in enumerate(names):
            same = [f"t.{other} = s.{other}" for other in names[:i]]
            steps.append(" AND ".join([*same, f"t.{name} < s.{name}"]))
        return steps[0] if len(steps) == 1 else "(" + " OR ".join(f"({step})" for step in steps) + ")"

    def _predicate(self, predicate: Predicate) -> str:
        if isinstance(predicate, NullTest):
            return f"{self._operand(predicate.column)} IS {'' if predicate.is_null else 'NOT '}NULL"
        if isinstance(predicate, Membership):
            return self._membership(predicate)
        if isinstance(predicate, TextTest):
            return self._text_test(predicate)
        return self._comparison(predicate)

    def _text_test(self, test: TextTest) -> str:
        column = self._operand(test.column)
        template = self.dialect.text_tests.get(test.operator)
        if template is None:
            raise OptionError(f"this dialect cannot say {str(test)!r}.", hint="choose another with --dialect.")
        argument = test.argument
        if test.operator == "matches":
            argument = common_pattern(argument).join(self.dialect.whole)
        holds = template.format(column=column, argument=self.dialect.text(argument))
        if test.positive:
            return holds
        return f"(NOT {holds} OR {column} IS NULL)" if self.nulls == "equal" else f"NOT {holds}"

    def _membership(self, predicate: Membership) -> str:
        column = self._operand(predicate.column)
        values = ", ".join(sorted(map(self._operand, predicate.values)))
        if predicate.inside:
            return f"{column} IN ({values})"
        outside = f"{column} NOT IN ({values})"
        return f"({outside} OR {column} IS NULL)" if self.nulls == "equal" else outside

    def _comparison(self, predicate: Comparison) -> str:
        left, right = self._operand(predicate.left), self._operand(predicate.right)
        sign = "<>" if predicate.allowed == NE else operator_of(predicate.allowed)
        plain = f"{left} {sign} {right}"
        if self.nulls == "sql":
            return plain
        if isinstance(predicate.right, Constant):
            return f"({plain} OR {left} IS NULL)" if predicate.allowed == NE else plain
        if predicate.allowed == NE:
            one_null = f"({left} IS NULL AND {right} IS NOT NULL) OR ({left} IS NOT NULL AND {right} IS NULL)"
            return f"({plain} OR {one_null})"
        return f"({plain} OR ({left} IS NULL AND {right} IS NULL))" if predicate.allowed & EQ else plain

    def _operand(self, operand: Operand) -> str:
        if isinstance(operand, Column):
            return f"{operand.row}.{self.dialect.name(operand.name)}"
        if isinstance(operand, Call):
            return self._call(operand)
        value = operand.value
        if isinstance(value, bool):
            return self.dialect.truths[value]
        if isinstance(value, dt.datetime):
            return f"CAST('{value.isoformat(sep=' ')}' AS {self.dialect.timestamp})"
        if isinstance(value, dt.date):
            return f"CAST('{value.isoformat()}' AS DATE)"
        written = str(operand)
        return self.dialect.text(str(value)) if written.startswith("'") else written

    def _call(self, call: Call) -> str:
        texts = [self._operand(argument) for argument in call.arguments]
        template = self.dialect.functions.get(call.function) or EXPORTED.get(call.function)
        if template is None:
            return f"({f' {call.function} '.join(texts)})"
        parts = texts if template.count("{}") > 1 else [", ".join(texts)]
        return template.format(*parts, double=self.dialect.double)
