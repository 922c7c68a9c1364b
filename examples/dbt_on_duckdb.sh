#!/usr/bin/env bash
# A dbt project on DuckDB whose tests are made of a rule file: `dbt build` makes the model and tests it.
#
#   pip install holdfast 'dbt-core>=1.10.5' dbt-duckdb
#   dbt_on_duckdb.sh orders.csv rules.yaml order_id project
#
# In a project that you have, only the command `holdfast export dbt` is new. What dbt says of each test, and its exit code,
# are those of any other test: 1 where one of severity error fails.
set -eu
orders=$(realpath "$1") rules=$2 key=$3 project=${4:-project}

mkdir -p "$project/models"
cat >"$project/dbt_project.yml" <<END
name: shop
version: "1.0"
profile: shop
models: {shop: {+materialized: table}}
END
cat >"$project/profiles.yml" <<END
shop:
  target: dev
  outputs: {dev: {type: duckdb, path: shop.duckdb}}
END
echo "select * from read_csv('$orders', types = {'zip': 'VARCHAR'})" >"$project/models/orders.sql"

holdfast export dbt "$rules" --model orders --key "$key" --dialect duckdb -o "$project" >/dev/null
cd "$project"
dbt --no-send-anonymous-usage-stats build --profiles-dir .
