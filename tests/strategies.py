"""Tables with ties, nulls, NaN, one row and no rows; rules of every kind over them; conditions; discoveries."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from holdfast import reference
from holdfast.errors import HoldfastError
from holdfast.rules.constraint import denial
from holdfast.rules.dependency import CFD, FD, Body, Denial, Implication, Key, NoOverlap, Pattern
from holdfast.rules.predicate import (
    NEGATIVE,
    Call,
    Column,
    Constant,
    Membership,
    NullTest,
    Operand,
    Predicate,
    Row,
    TextTest,
    comparison,
)
from holdfast.rules.relation import EQ, GE, GT, LE, LT, NE
from holdfast.rules.rule import Rule, RuleSet, allowance, parse_rule

NAMES = ("a", "zip code", 'q"t', "d.ot", "b`t", "Ünï", "A", "not")
WIDE = 2**53

# Small domains, so that ties are common, with the values that go wrong elsewhere.
DOMAINS: Mapping[str, tuple[Any, ...]] = {
    "bigint": (0, 1, 2, -1, WIDE, WIDE + 1, 2**63 - 1, -(2**63)),
    "double": (0.0, -0.0, 1.0, 0.5, 0.1, float("nan"), float("inf"), float(WIDE), float(2**63)),
    "decimal(20,2)": tuple(map(Decimal, ("0.00", "1.00", "0.50", "-1.00", "2.25"))),
    "decimal(38,20)": tuple(Decimal(x).quantize(Decimal(1).scaleb(-20)) for x in ("0.1", "0.5", "1", "-1")),
    "string": ("", "a", "b", "A", "é", "z", "\U0001f40c", "o'x", "\\n", "{x}", "NO", "0131"),
    "boolean": (True, False),
    "date": (dt.date(2024, 1, 31), dt.date(2024, 2, 1), dt.date(1900, 1, 1)),
    "timestamp_ntz": (dt.datetime(2024, 1, 31), dt.datetime(2024, 1, 31, 12, 0, 0, 1), dt.datetime(2024, 2, 1)),
    "binary": (b"", b"\x00\xff", b"a"),
}
PATTERNS = ("", "[a-z]", "[A-Z]{2}|é", r"\d+", ".", r"(?:o.)?\w", r"\\n|\{x\}", "[^a-c]*", r"\S?")
ORDERED = frozenset(DOMAINS) - {"boolean", "binary"}
NUMBERS = frozenset({"bigint", "double", "decimal(20,2)", "decimal(38,20)"})
TIMES = frozenset({"date", "timestamp_ntz"})


@dataclass(frozen=True)
class RandomTable:
    """Rows of Python values with a Spark type per column, the key being `id`."""

    types: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...]

    @property
    def ddl_fields(self) -> list[tuple[str, str]]:
        return list(self.types.items())


@st.composite
def tables(draw: st.DrawFn, *, max_rows: int = 9, max_columns: int = 4) -> RandomTable:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=max_columns, unique_by=str.casefold))
    types = {name: draw(st.sampled_from(sorted(DOMAINS))) for name in names}
    n = draw(st.integers(0, max_rows))
    columns = {}
    for name, kind in types.items():
        domain = draw(st.lists(st.sampled_from(DOMAINS[kind]), min_size=1, max_size=3))
        column = st.lists(st.sampled_from([*domain, None]), min_size=n, max_size=n)
        columns[name] = draw(column)
    keys = draw(st.permutations(range(n)))
    rows = tuple({"id": keys[i], **{name: columns[name][i] for name in names}} for i in range(n))
    return RandomTable({"id": "bigint", **types}, rows)


# Narrow numbers beside the others, and a column that has no type because it has no values.
DISCOVERED: Mapping[str, tuple[Any, ...]] = {
    **DOMAINS,
    "int": (0, 1, 2, -1),
    "float": (0.0, -0.0, 0.5, 1.0, float(np.float32(0.1)), float("nan")),
    "void": (None,),
}
# What Spark hands to Python for a column of the type.
ARROW = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "float": pa.float32(),
    "decimal(20,2)": pa.decimal128(20, 2),
    "decimal(38,20)": pa.decimal128(38, 20),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
    "void": pa.null(),
}


def arrow_of(table: RandomTable, *, dictionaries: bool = False) -> pa.Table:
    """The rows as Arrow columns; text as dictionaries where wanted, as files bring it."""
    columns = {name: pa.array([row[name] for row in table.rows], ARROW[kind]) for name, kind in table.types.items()}
    if dictionaries:
        columns = {n: c.dictionary_encode() if pa.types.is_string(c.type) else c for n, c in columns.items()}
    return pa.table(columns)


def value_kind(sql: str) -> str:
    """What the values of a Spark type are, as the reference's discovery names it."""
    if sql in NUMBERS or sql in ("int", "float"):
        return "number"
    return {"string": "text", "timestamp_ntz": "timestamp"}.get(sql, sql)


@dataclass(frozen=True)
class Discovery:
    """A table to discover the rules of, without a key, and the options to do it with."""

    table: RandomTable
    options: Mapping[str, Any]

    @property
    def kinds(self) -> dict[str, str]:
        return {name: value_kind(sql) for name, sql in self.table.types.items()}


@st.composite
def discoveries(draw: st.DrawFn, *, most_bits: int = 17, max_rows: int = 7) -> Discovery:
    """Ties, constant columns, rows that repeat, with and without nulls; few bits: the reference tries them all."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique_by=str.casefold))
    kinds = st.one_of(st.sampled_from(sorted(DISCOVERED)), st.sampled_from(sorted(NUMBERS)))
    alike = draw(kinds) if draw(st.booleans()) else None
    types = {name: alike or draw(kinds) for name in names}
    n = draw(st.integers(0, max_rows))
    columns = {}
    for name, kind in types.items():
        values = draw(st.lists(st.sampled_from(DISCOVERED[kind]), min_size=1, max_size=4))
        values += [None] if draw(st.booleans()) else []
        columns[name] = draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
    rows = [{name: columns[name][i] for name in names} for i in range(n)]
    if rows:
        rows += draw(st.lists(st.sampled_from(rows), max_size=2))
    options = {
        "nulls": draw(st.sampled_from(["sql", "equal"])),
        "cross_columns": draw(st.sampled_from([None, 0.0, 0.3, 1.0])),
        "one_row": draw(st.booleans()),
        "order_text": draw(st.booleans()),
    }
    while names:
        made = Discovery(RandomTable({m: types[m] for m in names}, tuple({m: r[m] for m in names} for r in rows)), {})
        if _bits(made, options) <= most_bits:
            break
        names = names[:-1]
    most = draw(st.sampled_from([None, None, 1, 2, 3]))
    return replace(made, options={**options, "max_predicates": most})


def _bits(made: Discovery, options: Mapping[str, Any]) -> int:
    chosen = {name: value for name, value in options.items() if name != "nulls"}
    return sum(map(len, reference.operand_pairs(made.table.rows, made.kinds, **chosen).values()))


def comparable(a: str, b: str) -> bool:
    return a == b or {a, b} <= NUMBERS or {a, b} <= TIMES


def constants(kind: str) -> st.SearchStrategy[Constant]:
    """Constants that mean something against a column of the type; some of them no value of the type equals."""
    if kind in NUMBERS:
        texts = ("0", "1", "2", "-1", "0.5", "0.1", "2.5", "9007199254740993", "9223372036854775807", "1e30", "-1e30")
        return st.sampled_from(texts).map(lambda t: Constant(int(t) if t.lstrip("-").isdigit() else Decimal(t)))
    if kind == "timestamp_ntz":
        return st.sampled_from(DOMAINS["timestamp_ntz"] + DOMAINS["date"]).map(Constant)
    return st.sampled_from(DOMAINS[kind]).map(Constant)


# Numbers of the rule inside of expressions, and differences that rules tolerate.
FACTORS = ("0", "1", "3", "-1", "0.5", "0.1", "2.50", "9007199254740993")
TOLERANCES = (
    "0",
    "1",
    "0.5",
    "-1",
    "0.1",
    "2.5",
    "43200.000001",
    "1e-9",
    "9007199254740993",
    "1e30",
    "0.09999999999999999",
)


def number(text: str) -> Constant:
    return Constant(int(text) if text.lstrip("-").isdigit() else Decimal(text))


@st.composite
def expressions(
    draw: st.DrawFn, types: Mapping[str, str], row: Row, *, depth: int = 2, outermost: bool = True
) -> tuple[Operand, str]:
    """An expression of one row, and the type of what it may be compared with."""
    name = draw(st.sampled_from(sorted(types)))
    kind, column = types[name], Column(row, name)
    if depth == 0:
        return column, kind
    inner: Operand
    if kind in NUMBERS:
        numbers = {n: k for n, k in types.items() if k in NUMBERS}
        inner, kind = draw(expressions(numbers, row, depth=depth - 1, outermost=False))
        shape = draw(st.sampled_from(["+", "-", "*", "/", "%", "+", "*", "one", "round", "coalesce"]))
        if shape == "coalesce" and kind == "double" and not outermost:
            # The reference does not know that the 0 of coalesce(t.x, 0) is a double: to calculate on with it rounds.
            shape = "one"
        if shape == "one":
            return Call(draw(st.sampled_from([NEGATIVE, "abs", "floor", "ceil"])), (inner,)), kind
        if shape == "round":
            return Call("round", (inner, Constant(draw(st.integers(0, 3))))[: draw(st.integers(1, 2))]), kind
        if shape == "coalesce":
            # Numbers that are doubles: a value alone does not tell whether it is meant to be one.
            return Call("coalesce", (inner, number(draw(st.sampled_from(("0", "1", "0.5")))))), kind
        other: Operand
        other, other_kind = draw(expressions(numbers, row, depth=depth - 1, outermost=False))
        if draw(st.booleans()):
            other, other_kind = number(draw(st.sampled_from(FACTORS))), kind
        pair = (inner, other) if draw(st.booleans()) or isinstance(other, Column) else (other, inner)
        made = "double" if shape == "/" or "double" in (kind, other_kind) else "decimal(20,2)"
        return Call(shape, pair), made
    if kind == "string":
        inner, _ = draw(expressions({n: k for n, k in types.items() if k == "string"}, row, depth=0))
        shape = draw(st.sampled_from(["lower", "upper", "trim", "substr", "coalesce", "length"]))
        if shape == "substr":
            places = (Constant(draw(st.integers(1, 2))), Constant(draw(st.integers(0, 2))))
            return Call(shape, (inner, *places[: draw(st.integers(1, 2))])), kind
        if shape == "coalesce":
            return Call(shape, (inner, Constant(draw(st.sampled_from(["", "z"]))))), kind
        return Call(shape, (inner,)), "bigint" if shape == "length" else kind
    if kind in TIMES:
        others = sorted(n for n, k in types.items() if k in TIMES)
        parts = ["year", "month", "day", "-", "coalesce", *(["hour"] if kind == "timestamp_ntz" else [])]
        shape = draw(st.sampled_from(parts))
        if shape == "-":
            return Call("-", (column, Column(row, draw(st.sampled_from(others))))), "decimal(20,2)"
        if shape == "coalesce":
            return Call(shape, (column, Constant(draw(st.sampled_from(DOMAINS[kind]))))), kind
        return Call(shape, (column,)), "bigint"
    return column, kind


@st.composite
def tolerances(draw: st.DrawFn, types: Mapping[str, str]) -> Predicate | None:
    """A difference of the two rows against a number."""
    for family in draw(st.permutations([NUMBERS, TIMES])):
        names = sorted(name for name, kind in types.items() if kind in family)
        if names:
            break
    else:
        return None
    first = draw(st.sampled_from(names))
    second = draw(st.sampled_from([first, first, *names]))
    left, right = Column("t", first), Column("s", second)
    sides: list[Operand] = [left, right]
    if family is NUMBERS and draw(st.booleans()):
        number_types = {name: types[name] for name in names}
        sides[0], _ = draw(expressions(number_types, "t", depth=1, outermost=False))
        sides[1] = sides[0].mirrored() if draw(st.booleans()) else right  # type: ignore[union-attr]
    apart = Call("-", tuple(sides))
    operand = Call("abs", (apart,)) if draw(st.booleans()) else apart
    allowed = draw(st.sampled_from([EQ, NE, LT, LE, GT, GE]))
    return comparison(operand, allowed, number(draw(st.sampled_from(TOLERANCES))))


@st.composite
def predicates(draw: st.DrawFn, types: Mapping[str, str], *, rows: tuple[Row, ...] = ("t", "s")) -> Predicate:
    name = draw(st.sampled_from(sorted(types)))
    kind = types[name]
    column = Column(draw(st.sampled_from(rows)), name)
    allowed = draw(st.sampled_from([EQ, NE, LT, LE, GT, GE] if kind in ORDERED else [EQ, NE]))
    shapes = ["two", "two", "two", "cross", "constant", "null or text", "in", "expression", "expression", "tolerance"]
    shape = draw(st.sampled_from(shapes))
    if shape == "tolerance" and rows == ("t", "s"):
        tolerance = draw(tolerances(types))
        if tolerance is not None:
            return tolerance
    if shape == "expression":
        return draw(calculated(types, rows))
    if shape == "null or text" and (kind != "string" or draw(st.booleans())):
        return NullTest(column, draw(st.booleans()))
    if shape == "in" and kind != "binary":
        return Membership(
            column, frozenset(draw(st.lists(constants(kind), min_size=1, max_size=2))), draw(st.booleans())
        )
    if shape == "null or text" and kind == "string":
        return TextTest(column, "matches", draw(st.sampled_from(PATTERNS)), draw(st.booleans()))
    if shape == "constant" and kind != "binary":
        return comparison(column, allowed, draw(constants(kind)))
    if shape == "cross":
        others = sorted(other for other in types if comparable(kind, types[other]))
        return comparison(column, allowed, Column(draw(st.sampled_from(rows)), draw(st.sampled_from(others))))
    if rows == ("t", "s"):
        return comparison(Column("t", name), allowed, Column("s", name))
    return comparison(column, allowed, draw(constants(kind))) if kind != "binary" else NullTest(column, False)


def raw_texts(kind: str, value: Any) -> list[str]:
    """Ways in which a rule file may hold the value in a tableau: all of them are one value of the column."""
    if kind == "boolean":
        return [str(value).lower(), str(value).upper()]
    if kind == "bigint":
        return [str(value), f"{value}.0", f"{value}e0"]
    if kind == "decimal(20,2)":
        return [str(value), f"{value}0", f"{value:e}"]
    return [str(value), f"{value} 00:00:00", f"{value}T00:00"] if kind == "date" else [str(value)]


@st.composite
def calculated(draw: st.DrawFn, types: Mapping[str, str], rows: tuple[Row, ...]) -> Predicate:
    """A predicate of any shape on an expression."""
    left, kind = draw(expressions(types, draw(st.sampled_from(rows))))
    assert not isinstance(left, Constant)
    allowed = draw(st.sampled_from([EQ, NE, LT, LE, GT, GE] if kind in ORDERED else [EQ, NE]))
    shape = draw(st.sampled_from(["same", "same", "other", "other", "constant", "null", "in or text"]))
    if shape == "same" and rows == ("t", "s"):
        return comparison(left, allowed, left.mirrored())
    if shape == "other":
        right, other_kind = draw(expressions(types, draw(st.sampled_from(rows)), depth=draw(st.integers(0, 1))))
        if comparable(kind, other_kind):
            return comparison(left, allowed, right)
    if shape == "null" or kind == "binary":
        return NullTest(left, draw(st.booleans()))
    if shape == "in or text":
        if kind == "string":
            return TextTest(left, "matches", draw(st.sampled_from(PATTERNS)), draw(st.booleans()))
        listed = frozenset(draw(st.lists(constants(kind), min_size=1, max_size=2)))
        return Membership(left, listed, draw(st.booleans()))
    return comparison(left, allowed, draw(constants(kind)))


@st.composite
def dependencies(draw: st.DrawFn, types: Mapping[str, str]) -> Body:
    names = draw(st.permutations(sorted(types)))
    cut = draw(st.integers(1, max(1, len(names) - 1)))
    left, right = tuple(names[:cut]), tuple(names[cut : cut + draw(st.integers(1, 2))])
    shape = draw(st.sampled_from(["key", "fd", "fd", "cfd", "tableau", "tableau"]))
    if shape == "key" or not right:
        return Key(left)
    plain = tuple(n for n in (*left, *right) if types[n] in ("bigint", "string", "boolean", "date", "decimal(20,2)"))

    def side(columns: tuple[str, ...], as_raw: bool) -> tuple[Constant | None, ...]:
        made: list[Constant | None] = []
        for name in columns:
            if name in plain and draw(st.booleans()):
                value = draw(st.sampled_from(DOMAINS[types[name]]))
                text = draw(st.sampled_from(raw_texts(types[name], value))) if as_raw else None
                made.append(Constant(value) if text is None else Constant(text, raw=True))
            else:
                made.append(None)
        return tuple(made)

    if shape == "cfd":
        pattern = Pattern(side(left, False), side(right, False))
        if any(v is not None for v in (*pattern.left, *pattern.right)):
            return CFD(left, right, (pattern,), inline=True)
        return FD(left, right)
    if shape == "tableau":
        lines = {Pattern(side(left, True), side(right, True)): None for _ in range(draw(st.integers(1, 3)))}
        return CFD(left, right, tuple(lines))
    return FD(left, right)


@st.composite
def bodies(draw: st.DrawFn, types: Mapping[str, str]) -> Body:
    """A rule of any kind that some table could violate."""
    for _ in range(20):
        try:
            shapes = ["dependency", "dependency", "denial", "denial", "row", "if", "near", "overlap"]
            shape = draw(st.sampled_from(shapes))
            if shape == "dependency":
                body = draw(dependencies(types))
            elif shape == "near":
                # Tolerances beside each other and beside other predicates, such as the column that rows agree on.
                drawn = [draw(tolerances(types)) for _ in range(draw(st.integers(1, 3)))]
                near = [tolerance for tolerance in drawn if tolerance is not None]
                if not near:
                    continue
                body = Denial(denial([*draw(st.lists(predicates(types), max_size=1)), *near]))
            elif shape == "overlap":
                start, *rest = draw(st.permutations(sorted(types)))
                ends = [name for name in rest if comparable(types[start], types[name])]
                if types[start] not in ORDERED or not ends:
                    continue
                body = NoOverlap(tuple(name for name in rest[:1] if name != ends[-1]), start, ends[-1])
            elif shape == "if":
                premise = draw(st.lists(predicates(types), min_size=1, max_size=2))
                conclusion = draw(st.lists(predicates(types), min_size=1, max_size=2))
                body = Implication(tuple(premise), tuple(conclusion))
            else:
                rows: tuple[Row, ...] = ("t",) if shape == "row" else ("t", "s")
                body = Denial(denial(draw(st.lists(predicates(types, rows=rows), min_size=1, max_size=3))))
            if body.denials:  # raises where the body is trivial
                return body
        except HoldfastError:
            continue
    return Key((sorted(types)[0],))


@dataclass(frozen=True)
class RandomRules:
    rules: RuleSet
    conditions: Mapping[str, Callable[[Mapping[str, Any]], bool]]


@st.composite
def rule_sets(draw: st.DrawFn, table: RandomTable, *, size: int = 4) -> RandomRules:
    types = {name: kind for name, kind in table.types.items() if name != "id"}
    made, conditions = [], {}
    for i in range(size):
        rule = Rule(f"r{i}", draw(bodies(types)), severity=draw(st.sampled_from(["error", "warn"])))
        if draw(st.integers(0, 3)) == 0:
            rule = replace(rule, where="id % 2 = 0")
            conditions[rule.name] = lambda row: row["id"] % 2 == 0
        if draw(st.integers(0, 3)) == 0:
            rule = replace(rule, allow=allowance(draw(st.sampled_from(["1", "2", "20%", "50%"]))))
            if rule.severity == "error":
                rule = replace(rule, warn=draw(st.none() | st.just(allowance(0 if rule.allow.count else "10%"))))
        made.append(rule)
    nulls = draw(st.sampled_from(["sql", "equal"]))
    return RandomRules(RuleSet(tuple(made), ("id",), nulls), conditions)  # type: ignore[arg-type]


def rule_texts() -> st.SearchStrategy[str]:
    """Rules as text, printed from random ones over columns with awkward names."""
    types = dict(zip(NAMES, sorted(DOMAINS), strict=False))
    return bodies(types).filter(lambda b: not (isinstance(b, CFD) and not b.inline)).map(str)


__all__ = [
    "ARROW",
    "Discovery",
    "RandomRules",
    "RandomTable",
    "bodies",
    "discoveries",
    "parse_rule",
    "rule_sets",
    "rule_texts",
    "tables",
]
