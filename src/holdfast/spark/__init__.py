"""Spark: sources, the session, running plans on DataFrames. The only room that imports pyspark."""
