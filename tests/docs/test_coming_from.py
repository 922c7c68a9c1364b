"""Each rule on the right of the tables of `coming_from.md` finds what it is for, and nothing in a table without it."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

import holdfast as hf
from holdfast.rules.rule_file import parse_rules

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming_from.md"
DAY = dt.date(2024, 1, 1)
GOOD: dict[str, list[Any]] = {
    "id": [1, 2, 3],
    "zip": ["02139", "10115", "10115"],
    "code": [1, 1, 2],
    "city": ["Cambridge", "Berlin", "Berlin"],
    "room": ["a", "a", "b"],
    "email": ["a@x", "b@x", "c@x"],
    "status": ["new", "paid", "paid"],
    "price": [1, 2, 3],
    "net": [8, 8, 8],
    "tax": [2, 2, 2],
    "total": [10, 10, 10],
    "started": [DAY, DAY + dt.timedelta(2), DAY],
    "ended": [DAY + dt.timedelta(days) for days in (1, 4, 1)],
    "customer_id": [7, 8, None],
}
# Each rule is broken by one of these tables, which differ from the good one in some columns.
BAD: list[dict[str, list[Any]]] = [
    {
        "id": [1, 1, 3],
        "zip": ["02139", "1011", "02139"],
        "code": [1, 1, 1],
        "city": ["Cambridge", "Berlin", "Boston"],
        "email": [None, "b@x", "c@x"],
        "status": ["new", "lost", "paid"],
        "price": [1, -2, None],
        "tax": [2, 3, 2],
        "started": [DAY, DAY, DAY],
        "ended": [DAY + dt.timedelta(40), DAY - dt.timedelta(1), DAY],
        "customer_id": [7, 9, None],
    },
    {"email": [" ", "b@x", ""], "price": [1, 0, 0], "started": [DAY, DAY, DAY]},
]


def rows_of_tables() -> list[str]:
    tables = (
        PAGE.read_text("utf-8").partition("## What the checks are called here")[2].partition("## What has no rule")[0]
    )
    return re.findall(r"^\|.*\| `([^`]+)` \|$", tables, re.MULTILINE)


def holds(text: str, table: dict[str, list[Any]]) -> bool:
    tables = {"orders": pa.table(table), "customers": pa.table({"id": [7, 8]})}
    entry = yaml.safe_load(text) if text.startswith("{") else {"rule": text}
    rules = parse_rules(yaml.safe_dump({"rules": [entry]}), origin="the page")
    severe = hf.RuleSet(rules.rules)
    data = tables if rules[0].tables else tables["orders"]
    return hf.check(data, severe, fail_on="warn").holds


@pytest.mark.parametrize("text", sorted(set(rows_of_tables())))
def test_a_rule_of_the_page_finds_what_it_is_for(text: str) -> None:
    assert holds(text, GOOD)
    assert not all(holds(text, GOOD | bad) for bad in BAD)


def test_every_row_of_the_tables_is_tried() -> None:
    text = (
        PAGE.read_text("utf-8").partition("## What the checks are called here")[2].partition("## What has no rule")[0]
    )
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| There")]
    assert len(lines) == len(rows_of_tables()) > 50
