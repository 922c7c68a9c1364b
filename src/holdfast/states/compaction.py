"""Many files of a table to few: when, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from holdfast.states.limits import StateLimits
from holdfast.states.messages import WrittenSegment, message_batch
from holdfast.states.segment import Segment, entries_between, key_of, merged, write_segment
from holdfast.states.store import Store

# Rows of a file of a table that is written as a whole.
SEGMENT_ROWS = 500_000


@dataclass(frozen=True)
class Merge:
    """Segments of the table of this name that become one, or with `everything` few new ones that tell of nothing gone.

    `key` are the columns of the table that tell its rows apart, under `key_names`.
    """

    table: str
    segments: tuple[Segment, ...]
    everything: bool
    key: tuple[str, ...]
    key_names: tuple[str, ...]
    sorted_by: str | None = None
    zoned: tuple[str, ...] = ()


def due(segments: Sequence[Segment], limits: StateLimits) -> tuple[tuple[Segment, ...], bool]:
    """The segments that should be merged now, none where it is not worth it; and whether that is all of them."""
    base, later = ([s for s in segments if s.base is kind] for kind in (True, False))
    grown = sum(s.rows for s in later)
    if grown > limits.rows_before_rewrite and 2 * grown > sum(s.rows for s in base):
        return tuple(segments), True
    by_size: dict[int, list[Segment]] = {}
    for segment in later:
        by_size.setdefault(max(segment.rows // 1000, 1).bit_length() // 2, []).append(segment)
    crowded = [alike for _, alike in sorted(by_size.items()) if len(alike) >= limits.files_of_one_size]
    return (tuple(crowded[0]), False) if crowded else ((), False)


@dataclass(frozen=True)
class MergeTask:
    """A task: numbers of ranges of hashes, `place`, of merges, `merge`; what is written comes out as messages.

    The hashes are cut into `places` ranges of one width. A row that several ranges could have is in one.
    """

    store: Store
    merges: tuple[Merge, ...]
    places: tuple[int, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for merge, place in zip(batch.column("merge").to_pylist(), batch.column("place").to_pylist(), strict=True):
                for segment in self._merged(self.merges[merge], place, self.places[merge]):
                    yield message_batch(WrittenSegment(self.merges[merge].table, segment))

    def _merged(self, merge: Merge, place: int, places: int) -> Iterator[Segment]:
        entries = entries_between(self.store, merge.segments, place, places)
        if entries is None:
            return
        key = key_of(entries, merge.key, merge.key_names)
        kept = merged(entries, key, everything=merge.everything)
        size = SEGMENT_ROWS * 2 if merge.everything else max(kept.num_rows, 1)
        # Rows of one hash can be more than a file should have; files may share a hash.
        if kept.num_rows > size:
            kept = kept.take(pa.array(np.argsort(kept.column("h").to_numpy(), kind="stable")))
        for start in range(0, kept.num_rows, size):
            yield write_segment(
                self.store,
                merge.table,
                kept.slice(start, size),
                sorted_by=merge.sorted_by,
                zoned=merge.zoned,
                base=merge.everything,
            )


def places_for(rows: int) -> int:
    """Into how many ranges of hashes a table of so many rows is cut, so that each is one file: a power of two."""
    return 1 << max(0, (rows // SEGMENT_ROWS).bit_length())
