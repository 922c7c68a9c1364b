"""Results in plain words, the same for text and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.rule_words import rule_words
from holdfast.rules.dependency import CFD
from holdfast.rules.plain_words import number as number
from holdfast.rules.plain_words import value_text as value_text
from holdfast.rules.rule import Rule
from holdfast.rules.rule import rule_text as rule_text

if TYPE_CHECKING:
    from holdfast.fragments.outcome import FragmentsStatus
    from holdfast.states.messages import Shipped
    from holdfast.watching.status import WatchStatus


def verdict(result: RuleOutcome) -> str:
    """Returns holds, allowed, warning or violated."""
    return result.verdict


def counts(result: RuleOutcome) -> str:
    """Returns the counts that this kind of rule has, such as `3 pairs, 4 rows, 1 suspect, 1 group`."""
    if not result.violating_rows:
        return "no violations"
    parts = [
        (result.violating_pairs, "pair"),
        (result.violating_rows, "row"),
        (result.suspect_rows if result.violating_pairs is not None else None, "suspect"),
        (result.violating_groups, "group"),
    ]
    text = ", ".join(number(n, word) for n, word in parts if n is not None)
    return text if result.new_suspects is None else f"{text}, {result.new_suspects:,} new"


def tolerated(result: RuleOutcome) -> str:
    """Returns, in brackets, why violations of the rule are accepted; empty where they are not, or there are none."""
    if not result.holds or not result.violating_rows:
        return ""
    if result.new_suspects == 0:
        return " (all known)"
    return f" (allowed: {result.rule.allow_pairs or result.rule.warn or result.rule.allow})"


def labels_text(rule: Rule) -> str:
    """Returns the rule's tags, owner and dimension on one line; empty where it has none."""
    said = {name: ", ".join(value) if isinstance(value, list) else value for name, value in rule.labels.items()}
    return "; ".join(f"{name}: {value}" for name, value in said.items())


def expectation(result: RuleOutcome) -> str | None:
    """Returns the values that the violated pattern expects of the witness; None unless one row breaks a pattern."""
    body, witness = result.rule.body, result.witness
    if not isinstance(body, CFD) or witness is None or witness.right is not None:
        return None
    for pattern in body.patterns:
        given = [(n, v) for n, v in zip(body.left, pattern.left, strict=True) if v is not None]
        wanted = [(n, v) for n, v in zip(body.right, pattern.right, strict=True) if v is not None]
        fits = all(str(witness.left[name]) == str(value.value) for name, value in given)
        broken = [(n, v) for n, v in wanted if str(witness.left[n]) != str(v.value)]
        if fits and broken:
            missing = ", ".join(f"{name} = {value_text(value.value)}" for name, value in broken)
            reason = ", ".join(f"{name} = {value_text(value.value)}" for name, value in given)
            return f"{missing} where {reason}" if given else missing
    return None


def closing(outcome: CheckOutcome) -> str:
    """Returns the last sentence of a report: how many rules hold."""
    if not outcome.rules:
        return "There are no rules to check."
    violated = [result for result in outcome.rules if not result.holds]
    if not violated:
        return "The one rule holds." if len(outcome.rules) == 1 else f"All {len(outcome.rules)} rules hold."
    errors = [result for result in violated if outcome.counts(result)]
    text = f"{len(violated)} of {number(len(outcome.rules), 'rule')} {'is' if len(violated) == 1 else 'are'} violated"
    if len(errors) < len(violated):
        warnings = len(violated) - len(errors)
        text += f", {'all' if not errors else warnings} only as {'warnings' if warnings > 1 else 'a warning'}"
    return text + "."


def key_name(key: str | Sequence[str]) -> str:
    """Returns the name of the key's column, or the names of its columns."""
    return key if isinstance(key, str) else ", ".join(key)


def violations_text(total: int, unit: str) -> str:
    """Returns how many violations a rule has now, in its unit: pair, row or group."""
    return number(total, unit) if total else "no violations"


def state_size(status: WatchStatus | FragmentsStatus) -> str:
    """Returns version, rows and batches of a state, and how long it took to get them."""
    batches = number(status.batches, "batch")
    return f"version {status.version}, {number(status.rows, 'row')}, {batches}, {status.seconds:.1f} s"


def applied_before(version: int) -> str:
    """Returns what to say of a batch that the state already has."""
    return f"has been applied before: version {version} stays as it is"


def shipped_text(shipped: Shipped) -> str:
    """Returns what sites have sent to each other."""
    if not shipped.bytes:
        return "shipped between sites: nothing"
    counts = f"{number(shipped.eqids, 'id')}, {number(shipped.tuples, 'tuple')}, {number(shipped.bytes, 'byte')}"
    return f"shipped between sites: {counts}"


def plain_text(result: RuleOutcome, outcome: CheckOutcome) -> str:
    """Returns the rule in words and as text, its counts, a witness and its worst rows."""
    lines = [result.rule.description or rule_words(result.rule), rule_text(result.rule)]
    lines.append(counts(result) + tolerated(result))
    witness = result.witness
    if witness is not None:
        key = key_name(outcome.key_label)
        heads = (*witness.tables, *witness.tables) if witness.tables else (key, key)
        rows = ((witness.left_key, witness.left), (witness.right_key, witness.right))
        for head, (row_key, values) in zip(heads, rows, strict=False):
            if values is not None:
                shown = (name for name in witness.shown if name in values)
                values_text = ", ".join(f"{name} = {value_text(values[name])}" for name in shown)
                lines.append(f"{head} {value_text(row_key)}: {values_text}")
        wanted = expectation(result)
        lines += [f"expected: {wanted}"] if wanted is not None else []
        lines += witness.messages
    if result.missing:
        listed = ", ".join(f"{value_text(value.value)} ({number(value.rows, 'row')})" for value in result.missing)
        lines.append(f"missing: {listed}")
    if result.worst and result.worst[0].conflicts > 1:
        worst = ", ".join(f"{value_text(row.key)} ({number(row.conflicts, 'pair')})" for row in result.worst)
        lines.append(f"worst rows: {worst}")
    lines += [said] if (said := labels_text(result.rule)) else []
    return "\n".join(lines)
