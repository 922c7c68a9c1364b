"""What was found of one rule, as a few lines of text for other programs' reports."""

from __future__ import annotations

from holdfast.checking.outcome import CheckOutcome, RuleOutcome
from holdfast.report.rule_words import rule_words
from holdfast.report.words import counts, expectation, number, rule_text, tolerated, value_text


def plain_text(found: RuleOutcome, outcome: CheckOutcome) -> str:
    """The rule in words and as text, its counts, a witness and its worst rows."""
    lines = [found.rule.description or rule_words(found.rule), rule_text(found.rule)]
    lines.append(counts(found) + tolerated(found))
    witness = found.witness
    if witness is not None:
        label = outcome.key_label
        key = ", ".join(label) if isinstance(label, list) else label
        for row_key, values in ((witness.left_key, witness.left), (witness.right_key, witness.right)):
            if values is not None:
                told = ", ".join(f"{name} = {value_text(values[name])}" for name in witness.shown)
                lines.append(f"{key} {value_text(row_key)}: {told}")
        wanted = expectation(found)
        lines += [f"expected: {wanted}"] if wanted is not None else []
    if found.worst and found.worst[0].conflicts > 1:
        rows = ", ".join(f"{value_text(row.key)} ({number(row.conflicts, 'pair')})" for row in found.worst)
        lines.append(f"worst rows: {rows}")
    return "\n".join(lines)
