"""Conditions in SQL that every row is to satisfy, as rules on single rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import sqlglot
from sqlglot import exp

from holdfast.errors import ConditionError
from holdfast.exchange.imported import column_text
from holdfast.exchange.patterns import like_pattern, whole_pattern
from holdfast.programs.sql_text import with_escaped_quotes
from holdfast.rules.predicate import Constant

_MOST = 32
_COMPARED: Mapping[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("=", "!="),
    exp.NEQ: ("!=", "="),
    exp.LT: ("<", ">="),
    exp.LTE: ("<=", ">"),
    exp.GT: (">", "<="),
    exp.GTE: (">=", "<"),
}
_SIGNS: Mapping[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_FUNCTIONS: Mapping[type[exp.Expr], str] = {
    exp.Abs: "abs",
    exp.Round: "round",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Trim: "trim",
    exp.Length: "length",
    exp.Substring: "substr",
    exp.Coalesce: "coalesce",
    exp.Year: "year",
    exp.Month: "month",
    exp.Day: "day",
    exp.Hour: "hour",
}
# Conjunctions, any of which makes a condition true, or false.
_Ways = list[tuple[str, ...]]


def parsed_sql(text: str, *, dialect: str = "spark") -> exp.Expr:
    """Returns the expression. Raises ConditionError where it cannot be read."""
    try:
        # What sqlglot takes for two texts beside each other is one with a quotation mark in it.
        return sqlglot.parse_one(with_escaped_quotes(text) if dialect == "spark" else text, read=dialect)
    except sqlglot.errors.SqlglotError:
        raise ConditionError(f"the SQL {text!r} cannot be read.") from None


def condition_rules(condition: str | exp.Expr, *, dialect: str = "spark") -> list[str]:
    """Returns rules that a row breaks exactly where the condition is false; null is not false.

    >>> condition_rules("net <= total AND (vat = 0 OR country IS NOT NULL)")
    ['not(t.net > t.total)', 'not(t.vat != 0 and t.country is null)']
    >>> condition_rules("age BETWEEN 0 AND 120")
    ['if t.age is not null then t.age >= 0 and t.age <= 120']
    """
    parsed = parsed_sql(condition, dialect=dialect) if isinstance(condition, str) else condition
    ways = list(dict.fromkeys(_ways(parsed, False)))
    if not ways:
        raise ConditionError("no row could break it.")
    joined = _range_rule(parsed)
    return [joined] if joined is not None else [f"not({' and '.join(way)})" for way in ways]


def _range_rule(condition: exp.Expr) -> str | None:
    """One rule for a range of one operand; None for other conditions."""
    parts = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
    parts = [bound for part in parts for bound in (_bounds(part) if isinstance(part, exp.Between) else [part])]
    left = {part.this for part in parts if type(part) in _COMPARED}
    if len(parts) < 2 or len(left) != 1 or any(type(part) not in _COMPARED for part in parts):
        return None
    texts = [way for part in parts for (way,) in _ways(part, True)]
    return f"if {_operand(left.pop())} is not null then {' and '.join(texts)}"


def _ways(node: exp.Expr, wanted: bool) -> _Ways:
    """The conjunctions of predicates, one of which has to be true for the condition to be `wanted`."""
    if isinstance(node, exp.Paren):
        return _ways(node.this, wanted)
    if isinstance(node, exp.Not):
        return _ways(node.this, not wanted)
    if isinstance(node, exp.Between):
        low, high = _bounds(node)
        return _ways(exp.And(this=low, expression=high), wanted)
    if isinstance(node, exp.And | exp.Or):
        both = [_ways(part, wanted) for part in (node.this, node.expression)]
        if isinstance(node, exp.Or) == wanted:
            return both[0] + both[1]
        ways = [(*a, *b) for a, b in product(*both)]
        if len(ways) > _MOST:
            raise ConditionError(f"it is more than {_MOST} rules.")
        return ways
    return [(_predicate(node, wanted),)]


def _bounds(node: exp.Between) -> tuple[exp.Expr, exp.Expr]:
    value, low, high = node.this, node.args["low"], node.args["high"]
    return exp.GTE(this=value, expression=low), exp.LTE(this=value, expression=high)


def _predicate(node: exp.Expr, wanted: bool) -> str:
    sign = _COMPARED.get(type(node))
    if sign is not None:
        return f"{_operand(node.this)} {sign[not wanted]} {_operand(node.expression)}"
    # sqlglot keeps NOT LIKE as one thing.
    wanted = wanted != bool(node.args.get("negate"))
    no = "" if wanted else "not "
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return f"{_operand(node.this)} is {no}null"
    if isinstance(node, exp.In) and node.expressions:
        values = [_constant(value) for value in node.expressions]
        return f"{_operand(node.this)} {no}in ({', '.join(values)})"
    if isinstance(node, exp.RegexpLike | exp.Like) and isinstance(node.expression, exp.Literal):
        pattern = node.expression.this
        whole = whole_pattern(pattern) if isinstance(node, exp.RegexpLike) else like_pattern(pattern)
        return f"{_operand(node.this)} {no}matches {Constant(whole)}"
    if isinstance(node, exp.Column):
        return f"{_operand(node)} = {'true' if wanted else 'false'}"
    raise _unknown(node)


def _constant(node: exp.Expr) -> str:
    if isinstance(node, exp.Column | exp.Null):
        raise _unknown(node)
    return _operand(node)


def _operand(node: exp.Expr) -> str:
    if isinstance(node, exp.Paren):
        return f"({_operand(node.this)})"
    if isinstance(node, exp.Column) and not node.table:
        return column_text(node.name)
    if isinstance(node, exp.Literal):
        return str(Constant(node.this)) if node.is_string else str(node.this)
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if isinstance(node, exp.Neg):
        return f"-{_operand(node.this)}"
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        return _typed_text(node)
    if isinstance(node, exp.TsOrDsToDate | exp.TsOrDsToTimestamp):
        return _operand(node.this)
    sign = _SIGNS.get(type(node))
    if sign is not None:
        return f"{_operand(node.this)} {sign} {_operand(node.expression)}"
    function = _FUNCTIONS.get(type(node))
    if function is None:
        raise _unknown(node)
    given = [value for value in node.args.values() if isinstance(value, exp.Expr)]
    given += [value for values in node.args.values() if isinstance(values, list) for value in values]
    return f"{function}({', '.join(map(_operand, given))})"


def _typed_text(node: exp.Cast) -> str:
    kinds: Mapping[bool, Callable[[str], str]] = {
        node.is_type("date"): lambda text: f"date {text}",
        node.is_type("timestamp", "timestamptz", "timestampntz", "timestampltz"): lambda text: f"timestamp {text}",
    }
    if True not in kinds:
        raise _unknown(node)
    return kinds[True](str(Constant(node.this.this)))


def _unknown(node: exp.Expr) -> ConditionError:
    return ConditionError(f"rules do not know {node.sql(dialect='spark')!r}.")
