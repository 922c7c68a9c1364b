"""The SQL of a rule, run by a database that knows nothing of Holdfast, lists what the reference finds."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import count
from typing import Any

import duckdb
import pytest
import sqlglot
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast import reference
from holdfast.encode.column_type import column_type
from holdfast.errors import OptionError, TrivialRuleError
from holdfast.programs.export_sql import DIALECTS, DatabaseTable, dialect_named, rule_sql, rules_sql
from holdfast.rules.rule import Nulls, Rule, RuleSet, parse_rule, rule_set
from holdfast.rules.rule_file import parse_rules
from postgres_server import postgres_port, psql
from several_tables import NAMES as TABLES
from several_tables import denials, inclusions
from strategies import RandomTable, bodies

COLUMNS = ("id", "a", "b", "select", 'x "y')
RULES = [
    "unique(a)",
    "unique(a, b)",
    "a -> b",
    'a, b -> "select", "x ""y"',
    "a = 1, b -> \"select\"",
    "a = 1 -> \"select\" = 'it''s'",
    "not(t.a > s.a and t.b < s.b)",
    "not(t.a = s.a and t.b <= s.b and t.\"select\" != s.\"select\")",
    "not(t.a < s.b)",
    "not(t.a >= s.b and t.b != s.a)",
    "if t.a = s.b then t.b = s.a and t.\"select\" >= s.\"select\"",
    "not(t.a > t.b)",
    "not(t.a != t.b and t.\"select\" = 'x')",
    "not(t.a is null)",
    "not(t.a is not null and s.a is not null and t.b = s.b)",
    "not(t.a in (1, 2))",
    "not(t.\"select\" not in ('x', 'it''s') and t.a = s.a)",
    "not(t.\"x \"\"y\" != 1 and t.a <= 1)",
    "not(t.a = 1 and s.a = 2)",
    "not(t.a + t.b * 2 > 3)",
    "not(t.a - (t.b - 1) != abs(t.b - 2))",
    "not(t.a % t.b = 1)",
    "not(t.a / t.b >= 0.5 and t.a / t.b != 2)",
    "not(-t.a < s.b - 2 and t.a = s.a)",
    "not(lower(t.\"select\") = s.\"select\")",
    "not(coalesce(t.a, 1) = 1 and trim(upper(t.\"select\")) in ('X', '\\'))",
    "not(t.a / t.b is null and t.a is not null)",
    "not(abs(t.a - s.a) <= 1 and t.b = s.b)",
    "not(abs(t.a - s.b) > 1)",
    "not(t.a - s.b != 1)",
    "no_overlap(\"select\"; a, b)",
    "not(t.\"select\" matches '[a-z]')",
    "not(t.\"select\" not matches 'x|.t.s' and t.a = s.a)",
    "not(round(t.a / 4, 1) = 0.3 and ceil(t.a / 2) + floor(t.b / 2) >= 1)",
    "not(substr(t.\"select\", 2, 1) = 't' and length(t.\"select\") > 3)",
]  # fmt: skip
NUMBERS, TEXTS = st.sampled_from([None, 0, 1, 2]), st.sampled_from([None, "x", "it's", "\\", "X"])
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, TEXTS, NUMBERS), max_size=7)
TYPES = dict(zip(COLUMNS, ("bigint", "bigint", "bigint", "string", "bigint"), strict=True))

# Small numbers, so that nothing overflows, and no decimal that a double misses.
DOMAINS: Mapping[str, tuple[Any, ...]] = {
    "bigint": (0, 1, 2, -1, 7),
    "double": (0.0, -0.0, 1.0, 0.5, -2.5),
    "decimal(20,2)": tuple(map(Decimal, ("0.00", "1.00", "0.50", "-1.00", "2.25"))),
    "string": ("", "a", "b", "A", "z", "o'x", "\\n", "{x}", "0131", '"'),
    "boolean": (True, False),
    "date": (dt.date(2024, 1, 31), dt.date(2024, 2, 1), dt.date(1900, 1, 1)),
    "timestamp_ntz": (dt.datetime(2024, 1, 31), dt.datetime(2024, 1, 31, 12, 0, 0, 1), dt.datetime(2024, 2, 1)),
}
NAMES = ("a", "zip code", 'q"t', "b`t", "A2", "not", "order")
COLUMN_TYPES = {
    "bigint": "BIGINT",
    "double": "DOUBLE PRECISION",
    "decimal(20,2)": "DECIMAL(20,2)",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp_ntz": "TIMESTAMP",
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _regexp(pattern: str, text: str | None) -> bool | None:
    """What SQLite leaves to its users, and its command has: null of a null."""
    return None if text is None else re.search(pattern, text) is not None


class Sqlite:
    """A database in memory."""

    dialect = "sqlite"

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.connection.create_function("REGEXP", 2, _regexp, deterministic=True)

    def load(self, name: str, table: RandomTable) -> None:
        columns = ", ".join(f"{quoted(column)} {COLUMN_TYPES[kind]}" for column, kind in table.types.items())
        self.connection.execute(f"DROP TABLE IF EXISTS {quoted(name)}")
        self.connection.execute(f"CREATE TABLE {quoted(name)} ({columns})")
        marks = ", ".join("?" * len(table.types))
        rows = [[self.value(row[column]) for column in table.types] for row in table.rows]
        if rows:
            self.connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", rows)

    def value(self, value: Any) -> Any:
        return value

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(query.rstrip().rstrip(";")).fetchall())


@cache
def _duck() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"threads": 1})


class Duck(Sqlite):
    """One database for all tests, whose tables take each other's place."""

    dialect = "duckdb"

    def __init__(self) -> None:
        self.connection = _duck()  # type: ignore[assignment]


class Postgres(Sqlite):
    """A server, asked by psql; each has tables of its own."""

    dialect = "postgres"

    def __init__(self, port: int) -> None:
        self.port, self.schema = port, f"s{next(_SCHEMAS)}"
        self.said = f"CREATE SCHEMA {self.schema}; SET search_path TO {self.schema};"

    def load(self, name: str, table: RandomTable) -> None:
        columns = ", ".join(f"{quoted(column)} {COLUMN_TYPES[kind]}" for column, kind in table.types.items())
        rows = [f"({', '.join(map(self.literal, row.values()))})" for row in table.rows]
        filled = f"INSERT INTO {quoted(name)} VALUES {', '.join(rows)};" if rows else ""
        psql(self.port, f"{self.said} CREATE TABLE {quoted(name)} ({columns}); {filled}")

    def literal(self, value: Any) -> str:
        if value is None:
            return "NULL"
        return str(value) if isinstance(value, int | float | Decimal) else "'" + str(value).replace("'", "''") + "'"

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        printed = psql(self.port, f"SET search_path TO {self.schema}; {query}")
        return [tuple(map(_read, line.split("|"))) for line in printed.splitlines() if line != "SET"]


_SCHEMAS = count()
DATABASES = (Sqlite, Duck)


def _read(cell: str) -> Any:
    return int(cell) if cell.isdecimal() else cell or None


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with postgres_port(tmp_path_factory.mktemp("postgres")) as port:
        yield port


def typed(table: RandomTable) -> dict[str, Any]:
    return {name: column_type(kind) for name, kind in table.types.items()}


def assert_lists_the_violations(database: Sqlite, table: RandomTable, rules: RuleSet) -> None:
    database.load("my table", table)
    wanted = reference.violations(list(table.rows), rules)
    asked: dict[str, Any] = {
        "tables": {"": DatabaseTable('"my table"', ("id",), typed(table))},
        "dialect": DIALECTS[database.dialect],
    }
    for rule in rules:
        found = database.rows(rule_sql(rule, nulls=rules.nulls, **asked))
        assert len(found) == len(set(found))
        assert {(row[0], row[1] if len(row) > 1 else None) for row in found} == set(wanted[rule.name]), str(rule)
    counted = dict(database.rows(rules_sql(rules, count=True, **asked)))
    assert counted == {name: len(found) for name, found in wanted.items()}


@pytest.mark.parametrize("database", DATABASES)
@settings(max_examples=10)
@given(values=ROWS, nulls=st.sampled_from(["sql", "equal"]))
@example(values=[(None, None, None, None)] * 3, nulls="equal")
def test_queries_list_what_the_reference_finds(
    database: type[Sqlite], values: list[tuple[Any, ...]], nulls: Nulls
) -> None:
    rows = tuple(dict(zip(COLUMNS, (i, *row), strict=True)) for i, row in enumerate(values))
    assert_lists_the_violations(database(), RandomTable(TYPES, rows), rule_set(RULES, key=("id",), nulls=nulls))


@st.composite
def small_tables(draw: st.DrawFn, kinds: Sequence[str]) -> RandomTable:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique_by=str.casefold))
    types = {name: draw(st.sampled_from(kinds)) for name in names}
    n = draw(st.integers(0, 7))
    rows = tuple(
        {"id": i, **{name: draw(st.sampled_from([*DOMAINS[kind][:3], None])) for name, kind in types.items()}}
        for i in range(n)
    )
    return RandomTable({"id": "bigint", **types}, rows)


@pytest.mark.parametrize("database", DATABASES)
@settings(max_examples=80)
@given(data=st.data())
def test_random_rules_list_what_the_reference_finds(database: type[Sqlite], data: st.DataObject) -> None:
    kinds = sorted(DOMAINS) if database is Duck else ["bigint", "boolean", "double", "string"]
    table = data.draw(small_tables(kinds))
    types = {name: kind for name, kind in table.types.items() if name != "id"}
    rule = Rule("r", data.draw(bodies(types)))
    if data.draw(st.booleans()):
        rule = replace(rule, where="id % 2 = 0")
        table = replace(table, rows=tuple(row for row in table.rows if row["id"] % 2 == 0))
    nulls: Nulls = data.draw(st.sampled_from(["sql", "equal"]))
    event(
        f"a violated {rule.kind}"
        if reference.violations(list(table.rows), RuleSet((rule,), ("id",), nulls))["r"]
        else "it holds"
    )
    try:
        assert_lists_the_violations(database(), table, RuleSet((rule,), ("id",), nulls))
    except duckdb.OutOfRangeException:
        event("too large for the database")


@pytest.mark.parametrize("database", DATABASES)
@settings(max_examples=60)
@given(data=st.data())
def test_rules_over_two_tables_list_what_the_reference_finds(database: type[Sqlite], data: st.DataObject) -> None:
    kinds = ["bigint", "date", "string"] if database is Duck else ["bigint", "string"]
    made = {name: data.draw(small_tables(kinds)) for name in TABLES}
    try:
        rule = Rule("r", data.draw(inclusions(made) if data.draw(st.booleans()) else denials(made)))
    except TrivialRuleError:
        assume(False)
    nulls: Nulls = data.draw(st.sampled_from(["sql", "equal"]))
    (wanted,) = reference.check_tables(
        {name: table.rows for name, table in made.items()},
        RuleSet((rule,), nulls=nulls),
        keys=dict.fromkeys(TABLES, ("id",)),
    )
    place = database()
    for name, table in made.items():
        place.load(name, table)
    tables = {name: DatabaseTable(name, ("id",), typed(table)) for name, table in made.items()}
    found = place.rows(rule_sql(rule, tables=tables, nulls=nulls, dialect=DIALECTS[place.dialect]))
    event(f"a violated {rule.kind}" if found else "it holds")
    if wanted.pairs is None:
        assert sorted(key for (key,) in found) == sorted(key for _, key in wanted.conflicts), str(rule)
    else:
        assert sorted(found) == sorted((left, right) for (_, left), (_, right) in wanted.pairs), str(rule)


def test_keys_of_several_columns_conditions_and_tableaux() -> None:
    text = """
key: [a, b]
rules:
  - name: r
    rule: 'c -> d'
    where: d < 9
    patterns: [{c: 1, d: 2}, {c: 2, d: _}]
  - name: mirrored
    rule: not(t.c > s.c)
"""
    rules = parse_rules(text, origin="rules")
    table = RandomTable(
        dict.fromkeys("abcd", "bigint"),
        tuple(
            dict(zip("abcd", row, strict=True))
            for row in [(1, 1, 1, 2), (1, 2, 1, 3), (2, 1, 2, 5), (2, 2, 2, 6), (3, 1, 2, 9)]
        ),
    )
    for database in DATABASES:
        place = database()
        place.load("t", table)
        asked: dict[str, Any] = {"tables": {"": DatabaseTable("t", ("a", "b"))}, "nulls": "sql"}
        found = place.rows(rule_sql(rules["r"], dialect=DIALECTS[place.dialect], **asked))
        assert sorted(found, key=str) == [(1, 2, None, None), (2, 1, 2, 2)]
        assert len(place.rows(rule_sql(rules["mirrored"], dialect=DIALECTS[place.dialect], **asked))) == 6


def test_values_of_a_tableau_are_of_the_column() -> None:
    text = "key: id\nrules:\n  - {name: r, rule: 'zip -> open', patterns: [{zip: 0131, open: NO}, {zip: 7, open: _}]}"
    rules = parse_rules(text, origin="rules")
    types = {"id": "bigint", "zip": "string", "open": "string"}
    rows = (
        {"id": 1, "zip": "0131", "open": "yes"},
        {"id": 2, "zip": "7", "open": "x"},
        {"id": 3, "zip": "7", "open": "y"},
    )
    assert_lists_the_violations(Duck(), RandomTable(types, rows), rules)


def every_query(dialect: str) -> Iterator[str]:
    tables = {
        "": DatabaseTable("shop.orders", ("id",)),
        "orders": DatabaseTable("shop.orders", ("id",)),
        "places": DatabaseTable("shop.places", ("id",)),
    }
    dated = DatabaseTable("events", ("id",), {"at": column_type("timestamp_ntz"), "d": column_type("date")})
    for rule in rule_set(RULES):
        yield rule_sql(rule, tables=tables, nulls="equal", dialect=DIALECTS[dialect])
    for text in ("orders(a, b) in places(c, d)", "not(orders.zip = places.zip and orders.city != places.city)"):
        yield rule_sql(parse_rule(text), tables=tables, nulls="sql", dialect=DIALECTS[dialect])
    for text in (
        "not(t.at - s.at < 60 and t.d - s.d > 3)",
        "not(year(t.d) = 2024 and hour(t.at) < 3)",
        "not(t.d = date '2024-02-01')",
    ):
        yield rule_sql(parse_rule(text), tables={"": dated}, nulls="sql", dialect=DIALECTS[dialect])


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"tsql"}))
def test_every_dialect_reads_its_queries(dialect: str) -> None:
    """Where the database is not here, that is all that is tried."""
    for query in every_query(dialect):
        name = DIALECTS[dialect].name
        again = sqlglot.parse_one(query, read=name).sql(dialect=name)
        assert re.sub(r"\s", "", again).casefold() == re.sub(r"\s", "", query).casefold()


@pytest.mark.parametrize("dialect", ["spark", "databricks"])
def test_spark_counts_what_the_reference_finds(spark: SparkSession, dialect: str) -> None:
    values = [(0, 1, "x", 2), (1, 1, "it's", None), (1, 2, "x", 2), (None, 2, "\\", 0), (1, 1, "X", 1), (0, 0, None, 1)]
    rows = [dict(zip(COLUMNS, (i, *row), strict=True)) for i, row in enumerate(values)]
    frame = spark.createDataFrame(
        [tuple(row.values()) for row in rows],
        'id bigint, a bigint, b bigint, `select` string, `x "y` bigint',
    )
    frame.createOrReplaceTempView("exported")
    rules = rule_set(RULES, key=("id",))
    query = rules_sql(rules, tables={"": DatabaseTable("exported", ("id",))}, dialect=DIALECTS[dialect], count=True)
    found = {row[0]: row[1] for row in spark.sql(query.rstrip().rstrip(";")).collect()}
    assert found == {name: len(pairs) for name, pairs in reference.violations(rows, rules).items()}


@pytest.mark.soak
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_postgres_lists_what_the_reference_finds(postgres: Any, data: st.DataObject) -> None:
    table = data.draw(small_tables(sorted(DOMAINS)))
    types = {name: kind for name, kind in table.types.items() if name != "id"}
    nulls: Nulls = data.draw(st.sampled_from(["sql", "equal"]))
    rules = RuleSet(tuple(Rule(f"r{i}", data.draw(bodies(types))) for i in range(4)), ("id",), nulls)
    place = Postgres(postgres)
    assert_lists_the_violations(place, table, rules)


def test_names_and_texts_are_written_as_each_database_wants(spark: SparkSession) -> None:
    rule = parse_rule("not(t.\"a`b\" = 'it''s \\' and t.\"c]d\" = date '2024-02-01' and t.e = true and t.f > 1.50)")

    def written(dialect: str, table: str = "t") -> str:
        query = rule_sql(rule, tables={"": DatabaseTable(table, ("id",))}, nulls="sql", dialect=dialect_named(dialect))
        return " ".join(query.split())

    assert "t.[c]]d] = CAST('2024-02-01' AS DATE) AND t.e = 1" in written("tsql")
    assert "t.`a``b` = 'it''s \\\\'" in written("mysql")
    frame = spark.sql("SELECT 7 AS id, 'it\\'s \\\\' AS `a``b`, DATE'2024-02-01' AS `c]d`, true AS e, 2.0 AS f")
    assert [tuple(row) for row in spark.sql(written("spark", "{t}"), t=frame).collect()] == [(7,)]
    capital = parse_rule("not(t.Zip is null)")
    for dialect, name in {"postgres": '"Zip"', "duckdb": "Zip"}.items():
        assert f"t.{name} IS NULL" in hf.export_sql(capital, "t", key="id", dialect=dialect)
    with pytest.raises(OptionError, match="no dialect"):
        dialect_named("oracel")
    with pytest.raises(OptionError, match="by what rows are named"):
        hf.export_sql(rule, "t")
    with pytest.raises(OptionError, match="this dialect cannot say"):
        hf.export_sql("not(t.a matches '[a-z]')", "t", key="id", dialect="tsql")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_quotation_mark_in_a_condition_is_one_in_every_dialect(dialect: str) -> None:
    rule = replace(parse_rule("not(t.a > 1)"), where="a <> 'it''s' and b <> \"it's\"")
    written = rule_sql(rule, tables={"": DatabaseTable("t", ("id",))}, nulls="sql", dialect=dialect_named(dialect))
    texts = [
        literal.this
        for literal in sqlglot.parse_one(written, read=DIALECTS[dialect].name).find_all(sqlglot.exp.Literal)
    ]
    assert texts.count("it's") == 2
    assert "its" not in texts
