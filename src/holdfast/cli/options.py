"""Options that several commands have, one by one and in groups."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from holdfast.api import engine_for, running_tasks
from holdfast.engines.choose import EngineChoice
from holdfast.errors import OptionError
from holdfast.report.progress import Progress
from holdfast.rules.rule import Nulls
from holdfast.search.options import DEFAULT_OVERLAP, DEFAULT_TIME_LIMIT, Device

Format = Literal["text", "json"]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, Parquet, JSON or ORC file or folder, a Delta table, iceberg:catalog.db.table, spark:db.table, or "
        "a JDBC URL.",
        show_default=False,
    ),
]
Rules = Annotated[
    str, typer.Argument(metavar="RULES", help="A rule file (YAML), or one rule in quotes.", show_default=False)
]
State = Annotated[
    str, typer.Argument(metavar="STATE", help="The folder of the state, or s3://BUCKET/FOLDER.", show_default=False)
]
Changes = Annotated[
    str, typer.Argument(metavar="CHANGES", help="A file or folder of changes, as DATA.", show_default=False)
]
Batch = Annotated[
    str | None, typer.Option(metavar="NAME", help="What tells this batch from others. Default: its content.")
]
FOLLOWED = (
    "The folder to follow, or a table that keeps its changes: the folder of a Delta table, iceberg:catalog.db.table, "
    "or spark:catalog.db.table."
)
Source = Annotated[
    str,
    typer.Option(metavar="DIR", help=FOLLOWED, show_default=False),
]
Once = Annotated[bool, typer.Option("--once", help="Apply what is there now, and stop.")]
FromVersion = Annotated[
    int | None,
    typer.Option(metavar="N", help="Of a table that the state was not made of: the first version to apply.", min=0),
]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write a report there, as one HTML page.")
]
KeyOrFileKey = Annotated[
    str | None, typer.Option(metavar="COLUMN[,COLUMN]", help="What names a row. Default: the rule file's key.")
]
NullsOrFileNulls = Annotated[
    Nulls | None, typer.Option(help="How nulls compare. Default: what the rule file says, or sql.")
]
PairLimit = Annotated[str, typer.Option(metavar="N|none", help="List at most N pairs per rule; counts stay exact.")]
ListLimit = Annotated[
    str, typer.Option(metavar="N|none", help="List at most N violations per rule and batch; counts stay exact.")
]
Redact = Annotated[str | None, typer.Option(metavar="COLUMN[,COLUMN]", help="Show no values of these columns.")]
Var = Annotated[
    list[str] | None, typer.Option("--var", metavar="NAME=VALUE", help="The value of ${NAME} in the rules; repeated.")
]
Top = Annotated[str, typer.Option(metavar="N|all", help="Show the best N rules.")]
DecisionsFile = Annotated[
    Path | None,
    typer.Option(
        "--decisions", metavar="FILE", help="Decisions of a review: what was rejected is left out, what was kept told."
    ),
]
OutputFormat = Annotated[Format, typer.Option(help="What to print.")]
Output = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result there instead of printing it.")]


# For the help of commands that take changes.
CHANGES_NOTE = """
A file of changes has the table's columns and a column _change_type: insert, delete, update_preimage or \
update_postimage; without it all rows are inserts. The same file is applied once, however often it is given.
"""


@dataclass(frozen=True)
class ReadingChanges:
    """How files of changes are read; their columns and types are the state's."""

    null_values: Annotated[str | None, typer.Option(metavar="NA,?", help="Texts that mean null in CSV.")] = None
    delimiter: Annotated[str | None, typer.Option(help="What separates CSV fields. Default: seen in the header.")] = (
        None
    )
    encoding: Annotated[str | None, typer.Option(help="The CSV's encoding. Default: UTF-8, checked.")] = None
    multiline: Annotated[
        bool | None, typer.Option("--multiline/--no-multiline", help="CSV values may contain line breaks.")
    ] = None
    input_format: Annotated[str | None, typer.Option(metavar="FORMAT", help="csv, parquet, json or orc.")] = None

    @property
    def job_options(self) -> dict[str, Any]:
        """As jobs take it."""
        nulls = () if self.null_values is None else tuple(self.null_values.split(","))
        return {**vars(self), "null_values": nulls}


@dataclass(frozen=True)
class Reading(ReadingChanges):
    """How a table is read."""

    types: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=TYPE", help="Read a column as text, int, double, decimal(p,s), date, …"),
    ] = None

    @property
    def job_options(self) -> dict[str, Any]:
        return {**super().job_options, "types": assignments(self.types, "--types")}


@dataclass(frozen=True)
class Telling:
    """How much is said besides the result."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what Spark says when something fails.")] = False

    @property
    def progress(self) -> Progress:
        return Progress(quiet=self.quiet, counts=running_tasks)


@dataclass(frozen=True)
class OnSpark(Telling):
    """Where Spark runs, and how much is said besides the result."""

    master: Annotated[str | None, typer.Option(help="The Spark master. Default: local[*].")] = None
    conf: Annotated[list[str] | None, typer.Option(metavar="K=V", help="A Spark setting; may be repeated.")] = None

    @property
    def job_options(self) -> dict[str, Any]:
        """As jobs take it."""
        return {"master": self.master, "conf": assignments(self.conf, "--conf")}


@dataclass(frozen=True)
class OnEngine(OnSpark):
    """Where the job runs, and how much is said besides the result."""

    engine: Annotated[
        EngineChoice,
        typer.Option(help="Where it runs: local in this process, spark on Spark; auto: local for files that fit."),
    ] = "auto"

    @property
    def job_options(self) -> dict[str, Any]:
        return {**super().job_options, "engine": self.engine}

    def opening(self, data: str, reading: Reading) -> str:
        """What is done before the job itself: Spark takes seconds to start."""
        local = engine_for(data, **self.job_options, **reading.job_options) == "local"
        return f"reading {Path(data).name}" if local else "starting Spark"


@dataclass(frozen=True)
class Printing:
    """What is printed, and where."""

    format: OutputFormat = "text"
    output: Output = None


@dataclass(frozen=True)
class SearchOptions:
    """What discovery compares, and how far it goes."""

    columns: Annotated[
        str | None, typer.Option(metavar="COLUMN[,COLUMN]", help="Compare these columns only. Default: all.")
    ] = None
    exclude: Annotated[str | None, typer.Option(metavar="COLUMN[,COLUMN]", help="Leave these columns out.")] = None
    cross_columns: Annotated[
        str,
        typer.Option(
            metavar="SHARE|off", help="Compare two columns when they share this much of the smaller one's values."
        ),
    ] = str(DEFAULT_OVERLAP)
    one_row: Annotated[bool, typer.Option("--one-row", help="Compare such columns within one row, too.")] = False
    order_text: Annotated[bool, typer.Option("--order-text", help="Text has an order, by its UTF-8 bytes.")] = False
    nulls: Annotated[Nulls, typer.Option(help="How nulls compare.")] = "sql"
    error: Annotated[
        str, typer.Option(metavar="SHARE", help="Rules that at most this share of all ordered pairs of rows breaks.")
    ] = "0"
    max_predicates: Annotated[
        int | None, typer.Option(metavar="N", help="Rules of up to N predicates only. Default: no limit.")
    ] = None
    time_limit: Annotated[str, typer.Option(metavar="SECONDS|none", help="End the search then, and say so.")] = (
        f"{DEFAULT_TIME_LIMIT:g}"
    )
    device: Annotated[
        Device, typer.Option(help="What relates all pairs: a GPU where there is one and it pays, or as said.")
    ] = "auto"

    @property
    def job_options(self) -> dict[str, Any]:
        """As jobs take it."""
        names = {"columns": self.columns, "exclude": self.exclude}
        return {**vars(self), **{option: () if given is None else given for option, given in names.items()}}


def limit_of(text: str) -> int | None:
    """What --limit says; None for none."""
    if text.strip().casefold() == "none":
        return None
    if not text.strip().isdecimal():
        raise OptionError(f"--limit {text!r} is not a number.", hint="write a number such as 1000, or none.")
    return int(text)


def names_in(text: str | None) -> list[str]:
    """The names in a list with commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def assignments(pairs: list[str] | None, option: str) -> dict[str, str]:
    """What `name=value` options say."""
    result: dict[str, str] = {}
    for pair in pairs or ():
        # Types may be given as a list; a comma inside decimal(10,2) does not separate.
        for piece in _outside_brackets(pair) if option == "--types" else [pair]:
            name, separator, value = piece.partition("=")
            if not separator or not name.strip() or not value.strip():
                examples = {"--types": "--types zip=text", "--var": "--var day=2026-11-16"}
                example = examples.get(option, "--conf spark.driver.memory=4g")
                raise OptionError(f"{option} {piece!r} does not say name=value.", hint=f"write it as in {example}.")
            result[name.strip()] = value.strip()
    return result


def _outside_brackets(text: str) -> list[str]:
    pieces, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return pieces
