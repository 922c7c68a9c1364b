"""Rows that test or break found rules, for a person to look at: from a part of the table, never from all of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from holdfast.engines.local.check import plan_check, run_check
from holdfast.errors import HoldfastError
from holdfast.rules.rule import Nulls, Rule, RuleSet
from holdfast.search.examples import RuleExamples, rule_of_tests
from holdfast.search.outcome import FoundRule
from holdfast.tables.local_table import LocalTable
from holdfast.violations.witness import Witness, hidden_witness, marked_columns

# Examples come from so many rows; each rule gets so many; and nobody waits longer than this for them.
EXAMPLE_ROWS, MOST_EXAMPLES, MOST_SECONDS = 10_000, 3, 20.0
_AT_ONCE = 10
# So many violations of each rule are listed; of these, examples are chosen whose values differ.
_LISTED = 200


@dataclass(frozen=True)
class SampledRows:
    """Some rows of a table; `places` are their numbers in it, where those are known."""

    rows: pa.Table
    places: Sequence[int] | None = None


def sampled_rows(table: pa.Table, most: int = EXAMPLE_ROWS) -> SampledRows:
    """Returns at most so many rows of the table: the first ones, since neighbours are often alike, and others at even
    distances."""
    if table.num_rows <= most:
        return SampledRows(table, range(table.num_rows))
    first = np.arange(most // 2)
    others = np.linspace(most // 2, table.num_rows - 1, most - len(first)).astype(np.int64)
    places = np.unique(np.concatenate([first, others]))
    return SampledRows(table.take(places), places.tolist())


def rule_examples(
    sample: SampledRows, rules: Sequence[FoundRule], *, nulls: Nulls, redact: Sequence[str] = ()
) -> list[RuleExamples]:
    """Returns per rule rows of the sample that put it to the test, and such that break it.

    Ends after MOST_SECONDS; the rules that are left have no examples then. Values of `redact` are hidden.
    """
    until = time.monotonic() + MOST_SECONDS
    table = LocalTable(sample.rows, "examples")
    hidden = frozenset(redact)
    examples: list[RuleExamples] = []
    for start in range(0, len(rules), _AT_ONCE):
        batch = [entry.rule for entry in rules[start : start + _AT_ONCE]]
        if time.monotonic() >= until:
            batch = []
        tested = _violations(table, [rule_of_tests(rule) for rule in batch], nulls)
        broken = _violations(table, [rule if _may_break(rule) else None for rule in batch], nulls)
        for i, rule in enumerate(batch):
            shown = [
                tuple(_witness(rule, sample, ends, hidden) for ends in _unlike(rule, sample, listed))
                for listed in (tested[i], broken[i])
            ]
            examples.append(RuleExamples(*shown))
    return examples + [RuleExamples()] * (len(rules) - len(examples))


def _may_break(rule: Rule) -> bool:
    return rule.allow_pairs is not None or rule.allow.percent is not None or bool(rule.allow.count)


_Ends = tuple[int, int | None]


def _violations(table: LocalTable, rules: Sequence[Rule | None], nulls: Nulls) -> list[list[_Ends]]:
    """Per rule a few rows or pairs of rows that violate it, by their numbers in the table."""
    named = {f"r{i}": i for i, rule in enumerate(rules) if rule is not None}
    listed: list[list[_Ends]] = [[] for _ in rules]
    # Rows of rules on pairs would all be counted where rows are listed, so each kind is checked for itself.
    for alone in (False, True):
        chosen = [Rule(name, rule.body) for name, i in named.items() if (rule := rules[i]) and _is_alone(rule) == alone]
        if not chosen:
            continue
        try:
            result = run_check(table, plan_check(table, RuleSet(tuple(chosen), nulls=nulls), ()), limit=_LISTED)
        except HoldfastError:  # such as a type that cannot be compared here: then there are no examples
            continue
        with result:
            rows = (result.rows if alone else result.pairs).to_arrow()
        ends: Iterable[Any] = zip(*(rows.column(name).to_pylist() for name in rows.column_names), strict=True)
        for name, left, right in ends:
            if len(listed[named[name]]) < _LISTED:
                listed[named[name]].append((int(left), None if alone else int(right)))
    return listed


def _is_alone(rule: Rule) -> bool:
    return not any(constraint.two_rows for constraint in rule.body.denials)


def _unlike(rule: Rule, sample: SampledRows, listed: Sequence[_Ends]) -> list[_Ends]:
    """A few of the pairs, whose values differ."""
    if not listed:
        return []
    places = sorted({place for ends in listed for place in ends if place is not None})
    values = sample.rows.select(list(dict.fromkeys(rule.body.columns))).take(places).to_pylist()
    text = dict(zip(places, map(str, values), strict=True))
    unlike: dict[object, _Ends] = {}
    for ends in listed:
        unlike.setdefault(tuple(text[place] for place in ends if place is not None), ends)
    # A row stands in one example where there are others: two pairs of one row say little more than one of them.
    first: dict[str, _Ends] = {}
    for ends in unlike.values():
        first.setdefault(text[ends[0]], ends)
    chosen = list(first.values())
    return (chosen + [ends for ends in unlike.values() if ends not in chosen])[:MOST_EXAMPLES]


def _witness(rule: Rule, sample: SampledRows, ends: _Ends, hidden: frozenset[str]) -> Witness:
    left, right = (None if place is None else _row(rule, sample, place) for place in ends)
    assert left is not None, "there is a left row"
    names = [None if place is None or sample.places is None else sample.places[place] for place in ends]
    shown = rule.body.columns
    marked = marked_columns(rule, left, right)
    return hidden_witness(Witness(names[0], left, names[1], right, shown, marked), hidden, False)


def _row(rule: Rule, sample: SampledRows, place: int) -> Mapping[str, Any]:
    row: Mapping[str, Any] = sample.rows.select(list(rule.body.columns)).slice(place, 1).to_pylist()[0]
    return row
