"""A check beside what was known before: which suspect rows are new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from holdfast.checking.baseline import Baseline
from holdfast.engines.spark.checking.check import CheckResult
from holdfast.errors import OptionError, OutputError
from holdfast.rules.rule import rule_text

# A baseline is for the errors that a team knows of, not for a table of them.
MOST_SUSPECTS = 1_000_000


def suspects_baseline(result: CheckResult) -> Baseline:
    """What the check found suspect, to be known from now on. OptionError where rows have no lasting names."""
    _require_key(result)
    rows = _named(result).limit(MOST_SUSPECTS + 1).collect()
    if len(rows) > MOST_SUSPECTS:
        raise OutputError(
            f"more than {MOST_SUSPECTS:,} rows are suspect, too many for a baseline.",
            hint="correct what is wrong with most of them, or leave out the rules that they break.",
        )
    keys: dict[str, set[str]] = {}
    for row in rows:
        keys.setdefault(row["rule"], set()).add(row["name"])
    rules = {
        outcome.rule.name: (rule_text(outcome.rule), frozenset(keys.get(outcome.rule.name, ())))
        for outcome in result.outcome.rules
    }
    return Baseline(result.outcome.key, rules)


def against_baseline(result: CheckResult, baseline: Baseline) -> CheckResult:
    """The result with verdicts by the suspect rows that the baseline does not know; all counts as they are."""
    _require_key(result)
    if baseline.key != result.outcome.key:
        raise OptionError(
            f"the baseline names rows by {', '.join(baseline.key)}, but the check does by "
            f"{', '.join(result.outcome.key)}.",
            hint="use the same key, or remove the baseline to have a new one written.",
        )
    known = {f.rule.name: baseline.known(f.rule.name, rule_text(f.rule)) for f in result.outcome.rules}
    new = _new(result, {name: keys for name, keys in known.items() if keys})
    rules = []
    for i, outcome in enumerate(result.outcome.rules):
        count = new.get(outcome.rule.name, 0)
        within = outcome.rule.allow.covers(count, result.in_scope(i))
        rules.append(replace(outcome, holds=outcome.holds or count == 0 or within, new_suspects=count))
    suspects = sum(f.violating_rows if f.suspect_rows is None else f.suspect_rows for f in result.outcome.rules)
    forgiven = suspects - sum(new.values())
    note = f"suspect rows that the baseline knows: {forgiven:,}, new ones: {sum(new.values()):,}"
    return result.with_outcome(replace(result.outcome, rules=tuple(rules), notes=(*result.outcome.notes, note)))


def _new(result: CheckResult, known: Mapping[str, frozenset[str]]) -> dict[str, int]:
    named = _named(result)
    if known:
        lines = [(name, key) for name, keys in known.items() for key in sorted(keys)]
        old = result.scanned.sparkSession.createDataFrame(lines, "rule string, name string")
        named = named.join(old, ["rule", "name"], "left_anti")
    return {row["rule"]: row["count"] for row in named.groupBy("rule").count().collect()}


def _named(result: CheckResult) -> DataFrame:
    """(rule, name) of every suspect row, its key written as JSON: the same in every run, whatever its type."""
    return result.suspects.select("rule", F.to_json(F.struct("key")).alias("name"))


def _require_key(result: CheckResult) -> None:
    if not result.outcome.key:
        raise OptionError(
            "a baseline needs a key: without one rows are numbered, and numbers change when rows come.",
            hint="name the column that tells rows apart with --key.",
        )
