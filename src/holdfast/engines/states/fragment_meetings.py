"""Which groups of sites can have rows that meet: what their row conditions say of a rule's left side."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.engines.states.state_engine import StateEngine
from holdfast.fragments.condition_columns import condition_columns, conjuncts
from holdfast.fragments.index_changes import SiteMeetings
from holdfast.fragments.parts import RulePart
from holdfast.fragments.shipment_plan import ShipmentPlan
from holdfast.rules.predicate import Comparison, Constant
from holdfast.rules.relation import EQ
from holdfast.states.table_schema import SchemaJson, sql_types


def meetings_of(engine: StateEngine, plan: ShipmentPlan, schema: SchemaJson) -> SiteMeetings:
    """No rows of two groups of sites meet where a condition speaks of left columns only, or contradicts the pattern."""
    groups = plan.sites.row_groups
    if len(groups) == 1:
        return SiteMeetings()
    conditions = [group.where or "true" for group in groups]
    columns = [set(condition_columns(condition, sql_types(schema))) for condition in conditions]
    barred = _contradicted(engine, plan.parts, conditions, schema)
    apart = set()
    for number, part in enumerate(plan.parts):
        for site_group in range(len(groups)):
            # Rows of one group agree on the left side, and so on whatever a condition on left columns says of them.
            local = columns[site_group] <= part.left_columns or (number, site_group) in barred
            others = range(len(groups)) if local else ()
            apart |= {(number, min(site_group, other), max(site_group, other)) for other in others}
    return SiteMeetings(frozenset(apart))


def _contradicted(
    engine: StateEngine, parts: Sequence[RulePart], conditions: Sequence[str], schema: SchemaJson
) -> set[tuple[int, int]]:
    """(part, group of sites) where a piece of the condition is not true of the part's constants."""
    constants = {i: own for i, part in enumerate(parts) if part.right is not None and (own := _constants(part))}
    names = {name for own in constants.values() for name in own}
    pieces = {
        (group, piece): set(condition_columns(piece, sql_types(schema)))
        for group, condition in enumerate(conditions)
        for piece in conjuncts(condition)
    }
    wanted = {piece: own for piece, own in pieces.items() if own and own <= names}
    if not constants or not wanted:
        return set()
    texts = list(dict.fromkeys(piece for _, piece in wanted))
    truths = dict(zip(constants, engine.truths(list(constants.values()), schema, texts), strict=True))
    return {
        (i, group)
        for (group, piece), own in wanted.items()
        for i, given in constants.items()
        if own <= set(given) and piece not in truths[i]
    }


def _constants(part: RulePart) -> dict[str, Constant]:
    """By column, what rows of the part have there."""
    return {
        atom.predicate.left.name: atom.predicate.right
        for atom in part.left
        if isinstance(atom.predicate, Comparison)
        and atom.predicate.allowed == EQ
        and isinstance(atom.predicate.right, Constant)
    }
