"""Inclusions become forms: what the rows of one table and those of another must have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.encode.column_type import ColumnType
from holdfast.programs.form import Form
from holdfast.programs.sql_expression import Encoder
from holdfast.rules.dependency import Inclusion
from holdfast.rules.predicate import Column
from holdfast.rules.rule import Nulls


@dataclass(frozen=True)
class InclusionProgram:
    """Each row of the first table agrees with some row of the second on all forms, one for one.

    Where nulls are not equal, a row of the first with a null among its forms is not asked. Forms name columns as both
    tables together do.
    """

    left: tuple[Form, ...]
    right: tuple[Form, ...]
    nulls: Nulls


def compile_inclusion(body: Inclusion, types: Mapping[str, ColumnType], nulls: Nulls) -> InclusionProgram:
    """Returns the program of an inclusion over columns of these types; they can be compared."""
    encoder = Encoder(types, nulls, str)
    forms = []
    for match in body.matches:
        left, right = match.left, match.right
        assert isinstance(left, Column), "an inclusion compares columns"
        assert isinstance(right, Column), "an inclusion compares columns"
        forms.append(encoder.compared(left, right))
    return InclusionProgram(tuple(a for a, _ in forms), tuple(b for _, b in forms), nulls)
