"""`--decisions` as a user gives it: what is left out, what is told first, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app

HEADER = "id,zip,street,city,state,n"
# Within a zip there is one city; the street adds nothing to that, since each zip has one street but for one row.
ROWS = [f"{i},{i % 6},s{i % 6},c{i % 3},x{i % 3 % 2},{i * 7 % 60}" for i in range(60)]


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [*map(str, arguments), "--quiet"])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("\n".join([HEADER, *ROWS]) + "\n", encoding="utf-8")
    return tmp_path


def decide(place: Path, text: str) -> Path:
    (place / "decisions.yaml").write_text(text, encoding="utf-8")
    return place / "decisions.yaml"


COLUMNS = ("--columns", "zip,street,city,state")


def discovered(place: Path, *options: str | Path) -> dict[str, Any]:
    done = run("discover", place / "t.csv", *COLUMNS, "--format", "json", *options)
    assert done.exit_code == 0, done.output
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_only_what_is_new_is_shown(place: Path) -> None:
    before = [rule["rule"] for rule in discovered(place)["rules"]]
    assert {"zip -> city", "zip -> street", "street -> zip"} <= set(before)
    file = decide(place, 'kept: ["zip -> city, state"]\nrejected: ["not(t.street = s.street and t.zip < s.zip)"]')
    told = discovered(place, "--decisions", file)
    gone = {"zip -> city", "zip -> state", "street -> zip"}
    assert {rule["rule"] for rule in told["rules"]} == set(before) - gone
    assert told["decisions"]["left_out"] == {"rejected": 1, "refining": 0, "following": 0}
    assert [(entry["rule"], entry["holds"]) for entry in told["decisions"]["kept"]] == [("zip -> city, state", True)]
    again = discovered(place, "--decisions", decide(place, "\n".join(["rejected:", *(f'  - "{r}"' for r in before)])))
    assert again["rules"] == []


def test_kept_rules_that_no_longer_hold_are_told_first(place: Path) -> None:
    file = decide(place, 'kept:\n  - {rule: "city -> zip", name: wrong}\n  - {rule: "gone -> zip"}\n  - zip -> city\n')
    done = run("discover", place / "t.csv", *COLUMNS, "--decisions", file)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[1] == "Of 3 rules you kept, 2 no longer hold:"
    counted = hf.check(place / "t.csv", "city -> zip").to_dict()["rules"][0]
    pairs, rows, suspects = (counted[f"{name}"] for name in ("violating_pairs", "violating_rows", "suspect_rows"))
    assert pairs > 0
    assert lines[2].strip() == f"wrong: city -> zip   broken by {pairs} pairs, {rows} rows, {suspects} suspects"
    assert "the table t.csv has no such column" in lines[3]
    assert "new rules" in done.stdout


def test_rules_on_single_columns_that_somebody_decided_on_are_left_out(place: Path) -> None:
    before = [rule["rule"] for rule in discovered(place)["column_rules"] if rule["rule"] is not None]
    assert "not(t.city not in ('c0', 'c1', 'c2'))" in before
    # What is kept in other words, and what follows from it; a stronger rule than the rejected one is another.
    kept = "kept: [\"not(t.city not in ('c2', 'c1', 'c0'))\", not(t.zip <= 0)]"
    file = decide(place, kept + "\nrejected: [not(t.zip is null), not(t.zip > 4)]")
    told = discovered(place, "--decisions", file)
    gone = {"not(t.city not in ('c0', 'c1', 'c2'))", "not(t.zip is null)"}
    assert {rule["rule"] for rule in told["column_rules"] if rule["rule"] is not None} == set(before) - gone
    assert [(entry["rule"], entry["holds"]) for entry in told["decisions"]["kept"]][1:] == [("not(t.zip <= 0)", False)]
    assert told["decisions"]["left_out"]["rejected"] == 1
    assert told["decisions"]["columns"] == [], "a rule on values of one column moves no others"


def test_a_refinement_to_the_same_effect_is_left_out(place: Path) -> None:
    lines = [*ROWS, "60,0,s1,c9,x0,5"]
    (place / "t.csv").write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    options = ("--columns", "zip,street,city", "--top", "all")
    before = {rule["rule"]: rule for rule in discovered(place, *options)["rules"]}
    assert "zip, street -> city" in before, "zip alone no longer tells the city"
    told = discovered(place, *options, "--decisions", decide(place, 'rejected: ["zip -> city"]'))
    assert "zip, street -> city" not in [rule["rule"] for rule in told["rules"]]
    assert told["decisions"]["left_out"]["refining"] == 1


def test_a_refinement_that_says_more_is_shown_with_what_it_refines(place: Path) -> None:
    told = discovered(place, "--columns", "id,state,n", "--decisions", decide(place, 'rejected: ["state -> zip"]'))
    assert all("refines_rejected" not in rule for rule in told["rules"])
    lines = [f"{i},{i % 2},s{i % 3},c{(i % 2) * 3 + i % 3},x,1" for i in range(60)]
    (place / "t.csv").write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    told = discovered(place, "--columns", "zip,street,city", "--decisions", decide(place, 'rejected: ["zip -> city"]'))
    refined = {rule["rule"]: rule.get("refines_rejected") for rule in told["rules"]}
    assert refined["zip, street -> city"] == "zip -> city"
    shown = run("discover", place / "t.csv", "--columns", "zip,street,city", "--decisions", place / "decisions.yaml")
    assert "refines zip -> city, which you rejected" in " ".join(shown.stdout.split())


def test_decisions_on_columns_move_the_others(place: Path) -> None:
    file = decide(place, 'rejected: ["unique(state, city)", "unique(state, zip)", "state -> street"]')
    done = run("discover", place / "t.csv", *COLUMNS, "--decisions", file)
    told = " ".join(done.stdout.split())
    assert "you rejected 3 rules on state (later)" in told
    assert "moved down: you rejected 3 rules on state" in told
    moved = {rule["rule"]: rule.get("moved") for rule in discovered(place, "--decisions", file)["rules"]}
    assert moved["city -> state"] == {"factor": 0.571, "why": "you rejected 3 rules on state"}


def test_an_allowance_of_a_kept_rule_counts(place: Path) -> None:
    lines = [*ROWS, "60,0,s0,c9,x0,5"]
    (place / "t.csv").write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    for allow, holds in ((0, False), (1, True)):
        file = decide(place, f'kept: [{{rule: "zip -> city", allow: {allow}}}]')
        (entry,) = discovered(place, "--decisions", file)["decisions"]["kept"]
        assert (entry["holds"], entry["suspect_rows"]) == (holds, 1)


def test_a_bad_file_ends_the_command_before_the_search(place: Path) -> None:
    file = decide(place, "kept:\n  - rule: zip -> city\n    sevrity: warn\n")
    done = run("discover", place / "t.csv", "--decisions", file)
    assert done.exit_code == 2
    assert f"{file}, line 3: there is no setting 'sevrity'." in done.stderr
    assert "did you mean 'severity'?" in done.stderr
    assert run("discover", place / "t.csv", "--decisions", place / "no.yaml").exit_code == 2
    assert run("discover", place / "t.csv", "--decisions", file, "-o", file).exit_code == 2


def test_a_state_keeps_the_decisions_it_was_made_with(place: Path) -> None:
    file = decide(place, 'kept: ["zip -> city"]\nrejected: ["street -> zip"]')
    state = place / "state"
    made = run("evolve", "init", state, "--data", place / "t.csv", "--key", "id", *COLUMNS, "--decisions", file)
    assert made.exit_code == 0, made.output
    assert "The one rule you kept holds." in made.stdout
    file.unlink()
    (place / "c.csv").write_text(f"{HEADER}\n99,0,s0,c9,x0,5\n", encoding="utf-8")
    assert run("evolve", "apply", state, place / "c.csv").exit_code == 0
    shown = run("evolve", "show", state)
    assert shown.exit_code == 0, shown.output
    assert "The one rule you kept no longer holds:" in shown.stdout
    assert "zip-city: zip -> city   broken by 10 pairs, 11 rows, 1 suspect" in shown.stdout
    rules = {rule["rule"] for rule in json.loads(run("evolve", "show", state, "--format", "json").stdout)["rules"]}
    assert "street -> zip" not in rules
    assert "zip -> street" in rules


def test_the_library_takes_decisions_and_files_of_them(place: Path) -> None:
    file = decide(place, 'rejected: ["street -> zip"]')
    found = hf.discover(place / "t.csv", columns="zip,street", decisions=file)
    assert [str(rule) for rule in found.rules] == ["zip -> street"]
    assert "No new rules" not in found.summary()
    file = decide(place, 'kept: ["street -> zip"]\nrejected: ["zip -> street"]')
    found = hf.discover(place / "t.csv", columns="zip,street", decisions=file)
    assert len(found.rules) == 0
    assert "All" not in found.summary()
    assert "The one rule you kept holds." in found.summary()
    assert "No new rules." in found.summary()


def test_a_batch_says_which_rules_somebody_had_decided_on(place: Path) -> None:
    file = decide(place, 'kept: ["zip -> city"]\nrejected: ["zip, state -> city, street"]')
    made = ("--data", place / "t.csv", "--key", "id", "--columns", "zip,city,state", "--cross-columns", "off")
    done = run("evolve", "init", place / "state", *made, "--decisions", file, "--engine", "local")
    assert done.exit_code == 0, done.output
    (place / "more.csv").write_text(f"{HEADER}\n60,0,s0,c9,x9,99\n", encoding="utf-8")
    told = run("evolve", "apply", place / "state", place / "more.csv", "--format", "json")
    assert told.exit_code == 0, told.output
    change = json.loads(told.stdout)

    def denied(rules: list[str]) -> list[Any]:
        return [hf.parse_rule(rule).body.denials for rule in rules]

    assert denied(change["removed_kept"]) == denied(["zip -> city"])
    assert denied(change["added_rejected"]) == denied(["zip, state -> city"])
    assert len(change["added"]) > 1 or len(change["removed"]) > 1
    again = json.loads(run("evolve", "apply", place / "state", place / "more.csv", "--format", "json").stdout)
    assert (again["applied"], again["removed_kept"], again["added_rejected"]) == (False, [], [])
    assert run("evolve", "init", place / "other", *made, "--decisions", file, "--engine", "local").exit_code == 0
    lines = run("evolve", "apply", place / "other", place / "more.csv").stdout.splitlines()
    marked = [lines[i - 1].strip() for i, line in enumerate(lines) if line.strip() == "you rejected it"]
    assert len(marked) + sum(line.strip() == "you kept it" for line in lines) == 2
