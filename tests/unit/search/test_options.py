"""Options say what is wrong with them before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import OptionError
from holdfast.search.options import DiscoverOptions, how_many, overlap


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cross_columns": 1.5}, "cross-columns is 1.5"),
        ({"cross_columns": -0.1}, "cross-columns is -0.1"),
        ({"cross_columns": float("nan")}, "cross-columns is nan"),
        ({"max_predicates": 0}, "max-predicates is 0"),
        ({"time_limit": 0}, "time-limit is 0"),
        ({"time_limit": -1.0}, "time-limit is -1"),
        ({"strategy": "fast"}, "'fast' is no strategy"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said) as refused:
        DiscoverOptions(**given)
    assert "Hint:" in str(refused.value)


@pytest.mark.parametrize(
    ("given", "wanted"), [("off", None), (" OFF ", None), (None, None), ("0.5", 0.5), (0, 0.0), (1, 1.0)]
)
def test_overlap_is_a_share_or_off(given: Any, wanted: float | None) -> None:
    assert overlap(given) == wanted


@pytest.mark.parametrize(("given", "wanted"), [("all", None), (" All", None), (None, None), ("7", 7), (50, 50)])
def test_how_many_rules_are_shown(given: Any, wanted: int | None) -> None:
    assert how_many(given) == wanted


@pytest.mark.parametrize("given", ["", "0", 0, -1, "-3", "1.5", "many"])
def test_no_number_of_rules(given: Any) -> None:
    with pytest.raises(OptionError, match="no number of rules"):
        how_many(given)


@pytest.mark.parametrize("given", ["", "on", "30 %"])
def test_no_share(given: str) -> None:
    with pytest.raises(OptionError, match="no share"):
        overlap(given)
