"""How long `holdfast fragments apply` takes, and what it ships, beside recomputing; counts checked to be equal.

    python benchmarks/fragments.py [--split vertical horizontal] [--rows 200000] [--changes 2000] [--rules 25]
                                   [--sites 10] [--repeat 3] [--scale-up] [--crossover] [--plan] [--noise 0.0005]
                                   [--seed 1] [--engine local]
    python benchmarks/fragments.py --engine local --split vertical --rows 2000000 --changes 200000 --rules 50 125 \
                                   --repeat 1

The table is that of benchmarks/sales.py; changes are 80 % inserts and 20 % deletes. Several values of --rows,
--changes, --rules or --sites are tried in turn, the others at their first value. Beside each batch (incVer, incHor)
stand

- bat: every site ships the columns (vertical) or the rows (horizontal) that rules name to one place, where the whole
  table is checked as `holdfast check` does;
- ibat: all rows are inserted into empty indexes, as `fragments init` does.

Beside seconds stand the ids and tuples that a batch ships, and its peak memory. Bytes of bat are those of the values in
Arrow, of ibat and of a batch those that went through the door. --scale-up grows rows, changes and sites together;
--crossover grows the change until recomputing wins; --plan plans 50 rules over 10 sites. --engine says where all of it
runs, as that of the command does. The first batch of each state warms up what runs it, and is not counted.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from memory import Peak
from memory import measured as with_memory
from overlapping import overlapping
from record import Recording, add_record_options, recording
from sales import horizontal, rules, sales, vertical

import holdfast as hf
from holdfast.engines.states.fragmented_table import fragmented
from holdfast.engines.states.init_fragments import init_fragments
from holdfast.engines.states.state_engine import StateEngine
from holdfast.engines.states.state_engine_choice import StateEngineChoice
from holdfast.fragments.shipment_plan import plan_shipments
from holdfast.fragments.sites import SplitTable, parse_sites
from holdfast.tables.read_options import ReadOptions


@dataclass
class Case:
    """A state of fragments, and all rows that may come into it."""

    engine: StateEngine
    folder: Path
    split: str
    rows: int
    sites: SplitTable
    everything: pa.Table
    there: np.ndarray
    after: int
    rng: np.random.Generator

    @classmethod
    def made(
        cls, engine: StateEngine, folder: Path, split: str, rows: int, count: int, sites: int, more: int, options: Any
    ) -> Case:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        rng = np.random.default_rng(options.seed)
        everything = sales(rows + more, rng, options.noise)
        places = vertical(sites) if split == "vertical" else horizontal(sites)
        content = {
            name: {"columns" if split == "vertical" else "where": held, "data": f"{name}.parquet"}
            for name, held in places.items()
        }
        text = yaml.safe_dump({"key": "id", "sites": content, "rules": rules(count, options.seed)})
        made = cls(
            engine, folder, split, rows, parse_sites(text, folder=folder), everything, np.arange(rows), rows, rng
        )
        made.write(everything.slice(0, rows), folder)
        made.sites = parse_sites(text, folder=folder)
        return made

    def write(self, table: pa.Table, folder: Path) -> None:
        """The table's fragments as files, as its sites hold them."""
        for number, site in enumerate(self.sites.sites):
            if self.split == "vertical":
                own = table.select(["id", *(site.columns or ())])
            else:
                own = table.filter(pa.array(table.column("s_key").to_numpy() % len(self.sites.sites) == number))
            pq.write_table(own, folder / f"{site.name}.parquet", row_group_size=max(len(own) // 4, 10_000))

    def init(self) -> tuple[float, Any, Peak]:
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        seconds, made, peak = with_memory(lambda: init_fragments(self.engine, self.sites, self.folder / "state"))
        return seconds, made[1], peak

    def apply(self, size: int) -> tuple[float, Any, Peak]:
        gone = self.rng.choice(len(self.there), size // 5, replace=False)
        new = np.arange(self.after, self.after + size - len(gone))
        assert new[-1] < len(self.everything), "there are rows to insert"
        inserts, deletes = self.everything.take(pa.array(new)), self.everything.take(pa.array(self.there[gone]))
        kinds = pa.array(np.repeat(["insert", "delete"], [len(new), len(gone)]))
        batch = pa.concat_tables([inserts, deletes]).append_column("_change_type", kinds)
        pq.write_table(batch, self.folder / "changes.parquet")
        self.there = np.concatenate([np.delete(self.there, gone), new])
        self.after += len(new)
        changes = str(self.folder / "changes.parquet")
        return with_memory(lambda: fragmented(self.engine, self.folder / "state").apply_file(changes, limit=1000))

    def recompute(self) -> tuple[float, int, float, int]:
        """(seconds, bytes) of bat and of ibat on the table as it is now; their counts are those of the state."""
        now = self.everything.take(pa.array(self.there))
        place = self.folder / "now"
        place.mkdir(exist_ok=True)
        self.write(now, place)
        state = fragmented(self.engine, self.folder / "state")
        used = sorted({name for rule in self.sites.rules for name in rule.body.columns})
        started = time.perf_counter()
        whole = self._whole(place, used)
        with hf.check(whole, self.sites.rules, key="id", limit=0, engine=self.engine.name) as result:
            found = {rule["name"]: rule["violating_rows"] for rule in result.to_dict()["rules"]}
        seconds = time.perf_counter() - started
        assert found == dict(state.manifest.totals), "the counts are those of a check"
        again = Case(
            self.engine, place, self.split, len(now), _moved(self.sites, place), now, self.there, self.after, self.rng
        )
        ibat, shipped, _ = again.init()
        shutil.rmtree(place)
        return seconds, self._values(now, used), ibat, shipped.bytes

    def _whole(self, place: Path, used: list[str]) -> Any:
        """All that rules name, of all sites at one place: a DataFrame on Spark, an Arrow table in this process."""
        here = self.engine.name == "local"
        files = [str(place / f"{site.name}.parquet") for site in self.sites.sites]
        tables = [self.engine.frame_of(self.engine.read_table(file, ReadOptions())) for file in files]
        if self.split == "horizontal":
            cut = [table.select(["id", *used]) for table in tables]
            return pa.concat_tables(cut) if here else reduce(lambda a, b: a.unionByName(b), cut)
        seen: set[str] = set()
        cut = []
        for table, site in zip(tables, self.sites.sites, strict=True):
            own = [name for name in site.columns or () if name in used and name not in seen]
            seen |= set(own)
            cut.append(table.select(["id", *own]))
        return reduce(lambda a, b: a.join(b, "id"), cut)

    def _values(self, now: pa.Table, used: list[str]) -> int:
        """The bytes that sites ship for bat: all but those of the place where most is."""
        sizes = {name: now.column(name).nbytes for name in used}
        keys = now.column("id").nbytes
        if self.split == "horizontal":
            return int((sum(sizes.values()) + keys) * (len(self.sites.sites) - 1) / len(self.sites.sites))
        own = [sum(sizes.get(name, 0) for name in site.columns or ()) + keys for site in self.sites.sites]
        return int(sum(own) - max(own))


def _moved(sites: SplitTable, folder: Path) -> SplitTable:
    return parse_sites(sites.to_yaml().replace(str(folder.parent), str(folder)), folder=folder)


def measured(case: Case, size: int, options: Any, *, batch: bool = True) -> dict[str, Any]:
    runs = [case.apply(size) for _ in range(options.repeat)]
    seconds, outcome, peak = statistics.median(run[0] for run in runs), *runs[-1][1:]
    bat, bat_bytes, ibat, ibat_bytes = case.recompute() if batch else (0.0, 0, 0.0, 0)
    line = {
        "split": case.split,
        "rows": len(case.there),
        "change": size,
        "rules": len(case.sites.rules),
        "sites": len(case.sites.sites),
        "loaded": case.rows,
        "peak": peak,
        "inc": seconds,
        "inc_bytes": outcome.shipped.bytes,
        "eqids": outcome.shipped.eqids,
        "tuples": outcome.shipped.tuples,
        "bat": bat,
        "bat_bytes": bat_bytes,
        "ibat": ibat,
        "ibat_bytes": ibat_bytes,
    }
    crossed = outcome.shipped
    moved = outcome.changes.added_count + outcome.changes.removed_count
    told = [f"{case.split:10} {line['rows']:>9,} {size:>8,} {line['rules']:>5} {line['sites']:>5} {moved:>9,}"]
    told.append(f"{seconds:7.2f} {crossed.eqids:>9,} {crossed.tuples:>9,} {crossed.bytes / 1e6:8.2f}")
    if batch:
        told.append(f"{bat:7.2f} {bat_bytes / 1e6:8.2f} {ibat:7.2f} {ibat_bytes / 1e6:8.2f}")
        told.append(f"{bat / seconds:6.1f} {ibat / seconds:6.1f} {crossed.bytes / max(bat_bytes, 1):7.3f}")
    print("  ".join(told), f" {peak}", flush=True)
    _keep(case, line, options.kept)
    return line


def _keep(case: Case, line: dict[str, Any], record: Recording) -> None:
    """The line for the record; its rows are those that were loaded, which other options leave the same."""
    keys = ("engine", "split", "rows", "changes", "rules", "sites")
    ways = ("inc", "bat", "ibat")
    units = {**dict.fromkeys(ways, "s"), **dict.fromkeys((f"{way}_mb" for way in ways), "MB")}
    record.table("batches", keys=keys, units=units).add(
        line["peak"],
        **{name: line[name] for name in ("split", "rules", "sites")},
        engine=case.engine.name,
        rows=line["loaded"],
        changes=line["change"],
        eqids=line["eqids"],
        tuples=line["tuples"],
        **{way: line[way] or None for way in ways},
        **{f"{way}_mb": line[f"{way}_bytes"] / 1e6 or None for way in ways},
    )


HEAD = (
    f"{'split':10} {'rows':>9} {'change':>8} {'rules':>5} {'sites':>5} {'rows +/-':>9}  {'inc s':>7} {'ids':>9} "
    f"{'tuples':>9} {'inc MB':>8}  "
    f"{'bat s':>7} {'bat MB':>8} {'ibat s':>7} {'ibat MB':>8}  {'bat/inc':>6} {'ibat/inc':>6} {'bytes':>7}"
)


def main() -> None:
    options = _arguments()
    with recording(options) as options.kept:
        _run(options)


def _run(options: Any) -> None:
    if options.plan:
        _plan(options.seed, options.kept)
        return
    conf = {"spark.driver.memory": options.memory} if options.engine == "spark" else None
    engine = StateEngineChoice(options.engine, conf=conf).for_rows(0)
    folder = Path(tempfile.mkdtemp(prefix="holdfast-fragments-", dir=options.folder))
    print(f"seed {options.seed}, noise {options.noise}, engine {engine.name}\n{HEAD}", flush=True)
    try:
        for split in options.split:
            if options.scale_up:
                _scale_up(engine, folder, split, options)
            elif options.crossover:
                _crossover(engine, folder, split, options)
            else:
                _varied(engine, folder, split, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _case(
    engine: StateEngine, folder: Path, split: str, rows: int, count: int, sites: int, more: int, options: Any
) -> Case:
    case = Case.made(engine, folder / f"{split}-{rows}-{count}-{sites}", split, rows, count, sites, more, options)
    seconds, shipped, peak = case.init()
    keys = ("engine", "split", "rows", "rules", "sites")
    kept = options.kept.table("init", keys=keys, units={"init": "s", "mb": "MB"})
    mb = shipped.bytes / 1e6
    kept.add(peak, engine=engine.name, split=split, rows=rows, rules=count, sites=sites, init=seconds, mb=mb)
    print(
        f"{split:10} {rows:>9,} {'init':>8} {count:>5} {sites:>5} {'':9}  {seconds:7.2f} {mb:8.2f}  {peak}",
        flush=True,
    )
    case.apply(1000)
    return case


def _varied(engine: StateEngine, folder: Path, split: str, options: Any) -> None:
    first = {
        "rows": options.rows[0],
        "changes": options.changes[0],
        "rules": options.rules[0],
        "sites": options.sites[0],
    }
    tried = [first] + [
        {**first, name: value} for name in ("rows", "changes", "rules", "sites") for value in getattr(options, name)[1:]
    ]
    cases: dict[tuple[int, int, int], Case] = {}
    inc: dict[int, float] = {}
    for one in tried:
        shape = one["rows"], one["rules"], one["sites"]
        if shape not in cases:
            more = options.repeat * sum(options.changes) + 10_000
            cases[shape] = _case(engine, folder, split, *shape, more, options)
        line = measured(cases[shape], one["changes"], options)
        if {**one, "rows": 0} == {**first, "rows": 0}:
            inc[one["rows"]] = line["inc"]
    if len(inc) > 1:
        print(f"{split}: {max(inc):,} rows take {inc[max(inc)] / inc[min(inc)]:.2f} times as long as {min(inc):,}")


def _scale_up(engine: StateEngine, folder: Path, split: str, options: Any) -> None:
    base = None
    for step in (2, 4, 6, 8, 10):
        rows, size = options.rows[0] * step // 10, options.changes[0] * step // 10
        case = _case(engine, folder, split, rows, options.rules[0], step, options.repeat * size + 10_000, options)
        line = measured(case, size, options)
        base = base or (line["inc"], line["bat"])
        print(f"{'':10} scale-up: inc {base[0] / line['inc']:.2f}, bat {base[1] / line['bat']:.2f}")


def _crossover(engine: StateEngine, folder: Path, split: str, options: Any) -> None:
    rows, size = options.rows[0], options.changes[0]
    options.repeat = 1
    case = _case(engine, folder, split, rows, options.rules[0], options.sites[0], 10 * rows, options)
    while size <= 2 * rows:
        line = measured(case, size, options)
        if line["inc"] > min(line["bat"], line["ibat"]):
            print(f"{split}: recomputing wins at {size:,} changes of {line['rows']:,} rows")
            return
        size *= 2
    print(f"{split}: recomputing does not win up to {size // 2:,} changes")


def _plan(seed: int, record: Recording) -> None:
    started = time.perf_counter()
    plan = plan_shipments(parse_sites(yaml.safe_dump(overlapping(50, 10, seed))))
    seconds = time.perf_counter() - started
    fewer = 1 - plan.shared / plan.alone
    kept = record.table("plan", keys=("rules", "sites"), units={"seconds": "s"})
    kept.add(rules=50, sites=10, alone=plan.alone, shared=plan.shared, fewer=f"{100 * fewer:.0f} %", seconds=seconds)
    print(
        f"50 rules over 10 sites, seed {seed}: {plan.alone} ids alone, {plan.chained} in written order, "
        f"{plan.shared} by this plan ({plan.method}): {fewer:.1%} fewer, {seconds:.1f} s"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", nargs="+", default=["vertical", "horizontal"], choices=["vertical", "horizontal"])
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000])
    parser.add_argument("--changes", type=int, nargs="+", default=[2_000])
    parser.add_argument("--rules", type=int, nargs="+", default=[25])
    parser.add_argument("--sites", type=int, nargs="+", default=[10])
    parser.add_argument("--scale-up", action="store_true")
    parser.add_argument("--crossover", action="store_true")
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--noise", type=float, default=0.0005)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--engine", default="auto", choices=["auto", "local", "spark"])
    parser.add_argument("--memory", default="6g", help="of Spark's driver")
    parser.add_argument("--folder", default=None, help="where to put files while it runs")
    add_record_options(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
