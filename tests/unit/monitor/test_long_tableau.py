"""A monitor looks a row up in a long tableau; it does not go through the patterns."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import holdfast as hf
from holdfast import reference
from holdfast.programs import arrow_forms
from holdfast.programs.form import BoundPattern, by_bound_columns
from holdfast.rules.dependency import CFD, Pattern
from holdfast.rules.rule_file import parse_rules

PATTERNS = (
    (f"C{i % 7}", i, "_" if i % 3 else f"Z{i}", f"City {i}" if i % 2 else "_")  # some with constants on the right
    for i in range(150)
)
LINES = "\n".join(f"      - {{country: {c}, area: '{a}', zip: {z}, city: {city}}}" for c, a, z, city in PATTERNS)
RULES = f"key: id\nrules:\n  - name: places\n    rule: country, area, zip -> city\n    patterns:\n{LINES}\n"
# A column that is ordered, whose codes move where values have no room between those that are there.
ORDERED = RULES + '  - {name: order, rule: "not(t.country < s.country and t.city > s.city and t.area = s.area)"}\n'


def rows(many: int, seed: int) -> list[dict[str, Any]]:
    drawn = random.Random(seed)
    made: list[dict[str, Any]] = []
    for i in range(many):
        area = drawn.randrange(150)
        made.append(
            {
                "id": i,
                "country": drawn.choice([f"C{area % 7}", "C" * drawn.randint(1, 60), None]),
                "area": drawn.choice([area, area, None]),
                "zip": drawn.choice([f"Z{area}", "Z", None]),
                "city": drawn.choice([f"City {area}", "B" * drawn.randint(1, 60), None]),
            }
        )
    return made


@pytest.mark.parametrize("nulls", ["sql", "equal"])
@pytest.mark.parametrize("text", [RULES, ORDERED])
def test_rows_that_come_alone_break_a_long_tableau_as_the_reference_says(text: str, nulls: Any) -> None:
    table, rules = rows(120, 1), parse_rules(text)
    monitor = hf.Monitor(rules, nulls=nulls)
    for row in table:
        monitor.insert(row)
    gone = {row["id"] for row in table[::3]}
    monitor.delete(sorted(gone))
    left = [row for row in table if row["id"] not in gone]
    expected = reference.check(left, monitor.rules)
    for rule, found in zip(monitor.rules, expected, strict=True):
        listed = {key for violation in monitor.violations(rule.name) for key in violation if key is not None}
        assert listed == set(found.conflicts), rule.name
    monitor.assert_invariants()


def test_patterns_are_gone_through_once_for_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[object] = []

    def counted(dependency: CFD, lines: list[Pattern]) -> dict[tuple[str, ...], list[BoundPattern]]:
        looked_at.append(dependency)
        return by_bound_columns(dependency, lines)

    monkeypatch.setattr(arrow_forms, "by_bound_columns", counted)
    monitor = hf.Monitor(parse_rules(RULES))
    table = [row for row in rows(60, 2) if None not in row.values()]
    monitor.insert(table[0])
    first = len(looked_at)
    assert first > 0
    for row in table[1:]:
        monitor.insert(row)
    assert len(looked_at) == first


def test_no_row_breaks_no_tableau() -> None:
    none = pa.table({"id": [1], "country": ["C1"], "area": [1], "zip": ["Z"], "city": ["x"]}).slice(1)
    with hf.check(none, parse_rules(RULES), engine="local") as result:
        assert result.to_dict()["rules"][0]["violating_rows"] == 0
