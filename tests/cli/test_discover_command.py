"""`holdfast discover` as a user types it: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app

TOP_KEYS = ["rows", "predicates", "evidence", "complete", "seconds", "engine", "column_rules", "rules"]
COLUMN_KEYS = ["column", "kind", "rule", "dc", "says", "evidence", "breaks"]
RULE_KEYS = ["rule", "dc", "kind", "score", "coverage", "violating_pairs", "accident", "entry", "variant"]


def table_text() -> str:
    """Sixty people: zip gives city, and within a city more salary is no lower rate; first is at most last."""
    lines = ["id,zip,city,salary,rate,first,last"]
    for i in range(60):
        salary = (i * 37) % 11 * 100
        first = (i * 7) % 13
        lines.append(f"p{i},{10 + i % 6},c{i % 3},{salary},{salary // 300 * (1 + i % 3)},{first},{first + i % 5}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("discover")
    (folder / "people.csv").write_text(table_text(), encoding="utf-8")
    return folder


def holdfast(*arguments: str | Path) -> Any:
    """The command in this process, on the session of the tests."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def found(place: Path) -> dict[str, Any]:
    """What `--top all --format json` prints, with the rules written to all.yaml."""
    options = ("--top", "all", "--max-predicates", "3", "--format", "json")
    done = holdfast("discover", place / "people.csv", *options, "-o", place / "all.yaml")
    assert done.exit_code == 0, done.output
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_json_has_exactly_the_keys_of_the_design(found: dict[str, Any]) -> None:
    assert list(found) == TOP_KEYS
    assert (found["rows"], found["complete"]) == (60, True)
    assert all(list(rule) == [*RULE_KEYS, *["follows_from"] * ("follows_from" in rule)] for rule in found["rules"])
    assert {rule["kind"] for rule in found["rules"]} <= {"key", "fd", "order", "dc", "row"}
    assert {rule["violating_pairs"] for rule in found["rules"]} == {0}
    scores = [rule["score"] for rule in found["rules"]]
    assert scores == sorted(scores, reverse=True)
    assert all(list(rule) == COLUMN_KEYS for rule in found["column_rules"])


def test_the_laws_of_the_table_are_found(found: dict[str, Any]) -> None:
    by_rule = {rule["rule"]: rule for rule in found["rules"]}
    assert by_rule["unique(id)"]["kind"] == "key"
    assert by_rule["zip -> city"]["dc"] == "not(t.zip = s.zip and t.city != s.city)"
    assert by_rule["if t.city = s.city and t.salary <= s.salary then t.rate <= s.rate"]["kind"] == "order"


def test_written_rules_hold_on_the_same_table(found: dict[str, Any], place: Path) -> None:
    everything = hf.read_rules(place / "all.yaml")
    single = [rule["rule"] for rule in found["column_rules"] if rule["rule"] is not None]
    texts = [*single, *(rule["rule"] for rule in found["rules"])]
    assert [str(rule) for rule in everything] == texts
    done = holdfast("check", place / "people.csv", place / "all.yaml", "--format", "json")
    assert done.exit_code == 0, done.output
    checked = json.loads(done.stdout)["rules"]
    assert [rule["rule"] for rule in checked] == texts
    assert len(texts) > 150
    assert all(rule["violating_rows"] == 0 for rule in checked)


def test_text_says_what_was_found_in_words(place: Path) -> None:
    done = holdfast("discover", place / "people.csv", "--top", "5", "--no-column-rules", "-o", place / "five.yaml")
    assert done.exit_code == 0, done.output
    for words in ("people.csv  60 rows", "The best 5 rules: ", "no two rows have the same id", "unique(id)"):
        assert words in done.stdout
    assert "No other scores more than" in done.stdout
    assert "Rules of a lower score were left out." in done.stdout
    assert "reading people.csv" in done.stderr
    rules = hf.read_rules(place / "five.yaml")
    assert len(rules) == 5
    assert rules["unique-id"].description == "no two rows have the same id"


def test_rules_are_written_with_how_nulls_compare(place: Path) -> None:
    options = ("--columns", "zip, city", "--nulls", "equal", "--quiet", "--output", place / "text.txt")
    done = holdfast("discover", place / "people.csv", *options, "-o", place / "equal.yaml")
    assert (done.exit_code, done.output) == (0, "")
    rules = hf.read_rules(place / "equal.yaml")
    assert rules.nulls == "equal"
    assert [str(rule) for rule in rules if rule.kind != "row"] == ["zip -> city"]
    assert "rows with the same zip have the same city" in (place / "text.txt").read_text(encoding="utf-8")


def test_what_single_columns_keep_comes_first_and_is_written(place: Path, found: dict[str, Any]) -> None:
    options = ("--exclude", "salary,rate", "--max-predicates", "1")
    done = holdfast("discover", place / "people.csv", *options, "-o", place / "single.yaml")
    assert done.exit_code == 0, done.output
    plain = " ".join(done.stdout.split())
    assert "never null id, zip, city, first, last (60 rows)" in plain
    assert "city one of 'c0', 'c1', 'c2' (each in 20 rows or more)" in plain
    assert "zip at least 10 (10 rows have it); at most 15 (10 rows have it)" in plain
    assert plain.index("never null") < plain.index("unique(id)")
    rules = hf.read_rules(place / "single.yaml")
    assert str(rules["city-values"]) == "not(t.city not in ('c0', 'c1', 'c2'))"
    assert rules["city-values"].description == "city is one of 'c0', 'c1', 'c2'"
    assert holdfast("check", place / "people.csv", place / "single.yaml", "--quiet").exit_code == 0
    facts = [rule for rule in found["column_rules"] if rule["rule"] is None]
    assert [(rule["column"], rule["says"]) for rule in facts] == []


def test_column_rules_are_left_out_on_request(place: Path) -> None:
    options = ("--no-column-rules", "--max-predicates", "1", "--format", "json")
    done = holdfast("discover", place / "people.csv", *options, "-o", place / "none.yaml")
    assert "column_rules" not in json.loads(done.stdout)
    assert all(rule.kind != "row" for rule in hf.read_rules(place / "none.yaml"))
    found = hf.discover(place / "people.csv", max_predicates=1, column_rules=False)
    assert (found.column_rules, found.rule_set) == ((), found.rules)
    assert "single columns" not in found.summary()
    refused = holdfast("discover", "--no-column-rules", "--table", f"a={place / 'people.csv'}")
    assert refused.exit_code == 2
    assert "column-rules is for the discovery of one table" in refused.output


def test_columns_are_compared_as_asked(place: Path) -> None:
    options = ("--exclude", "id,zip,city,salary,rate", "--format", "json")
    without = json.loads(holdfast("discover", place / "people.csv", *options, "--cross-columns", "off").stdout)
    assert without["predicates"] == 12
    assert not [rule for rule in without["rules"] if rule["kind"] == "row"]
    within = json.loads(holdfast("discover", place / "people.csv", *options, "--one-row").stdout)
    assert within["predicates"] == 36
    assert "not(t.first > t.last)" in [rule["rule"] for rule in within["rules"]]


def test_rules_have_no_more_predicates_than_asked(place: Path, found: dict[str, Any]) -> None:
    done = holdfast("discover", place / "people.csv", "--max-predicates", "2", "--top", "all", "--format", "json")
    short = [rule["dc"] for rule in json.loads(done.stdout)["rules"]]
    assert short
    assert sorted(short) == sorted(rule["dc"] for rule in found["rules"] if rule["dc"].count(" and ") < 2)
    assert len(short) < len(found["rules"])


def test_explain_prints_the_space_and_searches_nothing(place: Path) -> None:
    done = holdfast("discover", place / "people.csv", "--explain", "--exclude", "rate", "-o", place / "not.yaml")
    assert done.exit_code == 0, done.output
    for words in (
        "people.csv  60 rows: ",
        "t.id =, != s.id",
        "t.salary <, =, > s.salary",
        "t.first <, =, > s.last",
        "first, last: 100%, compared",
        "left out by --exclude: rate",
    ):
        assert words in done.stdout
    assert "t.rate" not in done.stdout
    assert not (place / "not.yaml").exists()


def test_explain_without_cross_columns_says_so(place: Path) -> None:
    done = holdfast("discover", place / "people.csv", "--explain", "--cross-columns", "off")
    assert "7 operand pairs" in done.stdout
    assert "--cross-columns off" in done.stdout
    assert "t.first <, =, > s.last" not in done.stdout


def test_a_table_of_one_row_has_no_rules_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    done = holdfast("discover", tmp_path / "one.csv", "-o", tmp_path / "none.yaml")
    assert done.exit_code == 0, done.output
    assert "a table of 1 row has no rules" in done.stdout
    assert len(hf.read_rules(tmp_path / "none.yaml")) == 0


def test_the_library_shows_what_the_command_shows(place: Path) -> None:
    result = hf.discover(place / "people.csv", top=3)
    assert len(result.rules) == 3
    assert len(result.all_rules) >= 3
    assert "no two rows have the same id" in repr(result)
    assert repr(result) == result.summary()
    assert "<code>unique(id)</code>" in result._repr_html_()
    assert hf.check(place / "people.csv", result).holds


# Bad input -------------------------------------------------------------------------------------------------------

BAD = {
    "unknown column": (["--columns", "zipp"], ["UnknownColumnError", "--columns names 'zipp'", "did you mean 'zip'"]),
    "unknown exclusion": (["--exclude", "idd"], ["--exclude names 'idd'", "did you mean 'id'"]),
    "no columns": (["--columns", ","], ["not a list of column names"]),
    "top is no number": (["--top", "many"], ["OptionError", "'many'", "all"]),
    "top is 0": (["--top", "0"], ["OptionError", "'0'"]),
    "no share": (["--cross-columns", "half"], ["OptionError", "'half'", "off"]),
    "share beyond 1": (["--cross-columns", "1.5"], ["OptionError", "1.5"]),
    "no predicates": (["--max-predicates", "0"], ["OptionError", "max-predicates is 0"]),
    "no time": (["--time-limit", "0"], ["OptionError", "time-limit is 0"]),
    "no strategy": (["--strategy", "guess"], ["guess", "hybrid"]),
    "no such format": (["--format", "xml"], ["xml", "json"]),
    "rules in no folder": (["-o", "/nowhere/r.yaml"], ["OutputError", "-o '/nowhere/r.yaml'"]),
    "types without =": (["--types", "zip"], ["OptionError", "--types zip=text"]),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_2_and_is_explained(place: Path, arguments: list[str], words: list[str]) -> None:
    done = holdfast("discover", place / "people.csv", *arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize("option", ["-o", "--output"])
def test_the_table_is_not_overwritten(place: Path, option: str) -> None:
    done = holdfast("discover", place / "people.csv", option, place / "people.csv")
    assert done.exit_code == 2
    assert f"{option} " in done.stderr
    assert (place / "people.csv").read_text(encoding="utf-8") == table_text()


def test_rules_and_result_do_not_share_a_file(place: Path) -> None:
    done = holdfast("discover", place / "people.csv", "-o", place / "x", "--output", place / "x")
    assert done.exit_code == 2
    assert "name two files" in done.stderr
    assert not (place / "x").exists()


def test_help_shows_examples_and_exit_codes() -> None:
    done = holdfast("discover", "--help")
    assert done.exit_code == 0
    for words in ("Examples:", "holdfast discover", "-o found.yaml", "--one-row", "Exit code"):
        assert words in " ".join(done.stdout.split())
