"""What a change of a table does to its violations: which came, which went, and how many there are now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from holdfast.presented import Presented
from holdfast.states.key_json import plain_json
from holdfast.states.lawful import Mergeable

Violation: TypeAlias = tuple[Any, Any]
"""(left key, right key), or (key, None) of a row that breaks a rule by itself."""


@dataclass(frozen=True)
class RuleViolationsChange(Mergeable):
    """Violations of one rule that came and went. Counts are exact; the lists may be cut, and then have fewer."""

    added: Sequence[Violation] = ()
    removed: Sequence[Violation] = ()
    added_count: int = 0
    removed_count: int = 0

    @property
    def cut(self) -> bool:
        return len(self.added) < self.added_count or len(self.removed) < self.removed_count

    def plus(self, later: RuleViolationsChange) -> RuleViolationsChange:
        """Both, one after the other: what came and went again is in neither list.

        Where a list was cut, that cannot be seen: counts are then sums.
        """
        if self.cut or later.cut:
            return RuleViolationsChange(
                (*self.added, *later.added),
                (*self.removed, *later.removed),
                self.added_count + later.added_count,
                self.removed_count + later.removed_count,
            )
        back, gone = set(self.removed) & set(later.added), set(self.added) & set(later.removed)
        added = [v for v in self.added if v not in gone] + [v for v in later.added if v not in back]
        removed = [v for v in self.removed if v not in back] + [v for v in later.removed if v not in gone]
        return RuleViolationsChange(added, removed, len(added), len(removed))

    def __bool__(self) -> bool:
        return bool(self.added_count or self.removed_count)


@dataclass(frozen=True)
class ViolationsChange(Presented, Mergeable):
    """The change of violations of every rule that has one, by rule name, and the totals after it.

    A total counts the pairs of a rule that speaks of two rows, and the rows of one that speaks of one.
    """

    rules: Mapping[str, RuleViolationsChange] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)

    @property
    def added_count(self) -> int:
        return sum(rule.added_count for rule in self.rules.values())

    @property
    def removed_count(self) -> int:
        return sum(rule.removed_count for rule in self.rules.values())

    @property
    def added(self) -> dict[str, Sequence[Violation]]:
        """By rule, the violations that came, of rules that have some."""
        return {name: rule.added for name, rule in self.rules.items() if rule.added_count}

    @property
    def removed(self) -> dict[str, Sequence[Violation]]:
        return {name: rule.removed for name, rule in self.rules.items() if rule.removed_count}

    @property
    def cut(self) -> bool:
        """Whether more came or went than is listed."""
        return any(rule.cut for rule in self.rules.values())

    def __bool__(self) -> bool:
        return any(map(bool, self.rules.values()))

    def plus(self, later: ViolationsChange) -> ViolationsChange:
        """This change and then the other, as one; associative, and nothing changes by adding nothing."""
        names = dict.fromkeys([*self.rules, *later.rules])
        nothing = RuleViolationsChange()
        summed = {name: self.rules.get(name, nothing).plus(later.rules.get(name, nothing)) for name in names}
        return ViolationsChange(
            {name: change for name, change in summed.items() if change}, {**self.totals, **later.totals}
        )

    def to_dict(self) -> dict[str, Any]:
        """Lists of violations, counts and totals, as `holdfast watch apply --format json` prints them."""
        return {
            "added": list(_to_dicts(self.added)),
            "removed": list(_to_dicts(self.removed)),
            "added_count": self.added_count,
            "removed_count": self.removed_count,
            "totals": dict(self.totals),
        }

    def to_arrow(self) -> pa.Table:
        """(rule, left, right, change): a line for each violation that is listed, +1 or -1."""
        lines = [
            (name, left, right, sign)
            for sign, side in ((1, self.added), (-1, self.removed))
            for name, listed in side.items()
            for left, right in listed
        ]
        columns = list(zip(*lines, strict=True)) if lines else [(), (), (), ()]
        return pa.table(
            {
                "rule": pa.array(columns[0], pa.string()),
                "left": _key_column(columns[1]),
                "right": _key_column(columns[2]),
                "change": pa.array(columns[3], pa.int8()),
            }
        )


def _to_dicts(side: Mapping[str, Sequence[Violation]]) -> Iterator[dict[str, Any]]:
    for name, listed in side.items():
        for left, right in listed:
            line = {"rule": name, "left": plain_json(left)}
            yield line if right is None else {**line, "right": plain_json(right)}


def _key_column(keys: Sequence[Any]) -> pa.Array:
    """The keys as a column; one of several parts is a list, of texts where these are not of one type."""
    plain = [list(key) if isinstance(key, tuple) else key for key in keys]
    try:
        return pa.array(plain)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if key is None else _texts(plain_json(key)) for key in plain])


def _texts(key: Any) -> Any:
    return [_texts(part) for part in key] if isinstance(key, list) else str(key)
