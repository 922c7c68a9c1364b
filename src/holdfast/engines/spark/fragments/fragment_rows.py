"""Rows of a table as sites keep them: ids of their columns and truths of their conditions, packed. No value remains.

Values are canonical before they are hashed: those of one column have one type at all sites, and -0.0 is 0.0. The hash
is keyed by a secret of the state, so that nobody without it can tell the value of an id by trying.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql.types import StructType

from holdfast.encode.column_type import ColumnType
from holdfast.engines.spark.checking.rows import schema_as_seen
from holdfast.errors import TypeMismatchError
from holdfast.fragments.parts import Atom
from holdfast.fragments.site_tables import HeldAtoms
from holdfast.programs.form import Form
from holdfast.programs.sql_expression import Encoder
from holdfast.programs.sql_text import text_literal
from holdfast.rules.predicate import quoted_name
from holdfast.rules.rule import Nulls


@dataclass(frozen=True)
class IdPacking:
    """SQL for the ids and bits of rows whose columns are `c0`, `c1`, ... in the order of the whole table's schema."""

    schema: StructType
    key: tuple[str, ...]
    held_atoms: HeldAtoms
    nulls: Nulls
    secret: bytes

    @property
    def types(self) -> Mapping[str, ColumnType]:
        return schema_as_seen(self.schema, "").types

    def position(self, name: str) -> int:
        return self.schema.names.index(name)

    def key_sql(self) -> str:
        """The key's value, or a struct of several under their own names."""
        parts = [f"c{self.position(name)}" for name in self.key]
        for name in self.key:
            if self.types[name].sql.startswith(("map", "variant", "interval year", "interval month")):
                raise TypeMismatchError(
                    f"the key {quoted_name(name)} is a {self.types[name]}, which tells no rows apart."
                )
        if len(parts) == 1:
            return parts[0]
        return f"named_struct({', '.join(f'{text_literal(n)}, {p}' for n, p in zip(self.key, parts, strict=True))})"

    def packed_sql(self, atoms: Sequence[int], truths: Mapping[str, str]) -> tuple[str, str]:
        """(ids, bits) of these atoms; `truths` names the columns that tell of `where` conditions."""
        encoder = Encoder(self.types, self.nulls, lambda column: f"c{self.position(column.name)}")
        ids, bits = [], []
        for atom in (self.held_atoms.atoms[i] for i in atoms):
            if atom.is_column:
                name = atom.columns[0]
                value = encoder.form(Form(name))
                ids.append(f"coalesce({self._id_sql(name, value)}, X'{'00' * 16}')")
                bits.append("X'01'" if self.nulls == "equal" else f"IF({value} IS NOT NULL, X'01', X'00')")
            else:
                bits.append(f"IF(coalesce({self._condition(encoder, atom, truths)}, false), X'01', X'00')")
        return tuple(f"concat({', '.join(texts)})" if texts else "X''" for texts in (ids, bits))  # type: ignore[return-value]

    def _condition(self, encoder: Encoder, atom: Atom, truths: Mapping[str, str]) -> str:
        if atom.where is not None:
            return truths[atom.where]
        assert atom.predicate is not None, "an atom is a column, a predicate or a condition"
        return encoder.predicate(atom.predicate)

    def _id_sql(self, name: str, value: str) -> str:
        # The column's name is part of what is hashed, by its own hash: so values of two columns have unrelated ids.
        prefix = (self.secret + hashlib.sha256(name.encode()).digest()[:8]).hex()
        known = f"concat(X'{prefix}01', {_canonical(value, self.types[name])})"
        hashed = known if self.nulls == "sql" else f"IF({value} IS NULL, X'{prefix}00', {known})"
        return f"substring(unhex(sha2({hashed}, 256)), 1, 16)"


def _canonical(value: str, kind: ColumnType) -> str:
    """Bytes that are equal exactly where the values are."""
    match kind.family:
        case "binary":
            return value
        case "float":
            text = f"CAST(CAST({value} AS DOUBLE) + 0.0D AS STRING)"
        case "timestamp" if kind.sql == "timestamp":
            # Its text is in the session's time zone, where an hour may come twice.
            text = f"CAST(unix_micros({value}) AS STRING)"
        case _:
            text = f"CAST({value} AS STRING)"
    return f"CAST({text} AS BINARY)"
