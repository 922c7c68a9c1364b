"""One Spark session and one browser for all tests that need them."""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import json
import os
import secrets
import shutil
import socket
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from small_table_settings import SMALL_TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.scheduler import LoadScopeScheduling

# What tests share asserts, too: it says what differs, and does so also where Python leaves assertions out (-O).
pytest.register_assert_rewrite("matching_checks", "row_trials", "strategies", "valid_formats")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Whoever runs the tests may have a narrow window; what is printed to a file is as wide as it is for everybody.
os.environ.pop("COLUMNS", None)

# A Spark of the tests lives shortly, on tables of a few rows: Java's second compiler costs more there than it brings.
# Without that compiler Java reserves little room for compiled code, and compiles nothing more when it is full. Nor are
# there cores to collect garbage on side by side; with room for what planning leaves behind, little is collected.
_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
_MEMORY = "-XX:+UseSerialGC -Xmn512m -XX:MetaspaceSize=256m"
os.environ["SPARK_SUBMIT_OPTS"] = f"{_COMPILER} {_MEMORY} {os.environ.get('SPARK_SUBMIT_OPTS', '')}".rstrip()

# Nor does a command that a test runs prepare the start of the next one.
os.environ["HOLDFAST_CDS"] = "0"

# No deadline: the machines that run these tests are shared, and a time says nothing there.
settings.register_profile("holdfast", deadline=None, print_blob=True)
settings.load_profile("holdfast")


# What takes long alone comes first, so that of the processes that run the tests none waits for it at the end.
_FIRST = (
    *("test_in_pipelines.py", "test_best_match_all.py", "test_watch_crashes.py", "test_evolve_crashes.py"),
    *("test_fragments_crashes.py", "test_without_spark.py", "test_fragments_match_reference.py"),
    *("test_discover_matches_reference.py", "test_tables_watch_matches_reference.py"),
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()  # hardly anything that is collected goes again
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that need a Spark session come first."""
    places = {name: place for place, name in enumerate(_FIRST)}
    tests_of = Counter(item.path for item in items if _needs_session(item))
    sessions, sizes = {}, [0] * _SESSIONS
    for path, many in sorted(tests_of.items(), key=lambda file: (-file[1], file[0])):
        sessions[path] = sizes.index(min(sizes))
        sizes[sessions[path]] += many
    on_spark = {item.nodeid: sessions[item.path] for item in items if _needs_session(item)}
    items.sort(key=lambda item: (on_spark.get(item.nodeid, _SESSIONS), places.get(item.path.name, len(_FIRST))))
    given = getattr(config, "workerinput", {})
    if given.get("workerid") == "gw0":
        Path(given["on_spark"]).write_text(json.dumps(on_spark), encoding="utf-8")


def _needs_session(item: pytest.Item) -> bool:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return "spark" in getattr(item, "fixturenames", ()) or parameters.get("engine") == "spark"


# Of the processes that run the tests side by side, so many run all that need a Spark session: Java starts and becomes
# quick no more often than that. One would take longer for them than all others for the rest. The processes know which
# these tests are; the one that hands tests out reads it in a file.
_SESSIONS = 2
_ON_SPARK = pytest.StashKey[Path]()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    place = node.config.stash.setdefault(_ON_SPARK, Path(tempfile.gettempdir(), f"holdfast-{secrets.token_hex(6)}"))
    node.workerinput["on_spark"] = str(place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Gives a process the tests of a file, which share fixtures, or half of those that need a Spark session."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class FewSessions(LoadFileScheduling):  # type: ignore[misc]  # its package has no types
        @cached_property
        def on_spark(self) -> dict[str, int]:
            return dict(json.loads(config.stash[_ON_SPARK].read_text("utf-8")))

        def _split_scope(self, nodeid: str) -> str:
            session = self.on_spark.get(nodeid)
            return str(super()._split_scope(nodeid)) if session is None else f"spark {session}"

    return FewSessions(config, log)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _ON_SPARK in config.stash:
        config.stash[_ON_SPARK].unlink(missing_ok=True)


@pytest.fixture(scope="session")
def s3_bucket() -> Iterator[str]:
    """The URL of a bucket of an S3 server on this machine, whose clients find it in the environment."""
    from object_stores import s3_server

    with s3_server() as bucket:
        yield bucket


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of copies of objects, empty."""
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def serves_connect() -> bool:
    """Whether Spark Connect's extras are installed, and this PySpark brings the server with it."""
    spark = importlib.util.find_spec("pyspark")
    places = () if spark is None else spark.submodule_search_locations or ()
    jars = [jar for place in places for jar in Path(place, "jars").glob("spark-connect_*.jar")]
    return bool(jars) and importlib.util.find_spec("grpc") is not None


def _serving_connect() -> dict[str, str]:
    """Settings of a session whose Java also serves Spark Connect, where its extras are installed."""
    if not serves_connect():
        return {}
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    plugin = "org.apache.spark.sql.connect.SparkConnectPlugin"
    return {"spark.plugins": plugin, "spark.connect.grpc.binding.port": str(port)}


@pytest.fixture
def connect_url(spark: SparkSession) -> str:
    """Where clients reach the session of the tests by Spark Connect."""
    if not serves_connect():
        pytest.skip("Spark Connect's extras are not installed")
    return f"sc://localhost:{spark.sparkContext.getConf().get('spark.connect.grpc.binding.port')}"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from holdfast.engines.spark.session import get_session, running_session

    if (left_over := running_session()) is not None:
        left_over.stop()  # that of a command which a test has run in this process
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",  # beside executors of clusters and the Javas of commands
        "spark.sql.shuffle.partitions": "1",
        # Else each sort, grouping and join of a few rows takes 32 MB, and each query leaves its plan in memory.
        "spark.buffer.pageSize": "1m",
        "spark.sql.ui.retainedExecutions": "10",
        **SMALL_TABLES,
        **_serving_connect(),
    }
    session = get_session(master="local[2]", conf=settings, app_name="holdfast tests")
    yield session
    session.stop()


@pytest.fixture
def connect_port() -> Iterator[None]:
    """The port of the Connect servers that PySpark starts itself: one for the whole machine, so tests take turns."""
    with open(Path(tempfile.gettempdir()) / "holdfast-connect-port.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(params=["true", "false"], ids=["ansi", "no ansi"])
def ansi(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[object]:
    """Both of Spark's ways with bad casts, one after the other."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield request.param
    spark.conf.set("spark.sql.ansi.enabled", str(before))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, where the machine has one, for pages as people see them."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    with playwright.sync_playwright() as started:
        try:
            made = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except playwright.Error as problem:
            pytest.skip(f"no Chromium here: {str(problem).splitlines()[0]}")
        yield made
        made.close()
