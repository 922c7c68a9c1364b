"""What a batch of changes did to the violations of a state."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from holdfast.rules.html_table import dim, strong
from holdfast.rules.plain_words import number
from holdfast.states.violations_html import Listed, counted, violations_html


@dataclass(frozen=True)
class Violation:
    """A violating pair by its keys, or a row that breaks a rule alone: then `right` is None."""

    rule: str
    left: Any
    right: Any = None

    def to_dict(self) -> dict[str, Any]:
        told = {"rule": self.rule, "left": plain_json(self.left)}
        return told if self.right is None else {**told, "right": plain_json(self.right)}


@dataclass(frozen=True)
class BatchOutcome:
    """What was added and removed, listed up to a limit per rule and counted exactly, and the totals after it.

    `applied` is False where the batch had been taken in before: then nothing was added or removed.
    """

    batch: str
    applied: bool
    version: int
    rows: int
    added: tuple[Violation, ...]
    removed: tuple[Violation, ...]
    added_count: int
    removed_count: int
    totals: Mapping[str, int]
    seconds: float = 0.0

    @property
    def cut(self) -> bool:
        """Whether more was added or removed than is listed."""
        return len(self.added) < self.added_count or len(self.removed) < self.removed_count

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast watch apply --format json` prints."""
        return {
            "batch": self.batch,
            "applied": self.applied,
            "added": [violation.to_dict() for violation in self.added],
            "removed": [violation.to_dict() for violation in self.removed],
            "added_count": self.added_count,
            "removed_count": self.removed_count,
            "totals": dict(self.totals),
        }

    def _repr_html_(self) -> str:
        return str(violations_html(self._head_html(), self.totals, _by_rule(self.added), _by_rule(self.removed)))

    def _head_html(self) -> Markup:
        if not self.applied:
            return strong(self.batch) + f" has been applied before: version {self.version} stays as it is"
        size = dim(f"version {self.version}, {number(self.rows, 'row')}, {self.seconds:.1f} s")
        cut = dim("; the limit cuts the lists" if self.cut else "")
        return Markup("{} {} {}{}").format(strong(self.batch), size, counted(self.added_count, self.removed_count), cut)


def _by_rule(some: Iterable[Violation]) -> Listed:
    found: dict[str, list[tuple[Any, Any]]] = {}
    for one in some:
        found.setdefault(one.rule, []).append((one.left, one.right))
    return {rule: (listed, len(listed)) for rule, listed in found.items()}


def plain_json(value: Any) -> Any:
    """A key as JSON has it: numbers and text as they are, a key of several columns as a list, others as text."""
    if isinstance(value, Mapping):
        return [plain_json(part) for part in value.values()]
    if isinstance(value, tuple | list):
        return [plain_json(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return "0x" + bytes(value).hex()
    return value
