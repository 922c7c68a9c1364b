"""Results as small pieces of HTML for notebooks, by type. Every value is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

from markupsafe import Markup

from holdfast.checking.history import History, RuleHistory
from holdfast.checking.outcome import CheckOutcome
from holdfast.evolving.outcome import EvolveOutcome, EvolveStatus, RulesChange
from holdfast.evolving.rule_keeper import RuleKeeper
from holdfast.explaining.explanation import RowExplanation
from holdfast.fragments.outcome import FragmentsOutcome, FragmentsStatus
from holdfast.linting.finding import LintOutcome
from holdfast.monitor.monitor import Monitor
from holdfast.report.history_text import last_state, period, sparkline, worse_lines
from holdfast.report.html_table import code, dim, html_lines, html_table, on_lines, strong
from holdfast.report.lint_text import lint_closing
from holdfast.report.rule_html import discovery_html, discovery_table, rule_html, rules_change_html, rules_html
from holdfast.report.violations_html import Listed, counted, summary_html, violations_html
from holdfast.report.words import applied_before, key_name, shipped_text, state_size, violations_text
from holdfast.rules.plain_words import number, value_text, visible
from holdfast.rules.rule import Rule, RuleSet, rule_text
from holdfast.search.outcome import DiscoverOutcome
from holdfast.states.batch_outcome import BatchOutcome
from holdfast.states.violations_change import Violation, ViolationsChange
from holdfast.watching.status import WatchStatus

# How many rules of a rule keeper, and of each change in a history, are shown.
KEEPER_RULES, HISTORY_RULES = 10, 3
# How many rules of the history of checks, and findings of a linter.
FIRST_LINES = 30


def visible_html(value: Any) -> str:
    """Returns the value as HTML, in which characters that nobody would see are shown as escapes."""
    return visible(notebook_html(value))


@singledispatch
def notebook_html(value: Any) -> str:
    """Returns the value as HTML. Raises TypeError for a type that has no such form."""
    raise TypeError(f"{type(value).__name__} has no form for notebooks")


notebook_html.register(Rule, rule_html)
notebook_html.register(RuleSet, rules_html)
notebook_html.register(CheckOutcome, summary_html)
notebook_html.register(DiscoverOutcome, discovery_html)


@notebook_html.register
def _(explanation: RowExplanation) -> str:
    head = strong(f"{explanation.table}  {key_name(explanation.key)} {value_text(explanation.row)}")
    rules, times = number(explanation.rules, "rule"), number(explanation.violations, "time")
    counts = f"breaks {len(explanation.broken)} of {rules}, {times} in all"
    broken = [
        (entry.rule.name, code(entry.rule), f"{entry.violations:,}", ", ".join(value_text(o.key) for o in entry.others))
        for entry in explanation.broken
    ]
    suggestions = [
        (way.column, value_text(way.value), value_text(way.suggested), f"{way.resolves:,}", f"{way.confidence:.0%}")
        for way in explanation.suggestions
    ]
    tables = html_table(["broken", "rule", "times", "with"], broken)
    tables += html_table(["column", "is", "could be", "resolves", "confidence"], suggestions)
    return str(html_lines(head, counts, dim("nothing is changed" if suggestions else "")) + tables)


@notebook_html.register
def _(history: History) -> str:
    lines = [
        (rule.table or "", strong(rule.rule), rule.points[-1].verdict or "-", _bars(rule), last_state(rule))
        for rule in history.rules
    ]
    head = strong(history.folder) + f"  {number(history.runs, 'run')}, {period(history)}"
    worse = worse_lines(history)
    summary = html_lines(head, strong("worse than in the run before" if worse else "nothing got worse"))
    summary += html_lines(*worse[:FIRST_LINES], _and_more(worse))
    table = html_table(("table", "rule", "verdict", "suspects", "last run"), lines[:FIRST_LINES])
    return str(summary + table + html_lines(_and_more(lines)))


def _bars(rule: RuleHistory) -> str:
    return sparkline([point.share for point in rule.points])


@notebook_html.register
def _(outcome: LintOutcome) -> str:
    lines = [
        (
            finding.level,
            finding.file,
            finding.line or "",
            finding.rule or "",
            on_lines(finding.message, finding.hint or ""),
        )
        for finding in outcome.findings[:FIRST_LINES]
    ]
    table = html_table(("", "file", "line", "rule", "what is wrong"), lines)
    return str(html_lines(strong(lint_closing(outcome))) + table + html_lines(_and_more(outcome.findings)))


def _and_more(listed: Sequence[object]) -> Markup:
    return dim(f"and {len(listed) - FIRST_LINES:,} more" if len(listed) > FIRST_LINES else "")


@notebook_html.register
def _(monitor: Monitor) -> str:
    lines = [
        (
            on_lines(strong(rule.name), code(rule_text(rule))),
            violations_text(monitor.totals[rule.name], monitor.unit(rule)),
        )
        for rule in monitor.rules
    ]
    return str(html_lines(strong(number(len(monitor), "row"))) + html_table(("rule", "violations now"), lines))


@notebook_html.register
def _(change: ViolationsChange) -> str:
    added = {name: (rule.added, rule.added_count) for name, rule in change.rules.items()}
    removed = {name: (rule.removed, rule.removed_count) for name, rule in change.rules.items()}
    return str(violations_html(counted(change.added_count, change.removed_count), change.totals, added, removed))


@notebook_html.register
def _(outcome: BatchOutcome) -> str:
    added, removed = _listed(outcome.change.added), _listed(outcome.change.removed)
    return str(violations_html(_batch_head(outcome), outcome.totals, added, removed))


def _batch_head(outcome: BatchOutcome) -> Markup:
    if not outcome.applied:
        return strong(outcome.batch) + f" {applied_before(outcome.version)}"
    size = dim(f"version {outcome.version}, {number(outcome.rows, 'row')}, {outcome.seconds:.1f} s")
    cut = dim("; the limit cuts the lists" if outcome.cut else "")
    counts = counted(outcome.added_count, outcome.removed_count)
    return Markup("{} {} {}{}").format(strong(outcome.batch), size, counts, cut)


def _listed(side: Mapping[str, Sequence[Violation]]) -> Listed:
    return {rule: (listed, len(listed)) for rule, listed in side.items() if listed}


@notebook_html.register
def _(status: WatchStatus) -> str:
    lines = [
        (
            on_lines(strong(rule), code(status.rules[rule])),
            violations_text(total, status.units[rule].removesuffix("s")),
            on_lines(*(_worst_row(key, conflicts) for key, conflicts in status.worst.get(rule, ()))),
        )
        for rule, total in status.totals.items()
    ]
    table = html_table(("rule", "violations", "worst rows"), lines)
    return str(html_lines(strong(status.table) + " " + dim(state_size(status))) + table)


def _worst_row(key: Any, conflicts: int) -> str:
    return value_text(key) + (f" ({number(conflicts, 'pair')})" if conflicts else "")


@notebook_html.register
def _(change: RulesChange) -> str:
    return str(rules_change_html("", change))


@notebook_html.register
def _(outcome: EvolveOutcome) -> str:
    if not outcome.applied:
        return str(html_lines(strong(outcome.batch) + f" {applied_before(outcome.version)}"))
    strategy = f", by {outcome.change.strategy}" if outcome.change.strategy else ""
    size = dim(f"version {outcome.version}, {number(outcome.rows, 'row')}, {outcome.seconds:.1f} s{strategy}")
    return str(rules_change_html(strong(outcome.batch) + " " + size, outcome.change))


@notebook_html.register
def _(status: EvolveStatus) -> str:
    rules = status.found
    size = dim(f"version {status.version}, {number(rules.rows, 'row')}, {number(status.batches, 'batch')}")
    html = html_lines(strong(rules.table) + " " + size, strong(number(len(rules.found), "rule")))
    html += discovery_table(rules.shown)
    for version, change in status.history:
        html += rules_change_html(strong(f"version {version}"), change, most=HISTORY_RULES)
    return str(html)


@notebook_html.register
def _(keeper: RuleKeeper) -> str:
    total = keeper.total
    head = strong(number(len(keeper), "row")) + f", {number(total, 'rule')}"
    more = total - KEEPER_RULES
    closing = dim(f"and {number(more, 'more rule')}, in rules" if more > 0 else "")
    return str(html_lines(head) + discovery_table(keeper.ranked_rules[:KEEPER_RULES]) + html_lines(closing))


@notebook_html.register
def _(outcome: FragmentsOutcome) -> str:
    return notebook_html(outcome.changes) + str(html_lines(dim(shipped_text(outcome.shipped))))


@notebook_html.register
def _(status: FragmentsStatus) -> str:
    head = strong(f"{number(len(status.sites.sites), 'site')}, {status.sites.split}") + " " + dim(state_size(status))
    sites = [(strong(site.name), ", ".join(site.columns or ()), site.where or "") for site in status.sites.sites]
    rules = [
        (on_lines(strong(rule.name), code(rule_text(rule))), violations_text(total, "row"))
        for rule, total in zip(status.sites.rules, status.totals.values(), strict=True)
    ]
    html = html_lines(head) + html_table(("site", "columns", "rows where"), sites)
    shipped = "" if status.shipped is None else dim(shipped_text(status.shipped))
    return str(html + html_table(("rule", "violating rows"), rules) + html_lines(shipped))
