"""Why a batch of changes is refused, in the user's terms: its file, and the key, column or value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from holdfast.errors import ChangeError, SourceError
from holdfast.rules.plain_words import value_text
from holdfast.states.messages import Message, Refusal, RefusedChange, of_type

_REASONS = {
    Refusal.NULL_KEY: ("a row without a key", "the key {names} names rows, so that it may not be null."),
    Refusal.EXISTS: ("the key {key} is inserted, but is there already", "an insert brings a new key; send an update."),
    Refusal.NOT_THERE_TO_DELETE: (
        "the key {key} is deleted, but is not there",
        "only rows that are there can be deleted.",
    ),
    Refusal.NOT_THERE_TO_UPDATE: ("the key {key} is updated, but is not there", "send an insert for a new row."),
    Refusal.PREIMAGE_ALONE: (
        "the key {key} has an update_preimage without its update_postimage",
        "send both, or the postimage alone; to change a key itself, send a delete and an insert.",
    ),
    Refusal.UNKNOWN_TYPE: (
        "the change of the key {key} has an unknown _change_type",
        "it is one of insert, delete, update_preimage and update_postimage.",
    ),
    Refusal.AT_NO_SITE: (
        "the row with the key {key} belongs to no site: it satisfies the condition of none",
        "send rows that satisfy the `where` of a site.",
    ),
    Refusal.AT_SEVERAL_SITES: (
        "the row with the key {key} belongs to several sites: it satisfies the conditions of more than one",
        "conditions on rows must not overlap; make a new state with others.",
    ),
    Refusal.MISSING_COLUMNS: (
        "the key {key} is inserted or updated, but the changes lack columns of the table",
        "only a file of nothing but deletes may leave out columns other than the key.",
    ),
}


def require_fitting(messages: Sequence[Message], table: str, key: Sequence[str]) -> None:
    """Raises ChangeError where a task has refused a change."""
    refused = of_type(messages, RefusedChange)
    if not refused:
        return
    # Which of several tasks reports first is chance; which change is named should not be.
    first = min(refused, key=lambda change: (change.reason, str(change.key)))
    what, hint = _REASONS[first.reason]
    shown = shown_key(first.key)
    raise ChangeError(
        f"{table}: {what.format(key=shown)}. Nothing of it was applied.",
        hint=hint.format(key=shown, names=", ".join(key)),
    )


def shown_key(key: Any) -> str:
    """Returns a key of a message as an error shows it."""
    return repr(key) if isinstance(key, str) else value_text(key)


@contextmanager
def translate_unfit_values() -> Iterator[None]:
    """Turns what a reader says of a value that does not fit its type into an error of changes."""
    try:
        yield
    except SourceError as problem:
        if problem.unfit is None:
            raise
        # Files of changes are read with the state's types, which nobody can choose any more.
        raise ChangeError(
            f"{problem.unfit}. Nothing of it was applied.",
            hint="changes are read with the types of the table that the state was made of.",
        ) from problem
