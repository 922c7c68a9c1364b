"""Keeping violations up to date: tables of a state, the tasks of a batch, the outcome."""
