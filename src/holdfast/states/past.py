"""What outlives the versions of a state: the ids of their batches, their totals, and their log, in few files.

Versions that are no longer kept are put into one file together, and files of one size into a larger one, so that there
are some dozens of files however many batches there were. The manifest names them, as it does all files.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.states.checksum import FileSum, sum_of_bytes
from holdfast.states.store import Store

PAST = "past"
# So many files of one size become one; a log of more bytes is left in the files it has.
FILES_OF_ONE_SIZE = 8
LONGEST_LOG = 64 << 20


@dataclass(frozen=True)
class PastFile:
    """The file of the versions from `first` to `last`, and the files of the log that list their changes."""

    file: str
    first: int
    last: int
    sum: FileSum
    logs: Mapping[str, FileSum] = field(default_factory=dict)

    @property
    def versions(self) -> int:
        return self.last - self.first + 1

    def to_json(self) -> dict[str, Any]:
        logs = {name: own.to_json() for name, own in self.logs.items()}
        return {"file": self.file, "first": self.first, "last": self.last, "sum": self.sum.to_json(), "logs": logs}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> PastFile:
        logs = {name: FileSum(*own) for name, own in given["logs"].items()}
        return cls(given["file"], given["first"], given["last"], FileSum(*given["sum"]), logs)


@dataclass(frozen=True)
class PastVersion:
    """A version that is gone: when it came, in seconds since 1970, its rows and totals, and its batches.

    `change` is its log, where that is a text: of rules that evolve.
    """

    version: int
    at: float
    rows: int
    totals: Mapping[str, int]
    batches: Sequence[str]
    change: Mapping[str, Any] | None = None


def write_past(
    store: Store, versions: Sequence[PastVersion], logs: Mapping[str, FileSum], pending: str, changes: str
) -> PastFile:
    """The versions, in order, in a new file; their log as one file in the folder `pending`, unless it is long.

    `logs` are its files so far, in either folder.
    """
    first, last = versions[0].version, versions[-1].version
    content = json.dumps([asdict(version) for version in versions], ensure_ascii=False).encode()
    name = f"{PAST}/{first:012}-{last:012}-{secrets.token_hex(6)}.json"
    store.make([PAST])
    store.create(name, content)
    listed = {log: own for log, own in logs.items() if log.endswith(".parquet")}
    if len(listed) > 1 and sum(own.length for own in listed.values()) <= LONGEST_LOG:
        merged = f"{first:012}-{last:012}-{secrets.token_hex(6)}.parquet"
        places = [pending if store.exists(f"{pending}/{log}") else changes for log in listed]
        tables = [pq.read_table(store.file(f"{place}/{log}")) for place, log in zip(places, listed, strict=True)]
        listed = {merged: store.write(f"{pending}/{merged}", partial(pq.write_table, pa.concat_tables(tables)))}
    return PastFile(name, first, last, sum_of_bytes(content), listed)


def read_past(store: Store, past: PastFile) -> list[PastVersion]:
    """The versions of the file, in order."""
    return [PastVersion(**own) for own in json.loads(store.file(past.file, past.sum).read_bytes())]


def crowded(past: Sequence[PastFile]) -> tuple[PastFile, ...]:
    """The last files of one size, where they are so many that they should become one; none where they are not."""
    alike: list[PastFile] = []
    for file in reversed(past):
        if alike and file.versions > 2 * alike[0].versions:
            break
        alike.append(file)
    return tuple(reversed(alike)) if len(alike) >= FILES_OF_ONE_SIZE else ()


def has_batch(store: Store, past: Iterable[PastFile], batch: str) -> bool:
    """Whether one of the versions has taken in the batch of this id."""
    wanted = json.dumps(batch, ensure_ascii=False).encode()
    return any(wanted in store.file(own.file, own.sum).read_bytes() for own in past)
