"""The one door between sites: whatever one site tells another goes through it, is looked at, and is counted."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

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
        """The letters, as the receiver gets them: (key, id, side, n), of which each may be missing."""
        assert sender != receiver, "a site need not ship to itself"
        assert set(letters.column_names) <= {KEY, ID, SIDE, COUNT}, "nothing but keys, ids and counts crosses"
        for name in {ID, SIDE} & set(letters.column_names):
            assert pa.types.is_binary(letters.schema.field(name).type), "an id is bytes"
            lengths = pc.unique(pc.binary_length(letters.column(name))).to_pylist()
            assert set(lengths) <= {0, SIZE}, "an id has 16 bytes, and none where there is nothing to tell"
        assert COUNT not in letters.column_names or letters.schema.field(COUNT).type == pa.int8(), "counts are small"
        size = letters.num_rows
        if size == 0:
            return letters
        now = Shipped(size if kind == "eqids" else 0, size if kind == "tuples" else 0, _bytes(letters))
        self.shipped = self.shipped.plus(now)
        if self.record is not None:
            place = Path(self.record, f"{kind}-{sender}-{receiver}-{secrets.token_hex(8)}.parquet")
            pq.write_table(letters, place)
        return letters


def _bytes(letters: pa.Table) -> int:
    """The bytes of the values themselves; ids have 16 and no lengths."""
    columns = zip(letters.column_names, letters.columns, strict=True)
    return sum(SIZE * len(column) if name in (ID, SIDE) else int(column.nbytes) for name, column in columns)
