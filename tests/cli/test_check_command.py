"""`holdfast check` as a user types it: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from holdfast.cli import app

COMMAND = Path(sys.executable).with_name("holdfast")

TABLE = """\
id,zip,city,salary,email
1,10,Ayr,100,a@x
2,10,Ayr,90,b@x
3,10,Bute,80,
4,20,Cork,70,d@x
"""
RULES = """\
version: 1
key: id
rules:
  - name: zip-city
    rule: zip -> city
    description: one zip code, one city
  - name: pay
    rule: not(t.zip = s.zip and t.salary > s.salary)
    severity: warn
  - name: email
    rule: not(t.email is null)
    allow: 1
  - name: id
    rule: unique(id)
"""
TOP_KEYS = ["rows", "key", "seconds", "engine", "holds", "rules"]
RULE_KEYS = [
    "name",
    "rule",
    "kind",
    "severity",
    "holds",
    "violating_pairs",
    "violating_rows",
    "suspect_rows",
    "violating_groups",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("check")
    (folder / "people.csv").write_text(TABLE, encoding="utf-8")
    (folder / "rules.yaml").write_text(RULES, encoding="utf-8")
    return folder


def holdfast(*arguments: str | Path) -> Any:
    """The command in this process, on the session of the tests."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def installed(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [str(COMMAND), *map(str, arguments)], capture_output=True, text=True, timeout=900, check=False
    )


# One run that writes everything ----------------------------------------------------------------------------------


class Everything:
    """What one run with all outputs left behind."""

    def __init__(self, place: Path) -> None:
        self.violations, self.quarantine, self.output = place / "found", place / "split", place / "result.json"
        self.done = holdfast(
            "check",
            place / "people.csv",
            place / "rules.yaml",
            *("--format", "json", "--output", self.output),
            *("--violations", self.violations, "--quarantine", self.quarantine),
        )
        assert self.done.exit_code in (0, 1), self.done.output
        self.result = json.loads(self.output.read_text(encoding="utf-8"))

    def rule(self, name: str) -> dict[str, Any]:
        return next(rule for rule in self.result["rules"] if rule["name"] == name)

    def found(self, folder: str, rule: str) -> list[dict[str, Any]]:
        rows = pq.read_table(self.violations / folder).to_pylist()
        return [{k: v for k, v in row.items() if k != "rule"} for row in rows if row["rule"] == rule]


@pytest.fixture(scope="module")
def everything(place: Path) -> Everything:
    return Everything(place)


def test_a_violated_rule_ends_the_command_with_1(everything: Everything) -> None:
    assert everything.done.exit_code == 1
    assert everything.result["holds"] is False


def test_json_has_exactly_the_keys_of_the_design(everything: Everything) -> None:
    assert list(everything.result) == TOP_KEYS
    assert all(list(rule) == RULE_KEYS for rule in everything.result["rules"])
    assert [rule["name"] for rule in everything.result["rules"]] == ["zip-city", "pay", "email", "id"]


def test_json_counts_what_the_rules_find(everything: Everything) -> None:
    assert (everything.result["rows"], everything.result["key"]) == (4, "id")
    assert everything.rule("zip-city") == {
        "name": "zip-city",
        "rule": "zip -> city",
        "kind": "fd",
        "severity": "error",
        "holds": False,
        "violating_pairs": 2,
        "violating_rows": 3,
        "suspect_rows": 1,
        "violating_groups": 1,
    }
    pay = everything.rule("pay")
    assert (pay["kind"], pay["violating_pairs"], pay["suspect_rows"], pay["violating_groups"]) == ("dc", 3, 2, None)
    email = everything.rule("email")
    assert (email["kind"], email["violating_pairs"], email["violating_rows"]) == ("row", None, 1)
    unique = everything.rule("id")
    assert (unique["violating_pairs"], unique["violating_rows"], unique["suspect_rows"]) == (0, 0, 0)


def test_a_rule_within_its_allowance_holds(everything: Everything) -> None:
    assert everything.rule("email")["holds"] is True
    assert everything.rule("id")["holds"] is True


def test_output_goes_to_the_file_and_nothing_to_standard_output(everything: Everything) -> None:
    assert everything.done.stdout == ""
    assert "reading people.csv" in everything.done.stderr


def test_violations_are_written_as_parquet(everything: Everything) -> None:
    pairs = sorted((row["left"], row["right"]) for row in everything.found("pairs", "zip-city"))
    assert pairs == [(1, 3), (2, 3)]
    conflicts = {row["key"]: row["conflicts"] for row in everything.found("rows", "zip-city")}
    assert conflicts == {1: 1, 2: 1, 3: 2}
    assert everything.found("rows", "email") == [{"key": 3, "conflicts": 0}]
    groups = sorted(everything.found("groups", "zip-city"), key=lambda row: row["value"])
    assert groups == [
        {"group": "10", "column": "city", "value": "Ayr", "rows": 2, "keys": [1, 2]},
        {"group": "10", "column": "city", "value": "Bute", "rows": 1, "keys": [3]},
    ]


def test_clean_and_quarantined_rows_are_all_rows(everything: Everything) -> None:
    clean, bad = (pq.read_table(everything.quarantine / name) for name in ("clean", "quarantined"))
    assert clean.column_names == ["id", "zip", "city", "salary", "email"]
    assert bad.column_names == [*clean.column_names, "_broken_rules"]
    assert sorted(clean["id"].to_pylist()) == [1, 2, 4]
    (row,) = bad.to_pylist()
    assert row == {
        "id": 3,
        "zip": 10,
        "city": "Bute",
        "salary": 80,
        "email": None,
        "_broken_rules": row["_broken_rules"],
    }
    assert "zip-city" in row["_broken_rules"]
    assert "pay" not in row["_broken_rules"]  # a warning does not send rows away


# Text, limits, keys ----------------------------------------------------------------------------------------------


def test_text_tells_verdicts_counts_and_a_witness(place: Path) -> None:
    done = holdfast("check", place / "people.csv", place / "rules.yaml", "--limit", "1")
    assert done.exit_code == 1
    for words in ("4 rows", "violated", "zip-city", "one zip code, one city", "2 pairs", "Bute", "warning", "allowed"):
        assert words in done.stdout
    assert "limit of 1" in done.stdout
    assert "Traceback" not in done.output


def test_a_limit_cuts_the_list_but_not_the_counts(place: Path, tmp_path: Path) -> None:
    rule = "not(t.zip = s.zip and t.salary > s.salary)"
    options = ("--limit", "1", "--format", "json", "--violations", tmp_path / "found")
    done = holdfast("check", place / "people.csv", rule, *options)
    (found,) = json.loads(done.stdout)["rules"]
    assert (found["violating_pairs"], found["violating_rows"], found["suspect_rows"]) == (3, 3, 2)
    assert pq.read_table(tmp_path / "found/pairs").num_rows == 1
    assert pq.read_table(tmp_path / "found/rows").num_rows == 3
    assert done.exit_code == 1


def test_a_rule_may_be_given_as_text_and_rows_be_numbered(place: Path, tmp_path: Path) -> None:
    stale = tmp_path / "found/pairs"
    stale.mkdir(parents=True)
    (stale / "old.parquet").write_text("old", encoding="utf-8")
    done = holdfast(
        "check", place / "people.csv", "unique(id)", "--format", "json", "--violations", tmp_path / "found", "--quiet"
    )
    assert done.exit_code == 0
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert (result["key"], result["holds"], result["rules"][0]["name"]) == ("_row", True, "unique-id")
    columns = {name: pq.read_table(tmp_path / "found" / name).column_names for name in ("pairs", "rows", "groups")}
    assert columns == {
        "pairs": ["rule", "left", "right"],
        "rows": ["rule", "key", "conflicts"],
        "groups": ["rule", "group", "column", "value", "rows", "keys"],
    }
    assert all(pq.read_table(tmp_path / "found" / name).num_rows == 0 for name in columns)


def test_rows_without_a_key_are_numbered_in_file_order(place: Path, tmp_path: Path) -> None:
    holdfast("check", place / "people.csv", "not(t.email is null)", "--violations", tmp_path / "found", "-q")
    assert pq.read_table(tmp_path / "found/rows")["key"].to_pylist() == [2]


@pytest.mark.parametrize(
    "rule",
    [
        "not(t.email is null)",
        "not(t.salary < s.salary)",
        "unique(email)",
        "zip -> city",
        "salary -> email",
    ],
)
def test_a_key_that_repeats_falls_back_to_row_numbers_and_says_so(place: Path, rule: str) -> None:
    done = holdfast("check", place / "people.csv", rule, "--key", "zip")
    assert done.exit_code in (0, 1), done.output
    assert "the key zip is not unique: '10' occurs 3 times" in done.stdout
    assert "named by _row instead" in done.stdout


def test_a_key_that_is_null_falls_back_to_row_numbers_and_says_so(place: Path) -> None:
    done = holdfast("check", place / "people.csv", "zip -> city", "--key", "email")
    assert done.exit_code == 1, done.output
    assert "the key email is null in 1 row" in done.stdout


def test_a_key_of_several_columns_is_a_struct_and_a_list(place: Path, tmp_path: Path) -> None:
    options = ("--key", "zip, id", "--format", "json", "--violations", tmp_path / "found")
    done = holdfast("check", place / "people.csv", "zip -> city", *options)
    assert json.loads(done.stdout)["key"] == ["zip", "id"]
    pairs = pq.read_table(tmp_path / "found/pairs").to_pylist()
    assert sorted((pair["left"]["id"], pair["right"]["id"]) for pair in pairs) == [(1, 3), (2, 3)]
    assert pairs[0]["left"] == {"zip": 10, "id": pairs[0]["left"]["id"]}


def test_a_warning_fails_the_check_only_on_request(place: Path) -> None:
    rules = place / "warn.yaml"
    rules.write_text("rules:\n  - {rule: 'zip -> city', severity: warn}\n", encoding="utf-8")
    lenient = holdfast("check", place / "people.csv", rules, "--format", "json")
    assert (lenient.exit_code, json.loads(lenient.stdout)["holds"]) == (0, True)
    assert json.loads(lenient.stdout)["rules"][0]["holds"] is False
    strict = holdfast("check", place / "people.csv", rules, "--format", "json", "--fail-on", "warn")
    assert (strict.exit_code, json.loads(strict.stdout)["holds"]) == (1, False)


def test_explain_prints_the_plan_and_checks_nothing(place: Path) -> None:
    done = holdfast("check", place / "people.csv", place / "rules.yaml", "--explain")
    assert done.exit_code == 0
    for words in ("people.csv", "zip-city", "pay", "email"):
        assert words in done.stdout
    assert "violated" not in done.stdout


# Bad input -------------------------------------------------------------------------------------------------------

# arguments after DATA, words of the message
BAD = {
    "unknown column": (["zipp -> city"], ["UnknownColumnError", "'zipp'", "people.csv", "did you mean 'zip'"]),
    "unknown key": (["zip -> city", "--key", "idd"], ["the key names 'idd'", "did you mean 'id'"]),
    "text with a number": (
        ["not(t.city > 3)"],
        [
            "TypeMismatchError",
            "rule 'city'",
            "t.city (text)",
            "3 (a number)",
            "Hint:",
            "single quotes",
            "\n  not(t.city > 3)\n      ^\n",
        ],
    ),
    "text minus a number": (
        ["if t.zip = s.zip then t.city - 1 > 3"],
        ["subtracts 1 (integer) from t.city (text)", f"\n  if t.zip = s.zip then t.city - 1 > 3\n  {' ' * 22}^\n"],
    ),
    "text with a number column": (
        ["not(t.city = s.zip)"],
        ["TypeMismatchError", "t.city (text)", "s.zip (", "--types"],
    ),
    "a pattern on a number column": (
        ["not(t.zip not matches '[0-9]{5}')"],
        ["TypeMismatchError", "t.zip (integer)", "text with --types zip=text"],
    ),
    "no rule": (["zip ->"], ["RuleSyntaxError", "a column name", "^"]),
    "trivial rule": (["zip -> zip"], ["TrivialRuleError", "both sides"]),
    "missing rule file": (["nowhere.yaml"], ["SourceNotFoundError", "no rule file 'nowhere.yaml'"]),
    "limit is no number": (["zip -> city", "--limit", "many"], ["OptionError", "--limit 'many'", "none"]),
    "limit is negative": (["zip -> city", "--limit", "-5"], ["OptionError", "--limit '-5'"]),
    "types without =": (["zip -> city", "--types", "zip"], ["OptionError", "--types 'zip'", "--types zip=text"]),
    "types of no column": (["zip -> city", "--types", "zzz=text"], ["zzz"]),
    "types of no type": (["zip -> city", "--types", "zip=wibble"], ["wibble"]),
    "conf without =": (["zip -> city", "--conf", "spark.x"], ["OptionError", "--conf 'spark.x'"]),
    "no such format": (["zip -> city", "--format", "xml"], ["xml", "text", "json"]),
    "no such severity": (["zip -> city", "--fail-on", "info"], ["info", "warn"]),
    "output in no folder": (["zip -> city", "--output", "/nowhere/x.json"], ["OutputError", "/nowhere"]),
    "key of nothing": (["zip -> city", "--key", ","], ["not a list of column names"]),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_2_and_is_explained(place: Path, arguments: list[str], words: list[str]) -> None:
    done = holdfast("check", place / "people.csv", *arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.output
    assert "java." not in done.output


def test_missing_data_ends_with_2(place: Path) -> None:
    done = holdfast("check", place / "nowhere.csv", "zip -> city")
    assert done.exit_code == 2
    assert "SourceNotFoundError" in done.stderr
    assert "nowhere.csv" in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize("condition", ["country = 'US'", "zip >", "zip + 1", "sum(zip) > 3"])
def test_a_bad_condition_ends_with_2(place: Path, tmp_path: Path, condition: str) -> None:
    rules = tmp_path / "where.yaml"
    rules.write_text(f'rules:\n  - {{name: x, rule: "zip -> city", where: "{condition}"}}\n', encoding="utf-8")
    done = holdfast("check", place / "people.csv", rules)
    assert done.exit_code == 2, done.output
    assert condition in done.stderr
    assert "Traceback" not in done.output


def test_a_bad_rule_file_names_file_line_and_rule(place: Path, tmp_path: Path) -> None:
    rules = tmp_path / "bad.yaml"
    rules.write_text("rules:\n  - name: x\n    rule: zip -> city\n    allow: lots\n", encoding="utf-8")
    done = holdfast("check", place / "people.csv", rules)
    assert done.exit_code == 2
    for words in ("bad.yaml, line", "rule 'x'", "'lots'", "Hint:"):
        assert words in done.stderr


@pytest.mark.parametrize("option", ["--violations", "--quarantine"])
def test_a_folder_with_other_files_is_left_alone(place: Path, tmp_path: Path, option: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious", encoding="utf-8")
    done = holdfast("check", place / "people.csv", "zip -> city", option, folder)
    assert done.exit_code == 2
    assert "thesis.txt" in done.stderr
    assert [entry.name for entry in folder.iterdir()] == ["thesis.txt"]
    assert (folder / "thesis.txt").read_text(encoding="utf-8") == "precious"


def test_results_are_not_written_over_a_file(place: Path) -> None:
    done = holdfast("check", place / "people.csv", "zip -> city", "--violations", place / "people.csv")
    assert done.exit_code == 2
    assert "is a file, not a folder" in done.stderr
    assert (place / "people.csv").read_text(encoding="utf-8") == TABLE


def test_the_table_is_not_overwritten_by_the_result(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text(TABLE, encoding="utf-8")
    done = holdfast("check", table, "zip -> city", "--output", table)
    assert table.read_text(encoding="utf-8") == TABLE
    assert done.exit_code == 2


def test_a_column_twice_in_the_key_is_refused(place: Path) -> None:
    done = holdfast("check", place / "people.csv", "zip -> city", "--key", "id,id")
    assert done.exit_code == 2
    assert "id" in done.stderr


# Help and the installed command ----------------------------------------------------------------------------------


def test_help_shows_examples_and_exit_codes() -> None:
    done = holdfast("check", "--help")
    assert done.exit_code == 0
    for words in ("Examples:", "holdfast check", "--key order_id", "--violations", "Exit code"):
        assert words in done.stdout


def test_the_command_alone_shows_help() -> None:
    done = holdfast()
    assert "check" in done.output
    assert "Finds the rules your data holds" in done.output


def test_version_is_printed() -> None:
    done = installed("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("holdfast 0.")


def test_the_installed_command_fails_quickly_on_a_missing_rule_file(place: Path) -> None:
    done = installed("check", place / "people.csv", "nowhere.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "SourceNotFoundError: there is no rule file 'nowhere.yaml'.\n"


def test_the_installed_command_prints_json_alone_on_standard_output(place: Path) -> None:
    done = installed(
        "check", place / "people.csv", "zip -> city", "--key", "id", "--format", "json", "--master", "local[1]"
    )
    assert done.returncode == 1, done.stderr
    assert list(json.loads(done.stdout)) == TOP_KEYS
    assert all(line.startswith("holdfast: ") for line in done.stderr.splitlines())
