"""Where a monitor turns from one way of finding partners to another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MonitorTuning:
    """Numbers that decide how partners are found, never which.

    An index keeps up to `most_in_tail` rows unsorted. Below `least_for_sets` rows ranges are always soon looked
    through; from there on sets of rows are taken where `sampled_probes` rows, at `seconds_per_candidate` for each row
    that a range lets through, would take longer. From `least_at_once` first rows on, pairs that are not found by ranges
    alone are counted by sorting all rows.
    """

    most_in_tail: int = 192
    least_for_sets: int = 20_000
    sampled_probes: int = 32
    seconds_per_candidate: float = 2e-8
    least_at_once: int = 2_000


DEFAULT_TUNING = MonitorTuning()
