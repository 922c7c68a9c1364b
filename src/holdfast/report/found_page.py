"""The report of a discovery: the ranked rules with what speaks for each, and which columns determine which."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from holdfast.report.found_lines import WEAK_SCORE, broken_by, closing, size, tally, tested_by
from holdfast.report.page import page
from holdfast.rules.dependency import FD, Key, as_dependency
from holdfast.search.outcome import DiscoverOutcome, FoundRule

# A page has at most so many rules and columns of the map: what is beyond is told, not shown.
RULES, COLUMNS = 500, 40
_SEPARATOR = "\x01"


@dataclass(frozen=True)
class ColumnMap:
    """Which columns determine which: `cells[i][j]` is `alone`, `part` (with others), `self` or nothing."""

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]


def found_page(outcome: DiscoverOutcome) -> str:
    """The report as one HTML page, of the rules that are shown, at most RULES of them."""
    return page("found.html", title=f"Holdfast: rules of {outcome.table}", **found_values(outcome))


def found_values(outcome: DiscoverOutcome) -> dict[str, Any]:
    """What a page says of rules."""
    shown = outcome.shown[:RULES]
    about = "" if outcome.strategy not in ("hybrid", "sample") else "about "
    rules = [
        {
            "rank": rank,
            "kind": one.rule.kind,
            "words": _sentence(one.rule.description or str(one.rule)),
            "text": str(one.rule),
            "dc": str(one.constraint),
            "score": one.score,
            "coverage": one.coverage,
            "tested": about + tested_by(one, outcome.rows),
            "broken": broken_by(one),
            "weak": one.score < WEAK_SCORE,
            "columns": _SEPARATOR.join(one.rule.body.columns),
        }
        for rank, one in enumerate(shown, start=1)
    ]
    used = Counter(name for one in shown for name in one.rule.body.columns)
    return {
        "outcome": outcome,
        "size": size(outcome),
        "tally": tally(outcome),
        "closing": closing(outcome),
        "cut": len(outcome.shown) - len(shown),
        "rules": rules,
        "kinds": list(Counter(one.rule.kind for one in shown).items()),
        "columns": sorted(used),
        "map": column_map(shown),
    }


def column_map(found: tuple[FoundRule, ...]) -> ColumnMap | None:
    """The map of the columns that stand in keys and dependencies; None where there are none."""
    alone: set[tuple[str, str]] = set()
    part: set[tuple[str, str]] = set()
    keys: list[tuple[str, ...]] = []
    seen: dict[str, None] = {}
    for one in found:
        body = as_dependency(one.rule.body)
        if isinstance(body, Key):
            keys.append(body.columns)
            seen |= dict.fromkeys(body.columns)
        elif isinstance(body, FD):
            some = {(a, b) for a in body.left for b in body.right}
            (alone if len(body.left) == 1 else part).update(some)
            seen |= dict.fromkeys((*body.left, *body.right))
    columns = tuple(sorted(seen))[:COLUMNS]
    for key in keys:
        (alone if len(key) == 1 else part).update((a, b) for a in key for b in columns if b not in key)
    if not alone and not part:
        return None

    def cell(a: str, b: str) -> str:
        return "self" if a == b else "alone" if (a, b) in alone else "part" if (a, b) in part else ""

    return ColumnMap(columns, tuple(tuple(cell(a, b) for b in columns) for a in columns))


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
