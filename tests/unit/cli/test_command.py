"""A command ends with the code of what ended it."""

from __future__ import annotations

import pytest
import typer

from holdfast.cli.command import Terminated, exit_with_code
from holdfast.errors import OptionError, RunError


def code_after(problem: BaseException, *later: Exception) -> int:
    """The code of a command that `problem` ends; what is put away then fails, too."""

    def end(problems: list[BaseException]) -> None:
        try:
            raise problems[-1]
        finally:
            if problems[:-1]:
                end(problems[:-1])

    with pytest.raises(typer.Exit) as left, exit_with_code(verbose=False):
        end([*reversed(later), problem])
    return left.value.exit_code


@pytest.mark.parametrize(
    ("problem", "code"),
    [(KeyboardInterrupt(), 130), (Terminated(), 143), (RunError("x"), 3), (OptionError("x"), 2), (ValueError("x"), 3)],
)
def test_each_end_has_its_code(problem: BaseException, code: int) -> None:
    assert code_after(problem) == code


@pytest.mark.parametrize("later", [RunError("its jobs were cancelled"), OptionError("x"), ValueError("x")])
@pytest.mark.parametrize(("problem", "code"), [(KeyboardInterrupt(), 130), (Terminated(), 143)])
def test_who_ends_a_command_is_told_so_also_where_putting_away_fails(
    problem: BaseException, code: int, later: Exception
) -> None:
    assert code_after(problem, later) == code
    assert code_after(problem, later, RuntimeError("again")) == code


def test_an_error_after_another_has_its_own_code() -> None:
    assert code_after(ValueError("x"), OptionError("y")) == 2
