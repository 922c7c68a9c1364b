"""Why Spark failed while it applied changes or made a state, in the user's terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from holdfast.engines.spark.checking.check import translate_spark_errors
from holdfast.engines.spark.sources.explain_failure import explain_failure
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.changes import MISFIT
from holdfast.engines.states.changes import misfit, unfit_at_site
from holdfast.engines.states.refused_changes import translate_unfit_values
from holdfast.errors import (
    ChangeError,
    DamagedStateError,
    HoldfastError,
    OutputError,
    RunError,
    SourceError,
    StateError,
)
from holdfast.states.table_schema import SchemaJson, sql_types

# What a task raises of the files of a state.
_OF_TASKS = {kind.__name__: kind for kind in (OutputError, DamagedStateError, StateError, RunError)}


@contextmanager
def translate_change_errors(table: Table, schema: SchemaJson) -> Iterator[None]:
    """Turns what Spark throws while it applies the table's changes into an error in the user's terms."""
    try:
        with translate_unfit_values(), translate_spark_errors(table, doing="applying"):
            yield
    except ChangeError:
        raise
    except Exception as problem:
        text = str(problem.__cause__ or problem)
        unfit = re.search(rf"{MISFIT}:(.*?):(.*?):end", text, re.DOTALL)
        if unfit is not None:
            raise misfit(table.name, unfit[2], unfit[1], sql_types(schema).get(unfit[1], "another type")) from None
        _raise_of_task(text)
        raise


@contextmanager
def translate_load_errors(table: Table, doing: str = "loading") -> Iterator[None]:
    """Turns what Spark throws while a state is made of the table into an error in the user's terms."""
    try:
        with translate_spark_errors(table, doing=doing):
            yield
    except RunError as problem:
        _raise_of_task(str(problem.__cause__ or problem))
        raise


def _raise_of_task(text: str) -> None:
    """Raises what a task has raised of a state's files: it comes as the text of its traceback, which names the type."""
    kinds = "|".join(_OF_TASKS)
    raised = re.search(rf"{re.escape(OutputError.__module__)}\.({kinds}): (.*)(?:\n\nHint: (.*))?", text)
    if raised is not None:
        raise _OF_TASKS[raised[1]](raised[2].strip(), hint=raised[3]) from None


@contextmanager
def translate_site_errors(tables: Mapping[str, Table], origin: str) -> Iterator[None]:
    """Turns what Spark throws while a state is made of the tables of sites into an error that names the site."""
    first = next(iter(tables.values()))
    with translate_load_errors(replace(first, name=origin, origin=None), "loading the sites of"):
        try:
            yield
        except HoldfastError:
            raise
        except Exception as problem:
            unfit = re.search(rf"{MISFIT}:(.*?):(.*?):end", str(problem), re.DOTALL)
            if unfit is not None:
                raise unfit_at_site(unfit[2], unfit[1]) from problem
            for site, table in tables.items():
                explained = explain_failure(problem, table)
                if explained is not None:
                    raise SourceError(f"site {site!r}: {explained.message}", hint=explained.hint) from problem
            raise
