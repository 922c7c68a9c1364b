"""What a look at the machine found, as text."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.engines.findings import Grade, MachineFinding

_MARKS: dict[Grade, str] = {"ok": "ok", "note": "note", "problem": "PROBLEM"}


def findings_text(findings: Sequence[MachineFinding]) -> str:
    """A line for each, with what to do below it, and a verdict."""
    wide = max(len(one.what) for one in findings)
    lines = []
    for one in findings:
        lines.append(f"{_MARKS[one.grade]:<8}{one.what:<{wide}}  {one.said}")
        if one.fix is not None:
            lines.append(f"{'':<8}{'':<{wide}}  {one.fix}")
    problems = sum(one.grade == "problem" for one in findings)
    verdict = (
        "Holdfast can run here." if not problems else f"{problems} of {len(findings)} things need to be put right."
    )
    return "\n".join([*lines, "", verdict]) + "\n"
