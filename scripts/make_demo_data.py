"""Writes the demo's data: clean.csv, a month of customer orders that keep the demo's rules, orders.csv, the same month
with the planted errors, the changes of three days after it, and payments.csv, what was paid for the orders, with errors
of its own.

The same bytes on every machine and Python: the only source of chance is `Random.random()`, which Python promises to
keep. `PLANTED` is the list of errors; the tests read it too.

    python scripts/make_demo_data.py [FOLDER]
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import TypeVar

T = TypeVar("T")

SEED = 20250501
ORDERS = 240
CUSTOMERS = 60
FIRST_DAY, LAST_DAY = date(2025, 5, 1), date(2025, 5, 31)
TARGET = Path(__file__).resolve().parent.parent / "src" / "holdfast" / "demo"


@dataclass(frozen=True)
class Planted:
    """One wrong cell: in which order, what stands there instead, and the rule of the demo that finds it."""

    order_id: str
    column: str
    value: str
    rule: str
    story: str


PLANTED: tuple[Planted, ...] = (
    Planted("SO-2569", "invoice", "INV-70812", "invoice-once", "the invoice number of the order before it"),
    Planted("SO-2486", "city", "Cambrige", "zip-place", "a typo"),
    Planted("SO-2571", "state", "IN", "zip-place", "Chicago moved to Indiana"),
    Planted("SO-2577", "currency", "EUR", "currency", "a Swiss order billed in euros"),
    Planted("SO-2593", "discount", "0.015", "volume-discount", "0.15 with a slipped digit"),
    Planted("SO-2470", "discount", "0.20", "volume-discount", "20 % off for two mugs"),
    Planted("SO-2600", "replaces", "SO-2504", "replacement", "SO-2540 with two digits swapped"),
    Planted("SO-2459", "shipped", "2025-05-01", "ship-date", "2025-05-11 with a digit off"),
    Planted("SO-2560", "shipped", "2024-05-21", "ship-date", "last year's date"),
    Planted("SO-2448", "delivered", "", "delivery-date", "delivered, nobody knows when"),
    Planted("SO-2587", "delivered", "", "delivery-date", "delivered, nobody knows when"),
    Planted("SO-2549", "email", "rosa.keller@exmaple.com", "one-address", "a typo in the domain"),
    Planted("SO-2440", "email", "", "reachable", "ordered by telephone"),
    Planted("SO-2610", "email", "", "reachable", "ordered by telephone"),
)

# Wrong payments: of an invoice that nobody has, a total that is no sum, and an invoice that is paid twice.
PLANTED_PAYMENTS = {"paid-order": "P-1042", "payment-total": "P-1077", "paid-twice": "P-1118"}

PLACES = (  # zip, city, state, country; a zip has one city and one state
    ("02139", "Cambridge", "MA", "US"),
    ("02108", "Boston", "MA", "US"),
    ("07030", "Hoboken", "NJ", "US"),
    ("10001", "New York", "NY", "US"),
    ("10027", "New York", "NY", "US"),
    ("30303", "Atlanta", "GA", "US"),
    ("60601", "Chicago", "IL", "US"),
    ("73301", "Austin", "TX", "US"),
    ("94103", "San Francisco", "CA", "US"),
    ("98101", "Seattle", "WA", "US"),
    ("01067", "Dresden", "SN", "DE"),
    ("04109", "Leipzig", "SN", "DE"),
    ("10115", "Berlin", "BE", "DE"),
    ("20095", "Hamburg", "HH", "DE"),
    ("50667", "Cologne", "NW", "DE"),
    ("80331", "Munich", "BY", "DE"),
    ("1201", "Geneva", "GE", "CH"),
    ("3011", "Bern", "BE", "CH"),
    ("4051", "Basel", "BS", "CH"),
    ("8001", "Zurich", "ZH", "CH"),
)
CURRENCIES = {"US": "USD", "DE": "EUR", "CH": "CHF"}
PRODUCTS = (  # sku, price in USD, EUR, CHF
    ("KET-01", {"USD": "34.90", "EUR": "32.50", "CHF": "33.90"}),
    ("KET-02", {"USD": "52.00", "EUR": "48.90", "CHF": "49.90"}),
    ("MUG-01", {"USD": "9.50", "EUR": "8.90", "CHF": "9.90"}),
    ("MUG-02", {"USD": "12.00", "EUR": "11.50", "CHF": "12.50"}),
    ("MUG-03", {"USD": "14.50", "EUR": "13.90", "CHF": "14.90"}),
    ("POT-01", {"USD": "27.00", "EUR": "24.90", "CHF": "26.50"}),
    ("POT-02", {"USD": "41.00", "EUR": "38.00", "CHF": "39.50"}),
    ("TEA-10", {"USD": "6.80", "EUR": "6.40", "CHF": "6.90"}),
    ("TEA-11", {"USD": "7.20", "EUR": "6.90", "CHF": "7.50"}),
    ("TEA-12", {"USD": "8.90", "EUR": "8.40", "CHF": "8.90"}),
    ("TIN-05", {"USD": "15.00", "EUR": "14.00", "CHF": "14.50"}),
)
FIRST_NAMES = (
    *("Ada", "Ben", "Carla", "David", "Elif", "Felix", "Grace", "Hugo", "Ines", "Jonas"),
    *("Karin", "Luca", "Maya", "Nils", "Olga", "Paul", "Rosa", "Samir", "Tessa", "Viktor"),
)
LAST_NAMES = (
    *("Adler", "Brooks", "Conti", "Dubois", "Eriksen", "Fischer", "Grant", "Huber", "Ivers", "Jensen"),
    *("Keller", "Lang", "Moreau", "Novak", "Ortiz", "Perry", "Reed", "Stone", "Turner", "Weber"),
)
TIERS = ("bronze", "bronze", "bronze", "silver", "silver", "gold")
SHIPPING = {"bronze": "4.90", "silver": "2.90", "gold": "0.00"}
STEPS = (5, 10, 20, 50)  # a larger quantity never gets a smaller discount
DISCOUNTS = {
    "bronze": ("0.00", "0.00", "0.02", "0.05", "0.08"),
    "silver": ("0.00", "0.02", "0.05", "0.08", "0.10"),
    "gold": ("0.03", "0.05", "0.08", "0.12", "0.15"),
}
MONDAY_TYPO, MONDAY_SLIP = 3, 7
QUANTITIES = (1, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 36, 50, 60)


@dataclass(frozen=True)
class Customer:
    customer: str
    name: str
    email: str
    place: tuple[str, str, str, str]
    tier: str


@dataclass(frozen=True)
class Order:
    """An order before it has a number; `replaces` is the returned order it makes good."""

    customer: Customer
    sku: str
    quantity: int
    ordered: date
    status: str
    shipped: date | None
    delivered: date | None
    replaces: Order | None = None


class Chance:
    """Picks from a list, always the same for one seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self._random() * len(items))]

    def below(self, n: int) -> int:
        return int(self._random() * n)


def demo_files() -> dict[str, str]:
    """The text of each file: the month, and changes of the days after it."""
    rows = clean_rows()
    dirty = _with_errors(rows)
    return {
        "clean.csv": _csv(rows),
        "orders.csv": _csv(dirty),
        "monday.csv": _csv(_monday()),
        "tuesday.csv": _csv(_tuesday(rows, dirty)),
        "wednesday.csv": _csv(_wednesday()),
        "payments.csv": _csv(_payments(rows)),
    }


def _payments(orders: list[dict[str, str]]) -> list[dict[str, str]]:
    """What was paid for the orders that were shipped: goods less the discount, and shipping."""
    chance = Chance(SEED + 1)
    rows: list[dict[str, str]] = []
    for order in orders:
        if not order["shipped"]:
            continue
        price, off = (int(order[name].replace(".", "")) for name in ("unit_price", "discount"))
        goods = (int(order["quantity"]) * price * (100 - off) + 50) // 100
        shipping = int(order["shipping"].replace(".", ""))
        day = date.fromisoformat(order["ordered"]) + timedelta(days=chance.below(9))
        time = f"{8 + chance.below(12):02d}:{chance.below(60):02d}:{chance.below(60):02d}"
        rows.append(
            {
                "payment_id": f"P-{1001 + len(rows)}",
                "invoice": order["invoice"],
                "goods": _amount(goods),
                "shipping": _amount(shipping),
                "total": _amount(goods + shipping),
                "paid": f"{day.isoformat()} {time}",
            }
        )
    places = {row["payment_id"]: i for i, row in enumerate(rows)}
    unknown, wrong, twice = (rows[places[PLANTED_PAYMENTS[rule]]] for rule in PLANTED_PAYMENTS)
    unknown["invoice"] = unknown["invoice"].replace("INV-7", "INV-1")
    wrong["total"] = _amount(int(wrong["total"].replace(".", "")) + 1_000)
    before = rows[places[twice["payment_id"]] - 1]
    twice |= {**before, "payment_id": twice["payment_id"], "paid": f"{before['paid'][:-2]}59"}
    return rows


def _amount(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def _monday() -> list[dict[str, str]]:
    """New orders; two of them have a wrong cell."""
    rows = _new_orders(date(2025, 6, 2), 2641, 12)
    rows[MONDAY_TYPO] |= {"city": rows[MONDAY_TYPO]["city"].upper()}
    rows[MONDAY_SLIP] |= {"discount": "0.30"}
    return rows


def _tuesday(clean: list[dict[str, str]], dirty: list[dict[str, str]]) -> list[dict[str, str]]:
    """Corrections: of two wrong cells of May and one of Monday; and an order that is gone."""
    right = _new_orders(date(2025, 6, 2), 2641, 12)
    wrong = _monday()
    pairs = [(b, a) for a, b in zip(clean, dirty, strict=True) if a["order_id"] in ("SO-2486", "SO-2593")]
    pairs.append((wrong[MONDAY_TYPO], right[MONDAY_TYPO]))
    changes = []
    for before, after in pairs:
        changes.append({"_change_type": "update_preimage", **before})
        changes.append({"_change_type": "update_postimage", **after})
    gone = next(row for row in dirty if row["order_id"] == "SO-2470")
    return [*changes, {"_change_type": "delete", **gone}]


def _wednesday() -> list[dict[str, str]]:
    """New orders, after some prices have gone up."""
    rows = _new_orders(date(2025, 6, 4), 2653, 10)
    dearer = {"USD": "15.90", "EUR": "14.90", "CHF": "15.90"}
    return [{**row, "unit_price": dearer[row["currency"]]} if row["sku"] == "MUG-03" else row for row in rows]


def _new_orders(day: date, first: int, many: int) -> list[dict[str, str]]:
    customers = _customers(Chance(SEED))
    chance = Chance(SEED + first)
    rows = []
    for i in range(many):
        sku = "MUG-03" if i % 3 == 0 else chance.pick(PRODUCTS)[0]
        order = Order(chance.pick(customers), sku, chance.pick(QUANTITIES), day, "open", None, None)
        rows.append(_row(order, {id(order): f"SO-{first + i}"}, first - 2401 + i))
    return rows


def _csv(rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def clean_rows() -> list[dict[str, str]]:
    """The orders without errors, numbered by date."""
    chance = Chance(SEED)
    customers = _customers(chance)
    orders: list[Order] = []
    while len(orders) < ORDERS:
        order = _order(chance, chance.pick(customers), chance.pick(PRODUCTS)[0], chance.pick(QUANTITIES))
        orders.append(order)
        if order.status == "returned" and order.delivered is not None and order.delivered < LAST_DAY:
            again = order.delivered + timedelta(days=1)
            made_good = _order(chance, order.customer, order.sku, order.quantity, ordered=again)
            orders.append(replace(made_good, replaces=order))
    orders.sort(key=lambda order: order.ordered)  # a stable sort: orders of one day keep their place
    numbers = {id(order): f"SO-{2401 + i}" for i, order in enumerate(orders)}
    return [_row(order, numbers, i) for i, order in enumerate(orders)]


def _customers(chance: Chance) -> list[Customer]:
    made: dict[str, Customer] = {}
    while len(made) < CUSTOMERS:
        first, last = chance.pick(FIRST_NAMES), chance.pick(LAST_NAMES)
        email = f"{first}.{last}@example.com".lower()
        number = f"C-{101 + len(made)}"
        made.setdefault(email, Customer(number, f"{first} {last}", email, chance.pick(PLACES), chance.pick(TIERS)))
    return list(made.values())


def _order(chance: Chance, customer: Customer, sku: str, quantity: int, *, ordered: date | None = None) -> Order:
    day = ordered or FIRST_DAY + timedelta(days=chance.below((LAST_DAY - FIRST_DAY).days + 1))
    shipped = day + timedelta(days=chance.below(4))
    delivered = shipped + timedelta(days=1 + chance.below(5))
    if chance.below(30) == 0:
        return Order(customer, sku, quantity, day, "cancelled", None, None)
    if shipped > LAST_DAY:
        return Order(customer, sku, quantity, day, "open", None, None)
    if delivered > LAST_DAY:
        return Order(customer, sku, quantity, day, "shipped", shipped, None)
    status = "returned" if ordered is None and chance.below(14) == 0 else "delivered"
    return Order(customer, sku, quantity, day, status, shipped, delivered)


def _row(order: Order, numbers: dict[int, str], place: int) -> dict[str, str]:
    customer = order.customer
    zip_code, city, state, country = customer.place
    currency = CURRENCIES[country]
    return {
        "order_id": numbers[id(order)],
        "invoice": f"INV-{70311 + 3 * place}",
        "replaces": numbers[id(order.replaces)] if order.replaces is not None else "",
        "customer": customer.customer,
        "name": customer.name,
        "email": customer.email,
        "zip": zip_code,
        "city": city,
        "state": state,
        "country": country,
        "tier": customer.tier,
        "sku": order.sku,
        "quantity": str(order.quantity),
        "unit_price": dict(PRODUCTS)[order.sku][currency],
        "currency": currency,
        "discount": DISCOUNTS[customer.tier][sum(order.quantity >= step for step in STEPS)],
        "shipping": SHIPPING[customer.tier],
        "status": order.status,
        "ordered": order.ordered.isoformat(),
        "shipped": order.shipped.isoformat() if order.shipped else "",
        "delivered": order.delivered.isoformat() if order.delivered else "",
    }


def _with_errors(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    wrong: dict[str, dict[str, str]] = {}
    for error in PLANTED:
        wrong.setdefault(error.order_id, {})[error.column] = error.value
    return [{**row, **wrong.get(row["order_id"], {})} for row in rows]


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else TARGET
    for name, text in demo_files().items():
        (folder / name).write_bytes(text.encode("utf-8"))
        print(f"wrote {folder / name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
