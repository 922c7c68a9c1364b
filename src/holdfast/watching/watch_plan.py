"""The plan of a table whose rows a state keeps."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.programs.bind import Schema, require_columns, require_types
from holdfast.programs.plan import Plan, make_plan
from holdfast.rules.rule import RuleSet


def watch_plan(rules: RuleSet, schema: Schema, key: Sequence[str]) -> Plan:
    """The plan of watching these rules on such a table; refuses unknown columns and senseless comparisons."""
    require_columns(rules, key, schema)
    # A column without values may get some later, so that here its type counts, unlike in a check.
    require_types(rules, schema)
    return make_plan(rules, schema, key)
