"""Which engine runs a job of a state: this process, or Spark."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.engines.choose import ENGINES, MEMORY_SHARE, EngineChoice, chosen_engine_for_all, has_session
from holdfast.engines.physical_memory import physical_memory
from holdfast.engines.states.state_engine import StateEngine
from holdfast.errors import ConditionError, HoldfastError, OnlySparkError, OptionError, closest_hint
from holdfast.tables.read_options import ReadOptions

if TYPE_CHECKING:
    from holdfast.engines.local.local_engine import LocalEngine
    from holdfast.engines.spark.states.spark_engine import SparkEngine

_Done = TypeVar("_Done")


@dataclass(frozen=True)
class StateEngineChoice:
    """Where the jobs of a state run, as its user chose, and where Spark is. A state is the same on both.

    `auto` is this process, unless what a job reads is too large for it or only Spark can read it, a master or settings
    of Spark are named, or the caller has a session.
    """

    choice: EngineChoice = "auto"
    master: str | None = None
    conf: Mapping[str, str] | None = None

    def for_data(self, data: Any, options: ReadOptions) -> StateEngine:
        """The engine that loads or applies the data. OptionError where it must be local, and only Spark can read it."""
        return self.for_all([data], options)

    def for_all(self, data: Sequence[Any], options: ReadOptions) -> StateEngine:
        """The engine of a job that reads all of the data."""
        where = chosen_engine_for_all(data, options, engine=self.choice, master=self.master, conf=self.conf)
        return self.local() if where == "local" else self.on_spark()

    def for_rows(self, size: int) -> StateEngine:
        """The engine that reads rows of so many bytes in files of a state."""
        if self.choice not in ENGINES:
            raise OptionError(f"engine is {self.choice!r}.", hint=closest_hint(self.choice, ENGINES, what="Engines"))
        if self.choice == "auto" and (self.master is not None or self.conf or has_session()):
            return self.on_spark()
        fits = self.choice == "local" or 2 * size <= MEMORY_SHARE * physical_memory()
        return self.local() if fits and self.choice != "spark" else self.on_spark()

    def run(self, engine: StateEngine, job: Callable[[StateEngine], _Done]) -> _Done:
        """What the job comes to on the engine; where only Spark can do it and the choice is free, on Spark, with a
        warning."""
        try:
            return job(engine)
        except (ConditionError, OnlySparkError) as problem:
            if self.choice != "auto" or engine.name == "spark":
                raise
            note_spark(problem)
        return job(self.on_spark())

    def local(self) -> LocalEngine:
        from holdfast.engines.local.local_engine import LocalEngine

        return LocalEngine()

    def on_spark(self) -> SparkEngine:
        from holdfast.engines.spark.session import get_session
        from holdfast.engines.spark.states.spark_engine import SparkEngine

        return SparkEngine(get_session(master=self.master, conf=self.conf))


def note_spark(problem: HoldfastError) -> None:
    """Warns that a job runs on Spark because of what this process cannot do."""
    warnings.warn(f"this runs on Spark: {problem.message}", stacklevel=3)
