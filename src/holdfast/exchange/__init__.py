"""Rules in the formats of other tools: read from theirs, written for them."""
