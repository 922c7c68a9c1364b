"""What a person can ask of a discovery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from holdfast.errors import OptionError
from holdfast.rules.parse import given_names
from holdfast.rules.rule import Nulls
from holdfast.search.limits import DEFAULT_LIMITS, SearchLimits

Strategy = Literal["auto", "all-pairs", "hybrid"]
STRATEGIES: tuple[Strategy, ...] = ("auto", "all-pairs", "hybrid")
Device = Literal["auto", "cpu", "gpu"]
DEVICES: tuple[Device, ...] = ("auto", "cpu", "gpu")
Share = Decimal | float | str
DEFAULT_OVERLAP = 0.3
DEFAULT_TOP = 50
DEFAULT_TIME_LIMIT = 300.0
# Over before anything is looked at, also on a table of a few rows.
_NO_TIME = 1e-9
DEFAULT_SUPPORT = Decimal("0.05")


@dataclass(frozen=True, kw_only=True)
class DiscoverOptions:
    """Which rules are looked for, and how.

    `columns` are compared, all when empty, without `exclude`. Two columns of one kind are compared with each other
    when they share at least `cross_columns` of the smaller one's values (None: never), within one row too with
    `one_row`. Text has an order with `order_text`. Rules have at most `max_predicates`; the search ends after
    `time_limit` seconds, and says so. `seed` is of the samples that the hybrid strategy draws. `device` is
    what relates all pairs: a GPU where there is one and it pays, unless it says otherwise.

    A rule may be violated by the share `error` of all ordered pairs of rows. With `error_rows`, what is looked for are
    keys and dependencies, of which that share of the rows would have to go; with `conditional`, dependencies on rows
    with given values, of which `min_support` (a number of rows, or below 1 a share) support each, and `min_confidence`
    of these hold it. No two columns are compared with each other then. With `constants`, rules may also speak of the
    rows with given values only, which `min_support` of the rows have. `limits` say when which way is taken.

    With `top`, the best so many rules are looked for, and others only as far as that takes; None for all.
    """

    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    cross_columns: float | None = DEFAULT_OVERLAP
    one_row: bool = False
    order_text: bool = False
    nulls: Nulls = "sql"
    max_predicates: int | None = None
    time_limit: float | None = None
    strategy: Strategy = "auto"
    device: Device = "auto"
    seed: int = 1
    error: Decimal = Decimal(0)
    error_rows: Decimal | None = None
    conditional: bool = False
    constants: bool = False
    min_support: Decimal = DEFAULT_SUPPORT
    min_confidence: Decimal = Decimal(1)
    top: int | None = None
    limits: SearchLimits = field(default=DEFAULT_LIMITS, repr=False)

    @property
    def best_only(self) -> bool:
        """Whether a search may leave out what is not among the best: rules that hold, without values."""
        return self.top is not None and not (self.error or self.constants or self.single_columns)

    @property
    def single_columns(self) -> bool:
        """Whether columns are compared with themselves only, and only for being equal."""
        return self.error_rows is not None or self.conditional

    def __post_init__(self) -> None:
        if self.conditional and (self.error or self.error_rows is not None):
            raise OptionError(
                "conditional is given with a share of errors of another kind.",
                hint="min-confidence says how many rows may break a conditional dependency.",
            )
        if self.constants and self.single_columns:
            raise OptionError(
                "constants is given with error-rows or conditional, which look for keys and dependencies.",
                hint="leave one of them out; conditional dependencies have values anyway.",
            )
        if self.min_support <= 0 or (self.min_support >= 1 and self.min_support % 1):
            raise OptionError(
                f"min-support is {self.min_support}.", hint="a share of the rows such as 0.05, or a number of rows."
            )
        if not 0 < self.min_confidence <= 1:
            raise OptionError(f"min-confidence is {self.min_confidence}.", hint="a number above 0 and up to 1.")
        if self.error_rows is not None and not 0 <= self.error_rows < 1:
            raise OptionError(
                f"error-rows is {self.error_rows}, which is no share of rows.",
                hint="a number from 0 to below 1, such as 0.01.",
            )
        if self.error and self.error_rows is not None:
            raise OptionError(
                "error and error-rows are both given.", hint="count errors by pairs or by rows, not both."
            )
        if not 0 <= self.error < 1:
            raise OptionError(
                f"error is {self.error}, which is no share of pairs.", hint="a number from 0 to below 1, such as 0.001."
            )
        if self.cross_columns is not None and not 0 <= self.cross_columns <= 1:
            raise OptionError(
                f"cross-columns is {self.cross_columns}, which is no share.", hint="a number from 0 to 1, or off."
            )
        if self.max_predicates is not None and self.max_predicates < 1:
            raise OptionError(f"max-predicates is {self.max_predicates}.", hint="a rule has at least 1 predicate.")
        if self.time_limit is not None and self.time_limit <= 0:
            raise OptionError(f"time-limit is {self.time_limit:g}.", hint="give a number of seconds above 0.")
        if self.strategy not in STRATEGIES:
            raise OptionError(f"{self.strategy!r} is no strategy.", hint=f"one of {', '.join(STRATEGIES)}.")
        if self.device not in DEVICES:
            raise OptionError(f"{self.device!r} is no device.", hint=f"one of {', '.join(DEVICES)}.")

    def within(self, seconds: float | None) -> DiscoverOptions:
        """The same options with so much time; where none is left, with next to none, so that a search says so."""
        return self if seconds is None else replace(self, time_limit=max(seconds, _NO_TIME))

    def to_dict(self) -> Mapping[str, Any]:
        """The options by name, as reports print them: without the limits."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "limits"}


def discover_options(
    *,
    columns: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    cross_columns: float | str | None = DEFAULT_OVERLAP,
    time_limit: float | str | None = DEFAULT_TIME_LIMIT,
    error: Share = 0,
    error_rows: Share | None = None,
    conditional: bool = False,
    constants: bool = False,
    min_support: Share | None = None,
    min_confidence: Share | None = None,
    **others: Any,
) -> DiscoverOptions:
    """The options as a person gives them: columns as a text or a list of names, `off` for no cross columns, `none`
    for no time limit, shares as a number or as `0.1%`."""
    if min_confidence is not None and not conditional:
        raise OptionError("min-confidence is given without conditional.", hint="it is about conditional dependencies.")
    if min_support is not None and not (conditional or constants):
        raise OptionError(
            "min-support is given without conditional or constants.", hint="it is about rules that name values."
        )
    return DiscoverOptions(
        columns=given_names(columns),
        exclude=given_names(exclude),
        cross_columns=overlap(cross_columns),
        time_limit=seconds(time_limit),
        error=share(error, "error"),
        error_rows=None if error_rows is None else share(error_rows, "error-rows"),
        conditional=conditional,
        constants=constants,
        min_support=DEFAULT_SUPPORT if min_support is None else share(min_support, "min-support"),
        min_confidence=Decimal(1) if min_confidence is None else share(min_confidence, "min-confidence"),
        **others,
    )


def overlap(given: float | str | None) -> float | None:
    """The share of values that columns must have in common to be compared; None for `off`."""
    if given is None or (isinstance(given, str) and given.strip().casefold() == "off"):
        return None
    try:
        return float(given)
    except ValueError:
        raise OptionError(
            f"cross-columns is {given!r}, which is no share.", hint="a number from 0 to 1, or off."
        ) from None


def share(given: Share, option: str) -> Decimal:
    """The share as it is written, exactly: `0.001` or `0.1%`."""
    text = str(given).strip()
    try:
        value = Decimal(text.removesuffix("%").strip())
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise OptionError(f"{option} is {given!r}, which is no share.", hint="a number such as 0.001, or 0.1%.")
    return value / 100 if text.endswith("%") else value


def how_many(top: int | str | None) -> int | None:
    """How many rules are shown; None for `all`."""
    if top is None or (isinstance(top, str) and top.strip().casefold() == "all"):
        return None
    text = str(top).strip()
    if not text.isdecimal() or int(text) < 1:
        raise OptionError(f"top is {top!r}, which is no number of rules.", hint="a number such as 50, or all.")
    return int(text)


def seconds(given: float | str | None) -> float | None:
    """A time limit; None for `none`."""
    if given is None or (isinstance(given, str) and given.strip().casefold() == "none"):
        return None
    try:
        return float(given)
    except ValueError:
        raise OptionError(f"time-limit is {given!r}.", hint="a number of seconds, or none.") from None
