"""The relations of all pairs of rows, counted on a GPU: what `evidence.all_pairs` counts, in the same form.

A kernel is written for each packing, so that columns, ways and weights are constants in it. A thread keeps a few left
rows in registers; a tile of right rows lies in shared memory, and all threads of a block compare theirs with one after
the other. Equal packed relations are counted in a small hash table in shared memory, and from there, or at once where
it is full, in global memory: in a cell each where there are few, in a hash table of their own otherwise.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from holdfast.kernels.evidence import (
    EQUALITY,
    EQUALITY_SKIP,
    LEFT_ROW,
    NULL,
    ORDER,
    ORDER_MEET,
    RIGHT_ROW,
    Codes,
    Counted,
    Ints,
    Packing,
    merged,
    packed_pairs,
)

THREADS = 256
# Right tiles that a block goes through with one set of left rows.
_TILES = 16
# Shared memory that every card since 2016 gives without being asked.
_SHARED = 48 * 1024
_MOST_CELLS = 1 << 27
_FIRST_KEYS = 1 << 22


def all_pairs(
    columns: Codes, weights: Ints, packing: Packing, *, share: int = 0, shares: int = 1, card: int = 0,
    first: int | None = None,
) -> Counted:  # fmt: skip
    """As `evidence.all_pairs`, on a GPU of this machine. Cost: about 200 billion pairs a second on an H200.

    With `first`, only the pairs of one of so many first rows with a later one: what changed, against all. Raises what
    CuPy raises where there is no GPU, or not enough of its memory.
    """
    import cupy

    rows = columns.shape[1]
    plain = bool((weights == 1).all())
    parts = []
    if rows > 1 and packing.ways:
        kernel = _kernel(packing, plain)
        with cupy.cuda.Device(card):
            left_rows = rows if first is None else first
            parts.append(kernel.run(cupy, np.ascontiguousarray(columns, np.int32), weights, share, shares, left_rows))
    if not plain and share == 0:
        parts.append(_with_themselves(columns[:, :first], weights[:first], packing))
    if not parts:
        return Counted(np.zeros((0, len(packing.sizes)), np.uint16), np.zeros(0, np.int64))
    return merged(parts)


def missing() -> str | None:
    """Why no GPU can be used in this process, or None when one can."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed"
    try:
        cards = cupy.cuda.runtime.getDeviceCount()
        return None if cards else "there is no GPU"
    except Exception as problem:  # the driver is missing or too old; CuPy has many ways to say so
        return f"no GPU answers ({problem})"


def _with_themselves(columns: Codes, weights: Ints, packing: Packing) -> Counted:
    """A row that stands for w rows is in w(w-1)/2 pairs with itself."""
    several = np.flatnonzero(weights > 1)
    times = weights[several] * (weights[several] - 1) // 2
    return merged([Counted(packed_pairs(columns, several, several, packing), times)])


@lru_cache(maxsize=64)
def _kernel(packing: Packing, plain: bool) -> _Kernel:
    return _Kernel(packing, plain)


class _Kernel:
    """The program for one packing."""

    def __init__(self, packing: Packing, plain: bool) -> None:
        self.packing, self.plain = packing, plain
        self.left = sorted(set(packing.left))
        self.right = sorted(set(packing.right))
        cells = int(np.prod([float(size) for size in packing.sizes]))
        self.cells = cells if cells <= _MOST_CELLS else None
        self.words = 1 if self.cells is not None else -(-len(packing.sizes) // 4)
        self.rows = 4 if len(self.left) <= 16 else 2 if len(self.left) <= 30 else 1
        # Right rows lie one after the other, each padded so that four columns are read at once.
        self.stride = -(-(len(self.right)) // 4) * 4
        self.table = 2048 if self.words == 1 else 1024
        room = _SHARED - self.table * (8 * self.words + 12) - 64
        per_row = 4 * self.stride + (0 if plain else 8)
        self.tile = 256
        while self.tile * per_row > room:
            self.tile //= 2
        self.source = _source(self)
        self._compiled: Any = None

    def run(self, cupy: Any, columns: Codes, weights: Ints, share: int, shares: int, first: int) -> Counted:
        if self._compiled is None:
            self._compiled = cupy.RawKernel(self.source, "evidence", options=("--std=c++14",))
        n = columns.shape[1]
        device_columns, device_weights = cupy.asarray(columns), cupy.asarray(weights)
        starts = self._starts(n, first)
        device_starts = cupy.asarray(starts)
        blocks = 8 * cupy.cuda.Device().attributes["MultiProcessorCount"]
        room = self.cells if self.cells is not None else _FIRST_KEYS
        while True:
            counts = cupy.zeros(room, cupy.uint64)
            size = 1 if self.cells is not None else room
            keys = cupy.full(size * self.words, 0xFFFFFFFFFFFFFFFF, cupy.uint64)
            tags = cupy.zeros(size if self.words > 1 else 1, cupy.uint32)
            state = cupy.zeros(4, cupy.uint64)  # next unit of work, keys in the table, whether it was too small
            self._compiled(
                (blocks,), (THREADS,),
                (
                    device_columns, np.int64(n), np.int64(first), device_weights, device_starts,
                    np.int32(len(starts) - 1), np.int64(share), np.int64(shares), counts, keys, tags,
                    np.uint64(room), state,
                ),
            )  # fmt: skip
            progress = state.get()
            if progress[2] == 0:
                return self._counted(cupy, counts, keys)
            del counts, keys, tags
            room *= 8

    def _starts(self, n: int, first: int) -> Ints:
        """Per left tile the first of its units of work: so many right tiles that hold rows after its first row."""
        wide = THREADS * self.rows
        firsts = np.arange(0, first, wide)
        tiles = -(-n // self.tile) - (firsts + 1) // self.tile
        return np.concatenate([[0], np.cumsum(np.maximum(-(-tiles // _TILES), 0))]).astype(np.int64)

    def _counted(self, cupy: Any, counts: Any, keys: Any) -> Counted:
        filled = cupy.flatnonzero(counts)
        times = counts[filled].get().astype(np.int64)
        width = len(self.packing.sizes)
        if self.cells is not None:
            rest = filled.get().astype(np.int64)
            packed = np.empty((len(rest), width), np.uint16)
            for group, size in enumerate(self.packing.sizes):
                packed[:, group] = rest % size
                rest //= size
        else:
            lines = keys.reshape(-1, self.words)[filled].get()
            packed = lines.view(np.uint16).reshape(len(times), 4 * self.words)[:, :width].copy()
        order = np.lexsort(packed.T[::-1])
        return Counted(packed[order], times[order])


def _source(kernel: _Kernel) -> str:
    """The CUDA text: comparisons unrolled, weights and ways written out."""
    packing = kernel.packing
    groups = len(packing.sizes)
    relate = []
    for p, (way, (group, weight)) in enumerate(zip(packing.ways, packing.places, strict=True)):
        x = f"x[r][{kernel.left.index(packing.left[p])}]"
        y = f"y{kernel.right.index(packing.right[p])}"
        relate.append(f"g{group} += {_state(way, x, y, weight)};")
    if kernel.cells is not None:
        radix = np.concatenate([[1], np.cumprod(packing.sizes[:-1])]).astype(np.int64)
        key = " + ".join(f"{int(radix[g])}u * g{g}" for g in range(groups))
        assign_key = f"key[0] = {key};"
    else:
        assign_key = " ".join(
            f"key[{w}] = "
            + " | ".join(f"((u64)g{g} << {16 * (g & 3)})" for g in range(4 * w, min(4 * w + 4, groups)))
            + ";"
            for w in range(kernel.words)
        )
    reads = " ".join(f"int4 q{v} = *(const int4*)(tile + j * STRIDE + {4 * v});" for v in range(kernel.stride // 4))
    names = " ".join(f"int y{i} = q{i // 4}.{'xyzw'[i % 4]};" for i in range(len(kernel.right)))
    zeros = "unsigned " + ", ".join(f"g{g} = 0" for g in range(groups)) + ";"
    left = ", ".join(str(c) for c in kernel.left)
    right = ", ".join(str(c) for c in kernel.right)
    head = f"""
typedef unsigned long long u64;
#define ROWS {kernel.rows}
#define THREADS {THREADS}
#define TILE {kernel.tile}
#define TILES {_TILES}
#define STRIDE {kernel.stride}
#define TABLE {kernel.table}
#define TABLE_BITS {kernel.table.bit_length() - 1}
#define WORDS {kernel.words}
#define CELLS {int(kernel.cells is not None)}
#define PLAIN {int(kernel.plain)}
#define COUNT {"unsigned" if kernel.plain else "u64"}
typedef {"unsigned" if kernel.cells is not None else "u64"} word;
#define LEFT {len(kernel.left)}
#define RIGHT {len(kernel.right)}
__constant__ int left_columns[LEFT] = {{{left}}};
__constant__ int right_columns[RIGHT] = {{{right}}};
#define RELATE {" ".join(relate)}
#define ZEROS {zeros}
#define KEY {assign_key}
#define READS {reads} {names}
"""
    return head + _BODY


def _state(way: int, x: str, y: str, weight: int) -> str:
    """The weighted state of two codes, as an expression; a null code is below all others."""
    w = f"{weight}u"
    if way == LEFT_ROW:
        return f"{w} * (unsigned){x}"
    if way == RIGHT_ROW:
        return f"{w} * (unsigned){y}"
    if way == EQUALITY:
        return f"({x} != {y} ? {w} : 0u)"
    if way == ORDER:
        return f"({x} >= {y} ? {w} : 0u) + ({x} > {y} ? {w} : 0u)"
    null = f"({x} == {NULL} || {y} == {NULL})"
    if way == EQUALITY_SKIP:
        return f"({null} ? {2 * weight}u : ({x} != {y} ? {w} : 0u))"
    both = f"({x} == {y} ? {w} : {3 * weight}u)" if way == ORDER_MEET else f"{3 * weight}u"
    return f"({null} ? {both} : ({x} >= {y} ? {w} : 0u) + ({x} > {y} ? {w} : 0u))"


_BODY = r"""
#define EMPTY (~(word)0)

__device__ __forceinline__ unsigned mixed(const word* key) {
#if CELLS
    return key[0] * 0x9E3779B1u >> (32 - TABLE_BITS);
#endif
    u64 h = 0;
    #pragma unroll
    for (int w = 0; w < WORDS; w++) {
        h = (h ^ key[w]) * 0x9E3779B97F4A7C15ull;
        h ^= h >> 32;
    }
    return (unsigned)h;
}

/* In global memory: a cell of its own, or a place in a table that is searched onward. */
__device__ void keep(const word* key, u64 times, u64* counts, u64* keys, unsigned* tags, u64 room, u64* state) {
#if CELLS
    atomicAdd(counts + key[0], times);
#else
    u64 at = (u64)mixed(key) * 0x9E3779B97F4A7C15ull >> 20 & (room - 1);
    for (u64 step = 0; step < room; step++, at = (at + 1) & (room - 1)) {
        if (((volatile u64*)state)[2]) return;
        bool mine = false;
#if WORDS == 1
        u64 was = ((volatile u64*)keys)[at];
        if (was == ~0ull) {
            was = atomicCAS(keys + at, ~0ull, key[0]);
            mine = was == ~0ull;
        }
        if (!mine && was != key[0]) continue;
#else
        unsigned tag = ((volatile unsigned*)tags)[at];
        if (tag == 0) {
            tag = atomicCAS(tags + at, 0u, 1u);
            if (tag == 0) {
                mine = true;
                for (int w = 0; w < WORDS; w++) ((volatile u64*)keys)[at * WORDS + w] = key[w];
                __threadfence();
                atomicExch(tags + at, 2u);
            }
        }
        if (!mine) {
            while (((volatile unsigned*)tags)[at] != 2u) { }
            __threadfence();
            bool same = true;
            for (int w = 0; w < WORDS; w++) same &= ((volatile u64*)keys)[at * WORDS + w] == key[w];
            if (!same) continue;
        }
#endif
        if (mine && atomicAdd(state + 1, 1ull) * 2 > room) atomicExch(state + 2, 1ull);
        atomicAdd(counts + at, times);
        return;
    }
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS) evidence(
    const int* columns, long long n, long long lefts, const long long* weights, const long long* starts,
    int left_tiles, long long share, long long shares, u64* counts, u64* keys, unsigned* tags, u64 room, u64* state)
{
    __shared__ __align__(16) int tile[TILE * STRIDE];
    __shared__ word table_keys[TABLE * WORDS];
    __shared__ unsigned table_tags[WORDS > 1 ? TABLE : 1];
    __shared__ COUNT table_counts[TABLE];
#if !PLAIN
    __shared__ long long tile_weights[TILE];
#endif
    __shared__ long long unit;
    for (int s = threadIdx.x; s < TABLE; s += THREADS) {
        table_counts[s] = 0;
        if (WORDS > 1) table_tags[s] = 0;
        for (int w = 0; w < WORDS; w++) table_keys[s * WORDS + w] = EMPTY;
    }
    long long met = 0;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) unit = (long long)atomicAdd(state, 1ull) * shares + share;
        __syncthreads();
        long long mine = unit;
        if (mine >= starts[left_tiles]) break;
        int low = 0, high = left_tiles;
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (starts[middle] <= mine) low = middle; else high = middle;
        }
        long long first = (long long)low * THREADS * ROWS;
        long long begin = ((first + 1) / TILE + (mine - starts[low]) * TILES) * TILE;
        long long end = min(begin + (long long)TILES * TILE, n);
        int x[ROWS][LEFT];
        long long row[ROWS];
#if !PLAIN
        long long own[ROWS];
#endif
        #pragma unroll
        for (int r = 0; r < ROWS; r++) {
            row[r] = first + r * THREADS + threadIdx.x;
            long long at = min(row[r], n - 1);
            #pragma unroll
            for (int c = 0; c < LEFT; c++) x[r][c] = columns[left_columns[c] * n + at];
#if !PLAIN
            own[r] = weights[at];
#endif
        }
        for (long long base = begin; base < end; base += TILE) {
            int many = (int)min((long long)TILE, n - base);
            __syncthreads();
            for (int i = threadIdx.x; i < RIGHT * TILE; i += THREADS) {
                int c = i / TILE, j = i % TILE;
                if (j < many) tile[j * STRIDE + c] = columns[right_columns[c] * n + base + j];
            }
#if !PLAIN
            for (int j = threadIdx.x; j < many; j += THREADS) tile_weights[j] = weights[base + j];
#endif
            __syncthreads();
            bool all = base > first + (long long)THREADS * ROWS - 1 && first + (long long)THREADS * ROWS <= lefts;
            for (int j = 0; j < many; j++) {
                READS
                #pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    if (!all && (row[r] >= base + j || row[r] >= lefts)) continue;
                    ZEROS
                    RELATE
                    word key[WORDS];
                    KEY
#if PLAIN
                    COUNT times = 1;
#else
                    COUNT times = (u64)(own[r] * tile_weights[j]);
#endif
                    unsigned at = mixed(key) & (TABLE - 1);
                    bool done = false;
                    for (int step = 0; step < 4 && !done; step++, at = (at + 1) & (TABLE - 1)) {
#if WORDS == 1
                        word was = ((volatile word*)table_keys)[at];
                        if (was == EMPTY) {
                            was = atomicCAS(table_keys + at, EMPTY, key[0]);
                            if (was == EMPTY) was = key[0];
                        }
                        done = was == key[0];
#else
                        unsigned tag = ((volatile unsigned*)table_tags)[at];
                        if (tag == 0) {
                            tag = atomicCAS(table_tags + at, 0u, 1u);
                            if (tag == 0) {
                                for (int w = 0; w < WORDS; w++) ((volatile word*)table_keys)[at * WORDS + w] = key[w];
                                __threadfence_block();
                                atomicExch(table_tags + at, 2u);
                                tag = 2;
                            }
                        }
                        if (tag == 1) {
                            while (((volatile unsigned*)table_tags)[at] != 2u) { }
                            __threadfence_block();
                        }
                        done = true;
                        for (int w = 0; w < WORDS; w++) done &= ((volatile word*)table_keys)[at * WORDS + w] == key[w];
#endif
                        if (done) atomicAdd(table_counts + at, times);
                    }
                    if (!done) keep(key, times, counts, keys, tags, room, state);
                }
            }
            /* Before a count of 32 bits can be full: pairs of this block since its table was last emptied. */
            met += (long long)THREADS * ROWS * TILE;
            if (PLAIN && met > 1ll << 31) {
                met = 0;
                __syncthreads();
                for (int s = threadIdx.x; s < TABLE; s += THREADS) {
                    if (table_counts[s]) {
                        word key[WORDS];
                        for (int w = 0; w < WORDS; w++) key[w] = table_keys[s * WORDS + w];
                        keep(key, table_counts[s], counts, keys, tags, room, state);
                        table_counts[s] = 0;
                    }
                }
            }
        }
    }
    __syncthreads();
    for (int s = threadIdx.x; s < TABLE; s += THREADS) {
        if (table_counts[s]) {
            word key[WORDS];
            for (int w = 0; w < WORDS; w++) key[w] = table_keys[s * WORDS + w];
            keep(key, table_counts[s], counts, keys, tags, room, state);
        }
    }
}
"""
