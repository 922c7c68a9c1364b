"""The documentation as a site: it builds without a warning, its links lead somewhere, and it loads nothing."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Strict: a warning, of a dead link or anchor among others, ends the build."""
    pytest.importorskip("material", reason="the group docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class _Page(HTMLParser):
    """What a page names: its anchors, where its links lead, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value for name, value in attrs if value is not None}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        elif tag in ("img", "script", "iframe", "source") and "src" in named:
            self.loads.append(named["src"])
        elif tag == "link" and named.get("rel") != "canonical" and "href" in named:
            self.loads.append(named["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, _Page]:
    found = {
        file.name: _Page(file.read_text("utf-8")) for file in sorted(site.glob("*.html")) if file.name != "404.html"
    }
    assert set(found) == {f"{page.stem}.html" for page in PAGES}
    return found


def test_links_and_anchors_lead_somewhere(site: Path, pages: dict[str, _Page]) -> None:
    dead = []
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = parts.path or name
            if not (site / target).exists() or (
                parts.fragment and unquote(parts.fragment) not in pages[target].anchors
            ):
                dead.append(f"{name}: {link}")
    assert not dead


def test_the_site_loads_nothing_from_elsewhere(site: Path, pages: dict[str, _Page]) -> None:
    for name, page in pages.items():
        for loaded in page.loads:
            assert not urlsplit(loaded).scheme, f"{name} loads {loaded}"
            assert not loaded.startswith("//"), f"{name} loads {loaded}"
            assert (site / urlsplit(loaded).path).exists(), f"{name} loads {loaded}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text("utf-8")), style


def test_blocks_that_are_files_have_their_names_above_them(site: Path) -> None:
    check = (site / "check.html").read_text("utf-8")
    assert re.findall(r'<span class="filename">(.+?)</span>', check)[:2] == ["people.csv", "rules.yaml"]
    for page in PAGES:
        named = re.findall(r"^<!-- (?:file|shows): (.+) -->$", page.read_text("utf-8"), re.MULTILINE)
        shown = re.findall(r'<span class="filename">(.+?)</span>', (site / f"{page.stem}.html").read_text("utf-8"))
        assert shown == named


def test_every_page_is_in_the_navigation(pages: dict[str, _Page]) -> None:
    assert {f"{page.stem}.html" for page in PAGES} <= {urlsplit(link).path for link in pages["index.html"].links} | {
        "index.html"
    }


def test_links_of_the_readme_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)#]+)(?:#([^)]*))?\)", text)
    assert len(links) > 10
    for path, anchor in links:
        target = ROOT / path
        assert target.exists(), path
        headings = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in slugs, f"{path}#{anchor}"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nobody needs to know."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served; without a server the theme leaves the search out."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1400, "light")])
def test_pages_in_a_browser(address: str, browser: Any, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, told = context.new_page(), []
    page.on("pageerror", lambda problem: told.append(str(problem)))
    page.on("request", lambda request: told.append(request.url) if not request.url.startswith(address) else None)
    for source in PAGES:
        page.goto(f"{address}/{source.stem}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{source.stem} overflows"
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(map(int, re.findall(r"\d+", back)[:3]))
        assert brightness < 200 if scheme == "dark" else brightness > 600, source.stem
        broken = "[...document.images].filter((one) => !one.complete || !one.naturalWidth).map((one) => one.src)"
        assert page.evaluate(broken) == []
    assert told == []
    context.close()


def test_the_search_finds_words(address: str, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{address}/index.html?q=baseline")  # asked in the address, nothing is typed before it is listened to
    found = page.locator(".md-search-result__link").first
    found.wait_for(state="attached")
    assert found.get_attribute("href").startswith(f"{address}/check.html")
    page.close()
