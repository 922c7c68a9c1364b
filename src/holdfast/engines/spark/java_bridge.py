"""The bridge to a JVM of this process, which a client of Spark Connect alone (`pyspark-client`) does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import MissingPackageError

if TYPE_CHECKING:
    from pyspark import SparkContext

try:
    from py4j.protocol import Py4JError, Py4JJavaError
except ImportError:  # then nobody raises them

    class Py4JError(Exception):  # type: ignore[no-redef]
        """An error of the bridge."""

    class Py4JJavaError(Py4JError):  # type: ignore[no-redef, misc]
        """An exception in Java."""


__all__ = ["Py4JError", "Py4JJavaError", "active_context", "require_bridge"]


def active_context() -> SparkContext | None:
    """Returns the context of the JVM that runs for this process; None where none does."""
    try:
        from pyspark import SparkContext
    except ImportError:
        return None
    return SparkContext._active_spark_context


def require_bridge() -> None:
    """Raises MissingPackageError where no JVM can be started from here."""
    try:
        import pyspark.java_gateway  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            "only the client of Spark Connect is installed, which starts no Spark of its own. "
            'Give --master sc://host:15002, or type: pip install "holdfast[spark]"'
        ) from None
