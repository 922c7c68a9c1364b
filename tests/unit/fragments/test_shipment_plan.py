"""Shipment plans: every rule can be settled, by few ids, and the plan's own arithmetic is right."""

from __future__ import annotations

import runpy
from itertools import product
from pathlib import Path

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.fragments.knowledge import Need, Problem, Ship, ordered, works
from holdfast.fragments.plan_search import alone, connectedness, fewest
from holdfast.fragments.shipment_plan import plan_shipments
from holdfast.fragments.sites import parse_sites


@st.composite
def problems(draw: st.DrawFn, *, columns: int = 5, sites: int = 4, rules: int = 3) -> Problem:
    held = [0] * draw(st.integers(1, sites))
    for column in range(columns):
        for site in draw(st.lists(st.integers(0, len(held) - 1), min_size=1, max_size=2)):
            held[site] |= 1 << column
    needs = []
    for _ in range(draw(st.integers(1, rules))):
        right = draw(st.integers(0, columns - 1))
        left = sum(1 << c for c in range(columns) if c != right and draw(st.booleans()))
        needs.append(Need(left, 1 << right))
    return Problem(tuple(held), tuple(dict.fromkeys(needs)), draw(st.booleans()))


@settings(max_examples=40)
@given(problems())
def test_a_plan_settles_every_rule_and_no_more_than_each_alone(problem: Problem) -> None:
    found = fewest(problem, improving=0.1, searching=0.1)
    assert works(problem, found.ships)
    assert len(found.ships) <= sum(alone(problem, need) for need in problem.needs)
    bound = connectedness(problem)
    assert bound is not None
    assert bound <= len(found.ships)


def all_plans(problem: Problem, most: int) -> int | None:
    """The least number of shipments, by trying all sets of columns between all sites, breadth first."""
    columns = max(held.bit_length() for held in problem.held)
    sites = range(len(problem.held))
    every = [Ship(a, b, what) for a, b in product(sites, sites) if a != b for what in range(1, 1 << columns)]
    plans = [frozenset[Ship]()]
    for size in range(most + 1):
        if any(works(problem, plan) for plan in plans):
            return size
        plans = list({p | {s} for p in plans for s in every if s not in p and ordered(problem, p | {s}) is not None})
    return None


def test_a_plan_called_exact_is_the_least_of_all() -> None:
    exact: list[int] = []

    @settings(max_examples=12)
    @example(Problem((0b001, 0b010, 0b100), (Need(0b001, 0b010), Need(0b010, 0b100))))  # needs two shipments
    @given(problems(columns=3, sites=3, rules=2))
    def compare(problem: Problem) -> None:
        found = fewest(problem, improving=0.3, searching=1.0)
        least = all_plans(problem, 3)
        assert len(found.ships) >= (4 if least is None else least)
        if found.least and least is not None:
            assert len(found.ships) == least
            exact.append(least)

    compare()
    assert max(exact) >= 2, "some plan was called exact and ships something"


def overlapping(rules: int, sites: int, seed: int) -> str:
    """The sites file of the benchmark's case: rules whose left sides overlap, over sites with some replicas."""
    place = Path(__file__).parents[3] / "benchmarks" / "overlapping.py"
    return yaml.safe_dump(runpy.run_path(str(place))["overlapping"](rules, sites, seed))


def test_fifty_rules_over_ten_sites_ship_less_than_half() -> None:
    plan = plan_shipments(parse_sites(overlapping(50, 10, seed=1)))
    assert plan.method == "heuristic"
    assert plan.shared <= 0.45 * plan.alone
    assert plan.shared == len(plan.to_dict()["steps"])


def test_ids_are_made_of_what_is_there_by_then() -> None:
    plan = plan_shipments(parse_sites(overlapping(20, 6, seed=3)))
    (group,) = plan.groups
    held = [
        {i for i, a in enumerate(group.atoms) if set(a.columns) <= set(site.columns or ())} for site in plan.sites.sites
    ]
    for number, shipment in enumerate(group.shipments):
        told = set(shipment.made.own)
        assert told <= held[shipment.sender]
        for sent in shipment.made.sent:
            assert sent < number
            assert group.shipments[sent].receiver == shipment.sender
            assert group.shipments[sent].round < shipment.round
            told |= set(group.shipments[sent].atoms)
        assert told == set(shipment.atoms)
        assert shipment.rules
