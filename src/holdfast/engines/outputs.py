"""Results to folders, whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from holdfast.checking.output_folders import is_remote, require_writable_folder
from holdfast.engines.result_table import ResultTable
from holdfast.errors import OutputError


def write_folders(tables: Mapping[str, ResultTable], folder: str, *, parts: tuple[str, ...] | None = None) -> None:
    """Each table as Parquet in its own folder below `folder`, replacing earlier results once all are written.

    Where tables are deeper, `parts` names the folders that are replaced as a whole.
    """
    replaced = tuple(tables) if parts is None else parts
    require_writable_folder(folder, replaced)
    if is_remote(folder):
        for name, table in tables.items():
            table.write_parquet(f"{folder.rstrip('/')}/{name}")
        return
    try:
        place = Path(folder).absolute()
        place.parent.mkdir(parents=True, exist_ok=True)
        waiting = place.parent / f".{place.name}.{secrets.token_hex(4)}.tmp"
        try:
            for name, table in tables.items():
                table.write_parquet(str(waiting / name))
            place.mkdir(exist_ok=True)
            for name in replaced:
                shutil.rmtree(place / name, ignore_errors=True)
                os.replace(waiting / name, place / name)
        finally:
            shutil.rmtree(waiting, ignore_errors=True)
    except OSError as problem:
        raise OutputError(f"cannot write results to {folder!r}: {problem.strerror or problem}.") from problem
