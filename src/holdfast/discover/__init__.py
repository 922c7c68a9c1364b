"""Evidence to the most general constraints a table holds: the predicate space, the search, the ranking."""
