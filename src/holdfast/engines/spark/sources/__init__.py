"""Tables on Spark: files, tables, JDBC, Delta."""
