"""Rows that have come, as codes: the door at which their columns and types are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.encode.column_type import VOID, ColumnType
from holdfast.encode.live_codes import BoundCode, Coder, LabelCoder, coder_for, constant_value
from holdfast.errors import ChangeError, TypeMismatchError, closest_hint
from holdfast.programs.arrow_forms import SideLookup
from holdfast.programs.form import Flag
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.predicate import Column, Comparison, Constant, Membership
from holdfast.rules.relation import EQ, NE
from holdfast.rules.rule import Nulls

Bools = NDArray[np.bool_]
# What Arrow raises for values that are no column: of several types, halves of surrogate pairs, infinite decimals.
_NO_COLUMN = (
    pa.ArrowInvalid,
    pa.ArrowTypeError,
    pa.ArrowNotImplementedError,
    OverflowError,
    TypeError,
    UnicodeEncodeError,
)
# Types of values that are surely no scalars of Arrow, which a look into a set tells sooner than isinstance.
_PLAIN = frozenset({str, int, float, bool, type(None)})
# Per column whose codes have changed, the old codes and the new ones.
Moved = dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]


@dataclass(frozen=True)
class RowBatch:
    """Rows as columns of Python values or Arrow arrays, by name."""

    size: int
    columns: Mapping[str, Sequence[Any] | pa.Array]

    def take(self, places: Sequence[int]) -> RowBatch:
        def taken(column: Sequence[Any] | pa.Array) -> Sequence[Any] | pa.Array:
            if isinstance(column, pa.Array):
                return column.take(pa.array(places, pa.int64()))
            return [column[i] for i in places]

        return RowBatch(len(places), {name: taken(column) for name, column in self.columns.items()})

    def without(self, name: str) -> RowBatch:
        return RowBatch(self.size, {n: column for n, column in self.columns.items() if n != name})

    def listed(self, name: str) -> list[Any]:
        column = self.columns[name]
        return column.to_pylist() if isinstance(column, pa.Array) else list(column)

    def to_arrow(self, names: Iterable[str] | None = None) -> pa.Table:
        """The rows, or these columns of them, as an Arrow table. ChangeError where a column is not of one type."""
        chosen = {name: self.columns[name] for name in (self.columns if names is None else names)}
        return pa.table({n: c if isinstance(c, pa.Array) else _arrow_column(c, n) for n, c in chosen.items()})


def row_batch(rows: Any) -> RowBatch:
    """The rows, given as a mapping, many of them, an Arrow table or batch, or a pandas DataFrame.

    Of a DataFrame NaN is a missing value, as pandas means it. ChangeError where rows differ in their columns.
    """
    if isinstance(rows, Mapping):
        return RowBatch(1, {str(name): [value] for name, value in rows.items()})
    if hasattr(rows, "iloc") and hasattr(rows, "columns"):
        try:
            rows = pa.Table.from_pandas(rows, preserve_index=False)
        except _NO_COLUMN as problem:
            raise ChangeError(f"a column of the DataFrame is not of one type: {problem}.") from None
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        names = rows.column_names
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ChangeError(f"the rows have two columns {twice[0]!r}.", hint="name each column once.")
        return RowBatch(rows.num_rows, {name: rows.column(name).combine_chunks() for name in names})
    given = list(rows)
    for row in given:
        if not isinstance(row, Mapping):
            raise ChangeError(
                f"{row!r} is no row.",
                hint="give a mapping of column names to values, a list of them, an Arrow table or a DataFrame.",
            )
    if not given:
        return RowBatch(0, {})
    names = list(given[0])
    for at, row in enumerate(given):
        if row.keys() != given[0].keys():
            odd = sorted(map(str, row.keys() ^ given[0].keys()))
            raise ChangeError(
                f"row {at} and row 0 of the change differ in their columns: {', '.join(odd)}.",
                hint="give every row the same columns, None where there is no value.",
            )
    return RowBatch(len(given), {str(name): [row[name] for row in given] for name in names})


@dataclass
class CodedBatch:
    """Rows as codes, and what conditions on one row ask of them."""

    columns: Mapping[str, int]
    all_codes: NDArray[np.int64]
    all_valid: Bools
    nulls: Nulls
    coding: Coding
    batch: RowBatch

    def __len__(self) -> int:
        return len(self.all_codes)

    def codes(self, name: str) -> NDArray[np.int64]:
        return self.all_codes[:, self.columns[name]]

    def valid(self, name: str) -> Bools:
        return self.all_valid[:, self.columns[name]]

    def compared_codes(self, a: str, b: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.codes(a), self.codes(b)  # columns that are compared with each other share a coder

    def bound(self, name: str, constant: Constant) -> BoundCode | None:
        return self.coding.bound(name, constant)

    def values(self, names: Sequence[str]) -> pa.Table:
        return self.batch.to_arrow(names)

    def lookups(self, flag: Flag, make: Callable[[], Sequence[SideLookup]]) -> Sequence[SideLookup]:
        return self.coding.lookups(flag, make)


@dataclass
class Coding:
    """The coders of all compared columns. Columns that are compared with each other share one.

    `constants` are those of the rules, by column: they have a place among the codes before rows get theirs, since a
    constant that finds no room moves the codes of values.
    """

    names: Sequence[str]
    kinds: dict[str, ColumnType]
    families: Mapping[str, tuple[str, ...]]
    ordered: frozenset[str]
    constants: tuple[tuple[str, Constant], ...] = ()
    coders: dict[tuple[str, ...], Coder] = field(default_factory=dict)
    bounds: dict[tuple[str, Constant], BoundCode] = field(default_factory=dict)
    settled: bool = False
    # By the number of a flag, which is kept beside so that no other has it: what is made of the places of constants.
    flag_lookups: dict[int, tuple[Flag, Sequence[SideLookup]]] = field(default_factory=dict)
    # Constants that may have no code: all at first, and again when codes have been forgotten.
    unplaced: tuple[tuple[str, Constant], ...] | None = None

    def coder(self, name: str) -> Coder | None:
        return self.coders.get(self.families[name])

    def learned(self, batch: RowBatch) -> dict[str, ColumnType]:
        """The types of columns that had none and have values now."""
        if self.settled:
            return {}
        return {
            name: kind
            for name in self.names
            if self.kinds[name].family == "void"
            and (kind := kind_of_values(batch.columns[name], name)).family != "void"
        }

    def learn(self, kinds: Mapping[str, ColumnType]) -> None:
        self.kinds.update(kinds)
        self.settled = all(kind.family != "void" for kind in self.kinds.values())
        for family in {self.families[name] for name in kinds}:
            if family not in self.coders:
                known = [self.kinds[name] for name in family]
                settled = all(kind.family != "void" for kind in known)
                ordered = any(name in self.ordered for name in family)
                self.coders[family] = coder_for(known, ordered=ordered, settled=settled)

    @contextmanager
    def unless_refused(self) -> Iterator[None]:
        """What is learned of types inside stays known only when nothing is refused there."""
        if self.settled:  # there is nothing left to learn
            yield
            return
        kinds, coders, settled = dict(self.kinds), dict(self.coders), self.settled
        try:
            yield
        except Exception:
            self.kinds, self.coders, self.settled = kinds, coders, settled
            self._forget_bounds()
            self.unplaced = None
            raise

    def keep(self, codes: NDArray[np.int64], valid: Bools) -> None:
        """Forgets all values but those that the rows have."""
        for family, coder in self.coders.items():
            if isinstance(coder, LabelCoder):
                columns = [self.names.index(name) for name in family]
                coder.keep(np.unique(np.concatenate([codes[valid[:, at], at] for at in columns])))
        self._forget_bounds()
        self.unplaced = None

    def entered(
        self, batch: RowBatch, keys: Sequence[str], recode: Callable[[Moved], None], *, needed: int | None = None
    ) -> tuple[NDArray[np.int64], Bools]:
        """As `encoded`, where codes of earlier values may have to move: `recode` is told then. The keys come first
        among the names; ChangeError for a row that lacks one of the first `needed`, or of all."""
        codes, valid = self.encoded(batch, keys)
        self._place_constants()
        moved = self.moved()
        if moved:
            recode(moved)
            codes, valid = self.encoded(batch, keys)
        there = valid[:, : len(keys) if needed is None else needed]
        if not there.all():
            row, part = (int(i) for i in np.argwhere(~there)[0])
            raise ChangeError(
                f"row {row} of the change has no value in the key column {keys[part]!r}.",
                hint="nothing was changed. Every row needs a key.",
            )
        return codes, valid

    def _place_constants(self) -> None:
        waiting = self.constants if self.unplaced is None else self.unplaced
        if waiting:
            self.unplaced = tuple(pair for pair in waiting if self.bound(*pair) is None)
            if len(self.unplaced) < len(waiting):
                # Where one moves codes, the places of those before it are no longer theirs.
                self._forget_bounds()

    def encoded(self, batch: RowBatch, keys: Sequence[str]) -> tuple[NDArray[np.int64], Bools]:
        """Codes and validity, a row per row. ChangeError, naming column and key, where a value is of another kind."""
        if batch.size == 1:
            return self._encode_row(batch, keys)
        codes = np.zeros((batch.size, len(self.names)), np.int64)
        valid = np.zeros((batch.size, len(self.names)), np.bool_)
        for at, name in enumerate(self.names):
            coder = self.coder(name)
            if coder is not None:
                codes[:, at], valid[:, at] = self._column(batch, name, coder, keys)
        return codes, valid

    def _encode_row(self, batch: RowBatch, keys: Sequence[str]) -> tuple[NDArray[np.int64], Bools]:
        columns, coders, families = batch.columns, self.coders, self.families
        codes, valid = [], []
        for name in self.names:
            (value,) = columns[name]
            if type(value) not in _PLAIN and isinstance(value, pa.Scalar):
                value = value.as_py()
            valid.append(value is not None)
            coder = None if value is None else coders.get(families[name])
            try:
                codes.append(0 if coder is None else coder.code(value))
            except TypeMismatchError as problem:
                raise self._mismatch(batch, 0, name, value, problem, keys) from None
        return np.array([codes], np.int64), np.array([valid], np.bool_)

    def _column(
        self, batch: RowBatch, name: str, coder: Coder, keys: Sequence[str]
    ) -> tuple[NDArray[np.int64] | int, Bools | bool]:
        values = batch.columns[name]
        if not isinstance(values, pa.Array):
            try:
                values = pa.array(values)
            except _NO_COLUMN:
                return self._encode_each(batch, name, coder, keys)
        try:
            if arrow_column_type(values.type).family == "void":
                return 0, False
            return coder.codes(values), values.is_valid().to_numpy(zero_copy_only=False)
        except (TypeMismatchError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return self._encode_each(batch, name, coder, keys)

    def _encode_each(
        self, batch: RowBatch, name: str, coder: Coder, keys: Sequence[str]
    ) -> tuple[NDArray[np.int64], Bools]:
        values = batch.listed(name)
        codes = [0 if v is None else self._encode_value(batch, i, name, v, coder, keys) for i, v in enumerate(values)]
        return np.array(codes, np.int64), np.array([v is not None for v in values], np.bool_)

    def _encode_value(self, batch: RowBatch, at: int, name: str, value: Any, coder: Coder, keys: Sequence[str]) -> int:
        try:
            return coder.code(value)
        except TypeMismatchError as problem:
            raise self._mismatch(batch, at, name, value, problem, keys) from None

    def _mismatch(
        self, batch: RowBatch, at: int, name: str, value: Any, problem: TypeMismatchError, keys: Sequence[str]
    ) -> ChangeError:
        key = tuple(part for name in keys if (part := batch.take([at]).listed(name)[0]) is not None)
        return ChangeError(
            f"the row with key {_key_text(key)} has {value!r} in column {name!r}, which holds {self.kinds[name]}: "
            f"{problem.message}.",
            hint=f"nothing was changed. Name the type that {name!r} should have with schema={{{name!r}: …}}.",
        )

    def bound(self, name: str, constant: Constant) -> BoundCode | None:
        known = self.bounds.get((name, constant))
        if known is None:
            coder = self.coder(name)
            if coder is None or self.kinds[name].family == "void":
                return None
            known = self.bounds[name, constant] = coder.constant(constant_value(constant, self.kinds[name]))
        return known

    def moved(self) -> Moved:
        """Per column whose codes have changed, the old codes in order and the new ones; once."""
        moved: Moved = {}
        for family, coder in self.coders.items():
            change = coder.moved() if isinstance(coder, LabelCoder) else None
            if change is not None:
                moved |= {self.names.index(name): change for name in family}
        if moved:
            self._forget_bounds()
        return moved

    def lookups(self, flag: Flag, make: Callable[[], Sequence[SideLookup]]) -> Sequence[SideLookup]:
        """What is made for the flag, once as long as constants keep their places."""
        known = self.flag_lookups.get(id(flag))
        if known is None:
            known = self.flag_lookups[id(flag)] = flag, make()
        return known[1]

    def _forget_bounds(self) -> None:
        self.bounds.clear()
        self.flag_lookups.clear()


def _key_text(key: tuple[Any, ...]) -> str:
    return repr(key[0]) if len(key) == 1 else repr(key)


def _arrow_column(values: Sequence[Any], name: str) -> pa.Array:
    try:
        return pa.array(values)
    except _NO_COLUMN as problem:
        raise ChangeError(
            f"the values of column {name!r} are not of one type: {problem}.",
            hint=f"give values of one type, or name it with schema={{{name!r}: …}}.",
        ) from None


def kind_of_values(values: Sequence[Any] | pa.Array, name: str) -> ColumnType:
    """The type of the values of a column; void where all are null. ChangeError where they are not of one type."""
    if not isinstance(values, pa.Array):
        present = [value for value in values if value is not None]
        if not present:
            return VOID
        values = _arrow_column(present, name)
    return VOID if values.null_count == len(values) else arrow_column_type(values.type)


def recoded(codes: NDArray[np.int64], valid: Bools, moved: Moved) -> NDArray[np.int64]:
    """The codes of rows as they are after some have moved."""
    codes = codes.copy()
    for column, (old, new) in moved.items():
        order = np.argsort(old)
        there = valid[:, column]
        codes[there, column] = new[order][np.searchsorted(old[order], codes[there, column])]
    return codes


def coding_for(names: Sequence[str], constraints: Iterable[DenialConstraint]) -> Coding:
    """Coders to be, for columns of types yet unknown, that these constraints compare."""
    root = {name: name for name in names}

    def find(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    ordered: set[str] = set()
    constants: dict[tuple[str, Constant], None] = {}
    for predicate in (predicate for constraint in constraints for predicate in constraint.predicates):
        if isinstance(predicate, Membership):
            listed = sorted(predicate.values, key=str)
            constants |= dict.fromkeys((predicate.column.name, value) for value in listed)
        if not isinstance(predicate, Comparison):
            continue
        if isinstance(predicate.right, Constant):
            constants[predicate.left.name, predicate.right] = None
        if isinstance(predicate.right, Column):
            root[find(predicate.left.name)] = find(predicate.right.name)
        if predicate.allowed not in (EQ, NE):
            ordered |= {column.name for column in predicate.columns()}
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(find(name), []).append(name)
    families = {name: tuple(members[find(name)]) for name in names}
    return Coding(names, dict.fromkeys(names, VOID), families, frozenset(ordered), tuple(constants))


def require_names(batch: RowBatch, wanted: Sequence[str], known: frozenset[str] | None) -> None:
    """ChangeError when a compared column is missing, or when columns are others than those of the rows before."""
    if known is not None and batch.columns.keys() == known:
        return
    for name in wanted:
        if name not in batch.columns:
            raise ChangeError(
                f"the change has no column {name!r}, which the rules or the key need.",
                hint=closest_hint(name, batch.columns),
            )
    if known is not None:
        odd = sorted(batch.columns.keys() ^ known)
        raise ChangeError(
            f"the change has other columns than the rows before: {', '.join(odd)}.",
            hint="give every change the same columns, None where there is no value.",
        )
