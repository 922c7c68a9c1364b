"""Checks of several tables: what both engines share."""
