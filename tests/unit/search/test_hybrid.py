"""A hybrid search tries what a sample suggests on few rows first, and finds what all pairs say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from holdfast.encode.column_type import column_type
from holdfast.search.find import find
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions
from holdfast.search.rank import ranked

TYPES = {name: column_type("bigint") for name in ("zip", "city", "salary", "tax")}
# So that candidates are put to the table, and not decided by the pairs that agree on some columns.
CHEAP_WALKS = SearchLimits(sampled_rows=20, walk_pairs_per_row=0)


@pytest.mark.parametrize("few", [5, 20, 1_000])
def test_rules_are_the_same_whether_candidates_meet_few_rows_first(few: int) -> None:
    random = np.random.default_rng(5)
    zips, salary = random.integers(0, 12, 120), random.integers(0, 40, 120)
    table = pa.table({"zip": zips, "city": zips // 2, "salary": salary, "tax": salary // 3})
    wanted = find(table, TYPES, DiscoverOptions(cross_columns=None, strategy="all-pairs"))
    limits = replace(CHEAP_WALKS, first_rows=few, more_rows=2)
    found = find(table, TYPES, DiscoverOptions(cross_columns=None, strategy="hybrid", limits=limits))
    assert found.complete
    assert {str(one.constraint) for one in ranked(found)} == {str(one.constraint) for one in ranked(wanted)}
