"""`holdfast fragments` as a user types it: what it prints, and what it says of mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from holdfast.cli import app

SITES = """key: id
sites:
  places: {columns: [street, zip], data: places.csv}
  codes: {columns: [CC], data: codes.csv}
rules:
  - {name: uk, rule: "CC = 44, zip -> street"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("sites.yaml").write_text(SITES, encoding="utf-8")
    Path("places.csv").write_text("id,street,zip\n1,Mayfield,EH4\n2,Crichton,EH2\n")
    Path("codes.csv").write_text("id,CC\n1,44\n2,44\n")
    Path("new.csv").write_text("id,street,zip,CC\n3,Preston,EH4,44\n4,Elsewhere,EH4,1\n")
    return tmp_path


def holdfast(*arguments: str, code: int = 0) -> str:
    # The session of other tests in this process would be the choice of `auto`.
    engine = [] if arguments[0] == "plan" or "--engine" in arguments else ["--engine", "local"]
    done = CliRunner().invoke(app, ["fragments", *arguments, *engine])
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


def test_plan_init_apply_and_show(folder: Path) -> None:
    plan = holdfast("plan", "sites.yaml", "--picture", "plan.dot")
    assert "codes  ->  places  CC = 44  uk" in plan
    assert '"codes" -> "places" [label="CC = 44"]' in Path("plan.dot").read_text("utf-8")
    made = holdfast("init", "state", "sites.yaml")
    assert "2 sites, vertical  version 0, 2 rows, 0 batches" in made
    assert "shipped between sites: 2 ids, 0 tuples, " in made
    done = holdfast("apply", "state", "new.csv")
    assert "2 violations added\n  + uk: 1\n  + uk: 3\n" in done
    assert "shipped between sites: 1 id, 0 tuples, " in done
    assert "has been applied before" in holdfast("apply", "state", "new.csv")
    shown = holdfast("show", "state", "--violations", "found", "--format", "json")
    told = json.loads(shown)
    assert (told["rows"], told["batches"], told["totals"]) == (4, 1, {"uk": 2})
    assert [site["name"] for site in told["sites"]] == ["places", "codes"]
    rows = pq.read_table("found/rows").to_pylist()
    assert sorted((row["rule"], row["key"]) for row in rows) == [("uk", 1), ("uk", 3)]
    cut = json.loads(holdfast("apply", "state", str(deletes(folder)), "--limit", "0", "--format", "json"))
    assert (cut["removed"], cut["removed_count"], cut["totals"]) == ([], 2, {"uk": 0})


def deletes(folder: Path) -> Path:
    (folder / "gone.csv").write_text("id,_change_type\n3,delete\n")
    return folder / "gone.csv"


def test_mistakes_are_told_without_a_traceback(folder: Path) -> None:
    assert "there is no sites file 'nothing.yaml'" in holdfast("plan", "nothing.yaml", code=2)
    Path("bad.yaml").write_text(SITES.replace("street, zip]", "street]"), encoding="utf-8")
    assert "rule 'uk' names the column 'zip', which no site holds" in holdfast("plan", "bad.yaml", code=2)
    assert "cannot be drawn as '.png'" in holdfast("plan", "sites.yaml", "--picture", "plan.png", code=2)
    assert "there is no state at" in holdfast("apply", "nowhere", "new.csv", code=2)
    Path("gap.yaml").write_text(SITES.replace("codes.csv", "nothing.csv"), encoding="utf-8")
    told = holdfast("init", "state", "gap.yaml", code=2)
    assert "site 'codes': " in told
    assert "nothing.csv" in told
    Path("remote.yaml").write_text(SITES.replace("codes.csv", "'jdbc:derby:codes#codes'"), encoding="utf-8")
    assert "jdbc:derby:codes#codes can only be read on Spark" in holdfast("init", "state", "remote.yaml", code=2)
    assert "engine" in holdfast("init", "state", "sites.yaml", "--engine", "elsewhere", code=2)
    Path("text.yaml").write_text(SITES.replace("CC = 44", "CC = 'UK'"), encoding="utf-8")
    assert "rule 'uk' compares" in holdfast("init", "state", "text.yaml", code=2)
