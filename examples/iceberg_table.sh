#!/usr/bin/env bash
# On Iceberg: a table of a catalog is checked, watched and followed commit by commit, without Spark and without Java.
#
#     pip install 'holdfast[iceberg]'
#     examples/iceberg_table.sh lake
#
# Makes a catalog in a file, `lake/catalog.db`, with a small table, and lets two commits come: an append with a wrong
# city, and an upsert that corrects it beside a delete. For a catalog of yours, set its URI instead, such as
# PYICEBERG_CATALOG__SHOP__URI=https://… for a REST catalog; nothing else changes. `watch run --once` applies what is
# new since it last ran, so that it can stand in cron; without --once it goes on.
set -euo pipefail

mkdir -p "$1"
lake=$(cd "$1" && pwd)
export PYICEBERG_CATALOG__SHOP__URI="sqlite:///$lake/catalog.db"
export PYICEBERG_CATALOG__SHOP__WAREHOUSE="file://$lake/warehouse"
orders=iceberg:shop.sales.orders

python - <<'PYTHON'
import pyarrow as pa
from pyiceberg.catalog import load_catalog

orders = pa.table({"id": [1, 2, 3], "zip": ["02139", "02139", "98101"], "city": ["Cambridge", "Cambridge", "Seattle"]})
shop = load_catalog("shop")
shop.create_namespace("sales")
shop.create_table("sales.orders", schema=orders.schema).append(orders)
PYTHON

holdfast check "$orders" "zip -> city" --key id --quiet

# The state knows which commit of the table it was made of.
holdfast watch init "$lake/state" --data "$orders" --rules "zip -> city" --key id --quiet

python - <<'PYTHON'
import pyarrow as pa
from pyiceberg.catalog import load_catalog

load_catalog("shop").load_table("sales.orders").append(pa.table({"id": [4], "zip": ["02139"], "city": ["Cambrige"]}))
PYTHON
holdfast watch run "$lake/state" --source "$orders" --once --quiet --format json >"$lake/monday.json"

python - <<'PYTHON'
import pyarrow as pa
from pyiceberg.catalog import load_catalog

orders = load_catalog("shop").load_table("sales.orders")
orders.upsert(pa.table({"id": [4], "zip": ["02139"], "city": ["Cambridge"]}), join_cols=["id"])
orders.delete("id = 3")
PYTHON
holdfast watch run "$lake/state" --source "$orders" --once --quiet --format json >"$lake/tuesday.json"

holdfast watch show "$lake/state" --quiet
