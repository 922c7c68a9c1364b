"""A discovery whose time is up before the search begins says so, and finds nothing."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from holdfast.engines.discovery import run_discover
from holdfast.engines.local.discover import LocalDiscovery
from holdfast.search.options import DiscoverOptions, discover_options
from holdfast.search.outcome import DiscoverOutcome
from holdfast.tables.local_table import LocalTable

TABLE = LocalTable(pa.table({"a": [1, 2, 3, 4], "b": [1, 1, 2, 2], "c": ["x", "x", "y", "y"]}), "t")


def late(options: DiscoverOptions) -> DiscoverOutcome:
    source = LocalDiscovery(TABLE)
    return run_discover(source, options, top=5, started=time.monotonic() - 100).outcome


@pytest.mark.parametrize(
    "options",
    [
        discover_options(time_limit=60),
        discover_options(time_limit=60, error="1%"),
        discover_options(time_limit=60, error_rows="1%"),
        discover_options(time_limit=60, constants=True),
        discover_options(time_limit=60, conditional=True),
    ],
    ids=["exact", "error", "error-rows", "constants", "conditional"],
)
def test_a_table_that_took_too_long_to_read_has_no_rules_and_the_answer_says_why(options: DiscoverOptions) -> None:
    outcome = late(options)
    assert outcome.rows == 4
    assert not outcome.complete
    assert (outcome.why or "").startswith("the time limit was reached while the table was being read")
    assert len(outcome.found) == 0
    assert outcome.to_dict()["rules"] == []


def test_the_same_table_in_time_has_rules() -> None:
    assert len(run_discover(LocalDiscovery(TABLE), discover_options(time_limit=60), top=5).outcome.shown) == 5
