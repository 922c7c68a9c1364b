"""The report of a watched table: its violations over time, and what is violated now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.checking.shown_check import ShownCheck
from holdfast.report.check_page import check_values
from holdfast.report.page import page
from holdfast.report.words import number, violations_text
from holdfast.watching.status import Point, WatchStatus

WIDTH, HEIGHT, TOP, BOTTOM = 320, 84, 8, 6


@dataclass(frozen=True)
class Timeline:
    """The violations of a rule, version by version, as SVG paths: a line of steps and the area below it."""

    rule: str
    line: str
    area: str
    now: int
    most: int
    unit: str
    since: str
    width: int = WIDTH
    height: int = HEIGHT


def watch_page(status: WatchStatus, points: Sequence[Point], shown: ShownCheck) -> str:
    """The report as one HTML page."""
    values = check_values(shown)
    lines = [timeline(points, rule, status.units[rule]) for rule in status.totals]
    return page(
        "watch.html",
        title=f"Holdfast: {status.table}, watched",
        status=status,
        batches=number(status.batches, "batch"),
        timelines=[line for line in lines if line is not None],
        first=_time(points[0].at) if points else "",
        last=_time(points[-1].at) if points else "",
        versions=len(points),
        **values,
    )


def timeline(points: Sequence[Point], rule: str, unit: str) -> Timeline | None:
    """Returns the rule's totals as a drawing with a step for each version; None where no version has the rule."""
    known = [(place, point) for place, point in enumerate(points) if rule in point.totals]
    if not known:
        return None
    totals = [point.totals[rule] for _, point in known]
    most = max(*totals, 1)
    step = WIDTH / max(len(points), 1)

    def height(total: int) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * total / most, 1)

    begin = round(known[0][0] * step, 1)
    line = f"M{begin} {height(totals[0])}"
    for (place, _), total in zip(known, totals, strict=True):
        line += f"V{height(total)}H{round((place + 1) * step, 1)}"
    area = f"{line}V{height(0)}H{begin}Z"
    return Timeline(rule, line, area, totals[-1], max(totals), unit, _since(known, totals))


def _since(known: Sequence[tuple[int, Point]], totals: Sequence[int]) -> str:
    """Returns the current total and the first known version from which on it has not changed."""
    place = len(totals) - 1
    while place > 0 and totals[place - 1] == totals[-1]:
        place -= 1
    point = known[place][1]
    return f"{violations_text(totals[-1], 'violation')} since version {point.version}, {_time(point.at)}"


def _time(at: float) -> str:
    return dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
