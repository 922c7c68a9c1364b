"""A rule as a SQL query that lists its violations, for any database."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.errors import OptionError, closest_hint
from holdfast.programs.compile import compile_rules
from holdfast.programs.form import AllOf, AnyOf, Flag, Satisfies
from holdfast.programs.program import PairDenial, PairProgram, Programs, is_symmetric
from holdfast.programs.sql_expression import WHOLE_TEXT
from holdfast.rules.pattern import common_pattern
from holdfast.rules.predicate import (
    Column,
    Comparison,
    Constant,
    Membership,
    NullTest,
    Operand,
    Predicate,
    Row,
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
    parts of `whole`, which mean the start and the end of a text.
    """

    opening: str = '"'
    closing: str = '"'
    backslash_escapes: bool = False
    timestamp: str = "TIMESTAMP"
    truths: tuple[str, str] = ("FALSE", "TRUE")
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
    "spark": Dialect("`", "`", True, text_tests={"matches": "({column} RLIKE {argument})"}),
    "mysql": Dialect("`", "`", True, timestamp="DATETIME"),
    "bigquery": Dialect("`", "`", True, text_tests={"matches": "REGEXP_CONTAINS({column}, {argument})"}),
    "tsql": Dialect("[", "]", timestamp="DATETIME2", truths=("0", "1"), text_tests={}),
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
    programs = compile_rules(RuleSet((replace(rule, where=None),), nulls=nulls), style="denials")
    (program,) = programs.programs
    paired = program.denials if isinstance(program, PairProgram) else ()
    alone = [] if program.alone is None else written.ways_alone(programs.flags[program.alone])
    # Of a symmetric rule the mirror of each is among them: with the smaller key left, one of the two finds the pair.
    apart = written.before(key) if is_symmetric(program) else written.differs(key)
    names = ", ".join(f"t.{dialect.name(name)} AS {dialect.name(f'left_{name}')}" for name in key)
    others = ", ".join(f"s.{dialect.name(name)} AS {dialect.name(f'right_{name}')}" for name in key)
    missing = ", ".join(f"NULL AS {dialect.name(f'right_{name}')}" for name in key)
    head = names if not paired else f"{names}, {missing}"
    queries = [
        f"SELECT {names}, {others}\nFROM {source} t JOIN {source} s ON {written.pair(denial, programs)} AND {apart}"
        for denial in paired
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

    def pair(self, denial: PairDenial, programs: Programs) -> str:
        """When a row t and a row s violate the denial together."""
        conditions = []
        if denial.left is not None:
            conditions.append(self._flag(programs.flags[denial.left], "t"))
        if denial.right is not None:
            conditions.append(self._flag(programs.flags[denial.right], "s"))
        for compare in denial.compares:
            left, right = (programs.forms[form].column for form in (compare.left, compare.right))
            conditions.append(self._comparison(Comparison(Column("t", left), compare.allowed, Column("s", right))))
        return " AND ".join(conditions)

    def ways_alone(self, flag: Flag) -> list[str]:
        """The conditions on a row t, each of which makes the flag true."""
        assert isinstance(flag, AllOf), "a program's flags are conjunctions"
        (ways,) = flag.flags
        assert isinstance(ways, AnyOf), "a rule on single rows is broken in one way or another"
        return [self._flag(way, "t") for way in ways.flags]

    def _flag(self, flag: Flag, row: Row) -> str:
        assert isinstance(flag, AllOf), "a program's flags are conjunctions"
        predicates = [part.predicate for part in flag.flags if isinstance(part, Satisfies)]
        return " AND ".join(self._predicate(p if row == "t" else p.mirrored()) for p in predicates)

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
        value = operand.value
        if isinstance(value, bool):
            return self.dialect.truths[value]
        if isinstance(value, dt.datetime):
            return f"CAST('{value.isoformat(sep=' ')}' AS {self.dialect.timestamp})"
        if isinstance(value, dt.date):
            return f"CAST('{value.isoformat()}' AS DATE)"
        written = str(operand)
        return self.dialect.text(str(value)) if written.startswith("'") else written
