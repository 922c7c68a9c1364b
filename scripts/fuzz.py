"""Random tables, rules and changes, put to every way there is to answer without Spark; all must say the same.

    python scripts/fuzz.py --minutes 5

The ways: `reference.py`, a check in this process, a monitor, a state of a watch, exported SQL on SQLite and DuckDB, and
rules that evolve against rules that are discovered. A find is made as small as can be, and printed as a script.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

import holdfast as hf  # noqa: E402
from holdfast import reference  # noqa: E402
from holdfast.programs.export_sql import DIALECTS, rule_sql  # noqa: E402
from holdfast.rules.dependency import CFD  # noqa: E402
from holdfast.rules.predicate import Comparison, Constant, Membership, TextTest  # noqa: E402
from holdfast.rules.rule import Rule, RuleSet  # noqa: E402
from holdfast.rules.rule_file import dump_rules, parse_rules  # noqa: E402
from strategies import ARROW, DOMAINS, RandomTable, rule_sets, tables  # noqa: E402

Row = Mapping[str, Any]
Found = dict[str, set[tuple[Any, Any]]]


@dataclass(frozen=True)
class Case:
    """A table, rules over it as a file has them, and changes: rows with `_change_type`."""

    types: Mapping[str, str]
    rows: tuple[Row, ...]
    rules: str
    changes: tuple[Row, ...]

    def script(self) -> str:
        """A program that finds the same again."""
        return (
            "import datetime, sys\nfrom decimal import Decimal\nsys.path.insert(0, 'scripts')\n"
            "from fuzz import Case, compare\nnan, inf = float('nan'), float('inf')\n"
            f"compare(Case(\n    types={dict(self.types)!r},\n    rows={tuple(map(dict, self.rows))!r},\n"
            f"    rules={self.rules!r},\n    changes={tuple(map(dict, self.changes))!r},\n))\n"
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    table: RandomTable = draw(tables(max_rows=8))
    rules: RuleSet = draw(rule_sets(table, size=3)).rules
    names = [name for name in table.types if name != "id"]
    keys = sorted(row["id"] for row in table.rows)
    gone = draw(st.lists(st.sampled_from(keys), max_size=3, unique=True)) if keys else []
    changes: list[Row] = []
    for key in [*gone, *range(100, 100 + draw(st.integers(0, 3)))]:
        row = {name: draw(st.sampled_from([*DOMAINS[table.types[name]], None])) for name in names}
        kind = draw(st.sampled_from(["delete", "update_postimage"])) if key in keys else "insert"
        changes.append({"_change_type": kind, "id": key, **row})
    return Case(table.types, table.rows, dump_rules(rules), tuple(changes))


def compare(case: Case) -> None:
    """Raises AssertionError where two ways do not say the same."""
    rules = parse_rules(case.rules)
    where = {rule.name: _even for rule in rules if rule.where is not None}
    after = _changed(case)
    for rows, moment in ((case.rows, "before"), (after, "after")):
        wanted: Found = {name: set(found) for name, found in reference.violations(rows, rules, where=where).items()}
        for way, found in _ways_at_once(case, rules, rows).items():
            for name, own in found.items():
                assert own == wanted[name], f"{way}, {moment} the changes: {rules[name]}: {own} is not {wanted[name]}"
    totals = {rule.name: _total(rule, wanted[rule.name]) for rule in rules}
    monitor = hf.Monitor(rules, schema=dict(case.types))
    monitor.insert(list(case.rows))
    monitor.apply(list(case.changes))
    assert monitor.totals == totals, f"monitor: {monitor.totals} is not {totals}"
    for name, own in wanted.items():
        assert set(monitor.violations(name)) == own, f"monitor: {name}"
    with tempfile.TemporaryDirectory() as folder:
        _compare_states(case, rules, after, totals, Path(folder))


def _compare_states(case: Case, rules: RuleSet, after: Sequence[Row], totals: Mapping[str, int], folder: Path) -> None:
    changes = pa.table({"_change_type": pa.array([c["_change_type"] for c in case.changes], pa.string())})
    for name, column in zip(case.types, _arrow(case.types, case.changes).columns, strict=True):
        changes = changes.append_column(name, column)
    pq.write_table(changes, folder / "changes.parquet")
    table = _arrow(case.types, case.rows)
    watched = hf.WatchState.create(folder / "watch", table, rules, engine="local")
    watched.apply(folder / "changes.parquet")
    assert dict(watched.status.totals) == totals, f"watch: {dict(watched.status.totals)} is not {totals}"
    assert dict(watched.show().totals) == totals, "watch, shown"
    assert not hf.WatchState.verify(folder / "watch").problems, "watch, verified"
    if len(case.types) > 4 or "binary" in case.types.values():
        return  # all pairs of many columns take long
    options = {"exclude": ["id"], "cross_columns": "off"}
    evolved = hf.EvolveState.create(folder / "evolve", table, key="id", engine="local", options=options)
    evolved.apply(folder / "changes.parquet")
    kept = {str(rule) for rule in evolved.show(top="all").found.rules}
    found = hf.discover(_arrow(case.types, after), top="all", engine="local", **options)
    assert kept == {str(rule) for rule in found.rules}, "evolve, and discover after the changes"


def _ways_at_once(case: Case, rules: RuleSet, rows: Sequence[Row]) -> dict[str, Found]:
    """By way, the violations of each rule that the way can tell of."""
    result = hf.check(_arrow(case.types, rows), rules, engine="local", limit=None)
    pairs: Found = {rule.name: set() for rule in rules}
    for pair in result.pairs:
        pairs[pair["rule"]].add((pair["left"], pair["right"]))
    checked: Found = {}
    for rule in rules:
        two_rows = {constraint.two_rows for constraint in rule.body.denials}
        if two_rows == {True}:
            checked[rule.name] = pairs[rule.name]
        elif two_rows == {False}:
            checked[rule.name] = {(row["key"], None) for row in result.rows if row["rule"] == rule.name}
    ways = {"check": checked}
    exported = [rule for rule in rules if _is_plain(rule, case.types)]
    if exported:
        ways["SQL on SQLite"] = _by_sql(case, rules, rows, exported, _sqlite)
        ways["SQL on DuckDB"] = _by_sql(case, rules, rows, exported, _duckdb)
    return ways


def _by_sql(
    case: Case, rules: RuleSet, rows: Sequence[Row], exported: Sequence[Rule], database: Callable[[], Any]
) -> Found:
    connection, dialect = database(), DIALECTS["ansi"]
    kinds = {"bigint": "BIGINT", "string": "VARCHAR"}
    names = [name for name, kind in case.types.items() if kind in kinds]
    columns = ", ".join(f"{dialect.name(name)} {kinds[case.types[name]]}" for name in names)
    connection.execute(f"CREATE TABLE data ({columns})")
    for row in rows:
        marks = ", ".join("?" * len(names))
        connection.execute(f"INSERT INTO data VALUES ({marks})", [row[name] for name in names])
    found: Found = {}
    for rule in exported:
        query = rule_sql(rule, table="data", key=("id",), nulls=rules.nulls, dialect=dialect)
        listed = connection.execute(query).fetchall()
        found[rule.name] = {(row[0], row[1] if len(row) > 1 else None) for row in listed}
    connection.close()
    return found


def _sqlite() -> Any:
    import sqlite3

    return sqlite3.connect(":memory:")


def _duckdb() -> Any:
    import duckdb

    return duckdb.connect(":memory:")


def _is_plain(rule: Rule, types: Mapping[str, str]) -> bool:
    """Whether databases of all kinds mean the same by the rule: integers and text, and no values of a tableau."""
    if any(types[name] not in ("bigint", "string") for name in rule.body.columns):
        return False
    if isinstance(rule.body, CFD) and not rule.body.inline:
        return False
    for constraint in rule.body.denials:
        for predicate in constraint.predicates:
            if isinstance(predicate, TextTest):
                return False
            values = predicate.values if isinstance(predicate, Membership) else set()
            if isinstance(predicate, Comparison) and isinstance(predicate.right, Constant):
                values = {predicate.right}
            if any(
                not isinstance(c.value, int | str) or (c.kind == "number" and abs(c.value) >= 2**63) for c in values
            ):
                return False
    return True


def _is_bigint(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _total(rule: Rule, found: set[tuple[Any, Any]]) -> int:
    two_rows = any(constraint.two_rows for constraint in rule.body.denials)
    return sum(right is not None for _, right in found) if two_rows else len(found)


def _even(row: Row) -> bool:
    return bool(row["id"] % 2 == 0)


def _changed(case: Case) -> tuple[Row, ...]:
    changed = {change["id"]: change for change in case.changes}
    stay = [row for row in case.rows if row["id"] not in changed]
    come = [change for change in case.changes if change["_change_type"] != "delete"]
    return (*stay, *({name: change[name] for name in case.types} for change in come))


def _arrow(types: Mapping[str, str], rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], ARROW[kind]) for name, kind in types.items()})


def fuzz(minutes: float, first: int, examples: int) -> Case | None:
    """Tries cases until the time is over; the smallest one found at which ways differ, and what they said, printed."""
    ends, number, tried = time.monotonic() + 60 * minutes, first, 0
    last: list[Case] = []
    while time.monotonic() < ends:

        @seed(number)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=cases())
        def all_say_the_same(case: Case) -> None:
            nonlocal tried
            tried += 1
            last[:] = [case]
            if time.monotonic() < ends:
                compare(case)

        try:
            all_say_the_same()
        except Exception as problem:
            print(f"seed {number}: {type(problem).__name__}: {problem}\n\n# This finds it again:\n{last[0].script()}")
            return last[0]
        number += 1
    print(f"{tried:,} cases, seeds {first:,} to {number - 1:,}: all ways say the same")
    return None


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=5.0)
    arguments.add_argument("--seed", type=int, default=None, help="the first seed; a random one otherwise")
    arguments.add_argument("--examples", type=int, default=200, help="cases per seed")
    given_options = arguments.parse_args()
    first_seed = random.randrange(10**6) if given_options.seed is None else given_options.seed
    sys.exit(0 if fuzz(given_options.minutes, first_seed, given_options.examples) is None else 1)
