"""The three relations between two values, and sets of them as bit masks.

Two comparable values are in exactly one of `LT`, `EQ`, `GT`. A predicate allows a set of relations, so an
operator is a mask, conjunction is `&`, negation is the complement, and swapping the operands swaps two bits.
"""

from __future__ import annotations

LT = 1
EQ = 2
GT = 4
NE = LT | GT
LE = LT | EQ
GE = GT | EQ
ANY = LT | EQ | GT

_OPERATOR = {LT: "<", EQ: "=", GT: ">", NE: "!=", LE: "<=", GE: ">="}
_MASK = {text: mask for mask, text in _OPERATOR.items()} | {"==": EQ, "<>": NE, "≠": NE, "≤": LE, "≥": GE}


def mask_of(operator: str) -> int:
    """Returns the relations that an operator allows.

    >>> mask_of("<=") == LT | EQ
    True
    """
    return _MASK[operator]


def operator_of(mask: int) -> str:
    """Returns the operator that allows exactly these relations; the mask is neither empty nor full.

    >>> operator_of(LT | GT)
    '!='
    """
    return _OPERATOR[mask]


def swapped(mask: int) -> int:
    """Returns the mask for swapped operands.

    >>> operator_of(swapped(mask_of("<=")))
    '>='
    """
    return (mask & EQ) | (GT if mask & LT else 0) | (LT if mask & GT else 0)


def complement(mask: int) -> int:
    """Returns the relations that the mask does not allow.

    >>> operator_of(complement(mask_of("<")))
    '>='
    """
    return ANY & ~mask


def is_inequality(mask: int) -> bool:
    """Whether the mask is one of <, <=, >, >=."""
    return mask in (LT, LE, GT, GE)
