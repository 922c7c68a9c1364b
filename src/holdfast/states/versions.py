"""Versions of a state: each is one file that appears at once, and the newest counts."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.errors import BusyStateError, DamagedStateError, StateError
from holdfast.states.checksum import FileSum, sum_of_bytes, sum_of_file
from holdfast.states.file_sums import damaged, require_whole, unlike_written
from holdfast.states.formats import manifest_from_json, manifest_to_json
from holdfast.states.lease import CLOCK, LEASE
from holdfast.states.manifest import BATCHES, CHANGES, FOLDERS, HISTORY, KEPT, PENDING, VERSIONS, AnyBody, Manifest
from holdfast.states.past import PAST, PastVersion, crowded, has_batch, read_past, write_past
from holdfast.states.segment import ENDING, with_sums
from holdfast.states.store import LOCK, Store, written_name

# The number of the newest version, written after it: so that it is noticed when that goes.
NEWEST = "newest"
# So many versions that are no longer kept are put into one file.
VERSIONS_OF_A_FILE = 16
# How often, and after how many seconds again, versions are looked for that should be there.
_LOOKS, _LOOK_AGAIN = 3, 0.05
_INIT_COMMANDS = {
    "watch": "holdfast watch init STATE --data … --rules … --key …",
    "evolve": "holdfast evolve init STATE --data … --key …",
    "fragments": "holdfast fragments init STATE SITES.yaml",
}


@dataclass(frozen=True)
class VerifiedState:
    """What reading all files of a state came to: how many they are, their bytes, and those that are damaged, with why.

    `without_sum` are files of an earlier format, of which nothing is known but that they are there.
    """

    state: str
    files: int
    bytes: int
    problems: Mapping[str, str]
    without_sum: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast watch verify --format json` prints."""
        damaged = [{"file": file, "problem": problem} for file, problem in self.problems.items()]
        whole = {"files": self.files, "bytes": self.bytes, "without_sum": self.without_sum}
        return {"state": self.state, "whole": not damaged, **whole, "damaged": damaged}


def latest(store: Store, body: type[AnyBody]) -> Manifest[AnyBody]:
    """Returns the newest version of a state with such a body; raises StateError if there is none, or of another job.

    Also where the state is damaged: one of its versions is gone, or a file that the newest one needs is not as it was
    written. The error names the file.
    """
    newest = _newest(store, body.job)
    _require_job(store, newest, body.job)
    require_whole(store, newest.written)
    return newest


def _require_job(store: Store, newest: Manifest[Any], job: str) -> None:
    other = newest.body.job
    if other != job:
        raise StateError(
            f"the state at {store.root} was made by holdfast {other}, not by holdfast {job}.",
            hint=f"use holdfast {other} on it, or make another with {_INIT_COMMANDS[job]}",
        )


def _newest(store: Store, job: str) -> Manifest[Any]:
    for look in range(_LOOKS):
        known = _known_newest(store)  # first: versions that are looked for afterwards may only be more
        names = _versions(store)
        if not names:
            raise StateError(f"there is no state at {store.root}.", hint=f"make one with {_INIT_COMMANDS[job]}")
        newest = read_version(store, names[-1])
        missing = _missing_versions(store, newest, [int(name[:12]) for name in names], known)
        if not missing:
            return newest
        # A writer may be taking old versions away at this moment.
        if look == _LOOKS - 1:
            break
        time.sleep(_LOOK_AGAIN)
    raise damaged(store.root, f"{VERSIONS}/{_name(missing[0])}", "is missing")


def _missing_versions(store: Store, newest: Manifest[Any], there: Sequence[int], known: int) -> list[int]:
    """The versions that should be there: they come one after the other, and the oldest go first."""
    oldest = max((past.last for past in newest.past), default=-1) + 1
    if not newest.past and store.names(HISTORY):  # where states of earlier days have put what is gone
        oldest = there[0]
    return sorted({*range(oldest, max(known, there[-1]) + 1)} - {*there})


def _known_newest(store: Store) -> int:
    """The version that was the newest when somebody last committed one, as far as is known; -1 where it is not."""
    try:
        version, own = store.read(NEWEST).split()
        return int(version) if int(own, 16) == zlib.crc32(version) else -1
    except (OSError, ValueError):
        return -1


def verified(store: Store, job: str) -> VerifiedState:
    """Reads every version of a state of this job, all files that the newest needs, and the log of all of them; and says
    which are not as they were written.

    Raises StateError where there is no such state.
    """
    names, problems = _versions(store), {}
    try:
        _require_job(store, _newest(store, job), job)
    except DamagedStateError as damage:
        problems[damage.file] = damage.problem
    written: dict[str, FileSum] = {}
    unknown: set[str] = set()
    for name in names:
        try:
            version = read_version(store, name)
        except DamagedStateError as damage:
            problems[damage.file] = damage.problem
            continue
        # Files of earlier versions are there for a while, for their readers; what versions list stays.
        written |= version.written_log
        if name == names[-1]:
            written |= {**version.written, **version.written_past_log}
            unknown = version.body.files - written.keys()
    problems |= dict(unlike_written(store, written, anew=True))
    problems |= {file: "is missing" for file in sorted(unknown) if not store.exists(file)}
    size = sum(own.length for own in written.values())
    return VerifiedState(store.root, len(names) + len(written), size, problems, len(unknown))


def has_state(store: Store) -> bool:
    return bool(_versions(store))


def require_free(
    store: Store,
    *,
    ours: Collection[str] = (*FOLDERS, KEPT),
    prefixes: tuple[str, ...] = ("pairs-", "equal-"),
    hint: str = "name a new folder, or apply changes to this one.",
) -> None:
    """StateError where there is a state, or anything but what a killed load left behind.

    That is what `ours` names, and what begins with one of the prefixes. The hint says what to do with a state there.
    """
    if has_state(store):
        raise StateError(f"there is a state at {store.root} already.", hint=hint)
    others = [
        name
        for name in map(written_name, store.top_names())
        if name not in (*ours, LOCK, LEASE, CLOCK) and not name.startswith(prefixes)
    ]
    if others:
        raise StateError(
            f"the folder {store.root} holds other things ({', '.join(others[:3])}), so no state is made there.",
            hint="name a new folder.",
        )


def read_version(store: Store, name: str) -> Manifest[Any]:
    """Returns the version in the file of this name; raises StateError if it cannot be read."""
    try:
        content = store.read(f"{VERSIONS}/{name}")
    except OSError as problem:
        raise damaged(store.root, f"{VERSIONS}/{name}", f"cannot be read ({problem})") from None
    return _version(store, name, content)


def _read_versions(store: Store, names: Sequence[str]) -> list[Manifest[Any]]:
    """Returns the versions in the files of these names; raises StateError as `read_version` does."""
    try:
        contents = store.read_all([f"{VERSIONS}/{name}" for name in names])
    except OSError:
        return [read_version(store, name) for name in names]  # which says of which of them that is
    return [_version(store, name, content) for name, content in zip(names, contents, strict=True)]


def _version(store: Store, name: str, content: bytes) -> Manifest[Any]:
    file = f"{VERSIONS}/{name}"
    try:
        manifest = manifest_from_json(content, store.root)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        if isinstance(problem, StateError):
            raise
        raise damaged(store.root, file, f"cannot be read ({problem})") from None
    if _name(manifest.version) != name:
        raise damaged(store.root, file, f"has the content of version {manifest.version}")
    return manifest


def commit(store: Store, manifest: Manifest[AnyBody]) -> Manifest[AnyBody]:
    """The version is there, whole, and nobody else's; then what follows from it is tidied up.

    Returns it as it was written: with the sums of its files, and with what is left of versions that are gone.
    """
    store.require_writer()
    try:
        summed = _created(store, manifest)
    except FileNotFoundError:
        store.require_writer()  # who has become it takes away what this one has not committed
        raise
    if summed is None:
        raise BusyStateError(
            f"another process has written version {manifest.version} of the state {store.root}; nothing was changed.",
            hint="run this again.",
        )
    _make_known(store, summed)
    return summed


def _created(store: Store, manifest: Manifest[AnyBody]) -> Manifest[AnyBody] | None:
    """Returns the version as it is there now; None where somebody else has made one of its number."""
    summed = _with_sums(store, _with_past(store, manifest))
    created = store.create(f"{VERSIONS}/{_name(manifest.version)}", manifest_to_json(summed))
    return summed if created else None


def _make_known(store: Store, manifest: Manifest[Any]) -> None:
    newest = str(manifest.version).encode()
    store.replace(NEWEST, newest + f" {zlib.crc32(newest):08x}".encode())
    publish(store, manifest)


def _with_sums(store: Store, manifest: Manifest[AnyBody]) -> Manifest[AnyBody]:
    """The version with sums of all files that it names, also of those that an earlier format gave none."""
    tables = []
    for table in manifest.body.tables.values():
        segments = (s if s.sums or not store.exists(s.file) else with_sums(store, s) for s in table.segments)
        tables.append(replace(table, segments=tuple(segments)))
    sums: dict[str, FileSum] = {}
    for file in manifest.body.single_files:
        if file in manifest.sums or store.exists(file):
            sums[file] = manifest.sums.get(file) or store.sum_of(file)
    sums |= {name: _log_sum(store, name) for name in manifest.log}
    return replace(manifest, body=manifest.body.with_tables(tables), sums=sums)


def _log_sum(store: Store, name: str) -> FileSum:
    file = f"{PENDING}/{name}"
    # Only tables have names that no other file ever had.
    return sum_of_file(store.file(file)) if name.endswith(".parquet") else store.sum_of(file)


def _with_past(store: Store, manifest: Manifest[AnyBody]) -> Manifest[AnyBody]:
    """The version, which takes over what earlier ones leave behind, where these are many enough for a file."""
    kept, past = store.limits.kept_versions, manifest.past
    covered = max((file.last for file in past), default=-1)
    old = [name for name in _versions(store) if covered < int(name[:12]) <= manifest.version - kept]
    if len(old) < min(VERSIONS_OF_A_FILE, kept):
        return manifest
    versions, logs = [], {}
    for name in old:
        version = read_version(store, name)
        came = came_at(store, name)
        change = None
        for log in version.log:
            file = f"{CHANGES}/{log}"
            if log.endswith(".json"):
                change = json.loads(store.read(file))
            elif store.exists(file):
                logs[log] = version.sums.get(log) or store.sum_of(file)
        versions.append(PastVersion(version.version, came, version.rows, version.totals, version.batches, change))
    fresh = write_past(store, versions, logs, PENDING, CHANGES)
    past = (*past, fresh)
    if alike := crowded(past):
        versions = [version for file in alike[:-1] for version in read_past(store, file)] + versions
        logs = {name: own for file in alike for name, own in file.logs.items()}
        past = (*past[: -len(alike)], write_past(store, versions, logs, PENDING, CHANGES))
    return replace(manifest, past=past)


def publish(store: Store, manifest: Manifest[Any]) -> None:
    """What the version lists of its changes stands in `changes/`, and what has been put together is there once.

    A crash may have come between.
    """
    waiting, listed = {*store.names(PENDING)}, store.names(CHANGES)
    logs = {name for past in manifest.past for name in past.logs}
    own = {*manifest.log} - {*listed}
    for name in sorted((waiting & (logs | {*manifest.log})) | own):
        store.move(f"{PENDING}/{name}", f"{CHANGES}/{name}")
    if manifest.past:
        first, last = manifest.past[0].first, manifest.past[-1].last
        old = [name for name in listed if name[:12].isdecimal() and first <= int(name[:12]) <= last]
        store.remove(f"{CHANGES}/{name}" for name in old if name not in logs)
        store.remove(f"{VERSIONS}/{name}" for name in _versions(store) if int(name[:12]) <= last)


def was_applied(store: Store, manifest: Manifest[Any], batch: str) -> bool:
    """Whether this version or an earlier one has applied the batch of this id."""
    if batch in manifest.batches or store.exists(f"{BATCHES}/{batch}") or has_batch(store, manifest.past, batch):
        return True
    return any(batch in version.batches for version in _read_versions(store, _versions(store)))


def tidy(store: Store) -> None:
    """What no version needs is gone, also what a killed writer left. Only the one writer may call this."""
    if store.others_may_write:
        _fence(store)
    kept = _read_versions(store, _versions(store)[-store.limits.kept_versions :])
    publish(store, kept[-1])
    needed = {file for manifest in kept for file in manifest.body.files}
    needed |= {past.file for manifest in kept for past in manifest.past}
    folders = {folder for manifest in kept for folder in manifest.body.tables}
    for folder in (KEPT, PAST):
        store.remove(file for file in (f"{folder}/{name}" for name in store.names(folder)) if file not in needed)
    for folder in folders:
        files = (f"{folder}/{name}" for name in store.names(folder) if ENDING in name)
        store.remove(file for file in files if file not in needed)
    store.remove(f"{PENDING}/{name}" for name in store.names(PENDING))
    for folder in ("", f"{VERSIONS}/", f"{BATCHES}/", f"{HISTORY}/"):
        # A name with a dot is that of a file on its way to its own name.
        store.remove(f"{folder}{name}" for name in store.names(folder) if name.startswith("."))


def _fence(store: Store) -> None:
    """No writer that began before now can commit any more: the number of its version is taken, by one without changes.

    Its files may then go, and the next version counts on those that are there.
    """
    manifest = None
    while manifest is None:  # where another was quicker, its version is the newest now
        newest = read_version(store, _versions(store)[-1])
        publish(store, newest)  # its writer may have died before that
        manifest = _created(store, replace(newest, version=newest.version + 1, batches=(), log=()))
    _make_known(store, manifest)


def versions_there(store: Store) -> Iterator[Manifest[Any]]:
    """The versions that are there, the newest first."""
    return (read_version(store, name) for name in reversed(_versions(store)))


def read_log(store: Store, manifest: Manifest[Any], name: str) -> bytes:
    """The file of this name of the version's log; StateError where it is not as it was written."""
    file = f"{CHANGES}/{name}"
    try:
        content = store.read(file)
    except OSError as problem:
        raise damaged(store.root, file, f"cannot be read ({problem})") from None
    if manifest.sums.get(name, own := sum_of_bytes(content)) != own:
        raise damaged(store.root, file, "has another content than was written")
    return content


def came_at(store: Store, name: str) -> float:
    """When the version in the file of this name came, in seconds since 1970. Raises OSError where it is gone."""
    file = f"{VERSIONS}/{name}"
    mark = store.marks([file])[file]
    if isinstance(mark, OSError):
        raise mark
    return mark.modified


def past_versions(store: Store, manifest: Manifest[Any]) -> list[PastVersion]:
    """What is left of the versions that are gone, the oldest first."""
    return [version for file in manifest.past for version in read_past(store, file)]


def _versions(store: Store) -> list[str]:
    return [name for name in store.names(VERSIONS) if re.fullmatch(r"\d{12}\.json", name)]


def _name(version: int) -> str:
    return f"{version:012}.json"
