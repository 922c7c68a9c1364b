"""Whether the files of a state are as they were written, as text on a terminal."""

from __future__ import annotations

from holdfast.rules.plain_words import number, text_of_lines
from holdfast.states.versions import VerifiedState


def verify_text(verified: VerifiedState) -> str:
    """Returns how many files were read, and those that are damaged, each with what is wrong with it."""
    read = f"{verified.state}  {number(verified.files, 'file')}, {number(verified.bytes, 'byte')}"
    lines = [f"{read}, all as they were written"] if not verified.problems else [read, "", "damaged:"]
    lines += [f"  {file} {problem}" for file, problem in verified.problems.items()]
    if verified.without_sum:
        listed = number(verified.without_sum, "file")
        lines += ["", f"{listed} of an earlier format: only that they are there is known, until the next batch."]
    return text_of_lines(lines)
