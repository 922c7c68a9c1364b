"""Casts that raise inside the scan when a value does not fit: no silent null, no second scan."""

from __future__ import annotations

import re
from typing import Literal

from pyspark.sql import Column
from pyspark.sql import functions as F

from holdfast.spark.csv_types import (
    BLANKS,
    DATE_PATTERN,
    EXPONENT_PATTERN,
    FRACTION_PATTERN,
    INTEGER_PATTERN,
    SPECIAL_PATTERN,
    TIME_PATTERN,
    ZONE_PATTERN,
    ColumnType,
    Shape,
    shape,
)

Complaint = Literal["value", "bytes"]

_REPLACEMENT = "\ufffd"  # what Spark's reader puts in the place of bytes that are not UTF-8
_NEVER = "\x00holdfast\x00"
_MOST_SHOWN = 200
_COMPLAINT = re.compile(
    r"\{\{holdfast:(?P<token>[0-9a-f]{8}):(?P<what>value|bytes):(?P<column>[0-9]+):(?P<value>.*?):end\}\}", re.DOTALL
)
_GIVEN_FRACTION_PATTERN = r"(?:[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"


def checked_cast(text: Column, to: ColumnType, *, token: str, column: int, null_values: tuple[str, ...] = ()) -> Column:
    """`text` as type `to`; null where it is null, blank or one of `null_values`; otherwise it raises.

    The same with ANSI mode on and off: try_cast() does not heed it. Its own tolerance is wider than ours
    ('1d', '0x1p3', '2024-01-05 x', nine fraction digits), so a guard goes before it.
    """
    absent = text.isNull() | (F.btrim(text, F.lit(BLANKS)) == "")
    if null_values:
        absent |= F.btrim(text, F.lit(BLANKS)).isin(*null_values)
    # -999 casts well: such nulls must be told apart before the cast. All others are met only after it has
    # failed, which keeps the check off the path of good values.
    castable = [value for value in null_values if shape(value) is not Shape.TEXT]
    value = F.when(~F.btrim(text, F.lit(BLANKS)).isin(*castable), text) if castable else text
    good = _guard(value, to)
    cast = (value if good is None else F.when(good, value)).try_cast(to.sql)
    nothing = F.lit(None).cast(to.sql)
    return F.coalesce(cast, F.when(absent, nothing).otherwise(_complain("value", text, token, column)))


def checked_text(
    text: Column, *, token: str, column: int, check_bytes: bool, null_values: tuple[str, ...] = ()
) -> Column:
    """`text` as it is; null where it is one of `null_values`; it raises where bytes were not UTF-8.

    Without `check_bytes` the branch that raises stays, on a text that never occurs: it keeps the optimizer
    from pushing a filter on this column into the CSV parser, which would then drop ragged rows unseen.
    """
    wrong = text.contains(_REPLACEMENT if check_bytes else _NEVER)
    checked = F.when(wrong, _complain("bytes", text, token, column))
    if null_values:
        checked = checked.when(text.isin(*null_values), F.lit(None).cast("string"))
    return checked.otherwise(text)


def checked_conversion(value: Column, source: str, to: ColumnType, *, token: str, column: int) -> Column:
    """`value` of SQL type `source` as type `to`; it raises where the way there and back changes the value."""
    if to.kind == "text":
        return value.cast("string")
    cast = value.try_cast(to.sql)
    same = value.isNull() | cast.try_cast(source).eqNullSafe(value)
    return F.when(same, cast).otherwise(_complain("value", value.cast("string"), token, column))


def find_complaint(error_text: str, token: str) -> tuple[Complaint, int, str] | None:
    """What the scan of the table with this token raised: the kind of trouble, the column, the value."""
    for match in _COMPLAINT.finditer(error_text):
        if match["token"] == token:
            what: Complaint = "value" if match["what"] == "value" else "bytes"
            return what, int(match["column"]), match["value"]
    return None


def _complain(what: Complaint, value: Column, token: str, column: int) -> Column:
    def message(shown: Column) -> Column:
        return F.concat(F.lit(f"{{{{holdfast:{token}:{what}:{column}:"), shown, F.lit(":end}}"))

    # The detour over a lambda is for speed: Spark leaves an operator that holds one out of whole-stage code
    # generation and cuts its code into small methods. As one method, the checks of some ten columns pass the
    # 8,000 bytes beyond which Java does not compile, and the scan is five times slower.
    shown = F.substring(value, 1, _MOST_SHOWN)
    return F.raise_error(F.transform(F.array(shown), message)[0])


def _guard(value: Column, to: ColumnType) -> Column | None:
    """True where `value` is written as `to` is written; None where the cast itself is strict enough.

    Comparing bytes is several times cheaper than a pattern, so the usual spellings pass by comparison.
    """
    if to.kind == "boolean":
        return None if to.given else F.lower(F.btrim(value, F.lit(BLANKS))).isin("true", "false")
    if to.kind == "bigint":
        if to.given:
            return None
        positive = (value >= "1") | (value == "0")
        negative = (value >= "-1") & (value < ".")
        return positive | negative | _matches(value, INTEGER_PATTERN)
    if to.kind == "double":
        number = _GIVEN_FRACTION_PATTERN if to.given else FRACTION_PATTERN
        # Java reads '1d' and '1f' as numbers: the last character decides. '0x…' falls to the pattern.
        plain_end = F.substring(value, -1, 1).between(".", "9")
        plain_start = (value >= "1") | ((value >= "0") & (value < "00")) | ((value >= "-1") & (value < "."))
        return (plain_end & plain_start) | _matches(value, f"(?:{number}{EXPONENT_PATTERN}?|{SPECIAL_PATTERN})")
    if to.kind == "decimal":
        whole = "[0-9]*" if to.given else "(?:0|[1-9][0-9]*)?"
        return _matches(value, rf"[-+]?{whole}(?:\.[0-9]{{0,{to.scale}}}0*)?")
    if to.kind == "date":
        dashes = (F.substring(value, 5, 1) == "-") & (F.substring(value, 8, 1) == "-")
        return ((F.octet_length(value) == 10) & dashes) | _matches(value, DATE_PATTERN)
    if to.kind == "timestamp_ntz":
        return _matches(value, f"{DATE_PATTERN}{TIME_PATTERN}?")
    assert to.kind == "timestamp", f"text has no guard and needs no cast: {to.kind}"
    if to.given:
        return _matches(value, f"{DATE_PATTERN}(?:{TIME_PATTERN}{ZONE_PATTERN}?)?")
    return _matches(value, f"{DATE_PATTERN}{TIME_PATTERN}{ZONE_PATTERN}")


def _matches(value: Column, pattern: str) -> Column:
    return value.rlike(rf"^\s*{pattern}\s*\z")
