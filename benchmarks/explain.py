"""How long it takes to explain a row, and to find what would mend all suspect rows, beside trying changes one by one.

    python benchmarks/explain.py [--rows 100000 1000000] [--noise 0.0005] [--seed 1]

The table is Tax-like, with errors in it; the rules are three of the tax rules. The peer is what a person would do:
change the cell, and check the whole table again, once for each candidate. Its time is that of one such check, times the
candidates that were tried. All on Spark, in one session, after a first round that warms it up.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from memory import PeakMemory
from pyspark.sql import functions as F
from record import Recording, add_record_options, recording
from tables import write_tables

import holdfast as hf
from holdfast.engines.spark.explaining.suggestions import TRIED_PER_ROW, Trial

RULES = [
    "ZipCode -> City",
    "State, HasChild -> ChildExemp",
    "not(t.State = s.State and t.Salary > s.Salary and t.Rate < s.Rate)",
]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    asked.add_argument("--noise", type=float, default=0.0005)
    asked.add_argument("--seed", type=int, default=1)
    add_record_options(asked)
    given = asked.parse_args()
    with recording(given) as record:
        _run(given, record)


def _run(given: argparse.Namespace, record: Recording) -> None:
    units = {"check": "s", "explain": "s", "peer": "s", "suggest": "s"}
    kept = record.table("rows", keys=("rows", "noise"), units=units)
    print(f"seed {given.seed}, noise {given.noise}; seconds")
    print("     rows    check  explain  tried     peer  ratio   suspects  suggest  rows mended  per row ms")
    for rows in (given.rows[0], *given.rows):  # the first round warms the session up, and counts for nothing
        with PeakMemory() as memory, tempfile.TemporaryDirectory() as folder:
            table = write_tables(Path(folder), rows, given.noise, given.seed)["tax"]
            started = time.perf_counter()
            with hf.check(table, RULES, all_columns=True, engine="spark") as result:
                check_s = time.perf_counter() - started
                worst = result.rows.to_spark().orderBy(F.desc("conflicts"), "key").first()
                assert worst is not None, "the table has errors"
                started = time.perf_counter()
                result.explain(worst["key"])
                explain_s = time.perf_counter() - started
                trial = Trial(result, result.scanned.where(F.col("k") == worst["key"]).select(F.col("k").alias("key")))
                tried = trial.tried
                suspects = result.suspects.to_spark().select("key").distinct().count()
                started = time.perf_counter()
                mended = result.suggestions.to_spark().select("key").distinct().count()
                suggest_s = time.perf_counter() - started
        assert tried <= TRIED_PER_ROW, "no more are tried"
        peer = check_s * tried
        kept.add(
            memory.peak,
            rows=rows,
            noise=given.noise,
            check=check_s,
            explain=explain_s,
            tried=tried,
            peer=peer,
            suspects=suspects,
            suggest=suggest_s,
            mended=mended,
        )
        print(
            f"{rows:9,} {check_s:8.2f} {explain_s:8.2f} {tried:6} {peer:8.2f} {peer / explain_s:6.1f} {suspects:10,} "
            f"{suggest_s:8.2f} {mended:12,} {1000 * suggest_s / max(suspects, 1):11.2f}  {memory.peak}"
        )


if __name__ == "__main__":
    main()
