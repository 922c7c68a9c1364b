"""Keys of rows, and values beside them, as JSON has them: one way for all results and messages; and dataclasses."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from itertools import repeat
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints


def plain_json(value: Any) -> Any:
    """Returns numbers and text as they are, a key of several columns as a list, and other values as text."""
    if isinstance(value, Mapping):
        return [plain_json(part) for part in value.values()]
    if isinstance(value, tuple | list):
        return [plain_json(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return "0x" + bytes(value).hex()
    return value


def from_json(value: Any, kind: Any) -> Any:
    """Returns the value of this type that JSON has so, as `asdict` writes it: a dataclass, an enum, or a tuple.

    Values of other types are as they are. Of `X | None`, X comes first.
    """
    inner, origin = get_args(kind), get_origin(kind)
    if origin is UnionType:
        return None if value is None else from_json(value, inner[0])
    if origin is tuple:
        kinds = repeat(inner[0], len(value)) if inner[-1] is Ellipsis else inner
        return tuple(map(from_json, value, kinds))
    if is_dataclass(kind):
        types = _field_types(kind)  # type: ignore[arg-type]
        return kind(**{field.name: from_json(value[field.name], types[field.name]) for field in fields(kind)})  # type: ignore[operator]
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value


@cache
def _field_types(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)
