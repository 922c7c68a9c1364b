"""Contracts of the Open Data Contract Standard, version 3: their rules in, and ours into them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import Any

import yaml

from holdfast.errors import ConditionError, OptionError, RuleFileError, closest_hint
from holdfast.exchange.imported import (
    CheckArguments,
    ImportedRules,
    LeftOut,
    Piece,
    attempt,
    column_text,
    gathered,
    made_rule,
    names_text,
    value_text,
    values_text,
)
from holdfast.exchange.patterns import whole_pattern
from holdfast.rules.dependency import Key
from holdfast.rules.parse import is_table_name
from holdfast.rules.predicate import Constant, plain_number
from holdfast.rules.rule import Allowance, NamedTable, Rule, RuleSet, allowance
from holdfast.rules.rule_file import dump_rules, parse_rules

ENGINE = "holdfast"
_TYPES = "what types columns have is said with --types, or by the table itself"
_DIMENSIONS = ("accuracy", "completeness", "conformity", "consistency", "coverage", "timeliness", "uniqueness")
_AGGREGATE = "it is about a number computed from the whole table, and rules are about rows and pairs of rows"


def read_contract(content: Any, *, origin: str) -> ImportedRules:
    """Returns what a contract asks of the rows of its tables as rules. Raises RuleFileError where it is no contract."""
    tables = _schema(content, origin)
    several = len(tables) > 1 or any(_refers(table) for table in tables)
    pieces = [piece for table in tables for piece in _table_pieces(table, several=several)]
    keys = {str(table["name"]): _primary_key(table) for table in tables}
    if several:
        keys = {name: key for name, key in keys.items() if is_table_name(name)}
        others = {name for piece in pieces if isinstance(piece, Rule) for name in piece.tables} - keys.keys()
        named = [NamedTable(name, key=key) for name, key in {**keys, **dict.fromkeys(sorted(others), ())}.items()]
        return gathered(pieces, origin=origin, tables=named)
    return gathered(pieces, origin=origin, key=next(iter(keys.values()), ()))


def _schema(content: Any, origin: str) -> list[dict[str, Any]]:
    tables = content.get("schema") if isinstance(content, dict) and content.get("kind") == "DataContract" else None
    version = str(content.get("apiVersion")) if isinstance(content, dict) else ""
    if not isinstance(tables, list) or not all(isinstance(t, dict) and t.get("name") for t in tables):
        hint = "a contract has kind: DataContract, an apiVersion of v3, and a schema with tables and their properties."
        raise RuleFileError(f"{origin} is no contract of the Open Data Contract Standard.", hint=hint)
    if not version.startswith("v3"):
        raise RuleFileError(f"{origin} is a contract of version {version}.", hint="versions v3 are read.")
    return tables


def _entries(holder: Mapping[str, Any], name: str) -> list[Any]:
    entries = holder.get(name) or []
    if not isinstance(entries, list):
        raise RuleFileError(f"{name} of {holder.get('name')!r} in the contract is no list.")
    return entries


def _properties(table: Mapping[str, Any]) -> list[CheckArguments]:
    return [CheckArguments(column) for column in _entries(table, "properties") if isinstance(column, dict)]


def _primary_key(table: Mapping[str, Any]) -> tuple[str, ...]:
    keyed = [column for column in _properties(table) if column.get("primaryKey") is True]
    places = [column.get("primaryKeyPosition") or 0 for column in keyed]
    if not all(_is_number(place) for place in places):
        raise RuleFileError(f"a primaryKeyPosition of {table.get('name')!r} in the contract is no number.")
    return tuple(str(column["name"]) for _, column in sorted(zip(places, keyed, strict=True), key=lambda pair: pair[0]))


def _refers(table: Mapping[str, Any]) -> bool:
    return any(holder.get("relationships") for holder in [table, *_properties(table)])


def _table_pieces(table: Mapping[str, Any], *, several: bool) -> Iterator[Piece]:
    name = str(table["name"])
    if several and not is_table_name(name):
        yield LeftOut(name, "the name is no word, as that of a table in rules is")
        return
    pieces = list(_whole_table(name, table))
    for column in _properties(table):
        pieces += _property(name, column)
    for piece in pieces:
        if isinstance(piece, Rule) and several and not piece.tables:
            piece = replace(piece, table=name)
        yield piece


def _whole_table(name: str, table: Mapping[str, Any]) -> Iterator[Piece]:
    key = _primary_key(table)
    if key:
        yield from attempt(f"{name}, primaryKey", lambda: [made_rule(f"unique({names_text(list(key))})")])
    for entry in _entries(table, "quality"):
        yield from _quality(name, None, entry)
    for entry in _entries(table, "relationships"):
        yield from attempt(f"{name}, relationship", partial(_references, entry, None))


def _property(table: str, column: CheckArguments) -> Iterator[Piece]:
    place = f"{table}.{column.get('name')}"
    for setting, read in _SETTINGS.items():
        if column.get(setting) is True or (setting == "enum" and column.get(setting)):
            yield from attempt(f"{place}, {setting}", partial(read, column))
    options = column.get("logicalTypeOptions") or {}
    if not isinstance(options, dict):
        raise RuleFileError(f"logicalTypeOptions of {place!r} are not settings.")
    for option, value in options.items():
        reader = _OPTIONS.get(option)
        if reader is None:
            yield LeftOut(f"{place}, {option}", _TYPES)
            continue
        yield from attempt(f"{place}, {option}", partial(_option, reader, column, value))
    for entry in _entries(column, "quality"):
        yield from _quality(table, str(column["name"]), entry)
    for entry in _entries(column, "relationships"):
        yield from attempt(f"{place}, relationship", partial(_references, entry, place))
    if column.get("properties") or column.get("items"):
        yield LeftOut(place, "values inside of a value have no rules")


def _option(reader: Callable[[str, Any], str], column: CheckArguments, value: Any) -> list[Piece]:
    return [made_rule(reader(column_text(column["name"]), value))]


_SETTINGS: Mapping[str, Callable[[CheckArguments], list[Piece]]] = {
    "required": lambda column: [made_rule(f"not({column_text(column['name'])} is null)")],
    "primaryKey": lambda column: [made_rule(f"not({column_text(column['name'])} is null)")],
    "unique": lambda column: [made_rule(f"unique({names_text([column['name']])})")],
    "enum": lambda column: [
        made_rule(f"not({column_text(column['name'])} not in {values_text(_enumerated(column['enum']))})")
    ],
}
_OPTIONS: Mapping[str, Callable[[str, Any], str]] = {
    "pattern": lambda column, value: f"not({column} not matches {Constant(whole_pattern(str(value)))})",
    "minLength": lambda column, value: f"not(length({column}) < {value_text(value)})",
    "maxLength": lambda column, value: f"not(length({column}) > {value_text(value)})",
    "minimum": lambda column, value: f"not({column} < {value_text(value)})",
    "maximum": lambda column, value: f"not({column} > {value_text(value)})",
    "exclusiveMinimum": lambda column, value: f"not({column} <= {value_text(value)})",
    "exclusiveMaximum": lambda column, value: f"not({column} >= {value_text(value)})",
    "multipleOf": lambda column, value: f"not({column} % {value_text(value)} != 0)",
}


def _enumerated(values: list[Any]) -> list[Any]:
    return [value["value"] if isinstance(value, dict) else value for value in values]


def _references(entry: Mapping[str, Any], start: str | None) -> list[Piece]:
    """A foreign key: columns are written with their tables, as in customers.id; from `start`, or as the entry says."""
    entry = CheckArguments(entry)
    if entry.get("type", "foreignKey") != "foreignKey":
        raise ConditionError(f"a relationship of the type {entry['type']!r} is not known.")
    sides = []
    for side in (entry["from"] if start is None else start, entry["to"]):
        named = [str(name).rpartition(".") for name in (side if isinstance(side, list) else [side])]
        table = named[0][0]
        if not is_table_name(table) or any(parts[0] != table for parts in named):
            raise ConditionError(f"{side!r} does not name columns of one table of this contract.")
        sides.append(f"{table}({names_text([parts[2] for parts in named])})")
    return [made_rule(" in ".join(sides))]


def _quality(table: str, column: str | None, entry: Any) -> Iterator[Piece]:
    given = CheckArguments.of(entry)
    shown = (
        given.get("name") or given.get("metric") or given.get("rule") or given.get("description") or given.get("type")
    )
    check = f"{table if column is None else f'{table}.{column}'}, quality {shown!s}"
    kind = given.get("type", "library")
    if kind == "custom" and given.get("engine") == ENGINE:
        yield from attempt(check, lambda: [_ours(given)])
    elif kind == "library":
        yield from attempt(check, lambda: _library(check, column, given))
    else:
        reasons = {"sql": "it is a query; write what it looks for as a rule", "text": "it is a text for people"}
        yield LeftOut(check, reasons.get(kind, f"it is for {given.get('engine')}"))


def _ours(given: CheckArguments) -> Rule:
    """A rule that we wrote into the contract."""
    written = given["implementation"]
    text = written if isinstance(written, str) else json.dumps({"rules": [written]})
    (rule,) = parse_rules(text, origin="the contract")
    return rule


def _library(check: str, column: str | None, given: CheckArguments) -> Iterator[Piece]:
    metric = given.get("metric") or given.get("rule")
    arguments = CheckArguments({**given, **(given.get("arguments") or {})})
    if metric in ("nullValues", "nullCheck"):
        text = f"not({column_text(column)} is null)"
    elif metric in ("duplicateValues", "duplicateCount"):
        text = f"unique({names_text([column] if column is not None else arguments['properties'])})"
    elif metric == "missingValues":
        listed = [value for value in arguments["missingValues"] if value is not None]
        if len(listed) < len(arguments["missingValues"]):
            yield replace(made_rule(f"not({column_text(column)} is null)"), **_quality_terms(given))
        text = f"not({column_text(column)} in {values_text(listed)})"
    elif metric in ("invalidValues", "validValues"):
        if (pattern := arguments.get("pattern")) is not None:
            text = f"not({column_text(column)} not matches {Constant(whole_pattern(str(pattern)))})"
        else:
            text = f"not({column_text(column)} not in {values_text(arguments['validValues'])})"
    else:
        yield LeftOut(check, _AGGREGATE)
        return
    yield replace(made_rule(text), **_quality_terms(given))


def _quality_terms(given: CheckArguments) -> dict[str, Any]:
    """Name, severity and allowance of an entry; how many are wrong has to be bounded from above."""
    terms: dict[str, Any] = {}
    if given.get("name"):
        terms["name"] = str(given["name"])
    if given.get("description"):
        terms["description"] = str(given["description"])
    if given.get("dimension"):
        terms["dimension"] = str(given["dimension"])
    if isinstance(given.get("tags"), list):
        terms["tags"] = _tags(given["tags"])
    if str(given.get("severity", "error")).casefold() in ("warn", "warning", "info", "low"):
        terms["severity"] = "warn"
    bounds = {name: value for name, value in given.items() if name.startswith("must")}
    if given.get("rule") and not bounds:
        bounds = {"mustBe": 0}
    if len(bounds) != 1:
        raise ConditionError("it has no bound of its own.")
    ((bound, value),) = bounds.items()
    if any(isinstance(number, bool) for number in (value if isinstance(value, list) else [value])):
        raise ConditionError(f"{bound}: {value} is no number.")
    share = given.get("unit") == "percent"
    if bound == "mustBe" and value == 0:
        return terms
    if bound == "mustBeLessOrEqualTo" or (bound == "mustBeLessThan" and not share):
        most = value if bound == "mustBeLessOrEqualTo" else value - 1
        terms["allow"] = _allowed(most, share)
        return terms
    if bound == "mustBeBetween" and value[0] == 0:
        terms["allow"] = _allowed(value[1], share)
        return terms
    raise ConditionError(f"{bound}: {value} cannot be said; at most so many can.")


def _allowed(most: Any, share: bool) -> Allowance:
    text = plain_number(Decimal(str(most))) if isinstance(most, float) and isfinite(most) else str(most)
    return allowance(f"{text}%" if share else text)


def _is_number(value: Any) -> bool:
    """Whether the value is a number, which true and false, though Python counts with them, are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tags(listed: list[Any]) -> tuple[str, ...]:
    """The texts among the tags, and numbers as text, each once, as a rule file has them."""
    return tuple(dict.fromkeys(str(tag) for tag in listed if (isinstance(tag, str) and tag) or _is_number(tag)))


# Out -----------------------------------------------------------------------------------------------------------------


def written_contract(text: str, rules: RuleSet, *, origin: str, table: str | None = None) -> str:
    """Returns the contract with the rules in the `quality` of their tables; all else stays as it was written.

    An entry of the same name is replaced. Rules of one table without a name belong to `table`, or to the only one.
    Raises RuleFileError where it is no contract, OptionError where a table is not in it.
    """
    try:
        content = yaml.safe_load(text)
        root: Any = yaml.compose(text)
    except yaml.YAMLError:
        raise RuleFileError(f"{origin} is not YAML.") from None
    names = [str(entry["name"]) for entry in _schema(content, origin)]
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    edits: list[tuple[int, int, list[str]]] = []
    by_table: dict[str, list[Rule]] = {}
    for rule in rules:
        by_table.setdefault(_table_of(rule, names, table), []).append(rule)
    schema = next(value for key, value in root.value if key.value == "schema")
    for name, own in by_table.items():
        edits += _edits(schema.value[names.index(name)], own, lines, origin)
    for start, end, new in sorted(edits, reverse=True):
        lines[start:end] = new
    return "".join(lines)


def _table_of(rule: Rule, names: Sequence[str], table: str | None) -> str:
    named = rule.tables[0] if rule.tables else table
    if named is None:
        if len(names) > 1:
            raise OptionError(
                f"it is not said to which table rule {rule.name!r} belongs.",
                hint=f"name it with --table, one of {', '.join(names)}.",
            )
        return names[0]
    if named not in names:
        raise OptionError(f"the contract has no table {named!r}.", hint=closest_hint(named, names, what="Tables"))
    return named


def _edits(
    table: yaml.Node, rules: Sequence[Rule], lines: Sequence[str], origin: str
) -> Iterator[tuple[int, int, list[str]]]:
    """Changes of lines, each from one to before another: old entries of these names away, new ones in."""
    if not isinstance(table, yaml.MappingNode) or table.flow_style:
        raise RuleFileError(
            f"{origin}, line {table.start_mark.line + 1}: a table is written line by line, not in {{…}}."
        )
    settings = {key.value: (key, value) for key, value in table.value}
    indent = table.start_mark.column
    if "quality" not in settings:
        after = settings["name"][1].end_mark.line + 1
        yield after, after, [" " * indent + "quality:\n", *_entry_lines(rules, indent + 2)]
        return
    _, quality = settings["quality"]
    if not isinstance(quality, yaml.SequenceNode) or quality.flow_style:
        raise RuleFileError(
            f"{origin}, line {quality.start_mark.line + 1}: quality is a list written line by line, not in […]."
        )
    names = {rule.name for rule in rules}
    items = [node.start_mark.line for node in quality.value]
    for node, start, end in zip(quality.value, items, [*items[1:], _content_end(quality, lines)], strict=True):
        if any(key.value == "name" and value.value in names for key, value in getattr(node, "value", ())):
            yield start, end, []
    yield _content_end(quality, lines), _content_end(quality, lines), _entry_lines(rules, quality.start_mark.column)


def _content_end(node: yaml.Node, lines: Sequence[str]) -> int:
    """The line after the node's last one; where a block ends, YAML has already seen what follows."""
    end = node.end_mark.line + (node.end_mark.column > 0 and node.end_mark.line >= len(lines))
    while end > 0 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _entry_lines(rules: Sequence[Rule], indent: int) -> list[str]:
    written = yaml.safe_dump([_entry(rule) for rule in rules], sort_keys=False, allow_unicode=True, width=110)
    return [" " * indent + line + "\n" for line in written.splitlines()]


def _entry(rule: Rule) -> dict[str, Any]:
    """A key is what the standard calls duplicate values; all else is an entry of this engine, as in a rule file."""
    described: dict[str, Any] = {"name": rule.name}
    if rule.description is not None:
        described["description"] = rule.description
    if rule.dimension in _DIMENSIONS:
        described["dimension"] = rule.dimension
    if rule.tags:
        described["tags"] = list(rule.tags)
    described["severity"] = "error" if rule.severity == "error" else "warning"
    plain = replace(rule, allow=Allowance(), allow_pairs=None, where=None, warn=None, message=None, owner=None)
    if isinstance(rule.body, Key) and rule == plain and rule.dimension in (None, *_DIMENSIONS):
        columns = {"arguments": {"properties": list(rule.body.columns)}, "mustBe": 0}
        return {"type": "library", "metric": "duplicateValues", **described, **columns}
    (entry,) = yaml.safe_load(dump_rules(RuleSet((replace(rule, table=None),))))["rules"]
    return {"type": "custom", "engine": ENGINE, **described, "implementation": entry}
