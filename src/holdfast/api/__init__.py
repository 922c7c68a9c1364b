"""The public functions and classes. The command calls only these."""

from typing import TYPE_CHECKING

from holdfast.api.exchange import export_dbt, export_odcs, export_sql, import_rules
from holdfast.api.jobs import (
    DEFAULT_LIMIT,
    check,
    check_batch,
    discover,
    doctor,
    engine_for,
    evolve,
    explain,
    fragments_plan,
    history,
    lint,
    open_table,
    plan_check,
    plan_discover,
    plan_tables_check,
    running_tasks,
    watch,
)
from holdfast.api.states import EvolveState, FragmentsState, WatchState

if TYPE_CHECKING:
    from holdfast.engines.check_result import CheckResult as CheckResult
    from holdfast.engines.discovery import DiscoverResult as DiscoverResult
    from holdfast.engines.tables.result import TablesCheckResult as TablesCheckResult

__all__ = [
    "DEFAULT_LIMIT",
    "EvolveState",
    "FragmentsState",
    "WatchState",
    "check",
    "check_batch",
    "discover",
    "doctor",
    "engine_for",
    "evolve",
    "explain",
    "export_dbt",
    "export_odcs",
    "export_sql",
    "fragments_plan",
    "history",
    "import_rules",
    "lint",
    "open_table",
    "plan_check",
    "plan_discover",
    "plan_tables_check",
    "running_tasks",
    "watch",
]
