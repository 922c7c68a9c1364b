"""A table that is split over sites, and what batches change in it, as text on a terminal."""

from __future__ import annotations

from holdfast.fragments.outcome import FragmentsOutcome, FragmentsStatus
from holdfast.report.watch_text import batch_text, cells_in_columns
from holdfast.report.words import number, rule_text, shipped_text, state_size, violations_text


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
    return "\n".join(line.rstrip() for line in lines) + "\n"
