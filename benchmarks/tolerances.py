"""Rules with tolerances beside the same rules without them, and beside DuckDB's self-join, in one process run.

    python benchmarks/tolerances.py [--rows 100000 1000000] [--peers-up-to 1000000] [--repeat 3] [--seed 1]

Readings of sensors, a thousand of each, and bookings of rooms; each rule is checked by the library in this process,
read from Parquet. Seconds are those of the CPU, the best of `--repeat`, so that what else the machine does counts less;
in brackets those of the clock. The ratio is to the rule before it that says the same without a tolerance. DuckDB runs
the self-join that a person writes first, not beyond `--peers-up-to` rows, and its count is asserted to be ours. It is a
peer, not a dependency: `pip install duckdb`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from check import Peers, as_number, peer_sql
from record import Recording, add_record_options, recording

import holdfast as hf

AGREE = "t.sensor = s.sensor"
# What each is compared with, if with anything, its table, and the rule.
RULES: dict[str, tuple[str, str, str]] = {
    "equal": ("", "readings", f"not({AGREE} and t.at = s.at)"),
    "tolerance": ("equal", "readings", f"not({AGREE} and abs(t.at - s.at) <= 2)"),
    "equal and different": ("", "readings", f"not({AGREE} and t.at = s.at and t.temp != s.temp)"),
    "tolerance and distance": (
        "equal and different",
        "readings",
        f"not({AGREE} and abs(t.at - s.at) <= 60 and abs(t.temp - s.temp) > 5)",
    ),
    "two inequalities": ("", "readings", f"not({AGREE} and t.at < s.at and t.load > s.load)"),
    "two tolerances": (
        "two inequalities",
        "readings",
        f"not({AGREE} and abs(t.at - s.at) <= 60 and abs(t.load - s.load) <= 100)",
    ),
    "narrow ones, and an order": (
        "two inequalities",
        "readings",
        f"not({AGREE} and abs(t.at - s.at) <= 60 and abs(t.load - s.load) <= 100 and t.temp < s.temp)",
    ),
    "wide ones, and an order": (
        "two inequalities",
        "readings",
        f"not({AGREE} and abs(t.at - s.at) <= 500000 and abs(t.load - s.load) <= 500000 and t.temp < s.temp)",
    ),
    "no overlap": ("two inequalities", "bookings", "no_overlap(room; start, stop)"),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    options.add_argument("--peers-up-to", type=int, default=1_000_000, help="rows up to which self-joins are tried")
    options.add_argument("--peer-seconds", type=float, default=60)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES), metavar="RULE")
    add_record_options(options)
    chosen = options.parse_args()
    try:
        import duckdb
    except ImportError:
        duckdb = None  # type: ignore[assignment]
    peers = Peers(None, duckdb, chosen.peer_seconds)
    with recording(chosen) as record, tempfile.TemporaryDirectory() as folder:
        for rows in chosen.rows:
            rng, paths = np.random.default_rng(chosen.seed), {}
            for name, make in (("readings", readings), ("bookings", bookings)):
                paths[name] = str(Path(folder) / f"{name}-{rows}.parquet")
                pq.write_table(make(rows, rng), paths[name], row_group_size=max(rows // 8, 10_000))
            joined = duckdb is not None and rows <= chosen.peers_up_to
            compare(rows, paths, chosen.rules, chosen.repeat, peers if joined else None, record)


def readings(n: int, rng: np.random.Generator) -> pa.Table:
    """A thousand readings of each sensor in some two weeks; one temperature in a thousand is off."""
    sensor, at = rng.integers(0, max(n // 1_000, 1), n), rng.integers(0, 1_200_000, n)
    temp = 20 + 5 * np.sin(at / 86_400 * 2 * np.pi) + sensor % 7 + rng.normal(0, 0.5, n)
    temp = np.where(rng.random(n) < 0.001, temp + rng.integers(-20, 20, n), temp)
    load = rng.integers(0, 1_000_000, n)
    return pa.table({"id": np.arange(n), "sensor": sensor, "at": at, "temp": np.round(temp, 2), "load": load})


def bookings(n: int, rng: np.random.Generator) -> pa.Table:
    """A thousand bookings of each room, one after the other; one in a hundred is longer than it should be."""
    room, place = np.arange(n) // 1_000, np.arange(n) % 1_000
    length = np.where(rng.random(n) < 0.01, rng.integers(60, 600, n), 60)
    order = rng.permutation(n)
    return pa.table({"id": np.arange(n), "room": room[order], "start": 60 * place[order],
                     "stop": (60 * place + length)[order]})  # fmt: skip


def compare(
    rows: int, paths: dict[str, str], names: list[str], repeat: int, peers: Peers | None, record: Recording
) -> None:
    """One table: each rule's pairs and seconds, beside the rule without a tolerance and DuckDB's self-join."""
    units = {"pairs": "pairs", "holdfast": "s of CPU", "clock": "s", "ratio": "times", "duckdb_join": "s of CPU"}
    kept = record.table("rules", keys=("rule", "rows"), units=units)
    print(f"\n{rows:,} rows: seconds of the CPU (of the clock)")
    print(f"{'rule':28} {'pairs':>14} {'holdfast':>14} {'ratio':>6} {'duckdb join':>16}")
    hf.check(paths["bookings"], ["unique(id)", *(RULES[name][2] for name in names if RULES[name][1] == "bookings")])
    seconds: dict[str, float] = {}
    for name in names:
        other, source, rule = RULES[name]
        runs = [spent(lambda p=paths[source], r=rule: checked(p, r)) for _ in range(repeat)]
        told = runs[0][2]
        seconds[name], clock, _ = min(runs, key=lambda run: run[0])
        ratio = f"{seconds[name] / seconds[other]:.1f}" if other in seconds else ""
        answer = ""
        if peers is not None:
            sql = peer_sql(rule)
            cpu, _, found = spent(lambda p=paths[source], s=sql: peers.by_duckdb(p, s))
            assert found is None or found[1] == told["violating_pairs"], (name, found, told)
            answer = f"> {peers.seconds:.0f}" if found is None else f"{cpu:.2f} ({found[0]:.2f})"
        kept.add(
            rule=name,
            rows=rows,
            pairs=told["violating_pairs"],
            holdfast=seconds[name],
            clock=clock,
            ratio=float(ratio) if ratio else None,
            duckdb_join=as_number(answer.partition(" (")[0]),
        )
        own = f"{seconds[name]:.2f} ({clock:.2f})"
        print(f"{name:28} {told['violating_pairs']:14,} {own:>14} {ratio:>6} {answer:>16}", flush=True)


def checked(path: str, rule: str) -> dict[str, Any]:
    with hf.check(path, [rule], key="id", engine="local") as result:
        found: dict[str, Any] = result.to_dict()["rules"][0]
        return found


def spent(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """(seconds of the CPU, of all threads; seconds of the clock; what the work returns)."""
    cpu, clock = time.process_time(), time.perf_counter()
    result = work()
    return time.process_time() - cpu, time.perf_counter() - clock, result


if __name__ == "__main__":
    main()
