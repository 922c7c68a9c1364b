"""How something grows, drawn as SVG: both axes logarithmic, each line named at its end, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 210, 42, 52
LABEL = 15
DASHES = ("", "7 4", "2 3", "10 3 2 3")
# Colours of lines that are told apart on white and on dark grey, also by those who see few colours.
LIGHT = ("#2f5fb3", "#b45309", "#047857", "#a21caf", "#b91c1c", "#0e7490", "#4d7c0f", "#6d28d9", "#475569", "#9f1239")
DARK = ("#8ab4f8", "#fbbf24", "#6ee7b7", "#f0abfc", "#fca5a5", "#67e8f9", "#bef264", "#c4b5fd", "#cbd5e1", "#fda4af")


@dataclass(frozen=True)
class Axis:
    """Which numbers are where: from `low` at `start` to `high` at `end`, and the ticks between."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> Axis:
        """From the tick below the least value to the one above the greatest."""
        return cls(_tick_below(min(values)), _tick_above(max(values)), start, end)

    def place(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1, 2, 5) if self.high / self.low < 1000 else (1,)
        found = [step * 10.0**decade for decade in decades for step in steps]
        return [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]


def _tick_below(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return max(step * decade for step in (1, 2, 5) if step * decade <= value * 1.0001)


def _tick_above(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return min(step * decade for step in (1, 2, 5, 10, 20) if step * decade > value * 0.9999)


def curve(title: str, *, across: str, up: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """An SVG of the lines, whose points are (across, up), all greater than 0; those of one point are a mark alone.

    >>> "<title>Seconds</title>" in curve("Seconds", across="rows", up="s", lines={"a": [(1_000, 0.5), (10_000, 4.0)]})
    True
    """
    points = [point for line in lines.values() for point in line]
    assert points, f"{title}: something is measured"
    x = Axis.over([point[0] for point in points], LEFT, WIDTH - RIGHT)
    y = Axis.over([point[1] for point in points], HEIGHT - BOTTOM, TOP)
    drawn = [f'  <text class="t" x="{LEFT}" y="22">{escape(title)}</text>']
    for tick in x.ticks():
        at = f"{x.place(tick):.1f}"
        drawn.append(f'  <path class="g" d="M{at} {TOP}V{HEIGHT - BOTTOM}"/>')
        drawn.append(f'  <text class="s" x="{at}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{short(tick)}</text>')
    for tick in y.ticks():
        at = f"{y.place(tick):.1f}"
        drawn.append(f'  <path class="g" d="M{LEFT} {at}H{WIDTH - RIGHT}"/>')
        label = f"{y.place(tick) + 4:.1f}"
        drawn.append(f'  <text class="s" x="{LEFT - 8}" y="{label}" text-anchor="end">{short(tick)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    drawn.append(f'  <text class="s" x="{middle}" y="{HEIGHT - 12}" text-anchor="middle">{escape(across)}</text>')
    drawn.append(f'  <text class="s" x="{LEFT - 52}" y="{TOP - 6}">{escape(up)}</text>')
    ends = []
    for number, (name, line) in enumerate(lines.items()):
        places = [(x.place(a), y.place(b)) for a, b in sorted(line)]
        colour, dash = f"c{number % len(LIGHT)}", DASHES[number // len(LIGHT) % len(DASHES)]
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in places)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        drawn.append(f'  <path class="l {colour}" d="M{path}"{dashed}/>')
        drawn.extend(f'  <circle class="{colour}" cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in places)
        ends.append((places[-1][1], places[-1][0], name, colour))
    # Labels keep the order of their lines' ends, and as much room as a line of text wants.
    at = apart([end[0] for end in ends], LABEL, TOP, HEIGHT - BOTTOM)
    for (end, last, name, colour), label_at in zip(ends, at, strict=True):
        drawn.append(
            f'  <path class="k {colour}" d="M{last + 5:.1f} {end:.1f}L{WIDTH - RIGHT + 10} {label_at:.1f}'
            f'H{WIDTH - RIGHT + 16}"/>'
        )
        drawn.append(f'  <text class="n" x="{WIDTH - RIGHT + 20}" y="{label_at + 4:.1f}">{escape(name)}</text>')
    return _DRAWING.format(width=WIDTH, height=HEIGHT, title=escape(title), style=_style(), body="\n".join(drawn))


def apart(places: Sequence[float], room: float, low: float, high: float) -> list[float]:
    """The places in the same order, at least so far from each other, between low and high where they fit.

    >>> apart([10, 11, 50], 15, 0, 100)
    [10, 25, 50]
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    found = list(places)
    least = low
    for at in order:
        found[at] = least = max(places[at], least)
        least += room
    most = max(high, low + room * (len(places) - 1))
    for at in reversed(order):
        found[at] = most = min(found[at], most)
        most -= room
    return found


def short(value: float) -> str:
    """A number as a tick says it: 0.05, 20, 5k, 1M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size * 0.999:
            return f"{value / size:g}{letter}"
    return f"{value:.4g}"


def _style() -> str:
    def colours(listed: Sequence[str]) -> str:
        return " ".join(
            f".c{i} {{ stroke: {colour} }} circle.c{i} {{ fill: {colour} }}" for i, colour in enumerate(listed)
        )

    return f"""
    text {{ font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-size: 13px; fill: #1f2937 }}
    .t {{ font-weight: 600; font-size: 14px }} .s {{ fill: #5b6472; font-size: 12px }} .n {{ font-size: 12px }}
    .g {{ stroke: #d7dde6; stroke-width: 1; fill: none }} .l {{ fill: none; stroke-width: 2 }}
    .k {{ fill: none; stroke-width: 0.8; opacity: 0.6 }} circle {{ stroke: none }}
    {colours(LIGHT)}
    @media (prefers-color-scheme: dark) {{
      text {{ fill: #e5e9f2 }} .s {{ fill: #a9b3c6 }} .g {{ stroke: #3a4256 }}
      {colours(DARK)}
    }}
  """


_DRAWING = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
  <title>{title}</title>
  <style>{style}</style>
{body}
</svg>
"""
