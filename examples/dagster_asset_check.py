"""In Dagster: rules as checks of an asset, a check for each rule, with counts and suspects as metadata.

    pip install holdfast dagster
    ORDERS=demo/orders.csv RULES=demo/rules.yaml dagster dev -f examples/dagster_asset_check.py

What comes after the asset waits for the checks of severity error (`blocking`); those of severity warn only warn. The
table is read and checked once for all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import dagster as dg

import holdfast as hf

DATA, RULES = os.environ.get("ORDERS", "orders.csv"), hf.read_rules(os.environ.get("RULES", "rules.yaml"))


def name_of(rule: hf.Rule) -> str:
    return rule.name.replace("-", "_")  # Dagster's names are words


@dg.asset
def orders() -> str:
    """Stands for what makes the table; it returns where that is."""
    return DATA


@dg.multi_asset_check(
    specs=[
        dg.AssetCheckSpec(
            name_of(rule), asset="orders", description=rule.description or str(rule), blocking=rule.severity == "error"
        )
        for rule in RULES
    ]
)
def rules_of_orders() -> Iterable[dg.AssetCheckResult]:
    with hf.check(DATA, RULES, key="order_id") as result:
        for found in result.outcome.rules:
            yield dg.AssetCheckResult(
                asset_key="orders",
                check_name=name_of(found.rule),
                passed=found.holds,
                severity=dg.AssetCheckSeverity.ERROR if found.rule.severity == "error" else dg.AssetCheckSeverity.WARN,
                metadata={
                    "rule": str(found.rule),
                    "violating rows": found.violating_rows,
                    "suspect rows": found.violating_rows if found.suspect_rows is None else found.suspect_rows,
                },
            )


@dg.asset(deps=["orders"])
def revenue() -> None:
    """Stands for what must not use orders that break their rules."""


defs = dg.Definitions(assets=[orders, revenue], asset_checks=[rules_of_orders])
