"""What the page of a discovery knows of its rules for the review: plain values, which the page's script reads.

The script writes rule files and files of decisions from them, so that texts are as they are; they are never markup.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from holdfast.report.words import value_text
from holdfast.rules.dependency import CFD
from holdfast.rules.plain_words import visible
from holdfast.rules.rule import Allowance, Names, Rule
from holdfast.search.column_rule import ColumnRule
from holdfast.search.examples import RuleExamples
from holdfast.search.outcome import DiscoverOutcome, FoundRule
from holdfast.violations.witness import Witness


def review_json(
    outcome: DiscoverOutcome,
    shown: Sequence[FoundRule],
    examples: Sequence[RuleExamples] = (),
    single: Sequence[ColumnRule] = (),
) -> Markup:
    """Returns the values as JSON that can stand in a script element: no `<`, `>` or `&` is in it.

    Kept rules of earlier decisions that no longer hold come first, then those on single columns, then the other new
    rules as they are shown, then the kept rules that hold.
    """
    names = Names()
    broken, holding = earlier(outcome)
    entries = [_entry(names, rule, kept=True) for rule in broken]
    entries += [_entry(names, entry.rule) for entry in single if entry.rule is not None]
    for i, entry in enumerate(shown):
        if not can_be_decided(entry.rule):
            continue
        more = examples[i] if i < len(examples) else RuleExamples()
        entries.append({**_entry(names, entry.rule), "examples": _examples(more)})
    entries += [_entry(names, rule, kept=True) for rule in holding]
    rejected = () if outcome.decided is None else outcome.decided.rejected_before
    data = {
        "key": _key(outcome, entries),
        "table": outcome.table,
        "nulls": outcome.options.nulls,
        "entries": entries,
        "rejected": [{"rule": str(entry.rule), **({"why": entry.why} if entry.why else {})} for entry in rejected],
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&"}))


def earlier(outcome: DiscoverOutcome) -> tuple[list[Rule], list[Rule]]:
    """Returns the rules that were kept earlier: those that no longer hold, and those that do."""
    kept = () if outcome.decided is None else outcome.decided.kept
    return [entry.rule for entry in kept if not entry.holds], [entry.rule for entry in kept if entry.holds]


def can_be_decided(rule: Rule) -> bool:
    """Whether the text of the rule says all of it, as files of decisions need it: a tableau has its patterns beside."""
    return rule.where is None and not (isinstance(rule.body, CFD) and not rule.body.inline)


def _entry(names: Names, rule: Rule, *, kept: bool = False) -> dict[str, Any]:
    entry: dict[str, Any] = {"rule": str(rule), "name": names.give(rule.name)}
    if rule.description is not None:
        entry["description"] = rule.description
    if rule.allow_pairs is not None:
        entry["allow_pairs"] = str(rule.allow_pairs)
    if rule.allow != Allowance():
        entry["allow"] = str(rule.allow)
    if rule.severity != "error":
        entry["severity"] = rule.severity
    return {**entry, "kept": True} if kept else entry


def _examples(examples: RuleExamples) -> list[dict[str, Any]]:
    both = [(witness, True) for witness in examples.tested], [(witness, False) for witness in examples.broken]
    return [_example(witness, keeps) for listed in both for witness, keeps in listed]


def _example(witness: Witness, keeps: bool) -> dict[str, Any]:
    sides = [(witness.left_key, witness.left), (witness.right_key, witness.right)]
    rows = [
        {
            "row": None if key is None else value_text(key),
            "values": [visible(value_text(values[name])) for name in witness.shown],
        }
        for key, values in sides
        if values is not None
    ]
    return {"keeps": keeps, "columns": [visible(value_text(name)) for name in witness.shown], "rows": rows}


def _key(outcome: DiscoverOutcome, entries: Sequence[dict[str, Any]]) -> str:
    """Under which the browser keeps the decisions on this report: other rules, or another table, have another."""
    said = json.dumps([outcome.table, [entry["rule"] for entry in entries]])
    return "holdfast-review:" + hashlib.sha256(said.encode()).hexdigest()[:24]
