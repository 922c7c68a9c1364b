"""The format that all texts of a column have, as a short regular expression of the part that rules may use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.rules.pattern import common_pattern
from holdfast.search.next_batch import limit_chance

# A text is a row of signs and of runs of one class. The classes of a level, finest level first; to each its sign in the
# shape of a text, and sets of characters that a run may have, smallest first.
_UPPER, _LOWER = "[A-Z]", "[a-z]"
_LEVELS: tuple[dict[str, tuple[str, ...]], ...] = (
    {"0": (r"\d",), "A": (_UPPER,), "a": (_LOWER,)},
    {"0": (r"\d",), "a": (_UPPER, _LOWER, "[A-Za-z]")},
    {"0": (r"\d", "[0-9a-f]", "[0-9A-F]", _UPPER, _LOWER, "[0-9a-z]", "[0-9A-Z]", "[A-Za-z]", "[0-9A-Za-z]")},
)
# All texts of a column have one shape, of at most so many parts: of those with a few, most have others, too, by and by.
_MOST_PARTS = 24
# A least or greatest length of a run counts where so many texts have it: that many of them, and still hardly a doubt.
_TEXTS_AT_LIMIT = 7
_NOT_PLAIN = r"[^ -~]"
_SPECIAL = frozenset(r"\[](){}|.*+?^$")

Texts: TypeAlias = pa.Array


@dataclass(frozen=True)
class TextFormat:
    """A pattern that all texts match as a whole, and the chance that a limit in it is none: see next_batch.py."""

    pattern: str
    chance: float


def text_format(texts: Texts, most_chance: float) -> TextFormat | None:
    """Returns the format that all of these different texts have, of the finest level that gives one that is off with at
    most that chance; None where there is none.

    >>> text_format(pa.array([f"{i}-{'ABC'[i % 3]}" for i in range(10, 60)]), 0.05)
    TextFormat(pattern='\\\\d\\\\d-[A-Z]', chance=...)
    """
    if len(texts) == 0 or pc.any(pc.match_substring_regex(texts, _NOT_PLAIN)).as_py():
        return None
    for level in _LEVELS:
        text_form = _format_at(texts, level)
        if text_form is not None and text_form.chance <= most_chance and matches_all(texts, text_form.pattern):
            return text_form
    return None


def matches_all(texts: Texts, pattern: str) -> bool:
    """Whether each of the texts as a whole has the pattern.

    >>> matches_all(pa.array(["12", "345"]), r"\\d+"), matches_all(pa.array(["12", "3x"]), r"\\d+")
    (True, False)
    """
    whole = rf"\A(?:{common_pattern(pattern)})\z"
    return len(texts) == 0 or bool(pc.all(pc.match_substring_regex(texts, whole)).as_py())


def _format_at(texts: Texts, level: dict[str, tuple[str, ...]]) -> TextFormat | None:
    shapes = texts
    for sign, sets in level.items():
        shapes = pc.replace_substring_regex(shapes, rf"{sets[-1]}+", sign)
    shape = shapes[0].as_py()
    if not 0 < len(shape) <= _MOST_PARTS or not pc.all(pc.equal(shapes, shape)).as_py():
        return None
    groups = [f"(?P<g{i}>{level[sign][-1]}+)" if sign in level else _sign(sign) for i, sign in enumerate(shape)]
    runs = pc.extract_regex(texts, rf"\A{''.join(groups)}\z")
    parts, chance, says_much = [], 0.0, False
    for i, sign in enumerate(shape):
        if sign in level:
            part, off = _run(runs.field(f"g{i}"), level[sign])
            chance += off
        else:
            part = _sign(sign)
        # It should say more than of which class all characters are: that there is a sign, or how long a run is.
        says_much |= not part.endswith(("+", ",}"))
        parts.append(part)
    return TextFormat("".join(parts), chance) if says_much else None


def _run(runs: Texts, sets: tuple[str, ...]) -> tuple[str, float]:
    """The pattern of runs of one class, and the chance that a limit in it is none."""
    first = runs[0].as_py()
    # Digits that are the same so far, such as a year, change sooner or later.
    if first.isalpha() and len(first) > 0 and pc.all(pc.equal(runs, first)).as_py():
        return first, 0.0
    inside = [
        pc.match_substring_regex(runs, rf"\A{character_set}+\z").to_numpy(zero_copy_only=False)
        for character_set in sets
    ]
    at = next(i for i, fits in enumerate(inside) if fits.all())
    # In how many texts there are characters that a smaller set has not, for each set inside of the chosen one.
    beyond = [int((~inside[i]).sum()) for i in range(at) if _within(sets[i], sets[at])]
    chance = limit_chance(min(beyond)) if beyond else 0.0
    lengths = pc.utf8_length(runs).to_numpy(zero_copy_only=False)
    least, most = int(lengths.min()), int(lengths.max())
    known = [int((lengths == end).sum()) >= _TEXTS_AT_LIMIT for end in (least, most)]
    if least == most:
        return _repeated(sets[at], least, least), chance
    low, high = least if known[0] else 1, most if known[1] else None
    off = sum(limit_chance(int((lengths == end).sum())) for end, sure in zip((least, most), known, strict=True) if sure)
    return _repeated(sets[at], low, high), chance + off


def _within(small: str, large: str) -> bool:
    return small != large and _characters(small) < _characters(large)


@lru_cache
def _characters(written: str) -> frozenset[str]:
    plain = pa.array([chr(code) for code in range(32, 127)])
    return frozenset(plain.filter(pc.match_substring_regex(plain, written)).to_pylist())


def _repeated(character_set: str, least: int, most: int | None) -> str:
    """The shortest way to write so many of one set.

    >>> _repeated("[a-z]", 1, 1), _repeated(r"\\d", 2, 2), _repeated("[a-z]", 3, 3), _repeated("[a-z]", 1, None)
    ('[a-z]', '\\\\d\\\\d', '[a-z]{3}', '[a-z]+')
    """
    if most is None:
        return f"{character_set}+" if least == 1 else f"{character_set}{{{least},}}"
    counted = f"{character_set}{{{least}}}" if least == most else f"{character_set}{{{least},{most}}}"
    return min(character_set * least, counted, key=len) if least == most else counted


def _sign(sign: str) -> str:
    return f"\\{sign}" if sign in _SPECIAL else sign
