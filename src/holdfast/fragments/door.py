"""The one door between sites: whatever one site tells another goes through it, is looked at, and is counted."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from holdfast.errors import DoorError
from holdfast.fragments.ids import SIZE
from holdfast.states.messages import Shipped

Kind = Literal["eqids", "tuples"]

# What may cross: keys, ids, and small counts. No column of the table is among these.
KEY, ID, SIDE, COUNT = "key", "id", "side", "n"


@dataclass
class Door:
    """Counts what crosses in one task. With `record`, a folder, every crossing is also kept there as a file."""

    record: str | None = None
    shipped: Shipped = field(default_factory=Shipped)

    def cross(self, sender: int, receiver: int, kind: Kind, letters: pa.Table) -> pa.Table:
        """The letters, as the receiver gets them: (key, id, side, n), of which each may be missing.

        Raises DoorError, before anything crosses, where something else is among them.
        """
        _require_crossable(sender, receiver, letters)
        size = letters.num_rows
        if size == 0:
            return letters
        now = Shipped(size if kind == "eqids" else 0, size if kind == "tuples" else 0, _bytes(letters))
        self.shipped = self.shipped.plus(now)
        if self.record is not None:
            place = Path(self.record, f"{kind}-{sender}-{receiver}-{secrets.token_hex(8)}.parquet")
            pq.write_table(letters, place)
        return letters


def _require_crossable(sender: int, receiver: int, letters: pa.Table) -> None:
    if sender == receiver:
        raise DoorError(f"site {sender} would ship to itself.")
    others = sorted(set(letters.column_names) - {KEY, ID, SIDE, COUNT})
    if others:
        raise DoorError(f"site {sender} would ship the columns {', '.join(others)}, which are no keys, ids or counts.")
    for name in sorted({ID, SIDE} & set(letters.column_names)):
        kind = letters.schema.field(name).type
        if not pa.types.is_binary(kind):
            raise DoorError(f"site {sender} would ship {kind} for an id, which is bytes.")
        lengths = set(pc.unique(pc.binary_length(letters.column(name))).to_pylist())
        # None where there is nothing to tell.
        if not lengths <= {0, SIZE}:
            raise DoorError(f"site {sender} would ship an id that has not {SIZE} bytes.")
    if COUNT in letters.column_names and letters.schema.field(COUNT).type != pa.int8():
        raise DoorError(f"site {sender} would ship {letters.schema.field(COUNT).type} for a count, which is small.")


def _bytes(letters: pa.Table) -> int:
    """The bytes of the values themselves; ids have 16, or none where a letter is without, and no lengths."""
    columns = zip(letters.column_names, letters.columns, strict=True)
    return sum(_id_bytes(column) if name in (ID, SIDE) else int(column.nbytes) for name, column in columns)


def _id_bytes(column: pa.ChunkedArray) -> int:
    return int(pc.sum(pc.binary_length(column)).as_py())
