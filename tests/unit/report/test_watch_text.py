"""A batch and a state as text."""

from __future__ import annotations

from holdfast.report.watch_text import batch_text, status_text
from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.violations_change import RuleViolationsChange, ViolationsChange
from holdfast.watching.status import WatchStatus

TOTALS = {"zip-city": 1200, "email": 0}


def test_a_batch_tells_what_came_and_went() -> None:
    rules = {
        "zip-city": RuleViolationsChange([(key, key + 1) for key in range(7)], (), 9, 0),
        "email": RuleViolationsChange((), [("a", None)], 0, 1),
    }
    outcome = BatchOutcome("x", True, 3, 1000, ViolationsChange(rules, TOTALS), 0.84)
    assert batch_text(outcome, "monday.csv").splitlines() == [
        "monday.csv  version 3, 1,000 rows, 0.8 s",
        "",
        "9 violations added; the limit cuts the list to 7",
        "  + zip-city: 0 with 1",
        "  + zip-city: 1 with 2",
        "  + zip-city: 2 with 3",
        "  + zip-city: 3 with 4",
        "  + zip-city: 4 with 5",
        "  + zip-city: and 2 more",
        "1 violation removed",
        "  - email: a",
        "",
        "totals",
        "  zip-city  1,200",
        "  email     0",
    ]


def test_a_batch_that_came_before_says_so() -> None:
    outcome = BatchOutcome("x", False, 3, 1000, ViolationsChange(totals=TOTALS))
    assert batch_text(outcome, "monday.csv") == "monday.csv  has been applied before: version 3 stays as it is\n"


def test_a_state_tells_its_totals_and_worst_rows() -> None:
    rules = {"zip-city": "zip -> city", "email": "not(t.email is null)"}
    units = {"zip-city": "pairs", "email": "rows"}
    worst = {"zip-city": (("a", 9), ("b", 1))}
    status = WatchStatus("t.csv", 2, 1, ("id",), 1, TOTALS, units, rules, worst)
    assert status_text(status).splitlines() == [
        "t.csv  version 2, 1 row, 1 batch, 0.0 s",
        "",
        "  zip-city  1,200 pairs    zip -> city",
        "  email     no violations  not(t.email is null)",
        "",
        "worst rows",
        "  zip-city  a (9 pairs), b (1 pair)",
    ]
