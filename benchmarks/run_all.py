"""Runs the benchmarks one after the other, keeps what they measure, and writes docs/benchmarks.md anew.

    python benchmarks/run_all.py [--full] [--only check local] [--data ../shared/data] [--list]

Without `--full` those that take about 25 minutes together on two idle cores; with it the large sizes, too, which take
hours. What does not run this time keeps its figures in the records, with their dates. Scripts that read public tables
are left out where `--data` has none, Desbordante where `make bench` could not install it, and the GPU where there is
none. A script that fails does not stop the others, but the run fails in the end.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from record import RESULTS, ROOT, peer_python

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Step:
    """A command line of a script, and about how many minutes it takes on two idle cores.

    In it, DATA is the folder of public tables, and PEER a Python that has Desbordante.
    """

    command: str
    minutes: float

    @property
    def script(self) -> str:
        return self.command.partition(" ")[0]

    def words(self, data: Path, peer: str | None) -> list[str]:
        """The command line; without a peer, without the option that names it."""
        command = self.command if peer else self.command.replace(" --desbordante PEER", "")
        return [word.replace("DATA", str(data)).replace("PEER", peer or "") for word in shlex.split(command)]

    def left_out(self, data: Path) -> str | None:
        """Why it cannot run here, or None."""
        if "DATA" in self.command and not data.is_dir():
            return f"there is no folder {data}"
        gpu = shutil.which("nvidia-smi") and importlib.util.find_spec("cupy")
        return "there is no GPU with CuPy" if self.script == "gpu.py" and not gpu else None


SHORT = (
    Step("local.py --rows 100000 1000000 --repeat 2", 2.5),
    Step("check.py --rows 100000 1000000 --peer-seconds 40", 2.5),
    Step("discover.py --data DATA", 2.5),
    Step("discover.py --data DATA --curve rows", 0.6),
    Step("inclusions.py --flights DATA/nycflights.csv.gz --desbordante PEER", 2.0),
    Step("explain.py --rows 100000", 1.5),
    Step("watch_spark.py --rows 100000 1000000 --changes 1000 10000 --rules phi7 phi8 phi10 phi12", 3.5),
    Step("watch.py --rows 100000 1000000", 2.5),
    Step("several_tables.py --on-disk", 1.5),
    Step("evolve.py --data DATA --shares 0.01 0.1 0.3", 2.0),
    Step("fragments.py --engine local", 1.5),
    Step("fragments.py --engine spark --split vertical --rows 20000 200000", 1.7),
    Step("fragments.py --plan", 0.1),
    Step("many_rules.py constants file --rows 20000", 0.5),
)
LARGE = (
    Step("local.py --rows 1000000 10000000 --repeat 2 --peers-up-to 0 --desbordante PEER", 10),
    Step("check.py --rows 10000000", 12),
    Step("check.py --rows 1000000 --curve", 3),
    Step("tolerances.py --rows 1000000 --repeat 2", 3),
    Step("discover.py --tax-like 1000000", 1),
    Step("discover.py --tax-like 10000000", 10),
    Step("discover_dirty.py --data DATA", 12),
    Step("planted.py", 20),
    Step("believe.py --seeds 12 --rows 30 100", 5),
    Step("column_rules.py --seeds 40 --rows 30 100 300 1000 --data DATA", 5),
    Step("explain.py --rows 1000000", 5),
    Step("watch_spark.py --rows 1000000 10000000 --changes 1000 10000 100000", 60),
    Step("watch.py --tipping --rows 1000000", 1.5),
    Step("several_tables.py", 4),
    Step("evolve.py --data DATA", 3),
    Step("fragments.py --engine spark --rows 20000 200000", 4),
    Step("fragments.py --engine spark --split vertical --rows 200000 2000000", 10),
    Step("fragments.py --engine local --rows 2000000 --changes 200000 --rules 50 125 --repeat 1", 30),
    Step("object_store.py", 1.5),
    Step("gpu.py --rows 100000 1000000 --columns 8 15 30", 3),
    Step("gpu.py --rows 10000000 --columns 15 --cpu-up-to 0", 12),
    Step("gpu.py --changed 1000 8000 100000 --rows 1000000", 1),
    Step("gpu.py --discover 1000000 --with-id --beside-hybrid", 1),
    Step("gpu.py --discover 10000000 --with-id --beside-hybrid", 9),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the large sizes, too")
    parser.add_argument("--only", nargs="+", metavar="SCRIPT", help="these scripts, without .py")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="a folder of public tables")
    parser.add_argument("--record", type=Path, default=RESULTS, metavar="DIR", help="where the records are")
    parser.add_argument("--note", default="", help="what a reader of the records has to know of this run")
    parser.add_argument("--list", action="store_true", help="say what would run, and run nothing")
    chosen = parser.parse_args()
    steps = [step for step in (SHORT + LARGE if chosen.full else SHORT) if _wanted(step, chosen.only)]
    peer, failed = peer_python(), []
    if peer is None:
        print("Desbordante is not there: it is left out, and its last figures stay")
    for number, step in enumerate(steps, 1):
        why = step.left_out(chosen.data)
        told = f"[{number}/{len(steps)}] {step.command}, about {step.minutes:g} minutes"
        print(f"\n{told}: left out, as {why}" if why else f"\n{told}", flush=True)
        if why or chosen.list:
            continue
        started = time.perf_counter()
        words = [*step.words(chosen.data, peer), "--record", str(chosen.record)]
        words += ["--note", chosen.note] if chosen.note else []
        done = subprocess.run([sys.executable, str(HERE / words[0]), *words[1:]], cwd=ROOT, check=False)
        print(f"{step.script} took {(time.perf_counter() - started) / 60:.1f} minutes", flush=True)
        if done.returncode:
            failed.append(step.command)
    if not chosen.list and chosen.record.resolve() == RESULTS:
        subprocess.run([sys.executable, str(HERE / "page.py")], cwd=ROOT, check=True)
    for command in failed:
        print(f"FAILED: {command}", file=sys.stderr)
    sys.exit(bool(failed))


def _wanted(step: Step, only: list[str] | None) -> bool:
    return only is None or step.script.removesuffix(".py") in only


if __name__ == "__main__":
    main()
