"""What a linter found, as text."""

from __future__ import annotations

from holdfast.linting.finding import LintFinding, LintOutcome
from holdfast.rules.plain_words import number, visible


def lint_text(outcome: LintOutcome) -> str:
    """Returns a paragraph per finding, which names file and line, and a last line that counts them."""
    return "\n".join([*(_paragraph(finding) for finding in outcome.findings), lint_closing(outcome)])


def _paragraph(finding: LintFinding) -> str:
    place = finding.file if finding.line is None else f"{finding.file}, line {finding.line}"
    if finding.rule is not None:
        place += f", rule {finding.rule!r}"
    # The messages of a rule file say themselves where they are.
    said = finding.message if finding.message.startswith(finding.file) else f"{place}: {finding.message}"
    hint = "" if finding.hint is None else f"\n\nHint: {finding.hint}"
    return visible(f"{finding.level}: {said}{hint}\n")


def lint_closing(outcome: LintOutcome) -> str:
    """Returns how many findings there are."""
    rules = number(outcome.rules, "rule")
    if outcome.clean:
        return f"{rules}: nothing to say."
    errors = sum(finding.level == "error" for finding in outcome.findings)
    warnings = len(outcome.findings) - errors
    counts = [number(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    return f"{' and '.join(counts)}; {rules} could be read."
