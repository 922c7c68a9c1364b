"""What a person can ask of rules that are kept up to date."""

from __future__ import annotations

from typing import Any, Literal

from holdfast.errors import OptionError
from holdfast.search.options import DiscoverOptions, discover_options

EvolveStrategy = Literal["auto", "evidence", "index", "rediscover"]
EVOLVE_STRATEGIES: tuple[EvolveStrategy, ...] = ("auto", "evidence", "index", "rediscover")


def evolve_options(**options: Any) -> DiscoverOptions:
    """The options of the discovery whose rules are kept; OptionError for kinds of rules that are not."""
    chosen = discover_options(**options)
    for name, given in (("error-rows", chosen.error_rows is not None), ("conditional", chosen.conditional),
                        ("constants", chosen.constants)):  # fmt: skip
        if given:
            raise OptionError(
                f"{name} is given, but evolve keeps rules over pairs of rows.",
                hint=f"leave {name} out, or use discover again when the table has changed.",
            )
    return chosen


def require_strategy(strategy: str, options: DiscoverOptions) -> EvolveStrategy:
    """The strategy; OptionError where there is none of that name, or it keeps no such rules."""
    for known in EVOLVE_STRATEGIES:
        if strategy == known:
            if known == "index" and options.error:
                raise OptionError(
                    "indexes keep rules that no pair breaks, but error is given.",
                    hint="leave the strategy open, or take evidence or rediscover.",
                )
            return known
    raise OptionError(f"{strategy!r} is no strategy.", hint=f"one of {', '.join(EVOLVE_STRATEGIES)}.")
