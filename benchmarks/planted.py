"""Whether planted rules are shown first, and whether `check` with them names the planted rows.

    python benchmarks/planted.py [--rows 2000] [--seeds 10] [--shares 0.001 0.005 0.01 0.02]

Per share of errors and rule, over all seeds: the worst place at which a rule is shown that implies the planted one and
speaks of its columns (`discover --error`, and `--error-rows` for keys and dependencies), and of the rows that `check`
names as suspects for the rule as it was found, which share has an error in its columns (precision), and which share of
the rows that were made to break it is among them (recall).
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from planted_table import RULES, Planted, planted
from record import Recording, add_record_options, recording

import holdfast as hf
from holdfast.engines.discovery import DiscoverResult
from holdfast.engines.spark.session import get_session

SHOWN = 20


@dataclass
class Tally:
    places: list[int] = field(default_factory=list)
    named: int = 0
    right: int = 0
    aimed: int = 0
    hit: int = 0

    def cells(self) -> dict[str, float]:
        """The worst place, and the shares of rows that are right and that are found."""
        precision, recall = self.right / max(self.named, 1), self.hit / max(self.aimed, 1)
        return {"worst_place": max(self.places), "precision": precision, "recall": recall}


def place_of(text: str, found: DiscoverResult) -> int | None:
    """Where a rule is shown, from 1 on, that implies the planted one and speaks of the same columns."""
    wanted = hf.parse_rule(text)
    (denial,) = wanted.body.denials
    for i, one in enumerate(found.outcome.shown):
        same = set(one.rule.body.columns) == set(wanted.body.columns)
        if same and one.constraint.implies(denial):
            return i + 1
    return None


def counted(
    found: DiscoverResult, path: Path, case: Planted, tallies: dict[str, Tally], rules: tuple[str, ...]
) -> None:
    places = {text: place_of(text, found) for text in rules}
    chosen = {text: found.outcome.shown[place - 1].rule for text, place in places.items() if place}
    with hf.check(path, list(chosen.values()), limit=None) as result:
        named = defaultdict(set)
        for row in result.suspects:
            named[row["rule"]].add(row["key"])
    for text in rules:
        tally = tallies[text]
        tally.places.append(places[text] or 10**6)
        tally.aimed += len(case.aimed[text])
        if text in chosen:
            rows = named[chosen[text].name]
            tally.named += len(rows)
            tally.right += len(rows & case.touched[text])
            tally.hit += len(rows & case.aimed[text])


def line(share: float, how: str, text: str, tally: Tally) -> None:
    worst = max(tally.places)
    shown = sum(place <= SHOWN for place in tally.places)
    precision, recall = tally.right / max(tally.named, 1), tally.hit / max(tally.aimed, 1)
    print(
        f"{share:>6.1%} {how:10} {text:70} {shown:>3}/{len(tally.places)} {worst if worst < 10**6 else 'none':>6} "
        f"{precision:>9.3f} {recall:>7.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.001, 0.005, 0.01, 0.02])
    add_record_options(parser)
    chosen = parser.parse_args()
    with recording(chosen) as record:
        _run(chosen, record)


def _run(chosen: argparse.Namespace, record: Recording) -> None:
    get_session()
    kept = record.table("rules", keys=("share", "by", "rule", "rows", "seeds"), units={})
    over_all: dict[str, list[Tally]] = {"pairs": [], "rows": []}
    print(f"{'errors':>6} {'by':10} {'rule':70} {'in 20':>6} {'worst':>6} {'precision':>9} {'recall':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for share in chosen.shares:
            by_pairs, by_rows = (defaultdict(Tally) for _ in range(2))
            for seed in range(chosen.seeds):
                case = planted(chosen.rows, share, seed)
                path = Path(folder) / f"planted-{share}-{seed}.parquet"
                pq.write_table(case.table, path)
                found = hf.discover(path, error=share, one_row=True, max_predicates=3, top=SHOWN, column_rules=False)
                counted(found, path, case, by_pairs, RULES)
                # Typos and swapped values both touch city -> state.
                found = hf.discover(path, error_rows=2 * share, max_predicates=3, top=SHOWN, column_rules=False)
                counted(found, path, case, by_rows, RULES[:3])
            for how, tallies in (("pairs", by_pairs), ("rows", by_rows)):
                for text, tally in tallies.items():
                    line(share, how, text, tally)
                    keys = {"share": share, "by": how, "rule": text, "rows": chosen.rows, "seeds": chosen.seeds}
                    kept.add(**keys, **tally.cells())
                    over_all[how].append(tally)
    for how, listed in over_all.items():
        each = [tally.cells() for tally in listed]
        record.table("over all", keys=("by", "rows", "seeds"), units={}).add(
            by=how,
            rows=chosen.rows,
            seeds=chosen.seeds,
            rules=len(RULES) if how == "pairs" else 3,
            worst_place=max(cells["worst_place"] for cells in each),
            precision=min(cells["precision"] for cells in each),
            recall=min(cells["recall"] for cells in each),
        )


if __name__ == "__main__":
    main()
