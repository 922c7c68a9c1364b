"""What a discovery prints: dependencies of one left side together, and honest words about what is missing."""

from __future__ import annotations

from dataclasses import replace

from holdfast.report.discovery_lines import discovery_lines, tally
from holdfast.report.discovery_text import discovery_text
from holdfast.report.rule_html import discovery_html
from holdfast.rules.rule import parse_rule
from holdfast.rules.sentence import sentence
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import DiscoverOutcome, FoundRule


def found_rule(text: str, score: float, support: int) -> FoundRule:
    rule = parse_rule(text)
    (constraint,) = rule.body.denials
    return FoundRule(replace(rule, description=sentence(constraint)), constraint, score, support / 90, support)


RULES = (
    found_rule("unique(id)", 1.0, 90),
    found_rule("zip -> city", 0.8, 40),
    found_rule("a -> b", 0.7, 20),
    found_rule("zip -> state", 0.6, 30),
    found_rule("not(t.low > t.high)", 0.5, 90),
    found_rule("unique(x, y)", 0.1, 2),
)
OUTCOME = DiscoverOutcome("t.csv", 10, 9, 12, 5, True, 0.25, RULES, DiscoverOptions())


def test_dependencies_of_one_left_side_stand_together() -> None:
    lines = discovery_lines(OUTCOME)
    assert [line.text for line in lines] == [
        "unique(id)",
        "zip -> city, state",
        "a -> b",
        "not(t.low > t.high)",
        "unique(x, y)",
    ]
    assert lines[1].words == "rows with the same zip have the same city and state"
    assert (lines[1].score, lines[1].tested) == (0.8, "30 pairs (33%)")


def test_rules_on_single_rows_are_tested_by_rows() -> None:
    assert discovery_lines(OUTCOME)[3].tested == "10 rows (100%)"


def test_the_text_tells_size_kinds_words_and_rules() -> None:
    text = discovery_text(OUTCOME)
    head, count = text.splitlines()[:2]
    assert head == "t.csv  10 rows, 12 predicates, 5 kinds of evidence, 0.2 s, all-pairs"
    assert count == "6 rules: 2 keys, 3 FDs, 1 rule on single rows. There are no others."
    for words in ("no two rows have the same id", "unique(id)", "zip -> city, state", "tested by 90 pairs (100%)"):
        assert words in text
    accidents = text.index("may be accidents")
    assert text.index("every row's low is at most its high") < accidents < text.index("unique(x, y)")


def test_what_is_not_shown_is_counted() -> None:
    assert "Shown: the best 2 of 6 rules." in discovery_text(replace(OUTCOME, top=2))
    assert "a -> b" not in discovery_text(replace(OUTCOME, top=2))
    assert "Shown:" not in discovery_text(OUTCOME)


def test_an_early_end_is_told() -> None:
    early = replace(OUTCOME, complete=False, why="the time limit was reached")
    assert tally(early).endswith("Not all there is: the time limit was reached.")
    assert tally(replace(early, found=())) == "No rules yet: the time limit was reached."
    assert tally(replace(OUTCOME, found=())) == "No rules."
    short = replace(OUTCOME, options=DiscoverOptions(max_predicates=3))
    assert tally(short).endswith("There are no others of up to 3 predicates.")


def test_notes_are_shown_and_html_is_escaped() -> None:
    odd = found_rule('"<b>" -> c', 0.9, 5)
    outcome = replace(OUTCOME, found=(odd,), notes=("a < b",))
    assert "note: a < b" in discovery_text(outcome)
    html = discovery_html(outcome)
    assert "a &lt; b" in html
    assert "&lt;b&gt;" in html
    assert '<b>"' not in html
