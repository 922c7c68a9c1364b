"""An archive of Spark's classes (Java's AppCDS), which makes a start a third shorter. Off by default."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyspark

from holdfast.engines.spark.java import Java, cache_folder

ENABLE_VARIABLE = "HOLDFAST_CDS"
_TRAINING = "HOLDFAST_CDS_TRAINING"

# Java skips an archive that does not fit; no need to warn the user.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xshare:auto"

# Does what a first check does: read, group, join, sort, run a Python worker. Java writes the archive when it ends.
_TRAINING_RUN = """
from holdfast.engines.spark.session import get_session
from pyspark import SparkContext
session = get_session(master="local[1]")
frame = session.createDataFrame([(i, i % 7, str(i % 5)) for i in range(50)], "a long, b long, c string")
frame.createOrReplaceTempView("t")
session.sql("select c, count(distinct b), max(a) from t group by c order by c").collect()
session.sql("select count(*) from t l join t r on l.b = r.b where l.a < r.a and l.c <> r.c").collect()
frame.mapInArrow(lambda batches: batches, frame.schema).count()
java = SparkContext._gateway.proc
session.stop()
java.stdin.close()
raise SystemExit(java.wait(120))
"""


def class_archive_options(java: Java, env: Mapping[str, str]) -> str:
    """Returns the options with which Java uses the archive; none where it is off or could not be created.

    The first call creates the archive in a process of its own: about 20 s and 160 MB, once for each Java and PySpark.
    It is put in place by a rename, so that no process sees a part of it.
    """
    if env.get(_TRAINING):
        return f'"-XX:ArchiveClassesAtExit={env[_TRAINING]}" {_QUIET}'
    cache = cache_folder(env)
    if env.get(ENABLE_VARIABLE, "").lower() not in ("1", "true", "yes") or cache is None:
        return ""
    identity = f"{java.home} {java.version} {pyspark.__version__} {Path(pyspark.__file__).parent}"
    archive = cache / f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa"
    failed = archive.with_suffix(".failed")
    if failed.exists():
        return ""
    if not archive.is_file() and not _create_archive(archive, env):
        # Some Javas cannot create one; without this file every start would try again and be slower.
        with contextlib.suppress(OSError):
            failed.touch()
        return ""
    return f'"-XX:SharedArchiveFile={archive}" {_QUIET}'


def _create_archive(archive: Path, env: Mapping[str, str]) -> bool:
    print("Holdfast: archiving Spark's classes, once, for quicker starts …", file=sys.stderr)
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            fresh = Path(folder, "classes.jsa")
            # The training run uses the Java of this process, but none of the user's Spark settings.
            bare = {name: value for name, value in env.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
            run = subprocess.run(
                [sys.executable, "-c", _TRAINING_RUN],
                cwd=folder,
                env=bare | {_TRAINING: str(fresh)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=300,
                check=False,
            )
            if run.returncode != 0 or not fresh.is_file():
                return False
            os.replace(fresh, archive)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return True
