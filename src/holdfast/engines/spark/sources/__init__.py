"""Reading tables on Spark: files, tables, JDBC, Delta."""
