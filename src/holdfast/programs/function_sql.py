"""Functions of expressions in SQL: as Spark computes them exactly, and as other databases write them.

The twin of `arrow_expression`. Types are made explicit at every step, and nothing fails in a session that is strict
about overflow: what overflows or divides by zero is null. What Spark cannot compute exactly, such as products of long
decimals, is asked of a function in Python (`programs.python_value`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from holdfast.encode.column_type import UNBOUNDED, ColumnType
from holdfast.programs.expression_type import DOUBLE, constant_type, digits_of, expression_type
from holdfast.programs.lower import Computed, shifted_type
from holdfast.programs.python_value import Argument, described_call
from holdfast.programs.shifted import ABOVE, AS_DOUBLE, AT_LEAST, BOUNDS, DAYS, SECONDS, SHIFT
from holdfast.programs.sql_text import text_literal
from holdfast.rules.functions import EXACT, nearest_double
from holdfast.rules.predicate import NEGATIVE, Call, Column, Constant, Operand

# The functions in Python that a session must know, by what they return.
KEY_FUNCTION, DOUBLE_FUNCTION, TEXT_FUNCTION = "holdfast_key_of", "holdfast_double_of", "holdfast_text_of"
_DAY = 86_400_000_000

Naming = Callable[[Column], str]


def computed_sql(column: Computed, naming: Naming, types: Mapping[str, ColumnType]) -> str:
    """The values of a computed column in Spark SQL; `naming` writes the columns of the table."""
    call = column.call if column.row == "t" else column.call.mirrored()
    if column.kind.family == "void":
        return "NULL"
    writer = _Writer(naming, types)
    return writer.in_python(call, column.kind) if writer.needs_python(call) else writer.lowered(call, column.kind)


@dataclass(frozen=True)
class _Writer:
    naming: Naming
    types: Mapping[str, ColumnType]

    # In Python ------------------------------------------------------------------------------------------------------

    def needs_python(self, operand: Operand) -> bool:
        if not isinstance(operand, Call):
            return False
        if operand.function in (ABOVE, AT_LEAST):
            return True
        if operand.function not in BOUNDS and self.kind(operand) == UNBOUNDED:
            return True
        if operand.function == SHIFT and _shift_type(self, operand) == UNBOUNDED:
            return True
        return any(map(self.needs_python, operand.arguments))

    def in_python(self, call: Call, kind: ColumnType) -> str:
        columns = list(dict.fromkeys(call.columns()))
        texts = [self._argument(column) for column in columns]
        described = text_literal(described_call(call, [Argument(c, self.types[c.name]) for c in columns]))
        arguments = ", ".join([described, *texts])
        if kind == UNBOUNDED:
            return f"{KEY_FUNCTION}({arguments})"
        if kind == DOUBLE:
            return f"{DOUBLE_FUNCTION}({arguments})"
        return f"CAST({TEXT_FUNCTION}({arguments}) AS {kind.sql.upper()})"

    def _argument(self, column: Column) -> str:
        """The column as text: a null double would reach Python as NaN."""
        kind, name = self.types[column.name], self.naming(column)
        if kind.family == "timestamp":
            name = self.seconds(column)
        elif kind.family == "float":
            name = f"CAST({name} AS DOUBLE)"
        return f"CAST({name} AS STRING)"

    # In SQL ---------------------------------------------------------------------------------------------------------

    def kind(self, operand: Operand) -> ColumnType:
        if isinstance(operand, Call) and operand.function in BOUNDS:
            return _BOUND_TYPES[operand.function](self, operand)
        if isinstance(operand, Call) and any(isinstance(a, Call) and a.function in BOUNDS for a in operand.arguments):
            raise AssertionError("bounds stand outside of what people write")
        return expression_type(operand, self.types)

    def lowered(self, call: Call, kind: ColumnType) -> str:
        return f"CAST({SPARK[call.function](self, call)} AS {kind.sql.upper()})"

    def value(self, operand: Operand) -> str:
        """The operand in SQL, of its own type."""
        if isinstance(operand, Constant):
            return self._constant(operand, constant_type(operand))
        if isinstance(operand, Column):
            return self._column(operand)
        kind = self.kind(operand)
        return "NULL" if kind.family == "void" else self.lowered(operand, kind)

    def _column(self, column: Column) -> str:
        name = self.naming(column)
        return f"collate({name}, 'UTF8_BINARY')" if self.types[column.name].collated else name

    def _constant(self, constant: Constant, kind: ColumnType) -> str:
        value = constant.value
        if kind.family == "text":
            return text_literal(str(value))
        if kind == DOUBLE:
            assert isinstance(value, int | Decimal), "only numbers are doubles"
            return f"CAST('{nearest_double(value)!r}' AS DOUBLE)"
        if isinstance(value, Decimal):
            # However the number was written, its SQL is the same, so that a state knows its tables again.
            return f"CAST('{value.normalize(EXACT):f}' AS {kind.sql.upper()})"
        return f"CAST('{value}' AS {kind.sql.upper()})"

    def double(self, operand: Operand) -> str:
        if isinstance(operand, Constant):
            return self._constant(operand, DOUBLE)
        return f"CAST({self.value(operand)} AS DOUBLE)"

    def exact(self, operand: Operand) -> str:
        """An exact number as a decimal with just its digits, so that Spark's own rules keep all of them."""
        kind = self.kind(operand)
        return f"CAST({self.value(operand)} AS DECIMAL({kind.precision},{kind.scale}))"

    def whole(self, operand: Operand) -> str:
        return f"CAST({self.value(operand)} AS BIGINT)"

    def seconds(self, operand: Operand) -> str:
        """Seconds since 1970, as a decimal; a time without a zone is read as one in UTC."""
        kind, value = self.kind(operand), self.value(operand)
        if kind.family == "date":
            return f"CAST(unix_date({value}) * 86400L AS DECIMAL(20,6))"
        if kind.sql == "timestamp":
            millionth = "CAST('0.000001' AS DECIMAL(6,6))"
            return f"CAST(CAST(unix_micros({value}) AS DECIMAL(20,0)) * {millionth} AS DECIMAL(20,6))"
        whole = f"unix_date(CAST({value} AS DATE)) * 86400L + hour({value}) * 3600L + minute({value}) * 60L"
        return f"CAST(CAST({whole} AS DECIMAL(14,0)) + extract(SECOND FROM {value}) AS DECIMAL(20,6))"

    def day(self, operand: Operand) -> str:
        """The date of a date or a time, in UTC."""
        kind, value = self.kind(operand), self.value(operand)
        if kind.family == "date":
            return value
        if kind.sql != "timestamp":
            return f"CAST({value} AS DATE)"
        micros = f"unix_micros({value})"
        return f"date_from_unix_date(CAST(({micros} - pmod({micros}, {_DAY}L)) DIV {_DAY}L AS INT))"


def _shift_type(writer: _Writer, call: Call) -> ColumnType:
    return shifted_type(writer.kind(call.arguments[0]), call.arguments[1])


_BOUND_TYPES: Mapping[str, Callable[[_Writer, Call], ColumnType]] = {
    SHIFT: _shift_type,
    ABOVE: lambda writer, call: DOUBLE,
    AT_LEAST: lambda writer, call: DOUBLE,
    AS_DOUBLE: lambda writer, call: DOUBLE,
    DAYS: lambda writer, call: ColumnType("bigint", "integer", 7),
    SECONDS: lambda writer, call: ColumnType("decimal(20,6)", "decimal", 20, 6),
}


def _calculated(sign: str, function: str) -> Callable[[_Writer, Call], str]:
    def way(writer: _Writer, call: Call) -> str:
        left, right = call.arguments
        kinds = [writer.kind(argument) for argument in call.arguments]
        if sign == "-" and not any(kind.numeric for kind in kinds):
            if all(kind.family == "date" for kind in kinds):
                return f"datediff({writer.value(left)}, {writer.value(right)})"
            return f"{writer.seconds(left)} - {writer.seconds(right)}"
        result = writer.kind(call)
        if result == DOUBLE:
            return f"{writer.double(left)} {sign} {writer.double(right)}"
        if result.family == "integer":
            return f"{writer.whole(left)} {sign} {writer.whole(right)}"
        return f"{function}({writer.exact(left)}, {writer.exact(right)})"

    return way


def _quotient(writer: _Writer, call: Call) -> str:
    left, right = call.arguments
    return f"{writer.double(left)} / nullif({writer.double(right)}, 0.0D)"


def _remainder(writer: _Writer, call: Call) -> str:
    left, right = call.arguments
    if writer.kind(call) == DOUBLE:
        return f"{writer.double(left)} % nullif({writer.double(right)}, 0.0D)"
    divisor = writer.kind(right)
    before, behind = digits_of(divisor)
    zero = f"CAST('0' AS DECIMAL({before + behind},{behind}))"
    return f"{writer.exact(left)} % nullif({writer.exact(right)}, {zero})"


def _of_number(sql: str) -> Callable[[_Writer, Call], str]:
    def way(writer: _Writer, call: Call) -> str:
        (operand,) = call.arguments
        value = writer.double(operand) if writer.kind(call) == DOUBLE else writer.exact(operand)
        return sql.format(value)

    return way


def _rounded(writer: _Writer, call: Call) -> str:
    operand = call.arguments[0]
    digits = call.arguments[1].value if len(call.arguments) > 1 else 0  # type: ignore[union-attr]
    assert isinstance(digits, int), "the parser sees to it"
    if writer.kind(call) == DOUBLE:
        return f"round({writer.double(operand)}, {digits})"
    return f"round({writer.exact(operand)}, {digits})" if writer.kind(operand).scale > digits else writer.value(operand)


def _whole_number(function: str) -> Callable[[_Writer, Call], str]:
    def way(writer: _Writer, call: Call) -> str:
        (operand,) = call.arguments
        if writer.kind(operand).family != "float":
            return f"{function}({writer.exact(operand)})"
        # Of doubles Spark returns whole numbers of 64 bits; those beyond 2^52 have nothing behind the point.
        value = writer.double(operand)
        return f"CASE WHEN abs({value}) < 4503599627370496.0D THEN CAST({function}({value}) AS DOUBLE) ELSE {value} END"

    return way


def _plain(function: str) -> Callable[[_Writer, Call], str]:
    return lambda writer, call: f"{function}({', '.join(map(writer.value, call.arguments))})"


def _first_known(writer: _Writer, call: Call) -> str:
    kind = writer.kind(call)
    parts = [
        writer.double(argument) if kind == DOUBLE else f"CAST({writer.value(argument)} AS {kind.sql.upper()})"
        for argument in call.arguments
    ]
    return f"coalesce({', '.join(parts)})"


def _of_day(function: str) -> Callable[[_Writer, Call], str]:
    return lambda writer, call: f"{function}({writer.day(call.arguments[0])})"


def _hour(writer: _Writer, call: Call) -> str:
    (operand,) = call.arguments
    if writer.kind(operand).sql != "timestamp":
        return f"hour({writer.value(operand)})"
    return f"pmod(unix_micros({writer.value(operand)}), {_DAY}L) DIV {_DAY // 24}L"


SPARK: Mapping[str, Callable[[_Writer, Call], str]] = {
    "+": _calculated("+", "try_add"),
    "-": _calculated("-", "try_subtract"),
    "*": _calculated("*", "try_multiply"),
    "/": _quotient,
    "%": _remainder,
    NEGATIVE: _of_number("-({})"),
    "abs": _of_number("abs({})"),
    "round": _rounded,
    "floor": _whole_number("floor"),
    "ceil": _whole_number("ceil"),
    "lower": _plain("lower"),
    "upper": _plain("upper"),
    "trim": _plain("trim"),
    "length": _plain("char_length"),
    "substr": _plain("substring"),
    "coalesce": _first_known,
    "year": _of_day("year"),
    "month": _of_day("month"),
    "day": _of_day("day"),
    "hour": _hour,
    SHIFT: _calculated("+", "try_add"),
    AS_DOUBLE: lambda writer, call: writer.double(call.arguments[0]),
    DAYS: lambda writer, call: f"unix_date({writer.value(call.arguments[0])})",
    SECONDS: lambda writer, call: writer.seconds(call.arguments[0]),
}

# Other databases: a template for the arguments in order, or for all of them with commas, in SQL as sqlglot reads it.
EXPORTED: Mapping[str, str] = {
    NEGATIVE: "-({})",
    "abs": "ABS({})",
    "round": "ROUND({})",
    "floor": "FLOOR({})",
    "ceil": "CEIL({})",
    "lower": "LOWER({})",
    "upper": "UPPER({})",
    "trim": "TRIM({})",
    "length": "LENGTH({})",
    "substr": "SUBSTRING({})",
    "coalesce": "COALESCE({})",
    "year": "EXTRACT(YEAR FROM {})",
    "month": "EXTRACT(MONTH FROM {})",
    "day": "EXTRACT(DAY FROM {})",
    "hour": "EXTRACT(HOUR FROM {})",
    "/": "(CAST({} AS DOUBLE) / NULLIF({}, 0))",
    "%": "({} % NULLIF({}, 0))",
}
