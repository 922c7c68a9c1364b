"""What a SQL condition reads of a row, as far as its text tells without a database.

Whether sites need to ask each other follows from the columns that conditions read. So a name too many costs a message,
and a name too few would cost a violation: every word counts as a name, and a text that cannot be taken apart with
certainty is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from holdfast.errors import SitesError, closest_hint

# A backslash before a quotation mark ends a text for some sessions and not for others: such a text is none here.
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<text>'(?:[^'\\]|\\[^'"]|'')*')
      | (?P<either>"(?:[^"\\]|\\[^'"]|"")*")
      | (?P<name>`(?:[^`]|``)+`)
      | (?P<comment>--|/\*)
      | (?P<word>\w+)
      | (?P<mark>[-+*/%=<>!&|^~(),.:\[\]])
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
# Words of SQL that may stand alone and name nothing.
_SQL_WORDS = frozenset(
    {
        "all", "and", "any", "as", "between", "both", "case", "cast", "collate", "day", "days",
        "distinct", "div", "else", "end", "escape", "exists", "extract", "false", "for", "from",
        "hour", "hours", "ilike", "in", "interval", "is", "leading", "like", "microsecond",
        "microseconds", "millisecond", "milliseconds", "minute", "minutes", "month", "months",
        "not", "null", "or", "quarter", "regexp", "rlike", "second", "seconds", "similar", "some",
        "then", "to", "trailing", "true", "week", "weeks", "when", "year", "years",
    }
)  # fmt: skip
# What begins a query within a condition.
_QUERIES = frozenset({"select", "with", "from", "table", "values"})
# Functions whose value is not decided by the row, besides all that are called without an argument.
_NOT_OF_A_ROW = frozenset({"rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle", "over", "java_method"})
_CONSTANTS = frozenset({"pi", "e"})


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        return self.text.lower() if self.kind == "word" else ""


def condition_columns(condition: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known columns that a SQL condition may read: all whose name stands in it outside of texts.

    Raises SitesError where the text cannot be taken apart with certainty, or reads columns without naming them.

    >>> condition_columns("upper(grade) = 'city' and `it's` > 3", ["city", "grade", "it's"])
    ('grade', "it's")
    """
    names = {_folded(name) for token in _tokens(condition) if (name := _name(token)) is not None}
    return tuple(name for name in known if _folded(name) in names)


def require_condition_of_row(condition: str, known: Sequence[str]) -> None:
    """SitesError where more than these columns of a row may decide whether the row satisfies the condition."""
    tokens, columns = _tokens(condition), {_folded(name) for name in known}
    for before, token, after in _with_neighbours(tokens):
        name = _name(token)
        following = "" if after is None else after.text
        if token.text == "(" and before is not None and following == ")" and before.word not in _CONSTANTS:
            raise _refused(condition, f"{before.text}() is not decided by the row", "compare columns with constants.")
        if token.word in _NOT_OF_A_ROW and following == "(":
            raise _refused(condition, f"{token.text} is not decided by the row", "compare columns with constants.")
        if name is None or token.kind == "either" or _folded(name) in columns or name[:1].isdecimal():
            continue
        of_something = before is not None and (before.text in (".", ":") or before.word in ("as", "collate"))
        names_nothing = token.word in _SQL_WORDS or following == "(" or (after is not None and after.kind == "text")
        if not of_something and not names_nothing:
            raise _refused(condition, f"it names {name!r}, which is no column", closest_hint(name, known))
    if not condition_columns(condition, known):
        raise _refused(condition, "it names no column", f"columns are {', '.join(known)}.")


def conjuncts(condition: str) -> list[str]:
    """Conditions that together say what the condition says; itself alone where it cannot simply be cut."""
    tokens = _tokens(condition)
    depth, cuts = 0, []
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.word in ("or", "between", "case"):
            return [condition]
        if depth == 0 and token.word == "and":
            cuts.append(token.start)
    pieces = [
        condition[start:end].strip() for start, end in zip([0, *(c + 3 for c in cuts)], [*cuts, None], strict=True)
    ]
    return pieces if all(pieces) else [condition]


def same_condition(condition: str) -> str:
    """The condition's text, the same for texts that differ in spaces between words alone."""
    return " ".join(token.text for token in _tokens(condition))


def was_misread(condition: str, known: Iterable[str]) -> bool:
    """Whether states of the first format may have been made without knowing all columns that the condition reads."""
    return bool(re.search(r"[`\"\\*]", condition)) or any(
        name[:1].isdecimal() for name in condition_columns(condition, known)
    )


def _tokens(condition: str) -> list[_Token]:
    tokens = [_Token(str(m.lastgroup), m[0], m.start()) for m in _TOKEN.finditer(condition) if m.lastgroup != "space"]
    hint = "write names with odd characters in backticks, texts in single quotes, and a quote within a text twice."
    for before, token, after in _with_neighbours(tokens):
        if token.kind in ("comment", "other"):
            raise _refused(condition, f"it has {token.text!r} at character {token.start + 1}", hint)
        if token.text == "*" and (before is None or before.text in ("(", ",", ".")):
            raise _refused(condition, "* stands for columns that it does not name", "name the columns that it reads.")
        queried = after is not None and (after.kind != "mark" or (after.text == "(" and token.word == "values"))
        if token.word in _QUERIES and before is not None and before.text == "(" and queried:
            raise _refused(condition, f"{token.text} begins a query", "compare columns with constants.")
    return tokens


def _with_neighbours(tokens: Sequence[_Token]) -> Iterator[tuple[_Token | None, _Token, _Token | None]]:
    return zip([None, *tokens], tokens, [*tokens[1:], None], strict=False)


def _name(token: _Token) -> str | None:
    """What the token may name. Whether double quotes are around a text or a name depends on the session."""
    if token.kind == "word":
        return token.text
    if token.kind in ("name", "either"):
        mark = token.text[0]
        return token.text[1:-1].replace(mark * 2, mark)
    return None


def _folded(name: str) -> str:
    # Spark takes two letters for the same where either their large or their small forms are.
    return name.upper().casefold()


def _refused(condition: str, reason: str, hint: str) -> SitesError:
    return SitesError(f"the condition {condition} cannot be understood here: {reason}.", hint=hint)
