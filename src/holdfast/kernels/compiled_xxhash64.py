"""The hashes of `xxhash64`, compiled: one loop over the rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from holdfast.kernels.xxhash64 import PRIMES

_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = PRIMES


@njit(cache=True, nogil=True)
def hash_ints_compiled(values, valid, seeds):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(values), np.int64)
    for i in range(len(values)):
        hashes[i] = seeds[i]
        if valid[i]:
            word = np.uint64(values[i]) & np.uint64(0xFFFFFFFF)
            start = np.uint64(seeds[i]) + _PRIME_5 + np.uint64(4)
            hashes[i] = np.int64(_mixed(_with_half_word(start, word)))
    return hashes


@njit(cache=True, nogil=True)
def hash_longs_compiled(values, valid, seeds):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(values), np.int64)
    for i in range(len(values)):
        hashes[i] = seeds[i]
        if valid[i]:
            start = np.uint64(seeds[i]) + _PRIME_5 + np.uint64(8)
            hashes[i] = np.int64(_mixed(_with_word(start, np.uint64(values[i]))))
    return hashes


@njit(cache=True, nogil=True)
def hash_wide_compiled(low, high, valid, seeds):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(low), np.int64)
    whole = np.empty(16, np.uint8)
    for i in range(len(low)):
        hashes[i] = seeds[i]
        if valid[i]:
            for place in range(8):
                shift = np.uint64(56 - 8 * place)
                whole[place] = np.uint8((np.uint64(high[i]) >> shift) & np.uint64(255))
                whole[place + 8] = np.uint8((np.uint64(low[i]) >> shift) & np.uint64(255))
            sign = 255 if high[i] < 0 else 0
            first = 0
            # A byte of nothing but the sign is left out where the next one has the sign too.
            while first < 15 and whole[first] == sign and (whole[first + 1] >= 128) == (sign == 255):
                first += 1
            hashes[i] = np.int64(_of_bytes(whole, first, 16, np.uint64(seeds[i])))
    return hashes


@njit(cache=True, nogil=True)
def hash_bytes_compiled(data, starts, ends, valid, seeds):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(starts), np.int64)
    for i in range(len(starts)):
        hashes[i] = seeds[i]
        if valid[i]:
            hashes[i] = np.int64(_of_bytes(data, starts[i], ends[i], np.uint64(seeds[i])))
    return hashes


@njit(cache=True, inline="always")
def _of_bytes(data, start, end, seed):  # type: ignore[no-untyped-def]
    at = start
    if end - start >= 32:
        a, b, c, d = seed + _PRIME_1 + _PRIME_2, seed + _PRIME_2, seed, seed - _PRIME_1
        while at <= end - 32:
            a = _rotated(a + _word(data, at) * _PRIME_2, 31) * _PRIME_1
            b = _rotated(b + _word(data, at + 8) * _PRIME_2, 31) * _PRIME_1
            c = _rotated(c + _word(data, at + 16) * _PRIME_2, 31) * _PRIME_1
            d = _rotated(d + _word(data, at + 24) * _PRIME_2, 31) * _PRIME_1
            at += 32
        code = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)
        for lane in (a, b, c, d):
            code = (code ^ (_rotated(lane * _PRIME_2, 31) * _PRIME_1)) * _PRIME_1 + _PRIME_4
    else:
        code = seed + _PRIME_5
    code += np.uint64(end - start)
    while at <= end - 8:
        code = _with_word(code, _word(data, at))
        at += 8
    if at <= end - 4:
        half = np.uint64(0)
        for place in range(4):
            half |= np.uint64(data[at + place]) << np.uint64(8 * place)
        code = _with_half_word(code, half)
        at += 4
    while at < end:
        code = _rotated(code ^ (np.uint64(data[at]) * _PRIME_5), 11) * _PRIME_1
        at += 1
    return _mixed(code)


@njit(cache=True, inline="always")
def _word(data, at):  # type: ignore[no-untyped-def]
    word = np.uint64(0)
    for place in range(8):
        word |= np.uint64(data[at + place]) << np.uint64(8 * place)
    return word


@njit(cache=True, inline="always")
def _with_word(code, word):  # type: ignore[no-untyped-def]
    return _rotated(code ^ (_rotated(word * _PRIME_2, 31) * _PRIME_1), 27) * _PRIME_1 + _PRIME_4


@njit(cache=True, inline="always")
def _with_half_word(code, half):  # type: ignore[no-untyped-def]
    return _rotated(code ^ (half * _PRIME_1), 23) * _PRIME_2 + _PRIME_3


@njit(cache=True, inline="always")
def _rotated(code, bits):  # type: ignore[no-untyped-def]
    return (code << np.uint64(bits)) | (code >> np.uint64(64 - bits))


@njit(cache=True, inline="always")
def _mixed(code):  # type: ignore[no-untyped-def]
    code = (code ^ (code >> np.uint64(33))) * _PRIME_2
    code = (code ^ (code >> np.uint64(29))) * _PRIME_3
    return code ^ (code >> np.uint64(32))
