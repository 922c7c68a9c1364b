"""What a state keeps through many batches: few files, all ids, whole versions for readers; also on Spark Connect."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.api import WatchState
from holdfast.engines.spark.watching.watch import watched
from holdfast.engines.states.watched_table import WatchedTable
from holdfast.errors import ChangeError
from holdfast.states.limits import StateLimits

RULES = ["g -> a", "not(t.g = s.g and t.a > s.a and t.b < s.b)", "not(t.a > s.a and t.b < s.b)", "not(t.a > 8)"]
CONNECT = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
import holdfast as hf
from holdfast.errors import ChangeError, OptionError
from holdfast.api import WatchState
from refusing_platform import refuse_like_serverless
refuse_like_serverless()
spark = SparkSession.builder.getOrCreate()
state, data, changes, rules = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
WatchState.create(state, data, rules, key="id")
outcome = WatchState.open(state).apply(changes)
told = [outcome.to_dict(), WatchState.open(state).show().to_dict()["totals"]]

# A folder, twice: what is in is not told again. Then a file that does not fit.
lines, folder = [], Path(sys.argv[5])
def tell(done, name):
    lines.append([name, done.applied, dict(done.totals)])
def run():
    WatchState.open(state).follow(folder, once=True, on_batch=tell)
run()
run()
(folder / "z.csv").write_text("id,g,a,b,_change_type\\n5000,1,1,1,delete\\n")
try:
    run()
except ChangeError as problem:
    lines.append(str(problem))

# A stream in code: it works, but nobody could be told of its batches.
schema = "id bigint, g bigint, a bigint, b bigint, _change_type string"
stream = spark.readStream.schema(schema).option("header", True).option("pathGlobFilter", "a.csv").csv(str(folder))
asked = {"key": "id", "checkpoint": state + "-stream", "trigger": {"availableNow": True}}
try:
    hf.watch(stream, rules, on_batch=print, **asked)
except OptionError as problem:
    lines.append(str(problem))
query = hf.watch(stream, rules, **asked)
assert query.awaitTermination(300) and query.exception() is None
print(json.dumps([*told, lines, dict(WatchState.open(state + "-stream/state").show().totals)]))
"""


def table(path: Path, keys: range, kind: str | None = None, seed: int = 0) -> Path:
    chance = random.Random(f"{path.name} {seed}")
    lines = [f"{i},{chance.randrange(3)},{chance.randrange(10)},{chance.randrange(9)}" for i in keys]
    head = "id,g,a,b" + ("" if kind is None else ",_change_type")
    path.write_text("\n".join([head, *(line + ("" if kind is None else f",{kind}") for line in lines)]) + "\n")
    return path


def totals_now(state: WatchedTable) -> dict[str, int]:
    with state.check(limit=0) as result:
        rules = result.to_dict()["rules"]
    return {r["name"]: r["violating_rows"] if r["violating_pairs"] is None else r["violating_pairs"] for r in rules}


def test_many_batches_leave_few_files_and_exact_totals(spark: SparkSession, tmp_path: Path) -> None:
    limits = StateLimits(files_of_one_size=3, rows_before_rewrite=60)
    state = tmp_path / "state"
    WatchState.create(state, table(tmp_path / "t.csv", range(80)), RULES, key="id")
    for number in range(7):
        kind = "update_postimage" if number % 2 else "insert"
        keys = (
            range(20 * number, 20 * number + 30) if kind != "insert" else range(1000 + 20 * number, 1020 + 20 * number)
        )
        keys = range(min(keys.start, 50), min(keys.start, 50) + 30) if kind != "insert" else keys
        changes = table(tmp_path / f"c{number}.csv", keys, kind)
        done = watched(spark, state).with_limits(limits).apply_file(str(changes), limit=0)
        assert done.applied
    now = watched(spark, state)
    assert done.totals == now.manifest.totals == totals_now(now)
    assert now.manifest.version > 7, "files were merged in versions of their own"
    assert now.manifest.rows == 160 == now.frame.count()
    for own in now.manifest.body.tables.values():
        assert len([s for s in own.segments if not s.base]) < 6
    assert any(s.base and s.rows > 80 for s in now.manifest.body.row_table.segments), "the table was written anew"


def test_a_batch_is_known_after_its_version_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    limits = StateLimits(kept_versions=2)
    state = tmp_path / "state"
    WatchState.create(state, table(tmp_path / "t.csv", range(10)), RULES[:1], key="id")
    before = watched(spark, state)
    first = table(tmp_path / "first.csv", range(10, 20), "insert")
    for number, changes in enumerate(
        [first, *(table(tmp_path / f"c{i}.csv", range(5), "update_postimage") for i in range(3))]
    ):
        assert watched(spark, state).with_limits(limits).apply_file(str(changes), limit=None).applied
        if number == 0:
            assert before.frame.count() == 10, "who opened a version reads that version"
    again = watched(spark, state).with_limits(limits).apply_file(str(first), limit=None)
    assert not again.applied
    assert len(list((state / "versions").iterdir())) <= 3
    needed = watched(spark, state).manifest.body.files
    assert {f"rows/{p.name}" for p in (state / "rows").iterdir()} >= {f for f in needed if f.startswith("rows/")}


def test_long_tableaux_and_conditions_are_watched(spark: SparkSession, tmp_path: Path) -> None:
    lines = "".join(f"      - {{g: {i}, a: {i % 7}}}\n" for i in range(60))
    head = "key: id\nrules:\n  - name: long\n    rule: g -> a\n    where: b < 8\n    patterns:\n"
    (tmp_path / "rules.yaml").write_text(f"{head}{lines}      - {{g: _, a: _}}\n")
    state = tmp_path / "state"
    WatchState.create(state, table(tmp_path / "t.csv", range(60)), tmp_path / "rules.yaml")
    done = WatchState.open(state).apply(table(tmp_path / "c.csv", range(20, 40), "update_postimage"))
    assert done.added_count
    now = watched(spark, state)
    assert done.totals == now.manifest.totals == totals_now(now)


def test_changes_take_the_types_of_the_state(spark: SparkSession, tmp_path: Path) -> None:
    made = "SELECT CAST(d AS DATE) AS day, CAST(n AS DECIMAL(9,2)) AS n, CAST(i AS INT) AS i, t FROM VALUES "
    made += "('2024-01-01', 1.5, 1, TIMESTAMP '2024-01-01 10:00:00'), ('2024-01-02', 2.5, 2, NULL) AS v(d, n, i, t)"
    spark.sql(made).coalesce(1).write.parquet(str(tmp_path / "t"))
    state = tmp_path / "state"
    WatchState.create(state, tmp_path / "t", ["unique(i)", "not(t.t > s.t and t.n < s.n)"], key=["day", "n"])
    (tmp_path / "more.json").write_text('{"day": "2024-01-03", "n": 3, "i": 2, "t": "2024-01-01 09:00:00"}\n')
    done = WatchState.open(state).apply(tmp_path / "more.json")
    assert done.totals == {"unique-i": 1, "t-n": 1}
    assert done.to_dict()["added"][0] == {
        "rule": "unique-i",
        "left": ["2024-01-02", "2.50"],
        "right": ["2024-01-03", "3.00"],
    }
    (tmp_path / "wide.json").write_text('{"day": "2024-01-04", "n": 3, "i": 3}\n')
    with pytest.raises(ChangeError, match="the changes lack columns"):
        WatchState.open(state).apply(tmp_path / "wide.json")
    (tmp_path / "wide.json").write_text('{"day": "2024-01-04", "n": 3, "i": 3000000000, "t": null}\n')
    with pytest.raises(ChangeError, match="the value 3000000000 does not fit the column 'i', which is int"):
        WatchState.open(state).apply(tmp_path / "wide.json")
    assert watched(spark, state).manifest.version == 1


def test_a_serverless_platform_gives_the_same(spark: SparkSession, connect_url: str, tmp_path: Path) -> None:
    data = table(tmp_path / "t.csv", range(40))
    changes = table(tmp_path / "c.csv", range(5, 15), "update_postimage")
    WatchState.create(tmp_path / "classic", data, RULES, key="id")
    classic = WatchState.open(tmp_path / "classic").apply(changes)
    (tmp_path / "in").mkdir()
    more = table(tmp_path / "in" / "a.csv", range(100, 110), "insert")
    arguments = [str(tmp_path / "connect"), str(data), str(changes), json.dumps(RULES), str(tmp_path / "in")]
    env = {**os.environ, "SPARK_REMOTE": connect_url, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", CONNECT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    outcome, totals, lines, streamed = json.loads(done.stdout.splitlines()[-1])
    assert outcome == classic.to_dict()
    assert totals == classic.totals
    assert lines[0] == ["a.csv", True, WatchState.open(tmp_path / "classic").apply(more).totals]
    assert lines[1].startswith("z.csv: the key 5000 is deleted, but is not there")
    assert "on Spark Connect the batches of a stream run on the server" in lines[2]
    assert len(lines) == 3
    empty = table(tmp_path / "empty.csv", range(1), None)
    WatchState.create(tmp_path / "fresh", empty, RULES, key="id")
    WatchState.open(tmp_path / "fresh").apply(table(tmp_path / "none.csv", range(1), "delete"))
    assert streamed == WatchState.open(tmp_path / "fresh").apply(more).totals
