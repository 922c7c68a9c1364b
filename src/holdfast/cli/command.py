"""What every command is: a function whose groups of options are spread out, ended by an exit code and with words."""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from types import FrameType
from typing import Any, NoReturn, get_type_hints

import typer

from holdfast.errors import HoldfastError

VIOLATED, BAD_INPUT, FAILED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143

# Objects that are made between two looks for garbage; Python's own 700 are walked over hundreds of times by imports.
_OBJECTS_BETWEEN_LOOKS = 20_000

Function = Callable[..., None]


# A command's name, its function, and the text under its help.
Command = tuple[str, Function, str]


def add_commands(app: typer.Typer, *commands: Command) -> None:
    """Makes functions commands of the app.

    A parameter whose type is a dataclass stands for the options that are its fields.
    """
    for name, function, epilog in commands:
        app.command(name, epilog=_paragraphs(epilog))(_spread(function))


def add_group(app: typer.Typer, name: str, *commands: Command, help: str, examples: Sequence[str], notes: str) -> None:
    """Makes functions commands of a group, whose help has all `examples` under one heading, and the `notes`."""
    lines = [line for text in examples for line in text.strip().splitlines()]
    epilog = _paragraphs("\n".join(dict.fromkeys(lines)) + "\n" + notes)
    group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help=help, epilog=epilog)
    app.add_typer(group, name=name)
    add_commands(group, *commands)


def _paragraphs(text: str) -> str:
    """The text as help shows it line by line: there only an empty line ends one."""
    return text.strip("\n").replace("\n", "\n\n")


def _spread(function: Function) -> Function:
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[parameter.name] = kind
        own = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(
                option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=own[option.name]
            )
            for option in fields(kind)
        ]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        with exit_with_code(verbose=bool(given.get("verbose", False))):
            gathered = {
                name: kind(**{option.name: given.pop(option.name) for option in fields(kind)})
                for name, kind in groups.items()
            }
            function(**given, **gathered)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in parameters}
    return run


class Terminated(BaseException):
    """Somebody asked the process to end."""


def end_on_sigterm() -> None:
    """Raises Terminated on SIGTERM from now on, so that what is half-written is put away, as after Ctrl-C."""

    def end(signum: int, frame: FrameType | None) -> NoReturn:
        raise Terminated

    signal.signal(signal.SIGTERM, end)


@contextlib.contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Within the block, objects that refer to each other in a circle are looked for rarely, and after it never again.

    For a process that ends then: Python walks over all objects of all modules once more while it ends, which takes
    longer than a small job. Whatever has to be put away at the end still is.
    """
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.freeze()


def leave_at_once(code: object) -> None:
    """Ends the process where somebody has ended the command: threads that still compute would keep it for minutes.

    Where Spark is, its own end comes first.
    """
    if code in (INTERRUPTED, TERMINATED) and isinstance(code, int) and "pyspark" not in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@contextlib.contextmanager
def exit_with_code(verbose: bool) -> Iterator[None]:
    """Ends the command as the contract says: with an exit code, and with words instead of a traceback."""
    logged = logging.root.manager.disable
    if not verbose:
        # The bridge to Java logs with a traceback that it was interrupted, which is told in words below.
        logging.disable(logging.CRITICAL)
    try:
        with _plain_warnings():
            yield
    except (typer.Exit, typer.Abort):
        raise
    except (Exception, KeyboardInterrupt, Terminated) as problem:
        ended = _ended_by(problem)
        if isinstance(ended, KeyboardInterrupt):
            _fail("interrupted; nothing was left half-written.", INTERRUPTED, None)
        if ended is not None:
            _fail("terminated; nothing was left half-written.", TERMINATED, None)
        cause = problem if verbose else None
        if isinstance(problem, HoldfastError):
            _fail(f"{type(problem).__name__}: {problem.for_command()}", problem.exit_code, cause)
        first = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        hint = "" if verbose else "\n\nHint: run again with --verbose for the whole story."
        _fail(f"holdfast failed: {type(problem).__name__}: {first}{hint}", FAILED, cause)
    finally:
        logging.disable(logged)


def _ended_by(problem: BaseException | None) -> KeyboardInterrupt | Terminated | None:
    """Who ended the command, also where putting something away failed because of it, as where Spark's jobs are gone."""
    while problem is not None and not isinstance(problem, KeyboardInterrupt | Terminated):
        problem = problem.__context__
    return problem


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """What jobs warn of in here is told in one line, without the place in our source."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if category is UserWarning:
            print(f"note: {message}", file=sys.stderr)
        else:
            shown(message, category, *where, **more)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _fail(message: str, code: int, cause: BaseException | None) -> NoReturn:
    if cause is not None:
        traceback.print_exception(cause, file=sys.stderr)
    from holdfast.rules.plain_words import visible

    print(visible(message), file=sys.stderr)
    raise typer.Exit(code)
