"""SplitTable files: which site holds what of a table, and by which rules. Every error names the file and the line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml

from holdfast.errors import SitesError, closest_hint
from holdfast.fragments.condition_columns import same_condition
from holdfast.fragments.parts import parts_of
from holdfast.rules.rule import RuleSet
from holdfast.rules.rule_file import dump_rules, read_rules, refuse_tables, rules_of
from holdfast.rules.settings import (
    SettingProblem,
    anything,
    choice,
    first_problem,
    list_of,
    mapping_of,
    optional,
    settings,
    text,
)
from holdfast.rules.yaml_nodes import composed, line_of, node_at, plain_content, read_yaml_text


@dataclass(frozen=True)
class Site:
    """A place that holds some columns, besides the key, of the rows that satisfy `where`.

    Without `columns` it holds all of them, without `where` all rows.
    """

    name: str
    columns: tuple[str, ...] | None = None
    where: str | None = None
    data: str | None = None


@dataclass(frozen=True)
class RowGroup:
    """The sites that together hold the rows satisfying `where`, by their positions; all rows without it."""

    where: str | None
    sites: tuple[int, ...]


@dataclass(frozen=True)
class SplitTable:
    """A table's fragments, the key that every site has, and the rules over the whole table."""

    key: tuple[str, ...]
    sites: tuple[Site, ...]
    rules: RuleSet
    origin: str = "sites"

    @cached_property
    def row_groups(self) -> tuple[RowGroup, ...]:
        """The sites by what rows they hold, in order of first mention."""
        members: dict[str | None, list[int]] = {}
        for number, site in enumerate(self.sites):
            members.setdefault(None if site.where is None else same_condition(site.where), []).append(number)
        return tuple(RowGroup(self.sites[numbers[0]].where, tuple(numbers)) for numbers in members.values())

    @property
    def split(self) -> Literal["vertical", "horizontal", "hybrid"]:
        if len(self.row_groups) == 1:
            return "vertical"
        return "horizontal" if all(len(group.sites) == 1 for group in self.row_groups) else "hybrid"

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that sites are said to hold, in order of first mention; those of sites that say none are not."""
        named = (name for site in self.sites for name in site.columns or ())
        return tuple(dict.fromkeys(named))

    def holders(self, group: RowGroup, columns: Sequence[str]) -> tuple[int, ...]:
        """The sites of the group that hold all the columns."""
        held = ((i, self.sites[i].columns) for i in group.sites)
        return tuple(i for i, own in held if own is None or {*own, *self.key} >= set(columns))

    def to_yaml(self) -> str:
        """A sites file that says the same, with the rules in it."""
        content: dict[str, Any] = {
            "key": list(self.key),
            "sites": {
                site.name: {
                    name: list(value) if isinstance(value, tuple) else value
                    for name, value in (("columns", site.columns), ("where", site.where), ("data", site.data))
                    if value is not None
                }
                for site in self.sites
            },
            "rules": yaml.safe_load(dump_rules(replace(self.rules, key=()))),
        }
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)


_SITE_SETTINGS = {"columns": optional(list_of(text)), "where": optional(text), "data": optional(text)}
_FILE_SETTINGS = {
    "version": choice("1"),
    "key": list_of(text, filled=True),
    "nulls": optional(choice("sql", "equal")),
    "sites": mapping_of(optional(settings(_SITE_SETTINGS)), filled=True),
    "rules": anything,
}
_FILE = settings(_FILE_SETTINGS, required={"key", "sites", "rules"})


def read_sites(path: str | os.PathLike[str]) -> SplitTable:
    """The sites and rules of a YAML file, checked as far as that can be done without data.

    Files that it names are looked for beside it, then where the process runs.
    """
    place = Path(path)
    return parse_sites(read_yaml_text(place, "sites file", SitesError), origin=str(place), folder=place.parent)


def as_sites(sites: SplitTable | str | os.PathLike[str]) -> SplitTable:
    """SplitTable as a caller may have them: made, or in a file."""
    return sites if isinstance(sites, SplitTable) else read_sites(sites)


def named_data(sites: SplitTable) -> list[str]:
    """Where the data of each site is. SitesError where the sites file does not say."""
    for site in sites.sites:
        if site.data is None:
            raise SitesError(
                f"{sites.origin}: site {site.name!r} does not say where its data is.",
                hint="add data: to it, as a path or URL.",
            )
    return [str(site.data) for site in sites.sites]


def given_data(sites: SplitTable, data: Mapping[str, Any]) -> list[Any]:
    """What is given for each site, in order. SitesError where nothing is."""
    for site in sites.sites:
        if site.name not in data:
            raise SitesError(
                f"no data is given for site {site.name!r}.", hint=f"data is given for: {', '.join(data) or 'none'}."
            )
    return [data[site.name] for site in sites.sites]


def parse_sites(text: str, *, origin: str = "sites", folder: Path | None = None) -> SplitTable:
    """The sites that the YAML text says. `origin` is what errors call it, `folder` where its files may lie."""
    root = composed(text, origin)
    plain = plain_content(root, origin)
    if not isinstance(plain, dict):
        raise SitesError(f"{origin} names no sites.", hint=_EXAMPLE)
    content = {**plain, "key": [plain["key"]]} if isinstance(plain.get("key"), str) else plain
    problem = first_problem(_FILE, content)
    if problem is not None:
        raise _sites_error(problem, root, origin)
    key: list[str] = content["key"]
    sites = tuple(_site(name, given or {}, key, root, origin, folder) for name, given in content["sites"].items())
    rules = _rules(content["rules"], root, origin, folder)
    if rules.key and list(rules.key) != key:
        raise SitesError(
            f"{origin}, line {line_of(root, ('key',))}: the key is {', '.join(key)}, but the rules name rows "
            f"by {', '.join(rules.key)}."
        )
    nulls = content.get("nulls") or rules.nulls
    parsed = SplitTable(tuple(key), sites, replace(rules, key=tuple(key), nulls=nulls), origin)
    _require_sense(parsed, root, origin)
    return parsed


_EXAMPLE = """a sites file looks like

key: id
sites:
  V1: {columns: [street, city, zip], data: v1.parquet}
  V2: {columns: [CC, AC], data: v2.parquet}
rules: ["CC = 44, zip -> street"]"""


def _site(name: str, given: dict[str, Any], key: list[str], root: yaml.Node, origin: str, folder: Path | None) -> Site:
    columns = _columns(name, given.get("columns"), key, root, origin)
    return Site(name, columns, given.get("where"), _resolved_path(given.get("data"), folder))


def _rules(rules: Any, root: yaml.Node, origin: str, folder: Path | None) -> RuleSet:
    wanted = _wanted_rules(rules, root, origin, folder)
    refuse_tables(wanted, "fragments")
    return wanted


def _wanted_rules(rules: Any, root: yaml.Node, origin: str, folder: Path | None) -> RuleSet:
    if isinstance(rules, str):
        return read_rules(_resolved_path(rules, folder) or rules)
    if not rules:
        raise SitesError(f"{origin}, line {line_of(root, ('rules',))}: there are no rules.")
    return rules_of(node_at(root, ("rules",)), origin=origin)


def _columns(
    site: str, columns: list[str] | None, key: list[str], root: yaml.Node, origin: str
) -> tuple[str, ...] | None:
    if columns is None:
        return None
    for name in columns:
        if columns.count(name) > 1:
            line = line_of(root, ("sites", site, "columns"))
            raise SitesError(f"{origin}, line {line}: site {site!r} names the column {name!r} twice.")
    return tuple(name for name in columns if name not in key)


def _resolved_path(data: str | None, folder: Path | None) -> str | None:
    """Returns the file beside the sites file if there is one, and otherwise the path as given."""
    if data is None or folder is None or ":" in data.split("/")[0]:
        return data
    beside = folder / data
    return str(beside) if beside.exists() else data


def _require_sense(sites: SplitTable, root: yaml.Node, origin: str) -> None:
    """SitesError where sites cannot be the fragments of one table, as far as that can be told without data."""
    for site in sites.sites:
        try:
            same_condition(site.where or "true")
        except SitesError as problem:
            where = f"{origin}, line {line_of(root, ('sites', site.name, 'where'))}: site {site.name!r}"
            raise SitesError(f"{where}: {problem.message}", hint=problem.hint) from None
    with_rows = [site for site in sites.sites if site.where is not None]
    if with_rows and len(with_rows) < len(sites.sites):
        whole = next(site for site in sites.sites if site.where is None)
        raise SitesError(
            f"{origin}, line {line_of(root, ('sites', whole.name))}: site {whole.name!r} holds all rows, but "
            f"{with_rows[0].name!r} only those where {with_rows[0].where}.",
            hint="give all sites a condition (`where`) on their rows, or none.",
        )
    for group in sites.row_groups:
        if any(sites.sites[i].columns is None for i in group.sites) and len(group.sites) > 1:
            bare = next(sites.sites[i].name for i in group.sites if sites.sites[i].columns is None)
            others = [sites.sites[i].name for i in group.sites if sites.sites[i].name != bare]
            raise SitesError(
                f"{origin}, line {line_of(root, ('sites', bare))}: site {bare!r} does not say which columns it holds, "
                f"though {', '.join(others)} hold{'s' if len(others) == 1 else ''} the same rows.",
                hint="name the columns of each site: columns: [street, city].",
            )
    require_held(sites)
    # Rules that ids cannot settle are refused here, before anything is opened.
    parts_of(sites.rules, sites.columns)


def require_held(sites: SplitTable) -> None:
    """SitesError where a rule names a column that nobody holds among some of the rows."""
    for group in sites.row_groups:
        if any(sites.sites[i].columns is None for i in group.sites):
            continue
        held = [*sites.key, *dict.fromkeys(name for i in group.sites for name in sites.sites[i].columns or ())]
        among = "" if group.where is None else f" among the rows where {group.where}"
        for rule in sites.rules:
            for name in rule.body.columns:
                if name not in held:
                    raise SitesError(
                        f"{sites.origin}: rule {rule.name!r} names the column {name!r}, which no site holds{among}.",
                        hint=closest_hint(name, held),
                    )


def _sites_error(problem: SettingProblem, root: yaml.Node, origin: str) -> SitesError:
    location = problem.location
    where = f"{origin}, line {line_of(root, location)}"
    if len(location) > 1 and location[0] == "sites":
        where += f", site {location[1]!r}"
    field = str(location[-1])
    match problem.kind:
        case "unknown":
            known = _SITE_SETTINGS if len(location) > 2 else _FILE_SETTINGS
            hint = closest_hint(field, known, what="Settings")
            return SitesError(f"{where}: there is no setting {field!r}.", hint=hint)
        case "missing":
            return SitesError(f"{where}: {field!r} is missing.", hint=_EXAMPLE)
        case "empty":
            return SitesError(f"{where}: {field!r} is empty.", hint=_EXAMPLE)
        case "choice":
            return SitesError(f"{where}: {field} is {problem.value!r}.", hint=f"it may be {problem.wanted}.")
        case "type":
            wanted = "settings by site" if location == ("sites",) else problem.wanted
            return SitesError(f"{where}: {field!r} should be {wanted}.", hint=_EXAMPLE)
