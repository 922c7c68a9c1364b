"""The shape of an annotated table: the whole table, and on each row what it breaks."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.checking.outcome import RuleOutcome
from holdfast.errors import OptionError

# The columns that are added, each an array of structs, null on a row that breaks nothing of its kind: what rules of
# severity error say of the row, and what those of severity warn say.
ERRORS, WARNINGS = "_errors", "_warnings"
# So many partners of a row in a rule are listed unless somebody says otherwise.
DEFAULT_PARTNERS = 3
# The fields of an entry, of which the first five are called as in the results of DQX.
FIELDS = ("name", "message", "columns", "filter", "function", "partners", "conflicts", "suspect")


def column_of(outcome: RuleOutcome) -> str:
    """The column that has what the rule says of rows."""
    return ERRORS if outcome.severity == "error" else WARNINGS


def require_annotatable(table: str, columns: Iterable[str], partners: int) -> None:
    """Raises OptionError for a table that has such a column of its own, and for a senseless number of partners."""
    for name in columns:
        if name.casefold() in (ERRORS, WARNINGS):
            raise OptionError(
                f"the table {table} has a column {name!r} of its own, so that it cannot be annotated.",
                hint="rename the column, or leave it out of the table.",
            )
    if isinstance(partners, bool) or not isinstance(partners, int) or partners < 0:
        raise OptionError(f"partners is {partners!r}.", hint="say how many are listed per row and rule, from 0.")
