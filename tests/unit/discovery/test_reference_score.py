"""References that somebody meant come first; numbers that are among a key's by chance are not shown."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pyarrow as pa
import pytest

import holdfast as hf
from holdfast.discovery.names_alike import name_likeness, name_words, says_it_measures, says_it_refers, words_in_table


def shop() -> dict[str, pa.Table]:
    """Tables whose keys mostly run from 1 to n, so that their numbers are among each other."""
    rng = np.random.default_rng(0)
    customers = [f"C{i:03}X" for i in range(91)]
    return {
        "Employees": pa.table({"EmployeeID": np.arange(1, 10), "LastName": [f"n{i}" for i in range(9)]}),
        "Customers": pa.table({"CustomerID": customers, "City": [f"city{i % 69}" for i in range(91)]}),
        "Suppliers": pa.table({"SupplierID": np.arange(1, 30), "City": [f"city{i}" for i in range(29)]}),
        "Products": pa.table({
            "ProductID": np.arange(1, 78), "SupplierID": rng.integers(1, 30, 77),
            "UnitsInStock": rng.integers(0, 126, 77), "ReorderLevel": rng.integers(0, 7, 77) * 5,
        }),
        "Orders": pa.table({
            "OrderID": np.arange(10248, 11078), "CustomerID": [customers[i] for i in rng.integers(0, 91, 830)],
            "EmployeeID": rng.integers(1, 10, 830), "ShipVia": rng.integers(1, 4, 830),
        }),
        "OrderDetails": pa.table({
            "OrderID": np.sort(rng.integers(10248, 11078, 2155)), "ProductID": rng.integers(1, 78, 2155),
            "Quantity": rng.integers(1, 70, 2155), "Discount": rng.integers(0, 5, 2155) / 20,
        }),
    }  # fmt: skip


def test_what_is_shown_are_the_references_and_nothing_else() -> None:
    found = hf.discover(shop())
    assert {str(rule) for rule in found.rules} == {
        "Orders(CustomerID) in Customers(CustomerID)",
        "OrderDetails(OrderID) in Orders(OrderID)",
        "OrderDetails(ProductID) in Products(ProductID)",
        "Products(SupplierID) in Suppliers(SupplierID)",
        "Orders(EmployeeID) in Employees(EmployeeID)",
    }
    assert found.outcome.accidents > 10
    every = [str(rule) for rule in hf.discover(shop(), top="all").rules]
    assert "OrderDetails(Quantity) in Products(ProductID)" in every
    assert every[:5] == [str(rule) for rule in found.rules]


def test_a_list_of_columns_refers_to_a_key_of_two() -> None:
    rng = np.random.default_rng(1)
    stock = pa.table({"part_id": np.repeat(np.arange(40), 3), "store": np.tile(["x", "y", "z"], 40)})
    sold = rng.integers(0, 120, 500)
    sales = pa.table({"part_id": stock["part_id"].to_numpy()[sold], "store": stock["store"].take(pa.array(sold))})
    found = hf.discover({"stock": stock, "sales": sales})
    assert [str(rule) for rule in found.rules] == ["sales(part_id, store) in stock(part_id, store)"]


@pytest.mark.parametrize("values", [[0.0, inf, inf], [0.0, -inf, inf], [1.0, nan, inf], [nan, nan, nan]])
def test_endless_ranges_have_scores(values: list[float]) -> None:
    right = [*values, 0.5, 2.0, 3.0]
    found = hf.discover({"a": pa.table({"x": values}), "b": pa.table({"y": right})}, top="all").outcome
    assert "a(x) in b(y)" in [str(entry.rule) for entry in found]
    assert all(0 <= entry.score <= 1 for entry in found)


@pytest.mark.parametrize(
    ("left", "right", "table", "least", "most"),
    [
        ("customer_id", "id", "customers", 1.0, 1.0),
        ("customerId", "id", "Customer", 1.0, 1.0),
        ("customer", "id", "customers", 0.9, 1.0),
        ("billing_customer_id", "id", "customers", 0.9, 1.0),
        ("tailnum", "tailnum", "planes", 1.0, 1.0),
        ("id", "id", "customers", 0.0, 0.0),
        ("quantity", "id", "customers", 0.0, 0.0),
        ("custkey", "partkey", "part", 0.0, 0.0),
        ("category", "id", "categories", 0.9, 1.0),
    ],
)
def test_names_of_references_look_alike(left: str, right: str, table: str, least: float, most: float) -> None:
    assert least <= name_likeness(name_words(left), name_words(right), table) <= most


def test_words_of_names() -> None:
    assert words_in_table(["ps_partkey", "ps_suppkey"]) == [("partkey",), ("suppkey",)]
    assert words_in_table(["order_id", "order_date"]) == [("order", "id"), ("order", "date")]
    assert words_in_table(["id"]) == [("id",)]
    assert words_in_table([]) == []
    assert name_words("Straße-Nr") == ("strasse", "nr")
    assert says_it_refers(("parent", "id"))
    assert says_it_refers(("custkey",))
    assert not says_it_refers(("quantity",))
    assert says_it_measures(("order", "quantity"))
    assert not says_it_measures(("price", "id"))
