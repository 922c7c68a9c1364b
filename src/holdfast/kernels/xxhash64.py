"""xxHash64 of rows, as Spark computes it: each value is hashed with the hash of the values before it as seed.

A row whose value is null keeps its seed. Arrays in, arrays out; hashes are 64-bit integers with a sign. By numpy where
rows are few, otherwise compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.without_compiler import compiler_pays

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]

PRIMES = (
    np.uint64(0x9E3779B185EBCA87),
    np.uint64(0xC2B2AE3D27D4EB4F),
    np.uint64(0x165667B19E3779F9),
    np.uint64(0x85EBCA77C2B2AE63),
    np.uint64(0x27D4EB2F165667C5),
)
_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = PRIMES
# What numpy does for one number, and for one value of bytes beside its bytes.
_STEPS_PER_NUMBER, _STEPS_PER_VALUE = 4, 32


def hash_ints(values: Ints, valid: Bools, seeds: Ints) -> Ints:
    """Per row the hash of its value as four bytes."""
    if compiler_pays(_STEPS_PER_NUMBER * len(values)):
        from holdfast.kernels.compiled_xxhash64 import hash_ints_compiled

        return np.asarray(hash_ints_compiled(_read_only(values), _read_only(valid), _read_only(seeds)))
    start = seeds.astype(np.uint64) + _PRIME_5 + np.uint64(4)
    halves = values.astype(np.uint64) & np.uint64(0xFFFFFFFF)
    return np.where(valid, _mixed(_with_half_word(start, halves)).view(np.int64), seeds)


def hash_longs(values: Ints, valid: Bools, seeds: Ints) -> Ints:
    """Per row the hash of its value as eight bytes."""
    if compiler_pays(_STEPS_PER_NUMBER * len(values)):
        from holdfast.kernels.compiled_xxhash64 import hash_longs_compiled

        return np.asarray(hash_longs_compiled(_read_only(values), _read_only(valid), _read_only(seeds)))
    start = seeds.astype(np.uint64) + _PRIME_5 + np.uint64(8)
    return np.where(valid, _mixed(_with_word(start, values.astype(np.uint64))).view(np.int64), seeds)


def hash_wide(low: Ints, high: Ints, valid: Bools, seeds: Ints) -> Ints:
    """Per row the hash of a number of 128 bits: the fewest bytes that hold it with its sign, the highest first."""
    if compiler_pays(_STEPS_PER_VALUE * len(low)):
        from holdfast.kernels.compiled_xxhash64 import hash_wide_compiled

        given = (low, high, valid, seeds)
        return np.asarray(hash_wide_compiled(*(_read_only(array) for array in given)))
    content = np.stack([high, low], axis=1).astype(">i8").view(np.uint8).reshape(-1, 16)
    sign = np.where(high < 0, 255, 0).astype(np.uint8)[:, None]
    # A byte of nothing but the sign is left out where the next one has the sign too.
    spare = (content[:, :15] == sign) & ((content[:, 1:] >= 128) == (sign == 255))
    first = np.cumprod(spare, axis=1).sum(axis=1)
    ends = np.arange(1, len(low) + 1) * 16
    return hash_bytes(content.reshape(-1), ends - 16 + first, ends, valid, seeds)


def hash_bytes(data: NDArray[np.uint8], starts: Ints, ends: Ints, valid: Bools, seeds: Ints) -> Ints:
    """Per row the hash of the bytes of `data` from its start up to its end."""
    sizes = ends - starts
    if compiler_pays(_STEPS_PER_VALUE * len(starts) + int(sizes.sum())):
        from holdfast.kernels.compiled_xxhash64 import hash_bytes_compiled

        given = (data, starts, ends, valid, seeds)
        return np.asarray(hash_bytes_compiled(*(_read_only(array) for array in given)))
    hashes = seeds.copy()
    for size in np.unique(sizes[valid]).tolist():
        rows = np.flatnonzero(valid & (sizes == size))
        content = data[starts[rows][:, None] + np.arange(size)]
        hashes[rows] = _of_bytes(content, seeds[rows].astype(np.uint64)).view(np.int64)
    return hashes


def _of_bytes(content: NDArray[np.uint8], seeds: Words) -> Words:
    """The hashes of values of one length, a line of bytes for each."""
    at, size = 0, content.shape[1]
    if size >= 32:
        lanes = [seeds + _PRIME_1 + _PRIME_2, seeds + _PRIME_2, seeds, seeds - _PRIME_1]
        while at <= size - 32:
            words = [_word(content, at + 8 * place) for place in range(4)]
            lanes = [_rotated(lane + word * _PRIME_2, 31) * _PRIME_1 for lane, word in zip(lanes, words, strict=True)]
            at += 32
        turned = [_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)]
        codes = turned[0] + turned[1] + turned[2] + turned[3]
        for lane in lanes:
            codes = (codes ^ (_rotated(lane * _PRIME_2, 31) * _PRIME_1)) * _PRIME_1 + _PRIME_4
    else:
        codes = seeds + _PRIME_5
    codes = codes + np.uint64(size)
    while at <= size - 8:
        codes = _with_word(codes, _word(content, at))
        at += 8
    if at <= size - 4:
        halves = np.ascontiguousarray(content[:, at : at + 4]).view("<u4")[:, 0].astype(np.uint64)
        codes = _with_half_word(codes, halves)
        at += 4
    for place in range(at, size):
        codes = _rotated(codes ^ (content[:, place].astype(np.uint64) * _PRIME_5), 11) * _PRIME_1
    return _mixed(codes)


def _word(content: NDArray[np.uint8], at: int) -> Words:
    return np.ascontiguousarray(content[:, at : at + 8]).view("<u8")[:, 0].astype(np.uint64)


def _with_word(codes: Words, words: Words) -> Words:
    return _rotated(codes ^ (_rotated(words * _PRIME_2, 31) * _PRIME_1), 27) * _PRIME_1 + _PRIME_4


def _with_half_word(codes: Words, halves: Words) -> Words:
    return _rotated(codes ^ (halves * _PRIME_1), 23) * _PRIME_2 + _PRIME_3


def _rotated(codes: Words, bits: int) -> Words:
    return (codes << np.uint64(bits)) | (codes >> np.uint64(64 - bits))


def _mixed(codes: Words) -> Words:
    codes = (codes ^ (codes >> np.uint64(33))) * _PRIME_2
    codes = (codes ^ (codes >> np.uint64(29))) * _PRIME_3
    return codes ^ (codes >> np.uint64(32))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array for one compiled kernel: Arrow's buffers cannot be written to, and numba tells them from others."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
