"""Tasks that yield messages, run on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from holdfast.states.messages import MESSAGE, Message, message_from

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def task_messages(rows: DataFrame, task: Task) -> list[Message]:
    """Returns the messages of the task, run on every partition of the rows. Runs one Spark job."""
    return [message_from(row[MESSAGE]) for row in rows.mapInArrow(task, f"{MESSAGE} string").collect()]
