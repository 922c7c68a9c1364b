"""How check, lint and Monitor grow with patterns of a tableau, rules of a file, and columns of a table.

    python benchmarks/many_rules.py [CASE ...] [--rows 100000] [--patterns 10 100 1000 10000] [--rules 10 100 1000]
                                    [--columns 30 300] [--batch 1000] [--repeat 2] [--seed 1]

- constants, variable, both: one conditional dependency of so many patterns, over rows of places. A pattern says which
  city a country and an area code mean (constants), that within them a zip code has one street (variable), or both. Its
  peer is DuckDB: the tableau as a table that is joined with the rows. The violating rows are asserted to be as many.
- file: so many rules over 30 columns, a fifth each of dependencies, keys, order rules, conditions on one row, and
  conditional dependencies of ten patterns, which are read, linted, checked and monitored.
- table: a table of so many columns from Parquet, with 100 such rules over the first 30, and then with a condition on
  each column.

All of it runs in this process, without Spark. Seconds are those of the CPU, of all threads, the best of `--repeat`; in
brackets is how many times as long as in the line before. Each line has a process of its own, and tells its peak of
memory, of which some 150 MiB are Python and its packages. DuckDB is no dependency: `pip install duckdb`.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from record import add_record_options, recording
from tables import texts

import holdfast as hf

COUNTRIES = 50
RULED_COLUMNS = 30
# Seconds are those of the CPU.
UNITS = {
    **dict.fromkeys(
        ("read", "lint", "lint_with_data", "check", "monitor", "insert_a_batch", "duckdb", "check_each"), "s"
    ),
    "a_row": "ms",
    "mib": "MiB",
}


def main() -> None:
    options = _arguments()
    if options.one is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(CASES[options.cases[0]](options.one, Path(folder), options)))
        return
    with recording(options) as record:
        growth = record.table("growth", keys=("case", "size", "rows"), units=UNITS)
        for case in options.cases:
            sizes = {"file": options.rules, "table": options.columns}.get(case, options.patterns)
            before: dict[str, Any] = {}
            print(f"{case}, {options.rows:,} rows", flush=True)
            for size in sizes:
                told = _in_its_own_process(case, size)
                parts = [_text(name, told[name], before.get(name)) for name in told]
                print(f"{size:>8,}  " + "  ".join(parts), flush=True)
                growth.add(case=case, size=size, rows=options.rows, **{_column(name): told[name] for name in told})
                before = told


def _column(name: str) -> str:
    return name.lower().replace(", ms", "").replace(" ", "_")


def _in_its_own_process(case: str, size: int) -> dict[str, Any]:
    given = [argument for argument in sys.argv[1:] if argument not in CASES]
    command = [sys.executable, __file__, case, *given, "--one", str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _text(name: str, value: Any, before: Any) -> str:
    if isinstance(value, int):
        return f"{name} {value:,}"
    grown = f" ({value / before:.1f})" if before else ""
    return f"{name} {value:.3f}{grown}"


def cpu_seconds(work: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """The least CPU seconds of some runs, and what the last of them returned."""
    least, result = float("inf"), None
    for _ in range(repeat):
        begun = time.process_time()
        result = work()
        least = min(least, time.process_time() - begun)
    return least, result


def peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


# Tableaux -------------------------------------------------------------------------------------------------------------


def places(rows: int, patterns: int, seed: int) -> pa.Table:
    """Rows of which half speak of places that patterns name. The city and the street are the right ones but for 1 %."""
    rng = np.random.default_rng(seed)
    country, area = rng.integers(0, COUNTRIES, rows), rng.integers(0, 2 * max(patterns // COUNTRIES, 1), rows)
    zips = rng.integers(0, max(rows // 20, 1), rows)
    city, street = _city(country, area), zips * 7 % 9_973
    city = np.where(rng.random(rows) < 0.01, rng.permutation(city), city)
    street = np.where(rng.random(rows) < 0.01, rng.permutation(street), street)
    return pa.table(
        {
            "id": np.arange(rows),
            "country": texts("C", country),
            "area": area,
            "city": texts("City ", city),
            "zip": texts("Z", zips),
            "street": texts("Street ", street),
        }
    )


def _city(country: Any, area: Any) -> Any:
    return (country * 1_000 + area) % 20_011


def patterns_of(kind: str, size: int) -> tuple[str, list[dict[str, str]]]:
    """The text of a rule, and its patterns."""
    held = [(i % COUNTRIES, i // COUNTRIES) for i in range(size)]
    lefts = [{"country": f"C{country}", "area": str(area)} for country, area in held]
    cities = [f"City {_city(country, area)}" for country, area in held]
    if kind == "constants":
        return "country, area -> city", [{**left, "city": city} for left, city in zip(lefts, cities, strict=True)]
    if kind == "variable":
        return "country, area, zip -> street", [{**left, "zip": "_", "street": "_"} for left in lefts]
    return "country, area, zip -> city, street", [
        {**left, "zip": "_", "city": city, "street": "_"} for left, city in zip(lefts, cities, strict=True)
    ]


def tableau(kind: str) -> Callable[[int, Path, argparse.Namespace], dict[str, Any]]:
    def measure(size: int, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
        table = places(options.rows, max(options.patterns), options.seed)
        text, patterns = patterns_of(kind, size)
        file = folder / "rules.yaml"
        file.write_text(yaml.safe_dump({"key": "id", "rules": [{"name": "r", "rule": text, "patterns": patterns}]}))
        told = _told_of(file, table, options)
        if (peer := _duckdb_rows(kind, table, patterns, options)) is not None:
            told["DuckDB"], rows = peer
            assert rows == told["violating rows"], "DuckDB finds as many rows"
        return told

    return measure


def _duckdb_rows(
    kind: str, table: pa.Table, patterns: list[dict[str, str]], options: argparse.Namespace
) -> tuple[float, int] | None:
    """CPU seconds of the query that a person writes, and how many rows it finds."""
    try:
        import duckdb
    except ImportError:
        return None
    meant = [(pattern["country"], int(pattern["area"]), pattern.get("city")) for pattern in patterns]
    tableau = pa.Table.from_pylist([dict(zip(("country", "area", "meant"), line, strict=True)) for line in meant])
    joined = "FROM places JOIN tableau USING (country, area)"
    wrong = f"SELECT id {joined} WHERE city <> meant"
    groups = f"SELECT country, area, zip {joined} GROUP BY ALL HAVING min(street) <> max(street)"
    divided = f"SELECT id FROM places JOIN ({groups}) USING (country, area, zip)"
    query = {"constants": wrong, "variable": divided, "both": f"{wrong} UNION {divided}"}[kind]
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.register("arrow_places", table)
        connection.register("arrow_tableau", tableau)

        def count() -> int:
            connection.execute("CREATE OR REPLACE TEMP TABLE places AS FROM arrow_places")
            connection.execute("CREATE OR REPLACE TEMP TABLE tableau AS FROM arrow_tableau")
            found = connection.execute(f"SELECT count(*) FROM ({query})").fetchone()
            assert found is not None, "a count is one row"
            return int(found[0])

        return cpu_seconds(count, options.repeat)


# Files and tables -----------------------------------------------------------------------------------------------------


def wide(rows: int, columns: int, seed: int) -> pa.Table:
    """A key, and columns of whole numbers of which some have few values and some many."""
    rng = np.random.default_rng(seed)
    values = {f"c{i}": rng.integers(0, (8, 100, 1_000, rows)[i % 4], rows) for i in range(columns)}
    return pa.table({"id": np.arange(rows), **values})


def many_rules(size: int, seed: int) -> list[Any]:
    """So many different rules over the first columns of a wide table."""
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {}
    while len(made) < size:
        a, b, c, d = (f"c{i}" for i in rng.choice(RULED_COLUMNS, 4, replace=False))
        at = len(made)
        low = int(rng.integers(0, 10_000))
        rule: Any = [
            f"{a}, {b} -> {c}",
            f"unique({a}, {b}, {c}, {d})",
            f"not(t.{a} = s.{a} and t.{b} = s.{b} and t.{c} > s.{c} and t.{d} < s.{d})",
            f"not(t.{a} = {low} and t.{b} > t.{c})",
            f"{a}, {b}, {c} -> {d}",
        ][at % 5]
        patterns = [{a: str(low + i), b: str(i), c: "_", d: "_" if i % 2 else "7"} for i in range(10)]
        made.setdefault(rule, {"rule": rule, "patterns": patterns} if at % 5 == 4 else rule)
    return list(made.values())


def file_of_rules(size: int, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump({"key": "id", "rules": many_rules(size, options.seed)}))
    return _told_of(file, wide(options.rows, RULED_COLUMNS, options.seed), options)


def table_of_columns(size: int, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    table, file, each = wide(options.rows, size, options.seed), folder / "rules.yaml", folder / "each.yaml"
    file.write_text(yaml.safe_dump({"key": "id", "rules": many_rules(100, options.seed)}))
    each.write_text(yaml.safe_dump({"key": "id", "rules": [f"not(t.c{i} < 0)" for i in range(size)]}))
    told = _told_of(file, table, options, data=folder / "wide.parquet")
    told["check each"], _ = cpu_seconds(lambda: _checked(folder / "wide.parquet", each), options.repeat)
    return {**told, "MiB": peak_mib()}


def _told_of(file: Path, table: pa.Table, options: argparse.Namespace, data: Path | None = None) -> dict[str, Any]:
    """What reading, linting, checking and monitoring the rules takes."""
    if data is not None:
        pq.write_table(table, data)
    told: dict[str, Any] = {}
    told["read"], rules = cpu_seconds(lambda: hf.read_rules(file), options.repeat)
    told["lint"], _ = cpu_seconds(lambda: hf.lint(file), options.repeat)
    told["lint with data"], _ = cpu_seconds(lambda: hf.lint(file, data or table.slice(0, 100)), options.repeat)
    told["check"], outcomes = cpu_seconds(lambda: _checked(data or table, rules), options.repeat)
    told["Monitor"], monitor = cpu_seconds(lambda: hf.Monitor(rules, limit=0), options.repeat)
    monitor.insert(table.slice(options.batch * 10 + 20, 1))  # what is loaded for the first row is not counted
    batches = iter(range(0, options.batch * 10, options.batch))
    told["insert a batch"], _ = cpu_seconds(lambda: monitor.insert(table.slice(next(batches), options.batch)), 10)
    single = table.slice(options.batch * 10, 20).to_pylist()
    seconds, _ = cpu_seconds(lambda: [monitor.insert(row) for row in single], 1)
    told["a row, ms"] = seconds * 1_000 / len(single)
    told["violating rows"] = sum(found["violating_rows"] for found in outcomes)
    return {**told, "MiB": peak_mib()}


def _checked(data: Any, rules: Any) -> Sequence[dict[str, Any]]:
    with hf.check(data, rules, limit=0, engine="local") as result:
        return result.to_dict()["rules"]  # type: ignore[no-any-return]


CASES: dict[str, Callable[[int, Path, argparse.Namespace], dict[str, Any]]] = {
    "constants": tableau("constants"),
    "variable": tableau("variable"),
    "both": tableau("both"),
    "file": file_of_rules,
    "table": table_of_columns,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--patterns", type=int, nargs="+", default=[10, 100, 1_000, 10_000])
    parser.add_argument("--rules", type=int, nargs="+", default=[10, 100, 1_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[30, 300])
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    add_record_options(parser)
    parser.add_argument("--one", type=int, default=None, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
