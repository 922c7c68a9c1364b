"""A table as the search sees it: small integers per column, identical rows collapsed, the predicate space over it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.encode.codes import comparable_codes, dense_codes
from holdfast.encode.column_type import ColumnType
from holdfast.encode.one_array import decoded, one_array
from holdfast.kernels.contradiction import ANYWHERE
from holdfast.kernels.evidence import (
    EQUALITY,
    EQUALITY_SKIP,
    LEFT_ROW,
    NULL,
    ORDER,
    ORDER_MEET,
    ORDER_SKIP,
    RIGHT_ROW,
    Counted,
    Packing,
    listed_pairs,
    packed_pairs,
)
from holdfast.rules.predicate import Column
from holdfast.rules.rule import Nulls
from holdfast.search.evidence import Codes, Evidence, Flags, Ints, evidence
from holdfast.search.options import DiscoverOptions
from holdfast.search.possible_values import possible_texts, possible_values
from holdfast.search.space import OperandPair, PredicateSpace, Ranges, both_ways

# The bits that each state of an operand pair shows, lowest first: `=` and `!=`, or `<`, `=` and `>`. A null under `sql`
# shows all of them, so that only a rule without a predicate there is violated; under `equal`, beside a value, `!=`.
_SHOWN = {
    EQUALITY: (0b01, 0b10),
    EQUALITY_SKIP: (0b01, 0b10, 0b11),
    ORDER: (0b001, 0b010, 0b100),
    ORDER_SKIP: (0b001, 0b010, 0b100, 0b111),
    ORDER_MEET: (0b001, 0b010, 0b100, 0b101),
}


# Columns of text that share fewer values than this are alike by chance, and those that share no more than would be
# expected by so many standard deviations.
_FEW_SHARED, _DEVIATIONS = 3, 3.0


@dataclass(frozen=True)
class CodedRows:
    """Distinct rows as codes, how many rows each stands for, and how pairs of them become evidence.

    `shown` has, per operand pair and state the kernel knows, the bits that a pair of rows in it shows. `left_out` says
    how many pairs of columns share enough values and are not compared, because there are too many. `possible` has, for
    columns in which no value occurs twice, about how many values they could have had; see possible_values.py.
    """

    space: PredicateSpace
    packing: Packing
    shown: tuple[tuple[int, ...], ...]
    codes: Codes
    weights: Ints
    left_out: int = 0
    possible: Mapping[str, float] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return int(self.weights.sum())

    @cached_property
    def repeated(self) -> Flags:
        """Which rows stand for several: these are pairs with themselves, too."""
        return np.asarray(self.weights > 1)

    @cached_property
    def ranges(self) -> Ranges:
        """Where the values of columns with an order lie; anywhere, where nulls equal each other and are among them."""
        known: dict[str, tuple[int, int]] = {}
        for i, pair in enumerate(self.space.pairs):
            if not pair.same_column:
                continue
            values = self.codes[self.packing.left[i]]
            values = values[values != NULL] if self.packing.ways[i] in (ORDER, ORDER_SKIP) else values[:0]
            known[pair.left.name] = (int(values.min()), int(values.max())) if len(values) else ANYWHERE
        return known

    def evidence(self, counted: Counted) -> Evidence:
        """The evidence of the counted pairs, in both orders."""
        return both_orders(self.space, shown_words(self.space, self.packing, self.shown, counted), counted.counts)

    def evidence_of_pairs(self, left: Ints, right: Ints) -> Evidence:
        """The evidence of these pairs of distinct rows, in both orders; what is counted are pairs of distinct rows."""
        return self.evidence(listed_pairs(self.codes, left, right, self.packing))


def shown_words(
    space: PredicateSpace, packing: Packing, shown: Sequence[tuple[int, ...]], counted: Counted
) -> NDArray[np.uint64]:
    """Per line of packed relations the bits that a pair of rows shows in the order it was counted in."""
    words = np.zeros((len(counted.packed), space.words), np.uint64)
    for i, of_states in enumerate(shown):
        bits = np.array(of_states, np.uint64)[packing.states_of(counted.packed, i)]
        start = space.first_bits[i]
        words[:, start // 64] |= bits << np.uint64(start % 64)
        if start % 64 + len(space.pairs[i].relations) > 64:
            words[:, start // 64 + 1] |= bits >> np.uint64(64 - start % 64)
    return words


def both_orders(space: PredicateSpace, words: NDArray[np.uint64], counts: Ints) -> Evidence:
    """The evidence of pairs that show these bits one way round, in both orders."""
    return evidence(both_ways(space, words), np.concatenate([counts, counts]))


class EncodingEnded(Exception):
    """Time was up before a table was coded."""


def _never() -> bool:
    return False


def _look(over: Callable[[], bool]) -> None:
    if over():
        raise EncodingEnded


def coded_rows(
    table: pa.Table, types: Mapping[str, ColumnType], options: DiscoverOptions, space: PredicateSpace | None = None, *,
    over: Callable[[], bool] = _never,
) -> CodedRows:  # fmt: skip
    """The table's columns as codes with the predicate space over them, unless that is given; `types` has the columns
    that are compared. Raises EncodingEnded where time is `over`, which is looked at after each column."""
    if options.single_columns:
        options = replace(options, cross_columns=None)
    coded = family_codes(table, together(types, options), over=over)
    codes = {name: coded[name] for name in types}
    left_out = 0
    if space is None:
        pairs, left_out = compared_pairs(codes, types, options)
        space = space_over(pairs, types, options, by_chance=chance_pairs(table, codes, pairs, types, over=over))
    possible: dict[str, float] = {}
    for name in space.columns:
        _look(over)
        possible |= possible_values(table, {name: codes[name]})
    rows = collapsed_rows(codes, table.num_rows, space, options.nulls, over=over)
    return replace(rows, left_out=left_out, possible=possible)


def collapsed_rows(
    codes: Mapping[str, Codes], rows: int, space: PredicateSpace, nulls: Nulls, *, over: Callable[[], bool] = _never
) -> CodedRows:
    """The rows with these codes, those that are equal as one, with the predicate space over them."""
    collapsed, weights = _collapsed(codes, rows, over)
    packing, shown, columns = _layout(space, collapsed, nulls)
    return CodedRows(space, packing, shown, columns, weights)


def rows_apart(codes: Mapping[str, Codes], rows: int, space: PredicateSpace, nulls: Nulls) -> CodedRows:
    """As `collapsed_rows`, every row for itself."""
    packing, shown, columns = _layout(space, codes, nulls)
    return CodedRows(space, packing, shown, columns, np.ones(rows, np.int64))


def together(types: Mapping[str, ColumnType], options: DiscoverOptions) -> list[list[str]]:
    """The columns, divided into those that share a numbering: they may be compared with each other."""
    return families(types) if options.cross_columns is not None else [[name] for name in types]


def families(types: Mapping[str, ColumnType]) -> list[list[str]]:
    """The columns, divided into those of one type; all numbers are one type, and every column without one is alone."""
    by_type: dict[str, list[str]] = {}
    for name, kind in types.items():
        alone = kind.family == "void"
        label = name if alone else "number" if kind.numeric else "text" if kind.family == "text" else kind.sql
        by_type.setdefault(f"{alone} {label}", []).append(name)
    return list(by_type.values())


def family_codes(
    table: pa.Table, together: Iterable[Sequence[str]], *, over: Callable[[], bool] = _never
) -> dict[str, Codes]:
    """Per column its codes; those of columns that stand together compare with each other."""
    codes: dict[str, Codes] = {}
    for family in together:
        _look(over)
        coded = comparable_codes([table.column(name) for name in family])
        _look(over)
        codes.update(zip(family, dense_codes(coded), strict=True))
    return codes


def predicate_space(
    codes: Mapping[str, Codes], types: Mapping[str, ColumnType], options: DiscoverOptions
) -> PredicateSpace:
    """The operand pairs: each column with itself, and the pairs of columns that share enough values."""
    return space_over(compared_pairs(codes, types, options)[0], types, options)


def compared_pairs(
    codes: Mapping[str, Codes], types: Mapping[str, ColumnType], options: DiscoverOptions
) -> tuple[list[tuple[str, str]], int]:
    """The pairs of columns that share enough values to be compared, and how many of these are left out: where only the
    best rules are wanted, the columns most alike are compared, as many as the limits say."""
    if options.cross_columns is None:
        return [], 0
    shared = [overlap for overlap in overlaps(codes, types) if overlap.share >= options.cross_columns]
    most, pairs = options.limits.compared_pairs, [(overlap.left, overlap.right) for overlap in shared]
    if not options.best_only or len(pairs) <= most:
        return pairs, 0
    likeness = np.array([overlap.likeness for overlap in shared])
    kept = np.sort(np.argsort(-likeness, kind="stable")[:most])
    return [pairs[i] for i in kept], len(pairs) - most


def space_over(
    compared: Iterable[tuple[str, str]],
    types: Mapping[str, ColumnType],
    options: DiscoverOptions,
    *,
    by_chance: Collection[tuple[str, str]] = (),
) -> PredicateSpace:
    """The operand pairs of columns with themselves, and of these pairs of columns, some of which are alike
    `by_chance`."""

    def ordered(name: str) -> bool:
        kind = types[name]
        return kind.ordered and kind.family != "void" and (kind.family != "text" or options.order_text)

    t, s = ({name: Column(row, name) for name in types} for row in ("t", "s"))
    pairs = [OperandPair(t[name], s[name], ordered(name)) for name in types]
    for a, b in compared:
        how = ordered(a), (a, b) in by_chance
        pairs += [OperandPair(t[a], s[b], *how), OperandPair(t[b], s[a], *how)]
        if options.one_row:
            pairs += [OperandPair(t[a], t[b], *how), OperandPair(s[a], s[b], *how)]
    return PredicateSpace(tuple(pairs))


@dataclass(frozen=True)
class SharedValues:
    """Two columns of one family, how many distinct values they have in common, and how many each has."""

    left: str
    right: str
    shared: int
    values: tuple[int, int]

    @property
    def share(self) -> float:
        """Which share of the distinct values of the one with fewer the other has, too."""
        return self.shared / min(self.values)

    @property
    def likeness(self) -> float:
        """Which share of the values of both they have in common."""
        return self.shared / (sum(self.values) - self.shared)


def overlaps(codes: Mapping[str, Codes], types: Mapping[str, ColumnType]) -> list[SharedValues]:
    """Every two columns of one family, in the order of the columns. Columns without values are left out."""
    pairs = []
    for family in families(types):
        if len(family) == 1:
            continue
        size = max(int(codes[name].max(initial=NULL)) for name in family) + 1
        present = np.zeros((len(family), size), np.bool_)
        for i, name in enumerate(family):
            present[i, codes[name][codes[name] != NULL]] = True
        values = present.sum(axis=1).tolist()
        # By the word: 200 columns are 20,000 pairs.
        packed = np.packbits(present, axis=1)
        packed = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
        for i in range(len(family)):
            shared = np.bitwise_count(packed[i + 1 :] & packed[i]).sum(axis=1, dtype=np.int64).tolist()
            pairs += [
                SharedValues(family[i], family[j], count, (values[i], values[j]))
                for j, count in enumerate(shared, start=i + 1)
                if values[i] and values[j]
            ]
    place = {name: i for i, name in enumerate(types)}
    return sorted(pairs, key=lambda pair: (place[pair.left], place[pair.right]))


def chance_pairs(
    table: pa.Table,
    codes: Mapping[str, Codes],
    compared: Iterable[tuple[str, str]],
    types: Mapping[str, ColumnType],
    *,
    over: Callable[[], bool] = _never,
) -> set[tuple[str, str]]:
    """The pairs of columns of text that are alike by chance: they share fewer than three values, or hardly more than as
    many texts drawn at random would that are written as theirs are.

    Flags are `Y` and `N` everywhere, and of the codes of continents some are codes of countries. Those that there is no
    time to look at are not among them.
    """
    texts: dict[str, pa.Array] = {}
    alike = set()
    for a, b in compared:
        if types[a].family != "text" or over():
            continue
        for name in (a, b):
            if name not in texts:
                first = np.unique(codes[name], return_index=True)[1]
                texts[name] = one_array(
                    decoded(table.column(name).take(pa.array(first))).cast(pa.large_string())
                ).drop_null()
        own, theirs = texts[a], texts[b]
        shared = int(pc.sum(pc.is_in(own, value_set=theirs)).as_py() or 0)
        if shared < _FEW_SHARED:
            alike.add((a, b))
            continue
        # Texts are drawn from all that have such characters in such places.
        written = pa.chunked_array([own, theirs])
        expected = len(own) * len(theirs) / max(possible_texts(written), len(own), len(theirs))
        if shared <= expected + _DEVIATIONS * expected**0.5:
            alike.add((a, b))
    return alike


def _collapsed(codes: Mapping[str, Codes], rows: int, over: Callable[[], bool]) -> tuple[dict[str, Codes], Ints]:
    """The distinct rows, and how many rows each stands for."""
    ids, size = np.zeros(rows, np.int64), 1
    # Columns with many values first: when all rows differ, the rest need not be looked at.
    for name in sorted(codes, key=lambda name: -int(codes[name].max(initial=NULL))):
        if size >= rows:
            break
        _look(over)
        joint = ids * (int(codes[name].max(initial=NULL)) + 2) + (codes[name] + 1)
        values, ids = np.unique(joint, return_inverse=True)
        size = len(values)
    if size >= rows:
        return dict(codes), np.ones(rows, np.int64)
    _, firsts, weights = np.unique(ids, return_index=True, return_counts=True)
    return {name: column[firsts] for name, column in codes.items()}, weights.astype(np.int64)


@dataclass(frozen=True)
class Comparing:
    """How the kernel compares an operand pair: by which way, and whether a null is a value like others."""

    names: tuple[str, str]
    way: int
    nulls_are_values: bool

    @property
    def shown(self) -> tuple[int, ...]:
        """Per state of the operand pair, the bits that a pair of rows in it shows."""
        return _SHOWN[self.way]


def comparing(pair: OperandPair, nullable: Collection[str], nulls: Nulls) -> Comparing:
    """How the operand pair is compared where these columns have nulls."""
    names = pair.left.name, pair.right.name
    has_nulls = any(name in nullable for name in names)
    if pair.ordered:
        way = ORDER if not has_nulls else ORDER_SKIP if nulls == "sql" else ORDER_MEET
    else:
        way = EQUALITY_SKIP if has_nulls and nulls == "sql" else EQUALITY
    # Under `equal` a null among values without order is a value like others.
    return Comparing(names, way, nulls == "equal" and not pair.ordered)


def row_way(pair: OperandPair) -> int:
    """The way of an operand pair within one row, whose state is known per row."""
    return LEFT_ROW if pair.left.row == "t" else RIGHT_ROW


def _layout(
    space: PredicateSpace, codes: Mapping[str, Codes], nulls: Nulls
) -> tuple[Packing, tuple[tuple[int, ...], ...], Codes]:
    """How the kernel sees the space: per operand pair the lines of codes it compares and how, the bits its states
    show, and the lines."""
    lines: list[Codes] = []
    place: dict[tuple[str, bool], int] = {}
    beyond = max((int(column.max(initial=NULL)) for column in codes.values()), default=NULL) + 1
    nullable = [name for name, column in codes.items() if bool((column == NULL).any())]

    def line(name: str, filled: bool) -> int:
        if (name, filled) not in place:
            place[name, filled] = len(lines)
            lines.append(np.where(codes[name] == NULL, np.int32(beyond), codes[name]) if filled else codes[name])
        return place[name, filled]

    left, right, ways, shown = [], [], [], []
    within: dict[tuple[str, str], int] = {}
    for pair in space.pairs:
        how = comparing(pair, nullable, nulls)
        a, b = (line(name, how.nulls_are_values) for name in how.names)
        if pair.one_row and how.names not in within:
            within[how.names] = len(lines)
            lines.append(_states_within(lines[a], lines[b], how.way))
        left.append(within[how.names] if pair.one_row else a)
        right.append(within[how.names] if pair.one_row else b)
        ways.append(row_way(pair) if pair.one_row else how.way)
        shown.append(how.shown)
    rows = len(next(iter(codes.values()))) if codes else 0
    columns = np.stack(lines).astype(np.int32, copy=False) if lines else np.zeros((0, rows), np.int32)
    packing = Packing(tuple(left), tuple(right), tuple(ways), tuple(map(len, shown)))
    return packing, tuple(shown), columns


def _states_within(a: Codes, b: Codes, way: int) -> Codes:
    """The state of two columns of one row, per row."""
    rows = np.arange(len(a))
    alone = Packing((0,), (1,), (way,), (len(_SHOWN[way]),))
    return packed_pairs(np.stack([a, b]), rows, rows, alone)[:, 0].astype(np.int32)
