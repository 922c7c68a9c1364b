"""How long jobs take in this process, without Spark: the command from the keypress, and the library once it is warm.

    python benchmarks/local.py --spark [--desbordante PYTHON] [--rows 100000 1000000 10000000] [--minutes 25] [--seed 1]

First the cold wall clock of the command on the demo's 240 orders, a new process each time, the best of `--repeat`, with
Python's bytecode on disk as after an installation. Then, for each size in a process of its own, each rule of
benchmarks/check.py on generated Parquet tables, read and checked by the library, rules discovered of a few columns, and
changes applied to states; beside that the peak memory of the process, measured before anything else runs in it. Then
the same on Spark (`--spark`, in a session that is warm), and the peers: the query for DuckDB that we could best write
by hand, and the self-join that a person writes first, which is not tried beyond `--peers-up-to` rows. Counts and rules
are asserted to be equal. DuckDB is a peer, not a dependency: `pip install duckdb`. With `--desbordante PYTHON`, the
Python of an environment that has it, Desbordante verifies each rule on the same rows as CSV, which is what it reads; it
says whether a rule holds, and that has to be our verdict.

A peer has `--peer-seconds` for each rule, and what takes long runs once. After `--minutes` no more peers are asked and
nothing more runs on Spark: the cell says so, and the rest is finished.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from check import BY_HAND, RULES, Peers, as_number, by_hand_cell, peer_sql, timed
from memory import Peak, PeakMemory, measured
from record import Recording, add_record_options, recording
from tables import MAKERS, write_tables

import holdfast as hf
from holdfast.demo.run import CLEAN, DATA, KEY, MONDAY, WEDNESDAY, copy_demo
from holdfast.demo.run import RULES as RULE_FILE
from holdfast.rules.dependency import FD, Key

COMMANDS = {
    "check": f"check {DATA} {RULE_FILE} --key {KEY}",
    "explain": f"explain {DATA} {RULE_FILE} --key {KEY} SO-2486",
    "discover": f"discover {CLEAN}",
    "watch init": f"watch init {{state}} --data {DATA} --rules {RULE_FILE} --key {KEY}",
    "watch apply": f"watch apply {{watched}} {MONDAY}",
    "evolve apply": f"evolve apply {{evolved}} {WEDNESDAY}",
    "help": "check --help",
}
STATES = ("watched", "evolved", "state")


# Seconds that runs of one job may take together before it is run no more.
LONG = 10.0
NO_TIME, NOT_TRIED = "no time", "not tried"
# What rules are discovered of, at most so many predicates each; the same columns evolve.
DISCOVERED = ("ZipCode", "City", "State", "HasChild", "ChildExemp")
WATCHED = ("phi8", "phi10")


@dataclass(frozen=True)
class Plan:
    """What is run beside the engine of this process, up to how many rows, and until when."""

    spark: bool
    desbordante: str | None
    repeat: int
    noise: float
    seed: int
    peer_seconds: float
    joins_up_to: int
    desbordante_up_to: int
    evolve_up_to: int
    until: float

    @property
    def in_time(self) -> bool:
        return time.time() < self.until


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="*", default=[100_000, 1_000_000, 10_000_000])
    options.add_argument("--peers-up-to", type=int, default=100_000, help="rows up to which self-joins are tried")
    options.add_argument("--desbordante-up-to", type=int, default=1_000_000)
    options.add_argument("--evolve-up-to", type=int, default=100_000, help="rows up to which rules evolve")
    options.add_argument("--peer-seconds", type=float, default=60)
    options.add_argument("--minutes", type=float, default=25, help="after that no peers are asked, nor Spark")
    options.add_argument("--noise", type=float, default=0.01)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--spark", action="store_true", help="run it on Spark, too")
    options.add_argument("--desbordante", metavar="PYTHON", help="a Python that has Desbordante")
    options.add_argument("--discover", nargs="*", default=[], metavar="FILE", help="tables to discover the rules of")
    add_record_options(options)
    chosen = options.parse_args()
    plan = Plan(
        chosen.spark, chosen.desbordante, chosen.repeat, chosen.noise, chosen.seed, chosen.peer_seconds,
        chosen.peers_up_to, chosen.desbordante_up_to, chosen.evolve_up_to, time.time() + 60 * chosen.minutes,
    )  # fmt: skip
    engines = ["local", "spark"] if chosen.spark else ["local"]
    with recording(chosen, peer=chosen.desbordante) as record, tempfile.TemporaryDirectory() as folder:
        cold(Path(folder), engines, plan, record)
        for rows in chosen.rows:
            _in_own_process(write, Path(folder), rows, plan)
            record.take(_in_own_process(one_size, Path(folder), rows, plan))
            for path in Path(folder).glob(f"*-{rows}-*"):
                path.unlink()
        if chosen.discover:
            _in_own_process(discoveries, chosen.discover, engines, plan)


def _in_own_process(function: Callable[..., Any], *given: object) -> Any:
    """What it returns, from a new process, so that the memory that it takes is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *given).result()


def cold(folder: Path, engines: list[str], plan: Plan, record: Recording) -> None:
    """Seconds of wall clock of each command, from the start of the process to its end."""
    kept = record.table("commands", keys=("command", "engine"), units={"cold": "s"})
    place = copy_demo(folder / "demo")
    print("demo orders (240 rows), seconds of wall clock, cold; best of", plan.repeat)
    print(f"{'command':24} " + " ".join(f"{engine:>8}" for engine in engines))
    _command(place, f"watch init watched --data {DATA} --rules {RULE_FILE} --key {KEY} -q")
    _command(place, f"evolve init evolved --data {CLEAN} --key {KEY} --max-predicates 3 -q")
    for name, command in COMMANDS.items():
        cells = []
        for engine in engines:
            if engine != "local" and not plan.in_time:
                cells.append(f"{NO_TIME:>8}")
                continue
            best, peak = float("inf"), Peak()
            # The first run of all leaves bytecode and kernels on disk, and is not counted.
            for run in range(plan.repeat + 1 if engine == "local" else 1):
                names = {word: f"{word}-{name.replace(' ', '-')}-{engine}-{run}" for word in STATES}
                for word in ("watched", "evolved"):
                    if f"{{{word}}}" in command:
                        shutil.copytree(place / word, place / names[word])
                where = [] if name == "help" else ["--engine", engine, "-q"]
                seconds, _, most = measured(lambda n=names, w=where, c=command: _command(place, c.format(**n), *w))
                peak = peak.or_more(most)
                best = min(best, seconds) if run or engine != "local" else best
            # Of the command, not of this process, which waits.
            kept.add(replace(peak, driver=None, together=None), command=name, engine=engine, cold=best)
            cells.append(f"{best:8.2f}")
        print(f"{name:24} " + " ".join(cells), flush=True)


def _command(place: Path, command: str, *more: str) -> None:
    program = [sys.executable, "-c", "from holdfast.cli import main; main()", *command.split(), *more]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ended = subprocess.run(program, cwd=place, capture_output=True, text=True, check=False, env=kept)
    assert ended.returncode in (0, 1), ended.stderr


def one_size(folder: Path, rows: int, plan: Plan) -> Recording:
    """The tables of this size: all jobs in this process, its peak memory, and then the same elsewhere."""
    paths = {name: str(folder / f"{name}-{rows}-{plan.noise}.parquet") for name in (*MAKERS, "first", "changes")}
    print(f"\n{rows:,} rows of Parquet, {plan.noise:.0%} errors, seed {plan.seed}: seconds, read and checked")
    record = Recording()
    with PeakMemory() as memory:
        here = run_jobs(folder / f"local-{rows}", paths, "local", rows, plan)
    on_spark = run_jobs(folder / f"spark-{rows}", paths, "spark", rows, plan) if plan.spark else {}
    for job, (_, answer, _) in on_spark.items():
        assert answer == here[job][1], (job, answer, here[job][1])
    print_rules(paths, here, on_spark, rows, plan, record)
    jobs = record.table("jobs", keys=("job", "rows"), units={"local": "s", "spark": "s"})
    together = record.table("together", keys=("source", "rows", "noise"), units={"local": "s", "spark": "s"})
    for job in here:
        if job not in RULES:
            spark = f", on Spark {_cell(on_spark, job)}" if plan.spark else ""
            print(f"{job}: {_cell(here, job)}{spark}", flush=True)
            seconds = {"local": here[job][0], "spark": on_spark[job][0] if job in on_spark else None}
            jobs.add(here[job][2], job=job, rows=rows, **seconds)
            if job.endswith("together"):
                source = job.split()[-2]
                together.add(here[job][2], source=source, rows=rows, noise=plan.noise, **seconds)
    print(f"the process in which all of it ran without Spark and peers: {memory.peak}", flush=True)
    return record


# The seconds of a job, its answer, and its memory.
Ran = dict[str, tuple[float, Any, Peak]]


def run_jobs(folder: Path, paths: dict[str, str], engine: str, rows: int, plan: Plan) -> Ran:
    """The seconds of each job on the engine, and its answer, which is the same on every engine."""
    folder.mkdir()
    check(paths["orders"], ["unique(Customer, Supplier)", RULES["phi13"][1]], engine)  # warm
    jobs: dict[str, Callable[[], Any]] = {
        name: lambda s=source, r=rule: check(paths[s], [r], engine)["rules"][0]
        for name, (source, rule) in RULES.items()
    }
    for source in MAKERS:
        mine = [rule for own, rule in RULES.values() if own == source]
        if len(mine) > 1:
            jobs[f"all {len(mine)} rules of {source} together"] = lambda s=source, m=mine: [
                told["violating_pairs"] for told in check(paths[s], m, engine)["rules"]
            ]
    jobs["discover, five columns"] = lambda: _discovered(paths["tax"], engine, columns=DISCOVERED, max_predicates=3)
    ran: Ran = {}
    for name, job in jobs.items():
        if engine == "local" or plan.in_time:
            ran[name] = _best(job, plan.repeat)
    first, changes = paths["first"], paths["changes"]
    if engine == "local" or plan.in_time:
        ran |= watched(folder, first, changes, engine)
    if rows <= plan.evolve_up_to and (engine == "local" or plan.in_time):
        ran |= evolved(folder, first, changes, engine)
    return ran


def _best(job: Callable[[], Any], repeat: int) -> tuple[float, Any, Peak]:
    """The least seconds of so many runs, and the answer; of fewer runs where they take long."""
    seconds, answer, peak = measured(job)
    best = spent = seconds
    for _ in range(repeat - 1):
        if spent + best <= LONG:
            seconds, _again = timed(job)
            best, spent = min(best, seconds), spent + seconds
    return best, answer, peak


def _cell(ran: Ran, job: str) -> str:
    return f"{ran[job][0]:.2f}" if job in ran else NO_TIME


def print_rules(paths: dict[str, str], here: Ran, on_spark: Ran, rows: int, plan: Plan, record: Recording) -> None:
    """A line per rule: counts, and the seconds of each engine and peer, whose answers are asserted to be ours."""
    try:
        import duckdb
    except ImportError:
        duckdb = None  # type: ignore[assignment]
    peers = Peers(None, duckdb, plan.peer_seconds)
    units = {"pairs": "pairs", **dict.fromkeys(("local", "spark", "by_hand", "duckdb_join", "desbordante"), "s")}
    kept = record.table("rules", keys=("rule", "rows", "noise"), units=units)
    heads = {"pairs": 16, "rows": 10, "local": 8, **({"spark": 8} if plan.spark else {})}
    heads |= {"duckdb by hand": 20, "duckdb join": 12, **({"desbordante": 12} if plan.desbordante else {})}
    print(f"{'rule':20} " + " ".join(f"{head:>{width}}" for head, width in heads.items()))
    for name, (source, rule) in RULES.items():
        told, path = here[name][1], paths[source]
        cells = [_cell(here, name), *([_cell(on_spark, name)] if plan.spark else [])]
        counted, by_hand = BY_HAND.get(name, ("none", ""))
        cells.append(by_hand_cell(peers, path, by_hand, counted, told) if plan.in_time else NO_TIME)
        cells.append(joined(peers, path, rule, told, plan) if rows <= plan.joins_up_to else NOT_TRIED)
        if plan.desbordante:
            tried = rows <= plan.desbordante_up_to
            cells.append(verified(plan.desbordante, path, rule, told, plan) if tried else NOT_TRIED)
        engines = {"local": here[name][0], "spark": on_spark[name][0] if name in on_spark else None}
        others = [None if cell in (NO_TIME, NOT_TRIED) else as_number(cell) for cell in cells[1 + plan.spark :]]
        kept.add(
            here[name][2],
            rule=name,
            rows=rows,
            noise=plan.noise,
            pairs=told["violating_pairs"],
            by_hand_finds={"none": "nothing"}.get(counted, counted),
            **engines,
            **dict(zip(("by_hand", "duckdb_join", "desbordante"), others, strict=False)),
        )
        values = [f"{told['violating_pairs']:,}", f"{told['violating_rows']:,}", *cells]
        print(f"{name:20} " + " ".join(f"{v:>{w}}" for v, w in zip(values, heads.values(), strict=True)), flush=True)


def joined(peers: Peers, path: str, rule: str, told: dict[str, Any], plan: Plan) -> str:
    """The seconds of DuckDB's self-join."""
    if not peers.duckdb or not plan.in_time:
        return NO_TIME if peers.duckdb else ""
    answer = peers.by_duckdb(path, peer_sql(rule))
    assert answer is None or answer[1] == told["violating_pairs"], (rule, answer, told)
    return f"> {peers.seconds:.0f}" if answer is None else f"{answer[0]:.2f}"


def verified(python: str, path: str, rule: str, told: dict[str, Any], plan: Plan) -> str:
    """Desbordante's seconds for the rule, reading included; its verdict is asserted to be ours."""
    if not plan.in_time:
        return NO_TIME
    csv_file = Path(path).with_suffix(".csv")
    table = pq.read_table(path)
    if not csv_file.exists():
        pa.csv.write_csv(table, csv_file)
    places = {name: place for place, name in enumerate(table.column_names)}
    match hf.parse_rule(rule).body:
        case Key() as key:
            wanted: list[Any] = ["key", [places[name] for name in key.columns]]
        case FD() as fd:
            wanted = ["fd", [places[name] for name in fd.left], [places[name] for name in fd.right]]
        case _:
            wanted = ["dc", re.sub(r"(?<![<>!])=", "==", rule).replace("not(", "!(", 1)]
    script = [python, str(Path(__file__).with_name("desbordante_check.py")), str(csv_file), json.dumps(wanted)]
    try:
        ended = subprocess.run(script, capture_output=True, text=True, check=False, timeout=plan.peer_seconds)
    except subprocess.TimeoutExpired:
        return f"> {plan.peer_seconds:.0f}"
    if ended.returncode != 0:
        return "fails"
    answer = json.loads(ended.stdout.splitlines()[-1])
    assert answer["holds"] == (told["violating_rows"] == 0), (rule, answer, told)
    return f"{answer['seconds']:.2f}"


def check(path: str, rules: list[str], engine: str) -> dict[str, Any]:
    with hf.check(path, rules, key="id", limit=100_000, engine=engine) as result:  # type: ignore[arg-type]
        return result.to_dict()


def _discovered(data: str | Path, engine: str, **options: Any) -> list[str]:
    """The rules of the table, as denial constraints."""
    result = hf.discover(data, engine=engine, top=None, **options)  # type: ignore[arg-type]
    return sorted(entry["dc"] for entry in result.to_dict()["rules"])


def write(folder: Path, rows: int, plan: Plan) -> None:
    """Writes the tables, and the taxes once more in two files: without the last thousand rows, and those."""
    table = pq.read_table(write_tables(folder, rows, plan.noise, plan.seed)["tax"])
    pq.write_table(table.slice(0, rows - 1000), folder / f"first-{rows}-{plan.noise}.parquet")
    pq.write_table(table.slice(rows - 1000), folder / f"changes-{rows}-{plan.noise}.parquet")


def watched(folder: Path, first: str, changes: str, engine: str) -> Ran:
    """Seconds to watch a table, and to apply a thousand changes."""
    rules = [RULES[name][1] for name in WATCHED]
    where: dict[str, Any] = {"engine": engine}
    made, state, most = measured(lambda: hf.WatchState.create(folder / "watched", first, rules, key="id", **where))
    applied, outcome, peak = measured(lambda: state.apply(changes))
    name = f"watch {' and '.join(WATCHED)}"
    return {f"{name}, init": (made, None, most), f"{name}, 1,000 inserts": (applied, dict(outcome.totals), peak)}


def evolved(folder: Path, first: str, changes: str, engine: str) -> Ran:
    """Seconds to keep the rules of a few columns, and to apply a thousand changes."""
    where: dict[str, Any] = {"engine": engine, "options": {"columns": DISCOVERED, "max_predicates": 3}}
    made, state, most = measured(lambda: hf.EvolveState.create(folder / "evolved", first, key="id", **where))
    applied, outcome, peak = measured(lambda: state.apply(changes))
    told = {name: value for name, value in outcome.to_dict().items() if name in ("added", "removed", "total")}
    return {
        "evolve five columns, init": (made, None, most),
        "evolve five columns, 1,000 inserts": (applied, told, peak),
    }


def discoveries(files: list[str], engines: list[str], plan: Plan) -> None:
    """Seconds to discover the rules of each table, read included; the rules are asserted to be the same."""
    for file in files:
        found: list[list[str]] = []
        for engine in engines:
            if engine == "local" or plan.in_time:
                best, rules, _ = _best(lambda f=file, e=engine: _discovered(f, e), plan.repeat)
                found.append(rules)
                assert found[0] == rules, file
                print(f"discover {Path(file).name}, {engine}: {best:.2f} s, {len(rules):,} rules", flush=True)


if __name__ == "__main__":
    main()
