"""Progress: a bar with counts on a terminal, a line elsewhere, silence when quiet; nothing of it on standard output."""

from __future__ import annotations

import io
import threading

import pytest
from rich.console import Console

from holdfast.report.progress import Progress
from waiting import wait_until


def told(*, terminal: bool, quiet: bool = False, until: str = "") -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100, color_system=None)
    with Progress(quiet=quiet, counts=lambda: (3, 12), console=console).step("checking [orders]"):
        wait_until(lambda: until in text.getvalue(), until)
    return text.getvalue()


def test_a_long_step_shows_how_far_the_engine_is() -> None:
    shown = told(terminal=True, until="tasks")
    assert "checking [orders]" in shown
    assert "3 of 12 tasks" in shown


def test_elsewhere_a_step_is_a_line() -> None:
    assert told(terminal=False) == "holdfast: checking [orders] …\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet_is_quiet(terminal: bool) -> None:
    assert told(terminal=terminal, quiet=True) == ""


def test_a_failing_step_fails_as_it_would_and_an_engine_that_cannot_tell_harms_nothing() -> None:
    asked = threading.Event()

    def broken() -> tuple[int, int]:
        asked.set()
        raise OSError("gone")

    def fail() -> None:
        with Progress(counts=broken, console=Console(file=io.StringIO(), force_terminal=True)).step("checking"):
            assert asked.wait(60)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fail()


def test_what_is_printed_beside_a_bar_stays_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    text = io.StringIO()
    with Progress(console=Console(file=text, force_terminal=True)).step("following"):
        print("a result")
    assert capsys.readouterr().out == "a result\n"
    assert "a result" not in text.getvalue()


def test_the_next_command_can_be_typed_as_it_stands() -> None:
    text = io.StringIO()
    Progress(console=Console(file=text)).next("holdfast", "check", "my table.csv", "zip -> city", None, "--key", "id")
    assert text.getvalue() == "next: holdfast check 'my table.csv' 'zip -> city' --key id\n"
