"""The outcome of one rule as a few lines of text, for reports of other programs."""

from __future__ import annotations

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.rule_words import rule_words
from holdfast.report.words import counts, expectation, key_name, number, rule_text, tolerated, value_text


def plain_text(result: RuleOutcome, outcome: CheckOutcome) -> str:
    """Returns the rule in words and as text, its counts, a witness and its worst rows."""
    lines = [result.rule.description or rule_words(result.rule), rule_text(result.rule)]
    lines.append(counts(result) + tolerated(result))
    witness = result.witness
    if witness is not None:
        key = key_name(outcome.key_label)
        for row_key, values in ((witness.left_key, witness.left), (witness.right_key, witness.right)):
            if values is not None:
                values_text = ", ".join(f"{name} = {value_text(values[name])}" for name in witness.shown)
                lines.append(f"{key} {value_text(row_key)}: {values_text}")
        wanted = expectation(result)
        lines += [f"expected: {wanted}"] if wanted is not None else []
    if result.worst and result.worst[0].conflicts > 1:
        rows = ", ".join(f"{value_text(row.key)} ({number(row.conflicts, 'pair')})" for row in result.worst)
        lines.append(f"worst rows: {rows}")
    return "\n".join(lines)
