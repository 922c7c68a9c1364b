"""The command `holdfast`: arguments to jobs, results to standard output, errors to exit codes."""

from holdfast.cli.app import app, main

__all__ = ["app", "main"]
