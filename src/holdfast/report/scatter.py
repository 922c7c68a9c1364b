"""Rows as dots and violating pairs as lines, placed in a drawing of a given size."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from holdfast.checking.shown_check import Plot

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 12, 40
_DAY = 86_400.0

Point = tuple[float, float]


@dataclass(frozen=True)
class Scatter:
    """Dots, lines from dot to dot, and the (place, label) ticks of each axis, in units of the drawing."""

    plot: Plot
    dots: tuple[Point, ...]
    lines: tuple[tuple[Point, Point], ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    top: int = TOP
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM


def scatter(plot: Plot) -> Scatter | None:
    """Returns the plot in units of the drawing; None where a value is not a number, date or time."""
    every = [*plot.dots, *(end for line in plot.lines for end in line)]
    xs, ys = ([number_of(point[axis]) for point in every] for axis in (0, 1))
    known = [(x, y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None]
    if len(known) < len(every) or not known:
        return None
    x, y = _Scale.of([p[0] for p in known], LEFT, WIDTH - RIGHT), _Scale.of([p[1] for p in known], HEIGHT - BOTTOM, TOP)
    placed = [(round(x.place(a), 1), round(y.place(b), 1)) for a, b in known]
    dots, ends = placed[: len(plot.dots)], placed[len(plot.dots) :]
    lines = tuple(zip(ends[::2], ends[1::2], strict=True))
    sample = plot.lines[0][0] if plot.lines else plot.dots[0]
    return Scatter(plot, tuple(dict.fromkeys(dots)), lines, x.ticks(sample[0]), y.ticks(sample[1]))


def number_of(value: Any) -> float | None:
    """Returns the value as a number, dates and times in seconds; None where it is not finite or of another type."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float | Decimal):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=value.tzinfo or dt.UTC).timestamp()
    return value.toordinal() * _DAY if isinstance(value, dt.date) else None


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    begin: float
    end: float

    @classmethod
    def of(cls, values: Sequence[float], begin: float, end: float) -> _Scale:
        low, high = min(values), max(values)
        room = (high - low) * 0.04 or max(abs(low) * 0.1, 1.0)
        return cls(low - room, high + room, begin, end)

    def place(self, value: float) -> float:
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self, like: Any) -> tuple[tuple[float, str], ...]:
        """Returns round values within the scale, with labels in the format of the value `like`."""
        unit = _DAY if isinstance(like, dt.date) else 1.0
        step = _round_step((self.high - self.low) / unit / 5) * unit
        if isinstance(like, int) or (isinstance(like, dt.date) and not isinstance(like, dt.datetime)):
            step = max(unit, math.ceil(step / unit) * unit)
        first = math.ceil(self.low / step)
        values = [n * step for n in range(first, first + 12) if n * step <= self.high]
        return tuple((round(self.place(v), 1), _label(v, like, step)) for v in values)


def _round_step(rough: float) -> float:
    """Returns the next of 1, 2, 5, 10, 20, ... (or 0.5, 0.2, ...) that is at least `rough`.

    >>> _round_step(0.3), _round_step(7)
    (0.5, 10.0)
    """
    size = 10.0 ** math.floor(math.log10(rough))
    return next((n * size for n in (1, 2, 5, 10) if n * size >= rough * 0.999), 10 * size)


def _label(value: float, like: Any, step: float) -> str:
    if isinstance(like, dt.datetime):
        moment = dt.datetime.fromtimestamp(value, dt.UTC)
        return moment.strftime("%Y-%m-%d") if step >= _DAY else moment.strftime("%m-%d %H:%M")
    if isinstance(like, dt.date):
        return dt.date.fromordinal(round(value / _DAY)).isoformat()
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == '' else size):g}{letter or 'k'}"
    return f"{round(value, 10):g}"
