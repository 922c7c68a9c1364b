"""Keeping discovered rules up to date: changes of evidence, repair, the outcome."""
