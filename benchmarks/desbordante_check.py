"""Desbordante verifies one rule on a CSV file, as a process of its own: what it says and its seconds as JSON.

Run by `local.py` with the Python of the peer's own environment; knows nothing of Holdfast. A rule is a list: `key`,
`fd` or `dc`, and then columns by number, those of the left side and that of the right side, or a denial constraint.
"""

from __future__ import annotations

import json
import sys
import time

import desbordante

path, rule = sys.argv[1], json.loads(sys.argv[2])
start = time.perf_counter()
if rule[0] == "key":
    verifier = desbordante.ucc_verification.algorithms.Default()
    verifier.load_data(table=(path, ",", True))
    verifier.execute(ucc_indices=rule[1])
    holds = verifier.ucc_holds()
elif rule[0] == "fd":
    verifier = desbordante.fd_verification.algorithms.Default()
    verifier.load_data(table=(path, ",", True))
    verifier.execute(lhs_indices=rule[1], rhs_indices=rule[2])
    holds = verifier.fd_holds()
else:
    verifier = desbordante.dc_verification.algorithms.Default()
    verifier.load_data(table=(path, ",", True))
    verifier.execute(denial_constraint=rule[1], do_collect_violations=False)
    holds = verifier.dc_holds()
print(json.dumps({"holds": holds, "seconds": time.perf_counter() - start}))
