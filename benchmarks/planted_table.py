"""A table with known rules and known errors, from a seed: typos, swapped values, duplicated keys, shifted dates.

Columns `id`, `zip`, `city`, `state`, `salary`, `rate`, `ordered` and `shipped` have laws; the others mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

KEY = "unique(id)"
CITY = "zip -> city"
STATE = "city -> state"
RATE = "if t.state = s.state and t.salary <= s.salary then t.rate <= s.rate"
DATES = "not(t.ordered > t.shipped)"
RULES = (KEY, CITY, STATE, RATE, DATES)


@dataclass(frozen=True)
class Planted:
    """A table with errors; per rule the rows (by number) where an error was planted to break it, and those with any
    error in its columns."""

    table: pa.Table
    aimed: dict[str, frozenset[int]]
    touched: dict[str, frozenset[int]]


def planted(rows: int, share: float, seed: int) -> Planted:
    """A table of so many rows; each kind of error is in so large a share of them, in one row at least."""
    rng = np.random.default_rng(seed)
    zips = rng.integers(0, 20, rows)
    city, state = zips // 2, zips // 4
    salary = rng.integers(20, 120, rows) * 1_000
    rate = salary // 20_000 + state * 3
    shipped = rng.integers(19_000, 19_700, rows)
    ordered = shipped - rng.integers(0, 9, rows)
    ids = np.arange(rows)
    few = max(round(share * rows), 1)

    # Each row has one error at most. A duplicate is the later one of two rows.
    free = rng.permutation(np.arange(rows // 10, rows))
    twice, free = free[:few], free[few:]
    ids[twice] = rng.permutation(rows // 10)[np.arange(few) % (rows // 10)]
    typos, free = free[:few], free[few:]
    late, free = free[:few], free[few:]
    ordered[late] = shipped[late] + rng.integers(1, 400, few)
    moved, free = _swapped(state, free, few, lambda a, b: state[a] != state[b])
    paid, free = _swapped(rate, free, few, lambda a, b: state[a] == state[b] and abs(salary[a] - salary[b]) > 60_000)

    def texts(prefix: str, values: np.ndarray) -> list[str]:
        return [f"{prefix}{value:02}" for value in values.tolist()]

    cities = texts("City", city)
    for i in typos.tolist():
        cities[i] = cities[i].replace("i", "ii") if i % 2 else cities[i][:-1] + "x"
    table = pa.table(
        {
            "id": texts("K", ids),
            "zip": texts("Z", zips),
            "city": cities,
            "state": texts("S", state),
            "salary": salary,
            "rate": rate,
            "ordered": pa.array(ordered.astype("datetime64[D]")),
            "shipped": pa.array(shipped.astype("datetime64[D]")),
            "colour": texts("c", rng.integers(0, 5, rows)),
            "size": texts("s", rng.integers(0, 12, rows)),
            "weight": rng.integers(200, 240, rows),
        }
    )
    aimed = {KEY: twice, CITY: typos, STATE: moved, RATE: paid, DATES: late}
    touched = {KEY: twice, CITY: typos, STATE: np.union1d(typos, moved), RATE: np.union1d(paid, moved), DATES: late}
    return Planted(
        table,
        {rule: frozenset(places.tolist()) for rule, places in aimed.items()},
        {rule: frozenset(places.tolist()) for rule, places in touched.items()},
    )


def _swapped(values: np.ndarray, free: np.ndarray, few: int, fits) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """Swaps values between two rows that fit, until so many rows, two at least, are wrong; those, and the rows left."""
    wrong: list[int] = []
    left = free.tolist()
    while len(wrong) < max(few, 2):
        first = left.pop()
        second = next((i for i in left if fits(first, i)), None)
        if second is None:
            continue
        left.remove(second)
        values[first], values[second] = values[second], values[first]
        wrong += [first, second]
    return np.array(wrong), np.array(left)
