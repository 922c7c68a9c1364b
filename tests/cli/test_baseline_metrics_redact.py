"""`holdfast check` in a pipeline: violations that are known, numbers that are kept, values that are not shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.errors import UnknownColumnError

HEAD = "id,zip,city,pay,rate,email\n"
ROWS = ["1,10,Ayr,100,3,a@x", "2,10,Ayr,90,4,b@x", "3,10,Bute,80,1,", "4,20,Cork,70,9,d@x", "5,20,Cork,70,9,d@x"]
RULES = """\
key: id
rules:
  - {name: zip-city, rule: zip -> city}
  - {name: pay, rule: "not(t.zip = s.zip and t.pay > s.pay and t.rate < s.rate)"}
  - {name: email, rule: not(t.email is null)}
  - {name: once, rule: "unique(email)", allow: 1}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(HEAD + "\n".join(ROWS) + "\n", encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    return tmp_path


def run(folder: Path, *more: str | Path) -> Any:
    return CliRunner().invoke(app, ["check", str(folder / "t.csv"), str(folder / "rules.yaml"), *map(str, more), "-q"])


def told(folder: Path, *more: str | Path) -> tuple[int, dict[str, Any]]:
    done = run(folder, "--format", "json", *more)
    assert done.exit_code in (0, 1), done.output
    return done.exit_code, json.loads(done.stdout)


def test_a_check_fails_only_on_what_its_baseline_does_not_know(folder: Path) -> None:
    file = folder / "known.json"
    code, before = told(folder)
    assert code == 1
    assert "new_suspect_rows" not in before["rules"][0]
    code, first = told(folder, "--baseline", file)
    assert (code, first["holds"]) == (0, True)
    assert [rule["new_suspect_rows"] for rule in first["rules"]] == [0, 0, 0, 0]
    assert [r["violating_pairs"] for r in first["rules"]] == [r["violating_pairs"] for r in before["rules"]]
    written = file.read_text("utf-8")
    assert json.loads(written)["rules"]["zip-city"] == {"rule": "zip -> city", "suspects": ['{"key":3}']}

    # Rows that change places change nothing; a new wrong city does.
    (folder / "t.csv").write_text(HEAD + "\n".join([*reversed(ROWS), "6,10,Dull,95,3,f@x"]) + "\n", encoding="utf-8")
    code, second = told(folder, "--baseline", file)
    assert code == 1
    assert {r["name"]: (r["holds"], r["new_suspect_rows"]) for r in second["rules"]} == {
        "zip-city": (False, 1),
        "pay": (True, 0),
        "email": (True, 0),
        "once": (True, 0),
    }
    assert file.read_text("utf-8") == written
    text = run(folder, "--baseline", file).stdout
    assert "suspect rows that the baseline knows: 4, new ones: 1" in text
    assert "2 suspects, 1 group, 1 new" in text
    assert "(all known)" in text
    assert told(folder, "--baseline", file, "--update-baseline")[0] == 0
    assert told(folder, "--baseline", file)[0] == 0

    # A rule that says something else under its old name is not what was known.
    (folder / "rules.yaml").write_text(RULES.replace("rule: zip -> city", "rule: 'city -> zip, pay'"), encoding="utf-8")
    _, changed = told(folder, "--baseline", file)
    assert changed["rules"][0]["new_suspect_rows"] == changed["rules"][0]["suspect_rows"] > 0


def test_what_is_wrong_with_a_baseline_is_told(folder: Path) -> None:
    file = folder / "known.json"
    file.write_text('{"format": 1, "rules"')
    broken = run(folder, "--baseline", file)
    assert (broken.exit_code, "known.json cannot be read" in broken.stderr) == (2, True)
    file.write_text('{"format": 1, "key": ["zip"], "rules": {}}')
    other = run(folder, "--baseline", file)
    assert (other.exit_code, "names rows by zip, but the check does by id" in other.stderr) == (2, True)
    keyless = CliRunner().invoke(app, ["check", str(folder / "t.csv"), "zip -> city", "--baseline", str(folder / "n")])
    assert (keyless.exit_code, "a baseline needs a key" in keyless.stderr) == (2, True)
    assert not (folder / "n").exists()
    assert run(folder, "--update-baseline").exit_code == 2


def test_metrics_are_added_run_by_run(folder: Path) -> None:
    for _ in range(2):
        assert run(folder, "--metrics", folder / "metrics").exit_code == 1
    table = pq.read_table(folder / "metrics")
    assert table.column_names == [
        "run_id", "run_time", "rule", "rows", "violating_rows", "violating_pairs", "seconds",
        "table", "verdict", "severity", "suspect_rows", "rule_fingerprint",
    ]  # fmt: skip
    lines = table.to_pylist()
    assert len({line["run_id"] for line in lines}) == 2
    assert len({line["run_time"] for line in lines}) == 2
    assert [line["rule"] for line in lines[:4]] == ["zip-city", "pay", "email", "once"]
    email = next(line for line in lines if line["rule"] == "email")
    assert (email["rows"], email["violating_rows"], email["violating_pairs"]) == (5, 1, None)
    assert email["seconds"] > 0
    told = [(line["table"], line["verdict"], line["severity"], line["suspect_rows"]) for line in lines[:4]]
    assert told[0] == told[2] == ("t.csv", "violated", "error", 1)
    assert told[3] == ("t.csv", "allowed", "error", 1)
    assert len({line["rule_fingerprint"] for line in lines}) == 4
    (folder / "file").write_text("")
    assert run(folder, "--metrics", folder / "file").exit_code == 2


def test_other_programs_read_the_result(folder: Path) -> None:
    done = run(folder, "--format", "junit", "--output", folder / "r.xml")
    assert done.exit_code == 1, done.output
    (suite,) = ET.parse(folder / "r.xml").getroot()
    assert [(case.get("name"), [part.tag for part in case]) for case in suite] == [
        ("zip-city", ["failure"]),
        ("pay", ["failure"]),
        ("email", ["failure"]),
        ("once", ["system-out"]),
    ]
    done = run(folder, "--format", "sarif", "--redact", "city")
    results = json.loads(done.stdout)["runs"][0]["results"]
    assert [one["level"] for one in results] == ["error", "error", "error", "note"]
    assert "city = •••" in results[0]["message"]["text"]


def test_hidden_columns_are_shown_to_nobody(folder: Path) -> None:
    report = folder / "r.html"
    plain = run(folder, "--report", report)
    shown = plain.stdout + report.read_text("utf-8")
    assert "Bute" in shown
    assert "d@x" in shown
    hidden = run(folder, "--report", report, "--redact", "city, email")
    shown = hidden.stdout + report.read_text("utf-8")
    assert "•••" in shown
    assert not [value for value in ("Bute", "Ayr", "Cork", "d@x") if value in shown]
    assert "zip-city" in shown
    assert hidden.exit_code == plain.exit_code == 1

    # Without the columns of a plot there is none, and without a key no row is named.
    no_rates = run(folder, "--report", report, "--redact", "rate,id")
    assert "<svg" not in report.read_text("utf-8")
    assert "worst rows: •••" in no_rates.stdout or "rows: •••" in no_rates.stdout or "•••" in no_rates.stdout
    unknown = run(folder, "--redact", "town")
    assert (unknown.exit_code, "--redact names 'town'" in unknown.stderr) == (2, True)
    with pytest.raises(UnknownColumnError):
        hf.check(folder / "t.csv", "zip -> city", redact="town")
    # A key that names no rows is told, but not its value.
    twice = CliRunner().invoke(app, ["check", str(folder / "t.csv"), "zip -> pay", "--key", "city", "--redact", "city"])
    assert "not unique: '•••' occurs" in twice.stdout
    assert "Ayr" not in twice.stdout


def test_annotated_rows_are_written_and_a_column_of_that_name_is_refused(folder: Path) -> None:
    done = run(folder, "--annotate", folder / "out", "--violations", folder / "found")
    assert done.exit_code == 1, done.output
    rows = pq.read_table(folder / "out" / "annotated").to_pylist()
    assert [[entry["name"] for entry in row["_errors"] or ()] for row in rows] == [
        ["zip-city", "pay"], ["zip-city", "pay"], ["zip-city", "email"], ["once"], ["once"],
    ]  # fmt: skip
    table = (folder / "t.csv").read_text("utf-8")
    (folder / "t.csv").write_text(table.replace("rate", "_errors"), encoding="utf-8")
    refused = CliRunner().invoke(
        app,
        [
            "check",
            str(folder / "t.csv"),
            "zip -> city",
            "--annotate",
            str(folder / "b"),
            "--violations",
            str(folder / "c"),
        ],
    )
    assert refused.exit_code == 2
    assert "has a column '_errors' of its own" in refused.stderr
    assert not (folder / "b").exists()
    assert not (folder / "c").exists()
