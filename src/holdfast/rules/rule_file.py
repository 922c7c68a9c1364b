"""Rule files: YAML to a set of rules and back. Every error names file, line and rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import yaml

from holdfast.errors import HoldfastError, RuleFileError, closest_hint
from holdfast.rules.dependency import CFD, FD, Body, Pattern
from holdfast.rules.parse import given_names, parse_body
from holdfast.rules.predicate import Constant, quoted_name
from holdfast.rules.rule import Allowance, Nulls, Rule, RuleSet, allowance, readable_name, rule_set, with_unique_names
from holdfast.rules.settings import (
    SettingProblem,
    choice,
    filled_text,
    first_problem,
    list_of,
    mapping_of,
    optional,
    settings,
    text,
)
from holdfast.rules.yaml_nodes import composed, line_of, node_at, plain_content, read_yaml_text

_SETTINGS = 'lines such as rule: "A -> B"'
_PATTERN = "a value for each of its columns, as in {CC: 44, city: EDI}"


@dataclass(frozen=True)
class _Entry:
    rule: str
    name: str | None = None
    severity: Literal["error", "warn"] = "error"
    allow: str = "0"
    allow_pairs: str | None = None
    where: str | None = None
    description: str | None = None
    patterns: list[dict[str, str]] | None = None


_ENTRY_SETTINGS = {
    "rule": text,
    "name": optional(filled_text),
    "severity": choice("error", "warn"),
    "allow": text,
    "allow_pairs": optional(text),
    "where": optional(text),
    "description": optional(text),
    "patterns": optional(list_of(mapping_of(text), filled=True)),
}
_FILE_SETTINGS = {
    "version": choice("1"),
    "key": list_of(text),
    "nulls": choice("sql", "equal"),
    "rules": list_of(settings(_ENTRY_SETTINGS, required={"rule"})),
}
_FILE = settings(_FILE_SETTINGS, required={"rules"})


def _written_out(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a file, with a list where it may have one name or text instead."""
    content = dict(content)
    if isinstance(content.get("key"), str):  # one column name, in which commas may occur
        content["key"] = [content["key"]]
    if isinstance(content.get("rules"), list):
        content["rules"] = [{"rule": entry} if isinstance(entry, str) else entry for entry in content["rules"]]
    return content


def read_rules(path: str | Path) -> RuleSet:
    """Returns the rules of a YAML file; rules without a name get one made from their columns.

    Raises RuleFileError, or SourceNotFoundError where there is no file.
    """
    place = Path(path)
    return parse_rules(read_yaml_text(place, "rule file", RuleFileError), origin=str(place))


def parse_rules(text: str, *, origin: str = "rules") -> RuleSet:
    """Returns the rules in the YAML text. `origin` is its name in errors."""
    return rules_of(composed(text, origin), origin=origin)


def rules_of(root: yaml.Node, *, origin: str) -> RuleSet:
    """Returns the rules of a YAML node: the content of a rule file, or a list of rules in another file."""
    plain = plain_content(root, origin)
    if isinstance(plain, list):
        plain = {"rules": plain}
        root = yaml.MappingNode("map", [(yaml.ScalarNode("str", "rules"), root)], root.start_mark)
    if not isinstance(plain, dict):
        raise RuleFileError(
            f"{origin} holds no rules.",
            hint='a rule file looks like\n\nversion: 1\nrules:\n  - rule: "ZipCode -> City"',
        )
    content = _written_out(plain)
    problem = first_problem(_FILE, content)
    if problem is not None:
        raise _rule_file_error(problem, root, origin)
    return _rule_set(content, root, origin)


def dump_rules(rules: RuleSet) -> str:
    """Returns YAML that `parse_rules` reads back as the same rules."""
    content: dict[str, Any] = {"version": 1}
    if rules.key:
        content["key"] = rules.key[0] if len(rules.key) == 1 else list(rules.key)
    content["nulls"] = rules.nulls
    content["rules"] = [_entry_of(rule) for rule in rules]
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)


def _entry_of(rule: Rule) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": rule.name, "rule": str(rule.body)}
    if isinstance(rule.body, CFD) and not rule.body.inline:
        entry["patterns"] = [_pattern_entry(rule.body, pattern) for pattern in rule.body.patterns]
    if rule.severity != "error":
        entry["severity"] = rule.severity
    if rule.allow != Allowance():
        entry["allow"] = _allowance_entry(rule.allow)
    if rule.allow_pairs is not None:
        entry["allow_pairs"] = _allowance_entry(rule.allow_pairs)
    if rule.where is not None:
        entry["where"] = rule.where
    if rule.description is not None:
        entry["description"] = rule.description
    return entry


def _allowance_entry(allowed: Allowance) -> int | str:
    return str(allowed) if allowed.count is None else allowed.count


def _pattern_entry(body: CFD, pattern: Pattern) -> dict[str, str]:
    values = zip((*body.left, *body.right), (*pattern.left, *pattern.right), strict=True)
    return {name: "_" if value is None else str(value.value) for name, value in values}


def _rule_file_error(problem: SettingProblem, root: yaml.Node, origin: str) -> RuleFileError:
    """Returns the problem as an error that names file, line and rule."""
    location = problem.location
    where = f"{origin}, line {line_of(root, location)}"
    entry = _entry_name(root, location)
    if entry:
        where += f", {entry}"
    field = str(location[-1])
    match problem.kind:
        case "unknown":
            known = _ENTRY_SETTINGS if len(location) > 1 else _FILE_SETTINGS
            return RuleFileError(
                f"{where}: there is no setting {field!r}.", hint=closest_hint(field, known, what="Settings")
            )
        case "missing":
            return RuleFileError(f"{where}: {field!r} is missing.")
        case "choice":
            return RuleFileError(f"{where}: {field} is {problem.value!r}.", hint=f"it may be {problem.wanted}.")
        case "empty":
            return RuleFileError(f"{where}: {_field(location)} is empty.", hint="fill it in, or leave it out.")
    if problem.wanted == "settings":
        if len(location) > 2:
            return RuleFileError(f"{where}: a pattern is {_PATTERN}.")
        state = "is empty" if problem.value is None else "is not a rule"
        return RuleFileError(f"{where}: this entry {state}.", hint=f"a rule is its text, or {_SETTINGS}.")
    if problem.value is None:
        return RuleFileError(f"{where}: {_field(location)} is empty.", hint=f"{problem.wanted} is expected there.")
    return RuleFileError(f"{where}: {_field(location)} should be {problem.wanted}.")


def _field(location: Sequence[int | str]) -> str:
    names = [part for part in location if isinstance(part, str)]
    return repr(names[-1]) if names else "an entry"


def _entry_name(root: yaml.Node, location: Sequence[int | str]) -> str | None:
    if len(location) < 2 or location[0] != "rules" or not isinstance(location[1], int):
        return None
    node = node_at(root, location[:2])
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "name" and value.value:
                return f"rule {value.value!r}"
    return f"rule {location[1] + 1}"


def _rule_set(content: dict[str, Any], root: yaml.Node, origin: str) -> RuleSet:
    rules: list[Rule] = []
    given: dict[str, int] = {}
    entries = [_Entry(**entry) for entry in content["rules"]]
    for i, entry in enumerate(entries):
        with _placed(root, origin, entry, i, "rule"):
            body = parse_body(entry.rule)
        with _placed(root, origin, entry, i, "patterns"):
            body = _with_patterns(body, entry.patterns)
        with _placed(root, origin, entry, i, "allow"):
            allow = allowance(entry.allow)
        with _placed(root, origin, entry, i, "allow_pairs"):
            allow_pairs = None if entry.allow_pairs is None else allowance(entry.allow_pairs)
        if entry.name is not None:
            line = line_of(root, ("rules", i, "name"))
            with _placed(root, origin, entry, i, "name"):
                if entry.name in given:
                    raise RuleFileError(
                        f"the name {entry.name!r} is taken by the rule in line {given[entry.name]}.",
                        hint="rule names are unique.",
                    )
            given[entry.name] = line
        name = entry.name or readable_name(body)
        rules.append(Rule(name, body, entry.severity, allow, allow_pairs, entry.where, entry.description))
    unique = with_unique_names(rules, [entry.name is None for entry in entries])
    return RuleSet(unique, tuple(content.get("key", ())), content.get("nulls", "sql"), origin)


@contextmanager
def _placed(root: yaml.Node, origin: str, entry: _Entry, i: int, setting: str) -> Iterator[None]:
    """Raises an error of the block again as RuleFileError with file, line and rule."""
    try:
        yield
    except HoldfastError as problem:
        line = line_of(root, ("rules", i, setting))
        message = f"{origin}, line {line}, rule {entry.name or i + 1!r}: {problem.message}"
        raise RuleFileError(message, hint=problem.hint) from problem


def _with_patterns(body: Body, patterns: list[dict[str, str]] | None) -> Body:
    if patterns is None:
        return body
    if not isinstance(body, FD):
        raise RuleFileError(
            "only a plain dependency such as CC, AC -> city can have patterns.",
            hint="put the constants into the patterns, not into the rule.",
        )
    for pattern in patterns:
        for name in pattern:
            if name not in body.columns:
                raise RuleFileError(
                    f"a pattern names {quoted_name(name)}, which the rule does not have.",
                    hint=closest_hint(name, body.columns),
                )
    lines = tuple(
        Pattern(
            tuple(_pattern_value(pattern.get(name)) for name in body.left),
            tuple(_pattern_value(pattern.get(name)) for name in body.right),
        )
        for pattern in patterns
    )
    conditional = CFD(body.left, body.right, tuple(dict.fromkeys(lines)))
    conditional.denials  # noqa: B018 (refuse here what no table could violate)
    return conditional


def _pattern_value(text: str | None) -> Constant | None:
    return None if text in (None, "_") else Constant(str(text), raw=True)


class GivesRules(Protocol):
    """A value that goes where rules go, such as the result of a discovery."""

    @property
    def rule_set(self) -> RuleSet: ...


def as_rule_set(rules: Any, *, nulls: Nulls | None = None) -> RuleSet:
    """Returns a rule set from a rule set, a file, the text of a rule, or a list of texts and rules.

    Also accepts an object with a `rule_set`, such as the result of a discovery. `nulls`, if given, replaces the null
    mode of the rules.
    """
    wanted = _rule_set_of(rules)
    return wanted if nulls is None else replace(wanted, nulls=nulls)


def named_key(rules: RuleSet, key: str | Sequence[str] | None) -> tuple[str, ...]:
    """Returns the columns of `key`, a text or a list; without it, the key of the rules."""
    return rules.key if key is None else given_names(key)


def _rule_set_of(rules: Any) -> RuleSet:
    if isinstance(rules, RuleSet):
        return rules
    if isinstance(inner := getattr(rules, "rule_set", None), RuleSet):
        return inner
    if isinstance(rules, Rule):
        return rule_set([rules])
    if isinstance(rules, Path) or (isinstance(rules, str) and (_names_a_file(rules) or _is_a_file(rules))):
        return read_rules(rules)
    if isinstance(rules, str):
        return rule_set([rules])
    return rule_set(rules)


def _names_a_file(text: str) -> bool:
    return text.endswith((".yaml", ".yml")) or not re.search(r"->|→|\(|^\s*if\s", text, re.IGNORECASE)


def _is_a_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a character that no name has
        return False
