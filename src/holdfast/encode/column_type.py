"""The type of a column, its family, and how values of two types are compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Family = Literal[
    "integer",
    "decimal",
    "float",
    "text",
    "boolean",
    "binary",
    "date",
    "timestamp",
    "interval",
    "void",
    "other",
]

_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_ORDERED: frozenset[Family] = frozenset(
    {"integer", "decimal", "float", "text", "date", "timestamp", "interval", "void"}
)
_NUMERIC: frozenset[Family] = frozenset({"integer", "decimal", "float"})
_MAX_DIGITS = 38


@dataclass(frozen=True)
class ColumnType:
    """A column's type by Spark's name for it, and the family it belongs to."""

    sql: str
    family: Family
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        names = {"string": "text", "bigint": "integer", "void": "nothing but nulls", "digits": "decimal"}
        return names.get(self.sql, self.sql)

    @property
    def ordered(self) -> bool:
        return self.family in _ORDERED

    @property
    def numeric(self) -> bool:
        return self.family in _NUMERIC

    @property
    def collated(self) -> bool:
        return self.family == "text" and "collate" in self.sql


VOID = ColumnType("void", "void")
# Exact numbers that may need more digits than a decimal has, as bytes that sort as they do; only expressions are so.
UNBOUNDED = ColumnType("digits", "decimal", 2 * _MAX_DIGITS + 1, _MAX_DIGITS)


def column_type(sql: str) -> ColumnType:
    """Returns the type that Spark calls `sql` (its simpleString).

    >>> column_type("decimal(10,2)").family, column_type("array<int>").family
    ('decimal', 'other')
    """
    name = sql.lower()
    if name in _INTEGER_DIGITS:
        return ColumnType(name, "integer", _INTEGER_DIGITS[name])
    if decimal := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", name):
        return ColumnType(name, "decimal", int(decimal.group(1)), int(decimal.group(2)))
    if name in ("float", "double"):
        return ColumnType(name, "float")
    if re.match(r"(string|char|varchar)\b", name):
        return ColumnType(sql, "text")
    if name in ("timestamp", "timestamp_ntz"):
        return ColumnType(name, "timestamp")
    if name in ("boolean", "binary", "date", "void"):
        return ColumnType(name, name)  # type: ignore[arg-type]
    # PySpark can neither collect intervals of months nor send them to Python.
    return ColumnType(sql, "interval" if re.match(r"interval (day|hour|minute|second)", name) else "other")


@dataclass(frozen=True)
class Encoding:
    """The common form in which values of two types compare exactly with Spark's own operators.

    `same` leaves values alone, `cast` casts to `target` without loss. `halves` is for integers beside floats: a
    double and what the integer has beyond it. `digits` is for decimals beside floats: bytes that sort as the
    exact values do.
    """

    way: Literal["same", "cast", "halves", "digits"]
    target: str = ""


SAME = Encoding("same")


def common_encoding(a: ColumnType, b: ColumnType) -> Encoding | None:
    """Returns how values of the two types compare exactly; None when they cannot be compared.

    Spark's own implicit casts go through double, where 2^53 + 1 equals 2^53 and 0.1 equals every 0.1; never here.
    """
    if "other" in (a.family, b.family):
        return None
    if a.family == "void" or b.family == "void":
        known = b if a.family == "void" else a
        if known == UNBOUNDED:
            return Encoding("digits")
        return SAME if known.family == "void" else Encoding("cast", _plain(known))
    if a.numeric and b.numeric:
        return _numeric_encoding(a, b)
    if a.family == b.family == "text":
        return SAME
    if {a.family, b.family} <= {"date", "timestamp"}:
        return SAME if a.sql == b.sql else Encoding("cast", _wider_time(a, b))
    return SAME if a.sql == b.sql else None


def _numeric_encoding(a: ColumnType, b: ColumnType) -> Encoding:
    families = {a.family, b.family}
    if UNBOUNDED in (a, b):
        return Encoding("digits")
    if a.sql == b.sql:
        return SAME
    if families == {"integer"}:
        return Encoding("cast", "bigint")
    if families == {"float"}:
        return Encoding("cast", "double")
    if "float" not in families:
        scale = max(a.scale, b.scale)
        digits = scale + max(a.precision - a.scale, b.precision - b.scale)
        return Encoding("cast", f"decimal({digits},{scale})") if digits <= _MAX_DIGITS else Encoding("digits")
    return Encoding("halves") if "integer" in families else Encoding("digits")


def _wider_time(a: ColumnType, b: ColumnType) -> str:
    # A date is its midnight; a time with a zone wins over one without.
    names = {a.sql, b.sql}
    return "timestamp" if "timestamp" in names else "timestamp_ntz"


def _plain(known: ColumnType) -> str:
    return "string" if known.family == "text" else known.sql
