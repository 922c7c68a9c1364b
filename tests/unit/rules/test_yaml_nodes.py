"""YAML reads the same with libyaml as without it."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.errors import RuleFileError
from holdfast.rules import yaml_nodes
from holdfast.rules.yaml_nodes import composed, plain_content

needs_libyaml = pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML is without libyaml")


def read(text: str) -> Any:
    """The content of the text with the lines of all its nodes, or the error."""

    def lines(node: yaml.Node) -> Any:
        inner: list[Any] = []
        if isinstance(node, yaml.MappingNode):
            inner = [(lines(key), lines(value)) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            inner = [lines(value) for value in node.value]
        return node.start_mark.line, inner

    try:
        root = composed(text, "rules.yaml")
        return plain_content(root, "rules.yaml"), lines(root)
    except RuleFileError as problem:
        return problem.message, problem.hint


PARTS = st.one_of(
    st.sampled_from(
        ["- ", "a: ", "b", ": ", "\n", "\n  ", "{", "}", "[", "]", ", ", "'", '"', "#", " #", "&a ", "*a", "!x "]
    ),
    st.sampled_from(
        ["| ", "> ", "|\n", "? ", "%", "@", "`", "\\", "\\u0041", "~", "0131", "NO", "\t", "---\n", "...", "é"]
    ),
    st.sampled_from(["\x85", "\u2028", "\x07"]),
)


@needs_libyaml
@settings(max_examples=500)
@given(st.lists(PARTS, max_size=14).map("".join))
@example("rules:\n  - rule: 'A -> B'\n    where:\n    allow: ''\n")
@example("&a [*b]")
@example("[a? ]")
@example("a: \ud800")
def test_libyaml_reads_what_pyyaml_reads(text: str) -> None:
    with patch.object(yaml_nodes, "_SHORT", 0):
        quickly = read(text)
    assert quickly == read(text)


@needs_libyaml
def test_long_files_are_read_with_libyaml() -> None:
    text = "rules:\n" + "".join(f"  - {{rule: 'A -> B{i}'}}\n" for i in range(300))
    with patch.object(yaml, "BaseLoader", None):
        assert len(plain_content(composed(text, "rules.yaml"), "rules.yaml")["rules"]) == 300


def test_what_is_nested_too_deeply_for_libyaml_does_not_end_the_process() -> None:
    with pytest.raises(RecursionError):
        composed("[" * 100_000 + "]" * 100_000, "rules.yaml")
