"""Fragments on Spark: what Spark says of bad sites, types that meet, nothing but keys crosses, a database as a site."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from holdfast.api import FragmentsState
from holdfast.engines.local.local_engine import LocalEngine
from holdfast.engines.spark.states.spark_engine import SparkEngine
from holdfast.engines.states.init_fragments import init_fragments
from holdfast.engines.states.state_engine_choice import StateEngineChoice
from holdfast.errors import HoldfastError, SitesError
from holdfast.fragments.sites import parse_sites
from postgres_server import driver_jar, postgres_server
from unit.engines.test_fragmented_table import (
    HORIZONTAL,
    HYBRID,
    PEOPLE,
    RULES,
    VERTICAL,
    assert_only_keys_ids_and_counts,
    made,
    written,
)


def test_no_value_of_the_table_crosses_between_sites(spark: SparkSession, tmp_path: Path) -> None:
    told = []
    for engine in (SparkEngine(spark), LocalEngine()):
        folder = tmp_path / engine.name
        folder.mkdir()
        state = made(engine, folder, HYBRID)
        outcome = state.newest().apply_file(str(folder / "changes.parquet"), limit=None)
        rows = assert_only_keys_ids_and_counts(folder)
        told.append((rows, dict(state.manifest.totals), outcome.added, outcome.removed, outcome.shipped))
        assert state.newest().violations.count() == sum(outcome.totals.values())
    assert told[0] == told[1]


def test_sites_that_cannot_be_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path)
    engine = SparkEngine(spark)
    (tmp_path / "C.csv").write_text("id,town,zip,street,grade\nk2,town-2,zip-2,street-0,C,too,many\n")
    short = pq.read_table(tmp_path / "Z.parquet").slice(1)
    pq.write_table(short, tmp_path / "short.parquet")
    big = pa.table({"id": ["k90"], "town": ["t"], "zip": pa.array([2**53 + 1]), "street": ["s"], "grade": ["C"]})
    pq.write_table(big, tmp_path / "big.parquet")
    near = pa.table({"id": ["k91"], "town": ["t"], "zip": pa.array([0.5]), "street": ["s"], "grade": ["B"]})
    pq.write_table(near, tmp_path / "near.parquet")
    other = "\n".join(line for line in HORIZONTAL.splitlines() if "A.parquet" not in line).replace(
        RULES, "[zip -> street]"
    )
    for text, told in (
        (VERTICAL.replace("Z.parq", "short.parq"), "'T' has the key 'k0', but 'Z' has not"),
        (HORIZONTAL.replace("grade = 'C'", "grade === 'C'"), "cannot be read"),
        (HORIZONTAL.replace("C.parquet", "C.csv"), "site 'C': "),
        (other.replace("B.parq", "near.parq").replace("C.parq", "big.parq"), "9007199254740993 of the column 'zip'"),
    ):
        with pytest.raises(HoldfastError) as problem:
            init_fragments(engine, parse_sites(text, folder=tmp_path), tmp_path / "refused")
        assert told in str(problem.value)
        assert problem.value.exit_code == 2


def test_a_condition_that_only_spark_computes_is_computed_there(spark: SparkSession, tmp_path: Path) -> None:
    """What is true of a rule's constants, too: rows of grade A are at the first site alone."""
    written(tmp_path)
    text = HORIZONTAL.replace("grade = ", "upper(grade) = ").replace("zip -> street", "grade = 'A', zip -> street")
    sites = parse_sites(text, folder=tmp_path)
    with pytest.warns(UserWarning, match="this runs on Spark: the condition"):
        state, _ = StateEngineChoice().run(
            LocalEngine(), lambda engine: init_fragments(engine, sites, tmp_path / "state")
        )
    assert (0, 0, 1) in state.fixed.meetings.apart
    assert (1, 0, 1) not in state.fixed.meetings.apart
    assert state.newest().apply_file(str(tmp_path / "changes.parquet"), limit=None).applied


def test_frames_of_a_caller_are_sites(spark: SparkSession, tmp_path: Path) -> None:
    sites = parse_sites("key: id\nsites:\n  L: {columns: [a]}\n  R: {columns: [b]}\nrules: [a -> b]\n")
    left = spark.createDataFrame([(1, 5), (2, 5)], "id int, a int")
    right = pa.table({"id": pa.array([1, 2], pa.int32()), "b": ["x", "y"]})
    status = FragmentsState.create(tmp_path / "state", sites, data={"L": left, "R": right}).status
    assert (status.rows, status.totals) == (2, {"a-b": 2})
    with pytest.raises(SitesError, match="no data is given for site 'R'"):
        FragmentsState.create(tmp_path / "other", sites, data={"L": left})


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


@pytest.mark.soak
def test_a_table_of_a_database_is_a_site(spark: SparkSession, postgres: str, tmp_path: Path) -> None:
    state = made(SparkEngine(spark), tmp_path, VERTICAL)
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
