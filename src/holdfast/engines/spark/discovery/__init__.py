"""Discoveries on Spark."""
