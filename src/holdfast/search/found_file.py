"""What `holdfast discover --format json` printed, read again: the rules, for somebody who decides on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
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
    """A rule of a discovery, and what was printed beside it.

    `entry` is that of rules which say the same in other words, or of what is said of one column; None for a rule alone.
    """

    rule: Rule
    printed: Mapping[str, Any]

    @property
    def entry(self) -> str | None:
        number, column = self.printed.get("entry"), self.printed.get("column")
        if isinstance(number, int):
            return f"entry {number}"
        return f"column {quoted_name(column)}" if isinstance(column, str) else None


@dataclass(frozen=True)
class PrintedDiscovery:
    """The rules of a discovery, and how nulls compare in them.

    Those on single columns come first, then best first; the rules of an entry stand together, where its best one is.
    """

    rules: tuple[PrintedRule, ...]
    nulls: Nulls = "sql"

    @cached_property
    def entries(self) -> tuple[range, ...]:
        """The places of the rules of each entry."""
        firsts = [i for i, rule in enumerate(self.rules) if not i or not _together(self.rules[i - 1], rule)]
        return tuple(range(a, b) for a, b in pairwise([*firsts, len(self.rules)]))

    def entry_of(self, place: int) -> range:
        """The places of the rules in the entry of this rule."""
        return next(entry for entry in self.entries if place in entry)


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
    printed: dict[object, list[PrintedRule]] = {}
    for i, (entry, where) in enumerate(decided):
        rule = _printed(entry, names, where)
        printed.setdefault(rule.entry or i, []).append(rule)
    return PrintedDiscovery(tuple(chain.from_iterable(printed.values())), content.get("nulls", "sql"))


def _together(a: PrintedRule, b: PrintedRule) -> bool:
    return a.entry is not None and a.entry == b.entry


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
