"""What a state is at one version: its totals, its files, and the batches it has taken in. One file, made at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.errors import BusyStateError, StateError
from holdfast.states.segment import ENDING, Segment
from holdfast.states.store import Store

FORMAT = 1
VERSIONS, BATCHES, ROWS, PENDING, CHANGES = "versions", "batches", "rows", "pending", "changes"
HISTORY = "history"
FOLDERS = (VERSIONS, BATCHES, ROWS, PENDING, CHANGES, HISTORY)
# What a state of rules that evolve has besides: the rules, and the evidence they follow from.
KEPT = "kept"
# Readers of an earlier version still find its files for so many versions.
KEPT_VERSIONS = 20


@dataclass(frozen=True)
class PairTable:
    """The rows of one group of rules, by their hash. `about` tells what it holds: same text, same content."""

    about: str
    folder: str
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """A version of a state. `batches` are the ids of what it took in, `streams` the last batch of each stream.

    `totals` has, by rule name, its violating pairs, or its violating rows where it speaks of single rows. `log` are the
    files that tell what this version changed. A state of `evolve` has no rules of its own: it keeps those it found in
    the file `kept`, and the options that it found them with.
    """

    version: int
    rules: str
    key: tuple[str, ...]
    schema: Mapping[str, Any]
    reading: Mapping[str, Any]
    rows: int
    totals: Mapping[str, int]
    row_table: tuple[Segment, ...] = ()
    pair_tables: tuple[PairTable, ...] = ()
    batches: tuple[str, ...] = ()
    streams: Mapping[str, int] = field(default_factory=dict)
    log: tuple[str, ...] = ()
    applied: int = 0
    table: str = ""
    job: str = "watch"
    kept: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> set[str]:
        """All files of rows that the version needs, and of rules it keeps."""
        segments = [*self.row_table, *(s for table in self.pair_tables for s in table.segments)]
        return {file for segment in segments for file in segment.files} | ({self.kept} if self.kept else set())

    def to_json(self) -> bytes:
        content = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in _PLAIN},
            "row_table": [segment.to_json() for segment in self.row_table],
            "pair_tables": [
                {"about": t.about, "folder": t.folder, "segments": [s.to_json() for s in t.segments]}
                for t in self.pair_tables
            ],
        }
        return json.dumps(content, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        content = json.loads(text)
        plain = {name: content[name] for name in _PLAIN if name not in _SINCE or name in content}
        listed = {name: tuple(plain[name]) for name in ("key", "batches", "log")}
        return cls(
            **{**plain, **listed},
            row_table=tuple(map(Segment.from_json, content["row_table"])),
            pair_tables=tuple(
                PairTable(t["about"], t["folder"], tuple(map(Segment.from_json, t["segments"])))
                for t in content["pair_tables"]
            ),
        )


_PLAIN = (
    "version", "rules", "key", "schema", "reading", "rows", "totals", "batches", "streams", "log", "applied", "table",
    "job", "kept", "options",
)  # fmt: skip
# States made before these were known lack them.
_SINCE = ("job", "kept", "options")


_MADE_BY = {
    "watch": "holdfast watch init STATE --data … --rules … --key …",
    "evolve": "holdfast evolve init STATE --data … --key …",
    "fragments": "holdfast fragments init STATE SITES.yaml",
}


def latest(store: Store, job: str = "watch") -> Manifest:
    """The newest version of the job's state; StateError where there is none, or that of another job."""
    names = _versions(store)
    if not names:
        raise StateError(f"there is no state at {store.root}.", hint=f"make one with {_MADE_BY[job]}")
    found = read_version(store, names[-1])
    if found.job != job:
        raise StateError(
            f"the state at {store.root} was made by holdfast {found.job}, not by holdfast {job}.",
            hint=f"use holdfast {found.job} on it, or make another with {_MADE_BY[job]}",
        )
    return found


def has_state(store: Store) -> bool:
    return bool(_versions(store))


def read_version(store: Store, name: str) -> Manifest:
    try:
        content = store.read(f"{VERSIONS}/{name}")
        found = json.loads(content).get("format")
        if found != FORMAT:
            raise StateError(f"the state {store.root} is of format {found}; this Holdfast reads format {FORMAT}.")
        return Manifest.from_json(content)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        if isinstance(problem, StateError):
            raise
        raise StateError(f"the state {store.root} is damaged: {VERSIONS}/{name} cannot be read ({problem}).") from None


def commit(store: Store, manifest: Manifest) -> None:
    """The version is there, whole, and nobody else's; then what follows from it is tidied up."""
    if not store.create(f"{VERSIONS}/{_name(manifest.version)}", manifest.to_json()):
        raise BusyStateError(
            f"another process has written version {manifest.version} of the state {store.root}; nothing was changed.",
            hint="run this again.",
        )
    publish(store, manifest)


def publish(store: Store, manifest: Manifest) -> None:
    """What the version tells of its changes stands in `changes/`; a crash may have come between."""
    for name in manifest.log:
        store.move(f"{PENDING}/{name}", f"{CHANGES}/{name}")


def taken_in(store: Store, manifest: Manifest, batch: str) -> bool:
    """Whether this version or an earlier one has the batch."""
    if batch in manifest.batches or store.exists(f"{BATCHES}/{batch}"):
        return True
    return any(batch in read_version(store, name).batches for name in _versions(store))


def tidy(store: Store) -> None:
    """Old versions and files that no version needs are gone. Only the one writer may call this."""
    names = _versions(store)
    kept = [read_version(store, name) for name in names[-KEPT_VERSIONS:]]
    for name in names[:-KEPT_VERSIONS]:
        # The ids outlive their version, each as a file of its own; so do its totals.
        old = read_version(store, name)
        store.make([HISTORY])  # which states of earlier days have not got
        came = store.path(f"{VERSIONS}/{name}").stat().st_mtime
        told = {"version": old.version, "at": came, "rows": old.rows, "totals": dict(old.totals)}
        store.create(f"{HISTORY}/{name}", json.dumps(told, ensure_ascii=False).encode())
        publish(store, old)
        for batch in old.batches:
            store.create(f"{BATCHES}/{batch}", str(old.version).encode())
        store.remove([f"{VERSIONS}/{name}"])
    publish(store, kept[-1])
    needed = {file for manifest in kept for file in manifest.files}
    folders = {ROWS, *(table.folder for manifest in kept for table in manifest.pair_tables)}
    store.remove(file for file in (f"{KEPT}/{name}" for name in store.names(KEPT)) if file not in needed)
    for folder in folders:
        found = (f"{folder}/{name}" for name in store.names(folder) if ENDING in name)
        store.remove(file for file in found if file not in needed)
    store.remove(f"{PENDING}/{name}" for name in store.names(PENDING))


def _versions(store: Store) -> list[str]:
    return [name for name in store.names(VERSIONS) if name.endswith(".json") and not name.startswith(".")]


def _name(version: int) -> str:
    return f"{version:012}.json"


def with_totals(manifest: Manifest, changes: Mapping[str, int]) -> Manifest:
    """The manifest with these amounts added to its totals."""
    return replace(manifest, totals={name: n + changes.get(name, 0) for name, n in manifest.totals.items()})
