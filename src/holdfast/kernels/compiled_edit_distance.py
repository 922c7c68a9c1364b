"""The search for the nearest texts, compiled."""

from __future__ import annotations

from numba import njit

from holdfast.kernels.edit_distance import find_nearest

find_nearest_compiled = njit(cache=True, nogil=True)(find_nearest)
