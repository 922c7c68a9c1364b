"""Holdfast finds the rules your data holds, and holds your data to them.

>>> import holdfast as hf
>>> hf.parse_rule("ZipCode -> City").denials
['not(t.ZipCode = s.ZipCode and t.City != s.City)']
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.errors import HoldfastError
    from holdfast.incremental.monitor import Monitor
    from holdfast.incremental.rule_keeper import RuleKeeper
    from holdfast.jobs import (
        check,
        discover,
        evolve,
        explain,
        fragments_apply,
        fragments_init,
        fragments_plan,
        fragments_show,
        watch,
    )
    from holdfast.rules.rule import Rule, RuleSet, parse_rule
    from holdfast.rules.rule_file import read_rules

# Names load when they are first used: importing holdfast pulls in neither pyspark nor the compiler.
_HOMES = {
    "HoldfastError": "holdfast.errors",
    "Monitor": "holdfast.incremental.monitor",
    "Rule": "holdfast.rules.rule",
    "RuleKeeper": "holdfast.incremental.rule_keeper",
    "RuleSet": "holdfast.rules.rule",
    "check": "holdfast.jobs",
    "evolve": "holdfast.jobs",
    "explain": "holdfast.jobs",
    "fragments_apply": "holdfast.jobs",
    "fragments_init": "holdfast.jobs",
    "fragments_plan": "holdfast.jobs",
    "fragments_show": "holdfast.jobs",
    "parse_rule": "holdfast.rules.rule",
    "read_rules": "holdfast.rules.rule_file",
    "watch": "holdfast.jobs",
}

__all__ = [
    "HoldfastError",
    "Monitor",
    "Rule",
    "RuleKeeper",
    "RuleSet",
    "check",
    "discover",
    "evolve",
    "explain",
    "fragments_apply",
    "fragments_init",
    "fragments_plan",
    "fragments_show",
    "parse_rule",
    "read_rules",
    "watch",
]


class _Job(ModuleType):
    """A room that is also the job of its name: `holdfast.discover` is both, and Python puts the room there."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return getattr(import_module("holdfast.jobs"), self.__name__.rpartition(".")[2])(*args, **options)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("holdfast")
    if name not in _HOMES:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


import_module("holdfast.discover").__class__ = _Job
