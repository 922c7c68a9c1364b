"""The files that a server was given: these and no others are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.errors import OptionError, SourceNotFoundError

Kind = Literal["data", "rules"]


@dataclass(frozen=True)
class NamedFile:
    """A file under the name by which callers know it: a table, or a rule file or file of decisions (`rules`)."""

    name: str
    place: str
    kind: Kind


@dataclass(frozen=True)
class ServedFiles:
    """Files by the names that callers may use. Whatever else they name is refused, wherever it is."""

    files: tuple[NamedFile, ...]

    def data(self, name: str) -> str:
        """Returns where the table of this name is. Raises OptionError where no such table is served."""
        return self._place(name, "data")

    def rules(self, name: str) -> str:
        """Returns where the rule file of this name is. Raises OptionError where no such file is served."""
        return self._place(name, "rules")

    def has_rules(self, name: str) -> bool:
        return any(file.name == name and file.kind == "rules" for file in self.files)

    def _place(self, name: str, kind: Kind) -> str:
        names = [file.name for file in self.files if file.kind == kind]
        for file in self.files:
            if file.name == name and file.kind == kind:
                return file.place
        what = "table" if kind == "data" else "rule file"
        given = ", ".join(names) if names else "none"
        raise OptionError(f"no {what} {name!r} is served here.", hint=f"what is served: {given}.")


def served_files(paths: Sequence[str]) -> ServedFiles:
    """Returns the files under short names: their own, or the whole path where two have the same.

    Raises SourceNotFoundError where there is no file or folder, OptionError where nothing is named, or one twice.
    """
    if not paths:
        raise OptionError("there is nothing to serve.", hint="name the files that may be read.")
    for path in paths:
        if not os.path.exists(path):
            raise SourceNotFoundError(f"there is no file or folder {path!r}.")
    short = [os.path.basename(os.path.abspath(path)) for path in paths]
    files: list[NamedFile] = []
    for path, name in zip(paths, short, strict=True):
        chosen = name if short.count(name) == 1 else path
        if any(file.name == chosen for file in files):
            raise OptionError(f"{path!r} is named twice.", hint="name each file once.")
        kind: Kind = "rules" if Path(path).suffix in (".yaml", ".yml") else "data"
        files.append(NamedFile(chosen, os.path.realpath(path), kind))
    return ServedFiles(tuple(files))
