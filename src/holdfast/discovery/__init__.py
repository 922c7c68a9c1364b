"""Discovering the rules of a table: its tasks, conditional rules, rules with constants."""
