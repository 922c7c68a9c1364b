"""What results show of themselves in a notebook: all that a person needs, every value escaped, and never much."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import holdfast
from holdfast import Monitor, RuleKeeper
from holdfast.checking.history import History, RuleHistory, RulePoint
from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.evolving.outcome import AddedRule, BreakingPair, EvolveOutcome, EvolveStatus, RemovedRule, RulesChange
from holdfast.explaining.explanation import BrokenRule, RowExplanation, Suggestion
from holdfast.fragments.outcome import FragmentsOutcome, FragmentsStatus
from holdfast.fragments.sites import parse_sites
from holdfast.linting.finding import LintFinding, LintOutcome
from holdfast.presented import Presented
from holdfast.report.notebook import notebook_html
from holdfast.report.rule_html import discovery_html
from holdfast.report.violations_html import summary_html
from holdfast.rules.predicate import quoted_name
from holdfast.rules.rule import Rule, RuleSet, allowance, parse_rule
from holdfast.rules.rule_file import parse_rules
from holdfast.search.options import DiscoverOptions
from holdfast.search.outcome import DiscoverOutcome, FoundRule
from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.messages import Shipped
from holdfast.states.violations_change import RuleViolationsChange, ViolationsChange
from holdfast.violations.witness import Witness, WorstRow
from holdfast.watching.status import WatchStatus

EVIL = "<script>alert(1)</script>\"'&amp;"
MANY = 3000
VOID = {"br"}


class Balanced(HTMLParser):
    """Fails where a tag is not closed, or closed twice; collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Balanced:
    found = Balanced()
    found.feed(html)
    found.close()
    assert found.open == []
    return found


# One of each, with `name` for every name and value, and `many` of whatever can be many ------------------------------


def a_rule(name: str, **terms: Any) -> Rule:
    body = parse_rule(f"{quoted_name(name)} -> b").body
    return Rule(name, body, **{"description": name, "where": f"x = '{name}'", **terms})


def rule(name: str, many: int) -> str:
    return a_rule(name, severity="warn", allow=allowance("1%"))._repr_html_()


def tableau(name: str, many: int) -> str:
    entry = {"name": name, "rule": "a -> b", "patterns": [{"a": name, "b": str(i)} for i in range(many)]}
    return parse_rules(json.dumps([entry])).rules[0]._repr_html_()


def rules(name: str, many: int) -> str:
    return RuleSet(tuple(a_rule(f"{name}{i}") for i in range(many)), key=(name,), nulls="equal")._repr_html_()


def check(name: str, many: int) -> str:
    witness = Witness(name, {name: name, "b": 1}, 2, {name: None, "b": name}, (name, "b"), ("b",))
    found = RuleOutcome(a_rule(name), False, 3, 4, 1, 1, False, witness)
    return summary_html(CheckOutcome(name, 9, (name,), 1.0, (found,), notes=(name,)))


def found(name: str, many: int) -> DiscoverOutcome:
    ones = [FoundRule(a_rule(f"{name}{i}"), parse_rule("a -> b").body.denials[0], 0.9, 0.5, 7) for i in range(many)]
    return DiscoverOutcome(name, 9, 9, 4, 5, True, 1.0, ones, DiscoverOptions(), top=10, notes=(name,))


def discover(name: str, many: int) -> str:
    return discovery_html(found(name, many))


def violations(name: str, many: int) -> str:
    pairs = [(name, i) for i in range(many)]
    change = RuleViolationsChange(pairs, [(name, None)] * many, many, many)
    return ViolationsChange({name: change}, {name: many})._repr_html_()


def history(name: str, many: int) -> str:
    days = [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in (1, 2)]
    points = tuple(
        RulePoint(str(day), day, 10, bad, bad, verdict)
        for day, bad, verdict in zip(days, (0, 5), ("holds", "violated"), strict=True)
    )
    rules = tuple(RuleHistory(name, f"{name}{i}", points) for i in range(max(many, 1)))
    return History(name, 2, rules)._repr_html_()


def lint(name: str, many: int) -> str:
    finding = LintFinding("error", "column", f"there is no {name}", "rules.yaml", 3, name, "did you mean 'zip'?")
    return LintOutcome((finding,) * many, 2)._repr_html_()


def batch(name: str, many: int, *, applied: bool = True) -> BatchOutcome:
    listed = [(name, i) for i in range(many)]
    change = ViolationsChange({name: RuleViolationsChange(listed, listed, many + 1, many)}, {name: many})
    return BatchOutcome(name, applied, 3, 9, change, 1.0)


def rules_change(name: str, many: int) -> RulesChange:
    gone = [RemovedRule(name, BreakingPair(name, name, ((name, name, None),))), RemovedRule(name, None, name)]
    return RulesChange([AddedRule(name, name), AddedRule(name, None, name)] * many, gone * many, 5, "evidence", (name,))


def monitor(name: str, many: int) -> str:
    made = Monitor([a_rule(name, where=None)], key="id")
    made.insert([{"id": i, name: 1, "b": i % 2} for i in range(4)])
    return made._repr_html_()


def keeper(name: str, many: int) -> str:
    rows = [{"id": i, name: i % 2, "b": i % 2, "c": i % 3} for i in range(6)]
    return RuleKeeper(rows, key="id", exclude="id")._repr_html_()


def watch_status(name: str, many: int) -> str:
    worst = {name: ((name, 3), (4, 0))}
    return WatchStatus(name, 3, 9, ("id",), 2, {name: 5}, {name: "pairs"}, {name: name}, worst)._repr_html_()


def evolve_status(name: str, many: int) -> str:
    return EvolveStatus(found(name, many), 3, ("id",), 2, ((3, rules_change(name, many)),))._repr_html_()


def fragments(name: str, many: int) -> str:
    return FragmentsOutcome(batch(name, many), Shipped(1, 2, 3))._repr_html_()


def fragments_status(name: str, many: int) -> str:
    told = {
        "key": "id",
        "sites": {name: {"columns": [name, "b"]}},
        "rules": [{"name": name, "rule": f"{quoted_name(name)} -> b"}],
    }
    return FragmentsStatus(parse_sites(json.dumps(told)), 3, 9, 2, {name: 5}, Shipped(1, 2, 3))._repr_html_()


EACH: list[Callable[[str, int], str]] = [
    rule, tableau, rules, check, discover, violations, lambda name, many: batch(name, many)._repr_html_(),
    lambda name, many: rules_change(name, many)._repr_html_(),
    lambda name, many: EvolveOutcome(name, True, 3, 9, rules_change(name, many), 1.0)._repr_html_(),
    monitor, keeper, watch_status, evolve_status, fragments, fragments_status, history, lint,
]  # fmt: skip


@pytest.mark.parametrize("made", EACH)
def test_values_are_escaped_and_much_is_cut(made: Callable[[str, int], str]) -> None:
    page = read(made(EVIL, 2))
    assert "script" not in page.seen
    assert page.seen <= {"b", "br", "code", "div", "span", "table", "tbody", "td", "th", "thead", "tr"}
    assert EVIL[:36] in page.text  # as it is, however often it was escaped: once
    assert "&amp;amp;" not in page.text
    assert "Markup(" not in page.text
    assert len(made("x", MANY)) < 40_000


def test_a_notebook_in_dark_has_no_colours_of_ours_on_its_ground() -> None:
    for made in EACH:
        for style in re.findall(r'style="([^"]*)"', made("x", 2)):
            assert ("color:#fff" in style) == ("background:#" in style)
            assert "color:" not in style.replace("background:", "").replace("color:#fff", "")


def test_a_change_tells_what_came_and_went() -> None:
    told = read(violations("zip", 7)).text
    assert "7 added" in told
    assert "zip with 4" in told
    assert "zip with 5" not in told
    assert "and 2 more" in told
    assert "the limit cuts the lists" in read(batch("b", 2)._repr_html_()).text
    before = read(batch("b", 0, applied=False)._repr_html_()).text
    assert "has been applied before: version 3 stays as it is" in before
    kept = EvolveOutcome("b", False, 3, 9, RulesChange((), (), 5))
    assert "has been applied before" in read(kept._repr_html_()).text
    assert "the rules are as they were" in read(RulesChange((), (), 5)._repr_html_()).text


def test_a_rule_tells_its_terms_and_its_denials() -> None:
    told = read(Rule("r", parse_rule("a -> b").body, allow_pairs=allowance("0.2%"))._repr_html_()).text
    assert "allows 0.2% of the pairs" in told
    assert "not(t.a = s.a and t.b != s.b)" in told
    denial = parse_rule("not(t.a > 5)")._repr_html_()
    assert denial.count("not(t.a &gt; 5)") == 1
    assert "and 1 more pattern" in tableau("x", 11)
    assert "→ b" in tableau("x", 11)


def test_what_needs_no_table_has_none() -> None:
    assert "<table" not in RuleSet(())._repr_html_()
    assert "nothing" in FragmentsOutcome(batch("b", 0), Shipped())._repr_html_()


def test_an_explained_row_shows_rules_partners_and_what_would_mend_it() -> None:
    rule = parse_rule("zip -> city", name=EVIL)
    broken = BrokenRule(rule, 31, None, (WorstRow(EVIL, 1),))
    mend = Suggestion("city", EVIL, "Cambridge", 31, 0, (EVIL,), 0.94)
    shown = read(RowExplanation("orders.csv", "id", EVIL, {}, 2, (broken,), (mend,), 1.0)._repr_html_())
    assert "script" not in shown.seen
    for words in ("breaks 1 of 2 rules, 31 times in all", "Cambridge", "94%", "nothing is changed"):
        assert words in shown.text
    whole = read(RowExplanation("orders.csv", ["a", "b"], (1, 2), {}, 1, (), (), 1.0)._repr_html_())
    assert "breaks 0 of 1 rule, 0 times in all" in whole.text


def test_a_history_shows_its_rules_and_what_got_worse() -> None:
    shown = read(history("t", 1)).text
    for text in ("2 runs, 2024-01-01 to 2024-01-02", "▁█", "5 of 10 rows suspect (50%)", "t0  holds -> violated"):
        assert text in shown
    assert "and 2 more" in read(history("t", 32)).text


def test_what_a_linter_finds_is_a_table() -> None:
    shown = read(lint("zip", 2)).text
    for text in ("there is no zip", "rules.yaml", "did you mean 'zip'?", "2 errors; 2 rules could be read."):
        assert text in shown
    assert "nothing to say" in lint("zip", 0)


def test_every_value_that_shows_itself_has_a_form() -> None:
    for module in walk_packages(holdfast.__path__, "holdfast."):
        if not re.search(r"\.(spark|demo|serving|cli|gpu_evidence|__main__)\b", module.name):
            import_module(module.name)
    kinds, known = [Presented], {Presented}
    for kind in kinds:
        inner = [sub for sub in kind.__subclasses__() if sub not in known and sub.__module__.startswith("holdfast.")]
        kinds += inner
        known.update(inner)
    assert len(kinds) > 12
    without_form = notebook_html.dispatch(object)
    assert [kind.__name__ for kind in kinds[1:] if notebook_html.dispatch(kind) is without_form] == []
