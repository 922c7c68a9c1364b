"""`holdfast demo`: every job on bundled data, step by step, with the commands that a user would type."""

from __future__ import annotations

import os
import tempfile
from importlib import resources
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from holdfast.errors import MissingPackageError, OutputError, RunError, SessionError
from holdfast.report.progress import Progress
from holdfast.rules.plain_words import number
from holdfast.rules.rule_file import dump_rules

if TYPE_CHECKING:
    from holdfast.api import CheckResult

CLEAN, DATA, RULES, SITES, DISCOVERED, REPORT, KEY = (
    *("clean.csv", "orders.csv", "rules.yaml", "sites.yaml", "found.yaml", "report.html", "order_id"),
)
MONDAY, TUESDAY, WEDNESDAY = "monday.csv", "tuesday.csv", "wednesday.csv"
DECISIONS = "decisions.yaml"
STATE, KEPT_RULES = "orders-state", "price-rules"
PAYMENTS, SHOP = "payments.csv", "shop.yaml"
# Files of other tools, with checks of the same orders.
OF_OTHERS = ("suite.json", "suggestions.json", "ruleset.dqdl", "checks.yaml", "contract.yaml")
BUNDLED = (CLEAN, DATA, RULES, DECISIONS, SITES, MONDAY, TUESDAY, WEDNESDAY, PAYMENTS, SHOP, *OF_OTHERS)
TOP, MOST_PREDICATES = 10, 3
# A row that violates a dependency, and the columns of rules that a change of prices breaks.
WRONG_ROW, PRICES = "SO-2486", "country,sku,unit_price,ordered"


def run_demo(console: Console, *, folder: Path | None = None, progress: Progress | None = None) -> CheckResult:
    """Runs every job and prints it on `console`. Returns the result of the check.

    The files go into `folder`, or into a new temporary one, and stay there. The last step checks the same orders on
    Spark, where there is one. `progress` shows the current step.
    """
    place = copy_demo(folder)
    for name in (STATE, KEPT_RULES):
        if (place / name).exists():
            raise OutputError(
                f"{os.fspath(place)!r} has a {name!r} of an earlier demo, which is not overwritten.",
                hint="name a new folder with --dir, or leave --dir out.",
            )
    story = _Story(console, progress or Progress(quiet=True), place)
    story.opening()
    story.discover()
    result = story.check()
    story.explain()
    story.watch()
    story.evolve()
    story.tables()
    story.report()
    story.on_spark(result)
    story.closing()
    return result


class _Story:
    """The steps of the demo. Each prints what it does and the command for it, does it, and prints the result."""

    def __init__(self, console: Console, progress: Progress, place: Path) -> None:
        self._console, self._progress, self._place = console, progress, place
        self._number = 0

    def opening(self) -> None:
        orders = bundled(DATA).count(b"\n") - 1
        self._say(
            f"A month of {orders:,} customer orders after somebody cleaned them up, {CLEAN}, and the same month as"
        )
        self._say(f"it came in, {DATA}, some of it wrong. The files are in {self._place}.")

    def discover(self) -> None:
        command = f"holdfast discover {CLEAN} --one-row --max-predicates {MOST_PREDICATES} --top {TOP} -o {DISCOVERED}"
        self._step("Which rules do the clean orders hold?", command)
        with self._progress.step("discovering rules"):
            from holdfast.api import discover
            from holdfast.report.discovery_text import print_discovery

            result = discover(self._place / CLEAN, one_row=True, max_predicates=MOST_PREDICATES, top=TOP)
        _put(self._place, DISCOVERED, dump_rules(result.rule_set).encode())
        print_discovery(result.outcome, self._console)

    def check(self) -> CheckResult:
        self._step(
            f"These rules are now in {DISCOVERED}. What do they find wrong in the orders as they came in?",
            f"holdfast check {DATA} {DISCOVERED} --key {KEY}",
        )
        with self._progress.step("checking"):
            from holdfast.api import check
            from holdfast.report.summary_text import print_summary

            result = check(self._place / DATA, self._place / DISCOVERED, key=KEY)
            detailed = result.detailed
        print_summary(detailed, self._console)
        return result

    def explain(self) -> None:
        self._step(
            f"What no table can tell, somebody wrote down: {RULES} has ten rules. What is wrong with one row, and what "
            "should it have been?",
            f"holdfast explain {DATA} {RULES} --key {KEY} {WRONG_ROW}",
        )
        with self._progress.step(f"looking at row {WRONG_ROW}"):
            from holdfast.api import explain
            from holdfast.report.explain_text import print_explanation

            explanation = explain(self._place / DATA, self._place / RULES, WRONG_ROW, key=KEY)
        print_explanation(explanation, self._console)

    def watch(self) -> None:
        state = self._place / STATE
        self._step(
            "Orders keep coming. A state keeps their violations up to date without checking everything again.",
            f"holdfast watch init {state.name} --data {DATA} --rules {RULES} --key {KEY}",
        )
        from holdfast.api import WatchState
        from holdfast.report.watch_text import batch_text, status_text

        with self._progress.step(f"loading {DATA}"):
            watched = WatchState.create(state, self._place / DATA, self._place / RULES, key=KEY)
        self._say(status_text(watched.status).rstrip())
        for said, file in (
            ("On Monday twelve orders come in, two of them with a wrong cell.", MONDAY),
            ("On Tuesday somebody corrects three rows, and deletes one.", TUESDAY),
        ):
            self._step(said, f"holdfast watch apply {state.name} {file}")
            with self._progress.step(f"applying {file}"):
                outcome = watched.apply(self._place / file)
            self._say(batch_text(outcome, file).rstrip())

    def evolve(self) -> None:
        state = self._place / KEPT_RULES
        self._step(
            "Rules change, too. Here is what the clean orders say of prices.",
            f"holdfast evolve init {state.name} --data {CLEAN} --key {KEY} --columns {PRICES}",
        )
        from holdfast.api import EvolveState
        from holdfast.report.evolve_text import evolved_text, rules_status_text

        with self._progress.step("finding the rules of prices"):
            evolved = EvolveState.create(state, self._place / CLEAN, key=KEY, options={"columns": PRICES})
        self._say(rules_status_text(evolved.show()).rstrip())
        self._step("On Wednesday a mug costs more.", f"holdfast evolve apply {state.name} {WEDNESDAY}")
        with self._progress.step(f"applying {WEDNESDAY}"):
            outcome = evolved.apply(self._place / WEDNESDAY)
        self._say(evolved_text(outcome, WEDNESDAY).rstrip())

    def tables(self) -> None:
        self._step(
            f"Payments are a table of their own. {SHOP} names both tables, and says what each payment refers to, how "
            "its total is computed, and that nobody pays twice within ten minutes.",
            f"holdfast check {SHOP}",
        )
        with self._progress.step(f"checking {PAYMENTS}"):
            from holdfast.api import check
            from holdfast.report.summary_text import print_summary

            detailed = check({}, self._place / SHOP).detailed
        print_summary(detailed, self._console)

    def report(self) -> None:
        self._step(
            "All of it on one page, to look at and to send around.", f"holdfast watch show {STATE} --report {REPORT}"
        )
        page = self._place / REPORT
        with self._progress.step("writing the report"):
            from holdfast.api import WatchState

            WatchState.open(self._place / STATE).show(report=page)
        self._say(f"Open {page.absolute().as_uri()} in a browser.")

    def on_spark(self, here: CheckResult) -> None:
        """The check once more, on Spark. Raises RunError where it says something else there."""
        self._step(
            "Files like these need not wait for Spark. Tables of any size are checked on Spark, by the same programs "
            "and kernels, and with the same answer.",
            f"holdfast check {DATA} {DISCOVERED} --key {KEY} --engine spark",
        )
        try:
            with self._progress.step("starting Spark, and checking there"):
                from holdfast.api import check

                with check(self._place / DATA, self._place / DISCOVERED, key=KEY, engine="spark") as there:
                    on_spark = there.to_dict()
        except (MissingPackageError, SessionError) as problem:
            self._say(f"Not on this machine: {problem.message}")
            return
        if on_spark["rules"] != here.to_dict()["rules"]:
            raise RunError("Spark and this process say different things of the same orders.")
        rules = number(len(on_spark["rules"]), "rule")
        self._say(f"{rules}: every verdict and every count is the same: pairs, rows, suspects, groups.")
        self._say(f"On Spark {on_spark['seconds']:.1f} s after its start, here {here.outcome.seconds:.1f} s.")

    def closing(self) -> None:
        self._say("\nGo on with:\n")
        again = f"holdfast check {DATA} {RULES} --key {KEY}"
        for line in (
            f"cd {quote(str(self._place))}",
            f"{again} --report check.html",
            f"{again} --quarantine split --suggest mends",
            f"holdfast evolve show {KEPT_RULES} --report rules.html",
            f"holdfast fragments plan {SITES}",
        ):
            self._say(f"  $ {line}")

    def _step(self, said: str, command: str) -> None:
        self._number += 1
        self._console.print()
        if self._console.is_terminal:
            self._console.rule(Text(f"{self._number}", style="bold"), align="left")
        self._say(f"{self._number}. {said}")
        self._say(f"\n  $ {command}\n", style="bold")

    def _say(self, text: str, style: str = "") -> None:
        # Paths and sentences are printed as a whole: a terminal may wrap them, but rich does not cut them.
        self._console.print(Text(text, style=style), soft_wrap=True)


def copy_demo(folder: Path | None = None) -> Path:
    """Copies the data and rules of the demo into the folder, or into a new temporary one, and returns it.

    Raises OutputError where it cannot be written, or where another file of the same name would be lost.
    """
    place = Path(tempfile.mkdtemp(prefix="holdfast-demo-")) if folder is None else folder
    for name in BUNDLED:
        _put(place, name, bundled(name))
    return place


def _put(place: Path, name: str, content: bytes) -> None:
    target = place / name
    try:
        place.mkdir(parents=True, exist_ok=True)
        if target.exists() and (not target.is_file() or target.read_bytes() != content):
            raise OutputError(
                f"{os.fspath(place)!r} has another {name}, which the demo does not overwrite.",
                hint="name a new folder with --dir, or leave --dir out.",
            )
        target.write_bytes(content)
    except OSError as problem:
        if isinstance(problem, OutputError):
            raise
        raise OutputError(f"cannot write the demo to {os.fspath(place)!r}: {problem.strerror or problem}.") from problem


def bundled(name: str) -> bytes:
    """Returns the content of a file of the demo, which is part of the package."""
    return resources.files("holdfast.demo").joinpath(name).read_bytes()
