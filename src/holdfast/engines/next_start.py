"""What a process that has started Spark leaves for the next one: a quicker start."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def prepare_next_start(command: Sequence[str]) -> bool:
    """Lets `command`, a small job on Spark, write an archive of Spark's classes in the background; whether it began.

    Only where this process has started a Java for Spark, and has not been submitted to one.
    """
    if "holdfast.engines.spark.session" not in sys.modules or "PYSPARK_GATEWAY_PORT" in os.environ:
        return False
    from holdfast.engines.spark.class_archive import write_class_archive_later
    from holdfast.engines.spark.session import has_own_java

    return has_own_java() and write_class_archive_later(command, os.environ)
