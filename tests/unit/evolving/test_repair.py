"""Rules repaired after a change of evidence are those that a search from nothing finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.errors import StateError
from holdfast.evolving.evolve import EvidenceChange, KeptRules, evolved
from holdfast.evolving.repair import changed_evidence, repaired_rules
from holdfast.kernels.extended_sets import ExtendedSets, extended_sets
from holdfast.rules.predicate import Column
from holdfast.search.clock import Clock
from holdfast.search.evidence import Evidence, evidence
from holdfast.search.invert import most_general
from holdfast.search.limits import SearchLimits
from holdfast.search.options import DiscoverOptions
from holdfast.search.space import OperandPair, PredicateSpace, as_words, both_ways

NONE = Evidence(np.zeros((0, 1), np.uint64), np.zeros(0, np.int64))


def space_of(columns: int) -> PredicateSpace:
    return PredicateSpace(
        tuple(OperandPair(Column("t", f"c{i}"), Column("s", f"c{i}"), i % 3 > 0) for i in range(columns))
    )


def random_evidence(space: PredicateSpace, many: int, random: np.random.Generator) -> Evidence:
    masks = []
    for _ in range(many):
        mask = 0
        for pair, start in zip(space.pairs, space.first_bits, strict=False):
            mask |= 1 << start + int(random.integers(0, len(pair.relations)))
        masks.append(mask)
    return evidence(both_ways(space, as_words(masks, space.words)), np.ones(2 * many, np.int64))


def as_sets(masks: NDArray[np.uint64]) -> set[bytes]:
    return {mask.tobytes() for mask in masks}


@pytest.mark.parametrize("most", [None, 3])
@pytest.mark.parametrize("seed", range(6))
def test_repair_finds_what_a_search_finds(seed: int, most: int | None) -> None:
    random, space = np.random.default_rng(seed), space_of(7)
    options = DiscoverOptions(max_predicates=most)
    before, more = (random_evidence(space, many, random) for many in (60, 12))
    found = most_general(space, before, options, Clock(None), threads=1)
    change = changed_evidence(before, more, NONE)
    came = repaired_rules(space, found.masks, before, change, options, clock=Clock(None), threads=2)
    wanted = most_general(space, before.plus(more), options, Clock(None), threads=1)
    assert as_sets(came.masks) == as_sets(wanted.masks)
    back = repaired_rules(
        space,
        came.masks,
        change.after,
        changed_evidence(change.after, NONE, more),
        options,
        clock=Clock(None),
        threads=2,
    )
    assert back.repaired
    assert as_sets(back.masks) == as_sets(found.masks)


def test_where_many_rules_fall_the_search_begins_anew() -> None:
    random, space = np.random.default_rng(1), space_of(5)
    before, more = (random_evidence(space, many, random) for many in (20, 10))
    options = DiscoverOptions(limits=SearchLimits(most_looks=1))
    found = most_general(space, before, options, Clock(None), threads=1)
    made = repaired_rules(
        space, found.masks, before, changed_evidence(before, more, NONE), options, clock=Clock(None), threads=1
    )
    assert not made.repaired
    assert as_sets(made.masks) == as_sets(most_general(space, before.plus(more), options, Clock(None), threads=1).masks)


def test_where_too_many_sets_come_the_search_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were kept until then are not all."""

    def some_extended_sets(*arguments: Any, **options: Any) -> ExtendedSets:
        everything = extended_sets(*arguments, **options)
        return ExtendedSets(everything.sets[:1], everything.extended[:1], complete=False)

    monkeypatch.setattr("holdfast.evolving.repair.extended_sets", some_extended_sets)
    random, space, options = np.random.default_rng(2), space_of(6), DiscoverOptions()
    before, more = (random_evidence(space, many, random) for many in (60, 3))
    found = most_general(space, before, options, Clock(None), threads=1)
    change = changed_evidence(before, more, NONE)
    made = repaired_rules(space, found.masks, before, change, options, clock=Clock(None), threads=1)
    assert not made.repaired
    assert as_sets(made.masks) == as_sets(most_general(space, change.after, options, Clock(None), threads=1).masks)


def test_counts_that_move_change_no_exact_rule() -> None:
    space = space_of(3)
    before = random_evidence(space, 10, np.random.default_rng(0))
    found = most_general(space, before, DiscoverOptions(), Clock(None), threads=1)
    change = changed_evidence(before, before, NONE)
    assert len(change.appeared) == len(change.vanished) == 0
    made = repaired_rules(space, found.masks, before, change, DiscoverOptions(), clock=Clock(None), threads=1)
    assert made.masks is found.masks


def test_evidence_of_other_rows_is_refused() -> None:
    """A file of evidence beside rows that it does not count is a mistake that every later batch would carry on."""
    space = space_of(2)
    own = random_evidence(space, 3, np.random.default_rng(0))  # of three rows: six ordered pairs
    found = most_general(space, own, DiscoverOptions(), Clock(None), threads=1)
    kept = KeptRules(space, found.masks, found.violating, own, 3)
    change = EvidenceChange(NONE, NONE, (), "cpu")
    assert evolved(kept, change, 3, DiscoverOptions(), threads=1).rows == 3
    with pytest.raises(StateError, match="6 pairs of rows after the changes, but 4 rows have 12"):
        evolved(kept, change, 4, DiscoverOptions(), threads=1)
