"""The sites' data, opened and looked at: which columns there are, of which types, and that sites hold what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, DoubleType, LongType, StructField, StructType

from holdfast.encode.column_type import column_type
from holdfast.engines.spark.checking.rows import entirely_null
from holdfast.engines.spark.sources.sources import read_table
from holdfast.engines.spark.sources.table import Table
from holdfast.engines.spark.states.changes import typed_column
from holdfast.engines.states.changes import option_type
from holdfast.errors import SitesError, closest_hint
from holdfast.fragments.parts import condition_columns
from holdfast.fragments.sites import Site, SplitTable, require_held
from holdfast.tables.read_options import ReadOptions


@dataclass(frozen=True)
class Sources:
    """The sites with all their columns named, the whole table's columns, and each site's table, in order."""

    sites: SplitTable
    schema: StructType
    tables: tuple[Table, ...]

    def frame(self, site: int) -> DataFrame:
        """The site's rows: its columns under the safe names of the whole table, in the whole table's types."""
        table, own = self.tables[site], self.tables[site].frame
        plain = own.toDF(*(f"x{i}" for i in range(len(own.columns))))
        place = {name: i for i, name in enumerate(own.columns)}
        types = {field.name: field.dataType for field in own.schema.fields}
        wanted = {*self.sites.key, *(self.sites.sites[site].columns or ())}
        columns = [
            typed_column(f"x{place[field.name]}", field.name, types[field.name], field.dataType, table.name).alias(
                f"c{i}"
            )
            for i, field in enumerate(self.schema.fields)
            if field.name in wanted
        ]
        return plain.select(*columns)


def open_sources(spark: SparkSession, sites: SplitTable, tables: Sequence[Table] | None = None) -> Sources:
    """The sites' data, opened and not yet scanned. SitesError where it does not fit the sites.

    `tables` are given where the data is not named in the sites file.
    """
    opened = list(tables) if tables is not None else [_opened(spark, sites, site) for site in sites.sites]
    named = []
    for site, table in zip(sites.sites, opened, strict=True):
        columns = table.frame.columns
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
        opened = _read_alike(spark, known, opened)
    return Sources(known, _whole(known, opened), tuple(opened))


def _read_alike(spark: SparkSession, sites: SplitTable, tables: Sequence[Table]) -> list[Table]:
    """The tables, with CSV files read anew whose columns are text in one file and something else in another.

    What a CSV holds decides its types: one without a value in a column takes the other's type, and text stays text.
    """
    types: list[dict[str, str]] = [{} for _ in tables]
    for name in (*sites.key, *sites.columns):
        holders = [i for i, site in enumerate(sites.sites) if name in (*sites.key, *(site.columns or ()))]
        kinds = {i: column_type(_type_of(tables[i], name).simpleString()) for i in holders}
        texts = [i for i in holders if kinds[i].family == "text"]
        if not texts or len(texts) == len(holders):
            continue
        empty = [i for i in texts if _is_csv(tables[i]) and entirely_null(tables[i].frame, [name])]
        if len(empty) == len(texts):
            wanted = option_type(_type_of(tables[next(i for i in holders if i not in texts)], name).simpleString())
            types = [{**own, name: wanted} if i in empty and wanted else own for i, own in enumerate(types)]
        else:
            others = [i for i in holders if i not in texts and _is_csv(tables[i])]
            types = [{**own, name: "text"} if i in others else own for i, own in enumerate(types)]
    return [
        read_table(spark, str(site.data), ReadOptions(types=given)) if given else table
        for site, table, given in zip(sites.sites, tables, types, strict=True)
    ]


def _type_of(table: Table, name: str) -> DataType:
    return next(field.dataType for field in table.frame.schema.fields if field.name == name)


def _is_csv(table: Table) -> bool:
    return table.origin is not None and table.origin.kind == "csv"


def given_tables(sites: SplitTable, data: Mapping[str, DataFrame]) -> list[Table]:
    """The sites' tables, in order, of frames by the site's name."""
    for site in sites.sites:
        if site.name not in data:
            raise SitesError(
                f"no data is given for site {site.name!r}.", hint=f"data is given for: {', '.join(data) or 'none'}."
            )
    return [Table(data[site.name], f"the data of {site.name}") for site in sites.sites]


def _opened(spark: SparkSession, sites: SplitTable, site: Site) -> Table:
    if site.data is None:
        raise SitesError(
            f"{sites.origin}: site {site.name!r} does not say where its data is.",
            hint="add data: to it, as a path or URL.",
        )
    return read_table(spark, site.data)


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
        columns = condition_columns(group.where, (*sites.key, *sorted(first or ())))
        if not sites.holders(group, columns):
            raise SitesError(
                f"{sites.origin}: no site of the rows where {group.where} holds {', '.join(columns)}, so that nobody "
                "there can tell which rows these are.",
                hint="let one of these sites hold the columns of the condition.",
            )


def _whole(sites: SplitTable, tables: Sequence[Table]) -> StructType:
    """The columns of the whole table, the key first, each of a type that fits all sites' values."""
    fields: dict[str, tuple[DataType, str]] = {}
    for name in (*sites.key, *sites.columns):
        for site, table in zip(sites.sites, tables, strict=True):
            if name not in (*sites.key, *(site.columns or ())):
                continue
            own = _type_of(table, name)
            if name not in fields:
                fields[name] = own, site.name
                continue
            common = _common(fields[name][0], own)
            if common is None:
                kinds = [column_type(kind.simpleString()) for kind in (fields[name][0], own)]
                raise SitesError(
                    f"the column {name!r} is {kinds[0]} at site {fields[name][1]!r}, but {kinds[1]} at {site.name!r}.",
                    hint="ids of equal values must be equal at all sites; store the column with one type.",
                )
            fields[name] = common, fields[name][1]
    return StructType([StructField(name, kind) for name, (kind, _) in fields.items()])


def _common(first: DataType, second: DataType) -> DataType | None:
    """A type that values of both have: 1 and 1.0 are one value. None where there is none."""
    if first == second or first.simpleString() == second.simpleString():
        return first
    a, b = column_type(first.simpleString()), column_type(second.simpleString())
    if "void" in (a.family, b.family):
        return second if a.family == "void" else first
    if not (a.numeric and b.numeric):
        return None
    if "float" in (a.family, b.family):
        return DoubleType()
    if a.family == b.family == "integer":
        return LongType()
    scale = max(a.scale, b.scale)
    whole = max(19 if kind.family == "integer" else kind.precision - kind.scale for kind in (a, b))
    return DataType.fromDDL(f"decimal({min(38, whole + scale)}, {scale})")


def wrong_sql(sites: SplitTable, site: int, truths: dict[str, str]) -> str:
    """SQL for which group's condition a row of the site does not keep to; null where it keeps to all it can be told."""
    cases = []
    for number, group in enumerate(sites.row_groups):
        if group.where is None or group.where not in truths:
            continue
        own = site in group.sites
        cases.append(f"WHEN {'NOT ' if own else ''}{truths[group.where]} THEN {number}")
    return f"CAST(CASE {' '.join(cases)} END AS INT)" if cases else "CAST(NULL AS INT)"


def tellable(sites: SplitTable, site: int, schema: StructType) -> list[str]:
    """The conditions on rows that the site can tell of: those on columns it holds."""
    held = {*sites.key, *(sites.sites[site].columns or ())}
    conditions = (group.where for group in sites.row_groups if group.where is not None)
    return [c for c in conditions if set(condition_columns(c, schema.names)) <= held]


def group_sql(sites: SplitTable, truths: dict[str, str], nowhere: int, several: int) -> str:
    """SQL for the group of sites that a row belongs to."""
    if len(sites.row_groups) == 1 and sites.row_groups[0].where is None:
        return "0"
    flags = [f"CAST({truths[group.where or '']} AS INT)" for group in sites.row_groups]
    cases = " ".join(f"WHEN {flag} = 1 THEN {number}" for number, flag in enumerate(flags))
    return f"CASE WHEN {' + '.join(flags)} > 1 THEN {several} {cases} ELSE {nowhere} END"
