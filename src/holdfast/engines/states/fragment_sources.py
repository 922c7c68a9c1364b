"""The sites' data, opened and looked at: which columns there are, of which types, and that sites hold what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.encode.column_type import column_type
from holdfast.engines.states.changes import option_type
from holdfast.engines.states.state_engine import SourceTable, StateEngine
from holdfast.errors import SitesError, SourceError, SourceNotFoundError, closest_hint
from holdfast.fragments.condition_columns import condition_columns, require_condition_of_row
from holdfast.fragments.sites import Site, SplitTable, named_data, require_held
from holdfast.states.table_schema import FieldJson, SchemaJson, bare_field, field, sql_type, sql_types
from holdfast.tables.read_options import ReadOptions


@dataclass(frozen=True)
class Sources:
    """The sites with all their columns named, the whole table's columns, and each site's table, in order."""

    sites: SplitTable
    schema: SchemaJson
    tables: tuple[SourceTable, ...]

    @property
    def names(self) -> list[str]:
        """The names of the whole table's columns."""
        return list(sql_types(self.schema))

    def held(self, site: int) -> set[str]:
        """The names of the columns that the site holds, the key among them."""
        return {*self.sites.key, *(self.sites.sites[site].columns or ())}

    def conditions(self, site: int) -> list[str | None]:
        """The conditions of all groups of sites on their rows; None for one on columns that the site does not hold."""
        texts = ["true" if group.where is None else group.where for group in self.sites.row_groups]
        return [text if set(condition_columns(text, self.names)) <= self.held(site) else None for text in texts]


def open_sources(engine: StateEngine, sites: SplitTable, tables: Sequence[SourceTable] | None = None) -> Sources:
    """The sites' data, opened. SitesError where it does not fit the sites.

    `tables` are given where the data is not named in the sites file.
    """
    if tables is None:
        named_data(sites)
    opened = [_opened(engine, site) for site in sites.sites] if tables is None else list(tables)
    named = []
    for site, table in zip(sites.sites, opened, strict=True):
        columns = list(_types(engine, table))
        for name in (*sites.key, *(site.columns or ())):
            if name not in columns:
                what = "the key" if name in sites.key else "the column"
                raise SitesError(
                    f"site {site.name!r} lacks {what} {name!r}: its data, {table.name}, has no such column.",
                    hint=closest_hint(name, columns),
                )
        named.append(replace(site, columns=site.columns or tuple(c for c in columns if c not in sites.key)))
    known = replace(sites, sites=tuple(named))
    _require_alike(known)
    require_held(known)
    if tables is None:
        opened = _read_alike(engine, known, opened)
    return Sources(known, _whole_schema(engine, known, opened), tuple(opened))


def _opened(engine: StateEngine, site: Site, options: ReadOptions | None = None) -> SourceTable:
    try:
        return engine.read_table(str(site.data), options or ReadOptions())
    except SourceNotFoundError as problem:
        raise SourceNotFoundError(f"site {site.name!r}: {problem.message}", hint=problem.hint) from problem
    except SourceError as problem:
        raise SourceError(f"site {site.name!r}: {problem.message}", hint=problem.hint) from problem


def _types(engine: StateEngine, table: SourceTable) -> dict[str, str]:
    return sql_types(engine.schema_of(table))


def _read_alike(engine: StateEngine, sites: SplitTable, tables: Sequence[SourceTable]) -> list[SourceTable]:
    """The tables, with CSV files read anew whose columns are text in one file and something else in another.

    What a CSV holds decides its types: one without a value in a column takes the other's type, and text stays text.
    """
    types: list[dict[str, str]] = [{} for _ in tables]
    known = [_types(engine, table) for table in tables]
    for name in (*sites.key, *sites.columns):
        holders = [i for i, site in enumerate(sites.sites) if name in (*sites.key, *(site.columns or ()))]
        texts = [i for i in holders if column_type(known[i][name]).family == "text"]
        if not texts or len(texts) == len(holders):
            continue
        empty = [i for i in texts if _is_csv(tables[i]) and engine.entirely_null(tables[i], name)]
        if len(empty) == len(texts):
            wanted = option_type(known[next(i for i in holders if i not in texts)][name])
            types = [{**own, name: wanted} if i in empty and wanted else own for i, own in enumerate(types)]
        else:
            others = [i for i in holders if i not in texts and _is_csv(tables[i])]
            types = [{**own, name: "text"} if i in others else own for i, own in enumerate(types)]
    return [
        _opened(engine, site, ReadOptions(types=given)) if given else table
        for site, table, given in zip(sites.sites, tables, types, strict=True)
    ]


def _is_csv(table: SourceTable) -> bool:
    return table.origin is not None and table.origin.kind == "csv"


def _require_alike(sites: SplitTable) -> None:
    """SitesError where groups of sites hold different columns, or a condition cannot be told where its rows are."""
    first: set[str] | None = None
    for group in sites.row_groups:
        held = {name for i in group.sites for name in sites.sites[i].columns or ()}
        first = held if first is None else first
        if held != first:
            name = min(held ^ first)
            has, lacks = (group, sites.row_groups[0]) if name in held else (sites.row_groups[0], group)
            raise SitesError(
                f"{sites.origin}: the rows where {has.where} have a column {name!r}, but no site holds it for those "
                f"where {lacks.where}.",
                hint="name the columns of each site that all rows have: columns: [street, city].",
            )
    for group in sites.row_groups:
        if group.where is None:
            continue
        everything = (*sites.key, *sorted(first or ()))
        require_condition_of_row(group.where, everything)
        columns = condition_columns(group.where, everything)
        if not sites.holders(group, columns):
            raise SitesError(
                f"{sites.origin}: no site of the rows where {group.where} holds {', '.join(columns)}, so that nobody "
                "there can tell which rows these are.",
                hint="let one of these sites hold the columns of the condition.",
            )


def _whole_schema(engine: StateEngine, sites: SplitTable, tables: Sequence[SourceTable]) -> SchemaJson:
    """The columns of the whole table, the key first, each of a type that fits all sites' values."""
    own = [{column["name"]: bare_field(column) for column in engine.schema_of(table)["fields"]} for table in tables]
    fields: dict[str, tuple[FieldJson, str]] = {}
    for name in (*sites.key, *sites.columns):
        for site, columns in zip(sites.sites, own, strict=True):
            if name not in (*sites.key, *(site.columns or ())):
                continue
            if name not in fields:
                fields[name] = columns[name], site.name
                continue
            before, first = fields[name]
            common = _common(before, columns[name])
            if common is None:
                kinds = [column_type(sql_type(column)) for column in (before, columns[name])]
                raise SitesError(
                    f"the column {name!r} is {kinds[0]} at site {first!r}, but {kinds[1]} at {site.name!r}.",
                    hint="ids of equal values must be equal at all sites; store the column with one type.",
                )
            fields[name] = common, first
    return {"type": "struct", "fields": [column for column, _ in fields.values()]}


def _common(first: FieldJson, second: FieldJson) -> FieldJson | None:
    """A column of a type that values of both have: 1 and 1.0 are one value. None where there is none."""
    a, b = column_type(sql_type(first)), column_type(sql_type(second))
    if a.sql == b.sql:
        return first
    if "void" in (a.family, b.family):
        return second if a.family == "void" else first
    if not (a.numeric and b.numeric):
        return None
    if "float" in (a.family, b.family):
        return field(first["name"], "double")
    if a.family == b.family == "integer":
        return field(first["name"], "long")
    scale = max(a.scale, b.scale)
    whole = max(19 if kind.family == "integer" else kind.precision - kind.scale for kind in (a, b))
    return field(first["name"], f"decimal({min(38, whole + scale)},{scale})")
