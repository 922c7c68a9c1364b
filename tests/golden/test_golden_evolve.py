"""Rules that change with their table, as IncDC's examples have it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pytest
import yaml

from holdfast.evolving.chain_index import ChainIndex
from holdfast.evolving.changed_evidence import KeptRows, related, related_within
from holdfast.evolving.evolve import no_evidence
from holdfast.evolving.repair import strengthened
from holdfast.evolving.rule_keeper import RuleKeeper
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.parse import parse_constraint
from holdfast.rules.predicate import Column
from holdfast.rules.relation import mask_of
from holdfast.search.coded_rows import family_codes
from holdfast.search.options import DiscoverOptions
from holdfast.search.space import OperandPair, PredicateSpace, as_masks, as_words

DATA = Path(__file__).parent / "data"
GOLDEN = yaml.safe_load((DATA / "expected.yaml").read_text(encoding="utf-8"))
TAX = GOLDEN["tax_r1.csv"]
ON = True  # what YAML makes of the key `on`


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


def chain_index(name: str, on: list[str]) -> tuple[ChainIndex, pa.Table, list[str]]:
    rows = table(name)
    columns, operators = zip(*(one.split() for one in on), strict=True)
    index = ChainIndex(*(mask_of(op) for op in operators))
    a, b = values(rows, columns)
    index.add(a, b, np.arange(rows.num_rows))
    index.assert_invariants()
    return index, rows, rows.column("id").to_pylist()


def values(rows: pa.Table, columns: Iterable[str]) -> list[np.ndarray]:
    return [np.asarray(rows.column(name).to_numpy(), np.int64) for name in columns]


@pytest.mark.parametrize("name", ["tax_r1.csv", "cross_r2.csv"])
def test_chains_are_those_of_the_paper(name: str) -> None:
    for wanted in GOLDEN[name]["chain_index"]:
        index, rows, keys = chain_index(name, wanted[ON])
        assert index.rank == wanted["rank"]
        chains = [[keys[row] for row in chain] for chain in index.chains]
        if "chains" in wanted:
            assert sorted(chains) == sorted(wanted["chains"])
        if "after_insert_t9" in wanted:
            more = table(GOLDEN[name]["insert"]).filter(pc.equal(pc.field("id"), "t9"))
            columns = [one.split()[0] for one in wanted[ON]]
            a, b = values(more, columns)
            index.add(a, b, np.array([rows.num_rows]))
            index.assert_invariants()
            chains = [[[*keys, "t9"][row] for row in chain] for chain in index.chains]
            assert sorted(chains) == sorted(wanted["after_insert_t9"])


def test_fetch_finds_what_the_paper_finds() -> None:
    for wanted in TAX["fetch"]:
        columns, operators = zip(*(one.split() for one in wanted[ON]), strict=True)
        # An index on the two columns, whichever operators it was made for, serves all others.
        for on in (wanted[ON], [f"{columns[0]} <", f"{columns[1]} <"]):
            index, _, keys = chain_index("tax_r1.csv", on)
            a, b = values(table(TAX["insert"]).filter(pc.equal(pc.field("id"), wanted["row"])), columns)
            op_a, op_b = (mask_of(op) for op in operators)
            assert sorted(keys[row] for row in index.fetch(a, b, op_a, op_b).rows) == wanted["forward"]
            assert sorted(keys[row] for row in index.fetch_backward(a, b, op_a, op_b).rows) == wanted["backward"]


def test_fetch_across_columns_finds_what_the_paper_finds() -> None:
    (wanted,) = GOLDEN["cross_r2.csv"]["fetch"]
    assert wanted["predicates"] == ["t.A > s.B", "t.C < s.D"]
    s = table(GOLDEN["cross_r2.csv"]["insert"]).filter(pc.equal(pc.field("id"), wanted["row"]))
    # As t it asks for rows by their B and D, as s by their A and C.
    of_s, _, keys = chain_index("cross_r2.csv", ["B <", "D >"])
    a, c = values(s, ["A", "C"])
    forward = of_s.fetch(a, c, mask_of(">"), mask_of("<"))
    of_t, _, _ = chain_index("cross_r2.csv", ["A >", "C <"])
    b, d = values(s, ["B", "D"])
    backward = of_t.fetch_backward(b, d, mask_of(">"), mask_of("<"))
    assert sorted(keys[row] for row in forward.rows) == wanted["forward"]
    assert sorted(keys[row] for row in backward.rows) == wanted["backward"]
