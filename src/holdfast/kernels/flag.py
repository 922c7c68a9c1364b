"""A number that kernels look at to see whether they should end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

import numpy as np
from numpy.typing import NDArray


@contextmanager
def raised_after(seconds: float | None, flag: NDArray[np.int64]) -> Iterator[None]:
    """The first number of the flag becomes 1 when so many seconds have passed inside; never without them."""
    if seconds is None:
        yield
        return
    timer = Timer(max(seconds, 0.0), flag.__setitem__, (0, 1))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
