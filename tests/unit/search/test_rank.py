"""Ranking: laws come before accidents, and what follows from others comes after them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest

from holdfast.encode.column_type import column_type
from holdfast.rules.dependency import kind_of
from holdfast.rules.rule import Names, Rule
from holdfast.search.find import find
from holdfast.search.options import DiscoverOptions
from holdfast.search.rank import ranked
from holdfast.search.result import SearchResult

ONE_TYPE = DiscoverOptions(cross_columns=None)


def found_in(columns: Mapping[str, Sequence[object]], options: DiscoverOptions = ONE_TYPE) -> SearchResult:
    table = pa.table(columns)
    kinds = {"int64": "bigint", "string": "string", "double": "double"}
    types = {field.name: column_type(kinds[str(field.type)]) for field in table.schema}
    return find(table, types, options)


def people(seed: int = 1) -> dict[str, list[object]]:
    """Rows with laws in them (id is a key, zip gives city and state, within a state more salary is no lower rate) and
    with columns that mean nothing."""
    chance = random.Random(seed)
    columns: dict[str, list[object]] = {name: [] for name in ("id", "zip", "city", "state", "salary", "rate", "a", "b")}
    for i in range(300):
        zip_code = chance.randrange(20)
        state, salary = zip_code % 5, chance.randrange(30) * 1000
        row = {
            "id": f"p{i}",
            "zip": f"z{zip_code}",
            "city": f"c{zip_code % 10}",
            "state": f"s{state}",
            "salary": salary,
            "rate": (salary // 4000) * (state + 1),
            "a": chance.randrange(40),
            "b": chance.randrange(12),
        }
        for name, value in row.items():
            columns[name].append(value)
    return columns


@pytest.fixture(scope="module")
def laws() -> SearchResult:
    return found_in(people())


def texts(found: SearchResult, most: int | None = None) -> list[str]:
    return [str(one.rule) for one in ranked(found)[:most]]


def place_of(rule: str, all_texts: Sequence[str]) -> int:
    return list(all_texts).index(rule)


def test_laws_come_first(laws: SearchResult) -> None:
    best = texts(laws, 10)
    assert best[0] == "unique(id)"
    for law in (
        "zip -> city",
        "city -> state",
        "if t.state = s.state and t.salary <= s.salary then t.rate <= s.rate",
        "state, salary -> rate",
    ):
        assert law in best


def test_what_means_nothing_comes_late(laws: SearchResult) -> None:
    rules = ranked(laws)
    accidents = [one for one in rules if {"a", "b"} & set(one.rule.body.columns)]
    assert accidents
    best = max(one.score for one in accidents)
    assert all(one.score > 2 * best for one in rules[:6])


def test_what_follows_from_better_rules_counts_less(laws: SearchResult) -> None:
    scores = {str(one.rule): one.score for one in ranked(laws)}
    # Shorter of evidence only a little; what halves its score is that city -> state and state, salary -> rate say it.
    assert scores["city, salary -> rate"] < 0.6 * scores["state, salary -> rate"]
    # But what belongs beside another dependency stays near it.
    assert scores["zip -> state"] > 0.7 * scores["zip -> city"]


def test_scores_fall_from_1_to_0(laws: SearchResult) -> None:
    scores = [one.score for one in ranked(laws)]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] < scores[0] <= 1


def test_many_tested_pairs_beat_few() -> None:
    # b and c both follow from an a; but two rows alone share an a2.
    a = [i % 20 for i in range(200)]
    a2 = [*range(199), 0]
    noise = [(i * 7919) % 2 for i in range(200)]
    rules = texts(found_in({"a": a, "a2": a2, "b": [x % 3 for x in a], "noise": [*noise[:199], noise[0]]}))
    assert place_of("a -> b", rules) < place_of("a2 -> noise", rules)


def test_the_key_whose_column_stands_first_comes_first() -> None:
    rules = texts(found_in({"x": list(range(50)), "y": [f"{i}" for i in range(50)], "z": list(range(50, 100))}))
    assert rules[:3] == ["unique(x)", "unique(y)", "unique(z)"]


def test_a_key_that_is_mostly_null_comes_after_one_that_is_not() -> None:
    rules = texts(found_in({"rare": [*range(5), *[None] * 95], "id": [f"{i}" for i in range(100)]}))
    assert place_of("unique(id)", rules) < place_of("unique(rare)", rules)


def test_the_order_of_the_rows_does_not_matter(laws: SearchResult) -> None:
    columns = people()
    order = list(range(len(columns["id"])))
    random.Random(7).shuffle(order)
    shuffled = found_in({name: [values[i] for i in order] for name, values in columns.items()})
    assert texts(shuffled) == texts(laws)
    assert [one.rule.name for one in ranked(shuffled)] == [one.rule.name for one in ranked(laws)]


@pytest.mark.parametrize("nulls", ["sql", "equal"])
def test_kinds_are_what_the_rules_say_they_are(nulls: str) -> None:
    chance = random.Random(3)
    columns = {name: [chance.choice([None, 1, 2, 3, 4]) for _ in range(12)] for name in ("p", "q")}
    text = {"w": [chance.choice(["u", "v"]) for _ in range(12)]}
    options = DiscoverOptions(one_row=True, cross_columns=0.0, nulls=nulls)  # type: ignore[arg-type]
    rules = ranked(found_in({**columns, **text}, options))
    assert len(rules) > 10
    assert list(rules.kinds) == [kind_of([one.constraint]) for one in rules]
    assert list(rules.kinds) == [one.rule.kind for one in rules]
    assert [set(one.rule.body.denials) for one in rules] == [{one.constraint} for one in rules]


def test_a_rule_on_single_rows_speaks_of_t() -> None:
    low = [1, 2, 3, 5, 4, 2]
    found = found_in({"low": low, "high": [x + 1 for x in low]}, DiscoverOptions(one_row=True))
    best = ranked(found)[0]
    assert (str(best.constraint), best.rule.kind) == ("not(t.low >= t.high)", "row")
    assert best.rule.description == "every row's low is below its high"


def test_no_rules_are_ranked_as_none() -> None:
    assert list(ranked(found_in({"a": [1, 1], "b": [2, 2]}))) != []
    empty = found_in({"a": [1], "b": [2]})
    assert list(ranked(empty)) == []


def test_coverage_is_the_share_of_pairs_that_test_the_rule(laws: SearchResult) -> None:
    zip_city = next(one for one in ranked(laws) if str(one.rule) == "zip -> city")
    counts = np.unique(people()["zip"], return_counts=True)[1]  # type: ignore[call-overload]
    assert zip_city.support == int((counts * (counts - 1)).sum())
    assert zip_city.coverage == pytest.approx(zip_city.support / (300 * 299))


def test_names_are_unique_and_costs_do_not_grow_with_what_was_given() -> None:
    class Counting(set[str]):
        asked = 0

        def __contains__(self, name: object) -> bool:
            Counting.asked += 1
            return super().__contains__(name)

    names = Names()
    names._taken = Counting()
    given = [names.give("same") for _ in range(1000)]
    assert len(set(given)) == 1000
    assert given[:3] == ["same", "same-2", "same-3"]
    assert Counting.asked < 3000


def test_every_rule_has_a_name_of_its_own(laws: SearchResult) -> None:
    rules: list[Rule] = [one.rule for one in ranked(laws)]
    assert len({rule.name for rule in rules}) == len(rules)
