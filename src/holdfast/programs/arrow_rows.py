"""Forms and flags of the rows of an Arrow table: in this process what the SQL of a plan computes on Spark."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.arrow_column_type import arrow_type_of
from holdfast.encode.codes import Coded, ranked_values, shared_codes
from holdfast.encode.column_type import UNBOUNDED, ColumnType, Encoding
from holdfast.encode.digits import digits_key
from holdfast.encode.live_codes import BoundCode, coder_for, constant_value
from holdfast.encode.one_array import decoded, one_array
from holdfast.errors import ConditionError, closest_hint
from holdfast.programs.arrow_expression import computed_column
from holdfast.programs.arrow_forms import SideLookup, flag_values
from holdfast.programs.form import Flag, Form
from holdfast.programs.lower import Computed
from holdfast.programs.plan import Plan
from holdfast.programs.sql_expression import Encoder, bind_constant
from holdfast.rules.predicate import Column, Constant
from holdfast.rules.rule import Nulls

Bools = NDArray[np.bool_]

# Decimals of more digits than this do not fit 64 bits, and have their place among the values for a code.
_LONG_DIGITS = 18


def formed_rows(rows: pa.Table, plan: Plan) -> pa.Table:
    """The rows, whose columns are `c0`, `c1`, ... and others, with the plan's forms and flags in place of the former.

    The twin of selecting `Plan.form_columns()` on Spark.
    """
    names = list(plan.schema.types)
    own = [column for column in rows.column_names if re.fullmatch(r"c\d+", column)]
    named = rows.select(own).rename_columns([names[int(column[1:])] for column in own])
    others = {column: rows.column(column) for column in rows.column_names if column not in own}
    return pa.table({**others, **form_columns(named, plan)})


def form_columns(
    rows: pa.Table, plan: Plan, forms: Iterable[int] | None = None, flags: Iterable[int] | None = None
) -> dict[str, pa.ChunkedArray | pa.Array]:
    """The forms `f0`, ... and flags `b0`, ... with these numbers, or all, of rows under the table's column names.

    The twin of `Plan.form_columns`. Raises ConditionError where a `where` says more than can be computed here.
    """
    columns = TableColumns.of(rows, plan)
    named: dict[str, pa.ChunkedArray | pa.Array] = {}
    for i in range(len(plan.programs.forms)) if forms is None else forms:
        named[f"f{i}"] = columns.form(plan.programs.forms[i])
    for i in range(len(plan.programs.flags)) if flags is None else flags:
        named[f"b{i}"] = pa.array(flag_values(plan.programs.flags[i], columns))
    return named


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table as codes, computed when first asked for: what flags ask of rows that are all known."""

    rows: pa.Table
    types: Mapping[str, ColumnType]
    nulls: Nulls
    computed: Mapping[str, Computed] = field(default_factory=dict)
    _codes: dict[str, Coded] = field(default_factory=dict, repr=False)
    _forms: dict[Form, pa.ChunkedArray] = field(default_factory=dict, repr=False)
    # The distinct values in order, of columns whose codes are places among them.
    _ranked: dict[str, pa.Array] = field(default_factory=dict, repr=False)
    _values: dict[str, pa.ChunkedArray] = field(default_factory=dict, repr=False)
    _bounds: dict[tuple[str, Constant], BoundCode | None] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, rows: pa.Table, plan: Plan) -> TableColumns:
        """The columns of the rows that the plan's programs speak of."""
        return cls(rows, plan.types, plan.programs.nulls, plan.computed)

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def form(self, form: Form) -> pa.ChunkedArray:
        """The values of the form."""
        if form not in self._forms:
            column, kind = self.column(form.column), self.types[form.column]
            self._forms[form] = encoded_column(column, kind, form.encoding)
        return self._forms[form]

    def column(self, name: str) -> pa.ChunkedArray:
        """The values of a column of the table, or of a computed one."""
        if name not in self.computed:
            return self.rows.column(name)
        if name not in self._values:
            values = computed_column(self.computed[name], self.rows.column, self.types, len(self))
            self._values[name] = pa.chunked_array([values])
        return self._values[name]

    def vanishes(self, column: Computed) -> Bools:
        """Which rows have no value of the expression though its columns have values."""
        values = computed_column(column, self.rows.column, self.types, len(self))
        there = [self.valid(name) for name in column.base]
        return np.asarray(np.logical_and.reduce([values.is_null().to_numpy(zero_copy_only=False), *there]), np.bool_)

    def codes(self, name: str) -> NDArray[np.int64]:
        return self._coded(name).codes

    def valid(self, name: str) -> Bools:
        return self._coded(name).valid

    def compared_codes(self, a: str, b: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        encoder = Encoder(self.types, self.nulls, str)
        x, y = shared_codes([self.form(form) for form in encoder.compared(Column("t", a), Column("t", b))])
        return x.codes, y.codes

    def bound(self, name: str, constant: Constant) -> BoundCode | None:
        if (name, constant) not in self._bounds:
            self._bounds[name, constant] = self._found_bound(name, constant)
        return self._bounds[name, constant]

    def lookups(self, flag: Flag, make: Callable[[], Sequence[SideLookup]]) -> Sequence[SideLookup]:
        return make()  # of each flag once

    def _found_bound(self, name: str, constant: Constant) -> BoundCode | None:
        kind = self.types[name]
        if kind.family == "void":
            return None
        if kind == UNBOUNDED:
            return self._bound_rank(name, digits_key(constant_value(constant, kind)))
        if kind.family == "decimal":
            return self._bound_decimal(name, constant, kind)
        value = constant_value(constant, kind)
        if kind.family == "text":
            return self._bound_rank(name, value)
        return coder_for([kind], ordered=True, settled=True).constant(value)

    def values(self, names: Sequence[str]) -> pa.Table:
        return pa.table({name: decoded(self._known(name)) for name in names})

    def _known(self, name: str) -> pa.ChunkedArray:
        return self.column(name) if name in self.computed else self.rows.column(self._resolved(name))

    def _resolved(self, name: str) -> str:
        """The column that a condition means, upper and lower case apart, as in SQL."""
        same: list[str] = [own for own in self.rows.column_names if own.casefold() == name.casefold()]
        if len(same) == 1:
            return same[0]
        if same:
            raise ConditionError(f"a condition names {name!r}, which may be {' or '.join(map(repr, same))}.")
        raise ConditionError(
            f"a condition names {name!r}, and there is no such column.", hint=closest_hint(name, self.rows.column_names)
        )

    def _coded(self, name: str) -> Coded:
        if name not in self._codes:
            column, kind = self.column(name), self.types[name]
            valid = np.asarray(column.is_valid().to_numpy(), np.bool_)
            if kind.family == "void" or pa.types.is_null(column.type):
                self._codes[name] = Coded(np.zeros(len(self), np.int64), valid)
            elif kind.family in ("text", "binary") or _is_wide(kind):
                codes, self._ranked[name] = ranked_values(one_array(column))
                self._codes[name] = Coded(codes, valid)
            else:
                self._codes[name] = shared_codes([column])[0]
        return self._codes[name]

    def _bound_decimal(self, name: str, constant: Constant, kind: ColumnType) -> BoundCode:
        bound = bind_constant(constant, kind, Column("t", name))
        if bound.text is None:
            return BoundCode(None, False, bound.all_are)
        value = Decimal(bound.text)
        if not _is_wide(kind):
            return BoundCode(int(value.scaleb(kind.scale, Context(prec=80))), bound.exact)
        place = self._bound_rank(name, value)
        return place if bound.exact else BoundCode(place.code if place.code is not None else -1, exact=False)

    def _bound_rank(self, name: str, value: Any) -> BoundCode:
        self._coded(name)
        ordered = self._ranked.get(name, ())
        at = bisect_left(ordered, value, key=lambda scalar: scalar.as_py())
        exact = at < len(ordered) and ordered[at].as_py() == value
        return BoundCode(at if exact else at - 1, exact)


def encoded_column(column: pa.ChunkedArray, kind: ColumnType, encoding: Encoding) -> pa.ChunkedArray:
    """The column in an encoding, exact: the twin of `encoded_sql`."""
    match encoding.way:
        case "cast":
            return _cast(column, kind, encoding.target)
        case "digits":
            distinct = one_array(column).dictionary_encode()
            keys = [digits_key(value) for value in distinct.dictionary.to_pylist()]
            return pa.chunked_array([pa.array(keys, pa.binary()).take(distinct.indices)])
        case "halves":
            return pa.chunked_array([_halves(one_array(column), kind)])
        case _ if kind.family == "void":  # whatever type it is stored as, it is compared with any other such column
            return pa.chunked_array([pa.nulls(len(column))])
        case _:
            return column


def _cast(column: pa.ChunkedArray, kind: ColumnType, target: str) -> pa.ChunkedArray:
    wanted = arrow_type_of(target)
    if kind.family == "void":
        return pa.chunked_array([pa.nulls(len(column), wanted)])
    if pa.types.is_decimal(wanted) and pa.types.is_integer(column.type):
        column = column.cast(pa.decimal128(19, 0))
    if pa.types.is_timestamp(wanted) and pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    return column.cast(wanted)


def _halves(array: pa.Array, kind: ColumnType) -> pa.Array:
    """A struct that sorts as the exact number: its nearest double, then what an integer has beyond that."""
    valid = array.is_valid()
    if kind.family == "float":
        near = pc.fill_null(array.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False) + 0.0
        rest = np.zeros(len(array), np.int64)
    else:
        whole = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        near = whole.astype(np.float64)
        # The double nearest to the largest integers is 2^63, which is no 64-bit integer.
        top = near >= 2.0**63
        rest = np.where(top, (whole - np.int64(2**63 - 1)) - 1, whole - np.where(top, 0, near).astype(np.int64))
    fields = [pa.field("d", pa.float64()), pa.field("r", pa.int64())]
    return pa.StructArray.from_arrays([pa.array(near), pa.array(rest)], fields=fields, mask=pc.invert(valid))


def _is_wide(kind: ColumnType) -> bool:
    return kind.family == "decimal" and kind.precision > _LONG_DIGITS
