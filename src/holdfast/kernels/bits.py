"""Single instructions on 64-bit words, for use inside kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic


def _popcount(typing, word):  # type: ignore[no-untyped-def]
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


def _lowest(typing, word):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], context.get_constant(types.boolean, 1))

    return types.int64(types.uint64), code


# How many bits of a word are set.
popcount: Callable[..., Any] = intrinsic(_popcount)
# The position of the lowest bit of a word that is not 0.
lowest: Callable[..., Any] = intrinsic(_lowest)
