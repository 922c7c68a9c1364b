"""A history tells what became of each rule, and what is worse than in the run before."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from holdfast.checking.history import history_of
from holdfast.report.history_page import history_page
from holdfast.report.history_text import history_text, sparkline

START = dt.datetime(2026, 11, 16, tzinfo=dt.UTC)
OLD = ("run_id", "run_time", "rule", "rows", "violating_rows")


def line(run: int, suspects: int, verdict: str = "violated", rule: str = "r", **more: Any) -> dict[str, Any]:
    told = {
        "run_id": f"run {run}",
        "run_time": START + dt.timedelta(days=run),
        "table": "orders",
        "rule": rule,
        "rows": 100,
        "violating_rows": 2 * suspects,
        "suspect_rows": suspects,
        "verdict": verdict,
        "severity": "error",
        "rule_fingerprint": "a",
    }
    return told | more


def worse(*lines: dict[str, Any]) -> list[str | None]:
    return [rule.worse for rule in history_of(lines, folder="m", last=30).worse]


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (line(0, 1), line(1, 1), []),
        (line(0, 2), line(1, 1), []),
        (line(0, 1), line(1, 2), ["1 of 100 -> 2 of 100 rows suspect"]),
        (line(0, 0, "holds"), line(1, 1), ["holds -> violated, 0 of 100 -> 1 of 100 rows suspect"]),
        (line(0, 2, "warning"), line(1, 2), ["warning -> violated, 2 of 100 -> 2 of 100 rows suspect"]),
        (line(0, 3), line(1, 2, "warning"), []),
        (line(0, 1), line(1, 2, rows=400), []),
        (line(0, 0, rows=0), line(1, 0, rows=0), []),
        (line(0, 0, "holds", rule_fingerprint="b"), line(1, 9), []),
        (
            {name: line(0, 1)[name] for name in (*OLD, "table")},
            line(1, 2),
            ["2 of 100 -> 4 of 100 rows violating"],
        ),
    ],
)
def test_what_is_worse_is_told_with_both_counts(before: dict[str, Any], now: dict[str, Any], told: list[str]) -> None:
    assert worse(before, now) == told
    assert worse(now, before) == told  # lines come in any order


def test_metrics_of_earlier_versions_have_a_history() -> None:
    old = [{name: line(run, run)[name] for name in OLD} for run in range(3)]
    (rule,) = history_of(old, folder="m", last=30).rules
    assert (rule.table, [point.bad_rows for point in rule.points], rule.changed) == (None, [0, 2, 4], False)
    assert "(no table named)" in history_text(history_of(old, folder="m", last=30))


def test_a_rule_that_changed_or_was_left_out_is_told() -> None:
    lines = [line(0, 9, rule_fingerprint="b"), *(line(run, run) for run in (1, 2, 3)), line(3, 0, "holds", "other")]
    lines += [line(1, 5, rule="gone")]
    found = history_of(lines, folder="m", last=2)
    gone, other, rule = found.rules
    assert (found.runs, [len(r.points) for r in found.rules]) == (4, [1, 1, 2])
    assert (rule.changed, rule.last_run, gone.last_run, gone.worse) == (True, True, False, None)
    assert other.worse is None
    text = history_text(found)
    assert "not in the last run" in text
    assert "says something else since then" in text


def test_values_of_names_are_never_run_by_the_page() -> None:
    page = history_page(
        history_of([line(0, 1, rule="<script>x</script>"), line(1, 2, rule="<b>")], folder="<i>", last=9)
    )
    assert "<script>x" not in page
    assert "<b>" in page  # of the page itself
    assert "&lt;b&gt;" in page
    assert page.count("<polyline") == 2


def test_bars_go_from_nothing_to_the_most() -> None:
    assert (sparkline([]), sparkline([0.0]), sparkline([0.2, 0.2]), sparkline([0, 7])) == ("", "▁", "██", "▁█")
