"""YAML as nodes with line numbers, and as dicts, lists and text; no value becomes a number or a boolean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from holdfast.errors import HoldfastError, RuleFileError, SourceNotFoundError

# Of shorter texts it does not matter how they are read; no rule file is nested as deeply.
_SHORT = 4_000
_DEEP = 50


def read_yaml_text(place: Path, what: str, error: type[HoldfastError]) -> str:
    """Returns the text of a file; `what` says what the file is to be.

    Raises SourceNotFoundError where there is none, and `error` where it cannot be read.
    """
    try:
        return place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SourceNotFoundError(f"there is no {what} {str(place)!r}.") from None
    except IsADirectoryError:
        raise error(f"{str(place)!r} is a folder, not a {what}.") from None
    except UnicodeDecodeError as problem:
        raise error(f"{str(place)!r} is not a text file in UTF-8: {problem.reason}.") from None
    except OSError as problem:
        raise error(f"cannot read the {what} {str(place)!r}: {problem.strerror}.") from None


def composed(text: str, origin: str) -> yaml.Node:
    """Returns the root node of the YAML text. Raises RuleFileError, in which the text is called `origin`."""
    try:
        root = _quickly_composed(text) or yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = f"{origin}, line {mark.line + 1}" if mark else origin
        raise RuleFileError(
            f"{place}: this is not YAML: {problem.problem}.",
            hint="put a rule's text in double quotes when it contains : # { [ or starts with a quote.",
        ) from None
    except yaml.YAMLError as problem:
        raise RuleFileError(f"{origin}: this is not YAML: {problem}.") from None
    if root is None:
        raise RuleFileError(f"{origin} is empty.", hint='write at least\n\nrules:\n  - rule: "ZipCode -> City"')
    assert isinstance(root, yaml.Node), "compose gives nodes"
    return root


def _quickly_composed(text: str) -> yaml.Node | None:
    """What PyYAML's own composer gives, ten times as fast; None where libyaml is not there, or might say otherwise.

    So it might of tabs, question marks, marks of the byte order, the line of a value that is left out, and of what is
    no YAML, of which PyYAML tells the line and the reason. What is nested too deeply would overflow its stack.
    """
    loader = getattr(yaml, "CBaseLoader", None)
    if loader is None or len(text) < _SHORT or any(sign in text for sign in "?\t\ufeff"):
        return None
    depth = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            left_out = isinstance(event, yaml.ScalarEvent) and event.value == "" and not event.style
            if left_out or depth > _DEEP:
                return None
        return yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, UnicodeEncodeError):
        return None


def plain_content(node: yaml.Node, origin: str, above: tuple[int, ...] = ()) -> Any:
    """Returns the node as dicts, lists and text. All values stay text: YAML would read 0131 as 89 and NO as false."""
    if id(node) in above:
        raise RuleFileError(f"{origin}, line {node.start_mark.line + 1}: this entry contains itself.")
    inside = (*above, id(node))
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key, value in node.value:
            place = f"{origin}, line {key.start_mark.line + 1}"
            if not isinstance(key, yaml.ScalarNode):
                raise RuleFileError(f"{place}: a setting's name is plain text.")
            if key.value in result:
                raise RuleFileError(f"{place}: {key.value!r} stands twice.")
            result[key.value] = plain_content(value, origin, inside)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [plain_content(value, origin, inside) for value in node.value]
    assert isinstance(node, yaml.ScalarNode), "YAML has three kinds of nodes"
    # A setting without a value, as in `where:`, counts as not given.
    return None if node.value == "" and not node.style else str(node.value)


def node_at(root: yaml.Node, location: Sequence[int | str]) -> yaml.Node:
    """Returns the node at the location, or the nearest one above it."""
    node = root
    for part in location:
        if isinstance(node, yaml.MappingNode):
            inner = next((v for k, v in node.value if k.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            inner = node.value[part] if part < len(node.value) else None
        else:
            inner = None
        if inner is None:
            return node
        node = inner
    return node


def line_of(root: yaml.Node, location: Sequence[int | str]) -> int:
    """Returns the line, from 1, of the setting or entry at the location."""
    parent = node_at(root, location[:-1]) if location else root
    if location and isinstance(parent, yaml.MappingNode):
        for key, _ in parent.value:
            if key.value == location[-1]:
                return int(key.start_mark.line) + 1
    return int(node_at(root, location).start_mark.line) + 1
