"""Violations kept up to date in one process, row by row."""
