"""Rows of a table as sites keep them: ids of their columns and truths of their conditions, packed. No value remains.

Values are canonical before they are hashed: those of one column have one type at all sites, and -0.0 is 0.0. The hash
is keyed by a secret of the state, so that nobody without it can tell the value of an id by trying. Both engines pack
rows alike, byte by byte: an id that is made in this process is that of the same value on Spark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from holdfast.encode.column_type import ColumnType
from holdfast.fragments.site_tables import HeldAtoms
from holdfast.programs.bind import Schema
from holdfast.rules.rule import Nulls
from holdfast.states.table_schema import SchemaJson, schema_as_seen

OUTSIDE, INSIDE, UNTOLD = range(3)
"""Whether a row satisfies the condition of a group of sites, as a byte; UNTOLD where its columns do not say."""
# What stands before a value that is hashed, and what alone stands for a null.
KNOWN, NULL = b"\x01", b"\x00"
# Of more digits behind the point, some sessions of Spark write decimals with an exponent.
MOST_PLAIN_DIGITS = 6


@dataclass(frozen=True)
class IdPacking:
    """How rows whose columns are `c0`, `c1`, ... in the order of the whole table's schema become ids and bits.

    The id of a value has the first 16 bytes of the SHA-256 of the column's prefix(), KNOWN, and the value's canonical
    bytes: those of binary values themselves; of others a text in UTF-8. This is what Spark's CAST to text gives, but

    - of a time with a zone its microseconds: its text is in the session's zone, where an hour may come twice;
    - of a float the number that Spark's `xxhash64` gives for the double: each double has its own, and how Java writes
      a double depends on its version;
    - of a decimal of more than MOST_PLAIN_DIGITS digits behind the point all of them, with commas: `1,234.00000001`.

    With `as_cast`, as in the first states, the last two are what CAST gives, which only Spark knows.

    Bits are a byte for each atom: whether a condition is met, and whether a column has an id. Nulls have none under
    `nulls: sql`, where 16 zeros stand for it, and under `equal` the hash of prefix() and NULL.
    """

    schema: SchemaJson
    key: tuple[str, ...]
    held_atoms: HeldAtoms
    nulls: Nulls
    secret: bytes
    as_cast: bool = False

    @cached_property
    def seen(self) -> Schema:
        """The columns with the types that rules see."""
        return schema_as_seen(self.schema, "")

    @property
    def types(self) -> Mapping[str, ColumnType]:
        return self.seen.types

    @property
    def names(self) -> Sequence[str]:
        return list(self.seen.types)

    def column(self, name: str) -> str:
        """The safe name of the column."""
        return f"c{self.seen.position(name)}"

    def prefix(self, name: str) -> bytes:
        """What stands before all that is hashed of the column."""
        # The column's name is part of what is hashed, by its own hash: so values of two columns have unrelated ids.
        return self.secret + hashlib.sha256(name.encode()).digest()[:8]
