"""What a task of a state raises on Spark comes back as what it was, in the words it had."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, cast

import pytest

from holdfast.engines.spark.states import failed_changes
from holdfast.errors import DamagedStateError, HoldfastError, OutputError, RunError

# Spark tells the traceback of a task as a text.
TOLD = "PythonException: Traceback (most recent call last):\n  File x\nholdfast.errors.{}: {}\n\n\tat org.apache"


@pytest.mark.parametrize(
    "raised",
    [
        OutputError("cannot write to the state s.", hint="make room on the disk."),
        RunError("the state s3://x/y cannot be reached: no answer.", hint="run this again."),
        DamagedStateError("the state s is damaged: a is missing."),
    ],
)
@pytest.mark.parametrize("loading", [True, False])
def test_what_a_task_raises_keeps_its_kind_and_its_words(
    raised: HoldfastError, loading: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed_changes, "translate_spark_errors", lambda *_, **__: nullcontext())
    table = cast("Any", None)

    def fail() -> None:
        text = TOLD.format(type(raised).__name__, raised)
        if loading:
            with failed_changes.translate_load_errors(table):
                raise RunError("Spark failed.") from Exception(text)
        with failed_changes.translate_change_errors(table, {"type": "struct", "fields": []}):
            raise Exception(text)

    with pytest.raises(type(raised)) as told:
        fail()
    assert (told.value.message, told.value.hint) == (raised.message, raised.hint)
