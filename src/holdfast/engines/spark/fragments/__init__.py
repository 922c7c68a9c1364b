"""Fragmented tables on Spark."""
