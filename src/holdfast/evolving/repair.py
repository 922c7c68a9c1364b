"""The most general constraints after a change of evidence, from those before it.

`most_general` is the twin that starts from nothing. New evidence breaks the rules it lies inside; each gives way to the
ones that strengthen it just enough. Evidence that vanishes makes rules more general: those that are new then allow some
of what vanished, and only those are looked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.kernels.extended_sets import contained_in, extended_sets, first_missed
from holdfast.kernels.hitting_sets import hitting_sets
from holdfast.search.clock import Clock
from holdfast.search.evidence import Evidence, Ints, distinct, in_either
from holdfast.search.invert import full_mask, mirror_representatives, most_general, trivial
from holdfast.search.options import DiscoverOptions
from holdfast.search.space import PredicateSpace, Words, both_ways


@dataclass(frozen=True)
class ChangedEvidence:
    """Evidence after a change, and what of it is new and what is gone, each in both orders."""

    after: Evidence
    appeared: Words
    vanished: Words


def changed_evidence(before: Evidence, came: Evidence, went: Evidence) -> ChangedEvidence:
    """The evidence when pairs have come and others have gone."""
    after = before.plus(came).minus(went)
    lines, had, has = in_either(before.words, after.words)
    return ChangedEvidence(after, lines[has & ~had], lines[had & ~has])


@dataclass(frozen=True)
class Repaired:
    """The masks of the most general constraints now, in order, how many counted pairs violate each, and whether those
    are all. `repaired` is false where the search began anew."""

    masks: Words
    violating: Ints
    complete: bool
    repaired: bool
    why: str | None = None


def repaired_rules(
    space: PredicateSpace, masks: Words, before: Evidence, change: ChangedEvidence, options: DiscoverOptions, *,
    clock: Clock, threads: int,
) -> Repaired:  # fmt: skip
    """What `most_general` would find in the evidence after the change, given what it found in the one before."""
    unchanged = len(change.appeared) == 0 and len(change.vanished) == 0
    if not options.error and unchanged and len(before):
        return Repaired(masks, np.zeros(len(masks), np.int64), True, True)
    # A share of all pairs may break an approximate rule, so that every count matters.
    if not options.error and len(before) and len(change.after):
        with clock.phase("repair"):
            repaired = _repaired(space, masks, before, change, options, threads)
        if repaired is not None:
            return Repaired(repaired, np.zeros(len(repaired), np.int64), True, True)
    result = most_general(space, change.after, options, clock, threads=threads)
    return Repaired(result.masks, result.violating, result.complete, False, result.why)


def _repaired(
    space: PredicateSpace, masks: Words, before: Evidence, change: ChangedEvidence, options: DiscoverOptions,
    threads: int,
) -> Words | None:  # fmt: skip
    if len(change.vanished) == len(before):
        return None  # without evidence there are no rules to strengthen
    if len(change.vanished):
        masks = generalised(space, masks, before.words, change.vanished, options, threads=threads)
    if len(change.appeared):
        stronger = strengthened(space, masks, change.appeared, options)
        return None if stronger is None else stronger.masks
    return masks


@dataclass(frozen=True)
class Strengthened:
    """Masks after new evidence, in order, and those that fell."""

    masks: Words
    fallen: Words


def strengthened(
    space: PredicateSpace, masks: Words, appeared: Words, options: DiscoverOptions, *, however_many: bool = False
) -> Strengthened | None:
    """The most general of all constraints that the given ones imply and the new evidence leaves; None where a search
    from nothing is the shorter way, unless `however_many`.

    The new evidence comes in both orders. What held before need not be known: only rules that fall are replaced.
    """
    sets = ~masks & full_mask(space)
    falls = first_missed(sets, appeared) >= 0
    fallen, stay = sets[falls], sets[~falls]
    if not len(fallen):
        return Strengthened(masks, masks[falls])
    looks = len(fallen) * (len(stay) + len(appeared))
    limits = options.limits
    if not however_many and (looks > limits.most_looks or len(fallen) > limits.most_fallen * len(sets) + 16):
        return None
    most = min(options.max_predicates or len(space.pairs), len(space.pairs))
    # A constraint and its mirror image are one: what stays is there both ways round.
    others = both_ways(space, stay)
    extended = extended_sets(fallen, others, appeared, space.pair_of_bit, most_slots=most)
    if not extended.complete:
        return None
    new, _ = distinct(mirror_representatives(space, ~extended.sets & full_mask(space)))
    own = ~new & full_mask(space)
    fit = ~trivial(space, new)
    fit[fit] = contained_in(own[fit], others) < 0
    fit[fit] = contained_in(own[fit], both_ways(space, own[fit]), strictly=True) < 0
    all_masks = np.concatenate([masks[~falls], new[fit]])
    return Strengthened(all_masks[np.lexsort(all_masks.T[::-1])], masks[falls])


def generalised(
    space: PredicateSpace, masks: Words, before: Words, vanished: Words, options: DiscoverOptions, *, threads: int
) -> Words:
    """The most general constraints when of the evidence before some has vanished, not all; both in both orders."""
    lines, _, gone = in_either(before, vanished)
    most = min(options.max_predicates or len(space.pairs), len(space.pairs))
    hitting = hitting_sets(lines[~gone], space.pair_of_bit, most_slots=most, spare=vanished, threads=threads)
    new, _ = distinct(mirror_representatives(space, ~hitting.sets & full_mask(space)))
    new = new[~trivial(space, new)]
    sets = ~masks & full_mask(space)
    # A rule that stays valid is no longer the most general where a new one allows more.
    stay = contained_in(sets, both_ways(space, ~new & full_mask(space))) < 0
    both, _ = distinct(np.concatenate([masks[stay], new]))
    return both
