"""What `holdfast discover --format json` printed, read again: the rules, for somebody who decides on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError, SourceError, SourceNotFoundError
from holdfast.rules.parse import parse_body
from holdfast.rules.predicate import quoted_name
from holdfast.rules.rule import Names, Nulls, Rule, allowance, readable_name
from holdfast.rules.sentence import sentence

_HINT = "write it with holdfast discover DATA --format json --output found.json."


@dataclass(frozen=True)
class PrintedRule:
    """A rule of a discovery, and what was printed beside it."""

    rule: Rule
    printed: Mapping[str, Any]


@dataclass(frozen=True)
class PrintedDiscovery:
    """The rules of a discovery, those on single columns first, then best first, and how nulls compare in them."""

    rules: tuple[PrintedRule, ...]
    nulls: Nulls = "sql"


def read_found(path: str | Path) -> PrintedDiscovery:
    """Returns the discovery in the file. Raises SourceError where it is none, naming the rule that cannot be read."""
    place = str(path)
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SourceNotFoundError(f"there is no file {place!r}.", hint=_HINT) from None
    except OSError as problem:
        raise SourceError(f"cannot read {place!r}: {problem.strerror}.") from None
    except ValueError as problem:
        raise SourceError(f"{place!r} is not JSON: {problem}.", hint=_HINT) from None
    rules = content.get("rules") if isinstance(content, dict) else None
    single = content.get("column_rules", []) if isinstance(content, dict) else None
    if (
        not isinstance(rules, list)
        or not isinstance(single, list)
        or content.get("nulls", "sql") not in ("sql", "equal")
    ):
        raise SourceError(f"{place!r} is not what a discovery prints.", hint=_HINT)
    names = Names()
    # What no rule can say has none, and nobody decides on it.
    decided = [
        (entry, f"{place}, {word} {i}")
        for word, entries in (("column rule", single), ("rule", rules))
        for i, entry in enumerate(entries, start=1)
        if not (word == "column rule" and isinstance(entry, dict) and entry.get("rule", "") is None)
    ]
    return PrintedDiscovery(
        tuple(_printed(entry, names, where) for entry, where in decided), content.get("nulls", "sql")
    )


def _printed(entry: Any, names: Names, where: str) -> PrintedRule:
    if not isinstance(entry, dict) or not isinstance(entry.get("rule"), str):
        raise SourceError(f"{where}: there is no rule.", hint=_HINT)
    try:
        body = parse_body(entry["rule"])
        rule = Rule(readable_name(body), body)
        if "allow" in entry:
            rule = replace(rule, allow=allowance(entry["allow"]))
        if "allow_pairs" in entry:
            rule = replace(rule, allow_pairs=allowance(entry["allow_pairs"]))
        denials = body.denials
    except HoldfastError as problem:
        raise SourceError(f"{where}: {problem.message}", hint=problem.hint) from None
    words = sentence(denials[0]) if len(denials) == 1 else None
    if isinstance(entry.get("says"), str) and isinstance(entry.get("column"), str):
        words = f"{quoted_name(entry['column'])} {entry['says']}"
    return PrintedRule(replace(rule, name=names.give(rule.name), description=words), entry)
