"""Spark Connect as serverless platforms offer it: tables are not kept between queries, and few settings are known.

`refuse_like_serverless()` makes the Connect client of this process answer as they do, for what the server would do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

KNOWN_SETTINGS = (
    *("spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.shuffle.partitions"),
    *("spark.sql.files.maxPartitionBytes", "spark.sql.legacy.timeParserPolicy"),
)
NO_TABLES = "[NOT_SUPPORTED_WITH_SERVERLESS] {} TABLE is not supported on serverless compute. SQLSTATE: 0A000"
NO_SETTING = "[CONFIG_NOT_AVAILABLE] Configuration {} is not available. SQLSTATE: 42K0I"


def refuse_like_serverless() -> None:
    from pyspark.errors.exceptions.connect import AnalysisException
    from pyspark.sql.connect.client import SparkConnectClient
    from pyspark.sql.connect.conf import RuntimeConf

    def refusing(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(self: object, name: str, *arguments: Any, **named: Any) -> Any:
            of_pyspark = sys._getframe(1).f_globals["__name__"].startswith("pyspark.")
            if name not in KNOWN_SETTINGS and not of_pyspark:  # what PySpark asks for by itself is answered there
                raise AnalysisException(NO_SETTING.format(name))
            return call(self, name, *arguments, **named)

        return called

    answer = SparkConnectClient._analyze

    def analyze(self: Any, method: str, **about: Any) -> Any:
        if method in ("persist", "unpersist", "get_storage_level"):
            raise AnalysisException(NO_TABLES.format(method.upper()))
        return answer(self, method, **about)

    client: Any = SparkConnectClient
    client._analyze = analyze
    settings: Any = RuntimeConf
    for method in ("get", "set", "unset", "isModifiable"):
        setattr(settings, method, refusing(getattr(RuntimeConf, method)))
