"""The format of texts: short, believed, and matched by all of them as rules read it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.discovery.text_format import matches_all, text_format
from holdfast.rules.text_operators import OPERATORS


def of(*texts: str) -> str | None:
    found = text_format(pa.array(dict.fromkeys(texts)), 0.05)
    return None if found is None else found.pattern


def codes(form: str, count: int = 40) -> list[str]:
    return [form.format(n=i, l=chr(65 + i % 26), s=chr(97 + i * 7 % 26), h=f"{i * 7919:x}") for i in range(count)]


@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        ("SO-{n:04}", r"SO-\d{4}"),
        ("{n:02}", r"\d\d"),
        ("{n:03}-{n:04}", r"\d{3}-\d{4}"),
        ("{l}{s}", "[A-Z][a-z]"),
        ("{s}{s}{s}@example.org", r"[a-z]{3}@example\.org"),
        ("2024/{n:02}", r"\d{4}/\d\d"),  # a year passes
        ("({n:03}) [x]*{l}?", r"\(\d{3}\) \[x\]\*[A-Z]\?"),
    ],
)
def test_a_format_is_the_shortest_that_says_it(form: str, pattern: str) -> None:
    assert of(*codes(form)) == pattern


def test_runs_have_the_lengths_that_many_texts_have() -> None:
    four, five = [f"{i:04}" for i in range(100, 120)], [f"{i:05}" for i in range(10_000, 10_020)]
    assert of(*four, *five) == r"\d{4,5}"
    assert of(*four, *five[:1]) is None, "one more digit: how many may there be?"
    assert of(*[f"A{text}" for text in four], "A99999") == r"A\d{4,}"


def test_all_texts_have_one_shape() -> None:
    assert of(*codes("N{n:03}"), *codes("{n:02}-{l}{l}")) is None
    assert of(*codes("N{n:03}"), "x y") is None
    assert of(*codes("{n:03}{l}{l}"), *codes("{l}{l}{n:03}")) == "[0-9A-Z]{5}"
    assert of(*codes("{h}-{n:02}", 300)) == r"[0-9a-f]{1,6}-\d{2,3}"


@pytest.mark.parametrize("odd", ["", "é", "a\nb", "x" * 30])
def test_free_text_has_no_format(odd: str) -> None:
    words = [f"{'ab' * (i % 5)} {'cd ' * (i % 7)}{i}!" * (i % 3) + "x" * i for i in range(40)]
    assert of(*words) is None
    assert of(odd, *codes("{l}{n:02}")) is None


@given(st.lists(st.from_regex(r"[A-C]{1,3}[-_ ]?[0-9a-f]{2,4}([.*\\]x)?", fullmatch=True), min_size=1, max_size=60))
@example(["A 00", "A*00"])
def test_every_text_matches_its_format_as_rules_read_it(texts: list[str]) -> None:
    found = text_format(pa.array(sorted(set(texts))), 1.0)
    if found is not None:
        assert all(OPERATORS["matches"].holds(text, OPERATORS["matches"].checked(found.pattern)) for text in texts)


@given(st.lists(st.text(max_size=4)), st.sampled_from([r"\d+", "[a-z]*", "a|b", r".", r"\s?\w"]))
def test_matching_all_is_matching_each(texts: list[str], pattern: str) -> None:
    wanted = all(OPERATORS["matches"].holds(text, pattern) for text in texts)
    assert matches_all(pa.array(texts, pa.string()), pattern) == wanted
