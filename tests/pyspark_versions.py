"""What the PySpark lacks that the tests run on."""

from __future__ import annotations

import pyspark
import pytest

IS_3_5 = pyspark.__version__.startswith("3.")


def not_on_3_5(why: str) -> pytest.MarkDecorator:
    """Skips tests on PySpark 3.5, of which docs/cluster.md says what is missing there."""
    return pytest.mark.skipif(IS_3_5, reason=f"PySpark 3.5: {why}")
