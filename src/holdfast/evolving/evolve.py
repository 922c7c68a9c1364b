"""The rules of a table after a change of it, from the evidence before it: counted, and repaired.

`find` is the twin that starts from nothing, and what it finds is what this says.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import chain
from typing import Any, Literal

import numpy as np

from holdfast.errors import RunError, StateError
from holdfast.evolving.changed_evidence import (
    KeptRows,
    NewPair,
    Related,
    coded,
    coded_apart,
    evidence_on_card,
    listed,
    related,
    related_within,
)
from holdfast.evolving.options import EvolveStrategy
from holdfast.evolving.outcome import AddedRule, BreakingPair, RemovedRule, RulesChange
from holdfast.evolving.proving_pairs import ProvingPairs, proving_pairs, put_to_the_table
from holdfast.evolving.repair import ChangedEvidence, changed_evidence, repaired_rules, strengthened
from holdfast.evolving.rule_indexes import RuleIndexes
from holdfast.kernels.extended_sets import contained_in, first_missed
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.rule import Nulls
from holdfast.search.clock import Clock
from holdfast.search.coded_rows import CodedRows
from holdfast.search.device import changes_on_gpu, gpu_failed, own_card
from holdfast.search.evidence import Evidence, Ints, distinct, in_either
from holdfast.search.find import SEARCH_SHARE, find_in, weighed
from holdfast.search.invert import full_mask
from holdfast.search.options import DiscoverOptions
from holdfast.search.result import How, SearchResult
from holdfast.search.space import PredicateSpace, Words, as_masks, both_ways
from holdfast.states.lazy_list import LazyList

# All pairs of so many rows are a minute's work for two cores.
MOST_EVIDENCE_ROWS = 300_000
# When a larger share of the rows goes, a search from nothing is the shorter way.
_MOST_GONE = 0.5
# Under what names a file has the pairs that prove the rules.
_PROOF = ("pair_words", "pair_left", "pair_right")


@dataclass(frozen=True)
class KeptRules:
    """The most general constraints of so many rows, how many pairs violate each, and the evidence of all pairs when
    `exact`, else of some. `pairs` prove, where they were looked for, that no constraint is more general."""

    space: PredicateSpace
    masks: Words
    violating: Ints
    evidence: Evidence
    rows: int
    exact: bool = True
    pairs: ProvingPairs | None = None

    @classmethod
    def of(cls, result: SearchResult) -> KeptRules:
        """What a search found. RunError where it did not come to its end: then nothing tells what is missing."""
        if not result.complete:
            raise RunError(
                f"the rules to start from were not all found: {result.why}.",
                hint="allow more with --time-limit, or fewer rules with --max-predicates, --columns or --exclude.",
            )
        return cls(result.space, result.masks, result.violating, result.evidence, result.rows, result.exact)

    def search_result(self, options: DiscoverOptions, *, threads: int) -> SearchResult:
        """Returns the rules as a search would."""
        how, size = How("evidence" if self.exact else "index", exact=self.exact), (self.rows, self.rows)
        return weighed(
            self.space, size, self.masks, self.violating, self.evidence, options, Clock(None), threads=threads, how=how
        )

    def to_bytes(self) -> bytes:
        about = {"pairs": self.space.to_lists(), "rows": self.rows, "exact": self.exact}
        file = io.BytesIO()
        np.savez(
            file,
            about=np.frombuffer(json.dumps(about).encode(), np.uint8),
            masks=self.masks,
            violating=self.violating,
            words=self.evidence.words,
            counts=self.evidence.counts,
            **self._proof,
        )
        return file.getvalue()

    @property
    def _proof(self) -> dict[str, Any]:
        """The pairs as arrays by name; none where there are no pairs."""
        pairs = self.pairs
        return {} if pairs is None else dict(zip(_PROOF, (pairs.words, pairs.left, pairs.right), strict=True))

    @classmethod
    def from_bytes(cls, content: bytes) -> KeptRules:
        """Returns the rules that `to_bytes` wrote."""
        with np.load(io.BytesIO(content), allow_pickle=False) as parts:
            about = json.loads(parts["about"].tobytes())
            evidence = Evidence(parts["words"], parts["counts"])
            space = PredicateSpace.from_lists(about["pairs"])
            # States of earlier days have no pairs.
            known = [parts[name] for name in _PROOF if name in parts]
            pairs = ProvingPairs(*known) if known else None
            return cls(space, parts["masks"], parts["violating"], evidence, about["rows"], about["exact"], pairs)


@dataclass(frozen=True)
class EvidenceChange:
    """The evidence of pairs that came and of pairs that went, and for each rule that they break a pair that does."""

    came: Evidence
    went: Evidence
    new_pairs: tuple[NewPair, ...] = ()
    device: str = "cpu"


def no_evidence(space: PredicateSpace) -> Evidence:
    return Evidence(np.zeros((0, space.words), np.uint64), np.zeros(0, np.int64))


def evidence_change(
    kept: KeptRules, options: DiscoverOptions, gone: KeptRows, come: KeptRows, stay: KeptRows, *, threads: int,
    share: int = 0, shares: int = 1,
) -> EvidenceChange:  # fmt: skip
    """What the rows that go take with them and those that come bring, with the rows that stay and with each other; of
    the latter one share. In new pairs the row that comes is on the left; on the right rows that stay are counted from
    0, and after them those that come. On a GPU where the options allow one, and changes are large enough to gain."""
    space, nulls = kept.space, options.nulls
    if shares == 1 and changes_on_gpu(gone.size + come.size, stay.size, options.device, limits=options.limits):
        on_card = _on_card(kept, options, gone, come, stay, threads)
        if on_card is not None:
            return on_card
    came, went = [no_evidence(space)], [no_evidence(space)]
    new: list[NewPair] = []
    went += [block.evidence() for block in related(space, nulls, gone, stay, threads=threads)]
    leaving = related_within(space, nulls, gone, threads=threads, share=share, shares=shares)
    went += [block.evidence() for block, _ in leaving]
    met = related(space, nulls, come, stay, threads=threads, firsts=True)
    coming = related_within(space, nulls, come, threads=threads, share=share, shares=shares, firsts=True)
    for block, _, pairs in _with_breaking_pairs(met, coming, stay.size, kept.evidence.words, kept.masks):
        came.append(block.evidence())
        new += pairs
    return EvidenceChange(reduce(Evidence.plus, came), reduce(Evidence.plus, went), tuple(new))


def _with_breaking_pairs(
    met: Iterable[Related], coming: Iterable[tuple[Related, int]], stay: int, known: Words, masks: Words
) -> Iterator[tuple[Related, int, list[NewPair]]]:
    """The blocks of rows that come with those that stay, then with each other; each with by what its positions on the
    right are raised, and with pairs of it that break rules, by positions as in `evidence_change`."""
    for block, start in chain(((block, None) for block in met), coming):
        pairs, offset = block.breaking_pairs(known, masks), 0 if start is None else start + stay
        yield block, offset, [NewPair(pair.left, pair.right + offset, pair.words) for pair in pairs]


def _on_card(
    kept: KeptRules, options: DiscoverOptions, gone: KeptRows, come: KeptRows, stay: KeptRows, threads: int
) -> EvidenceChange | None:
    """As `evidence_change`, on a GPU; None where it failed and was not asked for by name."""
    space, nulls, step = kept.space, options.nulls, options.limits.breaking_rows
    try:
        sides = [
            evidence_on_card(space, nulls, rows, stay, card=own_card()) if rows.size else no_evidence(space)
            for rows in (come, gone)
        ]
    except Exception as problem:  # CuPy's own errors; it is only known where it is installed
        if options.device == "gpu":
            raise gpu_failed(problem) from None
        return None
    # A card tells no pairs: for rules that fell, some are looked for here, in a few rows after the other.
    fell = kept.masks[first_missed(~kept.masks & full_mask(space), sides[0].words) >= 0]
    broken: list[NewPair] = []
    for start in range(0, come.size, step):
        if not len(fell):
            break
        part = come.part(start, start + step)
        others = stay.plus(come.part(start + part.size, come.size))
        pairs = broken_pairs(space, fell, nulls, part, others, threads=threads)
        # After the rows that stay come those that come after the part, and then the part itself.
        after = np.r_[np.arange(stay.size), stay.size + np.r_[start + part.size : come.size, start : start + part.size]]
        broken += [NewPair(pair.left + start, int(after[pair.right]), pair.words) for pair in pairs]
        shown = np.array([pair.words for pair in broken], np.uint64).reshape(-1, space.words)
        fell = fell[first_missed(~fell & full_mask(space), both_ways(space, shown)) < 0]
    return EvidenceChange(sides[0], sides[1], tuple(broken), "gpu")


def evolved(kept: KeptRules, change: EvidenceChange, rows: int, options: DiscoverOptions, *, threads: int) -> KeptRules:
    """The rules after the change, which leaves so many rows."""
    moved = changed_evidence(kept.evidence, change.came, change.went)
    if moved.after.pairs != rows * (rows - 1):
        raise StateError(
            f"the state's evidence counts {moved.after.pairs:,} pairs of rows after the changes, but {rows:,} rows "
            f"have {rows * (rows - 1):,}: its files do not belong together.",
            hint="nothing was changed. Make the state anew from the table as it is now.",
        )
    clock = Clock(None)
    repaired = repaired_rules(kept.space, kept.masks, kept.evidence, moved, options, clock=clock, threads=threads)
    if not repaired.complete:
        raise RunError("the search for rules ended before it was over, without a time limit; nothing was changed.")
    return KeptRules(kept.space, repaired.masks, repaired.violating, moved.after, rows)


def keeps_evidence(rows: int, strategy: EvolveStrategy) -> bool:
    """Whether the evidence of all pairs of so many rows is counted and kept."""
    return strategy == "evidence" or (strategy == "auto" and rows <= MOST_EVIDENCE_ROWS)


def way_of_change(
    kept: KeptRules, gone: int, come: int, stay: int, strategy: EvolveStrategy
) -> Literal["evidence", "index", "rediscover"]:
    """How the rules are found after so many rows have gone and come, beside those that stay.

    Counted evidence moves by the pairs that change, which for most of a table are more than all pairs that are left.
    Without it, rows that come are looked up in indexes. Where rows go as well, rules may become more general, which is
    told from pairs that prove them as long as most of these stay.
    """
    after = stay + come
    if strategy == "rediscover":
        return "rediscover"
    if kept.exact:
        moved = (gone + come) * stay + (gone * gone + come * come) / 2
        return "evidence" if strategy == "evidence" or moved <= after * after / 2 else "rediscover"
    few = gone <= _MOST_GONE * kept.rows and stay > 1
    return "index" if kept.rows > 1 and (few or not gone) else "rediscover"


def searched(
    before: KeptRules, come: KeptRows, stay: KeptRows, families: Sequence[Sequence[str]], options: DiscoverOptions, *,
    threads: int,
) -> tuple[KeptRules, list[NewPair], str]:  # fmt: skip
    """As `strengthened_by_indexes`, by a new search over the predicate space that was settled, also where rows went.
    Columns of one of the families have codes that compare with each other."""
    wanted = replace(options, strategy="all-pairs") if before.exact else options
    taken = coded(stay.plus(come), families, before.space, options.nulls)
    result = find_in(taken, wanted, Clock(options.time_limit).part(SEARCH_SHARE), threads=threads)
    after = replace(KeptRules.of(result), exact=result.exact and before.exact)
    fell = _fallen_masks(before, after)
    broken = broken_pairs(before.space, fell, options.nulls, come, stay, threads=threads) if len(fell) else []
    return after, broken, "rediscover"


def _fallen_masks(before: KeptRules, after: KeptRules) -> Words:
    """The rules that are no longer there, and that no other implies."""
    full = full_mask(before.space)
    lines, had, has = in_either(before.masks, after.masks)
    gone = lines[had & ~has]
    return gone[contained_in(~gone & full, both_ways(before.space, ~after.masks & full)) < 0]


def broken_pairs(
    space: PredicateSpace, masks: Words, nulls: Nulls, come: KeptRows, stay: KeptRows, *, threads: int
) -> list[NewPair]:
    """For each of the constraints, which held before the rows came and do not now, a pair that breaks it; positions as
    in `evidence_change`."""
    none = no_evidence(space).words
    met = related(space, nulls, come, stay, threads=threads, firsts=True)
    coming = related_within(space, nulls, come, threads=threads, firsts=True)
    return [pair for _, _, pairs in _with_breaking_pairs(met, coming, stay.size, none, masks) for pair in pairs]


# All rows of a table, when they are needed, and their ids.
Everyone = Callable[[], tuple[KeptRows, Ints]]


@dataclass(frozen=True)
class MovedRows:
    """Rows that go, come and stay, and the id of each: pairs that prove rules name rows by it.

    Indexes know rows that stay by `places`, which rise, and have of those that go all or none, as `gone_places` says.
    Where rows that stay are only those that can break a rule with one that comes, `everyone` gives all rows there are
    afterwards, and their ids.
    """

    go: KeptRows
    come: KeptRows
    stay: KeptRows
    gone_ids: Ints
    come_ids: Ints
    stay_ids: Ints
    places: Ints
    gone_places: Ints | None = None
    everyone: Everyone | None = None

    def after(self) -> tuple[KeptRows, Ints]:
        """All rows there are afterwards, and their ids."""
        if self.everyone is not None:
            return self.everyone()
        return self.stay.plus(self.come), np.concatenate([self.stay_ids, self.come_ids])


@dataclass(frozen=True)
class _Met:
    """Pairs with rows that came, one for each thing that they show, by positions as in `evidence_change`; those that
    break rules; and how they were found, in words."""

    words: Words
    left: Ints
    right: Ints
    broken: list[NewPair]
    how: str


def repaired_by_indexes(
    kept: KeptRules, indexes: RuleIndexes, rows: MovedRows, families: Sequence[Sequence[str]],
    options: DiscoverOptions, *, threads: int,
) -> tuple[KeptRules, list[NewPair], str] | None:  # fmt: skip
    """The rules after a change, from the pairs that the indexes let through, and where rows went from the pairs that
    proved the rules; pairs that break rules, by positions as in `evidence_change`, and what was done in words. None
    where a search from nothing is the shorter way.

    Columns of one of the families have codes that compare with each other.
    """
    proof = kept.pairs
    if rows.go.size and proof is None:
        before = coded_apart(rows.go.plus(rows.stay), families, kept.space, options.nulls)
        ids = np.concatenate([rows.gone_ids, rows.stay_ids])
        proof = proving_pairs(kept.masks, before, ids, options, threads=threads)
        if proof is None:
            return None
    met = _met_by_indexes(kept, indexes, rows, options, threads)
    if proof is None:
        return _strengthened(kept, met, rows.come.size, options)
    space, ids = kept.space, np.concatenate([rows.stay_ids, rows.come_ids])
    shown = proof.evidence(space)
    came = ProvingPairs(met.words, rows.come_ids[met.left], ids[met.right])
    # Others prove nothing, and would only become more with every batch.
    breaks = first_missed(met.words, both_ways(space, ~kept.masks & full_mask(space))) >= 0
    alike = distinct(np.concatenate([shown.words, met.words]))[1]
    pairs = proof.without(rows.gone_ids).plus(came.which(breaks | np.isin(alike[len(shown) :], alike[: len(shown)])))
    moved = _moved(shown, pairs.evidence(space))
    candidates = repaired_rules(space, kept.masks, shown, moved, options, clock=Clock(None), threads=threads)
    if not candidates.complete or not len(pairs):
        return None

    @cache
    def everyone() -> tuple[CodedRows, Ints]:
        every, ids = rows.after()
        return coded_apart(every, families, space, options.nulls), ids

    proven = put_to_the_table(space, candidates.masks, kept.masks, pairs, everyone, options, threads=threads)
    if proven is None:
        return None
    size = kept.rows + rows.come.size - rows.go.size
    evidence = _left_by(space, proven.masks, _with_new(kept.evidence, proven.pairs.evidence(space)))
    none = np.zeros(len(proven.masks), np.int64)
    after = replace(kept, masks=proven.masks, violating=none, evidence=evidence, rows=size, pairs=proven.pairs)
    gone = f", and {len(proof) - len(proof.without(rows.gone_ids)):,} of {len(proof):,} pairs that prove rules went"
    return after, met.broken, f"index: {met.how}{gone if rows.go.size else ''}"


def _moved(before: Evidence, after: Evidence) -> ChangedEvidence:
    lines, had, has = in_either(before.words, after.words)
    return ChangedEvidence(after, lines[has & ~had], lines[had & ~has])


def _with_new(evidence: Evidence, shown: Evidence) -> Evidence:
    """The evidence, and what is shown besides, which is rare, and counts once."""
    lines, had, _ = in_either(evidence.words, shown.words)
    return evidence.plus(Evidence(lines[~had], np.ones(int((~had).sum()), np.int64)))


def _left_by(space: PredicateSpace, masks: Words, evidence: Evidence) -> Evidence:
    """The evidence without what would break one of the constraints: no pair shows it any more."""
    there = first_missed(evidence.words, both_ways(space, ~masks & full_mask(space))) < 0
    return Evidence(evidence.words[there], evidence.counts[there])


def _met_by_indexes(
    kept: KeptRules, indexes: RuleIndexes, rows: MovedRows, options: DiscoverOptions, threads: int
) -> _Met:
    space, nulls, come, stay = kept.space, options.nulls, rows.come, rows.stay
    if rows.gone_places is None:
        indexes.serve(kept.masks, stay, rows.places, come)
    else:
        indexes.serve(kept.masks, stay.plus(rows.go), np.concatenate([rows.places, rows.gone_places]), come)
    if indexes.selection.uncovered or indexes.named(come) > options.limits.most_named * come.size * max(stay.size, 1):
        # What is looked up would cost more than what is related block by block.
        met = related(space, nulls, come, stay, threads=threads, firsts=True)
        how = "all pairs with rows that came, since indexes would let too many through"
    else:
        through = indexes.let_through(come)
        where = np.searchsorted(rows.places, through.rows)
        stays = np.r_[rows.places, -1][where] == through.rows
        met = listed(space, nulls, come, stay, through.asking[stays], where[stays])
        how = f"{len(indexes)} indexes let {len(through.rows):,} of {come.size * stay.size:,} pairs through"
    coming = related_within(space, nulls, come, threads=threads, firsts=True)
    broken: list[NewPair] = []
    shown: list[tuple[Words, Ints, Ints]] = []
    for block, offset, pairs in _with_breaking_pairs(met, coming, stay.size, no_evidence(space).words, kept.masks):
        words, left, right = block.shown_pairs()
        shown.append((words, left, right + offset))
        broken += pairs
    words = np.concatenate([no_evidence(space).words, *(part[0] for part in shown)])
    left, right = (np.concatenate([np.zeros(0, np.int64), *(part[side] for part in shown)]) for side in (1, 2))
    return _Met(words, left, right, broken, how)


def _strengthened(
    kept: KeptRules, met: _Met, come: int, options: DiscoverOptions
) -> tuple[KeptRules, list[NewPair], str]:
    """The rules when so many rows came, and none went."""
    space = kept.space
    shown, _ = distinct(both_ways(space, met.words))
    stronger = strengthened(space, kept.masks, shown, options, however_many=True)
    if stronger is None:
        raise RunError(
            "there are more rules now than can be kept.",
            hint="allow fewer with --max-predicates, --columns or --exclude at evolve init.",
        )
    after = replace(
        kept,
        masks=stronger.masks,
        violating=np.zeros(len(stronger.masks), np.int64),
        evidence=kept.evidence.plus(Evidence(shown, np.ones(len(shown), np.int64))),
        rows=kept.rows + come,
        pairs=None,
    )
    return after, met.broken, f"index: {met.how}"


@dataclass(frozen=True)
class ShownPair:
    """Two rows, each by its key and its values, and the bits they show with the first as t."""

    first: tuple[Any, Mapping[str, Any]]
    second: tuple[Any, Mapping[str, Any]]
    words: Words

    def witness(self, names: Iterable[str], *, turned: bool) -> BreakingPair:
        """The pair as a person is shown it, by these columns; `turned` when the second row is t."""
        t, s = (self.second, self.first) if turned else (self.first, self.second)
        return BreakingPair(t[0], s[0], tuple((name, t[1][name], s[1][name]) for name in names))


def rules_change(
    before: KeptRules, after: KeptRules, pairs: Sequence[ShownPair], *, strategy: str, notes: Iterable[str] = ()
) -> RulesChange:
    """Which rules came and which went between the two, and why: `pairs` break those that fell."""
    space = after.space
    lines, had, has = in_either(before.masks, after.masks)
    gone, new = lines[had & ~has], lines[has & ~had]
    texts = _RuleTexts(space)
    gone_sets, new_sets, now_sets = (~masks & full_mask(space) for masks in (gone, new, after.masks))

    def removed() -> list[RemovedRule]:
        # A pair shows a rule broken one way round or the other.
        shown = np.array([pair.words for pair in pairs], np.uint64).reshape(-1, space.words)
        broken = first_missed(gone_sets, both_ways(space, shown)).tolist()
        implied = contained_in(gone_sets, both_ways(space, now_sets), strictly=True).tolist()
        rules = []
        for mask, pair, by in zip(as_masks(gone), broken, implied, strict=True):
            if pair >= 0:
                names = dict.fromkeys(column.name for column in texts.constraint(mask).columns())
                witness = pairs[pair % len(pairs)].witness(names, turned=pair >= len(pairs))
                rules.append(RemovedRule(texts(mask), witness))
            else:
                other = None if by < 0 else texts(as_masks(after.masks[[by % len(after.masks)]])[0])
                rules.append(RemovedRule(texts(mask), None, other))
        return rules

    def added() -> list[AddedRule]:
        refined = contained_in(new_sets, both_ways(space, gone_sets), strictly=True).tolist()
        replaced = contained_in(both_ways(space, gone_sets), new_sets, strictly=True).tolist()
        replaces = {j: i % len(gone) for i, j in reversed(list(enumerate(replaced))) if j >= 0}
        old = as_masks(gone)
        return [
            AddedRule(
                texts(mask),
                texts(old[refined[i] % len(gone)]) if refined[i] >= 0 else None,
                texts(old[replaces[i]]) if i in replaces else None,
            )
            for i, mask in enumerate(as_masks(new))
        ]

    lists = LazyList(len(new), added), LazyList(len(gone), removed)
    return RulesChange(*lists, len(after.masks), strategy, tuple(notes))


class _RuleTexts:
    """Texts of masks, each written once."""

    def __init__(self, space: PredicateSpace) -> None:
        self._space = space
        self._constraints: dict[int, DenialConstraint] = {}

    def constraint(self, mask: int) -> DenialConstraint:
        if mask not in self._constraints:
            self._constraints[mask] = self._space.constraint(mask)
        return self._constraints[mask]

    def __call__(self, mask: int) -> str:
        return str(self.constraint(mask))
