"""Evolved rules on Spark."""
