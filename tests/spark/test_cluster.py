"""Jobs on executors in processes of their own, whose Python has not got the project, only what was sent along."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.api import WatchState
from holdfast.engines.spark.archive import write_archive
from holdfast.engines.spark.arrow_table import arrow_table
from holdfast.rules.rule import rule_set
from small_table_settings import SMALL_TABLES

RULES = [
    "unique(g, a)",
    "g -> d",
    "not(t.g = s.g and t.a > s.a and t.b < s.b)",
    "not(t.a > s.a and t.b < s.b)",
    "not(t.d = s.e and t.e = s.d and t.b != s.b)",
    "not(t.a > t.b and t.d = 3)",
]
# A grouping, rows that meet by an equality, and rows that meet as left row here and as right row there.
FEW_RULES = [RULES[n] for n in (1, 2, 4)]
# Few: without an equality, Spark SQL compares all pairs. A discovery has more, so that no rule holds by accident.
ROWS = 600
NUMBERS = """
SELECT id, pmod(hash(id, 1), 8) AS g, pmod(hash(id, 2), 90) AS a,
       pmod(hash(id, 2), 90) + IF(pmod(hash(id, 3), 50) = 0, -40, 0) AS b,
       pmod(hash(id, 4), 7) AS d, pmod(hash(id, 5), 7) AS e
FROM range({rows})
"""
SCRIPT = """
import json, sys
import holdfast as hf
from holdfast.rules.rule import rule_set
from holdfast.engines.spark.checking.spread_engine import SpreadLimits
from holdfast.engines.spark.checking.check import plan_check, run_check
from holdfast.engines.spark.session import get_session
from holdfast.engines.spark.sources.table import Table
archive, rules = sys.argv[1], json.loads(sys.argv[2])
spark = get_session(master="local-cluster[2,1,1024]", conf={
    "spark.submit.pyFiles": archive, "spark.sql.shuffle.partitions": "2",
    "spark.executorEnv.XDG_CACHE_HOME": sys.argv[3] + "/cache", **json.loads(sys.argv[8]),
})
rows = int(sys.argv[6])
spread = SpreadLimits(least_rows=rows // 4)
frame = spark.sql(sys.argv[4].format(rows=rows))
said = []
for engine, checked in (("kernel", rules), ("spread", json.loads(sys.argv[7]))):
    table = Table(frame, "numbers")
    plan = plan_check(table, rule_set(checked), ("id",))
    with run_check(spark, table, plan, limit=None, engine=engine, spread=spread) as result:
        said.append([result.to_dict()["rules"], result.pairs.count(), result.rows.count(), result.suspects.count()])
from holdfast.engines.discovery import run_discover
from holdfast.engines.spark.discovery.discover import SparkDiscovery
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions
found = []
for least in (10 ** 9, 2):
    some = spark.sql(sys.argv[4].format(rows=2000)).selectExpr("id", "g", "pmod(g, 4) AS h", "id div 7 AS week", "b")
    options = DiscoverOptions(cross_columns=None, limits=SearchLimits(shared_rows=least))
    outcome = run_discover(SparkDiscovery(Table(some, "some")), options).outcome
    found.append([sorted(str(rule) for rule in outcome.rules), outcome.to_dict()["evidence"], outcome.complete])
    found[-1].append([one["coverage"] for one in outcome.to_dict()["rules"]])
    found[-1].append([(one.column, one.says, str(one.rule)) for one in outcome.column_rules])
import os, signal, threading
from pathlib import Path
from holdfast.api import WatchState
sys.path.append(sys.argv[5])
from waiting import wait_until
folder = Path(sys.argv[3])
init = WatchState.create(folder / "state", frame, rules, key="id").status
kinds = "IF(id % 3 = 0, 'delete', 'update_postimage') AS _change_type"
changes = frame.where("id % 5 = 0").selectExpr("id", "g", "a", "b + 1 AS b", "d", "e", kinds)
changes.coalesce(1).write.parquet(str(folder / "changes"))
new = f"id + {rows} AS id, g, a, b, d, e, 'insert' AS _change_type"
frame.selectExpr(*new.split(", ")).coalesce(1).write.parquet(str(folder / "more"))

def executors():
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and os.getsid(int(place.name)) == os.getsid(0):
                words = (place / "cmdline").read_bytes().split(b"\\0")
                if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
                    yield int(place.name)
        except OSError:
            continue

killed = []
def kill_one():
    # In the middle of the batch: its tasks have begun to write, and none of that counts yet.
    written = folder / "state" / "rows"
    before = len(list(written.iterdir()))
    wait_until(lambda: len(list(written.iterdir())) > before, "the batch to write rows")
    victim = next(executors())
    os.kill(victim, signal.SIGKILL)
    killed.append(victim)

told = [init.totals, WatchState.open(folder / "state").apply(folder / "changes").to_dict()]
killer = threading.Thread(target=kill_one, daemon=True)
killer.start()
told.append(WatchState.open(folder / "state").apply(folder / "more").to_dict())
killer.join(60)
shown = WatchState.open(folder / "state").show()  # which checks the totals against the table as it is
told += [shown.totals, shown.rows, len(killed)]
print(json.dumps([said, found, told]))
"""


@pytest.mark.parametrize(
    ("rules", "spread_rules"),
    [(FEW_RULES, FEW_RULES[-1:]), pytest.param(RULES, RULES, marks=pytest.mark.soak)],
    ids=["few", "all"],
)
def test_a_cluster_whose_workers_only_have_the_archive_finds_the_same(
    spark: SparkSession, tmp_path: Path, rules: list[str], spread_rules: list[str]
) -> None:
    archive = tmp_path / "holdfast.zip"
    write_archive(archive)
    # Without site, no .pth file is read, and so an editable installation of the project is not seen.
    python = tmp_path / "python"
    libraries = sysconfig.get_paths()["purelib"]
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{libraries}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    bare = subprocess.run([str(python), "-c", "import pyarrow, holdfast"], capture_output=True, text=True, cwd=tmp_path)
    assert "No module named 'holdfast'" in bare.stderr

    tests = str(Path(__file__).parents[1])
    arguments = [str(archive), json.dumps(rules), str(tmp_path / "files"), NUMBERS, tests, str(ROWS)]
    arguments += [json.dumps(spread_rules), json.dumps(SMALL_TABLES)]
    command = [sys.executable, "-c", SCRIPT, *arguments]
    env = {**os.environ, "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=1500, cwd=tmp_path, env=env, start_new_session=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (kernel, spread), (alone, shared), watched = json.loads(done.stdout.splitlines()[-1])
    # What this process says of the same rows, without Spark.
    numbers = spark.sql(NUMBERS.format(rows=ROWS))

    def here(checked: list[str]) -> list[Any]:
        with hf.check(arrow_table(numbers), checked, key="id", limit=None, engine="local") as result:
            tables = (result.pairs, result.rows, result.suspects)
            return list(json.loads(json.dumps([result.to_dict()["rules"], *(table.count() for table in tables)])))

    assert [rule["name"] for rule in kernel[0]] == [rule.name for rule in rule_set(rules)]
    assert all(rule["violating_rows"] for rule in kernel[0])
    assert kernel == here(rules)
    assert spread == here(spread_rules)
    assert alone[0] == ["g -> h", "if t.id <= s.id then t.week <= s.week", "unique(id)"]
    assert alone[2] is True
    assert shared == alone

    first, changed, more, totals, rows, killed = watched
    assert killed == 1
    assert rows == 2 * ROWS - len(range(0, ROWS, 15))
    assert changed["applied"]
    assert more["applied"]
    assert changed["added_count"] > 0 < changed["removed_count"]
    assert more["totals"] == totals
    # The same in this process, of the same rows: the hashes are Spark's own.
    pq.write_table(arrow_table(numbers), tmp_path / "numbers.parquet")
    made = WatchState.create(tmp_path / "state", tmp_path / "numbers.parquet", rules, key="id", engine="local")
    assert made.status.totals == first
    for folder, told in (("changes", changed), ("more", more)):
        done_here = WatchState.open(tmp_path / "state", engine="local").apply(tmp_path / "files" / folder).to_dict()
        assert {**done_here, "batch": told["batch"]} == told
