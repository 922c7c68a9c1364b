"""The loop of the greedy cover, compiled."""

from __future__ import annotations

from numba import njit

from holdfast.kernels.cover import take_greedily

take_greedily_compiled = njit(cache=True, nogil=True)(take_greedily)
