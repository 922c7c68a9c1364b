"""Planted sums, products and multiples are found on tables larger than the sample; accidents are not."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import holdfast as hf
from holdfast.discovery.arithmetic import ArithmeticSample, Factor, Relation, combinations_of, shortest_between
from holdfast.encode.column_type import column_type
from holdfast.engines.arithmetic import SAMPLED_ROWS, arithmetic_rules, with_more
from holdfast.engines.local.discover import LocalDiscovery
from holdfast.kernels.row_arithmetic import DIFFERENCE, NOTHING, PRODUCT, SUM, equal_expressions
from holdfast.search.clock import Clock
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import FoundRule
from holdfast.tables.local_table import LocalTable

ROWS = 20_000


def sales(*, wrong: int = 0) -> pa.Table:
    """Orders whose columns are computed from each other; in the last `wrong` rows the gross is a cent off."""
    rng = np.random.default_rng(7)
    quantity, price = rng.integers(1, 60, ROWS), np.round(rng.uniform(1, 200, ROWS), 2)
    off = rng.integers(0, 11, ROWS) / 100
    goods = np.round(quantity * price, 2)
    net = np.round(goods * (1 - off), 2)
    vat = np.round(net * 0.19, 2)
    gross = np.round(net + vat, 2)
    gross[ROWS - wrong :] += 0.01
    return pa.table(
        {
            "quantity": quantity,
            "price": price,
            "off": off,
            "goods": goods,
            "net": pa.array(net, mask=rng.random(ROWS) < 0.1),
            "vat": vat,
            "gross": gross,
            "km": (km := rng.uniform(0, 50, ROWS)),
            "miles": km / 1.609344,
        }
    )


def found_in(table: pa.Table, **options: object) -> list[FoundRule]:
    source = LocalDiscovery(LocalTable(table, "t"))
    wanted = DiscoverOptions(**options)  # type: ignore[arg-type]
    arithmetic = arithmetic_rules(source, source.types, wanted, table.num_rows, clock=Clock(None))
    assert not arithmetic.notes
    assert arithmetic.cut is None
    return list(arithmetic.rules)


SALES = {
    "not(abs(t.km - 1.609344 * t.miles) > 0.000000001 * abs(t.km))",
    "not(abs(t.vat - 0.19 * t.net) > 0.005)",
    "not(abs(t.goods - t.quantity * t.price) > 0.005)",
    "not(abs(t.net - t.goods * (1 - t.off)) > 0.005)",
    "not(abs(t.gross - t.net - t.vat) > 0.005)",
}


def of_sales(found: list[FoundRule]) -> set[str]:
    """Half a cent, or a whole one where doubles are in the way."""
    return {str(entry.rule).replace("> 0.01)", "> 0.005)") for entry in found}


def test_what_was_planted_is_found_once_and_nothing_else() -> None:
    found = found_in(sales())
    assert of_sales(found) == SALES
    by_result = {entry.rule.body.columns[0]: entry for entry in found}
    assert by_result["goods"].coverage == 1
    assert by_result["gross"].coverage == pytest.approx(0.9, abs=0.01)
    assert by_result["gross"].rule.description == "every row has gross equal to net + vat, within 0.005"
    assert [entry.score for entry in found] == sorted((entry.score for entry in found), reverse=True)


def test_what_one_row_of_many_breaks_is_not_found() -> None:
    found = of_sales(found_in(sales(wrong=1)))
    assert found == SALES - {"not(abs(t.gross - t.net - t.vat) > 0.005)"}
    assert ROWS > SAMPLED_ROWS


def test_decimals_are_exact_and_rounded_as_they_show() -> None:
    rng = np.random.default_rng(1)
    net = [Decimal(int(n)) / 100 for n in rng.integers(1, 100_000, 500)]
    tax = [(n * Decimal("0.075")).quantize(Decimal("0.01"), "ROUND_HALF_UP") for n in net]
    table = pa.table(
        {
            "net": pa.array(net, pa.decimal128(12, 2)),
            "tax": pa.array(tax, pa.decimal128(12, 2)),
            "total": pa.array([a + b for a, b in zip(net, tax, strict=True)], pa.decimal128(12, 2)),
        }
    )
    wanted = {"not(t.total != t.net + t.tax)", "not(t.tax != round(0.075 * t.net, 2))"}
    assert wanted <= {str(entry.rule) for entry in found_in(table)}
    assert len(found_in(table)) == 2


def test_columns_of_few_values_that_have_nothing_to_do_with_each_other_say_nothing() -> None:
    rng = np.random.default_rng(3)
    assert found_in(pa.table({f"c{i}": rng.integers(0, 3, 3_000) for i in range(12)})) == []
    assert found_in(pa.table({f"c{i}": rng.integers(0, 2, 15) for i in range(12)})) == []


def test_a_part_that_is_hardly_ever_there_is_no_part() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 1_000, 2_000), np.zeros(2_000, np.int64)
    b[7] = 1
    assert found_in(pa.table({"a": a, "b": b, "c": a + b})) == []
    b[rng.random(2_000) < 0.05] = 3
    assert [str(entry.rule) for entry in found_in(pa.table({"a": a, "b": b, "c": a + b}))] == ["not(t.c != t.a + t.b)"]


def test_hours_are_no_multiple_of_the_time_of_day() -> None:
    time = np.array([100 * hour + minute for hour in range(24) for minute in (0, 5, 30, 59)])
    assert found_in(pa.table({"time": np.tile(time, 5), "hour": np.tile(time, 5) // 100})) == []


def test_equal_columns_are_one_in_sums_and_left_to_one_row() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 99, 200), rng.integers(0, 99, 200)
    table = pa.table({"a": a, "b": b, "sum": a + b, "again": a})
    assert {str(entry.rule) for entry in found_in(table)} == {"not(t.again != t.a)", "not(t.sum != t.a + t.b)"}
    assert {str(entry.rule) for entry in found_in(table, one_row=True)} == {"not(t.sum != t.a + t.b)"}


def test_too_many_columns_are_told() -> None:
    rng = np.random.default_rng(4)
    table = pa.table({f"c{i}": rng.random(20) for i in range(1_100)})
    source = LocalDiscovery(LocalTable(table, "t"))
    arithmetic = arithmetic_rules(source, source.types, DiscoverOptions(), 20, clock=Clock(None))
    assert arithmetic.rules == ()
    assert "1,100 numeric columns" in arithmetic.notes[0]


def test_when_time_is_up_the_answer_says_so() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 999, (2, 50))
    table = pa.table({"a": a, "b": b, "sum": a + b})
    source = LocalDiscovery(LocalTable(table, "t"))
    found = arithmetic_rules(source, source.types, DiscoverOptions(), 50, clock=Clock(0.0))
    assert found.rules == ()
    assert "time was up" in str(found.cut)
    turns = iter([False, False])  # one block of expressions is tried, and of what it has nothing is looked at again
    sample = ArithmeticSample(table, source.types)
    assert combinations_of(sample, list(table.column_names), lambda: next(turns, True)) == ([], False)


def test_nothing_is_looked_for_where_there_is_nothing_to_compute() -> None:
    for table in (pa.table({"a": [1, 2]}), pa.table({"a": ["x"], "b": ["y"]}), pa.table({"a": [1], "b": [2]}),
                  pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}),
                  pa.table({"a": pa.nulls(9, pa.int64()), "b": list(range(9))})):  # fmt: skip
        assert found_in(table) == []


def test_found_rules_are_among_the_others_by_score_with_names_of_their_own() -> None:
    table = sales().select(["quantity", "price", "goods"]).slice(0, 300)
    plain, more = hf.discover(table, arithmetic=False, top="all"), hf.discover(table, top="all")
    assert len(more.outcome.found) == len(plain.outcome.found) + 1
    scores = [entry.score for entry in more.outcome.found]
    assert scores == sorted(scores, reverse=True)
    names = [entry.rule.name for entry in more.outcome.found]
    assert len(set(names)) == len(names)
    assert "goods-quantity-price" in names
    first = more.outcome.found[0]
    assert [entry.rule.name for entry in with_more((first,), [first])] == [first.rule.name, f"{first.rule.name}-2"]
    assert hf.check(table, more).holds


@pytest.mark.parametrize(("low", "high", "wanted"), [(-0.55, -0.5, "-0.5"), (3.0, 3.0, "3"), (1.0, 1.0, "1")])
def test_the_shortest_number_is_taken(low: float, high: float, wanted: str) -> None:
    assert shortest_between(low, high) == Decimal(wanted)


def test_no_number_is_taken_around_zero_or_of_too_many_digits() -> None:
    assert shortest_between(-0.1, 0.1) is None
    assert shortest_between(1 / 3, 1 / 3) is None


def test_the_kernel_lists_what_holds_in_every_row_that_has_all() -> None:
    nan = float("nan")
    a, b = np.array([1.0, 2.0, 3.0, nan]), np.array([4.0, 0.5, nan, 2.0])
    values = np.stack([a, b, a + b, a - b, a * b])
    expressions = np.array([[kind, 0, 1, NOTHING, 1, 0] for kind in (SUM, DIFFERENCE, PRODUCT)])
    places, digits = np.arange(5), np.full(5, 1)
    exact = np.zeros(5, np.bool_)
    found, complete = equal_expressions(values, values, places, expressions, digits, exact, least=2, most=9)
    assert (found.tolist(), complete) == ([[0, 2], [1, 3], [2, 4]], True)
    found, complete = equal_expressions(values, values, places, expressions, digits, exact, least=2, most=2)
    assert (len(found), complete) == (2, False)
    assert len(equal_expressions(values, values, places, expressions, digits, exact, least=3, most=9)[0]) == 0


def test_names_that_need_quotes_are_quoted() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.integers(0, 99, 100), rng.integers(0, 99, 100)
    (entry,) = found_in(pa.table({"net sum": a, 'ta"x': b, "not": a + b}))
    assert str(entry.rule) == 'not(t."not" != t."net sum" + t."ta""x")'


def test_a_sample_of_one_column_has_no_combination() -> None:
    sample = ArithmeticSample(pa.table({"a": list(range(20))}), {"a": column_type("bigint")})
    assert combinations_of(sample, ["a"]) == ([], True)
    assert sample.held(Relation("a", "multiple", (Factor("a"),), Decimal(2))) == []


def test_what_a_null_breaks_is_said_in_another_way() -> None:
    """Where null equals null only, a row that has one of both columns is not equal; it may be near enough, though."""
    a: list[int | None] = [612, -215, -260, 201, 536, 31, 247, 44, 60, 50, 190, 1468]
    x = [None if value is None else 100 * value for value in a]
    x[1] = None
    table = pa.table({"a": a, "x": x})
    assert [str(entry.rule) for entry in found_in(table)] == ["not(t.x != 100 * t.a)"]
    assert [str(entry.rule) for entry in found_in(table, nulls="equal")] == ["not(abs(t.a - 0.01 * t.x) > 0.5)"]
