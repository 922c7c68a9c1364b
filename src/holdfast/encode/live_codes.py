"""Codes of 64 bits for values that arrive over time: order and equality of codes are those of values.

`shared_codes` is the twin for values that are all known at once.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.codes import shared_codes
from holdfast.encode.column_type import ColumnType
from holdfast.errors import TypeMismatchError
from holdfast.rules.predicate import Constant
from holdfast.rules.relation import GT, LT

Codes = NDArray[np.int64]
_TOP = 2**62
_LEAST, _MOST = -(2**63), 2**63 - 1
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_DAY = 86_400_000_000


@dataclass(frozen=True)
class BoundCode:
    """The place of a constant among codes. Not `exact`: no value equals it, and values up to `code` are below it.

    Without a code, all values are in the relation `all_are` to the constant.
    """

    code: int | None
    exact: bool = True
    all_are: int = 0


class Coder(Protocol):
    """The codes of columns that are compared with each other."""

    def code(self, value: Any) -> int:
        """Returns the code of a value, which is not null. Raises TypeMismatchError for a value of another type."""

    def find(self, value: Any) -> int | None:
        """Returns the code of a value, or None where it has none yet. Raises TypeMismatchError as above."""

    def codes(self, values: pa.Array) -> Codes:
        """Returns the codes of all values; the codes of nulls mean nothing."""

    def value(self, code: int) -> Any:
        """Returns the value with the code; of equal ones, such as 1 and 1.0, the one that came first."""

    def constant(self, value: Any) -> BoundCode:
        """Returns the place of a constant, given as a value of the type of its column."""


class _Direct:
    """A coder that computes the code from the value alone."""

    def code(self, value: Any) -> int:
        raise NotImplementedError

    def find(self, value: Any) -> int | None:
        return self.code(value)

    def constant(self, value: Any) -> BoundCode:
        return BoundCode(self.code(value))


class IntegerCoder(_Direct):
    """Whole numbers are their own codes."""

    def code(self, value: Any) -> int:
        if type(value) is not int:
            value = _whole(value)
        if not _LEAST <= value <= _MOST:
            raise TypeMismatchError(f"{value} is beyond 64 bits")
        return int(value)

    def value(self, code: int) -> int:
        return code

    def codes(self, values: pa.Array) -> Codes:
        if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
            return np.array([0 if v is None else self.code(v) for v in values.to_pylist()], np.int64)
        return shared_codes([pa.chunked_array([values.cast(pa.int64())])])[0].codes

    def constant(self, value: Any) -> BoundCode:
        if isinstance(value, float):
            return BoundCode(None, False, GT if value < 0 else LT)
        floor = int(Decimal(value).to_integral_value(ROUND_FLOOR, Context(prec=400)))
        if not _LEAST <= floor <= _MOST:
            return BoundCode(None, False, GT if floor < 0 else LT)
        return BoundCode(floor, exact=floor == value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | np.integer):
        raise TypeMismatchError(f"{value!r} is no number")
    if isinstance(value, np.integer):
        return int(value)
    if not math.isfinite(value) or value != int(value):
        raise TypeMismatchError(f"{value!r} is no whole number")
    return int(value)


class FloatCoder(_Direct):
    """The bits of a double, changed to have the order of the numbers; one zero, one NaN, which is greatest."""

    def code(self, value: Any) -> int:
        if type(value) is not float:
            value = _double(value)
        if value != value:
            value = math.nan
        (bits,) = struct.unpack("<q", struct.pack("<d", abs(value) if value == 0 or value != value else value))
        return int(bits) if bits >= 0 else int(bits ^ 0x7FFFFFFFFFFFFFFF)

    def value(self, code: int) -> float:
        (value,) = struct.unpack("<d", struct.pack("<q", code if code >= 0 else code ^ 0x7FFFFFFFFFFFFFFF))
        return float(value)

    def codes(self, values: pa.Array) -> Codes:
        if not pa.types.is_floating(values.type):
            return np.array([0 if v is None else self.code(v) for v in values.to_pylist()], np.int64)
        return shared_codes([pa.chunked_array([values.cast(pa.float64())])])[0].codes

    def constant(self, value: Any) -> BoundCode:
        return BoundCode(self.code(float(value)))


def _double(value: Any) -> float:
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal | np.integer):
        raise TypeMismatchError(f"{value!r} is no number")
    number = int(value) if isinstance(value, np.integer) else value
    if float(number) != number:
        raise TypeMismatchError(f"{value!r} has no exact double")
    return float(number)


class BooleanCoder(_Direct):
    """False before true."""

    def code(self, value: Any) -> int:
        if not isinstance(value, bool | np.bool_):
            raise TypeMismatchError(f"{value!r} is neither true nor false")
        return int(value)

    def value(self, code: int) -> bool:
        return bool(code)

    def codes(self, values: pa.Array) -> Codes:
        if not pa.types.is_boolean(values.type):
            raise TypeMismatchError(f"values of type {values.type} are neither true nor false")
        return shared_codes([pa.chunked_array([values])])[0].codes


class DateCoder(_Direct):
    """Days since 1970."""

    def code(self, value: Any) -> int:
        if type(value) is not dt.date:
            raise TypeMismatchError(f"{value!r} is no date")
        return value.toordinal() - _EPOCH_DAY

    def value(self, code: int) -> dt.date:
        return dt.date.fromordinal(code + _EPOCH_DAY)

    def codes(self, values: pa.Array) -> Codes:
        if not pa.types.is_date(values.type):
            raise TypeMismatchError(f"values of type {values.type} are no dates")
        return shared_codes([pa.chunked_array([values.cast(pa.date32())])])[0].codes

    def constant(self, value: Any) -> BoundCode:
        if not isinstance(value, dt.datetime):
            return BoundCode(self.code(value))
        midnight = value.time() == dt.time()
        return BoundCode(value.toordinal() - _EPOCH_DAY, exact=midnight)


class TimeCoder(_Direct):
    """Microseconds since 1970, of times with a zone in UTC; a date is its midnight."""

    def code(self, value: Any) -> int:
        if isinstance(value, dt.datetime):
            return (value - (_EPOCH if value.tzinfo is None else _EPOCH_UTC)) // _MICROSECOND
        if isinstance(value, dt.date):
            return (value.toordinal() - _EPOCH_DAY) * _DAY
        raise TypeMismatchError(f"{value!r} is no time")

    def value(self, code: int) -> dt.datetime:
        return _EPOCH + code * _MICROSECOND

    def codes(self, values: pa.Array) -> Codes:
        if pa.types.is_date(values.type):
            values = values.cast(pa.date32()).cast(pa.timestamp("us"))
        if not pa.types.is_timestamp(values.type):
            raise TypeMismatchError(f"values of type {values.type} are no times")
        finer = values.cast(pa.timestamp("us", values.type.tz), safe=False)
        return shared_codes([pa.chunked_array([finer])])[0].codes


class _Greatest:
    """NaN as a key: equal to itself and above all numbers."""

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, _Greatest)


_NAN = _Greatest()


class LabelCoder:
    """Codes that values get when they first come; `ordered` ones have gaps between them for values that come later.

    Python compares numbers of all types exactly by value, and text like its UTF-8 bytes. A new ordered value costs a
    shift of the list of values; when there is no gap left, all values get new codes, which `moved` returns.
    """

    def __init__(self, *, ordered: bool, numbers: bool) -> None:
        self._ordered, self._numbers = ordered, numbers
        self._codes: dict[Any, int] = {}
        self._next = 0
        self._kind: type | None = None
        self._values: list[Any] = []
        self._labels: list[int] = []
        self._moved: tuple[list[int], list[int]] | None = None
        # For values without order, filled when first needed; their codes never change, and none is used twice.
        self._by_code: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def code(self, value: Any) -> int:
        key = value if type(value) is self._kind else self._key(value)
        code = self._codes.get(key)
        return self._new_code(key) if code is None else code

    def find(self, value: Any) -> int | None:
        return self._codes.get(self._key(value))

    def value(self, code: int) -> Any:
        if self._ordered:
            key = self._values[bisect_left(self._labels, code)]
        else:
            if len(self._by_code) != len(self._codes):
                self._by_code = {own: value for value, own in self._codes.items()}
            key = self._by_code[code]
        return math.nan if isinstance(key, _Greatest) else key

    def _key(self, value: Any) -> Any:
        kind = type(value)
        if kind is str or kind is bytes:
            if self._numbers:
                raise TypeMismatchError(f"{value!r} is no number")
            if self._kind not in (None, kind):
                raise TypeMismatchError(f"{value!r} is {'text' if kind is str else 'binary'}")
            self._kind = kind
            return value
        if not self._numbers or isinstance(value, bool):
            raise TypeMismatchError(f"{value!r} is no {'number' if self._numbers else 'text'}")
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, int | float | Decimal):
            raise TypeMismatchError(f"{value!r} is no number")
        if isinstance(value, Decimal) and not value.is_finite():
            raise TypeMismatchError(f"{value!r} is no decimal that a column can hold")
        return _NAN if value != value else value

    def _new_code(self, key: Any) -> int:
        if isinstance(key, str) and not _is_unicode(key):
            raise TypeMismatchError(f"{key!r} is no text: it has half of a surrogate pair")
        if not self._ordered:
            code = self._codes[key] = self._next
            self._next += 1
            return code
        at = bisect_left(self._values, key)
        below = self._labels[at - 1] if at else -_TOP
        above = self._labels[at] if at < len(self._labels) else _TOP
        self._values.insert(at, key)
        if above - below < 2:
            self._labels.insert(at, below)
            self._relabel()
            return self._codes[key]
        # Values often come in order: a short step beyond the last one leaves more room than half of the gap would.
        step = max((above - below) // 2, 1)
        if at == len(self._labels):
            step = min(step, _TOP >> 20)
        code = below + step
        self._labels.insert(at, code)
        self._codes[key] = code
        return code

    def _relabel(self) -> None:
        old = dict(self._codes)
        self._number_evenly()
        known = [value for value in self._values if value in old]
        now = [self._codes[value] for value in known]
        was = [old[value] for value in known]
        if self._moved is not None:
            # Codes changed twice before `moved` was called: keep the first old codes and the last new ones.
            first = dict(zip(self._moved[1], self._moved[0], strict=True))
            kept = [(first[a], b) for a, b in zip(was, now, strict=True) if a in first]
            was, now = [a for a, _ in kept], [b for _, b in kept]
        self._moved = (was, now)

    def _number_evenly(self) -> None:
        gap = 2 * _TOP // (len(self._values) + 1)
        self._labels = [-_TOP + gap * (i + 1) for i in range(len(self._values))]
        self._codes = dict(zip(self._values, self._labels, strict=True))

    def moved(self) -> tuple[Codes, Codes] | None:
        """Returns (old codes in order, new codes) of all values since the last call; None where no code has changed."""
        moved, self._moved = self._moved, None
        return None if moved is None else (np.array(moved[0], np.int64), np.array(moved[1], np.int64))

    def codes(self, values: pa.Array) -> Codes:
        if pa.types.is_dictionary(values.type) and values.dictionary.null_count:
            values = values.cast(values.type.value_type)
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        distinct = [value for value in encoded.dictionary.to_pylist() if value is not None]
        # All values of an Arrow array have one type, so it is enough to check the first.
        keys = [self._key(distinct[0]), *distinct[1:]] if distinct and not self._numbers else map(self._key, distinct)
        codes = self._codes_of(list(keys))
        places = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
        return codes[places] if len(codes) else np.zeros(len(values), np.int64)

    def _codes_of(self, keys: list[Any]) -> Codes:
        if self._ordered and not self._codes and keys:
            self._values = sorted(set(keys))
            self._number_evenly()
        for key in keys:
            if key not in self._codes:
                self._new_code(key)
        # Looked up at the end: a new value may have changed the codes of those before it.
        return np.array([self._codes[key] for key in keys], np.int64)

    def constant(self, value: Any) -> BoundCode:
        return BoundCode(self.code(value))

    def keep(self, codes: Codes) -> None:
        """Forgets all values but those with these codes."""
        wanted = set(codes.tolist())
        self._by_code = {}
        self._codes = {value: code for value, code in self._codes.items() if code in wanted}
        kept = [(v, c) for v, c in zip(self._values, self._labels, strict=True) if c in wanted]
        self._values, self._labels = [v for v, _ in kept], [c for _, c in kept]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def coder_for(kinds: Iterable[ColumnType], *, ordered: bool, settled: bool) -> Coder:
    """Returns a coder for columns of these types, which are compared with each other.

    Not `settled`: columns of other types may follow.
    """
    known = [kind for kind in kinds if kind.family != "void"]
    families = {kind.family for kind in known}
    if families <= {"date", "timestamp"}:
        return DateCoder() if families == {"date"} and settled else TimeCoder()
    if families == {"integer"} and settled:
        return IntegerCoder()
    if families == {"float"} and settled:
        return FloatCoder()
    if families == {"boolean"}:
        return BooleanCoder()
    return LabelCoder(ordered=ordered, numbers=bool(families & {"integer", "float", "decimal"}))


def constant_value(constant: Constant, kind: ColumnType) -> Any:
    """Returns the constant as a value of the type of its column; the caller has checked that it has one."""
    value: Any = constant.value
    if kind.numeric:
        number = value if isinstance(value, int) and not constant.raw else Decimal(str(value).strip())
        if isinstance(number, Decimal) and not number.is_finite():
            return float(number)
        return _float_of(number, kind) if kind.family == "float" else number
    if kind.family == "boolean" and constant.raw:
        return str(value).strip().casefold() == "true"
    if kind.family in ("date", "timestamp"):
        if isinstance(value, str):
            value = dt.datetime.fromisoformat(value.strip())
        if isinstance(value, dt.datetime) and kind.sql == "timestamp" and value.tzinfo is None:
            value = value.replace(tzinfo=dt.UTC)
        elif isinstance(value, dt.datetime) and kind.sql != "timestamp" and value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        return value
    return value


def _float_of(number: int | Decimal, kind: ColumnType) -> float:
    double = float(Decimal(number))  # of an integer that is too large Python makes an error, not infinity
    with np.errstate(over="ignore"):
        return float(np.float32(double)) if kind.sql == "float" else double
