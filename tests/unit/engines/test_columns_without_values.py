"""A column in which every value is null has no type: it compares with columns of any type, its own included."""

from __future__ import annotations

import pyarrow as pa
import pytest

import holdfast as hf
from holdfast.rules.rule import Nulls

EMPTY_DATES, EMPTY_NUMBERS = pa.nulls(2, pa.date32()), pa.nulls(2, pa.int64())
NUMBERS, TEXTS = pa.array([1, 2]), pa.array(["a", "b"])
PAIRS = [(EMPTY_DATES, EMPTY_NUMBERS), (EMPTY_DATES, NUMBERS), (NUMBERS, EMPTY_DATES), (TEXTS, EMPTY_NUMBERS)]


@pytest.mark.parametrize(("x", "y"), PAIRS, ids=lambda values: f"{values.type} {values.null_count} null")
@pytest.mark.parametrize(("nulls", "agree"), [("sql", False), ("equal", True)])
def test_it_compares_with_any_column(x: pa.Array, y: pa.Array, nulls: Nulls, agree: bool) -> None:
    all_null = x.null_count == y.null_count
    rules = ["not(t.x = s.y)", "not(t.x < s.y)", "not(t.x = t.y)"]
    with hf.check(pa.table({"x": x, "y": y}), rules, nulls=nulls) as result:
        expected = [2, 0, 2] if agree and all_null else [0, 0, 0]
        assert [rule.violating_rows for rule in result.outcome.rules] == expected
    tables = {"a": pa.table({"x": x}), "b": pa.table({"y": y})}
    rules = ["a(x) in b(y)", "not(a.x = b.y)", "not(a.x < b.y)"]
    with hf.check(tables, rules, nulls=nulls) as result:
        asked = 0 if all_null or (nulls == "sql" and x.null_count) else 2
        assert [rule.violating_rows for rule in result.outcome.rules] == [asked, 4 if expected[0] else 0, 0]
        assert len(result.suggestions.to_arrow()) == 0
