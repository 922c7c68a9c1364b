"""The search for rules: predicate space, evidence of pairs, hitting sets, ranking; shared by discovery and evolve."""
