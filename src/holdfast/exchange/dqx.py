"""Checks of Databricks Labs DQX, in YAML or JSON, as rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from holdfast.errors import ConditionError, RuleFileError
from holdfast.exchange.conditions import condition_rules, parsed_sql
from holdfast.exchange.imported import (
    CheckArguments,
    ImportedRules,
    LeftOut,
    Piece,
    Remark,
    attempt,
    column_text,
    gathered,
    made_rule,
    names_text,
    of_table,
)
from holdfast.exchange.patterns import whole_pattern
from holdfast.rules.parse import is_table_name
from holdfast.rules.predicate import Constant
from holdfast.rules.rule import NamedTable, Rule

_AGGREGATE = "it is about a number computed from many rows, and rules are about rows and pairs of rows"
_NOW = "it depends on the time of the check, and rules are about the values of the table"
_FORMAT = "there is no such format; write it as matches '…'"
_REASONS = {
    **dict.fromkeys(("is_aggr_not_greater_than", "is_aggr_not_less_than", "is_aggr_equal"), _AGGREGATE),
    **dict.fromkeys(("is_aggr_not_equal", "has_no_aggr_outliers", "has_no_outliers", "is_in_distribution"), _AGGREGATE),
    **dict.fromkeys(("is_older_than_n_days", "is_not_in_future", "is_not_in_near_future", "is_data_fresh"), _NOW),
    **dict.fromkeys(("is_valid_date", "is_valid_timestamp"), "what types columns have is said with --types"),
    "sql_query": "it is a query; write what it looks for as a rule",
    "has_valid_schema": "it is about the table's columns, and rules are about rows and pairs of rows",
}


def read_checks(content: Any, *, origin: str, table: str | None = None) -> ImportedRules:
    """Returns checks as rules; those with another table need the name of the `table` that is checked.

    Raises RuleFileError where they are no list of checks.
    """
    if isinstance(content, dict) and isinstance(content.get("checks"), list):
        content = content["checks"]
    if not isinstance(content, list):
        raise RuleFileError(
            f"{origin} is no list of DQX checks.",
            hint="such a file is a list of entries with check: {function: …, arguments: …}.",
        )
    pieces = [piece for entry in content for piece in _pieces(entry, table)]
    named = {name for piece in pieces if isinstance(piece, Rule) for name in piece.tables}
    if named:
        pieces = [of_table(piece, table) if isinstance(piece, Rule) else piece for piece in pieces]
        named |= {table} if table is not None else set()
    return gathered(pieces, origin=origin, tables=[NamedTable(name) for name in sorted(named)])


def _pieces(entry: Any, table: str | None) -> Iterator[Piece]:
    call = entry.get("check") if isinstance(entry, dict) else None
    if not isinstance(call, dict) or not isinstance(call.get("function"), str):
        yield LeftOut(str(entry), "it does not say which function it is")
        return
    function, given = call["function"], CheckArguments.of(call.get("arguments"))
    repeated = call.get("for_each_column")
    named = "columns" if function in ("is_unique", "foreign_key") else "column"
    for column in repeated if isinstance(repeated, list) else [None]:
        own = given if column is None else CheckArguments({**given, named: column})
        check = f"{function}({_shown(own)})"
        yield from attempt(check, lambda own=own, check=check: _rules(function, check, own, entry, table))  # type: ignore[misc]


def _shown(given: CheckArguments) -> str:
    columns = given.get("column", given.get("columns", given.get("expression", "")))
    return ", ".join(map(str, columns)) if isinstance(columns, list) else str(columns)


def _rules(
    function: str, check: str, given: CheckArguments, entry: Mapping[str, Any], table: str | None
) -> Iterator[Piece]:
    terms: dict[str, Any] = {}
    if entry.get("criticality", "error") in ("warn", "warning"):
        terms["severity"] = "warn"
    if where := entry.get("filter"):
        parsed_sql(str(where))
        terms["where"] = str(where)
    name = entry.get("name")
    if function == "foreign_key":
        pieces: Iterator[Piece] = _foreign_key(check, given, table)
    elif function in _READERS:
        pieces = _READERS[function](check, given)
    else:
        yield LeftOut(
            check, _REASONS.get(function, _FORMAT if function.startswith("is_valid_") else "rules do not know it")
        )
        return
    for piece in pieces:
        if isinstance(piece, Rule):
            piece = replace(piece, **terms, name=str(name) if name else piece.name)
        yield piece


def _column(given: CheckArguments, argument: str = "column") -> exp.Expr:
    """The column, which may be an expression in SQL."""
    return parsed_sql(str(given[argument]))


def _limit(value: Any) -> exp.Expr:
    """A value as DQX reads it: text is SQL, but for dates."""
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    text = str(value)
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return exp.cast(exp.Literal.string(text), "date")
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d+)?", text):
        return exp.cast(exp.Literal.string(text), "timestamp")
    return parsed_sql(text)


def _said(condition: exp.Expr, given: CheckArguments) -> Iterator[Piece]:
    """The rules of the condition, and that the column is not null where nulls do not pass."""
    if given.get("allow_nulls") is False:
        yield made_rule(f"not({column_text(given['column'])} is null)")
    for text in condition_rules(condition):
        yield made_rule(text)


def _compared(kind: type[exp.Binary], argument: str) -> Callable[[str, CheckArguments], Iterator[Piece]]:
    def read(check: str, given: CheckArguments) -> Iterator[Piece]:
        tolerance = given.get("abs_tolerance")
        if given.get("rel_tolerance") is not None:
            raise ConditionError("rules have no relative tolerance.")
        column, limit = _column(given), _limit(given[argument])
        condition: exp.Expr = kind(this=column, expression=limit)
        if tolerance is not None:
            apart = exp.Abs(this=exp.Sub(this=column, expression=exp.paren(limit)))
            condition = (exp.LTE if kind is exp.EQ else exp.GT)(this=apart, expression=_limit(tolerance))
        yield from _said(condition, given)

    return read


def _ranged(*, wanted: bool) -> Callable[[str, CheckArguments], Iterator[Piece]]:
    def read(check: str, given: CheckArguments) -> Iterator[Piece]:
        low, high = _limit(given["min_limit"]), _limit(given["max_limit"])
        inside: exp.Expr = exp.Between(this=_column(given), low=low, high=high)
        yield from _said(inside if wanted else exp.Not(this=inside), given)

    return read


def _listed(argument: str, *, wanted: bool, nulls: bool = True) -> Callable[[str, CheckArguments], Iterator[Piece]]:
    def read(check: str, given: CheckArguments) -> Iterator[Piece]:
        values = [_limit(value) for value in given[argument]]
        column = _column(given)
        if given.get("case_sensitive") is False:
            column, values = exp.Lower(this=column), [_lowered(value) for value in values]
        inside: exp.Expr = exp.In(this=column, expressions=values)
        yield from _said(
            inside if wanted else exp.Not(this=inside),
            given if nulls else CheckArguments({**given, "allow_nulls": False}),
        )

    return read


def _lowered(value: exp.Expr) -> exp.Expr:
    return exp.Literal.string(value.this.lower()) if isinstance(value, exp.Literal) and value.is_string else value


def _nulls(*, wanted: bool) -> Callable[[str, CheckArguments], Iterator[Piece]]:
    def read(check: str, given: CheckArguments) -> Iterator[Piece]:
        yield made_rule(f"not({column_text(given['column'])} is {'not ' if wanted else ''}null)")

    return read


def _filled(*, nulls: bool) -> Callable[[str, CheckArguments], Iterator[Piece]]:
    def read(check: str, given: CheckArguments) -> Iterator[Piece]:
        column = column_text(given["column"])
        value = f"trim({column})" if given.get("trim_strings") else column
        yield made_rule(f"not({value} = '')" if nulls else f"not(coalesce({value}, '') = '')")

    return read


def _pattern(check: str, given: CheckArguments) -> Iterator[Piece]:
    word = "" if given.get("negate") else "not "
    yield made_rule(f"not({column_text(given['column'])} {word}matches {Constant(whole_pattern(str(given['regex'])))})")


def _expression(check: str, given: CheckArguments) -> Iterator[Piece]:
    condition = parsed_sql(str(given["expression"]))
    for text in condition_rules(exp.Not(this=exp.paren(condition)) if given.get("negate") else condition):
        yield made_rule(text)


def _unique(check: str, given: CheckArguments) -> Iterator[Piece]:
    if given.get("nulls_distinct") is False:
        yield Remark(check, "two nulls do not repeat each other; nulls: equal in the rule file makes them")
    if given.get("trim_strings"):
        raise ConditionError("keys of trimmed text are not known; write not(trim(t.x) = trim(s.x)).")
    yield made_rule(f"unique({names_text(given['columns'])})")


def _foreign_key(check: str, given: CheckArguments, table: str | None) -> Iterator[Piece]:
    other = str(given.get("ref_table") or given.get("ref_df_name"))
    other = other.rpartition(".")[2]
    if table is None:
        raise ConditionError("it names another table; say what the checked one is called, with --table NAME.")
    if not is_table_name(other):
        raise ConditionError(f"{other!r} cannot be the name of a table in a rule.")
    if given.get("negate") or given.get("null_safe"):
        raise ConditionError("only that values are in the other table can be said, of values that are not null.")
    yield made_rule(f"{table}({names_text(given['columns'])}) in {other}({names_text(given['ref_columns'])})")


_READERS: Mapping[str, Callable[[str, CheckArguments], Iterator[Piece]]] = {
    "is_not_null": _nulls(wanted=False),
    "is_null": _nulls(wanted=True),
    "is_not_empty": _filled(nulls=True),
    "is_not_null_and_not_empty": _filled(nulls=False),
    "is_in_list": _listed("allowed", wanted=True),
    "is_not_null_and_is_in_list": _listed("allowed", wanted=True, nulls=False),
    "is_not_in_list": _listed("forbidden", wanted=False),
    "is_equal_to": _compared(exp.EQ, "value"),
    "is_not_equal_to": _compared(exp.NEQ, "value"),
    "is_not_less_than": _compared(exp.GTE, "limit"),
    "is_not_greater_than": _compared(exp.LTE, "limit"),
    "is_in_range": _ranged(wanted=True),
    "is_not_in_range": _ranged(wanted=False),
    "regex_match": _pattern,
    "sql_expression": _expression,
    "is_unique": _unique,
}
