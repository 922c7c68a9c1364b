"""Checks on Spark."""
