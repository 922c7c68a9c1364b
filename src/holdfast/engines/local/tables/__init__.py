"""Checks of several tables in this process."""
