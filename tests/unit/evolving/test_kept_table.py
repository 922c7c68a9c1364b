"""Rules kept by indexes that lie in the state are those that a search from nothing finds, batch after batch, from rows
that the indexes name; what damages or lacks an index is noticed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holdfast.api import EvolveState
from holdfast.errors import StateError
from holdfast.evolving.kept_table import EQUAL
from holdfast.search.space import as_masks
from holdfast.states.limits import StateLimits
from holdfast.states.manifest import EvolveBody
from holdfast.states.store import open_store
from holdfast.states.versions import commit, latest
from unit.evolving.test_proving_pairs import found

OPTIONS: dict[str, Any] = {"exclude": ["id"], "cross_columns": "off", "max_predicates": 3}


def rows(random: np.random.Generator, ids: list[int]) -> pa.Table:
    """A code has a name but for few rows, a number is nearly a key; some values are null, or zeros of both signs."""
    size = len(ids)
    code = random.integers(0, 60, size)
    name = np.where(random.random(size) < 0.01, random.integers(0, 12, size), code // 5)
    amount = random.integers(0, 400, size) / 4.0
    return pa.table(
        {
            "id": ids,
            "code": pa.array([f"c{c}" for c in code.tolist()], mask=random.random(size) < 0.02),
            "name": name,
            "amount": pa.array(np.where(amount == 0, -0.0, amount), mask=random.random(size) < 0.02),
            "number": pa.array(random.permutation(4 * size)[:size]).cast(pa.decimal128(23, 2)),
        }
    )


class Evolving:
    """A state of a table with its rows beside it, and batches of changes that are as many as asked for."""

    def __init__(self, folder: Path, nulls: str = "sql", size: int = 150) -> None:
        self.random, self.nulls, self.folder = np.random.default_rng(7), nulls, folder
        self.there = dict(enumerate(rows(self.random, list(range(size))).to_pylist()))
        self.schema, self.fresh = rows(self.random, [0]).schema, size
        pq.write_table(self.table, folder / "data.parquet")
        options = {**OPTIONS, "nulls": nulls}
        self.place = folder / "state"
        EvolveState.create(
            self.place, folder / "data.parquet", key="id", engine="local", strategy="index", options=options
        )

    @property
    def table(self) -> pa.Table:
        return pa.Table.from_pylist(list(self.there.values()), self.schema)

    def changes(self, go: int, update: int, come: int) -> Path:
        chosen = self.random.permutation(list(self.there))[: go + update].tolist()
        new = list(range(self.fresh, self.fresh + come))
        self.fresh += come
        lines = []
        for kind, ids in (("delete", chosen[:go]), ("update_postimage", chosen[go:]), ("insert", new)):
            for row in rows(self.random, ids).to_pylist():
                lines.append({**row, "_change_type": kind})
                self.there[row["id"]] = row
        for gone in chosen[:go]:
            del self.there[gone]
        file = self.folder / f"changes-{self.fresh}-{len(self.there)}.parquet"
        pq.write_table(pa.Table.from_pylist(lines, self.schema.append(pa.field("_change_type", pa.string()))), file)
        return file

    def applied(self, file: Path) -> str:
        """The batch is in, and the rules are those of a search; how they were kept."""
        state = EvolveState.open(self.place, engine="local")
        state._table = state._table.with_limits(StateLimits(files_of_one_size=3, kept_versions=3))
        outcome = state.apply(file)
        kept = state._table.newest().kept
        assert {str(kept.space.constraint(mask)) for mask in as_masks(kept.masks)} == found(self.table, self.nulls)
        return outcome.change.strategy

    @property
    def files_of_indexes(self) -> list[Path]:
        return sorted(file for folder in self.place.glob(f"{EQUAL}*") for file in folder.iterdir())


@pytest.mark.parametrize("nulls", ["sql", "equal"])
def test_batches_read_the_rows_that_indexes_name(tmp_path: Path, nulls: str) -> None:
    one = Evolving(tmp_path, nulls)
    sizes = [(3, 4, 5), (0, 0, 6), (5, 0, 0), (0, 8, 0), (20, 1, 1), (0, 0, 30), (2, 2, 2), (1, 1, 1), (0, 3, 0)]
    ways = [one.applied(one.changes(*size)) for size in sizes]
    assert sum("kept indexes named" in way for way in ways) > len(ways) // 2, ways
    now = latest(open_store(one.place), EvolveBody)
    indexes = {name: table for name, table in now.body.tables.items() if name.startswith(EQUAL)}
    assert indexes
    assert max(len(table.segments) for table in indexes.values()) < 6, "files are merged"
    assert len(one.files_of_indexes) < 60
    assert not EvolveState.verify(one.place).problems


def test_an_index_of_which_a_file_is_damaged_is_named(tmp_path: Path) -> None:
    one = Evolving(tmp_path)
    first = one.changes(0, 2, 2)
    assert one.files_of_indexes
    for number, file in enumerate(one.files_of_indexes):
        copy = shutil.copytree(one.place, tmp_path / f"copy-{number}")
        damaged = copy / file.relative_to(one.place)
        content = bytearray(damaged.read_bytes())
        content[len(content) // 2] ^= 4
        damaged.write_bytes(content)
        with pytest.raises(StateError, match=damaged.name):
            EvolveState.open(copy, engine="local").apply(first)
        damaged.unlink()
        assert [*EvolveState.verify(copy).problems] == [damaged.relative_to(copy).as_posix()]
    assert one.applied(first)


def test_indexes_that_missed_a_batch_are_made_anew(tmp_path: Path) -> None:
    one = Evolving(tmp_path)
    assert "kept indexes named" in one.applied(one.changes(1, 1, 1))
    store = open_store(one.place)
    now = latest(store, EvolveBody)
    # As if somebody had applied a batch who knows nothing of indexes.
    commit(store, replace(now, version=now.version + 1, applied=now.applied + 1, batches=("unknown",), log=()))
    before = {*one.files_of_indexes}
    assert "kept indexes named" not in one.applied(one.changes(1, 1, 1))
    assert {*one.files_of_indexes} - before
    assert "kept indexes named" in one.applied(one.changes(1, 1, 1))


def test_a_state_without_indexes_and_pairs_gets_them_with_the_next_batch(tmp_path: Path) -> None:
    one = Evolving(tmp_path)
    store = open_store(one.place)
    now = latest(store, EvolveBody)
    bare = replace(EvolveState.open(one.place, engine="local")._table.kept, pairs=None)
    store.create("kept/earlier.npz", bare.to_bytes())
    tables = {name: table for name, table in now.body.tables.items() if not name.startswith(EQUAL)}
    options = {name: value for name, value in now.body.options.items() if name != "indexed"}
    body = replace(now.body, tables=tables, kept="kept/earlier.npz", options=options)
    commit(store, replace(now, version=now.version + 1, body=body, sums={}, log=()))
    assert "indexed" not in json.loads(max((one.place / "versions").iterdir()).read_text())["options"]
    assert "kept indexes named" not in one.applied(one.changes(3, 1, 1))
    assert "kept indexes named" in one.applied(one.changes(3, 1, 1))
    assert not EvolveState.verify(one.place).problems
