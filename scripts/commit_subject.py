"""The subject of a commit has at most 72 characters, and an empty line follows it. Exits 1, saying what is wrong.

Git calls it with the file of the message; pre-commit does so as the hook `commit-subject`.
"""

from __future__ import annotations

import sys
from pathlib import Path

LONGEST = 72
# What Git writes itself stays as it is.
_WRITTEN_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")


def wrong_with(message: str) -> str | None:
    """Returns what is wrong with the message; None where nothing is.

    >>> wrong_with("Rows are counted once\\n\\nA second scan costs as much as the first.\\n")
    >>> wrong_with("x" * 73)
    'the subject has 73 characters, and 72 is the most'
    """
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    while lines and not lines[0].strip():
        lines = lines[1:]
    if not lines:
        return "there is no subject"
    subject = lines[0].rstrip()
    if subject.startswith(_WRITTEN_BY_GIT):
        return None
    if len(subject) > LONGEST:
        return f"the subject has {len(subject)} characters, and {LONGEST} is the most"
    if len(lines) > 1 and lines[1].strip():
        return "the second line has to be empty: the subject is one line"
    return None


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: commit_subject.py FILE", file=sys.stderr)
        return 2
    problem = wrong_with(Path(arguments[0]).read_text(encoding="utf-8"))
    if problem is not None:
        print(f"{arguments[0]}: {problem}.", file=sys.stderr)
    return 0 if problem is None else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
