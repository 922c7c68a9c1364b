"""Files that pages name are there: a page that sends its reader to a file that has moved is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "holdfast"
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# `rules/parse.py`; with a capital, as in `report/NAME.py`, it stands for a file of the reader's own.
_FILE = re.compile(r"`([a-z_./\d]+\.(?:py|lark))`")


def named_files(page: Path) -> set[str]:
    return set(_FILE.findall(page.read_text("utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page: Path) -> None:
    places = (PACKAGE, ROOT, ROOT / "benchmarks")
    assert not {name for name in named_files(page) if not any((place / name).is_file() for place in places)}


def test_pages_name_files() -> None:
    assert len(named_files(ROOT / "CONTRIBUTING.md")) > 20
    assert len(named_files(ROOT / "docs" / "how_it_works.md")) > 50


def test_contributing_lists_every_room_in_order() -> None:
    law = (ROOT / "scripts" / "import_order.py").read_text("utf-8")
    rooms = re.findall(r'"(\w+)"', law.partition("ROOMS = (")[2].partition(")")[0])
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("| Room |")[2].partition("\n\n")[0]
    listed = re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| ([`\w ]+) \|", table, re.MULTILINE)))
    assert listed == [room for room in rooms if not room.startswith("__")]
