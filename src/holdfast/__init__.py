"""Holdfast finds the rules your data holds, and holds your data to them.

>>> import holdfast as hf
>>> hf.parse_rule("ZipCode -> City").denials
['not(t.ZipCode = s.ZipCode and t.City != s.City)']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.api import (
        EvolveState,
        FragmentsState,
        WatchState,
        check,
        check_batch,
        discover,
        evolve,
        explain,
        export_dbt,
        export_odcs,
        export_sql,
        fragments_plan,
        history,
        import_rules,
        lint,
        watch,
    )
    from holdfast.errors import HoldfastError
    from holdfast.evolving.rule_keeper import RuleKeeper
    from holdfast.monitor.monitor import Monitor
    from holdfast.rules.rule import Rule, RuleSet, parse_rule
    from holdfast.rules.rule_file import read_rules

# Names load when they are first used: importing holdfast pulls in neither pyspark nor the compiler.
_HOMES = {
    "EvolveState": "holdfast.api",
    "FragmentsState": "holdfast.api",
    "HoldfastError": "holdfast.errors",
    "Monitor": "holdfast.monitor.monitor",
    "Rule": "holdfast.rules.rule",
    "RuleKeeper": "holdfast.evolving.rule_keeper",
    "RuleSet": "holdfast.rules.rule",
    "WatchState": "holdfast.api",
    "check": "holdfast.api",
    "check_batch": "holdfast.api",
    "discover": "holdfast.api",
    "evolve": "holdfast.api",
    "explain": "holdfast.api",
    "export_dbt": "holdfast.api",
    "export_odcs": "holdfast.api",
    "export_sql": "holdfast.api",
    "fragments_plan": "holdfast.api",
    "import_rules": "holdfast.api",
    "history": "holdfast.api",
    "lint": "holdfast.api",
    "parse_rule": "holdfast.rules.rule",
    "read_rules": "holdfast.rules.rule_file",
    "watch": "holdfast.api",
}

__all__ = [
    "EvolveState",
    "FragmentsState",
    "HoldfastError",
    "Monitor",
    "Rule",
    "RuleKeeper",
    "RuleSet",
    "WatchState",
    "check",
    "check_batch",
    "discover",
    "evolve",
    "explain",
    "export_dbt",
    "export_odcs",
    "export_sql",
    "fragments_plan",
    "history",
    "import_rules",
    "lint",
    "parse_rule",
    "read_rules",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("holdfast")
    if name not in _HOMES:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
