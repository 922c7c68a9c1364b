"""What is to be said of one row of one of several tables, and what would mend its suspect rows, in this process."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.encode.one_array import decoded
from holdfast.engines.local.check import plan_check, run_check, schema_of
from holdfast.engines.local.tables.parts import LocalInclusion, LocalJoined, LocalOwn, LocalPart
from holdfast.engines.local.tables.rows import CheckedTable
from holdfast.engines.tables.plan import IncludedPlan, TablesPlan
from holdfast.errors import OptionError
from holdfast.explaining.candidates import Candidates
from holdfast.explaining.explained_row import broken_rules, row_key, row_values, suggestions_of
from holdfast.explaining.explanation import BrokenRule, RowExplanation
from holdfast.explaining.inclusion_trial import InclusionTrial, ReferringTable
from holdfast.explaining.limits import most_rows
from holdfast.explaining.row_positions import row_positions
from holdfast.explaining.trial import CellChanges, RowTrial
from holdfast.programs.arrow_forms import flag_values
from holdfast.programs.arrow_rows import TableColumns
from holdfast.programs.form import Where
from holdfast.rules.predicate import joint_name
from holdfast.rules.rule import RuleSet
from holdfast.violations.part import Bools
from holdfast.violations.witness import hidden_witness

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TableTrials:
    """The rows of one of the tables, and what all rules that speak of it say of them."""

    table: CheckedTable
    plan: TablesPlan
    parts: tuple[LocalPart, ...]

    # The rules, by how they are tried ---------------------------------------------------------------------------

    @cached_property
    def _own(self) -> RowTrial:
        """The table by itself, with its rules."""
        for part in self.parts:
            if isinstance(part, LocalOwn) and part.part.part.table == self.table.name:
                return part.result.row_trial(_NOBODY)
        plan = plan_check(self.table.table, RuleSet((), self.table.key, self.plan.rules.nulls), self.table.key)
        return run_check(self.table.table, plan, limit=None).row_trial(_NOBODY)

    @cached_property
    def _joined(self) -> list[tuple[LocalJoined, int, RowTrial]]:
        """The rules over this table and another, and which of both it is."""
        return [
            (part, part.part.part.tables.index(self.table.name), part.result.row_trial(_NOBODY))
            for part in self.parts
            if isinstance(part, LocalJoined) and self.table.name in part.part.part.tables
        ]

    @cached_property
    def _inclusions(self) -> list[tuple[LocalInclusion, InclusionTrial]]:
        """The inclusions of this table or in it."""
        named = [part for part in self.parts if isinstance(part, LocalInclusion)]
        return [(part, self._inclusion(part)) for part in named if self.table.name in part.part.body.tables]

    def _inclusion(self, part: LocalInclusion) -> InclusionTrial:
        body, plan = part.part.body, part.plan
        first, second = (part.tables[name] for name in body.tables)
        return InclusionTrial(
            body, plan.program, _referring(first, plan, part.part.rule.where), _referring(second, plan, None)
        )

    def _positions(self, joined: LocalJoined, at: int, given: Ints) -> Ints:
        return given + (joined.rows.first if at else 0)

    # What is told -----------------------------------------------------------------------------------------------

    @property
    def most_rows(self) -> int:
        """How many suspect rows are tried: the first, by key."""
        rows = self.table.table.rows.num_rows
        limits = [most_rows(self._own.plan, rows)]
        limits += [most_rows(part.part.part.plan, part.rows.table.rows.num_rows) for part, _, _ in self._joined]
        return min(limits)

    def suggestions(self, given: Ints) -> pa.Table:
        """As `RowTrial.suggestions` of rows of this table, for all rules that speak of it."""
        own = self._own.of_rows(given)
        columns = list(own.plan.schema.types)
        joined = [(part, trial.of_rows(self._positions(part, at, given))) for part, at, trial in self._joined]
        suggested: list[Candidates] = own.candidates()
        for _, trial in joined:
            suggested += [
                moved for candidates in trial.candidates() if (moved := self._own_column(candidates)) is not None
            ]
        for included, inclusion in self._inclusions:
            if included.part.body.tables[0] == self.table.name:
                suggested += inclusion.candidates(given, self.table.key)
        changes = CellChanges.of_candidates(own, suggested)
        effect, before = own.effect(changes), own.before.sum(axis=0)
        names = [rule.name for rule in own.plan.rules]
        for _, trial in joined:
            places = {
                columns.index(name): trial.plan.schema.position(joint_name(self.table.name, name))
                for name in columns
                if joint_name(self.table.name, name) in trial.plan.schema.types
            }
            theirs, which = changes.of_columns(places)
            effect = effect.beside(trial.effect(theirs).among(which, len(changes.of)))
            before = before + trial.before.sum(axis=0)
            names += [rule.name for rule in trial.plan.rules]
        for included, inclusion in self._inclusions:
            touched = {p: p for p, name in enumerate(columns) if inclusion.touches(self.table.name, name)}
            theirs, which = changes.of_columns(touched)
            fewer = inclusion.effect(theirs, self.table.name, own.rows, given)
            effect = effect.beside(fewer.among(which, len(changes.of)))
            if included.part.body.tables[0] == self.table.name:
                before = before + inclusion.dangling(given)
            names.append(included.part.rule.name)
        return own.best_changes(changes, effect, before, names)

    def _own_column(self, candidates: Candidates) -> Candidates | None:
        """Candidates for a column of both tables together as those for one of this table; None for the other's, and
        for the key, which is never changed."""
        table, _, column = candidates.column.partition(".")
        if table != self.table.name or column in self.table.key:
            return None
        return replace(candidates, column=column)

    def explained_row(self, row: Any, *, seconds: float) -> RowExplanation:
        """What is to be said of the row with this key; OptionError where there is none."""
        started = time.monotonic()
        own = self._own
        key = self.table.key
        given = row_positions(own.keys, key, row)[:1]
        if len(given) == 0:
            raise OptionError(
                f"{self.table.name} has no row with {', '.join(key) or '_row'} = {row!r}.",
                hint="name the row by its key, or without a key by its number, from 0.",
            )
        own = own.of_rows(given)
        values = row_values(own, int(given[0]))
        broken = self._broken(own, given)
        speaking = [rule for rule in self.plan.rules if self.table.name in rule.tables]
        return RowExplanation(
            table=self.table.name,
            key="_row" if not key else key[0] if len(key) == 1 else list(key),
            row=row_key(own, int(given[0])),
            values=values,
            rules=len(speaking),
            broken=tuple(broken),
            suggestions=suggestions_of(self.suggestions(given).drop_columns(["key"]), values) if broken else (),
            seconds=seconds + time.monotonic() - started,
        )

    def _broken(self, own: RowTrial, given: Ints) -> list[BrokenRule]:
        """The rules that the row breaks, in the order of all rules."""
        broken = []
        for broken_rule in broken_rules(own):
            assert broken_rule.witness is not None, "a rule that is broken has a witness"
            witness = replace(broken_rule.witness, tables=(self.table.name,))
            broken.append(replace(broken_rule, rule=self.plan.rules[broken_rule.rule.name], witness=witness))
        for part, at, trial in self._joined:
            hidden = frozenset(part.rows.hidden)
            for broken_rule in broken_rules(trial.of_rows(self._positions(part, at, given))):
                assert broken_rule.witness is not None, "such a rule is broken by pairs"
                witness = hidden_witness(part.part.witness(broken_rule.witness), hidden, False)
                others = tuple(map(part.part.worst, broken_rule.others))
                broken.append(replace(broken_rule, witness=witness, others=others))
        for inclusion, tried in self._inclusions:
            (row,) = given.tolist()
            if inclusion.part.body.tables[0] == self.table.name and tried.dangling(given)[0]:
                witness = inclusion.part.witness(self.table.key_at(row), inclusion.dangling.values(row))
                broken.append(BrokenRule(inclusion.part.rule, 1, witness))
        order = {rule.name: i for i, rule in enumerate(self.plan.rules)}
        return sorted(broken, key=lambda broken_rule: order[broken_rule.rule.name])


_NOBODY: Ints = np.empty(0, np.int64)


def _referring(table: CheckedTable, included: IncludedPlan, where: str | None) -> ReferringTable:
    """The table as an inclusion reads it, which speaks of the rows that fulfil the condition."""
    rows = table.table.rows
    plain = pa.table([decoded(column) for column in rows.columns], names=rows.column_names)
    types, nulls = schema_of(table.table).types, included.program.nulls

    def columns(of: pa.Table) -> TableColumns:
        return replace(table, table=replace(table.table, rows=of)).joint_columns(included.types, nulls)

    def in_scope(of: pa.Table) -> Bools:
        assert where is not None, "asked only where there is a condition"
        return flag_values(Where(where), TableColumns(of, types, nulls))

    return ReferringTable(plain, types, columns, None if where is None else in_scope)
