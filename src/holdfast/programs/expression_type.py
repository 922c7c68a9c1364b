"""The types of expressions, and which functions apply to which types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from holdfast.encode.column_type import UNBOUNDED, VOID, ColumnType, column_type
from holdfast.errors import TypeMismatchError
from holdfast.rules.functions import DIGITS, EXACT
from holdfast.rules.predicate import NEGATIVE, SIGNS, Call, Column, Constant, Operand

DOUBLE, TEXT, BOOLEAN = column_type("double"), column_type("string"), column_type("boolean")
# Whole numbers of so many digits fit 64 bits.
_LONG_DIGITS = 18
_SPARK_KEEPS = 6
# Microseconds between two times of 64 bits.
SECONDS = column_type("decimal(20,6)")

_VERBS = {"+": "adds {0} and {1}", "-": "subtracts {1} from {0}", "*": "multiplies {0} and {1}"}
_VERBS |= {"/": "divides {0} by {1}", "%": "divides {0} by {1}", NEGATIVE: "takes the negative of {0}"}


def expression_type(operand: Operand, types: Mapping[str, ColumnType]) -> ColumnType:
    """The type of the operand's values. Raises TypeMismatchError where a function does not apply to its arguments.

    >>> from holdfast.rules.parse import parse_constraint
    >>> total = parse_constraint("not(t.net + t.tax > 0)").predicates[0].left
    >>> str(expression_type(total, {"net": column_type("decimal(10,2)"), "tax": column_type("int")}))
    'decimal(13,2)'
    """
    if isinstance(operand, Column):
        return types[operand.name]
    if isinstance(operand, Constant):
        return constant_type(operand)
    kinds = [expression_type(argument, types) for argument in operand.arguments]
    if VOID in kinds and operand.function != "coalesce":
        return VOID
    kind = TYPES[operand.function](kinds, operand.arguments)
    if kind is None:
        raise TypeMismatchError(_mismatch(operand, kinds))
    return kind


def _mismatch(call: Call, kinds: Sequence[ColumnType]) -> str:
    described = [f"{argument} ({kind})" for argument, kind in zip(call.arguments, kinds, strict=True)]
    if call.function in _VERBS:
        return _VERBS[call.function].format(*described)
    return f"uses {call.function} on {', '.join(described)}"


def constant_type(constant: Constant) -> ColumnType:
    """The type of a constant in an expression; a number with more than 38 digits is a double."""
    value = constant.value
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int | Decimal):
        before, behind = number_digits(Decimal(value))
        return DOUBLE if before + behind > DIGITS else exact_type(before, behind)
    return {"date": column_type("date"), "timestamp": column_type("timestamp_ntz")}.get(constant.kind, TEXT)


def number_digits(value: Decimal) -> tuple[int, int]:
    """How many digits the number needs before the point, and how many behind it.

    >>> number_digits(Decimal("12.50")), number_digits(Decimal("0")), number_digits(Decimal("1E3"))
    ((2, 1), (1, 0), (4, 0))
    """
    _, digits, exponent = value.normalize(EXACT).as_tuple()
    assert isinstance(exponent, int), "a rule's number is finite"
    return max(len(digits) + exponent, 1), max(-exponent, 0)


def exact_type(before: int, behind: int) -> ColumnType:
    """The type of exact numbers with so many digits before and behind the point.

    Whole numbers beyond 38 digits are null; of others beyond that, how many each has behind the point decides.
    """
    if behind == 0:
        if before <= _LONG_DIGITS:
            return ColumnType("bigint", "integer", before)
        return column_type(f"decimal({min(before, DIGITS)},0)")
    return column_type(f"decimal({before + behind},{behind})") if before + behind <= DIGITS else UNBOUNDED


def digits_of(kind: ColumnType) -> tuple[int, int]:
    """Digits before and behind the point of exact numbers of the type."""
    return kind.precision - kind.scale, kind.scale


Kinds = Sequence[ColumnType]
Arguments = Sequence[Operand]


def _sum(kinds: Kinds, _: Arguments) -> ColumnType | None:
    if not all(kind.numeric for kind in kinds):
        return None
    if any(kind.family == "float" for kind in kinds):
        return DOUBLE
    before, behind = (max(sizes) for sizes in zip(*map(digits_of, kinds), strict=True))
    return exact_type(before + 1, behind)


def _difference(kinds: Kinds, arguments: Arguments) -> ColumnType | None:
    families = {kind.family for kind in kinds}
    if families == {"date"}:
        return ColumnType("bigint", "integer", 7)
    return SECONDS if families <= {"date", "timestamp"} else _sum(kinds, arguments)


def _product(kinds: Kinds, _: Arguments) -> ColumnType | None:
    if not all(kind.numeric for kind in kinds):
        return None
    if any(kind.family == "float" for kind in kinds):
        return DOUBLE
    before, behind = (sum(sizes) for sizes in zip(*map(digits_of, kinds), strict=True))
    # Spark's product has a digit more, and where that is one too many it rounds all but six behind the point.
    return UNBOUNDED if before + behind >= DIGITS and behind > _SPARK_KEEPS else exact_type(before, behind)


def _quotient(kinds: Kinds, _: Arguments) -> ColumnType | None:
    return DOUBLE if all(kind.numeric for kind in kinds) else None


def _remainder(kinds: Kinds, _: Arguments) -> ColumnType | None:
    if not all(kind.numeric for kind in kinds):
        return None
    if any(kind.family == "float" for kind in kinds):
        return DOUBLE
    before, behind = zip(*map(digits_of, kinds), strict=True)
    # Both are looked at with the digits of the finer one.
    return UNBOUNDED if max(before) + max(behind) > DIGITS else exact_type(min(before), max(behind))


def _same_number(kinds: Kinds, _: Arguments) -> ColumnType | None:
    (kind,) = kinds
    if kind.family == "float":
        return DOUBLE
    return exact_type(*digits_of(kind)) if kind.numeric else None


def _rounded(kinds: Kinds, arguments: Arguments) -> ColumnType | None:
    kind, digits = kinds[0], 0
    if len(arguments) > 1:
        wanted = arguments[1]
        assert isinstance(wanted, Constant), "the parser sees to it"
        assert isinstance(wanted.value, int), "the parser sees to it"
        digits = wanted.value
    if kind.family == "float":
        return DOUBLE
    if not kind.numeric:
        return None
    before, behind = digits_of(kind)
    return exact_type(before + 1, digits) if digits < behind else exact_type(before, behind)


def _text(kinds: Kinds, _: Arguments) -> ColumnType | None:
    return TEXT if kinds[0].family == "text" else None


def _length(kinds: Kinds, _: Arguments) -> ColumnType | None:
    return ColumnType("bigint", "integer", 10) if kinds[0].family == "text" else None


def _of_day(kinds: Kinds, _: Arguments) -> ColumnType | None:
    return ColumnType("bigint", "integer", 5) if kinds[0].family in ("date", "timestamp") else None


def _of_time(kinds: Kinds, _: Arguments) -> ColumnType | None:
    return ColumnType("bigint", "integer", 2) if kinds[0].family == "timestamp" else None


def _first_known(kinds: Kinds, arguments: Arguments) -> ColumnType | None:
    """Of one type; numbers that the rule names are of the type of the others."""
    given = [
        (kind, isinstance(argument, Constant))
        for kind, argument in zip(kinds, arguments, strict=True)
        if kind.family != "void"
    ]
    columns = [kind for kind, is_constant in given if not is_constant]
    known = [kind for kind, _ in given]
    if not known:
        return VOID
    families = {kind.family for kind in known}
    if families <= {"integer", "decimal"}:
        before, behind = (max(sizes) for sizes in zip(*map(digits_of, known), strict=True))
        return exact_type(before, behind)
    if families <= {"integer", "decimal", "float"}:
        return DOUBLE if {kind.family for kind in columns} <= {"float"} else None
    if families == {"text"}:
        return TEXT
    same = columns or known
    fits = all(kind.sql == same[0].sql for kind in same) and families == {same[0].family}
    return same[0] if fits and same[0].family in ("date", "timestamp", "boolean") else None


TYPES: Mapping[str, Callable[[Kinds, Arguments], ColumnType | None]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
    "%": _remainder,
    NEGATIVE: _same_number,
    "abs": _same_number,
    "round": _rounded,
    "floor": _rounded,
    "ceil": _rounded,
    "lower": _text,
    "upper": _text,
    "trim": _text,
    "length": _length,
    "substr": _text,
    "coalesce": _first_known,
    "year": _of_day,
    "month": _of_day,
    "day": _of_day,
    "hour": _of_time,
}
assert SIGNS.keys() <= TYPES.keys(), "every sign has types"
