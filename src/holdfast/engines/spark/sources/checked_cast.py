"""Casts that raise during the scan when a value does not fit: no silent null, no second scan."""

from __future__ import annotations

import re
from typing import Literal

from pyspark.sql import Column
from pyspark.sql import functions as F

from holdfast.tables.csv_types import BLANKS, CsvType, Shape, shape
from holdfast.tables.source_failures import MOST_SHOWN

Complaint = Literal["value", "bytes"]

_REPLACEMENT = "\ufffd"  # what Spark's reader puts in the place of bytes that are not UTF-8
_NEVER = "\x00holdfast\x00"
_COMPLAINT = re.compile(
    r"\{\{holdfast:(?P<token>[0-9a-f]{8}):(?P<what>value|bytes):(?P<column>[0-9]+):(?P<value>.*?):end\}\}", re.DOTALL
)


def checked_cast(column: str, to: CsvType, *, token: str, position: int, null_values: tuple[str, ...] = ()) -> Column:
    """Returns text `column` as type `to`; null where it is null, blank or in `null_values`; raises for other text.

    ANSI mode does not matter: try_cast is the same with it and without. It accepts more text than we do ('1d', '0x1p3',
    '2024-01-05 x', nine fraction digits), so a condition guards it.
    """
    # A null value such as -999 is a valid number: it must become null before the cast, also with blanks around it.
    castable = any(shape(value) is not Shape.TEXT for value in null_values)
    trimmed = f"btrim({column}, {_literal(BLANKS)})"
    absent = f"{column} IS NULL"
    if null_values:
        absent += f" OR {trimmed if castable else column} IN ({', '.join(map(_literal, null_values))})"
    usual = _usual(column, to)
    cast = f"try_cast({column} AS {to.sql})"
    quick = cast if usual is None else f"CASE WHEN {usual} THEN {cast} END"
    careful = _apart(column, _careful("x", to, _complain("value", "x", token, position), null_values))
    return F.expr(f"CASE WHEN {absent} THEN NULL ELSE coalesce({quick}, {careful}) END")


def checked_text(
    column: str, *, token: str, position: int, check_bytes: bool, null_values: tuple[str, ...] = ()
) -> Column:
    """Returns text `column` as it is; null where it is in `null_values`; raises where bytes were not UTF-8.

    Without `check_bytes` it raises for a text that never occurs: this keeps the optimizer from pushing a filter on the
    column into the CSV parser, which would then drop ragged rows without a message.
    """
    wrong = _literal(_REPLACEMENT if check_bytes else _NEVER)
    complaint = _apart(column, f"CAST({_complain('bytes', 'x', token, position)} AS STRING)")
    nulls = f"WHEN {column} IN ({', '.join(map(_literal, null_values))}) THEN NULL " if null_values else ""
    return F.expr(f"CASE WHEN contains({column}, {wrong}) THEN {complaint} {nulls}ELSE {column} END")


def checked_conversion(column: str, source: str, to: CsvType, *, token: str, position: int) -> Column:
    """Returns `column` of SQL type `source` as type `to`; raises where casting back does not give the same value."""
    if to.kind == "text":
        return F.expr(f"CAST({column} AS STRING)")
    cast = f"try_cast({column} AS {to.sql})"
    same = f"{column} IS NULL OR try_cast({cast} AS {source}) <=> {column}"
    complaint = _complain("value", f"CAST({column} AS STRING)", token, position)
    return F.expr(f"CASE WHEN {same} THEN {cast} ELSE {complaint} END")


def find_complaint(error_text: str, token: str) -> tuple[Complaint, int, str] | None:
    """Returns what the scan of the table with this token raised: the kind of problem, the column, the value."""
    for match in _COMPLAINT.finditer(error_text):
        if match["token"] == token:
            what: Complaint = "value" if match["what"] == "value" else "bytes"
            return what, int(match["column"]), match["value"]
    return None


def _complain(what: Complaint, value: str, token: str, position: int) -> str:
    start = _literal(f"{{{{holdfast:{token}:{what}:{position}:")
    return f"raise_error(concat({start}, substring({value}, 1, {MOST_SHOWN}), {_literal(':end}}')}))"


def _careful(value: str, to: CsvType, complaint: str, null_values: tuple[str, ...]) -> str:
    """Returns the cast for unusual forms, missing values, and values that do not fit."""
    trimmed = f"btrim({value}, {_literal(BLANKS)})"
    absent = f"{trimmed} IN ({', '.join(map(_literal, ('', *null_values)))})"
    pattern = to.pattern
    cast = f"try_cast({_with_seconds(value) if to.kind == 'timestamp' else value} AS {to.sql})"
    if pattern is not None:
        cast = f"CASE WHEN {_matches(value, pattern)} THEN {cast} END"
    return f"CASE WHEN {absent} THEN NULL ELSE coalesce({cast}, {complaint}) END"


def _with_seconds(value: str) -> str:
    """Returns a time with its seconds: Spark reads '10:00', but not '10:00Z'."""
    return f"regexp_replace({value}, {_literal('([ T][0-9]{2}:[0-9]{2})( ?[-+Z])')}, {_literal('$1:00$2')})"


def _apart(column: str, expression_of_x: str) -> str:
    """Returns the expression with `column` for x, outside of the code that Spark generates for the operator.

    Spark interprets the lambda, and does not use whole-stage code generation for its operator, so that the code is in
    small methods. In one method, the checks of about ten columns exceed the 8,000 bytes beyond which Java does not
    compile, and the scan is five times slower.
    """
    return f"zip_with(array({column}), array({column}), (x, y) -> {expression_of_x})[0]"


def _usual(value: str, to: CsvType) -> str | None:
    """Returns a condition that is true only where `value` has the usual form of `to`; None where the cast is strict.

    Comparing bytes is several times cheaper than a pattern. A value that matches only the pattern is cast, too, but
    more slowly.
    """
    if to.given and to.kind in ("boolean", "bigint"):
        return None
    if to.kind == "boolean":
        return f"{value} IN ('true', 'false', 'True', 'False', 'TRUE', 'FALSE')"
    signed = f"({value} >= '-1' AND {value} < '.')"
    if to.kind == "bigint":
        return f"{value} >= '1' OR {value} = '0' OR {signed}"
    if to.kind == "double":
        # Java reads '1d' and '1f' as numbers, so the last character is checked. '0x…' is left to the pattern.
        start = f"({value} >= '1' OR ({value} >= '0' AND {value} < '00') OR {signed})"
        return f"substring({value}, -1, 1) BETWEEN '.' AND '9' AND {start}"
    if to.kind == "date":
        # Spark reads '2024-01-5T' as a date, so the last character is checked.
        dashes = f"substring({value}, 5, 1) = '-' AND substring({value}, 8, 1) = '-'"
        return f"octet_length({value}) = 10 AND {dashes} AND substring({value}, -1, 1) BETWEEN '0' AND '9'"
    pattern = to.pattern
    assert pattern is not None, f"every other type has a pattern: {to.kind}"
    return _matches(value, pattern)


def _matches(value: str, pattern: str) -> str:
    whole = rf"^\s*{pattern}\s*\z"
    return f"rlike({value}, {_literal(whole)})"


def _literal(text: str) -> str:
    """Returns the text as an SQL literal, for all characters and for every setting of backslashes."""
    plain = re.fullmatch(r"[A-Za-z0-9 .:+-]*", text) is not None
    return f"'{text}'" if plain else f"CAST(X'{text.encode().hex()}' AS STRING)"
