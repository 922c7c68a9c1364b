"""Checks of several tables on Spark."""
