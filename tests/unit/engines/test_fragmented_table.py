"""Fragments in this process: nothing but keys, ids and counts crosses, types meet, and what is none is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import holdfast
from holdfast.engines.local import local_engine
from holdfast.engines.local.local_engine import LocalEngine
from holdfast.engines.states.fragment_meetings import meetings_of
from holdfast.engines.states.fragmented_table import FragmentedTable, fragmented
from holdfast.engines.states.init_fragments import init_fragments
from holdfast.engines.states.state_engine import StateEngine
from holdfast.engines.states.watched_table import watched
from holdfast.errors import HoldfastError, OnlySparkError, StateError
from holdfast.fragments import ids
from holdfast.fragments.shipment_plan import plan_shipments
from holdfast.fragments.sites import Site, SplitTable, parse_sites
from holdfast.rules.rule import rule_set
from holdfast.states.file_sums import CHECKED
from holdfast.states.limits import StateLimits

HERE = LocalEngine()
PEOPLE = [
    {"id": f"k{i}", "town": f"town-{i % 4}", "zip": f"zip-{i % 3}", "street": f"street-{i % 2}", "grade": "ABC"[i % 3]}
    for i in range(12)
]
RULES = (
    "[\"zip -> street\", \"town = 'town-1', zip -> grade\", \"zip = 'zip-0', town = 'town-0' -> street = 'street-1'\"]"
)
VERTICAL = f"""
key: id
sites:
  T: {{columns: [town], data: T.parquet}}
  Z: {{columns: [zip], data: Z.parquet}}
  S: {{columns: [street, grade], data: S.parquet}}
rules: {RULES}
"""
HORIZONTAL = f"""
key: id
sites:
  A: {{where: "grade = 'A'", data: A.parquet}}
  B: {{where: "grade = 'B'", data: B.parquet}}
  C: {{where: "grade = 'C'", data: C.parquet}}
rules: {RULES}
"""
HYBRID = f"""
key: id
sites:
  A1: {{where: "grade < 'B'", columns: [town, grade], data: A1.parquet}}
  A2: {{where: "grade < 'B'", columns: [zip, street], data: A2.parquet}}
  R: {{where: "grade >= 'B'", data: R.parquet}}
rules: {RULES}
"""


def written(folder: Path) -> None:
    table = pa.Table.from_pylist(PEOPLE)
    for name, columns in (("T", ["town"]), ("Z", ["zip"]), ("S", ["street", "grade"])):
        pq.write_table(table.select(["id", *columns]), folder / f"{name}.parquet")
    for grade in "ABC":
        pq.write_table(table.filter(pc.equal(table.column("grade"), grade)), folder / f"{grade}.parquet")
    first = pc.equal(table.column("grade"), "A")
    pq.write_table(table.filter(first).select(["id", "town", "grade"]), folder / "A1.parquet")
    pq.write_table(table.filter(first).select(["id", "zip", "street"]), folder / "A2.parquet")
    pq.write_table(table.filter(pc.invert(first)), folder / "R.parquet")
    changed = [
        {**PEOPLE[0], "id": "k90", "_change_type": "insert"},
        {**PEOPLE[1], "street": "street-9", "_change_type": "update_postimage"},
        {**PEOPLE[2], "_change_type": "delete"},
        {**PEOPLE[3], "grade": "C", "zip": "zip-7", "_change_type": "update_postimage"},
    ]
    pq.write_table(pa.Table.from_pylist(changed), folder / "changes.parquet")


def made(engine: StateEngine, folder: Path, text: str) -> FragmentedTable:
    written(folder)
    (folder / "crossings").mkdir()
    sites = parse_sites(text, folder=folder)
    # Who asks whom depends on the ids.
    return init_fragments(engine, sites, folder / "state", record=str(folder / "crossings"), secret=bytes(16))[0]


def test_no_value_of_the_table_crosses_between_sites_and_all_splits_tell_the_same(tmp_path: Path) -> None:
    limits = StateLimits(files_of_one_size=2)  # files are merged after every other batch
    told = []
    for name, text in (("v", VERTICAL), ("h", HORIZONTAL), ("y", HYBRID)):
        folder = tmp_path / name
        folder.mkdir()
        state = made(HERE, folder, text).with_limits(limits)
        totals = dict(state.manifest.totals)
        first = sum(pq.read_metadata(file).num_rows for file in (folder / "crossings").iterdir())
        outcome = state.newest().apply_file(str(folder / "changes.parquet"), limit=None)
        rows = assert_only_keys_ids_and_counts(folder)
        assert rows == first + outcome.shipped.eqids + outcome.shipped.tuples > first
        told.append([totals, outcome.added, outcome.removed, outcome.totals])
        for number, rows_of in enumerate((PEOPLE[4:7], PEOPLE[1:2])):
            gone = {"id": [row["id"] for row in rows_of], "_change_type": ["delete"] * len(rows_of)}
            pq.write_table(pa.table(gone), folder / f"gone{number}.parquet")
            outcome = state.newest().apply_file(str(folder / f"gone{number}.parquet"), limit=None)
            told[-1] += [outcome.added, outcome.removed, outcome.totals]
        later = state.newest()
        assert later.manifest.version > 3, "files have been merged, in a version of its own"
        assert later.violations.count() == sum(outcome.totals.values())
    assert told[0] == told[1] == told[2]
    assert told[0][1]


@pytest.mark.parametrize("text", [VERTICAL, HORIZONTAL, HYBRID], ids=["vertical", "horizontal", "hybrid"])
def test_a_few_parts_at_a_time_tell_what_all_parts_together_do(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, files = [], []
    for most in (1, 5, 1000):
        monkeypatch.setattr(local_engine, "PIECE_ROWS", most)
        # Packed rows of as many bytes go into one array.
        monkeypatch.setattr(ids, "MOST_BYTES", 20 * most)
        folder = tmp_path / str(most)
        folder.mkdir()
        state = made(HERE, folder, text)
        files.append(sum(len(table.segments) for table in state.manifest.body.tables.values()))
        outcome = state.newest().apply_file(str(folder / "changes.parquet"), limit=None)
        told.append([state.manifest.totals, outcome.added, outcome.removed, outcome.totals, outcome.shipped])
    assert told[0] == told[1] == told[2]
    assert files[0] >= files[1] > files[2]


def assert_only_keys_ids_and_counts(folder: Path) -> int:
    """So many rows have crossed; neither among them nor in the state is any value of the table."""
    keys = {row["id"] for row in PEOPLE} | {"k90"}
    values = {value for row in PEOPLE for name, value in row.items() if name != "id" and len(value) > 1}
    rows = 0
    for file in (folder / "crossings").iterdir():
        table = pq.read_table(file)
        rows += table.num_rows
        assert set(table.column_names) <= {"key", "id", "side", "n"}
        for name in table.column_names:
            listed = table.column(name).to_pylist()
            if name == "key":
                assert set(listed) <= keys
            elif name == "n":
                assert all(-1 <= count < 16 for count in listed)
            else:
                assert all(len(one) in (0, 16) for one in listed)
        assert not any(value.encode() in file.read_bytes() for value in values)
    kept = list((folder / "state").rglob("*.arrow"))
    assert kept
    assert not any(value.encode() in file.read_bytes() for file in kept for value in values)
    return rows


def test_values_of_other_types_are_the_same_values(tmp_path: Path) -> None:
    parts = {"X": (pa.int64(), [1, 0]), "Y": (pa.float64(), [1.0, -0.0])}
    for number, (name, (kind, some)) in enumerate(parts.items()):
        table = {
            "id": [10 * number, 10 * number + 1],
            "n": pa.array(some, kind),
            "b": [number, number],
            "s": [number] * 2,
        }
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    text = (
        "key: id\nsites:\n  X: {where: s = 0, data: X.parquet}\n  Y: {where: s = 1, data: Y.parquet}\nrules: [n -> b]\n"
    )
    state, _ = init_fragments(HERE, parse_sites(text, folder=tmp_path), tmp_path / "state")
    assert state.manifest.totals == {"n-b": 4}


def test_conditions_on_the_left_side_need_nobody_else(tmp_path: Path) -> None:
    """Rows of two sites meet in no group where the sites' conditions speak of left columns, or contradict a pattern."""
    rules = '["grade, zip -> street", "grade = \'A\', zip -> town", "town = \'town-1\', zip -> street"]'
    state = made(HERE, tmp_path, HORIZONTAL.replace(RULES, rules))
    pairs = {(i, j) for i in range(3) for j in range(i, 3)}
    assert state.fixed.meetings.apart == {(part, *pair) for part in (0, 1) for pair in pairs}
    cut = HORIZONTAL.replace(RULES, rules).replace("grade = 'B'", "grade = 'B' and town in ('town-1', 'town-5')")
    sites = parse_sites(cut.replace("grade = 'C'", "grade = 'C' or grade = 'B' and town not in ('town-1', 'town-5')"))
    whole = plan_shipments(sites, ["id", "town", "zip", "street", "grade"])
    # The second rule speaks of grade A, so that it cannot be met where B is wanted, whatever else is.
    apart = meetings_of(HERE, whole, state.manifest.schema).apart
    assert {(1, 0, 1), (1, 1, 1), (1, 1, 2)} <= apart
    assert (2, 0, 1) not in apart
    shipped = state.newest().apply_file(str(tmp_path / "changes.parquet"), limit=None).shipped
    assert shipped.tuples <= 8


def test_a_value_that_fits_no_common_type_is_refused(tmp_path: Path) -> None:
    for name, value in (("X", 2**53 + 1), ("Y", 0.5)):
        rows = {"id": [name], "zip": [value], "street": ["s"], "s": [name]}
        pq.write_table(pa.table(rows), tmp_path / f"{name}.parquet")
    sites = "  X: {where: s = 'X', data: X.parquet}\n  Y: {where: s = 'Y', data: Y.parquet}\n"
    told = refused(tmp_path, f"key: id\nsites:\n{sites}rules: [zip -> street]\n")
    assert "the value 9007199254740993 of the column 'zip' does not fit" in told


@pytest.mark.parametrize("name", ["it's", 'in "', "2nd", "a`b"])
def test_rows_meet_whatever_the_column_is_called_that_splits_them(name: str, tmp_path: Path) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    rows = pa.table({"id": [1, 2, 3], name: ["A", "B", "B"], "zip": ["z", "z", "y"], "street": ["s", "t", "u"]})
    sites = tuple(Site(letter, where=f"{quoted} = '{letter}'") for letter in "AB")
    split = SplitTable(("id",), sites, rule_set(["zip -> street"], key=("id",)))
    tables = [HERE.table_of(rows.filter(pc.equal(rows.column(name), letter)), letter) for letter in "AB"]
    state, _ = init_fragments(HERE, split, tmp_path / "state", tables=tables)
    assert state.manifest.totals == {"zip-street": 2}


def make_older(state: Path) -> None:
    """The state is one of the first format of what it fixes, with manifests of the second, which had no sums."""
    fixed = state / "fragments.json"
    fixed.write_text(json.dumps({**json.loads(fixed.read_text("utf-8")), "format": 1}), encoding="utf-8")
    for manifest in (state / "versions").glob("*.json"):
        content = json.loads(manifest.read_text("utf-8"))
        older = {name: value for name, value in content.items() if name not in ("sums", "past", "sum")}
        manifest.write_text(json.dumps({**older, "format": 2}), encoding="utf-8")


def test_a_state_that_may_have_misread_its_conditions_is_not_trusted(tmp_path: Path) -> None:
    """The first format fixed who meets whom by what it understood of conditions, which was not all."""
    made(HERE, tmp_path, HORIZONTAL.replace("grade = 'A'", "`grade` = 'A'"))
    make_older(tmp_path / "state")
    with pytest.raises(StateError, match="misread the condition `grade` = 'A'"):
        fragmented(HERE, tmp_path / "state")


def test_a_state_of_the_first_format_with_floats_is_for_spark(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2], "a": [0.5, 0.5], "b": ["x", "y"]})
    split = SplitTable(("id",), (Site("S", ("a", "b")),), rule_set(["a -> b"], key=("id",)))
    init_fragments(HERE, split, tmp_path / "state", tables=[HERE.table_of(rows, "S")])
    make_older(tmp_path / "state")
    with pytest.raises(OnlySparkError, match="only Spark writes"):
        fragmented(HERE, tmp_path / "state").apply_frame(rows, batch="again", limit=None)


def test_keys_of_two_columns_and_files_of_text(tmp_path: Path) -> None:
    (tmp_path / "X.csv").write_text("a,b,zip,town,s\n1,x,00123,Leith,0\n2,x,00124,Leith,0\n")
    (tmp_path / "Y.csv").write_text("a,b,zip,town,s\n1,y,45678,Perth,1\n")
    rows = "  X: {where: s = 0, data: X.csv}\n  Y: {where: s = 1, data: Y.csv}\n"
    (tmp_path / "sites.yaml").write_text(f"key: [a, b]\nsites:\n{rows}rules: [zip -> town]\n")
    status = holdfast.FragmentsState.create(tmp_path / "state", tmp_path / "sites.yaml").status
    assert (status.rows, status.totals) == (3, {"zip-town": 0})
    # Leading zeros make the column text, also where a file has none.
    (tmp_path / "new.csv").write_text("a,b,zip,town,s\n9,y,00123,Ayr,1\n9,z,045678,Ayr,1\n")
    told = holdfast.FragmentsState.open(tmp_path / "state").apply(tmp_path / "new.csv").to_dict()
    assert told["added"] == [{"rule": "zip-town", "key": [1, "x"]}, {"rule": "zip-town", "key": [9, "y"]}]
    (tmp_path / "gone.csv").write_text("a,b,_change_type\n9,y,delete\n")
    told = holdfast.FragmentsState.open(tmp_path / "state").apply(tmp_path / "gone.csv").to_dict()
    assert (told["removed_count"], told["totals"]) == (2, {"zip-town": 0})


def refused(folder: Path, text: str) -> str:
    with pytest.raises(HoldfastError) as problem:
        init_fragments(HERE, parse_sites(text, folder=folder), folder / "refused")
    assert not (folder / "refused" / "versions").exists() or not list((folder / "refused" / "versions").iterdir())
    shutil.rmtree(folder / "refused", ignore_errors=True)
    assert problem.value.exit_code == 2
    return str(problem.value)


def test_fragments_that_are_none_are_refused(tmp_path: Path) -> None:
    written(tmp_path)
    table = pq.read_table(tmp_path / "Z.parquet")
    pq.write_table(table.slice(1), tmp_path / "short.parquet")
    pq.write_table(pa.concat_tables([table, table.slice(3, 1)]), tmp_path / "double.parquet")
    pq.write_table(table.rename_columns(["key", "zip"]), tmp_path / "keyless.parquet")
    assert "'T' has the key 'k0', but 'Z' has not" in refused(tmp_path, VERTICAL.replace("Z.parq", "short.parq"))
    assert "the key 'k3' stands twice at site 'Z'" in refused(tmp_path, VERTICAL.replace("Z.parq", "double.parq"))
    assert "lacks the key 'id'" in refused(tmp_path, VERTICAL.replace("Z.parq", "keyless.parq"))
    assert "lacks the column 'zap'" in refused(tmp_path, VERTICAL.replace("[zip]", "[zip, zap]"))
    overlapping = refused(tmp_path, HORIZONTAL.replace("grade = 'B'", "grade <= 'B'"))
    assert "at site 'A' also satisfies grade <= 'B'" in overlapping
    left_out = refused(tmp_path, HORIZONTAL.replace("grade = 'C'", "grade = 'D'"))
    assert "at site 'C' does not satisfy the site's condition grade = 'D'" in left_out
    assert "does not say where its data is" in refused(tmp_path, VERTICAL.replace(", data: Z.parquet", ""))
    assert "cannot be computed" in refused(tmp_path, HORIZONTAL.replace("grade = 'C'", "grade === 'C'"))


def test_changes_that_do_not_fit_change_nothing(tmp_path: Path) -> None:
    state = made(HERE, tmp_path, HORIZONTAL)

    def files() -> list[str]:
        """All but the note of which files were read and found whole."""
        return sorted(f.name for f in (tmp_path / "state").rglob("*") if f.is_file() and f.name != CHECKED)

    before = files()
    for change, told in (
        ({**PEOPLE[0], "id": "new", "grade": "Q"}, "belongs to no site"),
        ({**PEOPLE[0]}, "'k0' is inserted, but is there already"),
        ({**PEOPLE[0], "id": "gone", "_change_type": "delete"}, "'gone' is deleted, but is not there"),
        ({"id": "new", "town": "x"}, "lack columns"),
        ({**PEOPLE[0], "id": None}, "a row without a key"),
    ):
        texts = pa.schema([(name, pa.string()) for name in change])
        pq.write_table(pa.Table.from_pylist([change], texts), tmp_path / "bad.parquet")
        with pytest.raises(HoldfastError) as problem:
            state.newest().apply_file(str(tmp_path / "bad.parquet"), limit=None)
        assert told in str(problem.value)
        assert problem.value.exit_code == 2
        assert files() == before


def test_states_of_watch_and_of_fragments_are_told_apart(tmp_path: Path) -> None:
    made(HERE, tmp_path, VERTICAL)
    with pytest.raises(HoldfastError, match="made by holdfast fragments"):
        watched(HERE, tmp_path / "state")
    with pytest.raises(HoldfastError, match="there is no state"):
        fragmented(HERE, tmp_path / "nothing")
