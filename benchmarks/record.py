"""What a benchmark measured, kept as `benchmarks/results/SCRIPT.json`, of which docs/benchmarks.md is written.

    parser = argparse.ArgumentParser(...)
    add_record_options(parser)
    chosen = parser.parse_args()
    with recording(chosen) as record:
        rules = record.table("rules", keys=("rule", "rows"), units={"holdfast": "s"})
        rules.add(rule="phi7", rows=100_000, holdfast=0.66)

Without `--record` nothing is written: a trial leaves the committed figures alone. A record grows row by row: a row
replaces the one of the same keys, and a cell that is None leaves an older one where it is. So each cell knows the run
that measured it: its command, date, seed, machine and memory. Runs of which nothing is left are dropped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import reduce
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from memory import MIB_UNITS, Peak, PeakMemory

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).with_name("results")
PEER_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PACKAGES = ("pyspark", "pyarrow", "numba", "duckdb")
Cell = str | int | float | None


@dataclass(frozen=True)
class Run:
    """One run of a script: all that is the same for what it measured."""

    command: str
    date: str
    machine: Mapping[str, str | int]
    seed: int | None = None
    seconds: float | None = None
    peak_mib: Mapping[str, Cell] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Row:
    """Cells by column, and by column the run that measured each."""

    cells: Mapping[str, Cell]
    runs: Mapping[str, Run]


@dataclass
class Table:
    """Rows with the same columns; those of `keys` tell one row from another."""

    keys: tuple[str, ...]
    units: dict[str, str]
    rows: dict[tuple[Cell, ...], Row] = field(default_factory=dict)

    def put(self, row: Row) -> None:
        place = tuple(row.cells[key] for key in self.keys)
        old = self.rows.get(place, Row({}, {}))
        new = {name: cell for name, cell in row.cells.items() if cell is not None or name in self.keys}
        runs = {name: row.runs[name] for name in new}
        self.rows[place] = Row({**old.cells, **new}, {**old.runs, **runs})


@dataclass
class Record:
    """The tables of one script."""

    script: str
    tables: dict[str, Table] = field(default_factory=dict)

    def merged(self, other: Record) -> Record:
        """This record with what the other one measured."""
        for name, table in other.tables.items():
            own = self.tables.setdefault(name, Table(table.keys, dict(table.units)))
            assert own.keys == table.keys, f"{self.script}: rows of {name!r} are told apart by {own.keys}"
            own.units.update(table.units)
            for row in table.rows.values():
                own.put(row)
        return self

    @classmethod
    def read(cls, path: Path) -> Record:
        stored = json.loads(path.read_text("utf-8"))
        runs = [Run(**run) for run in stored["runs"]]
        made = cls(stored["script"])
        for name, table in stored["tables"].items():
            of = made.tables[name] = Table(tuple(table["keys"]), dict(table["units"]))
            for line in table["rows"]:
                others, cells = line.get("runs", {}), {**line["keys"], **line["measured"]}
                of.put(Row(cells, {column: runs[others.get(column, line["run"])] for column in cells}))
        return made

    def write(self, folder: Path) -> Path:
        """One line for a run and for a row, so that a change of the record can be read."""
        runs: list[Run] = []
        tables: dict[str, Any] = {}
        for name, table in self.tables.items():
            lines = []
            for row in table.rows.values():
                # The run of a key column is that of the row's newest cell, whatever an older one had measured.
                numbers = {}
                for column in row.cells:
                    if column not in table.keys:
                        if row.runs[column] not in runs:
                            runs.append(row.runs[column])
                        numbers[column] = runs.index(row.runs[column])
                main = max(numbers.values(), key=lambda at: (runs[at].date, at), default=0)
                line: dict[str, Any] = {
                    "run": main,
                    "keys": {key: row.cells[key] for key in table.keys},
                    "measured": {column: row.cells[column] for column in numbers},
                }
                others = {column: number for column, number in numbers.items() if number != main}
                lines.append({**line, "runs": others} if others else line)
            tables[name] = {"keys": list(table.keys), "units": table.units, "rows": lines}
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.script}.json"
        path.write_text(_lines(self.script, [asdict(run) for run in runs], tables), "utf-8")
        return path


def _lines(script: str, runs: Sequence[Any], tables: Mapping[str, Any]) -> str:
    def listed(entries: Sequence[Any], indent: str) -> str:
        return ",\n".join(indent + json.dumps(entry, ensure_ascii=False) for entry in entries)

    parts = [
        f"  {json.dumps(name)}: {{\n   {json.dumps('keys')}: {json.dumps(table['keys'])},\n"
        f"   {json.dumps('units')}: {json.dumps(table['units'], ensure_ascii=False)},\n"
        f"   {json.dumps('rows')}: [\n{listed(table['rows'], '    ')}\n   ]\n  }}"
        for name, table in tables.items()
    ]
    body = ",\n".join(parts)
    return (
        f'{{\n "script": {json.dumps(script)},\n "runs": [\n{listed(runs, "  ")}\n ],\n "tables": {{\n{body}\n }}\n}}\n'
    )


# What a script does ------------------------------------------------------------------------------------------------


class RunningTable:
    """Where a script puts the rows of one of its tables."""

    def __init__(self, keys: Sequence[str], units: Mapping[str, str]) -> None:
        self.keys, self.units = tuple(keys), {**units, **MIB_UNITS}
        self.rows: list[dict[str, Cell]] = []
        self.peak = Peak()

    def add(self, peak: Peak | None = None, **cells: Cell) -> None:
        """One row. Its keys are always told; of what is measured, None is what this run has not."""
        missing = set(self.keys) - set(cells)
        assert not missing, f"a row is told apart by {missing}, too"
        measured = peak.columns() if peak is not None else {}
        self.peak = self.peak.or_more(peak or Peak())
        self.rows.append({name: _short(cell) for name, cell in {**cells, **measured}.items()})


class Recording:
    """What one run of a script has measured so far."""

    def __init__(self) -> None:
        self.tables: dict[str, RunningTable] = {}

    @property
    def peak(self) -> Peak:
        """The most of the steps whose memory was looked at."""
        return reduce(Peak.or_more, (table.peak for table in self.tables.values()), Peak())

    def table(self, name: str, *, keys: Sequence[str], units: Mapping[str, str]) -> RunningTable:
        """A table of the record, with the units of what is measured; begun on first use."""
        return self.tables.setdefault(name, RunningTable(keys, units))

    def take(self, other: Recording) -> None:
        """Adds what another one has, as of a process that was started for a part of the work."""
        for name, table in other.tables.items():
            own = self.table(name, keys=table.keys, units=table.units)
            own.rows.extend(table.rows)
            own.peak = own.peak.or_more(table.peak)

    def record(self, script: str, run: Run) -> Record:
        made = Record(script)
        for name, table in self.tables.items():
            of = made.tables[name] = Table(table.keys, dict(table.units))
            for cells in table.rows:
                of.put(Row(cells, dict.fromkeys(cells, run)))
        return made


def add_record_options(parser: argparse.ArgumentParser) -> None:
    """`--record` and `--note`."""
    parser.add_argument(
        "--record",
        nargs="?",
        const=RESULTS,
        type=Path,
        metavar="DIR",
        help="keep what is measured, in benchmarks/results",
    )
    parser.add_argument("--note", default="", help="what a reader of the record has to know of this run")


@contextmanager
def recording(chosen: argparse.Namespace, *, peer: str | None = None, card: str | None = None) -> Iterator[Recording]:
    """What the block adds is merged into the script's record, if `--record` was given, also where the block fails.

    `peer` is the Python of an environment that has Desbordante; its version becomes part of the machine, as
    does the name of a card.
    """
    made, memory, started = Recording(), PeakMemory(every=0.25), time.perf_counter()
    try:
        with memory:
            yield made
    finally:
        peak = memory.peak.or_more(made.peak)
        print(f"\n{peak}", flush=True)
        if chosen.record is not None:
            run = Run(
                command=_command(),
                date=date.today().isoformat(),
                machine={**machine(peer), **({"gpu": card} if card else {})},
                seed=getattr(chosen, "seed", None),
                seconds=round(time.perf_counter() - started, 1),
                peak_mib={name: _short(size) for name, size in peak.columns().items()},
                note=chosen.note,
            )
            _keep(chosen.record, Path(sys.argv[0]).stem, made, run)


def _keep(folder: Path, script: str, made: Recording, run: Run) -> None:
    path = folder / f"{script}.json"
    known = Record.read(path) if path.exists() else Record(script)
    known.merged(made.record(script, run)).write(folder)


def machine(peer: str | None = None) -> dict[str, str | int]:
    """The machine in words: cores, memory and versions; nothing that names it."""
    told: dict[str, str | int] = {"cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1}
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        # Rounded up: the kernel keeps some for itself.
        told["memory"] = f"{-(-os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // 2**30)} GiB"
    told["python"] = platform.python_version()
    for package in PACKAGES:
        try:
            told[package] = version(package)
        except PackageNotFoundError:
            continue
    known = peer_version(peer) if peer else None
    return {**told, "desbordante": known} if known else told


def peer_python() -> str | None:
    """The Python that `make bench` gave Desbordante, where it could be installed."""
    return str(PEER_PYTHON) if PEER_PYTHON.exists() and peer_version(str(PEER_PYTHON)) else None


def peer_version(python: str) -> str | None:
    """Desbordante's version in the environment of this Python, or None where it is not installed."""
    asked = "from importlib.metadata import version; import desbordante; print(version('desbordante'))"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _command() -> str:
    words, kept = iter(sys.argv[1:]), []
    for word in words:
        if word in ("--record", "--note"):
            following = next(words, None)
            if word == "--record" and following is not None and following.startswith("-"):
                kept.append(following)
        elif not word.startswith(("--record=", "--note=")):
            kept.append(_placeless(word))
    return shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *kept])


def _placeless(word: str) -> str:
    """A word of a command line without where things lie on this machine."""
    path = Path(word)
    if not path.is_absolute():
        return word
    return "DATA" if path.is_dir() else "PYTHON" if path.name.startswith("python") else path.name


def _short(cell: Cell) -> Cell:
    """Four digits of a measured number: more would be noise."""
    return float(f"{cell:.4g}") if isinstance(cell, float) else cell
