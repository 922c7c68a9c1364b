"""What was found of some of the rules of a check of several tables, under the numbers these have among all rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from holdfast.checking.outcome import MissingValue, RuleOutcome, rule_verdict
from holdfast.checking.shown_check import KEYS, PAIRS, SIDES, WORST, ShownGroup, ShownRule, Side
from holdfast.engines.check_result import CheckResult
from holdfast.engines.tables.plan import JoinedPlan, OwnPlan
from holdfast.rules.dependency import Inclusion
from holdfast.rules.plain_words import value_text
from holdfast.rules.predicate import joint_name, quoted_name
from holdfast.rules.rule import Rule, RuleSet
from holdfast.violations.witness import HIDDEN, Witness, WorstRow, hidden_keys, hidden_witness, shown_message

# So many missing values are told of an inclusion.
_MISSING = 3


@dataclass(frozen=True)
class TableRows:
    """One of the tables of a check: how many rows it has, its columns, and those that name its rows or are hidden."""

    name: str
    rows: int
    columns: tuple[str, ...]
    key: tuple[str, ...]
    hidden: frozenset[str]

    @property
    def hides_key(self) -> bool:
        return bool(self.hidden & set(self.key))

    @property
    def joint_columns(self) -> frozenset[str]:
        """The columns under their joint names."""
        return frozenset(joint_name(self.name, column) for column in self.columns)

    @property
    def hidden_joint(self) -> frozenset[str]:
        """The columns whose values nobody is shown, under their joint names."""
        return frozenset(joint_name(self.name, column) for column in self.hidden)

    def shown_key(self, key: Any) -> Any:
        return HIDDEN if self.hides_key else key


class RulesPart(Protocol):
    """Some of the rules of a check, and what was found of them; rules by their numbers among all."""

    def outcomes(self) -> dict[int, RuleOutcome]: ...

    def detailed(self) -> dict[int, RuleOutcome]: ...

    def shown(self) -> dict[int, ShownRule]: ...


@dataclass(frozen=True)
class OwnRules:
    """The rules of one table, which are a check of it."""

    part: OwnPlan
    rules: RuleSet
    result: CheckResult

    def outcomes(self) -> dict[int, RuleOutcome]:
        return self._numbered(self.result.outcome.rules)

    def detailed(self) -> dict[int, RuleOutcome]:
        return self._numbered(self.result.detailed.rules)

    def shown(self) -> dict[int, ShownRule]:
        numbered: dict[int, ShownRule] = {}
        for i, shown in zip(self.part.which, self.result.shown.rules, strict=True):
            witnesses = tuple(map(self._witness, shown.witnesses))
            numbered[i] = replace(shown, outcome=self._named(i, shown.outcome), witnesses=witnesses)
        return numbered

    def _numbered(self, outcomes: Sequence[RuleOutcome]) -> dict[int, RuleOutcome]:
        return {i: self._named(i, outcome) for i, outcome in zip(self.part.which, outcomes, strict=True)}

    def _named(self, i: int, outcome: RuleOutcome) -> RuleOutcome:
        witness = None if outcome.witness is None else self._witness(outcome.witness)
        return replace(outcome, rule=self.rules.rules[i], witness=witness)

    def _witness(self, witness: Witness) -> Witness:
        return replace(witness, tables=(self.part.table,))


class Placing(Protocol):
    """Says of the name of a row of two tables together which of both it is of, and what its key is there."""

    def __call__(self, row: Any) -> tuple[int, Any]: ...


@dataclass(frozen=True)
class JoinedRules:
    """Rules that compare rows of two tables, which are a check of the rows of both together."""

    part: JoinedPlan
    rules: RuleSet
    tables: tuple[TableRows, TableRows]
    result: CheckResult
    place: Placing

    def outcomes(self) -> dict[int, RuleOutcome]:
        return self._numbered(self.result.outcome.rules)

    def detailed(self) -> dict[int, RuleOutcome]:
        return self._numbered(self.result.detailed.rules)

    def shown(self) -> dict[int, ShownRule]:
        numbered: dict[int, ShownRule] = {}
        for i, shown in zip(self.part.which, self.result.shown.rules, strict=True):
            numbered[i] = replace(
                shown,
                outcome=self._named(i, shown.outcome),
                witnesses=tuple(map(self.witness, shown.witnesses)),
                worst=tuple(map(self.worst, shown.worst)),
            )
        return numbered

    def _numbered(self, outcomes: Sequence[RuleOutcome]) -> dict[int, RuleOutcome]:
        return {i: self._named(i, outcome) for i, outcome in zip(self.part.which, outcomes, strict=True)}

    def _named(self, i: int, outcome: RuleOutcome) -> RuleOutcome:
        rule = self.rules.rules[i]
        left, right = (table.rows for table in self.tables)
        verdict = rule_verdict(
            rule,
            suspects=outcome.suspect_rows,
            violating_rows=outcome.violating_rows,
            pairs=outcome.violating_pairs,
            symmetric=False,
            rows=left + right,
            possible_pairs=left * right,
        )
        witness = None if outcome.witness is None else self.witness(outcome.witness)
        return replace(
            outcome,
            rule=rule,
            holds=verdict.holds,
            beyond_error=verdict.beyond_error,
            witness=witness,
            worst=tuple(map(self.worst, outcome.worst)),
        )

    def witness(self, witness: Witness) -> Witness:
        """The witness with the keys of the tables, each row with the columns of its table."""
        assert witness.right is not None, "such a rule is broken by pairs"
        named = []
        for row, values in ((witness.left_key, witness.left), (witness.right_key, witness.right)):
            at, key = self.place(row)
            own = self.tables[at].joint_columns
            shown = {name: value for name, value in values.items() if name in own}
            named.append((self.tables[at].shown_key(key), shown))
        (left_key, left), (right_key, right) = named
        return replace(witness, left_key=left_key, left=left, right_key=right_key, right=right, tables=self.part.tables)

    def worst(self, row: WorstRow) -> WorstRow:
        """The row with its table's name before its key."""
        at, key = self.place(row.key)
        return WorstRow(f"{self.tables[at].name} {value_text(self.tables[at].shown_key(key))}", row.conflicts)


@dataclass(frozen=True)
class MissingSide:
    """A missing value as text, how many rows refer to it, and the keys of the first of these."""

    value: str | None
    rows: int
    keys: tuple[Any, ...]


class Dangling(Protocol):
    """The rows of a table that refer to what another does not have, wherever they were looked for."""

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def distinct(self) -> int:
        """How many different values are missing."""

    def largest(self, values: int, keys: int) -> list[MissingSide]:
        """The missing values that most rows refer to, each with some of the keys of these."""

    def first(self, most: int) -> list[tuple[Any, Mapping[str, Any]]]:
        """The first of the rows by their keys: key, and values in the inclusion's columns."""


@dataclass(frozen=True)
class InclusionRule:
    """An inclusion, and the rows of the first table that refer to what the second does not have.

    `scope_rows` is how many rows the rule speaks of.
    """

    i: int
    rule: Rule
    body: Inclusion
    table: TableRows
    scope_rows: int
    dangling: Dangling

    def outcomes(self) -> dict[int, RuleOutcome]:
        many = self.dangling.rows
        verdict = rule_verdict(
            self.rule, suspects=many, violating_rows=many, pairs=None, symmetric=False, rows=self.scope_rows
        )
        counts = (None, many, many, self.dangling.distinct)
        outcome = RuleOutcome(self.rule, verdict.holds, *counts, beyond_error=verdict.beyond_error)
        return {self.i: outcome}

    @cached_property
    def _sides(self) -> list[Side]:
        """The missing values that most rows have, as a report shows them."""
        hides_values = bool(self.table.hidden & set(self.body.left))
        return [
            Side(HIDDEN if hides_values else side.value, side.rows, () if self.table.hides_key else side.keys)
            for side in self.dangling.largest(SIDES, KEYS)
        ]

    @cached_property
    def _first(self) -> list[tuple[Any, Mapping[str, Any]]]:
        return self.dangling.first(max(WORST, PAIRS, _MISSING))

    def detailed(self) -> dict[int, RuleOutcome]:
        outcome = self.outcomes()[self.i]
        if not outcome.violating_rows:
            return {self.i: outcome}
        missing = tuple(MissingValue(side.value, side.rows) for side in self._sides[:_MISSING])
        worst = self._worst(_MISSING)
        return {self.i: replace(outcome, witness=self.witness(*self._first[0]), worst=worst, missing=missing)}

    def _worst(self, most: int) -> tuple[WorstRow, ...]:
        return hidden_keys(tuple(WorstRow(key, 0) for key, _ in self._first[:most]), self.table.hides_key)

    def witness(self, key: Any, values: Mapping[str, Any]) -> Witness:
        """The row of the first table, as a person is shown it."""
        joint = {joint_name(self.table.name, name): value for name, value in values.items()}
        witness = Witness(
            self.table.shown_key(key),
            joint,
            shown=tuple(joint),
            marked=tuple(joint),
            tables=(self.table.name,),
            messages=(shown_message(self.rule, values, self.table.hidden),) if self.rule.message else (),
        )
        return hidden_witness(witness, self.table.hidden_joint, False)

    def shown(self) -> dict[int, ShownRule]:
        outcome = self.detailed()[self.i]
        if not outcome.violating_rows:
            return {self.i: ShownRule(outcome)}
        group = ShownGroup(
            f"not in {self.body.tables[1]}({', '.join(map(quoted_name, self.body.right))})",
            ", ".join(self.body.left),
            outcome.violating_rows,
            tuple(self._sides),
            self.dangling.distinct - len(self._sides),
            suggests=False,
        )
        witnesses = tuple(self.witness(*first) for first in self._first[:PAIRS])
        return {self.i: ShownRule(outcome, witnesses, self._worst(WORST), (group,))}
