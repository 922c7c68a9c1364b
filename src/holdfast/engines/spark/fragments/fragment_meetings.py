"""Which groups of sites can have rows that meet: what their row conditions say of a rule's left side."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from holdfast.encode.column_type import column_type
from holdfast.engines.spark.checking.rows import with_truths
from holdfast.fragments.index_changes import SiteMeetings
from holdfast.fragments.parts import RulePart, condition_columns
from holdfast.fragments.shipment_plan import ShipmentPlan
from holdfast.programs.sql_expression import bind_constant
from holdfast.rules.predicate import Column, Comparison, Constant
from holdfast.rules.relation import EQ


def meetings_of(spark: SparkSession, plan: ShipmentPlan, schema: StructType) -> SiteMeetings:
    """No rows of two groups of sites meet where a condition speaks of left columns only, or contradicts the pattern."""
    groups = plan.sites.row_groups
    if len(groups) == 1:
        return SiteMeetings()
    conditions = [group.where or "true" for group in groups]
    columns = [set(condition_columns(condition, schema.names)) for condition in conditions]
    barred = _contradicted(spark, plan.parts, conditions, schema)
    apart = set()
    for number, part in enumerate(plan.parts):
        for site_group in range(len(groups)):
            # Rows of one group agree on the left side, and so on whatever a condition on left columns says of them.
            local = columns[site_group] <= part.left_columns or (number, site_group) in barred
            others = range(len(groups)) if local else ()
            apart |= {(number, min(site_group, other), max(site_group, other)) for other in others}
    return SiteMeetings(frozenset(apart))


def _contradicted(
    spark: SparkSession, parts: Sequence[RulePart], conditions: Sequence[str], schema: StructType
) -> set[tuple[int, int]]:
    """(part, group of sites) where a piece of the condition is not true of the part's constants."""
    constants = {i: _constants(part) for i, part in enumerate(parts) if part.right is not None}
    constants = {i: own for i, own in constants.items() if own}
    names = sorted({name for own in constants.values() for name in own})
    pieces = {
        (group, piece): set(condition_columns(piece, schema.names))
        for group, condition in enumerate(conditions)
        for piece in _pieces(condition)
    }
    wanted = {piece: own for piece, own in pieces.items() if own and own <= set(names)}
    if not constants or not wanted:
        return set()
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    lines = []
    for i, own in constants.items():
        values = []
        for name in names:
            bound = bind_constant(own[name], column_type(types[name]), Column("t", name)) if name in own else None
            literal = "NULL" if bound is None or bound.literal is None or not bound.exact else bound.literal
            values.append(f"CAST({literal} AS {types[name]}) AS c{schema.names.index(name)}")
        lines.append(f"SELECT {i} AS i, {', '.join(values)}")
    texts = list(dict.fromkeys(piece for _, piece in wanted))
    frame, truths = with_truths(spark.sql(" UNION ALL ".join(lines)), schema.names, texts)
    rows = {row["i"]: row for row in frame.collect()}
    return {
        (i, group)
        for (group, piece), own in wanted.items()
        for i, given in constants.items()
        if own <= set(given) and not rows[i][truths[piece]]
    }


def _constants(part: RulePart) -> dict[str, Constant]:
    return {
        atom.predicate.left.name: atom.predicate.right
        for atom in part.left
        if isinstance(atom.predicate, Comparison)
        and atom.predicate.allowed == EQ
        and isinstance(atom.predicate.right, Constant)
    }


def _pieces(condition: str) -> list[str]:
    """Conditions that together say what the condition says; itself alone where it cannot simply be cut."""
    masked = re.sub(r"'[^']*'|\([^()]*\)|`[^`]*`", lambda match: "_" * len(match[0]), condition)
    if re.search(r"\b(or|between|case)\b|[()'\"`]", masked, re.IGNORECASE):
        return [condition]
    pieces, start = [], 0
    for piece in re.split(r"\band\b", masked, flags=re.IGNORECASE):
        pieces.append(condition[start : start + len(piece)].strip())
        start += len(piece) + len("and")
    return [piece for piece in pieces if piece]
