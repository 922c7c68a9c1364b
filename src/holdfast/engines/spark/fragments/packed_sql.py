"""SQL that packs rows as sites keep them. `engines/local/packed_rows` is its twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from holdfast.encode.column_type import ColumnType
from holdfast.engines.spark.checking.rows import with_truths
from holdfast.fragments.id_packing import INSIDE, KNOWN, MOST_PLAIN_DIGITS, NULL, OUTSIDE, UNTOLD, IdPacking
from holdfast.fragments.ids import SIZE
from holdfast.fragments.parts import Atom
from holdfast.programs.form import Form
from holdfast.programs.sql_expression import Encoder
from holdfast.programs.sql_text import text_literal


def packed_rows(
    rows: DataFrame, packing: IdPacking, atoms: Sequence[int], conditions: Sequence[str | None], kept: Sequence[str]
) -> DataFrame:
    """The rows with their key `k`, the `ids` and `bits` of these atoms, and a byte for each condition in `inside`.

    Of other columns those in `kept` stay. A condition that is None cannot be told.
    """
    scopes = [packing.held_atoms.atoms[atom].where for atom in atoms]
    wanted = dict.fromkeys(condition for condition in (*conditions, *scopes) if condition is not None)
    frame, truths = with_truths(rows, packing.names, list(wanted))
    encoder = Encoder(packing.types, packing.nulls, lambda column: packing.column(column.name))
    ids, bits = [], []
    for atom in (packing.held_atoms.atoms[i] for i in atoms):
        if atom.is_column:
            name = atom.columns[0]
            value = encoder.form(Form(name))
            ids.append(f"coalesce({_id_sql(packing, name, value)}, X'{'00' * SIZE}')")
            bits.append(_byte(1) if packing.nulls == "equal" else _truth_byte(f"{value} IS NOT NULL"))
        else:
            bits.append(_truth_byte(f"coalesce({_condition(encoder, atom, truths)}, false)"))
    inside = [_byte(UNTOLD) if c is None else _truth_byte(truths[c], INSIDE, OUTSIDE) for c in conditions]
    packed = (f"{_joined(texts)} AS {name}" for name, texts in (("ids", ids), ("bits", bits), ("inside", inside)))
    return frame.selectExpr(f"{_key_sql(packing)} AS k", *kept, *packed)


def _byte(number: int) -> str:
    return f"X'{number:02x}'"


def _truth_byte(condition: str, true: int = 1, false: int = 0) -> str:
    return f"IF({condition}, {_byte(true)}, {_byte(false)})"


def _joined(texts: Sequence[str]) -> str:
    return f"concat({', '.join(texts)})" if texts else "X''"


def _key_sql(packing: IdPacking) -> str:
    """The key's value, or a struct of several under their own names."""
    parts = [packing.column(name) for name in packing.key]
    if len(parts) == 1:
        return parts[0]
    return f"named_struct({', '.join(f'{text_literal(n)}, {p}' for n, p in zip(packing.key, parts, strict=True))})"


def _condition(encoder: Encoder, atom: Atom, truths: Mapping[str, str]) -> str:
    if atom.where is not None:
        return truths[atom.where]
    assert atom.predicate is not None, "an atom is a column, a predicate or a condition"
    return encoder.predicate(atom.predicate)


def _id_sql(packing: IdPacking, name: str, value: str) -> str:
    prefix = packing.prefix(name)
    known = f"concat(X'{(prefix + KNOWN).hex()}', {_canonical(value, packing.types[name], packing.as_cast)})"
    hashed = known if packing.nulls == "sql" else f"IF({value} IS NULL, X'{(prefix + NULL).hex()}', {known})"
    return f"substring(unhex(sha2({hashed}, 256)), 1, {SIZE})"


def _canonical(value: str, kind: ColumnType, as_cast: bool) -> str:
    """Bytes that are equal exactly where the values are."""
    match kind.family:
        case "binary":
            return value
        case "float":
            number = f"CAST({value} AS DOUBLE) + 0.0D"
            # The hash of a null is not null.
            text = (
                f"CAST({number} AS STRING)"
                if as_cast
                else f"IF({value} IS NULL, NULL, CAST(xxhash64({number}) AS STRING))"
            )
        case "decimal" if kind.scale > MOST_PLAIN_DIGITS and not as_cast:
            text = f"format_number({value}, {kind.scale})"
        case "timestamp" if kind.sql == "timestamp":
            text = f"CAST(unix_micros({value}) AS STRING)"
        case _:
            text = f"CAST({value} AS STRING)"
    return f"CAST({text} AS BINARY)"
