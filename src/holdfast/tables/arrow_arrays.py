"""Arrow arrays of Python values, without pandas: pyarrow imports it when it is given a list, which takes long."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST_DAY = datetime.date(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_EXACT = Context(prec=80)


def arrow_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Returns an array of the values, which are None or of the type.

    >>> arrow_array(["a", None, ""], pa.string()).to_pylist(), arrow_array([True, None], pa.bool_()).to_pylist()
    (['a', None, ''], [True, None])
    """
    present = np.fromiter((value is not None for value in values), np.bool_, len(values))
    if pa.types.is_string(kind):
        return _text_array(values, present)
    if pa.types.is_boolean(kind):
        flags = np.fromiter((bool(value) for value in values), np.bool_, len(values))
        data = np.packbits(flags, bitorder="little").tobytes()
    elif pa.types.is_float64(kind):
        data = np.fromiter((0.0 if value is None else value for value in values), np.float64, len(values)).tobytes()
    elif pa.types.is_decimal128(kind):
        data = b"".join(_unscaled(value, kind.scale).to_bytes(16, "little", signed=True) for value in values)
    elif (number := _NUMBERS.get(str(kind))) is not None:
        width, convert = number
        whole = (0 if value is None else convert(value) for value in values)
        data = np.fromiter(whole, width, len(values)).tobytes()
    else:
        return pa.array(values, kind)
    return pa.Array.from_buffers(kind, len(values), [_validity(present), pa.py_buffer(data)])


def null_scalar(kind: pa.DataType) -> pa.Scalar:
    """Returns a null of the type; pa.scalar() would import pandas, too."""
    return pa.nulls(1, kind)[0]


def mask_array(mask: np.ndarray[Any, np.dtype[np.bool_]]) -> pa.BooleanArray:
    """Returns the mask as an array without nulls."""
    bits = np.packbits(mask, bitorder="little").tobytes()
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, pa.py_buffer(bits)])


def _text_array(values: Sequence[str | None], present: np.ndarray[Any, np.dtype[np.bool_]]) -> pa.Array:
    raw = [b"" if value is None else value.encode() for value in values]
    lengths = np.fromiter(map(len, raw), np.int64, len(raw))
    if lengths.sum() >= 2**31:
        return pa.array(values, pa.string())  # which gives several chunks
    offsets = np.zeros(len(raw) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [_validity(present), pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(raw))]
    return pa.Array.from_buffers(pa.string(), len(raw), buffers)


def _validity(present: np.ndarray[Any, np.dtype[np.bool_]]) -> pa.Buffer | None:
    return None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little").tobytes())


def _unscaled(value: Decimal | None, scale: int) -> int:
    return 0 if value is None else int(_EXACT.scaleb(value, scale))


def _microseconds(value: datetime.datetime) -> int:
    plain = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
    return (plain - _EPOCH) // _MICROSECOND


_NUMBERS: dict[str, tuple[type[np.integer[Any]], Any]] = {
    "int64": (np.int64, int),
    "date32[day]": (np.int32, lambda value: (value - _FIRST_DAY).days),
    "timestamp[us]": (np.int64, _microseconds),
    "timestamp[us, tz=UTC]": (np.int64, _microseconds),
}
