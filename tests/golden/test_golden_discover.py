"""Discovery on the papers' tables finds what was worked out for them by brute force."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.engines.discovery import DiscoverResult
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.parse import parse_constraint
from holdfast.search.options import Strategy

DATA = Path(__file__).parent / "data"
GOLDEN = yaml.safe_load((DATA / "expected.yaml").read_text(encoding="utf-8"))
STAFF, TAX = GOLDEN["staff.csv"], GOLDEN["tax_r1.csv"]
STRATEGIES: tuple[Strategy, ...] = ("all-pairs", "hybrid")


def constraints(found: DiscoverResult) -> list[DenialConstraint]:
    return [one.constraint for one in found.outcome.found]


def either_way_round(some: Iterable[DenialConstraint | str]) -> set[frozenset[DenialConstraint]]:
    """Each constraint with its mirror image: which of the two is shown is a matter of taste."""
    parsed = (parse_constraint(one) if isinstance(one, str) else one for one in some)
    return {frozenset((one, one.mirrored())) for one in parsed}


def tax_after_the_insert(folder: Path) -> Path:
    first, more = ((DATA / name).read_text(encoding="utf-8").splitlines() for name in ("tax_r1.csv", TAX["insert"]))
    assert first[0] == more[0]
    path = folder / "tax.csv"
    path.write_text("\n".join([*first, *more[1:]]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_staff_holds_21_rules_among_them_what_the_paper_names(spark: SparkSession, strategy: Strategy) -> None:
    found = constraints(hf.discover(DATA / "staff.csv", cross_columns="off", top="all", strategy=strategy))
    assert len(found) == STAFF["rules_found"]
    assert len(either_way_round(found)) == STAFF["rules_found"]
    for text in [*STAFF["valid"], *STAFF["implies"]["also"]]:
        assert any(one.implies(parse_constraint(text)) for one in found), text
    assert either_way_round([STAFF["implies"]["rule"]]) <= either_way_round(found)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_tax_holds_exactly_the_listed_rules(spark: SparkSession, strategy: Strategy) -> None:
    listed = TAX["evolve"]
    found = hf.discover(
        DATA / "tax_r1.csv", columns=listed["columns"], cross_columns="off", top="all", strategy=strategy
    )
    assert either_way_round(constraints(found)) == either_way_round(listed["before"])
    assert len(constraints(found)) == len(listed["before"])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_insert_takes_away_and_adds_exactly_the_listed_rules(
    spark: SparkSession, strategy: Strategy, tmp_path: Path
) -> None:
    listed = TAX["evolve"]
    path = tax_after_the_insert(tmp_path)
    found = hf.discover(path, columns=listed["columns"], cross_columns="off", top="all", strategy=strategy)
    before, removed, added = (either_way_round(listed[part]) for part in ("before", "removed", "added"))
    assert removed <= before
    assert either_way_round(constraints(found)) == before - removed | added
    assert len(constraints(found)) == listed["total_after"]
