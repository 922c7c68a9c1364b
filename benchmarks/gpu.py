"""How many pairs a second the GPU relates beside the CPU, on the same codes, with equal evidence and counts checked.

    python benchmarks/gpu.py [--rows 20000 100000 1000000] [--columns 8 15 30] [--cpu-up-to 50000]
    python benchmarks/gpu.py --check 200      random tables of all shapes, GPU against CPU, evidence for evidence
    python benchmarks/gpu.py --discover 1000000      all rules of a Tax-like table, by all pairs on the GPU
    python benchmarks/gpu.py --discover 10000000 --with-id --beside-hybrid      the same by drawn pairs on the cores
    python benchmarks/gpu.py --changed 1000 100000 --rows 1000000      changed rows against all, as evolve counts them
    python benchmarks/gpu.py --numba 100000      the same counting, written for numba's CUDA target

Needs numpy, numba and CuPy, a GPU, and nothing else (for --discover also pyarrow): no Spark. Its memory is not looked
at; the record has the name of the card.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np
from record import Recording, add_record_options, recording

from holdfast.kernels import gpu_evidence
from holdfast.kernels.evidence import (
    EQUALITY,
    EQUALITY_SKIP,
    LEFT_ROW,
    ORDER,
    ORDER_MEET,
    ORDER_SKIP,
    RIGHT_ROW,
    Packing,
    all_pairs,
    listed_pairs,
    merged,
)

UNITS = {"seconds": "s", "pairs_per_s": "billion pairs/s", "cpu": "s"}
STATES = {EQUALITY: 2, EQUALITY_SKIP: 3, ORDER: 3, ORDER_SKIP: 4, ORDER_MEET: 4, LEFT_ROW: 3, RIGHT_ROW: 3}


def single_columns(columns: int, ordered: int) -> Packing:
    """Every column with itself, so many of them with an order."""
    ways = (ORDER,) * ordered + (EQUALITY,) * (columns - ordered)
    return Packing(tuple(range(columns)), tuple(range(columns)), ways, tuple(STATES[way] for way in ways))


def table(rows: int, columns: int, kinds: str, rng: np.random.Generator) -> np.ndarray:
    """Codes: with `few` kinds of evidence columns follow each other, with `many` they do not."""
    if kinds == "few":
        base = rng.integers(0, 1_000, rows)
        made = [
            base // (c + 1) if c < columns // 2 else (base * 7 + c) % (20 + c) // (1 + c % 3) for c in range(columns)
        ]
    else:
        made = [rng.integers(0, 3 + 40 * c, rows) for c in range(columns)]
    return np.array(made, np.int32)


def timed(run: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def same(one: Any, other: Any) -> bool:
    a, b = merged([one]), merged([other])
    return bool(np.array_equal(a.packed, b.packed) and np.array_equal(a.counts, b.counts))


def speed(sizes: list[int], widths: list[int], which: list[str], cpu_up_to: int, record: Recording) -> None:
    kept = record.table("all pairs", keys=("rows", "columns", "kinds"), units=UNITS)
    threads = len(os.sched_getaffinity(0))
    heads = (
        "rows",
        "columns",
        "kinds",
        "distinct",
        "first s",
        "counted s",
        "G pairs/s",
        "cpu s",
    )
    print(" ".join(f"{head:>10}" for head in heads), flush=True)
    for columns in widths:
        packing = single_columns(columns, columns * 2 // 3)
        for kinds in which:
            for rows in sizes:
                if kinds == "many" and columns > 20:
                    continue  # nearly every pair its own: nothing to discover, and no card holds it
                codes, ones = table(rows, columns, kinds, np.random.default_rng(1)), np.ones(rows, np.int64)
                pairs = rows * (rows - 1) / 2
                first, _ = timed(lambda c=codes, o=ones, a=packing: gpu_evidence.all_pairs(c[:, :2000], o[:2000], a))
                counted, found = timed(lambda c=codes, o=ones, a=packing: gpu_evidence.all_pairs(c, o, a))
                assert int(found.counts.sum()) == int(pairs)
                cpu = ""
                if rows <= cpu_up_to:
                    seconds, twin = timed(lambda c=codes, o=ones, a=packing: all_pairs(c, o, a, threads=threads))
                    assert same(found, twin)
                    cpu = f"{seconds:.2f}"
                kept.add(
                    rows=rows,
                    columns=columns,
                    kinds=kinds,
                    distinct=len(found.counts),
                    seconds=counted,
                    pairs_per_s=pairs / counted / 1e9,
                    cpu=float(cpu) if cpu else None,
                )
                cells = (
                    f"{rows:,}", columns, kinds, f"{len(found.counts):,}", f"{first:.2f}", f"{counted:.3f}",
                    f"{pairs / counted / 1e9:.1f}", cpu,
                )  # fmt: skip
                print(" ".join(f"{cell!s:>10}" for cell in cells), flush=True)


def check(many: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for at in range(many):
        columns = int(rng.integers(1, 20))
        pairs = int(rng.choice([1, 2, 5, 12, 20, 40, 60]))
        rows = int(rng.choice([1, 2, 3, 31, 255, 256, 257, 1000, 1025, 3000]))
        codes = np.empty((columns, rows), np.int32)
        for c in range(columns):
            codes[c] = rng.integers(-1 if rng.random() < 0.5 else 0, rng.choice([1, 2, 3, 40, 100_000]), rows)
        nulls = [bool((line < 0).any()) for line in codes]
        left, right, ways = [], [], []
        for _ in range(pairs):
            a, b = (int(c) for c in rng.integers(0, columns, 2))
            b = a if rng.random() < 0.6 else b
            some = [EQUALITY_SKIP, ORDER_SKIP, ORDER_MEET] if nulls[a] or nulls[b] else [EQUALITY, ORDER]
            way = int(rng.choice(some))
            if rng.random() < 0.1 and not nulls[a] and codes[a].max() < 3:
                way = int(rng.choice([LEFT_ROW, RIGHT_ROW]))
                b = a
            left.append(a), right.append(b), ways.append(way)
        packing = Packing(tuple(left), tuple(right), tuple(ways), tuple(STATES[way] for way in ways))
        weights = (
            np.ones(rows, np.int64) if rng.random() < 0.5 else rng.integers(1, 1 << int(rng.integers(1, 24)), rows)
        )
        first = int(rng.integers(1, rows + 1))
        changed = gpu_evidence.all_pairs(codes, weights * 0 + 1, packing, first=first)
        i, j = np.nonzero(np.triu(np.ones((min(first, 64), rows), np.bool_), 1))
        if first <= 64:
            assert same(changed, listed_pairs(codes, i, j, packing)), f"table {at}: the first {first} rows"
        assert int(changed.counts.sum()) == first * (rows - first) + first * (first - 1) // 2
        shares = int(rng.choice([1, 1, 3]))
        parts = [gpu_evidence.all_pairs(codes, weights, packing, share=i, shares=shares) for i in range(shares)]
        twin = all_pairs(codes, weights, packing)
        told = f"table {at}: {rows} rows, {columns} columns, ways {ways}, {shares} shares"
        assert same(merged(parts), twin), told
    print(f"{many} random tables: the GPU tells what the CPU tells, evidence for evidence and count for count")


def discover(rows: int, seed: int, with_id: bool, beside_hybrid: bool, record: Recording) -> None:
    """Codes, evidence, hitting sets: all that a discovery does but reading, ranking and estimates of accidents.

    The same codes serve both strategies; their rules are asserted to be equal.
    """
    from tables import tax

    from holdfast.encode.arrow_column_type import arrow_column_type
    from holdfast.search.clock import Clock
    from holdfast.search.coded_rows import CodedRows, coded_rows
    from holdfast.search.find import find_in
    from holdfast.search.options import DiscoverOptions
    from holdfast.search.result import SearchResult

    made = tax(rows, np.random.default_rng(seed), 0.0).drop([] if with_id else ["id"])
    types = {name: arrow_column_type(kind) for name, kind in zip(made.schema.names, made.schema.types, strict=True)}
    options = DiscoverOptions(cross_columns=None, device="gpu")
    threads = len(os.sched_getaffinity(0))
    encoding, coded = timed(lambda: coded_rows(made, types, options))
    few = coded_rows(made.slice(0, 2_000), types, options)

    def searched(of: CodedRows, strategy: str) -> SearchResult:
        return find_in(of, options, Clock(None), threads=threads, strategy=strategy)

    kept = record.table("discover", keys=("rows", "columns"), units=UNITS | {"encoding": "s", "hybrid": "s"})
    pairs = rows * (rows - 1) / 2
    print(f"{rows:,} rows, {len(types)} columns: codes in {encoding:.2f} s", flush=True)
    hybrid = None
    if beside_hybrid:
        searched(few, "hybrid")
        hybrid, drawn = timed(lambda: searched(coded, "hybrid"))
        print(_found(f"hybrid on {threads} cores", hybrid, drawn), flush=True)
    searched(few, "all-pairs")
    seconds, found = timed(lambda: searched(coded, "all-pairs"))
    speed = pairs / found.phases["evidence"] / 1e9
    print(f"{_found(f'all pairs on {found.device}', seconds, found)}, {speed:.0f} G pairs/s", flush=True)
    if beside_hybrid:
        assert found.complete, "the search by all pairs has ended"
        assert drawn.complete, "the search by drawn pairs has ended"
        assert found.space == drawn.space, "both speak of the same predicates"
        assert sorted(map(bytes, found.masks)) == sorted(map(bytes, drawn.masks)), "both find the same rules"
        print("both find the same rules", flush=True)
    kept.add(
        rows=rows, columns=len(types), rules=len(found.masks), kinds=len(found.evidence), seconds=encoding + seconds,
        encoding=encoding, pairs_per_s=speed, hybrid=None if hybrid is None else encoding + hybrid,
    )  # fmt: skip


def _found(by: str, seconds: float, found: Any) -> str:
    phases = ", ".join(f"{phase} {spent:.2f}" for phase, spent in found.phases.items())
    many = f"{len(found.masks):,} rules, {len(found.evidence):,} kinds of evidence"
    return f"{by}: {many} in {seconds:.2f} s ({phases}), complete: {found.complete}"


def changed(sizes: list[int], many: list[int], widths: list[int], record: Recording) -> None:
    """Rows that change against all rows, by the same kernel, beside the cores' own."""
    from holdfast.kernels.pairs_between import MOST_ROWS, BlockPair, beside

    threads = len(os.sched_getaffinity(0))
    kept = record.table("changed rows", keys=("rows", "changed", "columns"), units=UNITS)
    print(" ".join(f"{head:>10}" for head in ("rows", "changed", "columns", "gpu s", "G pairs/s", "cpu s", "ratio")))
    for columns in widths:
        packing = single_columns(columns, columns * 2 // 3)
        for rows in sizes:
            codes, ones = table(rows, columns, "few", np.random.default_rng(1)), np.ones(rows, np.int64)
            for some in many:
                pairs = some * (rows - some) + some * (some - 1) / 2
                timed(lambda c=codes, o=ones, a=packing: gpu_evidence.all_pairs(c[:, :2000], o[:2000], a, first=10))
                on_card, found = timed(
                    lambda c=codes, o=ones, a=packing, m=some: gpu_evidence.all_pairs(c, o, a, first=m)
                )
                assert int(found.counts.sum()) == int(pairs)
                cpu = ratio = ""
                if some <= MOST_ROWS:
                    valid = np.ones(rows, np.bool_)

                    def on_cores(c: Any = codes, a: Packing = packing, m: int = some, v: Any = valid) -> Any:
                        lines = [
                            beside(
                                line[:m].astype(np.int64), v[:m], line[m:].astype(np.int64), v[m:], nulls_equal=False
                            )
                            for line in c
                        ]
                        blocks = BlockPair(np.stack([x for x, _ in lines]), np.stack([y for _, y in lines]), a)
                        return blocks.counted(threads=threads)

                    on_cores()
                    seconds, _ = timed(on_cores)
                    cpu, ratio = f"{seconds:.2f}", f"{seconds / on_card:.1f}"
                kept.add(
                    rows=rows,
                    changed=some,
                    columns=columns,
                    seconds=on_card,
                    pairs_per_s=pairs / on_card / 1e9,
                    cpu=float(cpu) if cpu else None,
                )
                cells = (
                    f"{rows:,}",
                    f"{some:,}",
                    columns,
                    f"{on_card:.3f}",
                    f"{pairs / on_card / 1e9:.1f}",
                    cpu,
                    ratio,
                )
                print(" ".join(f"{cell!s:>10}" for cell in cells), flush=True)


def by_numba(rows: int) -> None:
    """The design of the kernel, in Python for numba's CUDA target, on 15 columns; counts are checked.

    A thread has one left row (numba keeps no arrays in registers), a tile of right rows lies in shared memory, and
    equal packed relations are counted in shared memory first.
    """
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack  # numba's CUDA target asks for a name that newer versions of numpy have dropped
    from numba import cuda, uint32, uint64

    columns, threads, tile, room, tiles = 15, 256, 128, 2048, 16
    ordered = columns * 2 // 3
    packing = single_columns(columns, ordered)
    weights = np.cumprod([1, *packing.states[:-1]]).astype(np.int64)
    cells = int(np.prod(packing.states))
    scale = tuple(int(w) for w in weights)

    @cuda.jit
    def evidence(codes, n, counts, work):  # type: ignore[no-untyped-def]
        shared = cuda.shared.array((tile, 15), np.int32)
        keys = cuda.shared.array(room, uint32)
        times = cuda.shared.array(room, uint32)
        unit = cuda.shared.array(1, np.int64)
        lane = cuda.threadIdx.x
        for s in range(lane, room, threads):
            keys[s] = uint32(0xFFFFFFFF)
            times[s] = uint32(0)
        lefts, span = (n + threads - 1) // threads, tile * tiles
        rights = (n + span - 1) // span
        own = cuda.local.array(15, np.int32)
        while True:
            cuda.syncthreads()
            if lane == 0:
                unit[0] = cuda.atomic.add(work, 0, 1)
            cuda.syncthreads()
            mine = unit[0]
            if mine >= lefts * rights:
                break
            left, begin = mine // rights, (mine % rights) * span
            row = left * threads + lane
            if begin + span <= left * threads:
                continue
            for c in range(15):
                own[c] = codes[c, min(row, n - 1)]
            for base in range(begin, min(begin + span, n), tile):
                many = min(tile, n - base)
                cuda.syncthreads()
                for i in range(lane, 15 * tile, threads):
                    c, j = i // tile, i % tile
                    if j < many:
                        shared[j, c] = codes[c, base + j]
                cuda.syncthreads()
                for j in range(many):
                    if row >= n or row >= base + j:
                        continue
                    key = uint32(0)
                    for c in range(15):
                        x, y = own[c], shared[j, c]
                        state = uint32(x != y)
                        if c < ordered:
                            state = uint32(uint32(x >= y) + uint32(x > y))
                        key = uint32(key + uint32(scale[c]) * state)
                    # Products of 32 bits are of 64 here.
                    at = uint32(((uint64(key) * uint64(0x9E3779B1)) & uint64(0xFFFFFFFF)) >> uint64(21))
                    done = False
                    for _ in range(4):
                        was = keys[at]
                        if was == uint32(0xFFFFFFFF):
                            was = cuda.atomic.cas(keys, at, uint32(0xFFFFFFFF), key)
                            if was == uint32(0xFFFFFFFF):
                                was = key
                        if was == key:
                            cuda.atomic.add(times, at, uint32(1))
                            done = True
                            break
                        at = uint32((at + uint32(1)) & uint32(room - 1))
                    if not done:
                        cuda.atomic.add(counts, key, uint64(1))
        cuda.syncthreads()
        for s in range(lane, room, threads):
            if times[s]:
                cuda.atomic.add(counts, keys[s], uint64(times[s]))

    codes = table(rows, columns, "few", np.random.default_rng(1))
    device_codes = cuda.to_device(codes)
    blocks = 8 * cuda.get_current_device().MULTIPROCESSOR_COUNT

    def run() -> np.ndarray:
        counts, work = cuda.to_device(np.zeros(cells, np.uint64)), cuda.to_device(np.zeros(1, np.int64))
        evidence[blocks, threads](device_codes, rows, counts, work)
        return np.asarray(counts.copy_to_host())

    def run_twin() -> Any:
        return gpu_evidence.all_pairs(codes, np.ones(rows, np.int64), packing)

    run(), run_twin()
    seconds, counts = timed(run)
    twin_seconds, twin = timed(run_twin)
    pairs = rows * (rows - 1) / 2
    assert int(counts.sum()) == int(pairs) == int(twin.counts.sum())
    assert sorted(counts[counts > 0].tolist()) == sorted(twin.counts.tolist())
    print(
        f"{rows:,} rows, {columns} columns, {len(twin.counts):,} kinds: numba {seconds:.3f} s, "
        f"{pairs / seconds / 1e9:.1f} G pairs/s; CuPy {twin_seconds:.3f} s, {pairs / twin_seconds / 1e9:.1f} G pairs/s"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000, 1_000_000])
    options.add_argument("--columns", type=int, nargs="+", default=[8, 15, 30])
    options.add_argument("--kinds", nargs="+", choices=("few", "many"), default=["few", "many"], help="of evidence")
    options.add_argument("--cpu-up-to", type=int, default=50_000)
    options.add_argument("--check", type=int, metavar="TABLES")
    options.add_argument("--discover", type=int, metavar="ROWS")
    options.add_argument("--with-id", action="store_true", help="--discover: with the column that numbers the rows")
    options.add_argument("--beside-hybrid", action="store_true", help="--discover: by drawn pairs on the cores, too")
    options.add_argument("--changed", type=int, nargs="+", metavar="ROWS")
    options.add_argument("--numba", type=int, metavar="ROWS")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--card", help="the card, in words; by default its own name")
    add_record_options(options)
    chosen = options.parse_args()
    with recording(chosen, card=chosen.card or card()) as record:
        _run(chosen, record)


def card() -> str:
    """The first card, in its own words."""
    import cupy

    return f"one {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}"


def _run(chosen: argparse.Namespace, record: Recording) -> None:
    if chosen.changed:
        changed(chosen.rows, chosen.changed, chosen.columns, record)
    elif chosen.numba:
        by_numba(chosen.numba)
    elif chosen.discover:
        discover(chosen.discover, chosen.seed, chosen.with_id, chosen.beside_hybrid, record)
    elif chosen.check:
        check(chosen.check, chosen.seed)
    else:
        speed(chosen.rows, chosen.columns, chosen.kinds, chosen.cpu_up_to, record)


if __name__ == "__main__":
    main()
