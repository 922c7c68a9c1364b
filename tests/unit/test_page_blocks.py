"""Pages that lie are found out: each kind of lie, and each honest page beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from page_blocks import PageError, blocks_of, difference, run_page

PRINTED = "t.csv  4 rows, 8.7 s\n\na   1\nb   2\nc   3\n\nthe end\n"


@pytest.mark.parametrize(
    "shown",
    [
        PRINTED,
        "t.csv  4 rows, 0.1 s\n\na   1\nb   2\nc   3\n\nthe end\n",
        "t.csv  4 rows, 8.7 s\n\na   1\n…\nthe end\n",
        "…\nb   2\nc   3\n…\n",
        "…\na   1\n…\nc   3\n\nthe end\n",
        "t.csv  4 rows, 8.7 s\n…\n",
        "…\n",
    ],
)
def test_what_is_printed_may_be_shown_in_parts(shown: str) -> None:
    assert difference(shown, PRINTED) is None


@pytest.mark.parametrize(
    "shown",
    [
        "t.csv  5 rows, 8.7 s\n…\n",
        "t.csv  4 rows, 8.7 s\n\na   1\n",
        "a   1\n…\n",
        "…\nc   3\n",
        "…\na   1\nc   3\n…\n",
        "…\nb   2\n…\na   1\n…\n",
        "…\nthe end\n…\nthe end\n",
        "",
    ],
)
def test_what_is_not_printed_may_not_be_shown(shown: str) -> None:
    assert difference(shown, PRINTED) is not None


def page(folder: Path, text: str) -> Path:
    made = folder / "page.md"
    made.write_text(text, encoding="utf-8")
    return made


HONEST = """
<!-- file: sub/a.txt -->
```text
one
```

```bash
cat sub/a.txt    # a comment
printf 'two\\n' > b.txt
```

It prints

```text
one
```

<!-- shows: b.txt -->
```text
two
```

<!-- not run: it would take a cluster -->
```bash
no-such-command
```

<!-- shown: a picture -->
```text
---->
```

```python
x = 3
```

```python
print(x)  # 3
print("it took 2.5 s")
```

```text
3
it took 1 s
```

<!-- fails: 3 -->
```bash
true
exit 3
```
"""


def test_an_honest_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page(tmp_path, HONEST), tmp_path) == 4
    assert [block.line for block in blocks_of(tmp_path / "page.md")][:3] == [3, 7, 14]


@pytest.mark.parametrize(
    ("true", "false", "message"),
    [
        ("prints\n\n```text\none", "prints\n\n```text\nother", "page.md:14: not what page.md:7 says"),
        ("b.txt -->\n```text\ntwo", "b.txt -->\n```text\nthree", "No such line: 'three'"),
        ("cat sub/a.txt ", "cat sub/c.txt || exit 4 ", "ended with 4"),
        ("exit 3", "exit 2", "ended with 2"),
        ("print(x)  # 3", "print(x)  # 4", "nothing prints '4' there"),
        ("<!-- shown: a picture -->\n", "", "the output of nothing that ran"),
        ("<!-- not run: it would take a cluster -->\n", "", "'no-such-command' ended with 127"),
        ("<!-- shown: a picture -->\n", "<!-- skipped: so -->\n", "there is no mark 'skipped'"),
        ("```python\nx = 3", "```\nx = 3", "not ''"),
        ("```python\nx = 3", "  ```python\nx = 3", "indented"),
    ],
)
def test_a_page_that_lies_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, true: str, false: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert HONEST.count(true) == 1
    with pytest.raises(PageError, match=re.escape(message)):
        run_page(page(tmp_path, HONEST.replace(true, false)), tmp_path)
