"""States on any engine: what a batch does to a state, in terms of what engines have in common."""
