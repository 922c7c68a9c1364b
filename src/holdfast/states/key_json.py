"""Keys of rows, and values beside them, as JSON has them: one way for all results and messages."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any


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
