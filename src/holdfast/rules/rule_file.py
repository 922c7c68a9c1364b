"""Rule files: YAML to a set of rules and back. Every error names file, line and rule."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import yaml

from holdfast.errors import HoldfastError, RuleFileError, SourceNotFoundError, closest_hint
from holdfast.rules.dependency import CFD, FD, Body, Pattern
from holdfast.rules.message import message_columns
from holdfast.rules.parse import given_names, is_table_name, parse_body, pointed
from holdfast.rules.predicate import Constant, quoted_name
from holdfast.rules.rule import (
    Allowance,
    NamedTable,
    Nulls,
    Rule,
    RuleSet,
    Severity,
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
from holdfast.rules.variables import (
    escaped_variables,
    node_with_values,
    require_used,
    require_variable_names,
    texts_of,
    variables_in,
    with_values,
)
from holdfast.rules.yaml_nodes import composed, line_of, node_at, plain_content, read_yaml_text

_SETTINGS = 'lines such as rule: "A -> B"'
_PATTERN = "a value for each of its columns, as in {CC: 44, city: EDI}"


@dataclass(frozen=True)
class _Entry:
    rule: str
    name: str | None = None
    severity: Severity | None = None
    allow: str | None = None
    allow_pairs: str | None = None
    where: str | None = None
    description: str | None = None
    patterns: list[dict[str, str]] | None = None
    table: str | None = None
    warn: str | None = None
    error: str | None = None
    message: str | None = None
    tags: list[str] | None = None
    owner: str | None = None
    dimension: str | None = None


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
    "warn": optional(text),
    "error": optional(text),
    "message": optional(filled_text),
    "tags": optional(list_of(filled_text)),
    "owner": optional(filled_text),
    "dimension": optional(filled_text),
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
    "variables": mapping_of(text),
    "include": list_of(filled_text),
}


def _written_out(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a file, with a list where it may have one name or text instead."""
    content = dict(content)
    if isinstance(content.get("key"), str):  # one column name, in which commas may occur
        content["key"] = [content["key"]]
    if isinstance(content.get("include"), str):
        content["include"] = [content["include"]]
    if isinstance(content.get("tables"), dict):
        content["tables"] = {name: _table_written_out(table) for name, table in content["tables"].items()}
    if isinstance(content.get("rules"), list):
        content["rules"] = [_entry_written_out(entry) for entry in content["rules"]]
    return content


def _entry_written_out(entry: Any) -> Any:
    """The settings of a rule; where it has text alone, that is the rule."""
    if isinstance(entry, str):
        return {"rule": entry}
    return (
        {**entry, "tags": [entry["tags"]]} if isinstance(entry, dict) and isinstance(entry.get("tags"), str) else entry
    )


def _table_written_out(table: Any) -> Any:
    """The settings of a table; where it has text alone, that is where its data is."""
    if table is None or isinstance(table, str):
        return {} if table is None else {"data": table}
    if isinstance(table, dict):
        lists = {name: [table[name]] for name in ("key", "null_values") if isinstance(table.get(name), str)}
        return {**table, **lists}
    return table


def read_rules(
    path: str | Path, *, tables: Collection[str] | None = None, variables: Mapping[str, str] | None = None
) -> RuleSet:
    """Returns the rules of a YAML file; rules without a name get one made from their columns.

    They may name the tables of the file and those in `tables`; any, where the file has none and that is None.
    `variables` are values of `${name}` in the file and in those that it includes.

    Raises RuleFileError, or SourceNotFoundError where there is no file.
    """
    return rule_set_of(file_parts(path, variables or {}), tables)


def parse_rules(text: str, *, origin: str = "rules", tables: Collection[str] | None = None) -> RuleSet:
    """Returns the rules in the YAML text. `origin` is its name in errors, `tables` is as in read_rules()."""
    return rules_of(composed(text, origin), origin=origin, tables=tables)


def rules_of(root: yaml.Node, *, origin: str, tables: Collection[str] | None = None) -> RuleSet:
    """Returns the rules of a YAML node: the content of a rule file, or a list of rules in another file.

    Such rules have no variables, and include no files.
    """
    return rule_set_of([_part(_as_mapping(root, origin), origin, "", None)], tables)


@dataclass(frozen=True)
class RuleFile:
    """One file of rules: its content, which is well-formed, and where its folder lies from that of the first."""

    content: Mapping[str, Any]
    root: yaml.Node
    origin: str
    folder: str

    @cached_property
    def entries(self) -> list[_Entry]:
        return [_Entry(**entry) for entry in self.content.get("rules", ())]


def file_parts(path: str | Path, variables: Mapping[str, str]) -> list[RuleFile]:
    """Returns a rule file behind those that it includes, each once. RuleFileError where one includes itself.

    A variable has the value that is given, or else the default of the file itself, or of one that includes it.
    """
    require_variable_names(variables)
    parts: dict[Path, RuleFile] = {}
    used: set[str] = set()

    def take(place: Path, folder: str, values: Mapping[str, str], above: tuple[Path, ...]) -> None:
        origin, real = str(place), place.resolve()
        if real in parts:
            return
        root = _as_mapping(composed(read_yaml_text(place, "rule file", RuleFileError), origin), origin)
        raw = plain_content(root, origin)
        defaults = raw.get("variables") or {}
        used.update(defaults if isinstance(defaults, dict) else (), *map(variables_in, texts_of(root)))
        if isinstance(defaults, dict) and all(isinstance(value, str) for value in defaults.values()):
            values = {**defaults, **values}
        part = _part(root, origin, folder, values)
        for i, name in enumerate(part.content.get("include", ())):
            where = f"{origin}, line {line_of(root, ('include', i))}"
            inner = place.parent / name
            if inner.resolve() in (*above, real):
                raise RuleFileError(f"{where}: {name!r} includes this file.", hint="leave one of both out.")
            try:
                take(inner, os.path.join(folder, os.path.dirname(name)), values, (*above, real))
            except SourceNotFoundError as problem:
                raise RuleFileError(f"{where}: {problem.message}", hint="paths are relative to the file.") from None
        parts[real] = part

    take(Path(path), "", variables, ())
    require_used(variables, frozenset(used))
    return list(parts.values())


def _as_mapping(root: yaml.Node, origin: str) -> yaml.MappingNode:
    """Returns the node as settings, where it may be a list of rules alone."""
    plain_content(root, origin)  # refuses what contains itself
    if isinstance(root, yaml.SequenceNode):
        return yaml.MappingNode("map", [(yaml.ScalarNode("str", "rules", root.start_mark), root)], root.start_mark)
    if not isinstance(root, yaml.MappingNode):
        raise RuleFileError(
            f"{origin} holds no rules.",
            hint='a rule file looks like\n\nversion: 1\nrules:\n  - rule: "ZipCode -> City"',
        )
    return root


def _part(raw: yaml.MappingNode, origin: str, folder: str, values: Mapping[str, str] | None) -> RuleFile:
    root = node_with_values(raw, values, origin)
    content = _written_out(plain_content(root, origin))
    for name in ("include", "variables"):
        if values is None and name in content:
            line = line_of(root, (name,))
            raise RuleFileError(
                f"{origin}, line {line}: only a rule file has {name}.", hint="write the rules in a file."
            )
    check = settings(_FILE_SETTINGS, required=() if "include" in content else {"rules"})
    problem = first_problem(check, content)
    if problem is not None:
        error = _rule_file_error(problem, root, origin)
        raise RuleFileError(error.message, hint=error.hint, line=line_of(root, problem.location))
    return RuleFile(content, root, origin, folder)


def dump_rules(rules: RuleSet) -> str:
    """Returns YAML that `parse_rules` reads back as the same rules."""
    content: dict[str, Any] = {"version": 1}
    if rules.key:
        content["key"] = rules.key[0] if len(rules.key) == 1 else list(rules.key)
    content["nulls"] = rules.nulls
    if rules.tables:
        content["tables"] = {table.name: _table_entry(table) for table in rules.tables}
    content["rules"] = [_entry_of(rule) for rule in rules]
    return yaml.safe_dump(_without_variables(content), sort_keys=False, allow_unicode=True, width=110)


def _without_variables(content: Any) -> Any:
    """The content with texts in which `${` stands for itself."""
    if isinstance(content, dict):
        return {name: _without_variables(value) for name, value in content.items()}
    if isinstance(content, list):
        return list(map(_without_variables, content))
    return escaped_variables(content) if isinstance(content, str) else content


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
    if rule.warn is not None:
        entry["warn"], entry["error"] = _allowance_entry(rule.warn), _allowance_entry(rule.allow)
    elif rule.allow != Allowance():
        entry["allow"] = _allowance_entry(rule.allow)
    if rule.allow_pairs is not None:
        entry["allow_pairs"] = _allowance_entry(rule.allow_pairs)
    if rule.where is not None:
        entry["where"] = rule.where
    if rule.description is not None:
        entry["description"] = rule.description
    if rule.message is not None:
        entry["message"] = rule.message
    return {**entry, **rule.labels}


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


def _named_tables(part: RuleFile) -> Iterator[NamedTable]:
    for name, given in part.content.get("tables", {}).items():
        if not is_table_name(name):
            line = line_of(part.root, ("tables", name))
            raise RuleFileError(
                f"{part.origin}, line {line}: a table cannot be called {name!r} in a rule.",
                hint="a table's name is a word of letters, digits and _, other than t and s and words of the language.",
            )
        reading = {setting: given[setting] for setting in _READING_SETTINGS if setting in given}
        if "null_values" in reading:
            reading["null_values"] = tuple(reading["null_values"])
        if "multiline" in reading:
            reading["multiline"] = reading["multiline"] == "true"
        data = given.get("data")
        if data is not None and part.folder and not _is_url(data):
            data = os.path.join(part.folder, data)
        yield NamedTable(name, data, tuple(given.get("key", ())), reading)


def _all_tables(parts: Sequence[RuleFile]) -> tuple[NamedTable, ...]:
    """The tables of all files; several may name one of them alike."""
    tables: dict[str, NamedTable] = {}
    for part in parts:
        for table in _named_tables(part):
            if tables.setdefault(table.name, table) != table:
                line = line_of(part.root, ("tables", table.name))
                raise RuleFileError(
                    f"{part.origin}, line {line}: another file says otherwise of the table {table.name!r}.",
                    hint="name a table in one of the files.",
                )
        if tables and "key" in part.content:
            raise RuleFileError(
                f"{part.origin}, line {line_of(part.root, ('key',))}: each of several tables has its own key.",
                hint="write it below the table, as in orders: {data: orders.csv, key: id}.",
            )
    return tuple(tables.values())


def _nulls_of(parts: Sequence[RuleFile]) -> Nulls:
    """The null mode that the files say, which is one."""
    saying = [part for part in parts if "nulls" in part.content]
    for part in saying[:-1]:
        if part.content["nulls"] != saying[-1].content["nulls"]:
            raise RuleFileError(
                f"{part.origin}, line {line_of(part.root, ('nulls',))}: nulls is {part.content['nulls']!r}, and "
                f"{saying[-1].origin} says {saying[-1].content['nulls']!r}.",
                hint="one run has one null mode.",
            )
    return saying[-1].content["nulls"] if saying else "sql"


def rule_set_of(
    parts: Sequence[RuleFile], others: Collection[str] | None = None, *, read: Sequence[Rule] | None = None
) -> RuleSet:
    """Returns the rules of the files, the last of which is the one that includes the others, as one set.

    They may name the tables in `others`, too. The key is that of the last file that has one. `read` are the rules of
    all entries in order, where the caller has read them.
    """
    known_rules = iter(read or ())
    tables, known = _all_tables(parts), table_names(parts, others)
    rules: list[Rule] = []
    generated: list[bool] = []
    given: dict[str, str] = {}
    for part in parts:
        for i, entry in enumerate(part.entries):
            rule = entry_rule(part, i, known) if read is None else next(known_rules)
            if entry.name is not None:
                line = line_of(part.root, ("rules", i, "name"))
                with _placed(part, entry, i, "name"):
                    if entry.name in given:
                        raise RuleFileError(
                            f"the name {entry.name!r} is taken by the rule in {given[entry.name]}.",
                            hint="rule names are unique.",
                        )
                given[entry.name] = f"line {line}" if part is parts[-1] else f"{part.origin}, line {line}"
            rules.append(rule)
            generated.append(entry.name is None)
    key = next((part.content["key"] for part in reversed(parts) if "key" in part.content), ())
    unique = with_unique_names(rules, generated)
    return RuleSet(unique, tuple(key), _nulls_of(parts), parts[-1].origin, tables)


def table_names(parts: Sequence[RuleFile], others: Collection[str] | None) -> frozenset[str] | None:
    """Returns the tables that rules of the files may name, which are also the `others`; None for any."""
    tables = _all_tables(parts)
    return frozenset({table.name for table in tables}.union(others or ())) if tables or others is not None else None


def entry_rule(part: RuleFile, i: int, tables: Collection[str] | None) -> Rule:
    """Returns the rule of an entry of the file, which may name these tables. RuleFileError where it is none."""
    entry = part.entries[i]
    with _placed(part, entry, i, "rule"):
        body = parse_body(entry.rule, tables=tables)
    with _placed(part, entry, i, "patterns"):
        body = _with_patterns(body, entry.patterns)
    terms = _terms(part, entry, i)
    with _placed(part, entry, i, "message"):
        message_columns(entry.message)  # refuse here what is no message
    with _placed(part, entry, i, "rule" if entry.table is None else "table"):
        rule = Rule(entry.name or readable_name(body), body, **terms)
        if tables is not None:
            require_table(rule, tables)
    return rule


def _terms(part: RuleFile, entry: _Entry, i: int) -> dict[str, Any]:
    """What the entry says beside the rule itself, as the fields of a rule."""
    allowed: dict[str, Allowance | None] = {}
    for setting in ("allow", "allow_pairs", "warn", "error"):
        with _placed(part, entry, i, setting):
            given = getattr(entry, setting)
            allowed[setting] = None if given is None else allowance(given)
    warn, error = allowed["warn"], allowed["error"]
    severity, allow = entry.severity or "error", allowed["allow"] or Allowance()
    if warn is not None or error is not None:
        with _placed(part, entry, i, "error" if warn is None else "warn"):
            if entry.severity is not None or allowed["allow"] is not None or allowed["allow_pairs"] is not None:
                raise RuleFileError(
                    "warn and error say what severity, allow and allow_pairs say otherwise.",
                    hint="leave out severity, allow and allow_pairs.",
                )
        # One threshold alone is a severity with an allowance.
        severity, allow = ("warn", warn or Allowance()) if error is None else ("error", error)
    return {
        "severity": severity,
        "allow": allow,
        "allow_pairs": allowed["allow_pairs"],
        "warn": None if error is None else warn,
        "where": entry.where,
        "description": entry.description,
        "table": entry.table,
        "message": entry.message,
        "tags": tuple(dict.fromkeys(entry.tags or ())),
        "owner": entry.owner,
        "dimension": entry.dimension,
    }


def require_table(rule: Rule, tables: Collection[str]) -> None:
    """Raises RuleFileError for a rule that does not say of which table it is, or names one that is not there."""
    if not rule.tables and len(tables) > 0:
        raise RuleFileError(
            f"the rule {str(rule)!r} does not say of which table it is.\n\n{pointed(str(rule), 0)}",
            hint=f"add table: to it, one of {', '.join(tables)}.",
        )
    for name in rule.tables:
        if name not in tables:
            raise RuleFileError(f"there is no table {name!r}.", hint=closest_hint(name, tables, what="Tables"))


def refuse_tables(
    rules: RuleSet, job: str, *, hint: str = "leave the rule out; holdfast check RULES does several tables."
) -> None:
    """Raises RuleFileError where the rules are over several tables, and the job is of one."""
    named = next((rule for rule in rules if rule.tables), None)
    if named is not None:
        raise RuleFileError(
            f"the rule {named.name!r} names {' and '.join(map(repr, named.tables))}, and {job} is of one table.",
            hint=hint,
        )
    if rules.tables:
        raise RuleFileError(
            f"{rules.origin or 'the rule file'} names tables, and {job} is of one table.",
            hint="holdfast check RULES does several tables.",
        )


def data_of(rules: RuleSet, table: NamedTable) -> str | None:
    """Returns where the table's data is: a path in a rule file is relative to the file's folder."""
    if table.data is None or rules.origin is None or _is_url(table.data):
        return table.data
    return str(Path(rules.origin).parent / table.data)


def _is_url(data: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", data) is not None


@contextmanager
def _placed(part: RuleFile, entry: _Entry, i: int, setting: str) -> Iterator[None]:
    """Raises an error of the block again as RuleFileError with file, line and rule."""
    try:
        yield
    except HoldfastError as problem:
        line = line_of(part.root, ("rules", i, setting))
        message = f"{part.origin}, line {line}, rule {entry.name or i + 1!r}: {problem.message}"
        raise RuleFileError(message, hint=problem.hint, line=line) from problem


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
    if set(body.left) & set(body.right):
        conditional.denials  # noqa: B018 (refuse here what no table could violate; other patterns any table could)
    return conditional


def _pattern_value(text: str | None) -> Constant | None:
    return None if text in (None, "_") else Constant(str(text), raw=True)


class GivesRules(Protocol):
    """A value that goes where rules go, such as the result of a discovery."""

    @property
    def rule_set(self) -> RuleSet: ...


def as_rule_set(
    rules: Any,
    *,
    nulls: Nulls | None = None,
    tables: Collection[str] | None = None,
    variables: Mapping[str, Any] | None = None,
    tags: str | Sequence[str] = (),
) -> RuleSet:
    """Returns a rule set from a rule set, a file, the text of a rule, or a list of texts and rules.

    Also accepts an object with a `rule_set`, such as the result of a discovery. `nulls`, if given, replaces the null
    mode of the rules. Texts and files may name the tables in `tables`, or any where that is None. `variables` are the
    values of `${name}` in them. With `tags`, only rules that have one of these.
    """
    values = {name: str(value) for name, value in (variables or {}).items()}
    wanted = _rule_set_of(rules, tables, values)
    wanted = wanted if nulls is None else replace(wanted, nulls=nulls)
    return wanted.tagged(*([tags] if isinstance(tags, str) else tags)) if tags else wanted


def named_key(rules: RuleSet, key: str | Sequence[str] | None) -> tuple[str, ...]:
    """Returns the columns of `key`, a text or a list; without it, the key of the rules."""
    return rules.key if key is None else given_names(key)


def _rule_set_of(rules: Any, tables: Collection[str] | None, variables: Mapping[str, str]) -> RuleSet:
    if isinstance(rules, Path) or (isinstance(rules, str) and (_names_a_file(rules) or _is_a_file(rules))):
        return read_rules(rules, tables=tables, variables=variables)
    read = rules if isinstance(rules, RuleSet) else getattr(rules, "rule_set", None)
    if isinstance(read, RuleSet):
        require_used(variables, frozenset())
        return read
    listed = [rules] if isinstance(rules, str | Rule) else list(rules)
    require_used(variables, frozenset().union(*(variables_in(rule) for rule in listed if isinstance(rule, str))))
    return rule_set([with_values(r, variables) if isinstance(r, str) else r for r in listed], tables=tables)


# What a rule's text has and a file's name has not: an arrow, a parenthesis, a word or a sign between two spaces.
_OF_A_RULE = r"->|→|\(|^\s*if\s|\s([=!<>≠≤≥]+|in|is|matches)\s"


def _names_a_file(text: str) -> bool:
    return text.endswith((".yaml", ".yml")) or not re.search(_OF_A_RULE, text, re.IGNORECASE)


def _is_a_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a character that no name has
        return False
