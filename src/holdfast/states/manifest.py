"""What a state is at one version: a header that states of all jobs have, and a body of the job's own.

`formats` says how a manifest is written and read, `versions` how it becomes the newest of its state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

from holdfast.states.checksum import FileSum
from holdfast.states.messages import Message, segments_of
from holdfast.states.past import PastFile
from holdfast.states.segment import Segment

VERSIONS, BATCHES, ROWS, PENDING, CHANGES = "versions", "batches", "rows", "pending", "changes"
HISTORY = "history"
FOLDERS = (VERSIONS, BATCHES, ROWS, PENDING, CHANGES, HISTORY)
# What a state of rules that evolve has besides: the rules, and the evidence they follow from.
KEPT = "kept"
# What a state of fragments fixes when it is made.
FIXED = "fragments.json"


@dataclass(frozen=True)
class StoredTable:
    """A table of a state: its name, which is also its folder, and its files.

    `about` says what the table of a group of rules holds: same text, same content.
    """

    name: str
    segments: tuple[Segment, ...] = ()
    about: str = ""

    def replacing(self, old: Iterable[Segment], new: Iterable[Segment]) -> StoredTable:
        """Returns the table with the new files in place of the old ones."""
        gone = set(old)
        return replace(self, segments=(*(segment for segment in self.segments if segment not in gone), *new))


@dataclass(frozen=True)
class Body:
    """What a state of one job has besides the header: its tables, by name, and more."""

    job: ClassVar[str]

    tables: Mapping[str, StoredTable]

    @property
    def files(self) -> set[str]:
        """All files that the version needs."""
        return {file for table in self.tables.values() for segment in table.segments for file in segment.files}

    @property
    def single_files(self) -> tuple[str, ...]:
        """What the version needs besides the files of its tables."""
        return ()

    @property
    def segments(self) -> Iterator[Segment]:
        """All files of entries of its tables."""
        for table in self.tables.values():
            yield from table.segments

    def with_written(self, messages: Iterable[Message]) -> Self:
        """Returns the body with the files that tasks have written for each table."""
        listed = list(messages)
        return self.with_tables(table.replacing((), segments_of(listed, name)) for name, table in self.tables.items())

    def with_tables(self, tables: Iterable[StoredTable]) -> Self:
        """Returns the body with these tables in place of those of their names."""
        return replace(self, tables={**self.tables, **by_name(tables)})


@dataclass(frozen=True)
class WholeBody(Body):
    """A body with the rows of its table, in the table ROWS."""

    @property
    def row_table(self) -> StoredTable:
        return self.tables[ROWS]


@dataclass(frozen=True)
class WatchBody(WholeBody):
    """The body of a watched table: its rules, its rows, and a table for each group of rules over pairs, in order."""

    job: ClassVar[str] = "watch"

    rules: str

    @property
    def pair_tables(self) -> tuple[StoredTable, ...]:
        return tuple(table for name, table in self.tables.items() if name != ROWS)


@dataclass(frozen=True)
class EvolveBody(WholeBody):
    """The body of a table whose rules evolve: its rows, the file of the rules, and the options they are found with."""

    job: ClassVar[str] = "evolve"

    kept: str
    options: Mapping[str, Any]

    @property
    def files(self) -> set[str]:
        return super().files | {self.kept}

    @property
    def single_files(self) -> tuple[str, ...]:
        return (self.kept,)


@dataclass(frozen=True)
class FragmentsBody(Body):
    """The body of a table that is split over sites: the tables of each site, and one of all rows in violation."""

    job: ClassVar[str] = "fragments"

    @property
    def single_files(self) -> tuple[str, ...]:
        return (FIXED,)


AnyBody = TypeVar("AnyBody", bound=Body)


@dataclass(frozen=True)
class Manifest(Generic[AnyBody]):
    """A version of a state. `batches` are the ids of what it applied, `streams` the last batch of each stream.

    `totals` has, by rule name, its violating pairs, or its violating rows where it speaks of single rows; of rules that
    evolve it has their number. `log` are the files that list what this version changed. `sums` are those of the log
    and of files that no table has; `past` has what is left of versions that are gone.
    """

    version: int
    key: tuple[str, ...]
    schema: Mapping[str, Any]
    reading: Mapping[str, Any]
    rows: int
    totals: Mapping[str, int]
    body: AnyBody
    batches: tuple[str, ...] = ()
    streams: Mapping[str, int] = field(default_factory=dict)
    log: tuple[str, ...] = ()
    applied: int = 0
    table: str = ""
    sums: Mapping[str, FileSum] = field(default_factory=dict)
    past: tuple[PastFile, ...] = ()

    @property
    def written(self) -> dict[str, FileSum]:
        """The files that a batch or a reader of this version believes, as they were written."""
        segments = {file: own for s in self.body.segments for file, own in zip(s.files, s.sums, strict=False)}
        single = {file: self.sums[file] for file in self.body.single_files if file in self.sums}
        return {**segments, **single, **{file.file: file.sum for file in self.past}}

    @property
    def written_log(self) -> dict[str, FileSum]:
        """The files of the log of this version, as they were written."""
        return {f"{CHANGES}/{name}": self.sums[name] for name in self.log if name in self.sums}

    @property
    def written_past_log(self) -> dict[str, FileSum]:
        """The files of the log of versions that are gone, as they were written."""
        return {f"{CHANGES}/{name}": written for file in self.past for name, written in file.logs.items()}


def by_name(tables: Iterable[StoredTable]) -> dict[str, StoredTable]:
    """Returns the tables by their names, in order."""
    return {table.name: table for table in tables}
