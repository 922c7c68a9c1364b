"""Desbordante lists the inclusions between the CSV files of a folder, as a process of its own: as JSON, with seconds.

Run by `inclusions.py` with the Python of the peer's own environment; knows nothing of Holdfast.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path

import desbordante

files = sorted(Path(sys.argv[1]).glob("*.csv"))
heads = []
for file in files:
    with file.open(encoding="utf-8", newline="") as lines:
        heads.append(next(csv.reader(lines)))
start = time.perf_counter()
algorithm = getattr(desbordante.ind.algorithms, sys.argv[2])()
algorithm.load_data(tables=[(str(file), ",", True) for file in files])
algorithm.execute(**({"max_arity": 2} if sys.argv[2] == "Faida" else {}))
seconds = time.perf_counter() - start


def side(indices: tuple[int, list[int]]) -> str:
    table, columns = indices
    return f"{files[table].stem}({', '.join(heads[table][column] for column in columns)})"


found = [
    f"{side((ind.get_lhs().table_index, ind.get_lhs().column_indices))} in "
    f"{side((ind.get_rhs().table_index, ind.get_rhs().column_indices))}"
    for ind in algorithm.get_inds()
]
print(json.dumps({"found": found, "seconds": seconds}))
