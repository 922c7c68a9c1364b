"""Random tables, rules and changes, put to every way there is to answer; all must say the same.

    python scripts/fuzz.py --minutes 5
    python scripts/fuzz.py --minutes 30 --spark

The ways: `reference.py`; a check in this process, of the table as it is and of one that comes in pieces; what is
explained of each row, and what its suggestions would do; a monitor; a state of a watch, opened again from the disk for
each batch; fragments over sites; exported SQL on SQLite and DuckDB; and rules that evolve against rules that are
discovered. Changes come at once or one by one. Each case is put to a state of one job, since states are files and take
their time. With `--spark`, cases are put to the three engines of a check on Spark instead, at seconds each. A find is
made as small as can be, and printed as a script.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

import holdfast as hf  # noqa: E402
from explained_violations import violations  # noqa: E402
from holdfast import reference  # noqa: E402
from holdfast.encode.column_type import column_type  # noqa: E402
from holdfast.explaining.cell_values import read_texts  # noqa: E402
from holdfast.fragments.sites import Site, SplitTable  # noqa: E402
from holdfast.programs.export_sql import DIALECTS, DatabaseTable, Dialect, rule_sql  # noqa: E402
from holdfast.rules.dependency import CFD, FD  # noqa: E402
from holdfast.rules.predicate import NEGATIVE, Call, Comparison, Constant, Membership, Operand, TextTest  # noqa: E402
from holdfast.rules.rule import Rule, RuleSet  # noqa: E402
from holdfast.rules.rule_file import dump_rules, parse_rules  # noqa: E402
from small_table_settings import SMALL_TABLES  # noqa: E402
from strategies import ARROW, DOMAINS, RandomRules, RandomTable, rule_sets, tables  # noqa: E402

Row = Mapping[str, Any]
Found = dict[str, set[tuple[Any, Any]]]
Comparing: TypeAlias = "Callable[[Case], None]"
JOBS = ("watch", "fragments", "evolve")
SPLITS = ("vertical", "horizontal", "hybrid")
PARITY = "id % 2 = {}"
# Functions of which all databases mean the same; those on numbers, as long as nothing is beyond 64 bits or rounded.
ON_ANYTHING, ON_NUMBERS = frozenset({"coalesce", "trim"}), frozenset({"+", "-", "*", "/", "%", "abs", NEGATIVE})
SMALL = 2**10


@dataclass(frozen=True)
class Case:
    """A table, rules over it as a file has them, and changes: rows with `_change_type`.

    `job` is that of the state which the changes are applied to, in steps or at once; `split` how sites split the table.
    """

    types: Mapping[str, str]
    rows: tuple[Row, ...]
    rules: str
    changes: tuple[Row, ...]
    job: str = "watch"
    split: str = "hybrid"
    in_steps: bool = False

    def script(self, comparison: Comparing) -> str:
        """A program that finds the same again by the same comparison."""
        return (
            "import datetime, sys\nfrom decimal import Decimal\nsys.path.insert(0, 'scripts')\n"
            f"from fuzz import Case, {comparison.__name__}\nnan, inf = float('nan'), float('inf')\n"
            f"{comparison.__name__}(Case(\n    types={dict(self.types)!r},\n    rows={tuple(map(dict, self.rows))!r},\n"
            f"    rules={self.rules!r},\n    changes={tuple(map(dict, self.changes))!r},\n"
            f"    job={self.job!r}, split={self.split!r}, in_steps={self.in_steps!r},\n))\n"
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    table: RandomTable = draw(tables(max_rows=8))
    rules: RuleSet = draw(rule_sets(table, size=3)).rules
    names = [name for name in table.types if name != "id"]
    if draw(st.integers(0, 9)) == 0:  # some columns may have no value at all
        empty = draw(st.sets(st.sampled_from(names)))
        table = replace(table, rows=tuple({n: None if n in empty else row[n] for n in row} for row in table.rows))
    keys = sorted(row["id"] for row in table.rows)
    gone = draw(st.lists(st.sampled_from(keys), max_size=3, unique=True)) if keys else []
    changes: list[Row] = []
    for key in [*gone, *range(100, 100 + draw(st.integers(0, 3)))]:
        row = {name: draw(st.sampled_from([*DOMAINS[table.types[name]], None])) for name in names}
        kind = draw(st.sampled_from(["delete", "update_postimage"])) if key in keys else "insert"
        changes.append({"_change_type": kind, "id": key, **row})
    job, split = draw(st.sampled_from(JOBS)), draw(st.sampled_from(SPLITS))
    return Case(table.types, table.rows, dump_rules(rules), tuple(changes), job, split, draw(st.booleans()))


def compare_on_spark(case: Case) -> None:
    """Raises AssertionError where an engine of a check on Spark does not say what a check in this process says."""
    from holdfast.engines.spark.checking.check import plan_check, run_check
    from holdfast.engines.spark.session import get_session
    from holdfast.engines.spark.sources.table import Table

    rules = parse_rules(case.rules)
    spark = get_session(master="local[2]", conf={**SMALL_TABLES, "spark.ui.enabled": "false"})
    for rows in (case.rows, _changed(case)):
        wanted = hf.check(_arrow(case.types, rows), rules, engine="local", limit=None)
        table = Table(spark.createDataFrame(_arrow(case.types, rows)), "data")
        for engine in ("kernel", "sql", "spread"):
            with run_check(spark, table, plan_check(table, rules, ("id",)), limit=None, engine=engine) as result:
                for own, theirs in zip(wanted.outcome.rules, result.outcome.rules, strict=True):
                    assert replace(own, witness=None) == replace(theirs, witness=None), (
                        f"{engine}: {own} is not {theirs}"
                    )
                for kind in ("pairs", "rows", "groups", "suspects"):
                    ours, listed = (_lines(getattr(each, kind)) for each in (wanted, result))
                    assert listed == ours, f"{engine}, {kind}: {listed} is not {ours}"


def _lines(listed: Any) -> list[str]:
    return sorted(str(line) for line in listed)


def compare(case: Case) -> None:
    """Raises AssertionError where two ways do not say the same."""
    rules = parse_rules(case.rules)
    where = {rule.name: _even for rule in rules if rule.where is not None}
    after = _changed(case)
    before: Found | None = None
    for rows, moment in ((case.rows, "before"), (after, "after")):
        wanted: Found = {name: set(found) for name, found in reference.violations(rows, rules, where=where).items()}
        before = before or wanted
        for way, found in _ways_at_once(case, rules, rows).items():
            for name, own in found.items():
                assert own == wanted[name], f"{way}, {moment} the changes: {rules[name]}: {own} is not {wanted[name]}"
    totals = {rule.name: _total(rule, wanted[rule.name]) for rule in rules}
    _compare_explained(case, RandomRules(rules, where))
    batches = [[change] for change in case.changes] if case.in_steps else [case.changes]
    monitor = hf.Monitor(rules, schema=dict(case.types))
    monitor.insert(list(case.rows))
    for batch in batches:
        monitor.apply(list(batch))
    assert monitor.totals == totals, f"monitor: {monitor.totals} is not {totals}"
    for name, own in wanted.items():
        assert set(monitor.violations(name)) == own, f"monitor: {name}"
    monitor.assert_invariants()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        files = _written(case, batches, Path(folder))
        if case.job == "watch":
            _compare_watch(case, rules, files, before, wanted, Path(folder))
        elif case.job == "fragments":
            _compare_fragments(case, rules, files, wanted, Path(folder))
        else:
            _compare_evolve(case, files, after, Path(folder))


# States are written to the disk for good, file by file; where there is a folder in memory, that takes no time.
IN_MEMORY = next((str(place) for place in (Path("/dev/shm"),) if place.is_dir()), None)


def _compare_explained(case: Case, random: RandomRules) -> None:
    """What is told of a row is what it breaks, and a suggestion does what it is said to do."""
    if not case.rows:
        return
    key = case.rows[0]["id"]
    told = hf.explain(_arrow(case.types, case.rows), random.rules, str(key), engine="local")
    broken, was = {one.rule.name: one.violations for one in told.broken}, violations(case.rows, random, key)
    assert broken == was, f"explain: {broken} is not {was}"
    for one in told.suggestions:
        kind = case.types[one.column]
        value = read_texts([one.suggested], column_type(kind), ARROW[kind])[0].as_py()
        now = violations([{**r, one.column: value} if r["id"] == key else r for r in case.rows], random, key)
        fewer = [was.get(name, 0) - now.get(name, 0) for name in {*was, *now}]
        effect = sum(n for n in fewer if n > 0), -sum(n for n in fewer if n < 0)
        assert effect == (one.resolves, one.adds), f"suggestion {one}: {effect}"


def _written(case: Case, batches: Sequence[Sequence[Row]], folder: Path) -> list[Path]:
    """The batches as files."""
    files = []
    for number, batch in enumerate(batches):
        changes = pa.table({"_change_type": pa.array([c["_change_type"] for c in batch], pa.string())})
        for name, column in zip(case.types, _arrow(case.types, batch).columns, strict=True):
            changes = changes.append_column(name, column)
        files.append(folder / f"changes {number}.parquet")
        pq.write_table(changes, files[-1])
    return files


def _compare_watch(
    case: Case, rules: RuleSet, files: Sequence[Path], before: Found, wanted: Found, folder: Path
) -> None:
    hf.WatchState.create(folder / "watch", _arrow(case.types, case.rows), rules, engine="local")
    listed = {(name, *pair) for name, pairs in before.items() for pair in pairs}
    for file in files:
        outcome = hf.WatchState.open(folder / "watch", engine="local").apply(file, limit=None)
        added, removed = ({(v.rule, v.left, v.right) for v in some} for some in (outcome.added, outcome.removed))
        assert not added & listed, f"watch: what comes was there: {added & listed}"
        assert removed <= listed, f"watch: what goes was not there: {removed - listed}"
        listed = (listed - removed) | added
    assert listed == {(name, *pair) for name, pairs in wanted.items() for pair in pairs}, "watch: what came and went"
    state = hf.WatchState.open(folder / "watch", engine="local")
    kept, totals = dict(state.status.totals), {rule.name: _total(rule, wanted[rule.name]) for rule in rules}
    assert kept == totals, f"watch: {kept} is not {totals}"
    assert dict(state.show().totals) == totals, "watch, shown"
    assert not hf.WatchState.verify(folder / "watch").problems, "watch, verified"


def _compare_fragments(case: Case, rules: RuleSet, files: Sequence[Path], found: Found, folder: Path) -> None:
    """Sites keep dependencies; each tells the rows that are in violation."""
    own = tuple(rule for rule in rules if isinstance(rule.body, FD | CFD))
    names = [name for name in case.types if name != "id"]
    if not own:
        return
    halves = [names] if case.split == "horizontal" else [names[::2], names[1::2] or names[:1]]
    groups = [None] if case.split == "vertical" else [PARITY.format(0), PARITY.format(1)]
    sites = [Site(f"S{i}{j}", tuple(half), g) for i, g in enumerate(groups) for j, half in enumerate(halves)]
    data = {}
    for site in sites:
        held = [row for row in case.rows if site.where is None or PARITY.format(row["id"] % 2) == site.where]
        data[site.name] = _arrow({name: case.types[name] for name in ("id", *(site.columns or ()))}, held)
    split = SplitTable(("id",), tuple(sites), RuleSet(own, ("id",), rules.nulls))
    hf.FragmentsState.create(folder / "sites", split, data=data, engine="local")
    for file in files:
        hf.FragmentsState.open(folder / "sites", engine="local").apply(file)
    state = hf.FragmentsState.open(folder / "sites", engine="local")
    state.show(violations=str(folder / "of sites"))
    told = {(row["rule"], row["key"]) for row in pq.read_table(folder / "of sites" / "rows").to_pylist()}
    wanted = {(rule.name, key) for rule in own for pair in found[rule.name] for key in pair if key is not None}
    assert told == wanted, f"fragments, {case.split}: {told} is not {wanted}"


def _compare_evolve(case: Case, files: Sequence[Path], after: Sequence[Row], folder: Path) -> None:
    if len(case.types) > 4 or "binary" in case.types.values():
        return  # all pairs of many columns take long
    options = {"exclude": ["id"], "cross_columns": "off"}
    table = _arrow(case.types, case.rows)
    hf.EvolveState.create(folder / "evolve", table, key="id", engine="local", options=options)
    for file in files:
        hf.EvolveState.open(folder / "evolve", engine="local").apply(file)
    state = hf.EvolveState.open(folder / "evolve", engine="local")
    kept = {str(rule) for rule in state.show(top="all").found.rules}
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
    pieces = pa.concat_tables([_arrow(case.types, [row]) for row in rows]) if rows else _arrow(case.types, rows)
    in_pieces = hf.check(pieces, rules, engine="local", limit=None).to_dict()
    whole = result.to_dict()
    assert {**whole, "seconds": 0} == {**in_pieces, "seconds": 0}, "check, of a table in pieces"
    exported = [rule for rule in rules if _is_plain(rule, case.types, rows)]
    if exported:
        ways["SQL on SQLite"] = _by_sql(case, rules, rows, exported, _sqlite)
        ways["SQL on DuckDB"] = _by_sql(case, rules, rows, exported, _duckdb)
    return ways


def _by_sql(
    case: Case,
    rules: RuleSet,
    rows: Sequence[Row],
    exported: Sequence[Rule],
    database: Callable[[], tuple[Any, Dialect]],
) -> Found:
    connection, dialect = database()
    kinds = {"bigint": "BIGINT", "string": "VARCHAR"}
    names = [name for name, kind in case.types.items() if kind in kinds]
    columns = ", ".join(f"{_quoted(name)} {kinds[case.types[name]]}" for name in names)
    connection.execute(f"CREATE TABLE data ({columns})")
    for row in rows:
        marks = ", ".join("?" * len(names))
        connection.execute(f"INSERT INTO data VALUES ({marks})", [row[name] for name in names])
    found: Found = {}
    for rule in exported:
        query = rule_sql(rule, tables={"": DatabaseTable("data", ("id",))}, nulls=rules.nulls, dialect=dialect)
        listed = connection.execute(query).fetchall()
        found[rule.name] = {(row[0], row[1] if len(row) > 1 else None) for row in listed}
    connection.close()
    return found


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sqlite() -> tuple[Any, Dialect]:
    import sqlite3

    return sqlite3.connect(":memory:"), DIALECTS["sqlite"]


def _duckdb() -> tuple[Any, Dialect]:
    import duckdb

    return duckdb.connect(":memory:"), DIALECTS["duckdb"]


def _is_plain(rule: Rule, types: Mapping[str, str], rows: Sequence[Row]) -> bool:
    """Whether databases of all kinds mean the same by the rule: integers and text, and no values of a tableau."""
    names = rule.body.columns
    if any(types[name] not in ("bigint", "string") for name in names):
        return False
    if isinstance(rule.body, CFD) and not rule.body.inline:
        return False
    numbers = {abs(row[name] or 0) for row in rows for name in names if types[name] == "bigint"}
    functions = ON_ANYTHING | (ON_NUMBERS if max(numbers, default=0) < SMALL else frozenset())
    for constraint in rule.body.denials:
        for predicate in constraint.predicates:
            if isinstance(predicate, TextTest):
                return False
            if isinstance(predicate, Comparison):
                operands: list[Operand] = [predicate.left, predicate.right]
            else:
                operands = [predicate.column, *(predicate.values if isinstance(predicate, Membership) else ())]
            if not all(_is_plain_operand(operand, functions) for operand in operands):
                return False
    return True


def _is_plain_operand(operand: Operand, functions: frozenset[str]) -> bool:
    if isinstance(operand, Constant):
        value = operand.value
        return isinstance(value, int | str) and (operand.kind != "number" or abs(value) < 2**63)
    if isinstance(operand, Call):
        small = all(abs(c.value) < SMALL for c in operand.arguments if isinstance(c, Constant) and c.kind == "number")
        plain = all(_is_plain_operand(argument, functions) for argument in operand.arguments)
        return small and plain and operand.function in functions
    return True


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


def fuzz(minutes: float, first: int, examples: int, comparison: Comparing) -> Case | None:
    """Tries cases until the time is over; the smallest one found at which ways differ, and what they said, printed."""
    ends, number, tried = time.monotonic() + 60 * minutes, first, 0
    last: list[Case] = []
    while time.monotonic() < ends:

        @seed(number)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=cases())
        def all_say_the_same(case: Case) -> None:
            nonlocal tried
            tried += 1
            last[:] = [case]
            if time.monotonic() < ends:
                comparison(case)

        try:
            all_say_the_same()
        except Exception as problem:
            print(f"seed {number}: {type(problem).__name__}: {problem}\n")
            print(f"# This finds it again:\n{last[0].script(comparison)}")
            return last[0]
        number += 1
    print(f"{tried:,} cases, seeds {first:,} to {number - 1:,}: all ways say the same")
    return None


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=5.0)
    arguments.add_argument("--seed", type=int, default=None, help="the first seed; a random one otherwise")
    arguments.add_argument("--examples", type=int, default=200, help="cases per seed")
    arguments.add_argument("--spark", action="store_true", help="compare the engines of Spark")
    given_options = arguments.parse_args()
    first_seed = random.randrange(10**6) if given_options.seed is None else given_options.seed
    way = compare_on_spark if given_options.spark else compare
    sys.exit(0 if fuzz(given_options.minutes, first_seed, given_options.examples, way) is None else 1)
