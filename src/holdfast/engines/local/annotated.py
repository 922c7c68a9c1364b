"""A table with what each of its rows breaks, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.checking.annotated import ERRORS, FIELDS, WARNINGS, column_of
from holdfast.checking.outcome import RuleOutcome
from holdfast.encode.one_array import one_array
from holdfast.encode.spark_text import cell_texts
from holdfast.engines.result_table import ArrowResult
from holdfast.presented import presentation
from holdfast.rules.message import filled_message
from holdfast.rules.rule import Rule

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class BrokenRows:
    """The rows of a table that break a rule, by their positions, with the number of pairs each is in.

    A row `ends[j]` of them has a partner in place `partners[j]` of `keys`, among which `order` says which is smaller.
    """

    outcome: RuleOutcome
    rows: Ints
    conflicts: Ints
    suspect: Bools
    ends: Ints
    partners: Ints
    keys: pa.Array | pa.ChunkedArray
    order: Ints

    def first_partners(self, most: int) -> pa.ListArray:
        """Per row, the keys of its first partners, at most so many, each once."""
        order = np.lexsort((self.order[self.partners], self.ends))
        ends, partners = self.ends[order], self.partners[order]
        new = np.ones(len(ends), np.bool_)
        new[1:] = (ends[1:] != ends[:-1]) | (partners[1:] != partners[:-1])
        ends, partners = ends[new], partners[new]
        starts = np.searchsorted(ends, ends, side="left")
        first = np.arange(len(ends)) - starts < most
        ends, partners = ends[first], partners[first]
        # In the order of the rows.
        at = np.argsort(self.rows, kind="stable")
        place = at[np.searchsorted(self.rows[at], ends)]
        by_row = np.argsort(place, kind="stable")
        keys = self.keys.take(pa.array(partners[by_row], pa.int64()))
        return pa.ListArray.from_arrays(pa.array(_offsets(place, len(self.rows))), _as_array(keys))


def broken_rows(
    outcome: RuleOutcome,
    rows: Ints,
    conflicts: Ints,
    suspect: Bools,
    pairs: tuple[Ints, Ints] | None,
    keys: pa.Array | pa.ChunkedArray,
    order: Ints,
) -> BrokenRows:
    """The rows that break a rule of their table, with the others of its `pairs`; None where each breaks it alone."""
    left, right = (_NOTHING, _NOTHING) if pairs is None else pairs
    ends, partners = np.concatenate([left, right]), np.concatenate([right, left])
    return BrokenRows(outcome, rows, conflicts, suspect, ends, partners, keys, order)


def annotated_rows(
    whole: pa.Table, broken: Callable[[], Sequence[BrokenRows]], key: pa.DataType, most: int
) -> ArrowResult:
    """The table with `_errors` and `_warnings`: entries in the order of the rules, at most `most` partners in each."""
    kind = pa.list_(_entry_type(key))
    schema = whole.schema.append(pa.field(ERRORS, kind)).append(pa.field(WARNINGS, kind))

    def compute() -> pa.Table:
        rows, every = whole, broken()
        for name in (ERRORS, WARNINGS):
            own = [of_rule for of_rule in every if column_of(of_rule.outcome) == name]
            entries = [_entries(of_rule, whole, most).cast(kind.value_type) for of_rule in own]
            positions = np.concatenate([_NOTHING, *(of_rule.rows for of_rule in own)])
            values = pa.concat_arrays(entries) if entries else pa.array([], kind.value_type)
            ordered = values.take(pa.array(np.argsort(positions, kind="stable")))
            offsets = _offsets(positions, whole.num_rows)
            nothing = pa.array(offsets[1:] == offsets[:-1])
            rows = rows.append_column(name, pa.ListArray.from_arrays(pa.array(offsets), ordered, mask=nothing))
        return rows

    return ArrowResult(schema, compute)


def _entry_type(key: pa.DataType) -> pa.StructType:
    text = pa.string()
    kinds = (text, text, pa.list_(text), text, text, pa.list_(key), pa.int64(), pa.bool_())
    return pa.struct(list(zip(FIELDS, kinds, strict=True)))


def _entries(broken: BrokenRows, whole: pa.Table, most: int) -> pa.StructArray:
    rule, many = broken.outcome.rule, len(broken.rows)
    fields = (
        pa.repeat(rule.name, many),
        _messages(rule, whole, broken.rows),
        pa.repeat(pa.scalar(list(rule.body.columns), pa.list_(pa.string())), many),
        pa.repeat(pa.scalar(rule.where, pa.string()), many),
        pa.repeat(rule.kind, many),
        broken.first_partners(most),
        pa.array(broken.conflicts, pa.int64()),
        pa.array(broken.suspect),
    )
    return pa.StructArray.from_arrays(fields, names=list(FIELDS))


def _messages(rule: Rule, whole: pa.Table, rows: Ints) -> pa.Array:
    """What the rule tells each of the rows."""
    if rule.message is None:
        return pa.repeat(presentation("rule_words").message_words(rule), len(rows))

    def texts(column: str) -> pa.Array:
        return pc.fill_null(cell_texts(whole.column(column).take(pa.array(rows))), "null")

    pieces = filled_message(rule.message, texts, lambda text: pa.repeat(text, len(rows)))
    return pc.binary_join_element_wise(*pieces, "")


def _offsets(places: Ints, size: int) -> NDArray[np.int32]:
    """Where the list of each place starts, and the last one ends."""
    return np.concatenate([[0], np.cumsum(np.bincount(places, minlength=size))]).astype(np.int32)


def _as_array(keys: pa.Array | pa.ChunkedArray) -> pa.Array:
    return one_array(keys) if isinstance(keys, pa.ChunkedArray) else keys
