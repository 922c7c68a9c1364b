"""Ids: joined in any order they are the same, and nothing else makes them so."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from holdfast.fragments.id_packing import MOST_PLAIN_DIGITS
from holdfast.fragments.ids import from_arrow, group_ids, mixed, packed, side_ids, to_arrow, words


def some_ids(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**63, (size, 2)).astype(np.uint64)


@pytest.mark.parametrize("digits", range(10))
def test_decimals_of_few_digits_are_never_written_with_an_exponent(digits: int) -> None:
    """Python writes decimals as Java does; of more digits, nothing near 0 is written plainly."""
    nearest = [str(Decimal(unit).scaleb(-digits)) for unit in (0, 1)]
    assert all("E" not in text for text in nearest) == (digits <= MOST_PLAIN_DIGITS)


def test_arrow_keeps_ids() -> None:
    ids = some_ids(5, 1)
    column = pa.chunked_array([to_arrow(ids[:2]), to_arrow(ids[2:])])
    assert (from_arrow(column) == ids).all()
    assert (from_arrow(column.slice(1, 3)) == ids[1:4]).all()
    assert packed(pa.chunked_array([], pa.binary()), 32).shape == (0, 32)
    assert words(packed(pa.chunked_array([], pa.binary()), 32)).shape == (0, 4)


def test_mixing_is_one_to_one_and_differs_by_salt() -> None:
    ids = np.concatenate([some_ids(2000, 2), np.stack([np.arange(50), np.zeros(50)], axis=1).astype(np.uint64)])
    once, twice = mixed(ids, 1), mixed(ids, 2)
    assert len(np.unique(once, axis=0)) == len(ids)
    assert not (once == twice).all(axis=1).any()


def test_groups_are_of_their_part_and_sides_of_their_group() -> None:
    left, right = some_ids(100, 3), some_ids(100, 4)
    groups = [group_ids(left, part) for part in (0, 1)]
    assert not (groups[0] == groups[1]).all(axis=1).any()
    sides = [side_ids(group, right) for group in groups]
    assert not (sides[0] == sides[1]).all(axis=1).any()
    assert (side_ids(groups[0], right) == sides[0]).all()
    assert not (side_ids(groups[0], some_ids(100, 5)) == sides[0]).all(axis=1).any()
