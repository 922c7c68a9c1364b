"""The public functions and classes. The command calls only these."""

from typing import TYPE_CHECKING

from holdfast.api.jobs import (
    DEFAULT_LIMIT as DEFAULT_LIMIT,
)
from holdfast.api.jobs import (
    check as check,
)
from holdfast.api.jobs import (
    discover as discover,
)
from holdfast.api.jobs import (
    doctor as doctor,
)
from holdfast.api.jobs import (
    evolve as evolve,
)
from holdfast.api.jobs import (
    explain as explain,
)
from holdfast.api.jobs import (
    fragments_plan as fragments_plan,
)
from holdfast.api.jobs import (
    open_table as open_table,
)
from holdfast.api.jobs import (
    plan_check as plan_check,
)
from holdfast.api.jobs import (
    plan_discover as plan_discover,
)
from holdfast.api.jobs import (
    running_tasks as running_tasks,
)
from holdfast.api.jobs import (
    watch as watch,
)
from holdfast.api.states import EvolveState as EvolveState
from holdfast.api.states import FragmentsState as FragmentsState
from holdfast.api.states import WatchState as WatchState

if TYPE_CHECKING:
    from holdfast.engines.spark.checking.check import CheckResult as CheckResult
    from holdfast.engines.spark.discovery.discover import DiscoverResult as DiscoverResult
