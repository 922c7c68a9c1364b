"""Rule files: YAML to a set of rules and back. Every error names file, line and rule."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import yaml

from holdfast.errors import HoldfastError, RuleFileError, closest_hint
from holdfast.rules.dependency import CFD, FD, Body, Pattern
from holdfast.rules.parse import given_names, is_table_name, parse_body
from holdfast.rules.predicate import Constant, quoted_name
from holdfast.rules.rule import (
    Allowance,
    NamedTable,
    Nulls,
    Rule,
    RuleSet,
    allowance,
    readable_name,
    rule_set,
    with_unique_names,
)
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
    table: str | None = None


_ENTRY_SETTINGS = {
    "rule": text,
    "name": optional(filled_text),
    "severity": choice("error", "warn"),
    "allow": text,
    "allow_pairs": optional(text),
    "where": optional(text),
    "description": optional(text),
    "patterns": optional(list_of(mapping_of(text), filled=True)),
    "table": optional(filled_text),
}
# How the data of a table is read, under the names of the command's options.
_READING_SETTINGS = {
    "types": mapping_of(text),
    "null_values": list_of(text),
    "delimiter": text,
    "encoding": text,
    "multiline": choice("true", "false"),
    "input_format": text,
}
_TABLE_SETTINGS = {"data": filled_text, "key": list_of(text), **_READING_SETTINGS}
_FILE_SETTINGS = {
    "version": choice("1"),
    "key": list_of(text),
    "nulls": choice("sql", "equal"),
    "tables": mapping_of(settings(_TABLE_SETTINGS), filled=True),
    "rules": list_of(settings(_ENTRY_SETTINGS, required={"rule"})),
}
_FILE = settings(_FILE_SETTINGS, required={"rules"})


def _written_out(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a file, with a list where it may have one name or text instead."""
    content = dict(content)
    if isinstance(content.get("key"), str):  # one column name, in which commas may occur
        content["key"] = [content["key"]]
    if isinstance(content.get("tables"), dict):
        content["tables"] = {name: _table_written_out(table) for name, table in content["tables"].items()}
    if isinstance(content.get("rules"), list):
        content["rules"] = [{"rule": entry} if isinstance(entry, str) else entry for entry in content["rules"]]
    return content


def _table_written_out(table: Any) -> Any:
    """The settings of a table; where it has text alone, that is where its data is."""
    if table is None or isinstance(table, str):
        return {} if table is None else {"data": table}
    if isinstance(table, dict):
        lists = {name: [table[name]] for name in ("key", "null_values") if isinstance(table.get(name), str)}
        return {**table, **lists}
    return table


def read_rules(path: str | Path, *, tables: Collection[str] | None = None) -> RuleSet:
    """Returns the rules of a YAML file; rules without a name get one made from their columns.

    They may name the tables of the file and those in `tables`; any, where the file has none and that is None.

    Raises RuleFileError, or SourceNotFoundError where there is no file.
    """
    place = Path(path)
    return parse_rules(read_yaml_text(place, "rule file", RuleFileError), origin=str(place), tables=tables)


def parse_rules(text: str, *, origin: str = "rules", tables: Collection[str] | None = None) -> RuleSet:
    """Returns the rules in the YAML text. `origin` is its name in errors, `tables` is as in read_rules()."""
    return rules_of(composed(text, origin), origin=origin, tables=tables)


def rules_of(root: yaml.Node, *, origin: str, tables: Collection[str] | None = None) -> RuleSet:
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
    return _rule_set(content, root, origin, tables)


def dump_rules(rules: RuleSet) -> str:
    """Returns YAML that `parse_rules` reads back as the same rules."""
    content: dict[str, Any] = {"version": 1}
    if rules.key:
        content["key"] = rules.key[0] if len(rules.key) == 1 else list(rules.key)
    content["nulls"] = rules.nulls
    if rules.tables:
        content["tables"] = {table.name: _table_entry(table) for table in rules.tables}
    content["rules"] = [_entry_of(rule) for rule in rules]
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)


def _table_entry(table: NamedTable) -> dict[str, Any]:
    data = {} if table.data is None else {"data": table.data}
    key: dict[str, Any] = {"key": table.key[0] if len(table.key) == 1 else list(table.key)} if table.key else {}
    reading = {n: list(value) if isinstance(value, tuple) else value for n, value in table.reading.items()}
    return {**data, **key, **reading}


def _entry_of(rule: Rule) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": rule.name, "rule": str(rule.body)}
    if rule.table is not None:
        entry["table"] = rule.table
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
            inside = _TABLE_SETTINGS if location[0] == "tables" else _ENTRY_SETTINGS
            known = inside if len(location) > 1 else _FILE_SETTINGS
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
        if location[0] == "tables":
            hint = "name each table with its data, as in orders: {data: orders.csv, key: id}."
            return RuleFileError(f"{where}: {_field(location)} should be settings.", hint=hint)
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


def _named_tables(content: dict[str, Any], root: yaml.Node, origin: str) -> tuple[NamedTable, ...]:
    tables = []
    for name, given in content.get("tables", {}).items():
        if not is_table_name(name):
            raise RuleFileError(
                f"{origin}, line {line_of(root, ('tables', name))}: a table cannot be called {name!r} in a rule.",
                hint="a table's name is a word of letters, digits and _, other than t and s and words of the language.",
            )
        reading = {setting: given[setting] for setting in _READING_SETTINGS if setting in given}
        if "null_values" in reading:
            reading["null_values"] = tuple(reading["null_values"])
        if "multiline" in reading:
            reading["multiline"] = reading["multiline"] == "true"
        tables.append(NamedTable(name, given.get("data"), tuple(given.get("key", ())), reading))
    return tuple(tables)


def _rule_set(content: dict[str, Any], root: yaml.Node, origin: str, others: Collection[str] | None = None) -> RuleSet:
    tables = _named_tables(content, root, origin)
    if tables and "key" in content:
        raise RuleFileError(
            f"{origin}, line {line_of(root, ('key',))}: each of several tables has its own key.",
            hint="write it below the table, as in orders: {data: orders.csv, key: id}.",
        )
    known = {table.name for table in tables}.union(others or ()) if tables or others is not None else None
    rules: list[Rule] = []
    given: dict[str, int] = {}
    entries = [_Entry(**entry) for entry in content["rules"]]
    for i, entry in enumerate(entries):
        with _placed(root, origin, entry, i, "rule"):
            body = parse_body(entry.rule, tables=known)
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
        terms = (entry.severity, allow, allow_pairs, entry.where, entry.description, entry.table)
        with _placed(root, origin, entry, i, "rule" if entry.table is None else "table"):
            rules.append(Rule(name, body, *terms))
            if known is not None:
                require_table(rules[-1], known)
    unique = with_unique_names(rules, [entry.name is None for entry in entries])
    return RuleSet(unique, tuple(content.get("key", ())), content.get("nulls", "sql"), origin, tables)


def require_table(rule: Rule, tables: Collection[str]) -> None:
    """Raises RuleFileError for a rule that does not say of which table it is, or names one that is not there."""
    if not rule.tables and len(tables) > 0:
        raise RuleFileError(
            f"the rule {str(rule)!r} does not say of which table it is.",
            hint=f"add table: to it, one of {', '.join(tables)}.",
        )
    for name in rule.tables:
        if name not in tables:
            raise RuleFileError(f"there is no table {name!r}.", hint=closest_hint(name, tables, what="Tables"))


def refuse_tables(rules: RuleSet, job: str) -> None:
    """Raises RuleFileError where the rules are over several tables, which only `check` does."""
    named = next((rule for rule in rules if rule.tables), None)
    if named is not None:
        raise RuleFileError(
            f"the rule {named.name!r} names {' and '.join(map(repr, named.tables))}, and {job} is of one table.",
            hint="leave the rule out; holdfast check RULES does several tables.",
        )
    if rules.tables:
        raise RuleFileError(
            f"{rules.origin or 'the rule file'} names tables, and {job} is of one table.",
            hint="holdfast check RULES does several tables.",
        )


def data_of(rules: RuleSet, table: NamedTable) -> str | None:
    """Returns where the table's data is: a path in a rule file is relative to the file's folder."""
    if table.data is None or rules.origin is None or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", table.data):
        return table.data
    return str(Path(rules.origin).parent / table.data)


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


def as_rule_set(rules: Any, *, nulls: Nulls | None = None, tables: Collection[str] | None = None) -> RuleSet:
    """Returns a rule set from a rule set, a file, the text of a rule, or a list of texts and rules.

    Also accepts an object with a `rule_set`, such as the result of a discovery. `nulls`, if given, replaces the null
    mode of the rules. Texts and files may name the tables in `tables`, or any where that is None.
    """
    wanted = _rule_set_of(rules, tables)
    return wanted if nulls is None else replace(wanted, nulls=nulls)


def named_key(rules: RuleSet, key: str | Sequence[str] | None) -> tuple[str, ...]:
    """Returns the columns of `key`, a text or a list; without it, the key of the rules."""
    return rules.key if key is None else given_names(key)


def _rule_set_of(rules: Any, tables: Collection[str] | None) -> RuleSet:
    if isinstance(rules, RuleSet):
        return rules
    if isinstance(inner := getattr(rules, "rule_set", None), RuleSet):
        return inner
    if isinstance(rules, Rule):
        return rule_set([rules])
    if isinstance(rules, Path) or (isinstance(rules, str) and (_names_a_file(rules) or _is_a_file(rules))):
        return read_rules(rules, tables=tables)
    if isinstance(rules, str):
        return rule_set([rules], tables=tables)
    return rule_set(rules, tables=tables)


def _names_a_file(text: str) -> bool:
    return text.endswith((".yaml", ".yml")) or not re.search(r"->|→|\(|^\s*if\s", text, re.IGNORECASE)


def _is_a_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a character that no name has
        return False
