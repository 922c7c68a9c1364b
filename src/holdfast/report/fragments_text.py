"""A table that is split over sites and what batches do to it, as text on a terminal."""

from __future__ import annotations

from holdfast.fragments.outcome import FragmentsOutcome, FragmentsStatus
from holdfast.report.watch_text import batch_text, cells_in_columns
from holdfast.report.words import number, rule_text
from holdfast.states.messages import Shipped


def fragments_batch_text(outcome: FragmentsOutcome, name: str) -> str:
    """What the batch changed, as watch tells it, in rows; and what sites shipped for it."""
    told = batch_text(outcome.changes, name)
    return f"{told}\n{_shipped(outcome.shipped)}\n" if outcome.applied else told


def fragments_status_text(status: FragmentsStatus) -> str:
    """The state: its rows and batches, its sites, and the violating rows of each rule."""
    batches = number(status.batches, "batch")
    size = f"version {status.version}, {number(status.rows, 'row')}, {batches}, {status.seconds:.1f} s"
    sites = [
        (site.name, ", ".join(site.columns or ()), "" if site.where is None else f"where {site.where}")
        for site in status.sites.sites
    ]
    rules = [
        (rule.name, number(total, "row") if total else "no violations", rule_text(rule))
        for rule, total in zip(status.sites.rules, status.totals.values(), strict=True)
    ]
    split = f"{number(len(sites), 'site')}, {status.sites.split}"
    lines = [f"{split}  {size}", "", *cells_in_columns(sites), "", *cells_in_columns(rules)]
    if status.shipped is not None:
        lines += ["", _shipped(status.shipped)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _shipped(shipped: Shipped) -> str:
    if not shipped.bytes:
        return "shipped between sites: nothing"
    counts = f"{number(shipped.eqids, 'id')}, {number(shipped.tuples, 'tuple')}, {number(shipped.bytes, 'byte')}"
    return f"shipped between sites: {counts}"
