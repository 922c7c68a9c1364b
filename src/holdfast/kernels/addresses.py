"""Arrays by their addresses, for use inside kernels that are given more arrays than can be handed over one by one.

An address is good as long as somebody holds the array: whoever keeps one keeps the array beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic


def _pointer(typing, address):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), code


# The address as what leads to bytes.
pointer: Callable[..., Any] = intrinsic(_pointer)


@njit(cache=True, inline="always")
def address_of(array, line):  # type: ignore[no-untyped-def]
    """The address of an array whose items, or lines, are so many bytes long and lie one after the other."""
    assert array.strides[0] == line or len(array) <= 1, "items lie one after the other"
    return array.ctypes.data


@njit(cache=True, inline="always")
def longs(address, shape):  # type: ignore[no-untyped-def]
    return carray(pointer(address), shape, np.int64)


@njit(cache=True, inline="always")
def words(address, shape):  # type: ignore[no-untyped-def]
    return carray(pointer(address), shape, np.uint64)


@njit(cache=True, inline="always")
def ints(address, shape):  # type: ignore[no-untyped-def]
    return carray(pointer(address), shape, np.int32)
