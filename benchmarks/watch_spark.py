"""How long `holdfast watch apply` takes beside a fresh `check`, in one process run, with equal totals checked.

    python benchmarks/watch_spark.py [--rows 1000000 10000000] [--changes 1000 10000 100000] [--rules phi7 phi8]
                                     [--noise 0.001] [--seed 1] [--repeat 3]

Each rule has a state per number of rows, over the tables of benchmarks/check.py. A batch is inserts, deletes and
updates, in equal parts, of rows drawn from the same table. Batches go to the states in turn, so that what else the
machine does falls on all of them alike; times are medians. Beside them stand a fresh check of the rule on the table as
it then is, and DuckDB, where it can be imported and the rule is a plain join, counting the pairs of the new rows
with the table. The first batch of each state warms Spark up and is not counted.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from check import RULES, timed
from memory import Peak, measured
from record import Recording, RunningTable, add_record_options, recording
from tables import MAKERS, change_batch

from holdfast.engines.spark.checking.check import plan_check, run_check
from holdfast.engines.spark.session import get_session
from holdfast.engines.spark.sources.sources import read_table
from holdfast.engines.spark.watching.watch import init_watch, watched
from holdfast.rules.rule import rule_set


@dataclass
class Watched:
    """A state of one rule, and what has gone into it."""

    spark: Any
    folder: Path
    text: str
    everything: pa.Table
    rows: int
    rng: np.random.Generator
    there: np.ndarray
    after: int

    @classmethod
    def made(
        cls, spark: Any, folder: Path, name: str, rows: int, most: int, options: Any, record: Recording
    ) -> Watched:
        kind, text = RULES[name]
        rng = np.random.default_rng(options.seed)
        everything = MAKERS[kind](rows + most, rng, options.noise)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        pq.write_table(everything.slice(0, rows), folder / "table.parquet", row_group_size=max(rows // 8, 10_000))
        made = cls(spark, folder, text, everything, rows, rng, np.arange(rows), rows)
        table = read_table(spark, str(folder / "table.parquet"))
        seconds, _, peak = measured(lambda: init_watch(table, rule_set([text]), ("id",), folder / "state", {}))
        kept = record.table("init", keys=("rule", "rows", "noise"), units={"init": "s"})
        kept.add(peak, rule=name, rows=rows, noise=options.noise, init=seconds)
        print(f"{name:20} {rows:12,} {'init':>8} {seconds:8.1f}  {peak}", flush=True)
        return made

    def apply(self, size: int) -> tuple[float, Any, Peak]:
        batch, self.there, self.after = change_batch(self.everything, self.there, self.after, size, self.rng)
        changes = str(self.folder / "changes.parquet")
        pq.write_table(batch, changes)
        return measured(lambda: watched(self.spark, self.folder / "state").apply_file(changes, limit=1000))

    def check(self) -> float:
        """Seconds of a check of the table as it is now, from Parquet as a user's would be; its totals are ours."""
        now = str(self.folder / "now.parquet")
        state = watched(self.spark, self.folder / "state")
        state.frame.write.mode("overwrite").parquet(now)
        started = time.perf_counter()
        table = read_table(self.spark, now)
        with run_check(self.spark, table, plan_check(table, rule_set([self.text]), ("id",)), limit=0) as result:
            spent = time.perf_counter() - started
            rule = result.to_dict()["rules"][0]
        found = rule["violating_rows"] if rule["violating_pairs"] is None else rule["violating_pairs"]
        assert found == state.manifest.totals[rule["name"]], "the totals are those of a check"
        return spent

    def by_duckdb(self) -> str:
        """Seconds that DuckDB takes to count the pairs of the last batch's new rows with the first table."""
        constraints = rule_set([self.text]).rules[0].body.denials
        try:
            import duckdb
        except ImportError:
            return "-"
        if len(constraints) != 1:
            return "-"
        condition = " AND ".join(str(p).replace("!=", "<>") for p in constraints[0].predicates)
        new = f"SELECT * FROM '{self.folder / 'changes.parquet'}' WHERE _change_type IN ('insert', 'update_postimage')"
        sql = f"SELECT count(*) FROM ({new}) t JOIN '{self.folder / 'table.parquet'}' s ON {condition} AND t.id <> s.id"
        return f"{timed(lambda: duckdb.connect().execute(sql).fetchall())[0]:.2f}"


def main() -> None:
    arguments = _arguments()
    with recording(arguments) as record:
        _run(arguments, record)


def _run(arguments: argparse.Namespace, record: Recording) -> None:
    spark = get_session(conf={"spark.driver.memory": arguments.memory})
    units = {"apply": "s", "check": "s", "duckdb": "s"}
    kept = record.table("batches", keys=("rule", "rows", "changes", "noise"), units=units)
    folder = Path(tempfile.mkdtemp(prefix="holdfast-watch-", dir=arguments.folder))
    heads = f"{'apply s':>8} {'pairs +/-':>18} {'check s':>8} {'x':>6} {'duckdb s':>9}"
    print(f"seed {arguments.seed}, noise {arguments.noise}\n{'rule':20} {'rows':>12} {'changes':>8} {heads}")
    most = sum(arguments.changes) * arguments.repeat + 1000
    try:
        for name in arguments.rules:
            states = [
                Watched.made(spark, folder / str(rows), name, rows, most, arguments, record) for rows in arguments.rows
            ]
            for state in states:
                state.apply(1000)
            for size in arguments.changes:
                _measure(name, states, size, arguments, kept)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(name: str, states: list[Watched], size: int, options: Any, kept: RunningTable) -> None:
    rounds = [[state.apply(size) for state in states] for _ in range(options.repeat)]
    spent = [statistics.median(round[i][0] for round in rounds) for i in range(len(states))]
    for i, state in enumerate(states):
        done, fresh = rounds[-1][i][1], state.check()
        cells = f"{spent[i]:8.2f} {done.added_count:9,}/{done.removed_count:<8,} {fresh:8.2f} {fresh / spent[i]:6.1f}"
        peer, peak = state.by_duckdb(), rounds[-1][i][2]
        kept.add(
            peak,
            rule=name,
            rows=state.rows,
            changes=size,
            noise=options.noise,
            apply=spent[i],
            added=done.added_count,
            removed=done.removed_count,
            check=fresh,
            duckdb=None if peer == "-" else float(peer),
        )
        print(f"{name:20} {state.rows:12,} {size:8,} {cells} {peer:>9}  {peak}", flush=True)
    if len(states) > 1:
        print(f"{name:20} {'':12} {size:8,} the last takes {spent[-1] / spent[0]:.2f} times the first", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--changes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rules", nargs="+", default=[name for name in RULES if name != "three inequalities"])
    parser.add_argument("--noise", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", default="6g")
    parser.add_argument("--folder", default=None, help="where to keep tables and states while it runs")
    add_record_options(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
