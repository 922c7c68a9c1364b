"""Constraints that Deequ suggests, and rule sets of AWS Glue in DQDL, as rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.errors import ConditionError, RuleFileError
from holdfast.exchange.conditions import condition_rules, parsed_sql
from holdfast.exchange.imported import (
    ImportedRules,
    LeftOut,
    Piece,
    Remark,
    attempt,
    column_text,
    gathered,
    made_rule,
    missing_share,
    names_text,
    value_text,
    values_text,
)
from holdfast.exchange.patterns import whole_pattern
from holdfast.rules.parse import is_table_name
from holdfast.rules.predicate import Constant
from holdfast.rules.rule import NamedTable, Rule

_AGGREGATE = "it is about a number computed from the whole table, and rules are about rows and pairs of rows"
_TYPES = "what types columns have is said with --types, or by the table itself"
_NULLS = "a null does not break the rule"
_STRICT = "exactly this share is enough for the rule"

# A text, a number, a word or a sign: the same in Scala, in Python and in DQDL.
_TOKEN = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?\d+(?:\.\d+)?|[A-Za-z_][\w.]*|>=|<=|==|!=|=>|\S)""")


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _is_text(token: str) -> bool:
    return token[:1] in "\"'" and len(token) > 1


def _unquoted(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def _value(token: str) -> Any:
    if _is_text(token):
        return _unquoted(token)
    if token.casefold() in ("true", "false"):
        return token.casefold() == "true"
    if re.fullmatch(r"-?\d+", token):
        return int(token)
    if re.fullmatch(r"-?\d+\.\d+", token):
        return float(token)
    raise ConditionError(f"{token!r} is no value.")


def _shared(check: str, rules: Iterator[Rule], operator: str, share: Any) -> Iterator[Piece]:
    """The rules for the share of rows that is asked for."""
    if operator not in ("=", "==", ">", ">="):
        raise ConditionError(f"only a share that is at least so much can be said, not {operator} {share}.")
    if operator in ("=", "==") and float(share) != 1:
        raise ConditionError(f"only a share that is at least so much can be said, not one that is {share}.")
    allow = missing_share(share)
    for rule in rules:
        yield rule if allow is None else replace(rule, allow=allow)
    if operator == ">" and allow is not None:
        yield Remark(check, _STRICT)


# Deequ ---------------------------------------------------------------------------------------------------------------


def read_suggestions(content: Any, *, origin: str) -> ImportedRules:
    """Returns the constraints that Deequ suggested as rules. Raises RuleFileError where the file has none.

    They are read from `code_for_constraint`, in Scala or in Python, so that a list of such texts is read, too.
    """
    suggestions = content.get("constraint_suggestions") if isinstance(content, dict) else content
    if not isinstance(suggestions, list):
        raise RuleFileError(
            f"{origin} has no suggestions of Deequ.", hint="such a file is JSON with constraint_suggestions."
        )
    codes = [entry.get("code_for_constraint") if isinstance(entry, dict) else entry for entry in suggestions]
    return gathered((piece for code in codes for piece in _suggested(code)), origin=origin)


def _suggested(code: Any) -> Iterator[Piece]:
    call = re.fullmatch(r"\s*\.?\s*(\w+)\s*\((.*)\)\s*", code, re.DOTALL) if isinstance(code, str) else None
    if call is None:
        yield LeftOut(str(code), "it is no call of a check")
        return
    yield from attempt(code.strip(), lambda: _constraint(call[1], _tokens(call[2]), code.strip()))


def _constraint(name: str, tokens: Sequence[str], check: str) -> Iterator[Piece]:
    reader = _CONSTRAINTS.get(name)
    if reader is None:
        yield LeftOut(
            check, _TYPES if name == "hasDataType" else _AGGREGATE if name.startswith("has") else "rules do not know it"
        )
        return
    # The first share that is compared with; what follows it in Python or Scala is a text of explanation.
    at = next((i for i, token in enumerate(tokens) if token in (">=", ">", "==", "<=", "<")), None)
    operator, share = ("==", "1") if at is None else (tokens[at], tokens[at + 1])
    before = list(tokens if at is None else tokens[:at])
    texts = [_unquoted(token) for token in before if _is_text(token)]
    rules, remark = reader(texts, before)
    yield from _shared(check, (made_rule(text) for text in rules), operator, share)
    if remark is not None:
        yield Remark(check, remark)


_Made = tuple[list[str], str | None]


def _complete(texts: list[str], tokens: list[str]) -> _Made:
    return [f"not({column_text(texts[0])} is null)"], None


def _unique(texts: list[str], tokens: list[str]) -> _Made:
    return [f"unique({names_text(texts)})"], None


def _one_of(texts: list[str], tokens: list[str]) -> _Made:
    if not any(token in ("Array", "Seq", "[") for token in tokens):
        raise ConditionError("it lists no values.")
    return [f"not({column_text(texts[0])} not in {values_text(texts[1:])})"], None


def _signed(allowed: str) -> Callable[[list[str], list[str]], _Made]:
    return lambda texts, tokens: ([f"not({column_text(texts[0])} {allowed} 0)"], None)


def _pair(broken: str) -> Callable[[list[str], list[str]], _Made]:
    return lambda texts, tokens: ([f"not({column_text(texts[0])} {broken} {column_text(texts[1])})"], _NULLS)


def _satisfied(texts: list[str], tokens: list[str]) -> _Made:
    return condition_rules(texts[0]), _NULLS


def _matching(texts: list[str], tokens: list[str]) -> _Made:
    return [f"not({column_text(texts[0])} not matches {Constant(whole_pattern(texts[1]))})"], _NULLS


_CONSTRAINTS: Mapping[str, Callable[[list[str], list[str]], _Made]] = {
    "isComplete": _complete,
    "hasCompleteness": _complete,
    "isUnique": _unique,
    "isPrimaryKey": _unique,
    "hasUniqueness": _unique,
    "isContainedIn": _one_of,
    "isNonNegative": _signed("<"),
    "isPositive": _signed("<="),
    "isLessThan": _pair(">="),
    "isLessThanOrEqualTo": _pair(">"),
    "isGreaterThan": _pair("<="),
    "isGreaterThanOrEqualTo": _pair("<"),
    "satisfies": _satisfied,
    "hasPattern": _matching,
}


# DQDL ----------------------------------------------------------------------------------------------------------------


def read_dqdl(text: str, *, origin: str, table: str | None = None) -> ImportedRules:
    """Returns the rules of a DQDL rule set; those with another table need the name of the `table` that is checked."""
    text = re.sub(r"(?m)^\s*#.*$", "", text)
    listed = re.search(r"\bRules\s*=\s*\[", text)
    if listed is None:
        raise RuleFileError(f"{origin} is no DQDL.", hint='such a file has Rules = [ IsComplete "id", … ].')
    pieces = [piece for tokens in _listed_rules(_tokens(text[listed.end() :])) for piece in _dqdl(tokens, table)]
    named = {name for piece in pieces if isinstance(piece, Rule) for name in piece.tables}
    if named and table is not None:
        pieces = [replace(p, table=table) if isinstance(p, Rule) and not p.tables else p for p in pieces]
        named.add(table)
    return gathered(pieces, origin=origin, tables=[NamedTable(name) for name in sorted(named)])


def _listed_rules(tokens: Sequence[str]) -> Iterator[list[str]]:
    """The tokens of each rule, which commas outside of brackets separate."""
    depth, rule = 0, list[str]()
    for token in tokens:
        depth += (token in "[(" and len(token) == 1) - (token in "])" and len(token) == 1)
        if depth < 0:
            break
        if token == "," and depth == 0:
            yield rule
            rule = []
        else:
            rule.append(token)
    if rule:
        yield rule


@dataclass(frozen=True)
class _Call:
    """A rule of DQDL: its name, the texts after it, how it compares, the share that has to, and its condition."""

    name: str
    texts: tuple[str, ...]
    rest: tuple[str, ...]
    share: tuple[str, ...]
    where: str | None


def _parted(tokens: list[str]) -> _Call:
    where = None
    if "where" in tokens:
        at = tokens.index("where")
        where = _unquoted(tokens[at + 1])
        tokens = tokens[:at] + tokens[at + 2 :]
    share: list[str] = []
    if "threshold" in tokens:
        at = tokens.index("threshold")
        share, tokens = tokens[at + 1 :], tokens[: at - 1]
    count = next((i for i, token in enumerate(tokens[1:]) if not _is_text(token)), len(tokens) - 1)
    texts = tuple(_unquoted(token) for token in tokens[1 : count + 1])
    return _Call(tokens[0], texts, tuple(tokens[count + 1 :]), tuple(share), where)


def _dqdl(tokens: list[str], table: str | None) -> Iterator[Piece]:
    check = " ".join(tokens)
    yield from attempt(check, lambda: _dqdl_rule(check, tokens, table))


def _dqdl_rule(check: str, tokens: list[str], table: str | None) -> Iterator[Piece]:
    if "(" in tokens:
        raise ConditionError("rules of DQDL that are joined with and or or are not read; write them one by one.")
    call = _parted(tokens)
    reader = _DQDL.get(call.name)
    if reader is None:
        yield LeftOut(check, _TYPES if call.name == "ColumnDataType" else _AGGREGATE)
        return
    if call.where is not None:
        parsed_sql(call.where)
    for piece in reader(check, call, table):
        yield replace(piece, where=call.where) if isinstance(piece, Rule) and call.where is not None else piece


def _dqdl_complete(check: str, call: _Call, table: str | None) -> Iterator[Piece]:
    operator, share = call.rest if call.rest else ("=", "1")
    yield from _shared(check, iter([made_rule(f"not({column_text(call.texts[0])} is null)")]), operator, share)


def _dqdl_unique(check: str, call: _Call, table: str | None) -> Iterator[Piece]:
    operator, share = call.rest if call.rest else ("=", "1")
    yield from _shared(check, iter([made_rule(f"unique({names_text(list(call.texts))})")]), operator, share)
    if call.name == "IsPrimaryKey":
        for name in call.texts:
            yield made_rule(f"not({column_text(name)} is null)")


def _dqdl_values(check: str, call: _Call, table: str | None) -> Iterator[Piece]:
    operand = column_text(call.texts[0])
    operand = f"length({operand})" if call.name == "ColumnLength" else operand
    operator, share = call.share if call.share else ("=", "1")
    yield from _shared(check, iter([made_rule(_values_rule(operand, list(call.rest)))]), operator, share)
    # Glue fails a row with a null, but for these two.
    if call.rest[:1] not in (("!=",), ("not",)):
        if call.share:
            yield Remark(check, _NULLS)
        else:
            yield made_rule(f"not({column_text(call.texts[0])} is null)")


def _values_rule(operand: str, rest: list[str]) -> str:
    wanted = rest[:1] != ["not"]
    word, *given = rest if wanted else rest[1:]
    values = [_value(token) for token in given if token not in ("[", "]", ",", "and")]
    if word == "in":
        return f"not({operand} {'not ' if wanted else ''}in {values_text(values)})"
    if word == "matches":
        return f"not({operand} {'not ' if wanted else ''}matches {Constant(whole_pattern(values[0]))})"
    if word == "between":
        low, high = map(value_text, values)
        # Without the ends.
        inside = f"{operand} > {low} and {operand} < {high}"
        return f"if {operand} is not null then {inside}" if wanted else f"not({inside})"
    broken = {"=": "!=", "!=": "=", ">": "<=", ">=": "<", "<": ">=", "<=": ">"}
    if word in broken and wanted and len(values) == 1:
        return f"not({operand} {broken[word]} {value_text(values[0])})"
    raise ConditionError(f"{' '.join(rest)!r} is not known.")


def _dqdl_reference(check: str, call: _Call, table: str | None) -> Iterator[Piece]:
    if table is None:
        raise ConditionError("it names another table; say what the checked one is called, with --table NAME.")
    columns = [name.strip() for name in call.texts[0].split(",")]
    other, _, named = call.texts[1].rpartition(".")
    others = [name.strip() for name in named.strip("{}").split(",")]
    if not is_table_name(other):
        raise ConditionError(f"{other!r} cannot be the name of a table in a rule.")
    operator, share = call.rest if call.rest else ("=", "1")
    rule = made_rule(f"{table}({names_text(columns)}) in {other}({names_text(others)})")
    yield from _shared(check, iter([rule]), operator, share)


_DQDL: Mapping[str, Callable[[str, _Call, str | None], Iterator[Piece]]] = {
    "IsComplete": _dqdl_complete,
    "Completeness": _dqdl_complete,
    "IsUnique": _dqdl_unique,
    "IsPrimaryKey": _dqdl_unique,
    "Uniqueness": _dqdl_unique,
    "ColumnValues": _dqdl_values,
    "ColumnLength": _dqdl_values,
    "ReferentialIntegrity": _dqdl_reference,
}
