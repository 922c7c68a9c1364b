"""How long `discover` takes beside Desbordante's DC miner, in one run, with equal rule sets checked.

    python benchmarks/discover.py [--data ../shared/data] [--tables stock "flights 10k"] [--peer-limit 120]
    python benchmarks/discover.py --curve rows|columns|predicates
    python benchmarks/discover.py --tax-like 1000000 [--strategy hybrid]
    python benchmarks/discover.py --recheck 20            all rules through `check`, and 20 of them loosened

Both read the same CSV files and compare single columns only. Holdfast runs as a library call in a warm session; its
seconds are those of the whole call, and by phase: reading (the types of a CSV file), the phases of the search, and the
rest (Spark's own work and the ranking). Memory is the most that was resident, in GiB: of this process, of the JVM, and
of all Python workers. The peer's seconds are those of loading and mining, without the start of its process. Desbordante
is a peer, not a dependency: `--desbordante` is the Python of an environment that has it, by default that of `make
bench`; without one the peer is left out. Where the number of rules is known, it is asserted.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pc
import pyarrow.parquet as pq
from memory import Peak, measured
from record import Recording, RunningTable, add_record_options, peer_python, recording
from tables import tax

import holdfast as hf
from holdfast.engines.discovery import DiscoverResult, compared_columns
from holdfast.engines.spark.checking.rows import schema_of
from holdfast.engines.spark.session import get_session
from holdfast.engines.spark.sources.sources import read_table
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Column, Comparison
from holdfast.rules.relation import ANY, EQ, GT, LT
from holdfast.search.options import DiscoverOptions
from holdfast.search.space import OperandPair, PredicateSpace, as_words, permuted

HERE = Path(__file__).parent
ADULT = (
    "age", "workclass", "education", "Educationnum", "Maritalstatus", "relationship", "race", "sex", "Hoursperweek",
    "class",
)  # fmt: skip
NO_PEER = "not installed"
PHASES = ("encode", "evidence", "invert", "weigh")


@dataclass(frozen=True)
class Source:
    """A shared file, or some of its rows and columns; how many rules are known, and why the peer does not run."""

    file: str
    rows: int | None = None
    columns: tuple[str, ...] = ()
    rules: int | None = None
    no_peer: str = ""


TABLES = {
    "airport": Source("airport.csv", rules=23),
    "airport 10k": Source("airport.csv", 10_000, rules=26),
    "adult ten columns": Source("adult.csv", columns=ADULT, rules=2),
    "flights 10k": Source("flights.csv.gz", 10_000, rules=360),
    "flights 50k": Source("flights.csv.gz", 50_000, rules=308),
    "flights 100k": Source("flights.csv.gz", rules=214),
    "tax 1k": Source("tax.csv", 1_000, rules=10_498),
    "stock": Source("stock.csv", rules=51),
    "adult": Source("adult.csv", no_peer="minutes at 1,000 rows already"),
}


# Tables -----------------------------------------------------------------------------------------------------------


def written(data: Path, source: Source, folder: Path, name: str) -> Path:
    """The rows and columns as a CSV file that both programs read."""
    opened: Callable[..., Any] = gzip.open if source.file.endswith(".gz") else open
    path = folder / f"{name}.csv"
    with opened(data / source.file, "rt", encoding="utf-8", newline="") as lines, path.open("w", newline="") as out:
        rows = csv.reader(lines)
        head = next(rows)
        places = [head.index(column) for column in source.columns or head]
        write = csv.writer(out, lineterminator="\n")
        write.writerow([head[place] for place in places])
        for row in itertools.islice(rows, source.rows):
            write.writerow([_no_date(head[place], row[place]) for place in places])
    return path


def _no_date(column: str, value: str) -> str:
    # The peer takes 20090821 for a date, which it refuses. Without the century it is a number, in the same order.
    return value[2:].lstrip("0") if column == "Date" else value


# Holdfast ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    seconds: float
    found: DiscoverResult
    peak: Peak

    def phases(self) -> list[float]:
        """Reading the schema, the phases of the search, and the rest: Spark's own work and the ranking."""
        read = self.seconds - self.found.seconds
        spent = [self.found.outcome.phases.get(phase, 0.0) for phase in PHASES]
        return [read, *spent, self.found.seconds - sum(self.found.outcome.phases.values())]


def discovered(path: Path, *, repeat: int = 1, **options: Any) -> Run:
    """The fastest of so many runs."""
    runs = []
    for _ in range(repeat):
        seconds, found, peak = measured(lambda: hf.discover(path, **{"cross_columns": "off", **options}))
        runs.append(Run(seconds, found, peak))
    return min(runs, key=lambda run: run.seconds)


# The peer ---------------------------------------------------------------------------------------------------------


def peer_found(
    python: str | None, path: Path, limit: float, error: float = 0.0
) -> tuple[float, list[DenialConstraint]] | str:
    """Its seconds and its rules, that this share of the pairs may break, or why there are none."""
    if python is None:
        return NO_PEER
    threads = len(os.sched_getaffinity(0))
    command = [python, str(HERE / "desbordante_dc.py"), str(path), str(threads), str(error)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"over {limit:.0f} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    said = json.loads(done.stdout)
    rules = [text.removeprefix("¬{").removesuffix("}").strip() for text in said["rules"]]
    return said["load"] + said["mine"], [parse_constraint(f"not({rule})") for rule in rules]


def assert_same(path: Path, mine: Sequence[DenialConstraint], theirs: Sequence[DenialConstraint]) -> None:
    """Each of its rules is implied by one of ours, and each of ours by its set."""
    space = single_columns(path)
    ours, others = (as_words(map(space.mask_of, rules), space.words) for rules in (mine, theirs))
    for masks, rules, by in ((others, theirs, ours), (ours, mine, others)):
        by = np.concatenate([by, permuted(by, space.mirror)])
        missed = [rule for mask, rule in zip(masks, rules, strict=True) if not implied(mask, by, space)]
        assert not missed, f"{len(missed)} rules are not implied, such as {missed[0]}"


def single_columns(path: Path) -> PredicateSpace:
    table = read_table(get_session(), path)
    types, _ = compared_columns(schema_of(table.frame, table.name).types, DiscoverOptions(), table.name)
    return PredicateSpace(
        tuple(
            OperandPair(Column("t", name), Column("s", name), kind.ordered and kind.family not in ("void", "text"))
            for name, kind in types.items()
        )
    )


def implied(mask: np.ndarray, by: np.ndarray, space: PredicateSpace) -> bool:
    """Whether one of the constraints allows all that this one does, or several together do."""
    if bool((mask & ~by == 0).all(axis=1).any()):
        return True
    for pair, first in zip(space.pairs, space.first_bits, strict=False):
        bits = [bit for bit in range(first, first + len(pair.relations)) if int(mask[bit // 64]) >> (bit % 64) & 1]
        if 1 < len(bits) < len(pair.relations):  # a predicate of two relations: each of them alone
            parts = [mask.copy() for _ in bits]
            for part, keep in zip(parts, bits, strict=True):
                for bit in set(bits) - {keep}:
                    part[bit // 64] &= ~(np.uint64(1) << np.uint64(bit % 64))
            return all(implied(part, by, space) for part in parts)
    return False


# What is printed --------------------------------------------------------------------------------------------------

HEADS = (
    ("rows", 9), ("cols", 5), ("preds", 6), ("rules", 8), ("evidence", 9), ("whole s", 8),
    ("read", 6), *((phase, 8) for phase in PHASES), ("rest", 6), ("GiB", 5), ("JVM", 5), ("workers", 7),
)  # fmt: skip


def head(more: str = "") -> None:
    print(f"{'table':24} " + " ".join(f"{name:>{width}}" for name, width in HEADS) + more, flush=True)


UNITS = dict.fromkeys(("holdfast", "read", *PHASES, "rest", "desbordante"), "s")


def line(
    name: str, columns: int, run: Run, kept: RunningTable, more: str = "", peer: float | str | None = None
) -> None:
    outcome = run.found.outcome
    phases = dict(zip(("read", *PHASES, "rest"), run.phases(), strict=True))
    kept.add(
        run.peak,
        table=name,
        rows=outcome.rows,
        columns=columns,
        rules=len(outcome.found),
        kinds=outcome.evidence,
        strategy=outcome.strategy,
        complete=str(outcome.complete),
        holdfast=run.seconds,
        **phases,
        desbordante=peer,
    )
    cells = [
        f"{outcome.rows:,}", f"{columns}", f"{outcome.predicates}", f"{len(outcome.found):,}", f"{outcome.evidence:,}",
        f"{run.seconds:.2f}", *(f"{seconds:.2f}" for seconds in phases.values()),
        *("" if size is None else f"{size / 1024:.1f}" for size in (run.peak.driver, run.peak.jvm, run.peak.workers)),
    ]  # fmt: skip
    others = {phase: round(s, 2) for phase, s in outcome.phases.items() if phase not in PHASES}
    told = f"  {outcome.strategy} {others}" if others else ""
    told += "" if outcome.complete else f"  NOT COMPLETE: {outcome.why}"
    print(
        f"{name:24} " + " ".join(f"{c:>{w}}" for c, (_, w) in zip(cells, HEADS, strict=True)) + more + told, flush=True
    )


def beside_the_peer(chosen: argparse.Namespace, options: dict[str, Any], folder: Path, record: Recording) -> None:
    kept = record.table("tables", keys=("table",), units=UNITS)
    head(f" {'peer s':>8} {'ratio':>6}")
    for name in chosen.tables:
        source = TABLES[name]
        path = written(chosen.data, source, folder, name)
        run = discovered(path, **options)
        mine = [one.constraint for one in run.found.outcome.found]
        peer = source.no_peer or peer_found(chosen.desbordante, path, chosen.peer_limit)
        told = f"  {peer}" if isinstance(peer, str) else f" {peer[0]:>8.2f} {peer[0] / run.seconds:>6.1f}"
        seconds = None if peer == NO_PEER else peer if isinstance(peer, str) else peer[0]
        line(name, width(path), run, kept, told, seconds)
        assert source.rules in (None, len(mine)), f"{name} has {source.rules} rules, not {len(mine)}"
        if not isinstance(peer, str):
            assert_same(path, mine, peer[1])


def rechecked(data: Path, names: Sequence[str], many: int, seed: int, folder: Path) -> None:
    """Asserts that the rules shown hold, and that of a sample of all rules none does when it is loosened."""
    for name in names:
        path = written(data, TABLES[name], folder, name)
        found = hf.discover(path, cross_columns="off")
        held = hf.check(path, found, limit=10)
        assert not any(rule["violating_pairs"] for rule in held.to_dict()["rules"])
        everything = [one.constraint for one in found.outcome.found]
        chosen = np.random.default_rng(seed).permutation(len(everything))[:many]
        ordered = {pair.left.name for pair in single_columns(path).pairs if pair.ordered}
        looser = [wider for i in chosen for wider in loosened(everything[i], ordered)]
        told = hf.check(path, [str(constraint) for constraint in looser], limit=1).to_dict()["rules"]
        wrong = [rule["rule"] for rule in told if not rule["violating_pairs"]]
        assert not wrong, f"{name}: a looser rule holds too: {wrong[0]}"
        print(
            f"{name:24} {len(found.rules):>5} rules shown hold; {len(chosen)} of all {len(everything):,} loosened "
            f"in {len(looser)} ways, and none of these holds",
            flush=True,
        )


def loosened(constraint: DenialConstraint, ordered: set[str]) -> Iterator[DenialConstraint]:
    """The constraint with one predicate dropped, and with one relation more where a column has an order."""
    parts = constraint.predicates
    for at, predicate in enumerate(parts):
        assert isinstance(predicate, Comparison), "discovery compares columns"
        others = parts[:at] + parts[at + 1 :]
        if others:
            yield DenialConstraint(others)
        more = {predicate.allowed | relation for relation in (LT, EQ, GT)} - {predicate.allowed, ANY}
        for wider in sorted(more) if predicate.left.name in ordered else ():
            yield DenialConstraint((*others, Comparison(predicate.left, wider, predicate.right)))


def width(path: Path) -> int:
    with path.open(encoding="utf-8") as lines:
        return len(next(csv.reader(lines)))


def curve(kind: str, data: Path, options: dict[str, Any], folder: Path, record: Recording) -> None:
    head()
    kept = record.table(f"more {kind}", keys=("table",), units=UNITS)
    if kind == "rows":
        for rows in (6_250, 12_500, 25_000, 50_000, 100_000):
            path = written(data, Source("flights.csv.gz", rows), folder, "flights")
            line(f"flights {rows:,}", width(path), discovered(path, **options), kept)
    elif kind == "columns":
        for file, rows, least in (("tax.csv", 1_000, 5), ("adult.csv", None, 7)):
            with (data / file).open(encoding="utf-8") as lines:
                names = next(csv.reader(lines))
            for many in range(least, len(names) + 1, 2):
                path = written(data, Source(file, rows, tuple(names[:many])), folder, "columns")
                line(f"{file} {many} columns", many, discovered(path, **options), kept)
    else:
        for share in ("off", 1.0, 0.6, 0.3, 0.0):
            path = written(data, Source("stock.csv"), folder, "stock")
            run = discovered(path, **{**options, "cross_columns": share})
            line(f"stock cross-columns {share}", width(path), run, kept)


def tax_like(rows: int, seed: int, options: dict[str, Any], folder: Path, record: Recording) -> None:
    path = folder / "tax-like.parquet"
    table = tax(rows, np.random.default_rng(seed), 0.0)
    pq.write_table(table, path, row_group_size=max(rows // 8, 10_000))
    head()
    kept = record.table("tax-like", keys=("table",), units=UNITS)
    line(f"tax-like {rows:,}", table.num_columns, discovered(path, **options), kept)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    options.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    options.add_argument("--peer-limit", type=float, default=120.0, help="seconds that the peer may take per table")
    options.add_argument("--strategy", default="auto")
    options.add_argument("--time-limit", type=float)
    options.add_argument("--curve", choices=["rows", "columns", "predicates"])
    options.add_argument("--tax-like", type=int, metavar="ROWS")
    options.add_argument("--recheck", type=int, metavar="RULES", help="loosen so many rules of each table, and check")
    options.add_argument("--repeat", type=int, default=1, help="the fastest of so many runs of Holdfast counts")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--desbordante", metavar="PYTHON", default=peer_python(), help="a Python that has Desbordante")
    add_record_options(options)
    chosen = options.parse_args()
    asked = {"strategy": chosen.strategy, "time_limit": chosen.time_limit, "repeat": chosen.repeat}
    with recording(chosen, peer=chosen.desbordante) as record, tempfile.TemporaryDirectory() as temporary:
        get_session()
        folder = Path(temporary)
        for rows in (500, 1_000):  # the session, its workers and the kernels warm
            warm = folder / "warm.csv"
            pc.write_csv(tax(rows, np.random.default_rng(0), 0.1).select(range(9)), warm)
            discovered(warm, time_limit=5.0)
        if chosen.tax_like:
            tax_like(chosen.tax_like, chosen.seed, asked, folder, record)
        elif chosen.recheck:
            rechecked(chosen.data, chosen.tables, chosen.recheck, chosen.seed, folder)
        elif chosen.curve:
            curve(chosen.curve, chosen.data, asked, folder, record)
        else:
            beside_the_peer(chosen, asked, folder, record)


if __name__ == "__main__":
    main()
