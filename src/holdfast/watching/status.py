"""What a state of a watch says of itself: how things are, and its totals version by version, also of those gone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.presented import Presented
from holdfast.states.key_json import plain_json
from holdfast.states.manifest import HISTORY, VERSIONS
from holdfast.states.store import Store
from holdfast.states.versions import came_at, past_versions, read_version

# At most so many versions are listed, the newest.
MOST_VERSIONS = 500


@dataclass(frozen=True)
class WatchStatus(Presented):
    """A version of a state: how many rows it has, how many batches it has taken in, and the violations of each rule.

    `worst` has, by rule name, the rows that are in most violating pairs, and in how many; it is empty where nobody has
    looked. `units` says of each total what it counts: pairs, or rows. `rules` are their texts.
    """

    table: str
    version: int
    rows: int
    key: tuple[str, ...]
    batches: int
    totals: Mapping[str, int]
    units: Mapping[str, str]
    rules: Mapping[str, str]
    worst: Mapping[str, tuple[tuple[Any, int], ...]] = field(default_factory=dict)
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The object that `holdfast watch show --format json` prints."""
        return {
            "version": self.version,
            "rows": self.rows,
            "key": self.key[0] if len(self.key) == 1 else list(self.key),
            "batches": self.batches,
            "seconds": round(self.seconds, 3),
            "totals": dict(self.totals),
            "worst": {
                name: [{"key": plain_json(key), "conflicts": n} for key, n in rows] for name, rows in self.worst.items()
            },
        }


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
    listed = sorted(name for name in names if name.endswith(".json") and not name.startswith("."))
    newest = read_version(store, listed[-1])
    gone = [Point(own.version, own.at, own.rows, own.totals) for own in past_versions(store, newest)]
    there = {point.version for point in gone}
    # In a writer's hurry a version may be both gone and there.
    own = [name for name in listed if int(name.removesuffix(".json")) not in there]
    everything = sorted([*gone, *(_point(store, name) for name in own)], key=lambda point: point.version)
    points: list[Point] = []
    for point in everything[-MOST_VERSIONS:]:
        if not points or (points[-1].rows, points[-1].totals) != (point.rows, point.totals):
            points.append(point)
    return tuple(points)


def _point(store: Store, name: str) -> Point:
    # A writer puts a version's totals into the history first, then takes the version away.
    if store.exists(f"{HISTORY}/{name}"):
        kept = json.loads(store.read(f"{HISTORY}/{name}"))
        return Point(kept["version"], kept["at"], kept["rows"], kept["totals"])
    manifest = read_version(store, name)
    return Point(manifest.version, came_at(store, name), manifest.rows, manifest.totals)
