"""Where results go: standard output, or files that are written whole or not at all."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from holdfast.cli.options import Printing
from holdfast.errors import OutputError
from holdfast.rules.plain_words import on_one_line

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def require_writable_files(paths: Mapping[str, Path | None], *inputs: str) -> None:
    """Each file can be written, is none of the inputs, and no two options name the same."""
    named: dict[Path, str] = {}
    for option, path in paths.items():
        if path is None:
            continue
        _require_writable_file(path, option, *inputs)
        if path.absolute() in named:
            raise OutputError(f"{named[path.absolute()]} and {option} both name {str(path)!r}.", hint="name two files.")
        named[path.absolute()] = option


def _require_writable_file(path: Path, option: str, *inputs: str) -> None:
    if any(path.exists() and os.path.exists(given) and os.path.samefile(path, given) for given in inputs):
        raise OutputError(
            f"{option} {str(path)!r} is an input of this command, and would be lost.", hint="name another file."
        )
    if path.is_dir():
        raise OutputError(f"{option} {str(path)!r} is a folder.", hint="name a file.")
    if not path.absolute().parent.is_dir():
        raise OutputError(f"{option} {str(path)!r}: the folder {str(path.parent)!r} does not exist.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise OutputError(f"{option} {str(path)!r}: no permission to write there.")


def emit(text: str, output: Path | None) -> None:
    """To standard output, or to the file, whole or not at all."""
    if output is None:
        sys.stdout.write(text)
        return
    from holdfast.states.write_whole import write_whole

    write_whole(output, text)


def emit_json(value: Any, output: Path | None, *, single_line: bool = False) -> None:
    """The value as JSON, to standard output or to the file."""
    text = json.dumps(value, ensure_ascii=False, indent=None if single_line else 2)
    # What a terminal obeys stands in texts only, where JSON has such escapes, too.
    emit(_OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n", output)


class Result(Protocol):
    """A result that a program can read."""

    def to_dict(self) -> dict[str, Any]: ...


def emit_result(result: Result, text: Callable[[], str], printing: Printing, *, single_line: bool = False) -> None:
    """The result as JSON, on one line where asked, or as text; at once, for whoever reads a stream of them."""
    if printing.format == "json":
        emit_json(result.to_dict(), printing.output, single_line=single_line)
    else:
        emit(text(), printing.output)
    sys.stdout.flush()


def note_cut(listed: int, what: str) -> None:
    """Says that lists were cut."""
    print(f"note: --limit cuts the lists to {listed:,} {what}; the counts are exact", file=sys.stderr)


def warn(problem: str) -> None:
    """Tells of something that is wrong and does not end the command."""
    print(on_one_line(f"warning: {problem}"), file=sys.stderr, flush=True)
