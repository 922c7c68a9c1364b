"""A state with a damaged file names it and changes nothing, or answers as if nothing had happened; never wrongly.

Damages are those of disks and of people: a bit, a page of zeros, a file cut short, two files in each other's place, one
that is gone. All without Spark; a state of fragments is looked at as far as that goes.
"""

from __future__ import annotations

import json
import random
import shutil
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.api import EvolveState, FragmentsState, WatchState
from holdfast.errors import StateError
from holdfast.states.limits import StateLimits
from holdfast.states.manifest import FragmentsBody
from holdfast.states.store import open_store
from holdfast.states.versions import commit, latest, past_versions

RULES = ["zip -> city", "not(t.zip = s.zip and t.n < s.n and t.m > s.m)", "not(t.n < 0)"]
ARCHIVE = Path(__file__).parent.parent / "unit" / "states" / "states_of_format_1.tar.gz"
SEEDS = 60
# Files that are of no use to an answer: who writes, and what was found whole.
ASIDE = {"writer.lock", "checked.json", "newest"}


def rows_csv(chance: random.Random, ids: Sequence[int], kinds: Sequence[str] | None = None) -> str:
    lines = [",".join([*([] if kinds is None else ["_change_type"]), "id", "zip", "city", "n", "m"])]
    for at, i in enumerate(ids):
        own = [] if kinds is None else [kinds[at]]
        values = [i, chance.randrange(9), f"c{chance.randrange(4)}", chance.randrange(-1, 20), chance.randrange(20)]
        lines.append(",".join(map(str, [*own, *values])))
    return "\n".join(lines) + "\n"


def written_batches(folder: Path, batches: int) -> tuple[Path, list[Path]]:
    """A table of 120 rows, and files of changes, each of which adds, updates and deletes some."""
    chance, data = random.Random(5), folder / "data.csv"
    data.write_text(rows_csv(chance, range(120)))
    files = []
    for batch in range(batches):
        ids = [batch * 4, batch * 4 + 1, 1000 + batch]
        files.append(folder / f"batch-{batch}.csv")
        files[-1].write_text(rows_csv(chance, ids, ["delete", "update_postimage", "insert"]))
    return data, files


def applied(kind: type[Any], place: Path, file: Path) -> Any:
    state = kind.open(place, engine="local")
    state._table = state._table.with_limits(StateLimits(kept_versions=3, files_of_one_size=4))
    return state.apply(file)


def watch_answer(place: Path, file: Path) -> Any:
    outcome = applied(WatchState, place, file)
    shown = WatchState.open(place, engine="local").show()
    return outcome.applied, dict(outcome.totals), dict(shown.totals), shown.rows, outcome.to_dict()["added"]


def evolve_answer(place: Path, file: Path) -> Any:
    outcome = applied(EvolveState, place, file)
    shown = EvolveState.open(place, engine="local").show(top="all")
    rules = list(map(str, shown.found.rules))
    history = [(version, len(change.added)) for version, change in shown.history]
    return outcome.applied, sorted(outcome.change.added_rules), shown.found.rows, rules, history


def fragments_answer(place: Path, file: Path) -> Any:
    """As far as no engine is needed: the version, and the content of all files it needs."""
    store = open_store(place)
    now = latest(store, FragmentsBody)
    files = sorted({*now.body.files, *now.body.single_files})
    return now, [store.read(name) for name in files], past_versions(store, now)


def made(kind: type[Any], folder: Path) -> tuple[Path, list[Path]]:
    place = folder / "state"
    data, files = written_batches(folder, 14)
    if kind is WatchState:
        WatchState.create(place, data, RULES, key="id", engine="local")
    elif kind is EvolveState:
        EvolveState.create(place, data, key="id", engine="local", options={"exclude": ["id", "m"]})
    else:
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(folder, filter="data")
        place = folder / "fragments"
        store = open_store(place)
        for _ in range(3):  # versions with sums
            now = latest(store, FragmentsBody)
            commit(store, replace(now, version=now.version + 1, log=(), batches=(f"named-{now.version}",)))
        return place, files
    for file in files[:-1]:
        applied(kind, place, file)
    return place, files


def bit_flipped(chance: random.Random, file: Path) -> bool:
    content = bytearray(file.read_bytes())
    if not content:
        return False
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)
    return True


def zeroed(chance: random.Random, file: Path) -> bool:
    content = bytearray(file.read_bytes())
    start = chance.randrange(len(content) + 1)
    piece = content[start : start + 4096]
    content[start : start + 4096] = bytes(len(piece))
    file.write_bytes(content)
    return any(piece)


def cut_short(chance: random.Random, file: Path) -> bool:
    content = file.read_bytes()
    file.write_bytes(content[: chance.randrange(max(len(content), 1))])
    return bool(content)


def deleted(chance: random.Random, file: Path) -> bool:
    file.unlink()
    return True


def damaged_files(chance: random.Random, place: Path) -> list[str]:
    """Does something to one or two files, and returns their names."""
    files = sorted(p for p in place.rglob("*") if p.is_file() and p.name not in ("writer.lock", "checked.json"))
    file = chance.choice(files)
    if chance.random() < 0.2:
        other = chance.choice([f for f in files if f.parent == file.parent])
        one, two = file.read_bytes(), other.read_bytes()
        file.write_bytes(two)
        other.write_bytes(one)
        names = [file, other] if one != two else []
    else:
        damage: Callable[[random.Random, Path], bool] = chance.choice([bit_flipped, zeroed, cut_short, deleted])
        names = [file] if damage(chance, file) else []
    return [name.relative_to(place).as_posix() for name in names]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [(WatchState, watch_answer), (EvolveState, evolve_answer), (FragmentsState, fragments_answer)],
    ids=["watch", "evolve", "fragments"],
)
def test_damage_is_named_or_does_no_harm(kind: type[Any], answer: Callable[[Path, Path], Any], tmp_path: Path) -> None:
    place, files = made(kind, tmp_path)
    good = answer(shutil.copytree(place, tmp_path / "good"), files[-1])
    named = 0
    for seed in range(SEEDS):
        chance = random.Random(seed)
        copy = shutil.copytree(place, tmp_path / f"copy-{seed}")
        names = damaged_files(chance, copy)
        before = {p: p.read_bytes() for p in copy.rglob("*") if p.is_file() and p.name not in ASIDE}
        found = verified_names(kind, copy)
        said = said_of(answer, copy, files[-1])
        if isinstance(said, str):
            named += 1
            assert any(name in said for name in names), f"{seed}: {names}: {said}"
            assert found & {*names}, f"{seed}: {names}: verify says nothing of it"
            # A log is read when it is shown, which may be after a batch.
            now = {p: p.read_bytes() for p in copy.rglob("*") if p.is_file() and p.name not in ASIDE}
            assert now == before or "changes/" in said, f"{seed}: {names}: something was written"
        else:
            assert said == good, f"{seed}: {names}"
        shutil.rmtree(copy)
    assert named > SEEDS // 3


def said_of(answer: Callable[[Path, Path], Any], place: Path, file: Path) -> Any:
    """What is answered, or the words of the error."""
    try:
        return answer(place, file)
    except StateError as problem:
        return str(problem)


def verified_names(kind: type[Any], place: Path) -> set[str]:
    """The files that verify names, whatever it was told of the newest version."""
    found = kind.verify(place)
    assert found.to_dict()["whole"] == (not found.problems)
    return set(found.problems)


def test_verify_reads_what_was_found_whole_before(tmp_path: Path) -> None:
    place, _ = made(WatchState, tmp_path)
    whole = WatchState.verify(place)
    assert not whole.problems
    assert whole.files > 10
    log = max((place / "changes").iterdir())
    log.write_bytes(log.read_bytes()[:-1] + b"x")
    assert [*WatchState.verify(place).problems] == [f"changes/{log.name}"]
    with pytest.raises(StateError, match="there is no state"):
        WatchState.verify(tmp_path)
    with pytest.raises(StateError, match="was made by holdfast watch"):
        EvolveState.verify(place)


def test_a_file_is_read_once_as_long_as_nobody_touches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast.states import checksum, file_sums, store

    place, _ = made(WatchState, tmp_path)
    read: list[Path] = []
    whole = checksum.sum_of_file

    def counted(path: Path) -> checksum.FileSum:
        read.append(path)
        return whole(path)

    monkeypatch.setattr(store, "sum_of_file", counted)
    monkeypatch.setattr(file_sums, "_TIME_STEP", 0.0)
    assert WatchState.open(place, engine="local").status.rows
    read.clear()
    assert WatchState.open(place, engine="local").status.rows
    assert read == []
    moved = shutil.copytree(place, tmp_path / "moved")
    assert WatchState.open(moved, engine="local").status.rows
    assert {path.relative_to(moved).parts[0] for path in read} >= {"rows", "pairs-0-0"}
    assert json.loads((moved / "checked.json").read_text()).keys() >= {
        f"rows/{p.name}" for p in read if "rows" in p.parts
    }
