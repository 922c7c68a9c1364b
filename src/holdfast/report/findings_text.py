"""The findings of `holdfast doctor` as text."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.engines.findings import Grade, MachineFinding

_MARKS: dict[Grade, str] = {"ok": "ok", "note": "note", "problem": "PROBLEM"}


def findings_text(findings: Sequence[MachineFinding]) -> str:
    """Returns a line for each finding, with what to do about it below, and a verdict."""
    wide = max(len(finding.what) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{_MARKS[finding.grade]:<8}{finding.what:<{wide}}  {finding.said}")
        if finding.fix is not None:
            lines.append(f"{'':<8}{'':<{wide}}  {finding.fix}")
    problems = sum(finding.grade == "problem" for finding in findings)
    verdict = (
        "Holdfast can run here." if not problems else f"{problems} of {len(findings)} things need to be put right."
    )
    return "\n".join([*lines, "", verdict]) + "\n"
