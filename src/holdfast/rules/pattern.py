"""Regular expressions of the part that RE2, Java and Python read alike, and what is refused beyond it."""

from __future__ import annotations

import re
import sys
from functools import cache, lru_cache
from typing import Any

from lark import Lark, Token, Transformer, Tree
from lark.exceptions import UnexpectedInput, VisitError

from holdfast.rules.kept_parser import kept_parser

_GRAMMAR = r"""
start: choice
choice: sequence ("|" sequence)*
sequence: repeated*
repeated: _atom [QUANTIFIER]
_atom: group | ANY | set | ESCAPE | CHARACTER
group: ("(?:" | "(") choice ")"
set: (SET_OPENING | NOT_SET_OPENING) (RANGE | SET_ESCAPE | SET_CHARACTER)+ SET_CLOSING
QUANTIFIER: /(\*|\+|\?|\{\d+(,\d*)?\})\??/
ANY: "."
ESCAPE: /\\([dDwWsSnrtf]|[^a-zA-Z0-9])/
CHARACTER: /[^\\\[\](){}|.*+?^$]/
SET_OPENING: "["
NOT_SET_OPENING: "[^"
SET_CLOSING: "]"
SET_ESCAPE: /\\([dwsnrtf]|[^a-zA-Z0-9])/
RANGE.2: /(\\[^a-zA-Z0-9]|[^\\\[\]-])-(\\[^a-zA-Z0-9]|[^\\\[\]-])/
SET_CHARACTER: /[^\\\[\]]/
"""
# What classes mean in all three: letters and digits of ASCII, and no line break but the line feed is special.
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r" \t\n\f\r"}
_CONTROL = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"}
_MOST_REPEATS = 1000
_REFUSED = {
    "(?": "engines differ in look-around, named groups and flags",
    "\\": "engines differ in back-references, \\b, \\p and other such escapes",
    "^": "a pattern is for the whole value, without ^ and $",
    "$": "a pattern is for the whole value, without ^ and $",
    "{": "engines differ in { that counts nothing; write \\{ for the sign, or {0,3} for a number of times",
    "[": "engines differ in [ inside of a set: classes such as [:alpha:], and sets of sets",
    "]": "engines differ in a set that starts with ]; write \\] for the sign",
    ")": "no ( belongs to it",
    "": "a group or a set has no end",
}


@lru_cache(maxsize=256)
def common_pattern(pattern: str) -> str:
    """Returns the pattern as all three engines read alike. Raises ValueError with place and reason where there is none.

    >>> common_pattern(r"\\d{5}(-\\d{4})?")
    '[0-9]{5}(?:\\\\-[0-9]{4})?'
    """
    try:
        parsed = _parser().parse(pattern)
        written = str(_Written().transform(parsed))
        if _most_repeats(parsed) > _MOST_REPEATS:
            raise ValueError(
                f"in the pattern {pattern!r}: repetitions inside of each other are more than {_MOST_REPEATS}"
            )
        return written
    except VisitError as problem:
        raise ValueError(f"in the pattern {pattern!r}: {problem.orig_exc}") from None
    except UnexpectedInput as problem:
        place = max(getattr(problem, "pos_in_stream", None) or 0, 0)
        if getattr(problem, "token", None) is not None and problem.token.type == "$END":  # type: ignore[attr-defined]
            place = len(pattern)
        rest = pattern[place - 1 :] if pattern[place - 1 : place + 1] == "(?" else pattern[place:]
        reason = next(why for start, why in _REFUSED.items() if rest.startswith(start))
        if rest and rest[0] not in _STARTS:
            reason = "it cannot be read"
        if rest[:1] in _QUANTIFIERS and pattern[:place][-1:] in ("", "(", "|"):
            reason = "there is nothing to repeat"
        elif rest[:1] in _QUANTIFIERS and pattern[:place][-1:] in ("*", "+", "?", "}"):
            reason = "engines differ in what is repeated twice, as in a++"
        raise ValueError(f"at character {place + 1} of the pattern {pattern!r}: {reason}") from None


def matches_nothing(pattern: str) -> bool:
    """Whether no text matches the pattern: it needs a character of a set that has none.

    >>> everything = chr(0) + "-" + chr(sys.maxunicode)
    >>> matches_nothing("a+[^b]"), matches_nothing(f"a[^{everything}]"), matches_nothing(f"(a[^{everything}])*")
    (False, True, False)
    """
    return _is_empty(_parser().parse(pattern))


def _is_empty(tree: Tree[Token] | Token) -> bool:
    """Whether no text matches this part of a pattern."""
    if isinstance(tree, Token):
        return False
    if tree.data == "set":
        written = str(_Written().transform(tree))
        return not any(re.match(written, chr(code)) for code in range(sys.maxunicode + 1))
    if tree.data == "choice":
        return all(map(_is_empty, tree.children))
    if tree.data == "repeated":
        part, quantifier = tree.children
        return not str(quantifier or "").startswith(("*", "?", "{0")) and _is_empty(part)
    return any(map(_is_empty, tree.children))


def _most_repeats(tree: Tree[Token]) -> int:
    """How often a part of the pattern is repeated at most, as far as numbers say, all that it is inside of counted."""
    inner = max((_most_repeats(child) for child in tree.children if isinstance(child, Tree)), default=1)
    own = [child for child in tree.children if isinstance(child, Token) and child.type == "QUANTIFIER"]
    counts = [int(count) for token in own for count in re.findall(r"\d+", token)]
    return inner * max(counts, default=1) if max(counts, default=1) else inner


_QUANTIFIERS = ("*", "+", "?", "{")
_STARTS = frozenset(start[0] for start in _REFUSED if start)


@cache
def _parser() -> Lark:
    return kept_parser(_GRAMMAR)


def _literal(character: str) -> str:
    if character in _CONTROL:
        return _CONTROL[character]
    plain = character.isalnum() or character == "_" or not character.isascii()
    return character if plain else f"\\{character}"


def _escaped(token: str) -> str:
    """What an escape stands for in a set: a class, or one character."""
    return _CLASSES.get(token[1]) or (token if token[1].isalpha() else _literal(token[1]))


class _Written(Transformer[Token, str]):
    """Writes a parsed pattern with sets instead of classes, and every other sign escaped."""

    def ANY(self, _: Token) -> str:
        return r"[^\n]"

    def CHARACTER(self, token: Token) -> str:
        return _literal(str(token))

    def ESCAPE(self, token: Token) -> str:
        if token[1] in "DWS":
            return f"[^{_CLASSES[token[1].lower()]}]"
        return f"[{_escaped(token)}]" if token[1] in _CLASSES else _escaped(token)

    def SET_CHARACTER(self, token: Token) -> str:
        return _literal(str(token))

    def SET_ESCAPE(self, token: Token) -> str:
        return _escaped(token)

    def RANGE(self, token: Token) -> str:
        low, high = re.findall(r"\\?(.)(?:-|$)", token, re.DOTALL)
        if low > high:
            raise ValueError(f"the range {token} runs backwards")
        return f"{_literal(low)}-{_literal(high)}"

    def QUANTIFIER(self, token: Token) -> str:
        quantifier = str(token).removesuffix("?") or "?"
        counts = [int(count) for count in re.findall(r"\d+", quantifier)]
        if counts != sorted(counts) or max(counts, default=0) > _MOST_REPEATS:
            raise ValueError(f"{quantifier} is no number of times from 0 to {_MOST_REPEATS}")
        return quantifier

    def set(self, parts: list[str]) -> str:
        return "".join(parts)

    def group(self, parts: list[str]) -> str:
        return f"(?:{parts[0]})"

    def repeated(self, parts: list[Any]) -> str:
        return f"{parts[0]}{parts[1] or ''}"

    def sequence(self, parts: list[str]) -> str:
        return "".join(parts)

    def choice(self, parts: list[str]) -> str:
        return "|".join(parts)

    def start(self, parts: list[str]) -> str:
        return parts[0]
