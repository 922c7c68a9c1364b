"""Pages of Markdown as things to do: files that are written, commands and programs that run, output that must be so.

Every fenced block of a page is one of these, in the order of the page and in one folder:

    bash, python                      runs. Lines of bash that start with `holdfast ` run in this process, all others
                                      in a shell. Python blocks of a page share their names.
    text, json, ... after such a one  its output: the lines shown are the lines printed, but for seconds, and but for
                                      what a line `…` stands for.

A comment in the line before a block says otherwise:

    <!-- file: NAME -->       the block is that file, and is written
    <!-- shows: NAME -->      the block is what that file has by now
    <!-- fails: 2 -->         the block's last command ends with this code, and its output is what it says on stderr
    <!-- not run: REASON -->  the block cannot run here
    <!-- shown: REASON -->    the block is neither output nor a file

In Python, what stands behind `print(…)  # ` is what that line prints. `<!-- demo files -->` anywhere in a page puts the
demo's files into its folder.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from holdfast.cli import app
from holdfast.demo.run import copy_demo

RUN = ("bash", "python")
SHOWN = ("text", "json", "yaml", "csv", "sql", "xml")
MARKS = ("file", "shows", "fails", "not run", "shown")
DEMO = "<!-- demo files -->"
_FENCE = re.compile(r"^(\s*)```(\S*)\s*$")
_MARK = re.compile(r"^<!-- (?P<kind>[a-z ]+): (?P<said>.+) -->$")
_SECONDS = re.compile(r"\b\d+(?:\.\d+)? s\b|(?<=\"seconds\": )[\d.]+|(?<= time=\")[\d.]+")
_PRINTED = re.compile(r"^\s*print\(.*\)\s+# (?P<said>.+)$")
_FAILURE = re.compile(r"^(\w+Error: |Usage: |holdfast failed: )")
_IN_A_SHELL = re.compile(r"[|><;]|&&|\$\(")


class PageError(AssertionError):
    """A page says something that is not so; names the page and the line."""


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, its lines, and what the comment before it says."""

    page: Path
    line: int
    language: str
    text: str
    mark: str | None = None
    said: str = ""

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order; PageError for one that nobody could say what to do with."""
    lines = page.read_text("utf-8").splitlines()
    found, start = [], None
    for at, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if start is not None:
            found.append(_block(page, lines, start, at))
            start = None
        elif fence[1]:
            raise PageError(
                f"{page.name}:{at + 1}: a block stands indented, where its lines cannot be taken as they are."
            )
        else:
            start = at
    if start is not None:
        raise PageError(f"{page.name}:{start + 1}: this block has no end.")
    return found


def _block(page: Path, lines: list[str], start: int, end: int) -> Block:
    text = "".join(f"{line}\n" for line in lines[start + 1 : end])
    block = Block(page, start + 1, lines[start].strip("` "), text)
    mark = _MARK.match(lines[start - 1].strip()) if start else None
    if mark is not None:
        block = Block(page, start + 1, block.language, text, mark["kind"], mark["said"])
    if block.language not in (*RUN, *SHOWN):
        raise PageError(f"{block.place}: a block is one of {', '.join((*RUN, *SHOWN))}, not {block.language!r}.")
    if block.mark is not None and block.mark not in MARKS:
        raise PageError(f"{block.place}: there is no mark {block.mark!r}. Marks: {', '.join(MARKS)}.")
    if block.mark in ("fails", "not run") and block.language not in RUN:
        raise PageError(f"{block.place}: {block.mark!r} is for blocks that run.")
    return block


def run_page(page: Path, folder: Path, names: dict[str, Any] | None = None) -> int:
    """How many blocks of the page ran in `folder`, which is where the process must be; PageError where one is wrong."""
    if DEMO in page.read_text("utf-8"):
        copy_demo(folder)
    run = _Run(folder, {} if names is None else names)
    blocks = blocks_of(page)
    for block in blocks:
        run.take(block)
    return sum(block.language in RUN and block.mark != "not run" for block in blocks)


@dataclass
class _Run:
    """What a page has done so far, and what its last block printed."""

    folder: Path
    names: dict[str, Any]
    printed: str | None = None
    after: str = "nothing"

    def take(self, block: Block) -> None:
        if block.mark == "file":
            target = self.folder / block.said
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.mark == "shows":
            self._hold(block, (self.folder / block.said).read_text("utf-8"), block.said)
        elif block.mark == "shown":
            pass
        elif block.language not in RUN:
            if self.printed is None:
                raise PageError(
                    f"{block.place}: this is the output of nothing that ran. Mark it: file, shows or shown."
                )
            self._hold(block, self.printed, self.after)
            self.printed = None
        elif block.mark == "not run":
            self.printed = None
        else:
            self.printed, self.after = self._ran(block), block.place

    def _hold(self, block: Block, actual: str, origin: str) -> None:
        wrong = difference(block.text, actual.replace(str(self.folder), "."))
        if wrong is not None:
            raise PageError(f"{block.place}: not what {origin} says. {wrong}\n\nIt says:\n{actual}")

    def _ran(self, block: Block) -> str:
        if block.language == "python":
            return self._program(block)
        wanted = int(block.said) if block.mark == "fails" else None
        commands = list(_commands(block.text))
        told = []
        for at, command in enumerate(commands):
            last = at == len(commands) - 1
            code, out, err = _command(command, self.folder)
            expected = (wanted,) if wanted is not None and last else (0, 1)
            if code not in expected:
                raise PageError(f"{block.place}: {command!r} ended with {code}.\n\n{out}{err}")
            told.append(_failure(err) if wanted is not None and last else out)
        return "".join(told)

    def _program(self, block: Block) -> str:
        said = io.StringIO()
        program = compile("\n" * block.line + block.text, str(block.page), "exec")
        with contextlib.redirect_stdout(said):
            exec(program, self.names)
        wanted = [found["said"] for line in block.text.splitlines() if (found := _PRINTED.match(line))]
        lines = iter(said.getvalue().splitlines())
        for one in wanted:
            if one not in lines:  # which also moves on: each is looked for behind the one before
                raise PageError(f"{block.place}: nothing prints {one!r} there.\n\nIt says:\n{said.getvalue()}")
        return said.getvalue()


def _commands(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def _command(command: str, folder: Path) -> tuple[int, str, str]:
    words = shlex.split(command, comments=True)
    if words[0] == "holdfast" and not _IN_A_SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"|\s#.*", "", command)):
        done = CliRunner().invoke(app, words[1:])
        return done.exit_code, done.stdout, done.stderr
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


def _failure(stderr: str) -> str:
    """What a person is told, without the progress before it."""
    lines = stderr.splitlines(keepends=True)
    first = next((at for at, line in enumerate(lines) if _FAILURE.match(line)), 0)
    return "".join(lines[first:])


def difference(shown: str, actual: str) -> str | None:
    """Where `shown` is not what `actual` says; None where it is.

    Seconds may differ. A line `…` stands for any lines; without one all are shown, from the first to the last.
    """
    told = _lines(actual)
    runs: list[list[str]] = [[]]
    for line in _lines(shown):
        if line == "…":
            runs.append([])
        else:
            runs[-1].append(line)
    if len(runs) == 1:
        return None if runs[0] == told else _first_wrong(runs[0], told)
    at = 0
    for number, run in enumerate(map(_trimmed, runs)):
        places = range(at, len(told) - len(run) + 1)
        if number == 0:
            places = range(1)
        elif number == len(runs) - 1:
            places = range(len(told) - len(run), len(told) - len(run) + 1)
        found = next((place for place in places if place >= at and told[place : place + len(run)] == run), None)
        if found is None:
            return _first_wrong(run, told)
        at = found + len(run)
    return None


def _first_wrong(run: list[str], told: list[str]) -> str:
    missing = next((line for line in run if line not in told), None)
    if missing is not None:
        return f"No such line: {missing!r}."
    return f"Nowhere there, or not at that place, one after the other: {run!r}."


def _lines(text: str) -> list[str]:
    return _trimmed([_SECONDS.sub("0 s", line.rstrip()) for line in text.splitlines()])


def _trimmed(lines: list[str]) -> list[str]:
    kept = [at for at, line in enumerate(lines) if line]
    return lines[kept[0] : kept[-1] + 1] if kept else []
