"""Variables in rules: `${day}` stands for a value that a run is given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import yaml

from holdfast.errors import OptionError, RuleFileError, closest_hint

_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_USE = re.compile(r"(?P<escaped>\$\$(?=\{))|\$\{(?P<name>[^{}]*)\}")


def with_values(text: str, values: Mapping[str, str]) -> str:
    """Returns the text with the values of its variables; `$${` stands for `${`. OptionError for one without a value.

    >>> with_values("not(t.day > date '${day}' and t.note = '$${x}')", {"day": "2026-11-16"})
    "not(t.day > date '2026-11-16' and t.note = '${x}')"
    """

    def value(match: re.Match[str]) -> str:
        if match["escaped"]:
            return "$"
        name = match["name"].strip()
        if name not in values:
            raise OptionError(
                f"the variable {name!r} has no value.",
                hint=f"give it one with --var {name}=VALUE, or a default below variables: in the rule file.",
            )
        return values[name]

    return _USE.sub(value, text)


def variables_in(text: str) -> frozenset[str]:
    """Returns the names of the variables in the text."""
    return frozenset(match["name"].strip() for match in _USE.finditer(text) if not match["escaped"])


def escaped_variables(text: str) -> str:
    """Returns text that `with_values` reads back as this one.

    >>> escaped_variables("${x}"), with_values(escaped_variables("$${x}"), {})
    ('$${x}', '$${x}')
    """
    return text.replace("${", "$${")


def require_variable_names(names: Iterable[str]) -> None:
    """Raises OptionError for a name that no `${name}` could have."""
    for name in names:
        if not _NAME.match(name):
            raise OptionError(f"a variable cannot be called {name!r}.", hint="use letters, digits and _, as in day.")


def require_used(given: Iterable[str], used: frozenset[str]) -> None:
    """Raises OptionError for a variable that is given a value, and that no rule uses."""
    for name in given:
        if name not in used:
            hint = closest_hint(name, sorted(used), what="Variables") if used else "the rules have no variables."
            raise OptionError(f"no rule uses the variable {name!r}.", hint=hint)


def node_with_values(node: yaml.Node, values: Mapping[str, str] | None, origin: str) -> yaml.Node:
    """Returns the node with the values of the variables in all its texts; names of settings stay.

    Where `values` is None there are no variables, and `${name}` stands for itself.

    Raises RuleFileError, which names the line, for a variable without a value.
    """
    if isinstance(node, yaml.MappingNode):
        pairs = [(key, node_with_values(value, values, origin)) for key, value in node.value]
        return yaml.MappingNode(node.tag, pairs, node.start_mark, node.end_mark)
    if isinstance(node, yaml.SequenceNode):
        items = [node_with_values(item, values, origin) for item in node.value]
        return yaml.SequenceNode(node.tag, items, node.start_mark, node.end_mark)
    if "${" not in str(node.value):
        return node
    try:
        own = str(node.value)
        text = own.replace("$${", "${") if values is None else with_values(own, values)
    except OptionError as problem:
        line = node.start_mark.line + 1
        raise RuleFileError(f"{origin}, line {line}: {problem.message}", hint=problem.hint) from None
    return yaml.ScalarNode(node.tag, text, node.start_mark, node.end_mark, style='"')


def texts_of(node: yaml.Node) -> Iterable[str]:
    """Yields every text of the node, without names of settings."""
    inner: Sequence[yaml.Node] = ()
    if isinstance(node, yaml.MappingNode):
        inner = [value for _, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        inner = node.value
    else:
        yield str(node.value)
    for item in inner:
        yield from texts_of(item)
