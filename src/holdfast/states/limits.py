"""What may be tuned in a state: when its files are merged, how long they are kept, and how rows are cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StateLimits:
    """Sizes that change how long a batch takes and what lies on disk, never a result.

    - `files_of_one_size`: so many files of a table of one size become one.
    - `rows_before_rewrite`: a table is written anew when what came since is more than half of it, and more than this.
    - `kept_versions`: readers of an earlier version still find its files for so many versions.
    - `block_rows`: rows of a block of a file: few enough to be read for one row, enough for their bounds to be short
      beside them.
    - `rows_per_task`: a task relates changes to so many rows at least, for rules that evolve.
    """

    files_of_one_size: int = 8
    rows_before_rewrite: int = 200_000
    kept_versions: int = 20
    block_rows: int = 32
    rows_per_task: int = 20_000
