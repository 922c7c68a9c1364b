"""Patterns that all engines read alike: rewritten to say the same everywhere, or refused with place and reason."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import RuleSyntaxError, TrivialRuleError
from holdfast.rules.parse import parse_body
from holdfast.rules.pattern import common_pattern

PIECES = [
    "a",
    "b",
    "-",
    "é",
    "_",
    ".",
    r"\d",
    r"\W",
    r"\s",
    "[a-c]",
    "[^b]",
    r"[\w.-]",
    "[-a]",
    "(a|bc)",
    "(?:a)",
    r"\.",
]
QUANTIFIERS = ["", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"]
PATTERNS = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(QUANTIFIERS)).map("".join), max_size=4).map(
    "".join
)
TEXTS = st.text("abc-é_. \n\t1A", max_size=5)


@given(pattern=PATTERNS, texts=st.lists(TEXTS, min_size=1))
def test_python_and_re2_agree_on_what_is_written(pattern: str, texts: list[str]) -> None:
    written = common_pattern(pattern)
    by_python = [re.fullmatch(written, text) is not None for text in texts]
    assert pc.match_substring_regex(pa.array(texts), rf"\A(?:{written})\z").to_pylist() == by_python
    if r"\s" not in pattern and r"\d" not in pattern and r"\w" not in pattern and r"\W" not in pattern:
        assert by_python == [re.fullmatch(pattern, text) is not None for text in texts]


@pytest.mark.parametrize("character", ["\n", "\r", "\t", "\f"])
def test_a_control_character_is_written_as_its_escape(character: str) -> None:
    """What is written is shown to people, in errors and in exported SQL."""
    written = common_pattern(f"a{character}[{character}]b")
    assert written.isprintable()
    assert re.fullmatch(written, f"a{character}{character}b")
    assert pc.match_substring_regex(pa.array([f"a{character}{character}b"]), rf"\A(?:{written})\z").to_pylist() == [
        True
    ]


@pytest.mark.parametrize(
    ("pattern", "place", "reason"),
    [
        ("(?=a)", "character 2", "look-around"),
        (r"a(?P<x>b)", "character 3", "named groups"),
        (r"ab\b", "character 3", "escapes"),
        (r"(a)\1", "character 4", "back-references"),
        ("^a", "character 1", "whole value"),
        ("a$", "character 2", "whole value"),
        ("(a", "character 3", "has no end"),
        ("a++", "character 3", "repeated twice"),
        ("a{2}{3}", "character 5", "repeated twice"),
        ("a{,3}", "character 2", "counts nothing"),
        ("*a", "character 1", "nothing to repeat"),
        ("a)", "character 2", "no ( belongs to it"),
        ("[[:alpha:]]", "character 2", "classes such as"),
        ("[]a]", "character 2", "starts with ]"),
        ("(a{100}){100}", "'(a{100}){100}'", "inside of each other"),
        ("[z-a]", "'[z-a]'", "backwards"),
        ("a{3,2}", "'a{3,2}'", "number of times"),
        ("a{1001}", "'a{1001}'", "number of times"),
    ],
)
def test_what_engines_read_differently_is_refused_with_place_and_reason(pattern: str, place: str, reason: str) -> None:
    with pytest.raises(RuleSyntaxError) as refused:
        parse_body(f"not(t.a matches '{pattern}')")
    assert place in str(refused.value)
    assert reason in str(refused.value)
    assert str(refused.value).splitlines()[-1].index("^") == "  not(t.a matches '".index("'")


def test_a_text_test_is_printed_as_it_is_read() -> None:
    body = parse_body("if t.\"zip code\" is not null then t.\"zip code\" matches '[0-9]{5}|it''s'")
    assert str(parse_body(str(body))) == str(body)
    assert [str(c) for c in body.denials] == [
        "not(t.\"zip code\" is not null and t.\"zip code\" not matches '[0-9]{5}|it''s')"
    ]
    assert body.kind == "row"


@pytest.mark.parametrize(
    "text", ["not(t.a matches 'x' and t.a not matches 'x')", "not(t.a is null and t.a matches 'x')"]
)
def test_text_tests_that_contradict_each_other_are_trivial(text: str) -> None:
    with pytest.raises(TrivialRuleError):
        parse_body(text)
