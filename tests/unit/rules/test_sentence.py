"""Rules in plain words: every kind of constraint has its sentence, and nothing is said that it does not say."""

from __future__ import annotations

import pytest

from holdfast.rules.parse import parse_constraint
from holdfast.rules.sentence import sentence

SENTENCES = {
    "not(t.ident = s.ident)": "no two rows have the same ident",
    "not(t.A = s.A and t.B = s.B and t.C = s.C)": "no two rows have the same A, B and C",
    "not(t.Zip = s.Zip and t.City != s.City)": "rows with the same Zip have the same City",
    "not(t.year != s.year)": "all rows have the same year",
    "not(t.S = s.S and t.Salary > s.Salary and t.Rate < s.Rate)": (
        "within one S, a higher Salary never has a lower Rate"
    ),
    "not(t.S = s.S and t.Salary < s.Salary and t.Rate > s.Rate)": (
        "within one S, a higher Salary never has a lower Rate"
    ),
    "not(t.Salary <= s.Salary and t.Rate >= s.Rate)": "the same or a higher Salary always has a higher Rate",
    "not(t.A < s.A and t.B < s.B)": "a higher A never has a higher B",
    "not(t.A > s.A and t.B >= s.B)": "a higher A always has a lower B",
    "not(t.low > t.high)": "every row's low is at most its high",
    "not(t.a >= t.b and t.a < t.c)": "no row has a >= b and a < c",
    "not(t.code = s.ident)": "no row's code equals another row's ident",
    "not(t.A = s.A and t.B != s.B and t.C != s.C)": "no two rows have the same A but different B and C",
    "not(t.A = s.A and t.B < s.B)": "no two rows have the same A where one has a lower B than the other",
    "not(t.B <= s.B and t.C >= s.D and t.E != t.F)": (
        "there are no two rows where one has the same or a lower B than the other, its C is at least the other's D "
        "and its E differs from its F"
    ),
    "not(t.B = s.C and s.E < s.F)": (
        "there are no two rows where one's B equals the other's C and the other's E is below the other's F"
    ),
    "not(t.A = 1 and t.B > s.B)": "it is not so that t.A = 1 and t.B > s.B",
}


@pytest.mark.parametrize(("text", "words"), SENTENCES.items())
def test_a_constraint_is_said_in_plain_words(text: str, words: str) -> None:
    assert sentence(parse_constraint(text)) == words
