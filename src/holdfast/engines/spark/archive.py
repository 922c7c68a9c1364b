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


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m holdfast.engines.spark.archive holdfast.zip")
    write_archive(Path(sys.argv[1]))
