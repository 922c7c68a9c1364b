"""On a table of PostgreSQL, or of any database with a JDBC driver: check it where it lies, write back what is wrong.

    python examples/database_table.py \\
        'jdbc:postgresql://localhost/shop?user=ann&password=…' orders rules.yaml /usr/share/java/postgresql.jar

The driver's jar is needed unless Spark has it already (Debian: apt install libpostgresql-jdbc-java). Spark reads the
table over one connection unless you tell it how to divide it; then read it yourself, with `spark.read.jdbc(…, column=…,
numPartitions=…)`, and give `hf.check` the DataFrame.

Leaves a table `orders_violations` (rule, key, conflicts) in the database, and ends with 1 where a rule is violated.
The command does the same without the table: holdfast check 'jdbc:postgresql://…#orders' rules.yaml --key order_id
"""

from __future__ import annotations

import sys

import holdfast as hf


def main(url: str, table: str, rules: str, jar: str | None = None) -> int:
    conf = {} if jar is None else {"spark.jars": jar, "spark.driver.extraClassPath": jar}
    with hf.check(f"{url}#{table}", rules, key="order_id", conf=conf) as result:
        print(result.summary())
        result.rows.to_spark().write.jdbc(url, f"{table}_violations", mode="overwrite")
        return 0 if result.holds else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
