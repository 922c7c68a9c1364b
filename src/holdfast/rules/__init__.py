"""What a rule says: relations, predicates, constraints, dependencies; reading and writing them."""
