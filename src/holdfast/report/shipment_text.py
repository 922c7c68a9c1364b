"""A shipment plan as text on a terminal, and as a picture: Graphviz or SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from holdfast.errors import OptionError
from holdfast.fragments.shipment_plan import GroupPlan, Shipment, ShipmentPlan
from holdfast.report.watch_text import cells_in_columns
from holdfast.report.words import number
from holdfast.rules.plain_words import text_of_lines


def shipment_text(plan: ShipmentPlan) -> str:
    """Returns the ids shipped per changed row, without sharing, shared and planned; the shipments; and where each rule
    is settled."""
    names = [site.name for site in plan.sites.sites]
    method_note = "no plan ships fewer" if plan.method == "exact" else "found by improvement; fewer may be possible"
    size = f"{number(len(names), 'site')}, {plan.sites.split}, {number(len(plan.sites.rules), 'rule')}"
    lines = [
        f"{plan.sites.origin}  {size}",
        "",
        "ids shipped for one changed row",
        f"  each rule alone              {plan.alone:>4}",
        f"  shared, in written order     {plan.chained:>4}",
        f"  this plan                    {plan.shared:>4}   {plan.method}: {method_note}",
    ]
    for plan_of_group, group in zip(plan.groups, plan.sites.row_groups, strict=True):
        title = "shipments" if group.where is None else f"shipments of rows where {group.where}"
        cells = [
            (names[s.sender], "->", names[s.receiver], _atoms(plan_of_group, s.atoms), _rules(plan, s.rules))
            for s in plan_of_group.shipments
        ]
        lines += ["", title, *(cells_in_columns([("from", "", "to", "id of", "for"), *cells]) if cells else ["  none"])]
    lines += ["", "rules are settled", *cells_in_columns(_settled(plan, names))]
    return text_of_lines(lines)


def _settled(plan: ShipmentPlan, names: Sequence[str]) -> list[tuple[str, str]]:
    places_by_rule: dict[str, dict[str, None]] = {}
    for group in plan.groups:
        for part, settling in zip(plan.parts, group.settlings, strict=True):
            place = names[settling.site]
            if settling.keys:
                place += f", with keys from {', '.join(names[site] for site, _ in settling.keys)}"
            places_by_rule.setdefault(plan.sites.rules.rules[part.rule].name, {})[place] = None
    return [(rule, "at " + "; ".join(places)) for rule, places in places_by_rule.items()]


def _atoms(group: GroupPlan, atoms: Sequence[int]) -> str:
    return ", ".join(group.atoms[atom].text for atom in atoms)


def _rules(plan: ShipmentPlan, rules: Sequence[int]) -> str:
    return ", ".join(plan.sites.rules.rules[rule].name for rule in rules)


def shipment_picture(plan: ShipmentPlan, ending: str) -> str:
    """Returns the plan as a picture in the format of the file ending; OptionError for any other ending."""
    kinds = {".svg": shipment_svg, ".dot": shipment_dot, ".gv": shipment_dot}
    if ending not in kinds:
        raise OptionError(f"a picture cannot be drawn as {ending!r}.", hint=f"endings: {', '.join(kinds)}.")
    return kinds[ending](plan)


def shipment_dot(plan: ShipmentPlan) -> str:
    """Returns the plan for Graphviz: a box per site with its columns, an arrow per shipment."""
    lines = ["digraph shipments {", "  rankdir=LR;", '  node [shape=box, fontname="Helvetica"];']
    for site in plan.sites.sites:
        lines.append(f"  {_quoted(site.name)} [label={_quoted(_label(site.name, site.columns, site.where))}];")
    for group, shipment in plan.steps:
        ends = (plan.sites.sites[i].name for i in (shipment.sender, shipment.receiver))
        lines.append(f"  {' -> '.join(map(_quoted, ends))} [label={_quoted(_atoms(group, shipment.atoms))}];")
    return "\n".join([*lines, "}"]) + "\n"


def _label(name: str, columns: Sequence[str] | None, where: str | None) -> str:
    held = "all columns" if columns is None else ", ".join(columns)
    return "\n".join([name, held, *([where] if where else [])])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def shipment_svg(plan: ShipmentPlan) -> str:
    """Returns the plan as SVG: sites on a circle, and for each shipment an arrow with its columns."""
    names = [site.name for site in plan.sites.sites]
    radius = max(150, 34 * len(names))
    middle = radius + 130
    turn = 2 * math.pi / len(names)
    place = [(middle + radius * math.cos(turn * i), middle + radius * math.sin(turn * i)) for i in range(len(names))]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * middle:.0f} {2 * middle:.0f}" '
        'font-family="Helvetica, sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0L10 5L0 10z" fill="#444"/></marker></defs>',
    ]
    between: dict[tuple[int, int], int] = {}
    for group, shipment in plan.steps:
        ends = (shipment.sender, shipment.receiver)
        parts += _arrow(place, shipment, _atoms(group, shipment.atoms), between.get(ends, 0))
        between[ends] = between.get(ends, 0) + 1
    for (x, y), site in zip(place, plan.sites.sites, strict=True):
        held = "all columns" if site.columns is None else ", ".join(site.columns)
        parts += [
            f'<rect x="{x - 60:.1f}" y="{y - 20:.1f}" width="120" height="40" rx="6" fill="#f3f6fa" stroke="#456"/>',
            f'<text x="{x:.1f}" y="{y - 3:.1f}" text-anchor="middle" font-weight="bold">{_text(site.name)}</text>',
            f'<text x="{x:.1f}" y="{y + 13:.1f}" text-anchor="middle" font-size="10">{_text(_short(held))}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _arrow(place: Sequence[tuple[float, float]], shipment: Shipment, label: str, nth: int) -> list[str]:
    (x0, y0), (x1, y1) = place[shipment.sender], place[shipment.receiver]
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    # Each arrow is a little to the right of the one before, so that arrows between the same two sites do not overlap.
    aside = 6 + 14 * nth
    sx, sy = x0 + 50 * ux - aside * uy, y0 + 24 * uy + aside * ux
    tx, ty = x1 - 66 * ux - aside * uy, y1 - 26 * uy + aside * ux
    return [
        f'<line x1="{sx:.1f}" y1="{sy:.1f}" x2="{tx:.1f}" y2="{ty:.1f}" stroke="#444" marker-end="url(#tip)"/>',
        f'<text x="{sx + (tx - sx) * 0.45:.1f}" y="{sy + (ty - sy) * 0.45 - 3:.1f}" text-anchor="middle" '
        f'fill="#a33">{_text(_short(label))}</text>',
    ]


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _short(text: str, most: int = 22) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
