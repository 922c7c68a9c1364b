"""Where a search turns from one way to another: none of these numbers changes which rules a complete search finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SearchLimits:
    """How much work of each kind a search takes on before another way is the shorter one.

    The hybrid strategy starts with all pairs of `sampled_rows`, and with pairs of `windowed_rows` that are within a
    `window` in the order of a column. Equalities whose rows form at most `cheap_pairs_per_row` pairs, per row of the
    table, are settled before anything is known. A walk for a candidate costs as much as `walk_pairs_per_row` pairs per
    row of the evidence kernel with up to two predicates that are not equalities, `walk_growth` times more with each
    further one, and brings `pairs_per_candidate` pairs at most; `candidates_per_turn` are walked for before the next
    inversion. It begins among `first_rows`, and goes on among `more_rows` times as many: most candidates that are
    violated fall there.

    A sample for approximate rules has `sampled_pairs` pairs, drawn `drawn_at_once`: a rule that one pair in a thousand
    breaks is then broken by five thousand of them.

    A search for the best draws `drawn_pairs` where it does not look at all pairs, and takes `pairs_of_best` of those
    that violate a candidate. It looks at all pairs where their kinds of evidence have at most `evidence_words` words.
    It compares at most `compared_pairs` pairs of columns with each other, those with the most alike values. Rules of a
    score below `believed` are tested by so few pairs that most of their kind hold by chance: they are looked for only
    while that takes little work. Work is counted in words of evidence: with `small_work` all rules are found at once,
    with `little_work` those that are not believed. Where it does not look at all pairs, all rules are found at once
    where the evidence has at most `small_kinds` words, and `small_pairs_per_row` pairs, per row of the table, decide
    every candidate.

    Below `least_gpu_rows` distinct rows, and below `least_gpu_pairs` pairs of changed rows with others, the cores are
    done before the rows have reached the card. Up to `most_gpu_rows` a GPU relates all pairs in less time than a sample
    takes to be completed.

    Strengthening looks at every other rule for each that falls; beyond `most_looks`, or where more than the share
    `most_fallen` of the rules fall, a new search is the shorter way. Looking a pair up and relating it alone is worth
    it for at most the share `most_named` of the pairs. Where rows go, at most `most_walks` candidates are put to all
    rows, and none when more than `most_undecided` are in question: then a new search is the shorter way.
    `breaking_rows` rows at a time are searched for pairs that break rules where a GPU has counted. From `shared_rows`
    distinct rows on, the tasks of a cluster share all pairs.
    For the best `estimated_rules` at most it is estimated how likely they are accidents.
    """

    sampled_rows: int = 6_000
    windowed_rows: int = 50_000
    window: int = 16
    cheap_pairs_per_row: int = 200
    walk_pairs_per_row: int = 300
    walk_growth: int = 4
    pairs_per_candidate: int = 512
    candidates_per_turn: int = 64
    first_rows: int = 8_000
    more_rows: int = 8
    sampled_pairs: int = 5_000_000
    drawn_at_once: int = 250_000
    drawn_pairs: int = 60_000
    pairs_of_best: int = 64
    evidence_words: int = 1 << 19
    compared_pairs: int = 100
    believed: float = 0.2
    small_work: int = 1 << 22
    little_work: int = 1 << 30
    small_kinds: int = 1 << 15
    small_pairs_per_row: int = 2_000
    least_gpu_rows: int = 20_000
    most_gpu_rows: int = 2_000_000
    least_gpu_pairs: int = 5_000_000_000
    most_looks: int = 1_000_000_000
    most_fallen: float = 0.5
    most_named: float = 0.01
    most_walks: int = 256
    most_undecided: int = 2_000
    shared_rows: int = 20_000
    breaking_rows: int = 512
    estimated_rules: int = 200


DEFAULT_LIMITS = SearchLimits()
