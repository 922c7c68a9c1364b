"""How long a change takes in a Monitor beside DuckDB joining the same rows against the table, in one process run.

    python benchmarks/watch.py [--rows 0 100000 500000 1000000] [--rules phi7 phi10 ...]
    python benchmarks/watch.py --sizes             one rule set, batches of 1 to 100,000 rows
    python benchmarks/watch.py --paths             sorted runs against less-than trees, two to four inequalities
    python benchmarks/watch.py --tipping           how many inserts fit in the time of one fresh check
    python benchmarks/watch.py --discovered        the 20 best rules that discover finds on the table without errors

Milliseconds of 1,000 inserts in one batch (the median and the mean of twenty), of 1,000 deletes, and microseconds of a
row that comes alone; all violations listed. Tables are generated as for `check`, with 1 % errors: counts are those of
the same table, so a faster machine finds the same pairs. DuckDB is a peer, not a dependency: `pip install duckdb`. It
joins the 1,000 rows with the table in both directions, where it can with an equality; the table is loaded before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from check import RULES as CHECKED
from check import timed
from record import Recording, add_record_options, recording
from tables import MAKERS, films

from holdfast import Monitor
from holdfast.rules.rule import rule_set

RULES = {
    **{name: CHECKED[name] for name in ("phi7", "phi8", "phi9", "phi10", "phi11", "phi12", "phi13")},
    "phi14": ("films", "not(t.Title = s.Title and t.ProductionYear = s.ProductionYear and t.Kind != s.Kind)"),
    "no equality": CHECKED["no equality"],
    "three inequalities": CHECKED["three inequalities"],
}
TOGETHER = ("phi7", "phi8", "phi9", "phi10")
EXTRA = 60_000


def table(source: str, rows: int, seed: int) -> pa.Table:
    make = films if source == "films" else MAKERS[source]
    return make(rows, np.random.default_rng(seed), 0.01)


def needed(data: pa.Table, rules: Sequence[str]) -> pa.Table:
    """The key and the columns of the rules: as a service would send them."""
    wanted = {name for rule in rule_set(rules) for name in rule.body.columns}
    return data.select([name for name in data.column_names if name == "id" or name in wanted])


def loaded(data: pa.Table, rules: Sequence[str], rows: int, **options: Any) -> tuple[float, Monitor]:
    monitor = Monitor(rules, key="id", limit=1_000, **options)
    seconds, _ = timed(lambda: monitor.insert(data.slice(0, rows)) if rows else None)
    monitor.limit = None
    return seconds, monitor


def peer_join(rule: str) -> str:
    """The pairs of a batch with the table and with itself, as a person would write it."""
    (constraint,) = rule_set([rule]).rules[0].body.denials
    condition = " AND ".join(str(p).replace("!=", "<>") for p in constraint.predicates)
    sides = [("batch", "held")] if constraint.symmetric else [("batch", "held"), ("held", "batch")]
    return " UNION ALL ".join(f"SELECT t.id, s.id FROM {a} t JOIN {b} s ON {condition}" for a, b in sides)


def peer_seconds(duckdb: Any, data: pa.Table, rule: str, rows: int, batches: int) -> float | None:
    if duckdb is None:
        return None
    connection = duckdb.connect()
    held = data.slice(0, rows)  # noqa: F841 (named in the query)
    connection.execute("CREATE TABLE held AS SELECT * FROM held")
    spent = []
    for i in range(batches):
        batch = data.slice(rows + 1_000 * i, 1_000)
        connection.register("arrived", batch)
        connection.execute("CREATE OR REPLACE TABLE batch AS SELECT * FROM arrived")
        spent.append(timed(lambda: connection.execute(peer_join(rule)).fetchnumpy())[0])
    return float(np.median(spent))


UNITS = {"load": "s", "insert": "ms", "insert_mean": "ms", "pairs": "pairs", "delete": "ms", "alone": "µs"}
UNITS |= {"indexes": "MiB", "duckdb": "ms"}


def one_table(names: Sequence[str], sizes: Sequence[int], seed: int, duckdb: Any, record: Recording) -> None:
    kept = record.table("rules", keys=("rule", "rows"), units=UNITS)
    heads = ("rows", "load s", "insert", "mean", "pairs", "delete", "alone µs", "MiB", "duckdb", "ratio")
    print(f"{'ms per 1,000 rows':22} " + " ".join(f"{head:>9}" for head in heads))
    whole: dict[str, pa.Table] = {}
    for name, (source, rules) in sets_of_rules(names).items():
        for rows in sizes:
            whole[source] = whole.get(source) if source in whole else table(source, max(sizes) + EXTRA, seed)
            data = needed(whole[source], rules)
            load, monitor = loaded(data, rules, rows)
            inserts, pairs = [], []
            for i in range(20):
                batch = data.slice(rows + 1_000 * i, 1_000)
                seconds, change = timed(lambda batch=batch, monitor=monitor: monitor.insert(batch))
                inserts.append(seconds)
                pairs.append(change.added_count)
            deletes = []
            for i in range(5):
                keys = data.column("id").slice(rows + 1_000 * i, 1_000)
                deletes.append(timed(lambda keys=keys, monitor=monitor: monitor.delete(keys))[0])
            alone = data.slice(rows + 30_000, 2_000).to_pylist()
            seconds, _ = timed(lambda alone=alone, monitor=monitor: [monitor.insert(row) for row in alone])
            peer = peer_seconds(duckdb, data, rules[0], rows, 3) if len(rules) == 1 and rows else None
            kept.add(
                rule=name,
                rows=rows,
                load=load,
                insert=float(np.median(inserts) * 1e3),
                insert_mean=float(np.mean(inserts) * 1e3),
                pairs=round(float(np.mean(pairs))),
                delete=float(np.median(deletes) * 1e3),
                alone=seconds / len(alone) * 1e6,
                indexes=monitor.bytes / 2**20,
                duckdb=None if peer is None else peer * 1e3,
            )
            cells = [
                f"{rows:,}", f"{load:.2f}", f"{np.median(inserts) * 1e3:.2f}", f"{np.mean(inserts) * 1e3:.2f}",
                f"{np.mean(pairs):,.0f}", f"{np.median(deletes) * 1e3:.2f}", f"{seconds / len(alone) * 1e6:.0f}",
                f"{monitor.bytes / 2**20:.0f}", "" if peer is None else f"{peer * 1e3:.1f}",
                "" if peer is None else f"{peer / np.median(inserts):.1f}",
            ]  # fmt: skip
            print(f"{name:22} " + " ".join(f"{cell:>9}" for cell in cells), flush=True)


def sets_of_rules(names: Sequence[str]) -> dict[str, tuple[str, list[str]]]:
    made = {name: (RULES[name][0], [RULES[name][1]]) for name in names}
    if set(TOGETHER) <= set(names):
        made["phi7 to phi10 together"] = ("tax", [RULES[name][1] for name in TOGETHER])
    return made


def batch_sizes(rows: int, seed: int, record: Recording) -> None:
    """Microseconds per row as batches grow, of four rules together."""
    rules = [RULES[name][1] for name in TOGETHER]
    data = needed(table("tax", rows + 250_000, seed), rules)
    _, monitor = loaded(data, rules, rows)
    at = rows
    kept = record.table("batch sizes", keys=("batch", "rows"), units={"each": "µs", "pairs": "pairs"})
    print(f"{'batch':>9} {'µs per row':>11} {'pairs per row':>14}")
    for size in (1, 10, 100, 1_000, 10_000, 100_000):
        times = max(1, min(200, 20_000 // size))
        batches: list[Any] = [data.slice(at + i * size, size) for i in range(times)]
        at += times * size
        if size == 1:
            batches = [batch.to_pylist()[0] for batch in batches]
        seconds, changes = timed(lambda batches=batches: [monitor.insert(batch) for batch in batches])
        pairs = sum(change.added_count for change in changes)
        kept.add(batch=size, rows=rows, each=seconds / (times * size) * 1e6, pairs=pairs / (times * size))
        print(f"{size:>9,} {seconds / (times * size) * 1e6:>11.2f} {pairs / (times * size):>14.1f}", flush=True)


def paths(rows: int, seed: int, record: Recording) -> None:
    """Sorted runs, less-than trees, and what the monitor chooses, with growing violations."""
    kept = record.table("ways", keys=("inequalities", "errors", "rows"), units=dict.fromkeys(("runs", "trees"), "µs"))
    print(f"{rows:,} rows, µs per row of 200 in a batch: no equality, so many inequalities")
    print(f"{'inequalities':>12} {'errors':>7} {'runs':>9} {'trees':>9} {'chosen':>9} {'by':>8} {'pairs per row':>14}")
    for many in (2, 3, 4):
        for errors in (0.0, 0.01, 0.1, 1.0):
            rng = np.random.default_rng(seed)
            base = rng.integers(0, 1_000, rows + 1_000)
            columns = {"id": np.arange(rows + 1_000), "A": base}
            for i in range(1, many):
                wrong = rng.random(rows + 1_000) < errors
                columns["ABCD"[i]] = np.where(wrong, rng.integers(0, 1_000, rows + 1_000), base)
            data = pa.table(columns)
            signs = [">", "<", ">", "<"]
            rule = "not(" + " and ".join(f"t.{'ABCD'[i]} {signs[i]} s.{'ABCD'[i]}" for i in range(many)) + ")"
            spent, pairs, chosen = [], 0, ""
            for access in ("runs", "bitmaps", "auto"):
                _, monitor = loaded(data, [rule], rows, access=access)
                monitor.limit = 1_000
                batch = data.slice(rows, 200)
                seconds, change = timed(lambda monitor=monitor, batch=batch: monitor.insert(batch))
                spent.append(seconds / 200 * 1e6)
                pairs, chosen = change.added_count, "trees" if "by sets of rows" in monitor.explain() else "runs"
            kept.add(inequalities=many, errors=errors, rows=rows, runs=spent[0], trees=spent[1], chosen=chosen)
            cells = " ".join(f"{one:>9.0f}" for one in spent)
            print(f"{many:>12} {errors:>7.0%} {cells} {chosen:>8} {pairs / 200:>14,.0f}", flush=True)


def tipping(rows: int, seed: int, record: Recording) -> None:
    """How many rows, a thousand at a time, come in the time of a check of all."""
    import tempfile
    from pathlib import Path

    import pyarrow.parquet as pq
    from check import check

    from holdfast.engines.spark.session import get_session

    rules = [RULES[name][1] for name in TOGETHER]
    data = needed(table("tax", rows + EXTRA, seed), rules)
    _, monitor = loaded(data, rules, rows)
    start = time.perf_counter()
    for i in range(20):
        monitor.insert(data.slice(rows + 1_000 * i, 1_000))
    each = (time.perf_counter() - start) / 20_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tax.parquet"
        pq.write_table(data.slice(0, rows), path)
        check(get_session(), str(path), rules)
        fresh, _ = timed(lambda: check(get_session(), str(path), rules))
    kept = record.table("tipping", keys=("rows",), units={"check": "s", "each": "µs"})
    kept.add(rows=rows, rules=len(rules), check=fresh, inserts=round(fresh / each), each=each * 1e6)
    print(f"a check of {rows:,} rows: {fresh:.2f} s, as long as {fresh / each:,.0f} inserts of {each * 1e6:.1f} µs")


def discovered(rows: int, seed: int, record: Recording) -> None:
    """The 20 best rules of 20,000 clean rows, watched on a table with errors."""
    import tempfile
    from pathlib import Path

    import pyarrow.parquet as pq

    import holdfast as hf

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tax.parquet"
        pq.write_table(MAKERS["tax"](20_000, np.random.default_rng(seed), 0.0).drop(["id"]), path)
        found = hf.discover(path, cross_columns="off", max_predicates=4, top=20)
        rules = [str(rule) for rule in found.rules]
    data = needed(table("tax", rows + EXTRA, seed), rules)
    load, monitor = loaded(data, rules, rows)
    monitor.limit = 1_000
    spent = [timed(lambda i=i: monitor.insert(data.slice(rows + 1_000 * i, 1_000)))[0] for i in range(10)]
    alone = data.slice(rows + 30_000, 200).to_pylist()
    seconds, _ = timed(lambda: [monitor.insert(row) for row in alone])
    kept = record.table("discovered", keys=("rows",), units={"load": "s", "insert": "ms", "alone": "µs"})
    insert, each = float(np.median(spent) * 1e3), seconds / len(alone) * 1e6
    kept.add(rows=rows, rules=len(rules), load=load, insert=insert, alone=each)
    print(monitor.explain())
    print(
        f"{len(rules)} rules on {rows:,} rows: load {load:.1f} s, 1,000 inserts {np.median(spent) * 1e3:.1f} ms, "
        f"a row alone {seconds / len(alone) * 1e6:.0f} µs"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="+", default=[0, 100_000, 500_000, 1_000_000])
    options.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES), metavar="RULE")
    options.add_argument("--seed", type=int, default=1)
    ways: dict[str, Callable[[int, int, Recording], None]] = {
        "sizes": batch_sizes,
        "paths": paths,
        "tipping": tipping,
        "discovered": discovered,
    }
    for way in ways:
        options.add_argument(f"--{way}", action="store_true")
    add_record_options(options)
    chosen = options.parse_args()
    try:
        import duckdb
    except ImportError:
        duckdb = None  # type: ignore[assignment]
    with recording(chosen) as record:
        for way, run in ways.items():
            if getattr(chosen, way):
                run(max(chosen.rows), chosen.seed, record)
                return
        one_table(chosen.rules, chosen.rows, chosen.seed, duckdb, record)


if __name__ == "__main__":
    main()
