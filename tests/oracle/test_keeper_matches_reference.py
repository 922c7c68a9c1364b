"""A keeper whose rows come and go has the rules that the reference finds by trying them all, after every step."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from holdfast import reference
from holdfast.errors import ChangeError
from holdfast.evolving.options import EvolveStrategy
from holdfast.evolving.outcome import RulesChange
from holdfast.evolving.rule_keeper import RuleKeeper
from holdfast.reference import TableRow
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.parse import parse_constraint
from holdfast.rules.relation import EQ
from holdfast.search.limits import SearchLimits
from holdfast.states.row_changes import CHANGE_TYPE
from strategies import ARROW, DISCOVERED, Discovery, discoveries

KEY = "the key"


def one_way(constraint: DenialConstraint) -> tuple[tuple[str, ...], ...]:
    """The constraint, whichever way round it is written."""
    return tuple(sorted(tuple(sorted(map(str, c.predicates))) for c in (constraint, constraint.mirrored())))


def as_set(texts: Iterable[str]) -> set[tuple[tuple[str, ...], ...]]:
    return {one_way(parse_constraint(text)) for text in texts}


class Kept(RuleBasedStateMachine):
    """A table, a keeper of its rules, and the rules as the reference finds them."""

    strategy: EvolveStrategy = "evidence"

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        self.case: Discovery = data.draw(discoveries(most_bits=11, max_rows=6))
        kinds = self.case.table.types
        self.domains = {
            name: [*data.draw(st.lists(st.sampled_from(DISCOVERED[kind]), min_size=1, max_size=4)), None]
            for name, kind in kinds.items()
        }
        error = data.draw(st.sampled_from(["0", "0", "0.05", "0.2"])) if self.strategy != "index" else "0"
        self.options: dict[str, Any] = {**self.case.options, "error": Decimal(error)}
        self.rows: list[TableRow] = [{KEY: i, **row} for i, row in enumerate(self.case.table.rows)]
        self.fresh = len(self.rows)
        chosen = {n: v for n, v in self.case.options.items() if n not in ("nulls", "max_predicates")}
        self.space = reference.operand_pairs(self.case.table.rows, self.case.kinds, **chosen)
        # Of so few rows all pairs would be related; here what indexes name is, however many those are.
        limits = SearchLimits(most_named=1e9)
        self.keeper = RuleKeeper(
            self.arrow(self.rows), key=KEY, exclude=(KEY,), strategy=self.strategy, limits=limits, **self.given_options
        )
        self.expected = self.now()

    @property
    def given_options(self) -> dict[str, Any]:
        return {
            **self.options,
            "cross_columns": "off" if self.options["cross_columns"] is None else self.options["cross_columns"],
        }

    def arrow(self, rows: list[TableRow]) -> pa.Table:
        types = {KEY: pa.int64(), **{name: ARROW[kind] for name, kind in self.case.table.types.items()}}
        return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})

    def now(self) -> set[tuple[tuple[str, ...], ...]]:
        options = {n: self.options[n] for n in ("nulls", "max_predicates", "error")}
        found = reference.discover(self.rows, self.case.kinds, space=self.space, **options)
        return {one_way(constraint) for constraint in found}

    def told(self, change: RulesChange, deleted: list[Any], inserted: list[TableRow]) -> None:
        before = self.expected
        self.rows = reference.changed(self.rows, deleted, inserted, (KEY,))
        self.expected = self.now()
        assert as_set(change.added_rules) == self.expected - before
        assert as_set(change.removed_rules) == before - self.expected
        assert change.total == len(self.expected)
        rows = {row[KEY]: row for row in self.rows}
        for removed in change.removed:
            if removed.witness is not None:
                t, s = rows[removed.witness.left], rows[removed.witness.right]
                assert reference.violates(parse_constraint(removed.rule), t, s, self.options["nulls"])
                for name, a, b in removed.witness.values:
                    for shown, own in ((a, t[name]), (b, s[name])):
                        assert (shown is None) == (own is None)
                        assert own is None or reference.relation(shown, own) == EQ
            elif not self.options["error"] and len(self.rows) > 1:
                assert removed.implied_by is not None
                assert as_set([removed.implied_by]) <= self.expected
        for added in change.added:
            for other in (added.refines, added.replaces):
                assert other is None or as_set([other]) <= before - self.expected

    def row(self, data: st.DataObject, key: int) -> TableRow:
        return {KEY: key, **{name: data.draw(st.sampled_from(values)) for name, values in self.domains.items()}}

    def new_rows(self, data: st.DataObject, many: int) -> list[TableRow]:
        first, self.fresh = self.fresh, self.fresh + many
        return [self.row(data, first + i) for i in range(many)]

    def some_keys(self, data: st.DataObject) -> list[int]:
        keys = sorted(row[KEY] for row in self.rows)
        return data.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=4, unique=True)) if keys else []

    @rule(data=st.data(), many=st.integers(0, 3))
    def some_come(self, data: st.DataObject, many: int) -> None:
        rows = self.new_rows(data, many)
        self.told(self.keeper.insert(self.arrow(rows)), [], rows)

    @rule(data=st.data())
    def some_go(self, data: st.DataObject) -> None:
        keys = self.some_keys(data)
        self.told(self.keeper.delete(keys), keys, [])

    @rule(data=st.data())
    def some_change(self, data: st.DataObject) -> None:
        rows = [self.row(data, key) for key in self.some_keys(data)]
        self.told(self.keeper.update(self.arrow(rows)), [row[KEY] for row in rows], rows)

    @rule(data=st.data())
    def a_batch(self, data: st.DataObject) -> None:
        """Several changes of one key, too; the net effect counts."""
        there = {row[KEY]: row for row in self.rows}
        before = dict(there)
        keys = [*self.some_keys(data), *(row[KEY] for row in self.new_rows(data, 2))]
        changes: list[TableRow] = []
        kinds: list[str] = []
        for _ in range(data.draw(st.integers(0, 6))):
            key = data.draw(st.sampled_from(keys))
            row = self.row(data, key)
            if key not in there:
                changes.append(row)
                kinds.append("insert")
                there[key] = row
            elif data.draw(st.booleans()):
                changes.append(there.pop(key))
                kinds.append("delete")
            else:
                changes += [there[key], row]
                kinds += ["update_preimage", "update_postimage"]
                there[key] = row
        gone = [key for key, row in before.items() if there.get(key) is not row]
        come = [row for key, row in there.items() if before.get(key) is not row]
        given = self.arrow(changes).append_column(CHANGE_TYPE, pa.array(kinds, pa.string()))
        self.told(self.keeper.apply(given), gone, come)

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def what_cannot_be_is_refused(self, data: st.DataObject) -> None:
        there = data.draw(st.sampled_from(sorted(row[KEY] for row in self.rows)))
        new = self.new_rows(data, 1)
        for refused in (
            lambda: self.keeper.insert(self.arrow([*new, self.row(data, there)])),
            lambda: self.keeper.insert(self.arrow([*new, *new])),
            lambda: self.keeper.insert([{KEY: new[0][KEY]}]),
            lambda: self.keeper.delete([there, 5_000]),
            lambda: self.keeper.update(self.arrow([self.row(data, there), *new])),
        ):
            with pytest.raises(ChangeError):
                refused()
        assert len(self.keeper) == len(self.rows)

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        if hasattr(self, "keeper"):
            self.keeper.assert_invariants()
            assert as_set(self.keeper.denials) == self.expected


@pytest.mark.parametrize("strategy", ["evidence", "index", "rediscover"])
def test_keeper_matches_reference(strategy: str) -> None:
    machine = type("Kept", (Kept,), {"strategy": strategy})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=120,
            stateful_step_count=8,
            deadline=None,
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
