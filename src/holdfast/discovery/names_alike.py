"""How much the name of a column looks like that of a column it may refer to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

# Names of columns that say nothing about what they name.
_GENERIC = frozenset({"id", "key", "code", "no", "nr", "num", "number", "name", "pk", "uid", "uuid", "row"})
# Words at the end of a name that say that it refers to something.
_REFERS = ("id", "key", "code", "ref", "fk", "nr", "no", "num", "to", "by", "parent")
# Words of names that say that a number is counted or measured.
_MEASURES = frozenset(
    {
        *("quantity", "qty", "amount", "price", "cost", "total", "size", "count", "balance", "discount", "tax", "rate"),
        *("age", "year", "month", "day", "hour", "minute", "second", "duration", "score", "rank", "level", "percent"),
        *("weight", "height", "length", "distance", "line", "seat", "engine"),
    }
)
_LEAST_RATIO = 0.7


def name_words(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case and without plural.

    >>> name_words("customerIds"), name_words("ship_to-Addresses")
    (('customer', 'id'), ('ship', 'to', 'address'))
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(_singular(word) for word in re.split(r"[\W_]+", spaced.casefold()) if word)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "xes", "shes", "ches")):
        return word[:-2]
    return word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith(("ss", "us")) else word


def words_in_table(names: Sequence[str]) -> list[tuple[str, ...]]:
    """The words of the names of a table's columns, without a first word of up to four letters that all of them have.

    >>> words_in_table(["o_orderkey", "o_custkey"])
    [('orderkey',), ('custkey',)]
    """
    words = [name_words(name) for name in names]
    first = {own[0] if len(own) > 1 else None for own in words}
    if len(words) > 1 and len(first) == 1 and len(next(iter(first)) or "aaaaa") <= 4:
        return [own[1:] for own in words]
    return words


def name_likeness(left: Sequence[str], right: Sequence[str], table: str) -> float:
    """From 0 to 1, how much a column with the words `left` is named for a column with the words `right` of the table.

    >>> name_likeness(("customer", "id"), ("id",), "customers"), name_likeness(("quantity",), ("id",), "customers")
    (1.0, 0.0)
    """
    own, column, whole = "".join(left), "".join(right), "".join(name_words(table))
    generic = len(right) == 1 and right[0] in _GENERIC
    if own == whole + column or (own == column and not generic):
        return 1.0
    if own.endswith(whole + column) or own == whole:
        return 0.95
    if generic and left[-1:] == tuple(right) and whole in own:
        return 0.9
    if own.endswith(whole) or (not generic and len(column) > 3 and own.endswith(column)):
        return 0.8
    others = [whole + column, whole, *([] if generic else [column])]
    ratio = max(SequenceMatcher(None, own, other).ratio() for other in others)
    return 0.8 * ratio if ratio >= _LEAST_RATIO else 0.0


def says_it_refers(words: Sequence[str]) -> bool:
    """Whether the name is that of something that refers, such as `parent_id`."""
    return any(word in _REFERS or (len(word) > 4 and word.endswith(("id", "key"))) for word in words[-1:])


def says_it_measures(words: Sequence[str]) -> bool:
    """Whether the name is that of something counted or measured, such as `quantity`."""
    return not _MEASURES.isdisjoint(words) and not says_it_refers(words)
