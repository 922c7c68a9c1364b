"""Violations that are known: a check against them fails only on what is new."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.checking.outcome import CheckOutcome, suspects_verdict
from holdfast.errors import OptionError, SourceError

FORMAT = 1
# A baseline is for the errors that a team knows of, not for a table of them.
MOST_SUSPECTS = 1_000_000


@dataclass(frozen=True)
class Baseline:
    """By rule name, what the rule said and the keys of its suspect rows, each as JSON."""

    key: tuple[str, ...]
    rules: Mapping[str, tuple[str, frozenset[str]]]

    @property
    def suspects(self) -> int:
        return sum(len(keys) for _, keys in self.rules.values())

    def known(self, name: str, rule: str) -> frozenset[str]:
        """The keys that are known to be suspect of this rule; none where the name stands for another rule now."""
        said, keys = self.rules.get(name, (rule, frozenset()))
        return keys if said == rule else frozenset()

    def require_same_key(self, key: tuple[str, ...]) -> None:
        """Raises OptionError where the baseline names rows otherwise."""
        if self.key != key:
            raise OptionError(
                f"the baseline names rows by {', '.join(self.key)}, but the check does by {', '.join(key)}.",
                hint="use the same key, or remove the baseline to have a new one written.",
            )

    def to_json(self) -> str:
        rules = {name: {"rule": said, "suspects": sorted(keys)} for name, (said, keys) in self.rules.items()}
        return (
            json.dumps({"format": FORMAT, "key": list(self.key), "rules": rules}, ensure_ascii=False, indent=1) + "\n"
        )


def with_new_suspects(outcome: CheckOutcome, new: Mapping[str, int], scopes: Sequence[int]) -> CheckOutcome:
    """The outcome with verdicts by the suspect rows that are `new`, per rule name; a rule speaks of so many rows as
    `scopes` says. All counts stay."""
    rules = []
    for rule, scope in zip(outcome.rules, scopes, strict=True):
        count = new.get(rule.rule.name, 0)
        verdict = suspects_verdict(rule.rule, count, scope)
        holds = rule.holds or count == 0 or verdict.holds
        rules.append(replace(rule, holds=holds, beyond_error=verdict.beyond_error, new_suspects=count))
    suspects = sum(f.violating_rows if f.suspect_rows is None else f.suspect_rows for f in outcome.rules)
    forgiven = suspects - sum(new.values())
    note = f"suspect rows that the baseline knows: {forgiven:,}, new ones: {sum(new.values()):,}"
    return replace(outcome, rules=tuple(rules), notes=(*outcome.notes, note))


def read_baseline(path: str | os.PathLike[str]) -> Baseline:
    """The baseline in the file; SourceError where it is none."""
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"it is of format {content['format']}, and this Holdfast reads format {FORMAT}")
        rules = {name: (entry["rule"], frozenset(entry["suspects"])) for name, entry in content["rules"].items()}
        return Baseline(tuple(content["key"]), rules)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise SourceError(
            f"the baseline {os.fspath(path)} cannot be read: {reason}.",
            hint="remove it, and the next check with --baseline writes a new one.",
        ) from None
