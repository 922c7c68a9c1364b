"""What a row of one of several tables breaks, and what a change would resolve and add, is what reference.py counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, example, given, settings

import holdfast as hf
from explained_violations import violations
from holdfast import reference
from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.explaining.cell_values import read_texts
from holdfast.rules.dependency import Inclusion, of_its_table
from holdfast.rules.rule import RuleSet, parse_rule
from several_tables import NAMES, Case, arrow_of, cases
from strategies import ARROW, RandomRules, RandomTable

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

# A reference between columns in which no row has a value.
NO_VALUES = Case(
    {
        "alpha": RandomTable({"id": "bigint", "a": "date"}, ({"id": 0, "a": None},)),
        "beta": RandomTable({"id": "bigint", "a": "bigint"}, ({"id": 0, "a": None},)),
    },
    RuleSet((parse_rule("beta(a) in alpha(a)"),)),
    keyed=False,
)


def counted(rows: Rows, case: Case, table: str, key: int, *, all_of_inclusions: bool) -> dict[str, int]:
    """By rule, the violations that the row is in; of inclusions all, or whether the row itself is one."""
    rules, conditions = case.rules, case.conditions
    own = tuple(replace(r, body=of_its_table(r.body), table=None) for r in rules if r.tables == (table,))
    own = tuple(rule for rule in own if not isinstance(rule.body, Inclusion))
    found = violations(rows[table], RandomRules(RuleSet(own, ("id",), rules.nulls), conditions), key)
    for result in reference.check_tables(rows, rules, keys=dict.fromkeys(NAMES, ("id",)), where=conditions):
        if isinstance(result.rule.body, Inclusion):
            itself = int((table, key) in result.conflicts)
            found[result.rule.name] = len(result.conflicts) if all_of_inclusions else itself
        elif len(result.rule.tables) == 2:
            found[result.rule.name] = result.conflicts.get((table, key), 0)
    return {name: n for name, n in found.items() if n}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
@example(case=NO_VALUES)
def test_counts_before_and_after_are_those_of_the_reference(case: Case) -> None:
    rows = {name: table.rows for name, table in case.tables.items()}
    made = {name: arrow_of(table) for name, table in case.tables.items()}
    result = hf.check(made, case.rules, key=dict.fromkeys(NAMES, "id"), limit=None)
    suggested = result.suggestions.to_arrow().to_pylist()
    tried = [(line["table"], line["key"], line) for line in suggested]
    for name in NAMES:
        for row in rows[name][:2]:
            told = result.explain(row["id"], table=name)
            before = counted(rows, case, name, row["id"], all_of_inclusions=False)
            assert {one.rule.name: one.violations for one in told.broken} == before, case
            assert told.row == row["id"]
            tried += [(name, row["id"], one.to_dict()) for one in told.suggestions]
    for name, key, line in tried:
        column, kind = line["column"], case.tables[name].types[line["column"]]
        stored = ARROW[kind]
        value = read_texts([line["suggested"]], arrow_column_type(stored), stored)
        changed = [
            {**row, column: pa.array(value, stored)[0].as_py()} if row["id"] == key else row for row in rows[name]
        ]
        was, now = (counted(each, case, name, key, all_of_inclusions=True) for each in (rows, {**rows, name: changed}))
        fewer = {rule: was.get(rule, 0) - now.get(rule, 0) for rule in {*was, *now}}
        assert line["resolves"] == sum(n for n in fewer.values() if n > 0), (case, line)
        assert line["adds"] == -sum(n for n in fewer.values() if n < 0), (case, line)
        assert list(line["rules"]) == sorted(rule for rule, n in fewer.items() if n > 0), (case, line)
