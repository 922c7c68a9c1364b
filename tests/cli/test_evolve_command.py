"""`holdfast evolve` as a user types it: what it prints, what it keeps, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app

GOLDEN = Path(__file__).parent.parent / "golden" / "data"
TAX = yaml.safe_load((GOLDEN / "expected.yaml").read_text(encoding="utf-8"))["tax_r1.csv"]
INSERT = GOLDEN / TAX["insert"]


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def told(*arguments: str | Path) -> Any:
    done = run(*arguments, "--format", "json", "--quiet")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def either_way(texts: list[str]) -> set[frozenset[Any]]:
    bodies = [hf.parse_rule(text).body.denials[0] for text in texts]
    return {frozenset((body, body.mirrored())) for body in bodies}


@pytest.fixture
def state(spark: SparkSession, tmp_path: Path) -> Path:
    made = told(
        "evolve", "init", tmp_path / "state", "--data", GOLDEN / "tax_r1.csv", "--key", "id",
        "--columns", ",".join(TAX["evolve"]["columns"]), "--cross-columns", "off",
    )  # fmt: skip
    assert made["rows"] == 7
    assert made["total"] == len(TAX["evolve"]["before"])
    assert either_way([rule["dc"] for rule in made["rules"]]) == either_way(TAX["evolve"]["before"])
    return tmp_path / "state"


def test_the_golden_table_evolves_and_a_file_counts_once(state: Path, tmp_path: Path) -> None:
    first = told("evolve", "apply", state, INSERT)
    assert list(first) == ["batch", "applied", "added", "removed", "total"]
    assert first["applied"]
    assert either_way(first["added"]) == either_way(TAX["evolve"]["added"])
    assert either_way(first["removed"]) == either_way(TAX["evolve"]["removed"])
    assert first["total"] == TAX["evolve"]["total_after"]
    again = told("evolve", "apply", state, INSERT)
    assert (again["applied"], again["added"], again["removed"], again["total"]) == (False, [], [], first["total"])
    found = {rule["dc"] for rule in told("evolve", "show", state)["rules"]}
    whole = GOLDEN.joinpath("tax_r1.csv").read_text() + INSERT.read_text().split("\n", 1)[1]
    (tmp_path / "now.csv").write_text(whole)
    columns = ",".join(TAX["evolve"]["columns"])
    now = told("discover", tmp_path / "now.csv", "--columns", columns, "--cross-columns", "off")
    assert {rule["dc"] for rule in now["rules"]} == found


def test_text_says_why_rules_went_and_came(state: Path, tmp_path: Path) -> None:
    done = run("evolve", "apply", state, INSERT)
    assert done.exit_code == 0
    assert "3 rules removed" in done.stdout
    assert "broken by t9 and t0: SAL 32000 and 32000" in done.stdout
    assert "refines not(t.SAL = s.SAL)" in done.stdout
    (tmp_path / "gone.csv").write_text("id,_change_type\nt7,delete\nt8,delete\nt9,delete\n")
    done = run("evolve", "apply", state, tmp_path / "gone.csv")
    assert "now follows from not(t.SAL = s.SAL)" in done.stdout
    assert "takes the place of" in done.stdout
    shown = run("evolve", "show", state, "--top", "2")
    assert shown.exit_code == 0
    assert "version 2, 2 batches" in shown.stdout
    assert "Shown: the best 2 of 6 rules" in shown.stdout


def test_a_folder_is_followed(state: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "more.csv").write_text(INSERT.read_text())
    done = run("evolve", "run", state, "--source", folder, "--once", "--format", "json", "--quiet")
    assert done.exit_code == 0, done.output
    (line,) = (json.loads(line) for line in done.stdout.splitlines())
    assert line["total"] == TAX["evolve"]["total_after"]
    assert run("evolve", "run", state, "--source", folder, "--once", "--quiet").stdout == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ("id,_change_type\nt99,delete\n", "'t99' is deleted, but is not there"),
        (INSERT.read_text().replace("t7", "t1", 1), "'t1' is inserted, but is there already"),
        ("id,SAL\nt20,x\n", "SAL"),
        ("id,shoe\nt20,1\n", "shoe"),
    ],
)
def test_what_does_not_fit_changes_nothing(state: Path, tmp_path: Path, changes: str, said: str) -> None:
    (tmp_path / "bad.csv").write_text(changes)
    before = sorted((state / "versions").iterdir())
    done = run("evolve", "apply", state, tmp_path / "bad.csv", "--quiet")
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert "Traceback" not in done.output
    assert sorted((state / "versions").iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["apply", "{state}", "{insert}", "--strategy", "index"], "keeps counted evidence"),
        (["init", "{state}", "--data", "{insert}", "--key", "id"], "a state at"),
        (["init", "{state}2", "--data", "{insert}", "--key", "nobody"], "nobody"),
        (["init", "{state}2", "--data", "{insert}", "--key", "ST"], "ST"),
        (["init", "{state}2", "--data", "{insert}", "--key", "id", "--error", "0.1", "--strategy", "index"], "indexes"),
        (["show", "{state}2"], "holdfast evolve init"),
    ],
)
def test_wrong_use_is_told(state: Path, arguments: list[str], said: str) -> None:
    done = run("evolve", *(a.format(state=state, insert=INSERT) for a in arguments), "--quiet")
    assert done.exit_code == 2, done.output
    assert said in done.stderr


def test_a_state_of_evolve_is_none_of_watch(state: Path) -> None:
    done = run("watch", "show", state, "--quiet")
    assert done.exit_code == 2
    assert "was made by holdfast evolve" in done.stderr


def test_a_stream_keeps_rules_in_code(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame([(1, "a", "x"), (2, "a", "x"), (3, "b", "y")], "id bigint, g string, h string")
    more = spark.createDataFrame([(4, "a", "z")], "id bigint, g string, h string")
    asked: dict[str, Any] = {"key": "id", "checkpoint": tmp_path / "c", "exclude": "id", "cross_columns": "off"}
    first = hf.evolve(more, data=rows, batch=0, **asked)
    assert first.change.removed_rules == ["not(t.g = s.g and t.h != s.h)"]
    assert not hf.evolve(more, batch=0, **asked).applied
