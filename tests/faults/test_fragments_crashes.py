"""A state of fragments that is interrupted at any moment of a batch applies it once, when it is given again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from holdfast.engines.spark.fragments import fragments as on_spark
from holdfast.engines.spark.fragments import fragments_init
from holdfast.engines.states import state_table
from holdfast.fragments.sites import parse_sites
from holdfast.states import versions
from holdfast.states.manifest import Manifest
from holdfast.states.store import Store

SITES = """
key: id
sites:
  L: {columns: [a], data: L.parquet}
  R: {columns: [b], data: R.parquet}
rules: ["a -> b"]
"""


class Killed(BaseException):
    """What a process that is killed does not catch."""


def test_a_batch_is_applied_once_whenever_it_is_cut_off(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"id": [1, 2, 3], "a": [0, 0, 1], "b": [0, 0, 0]})
    for name, column in (("L", "a"), ("R", "b")):
        pq.write_table(rows.select(["id", column]), tmp_path / f"{name}.parquet")
    place = str(tmp_path / "state")
    sites = parse_sites(SITES, folder=tmp_path)

    def cut_off(where: object, name: str, action: Callable[[], object], after: int = -1) -> None:
        """The action, in which the process is killed when it calls the function with a version later than `after`."""
        whole = getattr(where, name)

        def killed(store: Store, version: Manifest[Any]) -> None:
            if version.version > after:
                raise Killed
            whole(store, version)

        with monkeypatch.context() as patch:
            patch.setattr(where, name, killed)
            with pytest.raises(Killed):
                action()

    # While the state is made: what is left behind is no state, and making it again goes well.
    cut_off(fragments_init, "commit", lambda: fragments_init.init_fragments(spark, sites, place))
    fragments_init.init_fragments(spark, sites, place)
    wanted = [({("a-b", 1), ("a-b", 2), ("a-b", 4)}, set()), (set(), {("a-b", 1), ("a-b", 2), ("a-b", 4)})]
    changes = [{"id": [4], "a": [0], "b": [7], "_change_type": ["insert"]}, {"id": [4], "_change_type": ["delete"]}]
    for number, (change, told) in enumerate(zip(changes, wanted, strict=True)):
        file = str(tmp_path / f"{number}.parquet")
        pq.write_table(pa.table(change), file)
        before = on_spark.fragmented(spark, place).manifest
        # Before the version is there, nothing has happened; after it, all has, and the log is put right later.
        apply = partial(lambda name: on_spark.fragmented(spark, place).apply_file(name, limit=None), file)
        cut_off(state_table, "commit", apply)
        assert on_spark.fragmented(spark, place).manifest == before
        late = number == 1
        if late:
            cut_off(versions, "publish", apply, after=before.version)
        outcome = apply()
        assert outcome.applied is not late
        if not late:
            added, removed = ({(v.rule, v.left) for v in some} for some in (outcome.added, outcome.removed))
            assert (added, removed) == told
        assert outcome.totals == {"a-b": 3 if number == 0 else 0}
        assert not apply().applied
    log = [row for file in (tmp_path / "state" / "changes").iterdir() for row in pq.read_table(file).to_pylist()]
    assert {(row["left"], row["change"]) for row in log} == {(key, sign) for key in (1, 2, 4) for sign in (1, -1)}
    assert len(log) == 6
    assert on_spark.fragmented(spark, place).violations.count() == 0
