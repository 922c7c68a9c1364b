"""How far Spark is with what it is doing now."""

from __future__ import annotations

from pyspark import SparkContext


def task_counts() -> tuple[int, int] | None:
    """(done, all) tasks of the stages that run now; None where none does, or a Connect server knows."""
    context = SparkContext._active_spark_context
    if context is None:
        return None
    tracker = context.statusTracker()
    stages = [info for number in tracker.getActiveStageIds() if (info := tracker.getStageInfo(number)) is not None]
    if not stages:
        return None
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
