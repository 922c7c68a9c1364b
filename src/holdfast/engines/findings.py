"""What a look at the machine finds: what Holdfast needs, and whether it is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grade = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class MachineFinding:
    """Something that was looked at, how it is, and where it is a problem, what to do."""

    what: str
    grade: Grade
    said: str
    fix: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        return {"what": self.what, "grade": self.grade, "said": self.said, "fix": self.fix}
