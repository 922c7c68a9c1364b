"""A rule as a SQL query that lists its violations, for databases that know nothing of Holdfast.

A query is written once, in SQL as sqlglot reads it, and sqlglot writes it for each database. What differs between
databases beyond that stands in DIALECTS.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

import sqlglot
from sqlglot import exp

from holdfast.encode.column_type import ColumnType
from holdfast.errors import ConditionError, OptionError, closest_hint
from holdfast.programs.expression_type import expression_type
from holdfast.programs.function_sql import EXPORTED
from holdfast.programs.sql_expression import WHOLE_TEXT
from holdfast.programs.sql_text import with_escaped_quotes
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import Inclusion, is_symmetric, of_its_table
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
    QualifiedColumn,
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
# The two arguments of a template in DIALECTS.
_A, _B = "a_", "b_"
_SECONDS, _MATCHES = "HOLDFAST_SECONDS", "REGEXP_LIKE"


@dataclass(frozen=True)
class Dialect:
    """What a database writes otherwise than sqlglot says. `name` is sqlglot's.

    `templates` are for functions by their names, some with the number of their arguments, in the SQL of the database,
    with arguments `a_` and `b_`; a pattern stands between the two parts of `whole`, which mean the start and the end of
    a text. `matches` says whether there are regular expressions, `groups_count` that every group captures, `dates` that
    there are types for dates, `folds_case` that only a name in quotes keeps its capital letters, and `text_order` is
    the collation by bytes.
    """

    name: str
    templates: Mapping[str, str] = field(default_factory=dict)
    whole: tuple[str, str] = ("^(?:", ")$")
    matches: bool = True
    groups_count: bool = False
    dates: bool = True
    folds_case: bool = False
    text_order: str | None = None

    def plain(self, name: str) -> bool:
        """Whether the name needs no quotes."""
        kept = self.folds_case and name != name.lower()
        return bool(_BARE.match(name)) and name.casefold() not in _KEPT and not kept

    def pattern(self, pattern: str) -> str:
        """The regular expression as the database reads it, for the whole text."""
        opening, closing = self.whole
        written = f"{opening}{common_pattern(pattern)}{closing}"
        # A parenthesis that stands for itself has a backslash before it, so that this is a group's.
        return written.replace("(?:", "(") if self.groups_count else written


_MICROSECONDS = "(UNIX_MICROS(CAST(a_ AS TIMESTAMP)) - UNIX_MICROS(CAST(b_ AS TIMESTAMP))) / 1000000"
_DATEDIFF_MICROSECONDS = "DATEDIFF(MICROSECOND, b_, a_) / 1000000.0"
DIALECTS = {
    "ansi": Dialect("", {_SECONDS: "(a_ - b_)"}),
    "duckdb": Dialect(
        "duckdb",
        {_SECONDS: "(EPOCH_US(a_) - EPOCH_US(b_)) / 1000000", _MATCHES: "REGEXP_FULL_MATCH(a_, b_)"},
        whole=("", ""),
    ),
    "postgres": Dialect(
        "postgres",
        {
            _SECONDS: "EXTRACT(EPOCH FROM (a_ - b_))",
            # Of doubles, neither has a meaning there that keeps to the half away from zero.
            "ROUND": "ROUND(CAST(a_ AS DECIMAL), b_)",
            "MOD": "MOD(CAST(a_ AS DECIMAL), CAST(b_ AS DECIMAL))",
        },
        folds_case=True,
        text_order="C",
    ),
    "sqlite": Dialect(
        "sqlite",
        {
            _SECONDS: "ROUND((JULIANDAY(a_) - JULIANDAY(b_)) * 86400.0, 3)",
            "YEAR": "CAST(STRFTIME('%Y', a_) AS INTEGER)",
            "MONTH": "CAST(STRFTIME('%m', a_) AS INTEGER)",
            "DAY": "CAST(STRFTIME('%d', a_) AS INTEGER)",
            "HOUR": "CAST(STRFTIME('%H', a_) AS INTEGER)",
        },
        dates=False,
    ),
    "snowflake": Dialect("snowflake", {_SECONDS: _DATEDIFF_MICROSECONDS}, whole=("", ""), groups_count=True),
    "bigquery": Dialect(
        "bigquery", {_SECONDS: "(UNIX_MICROS(TIMESTAMP(a_)) - UNIX_MICROS(TIMESTAMP(b_))) / 1000000"}, whole=WHOLE_TEXT
    ),
    "redshift": Dialect(
        "redshift", {_SECONDS: _DATEDIFF_MICROSECONDS}, whole=("^(", ")$"), groups_count=True, folds_case=True
    ),
    "databricks": Dialect("databricks", {_SECONDS: _MICROSECONDS}, whole=WHOLE_TEXT),
    "spark": Dialect("spark", {_SECONDS: _MICROSECONDS}, whole=WHOLE_TEXT),
    "mysql": Dialect("mysql", {_SECONDS: "TIMESTAMPDIFF(MICROSECOND, b_, a_) / 1000000"}),
    "tsql": Dialect(
        "tsql",
        {
            _SECONDS: "DATEDIFF_BIG(MICROSECOND, b_, a_) / 1000000.0",
            "SUBSTRING 2": "SUBSTRING(a_, b_, LEN(a_))",
            "ROUND 1": "ROUND(a_, 0)",
        },
        matches=False,
    ),
}


def dialect_named(name: str) -> Dialect:
    """The dialect of this name; OptionError where there is none."""
    if name not in DIALECTS:
        raise OptionError(f"{name!r} is no dialect.", hint=closest_hint(name, DIALECTS, what="Dialects"))
    return DIALECTS[name]


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database: its name as the database writes it, what names its rows, and the types that are known.

    Of a column whose type is not known, values are written as the rule has them.
    """

    name: str
    key: tuple[str, ...] = ()
    types: Mapping[str, ColumnType] = field(default_factory=dict)


# By the names that rules have for them; one that rules do not name is "".
DatabaseTables = Mapping[str, DatabaseTable]


def rule_sql(rule: Rule, *, tables: DatabaseTables, nulls: Nulls, dialect: Dialect) -> str:
    """A query for the violations of the rule: the key of the left row, and that of the right one.

    Of a rule on single rows it has the key alone, so that a rule of both kinds has rows without a right key. The pairs
    of a symmetric rule stand there once, the smaller key left. Of an inclusion it has the rows without a partner.

    >>> from holdfast.rules.rule import parse_rule
    >>> zip_city, orders = parse_rule("zip -> city"), DatabaseTable("orders", ("id",))
    >>> print(rule_sql(zip_city, tables={"": orders}, nulls="sql", dialect=DIALECTS["ansi"]))
    SELECT
      t.id AS left_id,
      s.id AS right_id
    FROM orders AS t
    JOIN orders AS s
      ON t.zip = s.zip AND t.city <> s.city AND t.id < s.id
    """
    left, right = _tables_of(rule, tables)
    body = of_its_table(rule.body)
    for table in (left, right):
        if not table.key and (table is left or not isinstance(body, Inclusion)):
            raise OptionError(
                f"the query of rule {rule.name!r} needs to know by what rows are named.",
                hint="name the column that tells rows apart with --key, or in the rule file.",
            )
    writer = _Writer(dialect, nulls, left, right)
    names = writer.keys("t", "left")
    if isinstance(body, Inclusion):
        queries = [f"SELECT {names} FROM left_table AS t WHERE {writer.without_partner(body)}"]
    else:
        paired = [constraint for constraint in body.denials if constraint.two_rows]
        alone = [writer.conjunction(constraint) for constraint in body.denials if not constraint.two_rows]
        # A symmetric rule has the mirror of each: with the smaller key left, one of the two finds the pair.
        apart = "" if left is not right else f" AND {writer.before() if is_symmetric(body) else writer.differs()}"
        others = writer.keys("s", "right")
        missing = ", ".join(f"NULL AS {_quoted(f'right_{name}')}" for name in right.key)
        queries = [
            f"SELECT {names}, {others} FROM left_table AS t JOIN right_table AS s ON {condition}{apart}"
            for condition in map(writer.conjunction, paired)
        ]
        head = names if not paired else f"{names}, {missing}"
        queries += [f"SELECT {head} FROM left_table AS t WHERE {condition}" for condition in alone]
    query = sqlglot.parse_one(" UNION ".join(queries))
    return _for_database(query, rule, {"left_table": left, "right_table": right}, dialect)


def rules_sql(rules: RuleSet, *, tables: DatabaseTables, dialect: Dialect, count: bool = False) -> str:
    """The queries of all rules, each after a comment with its name; with `count`, one query that counts them all."""
    queries = {rule.name: rule_sql(rule, tables=tables, nulls=rules.nulls, dialect=dialect) for rule in rules}
    if not count:
        texts = {rule.name: str(rule) for rule in rules}
        return "\n".join(f"-- {_one_line(n)}: {_one_line(texts[n])}\n{query};\n" for n, query in queries.items())
    counts = [
        f"SELECT {exp.Literal.string(name).sql(dialect=dialect.name)} AS rule_name, COUNT(*) AS violations FROM (\n"
        f"{query}\n) AS v{i}"
        for i, (name, query) in enumerate(queries.items())
    ]
    return "\nUNION ALL\n".join(counts) + ";\n" if counts else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _tables_of(rule: Rule, tables: DatabaseTables) -> tuple[DatabaseTable, DatabaseTable]:
    """The tables of the left and of the right row; one and the same of a rule over one table."""
    named = rule.body.tables if isinstance(rule.body, Inclusion) else rule.tables
    for name in named:
        if name not in tables:
            raise OptionError(
                f"rule {rule.name!r} names the table {name!r}, and it is not said what the database calls it.",
                hint=f"say it with --table {name}=NAME.",
            )
    if not named and "" not in tables:
        raise OptionError(f"rule {rule.name!r} does not say of which table it is.", hint="add table: to it.")
    return (tables[named[0]], tables[named[-1]]) if named else (tables[""], tables[""])


def _for_database(query: exp.Expr, rule: Rule, tables: Mapping[str, DatabaseTable], dialect: Dialect) -> str:
    """The query as the database reads it. Of an inclusion, the condition of the rule is on rows of the left table."""
    _set_quotes(query, dialect)
    for node in list(query.find_all(exp.Func, exp.Mod)):
        template = dialect.templates.get(name := _function_name(node)) or dialect.templates.get(
            f"{name} {len(_arguments(node))}"
        )
        if template is not None:
            node.replace(_filled(template, _arguments(node), dialect))
    rows = _condition_of(rule, dialect)
    for table in list(query.find_all(exp.Table)):
        # Its name is not ours to read: it may be a template of another tool.
        source = exp.Table(this=exp.Var(this=tables[table.name].name))
        if rows is not None and (table.name == "left_table" or not isinstance(rule.body, Inclusion)):
            table.replace(exp.select("*").from_(source).where(rows.copy()).subquery(table.alias))
        else:
            table.set("this", source.this)
    return query.sql(dialect=dialect.name, pretty=True, comments=False)


def _set_quotes(query: exp.Expr, dialect: Dialect) -> None:
    for node in query.find_all(exp.Identifier):
        node.set("quoted", not dialect.plain(node.name))


def _condition_of(rule: Rule, dialect: Dialect) -> exp.Expr | None:
    """The condition of the rule, which is SQL of Spark; a quotation mark that stands twice is one, as everywhere."""
    if rule.where is None:
        return None
    try:
        condition = sqlglot.parse_one(with_escaped_quotes(rule.where), read="spark")
    except sqlglot.errors.SqlglotError:
        raise ConditionError(f"rule {rule.name!r}: the condition {rule.where!r} is not SQL that can be read.") from None
    _set_quotes(condition, dialect)
    return condition


def _function_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous | exp.Extract):
        return node.name.upper()
    return node.sql_name() if isinstance(node, exp.Func) else "MOD"


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    if isinstance(node, exp.Extract):
        return [node.expression]
    return [value for value in node.args.values() if isinstance(value, exp.Expr)]


def _filled(template: str, arguments: Iterable[exp.Expr], dialect: Dialect) -> exp.Expr:
    """The template with these arguments, and 0 for a second one that there is not."""
    tree = sqlglot.parse_one(template, read=dialect.name)
    tree = exp.paren(tree) if isinstance(tree, exp.Binary) else tree
    given = dict(zip((_A, _B), [*arguments, exp.Literal.number(0)], strict=False))
    for column in list(tree.find_all(exp.Column)):
        if column.name in given:
            column.replace(given[column.name].copy())
    return tree


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class _Writer:
    """Writes SQL as sqlglot reads it, over rows `t` and `s` of two tables."""

    dialect: Dialect
    nulls: Nulls
    left: DatabaseTable
    right: DatabaseTable

    def keys(self, row: str, side: str) -> str:
        key = self.left.key if row == "t" else self.right.key
        return ", ".join(f"{row}.{_quoted(name)} AS {_quoted(f'{side}_{name}')}" for name in key)

    def conjunction(self, constraint: DenialConstraint) -> str:
        """When rows violate the constraint: what it says of t, then of s, then of both."""

        def rows(predicate: Predicate) -> tuple[bool, bool]:
            named = {column.row for column in predicate.columns()}
            return len(named) == 2, named == {"s"}

        return " AND ".join(map(self._predicate, sorted(constraint.predicates, key=rows)))

    def without_partner(self, inclusion: Inclusion) -> str:
        """When a row of the left table refers to no row of the right one."""
        partner = " AND ".join(map(self._comparison, inclusion.matches))
        missing = f"NOT EXISTS (SELECT 1 FROM right_table AS s WHERE {partner})"
        if self.nulls == "equal":
            return missing
        known = [f"{self._operand(column)} IS NOT NULL" for column in (match.left for match in inclusion.matches)]
        return " AND ".join([*known, missing])

    def differs(self) -> str:
        parts = [f"t.{_quoted(name)} <> s.{_quoted(name)}" for name in self.left.key]
        return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"

    def before(self) -> str:
        """That the left key is the smaller one, column by column."""
        key = self.left.key
        steps = []
        for i, name in enumerate(key):
            same = [f"t.{_quoted(other)} = s.{_quoted(other)}" for other in key[:i]]
            steps.append(" AND ".join([*same, f"{self._ordered(Column('t', name))} < s.{_quoted(name)}"]))
        return steps[0] if len(steps) == 1 else "(" + " OR ".join(f"({step})" for step in steps) + ")"

    def _ordered(self, operand: Operand) -> str:
        """The operand where its order counts: that of text is by bytes."""
        text, kind = self._operand(operand), self._type(operand)
        if self.dialect.text_order is None or kind is None or kind.family != "text":
            return text
        return f"({text} COLLATE {_quoted(self.dialect.text_order)})"

    def _type(self, operand: Operand) -> ColumnType | None:
        """The type of the operand's values; None where that of a column is not known."""
        if isinstance(operand, Constant):
            return None
        types = {}
        for column in operand.columns():
            table = self.left if column.row == "t" else self.right
            kind = table.types.get(column.own if isinstance(column, QualifiedColumn) else column.name)
            if kind is None:
                return None
            types[column.name] = kind
        return expression_type(operand, types)

    def _predicate(self, predicate: Predicate) -> str:
        if isinstance(predicate, NullTest):
            return f"{self._operand(predicate.column)} IS {'' if predicate.is_null else 'NOT '}NULL"
        if isinstance(predicate, Membership):
            return self._membership(predicate)
        if isinstance(predicate, TextTest):
            return self._text_test(predicate)
        return self._comparison(predicate)

    def _text_test(self, test: TextTest) -> str:
        if not self.dialect.matches:
            raise OptionError(f"this dialect cannot say {str(test)!r}.", hint="choose another with --dialect.")
        column = self._operand(test.column)
        holds = f"{_MATCHES}({column}, {_text(self.dialect.pattern(test.argument))})"
        if test.positive:
            return holds
        return f"(NOT {holds} OR {column} IS NULL)" if self.nulls == "equal" else f"NOT {holds}"

    def _membership(self, predicate: Membership) -> str:
        column, kind = self._operand(predicate.column), self._type(predicate.column)
        values = ", ".join(sorted(self._constant(value, kind) for value in predicate.values))
        if predicate.inside:
            return f"{column} IN ({values})"
        outside = f"NOT {column} IN ({values})"
        return f"({outside} OR {column} IS NULL)" if self.nulls == "equal" else outside

    def _comparison(self, predicate: Comparison) -> str:
        left, right = self._operand(predicate.left), predicate.right
        if predicate.allowed not in (EQ, NE):
            left = self._ordered(predicate.left)
        constant = isinstance(right, Constant)
        other = (
            self._constant(right, self._type(predicate.left)) if isinstance(right, Constant) else self._operand(right)
        )
        sign = "<>" if predicate.allowed == NE else operator_of(predicate.allowed)
        plain = f"{left} {sign} {other}"
        if self.nulls == "sql":
            return plain
        if constant:
            return f"({plain} OR {left} IS NULL)" if predicate.allowed == NE else plain
        if predicate.allowed == NE:
            one_null = f"({left} IS NULL AND NOT {other} IS NULL) OR (NOT {left} IS NULL AND {other} IS NULL)"
            return f"({plain} OR {one_null})"
        return f"({plain} OR ({left} IS NULL AND {other} IS NULL))" if predicate.allowed & EQ else plain

    def _operand(self, operand: Operand) -> str:
        if isinstance(operand, Column):
            name = operand.own if isinstance(operand, QualifiedColumn) else operand.name
            return f"{operand.row}.{_quoted(name)}"
        return self._call(operand) if isinstance(operand, Call) else self._constant(operand, None)

    def _constant(self, constant: Constant, kind: ColumnType | None) -> str:
        """The value as one of the type, where that is known."""
        value, written = constant.value, str(constant)
        if isinstance(value, str) and kind is not None:
            if kind.family in ("date", "timestamp"):
                return self._time(value.strip(), kind.family == "date" and len(value.strip()) <= len("2024-01-31"))
            if kind.family == "boolean" and constant.raw:
                return value.strip().upper()
            number = _number(value) if kind.numeric and constant.raw else None
            return _text(value) if number is None else number
        if isinstance(value, bool):
            return written.upper()
        if isinstance(value, dt.date):
            date = not isinstance(value, dt.datetime)
            return self._time(value.isoformat() if date else value.isoformat(sep=" "), date)  # type: ignore[call-arg]
        return _text(str(value)) if written.startswith("'") else written

    def _time(self, text: str, date: bool) -> str:
        if not self.dialect.dates:
            return _text(text)
        return f"CAST({_text(text)} AS {'DATE' if date else 'TIMESTAMP'})"

    def _call(self, call: Call) -> str:
        texts = [self._operand(argument) for argument in call.arguments]
        if call.function == "-" and (kind := self._type(call)) is not None:
            families = {inner.family for inner in map(self._type, call.arguments) if inner is not None}
            if families == {"date"}:
                return f"DATEDIFF({texts[0]}, {texts[1]}, DAY)"
            if families <= {"date", "timestamp"} and kind.family != "void":
                return f"{_SECONDS}({texts[0]}, {texts[1]})"
        template = EXPORTED.get(call.function)
        if template is None:
            return f"({f' {call.function} '.join(texts)})"
        parts = texts if template.count("{}") > 1 else [", ".join(texts)]
        return template.format(*parts)


def _number(text: str) -> str | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return f"{number:f}" if number.is_finite() else None
