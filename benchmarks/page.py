"""Writes docs/benchmarks.md and its curves from benchmarks/results, by the words of benchmarks/benchmarks.md.jinja.

    python benchmarks/page.py             writes the page
    python benchmarks/page.py --check     says whether the page is what the records give

The template has the prose, and asks for tables, figures and curves by the functions of `Page`. A figure that is not in
a record reads "not measured"; a column of which nothing is measured is left out.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from curve import curve
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from record import RESULTS, ROOT, Cell, Record, Row, Run

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "img"
TEMPLATE = "benchmarks.md.jinja"
NOT_MEASURED = "not measured"
Where = Mapping[str, Cell]


def by_hand(cells: Mapping[str, Cell]) -> str:
    """Seconds of the query written by hand, and whether it finds less than pairs."""
    if cells.get("by_hand_finds") == "nothing":
        return "no way"
    if cells.get("by_hand") is None:
        return ""
    return number(cells["by_hand"], 2) + (" (rows only)" if cells.get("by_hand_finds") == "rows" else "")


def memory(cells: Mapping[str, Cell]) -> str:
    """Peaks in GiB, of each kind of process that there was; of a command that was started, its own."""
    others = "others " if cells.get("driver_mib") else ""
    parts = (("", "driver_mib"), ("JVM ", "jvm_mib"), ("workers ", "workers_mib"), (others, "others_mib"))
    told = [f"{word}{_gib(cells[name])}" for word, name in parts if cells.get(name)]
    return ", ".join(told)


def ratio(above: str, below: str) -> Callable[[Mapping[str, Cell]], str]:
    def computed(cells: Mapping[str, Cell]) -> str:
        a, b = cells.get(above), cells.get(below)
        return (
            number(round(a / b, 1) if a / b < 10 else round(a / b))
            if isinstance(a, float | int) and isinstance(b, float | int)
            else ""
        )

    return computed


# Columns that a page shows, and that are computed of those of a record; which of these decide when it was measured.
COMPUTED: dict[str, tuple[Callable[[Mapping[str, Cell]], str], tuple[str, ...]]] = {
    "by hand": (by_hand, ("by_hand", "by_hand_finds")),
    "memory": (memory, ("driver_mib", "others_mib")),
    "peer ratio": (ratio("desbordante", "holdfast"), ("desbordante",)),
}


@dataclass
class Page:
    """What the template may ask for; remembers the drawings that the page shows."""

    records: Mapping[str, Record]
    drawings: dict[str, str] = field(default_factory=dict)

    def rows(self, script: str, table: str, /, **where: Any) -> list[Row]:
        """The rows whose cells are these; a list of values stands for any of them."""
        if script not in self.records or table not in self.records[script].tables:
            return []
        return [row for row in self.records[script].tables[table].rows.values() if _fits(row, where)]

    def value(self, script: str, table: str, column: str, /, **where: Any) -> Any:
        """The one cell, or None; a computed column as text."""
        found = [cell for row in self.rows(script, table, **where) if (cell := _cell(row, column)) not in (None, "")]
        assert len(found) < 2, f"{script}, {table}: {where} is one row"
        return found[0] if found else None

    def cell(self, script: str, table: str, column: str, /, **where: Any) -> str:
        """The one cell as text."""
        found = self.value(script, table, column, **where)
        return NOT_MEASURED if found is None else number(found)

    def amount(self, script: str, table: str, column: str, /, **where: Any) -> str:
        """The one cell with its unit."""
        found = self.cell(script, table, column, **where)
        unit = self.records[script].tables[table].units.get(column, "") if found != NOT_MEASURED else ""
        return f"{found} {unit}".rstrip() if unit != "share" else share(self.value(script, table, column, **where))

    def percent(self, script: str, table: str, column: str, /, **where: Any) -> str:
        found = self.value(script, table, column, **where)
        return NOT_MEASURED if found is None else share(found)

    def millions(self, script: str, table: str, column: str, /, **where: Any) -> str:
        found = self.value(script, table, column, **where)
        return NOT_MEASURED if found is None else f"{found / 1e6:,.0f}"

    def values(self, script: str, table: str, column: str, /, **where: Any) -> list[Any]:
        rows = self.rows(script, table, **where)
        return [row.cells[column] for row in rows if row.cells.get(column) is not None]

    def series(self, script: str, table: str, column: str, /, **where: Any) -> str:
        """All such cells, in order, with commas between."""
        return ", ".join(map(number, self.values(script, table, column, **where))) or NOT_MEASURED

    def span(self, script: str, table: str, column: str, /, **where: Any) -> str:
        """From the least to the most of such cells."""
        return _span(self.values(script, table, column, **where))

    def growth(self, script: str, table: str, column: str, by: str, low: Cell, high: Cell, /, **where: Any) -> str:
        """How many times more it is at `high` than at `low`, over all rows that are otherwise the same."""
        times = []
        for row in self.rows(script, table, **{**where, by: low}):
            same = {key: row.cells[key] for key in self.records[script].tables[table].keys if key != by}
            more = self.values(script, table, column, **same, **{by: high})
            if more and row.cells.get(column):
                times.append(more[0] / row.cells[column])
        return _span([round(time, 1) if time < 3 else round(time) for time in times])

    def table(
        self,
        script: str,
        table: str,
        heads: Sequence[tuple[str, str]],
        columns: Sequence[tuple[str, str] | tuple[str, str, Where] | tuple[str, str, Where, Where]],
        *,
        where: Where | None = None,
        unless: Where | None = None,
        names: Mapping[str, str] | None = None,
        also: Sequence[tuple[str, str, Where]] = (),
    ) -> str:
        """A table of Markdown, and below it when it was measured.

        A line is what the key columns of `heads` tell apart. A column is (head, column of the record), and where lines
        have several rows, which of them; with one more, how many times the other row it is. `also` are lines of other
        tables: (name, table, where). Rows of `unless` are left out.
        """
        parts: list[tuple[list[str], list[Row]]] = []
        groups: dict[tuple[Cell, ...], list[Row]] = {}
        for row in self.rows(script, table, **(where or {})):
            if unless and _fits(row, unless):
                continue
            groups.setdefault(tuple(row.cells.get(key) for _, key in heads), []).append(row)
        for keys, rows in groups.items():
            told = [number(key) if key is not None else "" for key in keys]
            parts.append(([(names or {}).get(text, text) for text in told], rows))
        for name, other, which in also:
            parts.append(([name, *[""] * (len(heads) - 1)], self.rows(script, other, **which)))
        grid = [Shown(head, [_found(rows, column, *wheres) for _, rows in parts]) for head, column, *wheres in columns]
        grid = [column for column in grid if any(cell for cell, _ in column.cells)]
        if not grid:
            return "Not measured."
        lines = [(words, [column.texts()[at] for column in grid], at) for at, (words, _) in enumerate(parts)]
        lines = [line for line in lines if any(line[1])]
        title = [*(head for head, _ in heads), *(column.head for column in grid)]
        text = [title, *([*words, *cells] for words, cells, _ in lines)]
        told = [f"| {' | '.join(line)} |".replace("|  |", "| |").replace("|  |", "| |") for line in text]
        told.insert(1, "|---" * len(title) + "|")
        by_column = {column.head: [run for _, run in column.cells if run] for column in grid}
        by_line = {
            " ".join(filter(None, words)): [run for column in grid if (run := column.cells[at][1])]
            for words, _, at in lines
        }
        return "\n".join(told) + f"\n\n{self._measured(by_column, by_line)}"

    def measured(self, script: str, table: str, /, **where: Any) -> str:
        """When figures that stand in the text were measured."""
        runs = [run for row in self.rows(script, table, **where) for run in row.runs.values()]
        return self._measured({"": runs}, {}) if runs else ""

    def _measured(self, by_column: Mapping[str, Sequence[Run]], by_line: Mapping[str, Sequence[Run]]) -> str:
        """One sentence: the day, what was measured on another day, and what has to be known of those runs."""
        runs = [run for listed in by_column.values() for run in listed]
        days = [run.date for run in runs]
        most = max(sorted(set(days)), key=days.count)
        told = f"Measured on {most}"
        if set(days) != {most}:
            parts = next(
                (parts for parts in (by_column, by_line) if parts and all(map(_one_day, parts.values()))), None
            )
            others = {
                day: [name for name, listed in (parts or {}).items() if listed[0].date == day] for day in set(days)
            }
            if parts is None or any(len(names) > 6 for day, names in others.items() if day != most):
                told = f"Measured from {min(days)} to {max(days)}"
            else:
                told += "".join(f"; {', '.join(others[day])}: {day}" for day in sorted(others) if day != most)
        notes = list(dict.fromkeys(run.note for run in runs if run.note))
        elsewhere = list(dict.fromkeys(words for run in runs if (words := place(run)) != self.place))
        return " ".join([told + "".join(f", on {words}" for words in elsewhere) + ".", *notes])

    @property
    def place(self) -> str:
        """The machine on which most runs were."""
        places = [place(run) for run in self.runs()]
        return max(places, key=places.count)

    def runs(self, script: str | None = None) -> list[Run]:
        """All runs of which there is something, in order of scripts."""
        found: dict[str, Run] = {}
        for name, record in self.records.items():
            for table in record.tables.values() if script in (None, name) else ():
                for row in table.rows.values():
                    found.update((repr(run), run) for run in row.runs.values())
        return list(found.values())

    def all_runs(self) -> str:
        """A table of the runs that the page is written from."""
        lines = ["| Command | Date | Seed | Seconds | Peak memory, GiB | On |", "|---|---|---|---|---|---|"]
        for run in self.runs():
            others = ", ".join(f"{name} {words}" for name, words in run.machine.items() if name not in _PLACE)
            on = place(run) + (f"; {others}" if others else "")
            spent = "" if run.seconds is None else number(run.seconds)
            seed = "" if run.seed is None else str(run.seed)
            peak = memory(run.peak_mib) or NOT_MEASURED
            lines.append(f"| `{run.command}` | {run.date} | {seed} | {spent} | {peak} | {on} |")
        return "\n".join(lines).replace("|  |", "| |").replace("|  |", "| |")

    def lines(self, script: str, table: str, x: str, y: str, /, by: str | None = None, **where: Any) -> dict[str, Any]:
        """Points for a curve, a line for each value of `by`."""
        found: dict[str, list[tuple[float, float]]] = {}
        for row in self.rows(script, table, **where):
            a, b = row.cells.get(x), row.cells.get(y)
            if isinstance(a, int | float) and isinstance(b, int | float) and a > 0 and b > 0:
                found.setdefault(str(row.cells[by]) if by else y, []).append((a, b))
        return found

    def curve(self, name: str, title: str, across: str, up: str, lines: Mapping[str, Any], says: str) -> str:
        """The drawing's place in the page; `says` is what a reader who cannot see it is told."""
        grown = {line: points for line, points in lines.items() if len(points) > 1}
        if not grown:
            return ""
        self.drawings[f"curve_{name}.svg"] = curve(title, across=across, up=up, lines=grown)
        return f'<div class="drawing" markdown>\n\n![{says}](img/curve_{name}.svg)\n\n</div>'

    def text(self) -> str:
        """The whole page."""
        environment = Environment(
            loader=FileSystemLoader(HERE),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )
        environment.filters |= {"number": number, "share": share}
        names = [name for name in dir(self) if not name.startswith("_") and name not in ("text", "records", "drawings")]
        text = environment.get_template(TEMPLATE).render({name: getattr(self, name) for name in names})
        # What is left out leaves empty lines.
        return "\n\n".join(wrapped(block) for block in _blocks(text)) + "\n"


def _blocks(text: str) -> list[str]:
    """What empty lines part; a fenced block is one of them."""
    blocks: list[str] = []
    for line in re.sub(r"\n(\s*\n)+", "\n\n", text.strip()).split("\n\n"):
        if blocks and blocks[-1].count("\n```") % 2:
            blocks[-1] += "\n\n" + line
        else:
            blocks.append(line)
    return blocks


def wrapped(block: str) -> str:
    """Prose in lines of 120 characters; anything else as it is."""
    if block.startswith(("#", "|", "<", "```", "![", "- ")):
        return block
    whole = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), " ".join(block.split()))
    return textwrap.fill(whole, 120, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


_PLACE = ("cores", "memory", "gpu")


def place(run: Run) -> str:
    """The machine without its versions."""
    told = [str(run.machine["gpu"])] if "gpu" in run.machine else []
    told.append(f"{run.machine['cores']} cores")
    return " and ".join([", ".join(told), *([str(run.machine["memory"])] if "memory" in run.machine else [])])


def number(cell: Cell, known: int | None = None) -> str:
    """A cell as the page says it: three digits where that is enough, and no more behind the point than are known.

    >>> [number(cell) for cell in (1234567, 0.6612, 57.23, 656.3, 0.043, 3.0, "no way")]
    ['1,234,567', '0.66', '57.2', '656', '0.043', '3', 'no way']
    """
    if not isinstance(cell, float):
        return f"{cell:,}" if isinstance(cell, int) else str(cell)
    places = 0 if cell >= 99.95 else 1 if cell >= 9.995 else 2 if cell >= 0.0995 else 3
    return f"{cell:,.{min(places, _digits(cell) if known is None else known)}f}"


def share(cell: float) -> str:
    return f"{100 * cell:.4g} %"


def _gib(cell: Cell) -> str:
    assert isinstance(cell, int | float), "memory is a number of MiB"
    return f"{cell / 1024:.1f}" if cell >= 102.4 else f"{cell / 1024:.2f}"


def _span(values: Sequence[Any]) -> str:
    if not values:
        return NOT_MEASURED
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _fits(row: Row, where: Where) -> bool:
    return all(
        row.cells.get(name) in wanted if isinstance(wanted, list | tuple) else row.cells.get(name) == wanted
        for name, wanted in where.items()
    )


@dataclass(frozen=True)
class Shown:
    """A column of a table: its head, and for each line the cell with the run that measured it."""

    head: str
    cells: Sequence[tuple[Cell, Run | None]]

    def texts(self) -> list[str]:
        """Numbers with as many digits as the column has anywhere, so that 0.5 below 0.61 is 0.50."""
        known = max((_digits(cell) for cell, _ in self.cells if isinstance(cell, float)), default=0)
        return ["" if cell is None else number(cell, known) for cell, _ in self.cells]


def _found(rows: Sequence[Row], column: str, which: Where | None = None, other: Where | None = None) -> Any:
    """The cell of the first of the rows that has it, or (None, None)."""
    row = next((row for row in rows if _fits(row, which or {}) and _cell(row, column) not in (None, "")), None)
    if row is None:
        return None, None
    cell = _cell(row, column)
    if other is not None:
        below, _ = _found(rows, column, other)
        cell = f"{cell / below:.2f}" if below else None
    return cell, _run(row, column)


def _one_day(runs: Sequence[Run]) -> bool:
    return len({run.date for run in runs}) == 1


def _digits(cell: float) -> int:
    return 3 if "e" in repr(cell) else len(repr(cell).partition(".")[2].rstrip("0"))


def _cell(row: Row, column: str) -> Cell:
    if column in COMPUTED:
        return COMPUTED[column][0](row.cells)
    column, _, form = column.partition(":")
    cell = row.cells.get(column)
    return share(cell) if form == "%" and isinstance(cell, float | int) else cell


def _run(row: Row, column: str) -> Run:
    names = COMPUTED[column][1] if column in COMPUTED else (column.partition(":")[0],)
    return next(row.runs[name] for name in names if name in row.runs)


def written(results: Path = RESULTS) -> tuple[str, dict[str, str]]:
    """The page, and its drawings by name."""
    page = Page({path.stem: Record.read(path) for path in sorted(results.glob("*.json"))})
    return page.text(), page.drawings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where page or curves are not up to date")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="the records")
    chosen = parser.parse_args()
    text, drawings = written(chosen.results)
    files = {PAGE: text, **{IMAGES / name: drawing for name, drawing in drawings.items()}}
    stale = [file for file, content in files.items() if not file.exists() or file.read_text("utf-8") != content]
    if chosen.check:
        for file in stale:
            print(f"{file.relative_to(ROOT)} is not what the records give: run python benchmarks/page.py")
        sys.exit(bool(stale))
    for file in stale:
        file.write_text(files[file], "utf-8")
    told = ", ".join(str(file.relative_to(ROOT)) for file in stale)
    print(f"written: {told}" if stale else "docs/benchmarks.md is up to date")


if __name__ == "__main__":
    main()
