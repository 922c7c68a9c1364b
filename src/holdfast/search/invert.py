"""Evidence to the most general constraints that none of it violates, or little of it: complements of minimal hitting
sets, or of minimal sets that hit all but a small share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from holdfast.kernels.contradiction import contradictory
from holdfast.kernels.hitting_sets import DEFAULT_LIMITS, hitting_sets
from holdfast.kernels.nearly_hitting_sets import NearlyHittingSets, nearly_hitting_sets
from holdfast.search.clock import Clock
from holdfast.search.evidence import Evidence, Ints, distinct
from holdfast.search.options import DiscoverOptions
from holdfast.search.space import PredicateSpace, Ranges, Words, permuted

# The share of the time left that the whole search gets before short constraints are looked for on their own.
_FIRST_TRY = 0.6


class _Limits(TypedDict):
    most_slots: int
    threads: int
    seconds: float | None


@dataclass(frozen=True)
class MostGeneral:
    """Masks of the most general non-trivial constraints that the evidence leaves, one of each mirror pair, and how many
    of the counted pairs violate each.

    When the search ended before all were found, `complete` is false, and all with up to `within` predicates are there.
    """

    masks: Words
    violating: Ints
    complete: bool
    within: int | None = None
    too_many: bool = False

    @property
    def why(self) -> str | None:
        """Why it is not complete, in words."""
        if self.complete:
            return None
        said = "the time limit was reached while rules were being derived from the evidence"
        if self.too_many:
            said = f"there are more rules than can be kept, over {len(self.masks):,}"
        return said if self.within is None else f"{said}; all rules of up to {self.within} predicates are there"


def most_general(
    space: PredicateSpace, evidence: Evidence, options: DiscoverOptions, clock: Clock, *, threads: int,
    budget: int | None = None, most: int | None = None, most_work: int | None = None,
) -> MostGeneral:  # fmt: skip
    """All masks that at most the share `error` of the counted pairs violates; with a time limit the short ones in any
    case, as far as it goes. `budget`, so many pairs, and `most`, so many predicates, override what the options say.
    With `most_work`, so many words of evidence that are looked at, it ends where all would take more."""
    if len(evidence) == 0:
        return MostGeneral(np.zeros((0, space.words), np.uint64), np.zeros(0, np.int64), True)
    most = min(most or options.max_predicates or len(space.pairs), len(space.pairs))
    if budget is None:
        budget = int(options.error * evidence.pairs)

    def search(predicates: int, seconds: float | None) -> NearlyHittingSets:
        limits: _Limits = {"most_slots": predicates, "threads": threads, "seconds": seconds}
        if budget:
            return nearly_hitting_sets(evidence.words, evidence.counts, space.pair_of_bit, budget=budget, **limits)
        work = DEFAULT_LIMITS if most_work is None else DEFAULT_LIMITS._replace(most_work=most_work)
        result = hitting_sets(evidence.words, space.pair_of_bit, limits=work, **limits)
        missed = np.zeros(len(result.sets), np.int64)
        return NearlyHittingSets(result.sets, missed, result.complete, result.nodes, result.too_many)

    with clock.phase("invert"):
        result = search(most, None if clock.left is None else _FIRST_TRY * clock.left)
        parts, within = [result], None
        for few in range(1, most):
            if result.complete or clock.over or most_work is not None:
                break
            parts.append(search(few, clock.left))
            if not parts[-1].complete:
                break
            within = few
        sets, missed = np.concatenate([p.sets for p in parts]), np.concatenate([p.missed for p in parts])
        masks, which = distinct(_left_masks(space, sets))
        # A mask and its mirror are violated by as many ordered pairs.
        violating = np.zeros(len(masks), np.int64)
        violating[which] = missed
        useful = ~trivial(space, masks)
        return MostGeneral(masks[useful], violating[useful], result.complete, within, result.too_many)


def constraint_masks(space: PredicateSpace, sets: Words) -> Words:
    """The masks of the non-trivial constraints that leave these sets out, one of each mirror pair."""
    masks, _ = distinct(_left_masks(space, sets))
    return masks[~trivial(space, masks)]


def _left_masks(space: PredicateSpace, sets: Words) -> Words:
    return mirror_representatives(space, ~sets & full_mask(space))


def full_mask(space: PredicateSpace) -> Words:
    """The mask with every bit of the space."""
    mask = (1 << space.bits) - 1
    return np.array([mask >> (64 * w) & (2**64 - 1) for w in range(space.words)], np.uint64)


def mirror_representatives(space: PredicateSpace, masks: Words) -> Words:
    """Per mask, it or its mirror image: the one that allows `<` where they first differ."""
    mirrored = permuted(masks, space.mirror)
    chosen, decided = masks.copy(), np.zeros(len(masks), np.bool_)
    for w in range(masks.shape[1]):
        differ = masks[:, w] ^ mirrored[:, w]
        lowest = differ & (~differ + np.uint64(1))
        turn = ~decided & (differ != 0) & ((masks[:, w] & lowest) == 0)
        chosen[turn] = mirrored[turn]
        decided |= differ != 0
    return chosen


def allowed_relations(space: PredicateSpace, masks: Words) -> NDArray[np.uint8]:
    """Per mask and operand pair the set of relations it allows, as in rules/relation.py."""
    # A line per operand pair, and seen the other way round: masks may be many, and so may operand pairs.
    words, allowed = np.ascontiguousarray(masks.T), np.empty((len(space.pairs), len(masks)), np.uint8)
    for i, pair in enumerate(space.pairs):
        word, first = divmod(space.first_bits[i], 64)
        shown = words[word] >> np.uint64(first)
        if first + len(pair.relations) > 64:
            shown |= words[word + 1] << np.uint64(64 - first)
        sets = [
            sum(r for b, r in enumerate(pair.relations) if bits >> b & 1) for bits in range(1 << len(pair.relations))
        ]
        allowed[i] = np.array(sets, np.uint8)[shown & np.uint64(len(sets) - 1)]
    return allowed.T


def trivial(space: PredicateSpace, masks: Words) -> NDArray[np.bool_]:
    return _contradictory(space, allowed_relations(space, masks), None)


def by_ranges(space: PredicateSpace, allowed: NDArray[np.uint8], ranges: Ranges) -> NDArray[np.bool_]:
    """Per constraint, given by the relations it allows, whether it already follows from where the values of each column
    lie."""
    return _contradictory(space, allowed, ranges)


def _contradictory(space: PredicateSpace, allowed: NDArray[np.uint8], ranges: Ranges | None) -> NDArray[np.bool_]:
    if all(pair.same_column for pair in space.pairs):
        return np.zeros(len(allowed), np.bool_)  # nothing to contradict: each operand is in one pair
    operands = {o: i for i, o in enumerate(dict.fromkeys(o for p in space.pairs for o in (p.left, p.right)))}
    left = np.array([operands[pair.left] for pair in space.pairs])
    right = np.array([operands[pair.right] for pair in space.pairs])
    known = None if ranges is None else np.array([ranges[operand.name] for operand in operands], np.int64)
    return contradictory(allowed, left, right, known)
