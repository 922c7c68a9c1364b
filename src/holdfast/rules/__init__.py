"""Rules: relations, predicates, constraints, dependencies; parsing and printing them."""
