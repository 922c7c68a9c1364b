"""Violations that are known: a check against them fails only on what is new."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import SourceError

FORMAT = 1


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

    def to_json(self) -> str:
        rules = {name: {"rule": said, "suspects": sorted(keys)} for name, (said, keys) in self.rules.items()}
        return (
            json.dumps({"format": FORMAT, "key": list(self.key), "rules": rules}, ensure_ascii=False, indent=1) + "\n"
        )


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
