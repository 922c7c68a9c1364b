"""Rows in memory under their keys, as codes; shared by the monitor and the rule keeper."""
