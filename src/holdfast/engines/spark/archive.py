"""`python -m holdfast.engines.spark.archive holdfast.zip`: the package as an archive for a cluster's Python workers.

    spark-submit --py-files holdfast.zip nightly.py

The archive brings the kernels along as this machine compiled them. Workers with the same kind of processor and the same
versions of Python and numba use them as they are; others compile them once on each machine.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from holdfast.kernels.__main__ import compile_kernels


def write_archive(path: Path) -> None:
    """Writes the package and its compiled kernels to `path`, in one step: no reader sees a part of it."""
    compile_kernels()
    package = Path(__file__).parents[2]
    fresh = path.with_name(f"{path.name}.part")
    with ZipFile(fresh, "w", ZIP_DEFLATED) as packed:
        for file in sorted(package.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                packed.write(file, Path("holdfast", file.relative_to(package)))
    os.replace(fresh, path)


def main(arguments: list[str]) -> str | None:
    """Writes the archive that the command names. Returns what is wrong, where it cannot."""
    if len(arguments) != 1:
        return "usage: python -m holdfast.engines.spark.archive holdfast.zip"
    try:
        write_archive(Path(arguments[0]))
    except OSError as problem:
        return f"cannot write the archive {arguments[0]!r}: {problem.strerror or problem}."
    return None


if __name__ == "__main__":
    wrong = main(sys.argv[1:])
    if wrong is not None:
        print(wrong, file=sys.stderr)
        sys.exit(2)
