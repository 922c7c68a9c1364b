"""Rules that change with their table, as IncDC's examples have it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
import yaml

from holdfast.discover.changed_evidence import KeptRows, related, related_within
from holdfast.discover.coded_rows import family_codes
from holdfast.discover.options import DiscoverOptions
from holdfast.discover.repair import strengthened
from holdfast.discover.space import OperandPair, PredicateSpace, as_masks, as_words
from holdfast.incremental.evolve import no_evidence
from holdfast.incremental.rule_keeper import RuleKeeper
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Column

DATA = Path(__file__).parent / "data"
GOLDEN = yaml.safe_load((DATA / "expected.yaml").read_text(encoding="utf-8"))
TAX = GOLDEN["tax_r1.csv"]


def table(name: str) -> pa.Table:
    return csv.read_csv(DATA / name)


def either_way_round(some: Iterable[DenialConstraint | str]) -> set[frozenset[DenialConstraint]]:
    parsed = (parse_constraint(one) if isinstance(one, str) else one for one in some)
    return {frozenset((one, one.mirrored())) for one in parsed}


@pytest.mark.parametrize("one_by_one", [False, True])
def test_four_columns_of_tax_evolve_as_worked_out(one_by_one: bool) -> None:
    wanted = TAX["evolve"]
    keeper = RuleKeeper(table("tax_r1.csv"), key="id", columns=wanted["columns"], cross_columns="off")
    assert either_way_round(keeper.denials) == either_way_round(wanted["before"])
    more = table(TAX["insert"])
    if one_by_one:
        for row in more.to_pylist():
            keeper.insert(row)
    else:
        change = keeper.insert(more)
        assert either_way_round(change.added_rules) == either_way_round(wanted["added"])
        assert either_way_round(change.removed_rules) == either_way_round(wanted["removed"])
        assert change.total == wanted["total_after"]
    after = either_way_round(wanted["before"]) - either_way_round(wanted["removed"])
    assert either_way_round(keeper.denials) == after | either_way_round(wanted["added"])
    assert len(keeper.denials) == wanted["total_after"]


def test_the_five_supposed_rules_are_repaired_as_in_the_paper() -> None:
    both = pa.concat_tables([table("tax_r1.csv"), table(TAX["insert"])])
    old = table("tax_r1.csv").num_rows
    rules = {rule["name"]: parse_constraint(rule["dc"]) for rule in TAX["rules"]}
    columns = [name for name in both.column_names if name != "id"]
    numbers = [
        name for name in columns if pa.types.is_integer(both[name].type) or pa.types.is_floating(both[name].type)
    ]
    pairs = [OperandPair(Column("t", name), Column("s", name), name in numbers) for name in columns]
    pairs[columns.index("Date")] = OperandPair(Column("t", "Date"), Column("s", "Date"), True)
    pairs += [OperandPair(Column("t", a), Column("s", b), True) for a, b in (("STX", "CTX"), ("CTX", "STX"))]
    space = PredicateSpace(tuple(pairs))
    codes = family_codes(both, [*([name] for name in columns if name not in ("STX", "CTX")), ["STX", "CTX"]])
    rows = KeptRows(
        {name: codes[name].astype(np.int64) for name in columns},
        {name: codes[name] >= 0 for name in columns},
        len(both),
    )
    come, stay = rows.part(old, rows.size), rows.part(0, old)
    came = no_evidence(space)
    for one in related(space, "sql", come, stay):
        came = came.plus(one.evidence())
    for one, _ in related_within(space, "sql", come):
        came = came.plus(one.evidence())
    masks = as_words([space.mask_of(rule) for rule in rules.values()], space.words)
    made = strengthened(space, masks, came.words, DiscoverOptions(), however_many=True)
    assert made is not None
    fallen = {name for name, mask in zip(rules, as_masks(masks), strict=True) if mask in as_masks(made.fallen)}
    assert fallen == set(TAX["repair_of_given_rules"]["removed"])
    now = either_way_round(space.constraint(mask) for mask in as_masks(made.masks))
    assert either_way_round(rule for name, rule in rules.items() if name not in fallen) <= now
    assert either_way_round(TAX["repair_of_given_rules"]["added_contain"]) <= now
    assert not either_way_round(TAX["repair_of_given_rules"]["not_added"]) & now
