"""Whether what discover says of single columns holds on the next batch, which it has not seen.

    python benchmarks/column_rules.py [--seeds 100] [--rows 30 100 300 1000] [--data ../shared/data]

Drawn tables: columns of known laws (lists with rare values, ranges with rare ends, codes, sizes, nulls that come now
and then), of which the next batch is drawn again. Per number of rows: how many rules were shown, how many of them the
next batch breaks, what the rules' own estimates (`breaks`) expected, the same without any estimate (every rule that is
true so far), and how much of what the law always keeps was shown.

Real tables, of the folder `--data`: the first half of the file is known, the second comes; then the same with the rows
shuffled; then ten parts of each, one after the other. Every rule that fails is named with the values that break it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from record import Recording, add_record_options, recording

import holdfast as hf
from holdfast.discovery import column_rules as looking
from holdfast.encode.arrow_column_type import arrow_column_type
from holdfast.rules.rule import Rule
from holdfast.search.column_rule import ColumnRule
from holdfast.tables.read_local import read_local
from holdfast.tables.read_options import ReadOptions

Random = np.random.Generator


def some_nulls(random: Random, law: Random, values: list[Any]) -> list[Any]:
    """The values; in half of the laws some are null, hardly any or many."""
    share = law.beta(0.5, 0.5) if law.random() < 0.5 else 0.0
    return [None if random.random() < share else value for value in values]


def listed(law: Random, random: Random, rows: int) -> list[Any]:
    count, skew = int(law.choice([2, 3, 8, 20, 60])), float(law.choice([0, 1, 2, 3]))
    shares = 1.0 / np.arange(1, count + 1) ** skew
    return [f"value {i}" for i in random.choice(count, rows, p=shares / shares.sum())]


def whole(law: Random, random: Random, rows: int) -> list[Any]:
    low, high = int(law.integers(-5, 20)), int(law.choice([3, 10, 60, 400]))
    if law.random() < 0.5:
        return (low + random.integers(0, high, rows)).tolist()
    return (low + random.binomial(high, 0.4, rows)).tolist()


def sizes(law: Random, random: Random, rows: int) -> list[Any]:
    digits = int(law.integers(0, 4))
    drawn = {
        0: lambda: random.lognormal(3, law.choice([0.3, 1.0]), rows),
        1: lambda: random.normal(law.choice([5, 20, 100]), 5, rows),
        2: lambda: random.uniform(0, 50, rows),
        3: lambda: random.exponential(20, rows),
    }[int(law.integers(0, 4))]()
    return [round(value, digits) for value in drawn.tolist()]


def codes(law: Random, random: Random, rows: int) -> list[Any]:
    letters, rare = "ABCDEFGH"[: int(law.integers(1, 9))], float(law.choice([0, 0, 0.002, 0.02, 0.2]))
    long = int(law.integers(2, 6))
    plain = [f"{letters[i % len(letters)]}-{i % 10**long:0{long}}" for i in random.integers(0, 10**6, rows).tolist()]
    return [f"{code}x" if random.random() < rare else code for code in plain]


LAWS: tuple[Callable[[Random, Random, int], list[Any]], ...] = (listed, whole, sizes, codes)


def drawn_table(law: int, seed: int, rows: int, columns: int = 8) -> pa.Table:
    laws, random = np.random.default_rng(law), np.random.default_rng([law, seed])
    return pa.table(
        {
            f"{(make := LAWS[i % len(LAWS)]).__name__}{i}": some_nulls(random, laws, make(laws, random, rows))
            for i in range(columns)
        }
    )


def said(table: pa.Table) -> list[ColumnRule]:
    types = {name: arrow_column_type(table.column(name).type) for name in table.column_names}
    return list(looking.column_rules(table, types).rules)


def failing(rules: list[ColumnRule], batch: pa.Table) -> list[ColumnRule]:
    """Those that the batch breaks, by check; facts on the order of rows are looked at as they were found."""
    asked = [(entry, Rule(f"r{i}", entry.rule.body)) for i, entry in enumerate(rules) if entry.rule is not None]
    if not asked:
        return []
    with hf.check(batch, [rule for _, rule in asked], engine="local") as result:
        holds = [rule["holds"] for rule in result.to_dict()["rules"]]
    return [entry for (entry, _), held in zip(asked, holds, strict=True) if not held]


@dataclass
class Tally:
    shown: int = 0
    failed: int = 0
    expected: float = 0.0
    kinds: dict[str, list[int]] = field(default_factory=dict)

    def add(self, rules: list[ColumnRule], failed: list[ColumnRule]) -> None:
        asked = [entry for entry in rules if entry.rule is not None]
        self.shown += len(asked)
        self.failed += len(failed)
        self.expected += sum(entry.breaks for entry in asked)
        for entry in asked:
            of_kind = self.kinds.setdefault(entry.kind, [0, 0])
            of_kind[0] += 1
            of_kind[1] += entry in failed

    @property
    def broken(self) -> float:
        """The share that fails."""
        return self.failed / max(self.shown, 1)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {failed}/{shown}" for kind, (shown, failed) in sorted(self.kinds.items()))
        share = self.failed / max(self.shown, 1)
        return f"{self.failed:5} of {self.shown:6} fail ({share:6.2%}; expected {self.expected:6.1f})   {kinds}"


def drawn_tables(seeds: int, rows: int, record: Recording) -> None:
    believed, every, laws_kept, laws_shown = Tally(), Tally(), 0, 0
    for law in range(seeds):
        table, following = drawn_table(law, 1, rows), drawn_table(law, 2, rows)
        rules = said(table)
        believed.add(rules, failing(rules, following))
        # Whatever is true so far, and what of it a table fifty times as large keeps: those are laws, or nearly.
        with patch.object(looking, "LIKELY", 3.0):
            true_so_far = said(table)
        every.add(true_so_far, failing(true_so_far, following))
        large = drawn_table(law, 3, 50 * rows)
        kept = [entry for entry in true_so_far if entry.rule is not None and entry not in failing(true_so_far, large)]
        texts = {str(entry.rule) for entry in rules}
        laws_kept += len(kept)
        laws_shown += sum(str(entry.rule) in texts for entry in kept)
    units = dict.fromkeys(("broken", "expected", "all_broken", "laws_shown"), "share")
    record.table("drawn", keys=("rows", "seeds"), units=units).add(
        rows=rows,
        seeds=seeds,
        shown=believed.shown,
        broken=believed.broken,
        expected=believed.expected / max(believed.shown, 1),
        all=every.shown,
        all_broken=every.broken,
        laws_shown=laws_shown / max(laws_kept, 1),
    )
    print(f"{rows:6} rows, shown        {believed}")
    print(f"{'':6}       all that is so {every}")
    share = laws_shown / max(laws_kept, 1)
    print(f"{'':6}       of {laws_kept} that hold on 50 times as many rows, {share:.0%} are shown")


def real_table(path: Path, tallies: dict[str, Tally]) -> None:
    table = read_local(path, ReadOptions(null_values=["NA"])).rows
    print(f"{path.name}  {table.num_rows:,} rows")
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    for words, rows, parts in (
        ("first half, second half", table, 2),
        ("shuffled halves", shuffled, 2),
        ("tenth after tenth", table, 10),
        ("shuffled tenths", shuffled, 10),
    ):
        tally, named = Tally(), {}
        size = rows.num_rows // parts
        for i in range(parts - 1):
            known, following = rows.slice(i * size, size), rows.slice((i + 1) * size, size)
            rules = said(known)
            failed = failing(rules, following)
            tally.add(rules, failed)
            for entry in failed:
                named.setdefault((entry.column, entry.kind), []).append(entry.says)
        of_all = tallies.setdefault(words, Tally())
        of_all.shown, of_all.failed = of_all.shown + tally.shown, of_all.failed + tally.failed
        of_all.expected += tally.expected
        print(f"  {words:24} {tally}")
        for (column, _), says in named.items():
            print(f"      {column} {says[0][:90]}{f' ({len(says)} times so)' if len(says) > 1 else ''}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="+", default=[30, 100, 300, 1_000])
    parser.add_argument("--data", type=Path, default=None)
    add_record_options(parser)
    chosen = parser.parse_args()
    with recording(chosen) as record:
        _run(chosen, record)


def _run(chosen: argparse.Namespace, record: Recording) -> None:
    print(f"Drawn tables of 8 columns, seeds 0 to {chosen.seeds - 1}; rules that as many rows again break")
    for rows in chosen.rows:
        drawn_tables(chosen.seeds, rows, record)
    if chosen.data is not None:
        tallies: dict[str, Tally] = {}
        for path in sorted(chosen.data.iterdir()):
            if path.name.endswith((".csv", ".csv.gz")):
                real_table(path, tallies)
        kept = record.table("real", keys=("table", "way"), units={"expected": "share"})
        for way, tally in tallies.items():
            expected = tally.expected / max(tally.shown, 1)
            kept.add(table="all", way=way, shown=tally.shown, failed=tally.failed, expected=expected)


if __name__ == "__main__":
    main()
