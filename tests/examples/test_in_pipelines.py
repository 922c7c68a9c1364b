"""The examples that a shell runs: exit codes decide what comes next, and files are what others read."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jinja2
import pytest
import yaml

import holdfast as hf
from pyspark_versions import not_on_3_5
from valid_formats import wrong_in_junit, wrong_in_sarif

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


def standing_in(folder: Path, text: str) -> Path:
    """A folder with an executable `holdfast` that does this instead."""
    folder.mkdir()
    (folder / "holdfast").write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (folder / "holdfast").chmod(0o755)
    return folder


# nightly.sh -------------------------------------------------------------------------------------------------------


def test_nightly_loads_only_what_holds(shell: Shell, examples: Path, demo: Path, tmp_path: Path) -> None:
    held = shell(examples / "nightly.sh", demo / "clean.csv", demo / "rules.yaml", "held", cwd=tmp_path)
    assert held.returncode == 0, held.stderr
    assert (tmp_path / "held/loaded.csv").read_bytes() == (demo / "clean.csv").read_bytes()
    broken = shell(examples / "nightly.sh", demo / "orders.csv", demo / "rules.yaml", "broken", cwd=tmp_path)
    assert broken.returncode == 1
    assert "nothing was loaded:\n8 of 10 rules are violated" in broken.stderr
    assert "ALERT" not in broken.stderr
    assert not (tmp_path / "broken/loaded.csv").exists()
    assert "zip-place" in (tmp_path / "broken/report.html").read_text("utf-8")


def test_nightly_alerts_where_there_is_no_verdict(shell: Shell, examples: Path, demo: Path, tmp_path: Path) -> None:
    missing = shell(examples / "nightly.sh", "nowhere.csv", demo / "rules.yaml", "missing", cwd=tmp_path)
    assert (missing.returncode, "nowhere.csv" in missing.stderr) == (2, True)
    assert "ALERT: the check of nowhere.csv could not be made (exit code 2): " in missing.stderr
    stub = standing_in(tmp_path / "stub", "echo RunError: Spark failed >&2; exit 3")
    failed = shell(examples / "nightly.sh", demo / "clean.csv", demo / "rules.yaml", "x", cwd=tmp_path, first=stub)
    assert failed.returncode == 3
    assert "could not be made (exit code 3): RunError: Spark failed" in failed.stderr
    assert not (tmp_path / "x/loaded.csv").exists()


# airflow_dag.py ---------------------------------------------------------------------------------------------------


class Dag:
    """As much of Airflow's DAG as it takes to collect its tasks."""

    def __init__(self, **options: Any) -> None:
        self.options, self.tasks = options, []  # type: ignore[var-annotated]

    def __enter__(self) -> Dag:
        Task.dag = self
        return self

    def __exit__(self, *_: object) -> None:
        Task.dag = None


class Task:
    """As much of Airflow's BashOperator."""

    dag: Dag | None = None

    def __init__(self, *, task_id: str, bash_command: str, trigger_rule: str = "all_success", **options: Any) -> None:
        self.name, self.command, self.when, self.after = task_id, bash_command, trigger_rule, []  # type: ignore[var-annotated]
        assert Task.dag is not None, "a task belongs to a DAG"
        Task.dag.tasks.append(self)

    def __rshift__(self, others: list[Task]) -> list[Task]:
        for other in others:
            other.after.append(self)
        return others


@pytest.fixture
def dag(monkeypatch: pytest.MonkeyPatch, examples: Path) -> Dag:
    for name in ("airflow", "airflow.providers", "airflow.providers.standard", "airflow.providers.standard.operators"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name, what in (
        ("airflow.sdk", {"DAG": Dag}),
        ("airflow.providers.standard.operators.bash", {"BashOperator": Task}),
    ):
        module = ModuleType(name)
        vars(module).update(what)
        monkeypatch.setitem(sys.modules, name, module)
    made = runpy.run_path(str(examples / "airflow_dag.py"))["dag"]
    assert isinstance(made, Dag)
    return made


def ran(dag: Dag, shell: Shell, cwd: Path, **more: Any) -> dict[str, subprocess.CompletedProcess[str]]:
    """The tasks that run, as Airflow has it: after all others where these succeed, or where one has failed."""
    done: dict[str, subprocess.CompletedProcess[str]] = {}
    for task in dag.tasks:
        assert all(before in dag.tasks[: dag.tasks.index(task)] for before in task.after)
        fine = all(before.name in done and done[before.name].returncode == 0 for before in task.after)
        if fine if task.when == "all_success" else not fine:
            command = jinja2.Template(task.command).render(ds=more["ds"])
            done[task.name] = shell("-c", command, cwd=cwd, ORDERS=str(cwd), PAUSE="0", first=more.get("first"))
    return done


def test_airflow_loads_a_day_that_holds_its_rules(dag: Dag, shell: Shell, demo: Path, tmp_path: Path) -> None:
    (demo / "clean.csv").rename(demo / "2025-05-01.csv")
    (demo / "orders.csv").rename(demo / "2025-05-02.csv")
    held = ran(dag, shell, demo, ds="2025-05-01")
    assert {name: task.returncode for name, task in held.items()} == {"check": 0, "load": 0}, held["check"].stderr
    broken = ran(dag, shell, demo, ds="2025-05-02")
    assert {name: task.returncode for name, task in broken.items()} == {"check": 1, "alert": 0}
    assert "2025-05-02 were not loaded\n8 of 10 rules are violated" in broken["alert"].stdout
    nothing = ran(dag, shell, demo, ds="2025-05-03")
    assert {name: task.returncode for name, task in nothing.items()} == {"check": 2, "alert": 0}
    assert [file.name for file in (demo / "loaded").iterdir()] == ["2025-05-01.csv"]


def test_airflow_tries_a_failure_again(dag: Dag, shell: Shell, demo: Path, tmp_path: Path) -> None:
    (demo / "clean.csv").rename(demo / "2025-05-01.csv")
    once = standing_in(tmp_path / "stub", "echo x >>tries; [ $(wc -l <tries) -gt 1 ] || exit 3")
    assert list(ran(dag, shell, demo, ds="2025-05-01", first=once)) == ["check", "load"]
    always = standing_in(tmp_path / "other", "echo x >>tries; exit 3")
    assert ran(dag, shell, demo, ds="2025-05-01", first=always)["check"].returncode == 3
    assert (demo / "tries").read_text().count("x") == 4


# delta_feed.sh ----------------------------------------------------------------------------------------------------


@not_on_3_5("it has no data sources in Python, which read Delta tables by their path")
def test_delta_feed_tells_what_each_commit_did(spark_shell: Shell, examples: Path, tmp_path: Path) -> None:
    pytest.importorskip("deltalake", reason="the extra delta is not installed")
    done = spark_shell(examples / "delta_feed.sh", "lake", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    monday, tuesday = (json.loads((tmp_path / "lake" / f"{day}.json").read_text()) for day in ("monday", "tuesday"))
    assert sorted((v["left"], v["right"]) for v in monday["added"]) == [(1, 4), (2, 4)]
    assert (monday["totals"], monday["removed_count"]) == ({"zip-city": 2}, 0)
    assert (tuesday["added_count"], tuesday["removed_count"], tuesday["totals"]) == (0, 2, {"zip-city": 0})
    assert "3 rows, 2 batches" in done.stdout


# iceberg_table.sh -------------------------------------------------------------------------------------------------


def test_an_iceberg_table_is_followed_commit_by_commit(shell: Shell, examples: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")
    done = shell(examples / "iceberg_table.sh", "lake", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    monday, tuesday = (json.loads((tmp_path / "lake" / f"{day}.json").read_text()) for day in ("monday", "tuesday"))
    assert sorted((v["left"], v["right"]) for v in monday["added"]) == [(1, 4), (2, 4)]
    assert (monday["totals"], monday["removed_count"]) == ({"zip-city": 2}, 0)
    assert (tuesday["added_count"], tuesday["removed_count"], tuesday["totals"]) == (0, 2, {"zip-city": 0})
    assert "3 rows, 2 batches" in done.stdout


# dbt_on_duckdb.sh -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("dbt") is None, reason="dbt is not on PATH")
def test_dbt_fails_the_rules_that_check_finds_violated(
    shell: Shell, examples: Path, demo: Path, tmp_path: Path
) -> None:
    place = tmp_path / "project"
    done = shell(
        examples / "dbt_on_duckdb.sh", demo / "orders.csv", demo / "rules.yaml", "order_id", place, cwd=tmp_path
    )
    assert done.returncode == 1, done.stdout + done.stderr
    results = json.loads((place / "target/run_results.json").read_text("utf-8"))["results"]
    tests = {result["unique_id"].split(".")[2]: result for result in results if result["unique_id"].startswith("test.")}
    with hf.check(demo / "orders.csv", demo / "rules.yaml", key="order_id") as checked:
        for found in checked.outcome.rules:
            test = tests.pop(found.rule.name.replace("-", "_"))
            failed = "warn" if found.rule.severity == "warn" else "fail"
            assert test["status"] == ("pass" if found.holds else failed)
            pairs = found.violating_rows if found.violating_pairs is None else found.violating_pairs
            assert test["failures"] == (0 if found.holds else pairs)
    assert tests == {}
    clean = shell(
        examples / "dbt_on_duckdb.sh", demo / "clean.csv", demo / "rules.yaml", "order_id", place, cwd=tmp_path
    )
    assert clean.returncode == 0, clean.stdout


# dagster_asset_check.py -------------------------------------------------------------------------------------------


def test_dagster_has_a_check_for_each_rule(examples: Path, demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dagster = pytest.importorskip("dagster", reason="Dagster is not installed")
    for orders, broken in (("clean.csv", 0), ("orders.csv", 8)):
        monkeypatch.setenv("ORDERS", str(demo / orders))
        monkeypatch.setenv("RULES", str(demo / "rules.yaml"))
        defs = runpy.run_path(str(examples / "dagster_asset_check.py"))["defs"]
        assets = [*defs.assets, *defs.asset_checks]
        done = dagster.materialize(assets, raise_on_error=False)
        found = done.get_asset_check_evaluations()
        assert (len(found), sum(not check.passed for check in found)) == (10, broken)
        made = {str(event.asset_key.path[-1]) for event in done.get_asset_materialization_events()}
        assert made == ({"orders"} if broken else {"orders", "revenue"})
        with hf.check(demo / orders, demo / "rules.yaml", key="order_id") as checked:
            wanted = {rule.rule.name.replace("-", "_"): rule.holds for rule in checked.outcome.rules}
        assert {check.check_name: check.passed for check in found} == wanted


# github_actions.yml -----------------------------------------------------------------------------------------------


def test_a_pull_request_fails_on_new_violations_only(shell: Shell, examples: Path, demo: Path, tmp_path: Path) -> None:
    workflow = yaml.safe_load((examples / "github_actions.yml").read_text("utf-8"))
    steps = workflow["jobs"]["rules"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands[0] == "pip install holdfast"
    demo.rename(tmp_path / "data")

    def run(command: str) -> int:
        done = shell("-eo", "pipefail", "-c", command, cwd=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        return int(done.returncode)

    def results() -> list[str]:
        sarif = (tmp_path / "rules.sarif").read_text("utf-8")
        assert wrong_in_sarif(sarif) == []
        found = json.loads(sarif)["runs"][0]["results"]
        places = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in found}
        assert places == {"data/orders.csv"}  # a path in the checkout, by which GitHub finds the file
        return [result["ruleId"] for result in found if result["level"] == "error"]

    assert run(commands[1]) == 0  # as its head says: once by hand
    assert (tmp_path / "known.json").exists()
    assert results() == []
    with (tmp_path / "data/orders.csv").open("a", encoding="utf-8") as orders:
        orders.write(
            "SO-9001,INV-9001,,C-125,E,e@x,98101,Seatle,WA,US,gold,T,2,15.00,USD,0.03,0.00,open,2025-05-01,,\n"
        )
    assert [run(command) for command in commands[1:]] == [1, 1]
    assert results() == ["zip-place"]
    junit = (tmp_path / "rules.xml").read_text("utf-8")
    assert wrong_in_junit(junit) == []
    assert junit.count("<failure") == 1
    # Later steps run whatever the check said, and read what it wrote.
    uploads = [step for step in steps if "uses" in step and "if" in step]
    assert [step["with"].get("sarif_file", step["with"].get("path")) for step in uploads] == [
        "rules.sarif",
        "rules.xml",
    ]
