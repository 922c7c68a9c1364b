"""Every type of the package that adds up keeps the laws of `holdfast.states.lawful`. Types are found, not listed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from inspect import getmembers, isclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.evolving.changed_evidence import KeptRows
from holdfast.evolving.proving_pairs import ProvingPairs
from holdfast.search.evidence import Evidence
from holdfast.states import lawful
from holdfast.states.lawful import Mergeable, Reversible
from holdfast.states.messages import Shipped
from holdfast.states.violations_change import RuleViolationsChange, ViolationsChange
from laws.test_evidence_adds_up import counted, groups_of
from laws.test_violations_change_adds_up import histories, said


@dataclass(frozen=True)
class Law:
    """States of a type that can be added to each other, three at a time, and what one says, as plain values."""

    three: st.SearchStrategy[Sequence[Any]]
    meaning: Callable[[Any], object]


@st.composite
def kept_rows(draw: st.DrawFn) -> KeptRows:
    rows = draw(st.lists(st.tuples(st.integers(-1, 2**40), st.booleans()), max_size=4))
    codes, valid = np.array([code for code, _ in rows], np.int64), np.array([known for _, known in rows], np.bool_)
    return KeptRows({"a": codes, "b": -codes}, {"a": valid, "b": ~valid}, len(rows))


@st.composite
def proving_pairs(draw: st.DrawFn) -> ProvingPairs:
    """Pairs of few kinds, so that many show the same."""
    pairs = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2**40), st.integers(0, 2**40)), max_size=12))
    words, left, right = (np.array([pair[i] for pair in pairs], np.int64) for i in range(3))
    return ProvingPairs(words.astype(np.uint64).reshape(-1, 1), left, right)


def meaning_of_pairs(pairs: ProvingPairs) -> object:
    return pairs.words.tolist(), pairs.left.tolist(), pairs.right.tolist()


def meaning_of_rows(rows: KeptRows) -> object:
    return [{name: array.tolist() for name, array in side.items()} for side in (rows.codes, rows.valid)], rows.size


COUNT = st.integers(0, 2**40)
# Changes that follow each other and list all that they count: of lists that were cut, counts are upper bounds.
LAWS: Mapping[type[Mergeable], Law] = {
    Evidence: Law(groups_of(3), counted),
    KeptRows: Law(st.lists(kept_rows(), min_size=3, max_size=3), meaning_of_rows),
    ProvingPairs: Law(st.lists(proving_pairs(), min_size=3, max_size=3), meaning_of_pairs),
    RuleViolationsChange: Law(
        histories().map(lambda changes: [change.rules.get("r", RuleViolationsChange()) for change in changes[:3]]),
        lambda change: said(ViolationsChange({"r": change})),
    ),
    Shipped: Law(st.lists(st.builds(Shipped, COUNT, COUNT, COUNT), min_size=3, max_size=3), Shipped.to_dict),
    ViolationsChange: Law(histories().map(lambda changes: changes[:3]), said),
}


def classes_of_the_package() -> Iterator[type]:
    for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        if not module.name.endswith("__main__"):
            found = getmembers(importlib.import_module(module.name), isclass)
            yield from (one for _, one in found if one.__module__ == module.name != lawful.__name__)


def test_every_type_that_adds_up_has_a_law_here() -> None:
    assert {one for one in classes_of_the_package() if issubclass_of(one, Mergeable)} == set(LAWS)


def test_every_value_with_plus_or_minus_says_what_it_is() -> None:
    for one in filter(is_dataclass, classes_of_the_package()):
        assert issubclass_of(one, Mergeable) == hasattr(one, "plus"), one
        assert issubclass_of(one, Reversible) == hasattr(one, "minus"), one


def issubclass_of(one: type, protocol: type) -> bool:
    """Whether the type says that it is one: a method of the same name is not enough."""
    return protocol in one.__mro__


@pytest.mark.parametrize("kind", LAWS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_plus_is_associative(kind: type[Mergeable], data: st.DataObject) -> None:
    meaning = LAWS[kind].meaning
    a, b, c = data.draw(LAWS[kind].three)
    assert meaning(a.plus(b).plus(c)) == meaning(a.plus(b.plus(c)))


@pytest.mark.parametrize("kind", [kind for kind in LAWS if issubclass_of(kind, Reversible)], ids=lambda k: k.__name__)
@given(data=st.data())
def test_minus_undoes_plus(kind: type[Reversible], data: st.DataObject) -> None:
    meaning = LAWS[kind].meaning
    a, b, _ = data.draw(LAWS[kind].three)
    assert meaning(a.plus(b).minus(b)) == meaning(a)


@pytest.mark.parametrize("kind", LAWS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_a_sum_changes_none_of_its_parts(kind: type[Mergeable], data: st.DataObject) -> None:
    meaning = LAWS[kind].meaning
    a, b, _ = data.draw(LAWS[kind].three)
    before = meaning(a), meaning(b)
    a.plus(b)
    assert (meaning(a), meaning(b)) == before
