"""Watched tables on Spark."""
