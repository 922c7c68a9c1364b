"""The caller's session is used as it is; a new one takes the user's settings and is silent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from holdfast.engines.spark.session import get_session, is_connect
from holdfast.errors import OptionError


def python(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """`script` in a process of its own, in `folder`, with only those Spark variables that are given."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=env | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def test_a_running_session_is_the_one(spark: SparkSession) -> None:
    assert get_session() is spark
    assert get_session(master="local[2]", conf={"spark.ui.enabled": "false"}) is spark
    assert not is_connect(spark)


def test_a_thread_of_its_own_gets_the_same_spark(spark: SparkSession) -> None:
    found: list[SparkSession] = []
    thread = threading.Thread(target=lambda: found.append(get_session()))
    thread.start()
    thread.join()
    assert found[0].sparkContext is spark.sparkContext


def test_an_interrupt_is_one_where_spark_cannot_cancel_its_jobs(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError("the way to Java is cut")

    monkeypatch.setattr(spark.sparkContext, "cancelAllJobs", fail)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_what_can_still_change_is_changed_on_a_running_session(spark: SparkSession) -> None:
    key = "spark.sql.shuffle.partitions"
    before = spark.conf.get(key)
    assert before is not None
    try:
        get_session(conf={key: "5"})
        assert spark.conf.get(key) == "5"
    finally:
        spark.conf.set(key, before)


def test_what_cannot_change_is_refused_and_nothing_is_changed(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    with pytest.raises(OptionError, match=r"'spark.driver.memory'.*already running"):
        get_session(conf={"spark.sql.shuffle.partitions": "5", "spark.driver.memory": "77g"})
    with pytest.raises(OptionError, match="does not accept"):
        get_session(conf={"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "many"})
    assert spark.conf.get("spark.sql.shuffle.partitions") == before


def test_another_master_than_the_running_one_is_refused(spark: SparkSession) -> None:
    with pytest.raises(OptionError, match=r"'local\[7\]'.*already running on 'local\[2\]'"):
        get_session(master="local[7]")


OWN_SETTINGS = """
import json, os
ours = ["JAVA_HOME", "PYSPARK_PYTHON", "SPARK_HOME", "SPARK_LOCAL_IP", "SPARK_SUBMIT_OPTS"]
before = [os.environ.get(name) for name in ours]
from holdfast.engines.spark.session import get_session
session = get_session(conf={"spark.app.name": "by conf"})
keys = ["spark.master", "spark.app.name", "spark.sql.shuffle.partitions", "spark.ui.enabled", "spark.driver.host"]
found = {key: session.conf.get(key, None) for key in keys}
found["rows"] = session.range(3).count()
found["environment kept"] = [os.environ.get(name) for name in ours] == before
session.stop()
again = get_session(master="local[1]")
found["after stop"] = again.range(4).count()
print(json.dumps(found))
"""


def test_the_users_own_settings_win(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text("spark.sql.shuffle.partitions 11\nspark.app.name by-file\n")
    work = tmp_path / "work"
    work.mkdir()
    arguments = "--master local[1] --conf spark.ui.showConsoleProgress=false pyspark-shell"
    result = python(OWN_SETTINGS, work, SPARK_CONF_DIR=str(conf), PYSPARK_SUBMIT_ARGS=arguments)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {
        "spark.master": "local[1]",
        "spark.app.name": "by conf",
        "spark.sql.shuffle.partitions": "11",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "rows": 3,
        "environment kept": True,
        "after stop": 4,
    }
    assert result.stderr == ""
    assert list(work.iterdir()) == []


FAILING_QUERY = """
from holdfast.engines.spark.session import get_session
session = get_session(master="local[1]")
for query in ["select raise_error('boo')", "select nothing from nowhere"]:
    try:
        session.sql(query).collect()
    except Exception as error:
        print(type(error).__name__)
"""


def test_a_failing_query_prints_no_java_trace(tmp_path: Path) -> None:
    result = python(FAILING_QUERY, tmp_path)
    of_spark = "Py4JJavaError" if pyspark.__version__.startswith("3.") else "SparkRuntimeException"
    assert result.stdout.split() == [of_spark, "AnalysisException"]
    assert result.stderr == ""


CONNECT = """
from holdfast.engines.spark.session import get_session, is_connect
session = get_session(conf={"spark.sql.shuffle.partitions": "3"})
print(is_connect(session), session.range(3).count(), session.conf.get("spark.sql.shuffle.partitions"))
print(get_session() is session)
"""


@pytest.mark.soak  # this server of Connect is another Java; other tests of Connect use that of the tests
@pytest.mark.usefixtures("connect_port")
def test_spark_remote_gives_a_connect_session(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect's extras are not installed")
    pytest.importorskip("grpc_status", reason="Spark Connect's extras are not installed")
    result = python(CONNECT, tmp_path, SPARK_REMOTE="local[1]")
    assert result.stdout.split() == ["True", "3", "3", "True"], result.stderr
