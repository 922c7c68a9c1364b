"""The notebook runs from top to bottom, and what it makes shows itself as HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

# What stands in the HTML of each cell that shows something.
SHOWN = {
    "found": ["zip -&gt; city", "There are no others of up to 3 predicates."],
    "rule-set": ["12 rules", "<code>unique(order_id)</code>"],
    "one-rule": [
        "volume-discount",
        "not(t.tier = s.tier and t.quantity &gt; s.quantity and t.discount &lt; s.discount)",
    ],
    "written": ["10 rules", "a warning only", "allows 1% of the rows", "(3 patterns)"],
    "result": ["violated", "warning", "Cambrige", "8 of 10 rules are violated"],
    "worst": ["volume-discount", "SO-2470"],
    "groups": ["zip-place", "Cambrige"],
    "split": ["_broken_rules"],
    "monitor-new": ["240 rows", "no violations"],
    "monitor-wrong": ["12 added", "with SO-9001", "and 6 more"],
    "monitor-right": ["0 added", "12 removed"],
    "keeper-new": ["240 rows", "rows with the same zip have the same city"],
    "keeper-wrong": ["removed", "broken by", "Seatle and Seattle"],
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = Path(__file__).resolve().parents[2] / "examples" / "holdfast.ipynb"
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    assert [cell["id"] for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")] == []
    place = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    NotebookClient(notebook, timeout=900, kernel_name="python3", resources=place).execute()
    return {cell["id"]: cell for cell in notebook.cells if cell.cell_type == "code"}


def html_of(cell: Any) -> str:
    return "".join(output.data.get("text/html", "") for output in cell.outputs if "data" in output)


def test_results_show_themselves(cells: dict[str, Any]) -> None:
    missing = {name: part for name, parts in SHOWN.items() for part in parts if part not in html_of(cells[name])}
    assert missing == {}
    assert set(cells) - set(SHOWN) == {"setup", "close"}


def test_nothing_is_said_besides(cells: dict[str, Any]) -> None:
    """No warnings, no logs: what a reader sees is what the cells show, once."""
    assert {name: len([o for o in cells[name].outputs if "data" in o]) for name in SHOWN} == dict.fromkeys(SHOWN, 1)
    plain = {name: cells[name].outputs[-1].data["text/plain"] for name in SHOWN}
    assert "8 of 10 rules are violated" in plain["result"]
    assert "There are no others of up to 3 predicates." in plain["found"]
    assert [o for cell in cells.values() for o in cell.outputs if o.output_type == "stream"] == []
