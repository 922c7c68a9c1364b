"""A denormalised table of sales in the manner of TPC-H, its rules, and ways to split it over sites; all from a seed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
from tables import texts

REGIONS, NATIONS, SEGMENTS, STATUSES, MODES, MAKERS = 5, 25, 5, 3, 7, 5
DAYS = 7 * 365

# What each part of the schema holds: the sites of a vertical split are made of these.
PARTS = {
    "orders": ["o_key", "o_status", "o_priority", "o_clerk"],
    "dates": ["d_day", "d_year", "d_quarter", "d_week"],
    "customers": ["c_key", "c_name", "c_phone"],
    "places": ["c_nation", "c_region", "c_segment"],
    "suppliers": ["s_key", "s_name", "s_phone"],
    "countries": ["s_nation", "s_region"],
    "parts": ["p_key", "p_name", "p_brand"],
    "makers": ["p_maker", "p_type", "p_size"],
    "lines": ["l_quantity", "l_price", "l_discount"],
    "shipping": ["l_mode", "l_tax", "l_port"],
}
COLUMNS = [name for own in PARTS.values() for name in own]

# Dependencies that the table holds but for errors; conditional ones add a value to them.
DEPENDENCIES = [
    "c_key -> c_name",
    "c_key -> c_nation",
    "c_key -> c_segment",
    "c_nation -> c_region",
    "c_name -> c_phone",
    "s_key -> s_name",
    "s_key -> s_nation",
    "s_nation -> s_region",
    "s_name -> s_phone",
    "p_key -> p_name",
    "p_key -> p_brand",
    "p_brand -> p_maker",
    "p_key -> p_type",
    "p_name, p_brand -> p_size",
    "d_day -> d_year",
    "d_day -> d_quarter",
    "d_day -> d_week",
    "o_key -> c_key",
    "o_key -> d_day",
    "o_key -> o_priority",
    "o_key -> o_clerk",
    "p_key, s_key -> l_tax",
    "c_nation, l_mode -> l_port",
    "p_key, s_region -> l_price",
    "c_segment, d_year, p_maker -> l_discount",
]
VALUES = {
    "c_region": [f"CR{i}" for i in range(REGIONS)],
    "o_status": [f"OS{i}" for i in range(STATUSES)],
    "l_mode": [f"LM{i}" for i in range(MODES)],
    "p_maker": [f"PM{i}" for i in range(MAKERS)],
    "d_year": list(range(1992, 1999)),
}


def sales(n: int, rng: np.random.Generator, noise: float) -> pa.Table:
    """A line per sold part, with its order, date, customer, supplier and part; `noise` of the values are wrong."""
    order = rng.integers(0, max(n // 4, 1), n)
    customer, clerk, priority = order * 7919 % max(n // 40, 10), order % 1000, order % 5
    day = order * 31 % DAYS
    supplier, part = rng.integers(0, max(n // 400, 10), n), rng.integers(0, max(n // 30, 10), n)
    nation, s_nation = customer % NATIONS, supplier % NATIONS
    brand = part % 25
    mode = rng.integers(0, MODES, n)
    whole: dict[str, Any] = {
        "o_key": order,
        "o_status": texts("OS", rng.integers(0, STATUSES, n)),
        "o_priority": priority,
        "o_clerk": texts("Clerk#", clerk),
        "d_day": day,
        "d_year": 1992 + day // 365,
        "d_quarter": day % 365 // 92,
        "d_week": day // 7,
        "c_key": customer,
        "c_name": texts("Customer#", customer),
        "c_phone": texts("10-555-", customer),
        "c_nation": texts("CN", nation),
        "c_region": texts("CR", nation % REGIONS),
        "c_segment": texts("SEG", customer % SEGMENTS),
        "s_key": supplier,
        "s_name": texts("Supplier#", supplier),
        "s_phone": texts("20-555-", supplier),
        "s_nation": texts("SN", s_nation),
        "s_region": texts("SR", s_nation % REGIONS),
        "p_key": part,
        "p_name": texts("Part#", part),
        "p_brand": texts("Brand#", brand),
        "p_maker": texts("PM", brand % MAKERS),
        "p_type": texts("TYPE", part % 150),
        "p_size": part % 50,
        "l_quantity": rng.integers(1, 51, n),
        "l_price": (part * 97 + s_nation % REGIONS) % 100_000 / 100,
        "l_discount": (customer % SEGMENTS + day // 365 + brand % MAKERS) % 10 / 100,
        "l_mode": texts("LM", mode),
        "l_tax": (part + supplier) % 9 / 100,
        "l_port": texts("PORT", nation * MODES + mode),
    }
    for name in {rule.split("-> ")[1] for rule in DEPENDENCIES} - {"c_key", "d_day"}:
        column = whole[name] if isinstance(whole[name], pa.Array) else pa.array(whole[name])
        at = np.arange(n)
        wrong = rng.random(n) < noise
        at[wrong] = rng.integers(0, n, int(wrong.sum()))
        whole[name] = column.take(pa.array(at))
    return pa.table({"id": np.arange(n), **{name: whole[name] for name in COLUMNS}})


def rules(count: int, seed: int) -> list[dict[str, str]]:
    """So many rules: the dependencies, then conditional ones made of them with a value of one further column."""
    chance = random.Random(seed)
    made = [{"name": f"r{i}", "rule": text} for i, text in enumerate(DEPENDENCIES[:count])]
    seen = {entry["rule"] for entry in made}
    while len(made) < count:
        text = chance.choice(DEPENDENCIES)
        column = chance.choice(sorted(VALUES))
        value = chance.choice(VALUES[column])
        shown = value if isinstance(value, int) else f"'{value}'"
        conditional = f"{column} = {shown}, {text}"
        if column not in text and conditional not in seen:
            seen.add(conditional)
            made.append({"name": f"r{len(made)}", "rule": conditional})
    return made


def vertical(sites: int) -> dict[str, list[str]]:
    """The columns of each of so many sites, the parts of the schema dealt out; two columns have a replica."""
    held: list[list[str]] = [[] for _ in range(sites)]
    for number, own in enumerate(PARTS.values()):
        held[number % sites] += own
    for name, place in (("c_key", 0), ("p_key", sites - 1)):
        if name not in held[place]:
            held[place].append(name)
    return {f"V{i}": own for i, own in enumerate(held)}


def horizontal(sites: int) -> dict[str, str]:
    """The condition of each of so many sites: rows are split by their supplier."""
    return {f"H{i}": f"s_key % {sites} = {i}" for i in range(sites)}
