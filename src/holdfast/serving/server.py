"""The server of the Model Context Protocol on standard input and output."""

from __future__ import annotations

from holdfast.errors import MissingPackageError
from holdfast.serving.answers import Answers

_PACKAGES = ("mcp", "mcp_types", "pydantic")


def serve(answers: Answers) -> None:
    """Serves the tools until the input ends. Raises MissingPackageError where the package `mcp` is not installed."""
    try:
        from holdfast.serving.tools import server_of
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise MissingPackageError(
            'this needs the package mcp 2, which is not installed. Type: pip install "holdfast[mcp]"'
        ) from None
    server_of(answers).run("stdio")
