"""The tools that an agent is offered over the Model Context Protocol: the only importer of the package `mcp`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import metadata
from typing import Annotated, Any, Literal, ParamSpec, TypeAlias

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from holdfast.errors import HoldfastError
from holdfast.serving.answers import Answers

_P = ParamSpec("_P")
_INSTRUCTIONS = """\
Data-quality rules of tables: keys such as unique(id), functional dependencies such as "zip -> city", implications \
over two rows t and s such as "if t.state = s.state and t.salary > s.salary then t.rate >= s.rate", and denial \
constraints such as "not(t.ordered > t.shipped)". files lists the tables and rule files that are served. test_rule \
says whether a rule is true of a table, and shows rows that break it if not. Nothing is ever written."""
_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

Data: TypeAlias = Annotated[str, Field(description="A table that is served, by its name.")]
Rules: TypeAlias = Annotated[
    str | list[str], Field(description="A rule file that is served, by its name; or texts of rules.")
]
Key: TypeAlias = Annotated[
    str | None, Field(description="The column that names rows, or several with commas. Default: row numbers from 0.")
]
Top: TypeAlias = Annotated[int, Field(description="How many rules, the best first.", ge=1, le=500)]
Columns: TypeAlias = Annotated[list[str] | None, Field(description="Compare these columns only. Default: all.")]
MaxPredicates: TypeAlias = Annotated[
    int | None, Field(description="Rules of at most so many predicates. Default: no limit.", ge=1)
]
ErrorShare: TypeAlias = Annotated[
    str, Field(description='The share of pairs of rows that may break a rule, such as "0.001".')
]
DecisionsName: TypeAlias = Annotated[
    str | None, Field(description="A served file of decisions: only rules that nobody decided on are shown.")
]
Row: TypeAlias = Annotated[str | int, Field(description="The key of the row, or its number.")]
RuleText: TypeAlias = Annotated[str, Field(description='The text of a rule, such as "zip -> city".')]
NullMode: TypeAlias = Annotated[Literal["sql", "equal"], Field(description="How nulls compare.")]


def server_of(answers: Answers) -> MCPServer:
    """Returns the server with its tools."""
    server = MCPServer(
        "holdfast", instructions=_INSTRUCTIONS, version=metadata.version("holdfast"), log_level="WARNING"
    )
    tools = _Tools(answers)
    for function in (tools.files, tools.discover, tools.check, tools.explain, tools.test_rule):
        server.tool(annotations=_READ_ONLY)(_in_words(function))
    return server


def _in_words(function: Callable[_P, dict[str, Any]]) -> Callable[_P, dict[str, Any]]:
    """The function, whose errors are told in their own words."""

    @wraps(function)
    def call(*given: _P.args, **named: _P.kwargs) -> dict[str, Any]:
        try:
            return function(*given, **named)
        except HoldfastError as problem:
            raise ToolError(str(problem)) from None

    return call


class _Tools:
    """What agents call; names and docstrings are what they read."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def files(self) -> dict[str, Any]:
        """List the tables and the rule files that are served."""
        return self._answers.served()

    def discover(
        self,
        data: Data,
        top: Top = 20,
        columns: Columns = None,
        max_predicates: MaxPredicates = None,
        error: ErrorShare = "0",
        decisions: DecisionsName = None,
    ) -> dict[str, Any]:
        """Find the rules that a table holds, those first that are worth reading, with what speaks for each."""
        options: dict[str, Any] = {"max_predicates": max_predicates, "error": error, "decisions": decisions}
        return self._answers.discovered(data, top=top, columns=columns or (), **options)

    def check(self, data: Data, rules: Rules, key: Key = None) -> dict[str, Any]:
        """Count the violations of rules exactly, with a counterexample for each rule that is violated."""
        return self._answers.checked(data, rules, key=key)

    def explain(self, data: Data, rules: Rules, row: Row, key: Key = None) -> dict[str, Any]:
        """Say which rules a row breaks, with which other rows, and which change of one cell would mend it."""
        return self._answers.explained(data, rules, row, key=key)

    def test_rule(self, data: Data, rule: RuleText, nulls: NullMode = "sql", key: Key = None) -> dict[str, Any]:
        """Say whether a rule is true of a table: exact counts, and a pair of rows that breaks it if it is not."""
        return self._answers.tried(data, rule, nulls=nulls, key=key)
