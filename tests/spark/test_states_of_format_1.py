"""States that were written in format 1 go on: they apply batches, and know those they have applied."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.api import EvolveState, FragmentsState, WatchState

ARCHIVE = Path(__file__).parent.parent / "unit" / "states" / "states_of_format_1.tar.gz"
APPLIED = "_change_type,id,zip,city,n\ninsert,4,2,d,9\ndelete,2,1,b,7\n"


@pytest.fixture
def states(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "c.csv").write_text(APPLIED)
    (tmp_path / "d.csv").write_text("_change_type,id,zip,city,n\ndelete,4,2,d,9\ninsert,5,1,b,5\n")
    return tmp_path


def test_violations_go_on(spark: SparkSession, states: Path) -> None:
    kinds: list[tuple[type[WatchState] | type[FragmentsState], str, dict[str, int], dict[str, int]]] = [
        (WatchState, "watch", {"zip-city": 1, "unique-n": 0}, {"zip-city": 2, "unique-n": 1}),
        (FragmentsState, "fragments", {"zip-city": 2}, {"zip-city": 3}),
    ]
    for kind, name, before, after in kinds:
        state = kind.open(states / name)
        assert not state.apply(states / "c.csv").applied
        assert dict(state.show().totals) == before
        outcome = state.apply(states / "d.csv")
        assert outcome.applied
        assert dict(outcome.totals) == after
        assert dict(state.show().totals) == after


def test_rules_go_on(spark: SparkSession, states: Path) -> None:
    assert not EvolveState.open(states / "evolve").apply(states / "c.csv").applied
    outcome = EvolveState.open(states / "evolve").apply(states / "d.csv")
    assert outcome.applied
    shown = EvolveState.open(states / "evolve").show()
    assert (shown.version, shown.found.rows, shown.batches) == (2, 4, 2)
