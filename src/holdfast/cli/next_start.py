"""The small job that makes the next start of Spark quicker."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.cli.command import VIOLATED
from holdfast.engines.next_start import prepare_next_start

_DEMO = Path(__file__).parents[1] / "demo"
# A table of a few rows, checked as a user would: it loads the classes that most commands on Spark need.
_SMALL_JOB = ("check", _DEMO / "orders.csv", _DEMO / "rules.yaml", "--key", "order_id", "--engine", "spark", "--quiet")


def prepare_for_next_command(code: object) -> None:
    """Prepares a quicker start of Spark in the background, where this command has started it and has ended well.

    `code` is the exit code. Says so on standard error, unless the command is quiet.
    """
    if code not in (None, 0, VIOLATED):
        return
    started = prepare_next_start([sys.executable, "-m", "holdfast", *map(str, _SMALL_JOB)])
    if started and not {"--quiet", "-q"} & set(sys.argv):
        print(
            "holdfast: preparing a quicker start of Spark, once, in the background (HOLDFAST_CDS=0 leaves that out)",
            file=sys.stderr,
        )
