"""What became of rules from check to check, and what got worse."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.presented import Presented

_RANKS = ("holds", "allowed", "warning", "violated")


@dataclass(frozen=True)
class RulePoint:
    """A rule in one run. Metrics of earlier versions know neither verdict, severity, suspects nor fingerprint."""

    run_id: str
    run_time: dt.datetime
    rows: int
    violating_rows: int
    suspect_rows: int | None = None
    verdict: str | None = None
    severity: str | None = None
    fingerprint: str | None = None

    @property
    def bad_rows(self) -> int:
        """The suspect rows; the violating ones where those are not known."""
        return self.violating_rows if self.suspect_rows is None else self.suspect_rows

    @property
    def share(self) -> float:
        return self.bad_rows / self.rows if self.rows else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "run_time": self.run_time.isoformat()}


@dataclass(frozen=True)
class RuleHistory:
    """A rule of a table over its runs, the earliest first. `last_run` says that the last run of the table had it.

    A table is None in metrics of earlier versions. Where a rule came to say something else under its name, `points` are
    those since then, and `changed` is true.
    """

    table: str | None
    rule: str
    points: tuple[RulePoint, ...]
    changed: bool = False
    last_run: bool = True

    @property
    def worse(self) -> str | None:
        """In words, what is worse in the last run than in the one before it; None where nothing is."""
        if not self.last_run or len(self.points) < 2:
            return None
        before, now = self.points[-2:]
        if before.verdict is not None and _rank(now.verdict) > _rank(before.verdict):
            return f"{before.verdict} -> {now.verdict}, {_counts(before, now)}"
        known = before.suspect_rows is not None and now.suspect_rows is not None
        then, later = (before.share, now.share) if known else (_violating(before), _violating(now))
        return _counts(before, now, known) if later > then else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "rule": self.rule,
            "last_run": self.last_run,
            "changed": self.changed,
            "worse": self.worse,
            "points": [point.to_dict() for point in self.points],
        }


@dataclass(frozen=True)
class History(Presented):
    """The rules of a table of metrics, by table and name, and how many runs it has, of which the last few are told."""

    folder: str
    runs: int
    rules: tuple[RuleHistory, ...]

    @property
    def worse(self) -> tuple[RuleHistory, ...]:
        """The rules that got worse, those with the worst verdict first."""
        worse = [rule for rule in self.rules if rule.worse is not None]
        return tuple(sorted(worse, key=lambda rule: (-_rank(rule.points[-1].verdict), -rule.points[-1].share)))

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast history --format json` prints."""
        worse = [{"table": rule.table, "rule": rule.rule, "why": rule.worse} for rule in self.worse]
        return {"runs": self.runs, "worse": worse, "rules": [rule.to_dict() for rule in self.rules]}


def history_of(lines: Iterable[Mapping[str, Any]], *, folder: str, last: int) -> History:
    """The history in the lines of a table of metrics, which may lack columns; at most so many runs of each rule."""
    points: dict[tuple[str | None, str], list[RulePoint]] = {}
    last_runs: dict[str | None, tuple[dt.datetime, str]] = {}
    runs: set[str] = set()
    for line in lines:
        point = RulePoint(
            line["run_id"],
            line["run_time"],
            line["rows"],
            line["violating_rows"],
            line.get("suspect_rows"),
            line.get("verdict"),
            line.get("severity"),
            line.get("rule_fingerprint"),
        )
        table = line.get("table")
        runs.add(point.run_id)
        points.setdefault((table, line["rule"]), []).append(point)
        last_runs[table] = max(last_runs.get(table, (point.run_time, point.run_id)), (point.run_time, point.run_id))
    rules = []
    for (table, rule), own in sorted(points.items(), key=lambda entry: (entry[0][0] or "", entry[0][1])):
        own.sort(key=lambda point: (point.run_time, point.run_id))
        same = _since_change(own)
        rules.append(
            RuleHistory(table, rule, tuple(same[-last:]), len(same) < len(own), own[-1].run_id == last_runs[table][1])
        )
    return History(folder, len(runs), tuple(rules))


def _since_change(points: Sequence[RulePoint]) -> Sequence[RulePoint]:
    """The points since the rule last came to say something else."""
    start = 0
    for i in range(1, len(points)):
        before, now = points[i - 1].fingerprint, points[i].fingerprint
        if before is not None and now is not None and before != now:
            start = i
    return points[start:]


def _rank(verdict: str | None) -> int:
    return _RANKS.index(verdict) if verdict in _RANKS else -1


def _violating(point: RulePoint) -> float:
    return point.violating_rows / point.rows if point.rows else 0.0


def _counts(before: RulePoint, now: RulePoint, suspects: bool = True) -> str:
    """How many of how many rows, before and now."""
    if suspects and None not in (before.suspect_rows, now.suspect_rows):
        return f"{before.bad_rows:,} of {before.rows:,} -> {now.bad_rows:,} of {now.rows:,} rows suspect"
    return f"{before.violating_rows:,} of {before.rows:,} -> {now.violating_rows:,} of {now.rows:,} rows violating"
