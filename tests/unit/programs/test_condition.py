"""`where` without Spark: true exactly where SQL says so, and refused where it says more than can be told."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from holdfast.errors import ConditionError
from holdfast.programs.condition import parsed_condition

TABLE = pa.table(
    {
        "n": pa.array([1, 2, None, 2**53 + 1], pa.int64()),
        "x": pa.array([0.5, None, 2.0, float(2**53)]),
        "country": ["US", "DE", None, "o'x"],
        "ok": [True, False, None, True],
        "day": pa.array([dt.date(2024, 1, 31), None, dt.date(2024, 2, 1), dt.date(2023, 1, 1)]),
        "zip code": ["a", "ab", "b", None],
    }
)


def rows_of(text: str) -> list[int]:
    return [i for i, held in enumerate(parsed_condition(text).holds(TABLE)) if held]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("n = 1", [0]),
        ("n != 1", [1, 3]),
        ("n > x", [0]),  # beside doubles Spark compares doubles, and 2^53 + 1 is none
        ("n = x", [3]),
        ("day >= '2024-01-31'", [0, 2]),
        ("day = timestamp '2024-01-31 00:00:00'", [0]),
        ("n < 99999999999999999999", [0, 1, 3]),
        ("-99999999999999999999.5 < n", [0, 1, 3]),
        ("-12345678901234567890123456789.5 = -12345678901234567890123456789.6", []),
        ("- null = 1", []),
        ("n + null = 1", []),
        ("n % 2 = 0", [1]),
        ("-n < -1", [1, 3]),
        ("n * 2 - 1 = 3", [1]),
        ("n / 2 = 0.5", [0]),
        ("n / 0 = 1", []),
        ("x * 0.2 = 0.1", [0]),
        ("x >= 0.5", [0, 2, 3]),
        ("country = 'US'", [0]),
        ("country = 'o''x'", [3]),
        ('country = "US"', [0]),
        ("country in ('US', 'DE')", [0, 1]),
        ("country not in ('US', null)", []),
        ("not country = 'US'", [1, 3]),
        ("country is null or n = 1", [0, 2]),
        ("country is not null and not ok", [1]),
        ("ok", [0, 3]),
        ("n between 1 and 2", [0, 1]),
        ("n not between 1 and 2", [3]),
        ("`zip code` like 'a%'", [0, 1]),
        ("`zip code` not like '_'", [1]),
        ("day >= date '2024-01-31'", [0, 2]),
        ("(n = 1 or n = 2) and country = 'DE'", [1]),
        ("n = 1 OR country = 'DE' AND n = 5", [0]),
        ("null", []),
        ("true", [0, 1, 2, 3]),
    ],
)
def test_a_condition_holds_where_it_is_true(text: str, held: list[int]) -> None:
    assert rows_of(text) == held


@pytest.mark.parametrize(
    "name", ["notes", "order_id", "android", "index", "isbn", "liked", "date", "truely", "nullable"]
)
def test_a_name_that_begins_with_a_word_of_sql_is_a_name(name: str) -> None:
    condition = parsed_condition(f"{name} > 1 and not {name} < 3 or {name} = date '2024-01-31'")
    assert condition.columns == (name,)
    held = parsed_condition(f"{name} > 1").holds(pa.table({name: [1, 2]}))
    assert held.tolist() == [False, True]


@pytest.mark.parametrize("text", ["upper(country) = 'US'", "n =", "exists (select 1)", "n = 1;", "n order", "in = 1"])
def test_what_only_spark_can_tell_is_refused(text: str) -> None:
    with pytest.raises(ConditionError, match="without Spark"):
        rows_of(text)


@pytest.mark.parametrize("text", ["n", "country + 1 = 2"])
def test_what_has_no_truth_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        rows_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "n < 1e400",
        "n < 1" + "0" * 90,
        "n % 99999999999999999999 = 0",
        "(" * 500 + "n = 1" + ")" * 500,
        " + ".join(["n"] * 2000) + " > 0",
        "country = '\ud800'",
        "country like 1",
        "n like 'x'",
        "not n",
        "day > 'no date'",
    ],
)
def test_what_cannot_be_told_is_an_error_of_ours(text: str) -> None:
    with pytest.raises(ConditionError):
        rows_of(text)


def test_a_first_row_without_a_value_is_no_hindrance() -> None:
    nothing = pa.table({"w": pa.nulls(1)})
    for text in ("w % 2 = 1", "-w = 1", "not w", "w like 'a'", "w + 1 > 1", "w between 1 and 2", "w in (1, 2)", "w"):
        assert parsed_condition(text).holds(nothing).tolist() == [False]
