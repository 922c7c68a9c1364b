"""What single columns keep, on a terminal, in a notebook and on the page: a line for each, and no hidden value."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pytest

import holdfast as hf

TABLE = pa.table(
    {
        "id": [f"K-{i:03}" for i in range(60)],
        "tier <b>": ["gold", "tin", "[red]"] * 20,
        "amount": [float(i * 7 % 50) + 0.25 * (i % 4) for i in range(60)],
        "gap": ["x", None] * 30,
    }
)


@pytest.fixture(scope="module")
def found() -> hf.DiscoverResult:
    return hf.discover(TABLE, max_predicates=1)


def test_each_column_has_one_line_and_those_that_are_never_null_share_one(found: hf.DiscoverResult) -> None:
    lines = found.summary().splitlines()
    start = next(i for i, line in enumerate(lines) if "on single columns" in line)
    section = [re.split(r"\s{2,}", line) for line in lines[start + 1 : lines.index("", start)]]
    assert section == [
        ["never null", 'id, "tier <b>", amount (60 rows)'],
        ["id", r"rises from row to row (59 steps); matches K-\d{3} (60 values)"],
        ['"tier <b>"', "one of '[red]', 'gold', 'tin' (each in 20 rows or more)"],
        ["amount", "never negative (60 rows, the least is 0); has at most 2 digits after the point (60 values)"],
        ["gap", "always 'x' (30 rows)"],
    ]


def test_a_notebook_and_the_page_show_them_as_text(found: hf.DiscoverResult) -> None:
    for html in (found._repr_html_(), found.to_html()):
        assert "tier <b>" not in html
        assert "one of &#39;[red]&#39;, &#39;gold&#39;, &#39;tin&#39;" in html


def test_values_of_redacted_columns_are_not_on_the_page(found: hf.DiscoverResult) -> None:
    page = found.to_html(redact=["tier <b>", "id"])
    assert "gold" not in page
    assert "K-" not in page
    data = json.loads(page.split('id="review-data">')[1].split("</script>")[0])
    assert 'not(t."tier <b>" is null)' in [entry["rule"] for entry in data["entries"]]


def test_wide_tables_have_few_lines_and_all_rules() -> None:
    wide = pa.table({f"c{i}": [i % 3, 5, 7] * 20 for i in range(45)})
    found = hf.discover(wide, max_predicates=1, cross_columns="off", top=1)
    text = found.summary()
    assert "c10, c11 and 33 others (60 rows)" in text
    assert "5 other columns: in JSON, in the report and in what -o writes" in text
    assert {entry.column for entry in found.column_rules} == set(wide.column_names)
