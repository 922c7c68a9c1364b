"""Versions of a state: each is one file that appears at once, and the newest counts."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from holdfast.errors import BusyStateError, StateError
from holdfast.states.formats import manifest_from_json, manifest_to_json
from holdfast.states.manifest import BATCHES, CHANGES, FOLDERS, HISTORY, KEPT, PENDING, VERSIONS, AnyBody, Manifest
from holdfast.states.segment import ENDING
from holdfast.states.store import LOCK, Store, written_name

_INIT_COMMANDS = {
    "watch": "holdfast watch init STATE --data … --rules … --key …",
    "evolve": "holdfast evolve init STATE --data … --key …",
    "fragments": "holdfast fragments init STATE SITES.yaml",
}


def latest(store: Store, body: type[AnyBody]) -> Manifest[AnyBody]:
    """Returns the newest version of a state with such a body; raises StateError if there is none, or of another job."""
    names, job = _versions(store), body.job
    if not names:
        raise StateError(f"there is no state at {store.root}.", hint=f"make one with {_INIT_COMMANDS[job]}")
    newest = read_version(store, names[-1])
    if not isinstance(newest.body, body):
        other = newest.body.job
        raise StateError(
            f"the state at {store.root} was made by holdfast {other}, not by holdfast {job}.",
            hint=f"use holdfast {other} on it, or make another with {_INIT_COMMANDS[job]}",
        )
    return newest


def has_state(store: Store) -> bool:
    return bool(_versions(store))


def require_free(
    store: Store,
    *,
    ours: Collection[str] = (*FOLDERS, KEPT),
    prefix: str = "pairs-",
    hint: str = "name a new folder, or apply changes to this one.",
) -> None:
    """StateError where there is a state, or anything but what a killed load left behind.

    That is what `ours` names, and what begins with `prefix`. The hint says what to do with a state that is there.
    """
    if has_state(store):
        raise StateError(f"there is a state at {store.root} already.", hint=hint)
    place = store.path("")
    if place.exists() and not place.is_dir():
        raise StateError(f"{store.root} is a file, not a folder.")
    names = sorted(entry.name for entry in place.iterdir()) if place.is_dir() else []
    others = [name for name in map(written_name, names) if name not in (*ours, LOCK) and not name.startswith(prefix)]
    if others:
        raise StateError(
            f"the folder {store.root} holds other things ({', '.join(others[:3])}), so no state is made there.",
            hint="name a new folder.",
        )


def read_version(store: Store, name: str) -> Manifest[Any]:
    """Returns the version in the file of this name; raises StateError if it cannot be read."""
    try:
        return manifest_from_json(store.read(f"{VERSIONS}/{name}"), store.root)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        if isinstance(problem, StateError):
            raise
        raise StateError(f"the state {store.root} is damaged: {VERSIONS}/{name} cannot be read ({problem}).") from None


def commit(store: Store, manifest: Manifest[Any]) -> None:
    """The version is there, whole, and nobody else's; then what follows from it is tidied up."""
    if not store.create(f"{VERSIONS}/{_name(manifest.version)}", manifest_to_json(manifest)):
        raise BusyStateError(
            f"another process has written version {manifest.version} of the state {store.root}; nothing was changed.",
            hint="run this again.",
        )
    publish(store, manifest)


def publish(store: Store, manifest: Manifest[Any]) -> None:
    """What the version lists of its changes stands in `changes/`; a crash may have come between."""
    for name in manifest.log:
        store.move(f"{PENDING}/{name}", f"{CHANGES}/{name}")


def was_applied(store: Store, manifest: Manifest[Any], batch: str) -> bool:
    """Whether this version or an earlier one has applied the batch of this id."""
    if batch in manifest.batches or store.exists(f"{BATCHES}/{batch}"):
        return True
    return any(batch in read_version(store, name).batches for name in _versions(store))


def tidy(store: Store) -> None:
    """Old versions and files that no version needs are gone. Only the one writer may call this."""
    names, count = _versions(store), store.limits.kept_versions
    kept = [read_version(store, name) for name in names[-count:]]
    for name in names[:-count]:
        # The ids outlive their version, each as a file of its own; so do its totals.
        old = read_version(store, name)
        store.make([HISTORY])  # which states of earlier days have not got
        came = store.path(f"{VERSIONS}/{name}").stat().st_mtime
        point = {"version": old.version, "at": came, "rows": old.rows, "totals": dict(old.totals)}
        store.create(f"{HISTORY}/{name}", json.dumps(point, ensure_ascii=False).encode())
        publish(store, old)
        for batch in old.batches:
            store.create(f"{BATCHES}/{batch}", str(old.version).encode())
        store.remove([f"{VERSIONS}/{name}"])
    publish(store, kept[-1])
    needed = {file for manifest in kept for file in manifest.body.files}
    folders = {folder for manifest in kept for folder in manifest.body.tables}
    store.remove(file for file in (f"{KEPT}/{name}" for name in store.names(KEPT)) if file not in needed)
    for folder in folders:
        files = (f"{folder}/{name}" for name in store.names(folder) if ENDING in name)
        store.remove(file for file in files if file not in needed)
    store.remove(f"{PENDING}/{name}" for name in store.names(PENDING))


def _versions(store: Store) -> list[str]:
    return [name for name in store.names(VERSIONS) if name.endswith(".json") and not name.startswith(".")]


def _name(version: int) -> str:
    return f"{version:012}.json"
