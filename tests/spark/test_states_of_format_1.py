"""States that were written in format 1 go on: they apply batches, and know those they have applied."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.api import evolve_apply, evolve_show, fragments_apply, fragments_show, watch_apply, watch_show

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
    for apply, show, name, before, after in (
        (watch_apply, watch_show, "watch", {"zip-city": 1, "unique-n": 0}, {"zip-city": 2, "unique-n": 1}),
        (fragments_apply, fragments_show, "fragments", {"zip-city": 2}, {"zip-city": 3}),
    ):
        assert not apply(states / name, states / "c.csv").applied  # type: ignore[operator]
        assert dict(show(states / name).totals) == before  # type: ignore[operator]
        outcome = apply(states / name, states / "d.csv")  # type: ignore[operator]
        assert outcome.applied
        assert dict(outcome.totals) == after
        assert dict(show(states / name).totals) == after  # type: ignore[operator]


def test_rules_go_on(spark: SparkSession, states: Path) -> None:
    assert not evolve_apply(states / "evolve", states / "c.csv").applied
    outcome = evolve_apply(states / "evolve", states / "d.csv")
    assert outcome.applied
    shown = evolve_show(states / "evolve")
    assert (shown.version, shown.found.rows, shown.batches) == (2, 4, 2)
