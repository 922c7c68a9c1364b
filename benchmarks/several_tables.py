"""A foreign key beside DuckDB's anti-join, and changes of two tables under watch and in a monitor as these grow.

    python benchmarks/several_tables.py [--orders 10000000] [--on-disk 10000000] [--watched 100000 1000000]

The first table is of seconds: a check of orders into customers, a tenth as many, where one order in a thousand has no
customer, from Arrow tables in memory; DuckDB counts the same orders by NOT EXISTS, and the counts are asserted equal. A
check also names the rows, says which values are missing, and gives verdicts. The second is of seconds, too, with both
tables in Parquet files: in this process, on Spark, Spark's own anti-join that only counts, and DuckDB's; each the
quickest of three, in a warm session. The third is of milliseconds: 1,000 changes on either side, applied to a state of
tables of so many orders (50,000 at least) and a tenth as many customers, the median of five. The fourth is of a monitor
of the same tables: 1,000 changes as one, in milliseconds, the median of nine, and one alone, in microseconds, the
median of 200. Memory is the most that was resident, in MiB. DuckDB is a peer, not a dependency: `pip install duckdb`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from memory import Peak, PeakMemory, measured
from record import Recording, add_record_options, recording

import holdfast as hf
from holdfast.states.violations_change import ViolationsChange

RULES = [
    "orders(customer) in customers(id)",
    "not(orders.customer = customers.id and orders.ordered < customers.since)",
]
UNITS = {"load": "s", "come": "ms", "go": "ms", "comes": "µs", "goes": "µs", "indexes": "MiB"}
KEYS = {"orders": "id", "customers": "id"}
WITHOUT_CUSTOMER = (
    "SELECT count(*) FROM {orders} o WHERE NOT EXISTS (SELECT 1 FROM {customers} c WHERE c.id = o.customer)"
)


def made(orders: int, *, seed: int = 1) -> dict[str, pa.Table]:
    """Orders, and a tenth as many customers; one order in a thousand has no customer, one in a hundred is too early."""
    rng, many = np.random.default_rng(seed), max(orders // 10, 1)
    customer = np.where(rng.random(orders) < 0.001, many + rng.integers(0, many, orders), rng.integers(0, many, orders))
    ordered = np.where(rng.random(orders) < 0.01, 10, 100 + rng.integers(0, 900, orders))
    return {
        "orders": pa.table({"id": np.arange(orders), "customer": customer, "ordered": ordered}),
        "customers": pa.table({"id": np.arange(many), "since": rng.integers(20, 100, many)}),
    }


def checked(orders: int, record: Recording) -> None:
    tables = made(orders)
    hf.check(made(1_000), RULES[:1], key=KEYS)  # what is imported takes time, once
    ours, result, peak = measured(lambda: hf.check(tables, RULES[:1], key=KEYS, engine="local"))
    with duckdb.connect() as peer:
        peer.register("orders", tables["orders"])
        peer.register("customers", tables["customers"])
        started = time.perf_counter()
        ((found,),) = peer.sql(WITHOUT_CUSTOMER.format(orders="orders", customers="customers")).fetchall()
        theirs = time.perf_counter() - started
    assert result.outcome.rules[0].violating_rows == found
    kept = record.table("checks", keys=("orders",), units={"holdfast": "s", "duckdb": "s"})
    kept.add(peak, orders=orders, without=found, holdfast=ours, duckdb=theirs)
    print(f"| {orders:,} | {orders // 10:,} | {found:,} | {ours:.2f} | {theirs:.2f} | {peak.driver or 0:,.0f} |")


def checked_on_disk(orders: int, folder: Path, record: Recording) -> None:
    """Reads both tables from Parquet files in each way, and asserts that all count the same orders."""
    from holdfast.engines.spark.session import get_session

    files = {name: str(folder / f"{name}-{orders}.parquet") for name in KEYS}
    for name, table in made(orders).items():
        pq.write_table(table, files[name])
    session = get_session()
    of_spark = WITHOUT_CUSTOMER.format(**{name: f"parquet.`{file}`" for name, file in files.items()})
    of_duckdb = WITHOUT_CUSTOMER.format(**{name: f"read_parquet('{file}')" for name, file in files.items()})

    def counted(engine: Literal["local", "spark"]) -> int | None:
        return hf.check(files, RULES[:1], key=KEYS, engine=engine).outcome.rules[0].violating_rows

    def counted_by_duckdb() -> int:
        with duckdb.connect() as peer:
            peer.execute("SET enable_progress_bar = false")
            return int(peer.sql(of_duckdb).fetchall()[0][0])

    ways: list[Callable[[], int | None]] = [
        lambda: counted("local"),
        lambda: counted("spark"),
        lambda: int(session.sql(of_spark).collect()[0][0]),
        counted_by_duckdb,
    ]
    counts, seconds, peaks = set(), [], []
    for way in ways:
        runs = [measured(way) for _ in range(3)]
        counts |= {count for _, count, _ in runs}
        seconds.append(min(spent for spent, _, _ in runs))
        peaks.append(reduce(Peak.or_more, (peak for _, _, peak in runs)))
    session.stop()
    assert len(counts) == 1, counts
    names = ("local", "spark", "spark_join", "duckdb")
    kept = record.table("on disk", keys=("orders",), units=dict.fromkeys(names, "s"))
    # A session of Spark is there all the time, so that memory is that of the check on Spark.
    kept.add(peaks[1], orders=orders, without=max(counts), **dict(zip(names, seconds, strict=True)))
    print(f"| {orders:,} | {counts.pop():,} | " + " | ".join(f"{each:.2f}" for each in seconds) + " |")


def watched(orders: int, folder: Path, record: Recording) -> None:
    tables = made(orders)
    state = hf.WatchState.create(folder / f"state-{orders}", tables, RULES, key=KEYS, engine="local")
    rng, many = np.random.default_rng(2), orders // 10
    times: dict[str, list[float]] = {"orders": [], "customers": []}
    with PeakMemory() as memory:
        for turn in range(5):
            ids = np.arange(orders + 1_000 * turn, orders + 1_000 * turn + 1_000)
            new = {"id": ids, "customer": rng.integers(0, many, 1_000), "ordered": [50] * 1_000}
            gone = {"id": np.arange(1_000 * turn, 1_000 * turn + 1_000), "_change_type": ["delete"] * 1_000}
            for name, changes in (("orders", new), ("customers", gone)):
                file = folder / f"{name}-{orders}-{turn}.parquet"
                pq.write_table(pa.table(changes), file)
                started = time.perf_counter()
                outcome = state.apply({name: file})
                times[name].append(1_000 * (time.perf_counter() - started))
                assert outcome.applied
    medians = {name: statistics.median(listed) for name, listed in times.items()}
    kept = record.table("watched", keys=("orders",), units={"orders_ms": "ms", "customers_ms": "ms"})
    kept.add(memory.peak, orders=orders, orders_ms=medians["orders"], customers_ms=medians["customers"])
    most = memory.peak.driver or 0
    print(f"| {orders:,} | {medians['orders']:.0f} | {medians['customers']:.0f} | {most:,.0f} |")


def monitored(orders: int, record: Recording) -> None:
    tables, rng, many = made(orders), np.random.default_rng(3), orders // 10
    types = {name: dict.fromkeys(table.column_names, "bigint") for name, table in tables.items()}
    monitor = hf.Monitor(RULES, key=KEYS, schema=types)
    load, _, peak = measured(lambda: monitor.insert(tables))
    times: dict[str, list[float]] = {name: [] for name in ("come", "go", "comes", "goes")}

    def timed(name: str, change: Callable[[], ViolationsChange]) -> None:
        started = time.perf_counter()
        told = change()
        assert told.totals == monitor.totals
        times[name].append(time.perf_counter() - started)

    key, customer = orders, 0
    for _ in range(9):
        ids, of = np.arange(key, key + 1_000), rng.integers(0, many, 1_000)
        new = pa.table({"id": ids, "customer": of, "ordered": np.full(1_000, 50)})
        timed("come", lambda new=new: monitor.insert({"orders": new}))
        gone = list(range(customer, customer + 1_000))
        timed("go", lambda gone=gone: monitor.delete({"customers": gone}))
        key, customer = key + 1_000, customer + 1_000
    for _ in range(200):
        row = {"id": key, "customer": int(rng.integers(0, many)), "ordered": 50}
        timed("comes", lambda row=row: monitor.insert(row, table="orders"))
        timed("goes", lambda gone=customer: monitor.delete(gone, table="customers"))
        key, customer = key + 1, customer + 1
    come, go = (1_000 * statistics.median(times[name]) for name in ("come", "go"))
    comes, goes = (1_000_000 * statistics.median(times[name]) for name in ("comes", "goes"))
    mebibytes = monitor.bytes / 2**20
    kept = record.table("monitors", keys=("orders",), units=UNITS)
    kept.add(peak, orders=orders, load=load, come=come, go=go, comes=comes, goes=goes, indexes=mebibytes)
    print(f"| {orders:,} | {load:.1f} | {come:.1f} | {go:.1f} | {comes:.0f} | {goes:.0f} | {mebibytes:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, nargs="*", default=[10_000_000])
    parser.add_argument("--on-disk", type=int, nargs="*", default=[10_000_000])
    parser.add_argument("--watched", type=int, nargs="*", default=[100_000, 1_000_000])
    add_record_options(parser)
    options = parser.parse_args()
    with recording(options) as record, tempfile.TemporaryDirectory() as folder:
        print("| orders | customers | without | holdfast, s | DuckDB, s | memory, MiB |\n|---|---|---|---|---|---|")
        for orders in options.orders:
            checked(orders, record)
        if options.on_disk:
            print("\n| orders | without | holdfast here, s | holdfast on Spark, s | Spark SQL, s | DuckDB, s |")
            print("|---|---|---|---|---|---|")
        for orders in options.on_disk:
            checked_on_disk(orders, Path(folder), record)
        print("\n| orders | 1,000 orders come, ms | 1,000 customers go, ms | memory, MiB |\n|---|---|---|---|")
        for orders in options.watched:
            watched(orders, Path(folder), record)
        columns = "orders", "first rows, s", "1,000 orders come, ms", "1,000 customers go, ms"
        print("\n|", " | ".join((*columns, "one order comes, µs", "one customer goes, µs", "MiB")), "|")
        print("|---|---|---|---|---|---|---|")
        for orders in options.watched:
            monitored(orders, record)


if __name__ == "__main__":
    main()
