"""How long `check` takes beside DuckDB and Spark SQL, in one process run, with equal counts checked.

    python benchmarks/check.py [--rows 100000 1000000] [--peers-up-to 100000] [--seed 1]
    python benchmarks/check.py --rows 1000000 --curve       one table of seconds over 1 to 5 % errors
    python benchmarks/check.py --rows 10000000 --together   only all rules of a table in one check

Tables are generated: Tax-like (salary and rate monotone within a state but for injected errors), Flights-like and
order-like. Peers are the self-join that a person writes first, in DuckDB and in Spark SQL, and the best that we could
write by hand in DuckDB: arithmetic on group sizes where the rule allows it, which counts pairs; running minima and
maxima for two inequalities, which find the rows but count no pairs. A self-join is given up after `--peer-seconds`, and
not tried beyond `--peers-up-to` rows. DuckDB is a peer, not a dependency: `pip install duckdb` to see it. Memory is the
most that was resident during a check, in MiB.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory import Peak, measured
from record import Recording, add_record_options, recording
from tables import MAKERS, write_tables

from holdfast.engines.spark.checking.check import plan_check, run_check
from holdfast.engines.spark.session import get_session
from holdfast.engines.spark.sources.sources import read_table
from holdfast.rules.rule import rule_set

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

_WARM_ROWS = 100_000
UNITS = {"pairs": "pairs", "holdfast": "s", "by_hand": "s", "duckdb_join": "s", "spark_join": "s"}

GROUPED = """
    SELECT coalesce(sum(total * total - squares) // 2, 0) FROM (
      SELECT sum(n) AS total, sum(n * n) AS squares FROM (
        SELECT {left}, {right}, count(*) AS n FROM {{table}} GROUP BY ALL) GROUP BY {left})"""

RUNNING = """
    SELECT count(*) FROM (
      SELECT {low}, max({low}) OVER (w RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS above,
        min({low}) OVER (w RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS below
      FROM {{table}} WINDOW w AS ({by} ORDER BY {high})) WHERE above > {low} OR below < {low}"""

# What the hand-written DuckDB query counts, and its text. Three inequalities have none: no running maximum decides it.
BY_HAND: dict[str, tuple[str, str]] = {
    "phi7": (
        "pairs",
        "SELECT coalesce(sum(n * (n - 1)) // 2, 0) FROM (SELECT count(*) AS n FROM {table} GROUP BY AreaCode, Phone)",
    ),
    "phi8": ("pairs", GROUPED.format(left="ZipCode", right="City")),
    "phi9": ("pairs", GROUPED.format(left="State, HasChild", right="ChildExemp")),
    "phi10": ("rows", RUNNING.format(by="PARTITION BY State", high="Salary", low="Rate")),
    "phi11": (
        "pairs",
        """
    WITH d AS (SELECT Origin, Dest, Distance, count(*) AS n FROM {table} GROUP BY ALL),
      r AS (SELECT Origin, Dest, sum(n) AS n FROM d GROUP BY ALL)
    SELECT (coalesce((SELECT sum(a.n * b.n) FROM r a JOIN r b ON a.Origin = b.Dest AND a.Dest = b.Origin), 0)
      - coalesce((SELECT sum(a.n * b.n) FROM d a JOIN d b
          ON a.Origin = b.Dest AND a.Dest = b.Origin AND a.Distance = b.Distance), 0)) // 2""",
    ),
    "phi12": ("rows", RUNNING.format(by="PARTITION BY Origin, Dest", high="Flights", low="Passengers")),
    "phi13": (
        "pairs",
        """
    WITH r AS (SELECT Customer AS c, Supplier AS s, count(*) AS n FROM {table} GROUP BY ALL)
    SELECT coalesce(sum(CASE WHEN a.c = a.s THEN a.n * (a.n - 1) ELSE a.n * b.n END) // 2, 0)
    FROM r a JOIN r b ON a.c = b.s AND a.s = b.c""",
    ),
    "no equality": ("rows", RUNNING.format(by="", high="Salary", low="Tax")),
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


@dataclass(frozen=True)
class Peers:
    """Others that count the violations of a rule. Each gives (seconds, count), or None where it was given up."""

    spark: Any
    duckdb: Any
    seconds: float

    def by_duckdb(self, path: str, sql: str) -> tuple[float, int] | None:
        connection = self.duckdb.connect()
        run = lambda: connection.execute(sql.format(table=f"'{path}'")).fetchall()[0][0]  # noqa: E731
        return self._in_time(run, connection.interrupt, self.duckdb.InterruptException)

    def by_spark(self, path: str, sql: str) -> tuple[float, int] | None:
        frame = self.spark.read.parquet(path)
        run = lambda: self.spark.sql(sql, table=frame).first()[0]  # noqa: E731
        return self._in_time(run, self.spark.sparkContext.cancelAllJobs, Exception)

    def _in_time(
        self, run: Callable[[], int], stop: Callable[[], None], stopped: type[Exception]
    ) -> tuple[float, int] | None:
        given_up = threading.Event()
        timer = threading.Timer(self.seconds, lambda: (given_up.set(), stop()))
        timer.start()
        try:
            return timed(run)
        except stopped:
            if given_up.is_set():
                return None
            raise
        finally:
            timer.cancel()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    options.add_argument("--peers-up-to", type=int, default=100_000, help="rows up to which self-joins are tried")
    options.add_argument("--peer-seconds", type=float, default=60)
    options.add_argument("--noise", type=float, default=0.01)
    options.add_argument("--curve", action="store_true", help="seconds over 1 to 5 %% errors instead")
    options.add_argument("--together", action="store_true", help="all rules of a table in one check, and none alone")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES), metavar="RULE")
    add_record_options(options)
    chosen = options.parse_args()
    try:
        import duckdb
    except ImportError:
        duckdb = None  # type: ignore[assignment]

    with recording(chosen) as record, tempfile.TemporaryDirectory() as folder:
        spark = get_session()
        spark.range(10).count()
        for rows in chosen.rows:
            if chosen.curve:
                curve(spark, Path(folder), rows, chosen.seed, chosen.rules, record)
                continue
            print(f"\n{rows:,} rows, {chosen.noise:.0%} errors, seed {chosen.seed}")
            keys = {"rows": rows, "noise": chosen.noise}
            if chosen.together:
                warm(spark, write_tables(Path(folder), _WARM_ROWS, chosen.noise, chosen.seed))
                needed = {RULES[name][0] for name in chosen.rules}
                paths = write_tables(Path(folder), rows, chosen.noise, chosen.seed, needed)
                all_together(spark, paths, chosen.rules, record, keys)
                continue
            paths = write_tables(Path(folder), rows, chosen.noise, chosen.seed)
            peers = Peers(spark, duckdb, chosen.peer_seconds)
            compare(peers, paths, chosen.rules, record, keys, joined=rows <= chosen.peers_up_to)


def check(spark: Any, path: str, rules: list[str]) -> Any:
    table = read_table(spark, path)
    with run_check(spark, table, plan_check(table, rule_set(rules), ("id",)), limit=100_000) as result:
        return result.to_dict()


def warm(spark: Any, paths: dict[str, str]) -> None:
    """Workers started and kernels loaded, as in a session that has checked something before."""
    check(spark, paths["orders"], ["unique(Customer, Supplier)", RULES["phi13"][1]])


def compare(
    peers: Peers, paths: dict[str, str], names: list[str], record: Recording, keys: dict[str, Any], *, joined: bool
) -> None:
    """One table: each rule's counts, seconds and memory, beside the peers' seconds."""
    warm(peers.spark, paths)
    kept = record.table("rules", keys=("rule", "rows", "noise"), units=UNITS)
    heads = {
        "pairs": 16,
        "rows": 10,
        "holdfast": 9,
        "MiB": 7,
        "duckdb by hand": 20,
        "duckdb join": 12,
        "spark join": 11,
    }
    print(f"{'seconds':20} " + " ".join(f"{head:>{width}}" for head, width in heads.items()))
    for name in names:
        source, rule = RULES[name]
        path = paths[source]
        seconds, found, peak = measured(lambda path=path, rule=rule: check(peers.spark, path, [rule]))
        told = found["rules"][0]
        counted, by_hand = BY_HAND.get(name, ("none", ""))
        cells = [by_hand_cell(peers, path, by_hand, counted, told)]
        for peer in (peers.by_duckdb if peers.duckdb else None, peers.by_spark):
            if not joined or peer is None:
                cells.append("")
                continue
            answer = peer(path, peer_sql(rule))
            assert answer is None or answer[1] == told["violating_pairs"], (name, answer, told)
            cells.append(f"> {peers.seconds:.0f}" if answer is None else f"{answer[0]:.2f}")
        kept.add(
            peak,
            rule=name,
            **keys,
            pairs=told["violating_pairs"],
            violating_rows=told["violating_rows"],
            holdfast=seconds,
            by_hand=as_number(cells[0]),
            by_hand_finds={"none": "nothing"}.get(counted, counted),
            duckdb_join=as_number(cells[1]),
            spark_join=as_number(cells[2]),
        )
        counts = [f"{told['violating_pairs']:,}", f"{told['violating_rows']:,}"]
        values = [*counts, f"{seconds:.2f}", in_all(peak), *cells]
        print(f"{name:20} " + " ".join(f"{v:>{w}}" for v, w in zip(values, heads.values(), strict=True)), flush=True)
    all_together(peers.spark, paths, names, record, keys)


def all_together(spark: Any, paths: dict[str, str], names: list[str], record: Recording, keys: dict[str, Any]) -> None:
    """The rules of each table in one check: their seconds and memory."""
    together = record.table("together", keys=("source", "rows", "noise"), units={"holdfast": "s"})
    for source in MAKERS:
        mine = [RULES[name][1] for name in names if RULES[name][0] == source]
        if len(mine) > 1:
            seconds, _, peak = measured(lambda source=source, mine=mine: check(spark, paths[source], mine))
            together.add(peak, source=source, **keys, rules=len(mine), holdfast=seconds)
            print(f"all {len(mine)} rules of {source} together: {seconds:.2f} s; {peak}", flush=True)


def in_all(peak: Peak) -> str:
    """All that was resident at one time, as a cell."""
    return "" if peak.together is None else f"{peak.together:,.0f}"


def as_number(cell: str) -> float | str | None:
    """A printed cell for the record: seconds, what stands instead of them, or nothing."""
    try:
        return float(cell.removesuffix(" (rows only)"))
    except ValueError:
        return None if cell in ("", "no way") else cell


def by_hand_cell(peers: Peers, path: str, sql: str, counted: str, told: dict[str, Any]) -> str:
    if not sql or peers.duckdb is None:
        return "no way" if not sql else ""
    answer = peers.by_duckdb(path, sql)
    if answer is None:
        return f"> {peers.seconds:.0f}"
    assert answer[1] == told[f"violating_{counted}"], (sql, answer, told)
    return f"{answer[0]:.2f}" + (" (rows only)" if counted == "rows" else "")


def curve(spark: Any, folder: Path, rows: int, seed: int, names: list[str], record: Recording) -> None:
    """One table: seconds and millions of pairs of each rule as errors grow."""
    shares = [0.01, 0.02, 0.03, 0.04, 0.05]
    cells: dict[str, list[str]] = {name: [] for name in names}
    kept = record.table("errors", keys=("rule", "rows", "noise"), units={"pairs": "pairs", "holdfast": "s"})
    for noise in shares:
        paths = write_tables(folder, rows, noise, seed)
        warm(spark, paths)
        for name in names:
            source, rule = RULES[name]
            seconds, found, peak = measured(lambda path=paths[source], rule=rule: check(spark, path, [rule]))
            pairs = found["rules"][0]["violating_pairs"]
            kept.add(peak, rule=name, rows=rows, noise=noise, pairs=pairs, holdfast=seconds)
            cells[name].append(f"{seconds:.2f} ({pairs / 1e6:,.2f} M)")
    print(f"\n{rows:,} rows, seed {seed}: seconds (pairs)")
    print(f"{'errors':20} " + " ".join(f"{noise:>18.0%}" for noise in shares))
    for name, line in cells.items():
        print(f"{name:20} " + " ".join(f"{cell:>18}" for cell in line))


if __name__ == "__main__":
    main()
