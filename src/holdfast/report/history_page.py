"""The history of checks as one HTML page."""

from __future__ import annotations

from itertools import groupby

from holdfast.checking.history import History, RuleHistory
from holdfast.report.history_text import drawn, last_state, period, worse_lines
from holdfast.report.page import page, percent

_WIDTH, _HEIGHT = 320, 48


def history_page(history: History) -> str:
    """Returns a page with a drawing per rule, and what got worse at its head."""
    tables = [
        (name or "(no table named)", [_drawing(rule) for rule in rules])
        for name, rules in groupby(history.rules, key=lambda rule: rule.table)
    ]
    return page(
        "history.html",
        title=f"Holdfast: {history.folder}",
        history=history,
        period=period(history),
        worse=worse_lines(history),
        tables=tables,
        width=_WIDTH,
        height=_HEIGHT,
    )


def _drawing(rule: RuleHistory) -> dict[str, object]:
    points = drawn(rule.points, _WIDTH, _HEIGHT)
    return {
        "rule": rule,
        "state": last_state(rule),
        "verdict": rule.points[-1].verdict or "",
        "line": " ".join(f"{x},{y}" for x, y in points),
        "dots": [
            (x, y, f"{point.run_time:%Y-%m-%d %H:%M}: {point.bad_rows:,} of {point.rows:,} ({percent(point.share)})")
            for (x, y), point in zip(points, rule.points, strict=True)
        ],
    }
