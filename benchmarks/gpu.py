"""How many pairs a second the GPU relates beside the CPU, on the same codes, with equal evidence and counts checked.

    python benchmarks/gpu.py [--rows 20000 100000 1000000] [--columns 8 15 30] [--cpu-up-to 50000]
    python benchmarks/gpu.py --check 200      random tables of all shapes, GPU against CPU, evidence for evidence
    python benchmarks/gpu.py --discover 1000000      all rules of a Tax-like table, by all pairs on the GPU

Needs numpy, numba and CuPy, a GPU, and nothing else (for --discover also pyarrow): no Spark.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np

from holdfast.kernels import gpu_evidence
from holdfast.kernels.evidence import (
    EQUALITY,
    EQUALITY_SKIP,
    LEFT_ROW,
    ORDER,
    ORDER_MEET,
    ORDER_SKIP,
    RIGHT_ROW,
    Layout,
    all_pairs,
    merged,
)

STATES = {EQUALITY: 2, EQUALITY_SKIP: 3, ORDER: 3, ORDER_SKIP: 4, ORDER_MEET: 4, LEFT_ROW: 3, RIGHT_ROW: 3}


def single_columns(columns: int, ordered: int) -> Layout:
    """Every column with itself, so many of them with an order."""
    ways = (ORDER,) * ordered + (EQUALITY,) * (columns - ordered)
    return Layout(tuple(range(columns)), tuple(range(columns)), ways, tuple(STATES[way] for way in ways))


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


def speed(sizes: list[int], widths: list[int], cpu_up_to: int) -> None:
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
        layout = single_columns(columns, columns * 2 // 3)
        for kinds in ("few", "many"):
            for rows in sizes:
                if kinds == "many" and columns > 20:
                    continue  # nearly every pair its own: nothing to discover, and no card holds it
                codes, ones = table(rows, columns, kinds, np.random.default_rng(1)), np.ones(rows, np.int64)
                pairs = rows * (rows - 1) / 2
                first, _ = timed(lambda c=codes, o=ones, a=layout: gpu_evidence.all_pairs(c[:, :2000], o[:2000], a))
                counted, found = timed(lambda c=codes, o=ones, a=layout: gpu_evidence.all_pairs(c, o, a))
                assert int(found.counts.sum()) == int(pairs)
                cpu = ""
                if rows <= cpu_up_to:
                    seconds, twin = timed(lambda c=codes, o=ones, a=layout: all_pairs(c, o, a, threads=threads))
                    assert same(found, twin)
                    cpu = f"{seconds:.2f}"
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
        layout = Layout(tuple(left), tuple(right), tuple(ways), tuple(STATES[way] for way in ways))
        weights = (
            np.ones(rows, np.int64) if rng.random() < 0.5 else rng.integers(1, 1 << int(rng.integers(1, 24)), rows)
        )
        shares = int(rng.choice([1, 1, 3]))
        parts = [gpu_evidence.all_pairs(codes, weights, layout, share=i, shares=shares) for i in range(shares)]
        twin = all_pairs(codes, weights, layout)
        told = f"table {at}: {rows} rows, {columns} columns, ways {ways}, {shares} shares"
        assert same(merged(parts), twin), told
    print(f"{many} random tables: the GPU tells what the CPU tells, evidence for evidence and count for count")


def discover(rows: int, seed: int) -> None:
    """Codes, evidence, hitting sets: all that a discovery does but reading and ranking."""
    from tables import tax

    from holdfast.discover.find import find
    from holdfast.discover.options import DiscoverOptions
    from holdfast.encode.arrow_column_type import arrow_column_type

    made = tax(rows, np.random.default_rng(seed), 0.0).drop(["id"])
    types = {name: arrow_column_type(kind) for name, kind in zip(made.schema.names, made.schema.types, strict=True)}
    options = DiscoverOptions(cross_columns=None, device="gpu", time_limit=300.0)
    threads = len(os.sched_getaffinity(0))
    find(made.slice(0, 2_000), types, options, threads=threads)
    seconds, found = timed(lambda: find(made, types, options, threads=threads))
    phases = ", ".join(f"{phase} {spent:.2f}" for phase, spent in found.phases.items())
    print(
        f"{rows:,} rows, {len(types)} columns: {len(found.masks):,} rules, {len(found.evidence):,} kinds of evidence "
        f"in {seconds:.2f} s ({phases}), complete: {found.complete}, {found.strategy} on {found.device}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000, 1_000_000])
    options.add_argument("--columns", type=int, nargs="+", default=[8, 15, 30])
    options.add_argument("--cpu-up-to", type=int, default=50_000)
    options.add_argument("--check", type=int, metavar="TABLES")
    options.add_argument("--discover", type=int, metavar="ROWS")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    if chosen.discover:
        discover(chosen.discover, chosen.seed)
    elif chosen.check:
        check(chosen.check, chosen.seed)
    else:
        speed(chosen.rows, chosen.columns, chosen.cpu_up_to)


if __name__ == "__main__":
    main()
