"""Desbordante's DC miner on a CSV file, as a process of its own: its rules and its seconds as JSON.

Run by `discover.py` and `discover_dirty.py` with the Python of the peer's own environment; knows nothing of Holdfast.
"""

from __future__ import annotations

import json
import sys
import time

import desbordante

path, threads = sys.argv[1], int(sys.argv[2])
error = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
miner = desbordante.dc.algorithms.FastADC()
start = time.perf_counter()
miner.load_data(table=(path, ",", True))
loaded = time.perf_counter()
# Its default is a share of violations above 0: rules that hold but for a few pairs.
miner.execute(allow_cross_columns=False, evidence_threshold=error, threads=threads)
done = time.perf_counter()
rules = [str(rule) for rule in miner.get_dcs()]
print(json.dumps({"load": loaded - start, "mine": done - loaded, "rules": rules}))
