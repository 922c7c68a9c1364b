"""Columns in comparable forms: the one place that decides types, nulls and collation."""
