"""PySpark's log of failed queries, which prints each with its Java stack trace."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

try:
    from pyspark.logger import PySparkLogger
except ImportError:  # PySpark 3.5 has no such log
    PySparkLogger = logging  # type: ignore[assignment,misc]

_LOGS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


def quiet_query_log() -> None:
    """Turns the log off, unless the user has configured it."""
    for name in _LOGS:
        by_user = logging.getLogger().manager.loggerDict.get(name)
        if by_user is None:
            PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def query_log_off() -> Iterator[None]:
    """Turns the log off for this thread within the block, where a failure is expected or reported in our own words.

    Also in sessions of the caller, whose log is on again after the block.
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
