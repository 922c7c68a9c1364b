"""A watched table, whole or split over sites, and what batches change in it, as text on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from holdfast.fragments.outcome import FragmentsOutcome, FragmentsStatus
from holdfast.report.words import applied_before, shipped_text, state_size, violations_text
from holdfast.rules.plain_words import number, text_of_lines, value_text
from holdfast.rules.rule import rule_text
from holdfast.states.batch_outcome import BatchOutcome, RuleViolation
from holdfast.watching.status import WatchStatus

SHOWN = 5


def batch_text(outcome: BatchOutcome, name: str) -> str:
    """Returns what the batch changed: violations added and removed, the first few of each rule, and the totals."""
    if not outcome.applied:
        return text_of_lines([f"{name}  {applied_before(outcome.version)}"])
    size = f"version {outcome.version}, {number(outcome.rows, 'row')}, {outcome.seconds:.1f} s"
    lines = [f"{name}  {size}", ""]
    for sign, word, count, listed in (
        ("+", "added", outcome.added_count, outcome.added),
        ("-", "removed", outcome.removed_count, outcome.removed),
    ):
        lines.append(f"{number(count, 'violation')} {word}" + _cut(count, listed))
        lines += _first_few(sign, listed)
    lines += ["", "totals", *cells_in_columns([(rule, f"{total:,}") for rule, total in outcome.totals.items()])]
    return text_of_lines(lines)


def _cut(count: int, listed: Sequence[RuleViolation]) -> str:
    return f"; the limit cuts the list to {len(listed):,}" if len(listed) < count else ""


def _first_few(sign: str, listed: Sequence[RuleViolation]) -> Iterable[str]:
    per_rule = Counter(violation.rule for violation in listed)
    shown: Counter[str] = Counter()
    for violation in listed:
        shown[violation.rule] += 1
        if shown[violation.rule] <= SHOWN:
            with_whom = "" if violation.right is None else f" with {value_text(violation.right)}"
            yield f"  {sign} {violation.rule}: {value_text(violation.left)}{with_whom}"
        elif shown[violation.rule] == SHOWN + 1:
            yield f"  {sign} {violation.rule}: and {per_rule[violation.rule] - SHOWN:,} more"


def status_text(status: WatchStatus) -> str:
    """Returns the state's size, the violations of each rule, and its worst rows where they are known."""
    cells = [
        (rule, violations_text(total, status.units[rule].removesuffix("s")), status.rules[rule])
        for rule, total in status.totals.items()
    ]
    lines = [f"{status.table}  {state_size(status)}", "", *cells_in_columns(cells)]
    worst = [(rule, _worst(rows)) for rule, rows in status.worst.items() if rows]
    if worst:
        lines += ["", "worst rows", *cells_in_columns(worst)]
    return text_of_lines(lines)


def _worst(rows: Sequence[tuple[object, int]]) -> str:
    return ", ".join(value_text(key) + (f" ({number(n, 'pair')})" if n else "") for key, n in rows)


def rules_text(status: WatchStatus, added: Sequence[str], removed: Sequence[str]) -> str:
    """Returns which rules are new and which are gone, and the state after that."""
    lines = [f"{word}: {', '.join(names)}" for word, names in (("new", added), ("gone", removed)) if names]
    return text_of_lines([*(lines or ["the rules are as they were"]), ""]) + status_text(status)


def fragments_batch_text(outcome: FragmentsOutcome, name: str) -> str:
    """Returns what the batch changed, as for watch but in rows, and what sites have shipped for it."""
    text = batch_text(outcome.changes, name)
    return f"{text}\n{shipped_text(outcome.shipped)}\n" if outcome.applied else text


def fragments_status_text(status: FragmentsStatus) -> str:
    """Returns the state's size, its sites, and the violating rows of each rule."""
    sites = [
        (site.name, ", ".join(site.columns or ()), "" if site.where is None else f"where {site.where}")
        for site in status.sites.sites
    ]
    rules = [
        (rule.name, violations_text(total, "row"), rule_text(rule))
        for rule, total in zip(status.sites.rules, status.totals.values(), strict=True)
    ]
    split = f"{number(len(sites), 'site')}, {status.sites.split}"
    lines = [f"{split}  {state_size(status)}", "", *cells_in_columns(sites), "", *cells_in_columns(rules)]
    if status.shipped is not None:
        lines += ["", shipped_text(status.shipped)]
    return text_of_lines(line.rstrip() for line in lines)


def cells_in_columns(lines: Sequence[Sequence[str]]) -> list[str]:
    """Returns the lines with each column, except the last, padded to its longest cell."""
    widths = [max((len(line[i]) for line in lines), default=0) for i in range(len(lines[0]) - 1)] if lines else []
    return ["  " + "  ".join([*(c.ljust(w) for c, w in zip(line, widths, strict=False)), line[-1]]) for line in lines]
