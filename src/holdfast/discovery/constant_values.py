"""Values of a table as constants in rule text."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from holdfast.encode.column_type import ColumnType
from holdfast.rules.predicate import Constant


def constant_of(value: Any, kind: ColumnType) -> Constant | None:
    """Returns the constant that equals the value of a column of this type, also after printing and parsing.

    None where rule text has none: for null, NaN, infinity, bytes, and times with a zone.
    """
    match kind.family:
        case "float" if value is not None and math.isfinite(value):
            return Constant(Decimal(repr(float(value) + 0.0)))  # -0.0 is 0
        case "integer" | "decimal" | "text" | "boolean" | "date" if value is not None:
            return Constant(value)
        case "timestamp" if isinstance(value, dt.datetime) and kind.sql == "timestamp_ntz":
            return Constant(value)
        case _:
            return None
