"""How long jobs take in this process, without Spark: the command from the keypress, and the library once it is warm.

    python benchmarks/local.py [--rows 100000 1000000] [--spark] [--peers-up-to 100000] [--seed 1]

First the cold wall clock of the command on the demo's orders, a new process each time, the best of `--repeat`. Then
each rule of benchmarks/check.py on generated Parquet tables, read and checked by the library, beside DuckDB: the query
that we could best write by hand, and the self-join that a person writes first, which is not tried beyond
`--peers-up-to` rows. Then discoveries, and changes applied to states. Counts are asserted to be equal. `--spark` runs
each of it on Spark, too, in a session that is warm. DuckDB is a peer, not a dependency: `pip install duckdb`. With
`--desbordante PYTHON`, the Python of an environment that has it, Desbordante verifies each rule on the same rows as
CSV, which is what it reads; it says whether a rule holds, and that has to be our verdict.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from check import BY_HAND, RULES, Peers, as_number, by_hand_cell, peer_sql, timed
from memory import Peak, measured
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    options.add_argument("--peers-up-to", type=int, default=100_000, help="rows up to which self-joins are tried")
    options.add_argument("--peer-seconds", type=float, default=60)
    options.add_argument("--noise", type=float, default=0.01)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--spark", action="store_true", help="run it on Spark, too")
    options.add_argument("--desbordante", metavar="PYTHON", help="a Python that has Desbordante")
    options.add_argument("--discover", nargs="*", default=[], metavar="FILE", help="tables to discover the rules of")
    add_record_options(options)
    chosen = options.parse_args()
    try:
        import duckdb
    except ImportError:
        duckdb = None  # type: ignore[assignment]
    engines = ["local", "spark"] if chosen.spark else ["local"]
    with recording(chosen, peer=chosen.desbordante) as record, tempfile.TemporaryDirectory() as folder:
        cold(Path(folder), engines, chosen.repeat, record)
        for rows in chosen.rows:
            print(
                f"\n{rows:,} rows of Parquet, {chosen.noise:.0%} errors, seed {chosen.seed}: seconds, read and checked"
            )
            paths = write_tables(Path(folder), rows, chosen.noise, chosen.seed)
            peers = Peers(None, duckdb, chosen.peer_seconds)
            joined = rows <= chosen.peers_up_to
            keys = {"rows": rows, "noise": chosen.noise}
            compare(peers, paths, engines, chosen.repeat, record, keys, joined=joined, desbordante=chosen.desbordante)
            states(Path(folder) / f"states-{rows}", paths["tax"], engines, rows, record)
        discoveries(chosen.discover, engines, chosen.repeat, record)


def cold(folder: Path, engines: list[str], repeat: int, record: Recording) -> None:
    """Seconds of wall clock of each command, from the start of the process to its end."""
    kept = record.table("commands", keys=("command", "engine"), units={"cold": "s"})
    place = copy_demo(folder / "demo")
    print("demo orders (240 rows), seconds of wall clock, cold; best of", repeat)
    print(f"{'command':24} " + " ".join(f"{engine:>8}" for engine in engines))
    made = {"watched": f"watch init {{}} --data {DATA} --rules {RULE_FILE} --key {KEY} -q",
            "evolved": f"evolve init {{}} --data {CLEAN} --key {KEY} --max-predicates 3 -q"}  # fmt: skip
    for name, command in COMMANDS.items():
        cells = []
        for engine in engines:
            best, peak = float("inf"), Peak()
            for run in range(repeat if engine == "local" else 1):
                names = {word: f"{word}-{name.replace(' ', '-')}-{engine}-{run}" for word in (*made, "state")}
                for word, init in made.items():
                    if f"{{{word}}}" in command:
                        _command(place, init.format(names[word]))
                where = [] if name == "help" else ["--engine", engine, "-q"]
                spent, _, most = measured(lambda n=names, w=where, c=command: _command(place, c.format(**n), *w))
                best, peak = min(best, spent), peak.or_more(most)
            kept.add(replace(peak, driver=None, together=None), command=name, engine=engine, cold=best)
            cells.append(f"{best:8.2f}")
        print(f"{name:24} " + " ".join(cells), flush=True)


def _command(place: Path, command: str, *more: str) -> None:
    program = [sys.executable, "-c", "from holdfast.cli import main; main()", *command.split(), *more]
    ended = subprocess.run(program, cwd=place, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 1), ended.stderr


def compare(
    peers: Peers,
    paths: dict[str, str],
    engines: list[str],
    repeat: int,
    record: Recording,
    keys: dict[str, Any],
    *,
    joined: bool,
    desbordante: str | None,
) -> None:
    """One table: each rule's counts and seconds on each engine, beside the peers' seconds."""
    units = {"pairs": "pairs", **dict.fromkeys((*engines, "by_hand", "duckdb_join", "desbordante"), "s")}
    kept = record.table("rules", keys=("rule", "rows", "noise"), units=units)
    together = record.table("together", keys=("source", "rows", "noise"), units=dict.fromkeys(engines, "s"))
    heads = {"pairs": 16, "rows": 10, **dict.fromkeys(engines, 8), "duckdb by hand": 20, "duckdb join": 12}
    heads |= {"desbordante": 12} if desbordante else {}
    print(f"{'rule':20} " + " ".join(f"{head:>{width}}" for head, width in heads.items()))
    for engine in engines:
        check(paths["orders"], ["unique(Customer, Supplier)", RULES["phi13"][1]], engine)  # warm
    for name, (source, rule) in RULES.items():
        told, cells, peak, spent = None, [], Peak(), {}
        for engine in engines:
            runs = [measured(lambda e=engine, s=source, r=rule: check(paths[s], [r], e)) for _ in range(repeat)]
            found = runs[0][1]["rules"][0]
            assert told is None or told == found, (told, found)
            told = found
            peak = runs[0][2] if engine == "local" else peak
            spent[engine] = min(seconds for seconds, _, _ in runs)
            cells.append(f"{spent[engine]:.2f}")
        assert told is not None
        counted, by_hand = BY_HAND.get(name, ("none", ""))
        cells.append(by_hand_cell(peers, paths[source], by_hand, counted, told))
        answer = peers.by_duckdb(paths[source], peer_sql(rule)) if joined and peers.duckdb else ("", None)
        if answer is not None and answer[1] is not None:
            assert answer[1] == told["violating_pairs"], (name, answer, told)
        cells.append(f"> {peers.seconds:.0f}" if answer is None else f"{answer[0]:.2f}" if answer[0] else "")
        if desbordante:
            cells.append(verified(desbordante, paths[source], rule, told, peers.seconds))
        hand, join, *peer = map(as_number, cells[len(engines) :])
        finds = {"none": "nothing"}.get(counted, counted)
        more = {"by_hand": hand, "by_hand_finds": finds, "duckdb_join": join, "desbordante": peer[0] if peer else None}
        kept.add(peak, rule=name, **keys, pairs=told["violating_pairs"], **spent, **more)
        values = [f"{told['violating_pairs']:,}", f"{told['violating_rows']:,}", *cells]
        print(f"{name:20} " + " ".join(f"{v:>{w}}" for v, w in zip(values, heads.values(), strict=True)), flush=True)
    for source in MAKERS:
        mine = [rule for own, rule in RULES.values() if own == source]
        if len(mine) > 1:
            for engine in engines:
                seconds, _, peak = measured(lambda e=engine, s=source, m=mine: check(paths[s], m, e))
                together.add(
                    peak if engine == "local" else None, source=source, **keys, rules=len(mine), **{engine: seconds}
                )
                print(f"all {len(mine)} rules of {source} together, {engine}: {seconds:.2f} s; {peak}", flush=True)


def verified(python: str, path: str, rule: str, told: dict[str, Any], most: float) -> str:
    """Desbordante's seconds for the rule, reading included; its verdict is asserted to be ours."""
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
        ended = subprocess.run(script, capture_output=True, text=True, check=False, timeout=most)
    except subprocess.TimeoutExpired:
        return f"> {most:.0f}"
    if ended.returncode != 0:
        return "fails"
    answer = json.loads(ended.stdout.splitlines()[-1])
    assert answer["holds"] == (told["violating_rows"] == 0), (rule, answer, told)
    return f"{answer['seconds']:.2f}"


def check(path: str, rules: list[str], engine: str) -> dict[str, Any]:
    with hf.check(path, rules, key="id", limit=100_000, engine=engine) as result:  # type: ignore[arg-type]
        return result.to_dict()


def states(folder: Path, path: str, engines: list[str], rows: int, record: Recording) -> None:
    """Seconds to apply a thousand changes to a watched table; totals are asserted to be equal."""
    kept = record.table("watch", keys=("rows", "engine"), units={"init": "s", "apply": "s"})
    folder.mkdir()
    table = pq.read_table(path)
    first, changes = table.slice(0, table.num_rows - 1000), table.slice(table.num_rows - 1000)
    pq.write_table(first, folder / "first.parquet")
    pq.write_table(changes, folder / "changes.parquet")
    totals = []
    rules = [RULES[name][1] for name in ("phi8", "phi10")]
    for engine in engines:
        where: dict[str, Any] = {"engine": engine}
        made, state = timed(
            lambda w=where, e=engine: hf.WatchState.create(folder / e, folder / "first.parquet", rules, key="id", **w)
        )
        applied, outcome, peak = measured(lambda s=state: s.apply(folder / "changes.parquet"))
        kept.add(peak, rows=rows, engine=engine, init=made, apply=applied)
        totals.append(dict(outcome.totals))
        print(f"watch, phi8 and phi10, {engine}: init {made:.2f} s, 1,000 inserts {applied:.2f} s", flush=True)
    assert all(total == totals[0] for total in totals), totals


def discoveries(files: list[str], engines: list[str], repeat: int, record: Recording) -> None:
    """Seconds to discover the rules of each table, read included; the rules are asserted to be the same."""
    kept = record.table("discover", keys=("table", "engine"), units={"seconds": "s"})
    for file in files:
        found: list[set[str]] = []
        for engine in engines:
            runs = [measured(lambda f=file, e=engine: hf.discover(f, engine=e, top=None)) for _ in range(repeat)]
            result = runs[0][1]
            found.append({entry["dc"] for entry in result.to_dict()["rules"]})
            assert found[0] == found[-1], file
            best = min(seconds for seconds, _, _ in runs)
            kept.add(runs[0][2], table=Path(file).name, engine=engine, seconds=best, rules=len(found[-1]))
            print(f"discover {Path(file).name}, {engine}: {best:.2f} s, {len(found[-1]):,} rules", flush=True)


if __name__ == "__main__":
    main()
