"""`holdfast review` as a user answers it: what is asked, what is written, and that quitting keeps it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.rules.decisions import read_decisions

TABLE = "id,zip,city,n\n" + "".join(
    f"{i},{8000 + i % 12},{'Bern' if i == 7 else i % 12},{i * 7 % 240}\n" for i in range(240)
)


PLAIN = ("--no-column-rules", "--format", "json")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    found("--error", "0.002")
    return tmp_path


def found(*options: str) -> list[str]:
    told = run("discover", "t.csv", "--max-predicates", "2", "--cross-columns", "off", *options, *PLAIN)
    assert told.exit_code == 0, told.output
    Path("found.json").write_text(told.stdout, encoding="utf-8")
    return [rule["rule"] for rule in json.loads(told.stdout)["rules"]]


def run(*arguments: str, answers: str | None = None) -> Any:
    return CliRunner().invoke(app, [*arguments, "--quiet"], input=answers)


def review(answers: str, *options: str) -> str:
    done = run("review", "found.json", *options, answers=answers)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def rules_asked(printed: str) -> list[str]:
    """The rules that were shown, in their order."""
    blocks = printed.split("keep it? ")[:-1]
    return [block.strip().splitlines()[-1].strip() for block in blocks]


def test_what_is_kept_holds_and_is_not_asked_again(place: Path) -> None:
    rules = found("--error", "0.002")
    assert "zip -> city" in rules
    answers = "".join("n a guess\n" if rule == rules[-1] else "y\n" for rule in rules)
    printed = review(answers)
    assert rules_asked(printed) == rules
    assert f"{len(rules) - 1} rules kept, 1 rejected, 0 to decide." in printed
    kept = hf.read_rules("rules.yaml")
    assert [str(rule) for rule in kept] == rules[:-1]
    assert run("check", "t.csv", "rules.yaml").exit_code == 0
    (rejected,) = read_decisions("decisions.yaml").rejected
    assert (str(rejected.rule), rejected.why) == (rules[-1], "a guess")
    assert "are decided." in review("y\n")
    assert found("--error", "0.002", "--decisions", "decisions.yaml") == []


def test_quitting_keeps_what_was_decided_and_the_next_run_goes_on(place: Path) -> None:
    rules = found("--error", "0.002")
    assert f"1 rule kept, 1 rejected, {len(rules) - 2} to decide." in review("y\nn\nq\n")
    assert [str(rule) for rule in hf.read_rules("rules.yaml")] == rules[:1]
    printed = review("")  # the input ends
    assert rules_asked(printed) == rules[2:3]
    assert rules_asked(review("j\nk\nq\n")) == [rules[2], rules[3], rules[2]]
    assert [str(rule) for rule in hf.read_rules("rules.yaml")] == rules[:1]


def test_each_step_can_be_taken_back(place: Path) -> None:
    rules = found()
    assert rules_asked(review("y\nu\nn\nu\nu\nq\n")) == [rules[0], rules[1], rules[0], rules[1], rules[0], rules[0]]
    assert len(hf.read_rules("rules.yaml")) == 0
    assert "There is nothing to undo." in review("u\nq\n")
    assert len(read_decisions("decisions.yaml")) == 0


def printed_entries(*entries: tuple[str, int]) -> None:
    rules = [{"rule": rule, "kind": "fd", "entry": entry} for rule, entry in entries]
    single = [
        {"column": "n", "says": says, "rule": rule}
        for says, rule in (("is never null", "not(t.n is null)"), ("rises", None), ("is at least 0", "not(t.n < 0)"))
    ]
    Path("found.json").write_text(json.dumps({"rules": rules, "column_rules": single}), encoding="utf-8")


def test_a_whole_entry_is_decided_at_once(place: Path) -> None:
    printed_entries(("a -> b", 1), ("c -> d", 2), ("e -> f", 1), ("g -> h", 3))
    printed = review("Y\nN all wrong\nn\nu\nu\nu\nq\n")
    single = ["not(t.n is null)", "not(t.n < 0)"]
    asked = [single[0], "a -> b", "c -> d", "g -> h", "c -> d", "a -> b", single[0]]
    assert rules_asked(printed) == asked, "a step back is the whole entry"
    assert printed.startswith("6 rules in 4 entries, 6 to decide in 4 entries.\n")
    assert "1 of 6  1 of 2 in column n" in printed
    assert "3 of 6  1 of 2 in entry 1" in printed
    assert "kept: 2 rules" in printed
    assert "0 rules kept, 0 rejected, 6 to decide in 4 entries." in printed

    printed = review("Y\ny\nn other\nJ\nK\nJ\nN all wrong\nq\n")
    assert rules_asked(printed) == [single[0], "a -> b", "e -> f", "c -> d", "g -> h", "c -> d", "g -> h", "c -> d"]
    assert "3 rules kept, 2 rejected, 1 to decide in 1 entry." in printed
    decisions = read_decisions("decisions.yaml")
    assert [str(rule) for rule in decisions.kept] == [*single, "a -> b"]
    assert [(str(entry.rule), entry.why) for entry in decisions.rejected] == [
        ("e -> f", "other"),
        ("g -> h", "all wrong"),
    ]
    assert [str(rule) for rule in hf.read_rules("rules.yaml")] == [*single, "a -> b"]


def test_names_and_terms_are_asked(place: Path) -> None:
    rules = found("--error", "0.002")
    at = rules.index("zip -> city")
    before = "j\n" * at
    printed = review(f"{before}r\none city\nbad\nmany\nr\n\nwarn\n3\ny\nq\n")
    assert "'bad' is neither error nor warn" in printed
    assert "'many' is not an allowance" in printed
    (rule,) = hf.read_rules("rules.yaml")
    assert (rule.name, rule.severity, rule.allow.count, rule.allow_pairs) == ("one city", "warn", 3, None)
    assert rule.description == "rows with the same zip have the same city"
    (kept,) = read_decisions("decisions.yaml").kept
    assert (kept.name, kept.severity, kept.allow.count) == ("one city", "warn", 3)
    assert "Another kept rule is called 'one city'" in review("r\none city\n\n\nq\n")


def test_what_an_approximate_rule_tolerates_is_kept(place: Path) -> None:
    rules = found("--error", "0.002")
    review("j\n" * rules.index("zip -> city") + "y\nq\n")
    (rule,) = hf.read_rules("rules.yaml")
    assert str(rule.allow_pairs) == "0.2%"
    assert run("check", "t.csv", "rules.yaml").exit_code == 0


def test_earlier_decisions_on_other_rules_stay(place: Path) -> None:
    Path("decisions.yaml").write_text(
        'kept: ["a -> b"]\nrejected: ["not(t.id = s.id)", {rule: "x -> y", why: no}]', encoding="utf-8"
    )
    rules = found()
    assert "unique(id)" in rules
    printed = review("y\nq\n")
    assert rules_asked(printed)[0] != "unique(id)", "it was rejected, in other words"
    decisions = read_decisions("decisions.yaml")
    assert next(str(rule) for rule in decisions.kept) == "a -> b"
    assert {str(entry.rule): entry.why for entry in decisions.rejected} == {"unique(id)": None, "x -> y": "no"}


def test_rules_of_somebody_else_are_not_overwritten(place: Path) -> None:
    Path("rules.yaml").write_text("rules: [{name: mine, rule: a -> b}]\n", encoding="utf-8")
    done = run("review", "found.json", answers="y\n")
    assert done.exit_code == 2
    assert "such as 'mine', and would be overwritten" in done.stderr
    assert "1 rule kept" in review("y\nq\n", "--rules", "other.yaml")
    assert len(hf.read_rules("other.yaml")) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not what a discovery prints"),
        ('{"rules": [{"dc": 1}]}', "rule 1: there is no rule"),
        ('{"rules": [{"rule": "a ->"}]}', "rule 1:"),
        ('{"rules": [{"rule": "a -> b", "allow": "x"}]}', "is not an allowance"),
    ],
)
def test_a_file_that_is_no_discovery_is_refused(place: Path, content: str, message: str) -> None:
    Path("found.json").write_text(content, encoding="utf-8")
    done = run("review", "found.json")
    assert done.exit_code == 2
    assert message in done.stderr
    assert run("review", "no.json").exit_code == 2


def test_names_that_a_terminal_would_obey_are_shown_as_escapes(place: Path) -> None:
    rule = {"rule": 'unique("a\x1b[31m\nb")', "score": 1, "coverage": 1}
    Path("found.json").write_text(json.dumps({"rules": [rule]}), encoding="utf-8")
    assert "\x1b" not in review("y\n")
    (kept,) = hf.read_rules("rules.yaml")
    assert kept.body.columns == ("a\x1b[31m\nb",)
