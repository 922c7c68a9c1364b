"""What a state's totals were, version by version, also of versions that are gone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.states.manifest import HISTORY, VERSIONS
from holdfast.states.store import Store
from holdfast.states.versions import read_version

# At most so many versions are listed, the newest.
MOST_VERSIONS = 500


@dataclass(frozen=True)
class Point:
    """A version: when it came, in seconds since 1970, how many rows it has, and the violations of each rule."""

    version: int
    at: float
    rows: int
    totals: Mapping[str, int]


def history(store: Store) -> tuple[Point, ...]:
    """The state's versions, the oldest first; those that changed neither rows nor totals are left out."""
    names = {*store.names(HISTORY), *store.names(VERSIONS)}
    points: list[Point] = []
    for name in sorted(name for name in names if name.endswith(".json") and not name.startswith("."))[-MOST_VERSIONS:]:
        point = _point(store, name)
        if not points or (points[-1].rows, points[-1].totals) != (point.rows, point.totals):
            points.append(point)
    return tuple(points)


def _point(store: Store, name: str) -> Point:
    # A writer puts a version's totals into the history first, then takes the version away.
    if store.exists(f"{HISTORY}/{name}"):
        kept = json.loads(store.read(f"{HISTORY}/{name}"))
        return Point(kept["version"], kept["at"], kept["rows"], kept["totals"])
    manifest = read_version(store, name)
    return Point(manifest.version, store.path(f"{VERSIONS}/{name}").stat().st_mtime, manifest.rows, manifest.totals)
