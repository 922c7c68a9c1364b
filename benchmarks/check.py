"""How long `check` takes beside DuckDB and a plain Spark SQL self-join, in one process run, with equal counts checked.

    python benchmarks/check.py [--rows 100000 1000000] [--peers-up-to 100000] [--seed 1]

Tables are generated: Tax-like (salary and rate monotone within a state but for injected errors), Flights-like and
order-like. Peers run up to `--peers-up-to` rows: a self-join that lists every pair takes minutes beyond. DuckDB is a
peer, not a dependency: `pip install duckdb` to see it.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tables import MAKERS, write_tables

from holdfast.rules.rule import rule_set
from holdfast.spark.check import plan_check, run_check
from holdfast.spark.session import get_session
from holdfast.spark.sources import read_table

RULES: dict[str, tuple[str, str]] = {
    "phi7": ("tax", "unique(AreaCode, Phone)"),
    "phi8": ("tax", "ZipCode -> City"),
    "phi9": ("tax", "State, HasChild -> ChildExemp"),
    "phi10": ("tax", "not(t.State = s.State and t.Salary > s.Salary and t.Rate < s.Rate)"),
    "phi11": ("flights", "not(t.Origin = s.Dest and t.Dest = s.Origin and t.Distance != s.Distance)"),
    "phi12": (
        "flights",
        "not(t.Origin = s.Origin and t.Dest = s.Dest and t.Flights > s.Flights and t.Passengers < s.Passengers)",
    ),
    "phi13": ("orders", "not(t.Customer = s.Supplier and t.Supplier = s.Customer)"),
    "no equality": ("tax", "not(t.Salary > s.Salary and t.Tax < s.Tax)"),
    "three inequalities": (
        "tax",
        "not(t.State = s.State and t.Salary > s.Salary and t.Rate < s.Rate and t.Tax < s.Tax)",
    ),
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def peer_sql(rule: str) -> str:
    """The count of a rule as a self-join, as a person would write it first."""
    (constraint,) = rule_set([rule]).rules[0].body.denials
    condition = " AND ".join(str(p).replace("!=", "<>") for p in constraint.predicates)
    apart = "t.id < s.id" if constraint.symmetric else "t.id <> s.id"
    return f"SELECT count(*) FROM {{table}} t JOIN {{table}} s ON {condition} AND {apart}"


Peer = Callable[[str, str], tuple[float, int] | None]


def joins(spark: Any, duckdb: Any) -> tuple[Peer, Peer]:
    def by_duckdb(path: str, sql: str) -> tuple[float, int] | None:
        if duckdb is None:
            return None
        return timed(lambda: duckdb.connect().execute(sql.format(table=f"'{path}'")).fetchall()[0][0])

    def by_spark(path: str, sql: str) -> tuple[float, int]:
        frame = spark.read.parquet(path)
        return timed(lambda: spark.sql(sql, table=frame).first()[0])

    return by_duckdb, by_spark


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    options.add_argument("--peers-up-to", type=int, default=100_000)
    options.add_argument("--noise", type=float, nargs="+", default=[0.01])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rules", nargs="+", default=list(RULES))
    chosen = options.parse_args()
    try:
        import duckdb
    except ImportError:
        duckdb = None  # type: ignore[assignment]

    spark = get_session()
    spark.range(10).count()
    with tempfile.TemporaryDirectory() as folder:
        for rows in chosen.rows:
            for noise in chosen.noise:
                print(f"\n{rows:,} rows, {noise:.0%} errors, seed {chosen.seed}")
                paths = write_tables(Path(folder), rows, noise, chosen.seed)
                compare(spark, duckdb, paths, rows <= chosen.peers_up_to, chosen.rules)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"\npeak memory of a child process (JVM or worker): {peak:.1f} GiB")


def compare(spark: Any, duckdb: Any, paths: dict[str, str], peers: bool, names: list[str]) -> None:
    def check(path: str, rules: list[str]) -> Any:
        table = read_table(spark, path)
        with run_check(spark, table, plan_check(table, rule_set(rules), ("id",)), limit=100_000) as result:
            return result.to_dict()

    check(paths["orders"], ["unique(Customer, Supplier)", RULES["phi13"][1]])  # workers and kernels warm
    heads = ("pairs", 16), ("rows", 10), ("holdfast s", 10), ("duckdb s", 10), ("spark join s", 12), ("best ratio", 10)
    print(f"{'rule':20} " + " ".join(f"{head:>{width}}" for head, width in heads))
    for name in names:
        source, rule = RULES[name]
        seconds, found = timed(lambda source=source, rule=rule: check(paths[source], [rule]))
        told = found["rules"][0]
        others: list[tuple[float, int] | None] = [None, None]
        if peers:
            others = [peer(paths[source], peer_sql(rule)) for peer in joins(spark, duckdb)]
            assert all(count == told["violating_pairs"] for _, count in filter(None, others)), (name, others, told)
        known = [seconds_count[0] for seconds_count in others if seconds_count is not None]
        ratio = f"{min(known) / seconds:.1f}" if known else ""
        shown = ["" if other is None else f"{other[0]:.2f}" for other in others]
        print(
            f"{name:20} {told['violating_pairs']:>16,} {told['violating_rows']:>10,} {seconds:>10.2f} "
            f"{shown[0]:>10} {shown[1]:>12} {ratio:>10}"
        )
    for source in MAKERS:
        mine = [RULES[name][1] for name in names if RULES[name][0] == source]
        if len(mine) > 1:
            seconds, _ = timed(lambda source=source, mine=mine: check(paths[source], mine))
            print(f"all {len(mine)} rules of {source} together: {seconds:.2f} s")


if __name__ == "__main__":
    main()
