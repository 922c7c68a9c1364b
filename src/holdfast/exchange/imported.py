"""What is read from the file of another tool: rules, what no rule says, and what is said a little otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from holdfast.errors import ConditionError, HoldfastError
from holdfast.rules.parse import parse_body
from holdfast.rules.predicate import Column, Constant, plain_number, quoted_name
from holdfast.rules.rule import Allowance, NamedTable, Rule, RuleSet, readable_name, with_unique_names
from holdfast.rules.rule_file import dump_rules


@dataclass(frozen=True)
class LeftOut:
    """A check that became no rule: what it is in its own file, and why."""

    check: str
    reason: str

    def __str__(self) -> str:
        return f"{self.check}: {self.reason}"


@dataclass(frozen=True)
class Remark(LeftOut):
    """A check whose rule differs from it in one thing."""


# What a reader finds, check by check.
Piece: TypeAlias = Rule | LeftOut


@dataclass(frozen=True)
class ImportedRules:
    """Rules that were read, which go where rules go; the checks that are left out, and remarks on others."""

    rule_set: RuleSet
    left_out: tuple[LeftOut, ...] = ()
    remarks: tuple[Remark, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.rule_set.rules

    def to_yaml(self) -> str:
        """A rule file, with what is left out in comments at its end."""
        comments = [f"# left out: {left}" for left in self.left_out] + [f"# note: {remark}" for remark in self.remarks]
        return dump_rules(self.rule_set) + "".join(f"{_one_line(line)}\n" for line in comments)


def gathered(
    pieces: Iterable[Piece], *, origin: str, key: Sequence[str] = (), tables: Sequence[NamedTable] = ()
) -> ImportedRules:
    """Returns what was found as one value; rules whose names clash get a number, and a rule that repeats is one."""
    listed = list(pieces)
    rules = list(dict.fromkeys(piece for piece in listed if isinstance(piece, Rule)))
    named = with_unique_names(rules, [True] * len(rules))
    remarks = tuple(piece for piece in listed if isinstance(piece, Remark))
    left_out = tuple(piece for piece in listed if isinstance(piece, LeftOut) and not isinstance(piece, Remark))
    return ImportedRules(RuleSet(named, tuple(key), "sql", origin, tuple(tables)), left_out, remarks)


class CheckArguments(dict[str, Any]):
    """The arguments of a check; to ask for one that is not there raises ConditionError."""

    @classmethod
    def of(cls, given: Any) -> CheckArguments:
        """What stands where a check has its arguments; none, where that is a list, or text."""
        return cls(given if isinstance(given, dict) else {})

    def __missing__(self, name: str) -> Any:
        raise ConditionError(f"it has no {name!r}.")


def attempt(check: str, make: Callable[[], Iterable[Piece]]) -> Iterator[Piece]:
    """Yields what `make` does; where that raises an error, the check is left out for its reason."""
    try:
        pieces = list(make())
    except HoldfastError as problem:
        pieces = [LeftOut(check, _one_line(problem.message.partition("\n\n")[0]).rstrip("."))]
    except (
        TypeError,
        ValueError,
        AttributeError,
        LookupError,
        ArithmeticError,
    ):  # a list where text should be, and the like
        pieces = [LeftOut(check, "its arguments are not of the kind that it takes")]
    yield from pieces


def made_rule(text: str, *, name: str | None = None, **terms: Any) -> Rule:
    """Returns the rule in the text with these terms, named after its columns where it has no name."""
    body = parse_body(text)
    return Rule(
        name or readable_name(body), body, **{term: value for term, value in terms.items() if value is not None}
    )


def column_text(name: Any) -> str:
    """Returns the column of the left row as rules write it."""
    if not isinstance(name, str) or not name:
        raise ConditionError(f"{name!r} is no column.")
    return str(Column("t", name))


def names_text(names: Any) -> str:
    """Returns a list of columns as rules write it."""
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ConditionError(f"{names!r} is no list of columns.")
    return ", ".join(map(quoted_name, names))


def value_text(value: Any) -> str:
    """Returns a value of JSON or YAML as rules write it."""
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal) and not value.is_finite():
        raise ConditionError(f"{value} is no number that a rule can name.")
    if value is None or isinstance(value, list | dict):
        raise ConditionError(f"{value!r} is no single value.")
    return str(Constant(value))


def values_text(values: Any) -> str:
    """Returns a list of values as rules write it, in parentheses."""
    if not isinstance(values, list) or not values:
        raise ConditionError("it lists no values.")
    return f"({', '.join(map(value_text, values))})"


def missing_share(mostly: Any) -> Allowance | None:
    """Returns what is allowed where a check asks that at least this share, from 0 to 1, holds; None for all."""
    try:
        share = Decimal(str(mostly))
    except InvalidOperation:
        raise ConditionError(f"{mostly!r} is no share.") from None
    if not share.is_finite() or not 0 <= share <= 1:
        raise ConditionError(f"{mostly!r} is no share from 0 to 1.")
    return None if share == 1 else Allowance(None, Decimal(plain_number((1 - share) * 100)))


def condition_name(name: str) -> str:
    """Returns the column as conditions (`where`) write it."""
    return "`" + name.replace("`", "``") + "`"


def condition_value(value: Any) -> str:
    """Returns a value as conditions (`where`) write it."""
    text = value_text(value)
    if text.startswith("'") and "\\" in text:
        raise ConditionError(f"a condition with a backslash in {text} is not read alike everywhere.")
    return text


def of_table(rule: Rule, table: str | None) -> Rule:
    """Returns the rule as one of the table, where there are several and the rule names none itself."""
    return rule if table is None or rule.tables else replace(rule, table=table)


def _one_line(text: str) -> str:
    return " ".join(text.split())
