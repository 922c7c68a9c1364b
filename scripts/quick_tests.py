"""A plugin of pytest: tests that need Spark are left out, and property tests try at most MOST_EXAMPLES.

    MOST_EXAMPLES=25 python -m pytest -p quick_tests …

For runs that only ask whether tests fail: many after each other, or the same ones once more in another way. Nothing
that is found is made smaller. With NUMBA_DISABLE_JIT=1 kernels run as Python, single instructions among them.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import pytest
from hypothesis import Phase, settings

PHASES = (Phase.explicit, Phase.generate)
SLOW_FIXTURES = {"spark", "connect_port", "ansi", "browser"}


def pytest_configure() -> None:
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        from holdfast.kernels import addresses, bits

        addresses.pointer = lambda address: ctypes.c_void_p(int(address))
        bits.popcount = lambda word: int(word).bit_count()
        bits.lowest = lambda word: (int(word) & -int(word)).bit_length() - 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    most = int(os.environ["MOST_EXAMPLES"])
    slow = [item for item in items if SLOW_FIXTURES & set(getattr(item, "fixturenames", ()))]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
    for item in items:
        test: Any = getattr(item, "obj", None)
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if own is not None:
            fewer = settings(own, max_examples=min(own.max_examples, most), phases=PHASES, database=None, deadline=None)
            # Of a test that is a method the settings are those of its function.
            vars(getattr(test, "__func__", test))["_hypothesis_internal_use_settings"] = fewer
