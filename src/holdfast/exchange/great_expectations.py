"""Suites of Great Expectations, of its versions 0.x and 1.x, as rules."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from holdfast.errors import ConditionError, RuleFileError
from holdfast.exchange.conditions import parsed_sql
from holdfast.exchange.imported import (
    CheckArguments,
    ImportedRules,
    LeftOut,
    Piece,
    Remark,
    attempt,
    column_text,
    condition_name,
    condition_value,
    gathered,
    made_rule,
    missing_share,
    names_text,
    value_text,
    values_text,
)
from holdfast.exchange.patterns import like_pattern, whole_pattern
from holdfast.rules.predicate import Constant
from holdfast.rules.rule import Rule

_TYPES = "what types columns have is said with --types, or by the table itself"
_AGGREGATE = "it is about a number computed from the whole column, and rules are about rows and pairs of rows"
_ORDER = "rows have no order of their own; compare with the column that orders them"
_TABLE = "it is about the table's columns or its number of rows, and rules are about rows and pairs of rows"
_REASONS = {
    "expect_column_values_to_be_of_type": _TYPES,
    "expect_column_values_to_be_in_type_list": _TYPES,
    "expect_column_values_to_be_dateutil_parseable": _TYPES,
    "expect_column_values_to_match_strftime_format": _TYPES,
    "expect_column_values_to_be_increasing": _ORDER,
    "expect_column_values_to_be_decreasing": _ORDER,
    "unexpected_rows_expectation": "it is a query; write what it looks for as a rule",
}


def read_suite(content: Any, *, origin: str) -> ImportedRules:
    """Returns the expectations of a suite as rules. Raises RuleFileError where it is no suite."""
    expectations = content.get("expectations") if isinstance(content, dict) else None
    if not isinstance(expectations, list):
        raise RuleFileError(
            f"{origin} is no suite of Great Expectations.", hint="such a file is JSON with a list of expectations."
        )
    return gathered((piece for entry in expectations for piece in _pieces(entry)), origin=origin)


def _pieces(entry: Any) -> Iterator[Piece]:
    kind = entry.get("expectation_type", entry.get("type")) if isinstance(entry, dict) else None
    if not isinstance(kind, str):
        yield LeftOut(str(entry), "it does not say which expectation it is")
        return
    given = CheckArguments.of(entry.get("kwargs"))
    columns = [given[name] for name in ("column", "column_A", "column_B", "column_list") if name in given]
    check = f"{kind}({', '.join(map(str, columns))})"
    yield from attempt(check, lambda: _expectation(kind, check, given, entry))


def _expectation(kind: str, check: str, given: CheckArguments, entry: Mapping[str, Any]) -> Iterator[Piece]:
    reader = _READERS.get(kind)
    if reader is None:
        about_column = kind.startswith("expect_column_") and not kind.startswith("expect_column_to_exist")
        yield LeftOut(check, _REASONS.get(kind, _AGGREGATE if about_column else _TABLE))
        return
    terms = _terms(entry, given)
    for piece in reader(check, given):
        if not isinstance(piece, Rule):
            yield piece
            continue
        rule = replace(piece, **terms)
        if "allow" in terms and kind in _OF_VALUES:
            # A share is one of the values that are not null.
            known = f"{condition_name(str(given['column']))} IS NOT NULL"
            rule = replace(rule, where=known if rule.where is None else f"({rule.where}) AND {known}")
        elif "allow" in terms and rule.kind == "key":
            yield Remark(check, "mostly counts every row of a duplicate, allow all but one")
        yield rule


def _terms(entry: Mapping[str, Any], given: CheckArguments) -> dict[str, Any]:
    terms: dict[str, Any] = {}
    if entry.get("severity") in ("warning", "info"):
        terms["severity"] = "warn"
    if (allow := missing_share(given.get("mostly", 1))) is not None:
        terms["allow"] = allow
    if given.get("row_condition"):
        terms["where"] = _row_condition(given["row_condition"], str(given.get("condition_parser", "")))
    if description := _described(entry):
        terms["description"] = description
    return terms


def _described(entry: Mapping[str, Any]) -> str | None:
    notes = (entry.get("meta") or {}).get("notes")
    notes = notes.get("content") if isinstance(notes, dict) else notes
    notes = " ".join(map(str, notes)) if isinstance(notes, list) else notes
    description = entry.get("description") or notes
    return description if isinstance(description, str) else None


# Expectations, by name: rules without terms, and what is to be said of them ------------------------------------------


def _unique(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield made_rule(f"unique({names_text([given['column']])})")


def _unique_together(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield made_rule(f"unique({names_text(given['column_list'])})")
    if given.get("ignore_row_if") != "any_value_is_missing":
        yield Remark(check, "rows with a null in one of the columns are not compared")


def _different_in_row(check: str, given: CheckArguments) -> Iterator[Piece]:
    for a, b in combinations(given["column_list"], 2):
        yield made_rule(f"not({column_text(a)} = {column_text(b)})")


def _not_null(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield made_rule(f"not({column_text(given['column'])} is null)")


def _null(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield made_rule(f"not({column_text(given['column'])} is not null)")


def _in_set(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield made_rule(f"not({column_text(given['column'])} not in {values_text(given.get('value_set'))})")


def _not_in_set(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield made_rule(f"not({column_text(given['column'])} in {values_text(given.get('value_set'))})")


def _between(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield _range(column_text(given["column"]), given)


def _range(operand: str, given: CheckArguments) -> Rule:
    bounds = []
    for side, sign in (("min", ">"), ("max", "<")):
        if given.get(f"{side}_value") is not None:
            equal = "" if given.get(f"strict_{side}") else "="
            bounds.append((f"{sign}{equal}", value_text(given[f"{side}_value"])))
    if not bounds:
        raise ConditionError("it has no bound.")
    allowed = " and ".join(f"{operand} {sign} {value}" for sign, value in bounds)
    return made_rule(f"if {operand} is not null then {allowed}")


def _least(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield from _one_side(check, given, "min", "max")


def _greatest(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield from _one_side(check, given, "max", "min")


def _one_side(check: str, given: CheckArguments, side: str, other: str) -> Iterator[Piece]:
    """The least value is at least so much where all values are; that it is at most so much is about the column."""
    if given.get(f"{other}_value") is not None:
        yield LeftOut(f"{check}, {other}_value", _AGGREGATE)
    if given.get(f"{side}_value") is not None:
        bound = CheckArguments((name, v) for name, v in given.items() if name in (f"{side}_value", f"strict_{side}"))
        yield _range(column_text(given["column"]), bound)


def _length_between(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield _range(f"length({column_text(given['column'])})", given)


def _length_equal(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield made_rule(f"not(length({column_text(given['column'])}) != {value_text(given['value'])})")


def _patterned(
    listed: str, convert: Callable[[str], str], *, wanted: bool
) -> Callable[[str, CheckArguments], Iterator[Piece]]:
    """Expectations on one pattern, or on a list of them of which any, or all, are to match."""

    def read(check: str, given: CheckArguments) -> Iterator[Piece]:
        column = column_text(given["column"])
        listed_patterns = given[listed]
        patterns = [
            convert(str(pattern))
            for pattern in (listed_patterns if isinstance(listed_patterns, list) else [listed_patterns])
        ]
        if wanted and given.get("match_on", "any") == "any":
            patterns = ["|".join(patterns)] if len(patterns) == 1 else ["|".join(f"(?:{p})" for p in patterns)]
        for pattern in patterns:
            yield made_rule(f"not({column} {'not ' if wanted else ''}matches {Constant(pattern)})")

    return read


def _pair_equal(check: str, given: CheckArguments) -> Iterator[Piece]:
    yield made_rule(f"not({column_text(given['column_A'])} != {column_text(given['column_B'])})")
    yield from _of_nulls(check, given)


def _pair_greater(check: str, given: CheckArguments) -> Iterator[Piece]:
    sign = "<" if given.get("or_equal") else "<="
    yield made_rule(f"not({column_text(given['column_A'])} {sign} {column_text(given['column_B'])})")
    yield from _of_nulls(check, given)


def _of_nulls(check: str, given: CheckArguments) -> Iterator[Piece]:
    if given.get("ignore_row_if") == "neither":
        yield Remark(check, "a row with a null in one of the columns does not break the rule")


def _sum(check: str, given: CheckArguments) -> Iterator[Piece]:
    total = " + ".join(map(column_text, given["column_list"]))
    yield made_rule(f"not({total} != {value_text(given['sum_total'])})")


_READERS: Mapping[str, Callable[[str, CheckArguments], Iterator[Piece]]] = {
    "expect_column_values_to_be_unique": _unique,
    "expect_compound_columns_to_be_unique": _unique_together,
    "expect_multicolumn_values_to_be_unique": _different_in_row,
    "expect_select_column_values_to_be_unique_within_record": _different_in_row,
    "expect_column_values_to_not_be_null": _not_null,
    "expect_column_values_to_be_null": _null,
    "expect_column_values_to_be_in_set": _in_set,
    "expect_column_distinct_values_to_be_in_set": _in_set,
    "expect_column_values_to_not_be_in_set": _not_in_set,
    "expect_column_values_to_be_between": _between,
    "expect_column_min_to_be_between": _least,
    "expect_column_max_to_be_between": _greatest,
    "expect_column_value_lengths_to_be_between": _length_between,
    "expect_column_value_lengths_to_equal": _length_equal,
    "expect_column_values_to_match_regex": _patterned("regex", whole_pattern, wanted=True),
    "expect_column_values_to_not_match_regex": _patterned("regex", whole_pattern, wanted=False),
    "expect_column_values_to_match_regex_list": _patterned("regex_list", whole_pattern, wanted=True),
    "expect_column_values_to_not_match_regex_list": _patterned("regex_list", whole_pattern, wanted=False),
    "expect_column_values_to_match_like_pattern": _patterned("like_pattern", like_pattern, wanted=True),
    "expect_column_values_to_not_match_like_pattern": _patterned("like_pattern", like_pattern, wanted=False),
    "expect_column_values_to_match_like_pattern_list": _patterned("like_pattern_list", like_pattern, wanted=True),
    "expect_column_values_to_not_match_like_pattern_list": _patterned("like_pattern_list", like_pattern, wanted=False),
    "expect_column_pair_values_to_be_equal": _pair_equal,
    "expect_column_pair_values_a_to_be_greater_than_b": _pair_greater,
    "expect_multicolumn_sum_to_equal": _sum,
}
# Those that ask only values that are not null.
_OF_VALUES = frozenset(
    name for name in _READERS if "_values_to_" in name or "_value_lengths_" in name or "_distinct_" in name
) - {
    "expect_column_values_to_be_unique",
    "expect_column_values_to_not_be_null",
    "expect_column_values_to_be_null",
    "expect_multicolumn_values_to_be_unique",
    "expect_select_column_values_to_be_unique_within_record",
}


# Conditions on rows --------------------------------------------------------------------------------------------------


def _row_condition(condition: Any, parser: str) -> str:
    """The condition as Spark's SQL, which `where` is."""
    if isinstance(condition, dict):
        return _condition_object(condition)
    if not isinstance(condition, str):
        raise ConditionError(f"the row_condition {condition!r} cannot be read.")
    if parser == "spark":
        parsed_sql(condition)
        return condition
    try:
        return _PythonCondition(condition).sql(ast.parse(condition, mode="eval").body)
    except (SyntaxError, ValueError):
        raise ConditionError(f"the row_condition {condition!r} cannot be read.") from None


_OPERATORS = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def _condition_object(condition: Mapping[str, Any]) -> str:
    """A condition as version 1.x keeps it in JSON."""
    kind = condition.get("type")
    if kind in ("and", "or"):
        parts = [_condition_object(part) for part in condition.get("conditions", ())]
        return f"({f' {kind.upper()} '.join(parts)})"
    column = condition_name(str((condition.get("column") or {}).get("name")))
    if kind == "nullity":
        return f"{column} IS {'' if condition.get('is_null') else 'NOT '}NULL"
    operator, value = condition.get("operator"), condition.get("parameter")
    if operator in _OPERATORS:
        return f"{column} {_OPERATORS[operator]} {condition_value(value)}"
    if operator in ("IN", "NOT_IN") and isinstance(value, list) and value:
        return f"{column} {operator.replace('_', ' ')} ({', '.join(map(condition_value, value))})"
    raise ConditionError(f"the row_condition {dict(condition)!r} cannot be read.")


@dataclass(frozen=True)
class _PythonCondition:
    """A condition in the words of pandas, `a > 5 and b == "x"`, or of version 0.x, `col("a") > 5`."""

    text: str

    def sql(self, node: ast.expr) -> str:
        if isinstance(node, ast.BoolOp):
            word = " AND " if isinstance(node.op, ast.And) else " OR "
            return f"({word.join(map(self.sql, node.values))})"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
            return (
                f"({self.sql(node.left)} {'AND' if isinstance(node.op, ast.BitAnd) else 'OR'} {self.sql(node.right)})"
            )
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
            return f"NOT ({self.sql(node.operand)})"
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self.compared(node.left, node.ops[0], node.comparators[0])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            nulls = {"notNull": "IS NOT NULL", "notnull": "IS NOT NULL", "isNull": "IS NULL", "isnull": "IS NULL"}
            if node.func.attr in nulls:
                return f"{self.value(node.func.value)} {nulls[node.func.attr]}"
        raise self.unknown()

    def compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> str:
        signs = {ast.Eq: "=", ast.NotEq: "<>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
        if type(operator) in signs:
            return f"{self.value(left)} {signs[type(operator)]} {self.value(right)}"
        if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, ast.List | ast.Tuple) and right.elts:
            word = "IN" if isinstance(operator, ast.In) else "NOT IN"
            return f"{self.value(left)} {word} ({', '.join(map(self.value, right.elts))})"
        raise self.unknown()

    def value(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return condition_name(node.id)
        if isinstance(node, ast.Constant):
            return condition_value(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return f"-{self.value(node.operand)}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "col" and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                return condition_name(name.value)
        raise self.unknown()

    def unknown(self) -> ConditionError:
        return ConditionError(f"the row_condition {self.text!r} cannot be read.")
