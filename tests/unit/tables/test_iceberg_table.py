"""Iceberg tables: their rows, what is wrong with a name, and states that follow their commits."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app
from holdfast.errors import HoldfastError, MissingPackageError, SourceError, SourceNotFoundError, StateError
from holdfast.tables.iceberg_table import open_iceberg
from holdfast.tables.read_local import read_local

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

SCHEMA = pa.schema([("id", pa.int64()), ("zip", pa.string()), ("city", pa.string()), ("n", pa.int32())])
RULES = ["zip -> city", "not(t.zip = s.zip and t.n > s.n and t.city < s.city)", "not(t.n > 7)"]
TABLE = "iceberg:shop.sales.people"


def rows(*some: tuple[int, str, str, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in some], schema=SCHEMA)


FIRST = rows((1, "10", "Ayr", 1), (2, "10", "Ayr", 2), (3, "20", "Bute", 9))


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A catalog in a file, with a namespace."""
    from pyiceberg.catalog import load_catalog

    where = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    for name, value in where.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__SHOP__{name.upper()}", value)
    opened = load_catalog("shop", **where)
    opened.create_namespace("sales")
    yield opened
    opened.close()


@pytest.fixture
def people(catalog: Any) -> Any:
    table = catalog.create_table("sales.people", schema=SCHEMA)
    table.append(FIRST)
    return table


def test_rows_are_those_of_the_newest_commit(people: Any) -> None:
    people.append(rows((4, "20", "Bute", 4)))
    people.delete("id = 1")
    table = read_local(TABLE)
    assert sorted(table.rows.to_pylist(), key=lambda row: row["id"]) == people.scan().to_arrow().to_pylist() != []
    assert table.sql_types == {"id": "bigint", "zip": "string", "city": "string", "n": "int"}
    assert table.notes == ("shop.sales.people is read as of version 3 of the Iceberg table",)
    assert read_local(TABLE, columns=["city"]).rows.column_names == ["city"]


def test_a_file_of_metadata_names_a_table_as_its_catalog_does(people: Any) -> None:
    location = people.metadata_location
    for name in (location, f"iceberg:{location}", location.removeprefix("file://")):
        found = read_local(name)
        assert (found.name, found.rows.to_pylist()) == ("people", FIRST.to_pylist())


def test_a_table_without_commits_has_columns_and_no_rows(catalog: Any) -> None:
    catalog.create_table("sales.none", schema=SCHEMA)
    table = read_local("iceberg:shop.sales.none")
    assert (table.rows.num_rows, table.rows.column_names) == (0, SCHEMA.names)


def test_a_check_and_a_discovery_read_the_table_as_they_do_any_other(people: Any) -> None:
    people.append(rows((4, "20", "Cork", 4)))
    now = people.scan().to_arrow()
    with hf.check(TABLE, RULES, key="id") as found, hf.check(now, RULES, key="id", engine="local") as expected:
        assert found.to_dict()["rules"] == expected.to_dict()["rules"]
        assert any(rule["violating_pairs"] for rule in found.to_dict()["rules"])
    assert hf.discover(TABLE).to_dict()["rules"] == hf.discover(now, engine="local").to_dict()["rules"]


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("iceberg:shop.sales.peple", SourceNotFoundError, "did you mean 'sales.people'?"),
        ("iceberg:shop.sale.people", SourceNotFoundError, "did you mean 'sales'? Namespaces: sales."),
        ("iceberg:nowhere.sales.people", SourceError, "PYICEBERG_CATALOG__NOWHERE__URI"),
        ("iceberg:people", HoldfastError, "write iceberg:catalog.namespace.table"),
        ("gone/v1.metadata.json", SourceNotFoundError, "There is no file gone/v1.metadata.json"),
    ],
)
def test_what_is_no_table_is_told_with_what_there_is(name: str, kind: type[HoldfastError], said: str) -> None:
    with pytest.raises(kind) as problem:
        read_local(name)
    assert said in str(problem.value)


def test_a_damaged_file_of_data_is_an_error_that_names_the_table(people: Any) -> None:
    for file in Path(people.location().removeprefix("file://")).rglob("*.parquet"):
        file.write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"shop\.sales\.people: the files of the Iceberg table cannot be read"):
        read_local(TABLE)


def test_without_the_package_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyiceberg.table", None)
    with pytest.raises(MissingPackageError, match=r'pip install "holdfast\[iceberg\]"'):
        open_iceberg(TABLE)


# States ---------------------------------------------------------------------------------------------------------------


def follow(state: hf.WatchState, **options: Any) -> list[tuple[str, Any]]:
    batches: list[tuple[str, Any]] = []
    state.follow(TABLE, once=True, on_batch=lambda outcome, name: batches.append((name, outcome)), **options)
    return batches


def assert_as_now(state: Path, table: Any) -> None:
    table.refresh()
    now = table.scan().to_arrow()
    shown = hf.WatchState.open(state).show()
    with hf.check(now, RULES, key="id", engine="local") as fresh:
        found = fresh.to_dict()["rules"]
    pairs = [r["violating_rows"] if r["violating_pairs"] is None else r["violating_pairs"] for r in found]
    assert shown.rows == now.num_rows
    assert dict(zip([r["name"] for r in found], pairs, strict=True)) == dict(shown.totals)


def test_random_commits_of_all_kinds_are_followed(people: Any, tmp_path: Path) -> None:
    place, chance = tmp_path / "state", random.Random(7)
    state = hf.WatchState.create(place, TABLE, RULES, key="id")
    assert follow(state) == []
    after, applied = 10, 0
    for _ in range(8):
        before = people.refresh().current_snapshot().sequence_number
        for _ in range(chance.randrange(1, 4)):
            some = rows(*((after + i, chance.choice(["10", "20"]), chance.choice("AB"), i) for i in range(3)))
            match chance.choice(["append", "delete", "upsert", "overwrite"]):
                case "append":
                    people.append(some)
                case "delete":
                    people.delete(f"id in ({', '.join(map(str, chance.sample(range(after), 3)))}) and zip = '10'")
                case "upsert":
                    low = rows(*((i, "20", chance.choice("AB"), 3) for i in chance.sample(range(1, after + 3), 3)))
                    people.upsert(low, join_cols=["id"])
                case _:
                    people.overwrite(some, overwrite_filter="n = 1")
            after += 3
        last = people.refresh().current_snapshot().sequence_number
        batches = follow(hf.WatchState.open(place))
        assert len(batches) == (last > before)
        applied += len(batches)
        if last > before + 1:
            assert batches[0][0] == f"shop.sales.people, versions {before + 1} to {last}"
        assert_as_now(place, people)
    assert applied >= 6
    assert follow(hf.WatchState.open(place)) == []


def test_commits_that_change_no_row_are_a_batch_without_changes(people: Any, tmp_path: Path) -> None:
    state = hf.WatchState.create(tmp_path / "state", TABLE, RULES, key="id")
    people.overwrite(people.scan().to_arrow())
    ((_, outcome),) = follow(state)
    assert (outcome.added_count, outcome.removed_count, outcome.rows) == (0, 0, 3)


def test_a_state_of_other_data_says_where_to_begin(people: Any, tmp_path: Path) -> None:
    state = hf.WatchState.create(tmp_path / "state", FIRST, RULES, key="id", engine="local")
    people.append(rows((4, "20", "Cork", 4)))
    with pytest.raises(StateError, match=r"was not made of the Iceberg table shop\.sales\.people"):
        follow(state)
    with pytest.raises(HoldfastError, match="has the versions 0 to 2"):
        follow(state, from_version=9)
    ((name, outcome),) = follow(state, from_version=2)
    assert (name, outcome.rows) == ("shop.sales.people, version 2", 4)
    assert_as_now(tmp_path / "state", people)


def test_a_version_that_has_expired_is_told_and_nothing_is_applied(people: Any, tmp_path: Path) -> None:
    state = hf.WatchState.create(tmp_path / "state", TABLE, RULES, key="id")
    first = people.current_snapshot().snapshot_id
    people.append(rows((4, "20", "Cork", 4)))
    people.maintenance.expire_snapshots().by_id(first).commit()
    with pytest.raises(StateError, match="no longer has its version 1"):
        follow(state)
    assert hf.WatchState.open(tmp_path / "state").status.version == 0


def test_a_new_column_is_told_and_nothing_is_applied(people: Any, tmp_path: Path) -> None:
    from pyiceberg.types import StringType

    state = hf.WatchState.create(tmp_path / "state", TABLE, RULES, key="id")
    with people.update_schema() as change:
        change.add_column("note", StringType())
    people.append(rows((4, "20", "Cork", 4)).append_column("note", pa.array(["x"])))
    with pytest.raises(HoldfastError, match="has a column 'note', which the state's table does not have"):
        follow(state)


def test_the_command_follows_it_and_so_does_evolve(people: Any, tmp_path: Path) -> None:
    def run(*words: str | Path) -> Any:
        done = CliRunner().invoke(app, [*map(str, words), "--quiet"])
        assert done.exit_code == 0, done.output
        return done.stdout

    run("watch", "init", tmp_path / "w", "--data", TABLE, "--rules", "zip -> city", "--key", "id")
    run("evolve", "init", tmp_path / "e", "--data", TABLE, "--key", "id")
    people.append(rows((4, "20", "Cork", 4)))
    line = json.loads(run("watch", "run", tmp_path / "w", "--source", TABLE, "--once", "--format", "json"))
    assert line["totals"] == {"zip-city": 1}
    assert "shop.sales.people, version 2" in run("evolve", "run", tmp_path / "e", "--source", TABLE, "--once")
    rules = {rule["rule"] for rule in hf.EvolveState.open(tmp_path / "e").show(top=None).to_dict()["rules"]}
    now = hf.discover(people.refresh().scan().to_arrow(), engine="local", top=None, arithmetic=False)
    assert rules == {str(rule.body) for rule in now.rules}


def test_one_of_several_tables_follows_it_and_another_a_folder(people: Any, tmp_path: Path) -> None:
    zips, incoming = tmp_path / "zips.csv", tmp_path / "incoming"
    zips.write_text("zip,since\n10,1\n", encoding="utf-8")
    tables: dict[str, Any] = {"people": TABLE, "zips": zips}
    rules = ["people(zip) in zips(zip)", "not(people.zip = zips.zip and people.n < zips.since)"]
    state = hf.WatchState.create(
        tmp_path / "state", tables, rules, key={"people": "id", "zips": "zip"}, types={"zip": "text"}
    )
    before = dict(state.status.totals)
    incoming.mkdir()
    (incoming / "1.csv").write_text("zip,since,_change_type\n20,3,insert\n", encoding="utf-8")
    people.append(rows((10, "20", "Cork", 2), (11, "30", "Dull", 2)))
    people.delete("id = 1")
    told: list[str] = []
    for _ in range(2):
        state.follow({"people": TABLE, "zips": incoming}, once=True, on_batch=lambda outcome, name: told.append(name))
    people.refresh()
    now = people.scan().to_arrow().to_pylist()
    missing = sum(row["zip"] not in ("10", "20") for row in now)
    early = sum(row["n"] < {"10": 1, "20": 3}.get(row["zip"], 0) for row in now)
    assert list(state.show().totals.values()) == [missing, early] != list(before.values())
    assert told == ["people: shop.sales.people, versions 2 to 3", "zips: 1.csv"]
    with pytest.raises(HoldfastError, match="has the versions 0 to 3"):
        state.follow({"people": TABLE}, once=True, from_version={"people": 9})
    with pytest.raises(HoldfastError, match="does not say of which table"):
        state.follow({"people": TABLE}, once=True, from_version=9)
