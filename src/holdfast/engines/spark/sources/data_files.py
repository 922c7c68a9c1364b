"""Finds the data files of a name, also where only Spark sees them."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from holdfast.errors import SourceError, SourceNotFoundError
from holdfast.tables.data_files import (
    LOCAL_FORMATS,
    DataFiles,
    Format,
    common_format,
    ending,
    find_local_files,
    format_of,
    missing_data,
    unknown_format,
    wanted_format,
)

_LISTED_AT_MOST = 100_000


def find_files(spark: SparkSession, data: str, input_format: str | None) -> DataFiles:
    """Returns the files of `data`: a path that exists, a pattern, or a place that only Spark can read."""
    # Spark may see files that this process does not: on HDFS as the default file system, or with Connect.
    files = find_local_files(data, input_format) or _remote_files(spark, data, wanted_format(input_format))
    if files.format in LOCAL_FORMATS:
        kind = {"arrow": "an Arrow file", "excel": "an Excel workbook"}[files.format]
        raise SourceError(
            f"{files.name} is {kind}, which Spark does not read.",
            hint="--engine local reads it, or write it as Parquet.",
        )
    return files


def _remote_files(spark: SparkSession, data: str, wanted: Format | None) -> DataFiles:
    name = data.rstrip("/").rsplit("/", 1)[-1] or data
    # The binary source lists files without reading them, on every file system and with Connect.
    try:
        listed = (
            spark.read.format("binaryFile")
            .option("recursiveFileLookup", True)
            .load(data)
            .select("path", "length")
            .limit(_LISTED_AT_MOST)
            .collect()
        )
    except Exception as error:
        raise _listing_failed(data, error) from None
    files = sorted(row["path"] for row in listed)
    known = files if wanted else [file for file in files if format_of(file) not in (None, *LOCAL_FORMATS)]
    if not files:
        raise SourceNotFoundError(f"{data} holds no data files.")
    if not known:
        raise unknown_format(name, files[0].rsplit("/", 1)[-1])
    format = wanted or common_format([Path(file) for file in known], name)
    endings = sorted({ending(file.rsplit("/", 1)[-1]) for file in known})
    return DataFiles(
        name=name,
        format=format,
        load=(data,),
        remote=tuple(known),
        name_filter="*{" + ",".join(endings) + "}" if len(known) < len(files) else None,
    )


def _listing_failed(data: str, error: Exception) -> Exception:
    text = str(error)
    if isinstance(error, PySparkException) and "PATH_NOT_FOUND" in text:
        return missing_data(data)
    scheme = data.partition(":")[0]
    if "UnsupportedFileSystemException" in text or "No FileSystem for scheme" in text or "ClassNotFound" in text:
        return SourceError(
            f"Spark cannot read {data}: it knows no file system '{scheme}'.",
            hint="add its package, such as --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION.",
        )
    return SourceError(f"Spark cannot list {data}: {root_cause(text)}.")


def root_cause(error_text: str) -> str:
    """Returns the innermost cause in the text of a Java error, on one line."""
    lines = [line.strip() for line in error_text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    reason = causes[-1] if causes else next((line for line in lines if "An error occurred" not in line), "unknown")
    reason = re.sub(r"^:?\s*(?:[a-z]\w*\.)+[A-Z]\w*(?:\$\w+)*(?:: |$)", "", reason)
    reason = re.sub(r"^\[[A-Z_.]+\] ", "", reason)
    reason = re.sub(r"\s*SQLSTATE: \w+;?.*$", "", reason)
    return reason[:300].rstrip(".") or "unknown"
