"""Explanations on Spark."""
