"""What a look at the machine found, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Grade = Literal["ok", "note", "problem"]
_MARKS: dict[Grade, str] = {"ok": "ok", "note": "note", "problem": "PROBLEM"}


@dataclass(frozen=True)
class Finding:
    """Something that was looked at, how it is, and where it is a problem, what to do."""

    what: str
    grade: Grade
    said: str
    fix: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        return {"what": self.what, "grade": self.grade, "said": self.said, "fix": self.fix}


def findings_text(findings: Sequence[Finding]) -> str:
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
