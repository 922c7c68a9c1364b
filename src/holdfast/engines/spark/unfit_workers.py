"""Workers whose Python cannot run kernels, as Spark tells it."""

from __future__ import annotations

import re
import sys

from holdfast.errors import SessionError

_OTHER_VERSION = "another version of Python"


def unfit_workers(problem: Exception) -> str | None:
    """Why the workers' Python cannot run ours, when that is why Spark failed: another Python, or no holdfast there."""
    text = str(problem)
    missing = re.search(r"No module named '[\w.]+'", text)
    if missing:
        return missing.group()
    if "PYTHON_VERSION_MISMATCH" in text:
        return _OTHER_VERSION
    return "there is none" if "Cannot run program" in text else None


def unfit_error(reason: str, doing: str) -> SessionError:
    """The error of a job that needs the workers, which cannot do it for this reason."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return SessionError(
        f"{doing} needs Spark's Python workers, and they cannot run it: {reason}.",
        hint=f"let workers and driver have the same Python, here {version} (PYSPARK_PYTHON names that of the workers)."
        if reason == _OTHER_VERSION
        else "install Holdfast for the workers' Python, or send it along: --conf spark.submit.pyFiles=holdfast.zip",
    )
