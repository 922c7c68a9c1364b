"""Rules and a schema as programs over forms and flags: nothing else decides what a rule asks of a row or a pair."""
