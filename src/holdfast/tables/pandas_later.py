"""Arrow without pandas: where pandas is installed, Arrow imports it at its first conversion, for half a second."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType


class _NoPandas:
    """Finds no pandas, and leaves all else to the finders after it."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out of this process until something needs it", name=name)


def postpone_pandas() -> None:
    """Makes this process do without pandas until `allow_pandas`; changes nothing where it is imported already.

    Only for a process of our own: Arrow does not look for pandas again when it converts values, so that a program that
    imports pandas later would find them converted otherwise.
    """
    if "pandas" not in sys.modules and _NoPandas not in sys.meta_path:
        sys.meta_path.insert(0, _NoPandas)


def allow_pandas() -> None:
    """Undoes `postpone_pandas`."""
    if _NoPandas in sys.meta_path:
        sys.meta_path.remove(_NoPandas)
