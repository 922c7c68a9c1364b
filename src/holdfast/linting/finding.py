"""What a linter says of a rule file, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from holdfast.presented import Presented

Level = Literal["error", "warning"]


@dataclass(frozen=True)
class LintFinding:
    """Something of a rule file that cannot be checked (error), or that says nothing new or cannot be meant (warning).

    `check` is what was looked for: file, rule, name, duplicate, implied, contradiction, pattern, column, type,
    condition or table. `line` is None where it is of no line.
    """

    level: Level
    check: str
    message: str
    file: str
    line: int | None = None
    rule: str | None = None
    hint: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class LintOutcome(Presented):
    """The findings of a linter, in the order of files and lines, and how many rules it could read."""

    findings: tuple[LintFinding, ...]
    rules: int

    @property
    def clean(self) -> bool:
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast lint --format json` prints."""
        return {"rules": self.rules, "clean": self.clean, "findings": [finding.to_dict() for finding in self.findings]}
