#!/usr/bin/env bash
# On Delta: a watched table that follows the change feed of a Delta table, commit by commit.
#
#     pip install 'holdfast[spark,delta]'
#     examples/delta_feed.sh lake
#
# Makes a small Delta table with a change feed in `lake/orders`, watches it, and lets three commits come: an append with
# a wrong city, an update that corrects it, and a delete. `watch run --once` takes in what is new since it last ran, so
# that it can stand in cron; without --once it goes on and takes in each commit as it comes.
set -euo pipefail

lake=$1
mkdir -p "$lake"

python - "$lake/orders" <<'PYTHON'
import sys
import pyarrow as pa
from deltalake import write_deltalake

orders = pa.table({"id": [1, 2, 3], "zip": ["02139", "02139", "98101"], "city": ["Cambridge", "Cambridge", "Seattle"]})
write_deltalake(sys.argv[1], orders, configuration={"delta.enableChangeDataFeed": "true"})
PYTHON

# The state knows which version of the table it was made of.
holdfast watch init "$lake/state" --data "$lake/orders" --rules "zip -> city" --key id --quiet

python - "$lake/orders" <<'PYTHON'
import sys
import pyarrow as pa
from deltalake import write_deltalake

write_deltalake(sys.argv[1], pa.table({"id": [4], "zip": ["02139"], "city": ["Cambrige"]}), mode="append")
PYTHON
holdfast watch run "$lake/state" --source "$lake/orders" --once --quiet --format json >"$lake/monday.json"

python - "$lake/orders" <<'PYTHON'
import sys
from deltalake import DeltaTable

orders = DeltaTable(sys.argv[1])
orders.update(updates={"city": "'Cambridge'"}, predicate="id = 4")
orders.delete("id = 3")
PYTHON
holdfast watch run "$lake/state" --source "$lake/orders" --once --quiet --format json >"$lake/tuesday.json"

holdfast watch show "$lake/state" --quiet
