"""What a discovery over several tables says: references between them, and what always compares along them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.rules.rule import NamedTable, Rule, RuleSet


@dataclass(frozen=True)
class TablesRule:
    """A rule over two tables: an inclusion, or a comparison along one; its score, how many rows test it and how many
    break it.

    Of an inclusion, `used` is the share of the values of the right side that the left side has.
    """

    rule: Rule
    score: float
    tested: int
    coverage: float
    missing: int = 0
    used: float | None = None

    def to_dict(self) -> dict[str, Any]:
        denials = self.rule.denials
        return {
            "rule": str(self.rule),
            "dc": denials[0] if denials else None,
            "kind": self.rule.kind,
            "tables": list(self.rule.tables),
            "score": self.score,
            "coverage": round(self.coverage, 9),
            "violating_pairs": 0 if denials else None,
            "violating_rows": self.missing,
        }


@dataclass(frozen=True)
class Reference:
    """An inclusion, and the comparisons along it."""

    inclusion: TablesRule
    comparisons: tuple[TablesRule, ...] = ()

    @property
    def rules(self) -> tuple[TablesRule, ...]:
        return (self.inclusion, *self.comparisons)


@dataclass(frozen=True)
class FoundTable:
    """One of the tables: how many rows and columns it has."""

    table: NamedTable
    rows: int
    columns: int


@dataclass(frozen=True)
class TablesOutcome:
    """The references worth reading, best first, and how many other inclusions hold by chance, as it seems."""

    tables: tuple[FoundTable, ...]
    shown: tuple[Reference, ...]
    accidents: int
    cut: int
    complete: bool
    why: str | None
    seconds: float
    error_rows: str | None = None
    notes: tuple[str, ...] = ()
    engine: str = "local"

    def __iter__(self) -> Iterator[TablesRule]:
        for reference in self.shown:
            yield from reference.rules

    @property
    def rules(self) -> RuleSet:
        """The rules that are shown, with the tables they name, ready for a check."""
        return RuleSet(tuple(entry.rule for entry in self), tables=tuple(table.table for table in self.tables))

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast discover --table … --format json` prints."""
        return {
            "tables": [{"name": f.table.name, "rows": f.rows, "columns": f.columns} for f in self.tables],
            "rows": sum(table.rows for table in self.tables),
            "complete": self.complete,
            "seconds": round(self.seconds, 3),
            "engine": self.engine,
            "rules": [entry.to_dict() for entry in self],
        }
