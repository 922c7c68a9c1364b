"""Reports as a user asks for them, opened in Chromium at the size of a phone and of a laptop."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli import app

EVIL = "<script>window.pwned = 1</script>"
TABLE = "id,zip,city,\"a <b>\",n,m\n" + "".join(
    f"{i},{8000 + i % 4},{EVIL if i == 7 else 'Zürich' if i % 4 else 'Genève'},{'w' * 90 if i == 3 else i % 5},"
    f"{i},{i if i % 9 else 60 - i}\n"
    for i in range(1, 60)
)  # fmt: skip
RULES = """\
key: id
rules:
  - name: zip-city
    rule: zip -> city
    description: "one <i>zip</i>, one city"
  - name: rising
    rule: not(t.zip = s.zip and t.n > s.n and t.m < s.m)
  - name: once
    rule: unique(city, "a <b>")
  - name: short
    rule: not(t."a <b>" = 'www')
  - name: small
    rule: not(t.n > 50)
    severity: warn
"""


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [*map(str, arguments), "--quiet"])


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reports of a check, a discovery, a watch and rules that evolve, of one table."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "t.csv").write_text(TABLE, encoding="utf-8")
    (folder / "rules.yaml").write_text(RULES, encoding="utf-8")
    assert run("check", folder / "t.csv", folder / "rules.yaml", "--report", folder / "check.html").exit_code == 1
    asked = ("discover", folder / "t.csv", "--max-predicates", "2", "--report", folder / "discover.html")
    assert run(*asked).exit_code == 0
    state = folder / "state"
    run("watch", "init", state, "--data", folder / "t.csv", "--rules", folder / "rules.yaml")
    header = TABLE.splitlines()[0] + ",_change_type"
    (folder / "c.csv").write_text(f"{header}\n7,8003,Zürich,2,7,7,update_postimage\n", encoding="utf-8")
    assert run("watch", "apply", state, folder / "c.csv").exit_code == 0
    assert run("watch", "show", state, "--report", folder / "watch.html").exit_code == 0
    kept = folder / "kept"
    done = run("evolve", "init", kept, "--data", folder / "t.csv", "--key", "id", "--columns", "zip,n,m")
    assert done.exit_code == 0
    (folder / "e.csv").write_text(f"{TABLE.splitlines()[0]}\n99,8003,{EVIL},2,7,7\n", encoding="utf-8")
    assert run("evolve", "apply", kept, folder / "e.csv").exit_code == 0
    assert run("evolve", "show", kept, "--report", folder / "evolve.html").exit_code == 0
    return folder


def test_a_report_says_what_was_found(reports: Path) -> None:
    check = (reports / "check.html").read_text("utf-8")
    assert "4 of 5 rules are violated, 1 only as a warning." in check
    assert "Rows with the same zip have the same city." in check
    assert "Suggestion, not applied: city = <b>Zürich</b> for the other row, as" in check
    assert "Duplicated values" in check
    assert 'class="join"' in check
    assert "Violating rows" in check
    assert "Worst rows" in check
    assert "&lt;script&gt;window.pwned" in check
    discover = (reports / "discover.html").read_text("utf-8")
    assert "Which columns determine which" in discover
    assert "No two rows have the same id." in discover
    watch = (reports / "watch.html").read_text("utf-8")
    assert "Violations over time" in watch
    assert watch.count('class="area"') == 5
    evolve = (reports / "evolve.html").read_text("utf-8")
    assert "What was removed and added" in evolve
    assert "Broken by" in evolve
    assert evolve.count("<h3>Removed</h3>") == 1
    assert evolve.index("What was removed and added") < evolve.index("Rules now")
    for page in (check, discover, watch, evolve):
        assert len(page.encode()) < 300_000
        assert page.count("<script>") == 1


def test_a_report_is_whole_on_every_engine(spark: SparkSession, tmp_path: Path) -> None:
    from holdfast.api.jobs import open_job_table
    from holdfast.engines.spark.checking.check import plan_check, run_check
    from holdfast.engines.spark.sources.sources import read_table
    from holdfast.rules.rule_file import parse_rules

    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    table = read_table(spark, tmp_path / "t.csv")
    plan = plan_check(table, parse_rules(RULES, origin="rules"), ("id",))
    here = open_job_table(tmp_path / "t.csv", engine="local")
    local = here.run_check(
        here.plan_check(plan.rules, ("id",)), limit=None, fail_on="error", all_columns=False, redact=()
    )
    seen = [local.shown]
    for engine in ("kernel", "spread"):  # the latter leaves keys, dependencies and single rows to Spark SQL
        with run_check(spark, table, plan, limit=None, engine=engine) as result:
            seen.append(result.shown)
    first, *others = seen
    for other in others:
        for a, b in zip(first.rules, other.rules, strict=True):
            assert (a.groups, a.duplicates, a.worst) == (b.groups, b.duplicates, b.worst)
            assert len(a.witnesses) == len(b.witnesses)
            assert (a.plot is None) == (b.plot is None)
            assert a.plot is None or b.plot is None or sorted(a.plot.dots) == sorted(b.plot.dots)
            for witness in b.witnesses:
                assert witness.left is not None
    rising = first.rules[1]
    assert rising.plot is not None
    assert rising.plot.within[0][0] == "zip"
    assert all(a[0] > b[0] and a[1] < b[1] for a, b in rising.plot.lines)


def test_a_timeline_outlives_its_versions(spark: SparkSession, tmp_path: Path) -> None:
    from holdfast.api import WatchState
    from holdfast.engines.spark.watching.watch import watched
    from holdfast.states.limits import StateLimits
    from holdfast.states.store import open_store
    from holdfast.watching.status import history

    (tmp_path / "t.csv").write_text("id,a\n0,0\n")
    WatchState.create(tmp_path / "state", tmp_path / "t.csv", ["unique(a)"], key="id")
    totals = [0]
    for i in range(1, 5):
        (tmp_path / f"{i}.csv").write_text(f"id,a\n{i},{i % 2}\n")
        state = watched(spark, tmp_path / "state").with_limits(StateLimits(kept_versions=2))
        totals.append(state.apply_file(str(tmp_path / f"{i}.csv"), limit=None).totals["unique-a"])
    assert len(list((tmp_path / "state" / "versions").iterdir())) < 5
    told = history(open_store(tmp_path / "state"))
    assert [point.totals["unique-a"] for point in told] == totals
    assert [point.rows for point in told] == [1, 2, 3, 4, 5]
    assert sorted(point.at for point in told) == [point.at for point in told]


def test_the_library_has_the_same_pages(reports: Path) -> None:
    with hf.check(reports / "t.csv", reports / "rules.yaml") as result:
        html = result.to_html()
    seconds = r" · [\d.]+ s</p>"
    assert re.sub(seconds, "", html) == re.sub(seconds, "", (reports / "check.html").read_text("utf-8"))
    assert "<article" in hf.discover(reports / "t.csv", columns="zip,city,n").to_html()


def test_a_report_is_refused_where_it_would_do_harm(reports: Path) -> None:
    done = run("check", reports / "t.csv", reports / "rules.yaml", "--report", reports / "t.csv")
    assert done.exit_code == 2
    assert "is an input of this command" in done.stderr
    twice = ("--report", reports / "x.html", "--output", reports / "x.html")
    done = run("check", reports / "t.csv", reports / "rules.yaml", *twice)
    assert done.exit_code == 2
    assert "--output and --report both name" in done.stderr
    done = run("watch", "show", reports / "state", "--report", reports / "no" / "x.html")
    assert done.exit_code == 2


@pytest.mark.parametrize("name", ["check", "discover", "watch", "evolve"])
@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1400, "light")])
def test_a_report_in_a_browser(reports: Path, browser: Any, name: str, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, told = context.new_page(), []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda problem: told.append(str(problem)))
    page.on("request", lambda request: told.append(request.url) if not request.url.startswith("file:") else None)
    page.goto((reports / f"{name}.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")

    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing overflows"
    wider = """() => [...document.querySelectorAll('main *')].filter((one) => {
        const scrolls = one.closest('.scroll') || one.closest('svg');
        return !scrolls && one.getBoundingClientRect().right > innerWidth + 0.5;
    }).map((one) => one.outerHTML.slice(0, 80))"""
    assert page.evaluate(wider) == []
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", back)[:3]))
    assert brightness < 200 if scheme == "dark" else brightness > 600
    assert page.evaluate("window.pwned") is None, "a value is shown, not run"

    items = page.locator("[data-item]")
    every = items.count()
    assert every > 0
    page.locator("[data-filters] [data-kind]").nth(1).click()
    kind = page.locator("[data-filters] [aria-pressed=true]").get_attribute("data-kind")
    shown = page.locator("[data-item]:not([hidden])")
    assert 0 < shown.count() < every
    assert {shown.nth(i).get_attribute("data-kind") for i in range(shown.count())} == {kind}
    page.locator("[data-filters] [data-kind]").first.click()
    page.locator("input[type=search]").fill("no such words")
    assert shown.count() == 0
    assert page.locator(".count").inner_text() == f"0 of {every} rules"
    page.locator("input[type=search]").fill("")
    if name == "discover":
        page.get_by_label("Rules on a column").select_option("city")
        columns = [one.get_attribute("data-columns") for one in shown.all()]
        assert columns
        assert all("city" in (some or "").split("\n") for some in columns)
        assert len(columns) < every
    else:
        assert "window.pwned" in page.locator("main").inner_text() or name in ("watch", "evolve")
    assert told == [], "no errors, and nothing is loaded"
    context.close()
