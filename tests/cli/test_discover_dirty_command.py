"""`holdfast discover` on tables with errors, as a user types it: what is tolerated, counted, written and checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app

RULE_KEYS = ["rule", "dc", "kind", "score", "coverage", "violating_pairs", "accident", "entry", "variant"]


def table_text(rows: int = 300) -> str:
    """zip gives city, but for three rows; first is at most last, but for two."""
    lines = ["id,zip,city,first,last"]
    for i in range(rows):
        city = "x" if i in (7, 77, 177) else f"c{i % 10 % 5}"
        first = (i * 7) % 13
        last = first + i % 5 if i not in (3, 33) else -1
        lines.append(f"p{i},{10 + i % 10},{city},{first},{last}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dirty")
    (folder / "dirty.csv").write_text(table_text(), encoding="utf-8")
    return folder


def holdfast(*arguments: str | Path) -> Any:
    """The command in this process, on the session of the tests."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_rules_that_hold_but_for_a_few_pairs_are_found_and_accepted(place: Path) -> None:
    options = ("--error", "0.01", "--one-row", "--max-predicates", "2", "--format", "json")
    done = holdfast("discover", place / "dirty.csv", *options, "--no-column-rules", "-o", place / "rules.yaml")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["complete"] is True
    tolerant = [[*RULE_KEYS[:-2], name, *RULE_KEYS[-2:]] for name in ("allow_pairs", "allow")]
    assert all([key for key in rule if key != "follows_from"] in (RULE_KEYS, *tolerant) for rule in told["rules"])
    by_rule = {rule["rule"]: rule for rule in told["rules"]}
    # Each of three wrong cities stands beside the 29 right ones of its zip code; two of them share one.
    assert by_rule["zip -> city"]["violating_pairs"] == 27 * 3
    assert "not(t.first > t.last)" in by_rule
    rules = {str(rule): rule for rule in hf.read_rules(place / "rules.yaml")}
    assert str(rules["zip -> city"].allow_pairs) == "1%"
    assert str(rules["not(t.first > t.last)"].allow) == "1%"
    assert rules["unique(id)"].allow_pairs is None
    checked = holdfast("check", place / "dirty.csv", place / "rules.yaml", "--format", "json")
    assert checked.exit_code == 0, checked.output
    counts = {rule["rule"]: rule["violating_pairs"] for rule in json.loads(checked.stdout)["rules"]}
    assert counts == {text: rule["violating_pairs"] for text, rule in by_rule.items()}


def test_text_names_what_breaks_a_rule(place: Path) -> None:
    done = holdfast("discover", place / "dirty.csv", "--error", "1%", "--one-row", "--max-predicates", "2")
    assert done.exit_code == 0, done.output
    plain = " ".join(done.stdout.split())
    assert "broken by 81 pairs, 3 suspects" in plain
    assert "every row's first is at most its last" in plain
    assert "broken by 2 rows" in plain
    assert "There are no others of up to 2 predicates that at most 1% of the pairs break." in plain


def test_the_library_carries_pairs_and_suspects(place: Path) -> None:
    found = hf.discover(place / "dirty.csv", columns="id,zip,city", error=0.01)
    by_rule = {str(one.rule): one for one in found.outcome.shown}
    assert (by_rule["zip -> city"].violating_pairs, by_rule["zip -> city"].suspect_rows) == (81, 3)
    assert "broken by 81 pairs, 3 suspects" in found._repr_html_()
    assert hf.check(place / "dirty.csv", found).holds


def test_no_error_is_the_exact_search(place: Path) -> None:
    exact, none = hf.discover(place / "dirty.csv", top="all"), hf.discover(place / "dirty.csv", top="all", error=0)
    assert exact.to_dict()["rules"] == none.to_dict()["rules"]


def test_many_rows_are_sampled_and_the_rules_shown_are_counted_on_all(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    zips = rng.integers(0, 20, 6_000)
    city = np.where(rng.random(6_000) < 0.01, 99, zips % 7)
    lines = [f"{i},{z},{c},{s}" for i, (z, c, s) in enumerate(zip(zips, city, rng.integers(0, 9, 6_000), strict=True))]
    (tmp_path / "large.csv").write_text("id,zip,city,size\n" + "\n".join(lines) + "\n", encoding="utf-8")
    found = hf.discover(tmp_path / "large.csv", error=0.002, strategy="hybrid", top=10, column_rules=False)
    assert not found.complete
    plain = " ".join(found.summary().split())
    assert "note: rules come from a sample of 5,000,000 pairs of rows" in plain
    assert "in the sample 0." in plain
    assert "Not all there is: evidence was sampled" in plain
    with hf.check(tmp_path / "large.csv", found) as checked:
        assert checked.holds
        exact = {rule["rule"]: rule["violating_pairs"] for rule in checked.to_dict()["rules"]}
    shown = {rule["rule"]: rule["violating_pairs"] for rule in found.to_dict()["rules"]}
    assert shown == exact
    assert shown["zip -> city"] > 0


def test_keys_and_dependencies_by_rows(place: Path) -> None:
    options = ("--error-rows", "1%", "--top", "all", "-o", place / "by_rows.yaml")
    done = holdfast("discover", place / "dirty.csv", *options, "--format", "json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert {rule["kind"] for rule in told["rules"]} <= {"key", "fd"}
    assert (told["evidence"], told["predicates"]) == (0, 10)
    rules = {str(rule): rule for rule in hf.read_rules(place / "by_rows.yaml")}
    assert str(rules["zip -> city"].allow) == "1%"
    assert rules["zip -> city"].allow_pairs is None
    assert holdfast("check", place / "dirty.csv", place / "by_rows.yaml").exit_code == 0
    strict = hf.discover(place / "dirty.csv", error_rows="0.5%", top="all")
    assert "zip -> city" not in [str(rule) for rule in strict.rules]
    text = " ".join(holdfast("discover", place / "dirty.csv", "--error-rows", "0.01").stdout.split())
    assert "zip -> city tested by 8,700 pairs (9.7%), broken by 81 pairs, 3 suspects" in text
    assert "no others among keys and dependencies for which at most 1% of the rows have to go." in text


def test_conditional_dependencies(place: Path) -> None:
    lines = ["country,zip,street,vat"]
    for i in range(120):
        uk = i % 2 == 0
        street = f"s{i % 12}" if uk and i != 8 else f"x{i}"
        lines.append(f"{'UK' if uk else 'US'},{i % 12 // 2},{street},{20 if uk and i != 40 else i % 7}")
    (place / "streets.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ("--conditional", "--min-support", "0.2", "--min-confidence", "0.95", "--max-predicates", "3")
    done = holdfast("discover", place / "streets.csv", *options, "--format", "json", "-o", place / "cfds.yaml")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    by_rule = {rule["rule"]: rule for rule in told["rules"]}
    assert {rule["kind"] for rule in told["rules"]} == {"cfd"}
    # One of the ten streets of a zip code is wrong.
    assert by_rule["country = 'UK', zip -> street"]["violating_pairs"] == 9
    assert by_rule["country = 'UK' -> vat = 20"]["dc"] == "not(t.country = 'UK' and t.vat != 20)"
    assert not [text for text in by_rule if "country = 'UK', zip" in text and "vat" in text]
    rules = {str(rule): rule for rule in hf.read_rules(place / "cfds.yaml")}
    assert rules["country = 'UK' -> vat = 20"].description == "where country = 'UK', vat is 20"
    assert rules["country = 'UK' -> vat = 20"].allow.count == 3
    assert holdfast("check", place / "streets.csv", place / "cfds.yaml").exit_code == 0
    text = " ".join(holdfast("discover", place / "streets.csv", *options).stdout.split())
    assert "where country = 'UK', rows with the same zip have the same street" in text
    assert "tested by 60 rows (50%), broken by 1 row" in text
    assert "with a support of 20% of the rows and a confidence of 95%" in text


def test_rules_among_rows_with_a_value(place: Path) -> None:
    lines = ["country,salary,rate,gross,net"]
    for i in range(80):
        uk, salary = i % 2 == 0, (i * 37) % 31
        lines.append(f"{'UK' if uk else 'US'},{salary},{salary // 4 if uk else (i * 11) % 9},{100 + i},{99 + (i % 3)}")
        lines[-1] = lines[-1] if uk else lines[-1].rsplit(",", 1)[0] + f",{100 + (i * 13) % 90}"
    (place / "rates.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ("--constants", "--min-support", "20", "--cross-columns", "0", "--one-row", "--max-predicates", "3")
    columns = ("--columns", "country,salary,rate,gross,net", "--top", "all", "--format", "json")
    done = holdfast("discover", place / "rates.csv", *options, *columns, "-o", place / "values.yaml")
    assert done.exit_code == 0, done.output
    told = {rule["rule"]: rule for rule in json.loads(done.stdout)["rules"]}
    order = "not(t.country = 'UK' and s.country = 'UK' and t.salary <= s.salary and t.rate > s.rate)"
    assert told[order]["kind"] == "dc"
    row = "not(t.country = 'UK' and t.gross <= t.net)"
    assert told[row]["kind"] == "row"
    assert not [text for text in told if "country = 'US'" in text and "t.gross <= t.net" in text]
    rules = {str(rule): rule for rule in hf.read_rules(place / "values.yaml")}
    assert rules[row].description == "where country = 'UK', every row's gross is above its net"
    some = hf.check(place / "rates.csv", [rules[order], rules[row]])
    assert some.holds
    plain = hf.discover(place / "rates.csv", cross_columns=0, one_row=True, max_predicates=3, top="all")
    assert {str(rule) for rule in plain.rules} <= set(told)


BAD = {
    "constants by rows": (["--constants", "--error-rows", "0.1"], ["OptionError", "constants"]),
    "constants and conditional": (["--constants", "--conditional"], ["OptionError", "constants"]),
    "conditional by pairs": (["--conditional", "--error", "0.1"], ["OptionError", "min-confidence"]),
    "support without conditional": (["--min-support", "0.1"], ["OptionError", "min-support", "without conditional or"]),
    "no support": (["--conditional", "--min-support", "0"], ["OptionError", "min-support is 0"]),
    "half a row": (["--conditional", "--min-support", "2.5"], ["OptionError", "min-support is 2.5"]),
    "confidence beyond 1": (["--conditional", "--min-confidence", "2"], ["OptionError", "min-confidence is 2"]),
    "rows and pairs": (["--error", "0.1", "--error-rows", "0.1"], ["OptionError", "both", "by pairs or by rows"]),
    "rows beyond 1": (["--error-rows", "100%"], ["OptionError", "error-rows is 1,"]),
    "rows are no number": (["--error-rows", "few"], ["OptionError", "error-rows is 'few'"]),
    "error is no number": (["--error", "some"], ["OptionError", "error is 'some'", "0.1%"]),
    "error beyond 1": (["--error", "1"], ["OptionError", "error is 1,", "below 1"]),
    "error below 0": (["--error", "-0.1"], ["OptionError", "error is -0.1"]),
    "error is not finite": (["--error", "nan"], ["OptionError", "'nan'"]),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_2_and_is_explained(place: Path, arguments: list[str], words: list[str]) -> None:
    done = holdfast("discover", place / "dirty.csv", *arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.output
