"""The report of a discovery: the ranked rules with their evidence, to be kept or rejected, and which columns determine
which.

That of evolving rules also has those removed, with the pair of rows that broke each, and those added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.evolving.outcome import BreakingPair, EvolveStatus, RulesChange
from holdfast.report.decided_lines import broken_now, decided_lines, decided_note
from holdfast.report.discovery_lines import (
    KIND_WORDS,
    accident_words,
    also_text,
    belief_line,
    broken_by,
    closing,
    discovery_lines,
    since_each_row,
    size,
    tally,
    tested_by,
)
from holdfast.report.page import page
from holdfast.report.review_data import can_be_decided, review_json
from holdfast.report.rule_words import rule_words
from holdfast.report.words import number
from holdfast.rules.dependency import FD, Key, as_dependency
from holdfast.rules.plain_words import on_one_line
from holdfast.search.column_rule import ColumnRule
from holdfast.search.decided import KeptEarlier
from holdfast.search.examples import RuleExamples
from holdfast.search.outcome import DiscoverOutcome, FoundRule
from holdfast.violations.witness import Witness

# A page shows at most so many rules, and so many columns of the map; of more rules it gives the number.
RULES, COLUMNS = 500, 40
# Beside these so many rules on single columns.
COLUMN_RULES = 400
# Of each change a page shows so many removed rules, and so many added ones.
CHANGED = 20


@dataclass(frozen=True)
class ColumnMap:
    """Which columns determine which: `cells[i][j]` is `alone`, `part` (with others), `self` or nothing."""

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]


def discovery_page(outcome: DiscoverOutcome, *, examples: Sequence[RuleExamples] = ()) -> str:
    """Returns the report of the shown rules, at most RULES of them, as one HTML page in which a person decides on them;
    `examples` are rows that test each."""
    first = _first_rules(outcome)
    values = discovery_values(outcome)
    single = outcome.column_rules or ()
    values["single"] = _by_column(single[:COLUMN_RULES])
    values["single_count"] = len(single)
    values["single_cut"] = max(len(single) - COLUMN_RULES, 0)
    if single:
        values["kinds"] = [("column", min(len(single), COLUMN_RULES)), *values["kinds"]]
        columns = {*(name for _, name in values["columns"]), *(entry.column for entry in single)}
        values["columns"] = [(_lines([name]), name) for name in sorted(columns)]
    # The script knows rules by their places on the page, where those of an entry stand together.
    order = [place for places in _in_order(first) for place in places]
    shown_examples = [examples[i] if i < len(examples) else RuleExamples() for i in order]
    shown = [first.shown[i] for i in order]
    values["review"] = review_json(outcome, shown, shown_examples, single[:COLUMN_RULES])
    kept = () if outcome.decided is None else outcome.decided.kept
    values["kept"] = [[_kept_values(entry) for entry in kept if entry.holds == holds] for holds in (False, True)]
    return page("discovery.html", title=f"Holdfast: rules of {outcome.table}", scripts=("review.js",), **values)


def _by_column(rules: Sequence[ColumnRule]) -> list[dict[str, Any]]:
    """The rules on single columns for the template: per column its name, its line, and what is said of it; `decided`
    is how many of these are rules, which somebody can decide on."""
    columns: dict[str, list[dict[str, Any]]] = {}
    for entry in rules:
        columns.setdefault(entry.column, []).append(
            {
                "words": entry.words,
                "says": entry.says,
                "text": None if entry.rule is None else str(entry.rule),
                "evidence": entry.evidence,
                "breaks": f"{entry.breaks * 100:.2g}%",
            }
        )
    return [
        {
            "name": name,
            "line": _lines([name]),
            "rules": said,
            "decided": sum(entry["text"] is not None for entry in said),
        }
        for name, said in columns.items()
    ]


def _first_rules(outcome: DiscoverOutcome) -> DiscoverOutcome:
    """The outcome as if it had shown no more rules than a page does."""
    return replace(outcome, top=RULES if outcome.top is None else min(outcome.top, RULES))


def _in_order(outcome: DiscoverOutcome) -> list[list[int]]:
    """The places of the shown rules, entry by entry: the best rule that is no variant first, variants last."""
    entries = outcome.entries
    return [sorted(places, key=lambda place: (entries.variants[place], place)) for places in entries]


def discovery_values(outcome: DiscoverOutcome) -> dict[str, Any]:
    """Returns the values for the template of a discovery, which other reports include."""
    first = _first_rules(outcome)
    shown = first.shown
    line = belief_line(discovery_lines(first))
    groups = [
        {
            "number": number_of,
            "rules": [
                _rule_values(
                    shown[place],
                    outcome,
                    rank=str(number_of) if i == 0 else f"{number_of}.{i + 1}",
                    words=_words(first, place),
                    follows=_follows(first, place),
                )
                for i, place in enumerate(places)
            ],
            "also": also_text([str(shown[place].rule) for place in places[1:]]),
            "weak": number_of > line.place,
        }
        for number_of, places in enumerate(_in_order(first), start=1)
    ]
    used = Counter(name for entry in shown for name in entry.rule.body.columns)
    return {
        "outcome": outcome,
        "size": size(outcome),
        "tally": tally(outcome),
        "closing": closing(outcome),
        "cut": len(outcome.shown) - len(shown),
        "groups": groups,
        "rule_count": len(shown),
        "line": line,
        "kinds": list(Counter(entry.rule.kind for entry in shown).items()),
        "kind_words": KIND_WORDS,
        "columns": [(_lines([name]), name) for name in sorted(used)],
        "map": column_map(shown),
        "review": None,
        "single": (),
        "single_count": 0,
        "single_cut": 0,
        "kept": ((), ()),
        "decided": decided_lines(outcome),
    }


def _follows(outcome: DiscoverOutcome, place: int) -> str | None:
    """What the rule at this place follows from: other rules of the page, and what each row keeps. None where that is
    in its words, or it follows from nothing."""
    reason = outcome.entries.reasons.get(place)
    if reason is None or (not reason.rules and not outcome.entries.variants[place]):
        return None
    rows = also_text([order.words for order in reason.orders])
    if not reason.rules:
        return f"says no more than that {rows}"
    rules = also_text([str(outcome.shown[other].rule) for other in reason.rules])
    return f"follows from {rules}{f', as {rows}' if rows else ''}"


def _words(outcome: DiscoverOutcome, place: int) -> str:
    entry, entries = outcome.shown[place], outcome.entries
    words = entry.rule.description or str(entry.rule)
    return words if entries.variants[place] else since_each_row(words, entries.reasons.get(place))


def _rule_values(
    entry: FoundRule, outcome: DiscoverOutcome, *, rank: str, words: str, follows: str | None
) -> dict[str, Any]:
    """A rule for the template; `rank` is the number of its entry, and its own in there."""
    return {
        "rank": rank,
        "kind": entry.rule.kind,
        "words": _sentence(words),
        "text": str(entry.rule),
        "dc": str(entry.constraint),
        "score": entry.score,
        "coverage": entry.coverage,
        "tested": tested_by(entry, outcome),
        "broken": broken_by(entry),
        "accident": accident_words(entry.accident),
        "follows": follows,
        "columns": _lines(entry.rule.body.columns),
        "note": decided_note(entry),
        "decide": can_be_decided(entry.rule),
    }


def _lines(columns: Sequence[str]) -> str:
    """The columns as an attribute of an element has them: a name on each line."""
    return "\n".join(map(on_one_line, columns))


def _kept_values(entry: KeptEarlier) -> dict[str, Any]:
    """A rule that was kept earlier, for the template."""
    rule = entry.rule
    return {
        "kind": rule.kind,
        "words": rule_words(rule),
        "text": str(rule),
        "name": rule.name,
        "columns": _lines(rule.body.columns),
        "said": "holds" if entry.holds else broken_now(entry),
    }


def column_map(rules: tuple[FoundRule, ...]) -> ColumnMap | None:
    """Returns the map of the columns in keys and dependencies; None where there are none."""
    alone: set[tuple[str, str]] = set()
    part: set[tuple[str, str]] = set()
    keys: list[tuple[str, ...]] = []
    seen: dict[str, None] = {}
    for entry in rules:
        body = as_dependency(entry.rule.body)
        if isinstance(body, Key):
            keys.append(body.columns)
            seen |= dict.fromkeys(body.columns)
        elif isinstance(body, FD):
            pairs = {(a, b) for a in body.left for b in body.right}
            (alone if len(body.left) == 1 else part).update(pairs)
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


def evolve_page(status: EvolveStatus) -> str:
    """The report as one HTML page."""
    return page(
        "evolve.html",
        title=f"Holdfast: rules of {status.found.table}, evolving",
        state_version=status.version,
        batches=number(status.batches, "batch"),
        key=", ".join(status.key),
        history=[_shown_change(version, change) for version, change in status.history],
        **discovery_values(status.found),
    )


def _shown_change(version: int, change: RulesChange) -> dict[str, Any]:
    return {
        "version": version,
        "added_count": len(change.added),
        "removed_count": len(change.removed),
        "added": change.added[:CHANGED],
        "removed": [
            {"rule": gone.rule, "implied_by": gone.implied_by, "witness": gone.witness and _side_by_side(gone.witness)}
            for gone in change.removed[:CHANGED]
        ],
    }


def _side_by_side(witness: BreakingPair) -> Witness:
    names = tuple(name for name, _, _ in witness.values)
    # Where the rows differ is where to look; when they do not, their equal values break the rule.
    differing = tuple(name for name, a, b in witness.values if a != b)
    left = {name: a for name, a, _ in witness.values}
    right = {name: b for name, _, b in witness.values}
    return Witness(witness.left, left, witness.right, right, names, differing or names)
