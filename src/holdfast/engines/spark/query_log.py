"""PySpark's own log of failed queries, which prints each with its Java stack trace."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.logger import PySparkLogger

_LOGS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


def quiet_query_log() -> None:
    """The log is off, unless the user has set it up."""
    for name in _LOGS:
        by_user = logging.getLogger().manager.loggerDict.get(name)
        if by_user is None:
            PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def told_otherwise() -> Iterator[None]:
    """What fails in here is not logged: it is tried to see whether it can be, or told in words of our own.

    Sessions that the caller has made keep their log; of this thread it says nothing until the end of the block.
    """
    me = threading.get_ident()

    def of_others(record: logging.LogRecord) -> bool:
        return record.thread != me

    logs = [PySparkLogger.getLogger(name) for name in _LOGS]
    for log in logs:
        log.addFilter(of_others)
    try:
        yield
    finally:
        for log in logs:
            log.removeFilter(of_others)
