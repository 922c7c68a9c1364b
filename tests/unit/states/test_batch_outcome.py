"""What a batch came to: one change value, whose lists, counts and JSON it shows as its own."""

from __future__ import annotations

from holdfast.states.batch_outcome import BatchOutcome, RuleViolation
from holdfast.states.violations_change import RuleViolationsChange, ViolationsChange

FIRST = BatchOutcome(
    "a", True, 1, 9, ViolationsChange({"r": RuleViolationsChange([(1, 2), (("x", 1), None)], (), 2, 0)}, {"r": 2})
)
SECOND = BatchOutcome("b", True, 2, 9, ViolationsChange({"r": RuleViolationsChange((), [(1, 2)], 0, 1)}, {"r": 1}))


def test_an_outcome_lists_what_its_change_has() -> None:
    assert FIRST.added == (RuleViolation("r", 1, 2), RuleViolation("r", ("x", 1)))
    assert (FIRST.removed, FIRST.added_count, FIRST.removed_count, FIRST.cut) == ((), 2, 0, False)
    assert FIRST.to_dict() == {
        "batch": "a",
        "applied": True,
        "added": [{"rule": "r", "left": 1, "right": 2}, {"rule": "r", "left": ["x", 1]}],
        "removed": [],
        "added_count": 2,
        "removed_count": 0,
        "totals": {"r": 2},
    }


def test_changes_of_batches_add_up() -> None:
    both = FIRST.change.plus(SECOND.change)
    assert both.added == {"r": [(("x", 1), None)]}
    assert (both.removed, both.totals) == ({}, {"r": 1})


def test_a_list_that_was_cut_is_known_as_such() -> None:
    cut = ViolationsChange({"r": RuleViolationsChange([(1, 2)], (), 3, 0)}, {"r": 3})
    assert BatchOutcome("a", True, 1, 9, cut).cut
