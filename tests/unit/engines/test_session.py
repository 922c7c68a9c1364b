"""How a session would be started, without starting one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdfast.engines.choose import BRIEF_BYTES, is_brief, one_command
from holdfast.engines.spark.session import LOG_FILE, Launch, driver_memory_gigabytes, plan_launch
from holdfast.errors import SessionError
from holdfast.tables.read_options import ReadOptions


def plan(tmp_path: Path, env: dict[str, str] | None = None, **options: object) -> Launch:
    return plan_launch(env or {}, spark_home=tmp_path, **options)  # type: ignore[arg-type]


def conf_folder(tmp_path: Path, **files: str) -> dict[str, str]:
    folder = tmp_path / "own-conf"
    folder.mkdir()
    for name, text in files.items():
        (folder / {"defaults": "spark-defaults.conf", "env": "spark-env.sh", "log": "log4j2.xml"}[name]).write_text(
            text
        )
    return {"SPARK_CONF_DIR": str(folder)}


def test_with_nothing_set_it_is_local_quiet_and_on_loopback(tmp_path: Path) -> None:
    launch = plan(tmp_path)
    assert (launch.master, launch.remote) == ("local[*]", None)
    assert launch.conf["spark.ui.enabled"] == "false"
    assert launch.conf["spark.driver.host"] == launch.conf["spark.driver.bindAddress"] == "127.0.0.1"
    assert launch.conf["spark.sql.execution.arrow.pyspark.enabled"] == "true"
    assert launch.env["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert launch.env["PYSPARK_PYTHON"] == sys.executable
    assert str(LOG_FILE) in launch.env["SPARK_SUBMIT_OPTS"]
    assert not Path(launch.conf["spark.sql.warehouse.dir"]).is_relative_to(Path.cwd())
    assert "spark.sql.session.timeZone" not in launch.conf


def test_a_brief_session_compiles_nothing_for_a_long_run(tmp_path: Path) -> None:
    brief, lasting = plan(tmp_path, brief=True), plan(tmp_path)
    assert brief.conf["spark.sql.codegen.wholeStage"] == "false"
    assert "spark.sql.codegen.wholeStage" not in lasting.conf
    assert brief.env["SPARK_SUBMIT_OPTS"].startswith("-XX:TieredStopAtLevel=1 ")
    assert "TieredStopAtLevel" not in lasting.env["SPARK_SUBMIT_OPTS"]


def test_the_users_settings_beat_those_of_a_brief_session(tmp_path: Path) -> None:
    env = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=4", "SPARK_LAUNCHER_OPTS": "-Xmx64m"}
    launch = plan(tmp_path, env, brief=True, conf={"spark.sql.codegen.wholeStage": "true"})
    assert launch.conf["spark.sql.codegen.wholeStage"] == "true"
    # Java takes the last of several.
    assert launch.env["SPARK_SUBMIT_OPTS"].endswith(" -XX:TieredStopAtLevel=4")
    assert "SPARK_LAUNCHER_OPTS" not in launch.env


def test_a_cluster_is_never_brief(tmp_path: Path) -> None:
    launch = plan(tmp_path, master="spark://host:7077", brief=True)
    assert "spark.sql.codegen.wholeStage" not in launch.conf
    assert "TieredStopAtLevel" not in launch.env["SPARK_SUBMIT_OPTS"]


def test_only_a_command_on_small_files_is_brief(tmp_path: Path) -> None:
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    small.write_text("a\n1\n")
    large.write_text("a\n" + "1\n" * BRIEF_BYTES)
    assert not is_brief(small, ReadOptions())
    with one_command():
        assert is_brief(small, ReadOptions())
        assert not is_brief(large, ReadOptions())
        assert not is_brief("spark:db.table", ReadOptions())
        assert not is_brief(tmp_path / "missing.csv", ReadOptions())
    assert not is_brief(small, ReadOptions())


def test_the_log_file_ships_with_the_package() -> None:
    assert "rootLogger.level = error" in LOG_FILE.read_text()


def test_conf_beats_submit_arguments_beat_the_defaults_file(tmp_path: Path) -> None:
    env = conf_folder(tmp_path, defaults="spark.a file\nspark.b=file\nspark.c: file\n# spark.ui.enabled true\n")
    env["PYSPARK_SUBMIT_ARGS"] = "--conf spark.a=args -c spark.ui.enabled=true --master 'local[3]' pyspark-shell"
    launch = plan(tmp_path, env, conf={"spark.a": "mine"})
    assert launch.master == "local[3]"
    assert launch.conf["spark.a"] == "mine"
    # What Spark will read by itself is not said again, so that it cannot be overruled here.
    assert {"spark.b", "spark.c", "spark.ui.enabled"}.isdisjoint(launch.conf)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("spark.sql.shuffle.partitions 7", "spark.sql.shuffle.partitions"),
        ("  spark.driver.memory=3g", "spark.driver.memory"),
        ("spark.ui.enabled : true", "spark.ui.enabled"),
        ("spark.ui.enabled\ttrue", "spark.ui.enabled"),
    ],
)
def test_a_line_of_the_defaults_file_silences_ours(tmp_path: Path, text: str, key: str) -> None:
    assert key in plan(tmp_path).conf
    assert key not in plan(tmp_path, conf_folder(tmp_path, defaults=text)).conf


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ("--driver-memory 3g pyspark-shell", "spark.driver.memory"),
        ("-c spark.ui.enabled=true pyspark-shell", "spark.ui.enabled"),
        ("--conf=spark.driver.bindAddress=0.0.0.0 pyspark-shell", "spark.driver.host"),
    ],
)
def test_submit_arguments_silence_ours(tmp_path: Path, arguments: str, key: str) -> None:
    assert key in plan(tmp_path).conf
    assert key not in plan(tmp_path, {"PYSPARK_SUBMIT_ARGS": arguments}).conf


def test_the_name_is_the_users_or_ours(tmp_path: Path) -> None:
    assert plan(tmp_path).conf["spark.app.name"] == "holdfast"
    assert plan(tmp_path, {"PYSPARK_SUBMIT_ARGS": "--name own pyspark-shell"}).conf["spark.app.name"] == "own"


def test_submit_arguments_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="PYSPARK_SUBMIT_ARGS cannot be read"):
        plan(tmp_path, {"PYSPARK_SUBMIT_ARGS": "--conf 'spark.a=1"})


@pytest.mark.parametrize("by_script", [False, True])
def test_network_and_memory_set_by_variables_stay(tmp_path: Path, by_script: bool) -> None:
    own = {"SPARK_LOCAL_IP": "10.0.0.1", "SPARK_DRIVER_MEMORY": "5g", "PYSPARK_PYTHON": "/own/python"}
    script = "# by hand\n" + "".join(f"export {name}={value}\n" for name, value in own.items())
    launch = plan(tmp_path, conf_folder(tmp_path, env=script) if by_script else own)
    assert {"spark.driver.host", "spark.driver.bindAddress", "spark.driver.memory"}.isdisjoint(launch.conf)
    assert set(own).isdisjoint(launch.env)


def test_the_users_log_setup_stays(tmp_path: Path) -> None:
    assert "SPARK_SUBMIT_OPTS" not in plan(tmp_path, conf_folder(tmp_path, log="<Configuration/>")).env
    options = plan(tmp_path, {"SPARK_SUBMIT_OPTS": "-Dlog4j2.configurationFile=own"}).env["SPARK_SUBMIT_OPTS"]
    assert options.endswith(" -Dlog4j2.configurationFile=own")


def test_a_cluster_gets_no_local_defaults(tmp_path: Path) -> None:
    launch = plan(tmp_path, master="spark://host:7077")
    assert launch.conf["spark.master"] == "spark://host:7077"
    local = {"spark.driver.host", "spark.driver.memory", "spark.sql.shuffle.partitions", "spark.ui.enabled"}
    assert local.isdisjoint(launch.conf)
    assert "SPARK_LOCAL_IP" not in launch.env


def test_the_setting_for_the_workers_python_is_heard(tmp_path: Path) -> None:
    assert plan(tmp_path, conf={"spark.pyspark.python": "/own/python"}).env["PYSPARK_PYTHON"] == "/own/python"


def test_a_connect_address_gets_nothing_but_the_users_settings(tmp_path: Path) -> None:
    for launch in (
        plan(tmp_path, master="sc://host", conf={"spark.a": "1"}),
        plan(tmp_path, {"SPARK_REMOTE": "sc://host"}, conf={"spark.a": "1"}),
        plan(tmp_path, conf={"spark.remote": "sc://host", "spark.a": "1"}),
    ):
        assert launch.remote == "sc://host"
        assert dict(launch.conf) == {"spark.a": "1"}
        assert dict(launch.env) == {}


def test_a_master_that_was_asked_for_beats_a_connect_variable(tmp_path: Path) -> None:
    launch = plan(tmp_path, {"SPARK_REMOTE": "sc://host"}, master="local[2]")
    assert (launch.master, launch.remote) == ("local[2]", None)


def test_connect_on_a_local_master(tmp_path: Path) -> None:
    launch = plan(tmp_path, {"SPARK_REMOTE": "local[2]"})
    assert (launch.master, launch.remote) == ("local[2]", "local[2]")
    assert launch.conf["spark.ui.enabled"] == "false"
    assert "spark.master" not in launch.conf
    assert plan(tmp_path, {"SPARK_API_MODE": "connect"}, master="local[1]").remote == "local[1]"


@pytest.mark.parametrize(("gigabytes", "heap"), [(0, 1), (2, 1), (3, 1), (7, 3), (16, 8), (512, 8)])
def test_the_heap_is_half_of_memory_between_one_and_eight(gigabytes: int, heap: int) -> None:
    assert driver_memory_gigabytes(gigabytes << 30) == heap
