"""Spark: the only place that imports pyspark. Whoever enters where it is not installed is told how to install it."""

from importlib.util import find_spec

from holdfast.errors import MissingPackageError
from holdfast.tables.pandas_later import allow_pandas


def _pyspark_is_installed() -> bool:
    try:
        return find_spec("pyspark") is not None
    except ImportError:
        return False


if not _pyspark_is_installed():
    raise MissingPackageError('this needs Spark, and PySpark is not installed. Type: pip install "holdfast[spark]"')
allow_pandas()  # which parts of PySpark import
