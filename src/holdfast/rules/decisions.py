"""What people decided about rules: which they keep, and which they never want to see again; as YAML and back.

Rules are compared by meaning: by the pairs of rows that violate them, however they are written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml

from holdfast.errors import DecisionsError, HoldfastError, RuleFileError, closest_hint
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.dependency import tables_of
from holdfast.rules.parse import parse_body
from holdfast.rules.rule import Allowance, Names, Nulls, Rule, RuleSet, allowance, readable_name
from holdfast.rules.settings import (
    SettingProblem,
    choice,
    filled_text,
    first_problem,
    list_of,
    optional,
    settings,
    text,
)
from holdfast.rules.yaml_nodes import composed, line_of, plain_content, read_yaml_text

_KEPT = {
    "rule": filled_text,
    "name": optional(filled_text),
    "severity": optional(choice("error", "warn")),
    "allow": optional(text),
    "allow_pairs": optional(text),
}
_REJECTED = {"rule": filled_text, "why": optional(text)}
_FILE_SETTINGS = {
    "version": choice("1"),
    "kept": optional(list_of(settings(_KEPT, required={"rule"}))),
    "rejected": optional(list_of(settings(_REJECTED, required={"rule"}))),
}
_FILE = settings(_FILE_SETTINGS)
_EXAMPLE = (
    'a file of decisions looks like\n\nversion: 1\nkept:\n  - rule: "zip -> city"\nrejected:\n  - rule: "unique(n)"'
)


@dataclass(frozen=True)
class Rejected:
    """A rule that somebody does not want, and why, if that is known."""

    rule: Rule
    why: str | None = None


@dataclass(frozen=True)
class Decisions:
    """Rules that are kept, with their names and terms, and rules that are rejected.

    `named` are the names in `kept` that people gave; the others were made from the columns.
    """

    kept: tuple[Rule, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    named: frozenset[str] = frozenset()
    origin: str | None = None

    def __len__(self) -> int:
        return len(self.kept) + len(self.rejected)

    def on(self, rule: str) -> Literal["kept", "rejected"] | None:
        """Returns what was decided on what the rule's text says; None for nothing.

        >>> parse_decisions('rejected: ["a -> b, c"]').on("not(s.a = t.a and s.b != t.b)")
        'rejected'
        """
        wanted = {_either_way(denied) for denied in parse_body(rule).denials}
        return "kept" if wanted <= self._denied[0] else "rejected" if wanted <= self._denied[1] else None

    @cached_property
    def _denied(self) -> tuple[frozenset[object], frozenset[object]]:
        """What kept and what rejected rules deny."""
        rejected = (entry.rule for entry in self.rejected)
        kept, others = (
            frozenset(_either_way(denied) for rule in rules for denied in rule.body.denials)
            for rules in (self.kept, rejected)
        )
        return kept, others

    def kept_rules(self, *, nulls: Nulls = "sql") -> RuleSet:
        """Returns the kept rules as a set that can be checked."""
        return RuleSet(self.kept, nulls=nulls)


def read_decisions(path: str | Path) -> Decisions:
    """Returns the decisions in a YAML file.

    Raises DecisionsError, which names file, line and decision, or SourceNotFoundError where there is no file.
    """
    place = Path(path)
    return parse_decisions(read_yaml_text(place, "file of decisions", DecisionsError), origin=str(place))


def parse_decisions(content: str, *, origin: str = "decisions") -> Decisions:
    """Returns the decisions in the YAML text; `origin` is its name in errors.

    >>> decisions = parse_decisions('rejected: [{rule: "unique(n)", why: a number}]')
    >>> str(decisions.rejected[0].rule), decisions.rejected[0].why
    ('unique(n)', 'a number')
    """
    if all(not line.strip() or line.lstrip().startswith("#") for line in content.splitlines()):
        raise DecisionsError(f"{origin} is empty.", hint=_EXAMPLE)
    try:
        root = composed(content, origin)
        plain = plain_content(root, origin)
    except RuleFileError as problem:
        raise DecisionsError(problem.message, hint=problem.hint) from None
    if not isinstance(plain, dict):
        raise DecisionsError(f"{origin} holds no decisions.", hint=_EXAMPLE)
    plain = {name: _written_out(value) if name in ("kept", "rejected") else value for name, value in plain.items()}
    wrong = first_problem(_FILE, plain)
    if wrong is not None:
        raise _decisions_error(wrong, root, origin)
    kept, named = _kept(plain.get("kept") or [], root, origin)
    rejected = tuple(
        Rejected(_rule(entry, "rejected", i, root, origin), entry.get("why"))
        for i, entry in enumerate(plain.get("rejected") or [])
    )
    _refuse_both(kept, rejected, root, origin)
    return Decisions(kept, rejected, named, origin)


def as_decisions(given: Decisions | str | os.PathLike[str] | None) -> Decisions | None:
    """Returns decisions from themselves or from a file; None for none."""
    return given if given is None or isinstance(given, Decisions) else read_decisions(os.fspath(given))


def dump_decisions(decisions: Decisions) -> str:
    """Returns YAML that `parse_decisions` reads back as the same decisions."""
    kept = [_kept_entry(rule, named=rule.name in decisions.named) for rule in decisions.kept]
    rejected = [{"rule": str(entry.rule), **({"why": entry.why} if entry.why else {})} for entry in decisions.rejected]
    content = {"version": 1, "kept": kept, "rejected": rejected}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)


def _kept_entry(rule: Rule, *, named: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"rule": str(rule)}
    if named:
        entry["name"] = rule.name
    if rule.severity != "error":
        entry["severity"] = rule.severity
    if rule.allow != Allowance():
        entry["allow"] = str(rule.allow) if rule.allow.count is None else rule.allow.count
    if rule.allow_pairs is not None:
        entry["allow_pairs"] = str(rule.allow_pairs)
    return entry


def _written_out(entries: Any) -> Any:
    """The entries, with settings where one is the text of a rule alone."""
    if not isinstance(entries, list):
        return entries
    return [{"rule": entry} if isinstance(entry, str) else entry for entry in entries]


def _kept(entries: Sequence[dict[str, Any]], root: yaml.Node, origin: str) -> tuple[tuple[Rule, ...], frozenset[str]]:
    rules = [_rule(entry, "kept", i, root, origin) for i, entry in enumerate(entries)]
    given: dict[str, int] = {}
    for i, entry in enumerate(entries):
        if (name := entry.get("name")) is None:
            continue
        line = line_of(root, ("kept", i, "name"))
        if name in given:
            raise DecisionsError(
                f"{origin}, line {line}: the name {name!r} is taken by the rule in line {given[name]}.",
                hint="rule names are unique.",
            )
        given[name] = line
    names = Names(given)
    unique = [
        rule if entry.get("name") else replace(rule, name=names.give(rule.name))
        for rule, entry in zip(rules, entries, strict=True)
    ]
    return tuple(unique), frozenset(given)


def _rule(entry: dict[str, Any], part: str, i: int, root: yaml.Node, origin: str) -> Rule:
    setting = "rule"
    try:
        body = parse_body(entry["rule"])
        if named := tables_of(body):
            raise DecisionsError(f"the rule names the tables {', '.join(named)}.", hint="a discovery is of one table.")
        setting = "allow"
        allow = allowance(entry.get("allow") or "0")
        setting = "allow_pairs"
        allow_pairs = None if entry.get("allow_pairs") is None else allowance(entry["allow_pairs"])
    except HoldfastError as problem:
        where = f"{origin}, line {line_of(root, (part, i, setting))}, {part} {i + 1}"
        raise DecisionsError(f"{where}: {problem.message}", hint=problem.hint) from problem
    name = entry.get("name") or readable_name(body)
    return Rule(name, body, entry.get("severity") or "error", allow, allow_pairs)


def _refuse_both(kept: Sequence[Rule], rejected: Sequence[Rejected], root: yaml.Node, origin: str) -> None:
    known = {_meaning(rule): i for i, rule in enumerate(kept)}
    for i, entry in enumerate(rejected):
        if (other := known.get(_meaning(entry.rule))) is not None:
            line, before = line_of(root, ("rejected", i, "rule")), line_of(root, ("kept", other, "rule"))
            raise DecisionsError(
                f"{origin}, line {line}: the rule {str(entry.rule)!r} is rejected here, and kept in line {before}.",
                hint="leave one of them out.",
            )


def _meaning(rule: Rule) -> object:
    """What a rule denies, whichever of two rows is called t."""
    return frozenset(map(_either_way, rule.body.denials))


def _either_way(constraint: DenialConstraint) -> object:
    return frozenset((constraint, constraint.mirrored()))


def _decisions_error(problem: SettingProblem, root: yaml.Node, origin: str) -> DecisionsError:
    location = problem.location
    where = f"{origin}, line {line_of(root, location)}"
    field = str(next((part for part in reversed(location) if isinstance(part, str)), "a decision"))
    if problem.kind == "unknown":
        known = _FILE_SETTINGS if len(location) == 1 else _KEPT if location[0] == "kept" else _REJECTED
        return DecisionsError(
            f"{where}: there is no setting {field!r}.", hint=closest_hint(field, known, what="Settings")
        )
    if problem.kind == "missing":
        return DecisionsError(f"{where}: {field!r} is missing.")
    if problem.kind == "choice":
        return DecisionsError(f"{where}: {field} is {problem.value!r}.", hint=f"it may be {problem.wanted}.")
    if problem.wanted == "settings":
        return DecisionsError(
            f"{where}: this entry is not a decision.", hint='write the text of a rule, or {rule: "zip -> city"}.'
        )
    if problem.kind == "empty" or problem.value is None:
        return DecisionsError(f"{where}: {field!r} is empty.", hint="fill it in, or leave it out.")
    return DecisionsError(f"{where}: {field!r} should be {problem.wanted}.", hint=_EXAMPLE)


# Meaning ---------------------------------------------------------------------------------------------------------


def covers(general: Rule, special: Rule, *, nulls: Nulls = "sql") -> bool:
    """Whether whatever violates the special rule violates the general one, as far as the rules alone tell.

    >>> from holdfast.rules.rule import parse_rule
    >>> covers(parse_rule("zip -> city, state"), parse_rule("not(t.zip = s.zip and t.x = s.x and t.city < s.city)"))
    True
    """
    if general.where is not None:
        return general == special
    unordered = nulls == "equal"
    return all(
        any(denial.covers(other, nulls_equal=unordered) for denial in general.body.denials)
        for other in special.body.denials
    )


def same_meaning(rule: Rule, other: Rule, *, nulls: Nulls = "sql") -> bool:
    """Whether the same pairs of rows violate both rules, as far as the rules alone tell."""
    return covers(rule, other, nulls=nulls) and covers(other, rule, nulls=nulls)
