"""Discovery of references between tables: two sets of tables, the true foreign keys, and peers on the same files.

    python benchmarks/inclusions.py [--rows 1000000] [--flights nycflights.csv.gz] [--desbordante PYTHON] [--seed 1]

`--rows` is how many lines the order set has: 8 tables and 61 columns shaped like those of TPC-H. `--flights` is the
flights table of nycflights13; its airlines, airports, planes and weather are generated from it. For each set: seconds
of this process, reading included; at which place each true foreign key is shown, and it has to be among the first 15.
With the Python of an environment that has Desbordante, its Spider (inclusions of single columns, by text) and its Faida
(lists of up to two columns, approximately) on the same files. Spider must find the true keys of single columns, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
from memory import measured
from record import Cell, add_record_options, recording

import holdfast as hf

FIRST = 15
ORDER_KEYS = (
    "nation(n_regionkey) in region(r_regionkey)",
    "supplier(s_nationkey) in nation(n_nationkey)",
    "customer(c_nationkey) in nation(n_nationkey)",
    "partsupp(ps_partkey) in part(p_partkey)",
    "partsupp(ps_suppkey) in supplier(s_suppkey)",
    "orders(o_custkey) in customer(c_custkey)",
    "lineitem(l_orderkey) in orders(o_orderkey)",
    "lineitem(l_partkey) in part(p_partkey)",
    "lineitem(l_suppkey) in supplier(s_suppkey)",
    "lineitem(l_partkey, l_suppkey) in partsupp(ps_partkey, ps_suppkey)",
)
FLIGHT_KEYS = (
    "flights(carrier) in airlines(carrier)",
    "flights(tailnum) in planes(tailnum)",
    "flights(origin) in airports(faa)",
    "flights(dest) in airports(faa)",
    "weather(origin) in airports(faa)",
    "flights(origin, time_hour) in weather(origin, time_hour)",
)
WORDS = ("carefully", "final", "deposits", "sleep", "furious", "ironic", "requests", "haggle", "slyly", "regular")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--flights", type=Path)
    options.add_argument("--desbordante", metavar="PYTHON", type=os.path.abspath)
    options.add_argument("--peer-seconds", type=float, default=120)
    options.add_argument("--seed", type=int, default=1)
    add_record_options(options)
    chosen = options.parse_args()
    rng = np.random.default_rng(chosen.seed)
    with recording(chosen, peer=chosen.desbordante) as record, tempfile.TemporaryDirectory() as folder:
        kept = record.table("sets", keys=("tables", "rows"), units=UNITS)
        sets = [("orders", order_tables(chosen.rows, rng), ORDER_KEYS)]
        if chosen.flights is not None:
            sets.append(("flights", flight_tables(chosen.flights, rng), FLIGHT_KEYS))
        for name, tables, keys in sets:
            place = Path(folder) / name
            place.mkdir()
            for table, rows in tables.items():
                pv.write_csv(rows, place / f"{table}.csv")
            _, cells, peak = measured(lambda n=name, t=tables, p=place, k=keys: measure(n, t, p, k))
            others = peers(chosen.desbordante, place, tables, keys, chosen.peer_seconds) if chosen.desbordante else {}
            kept.add(peak, tables=name, **cells, **others)


UNITS = {"memory_s": "s", "memory_cpu": "s of CPU", "csv_s": "s", "csv_cpu": "s of CPU", "spider": "s", "faida": "s"}


def measure(name: str, tables: Mapping[str, pa.Table], place: Path, keys: tuple[str, ...]) -> dict[str, Cell]:
    rows, columns = sum(t.num_rows for t in tables.values()), sum(t.num_columns for t in tables.values())
    print(f"\n{name}: {len(tables)} tables, {columns} columns, {rows:,} rows")
    files = {table: place / f"{table}.csv" for table in tables}
    found, *from_files = timed(lambda: hf.discover(files))
    in_memory, *from_memory = timed(lambda: hf.discover(dict(tables)))
    print(f"  holdfast: {told(*from_files)} from CSV files, {told(*from_memory)} from tables in memory")
    for result in (found, in_memory):
        shown = [rule["rule"] for rule in result.to_dict()["rules"] if rule["kind"] == "ind"]
        places = {key: shown.index(key) + 1 if key in shown else None for key in keys}
        missed = [key for key, at in places.items() if at is None or at > FIRST]
        assert not missed, f"not among the first {FIRST}: {missed}; shown: {shown}"
    at = ", ".join(map(str, sorted(places.values())))
    print(f"  {len(keys)} true foreign keys, at places {at} of {len(shown)} shown")
    print(f"  {found.outcome.accidents} other inclusions, which are not shown")
    along = [rule["rule"] for rule in found.to_dict()["rules"] if rule["kind"] != "ind"]
    print(f"  {len(along)} comparisons along them" + "".join(f"\n    {rule}" for rule in along))
    result, *seconds = timed(lambda: hf.check(files, found))
    assert result.holds
    print(f"  check of all that is shown: {told(*seconds)}, and it holds")
    return {
        "rows": rows,
        "table_count": len(tables),
        "columns": columns,
        "foreign_keys": len(keys),
        "last_place": max(at for at in places.values() if at is not None),
        "shown": len(shown),
        "others": found.outcome.accidents,
        "comparisons": len(along),
        **dict(zip(("memory_s", "memory_cpu"), from_memory, strict=True)),
        **dict(zip(("csv_s", "csv_cpu"), from_files, strict=True)),
    }


def told(seconds: float, busy: float) -> str:
    return f"{seconds:.1f} s ({busy:.1f} s of CPU)"


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What the work returns, and its seconds: by the clock, and of the processors."""
    started, busy = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - started, time.process_time() - busy


def peers(
    python: str, place: Path, tables: Mapping[str, pa.Table], keys: tuple[str, ...], seconds: float
) -> dict[str, Cell]:
    spent: dict[str, Cell] = {}
    for algorithm in ("Spider", "Faida"):
        script = [python, str(Path(__file__).resolve().with_name("desbordante_inclusions.py")), str(place), algorithm]
        try:
            done = subprocess.run(script, capture_output=True, text=True, timeout=seconds, check=True, cwd=place)
        except subprocess.TimeoutExpired:
            print(f"  {algorithm}: more than {seconds:.0f} s")
            spent[algorithm.lower()] = f"> {seconds:.0f}"
            continue
        except subprocess.CalledProcessError as problem:
            print(f"  {algorithm}: {(problem.stderr.splitlines() or ['failed'])[-1]}")
            continue
        answer = json.loads(done.stdout)
        spent[algorithm.lower()] = answer["seconds"]
        print(f"  {algorithm}: {answer['seconds']:.1f} s, {len(answer['found']):,} inclusions in no order")
        if algorithm == "Spider":
            # A field without a text is a value to it.
            filled = {f"{name}({c})" for name, t in tables.items() for c in t.column_names if not t[c].null_count}
            wanted = {key for key in keys if key.partition(" in ")[0] in filled}
            assert wanted <= set(answer["found"]), wanted - set(answer["found"])
    return spent


# Tables -----------------------------------------------------------------------------------------------------------


def order_tables(lines: int, rng: np.random.Generator) -> dict[str, pa.Table]:
    """Eight tables, 61 columns, with the shapes and keys of TPC-H."""
    orders, customers, parts, suppliers = lines // 4, max(lines // 40, 20), max(lines // 30, 20), max(lines // 600, 10)
    ps_part = np.repeat(np.arange(1, parts + 1), 4)
    step = max(suppliers // 4, 1)
    ps_supp = (ps_part + np.tile(np.arange(4), parts) * step) % suppliers + 1
    numbers = np.arange(orders)
    o_key = (numbers // 8) * 32 + numbers % 8 + 1  # as there, 8 of 32 numbers are used
    o_cust = rng.integers(1, customers + 1, orders)
    o_cust -= (o_cust % 3 == 0) & (o_cust > 1)  # a third of the customers order nothing
    o_date = rng.integers(0, 2_400, orders)
    which, supply = np.sort(rng.integers(0, orders, lines)), rng.integers(0, len(ps_part), lines)
    first = np.searchsorted(which, which)
    shipped = o_date[which] + rng.integers(1, 122, lines)
    quantity = rng.integers(1, 51, lines)
    price = np.round(900 + np.arange(1, parts + 1) % 1_000 * 0.1 + rng.integers(0, 1_000, parts), 2)
    tables = {
        "region": {"r_regionkey": np.arange(5), "r_name": names("REGION", np.arange(5)), "r_comment": words(5, rng)},
        "nation": {
            "n_nationkey": np.arange(25), "n_name": names("NATION", np.arange(25)),
            "n_regionkey": np.arange(25) % 5, "n_comment": words(25, rng),
        },
        "supplier": {
            "s_suppkey": np.arange(1, suppliers + 1), "s_name": names("Supplier#", np.arange(suppliers)),
            "s_address": words(suppliers, rng), "s_nationkey": rng.integers(0, 25, suppliers),
            "s_phone": phones(suppliers, rng), "s_acctbal": money(suppliers, rng), "s_comment": words(suppliers, rng),
        },
        "customer": {
            "c_custkey": np.arange(1, customers + 1), "c_name": names("Customer#", np.arange(customers)),
            "c_address": words(customers, rng), "c_nationkey": rng.integers(0, 25, customers),
            "c_phone": phones(customers, rng), "c_acctbal": money(customers, rng),
            "c_mktsegment": names("SEGMENT", rng.integers(0, 5, customers)), "c_comment": words(customers, rng),
        },
        "part": {
            "p_partkey": np.arange(1, parts + 1), "p_name": words(parts, rng),
            "p_mfgr": names("Manufacturer#", rng.integers(1, 6, parts)),
            "p_brand": names("Brand#", rng.integers(11, 56, parts)),
            "p_type": names("TYPE", rng.integers(0, 150, parts)), "p_size": rng.integers(1, 51, parts),
            "p_container": names("BOX", rng.integers(0, 40, parts)), "p_retailprice": price,
            "p_comment": words(parts, rng),
        },
        "partsupp": {
            "ps_partkey": ps_part, "ps_suppkey": ps_supp, "ps_availqty": rng.integers(1, 10_000, len(ps_part)),
            "ps_supplycost": money(len(ps_part), rng), "ps_comment": words(len(ps_part), rng),
        },
        "orders": {
            "o_orderkey": o_key, "o_custkey": o_cust, "o_orderstatus": names("", rng.integers(0, 3, orders)),
            "o_totalprice": money(orders, rng), "o_orderdate": days(o_date),
            "o_orderpriority": names("PRIORITY", rng.integers(1, 6, orders)),
            "o_clerk": names("Clerk#", rng.integers(0, 1_000, orders)),
            "o_shippriority": np.zeros(orders, np.int64), "o_comment": words(orders, rng),
        },
        "lineitem": {
            "l_orderkey": o_key[which], "l_partkey": ps_part[supply], "l_suppkey": ps_supp[supply],
            "l_linenumber": np.arange(lines) - first + 1, "l_quantity": quantity,
            "l_extendedprice": np.round(quantity * price[ps_part[supply] - 1], 2),
            "l_discount": rng.integers(0, 11, lines) / 100, "l_tax": rng.integers(0, 9, lines) / 100,
            "l_returnflag": names("", rng.integers(0, 3, lines)), "l_linestatus": names("", rng.integers(0, 2, lines)),
            "l_shipdate": days(shipped), "l_commitdate": days(o_date[which] + rng.integers(30, 91, lines)),
            "l_receiptdate": days(shipped + rng.integers(1, 31, lines)),
            "l_shipinstruct": names("INSTRUCT", rng.integers(0, 4, lines)),
            "l_shipmode": names("MODE", rng.integers(0, 7, lines)), "l_comment": words(lines, rng),
        },
    }  # fmt: skip
    return {name: pa.table(columns) for name, columns in tables.items()}


def flight_tables(file: Path, rng: np.random.Generator) -> dict[str, pa.Table]:
    """The flights, and the tables that they refer to."""
    read = pv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    flights = pv.read_csv(file, convert_options=read)
    carriers, tails = (pc.unique(flights[name]).drop_null() for name in ("carrier", "tailnum"))
    # Every column of the real airports, and places that no flight goes to.
    places = pc.unique(pa.chunked_array([*flights["origin"].chunks, *flights["dest"].chunks])).to_pylist()
    places = list(dict.fromkeys([*places, *(f"{a}{b}Q" for a in "ABCDEFGHIJ" for b in "ABCDEFGHIJ")]))
    n, p = len(places), len(tails)
    hours = flights.group_by(["origin", "year", "month", "day", "hour", "time_hour"]).aggregate([])
    w = hours.num_rows
    weather = {name: hours[name] for name in ("origin", "year", "month", "day", "hour")}
    measured = ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib")
    weather |= {name: np.round(rng.normal(40, 20, w), 1) for name in measured}
    return {
        "flights": flights,
        "airlines": pa.table({"carrier": carriers, "name": names("Airline ", np.arange(len(carriers)))}),
        "airports": pa.table({
            "faa": places, "name": names("Airport ", np.arange(n)), "lat": np.round(rng.uniform(20, 60, n), 5),
            "lon": np.round(rng.uniform(-150, -60, n), 5), "alt": rng.integers(-50, 9_000, n),
            "tz": -rng.integers(5, 11, n), "dst": names("", rng.integers(0, 3, n)),
            "tzone": names("America/", rng.integers(0, 7, n)),
        }),
        "planes": pa.table({
            "tailnum": tails, "year": rng.integers(1956, 2014, p), "type": names("Fixed wing ", rng.integers(0, 3, p)),
            "manufacturer": names("MAKER ", rng.integers(0, 35, p)), "model": names("M", rng.integers(0, 127, p)),
            "engines": rng.integers(1, 5, p), "seats": rng.integers(2, 451, p),
            "speed": pa.array(rng.integers(90, 432, p), mask=rng.random(p) < 0.9),
            "engine": names("Turbo", rng.integers(0, 6, p)),
        }),
        "weather": pa.table({**weather, "time_hour": hours["time_hour"]}),
    }  # fmt: skip


def names(prefix: str, numbers: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pa.array(numbers).cast(pa.string()), "")


def words(n: int, rng: np.random.Generator) -> pa.Array:
    """Texts that hardly ever repeat."""
    parts = [pa.array(WORDS).take(pa.array(rng.integers(0, len(WORDS), n))) for _ in range(4)]
    return pc.binary_join_element_wise(*parts, pa.array(rng.integers(0, 1 << 40, n)).cast(pa.string()), " ")


def phones(n: int, rng: np.random.Generator) -> pa.Array:
    return names("25-", rng.integers(10**9, 10**10, n))


def money(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-99_999, 999_999, n) / 100


def days(numbers: np.ndarray) -> pa.Array:
    return pa.array((8_036 + numbers).astype(np.int32)).cast(pa.date32())  # since 1992


if __name__ == "__main__":
    main()
