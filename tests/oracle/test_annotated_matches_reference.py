"""An annotated table says of each row what reference.py says of it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast import reference
from holdfast.checking.annotated import ERRORS, FIELDS, WARNINGS
from holdfast.engines.local.check import plan_check, run_check
from holdfast.errors import OptionError
from holdfast.tables.local_table import LocalTable
from strategies import RandomRules, RandomTable, arrow_of, rule_sets, tables


@st.composite
def cases(draw: st.DrawFn) -> tuple[RandomTable, RandomRules]:
    table = draw(tables())
    return table, draw(rule_sets(table, size=4))


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases(), most=st.integers(0, 3))
def test_each_row_has_its_rules_conflicts_partners_and_suspicion(
    case: tuple[RandomTable, RandomRules], most: int
) -> None:
    table, random = case
    whole = arrow_of(table)
    source = LocalTable(whole, "random")
    result = run_check(source, plan_check(source, random.rules, ("id",)), limit=None)
    annotated = result.annotated(partners=most).to_arrow()
    assert annotated.drop_columns([ERRORS, WARNINGS]).equals(whole) or "nan" in str(table.rows)
    found = reference.check(table.rows, random.rules, where=random.conditions)
    for row in annotated.to_pylist():
        for column, severity in ((ERRORS, "error"), (WARNINGS, "warn")):
            wanted = []
            for of_rule in found:
                if of_rule.severity == severity and row["id"] in of_rule.conflicts:
                    ends = [pair for pair in of_rule.pairs or () if row["id"] in pair]
                    partners = sorted({left if right == row["id"] else right for left, right in ends})
                    conflicts, suspect = of_rule.conflicts[row["id"]], row["id"] in of_rule.suspects
                    wanted.append((of_rule.rule.name, partners[:most], conflicts, suspect))
            entries = row[column]
            assert entries != []
            assert [(e["name"], e["partners"], e["conflicts"], e["suspect"]) for e in entries or ()] == wanted
    _, quarantined = result.split()
    in_error = {row["id"] for row in annotated.to_pylist() if any(entry["suspect"] for entry in row[ERRORS] or ())}
    assert {row["id"] for row in quarantined} == in_error


def test_a_column_of_that_name_and_a_senseless_number_of_partners_are_refused() -> None:
    rows = pa.table({"id": [1], "_Errors": ["mine"]})
    with pytest.raises(OptionError, match="has a column '_Errors' of its own"):
        hf.check(rows, "unique(id)").annotated()
    with pytest.raises(OptionError, match="partners is -1"):
        hf.check(rows.drop_columns(["_Errors"]), "unique(id)").annotated(partners=-1)


def test_an_entry_says_the_rule_in_words_its_columns_and_its_condition() -> None:
    rows = pa.table({"id": [1, 2, 3], "zip": ["a", "a", "b"], "city": ["x", "y", "z"]})
    rule = replace(hf.parse_rule("zip -> city"), where="id < 3", severity="warn")
    line = hf.check(rows, [rule], key="id").annotated().to_arrow().to_pylist()
    told = "On rows where id < 3: rows with the same zip have the same city."
    values = ("zip-city", told, ["zip", "city"], "id < 3", "fd", [2], 1, False)
    assert [row[ERRORS] for row in line] == [None, None, None]
    assert line[0][WARNINGS] == [dict(zip(FIELDS, values, strict=True))]
    assert [row[WARNINGS] is None for row in line] == [False, False, True]
