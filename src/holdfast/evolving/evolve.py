"""The rules of a table after a change of it, from the evidence before it: counted, and repaired.

`find` is the twin that starts from nothing, and what it finds is what this says.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any, Literal

import numpy as np

from holdfast.errors import RunError, StateError
from holdfast.evolving.changed_evidence import (
    KeptRows,
    NewPair,
    Related,
    coded,
    evidence_on_card,
    listed,
    related,
    related_within,
)
from holdfast.evolving.options import EvolveStrategy
from holdfast.evolving.outcome import AddedRule, BreakingPair, RemovedRule, RulesChange
from holdfast.evolving.repair import changed_evidence, repaired_rules, strengthened
from holdfast.evolving.rule_indexes import RuleIndexes
from holdfast.kernels.extended_sets import contained_in, first_missed
from holdfast.rules.constraint import DenialConstraint
from holdfast.rules.rule import Nulls
from holdfast.search.clock import Clock
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


@dataclass(frozen=True)
class KeptRules:
    """The most general constraints of so many rows, how many pairs violate each, and the evidence of all pairs when
    `exact`, else of some."""

    space: PredicateSpace
    masks: Words
    violating: Ints
    evidence: Evidence
    rows: int
    exact: bool = True

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
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> KeptRules:
        """Returns the rules that `to_bytes` wrote."""
        with np.load(io.BytesIO(content), allow_pickle=False) as parts:
            about = json.loads(parts["about"].tobytes())
            evidence = Evidence(parts["words"], parts["counts"])
            space = PredicateSpace.from_lists(about["pairs"])
            return cls(space, parts["masks"], parts["violating"], evidence, about["rows"], about["exact"])


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
    for block, pairs in _with_breaking_pairs(met, coming, stay.size, kept.evidence.words, kept.masks):
        came.append(block.evidence())
        new += pairs
    return EvidenceChange(reduce(Evidence.plus, came), reduce(Evidence.plus, went), tuple(new))


def _with_breaking_pairs(
    met: Iterable[Related], coming: Iterable[tuple[Related, int]], stay: int, known: Words, masks: Words
) -> Iterator[tuple[Related, list[NewPair]]]:
    """The blocks of rows that come with those that stay, then with each other; each with pairs of it that break rules.

    Positions are as in `evidence_change`.
    """
    for block, start in chain(((block, None) for block in met), coming):
        pairs, offset = block.breaking_pairs(known, masks), 0 if start is None else start + stay
        yield block, [NewPair(pair.left, pair.right + offset, pair.words) for pair in pairs]


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
    Without it, rows that come are looked up in indexes. Where rows go as well, rules may become more general, and
    nothing but a search tells which.
    """
    after = stay + come
    if strategy == "rediscover":
        return "rediscover"
    if kept.exact:
        moved = (gone + come) * stay + (gone * gone + come * come) / 2
        return "evidence" if strategy == "evidence" or moved <= after * after / 2 else "rediscover"
    return "index" if not gone and kept.rows > 1 else "rediscover"


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
    return after, broken_pairs(before.space, fell, options.nulls, come, stay, threads=threads), "rediscover"


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
    return [pair for _, pairs in _with_breaking_pairs(met, coming, stay.size, none, masks) for pair in pairs]


def strengthened_by_indexes(
    kept: KeptRules, indexes: RuleIndexes, come: KeptRows, stay: KeptRows, ids: Ints, options: DiscoverOptions, *,
    threads: int,
) -> tuple[KeptRules, list[NewPair], str]:  # fmt: skip
    """The rules when rows come, from the pairs that the indexes let through; pairs that break rules, by positions as in
    `evidence_change`, and what was done in words. `ids` are those of the rows that stay, in order.
    """
    space, nulls = kept.space, options.nulls
    indexes.serve(kept.masks, stay, ids, come)
    broken: list[NewPair] = []
    words: list[Words] = [no_evidence(space).words]
    if indexes.selection.uncovered or indexes.named(come) > options.limits.most_named * come.size * max(stay.size, 1):
        # What is looked up would cost more than what is related block by block.
        met = related(space, nulls, come, stay, threads=threads, firsts=True)
        how = "all pairs with rows that came, since indexes would let too many through"
    else:
        through = indexes.let_through(come)
        where = np.searchsorted(ids, through.rows)
        met = listed(space, nulls, come, stay, through.asking, where)
        how = f"{len(indexes)} indexes let {len(through.rows):,} of {come.size * stay.size:,} pairs through"
    coming = related_within(space, nulls, come, threads=threads, firsts=True)
    for block, pairs in _with_breaking_pairs(met, coming, stay.size, words[0], kept.masks):
        words.append(block.evidence().words)
        broken += pairs
    shown, _ = distinct(np.concatenate(words))
    stronger = strengthened(space, kept.masks, shown, options, however_many=True)
    if stronger is None:
        raise RunError(
            "there are more rules now than can be kept.",
            hint="allow fewer with --max-predicates, --columns or --exclude at evolve init.",
        )
    new = Evidence(shown, np.ones(len(shown), np.int64))
    after = replace(
        kept,
        masks=stronger.masks,
        violating=np.zeros(len(stronger.masks), np.int64),
        evidence=kept.evidence.plus(new),
        rows=kept.rows + come.size,
    )
    return after, broken, f"index: {how}"


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
