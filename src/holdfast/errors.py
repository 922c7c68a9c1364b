"""Every exception Holdfast raises. One base class; each subclass is also a fitting builtin."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


class HoldfastError(Exception):
    """A problem in the user's terms: what was given, where, what exists, and a hint what to do.

    Messages name options as the command has them, `--null-values`; to callers of the library they show as arguments,
    `null_values=`. `exit_code` is that of the command: 2 for wrong use or bad input, 3 for a failure while running.
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return with_arguments(self.for_command())

    def for_command(self) -> str:
        """The text as the command prints it."""
        return self.message if self.hint is None else f"{self.message}\n\nHint: {self.hint}"


# What follows an option: name=value of --types and --conf, and a value in quotes or at the end of a sentence.
_ASSIGNED = re.compile(r"--(types|conf) ([\w.]+)=([\w./…-]+(?:\([\d, ]*\))?)")
_VALUED = re.compile(r"--(?!types|conf)([a-z]+(?:-[a-z]+)*) (?:'([^']*)'|([\w-]+)(?=\.?$|\.\s))", re.MULTILINE)
_NAMED = re.compile(r"--([a-z]+(?:-[a-z]+)*)")
_COMMAND = re.compile(r"(holdfast [a-z]+ [^\n]*)")


def with_arguments(text: str) -> str:
    """The text with the command's options written as the library's arguments; whole commands stay.

    >>> with_arguments("--top is 0. Read it with --encoding latin1, or zip as text with --types zip=text.")
    "top= is 0. Read it with encoding= latin1, or zip as text with types={'zip': 'text'}."
    >>> with_arguments("make one with holdfast watch init STATE --data …")
    'make one with holdfast watch init STATE --data …'
    """
    pieces = _COMMAND.split(text)
    return "".join(piece if i % 2 else _argument_names(piece) for i, piece in enumerate(pieces))


def _argument_names(text: str) -> str:
    def argument(option: re.Match[str]) -> str:
        return option[1].replace("-", "_") + "="

    text = _ASSIGNED.sub(lambda m: f"{m[1]}={{'{m[2]}': '{m[3].rstrip('.')}'}}" + "." * m[3].endswith("."), text)
    text = _VALUED.sub(lambda m: f"{argument(m)}{m[2] or m[3]!r}", text)
    return _NAMED.sub(argument, text)


class RuleSyntaxError(HoldfastError, ValueError):
    """A rule's text cannot be read; the message points at the character."""


class TrivialRuleError(HoldfastError, ValueError):
    """A rule that no table could violate."""


class RuleFileError(HoldfastError, ValueError):
    """A rule file is invalid; the message names file, line and rule. `line` is that line, where it is known."""

    def __init__(self, message: str, *, hint: str | None = None, line: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line


class DecisionsError(HoldfastError, ValueError):
    """A file of decisions on rules is invalid; the message names file, line and decision."""


class SitesError(HoldfastError, ValueError):
    """A sites file is invalid, or sites, rules and data do not fit together."""


class UnknownColumnError(HoldfastError, LookupError):
    """A rule, a key or an option names a column that the table does not have."""


class TypeMismatchError(HoldfastError, TypeError):
    """A rule compares values of types that cannot be compared, such as text with a number."""


class ConditionError(HoldfastError, ValueError):
    """A `where` condition is not a boolean expression on this table."""


class OptionError(HoldfastError, ValueError):
    """An option has a value that it must not have."""


class SourceNotFoundError(HoldfastError, FileNotFoundError):
    """There is no data at the given place."""


class SourceError(HoldfastError, ValueError):
    """Data exists but cannot be read in its format.

    `unfit` is the message of a value that is not of its column's type, without where that type is from.
    """

    def __init__(self, message: str, *, hint: str | None = None, unfit: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.unfit = unfit


class OutputError(HoldfastError, OSError):
    """A result cannot be written to the given place."""


class StateError(HoldfastError, ValueError):
    """There is no state at the given place, or it cannot be read or written."""


class DamagedStateError(StateError):
    """A file of the state, `file`, is not as it was written: `problem` says what is wrong with it."""

    def __init__(self, message: str, *, hint: str | None = None, file: str = "", problem: str = "") -> None:
        super().__init__(message, hint=hint)
        self.file, self.problem = file, problem


class OnlySparkError(StateError):
    """The state has something that only Spark can read or compute."""


class BusyStateError(StateError):
    """Another process is writing to the state; nothing was changed by this one."""

    exit_code = 3


class ChangeError(HoldfastError, ValueError):
    """A change cannot be applied: it inserts a key that exists, deletes one that does not, or has wrong columns."""


class UnsettledFileError(ChangeError):
    """A file of changes changed while it was read; nothing of it was applied."""


class SessionError(HoldfastError, RuntimeError):
    """Spark or Java cannot be started, or lacks something the job needs."""


class MissingPackageError(HoldfastError, ImportError):
    """A package that the job needs is not installed; the message has the command that installs it."""


class RunError(HoldfastError, RuntimeError):
    """A job failed while it was running; the input is not the cause."""

    exit_code = 3


class DoorError(RunError):
    """A site would have told another something else than keys, ids and counts; nothing of it crossed."""


def unknown_column(named: str, name: str, table: str, columns: Iterable[str]) -> UnknownColumnError:
    """Returns the error for a column that the table does not have; `named` says who names it."""
    return UnknownColumnError(f"{named}, but the table {table} has no such column.", hint=closest_hint(name, columns))


def closest_hint(wrong: str, known: Iterable[str], *, what: str = "Columns", most: int = 20) -> str:
    """Returns a hint with the most similar known name, if any is similar, and a list of the known names.

    >>> closest_hint("zipcode", ["zip_code", "state"])
    "did you mean 'zip_code'? Columns: zip_code, state."
    """
    names = list(known)
    by_fold = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(wrong.casefold(), by_fold, n=1, cutoff=0.6)
    listed = ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    tail = f"{what}: {listed}." if names else f"There are no {what.lower()}."
    return f"did you mean '{by_fold[near[0]]}'? {tail}" if near else tail
