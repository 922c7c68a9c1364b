"""Settings of Spark for tables of a few rows, where planning and compiling a query takes longer than running it.

Tests that start a session as a user would leave them out."""

from __future__ import annotations

SMALL_TABLES = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Nor is a plan of many rules worth planning anew after each stage, or describing at length.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
}
# The same as lines of a script with a session called `spark`.
SET_SMALL_TABLES = "".join(f"spark.conf.set({name!r}, {value!r})\n" for name, value in SMALL_TABLES.items())
