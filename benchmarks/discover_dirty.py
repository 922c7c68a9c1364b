"""How long `discover --error` takes beside Desbordante's approximate DC miner (`evidence_threshold`), in one run.

    python benchmarks/discover_dirty.py [--data ../shared/data] [--errors 0.001 0.01] [--tables stock adult]
                                        [--peer-limit 120]

Both read the same CSV files and compare single columns only; what is measured is as in `discover.py`. Where the peer
ends, its rules are held against ours: how many of each are implied by a rule of the other. Beyond what the peer does,
the seconds of Holdfast contain the ranking, and suspect rows of the rules shown (`count`: the rest, mostly that).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from discover import HERE, NO_PEER, PHASES, TABLES, UNITS, Run, discovered, peer_found, single_columns, written
from record import add_record_options, peer_python, recording

from holdfast.engines.spark.session import get_session
from holdfast.rules.constraint import DenialConstraint
from holdfast.search.space import as_words, permuted

NAMES = ("airport 10k", "airport", "stock", "flights 10k", "flights 50k", "tax 1k", "adult ten columns", "adult")


def implied(path: Path, rules: Sequence[DenialConstraint], by: Sequence[DenialConstraint]) -> int:
    """How many of the rules one of the others implies."""
    space = single_columns(path)
    masks, others = (as_words(map(space.mask_of, some), space.words) for some in (rules, by))
    others = np.concatenate([others, permuted(others, space.mirror)])
    return sum(bool((mask & ~others == 0).all(axis=1).any()) for mask in masks)


def line(name: str, error: float, run: Run, peer: str) -> None:
    outcome, phases = run.found.outcome, run.phases()
    told = " ".join(f"{seconds:>8.2f}" for seconds in phases)
    print(
        f"{name:20} {error:>7g} {outcome.rows:>7,} {len(outcome.found):>9,} {run.seconds:>8.2f} {told} {peer}"
        f"{'' if outcome.complete else '  NOT COMPLETE: ' + str(outcome.why)}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--errors", type=float, nargs="+", default=[0.001, 0.01])
    parser.add_argument("--tables", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--peer-limit", type=float, default=120.0)
    parser.add_argument("--desbordante", metavar="PYTHON", default=peer_python(), help="a Python that has Desbordante")
    add_record_options(parser)
    chosen = parser.parse_args()
    heads = " ".join(f"{name:>8}" for name in ("read", *PHASES, "count"))
    print(f"{'table':20} {'error':>7} {'rows':>7} {'rules':>9} {'whole s':>8} {heads} {'peer s':>8} {'ratio':>6}  same")
    with recording(chosen, peer=chosen.desbordante) as record, tempfile.TemporaryDirectory() as folder:
        get_session()
        kept = record.table("tables", keys=("table", "error"), units={**UNITS, "count": "s"})
        warm = written(chosen.data, replace(TABLES["stock"], rows=500), Path(folder), "warm")
        for error in (0.0, *chosen.errors):  # the session, its workers and the kernels warm
            discovered(warm, error=error)
        for name in chosen.tables:
            path = written(chosen.data, TABLES[name], Path(folder), name)
            for error in chosen.errors:
                run = discovered(path, error=error)
                peer = peer_found(chosen.desbordante, path, chosen.peer_limit, error)
                told = f"{peer!s:>8}"
                if not isinstance(peer, str):
                    mine = [one.constraint for one in run.found.outcome.found] if len(peer[1]) < 20_000 else []
                    told = f"{peer[0]:>8.2f} {peer[0] / run.seconds:>6.1f}  {len(peer[1]):,} of its own"
                    if mine:
                        told += f", {implied(path, peer[1], mine):,} implied; {implied(path, mine, peer[1]):,} of ours"
                line(name, error, run, told)
                kept.add(
                    run.peak,
                    table=name,
                    error=error,
                    rows=run.found.outcome.rows,
                    rules=len(run.found.outcome.found),
                    holdfast=run.seconds,
                    count=run.phases()[-1],
                    desbordante=None if peer == NO_PEER else peer if isinstance(peer, str) else peer[0],
                )


if __name__ == "__main__":
    main()
