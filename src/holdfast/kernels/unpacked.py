"""The kernels of an archive in a folder, where numba keeps what it compiles."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

_INSIDE = "holdfast/kernels/"


def _folders(archive: Path) -> Iterator[Path]:
    """Yields where kernels may be unpacked: folders that only this user writes to, because code is run from them."""
    if os.environ.get("XDG_CACHE_HOME") or os.environ.get("HOME"):
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path(os.environ["HOME"], ".cache"), "holdfast")
    yield archive.parent


def unpacked_kernels(archive: str | os.PathLike[str]) -> Path | None:
    """Returns the folder with the kernels of `archive`; None where no folder can be written to."""
    with ZipFile(archive) as packed:
        inside = sorted((name, packed.read(name)) for name in packed.namelist() if name.startswith(_INSIDE))
    identity = hashlib.sha256(repr([(name, hashlib.sha256(content).digest()) for name, content in inside]).encode())
    for folder in _folders(Path(archive)):
        kernels = folder / f"kernels-{identity.hexdigest()[:32]}"
        if kernels.is_dir():
            return kernels
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as fresh:
                for name, content in inside:
                    file = Path(fresh, "kernels", name.removeprefix(_INSIDE))
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
                with contextlib.suppress(OSError):  # another process was quicker
                    Path(fresh, "kernels").rename(kernels)
            if kernels.is_dir():
                return kernels
    return None
