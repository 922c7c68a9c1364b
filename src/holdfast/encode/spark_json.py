"""Values as JSON, letter by letter as Spark's `to_json` writes them."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa

from holdfast.encode.spark_text import float32_text, float_text


def spark_json(name: str, column: pa.ChunkedArray) -> list[str]:
    """Returns, per value, what `to_json(struct(value AS name))` gives; fields that are null are left out.

    >>> spark_json("key", pa.chunked_array([["a", 'say "x"']]))
    ['{"key":"a"}', '{"key":"say \\\\"x\\\\""}']
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return [_object({name: value}, {name: kind}) for value in column.to_pylist()]


def _object(values: dict[str, Any], kinds: dict[str, pa.DataType]) -> str:
    fields = [f"{_text(name)}:{_json(value, kinds[name])}" for name, value in values.items() if value is not None]
    return f"{{{','.join(fields)}}}"


def _json(value: Any, kind: pa.DataType) -> str:
    if isinstance(value, dict):
        return _object(value, {field.name: field.type for field in kind})
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        written = float32_text(value) if pa.types.is_float32(kind) else float_text(value)
        return written if math.isfinite(value) else f'"{written}"'
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, dt.datetime):
        zone = "" if value.tzinfo is None else "Z"
        return f'"{value.astimezone(dt.UTC) if zone else value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}{zone}"'
    if isinstance(value, dt.date):
        return f'"{value.isoformat()}"'
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    return _text(str(value))


def _text(value: str) -> str:
    written = json.dumps(value, ensure_ascii=False)
    return re.sub(r"\\u([0-9a-f]{4})", lambda match: "\\u" + match[1].upper(), written)
