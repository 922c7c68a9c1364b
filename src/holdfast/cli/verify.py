"""`verify`, which states of all jobs have."""

from __future__ import annotations

import typer

from holdfast.api import EvolveState, FragmentsState, WatchState
from holdfast.cli import options
from holdfast.cli.command import BAD_INPUT, Command
from holdfast.cli.files import emit_result, require_writable_files

_STATES: dict[str, type[EvolveState] | type[FragmentsState] | type[WatchState]] = {
    "watch": WatchState,
    "evolve": EvolveState,
    "fragments": FragmentsState,
}

_EXAMPLES = {"watch": "state", "evolve": "kept-rules", "fragments": "split-state"}


def verify_examples(job: str) -> str:
    """The examples under the command's help."""
    return f"\nExamples:\nholdfast {job} verify {_EXAMPLES[job]}\n"


def verify_command(job: str) -> Command:
    """The command `holdfast JOB verify STATE`."""

    def verify(state: options.State, *, printing: options.Printing) -> None:
        """Read all files of a state, and say which are not as they were written. Nothing is changed."""
        from holdfast.report.verify_text import verify_text

        require_writable_files({"--output": printing.output})
        verified = _STATES[job].verify(state)
        emit_result(verified, lambda: verify_text(verified), printing)
        if verified.problems:
            raise typer.Exit(BAD_INPUT)

    notes = "\nExit code: 0 all files are as they were written, 2 some are not.\n"
    return "verify", verify, verify_examples(job) + notes
