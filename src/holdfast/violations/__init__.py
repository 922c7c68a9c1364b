"""What programs find in rows given as arrays: counts, pairs, conflicts and suspects; which rows meet in which task."""
