"""What Holdfast needs of a machine on any engine, and whether it is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from holdfast.engines.findings import MachineFinding
from holdfast.kernels import gpu_evidence

OLDEST_PYTHON = (3, 11)
NEEDED = ("pyarrow", "numpy", "numba", "pyroaring", "lark", "jinja2")
_EXTRAS = {
    "deltalake": ("Delta tables", "delta"),
    "pyiceberg": ("Iceberg tables", "iceberg"),
    "grpcio": ("Spark Connect", "connect"),
    "obstore": ("states on object stores", "objectstore"),
}


def examine_without_spark() -> list[MachineFinding]:
    """Returns a finding for each thing that jobs in this process need, where PySpark is not installed."""
    spark = MachineFinding("Spark", "note", "no pyspark", "run pip install 'holdfast[spark]' to use it.")
    return [python_finding(), *package_findings(NEEDED), kernels_finding(), *extra_findings(), card_finding(), spark]


def python_finding() -> MachineFinding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return MachineFinding("Python", "problem", f"{version}", "install Python 3.11 or newer.")
    return MachineFinding("Python", "ok", f"{version} at {sys.executable}")


def package_findings(needed: Sequence[str]) -> Iterator[MachineFinding]:
    missing = [name for name in needed if _version(name) is None]
    there = ", ".join(f"{name} {_version(name)}" for name in needed if name not in missing)
    if there:
        yield MachineFinding("packages", "ok", there)
    for name in missing:
        yield MachineFinding("packages", "problem", f"{name} is not installed", "run pip install holdfast again.")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def kernels_finding() -> MachineFinding:
    folder = Path(gpu_evidence.__file__).parent / "__pycache__"
    if any(folder.glob("*.nbi")):
        return MachineFinding("kernels", "ok", "compiled, and kept for later")
    return MachineFinding(
        "kernels",
        "note",
        "not compiled yet: the first commands take a minute longer",
        "run python -m holdfast.kernels once.",
    )


def extra_findings() -> Iterator[MachineFinding]:
    for name, (what, extra) in _EXTRAS.items():
        version = _version(name)
        if version is None:
            yield MachineFinding(what, "note", f"no {name}", f"run pip install 'holdfast[{extra}]' to use them.")
        else:
            yield MachineFinding(what, "ok", f"{name} {version}")


def card_finding() -> MachineFinding:
    missing = gpu_evidence.missing()
    if missing is not None:
        return MachineFinding("GPU", "note", missing)
    return MachineFinding("GPU", "ok", "there is one, and CuPy")
