"""Whether rules of which discover says that they are hardly accidents are hardly ever accidents.

    python benchmarks/believe.py [--seeds 100] [--rows 30 100 300 1000] [--max-accidents 0.05] [--top 50]

Tables are drawn from a law that is known: columns that are independent of each other, with few values or many, even or
skewed, and in `planted` tables also columns with rules among them. A rule that was found is an accident when it does
not hold on a fresh table of the same law, twenty times as large, and the law has one of its columns independent of the
others. Where it does not hold, though its columns do depend on each other (prices tell the tier but for a few), it is
`nearly` a rule: its exceptions had not come yet, which is another question than the one that is answered. Per kind of
table and number of rows, over all seeds:

- shown: rules among the best `--top`, and how many of them are accidents (`all`), the same of those that
  `--max-accidents` leaves (`kept`), and the mean over all tables of the share of accidents among those (`rate`), which
  is what is promised;
- `lost`: the share of rules that are no accidents and are left out all the same;
- `nearly`: of the kept ones the share that is nearly a rule;
- above the line that the report draws, and below it, the share of accidents;
- of the planted rules the share that is found among the shown and kept ones, and their mean place among these, before
  and after;
- the seconds that estimating takes per table.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from statistics import mean

import numpy as np
import pyarrow as pa
from record import Recording, add_record_options, recording

import holdfast as hf
from holdfast.report.discovery_lines import belief_line
from holdfast.search.outcome import FoundRule

PLANTED = (
    "zip -> city",
    "city -> state",
    "tier, size -> price",
    "if t.state = s.state and t.salary < s.salary then t.rate <= s.rate",
    "not(t.ordered > t.shipped)",
    "unique(id)",
)
# Columns that depend on each other in planted tables.
TOGETHER = ({"zip", "city", "state", "salary", "rate"}, {"tier", "size", "price"}, {"ordered", "shipped"})
LARGER = 20


def independent(rows: int, law: int, seed: int, columns: int = 7) -> dict[str, pa.Array]:
    """Columns that have nothing to do with each other."""
    kind, random = np.random.default_rng(law), np.random.default_rng([law, seed])
    drawn: dict[str, pa.Array] = {}
    for i in range(columns):
        values = int(kind.choice([2, 3, 5, 12, 40, 150, 600, 5_000]))
        skew = float(kind.choice([0.0, 0.0, 1.0, 2.0]))
        shares = 1.0 / np.arange(1, values + 1) ** skew
        codes = random.choice(values, rows, p=shares / shares.sum())
        match kind.integers(0, 4):
            case 0:
                drawn[f"x{i}"] = pa.array([f"v{code}" for code in codes.tolist()])
            case 1:
                drawn[f"x{i}"] = pa.array((codes + 18_000).astype("datetime64[D]"))
            case 2:
                drawn[f"x{i}"] = pa.array(np.round(random.lognormal(3, 1, rows), 2))
            case _:
                drawn[f"x{i}"] = pa.array(codes * int(kind.integers(1, 4)))
    return drawn


def planted(rows: int, law: int, seed: int) -> dict[str, pa.Array]:
    """Columns with rules among them, and some that have nothing to do with those."""
    kind, random = np.random.default_rng(law), np.random.default_rng([law, seed])
    cities, prices = kind.integers(0, 12, 40), kind.integers(3, 60, (3, 9))
    states = kind.integers(0, 4, 12)
    zips, tier, size = random.integers(0, 40, rows), random.integers(0, 3, rows), random.integers(0, 9, rows)
    salary = random.integers(20, 90, rows)
    ordered = random.integers(18_000, 18_400, rows)
    city = cities[zips]
    state = states[city]
    return {
        "id": pa.array(np.arange(rows) + seed * 1_000_000),
        "zip": pa.array([f"Z{code:02}" for code in zips.tolist()]),
        "city": pa.array([f"C{code:02}" for code in city.tolist()]),
        "state": pa.array([f"S{code}" for code in state.tolist()]),
        "tier": pa.array([f"T{code}" for code in tier.tolist()]),
        "size": pa.array(size),
        "price": pa.array(prices[tier, size]),
        "salary": pa.array(salary * 1_000),
        "rate": pa.array(salary // 12 + 2 * state),
        "ordered": pa.array(ordered.astype("datetime64[D]")),
        "shipped": pa.array((ordered + random.integers(0, 20, rows)).astype("datetime64[D]")),
        **independent(rows, law, seed, columns=3),
    }


@dataclass
class Tally:
    shown: int = 0
    accidents: int = 0
    kept: int = 0
    kept_accidents: int = 0
    nearly: int = 0
    rates: list[float] = field(default_factory=list)
    above: list[int] = field(default_factory=lambda: [0, 0])
    below: list[int] = field(default_factory=lambda: [0, 0])
    places: list[int] = field(default_factory=list)
    kept_places: list[int] = field(default_factory=list)
    wanted: int = 0
    seconds: list[float] = field(default_factory=list)


def depends(entry: FoundRule) -> bool:
    """Whether by the law each of the rule's columns has to do with another of them."""
    columns = set(entry.rule.body.columns)
    return all(any(name in some and len(some & columns) > 1 for some in TOGETHER) for name in columns)


def counted(make, rows: int, law: int, chosen: argparse.Namespace, tally: Tally) -> None:  # type: ignore[no-untyped-def]
    table, fresh = pa.table(make(rows, law, 1)), pa.table(make(rows * LARGER, law, 2))
    found = hf.discover(table, top=chosen.top, one_row=True, engine="local", max_predicates=chosen.max_predicates)
    shown = found.outcome.shown
    tally.seconds.append(found.outcome.phases.get("believe", 0.0))
    if not shown:
        return
    with hf.check(fresh, [entry.rule for entry in shown], engine="local") as result:
        fails = [not rule["holds"] for rule in result.to_dict()["rules"]]
    accident = [failed and not depends(entry) for failed, entry in zip(fails, shown, strict=True)]
    kept = [i for i, e in enumerate(shown) if e.accident is not None and e.accident <= chosen.max_accidents]
    tally.shown += len(shown)
    tally.accidents += sum(accident)
    tally.kept += len(kept)
    tally.kept_accidents += sum(accident[i] for i in kept)
    tally.nearly += sum(fails[i] and not accident[i] for i in kept)
    tally.rates.append(sum(accident[i] for i in kept) / max(len(kept), 1))
    line = belief_line(shown).place
    for part, entries in ((tally.above, accident[:line]), (tally.below, accident[line:])):
        part[0] += sum(entries)
        part[1] += len(entries)
    if make is planted:
        tally.wanted += len(PLANTED)
        for text in PLANTED:
            wanted = hf.parse_rule(text).body
            (denial,) = wanted.denials
            place = next(
                (
                    i
                    for i, entry in enumerate(shown)
                    if set(entry.rule.body.columns) == set(wanted.columns) and entry.constraint.implies(denial)
                ),
                None,
            )
            if place is not None:
                tally.places.append(place + 1)
                if place in kept:
                    tally.kept_places.append(kept.index(place) + 1)


def part_of(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def share(part: int, whole: int) -> str:
    return f"{part / whole:6.1%}" if whole else "     -"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="+", default=[30, 100, 300, 1_000])
    parser.add_argument("--max-accidents", type=float, default=0.05)
    parser.add_argument("--max-predicates", type=int, default=3)
    parser.add_argument("--top", type=int, default=50)
    add_record_options(parser)
    chosen = parser.parse_args()
    with recording(chosen) as record:
        _run(chosen, record)


def _run(chosen: argparse.Namespace, record: Recording) -> None:
    units = dict.fromkeys(("accidents", "kept_accidents", "nearly", "found", "kept_found"), "share")
    kept = record.table("tables", keys=("table", "rows", "seeds"), units=units)
    print(f"{chosen.seeds} tables each, seeds 0 to {chosen.seeds - 1}; the promise: rate <= {chosen.max_accidents:.0%}")
    print(
        f"{'table':12} {'rows':>5} {'all':>6} {'accid.':>6} {'kept':>6} {'accid.':>6} {'rate':>6} {'nearly':>6} "
        f"{'lost':>6} {'above':>6} {'below':>6} {'in all':>6} {'place':>5} {'kept':>6} {'place':>5} {'s':>5}"
    )
    for make in (independent, planted):
        for rows in chosen.rows:
            tally = Tally()
            for law in range(chosen.seeds):
                counted(make, rows, law, chosen, tally)
            true = tally.shown - tally.accidents
            lost = true - (tally.kept - tally.kept_accidents)
            planted_figures = (
                f"{share(len(tally.places), tally.wanted)} {mean(tally.places or [0]):5.1f} "
                f"{share(len(tally.kept_places), tally.wanted)} {mean(tally.kept_places or [0]):5.1f}"
            )
            kept.add(
                table=make.__name__,
                rows=rows,
                seeds=chosen.seeds,
                shown=tally.shown,
                accidents=part_of(tally.accidents, tally.shown),
                kept=tally.kept,
                kept_accidents=part_of(tally.kept_accidents, tally.kept),
                nearly=part_of(tally.nearly, tally.kept),
                found=part_of(len(tally.places), tally.wanted),
                place=mean(tally.places) if tally.places else None,
                kept_found=part_of(len(tally.kept_places), tally.wanted),
                kept_place=mean(tally.kept_places) if tally.kept_places else None,
                seconds=mean(tally.seconds),
            )
            print(
                f"{make.__name__:12} {rows:>5} {tally.shown:>6} {share(tally.accidents, tally.shown)} {tally.kept:>6} "
                f"{share(tally.kept_accidents, tally.kept)} {mean(tally.rates or [0]):6.1%} "
                f"{share(tally.nearly, tally.kept)} {share(lost, true)} {share(*tally.above)} {share(*tally.below)} "
                f"{planted_figures if tally.wanted else ' ' * 25} {mean(tally.seconds):5.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
