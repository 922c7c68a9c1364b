"""Random tables and rules over them, and what a check of them found against what reference.py says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from holdfast import reference
from holdfast.engines.tables.result import TablesCheckResult
from holdfast.errors import TrivialRuleError
from holdfast.reference import Condition
from holdfast.rules.constraint import denial
from holdfast.rules.dependency import Body, Denial, Inclusion
from holdfast.rules.predicate import Call, Column, Predicate, comparison, table_column, with_columns
from holdfast.rules.relation import EQ, GE, GT, LE, LT, NE
from holdfast.rules.rule import Nulls, Rule, RuleSet, allowance
from strategies import (
    ARROW,
    NUMBERS,
    ORDERED,
    TOLERANCES,
    RandomTable,
    bodies,
    comparable,
    number,
    predicates,
    tables,
)

NAMES = ("alpha", "beta")


@dataclass(frozen=True)
class Case:
    tables: Mapping[str, RandomTable]
    rules: RuleSet
    keyed: bool
    conditions: Mapping[str, Condition] = field(default_factory=dict)


@st.composite
def inclusions(draw: st.DrawFn, made: Mapping[str, RandomTable]) -> Body:
    """An inclusion of one or two columns, also of a table in itself and between types that compare."""
    first, second = (draw(st.sampled_from(NAMES)) for _ in range(2))
    fits = [
        (a, b)
        for a, kind in made[first].types.items()
        for b, other in made[second].types.items()
        if comparable(kind, other)
    ]
    unique: dict[str, str] = {}
    for a, b in draw(st.lists(st.sampled_from(fits), min_size=1, max_size=2)):
        if a not in unique and b not in unique.values():
            unique[a] = b
    return Inclusion((first, second), tuple(unique), tuple(unique.values()))


@st.composite
def compared(draw: st.DrawFn, made: Mapping[str, RandomTable], first: str, second: str) -> Predicate:
    """A comparison of a row of the first table with one of the second, or a tolerance."""
    left, right = made[first].types, made[second].types
    pairs = [(a, b) for a in left for b in right if comparable(left[a], right[b])]
    a, b = draw(st.sampled_from(pairs))
    t, s = table_column("t", first, a), table_column("s", second, b)
    if left[a] in NUMBERS and right[b] in NUMBERS and draw(st.integers(0, 3)) == 0:
        apart = Call("-", (t, s))
        operand = Call("abs", (apart,)) if draw(st.booleans()) else apart
        allowed = draw(st.sampled_from([EQ, NE, LT, LE, GT, GE]))
        return comparison(operand, allowed, number(draw(st.sampled_from(TOLERANCES))))
    ordered = left[a] in ORDERED and right[b] in ORDERED
    return comparison(t, draw(st.sampled_from([EQ, EQ, NE, LT, LE, GT, GE] if ordered else [EQ, NE])), s)


@st.composite
def denials(draw: st.DrawFn, made: Mapping[str, RandomTable]) -> Body:
    first, second = draw(st.permutations(NAMES))
    chosen = [draw(compared(made, first, second)) for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        table = draw(st.sampled_from([first, second]))

        def of_table(column: Column) -> Column:
            return table_column("t" if table == first else "s", table, column.name)

        one = draw(predicates(made[table].types, rows=("t",)))
        chosen.append(with_columns(one, of_table))
    try:
        return Denial(denial(chosen))
    except TrivialRuleError:
        return draw(inclusions(made))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = {name: draw(tables(max_rows=7, max_columns=3)) for name in NAMES}
    rules: list[Rule] = []
    conditions: dict[str, Condition] = {}
    for i in range(draw(st.integers(1, 4))):
        shape = draw(st.sampled_from(["inclusion", "inclusion", "denial", "denial", "own"]))
        allow = allowance(draw(st.sampled_from(["0", "1", "20%"])))
        warn = draw(st.sampled_from([None, allowance("0%" if allow.percent else "0")]))
        where = "id % 2 = 0" if draw(st.integers(0, 2)) == 0 else None
        if shape == "own":
            table = draw(st.sampled_from(NAMES))
            try:
                body = draw(bodies(made[table].types))
            except TrivialRuleError:
                assume(False)
            rules.append(Rule(f"r{i}", body, allow=allow, table=table, where=where, warn=warn))
            conditions |= {} if where is None else {f"r{i}": _has_even_id}
            continue
        try:
            body = draw(inclusions(made) if shape == "inclusion" else denials(made))
        except TrivialRuleError:
            assume(False)
        pairs = allowance("30%") if body.kind == "dc" and draw(st.booleans()) else None
        where = where if isinstance(body, Inclusion) else None
        few = warn if pairs is None else None
        rules.append(Rule(f"r{i}", body, allow=allow, allow_pairs=pairs, where=where, warn=few))
        conditions |= {} if where is None else {f"r{i}": _has_even_id}
    nulls: Nulls = draw(st.sampled_from(("sql", "equal")))
    return Case(made, RuleSet(tuple(rules), nulls=nulls), draw(st.booleans()), conditions)


def _has_even_id(row: Mapping[str, Any]) -> bool:
    return bool(row["id"] % 2 == 0)


def arrow_of(table: RandomTable) -> pa.Table:
    return pa.table(
        {name: pa.array([row[name] for row in table.rows], ARROW[kind]) for name, kind in table.types.items()}
    )


def assert_matches(case: Case, result: TablesCheckResult) -> None:
    """Counts, verdicts and all tables of the result are those of the reference; no row is lost when they are split."""
    keys = dict.fromkeys(NAMES, ("id",)) if case.keyed else {}
    rows = {name: table.rows for name, table in case.tables.items()}
    expected = reference.check_tables(rows, case.rules, keys=keys, where=case.conditions)
    listed: dict[str, list[dict[str, Any]]] = {
        name: list(getattr(result, name)) for name in ("pairs", "rows", "groups", "suspects")
    }
    for wanted, found in zip(expected, result.outcome.rules, strict=True):
        name, told = wanted.rule.name, f"{wanted.rule} {case.rules.nulls} {case.tables}"
        own = {part: [line for line in lines if line["rule"] == name] for part, lines in listed.items()}
        pairs = [((r["left_table"], r["left"]), (r["right_table"], r["right"])) for r in own["pairs"]]
        assert Counter(pairs) == Counter(wanted.pairs or ()), told
        assert {(r["table"], r["key"]): r["conflicts"] for r in own["rows"]} == wanted.conflicts, told
        assert {(r["table"], r["key"]) for r in own["suspects"]} == wanted.suspects, told
        assert Counter((r["column"], r["rows"], tuple((r["table"], k) for k in r["keys"])) for r in own["groups"]) == (
            Counter((g.column, g.rows, g.keys) for g in wanted.groups or ())
        ), told
        assert found.violating_pairs == (None if wanted.pairs is None else len(wanted.pairs)), told
        assert found.violating_rows == len(wanted.conflicts), told
        assert found.suspect_rows == len(wanted.suspects), told
        assert found.violating_groups == wanted.violating_groups, told
        assert found.holds == wanted.holds, told
        assert found.severity == wanted.severity, told
    counted = {found.rule.name for found in result.outcome.rules if result.outcome.counts(found)}
    gone = {(line["table"], line["key"]) for line in listed["suspects"] if line["rule"] in counted}
    for table, (clean, quarantined) in result.split().items():
        assert quarantined.count() == len([row for row in gone if row[0] == table])
        assert clean.count() + quarantined.count() == len(case.tables[table].rows)
