"""How long `holdfast watch apply` takes beside a fresh `check`, in one process run, with equal totals checked.

    python benchmarks/watch_spark.py [--rows 1000000 10000000] [--changes 1000 10000 100000] [--rules phi7 phi8]
                                     [--noise 0.001] [--seed 1] [--repeat 2]

Each rule has a state of its own, over the tables of benchmarks/check.py. A batch is inserts, deletes and updates, in
equal parts, of rows drawn from the same table. Beside it stand a fresh check of the same rule on the table after the
batches, and, where DuckDB can be imported and the rule is a plain join, DuckDB joining as many new rows with the whole
table. The first batch of each state warms Spark up and is not counted.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from check import RULES, timed
from tables import MAKERS, change_batch

from holdfast.rules.rule import rule_set
from holdfast.spark.check import plan_check, run_check
from holdfast.spark.session import get_session
from holdfast.spark.sources import read_table
from holdfast.spark.watch import watched
from holdfast.spark.watch_init import init_watch


def main() -> None:
    arguments = _arguments()
    spark = get_session(conf={"spark.driver.memory": arguments.memory})
    duckdb = _duckdb()
    folder = Path(tempfile.mkdtemp(prefix="holdfast-watch-", dir=arguments.folder))
    print(f"seed {arguments.seed}, noise {arguments.noise}, folder {folder}")
    heads = f"{'apply s':>8} {'pairs +/-':>18} {'check s':>8} {'x':>6} {'duckdb s':>9}"
    print(f"{'rule':20} {'rows':>12} {'changes':>8} {heads}")
    try:
        for rows in arguments.rows:
            for name in arguments.rules:
                _rule(spark, duckdb, folder, name, rows, arguments)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rule(spark: Any, duckdb: Any, folder: Path, name: str, rows: int, arguments: argparse.Namespace) -> None:
    kind, text = RULES[name]
    rng = np.random.default_rng(arguments.seed)
    most = sum(arguments.changes) * arguments.repeat + 1000
    everything = MAKERS[kind](rows + most, rng, arguments.noise)
    path, state = folder / f"{kind}.parquet", folder / "state"
    pq.write_table(everything.slice(0, rows), path, row_group_size=max(rows // 8, 10_000))
    shutil.rmtree(state, ignore_errors=True)
    table = read_table(spark, str(path))
    seconds, _ = timed(lambda: init_watch(table, rule_set([text]), ("id",), state, {}))
    print(f"{name:20} {rows:12,} {'init':>8} {seconds:8.1f}", flush=True)
    there, after, changes = np.arange(rows), rows, folder / "changes.parquet"

    def apply(size: int) -> tuple[float, Any]:
        nonlocal there, after
        batch, there, after = change_batch(everything, there, after, size, rng)
        pq.write_table(batch, changes)
        return timed(lambda: watched(spark, str(state)).apply_file(str(changes), limit=1000))

    apply(1000)
    for size in arguments.changes:
        done = [apply(size) for _ in range(arguments.repeat)]
        spent = statistics.median(seconds for seconds, _ in done)
        counts = done[-1][1].added_count, done[-1][1].removed_count
        peer = _by_duckdb(duckdb, path, changes, text)
        fresh, found = _fresh(spark, folder, state, text)
        assert found == dict(watched(spark, str(state)).manifest.totals), "the totals are those of a check"
        print(
            f"{name:20} {rows:12,} {size:8,} {spent:8.2f} {counts[0]:9,}/{counts[1]:<8,} {fresh:8.2f} "
            f"{fresh / spent:6.1f} {peer:>9}",
            flush=True,
        )


def _fresh(spark: Any, folder: Path, state: Path, text: str) -> tuple[float, dict[str, int]]:
    """Seconds and totals of a check of the table as it is now, which it reads from Parquet as a user's would."""
    now = folder / "now.parquet"
    watched(spark, str(state)).frame.write.mode("overwrite").parquet(str(now))
    started = time.perf_counter()
    table = read_table(spark, str(now))
    with run_check(spark, table, plan_check(table, rule_set([text]), ("id",)), limit=0) as result:
        spent = time.perf_counter() - started
        rules = result.to_dict()["rules"]
    pairs = {r["name"]: r["violating_rows"] if r["violating_pairs"] is None else r["violating_pairs"] for r in rules}
    return spent, pairs


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        return None
    return duckdb


def _by_duckdb(duckdb: Any, table: Path, changes: Path, text: str) -> str:
    """Seconds that DuckDB takes to count the pairs of the batch's new rows with the table."""
    if duckdb is None:
        return "-"
    constraints = rule_set([text]).rules[0].body.denials
    if len(constraints) != 1:
        return "-"
    condition = " AND ".join(str(p).replace("!=", "<>") for p in constraints[0].predicates)
    sql = (
        f"SELECT count(*) FROM (SELECT * FROM '{changes}' WHERE _change_type IN ('insert', 'update_postimage')) t "
        f"JOIN '{table}' s ON {condition} AND t.id <> s.id"
    )
    spent, _ = timed(lambda: duckdb.connect().execute(sql).fetchall())
    return f"{spent:.2f}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--changes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rules", nargs="+", default=[name for name in RULES if name != "three inequalities"])
    parser.add_argument("--noise", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--memory", default="6g")
    parser.add_argument("--folder", default=None, help="where to keep tables and states while it runs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
