"""Generated tables for the benchmarks, from a seed; `noise` is the share of rows with an error in them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def texts(prefix: str, values: np.ndarray) -> pa.Array:
    return pa.array([f"{prefix}{v}" for v in range(int(values.max()) + 1)]).take(pa.array(values))


def tax(n: int, rng: np.random.Generator, noise: float) -> pa.Table:
    """15 columns; zip determines city and state but for errors; rate and tax rise with salary within a state."""
    zips = rng.integers(0, 30_000, n)
    state = zips % 50
    salary = rng.integers(10_000, 200_000, n)
    rate = (salary // 2_000) / 10 + state % 3
    child = rng.integers(0, 2, n)
    exemption = np.where(child == 1, (state * 37) % 3_000, 0)
    city = zips // 2
    wrong = rng.random(n) < noise
    rate = np.where(wrong & (rng.random(n) < 0.5), rng.integers(0, 100, n) / 10, rate)
    city = np.where(wrong & (rng.random(n) < 0.3), rng.integers(0, 15_000, n), city)
    exemption = np.where(wrong & (rng.random(n) < 0.3), rng.integers(0, 3_000, n), exemption)
    phone = rng.permutation(n * 3)[:n]
    twice = rng.random(n) < noise / 10
    phone[twice] = phone[rng.integers(0, n, twice.sum())]
    return pa.table(
        {
            "id": np.arange(n),
            "FName": texts("F", rng.integers(0, 5_000, n)),
            "LName": texts("L", rng.integers(0, 50_000, n)),
            "Gender": texts("G", rng.integers(0, 2, n)),
            "AreaCode": 200 + state,
            "Phone": phone,
            "City": texts("City", city),
            "State": texts("S", state),
            "ZipCode": zips,
            "MaritalStatus": texts("M", rng.integers(0, 2, n)),
            "HasChild": texts("C", child),
            "Salary": salary,
            "Rate": rate,
            "Tax": salary * 0.2 + np.where(wrong, rng.integers(-5_000, 5_000, n), 0),
            "ChildExemp": exemption,
        }
    )


def flights(n: int, rng: np.random.Generator, noise: float) -> pa.Table:
    origin, dest = rng.integers(0, 400, n), rng.integers(0, 400, n)
    distance = np.abs(origin - dest) * 13 + 100
    distance = np.where(rng.random(n) < noise / 10, distance + 1, distance)
    number = rng.integers(1, 1_000, n)
    passengers = number * 100 + rng.integers(0, 100, n)
    passengers = np.where(rng.random(n) < noise, rng.integers(0, 100_000, n), passengers)
    names = pa.array([f"A{i:03}" for i in range(400)])
    return pa.table(
        {
            "id": np.arange(n), "Origin": names.take(pa.array(origin)), "Dest": names.take(pa.array(dest)),
            "Distance": distance, "Flights": number, "Passengers": passengers,
        }
    )  # fmt: skip


def orders(n: int, rng: np.random.Generator, noise: float) -> pa.Table:
    del noise
    return pa.table(
        {
            "id": np.arange(n),
            "Customer": rng.integers(0, n // 2 + 1, n),
            "Supplier": rng.integers(n // 4, n, n),
            "Price": rng.random(n),
        }
    )


def films(n: int, rng: np.random.Generator, noise: float) -> pa.Table:
    """Titles, some of them twice in a year; of these, few are of different kinds."""
    title = rng.integers(0, max(n * 3 // 4, 1), n)
    year = 1950 + (title * 7) % 70
    kind = np.where(rng.random(n) < noise, rng.integers(0, 7, n), title % 7)
    return pa.table(
        {"id": np.arange(n), "Title": texts("Film ", title), "ProductionYear": year, "Kind": texts("K", kind)}
    )


MAKERS: dict[str, Callable[[int, np.random.Generator, float], pa.Table]] = {
    "tax": tax,
    "flights": flights,
    "orders": orders,
}


def write_tables(
    folder: Path, rows: int, noise: float, seed: int, names: Collection[str] = tuple(MAKERS)
) -> dict[str, str]:
    """Each of them as a Parquet file in the folder; its path by name."""
    paths = {}
    for name, make in MAKERS.items():
        if name not in names:
            continue
        path = folder / f"{name}-{rows}-{noise}.parquet"
        pq.write_table(make(rows, np.random.default_rng(seed), noise), path, row_group_size=max(rows // 8, 10_000))
        paths[name] = str(path)
    return paths


def change_batch(
    everything: pa.Table, there: np.ndarray, after: int, size: int, rng: np.random.Generator
) -> tuple[pa.Table, np.ndarray, int]:
    """Inserts, deletes and updates in equal parts; then the keys that are there, and the first that is not.

    `everything` has rows beyond those that are there: inserts come from them, and so do the new values of updates.
    """
    third = size // 3
    chosen = rng.choice(there, 2 * third, replace=False)
    gone, updated, new = chosen[:third], chosen[third:], np.arange(after, after + size - 2 * third)
    values = everything.take(pa.array(rng.integers(0, everything.num_rows, len(updated))))
    values = values.set_column(values.column_names.index("id"), "id", pa.array(updated))
    parts = [
        (everything.take(pa.array(new)), "insert"),
        (everything.take(pa.array(gone)), "delete"),
        (values, "update_postimage"),
    ]
    batch = pa.concat_tables([part.append_column("_change_type", pa.array([kind] * len(part))) for part, kind in parts])
    return batch, np.concatenate([np.setdiff1d(there, gone, assume_unique=True), new]), after + len(new)
