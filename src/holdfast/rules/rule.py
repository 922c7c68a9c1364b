"""Rules with names and terms, and sets of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, overload

from holdfast.errors import OptionError, RuleFileError, closest_hint
from holdfast.presented import Presented
from holdfast.rules.dependency import CFD, FD, Body, Inclusion, Key, NoOverlap, tables_of
from holdfast.rules.message import message_columns
from holdfast.rules.parse import parse_body
from holdfast.rules.plain_words import number
from holdfast.rules.predicate import plain_number, quoted_name

Severity = Literal["error", "warn"]
Nulls = Literal["sql", "equal"]

MAX_NAME = 48
_SHARE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*\Z")
_COUNT = re.compile(r"\s*(\d+)\s*\Z")


@dataclass(frozen=True)
class Allowance:
    """How many violations are tolerated: a number, or a share of all possible ones."""

    count: int | None = 0
    percent: Decimal | None = None

    def __str__(self) -> str:
        return str(self.count) if self.percent is None else f"{plain_number(self.percent)}%"

    def covers(self, count: int, possible: int) -> bool:
        """Whether `count` violations, of `possible` ones, are tolerated.

        >>> allowance("0.1%").covers(1, 1000), allowance("0.1%").covers(2, 1000)
        (True, False)
        """
        if self.percent is None:
            return count <= (self.count or 0)
        return count * 100 <= Fraction(self.percent) * possible

    def exceeds(self, other: Allowance) -> bool:
        """Whether this tolerates more than the other of every table; a number and a share do not compare."""
        if self.percent is None and other.percent is None:
            return (self.count or 0) > (other.count or 0)
        return self.percent is not None and other.percent is not None and self.percent > other.percent


def allowance(text: str | int) -> Allowance:
    """Returns the allowance written as a number or as `0.1%`; OptionError for other text."""
    if count := _COUNT.match(str(text)):
        return Allowance(int(count.group(1)))
    if share := _SHARE.match(str(text)):
        percent = Decimal(share.group(1))
        if percent <= 100:
            return Allowance(None, percent)
    raise OptionError(f"{text!r} is not an allowance.", hint='write a number such as 10, or a share such as "0.1%".')


@dataclass(frozen=True)
class Rule(Presented):
    """A rule with a name and terms: severity, allowances, and a condition on rows (`where`).

    Where there are several tables, `table` names the one that the rule speaks of, unless its text names tables. With
    `warn`, a rule of severity error is violated beyond `allow` only, and a warning beyond `warn`. `message` is what
    rows that break the rule are told, with columns in braces. `tags`, `owner` and `dimension` are for people.
    """

    name: str
    body: Body
    severity: Severity = "error"
    allow: Allowance = Allowance()
    allow_pairs: Allowance | None = None
    where: str | None = None
    description: str | None = None
    table: str | None = None
    warn: Allowance | None = None
    message: str | None = None
    tags: tuple[str, ...] = ()
    owner: str | None = None
    dimension: str | None = None

    def __post_init__(self) -> None:
        self._require_thresholds()
        self._require_message()
        named = tables_of(self.body)
        if named and self.table is not None:
            raise RuleFileError(
                f"the rule names {' and '.join(named)} itself, and has table: {self.table}, too.",
                hint="leave out table.",
            )
        if len(named) > 1 and self.where is not None and not isinstance(self.body, Inclusion):
            raise RuleFileError(
                "a rule that compares rows of two tables has no where.", hint="add the condition to the rule's text."
            )

    def _require_thresholds(self) -> None:
        if self.warn is None:
            return
        if self.severity == "warn" or self.allow_pairs is not None:
            raise RuleFileError(
                "warn and error say what severity, allow and allow_pairs say otherwise.",
                hint="leave out severity, allow and allow_pairs.",
            )
        if self.warn.exceeds(self.allow):
            raise RuleFileError(
                f"warn is {self.warn}, which is more than error, {self.allow}.",
                hint="suspects beyond warn are a warning, beyond error an error.",
            )

    def _require_message(self) -> None:
        known = self.body.left if isinstance(self.body, Inclusion) else None
        if len(tables_of(self.body)) > 1 and known is None:
            known = ()
        for name in message_columns(self.message):
            if known is not None and name not in known:
                raise RuleFileError(
                    f"the message of a rule over two tables cannot name {quoted_name(name)}.",
                    hint=f"it may name {', '.join(map(quoted_name, known))}."
                    if known
                    else "write it without columns in braces.",
                )

    def __str__(self) -> str:
        return str(self.body)

    @property
    def labels(self) -> dict[str, Any]:
        """The rule's tags, owner and dimension, as far as it has them."""
        labels: dict[str, Any] = {"tags": list(self.tags), "owner": self.owner, "dimension": self.dimension}
        return {name: value for name, value in labels.items() if value}

    def judged(self, count: int, possible: int) -> Severity | None:
        """As what so many suspect rows, of so many possible ones, count; None where they are tolerated.

        >>> from dataclasses import replace
        >>> rule = replace(parse_rule("unique(id)"), warn=allowance(1), allow=allowance("50%"))
        >>> [rule.judged(count, 10) for count in (1, 2, 5, 6)]
        [None, 'warn', 'warn', 'error']
        """
        if not self.allow.covers(count, possible):
            return self.severity
        return None if self.warn is None or self.warn.covers(count, possible) else "warn"

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the rule speaks of, that of the left row first; none where there is one without a name."""
        return tables_of(self.body) if self.table is None else (self.table,)

    @property
    def kind(self) -> str:
        return self.body.kind

    @property
    def denials(self) -> list[str]:
        """The denial constraints that the rule stands for, as text."""
        return [str(constraint) for constraint in self.body.denials]


@dataclass(frozen=True)
class NamedTable:
    """A table that rules name: where its data is, as the rule file has it, its key, and how it is read."""

    name: str
    data: str | None = None
    key: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class RuleSet(Presented):
    """Rules with unique names, in order, with the key that names rows and the null mode.

    `tables` are those that a rule file names; each has its own key.
    """

    rules: tuple[Rule, ...]
    key: tuple[str, ...] = ()
    nulls: Nulls = "sql"
    origin: str | None = None
    tables: tuple[NamedTable, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for rule in self.rules:
            if rule.name in seen:
                raise RuleFileError(f"two rules are called {rule.name!r}.", hint="rule names are unique.")
            seen.add(rule.name)

    def tagged(self, *tags: str) -> RuleSet:
        """The rules that have one of the tags. OptionError for a tag that none has."""
        known = sorted({tag for rule in self.rules for tag in rule.tags})
        for tag in tags:
            if tag not in known:
                hint = closest_hint(tag, known, what="Tags") if known else "the rules have no tags."
                raise OptionError(f"no rule has the tag {tag!r}.", hint=hint)
        return replace(self, rules=tuple(rule for rule in self.rules if set(tags) & set(rule.tags)))

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    @overload
    def __getitem__(self, which: str | int) -> Rule: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Rule, ...]: ...
    def __getitem__(self, which: str | int | slice) -> Rule | tuple[Rule, ...]:
        """The rule of a name or at a position, or the rules of a slice.

        >>> rules = RuleSet((parse_rule("zip -> city"), parse_rule("unique(id)")))
        >>> str(rules["zip-city"]), str(rules[-1]), len(rules[:1])
        ('zip -> city', 'unique(id)', 1)
        """
        if not isinstance(which, str):
            return self.rules[which]
        for rule in self.rules:
            if rule.name == which:
                return rule
        names = [rule.name for rule in self]
        raise OptionError(f"there is no rule {which!r}.", hint=closest_hint(which, names, what="Rules"))


def parse_rule(text: str, *, name: str | None = None, table: str | None = None) -> Rule:
    """Returns the rule in the text, named `name` or, without it, after its columns; of `table` where there are several.

    >>> rule = parse_rule("ZipCode -> City")
    >>> rule.name, rule.kind, rule.denials
    ('zipcode-city', 'fd', ['not(t.ZipCode = s.ZipCode and t.City != s.City)'])
    """
    body = parse_body(text)
    return Rule(name or readable_name(body), body, table=table)


def _parsed(body: Body) -> Rule:
    return Rule(readable_name(body), body)


def rule_text(rule: Rule) -> str:
    """Returns the rule as text, with its condition and the number of its patterns."""
    text = str(rule)
    if isinstance(rule.body, CFD) and not rule.body.inline:
        text += f" ({number(len(rule.body.patterns), 'pattern')})"
    return text if rule.where is None else f"{text} where {rule.where}"


def rule_set(
    rules: Iterable[str | Rule],
    *,
    key: Sequence[str] = (),
    nulls: Nulls = "sql",
    tables: Collection[str] | None = None,
) -> RuleSet:
    """Returns the rules as a set; names made from columns get a number where they would clash.

    Texts may name the tables in `tables`, or any where that is None.
    """
    rules = list(rules)
    parsed = [_parsed(parse_body(rule, tables=tables)) if isinstance(rule, str) else rule for rule in rules]
    return RuleSet(with_unique_names(parsed, [isinstance(rule, str) for rule in rules]), tuple(key), nulls)


class Names:
    """Makes names unique by adding -2, -3, ... to those that are taken, in constant time.

    >>> names = Names(["zip-city-2"])
    >>> names.give("zip-city"), names.give("zip-city")
    ('zip-city', 'zip-city-3')
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def give(self, wanted: str) -> str:
        name, n = wanted, self._last.get(wanted, 1)
        while name in self._taken:
            n += 1
            name = f"{wanted}-{n}"
        self._taken.add(name)
        self._last[wanted] = n
        return name


def with_unique_names(rules: Sequence[Rule], generated: Sequence[bool]) -> tuple[Rule, ...]:
    """Returns the rules with unique names: a generated name gets -2, -3, ... where it is taken; others stay."""
    names = Names(rule.name for rule, is_generated in zip(rules, generated, strict=True) if not is_generated)
    result = []
    for rule, is_generated in zip(rules, generated, strict=True):
        name = names.give(rule.name) if is_generated else rule.name
        result.append(rule if name == rule.name else replace(rule, name=name))
    return tuple(result)


def readable_name(body: Body) -> str:
    """Returns a short name made from the columns of the rule.

    >>> readable_name(parse_body("unique(AreaCode, Phone)"))
    'unique-areacode-phone'
    """
    if isinstance(body, Key):
        words = ["unique", *body.columns]
    elif isinstance(body, FD | CFD):
        words = [*body.left, *body.right]
    elif isinstance(body, NoOverlap):
        words = ["no-overlap", *body.columns]
    elif isinstance(body, Inclusion):
        words = [body.tables[0], *body.left, "in", body.tables[1]]
    else:
        words = list(body.columns)
    name = "-".join(short for short in map(slug, words) if short) or "rule"
    return name if len(name) <= MAX_NAME else name[:MAX_NAME].rsplit("-", 1)[0]


@lru_cache(maxsize=1024)
def slug(word: str) -> str:
    """Returns the word as names of rules have it: in lower case, of letters, digits and -."""
    return re.sub(r"[^\w]+", "-", word.casefold()).strip("-")
