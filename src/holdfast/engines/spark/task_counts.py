"""The progress of running Spark jobs."""

from __future__ import annotations

from holdfast.engines.spark.java_bridge import active_context


def task_counts() -> tuple[int, int] | None:
    """Returns (done, all) tasks of the running stages; None where none runs, or with Spark Connect."""
    context = active_context()
    if context is None:
        return None
    tracker = context.statusTracker()
    stages = [info for number in tracker.getActiveStageIds() if (info := tracker.getStageInfo(number)) is not None]
    if not stages:
        return None
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
