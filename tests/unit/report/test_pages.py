"""Reports as pages: what they say, that every value is escaped, and that they stay small."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.checking.shown_check import (
    DOTS,
    GROUPS,
    LINES,
    PAIRS,
    RULES_IN_DETAIL,
    SIDES,
    WORST,
    Duplicate,
    Plot,
    ShownCheck,
    ShownGroup,
    ShownRule,
    Side,
    plotted_columns,
)
from holdfast.report.check_page import check_page
from holdfast.report.discovery_page import column_map, discovery_page
from holdfast.report.rule_words import rule_words
from holdfast.report.scatter import HEIGHT, WIDTH, number_of, scatter
from holdfast.report.watch_page import timeline, watch_page
from holdfast.rules.rule import Rule, parse_rule
from holdfast.search.options import discover_options
from holdfast.search.outcome import DiscoverOutcome, FoundRule
from holdfast.violations.witness import Witness, WorstRow
from holdfast.watching.status import Point, WatchStatus

EVIL = "<script>window.pwned = 1</script>\"'&"


class Tags(HTMLParser):
    """The elements of a page, and the texts in its cells and headings."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def tags(html: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(html)
    return parser.tags


def shown(*rules: ShownRule, table: str = "orders.csv") -> ShownCheck:
    found = tuple(one.outcome for one in rules)
    return ShownCheck(CheckOutcome(table, 240, ("id",), 1.5, found, notes=(f"a note {EVIL}",)), rules)


def violated(rule: Rule, **counts: Any) -> RuleOutcome:
    return RuleOutcome(rule, False, **{"violating_pairs": 2, "violating_rows": 3, "suspect_rows": 1,
                                       "violating_groups": None, **counts})  # fmt: skip


def everything(value: Any, many: int = 1) -> ShownRule:
    """A rule with all that a page can show of one, each part as large as it gets."""
    rule = Rule("r", parse_rule('if t."a<b" = s."a<b" and t.x > s.x then t.y >= s.y').body, description=EVIL)
    witness = Witness(value, {"x": value, "y": None}, 2, {"x": 1, "y": value}, ("x", "y"), ("y",))
    sides = tuple(Side(value, many - i + 10, (value, 1, 2)) for i in range(SIDES if many > 1 else 2))
    points = tuple((float(i), float(i * i)) for i in range(DOTS if many > 1 else 4))
    return ShownRule(
        violated(rule),
        (witness,) * (PAIRS if many > 1 else 1),
        (WorstRow(value, 9),) * (WORST if many > 1 else 1),
        (ShownGroup(str(value), EVIL, 100, sides, 3),) * (GROUPS if many > 1 else 1),
        (Duplicate((value,), 4, (value, 2)),),
        Plot("x", "y", (("a<b", value),), points, ((points[0], points[1]),) * (LINES if many > 1 else 1)),
    )


def test_every_value_is_escaped() -> None:
    plain, evil = check_page(shown(everything("harmless"), table="t")), check_page(shown(everything(EVIL), table=EVIL))
    assert [tag for tag, _ in tags(evil)] == [tag for tag, _ in tags(plain)], "a value is no element"
    assert evil.count("<script>") == 1 == plain.count("<script>")
    assert "&lt;script&gt;window.pwned" in evil
    assert 'class="bad"' in evil
    assert not re.search(r"""(?:src|href|url\()\s*=?\s*["'(]?(?:https?:)?//""", evil), "nothing is loaded"
    policy = next(attrs["content"] for _, attrs in tags(evil) if "http-equiv" in attrs)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy


def test_a_page_of_many_rules_stays_small() -> None:
    many = [everything("x" * 60, many=2)] * RULES_IN_DETAIL
    assert len(check_page(shown(*many)).encode()) < 2_000_000
    ordinary = [everything("Cambridge", many=2)] * 10
    assert len(check_page(shown(*ordinary)).encode()) < 1_000_000


def test_the_verdict_comes_first_and_what_is_violated_before_what_holds() -> None:
    holding = ShownRule(RuleOutcome(parse_rule("unique(a)"), True, 0, 0, 0, None))
    warned = ShownRule(violated(Rule("w", parse_rule("a -> b").body, severity="warn")))
    page = check_page(shown(holding, warned, everything(1)))
    assert "2 of 3 rules are violated, 1 only as a warning." in page
    assert re.findall(r'<details class="card (\w+)"', page) == ["violated", "warning", "holds"]
    assert "All 1 rules" not in check_page(shown(holding))
    assert 'class="verdict good"' in check_page(shown(holding))


def test_a_suggestion_is_made_where_one_value_stands_out() -> None:
    def group(*rows: int, value: str | None = "a") -> ShownGroup:
        return ShownGroup("g", "c", sum(rows), tuple(Side(value, n, ()) for n in rows))

    assert group(9, 1).suggested is not None
    assert group(4, 2, 2, 1).suggested is not None
    assert group(2, 2).suggested is None
    assert group(5, 4, 4).suggested is None
    assert group(9, 1, value=None).suggested is None


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("unique(a)", "No two rows have the same a."),
        ("a, b -> c, d", "Rows with the same a and b have the same c and d."),
        ("a = 1 -> b = 'x'", "On rows with a = 1: rows have b = 'x'."),
        ("a = 1, c -> b", "On rows with a = 1: rows with the same c have the same b."),
        ("not(t.a is not null)", "No row has a value in a."),
        ("not(t.a > s.a and t.b < s.b)", "A higher a never has a lower b."),
        ("not(t.a > 5)", "It is not so that t.a > 5."),
    ],
)
def test_rules_are_told_in_words(rule: str, words: str) -> None:
    assert rule_words(parse_rule(rule)) == words


def test_plots_are_placed_inside_of_the_drawing() -> None:
    rule = parse_rule("not(t.g = s.g and t.a > s.a and t.b <= s.b)")
    assert plotted_columns(rule) == ("a", "b", ("g",))
    assert plotted_columns(parse_rule("a -> b")) is None
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(90)]
    placed = scatter(Plot("a", "b", (), tuple((d, Decimal(i)) for i, d in enumerate(days)),
                          (((days[0], 5), (days[9], 3)),)))  # fmt: skip
    assert placed is not None
    points = [*placed.dots, *(end for line in placed.lines for end in line)]
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in points)
    assert placed.dots[0][0] < placed.dots[-1][0]
    assert placed.dots[0][1] > placed.dots[-1][1], "more is higher up"
    assert all(re.fullmatch(r"2024-\d\d-\d\d", label) for _, label in placed.x_ticks)
    assert 2 <= len(placed.x_ticks) <= 12
    assert scatter(Plot("a", "b", (), (("x", 1),), ())) is None
    one = scatter(Plot("a", "b", (), ((2**70, float("1e300")), (2**70, float("1e300"))), ()))
    assert one is not None
    assert [number_of(v) for v in (float("nan"), float("inf"), None, True, "1", 10**400)] == [None] * 6
    for low, high in ((0, 1), (-3, 3), (0.001, 0.002), (1e9, 3e9), (5, 5), (-1e-9, 1e-9)):
        made = scatter(Plot("a", "b", (), ((low, low), (high, high)), ()))
        assert made is not None
        assert len(made.x_ticks) <= 12
        assert all(np.diff([x for x, _ in made.x_ticks]) > 0)


def found(text: str, score: float = 0.9) -> FoundRule:
    rule = Rule(text, parse_rule(text).body, description=f"{text} {EVIL}")
    return FoundRule(rule, rule.body.denials[0], score, 0.25, 100)


def test_found_rules_are_ranked_and_mapped() -> None:
    rules = [found("unique(id)"), found("zip -> city", 0.1), found('a, "<b>" -> city')]
    outcome = DiscoverOutcome(EVIL, 10, 10, 5, 7, False, 1.0, rules, discover_options(), why="time is up")
    html = discovery_page(outcome)
    assert html.count("<script>") == 1
    assert html.count("<article") == 3
    assert 'class="card entry weak"' in html
    assert "Not all there is: time is up." in html
    made = column_map(outcome.shown)
    assert made is not None
    assert made.columns == ("<b>", "a", "city", "id", "zip")
    cells = {(a, b): made.cells[i][j] for i, a in enumerate(made.columns) for j, b in enumerate(made.columns)}
    assert cells["zip", "city"] == cells["id", "a"] == "alone"
    assert cells["a", "city"] == "part"
    assert cells["city", "zip"] == ""
    assert cells["a", "a"] == "self"
    assert column_map((found("not(t.x > s.x and t.y < s.y)"),)) is None
    assert "<article" not in discovery_page(DiscoverOutcome("t", 1, 1, 0, 0, True, 0.0, (), discover_options()))


def test_a_timeline_has_a_step_for_each_version() -> None:
    points = [Point(v, 1e9 + v, 5, {"a": n, **({"b": 1} if v else {})}) for v, n in enumerate([0, 4, 2, 2])]
    line = timeline(points, "a", "pairs")
    assert line is not None
    assert line.line.count("V") == 4
    assert (line.now, line.most) == (2, 4)
    assert line.since == "2 violations since version 2, 2001-09-09 01:46 UTC"
    late = timeline(points, "b", "rows")
    assert late is not None
    assert late.line.startswith("M80.0 ")
    assert timeline(points, "c", "rows") is None
    one = everything(EVIL)
    status = WatchStatus(EVIL, 3, 5, ("id",), 3, {"a": 2}, {"a": "pairs"}, {"a": "a -> b"})
    html = watch_page(status, points, shown(one))
    assert html.count("<script>") == 1
    assert html.count('<path class="line"') == 1
