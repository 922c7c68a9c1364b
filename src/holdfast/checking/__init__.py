"""Checking a table: the plan, the tasks, the outcome."""
