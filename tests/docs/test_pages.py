"""What README.md and the pages in docs/ say can be run, runs, and prints what they show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from page_blocks import RUN, blocks_of, run_page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(
    page: Path,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cache: Path,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    if "s3://states" in page.read_text():
        request.getfixturevalue("s3_bucket")  # which is that one
    monkeypatch.delenv("COLUMNS", raising=False)  # pages show what is printed 120 wide
    try:
        run_page(page, tmp_path)
    finally:
        spark.catalog.clearCache()  # what a page leaves open


def test_few_blocks_do_not_run() -> None:
    """A mark that leaves a block out is for what cannot run, not for what is slow to write."""
    blocks = [block for page in PAGES for block in blocks_of(page) if block.language in RUN]
    left_out = [block.place for block in blocks if block.mark == "not run"]
    assert len(blocks) > 40
    assert len(left_out) <= len(blocks) / 3, left_out
