"""Dependencies whose left sides overlap, over sites with some replicas: the case of the shipment plan, from a seed."""

from __future__ import annotations

import random
from typing import Any


def overlapping(count: int, sites: int, seed: int) -> dict[str, Any]:
    """A sites file, as values: so many dependencies whose left sides overlap, with replicas of a fifth of columns."""
    chance = random.Random(seed)
    columns = [f"c{i}" for i in range(4 * sites)]
    held = {f"S{s}": columns[s::sites] for s in range(sites)}
    for name in chance.sample(columns, len(columns) // 5):
        site = f"S{chance.randrange(sites)}"
        held[site] = sorted({*held[site], name})
    themes = [chance.sample(columns, 3) for _ in range(count // 8)]
    made = []
    for _ in range(count):
        theme = chance.choice(themes)
        left = chance.sample(theme, chance.randint(2, 3))
        made.append(f"{', '.join(left)} -> {chance.choice([c for c in columns if c not in theme])}")
    return {"key": "id", "sites": {name: {"columns": own} for name, own in held.items()}, "rules": made}
