"""A table in a state on disk, whatever the job: one writer, each batch once and whole or not at all, in versions."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Self, TypeVar

from holdfast.engines.states.changes import content_id, read_changes
from holdfast.engines.states.refused_changes import require_fitting, translate_unfit_values
from holdfast.engines.states.state_engine import Changes, StateEngine
from holdfast.states.batch_ids import named_id
from holdfast.states.change_log import discard
from holdfast.states.compaction import Merge, MergeTask, due, places_for
from holdfast.states.limits import StateLimits
from holdfast.states.manifest import AnyBody, Manifest
from holdfast.states.messages import Message, segments_of
from holdfast.states.segment import Segment
from holdfast.states.store import Store
from holdfast.states.versions import commit, latest, tidy, was_applied

# What a batch did, as the job reports it.
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class NextVersion(Generic[Outcome]):
    """The version that a batch makes of a state, without what every batch changes alike, and the batch's outcome.

    `outcome` gets the version as it was committed, and the seconds the batch took.
    """

    manifest: Manifest[Any]
    outcome: Callable[[Manifest[Any], float], Outcome]


@dataclass(frozen=True)
class StateTable(ABC, Generic[Outcome, AnyBody]):
    """A state on disk, opened. Every method reads the version that is the newest when it is called.

    A job names the type of its manifests' bodies (`body`), runs its tasks on a batch (`_run_tasks`), and says what
    their messages make of the state (`_next_version`), by what the batch of a file is known (`_file_ids`), and how
    files of its tables are merged (`_merge`).
    """

    body: ClassVar[type[Any]]

    engine: StateEngine
    store: Store

    def opened(self) -> Self:
        """Returns self; raises StateError if there is no state, or one of another job."""
        self.manifest  # noqa: B018 (refuses at the door)
        return self

    def newest(self) -> Self:
        return replace(self)

    def with_limits(self, limits: StateLimits) -> Self:
        """Returns the state, kept within these limits from now on by who has it open."""
        return replace(self, store=replace(self.store, limits=limits))

    @cached_property
    def manifest(self) -> Manifest[AnyBody]:
        """The newest version of the state; raises StateError if there is none, or one of another job."""
        return latest(self.store, self.body)

    # Batches --------------------------------------------------------------------------------------------------

    def apply_file(
        self, data: str, *, batch: str | None = None, limit: int | None, reading: Mapping[str, Any] | None = None
    ) -> Outcome:
        """The changes of a file, taken in once: a file of the same content was the same batch."""
        with self._written() as state:
            changes = state._read(data, reading or {})
            if batch is not None:
                return state._apply(changes, batch, (named_id(batch),), limit)
            content = content_id(data)
            return state._apply(changes, content, state._file_ids(data, content), limit)

    def _read(self, data: str, reading: Mapping[str, Any]) -> Changes:
        """The changes in a file, read as the state's table was, but for what is given."""
        given = {**self.manifest.reading, **{name: value for name, value in reading.items() if value}}
        with translate_unfit_values():
            return read_changes(self.engine, data, self.manifest.schema, self.manifest.key, given)

    @contextmanager
    def _written(self) -> Iterator[Self]:
        """The newest version of the state, to which nobody else writes in here; what no version needs is gone."""
        with self.store.only_writer() as store:
            tidy(store)
            yield replace(self, store=store)

    def _apply(
        self,
        changes: Changes,
        batch: str,
        ids: tuple[str, ...],
        limit: int | None,
        *,
        streams: Mapping[str, int] = MappingProxyType({}),
        before_commit: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """The outcome of the batch, which is taken in unless the first of its ids is known.

        `before_commit` may refuse it, when all of it has been read.
        """
        started = time.monotonic()
        now, version = self.manifest, self.manifest.version + 1
        if ids and was_applied(self.store, now, ids[0]):
            return self._unchanged(batch)
        messages = self._run_tasks(changes, version, limit)
        try:
            require_fitting(messages, changes.table.name, now.key)
            following = self._next_version(batch, messages, version, limit)
            before_commit()
        except BaseException:
            discard(self.store, messages)
            raise
        manifest = replace(
            following.manifest,
            version=version,
            batches=ids,
            streams={**now.streams, **streams},
            applied=now.applied + 1,
        )
        return self._finished(commit(self.store, manifest), following, started)

    def _finished(self, manifest: Manifest[AnyBody], following: NextVersion[Outcome], started: float) -> Outcome:
        """Returns the outcome of the batch of this version; files that are due are merged after it is timed."""
        outcome = following.outcome(manifest, time.monotonic() - started)
        self._compact(manifest)
        return outcome

    def _compact(self, manifest: Manifest[AnyBody]) -> None:
        """Files of the version that have become many become few, in a version of their own; a warning if it fails."""
        crowded = [(table.name, *due(table.segments, self.store.limits)) for table in manifest.body.tables.values()]
        merges = tuple(self._merge(name, segments, everything) for name, segments, everything in crowded if segments)
        if not merges:
            return
        try:
            self._merge_files(manifest, merges)
        except Exception as problem:
            # The batch is in, and is told so; the next one tries again.
            reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
            warnings.warn(f"the files of the state {self.store.root} were not merged: {reason}", stacklevel=2)

    def _merge_files(self, now: Manifest[AnyBody], merges: tuple[Merge, ...]) -> None:
        """A new version in which the files of each merge are one, or few."""
        places = tuple(places_for(sum(s.rows for s in m.segments)) if m.everything else 1 for m in merges)
        work = [(i, place) for i, count in enumerate(places) for place in range(count)]
        columns = {"merge": [merge for merge, _ in work], "place": [place for _, place in work]}
        rows = self.engine.numbers(columns, min(len(work), 64))
        messages = self.engine.messages(rows, MergeTask(self.store, merges, places))
        tables = [now.body.tables[m.table].replacing(m.segments, segments_of(messages, m.table)) for m in merges]
        version = replace(now, version=now.version + 1, body=now.body.with_tables(tables), batches=(), log=())
        commit(self.store, version)

    # What jobs differ in --------------------------------------------------------------------------------------

    @abstractmethod
    def _file_ids(self, data: str, content: str) -> tuple[str, ...]:
        """By what the batch of a file is known; the first tells whether it has been taken in."""

    @abstractmethod
    def _unchanged(self, batch: str) -> Outcome:
        """Returns the outcome of a batch that had been applied before."""

    @abstractmethod
    def _run_tasks(self, changes: Changes, version: int, limit: int | None) -> list[Message]:
        """Returns what the tasks report of the batch; no file that they have written counts yet."""

    @abstractmethod
    def _next_version(
        self, batch: str, messages: Sequence[Message], version: int, limit: int | None
    ) -> NextVersion[Outcome]:
        """Returns what the messages of a batch make of the state; none of its changes was refused."""

    @abstractmethod
    def _merge(self, table: str, segments: tuple[Segment, ...], everything: bool) -> Merge:
        """Returns how these files of the table of this name become one."""
