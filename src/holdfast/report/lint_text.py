"""What a linter found, as text."""

from __future__ import annotations

from holdfast.linting.finding import LintFinding, LintOutcome
from holdfast.rules.plain_words import number, visible


def lint_text(outcome: LintOutcome) -> str:
    """Returns a paragraph per finding, which names file and line, and a last line that counts them."""
    return "\n".join([*(_paragraph(found) for found in outcome.findings), _closing(outcome)])


def _paragraph(found: LintFinding) -> str:
    place = found.file if found.line is None else f"{found.file}, line {found.line}"
    if found.rule is not None:
        place += f", rule {found.rule!r}"
    # The messages of a rule file say themselves where they are.
    said = found.message if found.message.startswith(found.file) else f"{place}: {found.message}"
    hint = "" if found.hint is None else f"\n\nHint: {found.hint}"
    return visible(f"{found.level}: {said}{hint}\n")


def _closing(outcome: LintOutcome) -> str:
    rules = number(outcome.rules, "rule")
    if outcome.clean:
        return f"{rules}: nothing to say."
    errors = sum(found.level == "error" for found in outcome.findings)
    warnings = len(outcome.findings) - errors
    counts = [number(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    return f"{' and '.join(counts)}; {rules} could be read."
