"""How the values of two columns stand to each other in every row: what rules over two rows may follow from.

Where each row's Close is at most its High, no two rows have one's Close above the other's High while its High is no
higher. Such facts are known from the table, also where no rule on single rows was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from holdfast.kernels.evidence import NULL
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.predicate import Column, comparison
from holdfast.rules.relation import ANY, EQ, GT, LT, NE, complement
from holdfast.rules.sentence import sentence
from holdfast.search.coded_rows import CodedRows
from holdfast.search.evidence import Codes

# Most columns are in no order: so many rows tell that of nearly all.
_FIRST_ROWS = 2_000


@dataclass(frozen=True)
class RowOrder:
    """In every row, the value of `left` is in one of the `allowed` relations to that of `right`, unless one is null."""

    left: str
    right: str
    allowed: int

    @cached_property
    def constraint(self) -> DenialConstraint:
        """The same as a constraint on single rows."""
        return DenialConstraint(
            (comparison(Column("t", self.left), complement(self.allowed), Column("t", self.right)),)
        )

    @property
    def words(self) -> str:
        """In plain words.

        >>> RowOrder("Low", "High", LT | EQ).words
        "every row's Low is at most its High"
        """
        return sentence(self.constraint, kind="row")


def row_orders(rows: CodedRows, *, nulls_equal: bool, over: Callable[[], bool]) -> tuple[RowOrder, ...]:
    """What holds in every row of two columns that are compared with each other, or with the same third one.

    Columns without an order are equal, or never are. Where nulls equal each other, columns with an order that are not
    null in the same rows are in none. Columns that time is `over` for are left out. Cost: a look at a few rows per two
    columns, and at all rows where these agree.
    """
    places = {pair.left.name: i for i, pair in enumerate(rows.space.pairs) if pair.same_column}
    orders: list[RowOrder] = []
    for members in _families(rows):
        for left, right in combinations(sorted(members, key=places.__getitem__), 2):
            if over():
                return tuple(orders)
            a, b = (rows.codes[rows.packing.left[places[name]]] for name in (left, right))
            ordered = rows.space.pairs[places[left]].ordered
            few = _relations(a[:_FIRST_ROWS], b[:_FIRST_ROWS], ordered=ordered, nulls_equal=nulls_equal)
            if few == ANY:
                continue
            allowed = few | _relations(a[_FIRST_ROWS:], b[_FIRST_ROWS:], ordered=ordered, nulls_equal=nulls_equal)
            if allowed not in (0, ANY):
                orders.append(RowOrder(left, right, allowed))
    return tuple(orders)


def orders_to_lists(orders: Iterable[RowOrder]) -> list[list[Any]]:
    """As plain values, to travel as JSON."""
    return [[order.left, order.right, order.allowed] for order in orders]


def orders_from_lists(lists: Iterable[Sequence[Any]]) -> tuple[RowOrder, ...]:
    """What `orders_to_lists` told."""
    return tuple(RowOrder(left, right, allowed) for left, right, allowed in lists)


def _families(rows: CodedRows) -> list[list[str]]:
    """The columns that are compared with others, those together that a chain of such comparisons connects: their codes
    compare with each other."""
    family: dict[str, list[str]] = {}
    for pair in rows.space.pairs:
        a, b = (family.setdefault(column.name, [column.name]) for column in (pair.left, pair.right))
        if a is not b:
            a += b
            family.update(dict.fromkeys(b, a))
    return list({id(members): members for members in family.values() if len(members) > 1}.values())


def _relations(a: Codes, b: Codes, *, ordered: bool, nulls_equal: bool) -> int:
    """The relations in which the values of a row are, over all rows."""
    none = (a == NULL) | (b == NULL)
    if none.any():
        if nulls_equal and ordered and ((a == NULL) != (b == NULL)).any():
            return ANY
        if not nulls_equal:
            a, b = a[~none], b[~none]
    if not ordered:
        return (EQ if (a == b).any() else 0) | (NE if (a != b).any() else 0)
    return (LT if (a < b).any() else 0) | (EQ if (a == b).any() else 0) | (GT if (a > b).any() else 0)
