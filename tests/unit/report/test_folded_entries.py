"""Rules over two rows that say no more than what each row keeps are shown as that."""

from __future__ import annotations

import pyarrow as pa

import holdfast as hf
from holdfast.report.discovery_page import discovery_page
from holdfast.report.discovery_text import discovery_text

ROWS = {
    "high": [(7 * i * i) % 101 + 40 for i in range(60)],
    "low": [(7 * i * i) % 101 + 40 - i % 4 for i in range(60)],
}


def test_an_entry_begins_with_what_each_row_keeps() -> None:
    found = hf.discover(pa.table(ROWS), column_rules=False)
    told = found.to_dict()["rules"]
    (entry,) = {rule["entry"] for rule in told if rule.get("follows_from") == ["not(t.high < t.low)"]}
    heads = [rule for rule in told if rule["entry"] == entry and not rule["variant"]]
    assert len(heads) == 1
    said = " ".join(discovery_text(found.outcome).split())
    assert "every row's high is at least its low, so there are no two rows" in said
    assert "Every row&#39;s high is at least its low, so there are no two rows" in discovery_page(found.outcome)
