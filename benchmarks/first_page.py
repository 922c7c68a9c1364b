"""Time to the first page of a discovery: the best rules without all rules, and all rules.

    python benchmarks/first_page.py [--data FOLDER] [--limit SECONDS] [--all] [--only NAME,NAME] [--rules N]
    python benchmarks/first_page.py --ways all|NAME,NAME [--data FOLDER] [--limit SECONDS] [--only NAME,NAME]

Each table is discovered in a process of its own, with default options but for the time limit, on the local engine:
wall time from start to exit, processor time, and what is known of the page. Tables are those of FOLDER (adult.csv,
tax.csv, nycflights.csv.gz, ...), the orders of `holdfast demo`, and made ones: hourly weather of three airports, with
nulls, and wide tables whose columns are mostly noise with a few planted rules. All are made from a seed.

With --ways, each table is discovered in each of these ways of searching, and what is printed is by how much the time
limit is passed, and where the process was when it was a tenth over, and then again and again: the step that did not
look at the clock, or that others do not leave the processor to. The time of a process before its job begins is not the
limit's.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

SEED = 7
COMMAND = "import sys; from holdfast.cli import main; sys.exit(main())"
# The same, writing where it is when the limit has passed, and then after every twentieth second of the processor's: a
# busy machine makes wall time long, not the work.
WATCHED = """
import faulthandler, sys, threading, time
import holdfast.api.jobs, holdfast.cli.discover
from holdfast.cli import main
limit, place = float(sys.argv.pop(1)), open(sys.argv.pop(1), "w")
at_limit = []
def watch():
    time.sleep(limit)
    at_limit.append(time.process_time())
    last = 0
    while True:
        if time.process_time() - last >= 0.05:
            last = time.process_time()
            print("==", file=place, flush=True)
            faulthandler.dump_traceback(place)
        time.sleep(0.01)
threading.Thread(target=watch, daemon=True).start()
began = time.monotonic()
try:
    sys.exit(main())
finally:
    over = time.process_time() - at_limit[0] if at_limit else 0.0
    print(f"## {time.monotonic() - began - limit:.2f} {over:.2f}", file=place, flush=True)
"""
STEP = re.compile(r'File ".*/holdfast/(\S+)\.py", line (\d+) in (\S+)')
WAYS: dict[str, tuple[str, ...]] = {
    "best": (),
    "all": ("--top", "all"),
    "all-pairs": ("--strategy", "all-pairs"),
    "hybrid": ("--strategy", "hybrid"),
    "hybrid-all": ("--strategy", "hybrid", "--top", "all"),
    "one-row": ("--one-row",),
    "order-text": ("--order-text", "--cross-columns", "0"),
    "error": ("--error", "0.001"),
    "error-all": ("--error", "0.001", "--top", "all"),
    "error-rows": ("--error-rows", "0.01"),
    "conditional": ("--conditional",),
    "constants": ("--constants",),
    "accidents": ("--max-accidents", "5%"),
    "tables": (),
    "report": ("--report", "report.html"),
}


def weather(rows: int = 26_115, seed: int = SEED) -> pa.Table:
    """Hourly weather of three airports over a year, 15 columns; values may be missing."""
    random = np.random.default_rng(seed)
    hours = np.arange(rows) // 3
    day_of_year, hour = hours // 24 % 365, hours % 24
    month = np.minimum(day_of_year // 31 + 1, 12)
    temp = np.round(45 + 25 * np.sin(day_of_year / 58) + 8 * np.sin(hour / 4) + random.normal(0, 6, rows), 2)
    humid = np.round(np.clip(random.normal(62, 18, rows), 12, 100), 2)
    wind = np.round(random.gamma(3, 3.5, rows), 5)
    known: dict[str, Any] = {
        "origin": np.array(["EWR", "JFK", "LGA"])[np.arange(rows) % 3],
        "year": np.full(rows, 2013),
        "month": month,
        "day": day_of_year % 31 + 1,
        "hour": hour,
        "temp": temp,
        "dewp": np.round(temp - (100 - humid) / 5, 2),
        "humid": humid,
        "wind_dir": random.integers(0, 37, rows) * 10,
        "wind_speed": wind,
        "wind_gust": np.round(wind * 1.15078, 5),
        "precip": np.where(random.random(rows) < 0.06, np.round(random.gamma(1, 0.1, rows), 2), 0.0),
        "pressure": np.round(random.normal(1017, 7, rows), 1),
        "visib": np.minimum(np.round(random.gamma(8, 1.6, rows), 1), 10.0),
        "time_hour": hours,
    }
    missing = {"temp": 0.001, "dewp": 0.001, "humid": 0.001, "wind_dir": 0.02, "wind_gust": 0.75, "pressure": 0.1}
    return pa.table(
        {name: pa.array(values, mask=random.random(rows) < missing.get(name, 0.0)) for name, values in known.items()}
    )


def wide(columns: int, rows: int, seed: int = SEED) -> pa.Table:
    """Columns in groups of ten: an id, a place and its region, a start and an end, a rate that rises with a level, and
    four of noise; with nulls. Whole numbers share values across groups, so that very many columns can be compared."""
    random = np.random.default_rng(seed)
    made: dict[str, pa.Array] = {}
    for group in range(-(-columns // 10)):
        place, start = random.integers(0, max(rows // 5, 4), rows), random.integers(0, 300, rows)
        level, region = random.integers(0, 40, rows), place % 11
        values: dict[str, Any] = {
            "id": random.permutation(rows),
            "place": place,
            "region": region,
            "start": start,
            "end": start + random.integers(0, 30, rows),
            "level": level,
            "rate": level // 5 + region,
            "count": random.poisson(6, rows),
            "share": np.round(random.random(rows), 3),
            "word": np.array([f"w{v}" for v in random.integers(0, 25, rows)]),
        }
        for name, column in values.items():
            if len(made) < columns:
                none = np.zeros(rows, np.bool_) if name == "id" else random.random(rows) < 0.02
                made[f"{name}_{group}"] = pa.array(column, mask=none)
    return pa.table(made)


MADE: dict[str, Callable[[], pa.Table]] = {
    "weather": weather,
    **{f"wide-{n}x{rows}": lambda n=n, rows=rows: wide(n, rows) for n in (60, 200) for rows in (250, 1_000, 5_000)},  # type: ignore[misc]
}


def discovered(path: Path, *more: str) -> tuple[float, float, dict[str, Any] | None]:
    """Wall and processor seconds of a process that discovers the rules, and its result; None where it failed."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    options = ["discover", str(path), "--engine", "local", "--quiet", "--format", "json", *more]
    done = subprocess.run([sys.executable, "-c", COMMAND, *options], capture_output=True, text=True, check=False)
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, spent, json.loads(done.stdout) if done.returncode == 0 else None


def told(name: str, way: str, path: Path, shown: int, more: Sequence[str]) -> None:
    wall, spent, found = discovered(path, *more)
    if found is None:
        print(f"{name:16} {way:5} failed after {wall:.1f} s")
        return
    proven = "proven" if found["complete"] else "not proven"
    rules = found["rules"]
    print(
        f"{name:16} {way:5} {wall:7.1f} s {spent:7.1f} s cpu  {len(rules):>9,} rules  "
        f"{found['evidence']:>9,} kinds  {proven}",
        flush=True,
    )
    for rule in rules[:shown]:
        print(f"    {rule['score']:.2f}  {rule['rule']}")


def passed(name: str, way: str, path: Path, limit: float, folder: Path) -> None:
    """Prints by how many seconds the limit was passed, from the start of the job to the exit, and where it was then."""
    traces = folder / "traces"
    data = ["--table", f"a={path}", "--table", f"b={path}"] if way == "tables" else [str(path)]
    options = ["--engine", "local", "--quiet", "--format", "json", "--time-limit", str(limit), *WAYS[way]]
    command = [sys.executable, "-c", WATCHED, str(limit), str(traces), "discover", *data, *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    written = traces.read_text().splitlines()
    over, work = map(float, written[-1].removeprefix("## ").split())
    if done.returncode != 0:
        print(f"{name:16} {way:12} failed: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return
    found = json.loads(done.stdout)
    said = f"complete, {len(found['rules'])} rules" if found["complete"] else f"{len(found['rules'])} rules, cut"
    inside = found["seconds"] - limit
    print(
        f"{name:16} {way:12} {inside:+7.1f} s job {over:+7.1f} s exit {work:6.1f} of {spent:5.1f} s cpu after  {said}",
        flush=True,
    )
    for step, times in Counter(places_of(written)).most_common(5):
        print(f"    {times:3} x  {step}", flush=True)


def places_of(written: Sequence[str]) -> list[str]:
    """Of each time that a process wrote where it was, the steps of a thread that does not wait for another, innermost
    first."""
    places: list[str] = []
    threads: list[list[str]] = []
    for line in [*written, "=="]:
        if line == "==":
            own = [steps for steps in threads if steps and "interruptible" not in steps[0]]
            places += [" < ".join(own[0][:6])] if own else []
            threads = []
        elif line.startswith(("Thread", "Current thread")):
            threads.append([])
        elif threads and (step := STEP.search(line)) is not None:
            threads[-1].append(f"{step[1]}:{step[2]} {step[3]}")
    return places


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with CSV files")
    parser.add_argument("--only", default="", help="names of tables")
    parser.add_argument("--limit", default="60", help="the time limit")
    parser.add_argument("--rules", type=int, default=0, help="how many rules of each page are printed")
    parser.add_argument("--ways", default="", help=f"where the limit is passed: all, or some of {', '.join(WAYS)}")
    parser.add_argument("--all", action="store_true", help="also with --top all")
    given = parser.parse_args()
    wanted = set(filter(None, given.only.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        demo = [sys.executable, "-c", COMMAND, "demo", "--dir", f"{folder}/demo", "--quiet"]
        paths = {} if given.data is None else {p.name.partition(".")[0]: p for p in sorted(given.data.glob("*.csv*"))}
        if not wanted or "orders" in wanted:
            subprocess.run(demo, capture_output=True, check=True)
            paths["orders"] = Path(folder, "demo", "clean.csv")
        for name, make in MADE.items():
            if not wanted or name in wanted:
                paths[name] = Path(folder, f"{name}.csv")
                pc.write_csv(make(), paths[name])
        for name, path in paths.items():
            if not wanted or name in wanted:
                for way in WAYS if given.ways == "all" else filter(None, given.ways.split(",")):
                    passed(name, way, path.absolute(), float(given.limit), Path(folder))
                if not given.ways:
                    told(name, "best", path, given.rules, ["--time-limit", given.limit])
                if given.all:
                    told(name, "all", path, 0, ["--time-limit", given.limit, "--top", "all"])


if __name__ == "__main__":
    main()
