"""Fragments on Spark: nothing but keys, ids and counts crosses, types meet, exactly once, and a database as a site."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import holdfast
from holdfast.engines.spark.fragments.fragment_meetings import meetings_of
from holdfast.engines.spark.fragments.fragments import FragmentedTable, fragmented
from holdfast.engines.spark.fragments.fragments_init import init_fragments
from holdfast.errors import HoldfastError
from holdfast.fragments.shipment_plan import plan_shipments
from holdfast.fragments.sites import parse_sites
from holdfast.states.limits import StateLimits
from postgres_server import driver_jar, postgres_server

PEOPLE = [
    {"id": f"k{i}", "town": f"town-{i % 4}", "zip": f"zip-{i % 3}", "street": f"street-{i % 2}", "grade": "ABC"[i % 3]}
    for i in range(12)
]
RULES = (
    "[\"zip -> street\", \"town = 'town-1', zip -> grade\", \"zip = 'zip-0', town = 'town-0' -> street = 'street-1'\"]"
)
VERTICAL = f"""
key: id
sites:
  T: {{columns: [town], data: T.parquet}}
  Z: {{columns: [zip], data: Z.parquet}}
  S: {{columns: [street, grade], data: S.parquet}}
rules: {RULES}
"""
HORIZONTAL = f"""
key: id
sites:
  A: {{where: "grade = 'A'", data: A.parquet}}
  B: {{where: "grade = 'B'", data: B.parquet}}
  C: {{where: "grade = 'C'", data: C.parquet}}
rules: {RULES}
"""
HYBRID = f"""
key: id
sites:
  A1: {{where: "grade < 'B'", columns: [town, grade], data: A1.parquet}}
  A2: {{where: "grade < 'B'", columns: [zip, street], data: A2.parquet}}
  R: {{where: "grade >= 'B'", data: R.parquet}}
rules: {RULES}
"""


def written(folder: Path) -> None:
    table = pa.Table.from_pylist(PEOPLE)
    for name, columns in (("T", ["town"]), ("Z", ["zip"]), ("S", ["street", "grade"])):
        pq.write_table(table.select(["id", *columns]), folder / f"{name}.parquet")
    for grade in "ABC":
        pq.write_table(table.filter(pc.equal(table.column("grade"), grade)), folder / f"{grade}.parquet")
    first = pc.equal(table.column("grade"), "A")
    pq.write_table(table.filter(first).select(["id", "town", "grade"]), folder / "A1.parquet")
    pq.write_table(table.filter(first).select(["id", "zip", "street"]), folder / "A2.parquet")
    pq.write_table(table.filter(pc.invert(first)), folder / "R.parquet")
    changed = [
        {**PEOPLE[0], "id": "k90", "_change_type": "insert"},
        {**PEOPLE[1], "street": "street-9", "_change_type": "update_postimage"},
        {**PEOPLE[2], "_change_type": "delete"},
        {**PEOPLE[3], "grade": "C", "zip": "zip-7", "_change_type": "update_postimage"},
    ]
    pq.write_table(pa.Table.from_pylist(changed), folder / "changes.parquet")


def made(spark: SparkSession, folder: Path, text: str) -> FragmentedTable:
    written(folder)
    (folder / "crossings").mkdir()
    sites = parse_sites(text, folder=folder)
    return init_fragments(spark, sites, folder / "state", record=str(folder / "crossings"))[0]


def test_no_value_of_the_table_crosses_between_sites_and_all_splits_tell_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    limits = StateLimits(files_of_one_size=2)  # files are merged after every other batch
    told = []
    for name, text in (("v", VERTICAL), ("h", HORIZONTAL), ("y", HYBRID)):
        folder = tmp_path / name
        folder.mkdir()
        state = made(spark, folder, text).with_limits(limits)
        totals = dict(state.manifest.totals)
        first = sum(pq.read_metadata(file).num_rows for file in (folder / "crossings").iterdir())
        outcome = state.newest().apply_file(str(folder / "changes.parquet"), limit=None)
        rows = assert_only_keys_ids_and_counts(folder)
        assert rows == first + outcome.shipped.eqids + outcome.shipped.tuples > first
        told.append([totals, outcome.added, outcome.removed, outcome.totals])
        for number, rows_of in enumerate((PEOPLE[4:7], PEOPLE[1:2])):
            gone = {"id": [row["id"] for row in rows_of], "_change_type": ["delete"] * len(rows_of)}
            pq.write_table(pa.table(gone), folder / f"gone{number}.parquet")
            outcome = state.newest().apply_file(str(folder / f"gone{number}.parquet"), limit=None)
            told[-1] += [outcome.added, outcome.removed, outcome.totals]
        later = state.newest()
        assert later.manifest.version > 3, "files have been merged, in a version of its own"
        assert later.violations.count() == sum(outcome.totals.values())
    assert told[0] == told[1] == told[2]
    assert told[0][1]


def assert_only_keys_ids_and_counts(folder: Path) -> int:
    """So many rows have crossed; neither among them nor in the state is any value of the table."""
    keys = {row["id"] for row in PEOPLE} | {"k90"}
    values = {value for row in PEOPLE for name, value in row.items() if name != "id" and len(value) > 1}
    rows = 0
    for file in (folder / "crossings").iterdir():
        table = pq.read_table(file)
        rows += table.num_rows
        assert set(table.column_names) <= {"key", "id", "side", "n"}
        for name in table.column_names:
            listed = table.column(name).to_pylist()
            if name == "key":
                assert set(listed) <= keys
            elif name == "n":
                assert all(-1 <= count < 16 for count in listed)
            else:
                assert all(len(one) in (0, 16) for one in listed)
        assert not any(value.encode() in file.read_bytes() for value in values)
    kept = list((folder / "state").rglob("*.arrow"))
    assert kept
    assert not any(value.encode() in file.read_bytes() for file in kept for value in values)
    return rows


def test_values_of_other_types_are_the_same_values(spark: SparkSession, tmp_path: Path) -> None:
    parts = {"X": (pa.int64(), [1, 0]), "Y": (pa.float64(), [1.0, -0.0])}
    for number, (name, (kind, some)) in enumerate(parts.items()):
        table = {
            "id": [10 * number, 10 * number + 1],
            "n": pa.array(some, kind),
            "b": [number, number],
            "s": [number] * 2,
        }
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    text = (
        "key: id\nsites:\n  X: {where: s = 0, data: X.parquet}\n  Y: {where: s = 1, data: Y.parquet}\nrules: [n -> b]\n"
    )
    state, _ = init_fragments(spark, parse_sites(text, folder=tmp_path), tmp_path / "state")
    assert state.manifest.totals == {"n-b": 4}


def test_conditions_on_the_left_side_need_nobody_else(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of two sites meet in no group where the sites' conditions speak of left columns, or contradict a pattern."""
    rules = '["grade, zip -> street", "grade = \'A\', zip -> town", "town = \'town-1\', zip -> street"]'
    state = made(spark, tmp_path, HORIZONTAL.replace(RULES, rules))
    pairs = {(i, j) for i in range(3) for j in range(i, 3)}
    assert state.fixed.meetings.apart == {(part, *pair) for part in (0, 1) for pair in pairs}
    cut = HORIZONTAL.replace(RULES, rules).replace("grade = 'B'", "grade = 'B' and town in ('town-1', 'town-5')")
    sites = parse_sites(cut.replace("grade = 'C'", "grade = 'C' or grade = 'B' and town not in ('town-1', 'town-5')"))
    whole = plan_shipments(sites, ["id", "town", "zip", "street", "grade"])
    # The second rule speaks of grade A, so that it cannot be met where B is wanted, whatever else is.
    apart = meetings_of(spark, whole, state.schema).apart
    assert {(1, 0, 1), (1, 1, 1), (1, 1, 2)} <= apart
    assert (2, 0, 1) not in apart
    shipped = state.newest().apply_file(str(tmp_path / "changes.parquet"), limit=None).shipped
    assert shipped.tuples <= 8


def test_keys_of_two_columns_and_files_of_text(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "X.csv").write_text("a,b,zip,town,s\n1,x,00123,Leith,0\n2,x,00124,Leith,0\n")
    (tmp_path / "Y.csv").write_text("a,b,zip,town,s\n1,y,45678,Perth,1\n")
    rows = "  X: {where: s = 0, data: X.csv}\n  Y: {where: s = 1, data: Y.csv}\n"
    (tmp_path / "sites.yaml").write_text(f"key: [a, b]\nsites:\n{rows}rules: [zip -> town]\n")
    status = holdfast.FragmentsState.create(tmp_path / "state", tmp_path / "sites.yaml").status
    assert (status.rows, status.totals) == (3, {"zip-town": 0})
    # Leading zeros make the column text, also where a file has none.
    (tmp_path / "new.csv").write_text("a,b,zip,town,s\n9,y,00123,Ayr,1\n9,z,045678,Ayr,1\n")
    told = holdfast.FragmentsState.open(tmp_path / "state").apply(tmp_path / "new.csv").to_dict()
    assert told["added"] == [{"rule": "zip-town", "key": [1, "x"]}, {"rule": "zip-town", "key": [9, "y"]}]
    (tmp_path / "gone.csv").write_text("a,b,_change_type\n9,y,delete\n")
    told = holdfast.FragmentsState.open(tmp_path / "state").apply(tmp_path / "gone.csv").to_dict()
    assert (told["removed_count"], told["totals"]) == (2, {"zip-town": 0})


def refused(spark: SparkSession, folder: Path, text: str) -> str:
    with pytest.raises(HoldfastError) as problem:
        init_fragments(spark, parse_sites(text, folder=folder), folder / "refused")
    assert not (folder / "refused" / "versions").exists() or not list((folder / "refused" / "versions").iterdir())
    shutil.rmtree(folder / "refused", ignore_errors=True)
    assert problem.value.exit_code == 2
    return str(problem.value)


def test_fragments_that_are_none_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path)
    table = pq.read_table(tmp_path / "Z.parquet")
    pq.write_table(table.slice(1), tmp_path / "short.parquet")
    pq.write_table(pa.concat_tables([table, table.slice(3, 1)]), tmp_path / "double.parquet")
    pq.write_table(table.rename_columns(["key", "zip"]), tmp_path / "keyless.parquet")
    assert "'T' has the key 'k0', but 'Z' has not" in refused(spark, tmp_path, VERTICAL.replace("Z.parq", "short.parq"))
    assert "the key 'k3' stands twice at site 'Z'" in refused(
        spark, tmp_path, VERTICAL.replace("Z.parq", "double.parq")
    )
    assert "lacks the key 'id'" in refused(spark, tmp_path, VERTICAL.replace("Z.parq", "keyless.parq"))
    assert "lacks the column 'zap'" in refused(spark, tmp_path, VERTICAL.replace("[zip]", "[zip, zap]"))
    overlapping = refused(spark, tmp_path, HORIZONTAL.replace("grade = 'B'", "grade <= 'B'"))
    assert "at site 'A' also satisfies grade <= 'B'" in overlapping
    left_out = refused(spark, tmp_path, HORIZONTAL.replace("grade = 'C'", "grade = 'D'"))
    assert "at site 'C' does not satisfy the site's condition grade = 'D'" in left_out
    assert "does not say where its data is" in refused(spark, tmp_path, VERTICAL.replace(", data: Z.parquet", ""))
    assert "cannot be read" in refused(spark, tmp_path, HORIZONTAL.replace("grade = 'C'", "grade === 'C'"))


def test_changes_that_do_not_fit_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    state = made(spark, tmp_path, HORIZONTAL)
    before = sorted(file.name for file in (tmp_path / "state").rglob("*") if file.is_file())
    for change, told in (
        ({**PEOPLE[0], "id": "new", "grade": "Q"}, "belongs to no site"),
        ({**PEOPLE[0]}, "'k0' is inserted, but is there already"),
        ({**PEOPLE[0], "id": "gone", "_change_type": "delete"}, "'gone' is deleted, but is not there"),
        ({"id": "new", "town": "x"}, "lack columns"),
        ({**PEOPLE[0], "id": None}, "a row without a key"),
    ):
        texts = pa.schema([(name, pa.string()) for name in change])
        pq.write_table(pa.Table.from_pylist([change], texts), tmp_path / "bad.parquet")
        with pytest.raises(HoldfastError) as problem:
            state.newest().apply_file(str(tmp_path / "bad.parquet"), limit=None)
        assert told in str(problem.value)
        assert problem.value.exit_code == 2
        assert sorted(file.name for file in (tmp_path / "state").rglob("*") if file.is_file()) == before


def test_states_of_watch_and_of_fragments_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    from holdfast.engines.spark.watching.watch import watched

    made(spark, tmp_path, VERTICAL)
    with pytest.raises(HoldfastError, match="made by holdfast fragments"):
        watched(spark, tmp_path / "state")
    with pytest.raises(HoldfastError, match="there is no state"):
        fragmented(spark, str(tmp_path / "nothing"))


# A database as a site ---------------------------------------------------------------------------------------------


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[str]:
    """A server of its own with a table of zip codes, and the URL of that table."""
    rows = ", ".join(f"('{row['id']}', '{row['zip']}')" for row in PEOPLE)
    script = f"create table zips (id text primary key, zip text); insert into zips values {rows};"
    with postgres_server(tmp_path, [script]) as url:
        yield f"{url}#zips"


DATABASE = """
import sys
from holdfast.api import FragmentsState
folder, jar = sys.argv[1:]
conf = {"spark.jars": jar, "spark.driver.extraClassPath": jar, "spark.sql.shuffle.partitions": "1"}
created = FragmentsState.create(folder + "/state", folder + "/sites.yaml", master="local[2]", conf=conf)
print(dict(created.status.totals))
print(FragmentsState.open(folder + "/state").apply(folder + "/changes.parquet").to_dict()["totals"])
"""


def test_a_table_of_a_database_is_a_site(spark: SparkSession, postgres: str, tmp_path: Path) -> None:
    state = made(spark, tmp_path, VERTICAL)
    first = dict(state.manifest.totals)
    wanted = state.newest().apply_file(str(tmp_path / "changes.parquet"), limit=None)
    there = tmp_path / "there"
    there.mkdir()
    written(there)
    (there / "Z.parquet").unlink()
    (there / "sites.yaml").write_text(VERTICAL.replace("data: Z.parquet", f'data: "{postgres}"'), encoding="utf-8")
    # A driver is loaded when a session starts, so that this has one of its own.
    command = [sys.executable, "-c", DATABASE, str(there), str(driver_jar())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(first), str(dict(wanted.totals))]
    # What the sites file says of the way to the database, which may be secret, is not kept.
    assert postgres not in (there / "state" / "fragments.json").read_text("utf-8")
