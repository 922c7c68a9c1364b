"""Which type a column of text has, by looking at some of its values; and the names people give to types."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Literal

from holdfast.errors import OptionError, closest_hint

Kind = Literal["text", "boolean", "bigint", "double", "decimal", "date", "timestamp", "timestamp_ntz"]

# Only these surround a typed value harmlessly: what Spark's casts trim and what Java's \s means.
BLANKS = " \t\r\n\f\v"

_DIGITS = 38  # the most a Spark decimal holds
_INT64 = range(-(2**63), 2**63)

# The patterns hold in Python, in Java and in RE2 alike: each engine checks values with the same ones.
INTEGER_PATTERN = r"(?:0|-?[1-9][0-9]*)"
FRACTION_PATTERN = r"(?:[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+))"
SPECIAL_PATTERN = r"(?:(?i:[-+]?inf(?:inity)?|nan))"
EXPONENT_PATTERN = r"(?:[eE][-+]?[0-9]+)"
DATE_PATTERN = r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2})"
TIME_PATTERN = r"(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)"
ZONE_PATTERN = r"(?: ?(?:Z|[-+][0-9]{2}(?::?[0-9]{2})?))"

_GIVEN_FRACTION_PATTERN = r"(?:[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"

_INTEGER = re.compile(INTEGER_PATTERN)
_FRACTION = re.compile(FRACTION_PATTERN)
_SCIENTIFIC = re.compile(f"{FRACTION_PATTERN}{EXPONENT_PATTERN}|{SPECIAL_PATTERN}")
_ZERO_LED = re.compile(r"[-+]?0[0-9][0-9.]*")
_DATE = re.compile(DATE_PATTERN)
_TIMESTAMP = re.compile(f"({DATE_PATTERN})({TIME_PATTERN})({ZONE_PATTERN})?")
# What a value can begin with that is more than text: a number, also a special one, a date, or a truth value.
_FIRST_OF_TYPED = frozenset("0123456789+-.NIniTFtf")


class Shape(Enum):
    """What one value looks like, blanks around it aside."""

    BOOLEAN = "truth values"
    INTEGER = "whole numbers"
    FRACTION = "numbers"
    SCIENTIFIC = "numbers in floating point"
    ZERO_LED = "numbers with leading zeros"
    DATE = "dates"
    TIMESTAMP_NTZ = "timestamps"
    TIMESTAMP = "timestamps with a time zone"
    TEXT = "text"

    __hash__ = object.__hash__  # that of the names takes as long as looking at a value


_NUMBERS = frozenset({Shape.INTEGER, Shape.FRACTION, Shape.SCIENTIFIC})


@dataclass(frozen=True)
class CsvType:
    """A type a column can have. `given`: a person named it, so that numbers may have leading zeros."""

    kind: Kind
    precision: int = _DIGITS
    scale: int = 0
    given: bool = False

    @property
    def sql(self) -> str:
        """The type as Spark SQL writes it."""
        if self.kind == "decimal":
            return f"decimal({self.precision},{self.scale})"
        return "string" if self.kind == "text" else self.kind

    @property
    def option(self) -> str:
        """The type as `--types` takes it."""
        return "text" if self.kind == "text" else self.sql

    @property
    def noun(self) -> str:
        """What a value of this type is called in a message."""
        return {
            "text": "a text",
            "boolean": "a truth value (boolean)",
            "bigint": "a whole number (bigint)",
            "double": "a number (double)",
            "decimal": f"a number that fits {self.sql}",
            "date": "a date (YYYY-MM-DD)",
            "timestamp": "a timestamp with a time zone",
            "timestamp_ntz": "a timestamp",
        }[self.kind]

    @property
    def pattern(self) -> str | None:
        """The pattern of values of the type, without blanks around them; None where Spark's own cast decides."""
        if self.given and self.kind in ("boolean", "bigint"):
            return None
        number = _GIVEN_FRACTION_PATTERN if self.given else FRACTION_PATTERN
        whole = "[0-9]*" if self.given else "(?:0|[1-9][0-9]*)?"
        zoned = f"{DATE_PATTERN}{TIME_PATTERN}{ZONE_PATTERN}"
        return {
            "boolean": "(?i:true|false)",
            "bigint": INTEGER_PATTERN,
            "double": f"(?:{number}{EXPONENT_PATTERN}?|{SPECIAL_PATTERN})",
            "decimal": rf"[-+]?{whole}(?:\.[0-9]{{0,{self.scale}}}0*)?",
            "date": DATE_PATTERN,
            "timestamp_ntz": f"{DATE_PATTERN}{TIME_PATTERN}?",
            "timestamp": f"{DATE_PATTERN}(?:{TIME_PATTERN}{ZONE_PATTERN}?)?" if self.given else zoned,
        }.get(self.kind)


TEXT = CsvType("text")

_TYPE_NAMES: dict[str, Kind] = {
    "text": "text",
    "string": "text",
    "int": "bigint",
    "integer": "bigint",
    "bigint": "bigint",
    "long": "bigint",
    "double": "double",
    "float": "double",
    "decimal": "decimal",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "boolean": "boolean",
    "bool": "boolean",
}


@dataclass(frozen=True)
class Inferred:
    """A column's type, and why it is text where a reader might wonder."""

    type: CsvType
    reason: str | None = None


def parse_type(name: str, *, column: str) -> CsvType:
    """The type that `name` means in `--types column=name`.

    >>> parse_type("decimal(10, 2)", column="price").sql
    'decimal(10,2)'
    """
    match = re.fullmatch(r"\s*([A-Za-z_]+)\s*(?:\(\s*([0-9]+)\s*(?:,\s*([0-9]+)\s*)?\))?\s*", name)
    kind = _TYPE_NAMES.get(match[1].lower()) if match else None
    if match is None or kind is None or (match[2] is not None and kind != "decimal"):
        raise OptionError(
            f"--types gives column '{column}' the type '{name}', which is not a type.",
            hint=closest_hint(name, ["text", *(n for n in _TYPE_NAMES if n != "text")], what="Types"),
        )
    if kind != "decimal":
        return CsvType(kind, given=True)
    if match[2] is None:
        raise OptionError(
            f"--types gives column '{column}' the type '{name}' without its digits.",
            hint="write decimal(p,s): p digits in all, s of them after the point, such as decimal(12,2).",
        )
    precision, scale = int(match[2]), int(match[3] or 0)
    if not (1 <= precision <= _DIGITS and scale <= precision):
        raise OptionError(
            f"--types gives column '{column}' the type '{name}', which no decimal can have.",
            hint=f"at most {_DIGITS} digits in all, and no more of them after the point than in all.",
        )
    return CsvType("decimal", precision, scale, given=True)


def shape(value: str) -> Shape:
    """What `value` looks like, blanks around it aside. A calendar day that does not exist is text.

    >>> [shape(v).name for v in ("12", "012", "1.5", "1e3", "2024-02-30", "2024-02-29")]
    ['INTEGER', 'ZERO_LED', 'FRACTION', 'SCIENTIFIC', 'TEXT', 'DATE']
    """
    text = value.strip(BLANKS)
    if text[:1] not in _FIRST_OF_TYPED:
        return Shape.TEXT
    if _INTEGER.fullmatch(text):
        return Shape.INTEGER if len(text.lstrip("-")) <= _DIGITS else Shape.TEXT
    if _FRACTION.fullmatch(text):
        # '+4420…' is a phone number more often than a sum: a sign of plus makes no whole number.
        return Shape.TEXT if text[0] == "+" and text[1:].isdigit() else Shape.FRACTION
    if _SCIENTIFIC.fullmatch(text):
        overflows = text[-1].isdigit() and math.isinf(float(text))
        return Shape.TEXT if overflows else Shape.SCIENTIFIC
    if _ZERO_LED.fullmatch(text):
        return Shape.ZERO_LED
    if text.lower() in ("true", "false"):
        return Shape.BOOLEAN
    if _DATE.fullmatch(text):
        return Shape.DATE if _exists(text) else Shape.TEXT
    if stamp := _TIMESTAMP.fullmatch(text):
        if not _exists(stamp[1] + stamp[2]):
            return Shape.TEXT
        return Shape.TIMESTAMP if stamp[3] else Shape.TIMESTAMP_NTZ
    return Shape.TEXT


def infer(values: Iterable[str], null_values: Iterable[str] = ()) -> Inferred:
    """The narrowest type that keeps every value as it is, and text where there is none.

    Blank values and `null_values` say nothing; without other values a column is text.

    >>> infer(["1", "2.50", ""]).type.sql, infer(["0131"]).type.sql, infer(["9" * 20]).type.sql
    ('double', 'string', 'decimal(38,0)')
    """
    nulls = frozenset(null_values)
    distinct = {text for value in values if (text := value.strip(BLANKS)) and text not in nulls}
    examples: dict[Shape, str] = {}
    for text in distinct:
        looks = shape(text)
        known = examples.get(looks)
        if known is None or (len(text), text) < (len(known), known):
            examples[looks] = text
    shapes = frozenset(examples)
    if not shapes:
        return Inferred(TEXT)
    if shapes == {Shape.BOOLEAN}:
        return Inferred(CsvType("boolean"))
    if shapes <= _NUMBERS:
        number = _number_type(distinct, floating=Shape.SCIENTIFIC in shapes)
        reason = None if number else "holds numbers that no number type keeps digit by digit"
        return Inferred(number or TEXT, reason)
    if shapes == {Shape.DATE}:
        return Inferred(CsvType("date"))
    if shapes <= {Shape.DATE, Shape.TIMESTAMP_NTZ}:
        return Inferred(CsvType("timestamp_ntz"))
    if shapes == {Shape.TIMESTAMP}:
        return Inferred(CsvType("timestamp"))
    return Inferred(TEXT, _mixture(examples))


def better_type(value: str, refused_by: CsvType) -> CsvType:
    """A type that takes `value` and what `refused_by` took; text when nothing narrower is sure to."""
    looks = shape(value)
    if refused_by.kind == "bigint" and looks in (Shape.FRACTION, Shape.SCIENTIFIC):
        return CsvType("double")
    if refused_by.kind == "bigint" and looks is Shape.INTEGER:
        return CsvType("decimal", _DIGITS, 0)
    if refused_by.kind == "decimal" and looks is Shape.SCIENTIFIC:
        return CsvType("double")
    if refused_by.kind == "decimal" and looks in (Shape.INTEGER, Shape.FRACTION):
        whole, scale = _digits([value.strip(BLANKS)])
        wider = max(scale, refused_by.scale)
        whole = max(whole, refused_by.precision - refused_by.scale if refused_by.given else 0)
        return CsvType("decimal", _DIGITS, wider) if whole + wider <= _DIGITS else TEXT
    if refused_by.kind == "date" and looks is Shape.TIMESTAMP_NTZ:
        return CsvType("timestamp_ntz")
    return TEXT


def _number_type(texts: Iterable[str], *, floating: bool) -> CsvType | None:
    texts = list(texts)
    if all(_INTEGER.fullmatch(text) for text in texts):
        fits = all(len(text) < 19 or int(text) in _INT64 for text in texts)
        return CsvType("bigint") if fits else CsvType("decimal", _DIGITS, 0)
    if all(_survives_double(text) for text in texts):
        return CsvType("double")
    if floating:
        return None
    whole, scale = _digits(texts)
    return CsvType("decimal", _DIGITS, scale) if whole + scale <= _DIGITS else None


def _survives_double(text: str) -> bool:
    # 15 significant digits always survive; scientific notation says itself that it is approximate.
    if len(text) <= 15 or _SCIENTIFIC.fullmatch(text):
        return True
    return Decimal(repr(float(text))) == Decimal(text)


def _digits(texts: Iterable[str]) -> tuple[int, int]:
    """The most digits before and after the point."""
    whole = scale = 0
    for text in texts:
        before, _, after = text.lstrip("+-").partition(".")
        whole, scale = max(whole, len(before.lstrip("0"))), max(scale, len(after))
    return whole, scale


def _exists(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


# What people write where there is no value.
_NO_VALUE = ("na", "n/a", "nan", "null", "none", "nil", "missing", "-", "--", "?", "#n/a", ".")


def _mixture(examples: dict[Shape, str]) -> str | None:
    families = {
        "numbers": [*_NUMBERS, Shape.ZERO_LED],
        "truth values": [Shape.BOOLEAN],
        "dates": [Shape.DATE],
        "timestamps": [Shape.TIMESTAMP_NTZ],
        "timestamps with a time zone": [Shape.TIMESTAMP],
        "text": [Shape.TEXT],
    }
    samples = {
        family: next(examples[s] for s in shapes if s in examples)
        for family, shapes in families.items()
        if any(s in examples for s in shapes)
    }
    if len(samples) < 2:
        return None
    *most, last = samples
    shown = ", ".join(f"'{_short(text)}'" for text in samples.values())
    if samples.get("text", "").casefold() in _NO_VALUE:
        shown += f", which --null-values {samples['text']} reads as null"
    return f"mixes {', '.join(most)} and {last} ({shown})"


def _short(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
