# Databricks notebook source
# MAGIC %md
# MAGIC # Rules of a table, with Holdfast
# MAGIC
# MAGIC Finds the rules that a table holds, checks rules that people have written, and keeps what is wrong in tables:
# MAGIC all rows, each with what is wrong with it; the suspect rows set aside; counts per rule and run.
# MAGIC
# MAGIC To run it, import this file into a workspace (its first line says that it is a notebook), attach serverless
# MAGIC compute or a cluster with Python 3.11 or newer and Spark 4, fill the widgets in, and run all cells. As a task of
# MAGIC a job, the widgets are its parameters, and the last cell makes the task fail where rules are broken.

# COMMAND ----------

# MAGIC %md
# MAGIC Holdfast without its extra `spark`: the platform brings its own Spark, which must stay as it is.

# COMMAND ----------

# MAGIC %pip install holdfast

# COMMAND ----------

# MAGIC %restart_python

# COMMAND ----------

dbutils.widgets.text("table", "main.shop.orders", "Table")
dbutils.widgets.text("key", "order_id", "Column that names a row")
dbutils.widgets.text("results", "main.shop_quality", "Schema for results")

TABLE, KEY, SCHEMA = (dbutils.widgets.get(name) for name in ("table", "key", "results"))
RESULTS = f"{SCHEMA}.{TABLE.split('.')[-1]}"

# COMMAND ----------

import holdfast as hf

spark.sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
orders = spark.table(TABLE)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which rules does it hold?
# MAGIC
# MAGIC The best rules first, each with how likely it is an accident of this table. `error=0.01` also finds rules that a
# MAGIC few rows break.

# COMMAND ----------

discovered = hf.discover(orders, exclude=[KEY], top=10)
discovered

# COMMAND ----------

# MAGIC %md
# MAGIC ## Does it hold ours?
# MAGIC
# MAGIC Rules may also be a file beside the notebook: `hf.check(orders, "rules.yaml")`. There they have names, owners,
# MAGIC severities and what is allowed.

# COMMAND ----------

RULES = [
    "unique(invoice)",
    "zip -> city, state",
    "tier = 'gold' -> shipping = 0",
    "if t.tier = s.tier and t.quantity > s.quantity then t.discount >= s.discount",
    "not(t.shipped < t.ordered)",
    "not(t.email is null)",
]

result = hf.check(orders, RULES, key=KEY)
result

# COMMAND ----------

# MAGIC %md
# MAGIC ## What is wrong, in tables
# MAGIC
# MAGIC `…_checked` is the whole table with `_errors` and `_warnings`: of each rule that a row breaks, a message, the
# MAGIC keys of rows that it breaks it with, and whether it is the row to change.

# COMMAND ----------


def save(rows, name):
    rows.to_spark().write.mode("overwrite").option("overwriteSchema", True).saveAsTable(f"{RESULTS}_{name}")


save(result.annotated(), "checked")

# COMMAND ----------

# MAGIC %md
# MAGIC `…_clean` holds all rules; `…_quarantine` has the suspect rows, each with the rules it breaks.

# COMMAND ----------

clean, quarantine = result.split()
save(clean, "clean")
save(quarantine, "quarantine")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Counts of every run
# MAGIC
# MAGIC A line per rule and run, for a dashboard or an alert on it; and what got worse since the run before.

# COMMAND ----------

result.metrics.to_spark().write.mode("append").saveAsTable(f"{RESULTS}_metrics")

hf.history(spark.table(f"{RESULTS}_metrics"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## The verdict
# MAGIC
# MAGIC A task of a job fails here, with what is wrong, where a rule is broken; what depends on it does not run.

# COMMAND ----------

summary, holds = result.summary(), result.holds
result.close()
if not holds:
    raise RuntimeError(summary)
