"""How long it takes to keep rules up to date, beside a search from nothing in the same run, with equal rules checked.

    python benchmarks/evolve.py [--data ../shared/data] [--tables airport stock] [--shares 0.01 0.1 0.2 0.3]
    python benchmarks/evolve.py --strategies evidence index        the two ways side by side
    python benchmarks/evolve.py --small 100                        the same rows as so many small batches
    python benchmarks/evolve.py --spark                            `holdfast evolve` and `holdfast discover`, on Spark
    python benchmarks/evolve.py --states 100000 300000 1000000     states on disk that keep indexes, as tables grow

A share of the rows, the last ones of the file, comes in one batch, and then goes again. `init` is what a keeper needs
to begin with: the search on the rows that are there first, and its own codes. `search` is `discover` of all rows from
nothing, and of those left; both read the same Arrow table, in one process without Spark. `small` is the same rows in
many small batches, one after the other; `one` is one row that goes. Every set of rules is compared with that of the
search. Columns are compared with themselves only, as in IncDC's measurements: on airport with 30,000 rows its own
program took 1.6, 2.4 and 3.3 s for 10, 20 and 30 % more, after 5 s of building indexes.

States are those of tax-like tables of eight columns, made with `--strategy index`: `inserts` is a batch of 1,000 rows
that come, `changes` one of as many inserts, deletes and updates in equal parts, each the best of three that follow each
other, opened anew; `rediscover` is such a batch by a search from nothing. In this process seconds are of the CPU, of
all threads; with `--spark` they are of the clock, in one session.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from discover import ADULT, TABLES, Source, written
from memory import measured
from record import Recording, add_record_options, recording
from tables import change_batch, tax

import holdfast as hf
from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.search.find import find
from holdfast.search.options import DiscoverOptions
from holdfast.search.result import SearchResult
from holdfast.search.space import as_masks

KEY = "_k"
MEASURED = {
    "airport 30k": Source("airport.csv", 39_000),
    "airport": TABLES["airport"],
    "adult ten columns": Source("adult.csv", columns=ADULT),
    "flights 50k": TABLES["flights 50k"],
    "flights 100k": TABLES["flights 100k"],
    "stock": TABLES["stock"],
    "tax 1k": TABLES["tax 1k"],
}
UNITS = dict.fromkeys(("init", "insert", "search", "delete", "search_left", "small"), "s")
UNITS |= dict.fromkeys(("inserts", "changes", "rediscover"), "s")
UNITS |= {"insert_ratio": "times", "delete_ratio": "times", "one": "ms", "indexes": "MiB"}
TAX = ("ZipCode", "City", "State", "MaritalStatus", "Phone", "Salary", "Rate", "Tax")
BATCH = 1_000
OPTIONS: dict[str, Any] = {"cross_columns": "off", "exclude": (KEY,)}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    done = work()
    return time.perf_counter() - start, done


def searched(table: pa.Table) -> SearchResult:
    """The rules of the table from nothing, all pairs or by a sample as `discover` would choose."""
    names = [name for name in table.column_names if name != KEY]
    types = {name: arrow_column_type(table.schema.field(name).type) for name in names}
    return find(table.select(names), types, DiscoverOptions(cross_columns=None), threads=os.cpu_count() or 1)


def rules_of(found: SearchResult) -> set[str]:
    return {str(found.space.constraint(mask)) for mask in as_masks(found.masks)}


def measure(name: str, table: pa.Table, share: float, strategy: str, small: int, record: Recording) -> None:
    rows = table.num_rows
    # `airport 30k` has 39,000 rows: shares are of the rows that are there first.
    first = 30_000 if name == "airport 30k" else int(rows * (1 - share))
    more = table.slice(first, int(first * share) if name == "airport 30k" else rows - first)
    whole = pa.concat_tables([table.slice(0, first), more])
    init, keeper = timed(lambda: hf.RuleKeeper(table.slice(0, first), key=KEY, strategy=strategy, **OPTIONS))
    scratch, found = timed(lambda: searched(whole))
    come, change, peak = measured(lambda: keeper.insert(more))
    assert set(keeper.denials) == rules_of(found), "kept rules are those of a search"
    left, found = timed(lambda: searched(table.slice(0, first)))
    go, _, also = measured(lambda: keeper.delete(more.column(KEY)))
    assert set(keeper.denials) == rules_of(found), "kept rules are those of a search"
    size = max(1, -(-more.num_rows // small))
    starts = range(0, more.num_rows, size)
    piecewise, _ = timed(lambda: [keeper.insert(more.slice(start, size)) for start in starts])
    one, _ = timed(lambda: keeper.delete(more.column(KEY)[0].as_py()))
    record.table("tables", keys=("table", "rows", "changed", "strategy"), units=UNITS).add(
        peak.or_more(also),
        table=name,
        rows=first,
        changed=more.num_rows,
        strategy=strategy,
        init=init,
        insert=come,
        search=scratch,
        insert_ratio=scratch / come,
        delete=go,
        search_left=left,
        delete_ratio=left / go,
        small=piecewise,
        one=1000 * one,
        indexes=keeper.bytes / 2**20,
        rules=change.total,
    )
    told = f"{len(change.removed):>6,} {len(change.added):>6,} {change.total:>7,}"
    print(
        f"{name:<18}{first:>8,}{more.num_rows:>8,}  {strategy:<10}{init:>7.2f}{come:>9.3f}{scratch:>9.2f}"
        f"{scratch / come:>7.1f}{go:>9.3f}{left:>9.2f}{left / go:>7.1f}{piecewise:>9.2f}{1000 * one:>9.1f}"
        f"{keeper.bytes / 2**20:>7.0f}  {told}  {'' if change.strategy == strategy else change.strategy}"
        f"  {peak.or_more(also)}",
        flush=True,
    )


def measure_on_spark(name: str, table: pa.Table, share: float, folder: Path, record: Recording) -> None:
    from holdfast.api import EvolveState

    rows = table.num_rows
    cut = int(rows * (1 - share))
    place = folder / f"{name} {share}"
    place.mkdir()
    for part, what in ((table.slice(0, cut), "first"), (table.slice(cut), "more"), (table, "all")):
        pc.write_csv(part, place / f"{what}.csv")
    gone = pa.table({KEY: table.slice(cut).column(KEY), "_change_type": ["delete"] * (rows - cut)})
    pc.write_csv(gone, place / "gone.csv")
    init, _ = timed(lambda: EvolveState.create(place / "state", place / "first.csv", key=KEY, options=OPTIONS))
    come, outcome, peak = measured(lambda: EvolveState.open(place / "state").apply(place / "more.csv"))
    scratch, found = timed(lambda: hf.discover(place / "all.csv", **OPTIONS, top="all"))
    assert outcome.change.total == len(found.outcome.found), "as many rules as discover finds"
    go, _ = timed(lambda: EvolveState.open(place / "state").apply(place / "gone.csv"))
    left, _ = timed(lambda: hf.discover(place / "first.csv", **OPTIONS))
    record.table("spark", keys=("table", "rows", "changed"), units=UNITS).add(
        peak,
        table=name,
        rows=cut,
        changed=rows - cut,
        init=init,
        insert=come,
        search=scratch,
        delete=go,
        search_left=left,
    )
    print(
        f"{name:<18}{cut:>8,}{rows - cut:>8,}  {'spark':<10}{init:>7.2f}{come:>9.3f}{scratch:>9.2f}"
        f"{scratch / come:>7.1f}{go:>9.3f}{left:>9.2f}{left / go:>7.1f}  {peak}",
        flush=True,
    )


def measure_states(rows: int, folder: Path, engine: str, record: Recording) -> None:
    from holdfast.api import EvolveState

    random = np.random.default_rng(1)
    everything = tax(rows + 8 * BATCH, random, 0.01)
    place, there, after = folder / f"state-{engine}-{rows}", np.arange(rows), rows
    pq.write_table(everything.slice(0, rows), data := folder / f"tax-{rows}.parquet")
    options = {"columns": TAX, "max_predicates": 3, "cross_columns": "off"}
    clock = time.process_time if engine == "local" else time.perf_counter

    def timed(work: Callable[[], Any]) -> tuple[float, Any]:
        start = clock()
        done = work()
        return clock() - start, done

    def applied(changes: pa.Table, strategy: str | None = None) -> tuple[float, Any]:
        pq.write_table(changes, file := folder / "changes.parquet")
        return timed(lambda: EvolveState.open(place, engine=engine).apply(file, strategy=strategy))

    init, _ = timed(lambda: EvolveState.create(place, data, key="id", engine=engine, strategy="index", options=options))
    seconds: dict[str, list[float]] = {"inserts": [], "changes": [], "rediscover": []}
    for kind, strategy in [*[("inserts", None), ("changes", None)] * 3, ("rediscover", "rediscover")]:
        if kind == "inserts":
            batch, after = everything.slice(after, BATCH), after + BATCH
            there = np.concatenate([there, np.arange(after - BATCH, after)])
        else:
            batch, there, after = change_batch(everything, there, after, BATCH, random)
        took, outcome = applied(batch, strategy)
        seconds[kind].append(took)
    best = {kind: min(own) for kind, own in seconds.items()}
    record.table("states", keys=("engine", "rows"), units=UNITS).add(
        engine=engine, rows=rows, init=init, rules=outcome.change.total, **best
    )
    print(
        f"{engine:<8}{rows:>10,}{init:>9.2f}{best['inserts']:>9.3f}{best['changes']:>9.3f}{best['rediscover']:>9.2f}"
        f"{outcome.change.total:>7,}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--tables", nargs="+", default=list(MEASURED), choices=list(MEASURED))
    parser.add_argument("--shares", nargs="+", type=float, default=[0.01, 0.1, 0.2, 0.3])
    parser.add_argument("--strategies", nargs="+", default=["evidence"], choices=["evidence", "index"])
    parser.add_argument("--small", type=int, default=100, help="in so many batches the rows come once more")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--states", nargs="+", type=int, default=[], metavar="ROWS", help="states of so many rows")
    add_record_options(parser)
    asked = parser.parse_args()
    if asked.states:
        print(f"{'engine':<8}{'rows':>10}{'init s':>9}{'inserts':>9}{'changes':>9}{'anew':>9}{'rules':>7}")
        with recording(asked) as record, tempfile.TemporaryDirectory() as folder:
            for rows in asked.states:
                measure_states(rows, Path(folder), "spark" if asked.spark else "local", record)
        return
    print(
        f"{'table':<18}{'rows':>8}{'change':>8}  {'way':<10}{'init s':>7}{'insert':>9}{'search':>9}{'ratio':>7}"
        f"{'delete':>9}{'search':>9}{'ratio':>7}{'small':>9}{'one ms':>9}{'MiB':>7}  "
        f"{'gone':>6} {'new':>6} {'rules':>7}"
    )
    with recording(asked) as record, tempfile.TemporaryDirectory() as folder:
        for name in asked.tables:
            table = pc.read_csv(written(asked.data, MEASURED[name], Path(folder), name))
            table = table.append_column(KEY, pa.array(range(table.num_rows)))
            for share in asked.shares:
                if asked.spark:
                    measure_on_spark(name, table, share, Path(folder), record)
                for strategy in () if asked.spark else asked.strategies:
                    measure(name, table, share, strategy, asked.small, record)


if __name__ == "__main__":
    main()
